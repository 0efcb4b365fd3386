// Normal densities of all columns at once, of rows by counts without their fold: linear discriminant scores, of one
// covariance for all classes, and quadratic ones. Compiled once per instruction level.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "common/threads.hpp"
#include "common/vectors.hpp"
#include "cross_fitting/cross_fitting.hpp"
#include "linear_algebra/linear_algebra.hpp"
#include "linear_algebra/sums.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// Rows whose products are summed up before they are subtracted, and rows that are scored at once.
constexpr size_t PRODUCTS_AT_ONCE = 8, ROWS_AT_ONCE = 64;
// Rows of a class that have a mean and a scatter of their own: two, but for the rounding of fractional weights.
constexpr double ENOUGH = 2.0 - 1e-9;

// Rows of each class, their sums, and the lower triangles of their products.
class Moments {
  public:
    explicit Moments(const NormalRows& from, size_t classes)
        : size_(from.size),
          by_class_(from.by_class),
          n(from.n, from.n + classes),
          sums(from.sums, from.sums + classes * from.size),
          products(from.products, from.products + (from.by_class ? classes : 1) * from.size * from.size) {}

    void subtract(const NormalRows& x, const FoldedRows& rows, size_t begin, size_t end) {
        for (size_t k = 0; k < (by_class_ ? n.size() : 1); ++k) {
            double* to = products.data() + k * size_ * size_;
            size_t count = 0;
            const double* lines[PRODUCTS_AT_ONCE];
            double weights[PRODUCTS_AT_ONCE];
            for (size_t row = begin; row < end; ++row) {
                auto label = size_t(rows.labels[row]);
                if (by_class_ && label != k) continue;
                const double* line = x.x + row * size_;
                n[label] -= rows.weights[row];
                for (size_t i = 0; i < size_; ++i) sums[label * size_ + i] -= rows.weights[row] * line[i];
                lines[count] = line, weights[count++] = rows.weights[row];
                if (count == PRODUCTS_AT_ONCE) subtract_products(lines, weights, count, to), count = 0;
            }
            subtract_products(lines, weights, count, to);
        }
    }

  private:
    void subtract_products(const double* const* lines, const double* weights, size_t count, double* to) const {
        for (size_t i = 0; i < size_ && count; ++i, to += size_) {
            double by[PRODUCTS_AT_ONCE] = {};
            bool any = false;
            for (size_t r = 0; r < count; ++r) by[r] = weights[r] * lines[r][i], any |= by[r] != 0.0;
            if (!any) continue;
            for (size_t r = 0; r < count; ++r)
                for (size_t j = 0; j <= i; ++j) to[j] -= by[r] * lines[r][j];
        }
    }

    size_t size_;
    bool by_class_;

  public:
    std::vector<double> n, sums, products;
};

// Covariances of the classes by the counts without a fold, and the scores of the fold's rows under them.
class FoldScores {
  public:
    FoldScores(const NormalRows& x, const FoldedRows& rows, const Moments& counts)
        : x_(x), rows_(rows), classes_(rows.classes), size_(x.size), n_(counts.n), means_(classes_ * size_) {
        std::vector<double> overall(size_, 0.0);
        for (double& rows_of_class : n_) rows_of_class = std::max(rows_of_class, 0.0), whole_ += rows_of_class;
        whole_ = std::max(whole_, 1e-9);
        for (size_t i = 0; i < classes_ * size_; ++i) overall[i % size_] += counts.sums[i];
        within_.assign(size_ * size_, 0.0);
        if (!x.by_class) within_ = counts.products;
        for (size_t k = 0; k < classes_; ++k) {
            const double* sums = counts.sums.data() + k * size_;
            for (size_t i = 0; i < size_; ++i)
                means_[k * size_ + i] = n_[k] >= ENOUGH ? sums[i] / n_[k] : overall[i] / whole_;
            if (x.by_class)
                scatters_.emplace_back(counts.products.begin() + ptrdiff_t(k * size_ * size_),
                                       counts.products.begin() + ptrdiff_t((k + 1) * size_ * size_));
            double share = n_[k] > 1e-9 ? 1.0 / n_[k] : 0.0;
            double* to = x.by_class ? scatters_.back().data() : within_.data();
            for (size_t i = 0; i < size_; ++i)
                for (size_t j = 0; j <= i; ++j) to[i * size_ + j] -= sums[i] * share * sums[j];
            if (!x.by_class) continue;
            if (n_[k] < ENOUGH) std::fill(scatters_.back().begin(), scatters_.back().end(), 0.0);
            for (size_t i = 0; i < size_ * size_; ++i) within_[i] += to[i];
        }
    }

    // Scores [class][row] of a fold, up to what all classes share; false if a covariance is not positive.
    bool score(const Shrinkage& by, size_t begin, size_t end, double* out) const {
        if (!(by.alpha < 1 ? quadratic(by, begin, end, out) : linear(by.ridge, begin, end, out))) return false;
        for (size_t row = begin; row < end; ++row) {
            double most = out[row];
            for (size_t k = 1; k < classes_; ++k) most = std::max(most, out[k * rows_.rows + row]);
            for (size_t k = 0; k < classes_; ++k) out[k * rows_.rows + row] -= most;
        }
        return true;
    }

  private:
    bool linear(double ridge, size_t begin, size_t end, double* out) const {
        std::vector<double> root = within_, slopes(size_ * classes_);
        for (size_t i = 0; i < size_; ++i) root[i * size_ + i] += ridge;
        if (!factor_cholesky(root.data(), size_)) return false;
        for (size_t k = 0; k < classes_; ++k)
            for (size_t i = 0; i < size_; ++i) slopes[i * classes_ + k] = whole_ * means_[k * size_ + i];
        solve_cholesky(root.data(), size_, slopes.data(), classes_);
        std::vector<double> constants(classes_, 0.0), scores(classes_);
        for (size_t i = 0; i < size_; ++i)
            for (size_t k = 0; k < classes_; ++k)
                constants[k] -= 0.5 * means_[k * size_ + i] * slopes[i * classes_ + k];
        for (size_t row = begin; row < end; ++row) {
            const double* x = x_.x + row * size_;
            std::copy(constants.begin(), constants.end(), scores.begin());
            for (size_t i = 0; i < size_; ++i)
                if (x[i] != 0.0)
                    for (size_t k = 0; k < classes_; ++k) scores[k] += x[i] * slopes[i * classes_ + k];
            const uint8_t* gaps = x_.gaps ? x_.gaps + row * size_ : nullptr;
            for (size_t i = 0; i < size_ && gaps; ++i)  // its share of the constants
                if (gaps[i])
                    for (size_t k = 0; k < classes_; ++k)
                        scores[k] += 0.5 * means_[k * size_ + i] * slopes[i * classes_ + k];
            for (size_t k = 0; k < classes_; ++k) out[k * rows_.rows + row] = scores[k];
        }
        return true;
    }

    bool quadratic(const Shrinkage& by, size_t begin, size_t end, double* out) const {
        std::vector<double> root(size_ * size_), away(size_ * ROWS_AT_ONCE);
        for (size_t k = 0; k < classes_; ++k) {
            double alpha = n_[k] >= ENOUGH ? by.alpha : 1.0, own = n_[k] >= ENOUGH ? (1 - alpha) / n_[k] : 0.0;
            for (size_t i = 0; i < size_ * size_; ++i) root[i] = scatters_[k][i] * own + within_[i] * (alpha / whole_);
            for (size_t i = 0; i < size_; ++i) root[i * size_ + i] += by.ridge / whole_;
            if (!factor_cholesky(root.data(), size_)) return false;
            double log_det = log_determinant(root, size_);
            const double* mean = means_.data() + k * size_;
            for (size_t first = begin; first < end; first += ROWS_AT_ONCE) {
                size_t count = std::min(ROWS_AT_ONCE, end - first);
                for (size_t r = 0; r < count; ++r)
                    for (size_t i = 0; i < size_; ++i)
                        away[i * ROWS_AT_ONCE + r] = x_.x[(first + r) * size_ + i] - mean[i];
                double far[ROWS_AT_ONCE] = {};
                for (size_t i = 0; i < size_; ++i) solve_line(root.data() + i * size_, i, away.data(), far);
                for (size_t r = 0; r < count; ++r) out[k * rows_.rows + first + r] = -0.5 * (far[r] + log_det);
            }
        }
        return true;
    }

    // One line of L⁻¹·(x - mean) for some rows, and the squares of their lengths.
    static void solve_line(const double* root, size_t i, double* away, double* far) {
        double* line = away + i * ROWS_AT_ONCE;
        for (size_t j = 0; j < i; ++j)
            for (size_t r = 0; r < ROWS_AT_ONCE; ++r) line[r] -= root[j] * away[j * ROWS_AT_ONCE + r];
        for (size_t r = 0; r < ROWS_AT_ONCE; ++r) line[r] /= root[i], far[r] += line[r] * line[r];
    }

    static double log_determinant(const std::vector<double>& root, size_t size) {
        double sum = 0.0;
        for (size_t i = 0; i < size; ++i) sum += std::log(root[i * size + i]);
        return 2 * sum;
    }

    const NormalRows& x_;
    const FoldedRows& rows_;
    size_t classes_, size_;
    double whole_ = 0.0;
    std::vector<double> n_, means_, within_;
    std::vector<std::vector<double>> scatters_;
};

}  // namespace

// The first folds under several shrinkages; false if a covariance is not positive. out: [setting][class][row].
bool cross_normal(const NormalRows& x, const FoldedRows& rows, const Shrinkage* settings, size_t count, size_t folds,
                  double* out, const Run& run) {
    Moments base(x, rows.classes);
    base.subtract(x, rows, rows.test, rows.test_end);
    std::atomic<bool> good{true};
    size_t cubes = folds * x.size * x.size * x.size * (x.by_class ? rows.classes : 1) / 8;
    run_pieces(folds, cubes + rows.rows * x.size * rows.classes, run, [&](size_t fold) {
        Moments counts = base;
        if (!rows.tests(fold)) counts.subtract(x, rows, rows.first(fold), rows.first(fold + 1));
        FoldScores scores(x, rows, counts);
        for (size_t s = 0; s < count; ++s)
            if (!scores.score(settings[s], rows.first(fold), rows.first(fold + 1), out + s * rows.classes * rows.rows))
                good = false;
    });
    return good;
}

}  // namespace naively::NAIVELY_LEVEL
