// Decompositions of matrices, stored row by row. The order of all sums follows from the size of the matrix alone.
#include <algorithm>
#include <cmath>
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

// Jacobi's method: rotations in the plane of two coordinates, until all others are 0 but for rounding.
void find_eigenvectors(double* a, size_t n, double* values) {
    constexpr int sweeps = 30;
    std::vector<double> vectors(n * n, 0.0);
    for (size_t i = 0; i < n; ++i) vectors[i * n + i] = 1.0;
    double whole = 0.0;
    for (size_t i = 0; i < n * n; ++i) whole += a[i] * a[i];
    for (int sweep = 0; sweep < sweeps; ++sweep) {
        double apart = 0.0;
        for (size_t i = 0; i < n; ++i)
            for (size_t j = 0; j < i; ++j) apart += a[i * n + j] * a[i * n + j];
        if (!(apart > 1e-26 * whole)) break;
        for (size_t i = 0; i < n; ++i)
            for (size_t j = i + 1; j < n; ++j) {
                double both = a[i * n + j];
                if (both * both <= 1e-32 * whole / double(n * n)) continue;
                double ratio = (a[j * n + j] - a[i * n + i]) / (2.0 * both);
                double t = (ratio < 0 ? -1.0 : 1.0) / (std::abs(ratio) + std::sqrt(ratio * ratio + 1.0));
                double c = 1.0 / std::sqrt(t * t + 1.0), s = t * c;
                auto rotate = [&](double* __restrict x, double* __restrict y) {
                    for (size_t k = 0; k < n; ++k) {
                        double before = x[k];
                        x[k] = c * before - s * y[k], y[k] = s * before + c * y[k];
                    }
                };
                double ii = a[i * n + i] - t * both, jj = a[j * n + j] + t * both;
                rotate(a + i * n, a + j * n);
                for (size_t k = 0; k < n; ++k) a[k * n + i] = a[i * n + k], a[k * n + j] = a[j * n + k];
                a[i * n + i] = ii, a[j * n + j] = jj, a[i * n + j] = a[j * n + i] = 0.0;
                rotate(vectors.data() + i * n, vectors.data() + j * n);
            }
    }
    std::vector<size_t> order(n);
    for (size_t i = 0; i < n; ++i) order[i] = i, values[i] = a[i * n + i];
    std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) { return values[x] > values[y]; });
    std::vector<double> sorted(n);
    for (size_t i = 0; i < n; ++i) {
        sorted[i] = values[order[i]];
        // A sign of its own: the largest part is positive.
        const double* line = vectors.data() + order[i] * n;
        size_t most = 0;
        for (size_t k = 1; k < n; ++k)
            if (std::abs(line[k]) > std::abs(line[most]) * (1.0 + 1e-9)) most = k;
        double sign = n && line[most] < 0 ? -1.0 : 1.0;
        for (size_t k = 0; k < n; ++k) a[i * n + k] = sign * line[k];
    }
    std::copy(sorted.begin(), sorted.end(), values);
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

}  // namespace naively::NAIVELY_LEVEL
