// One table of functions per instruction level.
#pragma once

#include "common/limits.hpp"
#include "common/views.hpp"
#include "leave_one_out/inputs.hpp"
#include "scoring/inputs.hpp"

namespace naively {

struct Kernels {
    const char* level;

    // Counting: rows in, sums added in place. All return the first row that is refused; then nothing was changed.

    // counts[offsets[j] + code][class] += weight. A code of size_j or more refuses its row. A negative one is a hole
    // and counts for nothing, or refuses its row where holes are not allowed.
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
    // products[class][f][g] += weight * f * g for features f <= g: 1, a flag for each code, the numbers. A code without
    // a place of its own sets no flag. Counts must not be asked for while this runs: it cannot be undone.
    void (*count_products)(const Matrix& codes, const int64_t* offsets, const double* numbers, size_t width,
                           const Rows&, double* products, const Run&);

    // Scoring: each adds to scores[row - begin][class], lines of the table's width, for rows begin .. end - 1.

    // += table[offsets[j] + code]; the last line of each column's part is for unknown codes, a negative code is a
    // hole and says nothing, or refuses its row where holes are not allowed.
    void (*score_codes)(const Matrix&, bool holes, const int64_t* offsets, const Padded&, size_t begin, size_t end,
                        double* scores);
    // += table[line of the pair + code of the first * (codes of the second + 1) + code of the second].
    void (*score_pairs)(const Matrix&, const int64_t* offsets, const Pairs&, const Padded&, size_t begin, size_t end,
                        double* scores);
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

    // Leaving out: out[row][class] += log P(row | class) as if the row had never been counted. Both return the first
    // row that cannot have been counted.

    size_t (*left_codes)(const Matrix&, const Rows&, const LabelCounts&, double* out, const Run&);
    size_t (*left_numbers)(const Matrix&, const Rows&, const NumberCounts&, double* out, const Run&);

    // What each word says in two ways, times how much each way counts in its group: out[word][class].
    void (*word_weights)(const WordCounts&, const double* mix, double* out, const Run&);
    // The same of whole rows, as if they had never been counted, out[group and way][class][row], divided by the root of
    // how many of their words are known.
    void (*left_words)(const WordRows&, const Rows&, const WordCounts&, float* out, const Run&);
};

namespace baseline {
extern const Kernels kernels;
}
namespace avx2 {
extern const Kernels kernels;
}
namespace avx512 {
extern const Kernels kernels;
}

}  // namespace naively
