// Rows scored by counts without their fold. Compiled once per instruction level.
#pragma once

#include "kernels.hpp"

namespace naively::NAIVELY_LEVEL {

void cross_values(const int32_t* cells, size_t terms, const int64_t* offsets, const double* totals, const FoldedRows&,
                  double pseudo_count, float* out, const Run&);
void cross_pairs(const Matrix& codes, const PairColumns&, const FoldedRows&, const double* p, const double* error,
                 const double* weights, double* sums, double* slope, double* curve, const Run&);
void word_weights(const WordCounts&, const double* mix, float* out, const Run&);
void cross_words(const WordRows&, const FoldedRows&, const WordCounts&, size_t folds, float* out, const Run&);
bool cross_normal(const NormalRows&, const FoldedRows&, const Shrinkage*, size_t settings, size_t folds, double* out,
                  const Run&);

}  // namespace naively::NAIVELY_LEVEL
