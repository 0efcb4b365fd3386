// Rows in, counts out. Compiled once per instruction level (NAIVELY_LEVEL names it).
#include <cmath>
#include <limits>

#include "parallel.hpp"
#include "rows.hpp"
#include "scoring.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

double weight_of(const Rows& rows, size_t row) { return rows.weights ? rows.weights[row] : 1.0; }

void count_codes(const Matrix& x, const Rows& rows, const int64_t* offsets, double* counts, const Run& run) {
    size_t classes = rows.n_classes;
    add_up(x.rows, x.columns, offsets[x.columns] * classes, counts, run, [&](size_t begin, size_t end, double* n) {
        Lines<int64_t> line_of(x);
        for (size_t row = begin; row < end; ++row) {
            const int64_t* line = line_of(row);
            double weight = weight_of(rows, row);
            double* of_class = n + rows.classes[row];
            for (size_t j = 0; j < x.columns; ++j) {
                int64_t code = line[j], size = offsets[j + 1] - offsets[j];
                if (code >= 0 && code < size) of_class[(offsets[j] + code) * classes] += weight;
            }
        }
    });
}

void count_dense(const Matrix& x, const Rows& rows, Reading reading, double* counts, const Run& run) {
    add_up(x.rows, x.columns, rows.n_classes * x.columns, counts, run, [&](size_t begin, size_t end, double* n) {
        Lines<double> line_of(x, reading);
        for (size_t row = begin; row < end; ++row) {
            const double* line = line_of(row);
            double weight = weight_of(rows, row);
            double* of_class = n + size_t(rows.classes[row]) * x.columns;
            for (size_t j = 0; j < x.columns; ++j) of_class[j] += weight * line[j];
        }
    });
}

void count_sparse(const Sparse& x, const Rows& rows, Reading reading, double* counts, const Run& run) {
    with_index(x, [&](auto index) {
        add_up(x.rows, entries_per_row(x), rows.n_classes * x.width, counts, run,
               [&](size_t begin, size_t end, double* n) {
                   Entries<decltype(index)> entries(x, reading);
                   for (size_t row = begin; row < end; ++row) {
                       double weight = weight_of(rows, row);
                       double* of_class = n + size_t(rows.classes[row]) * x.width;
                       auto columns = entries.columns(row);
                       auto values = entries.values(row);
                       for (size_t e = 0, size = entries.size(row); e < size; ++e)
                           of_class[columns[e]] += weight * values[e];
                   }
               });
    });
}

// How many rows of a class its shift is the mean of: one may be an outlier, more cost time.
constexpr int PILOTS = 32;

// Sets the shift of every class and column that has no row yet to the mean of the first rows it meets here.
// Differences from a shift near the mean keep all their digits, whatever the mean.
void set_shifts(const Matrix& x, const Rows& rows, double* shift, const double* n) {
    Lines<double> line_of(x);
    std::vector<int> met(x.columns);
    std::vector<double> total(x.columns);
    auto pilot = [&](size_t k, auto next_row) {  // next_row() gives rows of class k, then x.rows
        bool fresh = false;
        for (size_t j = 0; j < x.columns; ++j) fresh |= n[k * x.columns + j] == 0;
        if (!fresh) return;
        std::fill(met.begin(), met.end(), 0);
        std::fill(total.begin(), total.end(), 0.0);
        int wanted = PILOTS;
        for (size_t row; wanted && (row = next_row()) < x.rows;) {
            const double* line = line_of(row);
            --wanted;
            for (size_t j = 0; j < x.columns; ++j)
                if (double v = line[j]; v == v) ++met[j], total[j] += v;
        }
        for (size_t j = 0; j < x.columns; ++j)
            if (n[k * x.columns + j] == 0 && met[j]) shift[k * x.columns + j] = total[j] / met[j];
    };
    // The rows of each class that set its shift, found in one look at the classes.
    std::vector<std::pair<size_t, std::vector<size_t>>> groups;
    std::vector<int32_t> group_of(x.rows > PILOTS ? rows.n_classes : 0, -1);
    size_t full = 0;
    for (size_t row = 0; row < x.rows && full < rows.n_classes; ++row) {
        if (weight_of(rows, row) == 0) continue;  // a row of no weight was never there
        size_t k = rows.classes[row], g = groups.size();
        if (group_of.empty()) {  // few rows: looking through the groups is quicker than a table over all classes
            for (g = 0; g < groups.size() && groups[g].first != k; ++g) {}
        } else if (group_of[k] >= 0) {
            g = group_of[k];
        }
        if (g == groups.size()) {
            groups.push_back({k, {}});
            if (!group_of.empty()) group_of[k] = int32_t(g);
        }
        auto& chosen = groups[g].second;
        if (chosen.size() < PILOTS) {
            chosen.push_back(row);
            full += chosen.size() == PILOTS;
        }
    }
    for (auto& [k, chosen] : groups) {
        size_t at = 0;
        pilot(k, [&] { return at < chosen.size() ? chosen[at++] : x.rows; });
    }
}

void count_moments(const Matrix& x, const Rows& rows, double* shift, double* sums, const Run& run) {
    size_t plane = rows.n_classes * x.columns;
    set_shifts(x, rows, shift, sums);
    add_up(x.rows, x.columns, 3 * plane, sums, run, [&](size_t begin, size_t end, double* total) {
        Lines<double> line_of(x);
        for (size_t row = begin; row < end; ++row) {
            const double* line = line_of(row);
            double weight = weight_of(rows, row);
            size_t at = size_t(rows.classes[row]) * x.columns;
            double *n = total + at, *sum = n + plane, *square = sum + plane;
            const double* from = shift + at;
            for (size_t j = 0; j < x.columns; ++j) {
                bool there = line[j] == line[j];  // NaN is not equal to itself: a hole
                double gap = there ? line[j] - from[j] : 0.0, w = there ? weight : 0.0;
                n[j] += w;
                sum[j] += w * gap;
                square[j] += w * gap * gap;
            }
        }
    });
}

void ranges(const Matrix& x, double* least, double* largest, const Run& run) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    std::fill(least, least + x.columns, inf);
    std::fill(largest, largest + x.columns, -inf);
    size_t pieces = std::min(PIECES, x.rows);
    std::vector<double> low(pieces * x.columns, inf), high(pieces * x.columns, -inf);
    share_out(pieces, x.rows * x.columns, run, [&](size_t piece) {
        Lines<double> line_of(x);
        double *a = low.data() + piece * x.columns, *b = high.data() + piece * x.columns;
        for (size_t row = x.rows * piece / pieces; row < x.rows * (piece + 1) / pieces; ++row) {
            const double* line = line_of(row);
            for (size_t j = 0; j < x.columns; ++j) {
                a[j] = line[j] < a[j] ? line[j] : a[j];
                b[j] = line[j] > b[j] ? line[j] : b[j];
            }
        }
    });
    for (size_t piece = 0; piece < pieces; ++piece)
        for (size_t j = 0; j < x.columns; ++j) {
            least[j] = std::min(least[j], low[piece * x.columns + j]);
            largest[j] = std::max(largest[j], high[piece * x.columns + j]);
        }
}

}  // namespace

extern const Kernels kernels;
#define NAIVELY_TEXT(name) #name
#define NAIVELY_NAME(name) NAIVELY_TEXT(name)
const Kernels kernels{
    NAIVELY_NAME(NAIVELY_LEVEL), count_codes,  count_dense,  count_sparse,  count_moments, ranges,
    score_codes,                 score_dense,  score_sparse, score_normal,  score_student, normalise,
};

}  // namespace naively::NAIVELY_LEVEL
