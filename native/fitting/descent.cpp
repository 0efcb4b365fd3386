// Offsets of cells of least log loss, by L-BFGS. Compiled once per instruction level; every sum is in a fixed order.
#include <algorithm>
#include <cmath>
#include <deque>
#include <vector>

#include "fitting/fitting.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

using Numbers = std::vector<double>;

double dot(const Numbers& a, const Numbers& b) {
    double part[4] = {0, 0, 0, 0};  // four sums that do not wait for each other
    size_t whole = a.size() / 4 * 4;
    for (size_t i = 0; i < whole; i += 4)
        for (size_t j = 0; j < 4; ++j) part[j] += a[i + j] * b[i + j];
    for (size_t i = whole; i < a.size(); ++i) part[0] += a[i] * b[i];
    return (part[0] + part[1]) + (part[2] + part[3]);
}

void add_times(Numbers& to, double by, const Numbers& from) {
    for (size_t i = 0; i < to.size(); ++i) to[i] += by * from[i];
}

// The loss with its penalty, and its slope.
class PenalizedLoss {
  public:
    PenalizedLoss(const CellRows& rows, size_t width, const OffsetPenalty& penalty, const Run& run)
        : rows_(rows),
          width_(width),
          penalty_(penalty),
          run_(run),
          table_((penalty.cells + 1) * width, 0.0),
          of_cells_(table_.size()) {}

    double value(const Numbers& v, Numbers& slope) {
        fill_table(v);
        std::fill(of_cells_.begin(), of_cells_.end(), 0.0);
        double loss = offset_loss(rows_, {table_.data(), penalty_.cells + 1, width_}, of_cells_.data(), run_);
        return loss + add_penalty(v, slope);
    }

  private:
    void fill_table(const Numbers& v) {
        size_t cells = penalty_.cells * width_;
        std::copy_n(v.begin(), cells, table_.begin());
        for (size_t r = 0; r < penalty_.run_count; ++r) {
            const double* slope = v.data() + cells + r * width_;
            for (int64_t cell = penalty_.runs[2 * r]; cell < penalty_.runs[2 * r + 1]; ++cell)
                for (size_t c = 0; c < width_; ++c)
                    table_[size_t(cell) * width_ + c] += penalty_.positions[cell] * slope[c];
        }
    }
    double add_penalty(const Numbers& v, Numbers& slope) {
        size_t cells = penalty_.cells * width_;
        double penalty = 0.0;
        for (size_t p = 0, i = 0; p < penalty_.parameters(); ++p)
            for (size_t c = 0; c < width_; ++c, ++i) {
                slope[i] = penalty_.pulls[p] * v[i];
                penalty += slope[i] * v[i];
            }
        for (size_t cell = 0; cell + 1 < penalty_.cells; ++cell) {
            if (penalty_.neighbors[cell] == 0.0) continue;
            for (size_t c = 0, i = cell * width_; c < width_; ++c, ++i) {
                double apart = v[i + width_] - v[i], pull = penalty_.neighbors[cell] * apart;
                slope[i + width_] += pull, slope[i] -= pull;
                penalty += pull * apart;
            }
        }
        for (size_t i = 0; i < cells; ++i) slope[i] += of_cells_[i];
        for (size_t r = 0; r < penalty_.run_count; ++r)
            for (int64_t cell = penalty_.runs[2 * r]; cell < penalty_.runs[2 * r + 1]; ++cell)
                for (size_t c = 0; c < width_; ++c)
                    slope[cells + r * width_ + c] += penalty_.positions[cell] * of_cells_[size_t(cell) * width_ + c];
        return 0.5 * penalty;
    }

    const CellRows& rows_;
    size_t width_;
    const OffsetPenalty& penalty_;
    const Run& run_;
    Numbers table_, of_cells_;
};

// A step that was taken: how parameters and slopes changed, and the product of both.
struct Step {
    Numbers change, bend;
    double along;
};

// Where to go from here, by the slope and the last steps.
Numbers direction(const Numbers& slope, const double* steps, const std::deque<Step>& past) {
    Numbers move(slope.size());
    for (size_t i = 0; i < slope.size(); ++i) move[i] = -slope[i];
    Numbers back(past.size());
    for (size_t s = past.size(); s-- > 0;) {
        back[s] = dot(past[s].change, move) / past[s].along;
        add_times(move, -back[s], past[s].bend);
    }
    for (size_t i = 0; i < move.size(); ++i) move[i] *= steps[i];
    if (!past.empty()) {
        const Step& last = past.back();
        double curved = 0.0;
        for (size_t i = 0; i < move.size(); ++i) curved += last.bend[i] * steps[i] * last.bend[i];
        for (double& m : move) m *= last.along / curved;
    }
    for (size_t s = 0; s < past.size(); ++s)
        add_times(move, back[s] - dot(past[s].bend, move) / past[s].along, past[s].change);
    return move;
}

}  // namespace

void fit_offsets(const CellRows& rows, size_t width, const OffsetPenalty& penalty, const double* steps,
                 const Descent& how, double* parameters, const Run& run) {
    size_t size = penalty.parameters() * width, looks = 1;
    Numbers v(parameters, parameters + size), slope(size), tried(size), there(size);
    PenalizedLoss problem(rows, width, penalty, run);
    double loss = problem.value(v, slope);
    std::deque<Step> past;
    while (looks < how.evaluations) {
        Numbers move = direction(slope, steps, past);
        double fall = dot(slope, move), length = 1.0, found = loss;
        for (;; length *= 0.4) {
            for (size_t i = 0; i < size; ++i) tried[i] = v[i] + length * move[i];
            found = problem.value(tried, there);
            if (++looks >= how.evaluations || found <= loss + 1e-4 * length * fall) break;
        }
        if (!(found < loss)) break;
        Step step{Numbers(size), Numbers(size), 0.0};
        for (size_t i = 0; i < size; ++i) step.change[i] = tried[i] - v[i], step.bend[i] = there[i] - slope[i];
        step.along = dot(step.change, step.bend);
        if (step.along > 1e-12 * std::sqrt(dot(step.bend, step.bend))) past.push_back(std::move(step));
        if (past.size() > how.memory) past.pop_front();
        double gain = loss - found;
        std::swap(v, tried), std::swap(slope, there), loss = found;
        if (gain <= how.tolerance * std::abs(loss)) break;
    }
    std::copy(v.begin(), v.end(), parameters);
}

}  // namespace naively::NAIVELY_LEVEL
