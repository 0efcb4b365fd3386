// Rows in, a score for each class out. Compiled once per instruction level (NAIVELY_LEVEL names it).
#include "scoring.hpp"

#include <algorithm>
#include <limits>

#include "rows.hpp"
#include "vectors.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// A score that is no number: finish() refuses the row.
constexpr double REFUSED = std::numeric_limits<double>::quiet_NaN();

// Lines of a table, each with what it is multiplied by: what a row of codes, words or flags says.
struct Chosen {
    std::vector<const double*> lines;
    std::vector<double> times;
    size_t size = 0;
    explicit Chosen(size_t most) { make_room(most); }
    void make_room(size_t most) {
        if (lines.size() < most) lines.resize(most), times.resize(most);
    }
    void add(const double* line, double by) {
        lines[size] = line;
        times[size++] = by;
    }
};

// What counts for a cell. One that could not have been counted becomes a score that is no number: infinity is not just
// present, and a count beyond all bounds not just large.
inline double read(double x, Reading reading) {
    if (!reading.presence) return x <= LARGEST_COUNT && x >= -LARGEST_COUNT ? x : REFUSED;
    return x - x == 0 ? double(x > reading.threshold) : REFUSED;
}

// How far ahead a line is asked for: a table larger than the cache answers late.
constexpr size_t AHEAD = 12;

// score[v] += Σ times * line[v], for C vectors that stay in registers meanwhile.
template <int C>
void add_lines(const Chosen& chosen, size_t from, double* score) {
    Vec sums[C];
    for (int c = 0; c < C; ++c) sums[c] = load(score + from + c * LANES);
    for (size_t i = 0; i < chosen.size; ++i) {
        if (i + AHEAD < chosen.size) {
            const char* coming = reinterpret_cast<const char*>(chosen.lines[i + AHEAD] + from);
            for (size_t byte = 0; byte < C * LANES * sizeof(double); byte += 64) __builtin_prefetch(coming + byte);
        }
        Vec by = all(chosen.times[i]);
        const double* line = chosen.lines[i] + from;
        for (int c = 0; c < C; ++c) sums[c] += by * load(line + c * LANES);
    }
    for (int c = 0; c < C; ++c) store(score + from + c * LANES, sums[c]);
}

// Calls f<C>(from) for groups of at most Most vectors that together cover the width.
template <int Most, class F>
void by_vectors(size_t width, F&& f) {
    size_t from = 0;
    auto rest = [&] { return (width - from) / LANES; };
    for (; rest() >= Most; from += Most * LANES) f(std::integral_constant<int, Most>{}, from);
    if constexpr (Most > 1) {
        auto tail = [&](auto self, auto count) {
            constexpr int C = decltype(count)::value;
            if (rest() >= C) f(count, from), from += C * LANES;
            if constexpr (C > 1) self(self, std::integral_constant<int, C - 1>{});
        };
        tail(tail, std::integral_constant<int, Most - 1>{});
    }
}

void add_chosen(const Chosen& chosen, size_t width, double* score) {
    by_vectors<6>(width, [&](auto count, size_t from) { add_lines<decltype(count)::value>(chosen, from, score); });
}

}  // namespace

namespace {

// score[v] += Σ table[offset + code][v] over the columns, for C vectors that stay in registers meanwhile.
template <int C, class Code>
void add_codes(const Code* line, size_t columns, const int64_t* offsets, const Padded& table, size_t from,
               double* score) {
    Vec sums[C];
    for (int c = 0; c < C; ++c) sums[c] = load(score + from + c * LANES);
    for (size_t j = 0; j < columns; ++j) {
        int64_t code = int64_t(line[j]), unknown = offsets[j + 1] - offsets[j] - 1;
        if (code < 0) continue;
        const double* said = table.data + size_t(offsets[j] + std::min(code, unknown)) * table.width + from;
        for (int c = 0; c < C; ++c) sums[c] += load(said + c * LANES);
    }
    for (int c = 0; c < C; ++c) store(score + from + c * LANES, sums[c]);
}

}  // namespace

void score_codes(const Matrix& x, bool holes, const int64_t* offsets, const Padded& table, size_t begin, size_t end,
                 double* scores) {
    with_codes(x, [&](auto line_of) {
        for (size_t row = begin; row < end; ++row, scores += table.width) {
            auto line = line_of(row);
            by_vectors<6>(table.width, [&](auto count, size_t from) {
                add_codes<decltype(count)::value>(line, x.columns, offsets, table, from, scores);
            });
            if (!holes && std::any_of(line, line + x.columns, [](auto code) { return int64_t(code) < 0; }))
                scores[0] = REFUSED;
        }
    });
}

void score_dense(const Matrix& x, Reading reading, const Padded& table, size_t begin, size_t end, double* scores) {
    Lines<double> line_of(x);
    Chosen chosen(x.columns);
    for (size_t row = begin; row < end; ++row, scores += table.width) {
        const double* line = line_of(row);
        chosen.size = 0;
        for (size_t j = 0; j < x.columns; ++j) {
            double v = read(line[j], reading);
            if (v != 0) chosen.add(table.data + j * table.width, v);
        }
        add_chosen(chosen, table.width, scores);
    }
}

void score_sparse(const Sparse& x, Reading reading, const Padded& table, size_t begin, size_t end, double* scores) {
    with_index(x, [&](auto index) {
        Entries<decltype(index)> entries(x);
        Chosen chosen(entries_per_row(x));
        for (size_t row = begin; row < end; ++row, scores += table.width) {
            size_t size = entries.size(row);
            auto columns = entries.columns(row);
            const double* values = entries.values(row);
            chosen.make_room(size);
            chosen.size = 0;
            bool inside = true;
            for (size_t e = 0; e < size; ++e) {
                bool here = columns[e] >= 0 && size_t(columns[e]) < table.lines;
                inside &= here;
                double v = read(values[e], reading);
                if (v != 0 && here) chosen.add(table.data + size_t(columns[e]) * table.width, v);
            }
            add_chosen(chosen, table.width, scores);
            if (!inside) scores[0] = REFUSED;
        }
    });
}

namespace {

struct Squared {
    Vec operator()(size_t, Vec far) const { return far; }
};
struct Tailed {
    const Padded& power;
    Vec operator()(size_t at, Vec far) const {
        return load(power.data + at) * log_of_one_plus(far);  // no number where far is infinite
    }
};

// scores -= Σ penalty((x - centre)² * precision), for R rows and C vectors of classes that stay in registers.
template <int R, int C, class Penalty>
void add_distances(const double* const* lines, size_t columns, const Padded& centre, const Padded& precision,
                   size_t from, double* scores, const Penalty& penalty) {
    Vec sums[R][C];
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c) sums[r][c] = load(scores + r * centre.width + from + c * LANES);
    for (size_t j = 0, at = from; j < columns; ++j, at += centre.width)
        for (int c = 0; c < C; ++c) {
            Vec middle = load(centre.data + at + c * LANES), sharpness = load(precision.data + at + c * LANES);
            for (int r = 0; r < R; ++r) {
                Vec gap = all(lines[r][j]) - middle;
                sums[r][c] -= penalty(at + c * LANES, gap * gap * sharpness);
            }
        }
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c) store(scores + r * centre.width + from + c * LANES, sums[r][c]);
}

bool all_finite(const double* scores, size_t width) {
    Mask bad{};
    for (size_t c = 0; c < width; c += LANES) bad |= not_finite(load(scores + c));
    return !any(bad);
}

// The same for one row, with care: holes say nothing, and no distance is infinite.
template <class Penalty>
void add_carefully(const double* line, size_t columns, bool holes, const Padded& centre, const Padded& precision,
                   const Padded& base, const double* total, double* score, const Penalty& penalty) {
    size_t width = centre.width;
    for (size_t c = 0; c < width; ++c) score[c] += total[c];
    for (size_t j = 0, at = 0; j < columns; ++j, at += width) {
        if (line[j] != line[j] && holes) {
            for (size_t c = 0; c < width; ++c) score[c] -= base.data[at + c];
            continue;
        }
        // Neither a number too large nor infinity may pass for the other: only the first is brought nearer.
        double v = std::abs(line[j]) <= std::numeric_limits<double>::max() ? std::clamp(line[j], -LARGEST, LARGEST) : line[j];
        for (size_t c = 0; c < width; c += LANES) {
            Vec gap = all(v) - load(centre.data + at + c), far = gap * gap * load(precision.data + at + c);
            far = choose(all(v - v) == all(0.0), smaller(far, all(LARGEST_SQUARE)), far);
            store(score + c, load(score + c) - penalty(at + c, far));
        }
    }
}

// With three vectors of classes each, the sums of three rows fill the registers; four would spill.
constexpr int AT_ONCE = 3;

template <class Penalty>
void score_distances(const Matrix& x, bool holes, const Padded& centre, const Padded& precision, const Padded& base,
                     const double* total, size_t begin, size_t end, double* scores, const Penalty& penalty) {
    size_t width = centre.width;
    Lines<double> line_of(x, AT_ONCE);
    std::vector<double> before(AT_ONCE * width);
    for (size_t row = begin; row < end;) {
        size_t rows = std::min<size_t>(AT_ONCE, end - row);
        const double* lines[AT_ONCE];
        for (size_t r = 0; r < rows; ++r) lines[r] = line_of(row + r, r);
        std::copy(scores, scores + rows * width, before.begin());
        for (size_t r = 0; r < rows; ++r)
            for (size_t c = 0; c < width; c += LANES)
                store(scores + r * width + c, load(scores + r * width + c) + load(total + c));
        by_vectors<3>(width, [&](auto count, size_t from) {
            constexpr int C = decltype(count)::value;
            if (rows == AT_ONCE)
                add_distances<AT_ONCE, C>(lines, x.columns, centre, precision, from, scores, penalty);
            else
                for (size_t r = 0; r < rows; ++r)
                    add_distances<1, C>(lines + r, x.columns, centre, precision, from, scores + r * width, penalty);
        });
        // Holes, infinities and overflow all end in a score that is not finite: only such rows are done again.
        for (size_t r = 0; r < rows; ++r, scores += width)
            if (!all_finite(scores, width)) {
                std::copy_n(before.data() + r * width, width, scores);
                add_carefully(lines[r], x.columns, holes, centre, precision, base, total, scores, penalty);
            }
        row += rows;
    }
}

}  // namespace

void score_normal(const Matrix& x, bool holes, const Padded& centre, const Padded& precision, const Padded& base,
                  const double* total, size_t begin, size_t end, double* scores) {
    score_distances(x, holes, centre, precision, base, total, begin, end, scores, Squared{});
}

void score_student(const Matrix& x, bool holes, const Padded& centre, const Padded& precision, const Padded& power,
                   const Padded& base, const double* total, size_t begin, size_t end, double* scores) {
    score_distances(x, holes, centre, precision, base, total, begin, end, scores, Tailed{power});
}

namespace {

constexpr double MINUS_INFINITY = -std::numeric_limits<double>::infinity();

template <class T>
void write(const double* from, size_t n, void* to, size_t row) {
    T* out = static_cast<T*>(to) + row * n;
    for (size_t c = 0; c < n; ++c) out[c] = T(from[c]);
}

int64_t first_largest(const double* scores, size_t n) { return std::max_element(scores, scores + n) - scores; }

// Scores minus their log-sum-exp, or the shares themselves.
void normalise(double* score, size_t width, double top, bool logarithms) {
    // Relative to the largest, so that the sum lies between 1 and the number of classes: no under- or overflow.
    Vec total{};
    for (size_t c = 0; c < width; c += LANES) {
        Vec below = load(score + c) - all(top), share = exponential(below);
        total += share;
        store(score + c, logarithms ? below : share);
    }
    double whole = sum(total), scale = 1.0 / whole, log_whole = logarithms ? std::log(whole) : 0.0;
    for (size_t c = 0; c < width; c += LANES) {
        Vec v = load(score + c);
        store(score + c, logarithms ? v - all(log_whole) : v * all(scale));
    }
}

}  // namespace

size_t finish(double* scores, const double* against, size_t begin, size_t end, const Finish& how) {
    size_t width = how.width;
    for (size_t row = begin; row < end; ++row, scores += width, against += against ? width : 0) {
        if (!all_finite(scores, width) || (against && !all_finite(against, width))) return row;
        Vec highest = all(MINUS_INFINITY);
        for (size_t c = 0; c < width; c += LANES) {
            Vec v = load(scores + c) + load(how.closed + c);
            if (against) v = choose(load(against + c) > all(0.5), all(MINUS_INFINITY), v);
            store(scores + c, v);
            highest = larger(highest, v);
        }
        double top = largest(highest);
        bool ruled_out = top == MINUS_INFINITY;  // everywhere: nothing was learned from the row
        if (how.answer == Answer::choice) {
            int64_t& out = static_cast<int64_t*>(how.out)[row];
            if (ruled_out)
                out = first_largest(how.fallback, how.classes);
            else
                for (out = 0; scores[out] != top;) ++out;
            continue;
        }
        if (how.answer != Answer::log_joint) {
            bool logarithms = how.answer == Answer::log_posterior;
            if (ruled_out) {
                for (size_t c = 0; c < how.classes; ++c)
                    scores[c] = logarithms ? how.fallback[c] : std::exp(how.fallback[c]);
            } else {
                normalise(scores, width, top, logarithms);
            }
        }
        how.type == Type::f32 ? write<float>(scores, how.classes, how.out, row)
                              : write<double>(scores, how.classes, how.out, row);
    }
    return NO_ROW;
}

}  // namespace naively::NAIVELY_LEVEL
