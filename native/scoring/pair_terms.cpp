// Terms of pairs of columns, from the counts of all pairs of codes to the table that rows are scored by. Compiled once
// per instruction level; the sums are in a fixed order, and nothing but sums, products and quotients is computed here.
#include <vector>

#include "common/threads.hpp"
#include "scoring/scoring.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

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

}  // namespace

void pair_ratios(const PairTerms& terms, const double* products, size_t features, double pseudo_count, double* out,
                 const Run& run) {
    run_pieces(terms.size, size_t(terms.starts[terms.size]), run, [&](size_t term) {
        PairCounts n;
        double* to = out + terms.starts[term];
        for (size_t k = 0; k < terms.classes; ++k) {
            n.count(terms, term, products + k * features * features, features);
            size_t wide = n.of_second.size();
            for (size_t a = 0; a < n.of_first.size(); ++a, to += wide) {
                const double* line = n.both.data() + a * wide;
                if (n.whole == 0.0)  // no row of the class has both values
                    for (size_t b = 0; b < wide; ++b) to[b] = (line[b] + pseudo_count) / pseudo_count;
                else
                    for (size_t b = 0; b < wide; ++b)
                        to[b] = (line[b] + pseudo_count) / (n.of_first[a] * n.of_second[b] / n.whole + pseudo_count);
            }
        }
    });
}

// Class by class, so that the scores are read as they lie.
void add_pair_scores(const PairTerms& terms, const double* scores, const int64_t* lines, double* table, size_t width,
                     const Run& run) {
    // One piece: terms of the same pair add to the same lines.
    run_pieces(1, 1, run, [&](size_t) {
        for (size_t term = 0; term < terms.size; ++term) {
            int64_t i = terms.first[term], j = terms.second[term];
            const int32_t *rows = terms.bins_of(term, i), *columns = terms.bins_of(term, j);
            size_t high = terms.bin_count(term, i), wide = terms.bin_count(term, j), codes = terms.column_size(j);
            for (size_t k = 0; k < terms.classes; ++k)
                for (size_t a = 0; a < terms.column_size(i); ++a) {
                    const double* from = scores + size_t(terms.starts[term]) + (k * high + size_t(rows[a])) * wide;
                    double* to = table + (size_t(lines[term]) + a * (codes + 1)) * width + k;
                    for (size_t b = 0; b < codes; ++b) to[b * width] += from[columns[b]];
                }
        }
    });
}

}  // namespace naively::NAIVELY_LEVEL
