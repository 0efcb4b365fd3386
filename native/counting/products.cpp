// Sums of products of features, class by class. Compiled once per instruction level.
#include <algorithm>
#include <vector>

#include "common/code_columns.hpp"
#include "common/threads.hpp"
#include "counting/counting.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// Rows that are counted at once: few enough that what is made of them stays in the cache. Fractions are added up in
// such blocks, whatever the number of threads.
constexpr size_t ROWS = size_t{1} << 15;
// Columns whose pairs with another one are counted in one piece.
constexpr size_t AT_ONCE = 4;

// What some rows add to the products of features: a constant, a flag for each code, the numbers.
// Only products of a feature with itself or a later one are filled in.
class Products {
  public:
    Products(const Matrix& codes, const int64_t* offsets, const double* numbers, size_t width, const LabeledRows& rows,
             double* out, const Run& run)
        : offsets_(offsets),
          columns_(codes.columns),
          numbers_(numbers),
          width_(width),
          rows_(rows),
          n_(codes.rows),
          features_(1 + size_t(offsets[codes.columns]) + width),
          out_(out),
          codes_(codes, offsets, 0, codes.rows, run) {
        // Some columns with one at a time: enough pieces for many threads, but the codes of that one are read once.
        for (size_t i = 0; i < columns_; ++i)
            for (size_t j = i; j < columns_; j += AT_ONCE) pieces_.push_back({i, j, std::min(j + AT_ONCE, columns_)});
        for (size_t m = 0; m < width_; ++m) {
            pieces_.push_back({columns_ + m, 0, std::min(AT_ONCE, columns_)});
            for (size_t j = AT_ONCE; j < columns_; j += AT_ONCE)
                pieces_.push_back({columns_ + m, j, std::min(j + AT_ONCE, columns_)});
        }
    }

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

    // Pieces write to different cells of the products, so they can run in parallel, in any order.
    void fill(size_t piece) const {
        const Piece& own = pieces_[piece];
        for (size_t begin = 0; begin < n_; begin += ROWS) {
            size_t end = std::min(begin + ROWS, n_);
            if (own.of >= columns_)
                number(own.of - columns_, own.first, own.last, begin, end);
            else if (rows_.weights)
                column<double>(own.of, own.first, own.last, begin, end);
            else
                column<uint32_t>(own.of, own.first, own.last, begin, end);
        }
    }
    size_t pieces() const { return pieces_.size(); }

  private:
    size_t size(size_t j) const { return size_t(offsets_[j + 1] - offsets_[j]); }
    size_t first(size_t j) const { return 1 + size_t(offsets_[j]); }
    double* line(size_t k, size_t feature) const { return out_ + (k * features_ + feature) * features_; }
    double weight(size_t row) const { return rows_.weights ? rows_.weights[row] : 1.0; }

    // Column i with columns from first on, in some rows; with itself comes with the constant.
    template <class Part>
    void column(size_t i, size_t first_j, size_t last_j, size_t begin, size_t end) const {
        size_t classes = rows_.n_classes, lines = (size(i) + 1) * classes;
        std::vector<uint32_t> of_row(end - begin);  // code and class of each row in one number
        const uint16_t* mine = codes_.column(i);
        for (size_t row = begin; row < end; ++row)
            of_row[row - begin] = uint32_t(mine[row]) * uint32_t(classes) + uint32_t(rows_.classes[row]);
        std::vector<Part> table;
        for (size_t j = first_j; j < last_j; ++j) {
            size_t wide = size(j) + 1;
            table.assign(lines * wide, Part{});
            const uint16_t* other = codes_.column(j);
            if (std::is_same_v<Part, double>)
                for (size_t row = begin; row < end; ++row)
                    table[of_row[row - begin] * wide + other[row]] += Part(weight(row));
            else
                for (size_t row = begin; row < end; ++row) ++table[of_row[row - begin] * wide + other[row]];
            for (size_t u = 0; u < size(i); ++u)
                for (size_t k = 0; k < classes; ++k) {
                    const Part* from = table.data() + (u * classes + k) * wide;
                    double* to = line(k, first(i) + u) + first(j);
                    for (size_t v = j == i ? u : 0; v < size(j); ++v) to[v] += double(from[v]);
                    if (j == i) line(k, 0)[first(i) + u] += double(from[u]);
                }
        }
    }

    // Number m with columns from first on, in some rows; the first piece has the other numbers and the constant, too.
    void number(size_t m, size_t first_j, size_t last_j, size_t begin, size_t end) const {
        size_t classes = rows_.n_classes, last = first(columns_);
        std::vector<double> x(end - begin);
        for (size_t row = begin; row < end; ++row) x[row - begin] = weight(row) * numbers_[row * width_ + m];
        if (first_j == 0) among_numbers(m, x, begin, end);
        for (size_t j = first_j; j < last_j; ++j) {
            size_t wide = size(j) + 1;
            std::vector<double> table(classes * wide, 0.0);
            const uint16_t* code = codes_.column(j);
            for (size_t row = begin; row < end; ++row)
                table[size_t(rows_.classes[row]) * wide + code[row]] += x[row - begin];
            for (size_t k = 0; k < classes; ++k)
                for (size_t v = 0; v < size(j); ++v) line(k, first(j) + v)[last + m] += table[k * wide + v];
        }
    }

    // Number m, times the weights, with itself and every later number, and with the constant.
    void among_numbers(size_t m, const std::vector<double>& x, size_t begin, size_t end) const {
        size_t classes = rows_.n_classes, last = first(columns_);
        std::vector<double> sums(classes * width_, 0.0), total(classes, 0.0);
        for (size_t row = begin; row < end; ++row) {
            size_t k = size_t(rows_.classes[row]);
            const double* others = numbers_ + row * width_;
            double *to = sums.data() + k * width_, by = x[row - begin];
            total[k] += by;
            for (size_t l = m; l < width_; ++l) to[l] += by * others[l];
        }
        for (size_t k = 0; k < classes; ++k) {
            line(k, 0)[last + m] += total[k];
            for (size_t l = m; l < width_; ++l) line(k, last + m)[last + l] += sums[k * width_ + l];
        }
    }

    // The pairs of a column, or of a number after the columns, with columns first .. last - 1.
    struct Piece {
        size_t of, first, last;
    };

    const int64_t* offsets_;
    size_t columns_;
    const double* numbers_;
    size_t width_;
    const LabeledRows& rows_;
    size_t n_, features_;
    double* out_;
    CodeColumns codes_;
    std::vector<Piece> pieces_;
};

}  // namespace

void count_products(const Matrix& codes, const int64_t* offsets, const double* numbers, size_t width,
                    const LabeledRows& rows, double* out, const Run& run) {
    Products products(codes, offsets, numbers, width, rows, out, run);
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
