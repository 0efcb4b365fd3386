// The kernels of one instruction level that remove each row from the counts before it is scored.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "common/threads.hpp"
#include "kernels.hpp"

namespace naively::NAIVELY_LEVEL {

constexpr double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();
// Rows of a piece of work.
constexpr size_t PIECE = 4096;

// Calls work(begin, end) for pieces of the rows; each returns the first row it refuses. The first of all is returned.
template <class Work>
size_t first_refused(size_t rows, size_t cells_per_row, const Run& run, Work&& work) {
    std::vector<size_t> refused((rows + PIECE - 1) / PIECE, NO_ROW);
    run_pieces(refused.size(), rows * cells_per_row, run,
               [&](size_t piece) { refused[piece] = work(piece * PIECE, std::min(rows, (piece + 1) * PIECE)); });
    return refused.empty() ? NO_ROW : *std::min_element(refused.begin(), refused.end());
}

size_t leave_one_out_codes(const Matrix&, const LabeledRows&, const CategoryCounts&, double* out, const Run&);
size_t leave_one_out_numbers(const Matrix&, const LabeledRows&, const NumberMoments&, double* out, const Run&);

}  // namespace naively::NAIVELY_LEVEL
