// The part of the kernels of one instruction level that weighs words.
#pragma once

#include "kernels.hpp"

namespace naively::NAIVELY_LEVEL {

void word_weights(const WordCounts&, const double* mix, double* out, const Run&);
void left_words(const WordRows&, const Rows&, const WordCounts&, float* out, const Run&);

}  // namespace naively::NAIVELY_LEVEL
