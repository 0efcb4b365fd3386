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
    const void* starts;   // rows + 1 of them, rising, within the entries: checked before
    const void* columns;  // one for each entry: checked while reading
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

// Which cells are accepted. With holes, NaN is accepted too, and counts for nothing.
struct Limits {
    double least, largest;
    bool holes;
};

// The first row that holds a cell outside the limits, or an index outside the matrix.
constexpr size_t NO_ROW = SIZE_MAX;

struct Run {
    int threads;
    bool (*interrupted)();  // asked now and then by the calling thread only
};

struct Interrupted : std::runtime_error {
    Interrupted() : std::runtime_error("interrupted") {}
};

// A table whose lines are padded with zeros to a multiple of LANES, so that loops over classes need no remainder.
constexpr size_t LANES = 4;
struct Padded {
    const double* data;
    size_t lines, width;
};

// Pairs of columns of codes, and the line of the table at which each one's part begins: a line for each code of the first
// with each of the second, both with one more place for holes.
struct Pairs {
    const int64_t *first, *second, *lines;
    size_t size;
};

// Numbers further out than this are taken for this: squares and their sums then stay finite.
constexpr double LARGEST = 1e150;
constexpr double LARGEST_SQUARE = 1e300;
// Counts beyond this cannot be summed.
constexpr double LARGEST_COUNT = 1e290;

// How the scores of a row become its answer.
enum class Answer { log_joint, posterior, log_posterior, choice };

struct Finish {
    Answer answer;
    size_t classes, width;
    const double* closed;    // -inf for classes that the prior rules out, else 0; `width` of them, the rest -inf
    const double* fallback;  // the log posterior of a row that rules out every class
    const int64_t* labels;   // what to answer for each class, or null: its code
    void* out;               // [row][class] as f64 or f32, or an int64_t for each row
    Type type;
};

// Columns of labels as they were counted. Each has a line for every value, and a last one for values never met.
struct LabelCounts {
    const int64_t* offsets;  // where the lines of each column begin
    Padded logs, n;          // [line][class]: what a value says, and how often it was met
    const double *met, *kept;      // [line]: how often in all; 1 if the value stays known without any row, else 0
    const double* totals;    // [column][class]
    struct Column {
        double imagined;  // rows of each value, or of all together where they are shared out by how common values are
        double size;      // number of values, with the place for those never met
        double common;    // how common all values are together
        double shared, placed, refusing;  // yes or no: shared out; a place for values never met; or none of them accepted
    };
    const Column* columns;
};

// The numbers of each class and column, [column][class]: how many, where they lie, how far apart, and how much of the
// mean may be rounding; how bells are estimated from them, with a prior worth so many rows.
enum class Estimate { mle, map, bayes };
struct NumberCounts {
    const double *n, *mean, *ssd, *grain;
    Estimate how;
    double worth, epsilon;
};

// In how many texts of each class every word was met, and in how many in all; which group of words each is of; how many
// words the texts of a class hold in all, [group][class]; and how many texts are imagined with each word.
struct WordCounts {
    Padded texts;
    const double* totals;
    const uint8_t* group;
    const double* mass;
    size_t groups, classes;
    double imagined;
};

// The words of rows of text, each once: those of row i lie between starts[i] and starts[i + 1].
struct WordRows {
    const int64_t* starts;
    const int32_t* words;
    size_t rows;
};

struct Kernels {
    const char* level;

    // Counting: rows in, sums added in place. All return the first row that is refused; then nothing was changed.

    // counts[offsets[j] + code][class] += weight. A code of size_j or more refuses its row. A negative one is a hole and
    // counts for nothing, or refuses its row where holes are not allowed.
    size_t (*count_codes)(const Matrix&, const Rows&, bool holes, const int64_t* offsets, double* counts, const Run&);
    // counts[class][column] += weight * reading.
    size_t (*count_dense)(const Matrix&, const Rows&, Reading, Limits, double* counts, const Run&);
    size_t (*count_sparse)(const Sparse&, const Rows&, Reading, Limits, double* counts, const Run&);
    // sums[0] += weight, sums[1] += weight * (x - shift), sums[2] += weight * (x - shift)², each [class][column].
    // A class and column met for the first time (sums[0] is 0) gets its shift from the first rows.
    size_t (*count_moments)(const Matrix&, const Rows&, Limits, double* shift, double* sums, const Run&);
    // Least and largest value of each column.
    void (*ranges)(const Matrix&, double* least, double* largest, const Run&);

    // The bin of each number: how many of its column's cuts, which rise, lie below it; -1 for NaN.
    void (*bin_numbers)(const Matrix&, const double* cuts, const int64_t* offsets, int32_t* out, const Run&);
    // products[class][f][g] += weight * f * g for features f <= g: 1, a flag for each code, the numbers. A code without a
    // place of its own sets no flag. Counts must not be asked for while this runs: it cannot be undone.
    void (*count_products)(const Matrix& codes, const int64_t* offsets, const double* numbers, size_t width, const Rows&,
                           double* products, const Run&);

    // Scoring: each adds to scores[row - begin][class], lines of the table's width, for rows begin .. end - 1.

    // += table[offsets[j] + code]; the last line of each column's part is for unknown codes, a negative code is a
    // hole and says nothing, or refuses its row where holes are not allowed.
    void (*score_codes)(const Matrix&, bool holes, const int64_t* offsets, const Padded&, size_t begin, size_t end, double* scores);
    // += table[line of the pair + code of the first * (codes of the second + 1) + code of the second].
    void (*score_pairs)(const Matrix&, const int64_t* offsets, const Pairs&, const Padded&, size_t begin, size_t end, double* scores);
    // += reading * table[column].
    void (*score_dense)(const Matrix&, Reading, const Padded&, size_t begin, size_t end, double* scores);
    void (*score_sparse)(const Sparse&, Reading, const Padded&, size_t begin, size_t end, double* scores);
    // += total - Σ (x - centre)² * precision; with holes, NaN takes the column's base out of the total.
    void (*score_normal)(const Matrix&, bool holes, const Padded& centre, const Padded& precision, const Padded& base,
                         const double* total, size_t begin, size_t end, double* scores);
    // += total - Σ power * log(1 + (x - centre)² * precision).
    void (*score_student)(const Matrix&, bool holes, const Padded& centre, const Padded& precision, const Padded& power,
                          const Padded& base, const double* total, size_t begin, size_t end, double* scores);
    // Turns the scores of rows begin .. end - 1 into answers; `against` (or null) holds what rules classes out.
    // Returns the first row whose scores are not finite numbers.
    size_t (*finish)(double* scores, const double* against, size_t begin, size_t end, const Finish&);

    // Leaving out: out[row][class] += log P(row | class) as if the row had never been counted. Both return the first row
    // that cannot have been counted.

    size_t (*left_codes)(const Matrix&, const Rows&, const LabelCounts&, double* out, const Run&);
    size_t (*left_numbers)(const Matrix&, const Rows&, const NumberCounts&, double* out, const Run&);

    // What each word says in two ways, times how much each way counts in its group: out[word][class].
    void (*word_weights)(const WordCounts&, const double* mix, double* out, const Run&);
    // The same of whole rows, as if they had never been counted, out[group and way][class][row], divided by the root of
    // how many of their words are known.
    void (*left_words)(const WordRows&, const Rows&, const WordCounts&, float* out, const Run&);
};

namespace baseline { extern const Kernels kernels; }
namespace avx2 { extern const Kernels kernels; }
namespace avx512 { extern const Kernels kernels; }

}  // namespace naively
