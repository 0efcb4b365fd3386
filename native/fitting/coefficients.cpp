// Coefficients of cells by penalized logistic regression: one table after the other takes a Newton step, given the
// scores of rows so far. Compiled once per instruction level; every sum is in a fixed order, whatever the threads.
#include <algorithm>
#include <cmath>
#include <vector>

#include "common/threads.hpp"
#include "common/vectors.hpp"
#include "fitting/fitting.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

using Numbers = std::vector<double>;

// Scores in a piece of the rows: each takes an exponential, so that fewer of them pay for a thread.
constexpr size_t CELLS_PER_PIECE = size_t{1} << 13;

// Some rows; the tables of two columns of codes: one whose steps are taken, one whose slopes are wanted next.
struct Pass {
    const int32_t* taken;  // the cell of each row, or null
    const double* step;    // [cell][width]
    const int32_t* asked;  // the cell of each row, or null
    double* slope;         // [cell][2][width]: slopes and curvatures
};

// A slope and a curvature, added together.
using Pair __attribute__((vector_size(2 * sizeof(double)))) = double;

// Two classes: a row has one score, that of the second class less that of the first. Even rows and odd ones have sums
// of their own, [cell][2][slope and curvature], since neighbors are often of the same cell and would wait for each
// other.
template <bool Taken, bool Asked>
void pass_of_two(const CoefficientRows& rows, size_t begin, size_t end, const Pass& pass) {
    auto some = [&](size_t row, auto count) {
        double z[LANES] = {}, own[LANES] = {}, weight[LANES] = {};
        for (size_t i = 0; i < count; ++i) {
            z[i] = rows.scores[row + i];
            if (Taken) z[i] = rows.scores[row + i] += pass.step[pass.taken[row + i]];
            own[i] = rows.classes[row + i], weight[i] = rows.weights[row + i];
        }
        if (!Asked) return;
        Vec x{z[0], z[1], z[2], z[3]}, below = choose(Mask(x > all(0.0)), all(0.0) - x, x), e = exponential(below);
        Vec less = e / (all(1.0) + e), p = choose(Mask(x > all(0.0)), all(1.0) - less, less), by = load(weight);
        Vec slope = by * (p - load(own)), curve = by * (p * (all(1.0) - p));
        for (size_t i = 0; i < count; ++i) {
            double* at = pass.slope + 4 * size_t(pass.asked[row + i]) + 2 * (i % 2);
            Pair sum;
            std::memcpy(&sum, at, sizeof sum);
            sum += Pair{slope[i], curve[i]};
            std::memcpy(at, &sum, sizeof sum);
        }
    };
    size_t row = begin;
    for (; row + LANES <= end; row += LANES) some(row, std::integral_constant<size_t, LANES>{});
    if (row < end) some(row, end - row);
}

// Several classes: the lanes of a vector are classes.
template <int C>
void pass_of_many(const CoefficientRows& rows, size_t begin, size_t end, const Pass& pass) {
    constexpr size_t width = C * LANES;
    for (size_t row = begin; row < end; ++row) {
        double* score = rows.scores + row * width;
        Vec z[C];
        for (int c = 0; c < C; ++c) z[c] = load(score + c * LANES);
        if (pass.taken) {
            const double* step = pass.step + size_t(pass.taken[row]) * width;
            for (int c = 0; c < C; ++c) store(score + c * LANES, z[c] += load(step + c * LANES));
        }
        double weight = rows.weights[row];
        if (!pass.asked || weight == 0.0) continue;
        Vec highest = z[0];
        for (int c = 1; c < C; ++c) highest = larger(highest, z[c]);
        Vec top = all(largest(highest)), whole{};
        for (int c = 0; c < C; ++c) z[c] -= top;
        exponential(z);
        for (int c = 0; c < C; ++c) whole += z[c];
        Vec by = all(1.0 / sum(whole)), heavy = all(weight);
        double* slope = pass.slope + size_t(pass.asked[row]) * 2 * width;
        for (int c = 0; c < C; ++c) {
            Vec p = z[c] * by;
            // A diagonal that is about the curvature: exact for two classes that share a row, and for equal ones.
            Vec curve = smaller(p, all(2.0) * p * (all(1.0) - p));
            store(slope + c * LANES, load(slope + c * LANES) + heavy * p);
            store(slope + width + c * LANES, load(slope + width + c * LANES) + heavy * curve);
        }
        slope[rows.classes[row]] -= weight;
    }
}

void pass_over(const CoefficientRows& rows, size_t begin, size_t end, const Pass& pass) {
    if (rows.width == 1) {
        if (!pass.taken) return pass_of_two<false, true>(rows, begin, end, pass);
        return pass.asked ? pass_of_two<true, true>(rows, begin, end, pass)
                          : pass_of_two<true, false>(rows, begin, end, pass);
    }
    with_constant<MOST_CLASS_VECTORS>(rows.width / LANES,
                                      [&](auto c) { pass_of_many<decltype(c)::value>(rows, begin, end, pass); });
}

// The steps of cells that are penalized by themselves, and what they gain about.
double free_steps(const CoefficientTable& table, size_t width, const double* slope, double* step, double* cells) {
    double gain = 0.0;
    for (size_t cell = 0; cell < table.cells; ++cell)
        for (size_t c = 0; c < width; ++c) {
            double* own = cells + cell * width + c;
            const double* at = slope + cell * 2 * width + c;
            double g = at[0] + table.pull * *own, h = at[width] + table.pull;
            double move = h > 0.0 ? -g / h : 0.0;
            step[cell * width + c] = move, *own += move, gain += -0.5 * move * g;
        }
    return gain;
}

// The steps of ordered cells: a line, then deviations from it, which are pulled towards their neighbors.
double smooth_steps(const CoefficientTable& table, size_t width, const double* slope, double* step, double* cells,
                    double* line, Numbers& work) {
    size_t n = table.cells;
    double gain = 0.0;
    work.resize(4 * n);
    double *g = work.data(), *h = g + n, *ahead = h + n, *side = ahead + n;
    for (size_t c = 0; c < width; ++c) {
        double along = table.line_pull * line[c], curve = table.line_pull;
        for (size_t i = 0; i < n; ++i) {
            g[i] = slope[i * 2 * width + c], h[i] = slope[i * 2 * width + width + c];
            along += g[i] * table.positions[i], curve += h[i] * table.positions[i] * table.positions[i];
        }
        double tilt = curve > 0.0 ? -along / curve : 0.0;
        line[c] += tilt, gain += -0.5 * tilt * along;
        // Thomas's algorithm: the curvature of neighbors' pulls is tridiagonal.
        for (size_t i = 0; i < n; ++i) {
            double own = cells[i * width + c], pull = table.neighbor_pull;
            double bend = g[i] + h[i] * tilt * table.positions[i] + table.pull * own;
            double whole = h[i] + table.pull;
            if (i > 0) bend += pull * (own - cells[(i - 1) * width + c]), whole += pull;
            if (i + 1 < n) bend += pull * (own - cells[(i + 1) * width + c]), whole += pull;
            double before = i > 0 ? ahead[i - 1] : 0.0, by = whole + (i > 0 ? pull * before : 0.0);
            ahead[i] = by > 0.0 && i + 1 < n ? -pull / by : 0.0;
            side[i] = by > 0.0 ? (-bend + (i > 0 ? pull * side[i - 1] : 0.0)) / by : 0.0;
            g[i] = bend;
        }
        for (size_t i = n; i-- > 0;) {
            double move = side[i] - (i + 1 < n ? ahead[i] * side[i + 1] : 0.0);
            side[i] = move;
            gain += -0.5 * move * g[i];
        }
        for (size_t i = 0; i < n; ++i) {
            cells[i * width + c] += side[i];
            step[i * width + c] = side[i] + tilt * table.positions[i];
        }
    }
    return gain;
}

// The slope and the curvature of the loss of rows along a direction of their scores, at some way along it.
struct Along {
    double slope = 0.0, curve = 0.0, loss = 0.0;
};
Along along_of_two(const CoefficientRows& rows, size_t begin, size_t end, const double* move, double way) {
    Along out;
    for (size_t row = begin; row < end; row += LANES) {
        size_t n = std::min<size_t>(LANES, end - row);
        double z[LANES] = {};
        for (size_t i = 0; i < n; ++i) z[i] = rows.scores[row + i] + way * move[row + i];
        Vec x = load(z), below = choose(Mask(x > all(0.0)), all(0.0) - x, x), e = exponential(below);
        Vec less = e / (all(1.0) + e), p = choose(Mask(x > all(0.0)), all(1.0) - less, less);
        Vec own = all(1.0);
        for (size_t i = 0; i < n; ++i) {
            double by = rows.weights[row + i] * move[row + i];
            out.slope += by * (p[i] - rows.classes[row + i]), out.curve += by * move[row + i] * p[i] * (1.0 - p[i]);
            own[i] = rows.classes[row + i] ? p[i] : 1.0 - p[i];
        }
        if (way != 0.0) continue;  // the loss is wanted where the cycle ended
        Vec log = logarithm(larger(own, all(1e-300)));
        for (size_t i = 0; i < n; ++i) out.loss -= rows.weights[row + i] * log[i];
    }
    return out;
}
template <int C>
Along along_of_many(const CoefficientRows& rows, size_t begin, size_t end, const double* move, double way) {
    constexpr size_t width = C * LANES;
    Along out;
    for (size_t row = begin; row < end; ++row) {
        double weight = rows.weights[row];
        if (weight == 0.0) continue;
        const double *score = rows.scores + row * width, *by = move + row * width;
        Vec z[C];
        for (int c = 0; c < C; ++c) z[c] = load(score + c * LANES) + all(way) * load(by + c * LANES);
        Vec highest = z[0];
        for (int c = 1; c < C; ++c) highest = larger(highest, z[c]);
        Vec top = all(largest(highest)), whole{}, mean{}, square{};
        for (int c = 0; c < C; ++c) z[c] -= top;
        exponential(z);
        for (int c = 0; c < C; ++c) {
            Vec d = load(by + c * LANES);
            whole += z[c], mean += z[c] * d, square += z[c] * d * d;
        }
        double total = sum(whole), m = sum(mean) / total;
        if (way == 0.0) out.loss += weight * (std::log(total) + top[0] - score[rows.classes[row]]);
        out.slope += weight * (m - by[rows.classes[row]]), out.curve += weight * (sum(square) / total - m * m);
    }
    return out;
}

}  // namespace

double fit_coefficients(const CoefficientRows& rows, const CoefficientTable* all_tables, size_t all_count,
                        size_t cycles, double enough, const Run& run) {
    size_t width = rows.width, largest = 0, cells = 0;
    std::vector<CoefficientTable> tables;  // those that are not held at 0
    for (size_t t = 0; t < all_count; ++t)
        if (std::isfinite(all_tables[t].pull)) tables.push_back(all_tables[t]);
    size_t count = tables.size();
    for (const auto& table : tables) largest = std::max(largest, table.cells + 1), cells += table.cells;
    Numbers step(largest * width), work, before(rows.rows * width), values((cells + count) * width);
    // Pieces of the rows have slopes of their own, which are added in order: their number follows from the data alone.
    size_t most = std::clamp<size_t>(rows.rows * width / CELLS_PER_PIECE, 1, PIECES);
    std::vector<Numbers> slopes(most);
    const CoefficientTable* last = nullptr;
    double total = 0.0, loss = 0.0;
    auto pass = [&](const CoefficientTable* next) {
        size_t pieces = next ? std::clamp<size_t>(rows.rows / (8 * (next->cells + 1)), 1, most) : most;
        run_pieces(pieces, pieces * CELLS_PER_THREAD, run, [&](size_t piece) {
            if (next) slopes[piece].assign((next->cells + 1) * (width == 1 ? 4 : 2 * width), 0.0);
            Pass both{last ? last->codes : nullptr, step.data(), next ? next->codes : nullptr, slopes[piece].data()};
            pass_over(rows, rows.rows * piece / pieces, rows.rows * (piece + 1) / pieces, both);
            for (size_t cell = 0; next && width == 1 && cell < next->cells; ++cell)
                for (size_t i = 0; i < 2; ++i)
                    slopes[piece][2 * cell + i] = slopes[piece][4 * cell + i] + slopes[piece][4 * cell + 2 + i];
        });
        for (size_t piece = 1; next && piece < pieces; ++piece)
            for (size_t i = 0; i < slopes[0].size(); ++i) slopes[0][i] += slopes[piece][i];
        last = next;
    };
    auto copy_values = [&] {
        double* to = values.data();
        for (size_t t = 0; t < count; ++t) {
            to = std::copy_n(tables[t].values, tables[t].cells * width, to);
            to = std::copy_n(tables[t].line, width, to);
        }
    };
    // Goes on in the direction of a cycle as far as the loss falls: along a narrow valley, cycles alone take small
    // steps.
    auto go_on = [&] {
        double* move = before.data();
        for (size_t i = 0; i < before.size(); ++i) move[i] = rows.scores[i] - move[i];
        double pulled = 0.0, bent = 0.0;  // slope and curvature of the penalty
        double* moved = values.data();
        for (size_t t = 0; t < count; ++t) {
            const CoefficientTable& table = tables[t];
            for (size_t i = 0; i < table.cells * width; ++i) {
                double d = moved[i] = table.values[i] - moved[i];
                pulled += table.pull * d * table.values[i], bent += table.pull * d * d;
            }
            for (size_t i = width; table.positions && i < table.cells * width; ++i) {
                double d = moved[i] - moved[i - width];
                pulled += table.neighbor_pull * d * (table.values[i] - table.values[i - width]);
                bent += table.neighbor_pull * d * d;
            }
            moved += table.cells * width;
            for (size_t c = 0; c < width; ++c) {
                double d = moved[c] = table.line[c] - moved[c];
                pulled += table.line_pull * d * table.line[c], bent += table.line_pull * d * d;
            }
            moved += width;
        }
        double way = 0.0;
        for (int looks = 0; looks < 4; ++looks) {
            std::vector<Along> parts(most);
            run_pieces(most, most * CELLS_PER_THREAD, run, [&](size_t piece) {
                size_t begin = rows.rows * piece / most, end = rows.rows * (piece + 1) / most;
                if (width == 1)
                    parts[piece] = along_of_two(rows, begin, end, move, way);
                else
                    with_constant<MOST_CLASS_VECTORS>(width / LANES, [&](auto c) {
                        parts[piece] = along_of_many<decltype(c)::value>(rows, begin, end, move, way);
                    });
            });
            double slope = pulled + way * bent, curve = bent;
            double sum_of_losses = 0.0;
            for (const Along& part : parts) slope += part.slope, curve += part.curve, sum_of_losses += part.loss;
            if (looks == 0) loss = sum_of_losses;
            if (!(curve > 0.0)) break;
            double next = std::clamp(way - slope / curve, 0.0, 2.0 * way + 4.0);
            bool close = std::abs(next - way) < 0.1 * (1.0 + way);
            way = next;
            if (close) break;
        }
        if (way < 0.1) return;
        for (size_t i = 0; i < before.size(); ++i) rows.scores[i] += way * move[i];
        moved = values.data();
        for (size_t t = 0; t < count; ++t) {
            for (size_t i = 0; i < tables[t].cells * width; ++i) tables[t].values[i] += way * moved[i];
            moved += tables[t].cells * width;
            for (size_t c = 0; c < width; ++c) tables[t].line[c] += way * moved[c];
            moved += width;
        }
    };
    Numbers gains(count, INFINITY);  // of each table's last step
    for (size_t cycle = 0; cycle < cycles; ++cycle) {
        double gain = 0.0;
        std::copy_n(rows.scores, rows.rows * width, before.data());
        copy_values();
        for (size_t t = 0; t < count; ++t) {
            const CoefficientTable& table = tables[t];
            // Those that gained so little that all such tables together are within the tolerance are passed over.
            if (gains[t] * double(count) <= enough * loss) continue;
            pass(&table);
            gains[t] = table.positions
                           ? smooth_steps(table, width, slopes[0].data(), step.data(), table.values, table.line, work)
                           : free_steps(table, width, slopes[0].data(), step.data(), table.values);
            gain += gains[t];
            for (size_t c = 0; c < width; ++c) step[table.cells * width + c] = 0.0;  // a missing value
        }
        if (last) pass(nullptr);
        total += gain;
        go_on();
        if (gain <= enough * loss) break;
    }
    return total;
}

}  // namespace naively::NAIVELY_LEVEL
