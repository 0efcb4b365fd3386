// The kernels of one instruction level that fit.
#pragma once

#include "kernels.hpp"

namespace naively::NAIVELY_LEVEL {

double offset_loss(const CellRows&, const PaddedTable& offsets, double* slope, const Run&);

}  // namespace naively::NAIVELY_LEVEL
