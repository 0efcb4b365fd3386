// Columns together: binning numbers, counting and scoring pairs of columns. Compiled once per instruction level.
#include <algorithm>
#include <cmath>
#include <vector>

#include "parallel.hpp"
#include "rows.hpp"
#include "scoring.hpp"
#include "vectors.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// Codes column by column, a hole as the place after the last: pairs are then counted without asking.
class CodeColumns {
  public:
    CodeColumns(const Matrix& x, const int64_t* offsets, size_t begin, size_t end) : rows_(end - begin) {
        codes_.resize(x.columns * rows_);
        with_codes(x, [&](auto lines) {
            for (size_t row = begin; row < end; ++row) {
                auto line = lines(row);
                for (size_t j = 0; j < x.columns; ++j) {
                    auto size = uint64_t(offsets[j + 1] - offsets[j]), code = uint64_t(int64_t(line[j]));
                    codes_[j * rows_ + row - begin] = uint16_t(std::min(code, size));  // a negative one is large
                }
            }
        });
    }
    const uint16_t* column(size_t j) const { return codes_.data() + j * rows_; }

  private:
    size_t rows_;
    std::vector<uint16_t> codes_;
};

// How many cuts lie below each of some numbers: all are searched for side by side, and none of them needs a branch.
constexpr size_t TOGETHER = 8;
void places_among(const double* cuts, size_t size, const double* x, int32_t* out) {
    size_t at[TOGETHER] = {};
    for (size_t left = size; left > 1;) {
        size_t half = left / 2;
        for (size_t i = 0; i < TOGETHER; ++i) at[i] += size_t(cuts[at[i] + half - 1] < x[i]) * half;
        left -= half;
    }
    for (size_t i = 0; i < TOGETHER; ++i) out[i] = x[i] != x[i] ? -1 : int32_t(at[i] + (size && cuts[at[i]] < x[i]));
}

// Bins the numbers of one column, in some rows.
void bin_column(const Matrix& x, size_t j, const double* cuts, size_t size, size_t begin, size_t end, int32_t* out) {
    with_type(x.type, x.data, [&](auto data) {
        for (size_t row = begin; row < end; row += TOGETHER) {
            double numbers[TOGETHER] = {};
            int32_t bins[TOGETHER];
            size_t some = std::min(TOGETHER, end - row);
            for (size_t i = 0; i < some; ++i)
                numbers[i] = double(data[ptrdiff_t(row + i) * x.row_step + ptrdiff_t(j) * x.column_step]);
            places_among(cuts, size, numbers, bins);
            for (size_t i = 0; i < some; ++i) out[(row + i) * x.columns + j] = bins[i];
        }
    });
}

// What one block of rows adds to the products of features: a constant, a flag for each code, the numbers.
// Only products of a feature with itself or a later one are filled in.
class Products {
  public:
    Products(const Matrix& codes, const int64_t* offsets, const double* numbers, size_t width, const Rows& rows, double* out)
        : offsets_(offsets), columns_(codes.columns), numbers_(numbers), width_(width), rows_(rows), n_(codes.rows),
          features_(1 + size_t(offsets[codes.columns]) + width), out_(out), codes_(codes, offsets, 0, codes.rows) {}

    size_t pieces() const { return columns_ + width_; }
    // Pieces write to different lines of the products, so they can be done side by side, in any order.
    void fill(size_t piece) const {
        if (piece >= columns_) return number(piece - columns_);
        rows_.weights ? column<double>(piece) : column<uint32_t>(piece);
    }

  private:
    size_t size(size_t j) const { return size_t(offsets_[j + 1] - offsets_[j]); }
    size_t first(size_t j) const { return 1 + size_t(offsets_[j]); }
    double* line(size_t k, size_t feature) const { return out_ + (k * features_ + feature) * features_; }
    double weight(size_t row) const { return rows_.weights ? rows_.weights[row] : 1.0; }

    // Column i with itself and with every later one, and with the constant.
    template <class Part>
    void column(size_t i) const {
        size_t classes = rows_.n_classes, lines = (size(i) + 1) * classes;
        std::vector<uint32_t> of_row(n_);  // code and class of each row in one number
        const uint16_t* mine = codes_.column(i);
        for (size_t row = 0; row < n_; ++row) of_row[row] = uint32_t(mine[row]) * uint32_t(classes) + uint32_t(rows_.classes[row]);
        for (size_t j = i; j < columns_; ++j) {
            size_t wide = size(j) + 1;
            std::vector<Part> table(lines * wide, Part{});
            const uint16_t* other = codes_.column(j);
            if (std::is_same_v<Part, double>)
                for (size_t row = 0; row < n_; ++row) table[of_row[row] * wide + other[row]] += Part(weight(row));
            else
                for (size_t row = 0; row < n_; ++row) ++table[of_row[row] * wide + other[row]];
            for (size_t u = 0; u < size(i); ++u)
                for (size_t k = 0; k < classes; ++k) {
                    const Part* from = table.data() + (u * classes + k) * wide;
                    double* to = line(k, first(i) + u) + first(j);
                    for (size_t v = j == i ? u : 0; v < size(j); ++v) to[v] += double(from[v]);
                    if (j == i) line(k, 0)[first(i) + u] += double(from[u]);
                }
        }
    }

    // Number m with every code, with itself and every later number, and with the constant.
    void number(size_t m) const {
        size_t classes = rows_.n_classes, last = first(columns_);
        std::vector<double> x(n_), sums(classes * width_, 0.0), total(classes, 0.0);
        for (size_t row = 0; row < n_; ++row) x[row] = weight(row) * numbers_[row * width_ + m];
        for (size_t row = 0; row < n_; ++row) {
            size_t k = size_t(rows_.classes[row]);
            const double* others = numbers_ + row * width_;
            double *to = sums.data() + k * width_, by = x[row];
            total[k] += by;
            for (size_t l = m; l < width_; ++l) to[l] += by * others[l];
        }
        for (size_t k = 0; k < classes; ++k) {
            line(k, 0)[last + m] += total[k];
            for (size_t l = m; l < width_; ++l) line(k, last + m)[last + l] += sums[k * width_ + l];
        }
        for (size_t j = 0; j < columns_; ++j) {
            size_t wide = size(j) + 1;
            std::vector<double> table(classes * wide, 0.0);
            const uint16_t* code = codes_.column(j);
            for (size_t row = 0; row < n_; ++row) table[size_t(rows_.classes[row]) * wide + code[row]] += x[row];
            for (size_t k = 0; k < classes; ++k)
                for (size_t v = 0; v < size(j); ++v) line(k, first(j) + v)[last + m] += table[k * wide + v];
        }
    }

    const int64_t* offsets_;
    size_t columns_;
    const double* numbers_;
    size_t width_;
    const Rows& rows_;
    size_t n_, features_;
    double* out_;
    CodeColumns codes_;
};

}  // namespace

void count_products(const Matrix& codes, const int64_t* offsets, const double* numbers, size_t width, const Rows& rows,
                    double* out, const Run& run) {
    Products products(codes, offsets, numbers, width, rows, out);
    size_t features = codes.columns + width;
    share_out(products.pieces(), codes.rows * features * features / 2, run, [&](size_t piece) { products.fill(piece); });
    for (size_t row = 0; row < codes.rows; ++row) {
        size_t all = 1 + size_t(offsets[codes.columns]) + width;
        out[size_t(rows.classes[row]) * all * all] += rows.weights ? rows.weights[row] : 1.0;
    }
}

void bin_numbers(const Matrix& x, const double* cuts, const int64_t* offsets, int32_t* out, const Run& run) {
    constexpr size_t ROWS = 1024;
    share_out((x.rows + ROWS - 1) / ROWS, 4 * x.rows * x.columns, run, [&](size_t piece) {
        for (size_t j = 0; j < x.columns; ++j)
            bin_column(x, j, cuts + offsets[j], size_t(offsets[j + 1] - offsets[j]), piece * ROWS,
                       std::min(x.rows, (piece + 1) * ROWS), out);
    });
}

// Pair by pair, so that the table of one stays in the first cache while the rows of the block go by.
void score_pairs(const Matrix& x, const int64_t* offsets, const Pairs& pairs, const Padded& table, size_t begin, size_t end,
                 double* scores) {
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
