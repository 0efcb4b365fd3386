// What kernels read: plain views on memory, checked by whoever makes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace naively {

enum class Type { f32, f64, i32, i64, u8 };

// A dense matrix of any layout; steps are counted in elements.
struct Matrix {
    const void* data;
    Type type;
    size_t rows, columns;
    ptrdiff_t row_step, column_step;
};

// A sparse matrix, row by row (CSR). Entries of a row come in any order; duplicates add up.
struct SparseMatrix {
    const void* starts;   // rows + 1 of them, rising, within the entries: checked before
    const void* columns;  // one for each entry: checked while reading
    Type index_type;      // of both: i32 or i64
    const void* values;
    Type type;
    size_t rows, width, entries;
};

// The class and the weight of each row (null: weights of 1).
struct LabeledRows {
    const int32_t* classes;
    const double* weights;
    size_t n_classes;
};

// Whether a cell counts by its value, or as 1 where it lies above a threshold and else as 0.
struct Binarize {
    bool enabled;
    double threshold;
};

// Which cells are accepted. NaN is a missing value: it is refused, or counts for nothing where they are allowed.
struct AllowedRange {
    double least, largest;
    bool allow_missing;
};

// The first row that holds a cell outside the limits, or an index outside the matrix.
constexpr size_t NO_ROW = SIZE_MAX;

struct Run {
    int threads;
    bool (*interrupted)();  // called now and then, by the calling thread only
};

struct Interrupted : std::runtime_error {
    Interrupted() : std::runtime_error("interrupted") {}
};

// A table whose lines are padded with zeros to a multiple of LANES, so that loops over classes need no remainder.
constexpr size_t LANES = 4;
struct PaddedTable {
    const double* data;
    size_t lines, width;
};

// How columns are laid out to be counted together: columns of numbers, then columns of labels.
struct GridLayout {
    size_t columns;  // of numbers
    const double* cuts;
    const int64_t* cut_offsets;
    const int32_t* coarse;  // the coarse bin of each fine one
    const int64_t* coarse_offsets;
    const double* scale;    // of each column the low and the high bound, the center, steps in a unit: [4][column]
    double step;            // the size of a step
    const int32_t* places;  // of each label its code on the grid, -1 if it has none
    const int64_t* place_offsets;
};

// Rows as they are counted together: fine bins and levels line by line, codes column by column.
struct GridCells {
    int32_t *fine, *codes;
    double* level;
};

// A column of numbers as it lies in memory, and which rows hold a number (null: all of them).
struct NumberColumn {
    const void* data;
    Type type;
    ptrdiff_t step;
    const uint8_t* bits;
    size_t skipped;  // bits before that of the first row
};

}  // namespace naively
