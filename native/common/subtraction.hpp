// Subtraction of weights from a sum, with care for rounding: the only place where rows are removed from counts.
#pragma once

#include <cmath>

#include "common/limits.hpp"
#include "common/vectors.hpp"

// In the namespace of the instruction level: a function compiled for one must never be taken for another's.
namespace naively::NAIVELY_LEVEL {

// before - removed. Of fractions, a rest that rounding alone can leave is 0; sums of whole numbers are exact.
inline double subtract(double before, double removed) {
    double rest = before - removed;
    bool little = std::abs(rest) <= SUM_ROUNDING * std::abs(before);
    return little && !(before == std::floor(before) && removed == std::floor(removed)) ? 0.0 : rest;
}

inline Vec absolute(Vec v) { return choose(v < all(0.0), -v, v); }

// Whether numbers of 0 or more are whole: adding 2^52 leaves no room for a fraction.
inline Mask is_whole(Vec v) { return Mask(v >= all(0x1p52)) | Mask((v + all(0x1p52)) - all(0x1p52) == v); }

inline Vec subtract(Vec before, Vec removed) {
    Vec rest = before - removed;
    Mask little =
        Mask(absolute(rest) <= all(SUM_ROUNDING) * absolute(before)) & ~(is_whole(before) & is_whole(removed));
    return choose(little, all(0.0), rest);
}

}  // namespace naively::NAIVELY_LEVEL
