// What the kernels that score read beside the rows.
#pragma once

#include "common/views.hpp"

namespace naively {

// Pairs of columns of codes, and the line of the table at which each pair begins: a line for each code of the first
// with each of the second, both with one more code for missing values.
struct ColumnPairs {
    const int64_t *first, *second, *lines;
    size_t size;
};

// Terms of pairs of columns of codes. Codes are put together to bins, [level][code], which rise from 0 in each column;
// each term reads both columns at its level. Its cells are [class][bin of the first][bin of the second].
struct PairTerms {
    const int64_t *first, *second, *level;
    size_t size, classes;
    const int64_t* offsets;  // of the codes of each column
    const int32_t* bins;
    size_t codes;           // of all columns
    const int64_t* starts;  // of the cells of each term

    size_t column_size(int64_t column) const { return size_t(offsets[column + 1] - offsets[column]); }
    const int32_t* bins_of(size_t term, int64_t column) const {
        return bins + size_t(level[term]) * codes + offsets[column];
    }
    size_t bin_count(size_t term, int64_t column) const {
        return size_t(bins_of(term, column)[column_size(column) - 1]) + 1;
    }
};

// Products of numbers of a row, summed by class. The squares of a class are a lower triangle of TILE by TILE tiles,
// filled up with zeros: for each line of tiles its columns, TILE numbers each. All classes add up to 0, and the last is
// left out.
struct QuadraticForm {
    static constexpr size_t TILE = 4;
    const double* numbers;  // [row][number], finite
    size_t width;
    const double* squares;  // [class][cell]
    size_t classes;

    static size_t cells_per_class(size_t width) {
        size_t tiles = (width + TILE - 1) / TILE;
        return TILE * TILE * tiles * (tiles + 1) / 2;
    }
};

// How the scores of a row become its answer.
enum class Answer { log_joint, posterior, log_posterior, choice };

struct AnswerRequest {
    Answer answer;
    size_t classes, width;
    const double* excluded;  // -inf for classes that the prior excludes, else 0; `width` of them, the rest -inf
    const double* fallback;  // the log posterior of a row that excludes every class
    const int64_t* labels;   // what to answer for each class, or null: its code
    void* out;               // [row][class] as f64 or f32, or an int64_t for each row
    Type type;
    const double* floor = nullptr;  // the least probability of each class, `width` of them, or null: none
    double above_floor = 1.0;       // what the floors leave of 1
};

}  // namespace naively
