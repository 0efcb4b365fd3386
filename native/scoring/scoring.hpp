// The scoring half of the kernels of one instruction level.
#pragma once

#include "kernels.hpp"

namespace naively::NAIVELY_LEVEL {

void score_codes(const Matrix&, bool holes, const int64_t* offsets, const Padded&, size_t begin, size_t end,
                 double* scores);
void score_pairs(const Matrix&, const int64_t* offsets, const Pairs&, const Padded&, size_t begin, size_t end,
                 double* scores);
void score_dense(const Matrix&, Reading, const Padded&, size_t begin, size_t end, double* scores);
void score_sparse(const Sparse&, Reading, const Padded&, size_t begin, size_t end, double* scores);
void score_normal(const Matrix&, bool holes, const Padded& centre, const Padded& precision, const Padded& base,
                  const double* total, size_t begin, size_t end, double* scores);
void score_student(const Matrix&, bool holes, const Padded& centre, const Padded& precision, const Padded& power,
                   const Padded& base, const double* total, size_t begin, size_t end, double* scores);
size_t finish(double* scores, const double* against, size_t begin, size_t end, const Finish&);

}  // namespace naively::NAIVELY_LEVEL
