// Rows scored by counts without their fold. Compiled once per instruction level.
#pragma once

#include "kernels.hpp"

namespace naively::NAIVELY_LEVEL {

void cross_values(const int32_t* cells, size_t terms, const int64_t* offsets, const double* totals, const FoldedRows&,
                  double pseudo_count, float* out, const Run&);
void cross_pairs(const Matrix& codes, const PairTerms&, const double* products, size_t features, const FoldedRows&,
                 const PairRequest&, const Run&);
bool cross_normal(const NormalRows&, const FoldedRows&, const Shrinkage*, size_t settings, size_t folds, double* out,
                  const Run&);

}  // namespace naively::NAIVELY_LEVEL
