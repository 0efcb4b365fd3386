// What the kernels that fit read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace naively {

// Rows that coefficients are fitted to. Of two classes there is one score, that of the second less that of the first;
// of more, lines of scores are padded, and a class that is not there has a score so low that its probability is 0.
struct CoefficientRows {
    size_t rows, width;
    const int32_t* classes;  // [row]
    const double* weights;   // [row]
    double* scores;          // [row][width]: they hold the coefficients so far
};

// A column, or some columns together, whose cells have coefficients: those of a row are that of its cell. Ordered cells
// have positions; their coefficients are a line plus deviations, which are pulled towards their neighbors, too.
struct CoefficientTable {
    const int32_t* codes;  // [row]: its cell; `cells` for a missing value
    size_t cells;
    double pull, line_pull, neighbor_pull;
    const double* positions;  // [cell], or null
    double *values, *line;    // [cell][width], [width]
};
constexpr int MOST_CLASS_VECTORS = 75;

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
