// Rows in, a score for each class out. Compiled once per instruction level (NAIVELY_LEVEL names it).
#include "scoring.hpp"

#include <cmath>
#include <limits>

#include "parallel.hpp"
#include "rows.hpp"

namespace naively::NAIVELY_LEVEL {

void score_codes(const Matrix& x, const int64_t* offsets, const double* table, size_t classes, double* scores,
                 const Run& run) {
    by_blocks(x.rows, x.columns * classes, run, [&](size_t begin, size_t end) {
        Lines<int64_t> line_of(x);
        for (size_t row = begin; row < end; ++row) {
            const int64_t* line = line_of(row);
            double* score = scores + row * classes;
            for (size_t j = 0; j < x.columns; ++j) {
                int64_t unknown = offsets[j + 1] - offsets[j] - 1;
                if (line[j] < 0) continue;
                const double* said = table + (offsets[j] + std::min(line[j], unknown)) * classes;
                for (size_t c = 0; c < classes; ++c) score[c] += said[c];
            }
        }
    });
}

void score_dense(const Matrix& x, Reading reading, const double* table, size_t classes, double* scores,
                 const Run& run) {
    by_blocks(x.rows, x.columns * classes, run, [&](size_t begin, size_t end) {
        Lines<double> line_of(x, reading);
        for (size_t row = begin; row < end; ++row) {
            const double* line = line_of(row);
            double* score = scores + row * classes;
            for (size_t j = 0; j < x.columns; ++j) {
                if (line[j] == 0) continue;  // says nothing, also where the table holds an infinity
                const double* said = table + j * classes;
                for (size_t c = 0; c < classes; ++c) score[c] += line[j] * said[c];
            }
        }
    });
}

void score_sparse(const Sparse& x, Reading reading, const double* table, size_t classes, double* scores,
                  const Run& run) {
    with_index(x, [&](auto index) {
        by_blocks(x.rows, entries_per_row(x) * classes, run, [&](size_t begin, size_t end) {
            Entries<decltype(index)> entries(x, reading);
            for (size_t row = begin; row < end; ++row) {
                double* score = scores + row * classes;
                auto columns = entries.columns(row);
                auto values = entries.values(row);
                for (size_t e = 0, size = entries.size(row); e < size; ++e) {
                    if (values[e] == 0) continue;
                    const double* said = table + size_t(columns[e]) * classes;
                    for (size_t c = 0; c < classes; ++c) score[c] += values[e] * said[c];
                }
            }
        });
    });
}

namespace {

// Adds base, and takes away penalty(cell, squared distance) for each cell that is not a hole.
template <class Penalty>
void score_distances(const Matrix& x, const double* centre, const double* precision, const double* base,
                     size_t classes, double* scores, const Run& run, Penalty&& penalty) {
    std::vector<double> all_columns(classes, 0.0);
    for (size_t j = 0; j < x.columns; ++j)
        for (size_t c = 0; c < classes; ++c) all_columns[c] += base[j * classes + c];
    by_blocks(x.rows, x.columns * classes, run, [&](size_t begin, size_t end) {
        Lines<double> line_of(x);
        for (size_t row = begin; row < end; ++row) {
            const double* line = line_of(row);
            double* score = scores + row * classes;
            for (size_t c = 0; c < classes; ++c) score[c] += all_columns[c];
            for (size_t j = 0; j < x.columns; ++j) {
                size_t at = j * classes;
                if (line[j] != line[j]) {  // a hole says nothing: take its share of the base back
                    for (size_t c = 0; c < classes; ++c) score[c] -= base[at + c];
                    continue;
                }
                double v = std::clamp(line[j], -LARGEST, LARGEST);
                for (size_t c = 0; c < classes; ++c) {
                    double gap = v - centre[at + c], far = gap * gap * precision[at + c];
                    score[c] -= penalty(at + c, far < LARGEST_SQUARE ? far : LARGEST_SQUARE);
                }
            }
        }
    });
}

}  // namespace

void score_normal(const Matrix& x, const double* centre, const double* precision, const double* base, size_t classes,
                  double* scores, const Run& run) {
    score_distances(x, centre, precision, base, classes, scores, run, [](size_t, double far) { return far; });
}

void score_student(const Matrix& x, const double* centre, const double* precision, const double* power,
                   const double* base, size_t classes, double* scores, const Run& run) {
    score_distances(x, centre, precision, base, classes, scores, run,
                    [power](size_t cell, double far) { return power[cell] * std::log1p(far); });
}

void normalise(double* scores, size_t rows, size_t classes, const double* fallback, bool exponential, double* evidence,
               const Run& run) {
    constexpr double minus_inf = -std::numeric_limits<double>::infinity();
    by_blocks(rows, classes, run, [&](size_t begin, size_t end) {
        for (size_t row = begin; row < end; ++row) {
            double* score = scores + row * classes;
            double top = minus_inf, total = 0;
            for (size_t c = 0; c < classes; ++c) top = score[c] > top ? score[c] : top;
            if (top == minus_inf) {  // ruled out everywhere: nothing was learned from the row
                for (size_t c = 0; c < classes; ++c) score[c] = exponential ? std::exp(fallback[c]) : fallback[c];
                evidence[row] = minus_inf;
                continue;
            }
            // Relative to the largest, so that the sum lies between 1 and the number of classes: no under- or overflow.
            for (size_t c = 0; c < classes; ++c) total += std::exp(score[c] - top);
            double all = top + std::log(total);
            for (size_t c = 0; c < classes; ++c) {
                double share = score[c] - top;
                score[c] = exponential ? std::exp(share) / total : share - std::log(total);
            }
            evidence[row] = all;
        }
    });
}

}  // namespace naively::NAIVELY_LEVEL
