// What the leave-one-out kernels read beside the rows: the counts of all rows.
#pragma once

#include "common/views.hpp"

namespace naively {

// Columns of labels as they were counted. Each has a line for every value, and a last one for values never met.
struct LabelCounts {
    const int64_t* offsets;    // where the lines of each column begin
    Padded logs, n;            // [line][class]: what a value says, and how often it was met
    const double *met, *kept;  // [line]: how often in all; 1 if the value stays known without any row, else 0
    const double* totals;      // [column][class]
    struct Column {
        double imagined;  // rows of each value, or of all together where they are shared out by how common values are
        double size;      // number of values, with the place for those never met
        double common;    // how common all values are together
        double shared, placed,
            refusing;  // yes or no: shared out; a place for values never met; or none of them accepted
    };
    const Column* columns;
};

// The numbers of each class and column, [column][class]: how many, where they lie, how far apart, and how much of the
// mean may be rounding; how bells are estimated from them, with a prior worth so many rows.
enum class Estimate { mle, map, bayes };
struct NumberCounts {
    const double *n, *mean, *ssd, *grain;
    Estimate how;
    double worth, epsilon;
};

// In how many texts of each class every word was met, and in how many in all; which group of words each is of; how many
// words the texts of a class hold in all, [group][class]; and how many texts are imagined with each word.
struct WordCounts {
    Padded texts;
    const double* totals;
    const uint8_t* group;
    const double* mass;
    size_t groups, classes;
    double imagined;
};

// The words of rows of text, each once: those of row i lie between starts[i] and starts[i + 1].
struct WordRows {
    const int64_t* starts;
    const int32_t* words;
    size_t rows;
};

}  // namespace naively
