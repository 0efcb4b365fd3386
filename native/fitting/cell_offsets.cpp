// The log loss of rows whose cells have offsets, and its slope. Compiled once per instruction level.
#include <cmath>
#include <vector>

#include "common/threads.hpp"
#include "common/vectors.hpp"
#include "fitting/fitting.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// Turns scores into probabilities, and returns the loss of the truth under them.
double loss_of_row(double* score, const double* truth, size_t width) {
    Vec highest = load(score);
    for (size_t c = LANES; c < width; c += LANES) highest = larger(highest, load(score + c));
    Vec top = all(largest(highest)), whole{}, own{};
    for (size_t c = 0; c < width; c += LANES) {
        Vec below = load(score + c) - top, t = load(truth + c), p = exponential(below);
        // Where the truth has no part, a score may be as low as it likes.
        own += choose(Mask(t != all(0.0)), t * below, all(0.0));
        whole += p;
        store(score + c, p);
    }
    double sum_of_all = sum(whole);
    for (size_t c = 0; c < width; c += LANES) store(score + c, load(score + c) * all(1.0 / sum_of_all));
    return std::log(sum_of_all) - sum(own);
}

// The loss of some rows; what they add to the slope, if it is wanted.
double loss_of_rows(const CellRows& rows, const PaddedTable& offsets, size_t begin, size_t end, double* slope) {
    size_t width = offsets.width;
    std::vector<double> score(width);
    double loss = 0.0;
    for (size_t row = begin; row < end; ++row) {
        const int32_t* cells = rows.cells + row * rows.columns;
        const double *start = rows.scores + row * width, *truth = rows.truth + row * width;
        for (size_t c = 0; c < width; c += LANES) {
            Vec v = load(start + c);
            for (size_t j = 0; j < rows.columns; ++j) v += load(offsets.data + size_t(cells[j]) * width + c);
            store(score.data() + c, v);
        }
        double weight = rows.weights[row];
        loss += weight * loss_of_row(score.data(), truth, width);
        if (!slope) continue;
        for (size_t c = 0; c < width; c += LANES) {
            Vec error = (load(score.data() + c) - load(truth + c)) * all(weight);
            for (size_t j = 0; j < rows.columns; ++j) {
                double* at = slope + size_t(cells[j]) * width + c;
                store(at, load(at) + error);
            }
        }
    }
    return loss;
}

}  // namespace

// Pieces of the rows have slopes of their own, which are added in order: their number follows from the data alone.
double offset_loss(const CellRows& rows, const PaddedTable& offsets, double* slope, const Run& run) {
    size_t table = offsets.lines * offsets.width, cells = rows.rows * rows.columns * offsets.width;
    size_t affordable = std::max<size_t>(TABLE_BYTES / (std::max<size_t>(table, 1) * sizeof(double)), 1);
    size_t useful = std::max<size_t>(cells / std::max(CELLS_PER_THREAD, 4 * table), 1);
    size_t pieces = std::min({affordable, useful, PIECES});
    std::vector<double> losses(pieces, 0.0);
    std::vector<std::vector<double>> slopes(slope ? pieces - 1 : 0);
    run_pieces(pieces, cells, run, [&](size_t piece) {
        double* own = slope;
        if (slope && piece > 0) {
            slopes[piece - 1].assign(table, 0.0);
            own = slopes[piece - 1].data();
        }
        losses[piece] = loss_of_rows(rows, offsets, rows.rows * piece / pieces, rows.rows * (piece + 1) / pieces, own);
    });
    for (const auto& part : slopes)
        for (size_t i = 0; i < table; ++i) slope[i] += part[i];
    double loss = 0.0;
    for (double part : losses) loss += part;
    return loss;
}

}  // namespace naively::NAIVELY_LEVEL
