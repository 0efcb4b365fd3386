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

// The number of documents of each class that hold a word: of word i, those between starts[i] and starts[i + 1], each
// with its class; and of all classes. The group of each word; how many words the documents of a class hold in all,
// [group][class]; and the pseudo-count of each word.
struct WordCounts {
    const int64_t* starts;
    const int32_t* classes_of;
    const double* documents;
    size_t words;
    const double* totals;
    const uint8_t* group;
    const double* class_words;
    size_t groups, classes;
    double pseudo_count;
};

// The distinct words of rows of text: those of row i lie between starts[i] and starts[i + 1]. Of soft labels, the
// proportions of the classes in each row, [row][class]; null where every row has one class.
struct WordRows {
    const int64_t* starts;
    const int32_t* words;
    size_t rows;
    const double* proportions;
};

}  // namespace naively
