// Weights of terms of least log loss, by Newton's method. Compiled once per instruction level; every sum is in a fixed
// order, whatever the threads.
#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "common/threads.hpp"
#include "common/vectors.hpp"
#include "fitting/fitting.hpp"
#include "linear_algebra/linear_algebra.hpp"
#include "linear_algebra/sums.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// Rows whose scores are computed at once, and rows whose products with each other are.
constexpr size_t ROWS_AT_ONCE = 256, PRODUCTS_AT_ONCE = 2048;
// Steps at most, steps on the same curvature, the gain of a row at which they end, and the shortest step. Numerical.
constexpr size_t STEPS = 60, SAME_CURVATURE = 8;
constexpr double TOLERANCE = 1e-9, SHORTEST = 1e-4;

using Numbers = std::vector<double>;

// Σ a[i] * b[i] of singles and doubles, in the order of dot().
double mixed_dot(const float* a, const double* b, size_t n) {
    PartialSums<double> sums{};
    size_t i = 0;
    for (; i + PARTS <= n; i += PARTS) {
        PartialSums<double> wide;
        for (size_t j = 0; j < PARTS; ++j) wide[j] = double(a[i + j]);
        sums += wide * vector_at<PartialSums<double>>(b + i);
    }
    PartialSums<double> rest{};
    for (size_t j = 0; i < n; ++i, ++j) rest[j] = double(a[i]) * b[i];
    return whole<double>(sums + rest);
}

// The log loss of rows under weights and biases.
class TermLoss {
  public:
    TermLoss(const TermRows& rows, const Run& run)
        : rows_(rows), run_(run), pieces_((rows.rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE), p(rows.classes * rows.rows) {}

    // Scores of rows less those of the highest class, [class][row].
    void scores(const double* v, double* z) const {
        run_pieces(pieces_, rows_.rows * rows_.terms * rows_.classes, run_, [&](size_t piece) {
            size_t begin = piece * ROWS_AT_ONCE, end = std::min(rows_.rows, begin + ROWS_AT_ONCE);
            scores_of(v, begin, end, z);
        });
    }

    // The loss, and the probabilities in p.
    double value(const double* v) {
        Numbers losses(pieces_);
        run_pieces(pieces_, rows_.rows * rows_.terms * rows_.classes, run_, [&](size_t piece) {
            size_t begin = piece * ROWS_AT_ONCE, end = std::min(rows_.rows, begin + ROWS_AT_ONCE);
            scores_of(v, begin, end, p.data());
            double sums[ROWS_AT_ONCE] = {}, own[ROWS_AT_ONCE] = {};
            for (size_t k = 0; k < rows_.classes; ++k) {
                double* z = p.data() + k * rows_.rows;
                const double* truth = rows_.truth + k * rows_.rows;
                for (size_t row = begin; row < end; ++row)
                    if (truth[row] != 0.0) own[row - begin] += truth[row] * z[row];
                exponentials(z + begin, end - begin);
                for (size_t row = begin; row < end; ++row) sums[row - begin] += z[row];
            }
            double loss = 0.0;
            for (size_t row = begin; row < end; ++row)
                loss += rows_.weights[row] * (std::log(sums[row - begin]) - own[row - begin]);
            for (size_t k = 0; k < rows_.classes; ++k)
                for (size_t row = begin; row < end; ++row) p[k * rows_.rows + row] /= sums[row - begin];
            losses[piece] = loss;
        });
        double loss = 0.0;
        for (double part : losses) loss += part;
        return loss;
    }

    // The slope at the probabilities in p: of weights, then of biases.
    Numbers slope() {
        Numbers out(rows_.terms + rows_.classes), error(rows_.classes * rows_.rows);
        for (size_t k = 0; k < rows_.classes; ++k)
            for (size_t row = 0, i = k * rows_.rows; row < rows_.rows; ++row, ++i)
                out[rows_.terms + k] += error[i] = (p[i] - rows_.truth[i]) * rows_.weights[row];
        constexpr size_t at_once = 16;
        run_pieces((rows_.terms + at_once - 1) / at_once, rows_.rows * rows_.terms * rows_.classes, run_,
                   [&](size_t piece) {
                       for (size_t t = piece * at_once; t < std::min(rows_.terms, (piece + 1) * at_once); ++t)
                           for (size_t k = 1; k < rows_.classes; ++k)
                               out[t] += mixed_dot(rows_.term(k, t), error.data() + k * rows_.rows, rows_.rows);
                   });
        return out;
    }

    // The curvature at the probabilities in p, [weights and biases][weights and biases].
    void curve(double* out) {
        size_t terms = rows_.terms, classes = rows_.classes, size = terms + classes;
        std::fill(out, out + size * size, 0.0);
        for (size_t begin = 0; begin < rows_.rows; begin += PRODUCTS_AT_ONCE)
            add_products(begin, std::min(rows_.rows - begin, PRODUCTS_AT_ONCE), out);
        for (size_t k = 0; k < classes; ++k)
            for (size_t j = 0; j <= k; ++j) {
                double sum = 0.0;
                for (size_t row = 0; row < rows_.rows; ++row) {
                    double own = p[k * rows_.rows + row];
                    sum += rows_.weights[row] * own * ((j == k ? 1.0 : 0.0) - p[j * rows_.rows + row]);
                }
                out[(terms + k) * size + terms + j] = out[(terms + j) * size + terms + k] = sum;
            }
        run_pieces((terms + 15) / 16, rows_.rows * terms * classes * 2, run_, [&](size_t piece) {
            Numbers heavy(rows_.rows), mean(rows_.rows);
            for (size_t t = piece * 16; t < std::min(terms, (piece + 1) * 16); ++t) add_beside(t, heavy, mean, out);
        });
    }

  private:
    static void exponentials(double* z, size_t n) {
        size_t i = 0;
        for (; i + LANES <= n; i += LANES) store(z + i, exponential(load(z + i)));
        if (i == n) return;
        double rest[LANES] = {};
        std::copy(z + i, z + n, rest);
        store(rest, exponential(load(rest)));
        std::copy(rest, rest + (n - i), z + i);
    }

    void scores_of(const double* v, size_t begin, size_t end, double* z) const {
        size_t n = end - begin;
        double most[ROWS_AT_ONCE] = {};
        std::fill(z + begin, z + end, 0.0);
        for (size_t k = 1; k < rows_.classes; ++k) {
            double *to = z + k * rows_.rows + begin, bias = v[rows_.terms + k] - v[rows_.terms];
            std::fill(to, to + n, bias);
            for (size_t t = 0; t < rows_.terms; ++t) {
                if (v[t] == 0.0) continue;
                const float* x = rows_.term(k, t) + begin;
                for (size_t i = 0; i < n; ++i) to[i] += v[t] * double(x[i]);
            }
            for (size_t i = 0; i < n; ++i) most[i] = std::max(most[i], to[i]);
        }
        for (size_t k = 0; k < rows_.classes; ++k)
            for (size_t i = 0; i < n; ++i) z[k * rows_.rows + begin + i] -= most[i];
    }

    // Products of terms with each other: of each class by its share, less those of their means.
    void add_products(size_t begin, size_t n, double* out) {
        size_t terms = rows_.terms, size = terms + rows_.classes;
        bool two = rows_.classes == 2;
        std::vector<float> lines(terms * n), products(terms * terms);
        for (size_t k = 1; k <= (two ? 1 : rows_.classes); ++k) {
            bool mean = k == rows_.classes;
            run_pieces((terms + 15) / 16, terms * n * (mean ? rows_.classes : 1), run_, [&](size_t piece) {
                for (size_t t = piece * 16; t < std::min(terms, (piece + 1) * 16); ++t)
                    mean ? mean_line(t, begin, n, lines.data() + t * n)
                         : class_line(k, t, begin, n, lines.data() + t * n);
            });
            multiply({lines.data(), 1, terms, n, 0, ptrdiff_t(n), 1}, {lines.data(), 1, n, terms, 0, 1, ptrdiff_t(n)},
                     true, products.data(), run_);
            double sign = mean ? -1.0 : 1.0;
            for (size_t i = 0; i < terms; ++i)
                for (size_t j = 0; j < terms; ++j) out[i * size + j] += sign * double(products[i * terms + j]);
        }
    }
    void class_line(size_t k, size_t t, size_t begin, size_t n, float* to) const {
        const float* x = rows_.term(k, t) + begin;
        const double *own = p.data() + k * rows_.rows + begin, *weights = rows_.weights + begin;
        bool two = rows_.classes == 2;
        for (size_t i = 0; i < n; ++i) to[i] = x[i] * std::sqrt(float(weights[i] * own[i] * (two ? 1 - own[i] : 1.0)));
    }
    void mean_line(size_t t, size_t begin, size_t n, float* to) const {
        std::fill(to, to + n, 0.0f);
        for (size_t k = 1; k < rows_.classes; ++k) {
            const float* x = rows_.term(k, t) + begin;
            const double* own = p.data() + k * rows_.rows + begin;
            for (size_t i = 0; i < n; ++i) to[i] += x[i] * float(own[i]);
        }
        for (size_t i = 0; i < n; ++i) to[i] *= std::sqrt(float(rows_.weights[begin + i]));
    }
    // Products of a term with the biases.
    void add_beside(size_t t, Numbers& heavy, Numbers& mean, double* out) const {
        size_t terms = rows_.terms, size = terms + rows_.classes, n = rows_.rows;
        std::fill(mean.begin(), mean.end(), 0.0);
        for (size_t k = 1; k < rows_.classes; ++k)
            for (size_t i = 0; i < n; ++i) mean[i] += double(rows_.term(k, t)[i]) * p[k * n + i];
        for (size_t k = 0; k < rows_.classes; ++k) {
            for (size_t i = 0; i < n; ++i) heavy[i] = rows_.weights[i] * p[k * n + i];
            double sum = k ? mixed_dot(rows_.term(k, t), heavy.data(), n) : 0.0;
            sum -= dot(mean.data(), heavy.data(), n);
            out[t * size + terms + k] = out[(terms + k) * size + t] = sum;
        }
    }

    const TermRows& rows_;
    const Run& run_;
    size_t pieces_;

  public:
    Numbers p;  // [class][row]
};

// Steps of Newton's method; a weight that is 0 and would fall is held there.
class Newton {
  public:
    Newton(TermLoss& loss, const TermRows& rows, const WeightPenalty& penalty, double* curve)
        : loss_(loss), terms_(rows.terms), size_(rows.terms + rows.classes), penalty_(penalty), curve_(curve) {}

    double value(const Numbers& v) {
        double ridge = 0.0;
        for (size_t i = 0; i < size_; ++i) {
            double away = v[i] - penalty_.towards[i];
            ridge += penalty_.pulls[i] * away * away;
        }
        return 0.5 * ridge + loss_.value(v.data());
    }

    // The loss after a step from v, which is changed; the probabilities are those of v before and after.
    double step(Numbers& v, double loss) {
        Numbers slope = loss_.slope();
        for (size_t i = 0; i < size_; ++i) slope[i] += penalty_.pulls[i] * (v[i] - penalty_.towards[i]);
        std::vector<size_t> free;
        for (size_t i = 0; i < size_; ++i)
            if (i >= terms_ || v[i] > 0 || slope[i] < 0) free.push_back(i);
        Numbers move(size_, 0.0), sides(free.size());
        for (size_t i = 0; i < free.size(); ++i) sides[i] = -slope[free[i]];
        solve_cholesky(root_of(free).data(), free.size(), sides.data(), 1);
        for (size_t i = 0; i < free.size(); ++i) move[free[i]] = sides[i];
        Numbers tried(size_), before = loss_.p;
        for (double length = 1.0; length > SHORTEST; length /= 2) {
            double along = 0.0;
            for (size_t i = 0; i < size_; ++i) {
                tried[i] = v[i] + length * move[i];
                if (i < terms_) tried[i] = std::max(tried[i], 0.0);
                along += slope[i] * (tried[i] - v[i]);
            }
            double found = value(tried);
            if (found <= loss + 1e-4 * along) {
                v = tried;
                return found;
            }
        }
        loss_.p = before;
        return loss;
    }

    void renew_curve() { loss_.curve(curve_), roots_.clear(); }

  private:
    const Numbers& root_of(const std::vector<size_t>& free) {
        auto [at, added] = roots_.try_emplace(free);
        for (double more = 0.0; added; more = more == 0.0 ? 1e-9 : 10 * more) {
            Numbers& root = at->second;
            root.resize(free.size() * free.size());
            for (size_t i = 0; i < free.size(); ++i)
                for (size_t j = 0; j < free.size(); ++j) root[i * free.size() + j] = curve_[free[i] * size_ + free[j]];
            for (size_t i = 0; i < free.size(); ++i)
                root[i * free.size() + i] +=
                    penalty_.pulls[free[i]] + more * (1.0 + std::abs(root[i * free.size() + i]));
            // Where rounding leaves a curvature that is not positive, more is added until it is.
            if (factor_cholesky(root.data(), free.size()) || more > 1e9) break;
        }
        return at->second;
    }

    TermLoss& loss_;
    size_t terms_, size_;
    const WeightPenalty& penalty_;
    double* curve_;
    std::map<std::vector<size_t>, Numbers> roots_;
};

}  // namespace

void term_scores(const TermRows& rows, const double* v, double* out, const Run& run) {
    TermLoss(rows, run).scores(v, out);
}

void fit_term_weights(const TermRows& rows, const WeightPenalty& penalty, double enough, bool curve_is_known,
                      double* curve, double* parameters, const Run& run) {
    TermLoss loss(rows, run);
    Newton newton(loss, rows, penalty, curve);
    Numbers v(parameters, parameters + rows.terms + rows.classes);
    double total = 0.0;
    for (size_t row = 0; row < rows.rows; ++row) total += rows.weights[row];
    double value = newton.value(v);
    for (size_t step = 0; step < STEPS; ++step) {
        if ((step == 0 && !curve_is_known) || step % SAME_CURVATURE == SAME_CURVATURE - 1) newton.renew_curve();
        double before = value;
        value = newton.step(v, before);
        if (!(before - value > std::max(enough, TOLERANCE * total))) break;
    }
    std::copy(v.begin(), v.end(), parameters);
}

}  // namespace naively::NAIVELY_LEVEL
