// What the kernels that fit read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace naively {

// Rows with the cells they lie in, one for each column or pair of columns. Lines of scores and of the truth are padded
// to the width of the tables: a class that is not there has a score so low that its probability is 0.
struct CellRows {
    const int32_t* cells;  // [row][column]
    size_t rows, columns;
    const double* scores;   // [row][class], without any offset
    const double* truth;    // [row][class], the probability of each class: 1 for that of the row
    const double* weights;  // [row]
};

// What holds offsets back. Parameters are an offset for each cell, and a slope for each run of ordered cells: the
// offset of a cell in a run is its own plus slope * position.
struct OffsetPenalty {
    const double* pulls;      // [parameter]: towards 0
    const double* neighbors;  // [cell]: towards the next cell; the last has none
    const int64_t* runs;      // [run][2]: where it begins and ends
    const double* positions;  // [cell]
    size_t cells, run_count;

    size_t parameters() const { return cells + run_count; }
};

// How L-BFGS goes on: evaluations at most, the gain as a proportion of the loss at which it ends, steps it remembers.
struct Descent {
    size_t evaluations;
    double tolerance;
    size_t memory;
};

// Rows of text as offsets are fitted to them. The words of row i lie between starts[i] and starts[i + 1]; each counts
// lengths[i]. Of every row there is its target, the proportions of its classes, and its score without offsets, both
// [row][class]; its weight; and the sum of scales of its words times the square of its length.
struct WordOffsetRows {
    const int64_t* starts;
    const int32_t* words;
    const float *lengths, *targets, *scores, *weights, *squares;
    size_t classes, width;  // lines of tables are padded to the width
};

// How offsets are fitted: which rows are visited, in this order; the scale of each word, which is the variance of its
// offsets under a ridge of 1; the ridge; how often all rows are visited at most, and the mean change of a row at which
// it ends.
struct WordOffsetFitting {
    const int32_t* visited;
    size_t visits;
    const float* scales;
    float ridge;
    size_t passes;
    double tolerance;
};

// Rows as weights of terms are fitted to them: terms less those of the first class, [class - 1][term][row].
struct TermRows {
    const float* x;
    size_t terms, classes, rows;
    const double* truth;    // [class][row], the probability of each class
    const double* weights;  // [row]

    const float* term(size_t k, size_t t) const { return x + ((k - 1) * terms + t) * rows; }
};

// What holds weights, and after them biases, near given values.
struct WeightPenalty {
    const double *pulls, *towards;  // [term and class]
};

}  // namespace naively
