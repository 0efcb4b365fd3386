// Scores of numbers: the normal and the Student-t density. Compiled once per instruction level.
#include <limits>
#include <vector>

#include "common/matrix_rows.hpp"
#include "common/vectors.hpp"
#include "scoring/scoring.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// What a squared distance, times its precision, takes from a score.
struct NormalPenalty {
    Vec operator()(Vec score, size_t, Vec square, Vec precision) const {
        return subtract_product(score, square, precision);
    }
    Vec of(size_t, Vec far) const { return far; }
};
struct StudentPenalty {
    const PaddedTable& power;
    Vec operator()(Vec score, size_t at, Vec square, Vec precision) const { return score - of(at, square * precision); }
    Vec of(size_t at, Vec far) const {
        return load(power.data + at) * log_of_one_plus(far);  // NaN where far is infinite
    }
};

// scores -= Σ penalty of (x - center)² * precision, for R rows and C vectors of classes that stay in registers.
template <int R, int C, class Penalty>
void add_distances(const double* const* lines, size_t columns, const PaddedTable& center, const PaddedTable& precision,
                   size_t from, double* scores, const Penalty& penalty) {
    Vec sums[R][C];
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c) sums[r][c] = load(scores + r * center.width + from + c * LANES);
    for (size_t j = 0, at = from; j < columns; ++j, at += center.width)
        for (int c = 0; c < C; ++c) {
            Vec middle = load(center.data + at + c * LANES), sharpness = load(precision.data + at + c * LANES);
            for (int r = 0; r < R; ++r) {
                Vec gap = all(lines[r][j]) - middle;
                sums[r][c] = penalty(sums[r][c], at + c * LANES, gap * gap, sharpness);
            }
        }
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c) store(scores + r * center.width + from + c * LANES, sums[r][c]);
}

// The same for one row with missing values: where there is no number, its column's base is subtracted from the total.
template <int C, class Penalty>
void add_distances_where_present(const double* line, size_t columns, const PaddedTable& center,
                                 const PaddedTable& precision, const PaddedTable& base, size_t from, double* scores,
                                 const Penalty& penalty) {
    Vec sums[C];
    for (int c = 0; c < C; ++c) sums[c] = load(scores + from + c * LANES);
    for (size_t j = 0, at = from; j < columns; ++j, at += center.width) {
        bool missing = line[j] != line[j];
        for (int c = 0; c < C; ++c) {
            size_t here = at + c * LANES;
            Vec gap = all(line[j]) - load(center.data + here);
            sums[c] = missing ? sums[c] - load(base.data + here)
                              : penalty(sums[c], here, gap * gap, load(precision.data + here));
        }
    }
    for (int c = 0; c < C; ++c) store(scores + from + c * LANES, sums[c]);
}

bool has_missing(const double* line, size_t columns) {
    int found = 0;
    for (size_t j = 0; j < columns; ++j) found |= line[j] != line[j];
    return found;
}

bool all_finite(const double* scores, size_t width) {
    Mask bad{};
    for (size_t c = 0; c < width; c += LANES) bad |= not_finite(load(scores + c));
    return !any(bad);
}

// The same for one row, with checks: missing values add nothing, and no distance is infinite.
template <class Penalty>
void add_distances_clamped(const double* line, size_t columns, bool allow_missing, const PaddedTable& center,
                           const PaddedTable& precision, const PaddedTable& base, double* score,
                           const Penalty& penalty) {
    size_t width = center.width;
    for (size_t j = 0, at = 0; j < columns; ++j, at += width) {
        if (line[j] != line[j] && allow_missing) continue;
        // Large numbers are clamped, infinity is not: it must be refused.
        double v = line[j];
        if (std::abs(v) <= std::numeric_limits<double>::max()) v = std::clamp(v, -LARGEST_NUMBER, LARGEST_NUMBER);
        for (size_t c = 0; c < width; c += LANES) {
            Vec gap = all(v) - load(center.data + at + c), far = gap * gap * load(precision.data + at + c);
            far = choose(all(v - v) == all(0.0), smaller(far, all(LARGEST_SQUARE)), far);
            store(score + c, load(score + c) + (load(base.data + at + c) - penalty.of(at + c, far)));
        }
    }
}

// With three vectors of classes each, the sums of three rows fill the registers; four would spill.
constexpr int AT_ONCE = 3;

template <class Penalty>
void score_distances(const Matrix& x, bool allow_missing, const PaddedTable& center, const PaddedTable& precision,
                     const PaddedTable& base, const double* total, size_t begin, size_t end, double* scores,
                     const Penalty& penalty) {
    with_numbers(x, AT_ONCE, [&](auto line_of) {
        size_t width = center.width;
        constexpr bool in_place = std::is_same_v<decltype(line_of(0)), const double*>;
        std::vector<double> before(AT_ONCE * width), converted(in_place ? 0 : AT_ONCE * x.columns);
        for (size_t row = begin; row < end;) {
            size_t rows = std::min<size_t>(AT_ONCE, end - row);
            const double* lines[AT_ONCE];
            for (size_t r = 0; r < rows; ++r)
                if constexpr (in_place) {
                    lines[r] = line_of(row + r);
                } else {  // once, not again for each class
                    convert(line_of(row + r), 1, x.columns, converted.data() + r * x.columns);
                    lines[r] = converted.data() + r * x.columns;
                }
            std::copy(scores, scores + rows * width, before.begin());
            for (size_t r = 0; r < rows; ++r)
                for (size_t c = 0; c < width; c += LANES)
                    store(scores + r * width + c, load(scores + r * width + c) + load(total + c));
            bool row_has_missing[AT_ONCE] = {}, any_missing = false;
            for (size_t r = 0; allow_missing && r < rows; ++r)
                any_missing |= row_has_missing[r] = has_missing(lines[r], x.columns);
            for_vector_groups<3>(width, [&](auto count, size_t from) {
                constexpr int C = decltype(count)::value;
                if (rows == AT_ONCE && !any_missing)
                    return add_distances<AT_ONCE, C>(lines, x.columns, center, precision, from, scores, penalty);
                for (size_t r = 0; r < rows; ++r)
                    if (row_has_missing[r])
                        add_distances_where_present<C>(lines[r], x.columns, center, precision, base, from,
                                                       scores + r * width, penalty);
                    else
                        add_distances<1, C>(lines + r, x.columns, center, precision, from, scores + r * width, penalty);
            });
            // Infinities and overflow end in a score that is not finite: only such rows are computed again.
            for (size_t r = 0; r < rows; ++r, scores += width)
                if (!all_finite(scores, width)) {
                    std::copy_n(before.data() + r * width, width, scores);
                    add_distances_clamped(lines[r], x.columns, allow_missing, center, precision, base, scores, penalty);
                }
            row += rows;
        }
    });
}

}  // namespace

void score_normal(const Matrix& x, bool allow_missing, const PaddedTable& center, const PaddedTable& precision,
                  const PaddedTable& base, const double* total, size_t begin, size_t end, double* scores) {
    score_distances(x, allow_missing, center, precision, base, total, begin, end, scores, NormalPenalty{});
}

void score_student(const Matrix& x, bool allow_missing, const PaddedTable& center, const PaddedTable& precision,
                   const PaddedTable& power, const PaddedTable& base, const double* total, size_t begin, size_t end,
                   double* scores) {
    score_distances(x, allow_missing, center, precision, base, total, begin, end, scores, StudentPenalty{power});
}

}  // namespace naively::NAIVELY_LEVEL
