// The scores of pairs of values, from the counts of all pairs to the table that rows are scored by. Compiled once per
// instruction level; the sums are in a fixed order.
#include <vector>

#include "common/threads.hpp"
#include "common/vectors.hpp"
#include "scoring/scoring.hpp"

namespace naively::NAIVELY_LEVEL {

void add_pair_scores(const PairColumns& pairs, size_t classes, double weight, const int64_t* lines, double* table,
                     size_t width, const Run& run) {
    run_pieces(pairs.size, pairs.size * classes * 256, run, [&](size_t pair) {
        size_t high = pairs.codes_of(pairs.first[pair]), wide = pairs.codes_of(pairs.second[pair]);
        std::vector<double> of_first(high), of_second(wide), n(wide + LANES), expected(wide + LANES);
        for (size_t k = 0; k < classes; ++k) {
            const double* counts = pairs.counts(pair, k);
            std::fill(of_second.begin(), of_second.end(), 0.0);
            double whole = 0.0;
            for (size_t a = 0; a < high; ++a) {
                of_first[a] = 0.0;
                for (size_t b = 0; b < wide; ++b)
                    of_first[a] += counts[a * pairs.features + b], of_second[b] += counts[a * pairs.features + b];
                whole += of_first[a];
            }
            double* to = table + size_t(lines[pair]) * width + k;
            for (size_t a = 0; a < high; ++a) {
                double share = whole > 0.0 ? of_first[a] / whole : 0.0;  // no row of the class has both values
                for (size_t b = 0; b < wide; ++b)
                    n[b] = counts[a * pairs.features + b] + pairs.pseudo_count,
                    expected[b] = of_second[b] * share + pairs.pseudo_count;
                for (size_t b = 0; b < wide; b += LANES) {
                    Vec score = all(weight) * logarithm(larger(load(n.data() + b), all(1e-300)) /
                                                        larger(load(expected.data() + b), all(1e-300)));
                    for (size_t i = 0; i < std::min(LANES, wide - b); ++i)
                        to[(a * (wide + 1) + b + i) * width] += score[i];
                }
            }
        }
    });
}

}  // namespace naively::NAIVELY_LEVEL
