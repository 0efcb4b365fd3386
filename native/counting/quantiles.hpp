// Ordered numbers put into groups of about the same size, cuts between them, and how they spread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace naively {

using Numbers = std::vector<double>;

// Where a cut lies between two neighboring numbers, as a share of the gap: sqrt(6) - 2. On a midpoint, or at any other
// rational share, a third number of a few decimals may lie, and rounding would then decide its bin: another unit would
// change the result. No such number lies at an irrational share.
constexpr double CUT_SHARE = 0.4494897427831781;

// The different numbers of a column in their order, and what the rows of each weigh.
struct WeightedValues {
    Numbers values, weights;
};
WeightedValues weighted_values(const double* x, const double* weights, size_t rows);

// How a column is grouped: into so many bins, of a weight of at least this much; counted evenly from both ends, or from
// the first number on. The outermost bin is halved so often while it holds so much.
struct Grouping {
    size_t bins;
    double least;
    bool even;
    size_t halvings = 0;
    double tail = 0.0;
};
std::vector<int64_t> quantile_groups(const Numbers& weights, const Grouping& how);
Numbers quantile_cuts(const WeightedValues& column, const Grouping& how);

// The weight of each bin and the median of its numbers; where the numbers are clipped; their mean and deviation then.
struct Spread {
    Numbers bins, medians;
    double low = 0.0, high = 0.0, center = 0.0, deviation = 0.0;
};
Spread spread_of(const WeightedValues& column, const double* cuts, size_t size, double clipped);

}  // namespace naively
