// From rows to answers in one call: every column adds to the scores of a block of rows while these are in the
// first-level cache, and the block is answered before the next one begins.
#pragma once

#include <functional>
#include <vector>

#include "common/threads.hpp"

namespace naively {

class Scorer {
  public:
    Scorer(const Kernels& kernels, const double* log_prior, size_t classes)
        : kernels_(kernels), classes_(classes), width_((classes + LANES - 1) / LANES * LANES) {
        // Classes that the prior excludes are marked elsewhere, so that every score is finite unless the data are not.
        start_.assign(width_, 0.0);
        exclusion_start_.assign(width_, 0.0);
        excluded_.assign(width_, MINUS_INFINITY);
        for (size_t c = 0; c < classes; ++c)
            if (log_prior[c] != MINUS_INFINITY) start_[c] = log_prior[c], excluded_[c] = 0.0;
    }

    using Step = std::function<void(size_t begin, size_t end, double* scores)>;
    void add(Step step, size_t cells_per_row) {
        steps_.push_back(std::move(step));
        cells_per_row_ += cells_per_row;
    }
    // Where these add up to more than ½, the class is excluded.
    void add_exclusion(Step step) {
        has_exclusions_ = true;
        exclusion_steps_.push_back(std::move(step));
    }
    void add_constant(const double* values, bool exclusion) {
        has_exclusions_ |= exclusion;
        for (size_t c = 0; c < classes_; ++c) (exclusion ? exclusion_start_ : start_)[c] += values[c];
    }

    // The sum of all contributions times a scale, plus a bias for each class. Excluded classes stay excluded.
    void rescale(double scale, const double* bias) {
        scale_ = scale;
        bias_.assign(width_, 0.0);
        if (bias) std::copy(bias, bias + classes_, bias_.begin());
    }

    // Probabilities are (1 - sum of the floors) * softmax + floor: no class is less probable than its floor.
    void set_floor(const double* floor) {
        floor_.assign(width_, 0.0);
        std::copy(floor, floor + classes_, floor_.begin());
        above_floor_ = 1.0;
        for (size_t c = 0; c < classes_; ++c) above_floor_ -= floor[c];
    }

    const Kernels& kernels() const { return kernels_; }
    size_t classes() const { return classes_; }
    size_t width() const { return width_; }

    // Fills request.out for all rows; returns the first row whose scores are not finite numbers.
    size_t run(size_t rows, AnswerRequest request, const Run& run) const {
        request.classes = classes_, request.width = width_, request.excluded = excluded_.data();
        if (!floor_.empty()) request.floor = floor_.data(), request.above_floor = above_floor_;
        size_t block = std::clamp<size_t>(4096 / width_, 8, 512), piece = block * BLOCKS;
        std::vector<size_t> refused((rows + piece - 1) / piece, NO_ROW);
        baseline::run_pieces(refused.size(), rows * (cells_per_row_ + 1) * width_, run, [&](size_t p) {
            std::vector<double> scores(block * width_), exclusion(has_exclusions_ ? block * width_ : 0);
            for (size_t begin = p * piece; begin < std::min(rows, (p + 1) * piece); begin += block) {
                size_t end = std::min({rows, begin + block, (p + 1) * piece});
                fill_lines(start_, end - begin, scores.data());
                for (const auto& step : steps_) step(begin, end, scores.data());
                if (!bias_.empty()) rescale_scores(scores.data(), end - begin);
                if (has_exclusions_) fill_lines(exclusion_start_, end - begin, exclusion.data());
                for (const auto& step : exclusion_steps_) step(begin, end, exclusion.data());
                refused[p] = kernels_.write_answers(scores.data(), has_exclusions_ ? exclusion.data() : nullptr, begin,
                                                    end, request);
                if (refused[p] != NO_ROW) return;
            }
        });
        return refused.empty() ? NO_ROW : *std::min_element(refused.begin(), refused.end());
    }

  private:
    static void fill_lines(const std::vector<double>& line, size_t times, double* to) {
        // Twice as much each time: a copy of one short line costs more in calls than in bytes.
        size_t all = times * line.size(), done = std::min(all, line.size());
        std::copy_n(line.begin(), done, to);
        for (size_t more = 0; done < all; done += more) std::copy_n(to, more = std::min(done, all - done), to + done);
    }

    void rescale_scores(double* scores, size_t rows) const {
        for (size_t i = 0; i < rows; ++i, scores += width_)
            for (size_t c = 0; c < width_; ++c) scores[c] = bias_[c] + scale_ * scores[c];
    }

    static constexpr double MINUS_INFINITY = -std::numeric_limits<double>::infinity();
    static constexpr size_t BLOCKS = 16;  // that a thread takes at once
    const Kernels& kernels_;
    size_t classes_, width_, cells_per_row_ = 0;
    bool has_exclusions_ = false;
    double scale_ = 1.0, above_floor_ = 1.0;
    std::vector<double> start_, exclusion_start_, excluded_, bias_;  // no bias: the sums are the scores
    std::vector<double> floor_;
    std::vector<Step> steps_, exclusion_steps_;
};

}  // namespace naively
