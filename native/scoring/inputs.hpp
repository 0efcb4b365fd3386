// What the kernels that score read beside the rows.
#pragma once

#include "common/views.hpp"

namespace naively {

// Two or three columns of codes that are read together ([interaction][3], the third -1 if there is none), and the line
// of the table at which each begins: a line for each combination of their codes, which have one more for missing
// values.
struct Interactions {
    const int64_t *columns, *lines;
    size_t size;
};

// A quadratic form of directions, each a sum of numbers and of what the codes of a row stand for. The squares of a
// class are a lower triangle of TILE by TILE tiles, filled up with zeros: for each line of tiles its columns, TILE
// numbers each. All classes add up to 0, and the last is left out.
struct QuadraticForm {
    static constexpr size_t TILE = 4;
    const double* numbers;     // [row][number], finite
    size_t width, size;        // of how many numbers, and directions
    const double* of_numbers;  // [number][direction]
    const double* of_codes;    // [code of all columns][direction]
    const double* squares;     // [class][cell]
    size_t classes;

    static size_t cells_per_class(size_t size) {
        size_t tiles = (size + TILE - 1) / TILE;
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
