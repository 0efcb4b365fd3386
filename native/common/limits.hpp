// Limits that the kernels and the Python package share: the module exports those that Python needs.
#pragma once

#include <cstddef>

namespace naively {

// Numbers further out than this are taken for this: squares and their sums then stay finite.
constexpr double LARGEST_NUMBER = 1e150;
constexpr double LARGEST_SQUARE = 1e300;
// Counts beyond this cannot be summed.
constexpr double LARGEST_COUNT = 1e290;
// Heavier rows could make sums overflow.
constexpr double LARGEST_WEIGHT = 1e150;

// What rounding may leave, relative to the sum before, when fractions are subtracted.
constexpr double SUM_ROUNDING = 1e-12;
// Numbers, or means, that differ by less than this, relative to their size, differ by rounding alone.
constexpr double MEAN_ROUNDING = 1e-14;

// A class is never narrower than this, relative to the variance of the column: finite, and monotone around the center.
constexpr double LEAST_RELATIVE_VARIANCE = 1e-18;
// The least variance whose inverse stays finite when squared distances are multiplied with it, and the largest.
constexpr double LEAST_VARIANCE = 1e-290;
constexpr double LARGEST_VARIANCE = 1e300;

// Texts of this many bytes or more are refused: positions in a text have 32 bits, and Arrow's shorter offsets have 31.
constexpr size_t TEXT_BYTES_END = size_t{1} << 31;
// Codes of a column have 16 bits where pairs of columns are counted, and one code stands for missing values.
constexpr size_t PAIR_CODES_END = 65535;

}  // namespace naively
