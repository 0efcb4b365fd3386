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
};

}  // namespace naively
