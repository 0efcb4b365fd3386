// Terms of pairs of columns, from the counts of all pairs of codes to the table that rows are scored by. Compiled once
// per instruction level; the sums are in a fixed order, and nothing but sums, products and quotients is computed here.
#include <vector>

#include "common/pair_counts.hpp"
#include "common/threads.hpp"
#include "scoring/scoring.hpp"

namespace naively::NAIVELY_LEVEL {
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
