// What the kernels that score read beside the rows.
#pragma once

#include "common/views.hpp"

namespace naively {

// Pairs of columns of codes, and the line of the table at which each one's part begins: a line for each code of the
// first with each of the second, both with one more place for holes.
struct Pairs {
    const int64_t *first, *second, *lines;
    size_t size;
};

// How the scores of a row become its answer.
enum class Answer { log_joint, posterior, log_posterior, choice };

struct Finish {
    Answer answer;
    size_t classes, width;
    const double* closed;    // -inf for classes that the prior rules out, else 0; `width` of them, the rest -inf
    const double* fallback;  // the log posterior of a row that rules out every class
    const int64_t* labels;   // what to answer for each class, or null: its code
    void* out;               // [row][class] as f64 or f32, or an int64_t for each row
    Type type;
};

}  // namespace naively
