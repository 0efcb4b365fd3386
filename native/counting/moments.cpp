// Rows of numbers in, their moments and ranges out. Compiled once per instruction level.
#include <algorithm>
#include <limits>
#include <vector>

#include "common/matrix_rows.hpp"
#include "common/threads.hpp"
#include "counting/counting.hpp"

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

void ranges(const Matrix& x, double* least, double* largest, const Run& run) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    size_t pieces = std::min(PIECES, x.rows);
    std::vector<double> low(pieces * x.columns, inf), high(pieces * x.columns, -inf);
    with_numbers(x, 1, [&](auto lines) {
        run_pieces(pieces, x.rows * x.columns, run, [&](size_t piece) {
            auto line_of = lines;
            double* __restrict a = low.data() + piece * x.columns, * __restrict b = high.data() + piece * x.columns;
            for (size_t row = x.rows * piece / pieces; row < x.rows * (piece + 1) / pieces; ++row) {
                auto line = line_of(row);
                for (size_t j = 0; j < x.columns; ++j) {
                    a[j] = line[j] < a[j] ? line[j] : a[j];
                    b[j] = line[j] > b[j] ? line[j] : b[j];
                }
            }
        });
    });
    std::fill(least, least + x.columns, inf);
    std::fill(largest, largest + x.columns, -inf);
    for (size_t i = 0; i < low.size(); ++i) {
        least[i % x.columns] = std::min(least[i % x.columns], low[i]);
        largest[i % x.columns] = std::max(largest[i % x.columns], high[i]);
    }
}

}  // namespace naively::NAIVELY_LEVEL
