// Sums of products of features, class by class. Compiled once per instruction level.
#include <algorithm>
#include <vector>

#include "common/code_columns.hpp"
#include "common/threads.hpp"
#include "counting/counting.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// What one block of rows adds to the products of features: a constant, a flag for each code, the numbers.
// Only products of a feature with itself or a later one are filled in.
class Products {
  public:
    Products(const Matrix& codes, const int64_t* offsets, const double* numbers, size_t width, const LabeledRows& rows,
             double* out)
        : offsets_(offsets),
          columns_(codes.columns),
          numbers_(numbers),
          width_(width),
          rows_(rows),
          n_(codes.rows),
          features_(1 + size_t(offsets[codes.columns]) + width),
          out_(out),
          codes_(codes, offsets, 0, codes.rows) {}

    // Whether there are so few rows that the tables of all codes would cost more than the rows.
    bool few_rows() const {
        size_t set = 1 + columns_ + width_;
        return n_ * set * set < features_ * features_;
    }
    // One row: only the features that are not 0.
    void add_row(size_t row) const {
        size_t last = first(columns_), k = size_t(rows_.classes[row]);
        const double* x = numbers_ + row * width_;
        std::vector<size_t> set;
        for (size_t j = 0; j < columns_; ++j)
            if (codes_.column(j)[row] < size(j)) set.push_back(first(j) + codes_.column(j)[row]);
        std::vector<double> weighted(width_), products(width_);
        for (size_t m = 0; m < width_; ++m) weighted[m] = weight(row) * x[m];
        for (size_t i = 0; i < set.size(); ++i) {
            line(k, 0)[set[i]] += weight(row);
            for (size_t j = i; j < set.size(); ++j) line(k, set[i])[set[j]] += weight(row);
            for (size_t m = 0; m < width_; ++m) line(k, set[i])[last + m] += weighted[m];
        }
        for (size_t m = 0; m < width_; ++m) {
            line(k, 0)[last + m] += weighted[m];
            // Products first, then sums: in one step some levels would round once, and others twice.
            for (size_t l = m; l < width_; ++l) products[l] = weighted[m] * x[l];
            for (size_t l = m; l < width_; ++l) line(k, last + m)[last + l] += products[l];
        }
    }

    size_t pieces() const { return columns_ + width_; }
    // Pieces write to different lines of the products, so they can run in parallel, in any order.
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
        for (size_t row = 0; row < n_; ++row)
            of_row[row] = uint32_t(mine[row]) * uint32_t(classes) + uint32_t(rows_.classes[row]);
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
    const LabeledRows& rows_;
    size_t n_, features_;
    double* out_;
    CodeColumns codes_;
};

}  // namespace

void count_products(const Matrix& codes, const int64_t* offsets, const double* numbers, size_t width,
                    const LabeledRows& rows, double* out, const Run& run) {
    Products products(codes, offsets, numbers, width, rows, out);
    size_t features = codes.columns + width;
    if (products.few_rows())
        for (size_t row = 0; row < codes.rows; ++row) products.add_row(row);
    else
        run_pieces(products.pieces(), codes.rows * features * features / 2, run,
                   [&](size_t piece) { products.fill(piece); });
    for (size_t row = 0; row < codes.rows; ++row) {
        size_t all = 1 + size_t(offsets[codes.columns]) + width;
        out[size_t(rows.classes[row]) * all * all] += rows.weights ? rows.weights[row] : 1.0;
    }
}

void mirror_products(const double* half, size_t classes, size_t features, const int64_t* places, double* out) {
    // In squares, so that both the lines and what becomes columns stay in the first-level cache.
    constexpr size_t SIDE = 32;
    for (size_t k = 0; k < classes; ++k, half += features * features) {
        double* to = out + size_t(places[k]) * features * features;
        for (size_t f = 0; f < features; f += SIDE)
            for (size_t g = f; g < features; g += SIDE)
                for (size_t a = f; a < std::min(f + SIDE, features); ++a)
                    for (size_t b = std::max(a, g); b < std::min(g + SIDE, features); ++b)
                        to[a * features + b] = to[b * features + a] = half[a * features + b];
    }
}

}  // namespace naively::NAIVELY_LEVEL
