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

}  // namespace naively
