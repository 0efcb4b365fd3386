// Rows of numbers in, their moments and ranges out. Compiled once per instruction level.
#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "common/matrix_rows.hpp"
#include "common/threads.hpp"
#include "counting/counting.hpp"
#include "counting/sum_by_class.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// The shift of a class is the mean of this many rows: a single one may be an outlier, more cost time.
constexpr size_t PILOT_ROWS = 32;

// The first rows of each class that occurs, at most PILOT_ROWS each, found in one pass over the classes.
struct PilotRows {
    size_t of_class;
    std::vector<size_t> rows;
};

std::vector<PilotRows> pilot_rows(const LabeledRows& rows, size_t n_rows) {
    std::vector<PilotRows> groups;
    // Few rows: searching the groups is quicker than a table over all classes, of which there may be many.
    std::vector<int32_t> group_of(n_rows > PILOT_ROWS ? rows.n_classes : 0, -1);
    for (size_t row = 0, full = 0; row < n_rows && full < rows.n_classes; ++row) {
        if (weight_of(rows, row) == 0) continue;  // rows of weight 0 do not count
        size_t k = size_t(rows.classes[row]), g = groups.size();
        if (group_of.empty())
            for (g = 0; g < groups.size() && groups[g].of_class != k;) ++g;
        else if (group_of[k] >= 0)
            g = size_t(group_of[k]);
        if (g == groups.size()) {
            groups.push_back({k, {}});
            if (!group_of.empty()) group_of[k] = int32_t(g);
        }
        auto& chosen = groups[g].rows;
        if (chosen.size() == PILOT_ROWS) continue;
        chosen.push_back(row);
        full += chosen.size() == PILOT_ROWS;
    }
    return groups;
}

// The sums of one class: a number for each column.
struct Sums {
    double *shift, *n, *sum, *square;
    // Changes the shift of a column.
    void move(size_t j, double to) const {
        double by = to - shift[j];
        square[j] = std::max(0.0, square[j] - by * (2 * sum[j] - n[j] * by));
        sum[j] -= n[j] * by;
        shift[j] = to;
    }
};

// Sets the shift of every class and column with few numbers yet to the mean of those and of the first ones here.
// Differences from a shift near the mean keep all their digits, whatever the mean.
template <class SumsOf>
void set_shifts(const Matrix& x, const LabeledRows& rows, SumsOf&& sums_of) {
    Lines<double> line_of(x);  // few lines: converting them costs nothing
    std::vector<double> seen(x.columns), total(x.columns);
    for (const auto& [k, chosen] : pilot_rows(rows, x.rows)) {
        Sums known = sums_of(k);
        if (std::all_of(known.n, known.n + x.columns, [](double n) { return n >= PILOT_ROWS; })) continue;
        std::fill(seen.begin(), seen.end(), 0.0);
        std::fill(total.begin(), total.end(), 0.0);
        auto add_row = [&](size_t row, bool only_new) {
            const double* line = line_of(row);
            double weight = weight_of(rows, row);
            for (size_t j = 0; j < x.columns; ++j)
                if (line[j] >= -LARGEST_NUMBER && line[j] <= LARGEST_NUMBER && !(only_new && seen[j] > 0))
                    seen[j] += weight, total[j] += weight * line[j];
        };
        for (size_t row : chosen) add_row(row, false);
        // A column may begin with many missing values: then its first number is the shift.
        auto some_unseen = [&] { return std::find(seen.begin(), seen.end(), 0.0) != seen.end(); };
        for (size_t row = chosen.back() + 1; row < x.rows && chosen.size() == PILOT_ROWS && some_unseen(); ++row)
            if (size_t(rows.classes[row]) == k && weight_of(rows, row) != 0) add_row(row, true);
        for (size_t j = 0; j < x.columns; ++j)
            if (known.n[j] < PILOT_ROWS && seen[j] > 0)
                known.move(j, (total[j] + known.n[j] * known.shift[j] + known.sum[j]) / (seen[j] + known.n[j]));
    }
}

// Moves the shift of a class to the mean where it has come to lie far from it: most of the squares is then the distance
// of the mean, and their low digits would be lost as rows come in.
void move_shifts(const Sums& sums, size_t columns) {
    for (size_t j = 0; j < columns; ++j)
        if (sums.n[j] > 0 && sums.sum[j] * sums.sum[j] > 0.9 * sums.n[j] * sums.square[j])
            sums.move(j, sums.shift[j] + sums.sum[j] / sums.n[j]);
}

// Adds a line to the sums of its class. Without missing values the weight of the class is summed elsewhere: one
// addition for each row instead of one for each cell.
template <class Number>
void add_line(const Number* __restrict line, const double* __restrict from, size_t columns, double weight,
              bool allow_missing, double* __restrict n, double* __restrict sum, double* __restrict square) {
    if (allow_missing)
        for (size_t j = 0; j < columns; ++j) {
            bool there = line[j] == line[j];  // NaN, a missing value, is not equal to itself
            double gap = there ? line[j] - from[j] : 0.0, w = there ? weight : 0.0;
            n[j] += w;
            sum[j] += w * gap;
            square[j] += w * gap * gap;
        }
    else if (weight == 1)
        for (size_t j = 0; j < columns; ++j) {
            double gap = line[j] - from[j];
            sum[j] += gap;
            square[j] += gap * gap;
        }
    else
        for (size_t j = 0; j < columns; ++j) {
            double gap = line[j] - from[j], weighed = weight * gap;
            sum[j] += weighed;
            square[j] += weighed * gap;
        }
}

// Whether no number lies beyond the limit or is none: without its sign, a number's bits rise with it, up to infinity
// and NaN. Whole numbers are compared, because the compiler may not reorder comparisons of others.
template <class Number>
bool all_within(const Number* numbers, size_t n, double limit) {
    using Bits = std::conditional_t<sizeof(Number) == 4, int32_t, int64_t>;
    constexpr Bits magnitude = std::numeric_limits<Bits>::max();
    auto largest = std::bit_cast<Bits>(Number(std::min<double>(limit, std::numeric_limits<Number>::max())));
    Bits outside = 0;
    for (size_t i = 0; i < n; ++i) outside |= Bits((std::bit_cast<Bits>(numbers[i]) & magnitude) > largest);
    return !outside;
}

// So many vectors of sums, and as many of squares, stay in registers.
constexpr int MOST = 7;

// Adds rows of one class to its sums, for C vectors of columns.
template <int C, class Number>
void add_class_rows(const Number* first, ptrdiff_t step, const uint32_t* listed, size_t n, const double* shift,
                    double* sum, double* square) {
    Vec from[C], sums[C], squares[C];
    for (int c = 0; c < C; ++c) {
        size_t at = size_t(c) * LANES;
        from[c] = load(shift + at), sums[c] = load(sum + at), squares[c] = load(square + at);
    }
    for (size_t i = 0; i < n; ++i) {
        const Number* line = first + ptrdiff_t(listed[i]) * step;
        for (int c = 0; c < C; ++c) {
            Vec gap = load(line + c * LANES) - from[c];
            sums[c] += gap;
            squares[c] += gap * gap;
        }
    }
    for (int c = 0; c < C; ++c) store(sum + c * LANES, sums[c]), store(square + c * LANES, squares[c]);
}

// Rows as they lie in memory, all of weight one and without missing values: class by class, in the order of the rows,
// so that the sums have the bits that they get row by row.
template <class Number>
bool add_rows_by_class(const Matrix& x, const LabeledRows& rows, double limit, size_t begin, size_t end,
                       const double* shift, double* table) {
    size_t columns = x.columns, plane = rows.n_classes * columns;
    // A block fits into the second-level cache, and classes do not outnumber its rows.
    size_t block = std::max(std::clamp<size_t>((size_t{1} << 14) / columns, 64, 1024), 4 * rows.n_classes);
    size_t rows_ahead = 1 + 4096 / (columns * sizeof(Number));
    for (size_t from = begin; from < end; from += block) {
        size_t until = std::min(end, from + block);
        const Number* first = static_cast<const Number*>(x.data) + ptrdiff_t(from) * x.row_step;
        for (size_t row = 0; row < until - from; ++row) {
            const Number* line = first + ptrdiff_t(row) * x.row_step;
            if (is_contiguous(x)) prefetch(line + rows_ahead * columns, columns);
            if (!all_within(line, columns, limit)) return false;
        }
        RowsByClass by_class(rows, from, until);
        for (size_t k = 0; k < rows.n_classes; ++k) {
            size_t size = by_class.ends[k] - by_class.start(k);
            if (!size) continue;
            const uint32_t* listed = by_class.rows.data() + by_class.start(k);
            const double* center = shift + k * columns;
            double *n = table + k * columns, *sum = n + plane, *square = sum + plane;
            for (size_t j = 0; j < columns; ++j) n[j] += double(size);
            size_t whole = columns / LANES, done = 0;
            auto add = [&](auto count, size_t j, double* sums, double* squares) {
                add_class_rows<decltype(count)::value>(first + j, x.row_step, listed, size, center + j, sums, squares);
            };
            for (size_t groups = (whole + MOST - 1) / MOST; groups; --groups) {  // of about the same size
                size_t vectors = (whole - done + groups - 1) / groups, j = done * LANES;
                with_constant<MOST>(vectors, [&](auto count) { add(count, j, sum + j, square + j); });
                done += vectors;
            }
            if (columns % LANES) {  // the last vector again, with lanes that are counted already
                size_t j = columns - LANES, from_lane = LANES - columns % LANES;
                double sums[LANES], squares[LANES];
                std::copy_n(sum + j, LANES, sums), std::copy_n(square + j, LANES, squares);
                add(std::integral_constant<int, 1>{}, j, sums, squares);
                std::copy(sums + from_lane, sums + LANES, sum + j + from_lane);
                std::copy(squares + from_lane, squares + LANES, square + j + from_lane);
            }
        }
    }
    return true;
}

}  // namespace

size_t count_moments(const Matrix& x, const LabeledRows& rows, AllowedRange limits, double* shift, double* sums,
                     const Run& run) {
    size_t plane = rows.n_classes * x.columns;
    auto check = [&] { return first_outside(x, limits); };
    bool directly = counted_directly(x.rows * x.columns, 3 * plane);
    if (directly)  // then no step may take time in proportion to the table
        if (size_t refused = check(); refused != NO_ROW) return refused;
    // Of many rows one may still be refused: they are counted on copies.
    std::vector<double> shifts(directly ? 0 : plane), totals(directly ? 0 : 3 * plane);
    std::copy_n(shift, shifts.size(), shifts.begin());
    std::copy_n(sums, totals.size(), totals.begin());
    double *from = directly ? shift : shifts.data(), *all = directly ? sums : totals.data();
    auto sums_of = [&](size_t k) {
        size_t at = k * x.columns;
        return Sums{from + at, all + at, all + plane + at, all + 2 * plane + at};
    };
    set_shifts(x, rows, sums_of);
    size_t refused = with_numbers(x, 1, [&](auto lines) {
        auto fill = [&](size_t begin, size_t end, double* table) {
            if (!directly && !rows.weights && !limits.allow_missing && x.column_step == 1 && x.columns >= LANES) {
                if (x.type == Type::f32)
                    return add_rows_by_class<float>(x, rows, limits.largest, begin, end, from, table);
                if (x.type == Type::f64)
                    return add_rows_by_class<double>(x, rows, limits.largest, begin, end, from, table);
            }
            auto line_of = lines;
            std::vector<double> seen(directly || limits.allow_missing ? 0 : rows.n_classes);
            for (size_t row = begin; row < end; ++row) {
                auto line = line_of(row);
                if (!within(line, x.columns, limits)) return false;
                double weight = weight_of(rows, row), *n = table + size_t(rows.classes[row]) * x.columns;
                add_line(line, from + (n - table), x.columns, weight, limits.allow_missing, n, n + plane,
                         n + 2 * plane);
                if (!seen.empty())
                    seen[rows.classes[row]] += weight;
                else if (!limits.allow_missing)
                    for (size_t j = 0; j < x.columns; ++j) n[j] += weight;
            }
            for (size_t i = 0; i < seen.size(); ++i)
                if (seen[i] != 0)
                    for (size_t j = 0; j < x.columns; ++j) table[i * x.columns + j] += seen[i];
            return true;
        };
        return sum_pieces(x.rows, x.columns, 3 * plane, all, run, check, fill);
    });
    if (refused != NO_ROW) return refused;
    if (directly) {
        for (size_t row = 0; row < x.rows; ++row) move_shifts(sums_of(size_t(rows.classes[row])), x.columns);
    } else {
        for (size_t k = 0; k < rows.n_classes; ++k) move_shifts(sums_of(k), x.columns);
        std::copy(shifts.begin(), shifts.end(), shift);
        std::copy(totals.begin(), totals.end(), sums);
    }
    return NO_ROW;
}

namespace {

// The same in the type of the cells.
template <class Number, class Lines>
void find_ranges(const Matrix& x, const Lines& lines, double* least, double* largest, const Run& run) {
    using Limits = std::numeric_limits<Number>;
    Number top = Limits::has_infinity ? Limits::infinity() : Limits::max(),
           bottom = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    size_t pieces = std::min(PIECES, x.rows);
    std::vector<Number> low(pieces * x.columns, top), high(pieces * x.columns, bottom);
    run_pieces(pieces, x.rows * x.columns, run, [&](size_t piece) {
        auto line_of = lines;
        Number* __restrict a = low.data() + piece * x.columns, * __restrict b = high.data() + piece * x.columns;
        for (size_t row = x.rows * piece / pieces; row < x.rows * (piece + 1) / pieces; ++row) {
            const Number* line = line_of(row);
            for (size_t j = 0; j < x.columns; ++j) {
                a[j] = line[j] < a[j] ? line[j] : a[j];
                b[j] = line[j] > b[j] ? line[j] : b[j];
            }
        }
    });
    for (size_t i = 0; i < low.size(); ++i) {
        least[i % x.columns] = std::min(least[i % x.columns], double(low[i]));
        largest[i % x.columns] = std::max(largest[i % x.columns], double(high[i]));
    }
}

}  // namespace

void ranges(const Matrix& x, double* least, double* largest, const Run& run) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    std::fill(least, least + x.columns, inf);
    std::fill(largest, largest + x.columns, -inf);
    auto find = [&](auto lines) {
        find_ranges<std::remove_cvref_t<decltype(*lines(0))>>(x, lines, least, largest, run);
    };
    x.type == Type::f32 || x.type == Type::f64 ? with_numbers(x, 1, find) : with_codes(x, find);
}

}  // namespace naively::NAIVELY_LEVEL
