// What the leave-one-out kernels read beside the rows: the counts of all rows.
#pragma once

#include "common/views.hpp"

namespace naively {

// Columns of categories as they were counted. Each has a line for every value, and a last one for unseen values.
struct CategoryCounts {
    static constexpr size_t COLUMN_NUMBERS = 6;

    const int64_t* offsets;         // where the lines of each column begin
    PaddedTable log_probabilities;  // [line][class]: log P(value | class)
    PaddedTable n;                  // [line][class]: the weight of rows with the value
    const double *seen,
        *declared;          // [line]: the weight in all classes; 1 if the value is known without any row, else 0
    const double* totals;   // [column][class]
    const double* columns;  // [column][COLUMN_NUMBERS], read through CategoryColumn
};

// The moments of each class and column, [column][class]: weight, mean, sum of squared deviations, and how much of the
// mean may be rounding; how the density is estimated from them, with a prior worth so many rows.
enum class Estimate { mle, map, bayes };
struct NumberMoments {
    const double *n, *mean, *ssd, *rounding;
    Estimate estimate;
    double prior_rows, epsilon;
};

}  // namespace naively
