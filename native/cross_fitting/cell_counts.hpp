// Counts of the cells of one term, by class, from which rows are subtracted.
#pragma once

#include <algorithm>
#include <vector>

#include "common/vectors.hpp"
#include "kernels.hpp"

// In the namespace of the instruction level: a function compiled for one must never be taken for another's.
namespace naively::NAIVELY_LEVEL {

inline size_t padded_classes(size_t classes) { return (classes + LANES - 1) / LANES * LANES; }

// Counts [cell][class], each line padded to whole vectors. A cell after the last takes the rows without a value.
struct CellCounts {
    size_t cells, width;
    std::vector<double> n;

    CellCounts(size_t cells_, size_t classes)
        : cells(cells_), width(padded_classes(classes)), n((cells_ + 1) * width, 0.0) {}

    double* line(size_t cell) { return n.data() + cell * width; }

    // Adds rows so many times: -1 takes them out.
    template <class CellOf>
    void add(const FoldedRows& rows, size_t begin, size_t end, double times, CellOf&& cell_of) {
        for (size_t row = begin; row < end; ++row) line(cell_of(row))[rows.labels[row]] += times * rows.weights[row];
    }
};

// Log ratios [line][class] of the cells that some rows lie in: a cell gets its line when it is first met.
class RatioLines {
  public:
    RatioLines(size_t cells, size_t width) : width_(width), line_of_(cells + 1, NONE), n_(width, 0.0), e_(width, 0.0) {}

    // The place of a cell's line; fill(cell, counted, expected) gives what was counted and what was to be expected.
    template <class Fill>
    uint32_t place(size_t cell, double pseudo, Fill&& fill) {
        if (line_of_[cell] != NONE) return line_of_[cell];
        size_t begin = lines_.size();
        lines_.resize(begin + width_);
        fill(cell, n_.data(), e_.data());
        for (size_t c = 0; c < width_; c += LANES) {
            // Fractions leave less than nothing by rounding.
            Vec n = larger(load(n_.data() + c), all(0.0)), expected = larger(load(e_.data() + c), all(0.0));
            Vec ratio = (n + all(pseudo)) / (expected + all(pseudo));
            store(lines_.data() + begin + c, logarithm(ratio));
        }
        met_.push_back(uint32_t(cell));
        return line_of_[cell] = uint32_t(begin / width_);
    }
    // A line of zeros, for rows without a value.
    uint32_t nothing() {
        if (nothing_ == NONE) {
            nothing_ = uint32_t(lines_.size() / width_);
            lines_.resize(lines_.size() + width_, 0.0);
        }
        return nothing_;
    }
    const double* line(uint32_t place) const { return lines_.data() + size_t(place) * width_; }
    // The lines stay; cells that are met from now on get new ones.
    void forget_cells() {
        for (uint32_t cell : met_) line_of_[cell] = NONE;
        met_.clear();
    }

  private:
    static constexpr uint32_t NONE = UINT32_MAX;
    size_t width_;
    uint32_t nothing_ = NONE;
    std::vector<uint32_t> line_of_, met_;
    std::vector<double> n_, e_, lines_;
};

}  // namespace naively::NAIVELY_LEVEL
