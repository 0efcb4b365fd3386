// The kernels of one instruction level that fit parameters to rows.
#pragma once

#include "kernels.hpp"

namespace naively::NAIVELY_LEVEL {

size_t fit_word_offsets(const OffsetRows&, const OffsetFitting&, float* table, float* residuals, const Run&);
void score_word_offsets(const OffsetRows&, size_t rows, const float* table, float* out, const Run&);

}  // namespace naively::NAIVELY_LEVEL
