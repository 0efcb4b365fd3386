// Scores of interactions: of what columns say together. Compiled once per instruction level.
#include "common/code_columns.hpp"
#include "common/vectors.hpp"
#include "scoring/scoring.hpp"

namespace naively::NAIVELY_LEVEL {

// One after the other, so that the table of one stays in the first-level cache while the rows of the block are scored.
void score_interactions(const Matrix& x, const int64_t* offsets, const Interactions& which, const PaddedTable& table,
                        size_t begin, size_t end, double* scores) {
    CodeColumns codes(x, offsets, begin, end);
    auto size_of = [&](int64_t column) { return size_t(offsets[column + 1] - offsets[column]) + 1; };
    for (size_t p = 0; p < which.size; ++p) {
        const int64_t* columns = which.columns + 3 * p;
        size_t wide = size_of(columns[1]), deep = columns[2] < 0 ? 1 : size_of(columns[2]);
        const uint16_t *a = codes.column(size_t(columns[0])), *b = codes.column(size_t(columns[1])),
                       *c = columns[2] < 0 ? nullptr : codes.column(size_t(columns[2]));
        const double* lines = table.data + size_t(which.lines[p]) * table.width;
        for (size_t row = 0; row < end - begin; ++row) {
            size_t cell = a[row] * wide + b[row];
            if (c) cell = cell * deep + c[row];
            const double* line = lines + cell * table.width;
            double* to = scores + row * table.width;
            for (size_t k = 0; k < table.width; k += LANES) store(to + k, load(to + k) + load(line + k));
        }
    }
}

}  // namespace naively::NAIVELY_LEVEL
