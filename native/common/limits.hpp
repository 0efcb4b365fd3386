// Limits that the kernels and the Python package share; the module exports them.
#pragma once

namespace naively {

// Numbers further out than this are taken for this: squares and their sums then stay finite.
constexpr double LARGEST = 1e150;
constexpr double LARGEST_SQUARE = 1e300;
// Counts beyond this cannot be summed.
constexpr double LARGEST_COUNT = 1e290;

}  // namespace naively
