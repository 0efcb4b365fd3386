// One table of functions per instruction level.
#pragma once

#include "common/limits.hpp"
#include "common/views.hpp"
#include "cross_fitting/inputs.hpp"
#include "fitting/inputs.hpp"
#include "leave_one_out/inputs.hpp"
#include "linear_algebra/inputs.hpp"
#include "scoring/inputs.hpp"

namespace naively {

struct Kernels {
    const char* level;

    // Counting: rows in, sums added in place. All return the first row that is refused; then nothing was changed.

    // counts[offsets[j] + code][class] += weight. A code of size_j or more refuses its row. A negative one is a
    // missing value: it counts for nothing, or refuses its row where missing values are not allowed.
    size_t (*count_codes)(const Matrix&, const LabeledRows&, bool allow_missing, const int64_t* offsets, double* counts,
                          const Run&);
    // counts[class][column] += weight * cell.
    size_t (*count_dense)(const Matrix&, const LabeledRows&, Binarize, AllowedRange, double* counts, const Run&);
    size_t (*count_sparse)(const SparseMatrix&, const LabeledRows&, Binarize, AllowedRange, double* counts, const Run&);
    // sums[0] += weight, sums[1] += weight * (x - shift), sums[2] += weight * (x - shift)², each [class][column].
    // A class and column without numbers so far (sums[0] is 0) gets its shift from the first rows.
    size_t (*count_moments)(const Matrix&, const LabeledRows&, AllowedRange, double* shift, double* sums, const Run&);
    // Least and largest value of each column.
    void (*ranges)(const Matrix&, double* least, double* largest, const Run&);
    // out[row] += Σ bits of the row's numbers * factor of the column, modulo 2^64.
    void (*hash_numbers)(const Matrix&, const uint64_t* factors, uint64_t* out, const Run&);

    // out[row] = mixed bits of out[row] + base + Σ table[offsets[j] + code of the row] + of_class[class], modulo 2^64.
    void (*hash_codes)(const Matrix& codes, const int64_t* offsets, const uint64_t* table, const int32_t* classes,
                       const uint64_t* of_class, uint64_t base, uint64_t* out, const Run&);

    // The bin of each number: how many of its column's cuts, which rise, lie below it; -1 for NaN.
    void (*bin_numbers)(const Matrix&, const double* cuts, const int64_t* offsets, int32_t* out, const Run&);
    // Lays out numbers and labels: bins, codes on the grid, numbers on the common scale.
    void (*lay_out)(const Matrix& numbers, const Matrix& labels, const GridLayout&, const GridCells& out, const Run&);
    // out[column][row] = the numbers of columns that lie apart; NaN where there is none.
    void (*gather_numbers)(const NumberColumn* columns, size_t n, size_t rows, double* out, const Run&);
    // products[class][f][g] += weight * f * g for features f <= g: 1, a flag for each code, the numbers. A code out
    // of range sets no flag. Must not be interrupted: it cannot be undone.
    void (*count_products)(const Matrix& codes, const int64_t* offsets, const double* numbers, size_t width,
                           const LabeledRows&, double* products, const Run&);
    // out[place of the class][f][g] = out[place][g][f] = half[class][f][g] for f <= g: both halves of such sums.
    void (*mirror_products)(const double* half, size_t classes, size_t features, const int64_t* places, double* out);

    // Scoring: each adds to scores[row - begin][class], lines of the table's width, for rows begin .. end - 1.

    // += table[offsets[j] + code]; the last line of each column's part is for unknown codes, a negative code is a
    // missing value: it adds nothing, or refuses its row where missing values are not allowed.
    void (*score_codes)(const Matrix&, bool allow_missing, const int64_t* offsets, const PaddedTable&, size_t begin,
                        size_t end, double* scores);
    // += table[line of the interaction + the place of the combination of codes], the last column running fastest.
    void (*score_interactions)(const Matrix&, const int64_t* offsets, const Interactions&, const PaddedTable&,
                               size_t begin, size_t end, double* scores);
    // += cell * table[column].
    void (*score_dense)(const Matrix&, Binarize, const PaddedTable&, size_t begin, size_t end, double* scores);
    void (*score_sparse)(const SparseMatrix&, Binarize, const PaddedTable&, size_t begin, size_t end, double* scores);
    // += total - Σ (x - center)² * precision; where missing values are allowed, NaN subtracts the
    // column's base from the total.
    void (*score_normal)(const Matrix&, bool allow_missing, const PaddedTable& center, const PaddedTable& precision,
                         const PaddedTable& base, const double* total, size_t begin, size_t end, double* scores);
    // += total - Σ power * log(1 + (x - center)² * precision).
    void (*score_student)(const Matrix&, bool allow_missing, const PaddedTable& center, const PaddedTable& precision,
                          const PaddedTable& power, const PaddedTable& base, const double* total, size_t begin,
                          size_t end, double* scores);
    // += Σ z_i z_j squares[class][i][j] over directions j <= i; lines of the scores have the given width. A code out of
    // range adds nothing to the directions.
    void (*score_quadratic)(const QuadraticForm&, const Matrix& codes, const int64_t* offsets, size_t width,
                            size_t begin, size_t end, double* scores);
    // table[line of the pair + code of the first * (codes of the second + 1) + code of the second] += weight * the
    // logarithm of the counts of both codes over what independence within the class leads to expect, both with
    // pseudo-counts.
    void (*add_pair_scores)(const PairColumns&, size_t classes, double weight, const int64_t* lines, double* table,
                            size_t width, const Run&);
    // Turns the scores of rows begin .. end - 1 into answers; `exclusion` (or null) marks excluded classes.
    // Returns the first row whose scores are not finite numbers.
    size_t (*write_answers)(double* scores, const double* exclusion, size_t begin, size_t end, const AnswerRequest&);

    // Cross-fitting: rows scored by counts without their fold.

    // out[term][class][row]: the log ratios of the cells that rows lie in; cells[term][row], negative if there is none,
    // totals[cell][class] of all terms.
    void (*cross_values)(const int32_t* cells, size_t terms, const int64_t* offsets, const double* totals,
                         const FoldedRows&, double pseudo_count, float* out, const Run&);
    // sums[row][class] += the scores of all pairs, as add_pair_scores has them; a row without one of the values has 0.
    // Of each pair the slope and the curvature of the log loss, given probabilities and errors [row][class], padded.
    void (*cross_pairs)(const Matrix& codes, const PairColumns&, const FoldedRows&, const double* p,
                        const double* error, const double* weights, double* sums, double* slope, double* curve,
                        const Run&);
    // out[setting][class][row] of the first folds: log densities up to what all classes share; false if a covariance
    // is not positive.
    bool (*cross_normal)(const NormalRows&, const FoldedRows&, const Shrinkage*, size_t settings, size_t folds,
                         double* out, const Run&);

    // Leave-one-out: out[row][class] += log P(row | class) by the counts of all other rows. Both return the first row
    // that cannot have been counted.

    size_t (*leave_one_out_codes)(const Matrix&, const LabeledRows&, const CategoryCounts&, double* out, const Run&);
    size_t (*leave_one_out_numbers)(const Matrix&, const LabeledRows&, const NumberMoments&, double* out, const Run&);

    // The two log-odds of each word, times their weights in its group: out[word][class].
    void (*word_weights)(const WordCounts&, const double* mix, float* out, const Run&);
    // The sums of both over the words of each row of the first folds, by counts without its fold, divided by the square
    // root of how many of its words are known: out[group and kind][class][row].
    void (*cross_words)(const WordRows&, const FoldedRows&, const WordCounts&, size_t folds, float* out, const Run&);

    // Fitting.

    // Goes from coefficients to those of least penalized log loss, one table after the other, in cycles until one gains
    // no more than enough. Returns what it gained about.
    double (*fit_coefficients)(const CoefficientRows&, const CoefficientTable*, size_t count, size_t cycles,
                               double enough, const Run&);
    // Offsets of words, table[word][class], by least log loss of the visited rows with a ridge. The residuals
    // [row][class] are what each row adds to them: both go on from where they are. Returns how often rows were visited.
    size_t (*fit_word_offsets)(const WordOffsetRows&, const WordOffsetFitting&, float* table, float* residuals,
                               const Run&);
    // out[row][class] = the length of the row times the sum of the offsets of its words.
    void (*score_word_offsets)(const WordOffsetRows&, size_t rows, const float* table, float* out, const Run&);
    // Scores [class][row] of terms under weights and then biases, less those of the highest class.
    void (*term_scores)(const TermRows&, const double* v, double* out, const Run&);
    // Weights, which are not negative, and biases of least penalized log loss, by Newton's method from where they are;
    // a gain that is enough ends it. curve: the curvature of the loss, to begin with if it is known.
    void (*fit_term_weights)(const TermRows&, const WeightPenalty&, double enough, bool curve_is_known, double* curve,
                             double* parameters, const Run&);

    // Linear algebra: the same bits at every level, by any number of threads, and for a row alone or beside others.

    // out[i] = a[i]·b[i]; where all are symmetric, half of each is computed.
    void (*multiply_singles)(const Matrices<float>& a, const Matrices<float>& b, bool symmetric, float* out,
                             const Run&);
    void (*multiply_doubles)(const Matrices<double>& a, const Matrices<double>& b, bool symmetric, double* out,
                             const Run&);
    // out[row] = Σ a[row][k] * vector[k], of one matrix.
    void (*multiply_vector_of_singles)(const Matrices<float>& a, const float* vector, float* out, const Run&);
    void (*multiply_vector_of_doubles)(const Matrices<double>& a, const double* vector, double* out, const Run&);
    // The root L of a symmetric matrix L·Lᵀ in its place; false if it is not positive definite.
    bool (*factor_cholesky)(double* matrix, size_t size);
    // Sides [size][columns] become L⁻ᵀ·L⁻¹·sides.
    void (*solve_cholesky)(const double* root, size_t size, double* sides, size_t columns);
    // The eigenvalues of a symmetric matrix, the largest first; its eigenvectors take its place, line by line.
    void (*find_eigenvectors)(double* matrix, size_t size, double* values);
    // Gauss's elimination: sides become the solutions, and diagonals what determinants are the products of, up to their
    // signs. Returns the first matrix that has no inverse.
    size_t (*factor_lu)(double* matrices, size_t count, size_t size, double* sides, size_t columns, const Run&);
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
