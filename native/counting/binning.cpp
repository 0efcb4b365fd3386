// Numbers in, the bins that they lie in out. Compiled once per instruction level.
#include <algorithm>

#include "common/matrix_rows.hpp"
#include "common/threads.hpp"
#include "counting/counting.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// How many cuts lie below each of some numbers: binary searches in parallel, without branches.
constexpr size_t AT_ONCE = 8;
void find_bins(const double* cuts, size_t size, const double* x, int32_t* out) {
    size_t at[AT_ONCE] = {};
    for (size_t left = size; left > 1;) {
        size_t half = left / 2;
        for (size_t i = 0; i < AT_ONCE; ++i) at[i] += size_t(cuts[at[i] + half - 1] < x[i]) * half;
        left -= half;
    }
    for (size_t i = 0; i < AT_ONCE; ++i) out[i] = x[i] != x[i] ? -1 : int32_t(at[i] + (size && cuts[at[i]] < x[i]));
}

// Bins the numbers of one column, in some rows.
void bin_column(const Matrix& x, size_t j, const double* cuts, size_t size, size_t begin, size_t end, int32_t* out) {
    with_type(x.type, x.data, [&](auto data) {
        for (size_t row = begin; row < end; row += AT_ONCE) {
            double numbers[AT_ONCE] = {};
            int32_t bins[AT_ONCE];
            size_t some = std::min(AT_ONCE, end - row);
            for (size_t i = 0; i < some; ++i)
                numbers[i] = double(data[ptrdiff_t(row + i) * x.row_step + ptrdiff_t(j) * x.column_step]);
            find_bins(cuts, size, numbers, bins);
            for (size_t i = 0; i < some; ++i) out[(row + i) * x.columns + j] = bins[i];
        }
    });
}

}  // namespace

void bin_numbers(const Matrix& x, const double* cuts, const int64_t* offsets, int32_t* out, const Run& run) {
    constexpr size_t ROWS = 1024;
    run_pieces((x.rows + ROWS - 1) / ROWS, 4 * x.rows * x.columns, run, [&](size_t piece) {
        for (size_t j = 0; j < x.columns; ++j)
            bin_column(x, j, cuts + offsets[j], size_t(offsets[j + 1] - offsets[j]), piece * ROWS,
                       std::min(x.rows, (piece + 1) * ROWS), out);
    });
}

}  // namespace naively::NAIVELY_LEVEL
