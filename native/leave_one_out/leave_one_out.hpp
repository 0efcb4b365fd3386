// The part of the kernels of one instruction level that takes each row out of the counts before it is scored.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "common/threads.hpp"
#include "kernels.hpp"

namespace naively::NAIVELY_LEVEL {

constexpr double NO_NUMBER = std::numeric_limits<double>::quiet_NaN();
// Rows that a thread takes at once.
constexpr size_t PIECE = 4096;

// Calls work(begin, end) for pieces of the rows; each returns the first row it refuses. The first of all is returned.
template <class Work>
size_t first_refused(size_t rows, size_t cells_per_row, const Run& run, Work&& work) {
    std::vector<size_t> refused((rows + PIECE - 1) / PIECE, NO_ROW);
    share_out(refused.size(), rows * cells_per_row, run,
              [&](size_t piece) { refused[piece] = work(piece * PIECE, std::min(rows, (piece + 1) * PIECE)); });
    return refused.empty() ? NO_ROW : *std::min_element(refused.begin(), refused.end());
}

// Numbers that differ by less than this share of their size differ by rounding alone; so do sums that are taken apart.
constexpr double GRAIN = 1e-14, RESIDUE = 1e-12;

size_t left_codes(const Matrix&, const Rows&, const LabelCounts&, double* out, const Run&);
size_t left_numbers(const Matrix&, const Rows&, const NumberCounts&, double* out, const Run&);
void word_weights(const WordCounts&, const double* mix, double* out, const Run&);
void left_words(const WordRows&, const Rows&, const WordCounts&, float* out, const Run&);

}  // namespace naively::NAIVELY_LEVEL
