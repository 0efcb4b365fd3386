// Counts of pairs of bins of two columns, from the products of features.
#pragma once

#include <vector>

#include "kernels.hpp"

// In the namespace of the instruction level: a function compiled for one must never be taken for another's.
namespace naively::NAIVELY_LEVEL {

// The counts of pairs of bins of one class, and of the bins of each column.
struct PairCounts {
    std::vector<double> both, of_first, of_second;
    double whole = 0.0;

    void count(const PairTerms& terms, size_t term, const double* products, size_t features) {
        int64_t i = terms.first[term], j = terms.second[term];
        const int32_t *rows = terms.bins_of(term, i), *columns = terms.bins_of(term, j);
        size_t wide = terms.bin_count(term, j), codes = terms.column_size(j);
        both.assign(terms.bin_count(term, i) * wide, 0.0);
        // Before the flags of all codes comes the feature that is always 1.
        const double* line = products + size_t(terms.offsets[i] + 1) * features + size_t(terms.offsets[j] + 1);
        for (size_t a = 0; a < terms.column_size(i); ++a, line += features) {
            double* to = both.data() + size_t(rows[a]) * wide;
            if (wide == codes)
                for (size_t b = 0; b < codes; ++b) to[b] += line[b];
            else
                for (size_t b = 0; b < codes; ++b) to[columns[b]] += line[b];
        }
        add_up(wide);
    }

  private:
    void add_up(size_t wide) {
        of_first.assign(both.size() / wide, 0.0);
        of_second.assign(wide, 0.0);
        whole = 0.0;
        for (size_t a = 0; a < of_first.size(); ++a) {
            const double* line = both.data() + a * wide;
            for (size_t b = 0; b < wide; ++b) of_first[a] += line[b];
            for (size_t b = 0; b < wide; ++b) of_second[b] += line[b];
            whole += of_first[a];
        }
    }
};

}  // namespace naively::NAIVELY_LEVEL
