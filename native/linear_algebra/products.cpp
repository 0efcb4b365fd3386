// Products of matrices. Each number is added up in an order that depends on the length of its sum alone: not on the
// level, the threads, or the rows and columns beside it. No product and sum are rounded as one: not all levels can.
#include <algorithm>
#include <vector>

#include "common/matrix_rows.hpp"
#include "common/threads.hpp"
#include "linear_algebra/linear_algebra.hpp"
#include "linear_algebra/sums.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// Terms of a sum that are added up by themselves, one after another: at every level as many. What is read of the right
// matrix meanwhile stays in the cache.
constexpr size_t DEPTH = 256;
// Rows and registers of columns whose sums stay in registers.
constexpr int ROWS = REGISTER_BYTES == 64 ? 8 : 4, VECTORS = 2;
// Rows and columns of one piece of work.
constexpr size_t TILE_ROWS = 128, TILE_COLUMNS = 512;
// Multiplications that are worth a piece of their own.
constexpr size_t PIECE_PRODUCTS = size_t{1} << 16;

// The sums of R rows and N registers of columns.
template <int R, int N, class T>
void add_up(const T* left, ptrdiff_t row_step, const T* right, ptrdiff_t step, size_t depth, T* out) {
    using V = Register<T>;
    constexpr size_t lanes = sizeof(V) / sizeof(T);
    V sums[R][N]{};
    for (size_t k = 0; k < depth; ++k, ++left, right += step) {
        V columns[N];
        for (size_t n = 0; n < N; ++n) columns[n] = vector_at<V>(right + n * lanes);
        for (ptrdiff_t r = 0; r < R; ++r) {
            V row = left[r * row_step] - V{};  // in each lane
            for (size_t n = 0; n < N; ++n) sums[r][n] += row * columns[n];
        }
    }
    std::memcpy(out, sums, sizeof sums);
}

struct Tile {
    size_t row, row_end, column, column_end;
};

// One tile of a product of two matrices.
template <class T>
class TileProduct {
    static constexpr size_t lanes = REGISTER_BYTES / sizeof(T), width = VECTORS * lanes;

  public:
    TileProduct(const Matrices<T>& a, const Matrices<T>& b, bool symmetric) : a_(a), b_(b), symmetric_(symmetric) {}

    void fill(size_t at, const Tile& tile, T* out) {
        const T *a = a_.data + ptrdiff_t(at) * a_.step, *b = b_.data + ptrdiff_t(at) * b_.step;
        for (size_t from = 0; from < a_.columns; from += DEPTH) {
            size_t depth = std::min(DEPTH, a_.columns - from);
            const T* left = a + ptrdiff_t(tile.row) * a_.row_step + ptrdiff_t(from) * a_.column_step;
            ptrdiff_t row_step = a_.row_step;
            if (a_.column_step != 1) left = packed_rows(left, tile.row_end - tile.row, depth), row_step = DEPTH;
            for (size_t column = tile.column; column < tile.column_end; column += width) {
                size_t used = std::min(width, tile.column_end - column), vectors = (used + lanes - 1) / lanes;
                const T* right = b + ptrdiff_t(from) * b_.row_step + ptrdiff_t(column) * b_.column_step;
                ptrdiff_t step = b_.row_step;
                // Columns for few rows are read in place.
                if (b_.column_step != 1 || used % lanes || tile.row_end - tile.row > 2 * ROWS)
                    right = packed_columns(right, depth, used), step = width;
                for (size_t row = tile.row; row < tile.row_end; row += ROWS) {
                    if (symmetric_ && column + used <= row) break;  // mirrored later
                    size_t rows = std::min<size_t>(ROWS, tile.row_end - row);
                    const T* line = left + ptrdiff_t(row - tile.row) * row_step;
                    with_constant<ROWS>(rows, [&](auto r) {
                        with_constant<VECTORS>(vectors, [&](auto n) {
                            add_up<decltype(r)::value, decltype(n)::value>(line, row_step, right, step, depth, sums_);
                        });
                    });
                    for (size_t r = 0; r < rows; ++r) {
                        T *to = out + (row + r) * b_.columns + column, *sum = sums_ + r * vectors * lanes;
                        if (from)
                            for (size_t c = 0; c < used; ++c) to[c] += sum[c];
                        else
                            std::copy(sum, sum + used, to);
                    }
                }
            }
        }
    }

  private:
    const T* packed_rows(const T* from, size_t rows, size_t depth) {
        rows_.resize(TILE_ROWS * DEPTH);
        for (size_t k = 0; k < depth; ++k)
            for (size_t r = 0; r < rows; ++r)
                rows_[r * DEPTH + k] = from[ptrdiff_t(r) * a_.row_step + ptrdiff_t(k) * a_.column_step];
        return rows_.data();
    }
    const T* packed_columns(const T* from, size_t depth, size_t used) {
        columns_.resize(DEPTH * width);
        if (b_.column_step == 1)
            for (size_t k = 0; k < depth; ++k) {
                const T* line = from + ptrdiff_t(k) * b_.row_step;
                T* to = columns_.data() + k * width;
                std::fill(std::copy(line, line + used, to), to + width, T{});
            }
        else
            for (size_t c = 0; c < width; ++c)
                for (size_t k = 0; k < depth; ++k)
                    columns_[k * width + c] =
                        c < used ? from[ptrdiff_t(k) * b_.row_step + ptrdiff_t(c) * b_.column_step] : T{};
        return columns_.data();
    }

    const Matrices<T>&a_, &b_;
    bool symmetric_;
    std::vector<T> rows_, columns_;
    T sums_[ROWS * width];
};

template <class T>
void multiply_all(const Matrices<T>& a, const Matrices<T>& b, bool symmetric, T* out, const Run& run) {
    size_t size = a.rows * b.columns, each = size * a.columns;
    if (!each) return void(std::fill_n(out, a.count * size, T{}));
    std::vector<Tile> tiles;
    for (size_t row = 0; row < a.rows; row += TILE_ROWS)
        for (size_t column = 0; column < b.columns; column += TILE_COLUMNS)
            if (!symmetric || column + TILE_COLUMNS > row)
                tiles.push_back(
                    {row, std::min(row + TILE_ROWS, a.rows), column, std::min(column + TILE_COLUMNS, b.columns)});
    size_t at_once = std::max<size_t>(1, PIECE_PRODUCTS / each), groups = (a.count + at_once - 1) / at_once;
    run_pieces(groups * tiles.size(), a.count * each / 16, run, [&](size_t piece) {
        TileProduct<T> product(a, b, symmetric);
        size_t first = piece / tiles.size() * at_once;
        for (size_t at = first; at < std::min(first + at_once, a.count); ++at)
            product.fill(at, tiles[piece % tiles.size()], out + at * size);
    });
    for (size_t at = 0; symmetric && at < a.count; ++at)
        for (size_t row = 0; row < a.rows; ++row)
            for (size_t column = 0; column < row; ++column)
                out[at * size + row * a.rows + column] = out[at * size + column * a.rows + row];
}

template <class T>
void multiply_with_vector(const Matrices<T>& a, const T* vector, T* out, const Run& run) {
    constexpr size_t rows = 64;
    run_pieces((a.rows + rows - 1) / rows, a.rows * a.columns, run, [&](size_t piece) {
        std::vector<T> kept(a.column_step == 1 ? 0 : a.columns);
        for (size_t row = piece * rows; row < std::min((piece + 1) * rows, a.rows); ++row) {
            const T* line = a.data + ptrdiff_t(row) * a.row_step;
            if (a.column_step != 1) convert(line, a.column_step, a.columns, kept.data()), line = kept.data();
            out[row] = dot(line, vector, a.columns);
        }
    });
}

}  // namespace

void multiply(const Matrices<float>& a, const Matrices<float>& b, bool symmetric, float* out, const Run& run) {
    multiply_all(a, b, symmetric, out, run);
}
void multiply(const Matrices<double>& a, const Matrices<double>& b, bool symmetric, double* out, const Run& run) {
    multiply_all(a, b, symmetric, out, run);
}
void multiply_vector(const Matrices<float>& a, const float* vector, float* out, const Run& run) {
    multiply_with_vector(a, vector, out, run);
}
void multiply_vector(const Matrices<double>& a, const double* vector, double* out, const Run& run) {
    multiply_with_vector(a, vector, out, run);
}

}  // namespace naively::NAIVELY_LEVEL
