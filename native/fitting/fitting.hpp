// The kernels of one instruction level that fit.
#pragma once

#include "kernels.hpp"

namespace naively::NAIVELY_LEVEL {

double offset_loss(const CellRows&, const PaddedTable& offsets, double* slope, const Run&);
void fit_offsets(const CellRows&, size_t width, const OffsetPenalty&, const double* steps, const Descent&,
                 double* parameters, const Run&);

}  // namespace naively::NAIVELY_LEVEL
