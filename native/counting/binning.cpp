// Numbers in, the bins that they lie in out. Compiled once per instruction level.
#include <algorithm>
#include <cmath>
#include <limits>

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

// Calls take(row, number, bin) for the numbers of one column, in some rows.
template <class Take>
void for_each_bin(const Matrix& x, size_t j, const double* cuts, size_t size, size_t begin, size_t end, Take&& take) {
    with_type(x.type, x.data, [&](auto data) {
        for (size_t row = begin; row < end; row += AT_ONCE) {
            double numbers[AT_ONCE] = {};
            int32_t bins[AT_ONCE];
            size_t some = std::min(AT_ONCE, end - row);
            for (size_t i = 0; i < some; ++i)
                numbers[i] = double(data[ptrdiff_t(row + i) * x.row_step + ptrdiff_t(j) * x.column_step]);
            find_bins(cuts, size, numbers, bins);
            for (size_t i = 0; i < some; ++i) take(row + i, numbers[i], bins[i]);
        }
    });
}

// Bins the numbers of one column, in some rows.
void bin_column(const Matrix& x, size_t j, const double* cuts, size_t size, size_t begin, size_t end, int32_t* out) {
    for_each_bin(x, j, cuts, size, begin, end,
                 [&](size_t row, double, int32_t bin) { out[row * x.columns + j] = bin; });
}

// How a number lies on the common scale, in steps; a missing one lies at the center. Each operation rounds by itself,
// so that all levels give the same.
inline double level_of(double x, const GridLayout& grid, size_t j) {
    double low = grid.scale[j], high = grid.scale[grid.columns + j];
    double center = grid.scale[2 * grid.columns + j], steps = grid.scale[3 * grid.columns + j];
    double inside = std::min(std::max(x, low), high);
    double level = std::nearbyint((inside - center) * steps) * grid.step;
    return x == x && level == level ? level : 0.0;
}

// Lays out the numbers of one column, in some rows.
void lay_out_column(const Matrix& x, size_t j, const GridLayout& grid, size_t begin, size_t end, const GridCells& out) {
    const double* cuts = grid.cuts + grid.cut_offsets[j];
    auto size = size_t(grid.cut_offsets[j + 1] - grid.cut_offsets[j]);
    const int32_t* coarse = grid.coarse + grid.coarse_offsets[j];
    int32_t* codes = out.codes + ptrdiff_t(j) * ptrdiff_t(x.rows);
    for_each_bin(x, j, cuts, size, begin, end, [&](size_t row, double number, int32_t bin) {
        out.fine[row * x.columns + j] = bin;
        codes[row] = bin < 0 ? -1 : coarse[bin];
        out.level[row * x.columns + j] = level_of(number, grid, j);
    });
}

}  // namespace

void lay_out(const Matrix& numbers, const Matrix& labels, const GridLayout& grid, const GridCells& out,
             const Run& run) {
    constexpr size_t ROWS = 1024;
    size_t rows = numbers.rows;
    run_pieces((rows + ROWS - 1) / ROWS, 4 * rows * (numbers.columns + labels.columns), run, [&](size_t piece) {
        size_t begin = piece * ROWS, end = std::min(rows, begin + ROWS);
        for (size_t j = 0; j < numbers.columns; ++j) lay_out_column(numbers, j, grid, begin, end, out);
        for (size_t j = 0; j < labels.columns; ++j) {
            auto code = static_cast<const int32_t*>(labels.data) + ptrdiff_t(j) * labels.column_step;
            const int32_t* places = grid.places + grid.place_offsets[j];
            auto size = uint32_t(grid.place_offsets[j + 1] - grid.place_offsets[j]);
            int32_t* to = out.codes + ptrdiff_t(numbers.columns + j) * ptrdiff_t(rows);
            for (size_t row = begin; row < end; ++row) {
                auto at = uint32_t(code[ptrdiff_t(row) * labels.row_step]);  // a negative one is large
                to[row] = at < size ? places[at] : -1;
            }
        }
    });
}

void gather_numbers(const NumberColumn* columns, size_t n, size_t rows, double* out, const Run& run) {
    constexpr size_t ROWS = 1 << 14;
    size_t parts = (rows + ROWS - 1) / ROWS;
    run_pieces(n * parts, rows * n, run, [&](size_t piece) {
        const NumberColumn& column = columns[piece / parts];
        size_t begin = piece % parts * ROWS, end = std::min(rows, begin + ROWS);
        double* to = out + piece / parts * rows;
        with_type(column.type, column.data, [&](auto data) {
            convert(data + ptrdiff_t(begin) * column.step, column.step, end - begin, to + begin);
        });
        if (!column.bits) return;
        for (size_t row = begin; row < end; ++row) {
            size_t bit = row + column.skipped;
            if (!(column.bits[bit / 8] >> bit % 8 & 1)) to[row] = std::numeric_limits<double>::quiet_NaN();
        }
    });
}

void bin_numbers(const Matrix& x, const double* cuts, const int64_t* offsets, int32_t* out, const Run& run) {
    constexpr size_t ROWS = 1024;
    run_pieces((x.rows + ROWS - 1) / ROWS, 4 * x.rows * x.columns, run, [&](size_t piece) {
        for (size_t j = 0; j < x.columns; ++j)
            bin_column(x, j, cuts + offsets[j], size_t(offsets[j + 1] - offsets[j]), piece * ROWS,
                       std::min(x.rows, (piece + 1) * ROWS), out);
    });
}

}  // namespace naively::NAIVELY_LEVEL
