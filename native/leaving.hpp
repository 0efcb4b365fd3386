// The part of the kernels of one instruction level that takes each row out of the counts before it is scored.
#pragma once

#include "kernels.hpp"

namespace naively::NAIVELY_LEVEL {

size_t left_codes(const Matrix&, const Rows&, const LabelCounts&, double* out, const Run&);
size_t left_numbers(const Matrix&, const Rows&, const NumberCounts&, double* out, const Run&);

}  // namespace naively::NAIVELY_LEVEL
