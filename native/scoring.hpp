// The scoring half of the kernels of one instruction level.
#pragma once

#include "kernels.hpp"

namespace naively::NAIVELY_LEVEL {

void score_codes(const Matrix&, const int64_t* offsets, const double* table, size_t classes, double* scores, const Run&);
void score_dense(const Matrix&, Reading, const double* table, size_t classes, double* scores, const Run&);
void score_sparse(const Sparse&, Reading, const double* table, size_t classes, double* scores, const Run&);
void score_normal(const Matrix&, const double* centre, const double* precision, const double* base, size_t classes,
                  double* scores, const Run&);
void score_student(const Matrix&, const double* centre, const double* precision, const double* power,
                   const double* base, size_t classes, double* scores, const Run&);
void normalise(double* scores, size_t rows, size_t classes, const double* fallback, bool exponential, double* evidence,
               const Run&);

}  // namespace naively::NAIVELY_LEVEL
