// One call for the whole way from rows to answers: every column adds to the scores of a block of rows while these are
// in the first cache, and the block is finished before the next one is begun.
#pragma once

#include <functional>
#include <vector>

#include "common/threads.hpp"

namespace naively {

class Scorer {
  public:
    Scorer(const Kernels& kernels, const double* log_prior, size_t classes)
        : kernels_(kernels), classes_(classes), width_((classes + LANES - 1) / LANES * LANES) {
        // A class that the prior rules out is kept apart, so that every score is finite unless the data are not.
        start_.assign(width_, 0.0);
        against_start_.assign(width_, 0.0);
        closed_.assign(width_, MINUS_INFINITY);
        for (size_t c = 0; c < classes; ++c)
            if (log_prior[c] != MINUS_INFINITY) start_[c] = log_prior[c], closed_[c] = 0.0;
    }

    using Step = std::function<void(size_t begin, size_t end, double* scores)>;
    void add(Step step, size_t cells_per_row) {
        steps_.push_back(std::move(step));
        cells_per_row_ += cells_per_row;
    }
    // Where these add up to more than ½, the class is ruled out.
    void add_against(Step step) {
        rules_out_ = true;
        against_.push_back(std::move(step));
    }
    void add_constant(const double* values, bool against) {
        rules_out_ |= against;
        for (size_t c = 0; c < classes_; ++c) (against ? against_start_ : start_)[c] += values[c];
    }

    // What all columns say together, times a scale, plus a bias for each class. A class that is ruled out stays so.
    void temper(double scale, const double* bias) {
        scale_ = scale;
        bias_.assign(width_, 0.0);
        if (bias) std::copy(bias, bias + classes_, bias_.begin());
    }

    const Kernels& kernels() const { return kernels_; }
    size_t classes() const { return classes_; }
    size_t width() const { return width_; }

    // Fills how.out for all rows; returns the first row whose scores are not finite numbers.
    size_t run(size_t rows, Finish how, const Run& run) const {
        how.classes = classes_, how.width = width_, how.closed = closed_.data();
        size_t block = std::clamp<size_t>(4096 / width_, 8, 512), piece = block * BLOCKS;
        std::vector<size_t> refused((rows + piece - 1) / piece, NO_ROW);
        baseline::share_out(refused.size(), rows * (cells_per_row_ + 1) * width_, run, [&](size_t p) {
            std::vector<double> scores(block * width_), against(rules_out_ ? block * width_ : 0);
            for (size_t begin = p * piece; begin < std::min(rows, (p + 1) * piece); begin += block) {
                size_t end = std::min({rows, begin + block, (p + 1) * piece});
                repeat(start_, end - begin, scores.data());
                for (const auto& step : steps_) step(begin, end, scores.data());
                if (!bias_.empty()) tempered(scores.data(), end - begin);
                if (rules_out_) repeat(against_start_, end - begin, against.data());
                for (const auto& step : against_) step(begin, end, against.data());
                refused[p] = kernels_.finish(scores.data(), rules_out_ ? against.data() : nullptr, begin, end, how);
                if (refused[p] != NO_ROW) return;
            }
        });
        return refused.empty() ? NO_ROW : *std::min_element(refused.begin(), refused.end());
    }

  private:
    static void repeat(const std::vector<double>& line, size_t times, double* to) {
        for (size_t i = 0; i < times; ++i, to += line.size()) std::copy(line.begin(), line.end(), to);
    }

    void tempered(double* scores, size_t rows) const {
        for (size_t i = 0; i < rows; ++i, scores += width_)
            for (size_t c = 0; c < width_; ++c) scores[c] = bias_[c] + scale_ * scores[c];
    }

    static constexpr double MINUS_INFINITY = -std::numeric_limits<double>::infinity();
    static constexpr size_t BLOCKS = 16;  // that a thread takes at once
    const Kernels& kernels_;
    size_t classes_, width_, cells_per_row_ = 0;
    bool rules_out_ = false;
    double scale_ = 1.0;
    std::vector<double> start_, against_start_, closed_, bias_;  // no bias: the sums are the scores
    std::vector<Step> steps_, against_;
};

}  // namespace naively
