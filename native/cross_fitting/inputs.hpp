// What the kernels of cross-fitting read: rows that are scored by counts without their fold.
#pragma once

#include <cstddef>
#include <cstdint>

namespace naively {

// Rows in the order of their folds. A row is counted in one class, or in several of them if its label is soft. The rows
// of a test lie in no counts at all: what is fitted to the other rows can be measured on them.
struct FoldedRows {
    size_t rows, classes, folds;
    const int64_t* entries;  // where the entries of each row begin: rows + 1 of them
    const int32_t* labels;   // the class of each entry
    const double* weights;   // and its weight
    const int64_t* bounds;   // where each fold begins: folds + 1 of them
    size_t test, test_end;   // the rows of the test; the same where there is none

    size_t first(size_t fold) const { return size_t(bounds[fold]); }
    bool tests(size_t fold) const { return first(fold) >= test && first(fold + 1) <= test_end; }
};

// What becomes of the terms of pairs of columns; what is null is not wanted. Lines are padded to whole vectors of
// classes. A term's level says to which sum it is added.
struct PairRequest {
    double pseudo_count;
    double* sums;                       // [level][row][class]
    const double *p, *error, *weights;  // [row][class], [row][class] and [row]: the gain of a term is told from these
    double *slope, *curve;              // [term]
    float* values;                      // [term][class][row]
};

// Numbers of rows, and what was counted of them: a normal distribution for each class, or one covariance for all.
struct NormalRows {
    const double* x;         // [row][number]; a missing one is 0
    const uint8_t* missing;  // [row][column], or null where nothing is
    const int64_t* columns;  // where the numbers of each column begin: column_count + 1 of them
    size_t size, column_count;
    const double* n;         // [class]
    const double* sums;      // [class][number]
    const double* products;  // [class][number][number]; of all classes together, [number][number], if not by_class
    bool by_class;
};

// How a covariance is shrunk: by alpha towards that within all classes, and by a ridge.
struct Shrinkage {
    double alpha, ridge;
};

}  // namespace naively
