// Scores of pairs of columns. Compiled once per instruction level.
#include "common/code_columns.hpp"
#include "common/vectors.hpp"
#include "scoring/scoring.hpp"

namespace naively::NAIVELY_LEVEL {

// Pair by pair, so that the table of one stays in the first-level cache while the rows of the block are scored.
void score_pairs(const Matrix& x, const int64_t* offsets, const ColumnPairs& pairs, const PaddedTable& table,
                 size_t begin, size_t end, double* scores) {
    CodeColumns codes(x, offsets, begin, end);
    for (size_t p = 0; p < pairs.size; ++p) {
        auto i = size_t(pairs.first[p]), j = size_t(pairs.second[p]);
        size_t wide = size_t(offsets[j + 1] - offsets[j]) + 1;
        const uint16_t *a = codes.column(i), *b = codes.column(j);
        const double* lines = table.data + size_t(pairs.lines[p]) * table.width;
        for (size_t row = 0; row < end - begin; ++row) {
            const double* line = lines + (a[row] * wide + b[row]) * table.width;
            double* to = scores + row * table.width;
            for (size_t c = 0; c < table.width; c += LANES) store(to + c, load(to + c) + load(line + c));
        }
    }
}

}  // namespace naively::NAIVELY_LEVEL
