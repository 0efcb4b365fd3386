// What the kernels look like from outside: plain views on memory, and one table of functions per instruction level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace naively {

enum class Type { f32, f64, i32, i64, u8 };

// A dense matrix of any layout; steps are counted in elements.
struct Matrix {
    const void* data;
    Type type;
    size_t rows, columns;
    ptrdiff_t row_step, column_step;
};

// A sparse matrix, row by row (CSR). Entries of a row may come in any order; each stands for itself.
struct Sparse {
    const void* starts;   // rows + 1 of them
    const void* columns;  // one for each entry
    Type index_type;      // of both: i32 or i64
    const void* values;
    Type type;
    size_t rows, width, entries;
};

// The class of each row, and how much the row weighs (null: one each).
struct Rows {
    const int32_t* classes;
    const double* weights;
    size_t n_classes;
};

// What counts for a cell of a matrix: its value, or whether it lies above a threshold.
struct Reading {
    bool presence;
    double threshold;
};

struct Run {
    int threads;
    bool (*interrupted)();  // asked now and then by the calling thread only
};

struct Interrupted : std::runtime_error {
    Interrupted() : std::runtime_error("interrupted") {}
};

// Numbers further out than this are taken for this: squares and their sums then stay finite.
constexpr double LARGEST = 1e150;
constexpr double LARGEST_SQUARE = 1e300;

struct Kernels {
    const char* level;

    // counts[offsets[j] + code][class] += weight; codes outside 0 .. size_j - 1 count for nothing.
    void (*count_codes)(const Matrix&, const Rows&, const int64_t* offsets, double* counts, const Run&);
    // counts[class][column] += weight * reading.
    void (*count_dense)(const Matrix&, const Rows&, Reading, double* counts, const Run&);
    void (*count_sparse)(const Sparse&, const Rows&, Reading, double* counts, const Run&);
    // sums[0] += weight, sums[1] += weight * (x - shift), sums[2] += weight * (x - shift)², each [class][column].
    // A class and column met for the first time (sums[0] is 0) gets its shift from the first rows. NaN is a hole.
    void (*count_moments)(const Matrix&, const Rows&, double* shift, double* sums, const Run&);

    // Least and largest value of each column.
    void (*ranges)(const Matrix&, double* least, double* largest, const Run&);

    // scores[row][class] += table[offsets[j] + code][class]; the last line of each column's part is for unknown codes,
    // a negative code says nothing.
    void (*score_codes)(const Matrix&, const int64_t* offsets, const double* table, size_t classes, double* scores,
                        const Run&);
    // scores[row][class] += reading * table[column][class].
    void (*score_dense)(const Matrix&, Reading, const double* table, size_t classes, double* scores, const Run&);
    void (*score_sparse)(const Sparse&, Reading, const double* table, size_t classes, double* scores, const Run&);
    // scores[row][class] += base[column][class] - (x - centre)² * precision[column][class], summed over the columns.
    void (*score_normal)(const Matrix&, const double* centre, const double* precision, const double* base,
                         size_t classes, double* scores, const Run&);
    // The same with base - power * log(1 + (x - centre)² * precision).
    void (*score_student)(const Matrix&, const double* centre, const double* precision, const double* power,
                          const double* base, size_t classes, double* scores, const Run&);
    // Each row of scores minus its log-sum-exp (kept in evidence); rows ruled out everywhere become the fallback.
    void (*normalise)(double* scores, size_t rows, size_t classes, const double* fallback, bool exponential,
                      double* evidence, const Run&);
};

namespace baseline { extern const Kernels kernels; }
namespace avx2 { extern const Kernels kernels; }
namespace avx512 { extern const Kernels kernels; }

}  // namespace naively
