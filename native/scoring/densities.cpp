// How far numbers lie from the centres of the classes: the normal and the Student-t density.
#include <limits>
#include <vector>

#include "common/matrix_rows.hpp"
#include "common/vectors.hpp"
#include "scoring/scoring.hpp"

namespace naively::NAIVELY_LEVEL {
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
template <int R, int C, class Number, class Penalty>
void add_distances(const Number* const* lines, size_t columns, const Padded& centre, const Padded& precision,
                   size_t from, double* scores, const Penalty& penalty) {
    Vec sums[R][C];
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c) sums[r][c] = load(scores + r * centre.width + from + c * LANES);
    for (size_t j = 0, at = from; j < columns; ++j, at += centre.width)
        for (int c = 0; c < C; ++c) {
            Vec middle = load(centre.data + at + c * LANES), sharpness = load(precision.data + at + c * LANES);
            for (int r = 0; r < R; ++r) {
                Vec gap = all(double(lines[r][j])) - middle;
                sums[r][c] -= penalty(at + c * LANES, gap * gap * sharpness);
            }
        }
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c) store(scores + r * centre.width + from + c * LANES, sums[r][c]);
}

// The same for one row with holes: where there is no number, its column's base is taken out of the total again.
template <int C, class Number, class Penalty>
void add_around_holes(const Number* line, size_t columns, const Padded& centre, const Padded& precision,
                      const Padded& base, size_t from, double* scores, const Penalty& penalty) {
    Vec sums[C];
    for (int c = 0; c < C; ++c) sums[c] = load(scores + from + c * LANES);
    for (size_t j = 0, at = from; j < columns; ++j, at += centre.width) {
        bool hole = line[j] != line[j];
        for (int c = 0; c < C; ++c) {
            size_t here = at + c * LANES;
            Vec gap = all(double(line[j])) - load(centre.data + here);
            sums[c] -= hole ? load(base.data + here) : penalty(here, gap * gap * load(precision.data + here));
        }
    }
    for (int c = 0; c < C; ++c) store(scores + from + c * LANES, sums[c]);
}

template <class Number>
bool has_hole(const Number* line, size_t columns) {
    int found = 0;
    for (size_t j = 0; j < columns; ++j) found |= line[j] != line[j];
    return found;
}

bool all_finite(const double* scores, size_t width) {
    Mask bad{};
    for (size_t c = 0; c < width; c += LANES) bad |= not_finite(load(scores + c));
    return !any(bad);
}

// The same for one row, with care: holes say nothing, and no distance is infinite.
template <class Number, class Penalty>
void add_carefully(const Number* line, size_t columns, bool holes, const Padded& centre, const Padded& precision,
                   const Padded& base, double* score, const Penalty& penalty) {
    size_t width = centre.width;
    for (size_t j = 0, at = 0; j < columns; ++j, at += width) {
        if (line[j] != line[j] && holes) continue;
        // Neither a number too large nor infinity may pass for the other: only the first is brought nearer.
        double v = line[j];
        if (std::abs(v) <= std::numeric_limits<double>::max()) v = std::clamp(v, -LARGEST, LARGEST);
        for (size_t c = 0; c < width; c += LANES) {
            Vec gap = all(v) - load(centre.data + at + c), far = gap * gap * load(precision.data + at + c);
            far = choose(all(v - v) == all(0.0), smaller(far, all(LARGEST_SQUARE)), far);
            store(score + c, load(score + c) + (load(base.data + at + c) - penalty(at + c, far)));
        }
    }
}

// With three vectors of classes each, the sums of three rows fill the registers; four would spill.
constexpr int AT_ONCE = 3;

template <class Penalty>
void score_distances(const Matrix& x, bool holes, const Padded& centre, const Padded& precision, const Padded& base,
                     const double* total, size_t begin, size_t end, double* scores, const Penalty& penalty) {
    with_numbers(x, AT_ONCE, [&](auto line_of) {
        size_t width = centre.width;
        std::vector<double> before(AT_ONCE * width);
        for (size_t row = begin; row < end;) {
            size_t rows = std::min<size_t>(AT_ONCE, end - row);
            decltype(line_of(0)) lines[AT_ONCE];
            for (size_t r = 0; r < rows; ++r) lines[r] = line_of(row + r);
            std::copy(scores, scores + rows * width, before.begin());
            for (size_t r = 0; r < rows; ++r)
                for (size_t c = 0; c < width; c += LANES)
                    store(scores + r * width + c, load(scores + r * width + c) + load(total + c));
            bool around[AT_ONCE] = {}, any_hole = false;
            for (size_t r = 0; holes && r < rows; ++r) any_hole |= around[r] = has_hole(lines[r], x.columns);
            by_vectors<3>(width, [&](auto count, size_t from) {
                constexpr int C = decltype(count)::value;
                if (rows == AT_ONCE && !any_hole)
                    return add_distances<AT_ONCE, C>(lines, x.columns, centre, precision, from, scores, penalty);
                for (size_t r = 0; r < rows; ++r)
                    if (around[r])
                        add_around_holes<C>(lines[r], x.columns, centre, precision, base, from, scores + r * width,
                                            penalty);
                    else
                        add_distances<1, C>(lines + r, x.columns, centre, precision, from, scores + r * width, penalty);
            });
            // Infinities and overflow end in a score that is not finite: only such rows are done again.
            for (size_t r = 0; r < rows; ++r, scores += width)
                if (!all_finite(scores, width)) {
                    std::copy_n(before.data() + r * width, width, scores);
                    add_carefully(lines[r], x.columns, holes, centre, precision, base, scores, penalty);
                }
            row += rows;
        }
    });
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

}  // namespace naively::NAIVELY_LEVEL
