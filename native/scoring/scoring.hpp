// The kernels of one instruction level that score.
#pragma once

#include "kernels.hpp"

namespace naively::NAIVELY_LEVEL {

void score_codes(const Matrix&, bool allow_missing, const int64_t* offsets, const PaddedTable&, size_t begin,
                 size_t end, double* scores);
void score_interactions(const Matrix&, const int64_t* offsets, const Interactions&, const PaddedTable&, size_t begin,
                        size_t end, double* scores);
void score_dense(const Matrix&, Binarize, const PaddedTable&, size_t begin, size_t end, double* scores);
void score_sparse(const SparseMatrix&, Binarize, const PaddedTable&, size_t begin, size_t end, double* scores);
void score_normal(const Matrix&, bool allow_missing, const PaddedTable& center, const PaddedTable& precision,
                  const PaddedTable& base, const double* total, size_t begin, size_t end, double* scores);
void score_student(const Matrix&, bool allow_missing, const PaddedTable& center, const PaddedTable& precision,
                   const PaddedTable& power, const PaddedTable& base, const double* total, size_t begin, size_t end,
                   double* scores);
void score_quadratic(const QuadraticForm&, const Matrix& codes, const int64_t* offsets, size_t width, size_t begin,
                     size_t end, double* scores);
void add_pair_scores(const PairColumns&, size_t classes, double weight, const int64_t* lines, double* table,
                     size_t width, const Run&);
size_t write_answers(double* scores, const double* exclusion, size_t begin, size_t end, const AnswerRequest&);

}  // namespace naively::NAIVELY_LEVEL
