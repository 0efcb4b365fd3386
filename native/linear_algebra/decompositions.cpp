// Decompositions of matrices, stored row by row. The order of all sums follows from the size of the matrix alone.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "common/threads.hpp"
#include "common/vectors.hpp"
#include "linear_algebra/linear_algebra.hpp"
#include "linear_algebra/sums.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// to -= by * from, number by number.
void subtract_line(double* __restrict to, const double* __restrict from, double by, size_t n) {
    for (size_t c = 0; c < n; ++c) to[c] -= by * from[c];
}

// One matrix by Gauss's elimination; its sides become the solution. Returns whether it can be solved.
bool eliminate(double* a, size_t n, double* sides, size_t columns) {
    for (size_t k = 0; k < n; ++k) {
        size_t best = k;
        for (size_t i = k + 1; i < n; ++i)
            if (std::abs(a[i * n + k]) > std::abs(a[best * n + k])) best = i;
        if (best != k) {
            std::swap_ranges(a + k * n, a + (k + 1) * n, a + best * n);
            std::swap_ranges(sides + k * columns, sides + (k + 1) * columns, sides + best * columns);
        }
        double pivot = a[k * n + k];
        if (pivot == 0.0) return false;
        for (size_t i = k + 1; i < n; ++i) {
            double by = a[i * n + k] / pivot;
            subtract_line(a + i * n + k, a + k * n + k, by, n - k);
            subtract_line(sides + i * columns, sides + k * columns, by, columns);
        }
    }
    for (size_t k = n; k-- > 0;) {
        for (size_t i = k + 1; i < n; ++i)
            subtract_line(sides + k * columns, sides + i * columns, a[k * n + i], columns);
        for (size_t c = 0; c < columns; ++c) sides[k * columns + c] /= a[k * n + k];
    }
    return true;
}

struct Rotation {
    double cosine, sine;
};
// Rotations of neighboring vectors, from `top` and the one above it downwards.
struct Sweep {
    size_t top, begin, end;
};

// Eigenvectors of a symmetric matrix: reflections make it tridiagonal (Householder), rotations make it diagonal (QL
// with implicit shifts). Both are kept, and applied to the unit vectors at the end: a few columns at a time, which stay
// in the cache.
class Eigenvectors {
  public:
    Eigenvectors(double* matrix, size_t size, double* values)
        : a_(matrix), n_(size), d_(values), e_(size, 0.0), lengths_(size, 0.0), w_(size + PARTS), p_(size + PARTS) {}

    bool find(const Run& run) {
        double largest = 0.0;
        for (size_t i = 0; i < n_ * n_; ++i) {
            if (!std::isfinite(a_[i])) return false;
            largest = std::max(largest, std::abs(a_[i]));
        }
        int exponent = 0;
        (void)std::frexp(largest, &exponent);
        exponent = std::max(exponent, -1000);
        for (size_t i = 0; i < n_ * n_; ++i)
            a_[i] = std::ldexp(a_[i], -exponent);  // squares stay in range, bits the same
        make_tridiagonal();
        if (!make_diagonal()) return false;
        order_.resize(n_);
        std::iota(order_.begin(), order_.end(), size_t{0});
        std::stable_sort(order_.begin(), order_.end(), [&](size_t i, size_t j) { return d_[i] < d_[j]; });
        std::vector<double> turned(n_ * n_), sorted(n_);
        constexpr size_t lanes = REGISTER_BYTES / sizeof(double), many = 4 * lanes;
        if (n_ <= lanes)
            turn<1>(0, turned.data());
        else
            run_pieces((n_ + many - 1) / many, n_ * n_ * n_ / 16, run,
                       [&](size_t piece) { turn<4>(piece * many, turned.data()); });
        for (size_t i = 0; i < n_; ++i) sorted[i] = std::ldexp(d_[order_[i]], exponent);
        std::copy(sorted.begin(), sorted.end(), d_);
        std::copy(turned.begin(), turned.end(), a_);
        return true;
    }

  private:
    double* line(size_t i) { return a_ + i * n_; }

    // From the last row on: a reflection leaves one number beside the diagonal. Row i then holds its vector v, and
    // lengths_[i] half its square. The matrix loses v·wᵀ + w·vᵀ: on the way to the next product with a vector.
    void make_tridiagonal() {
        std::vector<double> next(n_ + PARTS);
        const double* v = nullptr;  // of the row before
        for (size_t i = n_; i-- > 0;) {
            double* row = line(i);
            if (v)
                for (size_t c = 0; c <= i; ++c) row[c] = (row[c] - v[i] * w_[c]) - w_[i] * v[c];
            d_[i] = row[i];
            if (i == 0) break;
            double scale = 0.0;
            for (size_t c = 0; c + 1 < i; ++c) scale = std::max(scale, std::abs(row[c]));
            e_[i] = row[i - 1];
            if (scale != 0.0) {
                scale = std::max(scale, std::abs(row[i - 1]));
                for (size_t c = 0; c < i; ++c) row[c] /= scale;
                double square = dot(row, row, i), last = row[i - 1];
                double beside = last >= 0 ? -std::sqrt(square) : std::sqrt(square);
                e_[i] = scale * beside;
                lengths_[i] = square - last * beside;
                row[i - 1] = last - beside;
            }
            bool reflected = scale != 0.0;
            std::fill(p_.begin(), p_.end(), 0.0);
            for (size_t r = 0; r < i && (v || reflected); ++r) p_[r] += update_line(r, v, reflected ? row : nullptr);
            v = nullptr;
            if (reflected) {
                for (size_t c = 0; c < i; ++c) p_[c] /= lengths_[i];
                double along = dot(row, p_.data(), i) / (2 * lengths_[i]);
                for (size_t c = 0; c < i; ++c) w_[c] = p_[c] - along * row[c];
                v = row;
            }
        }
    }

    // Subtracts what the last reflection takes from a row, and adds the row's part of the product with the next vector.
    double update_line(size_t r, const double* v, const double* next) {
        using V = PartialSums<double>;
        double *row = line(r), by = next ? next[r] : 0.0;
        V sums{};
        auto update = [&](V x, V of_v, V of_w) { return v ? (x - v[r] * of_w) - w_[r] * of_v : x; };
        size_t c = 0;
        for (; c + PARTS <= r; c += PARTS) {
            V x = update(vector_at<V>(row + c), v ? vector_at<V>(v + c) : V{}, vector_at<V>(w_.data() + c));
            std::memcpy(row + c, &x, sizeof x);
            if (!next) continue;
            sums += x * vector_at<V>(next + c);
            V p = vector_at<V>(p_.data() + c) + x * by;
            std::memcpy(p_.data() + c, &p, sizeof p);
        }
        double rest = 0.0;
        for (; c <= r; ++c) {
            if (v) row[c] = (row[c] - v[r] * w_[c]) - w_[r] * v[c];
            if (!next) continue;
            rest += row[c] * next[c];
            if (c < r) p_[c] += row[c] * by;
        }
        return whole<double>(sums) + rest;
    }

    bool make_diagonal() {
        std::vector<double> e(e_.begin() + (n_ ? 1 : 0), e_.end());  // e[i]: between i and i + 1
        e.push_back(0.0);
        double largest = 0.0;
        for (size_t i = 0; i < n_; ++i) largest = std::max(largest, std::abs(d_[i]) + std::abs(e[i]));
        double negligible = 0x1p-53 * largest;  // beside the rounding of the reflections
        for (size_t low = 0; low < n_; ++low)
            for (size_t tries = 0;; ++tries) {
                size_t high = low;
                for (; high + 1 < n_; ++high) {
                    if (std::abs(e[high]) <= negligible) break;
                }
                if (high == low) break;
                if (tries == 60) return false;
                double g = (d_[low + 1] - d_[low]) / (2 * e[low]), r = std::hypot(g, 1.0);
                g = d_[high] - d_[low] + e[low] / (g + std::copysign(r, g));
                double s = 1.0, c = 1.0, p = 0.0;
                size_t begin = rotations_.size(), i = high;
                while (i-- > low) {
                    double f = s * e[i], b = c * e[i];
                    r = std::sqrt(f * f + g * g);
                    if (!(r > 1e-150 && r < 1e150)) r = std::hypot(f, g);
                    e[i + 1] = r;
                    if (r == 0.0) {
                        d_[i + 1] -= p;
                        break;
                    }
                    s = f / r, c = g / r;
                    g = d_[i + 1] - p;
                    r = (d_[i] - g) * s + 2 * c * b;
                    p = s * r;
                    d_[i + 1] = g + p;
                    g = c * r - b;
                    rotations_.push_back({c, s});
                }
                sweeps_.push_back({high - 1, begin, rotations_.size()});
                if (r == 0.0 && i + 1 > low) {
                    e[high] = 0.0;
                    continue;
                }
                d_[low] -= p;
                e[low] = g;
                e[high] = 0.0;
            }
        return true;
    }

    // Columns of the eigenvectors, which are rows: out[eigenvector][column], for N registers of columns from one on.
    template <size_t N>
    void turn(size_t first, double* out) {
        using V = Register<double>;
        constexpr size_t lanes = sizeof(V) / sizeof(double);
        struct Columns {
            V of[N];
        };
        std::vector<double> z((n_ + 1) * N * lanes, 0.0);
        size_t used = std::min(N * lanes, n_ - first);
        for (size_t c = 0; c < used; ++c) z[(first + c) * N * lanes + c] = 1.0;
        auto get = [&](size_t i) { return vector_at<Columns>(z.data() + i * N * lanes); };
        auto put = [&](size_t i, const Columns& x) { std::memcpy(z.data() + i * N * lanes, &x, sizeof x); };
        for (size_t i = n_; i-- > 1;) {
            if (lengths_[i] == 0.0) continue;
            const double* v = line(i);
            Columns sums{};
            for (size_t c = 0; c < i; ++c) {
                Columns x = get(c);
                for (size_t k = 0; k < N; ++k) sums.of[k] += v[c] * x.of[k];
            }
            for (size_t k = 0; k < N; ++k) sums.of[k] /= lengths_[i];
            for (size_t c = 0; c < i; ++c) {
                Columns x = get(c);
                for (size_t k = 0; k < N; ++k) x.of[k] -= v[c] * sums.of[k];
                put(c, x);
            }
        }
        for (const Sweep& sweep : sweeps_) {
            size_t i = sweep.top;
            Columns above = get(i + 1);
            for (size_t at = sweep.begin; at < sweep.end; ++at, --i) {
                auto [c, s] = rotations_[at];
                Columns here = get(i), done;
                for (size_t k = 0; k < N; ++k) {
                    done.of[k] = s * here.of[k] + c * above.of[k];
                    above.of[k] = c * here.of[k] - s * above.of[k];
                }
                put(i + 1, done);
            }
            put(i + 1, above);
        }
        for (size_t i = 0; i < n_; ++i) {
            const double* from = z.data() + order_[i] * N * lanes;
            std::copy(from, from + used, out + i * n_ + first);
        }
    }

    double* a_;
    size_t n_;
    double* d_;
    std::vector<double> e_, lengths_, w_, p_;
    std::vector<Rotation> rotations_;
    std::vector<Sweep> sweeps_;
    std::vector<size_t> order_;
};

}  // namespace

// Some columns at a time, whose rows stay in the cache.
bool factor_cholesky(double* a, size_t n) {
    constexpr size_t columns = 64;
    for (size_t first = 0; first < n; first += columns)
        for (size_t i = first; i < n; ++i) {
            double* row = a + i * n;
            for (size_t j = first; j < std::min({first + columns, i + 1, n}); ++j) {
                double rest = row[j] - dot(row, a + j * n, j);
                if (j < i) {
                    row[j] = rest / a[j * n + j];
                } else {
                    if (!(rest > 0.0) || !std::isfinite(rest)) return false;
                    row[j] = std::sqrt(rest);
                }
            }
        }
    for (size_t i = 0; i < n; ++i) std::fill(a + i * n + i + 1, a + (i + 1) * n, 0.0);
    return true;
}

void solve_cholesky(const double* root, size_t n, double* sides, size_t columns) {
    for (size_t i = 0; i < n; ++i) {
        double* side = sides + i * columns;
        for (size_t k = 0; k < i; ++k) subtract_line(side, sides + k * columns, root[i * n + k], columns);
        for (size_t c = 0; c < columns; ++c) side[c] /= root[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        double* side = sides + i * columns;
        for (size_t c = 0; c < columns; ++c) side[c] /= root[i * n + i];
        for (size_t k = 0; k < i; ++k) subtract_line(sides + k * columns, side, root[i * n + k], columns);
    }
}

size_t factor_lu(double* matrices, size_t count, size_t n, double* sides, size_t columns, const Run& run) {
    constexpr size_t at_once = 64;
    std::vector<char> solved(count, 1);
    run_pieces((count + at_once - 1) / at_once, count * n * n * (n + columns) / 16, run, [&](size_t piece) {
        for (size_t at = piece * at_once; at < std::min((piece + 1) * at_once, count); ++at)
            solved[at] = eliminate(matrices + at * n * n, n, sides + at * n * columns, columns);
    });
    auto failed = std::find(solved.begin(), solved.end(), 0);
    return failed == solved.end() ? NO_ROW : size_t(failed - solved.begin());
}

bool eigenvectors(double* matrices, size_t count, size_t n, double* values, const Run& run) {
    bool found = true;
    for (size_t at = 0; at < count; ++at) found &= Eigenvectors(matrices + at * n * n, n, values + at * n).find(run);
    return found;
}

}  // namespace naively::NAIVELY_LEVEL
