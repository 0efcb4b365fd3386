// Log ratios of pairs of codes, each row left out of the counts. Compiled once per instruction level.
#include <algorithm>
#include <cmath>
#include <vector>

#include "leave_one_out/leave_one_out.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// Rows that are added up at once: fixed, so that sums do not depend on the threads.
constexpr size_t ROWS = 2048;

// The counts of one pair of columns, and of each of them, [class][code][code].
class PairCounts {
  public:
    PairCounts(const LeftOutPairs& pairs, size_t at, size_t classes)
        : wide_(size_t(pairs.second_size[at])),
          lines_(size_t(pairs.first_size[at])),
          n_(pairs.counts + pairs.starts[at]),
          pseudo_(pairs.pseudo_count),
          first_(classes * lines_, 0.0),
          second_(classes * wide_, 0.0),
          whole_(classes, 0.0) {
        for (size_t k = 0; k < classes; ++k)
            for (size_t u = 0; u < lines_; ++u)
                for (size_t v = 0; v < wide_; ++v) {
                    double n = n_[(k * lines_ + u) * wide_ + v];
                    first_[k * lines_ + u] += n, second_[k * wide_ + v] += n, whole_[k] += n;
                }
    }
    size_t cells() const { return lines_ * wide_; }

    // The log ratio of a cell in a class, so much left out of all its counts.
    double ratio(size_t k, size_t cell, double without) const {
        auto left = [=](double n) { return std::max(n - without, 0.0); };
        size_t u = cell / wide_, v = cell % wide_;
        double here = left(n_[k * cells() + cell]), whole = left(whole_[k]);
        double both = left(first_[k * lines_ + u]) * left(second_[k * wide_ + v]);
        double expected = whole > 0 ? both / whole : 0.0;
        return std::log((here + pseudo_) / (expected + pseudo_));
    }

  private:
    size_t wide_, lines_;
    const double* n_;
    double pseudo_;
    std::vector<double> first_, second_, whole_;
};

}  // namespace

void leave_one_out_pairs(const LeftOutPairs& pairs, const LabeledRows& rows, float* out, const Run& run) {
    size_t classes = rows.n_classes, n = pairs.rows;
    run_pieces(pairs.size, pairs.size * n * classes, run, [&](size_t at) {
        PairCounts counts(pairs, at, classes);
        size_t cells = counts.cells();
        // Of all classes but the own nothing is left out; of the own, one row mostly. The last cell is a missing one.
        std::vector<float> others(classes * (cells + 1), 0.0f), own(classes * (cells + 1), 0.0f);
        for (size_t k = 0; k < classes; ++k)
            for (size_t cell = 0; cell < cells; ++cell) {
                others[k * (cells + 1) + cell] = float(counts.ratio(k, cell, 0.0));
                own[k * (cells + 1) + cell] = float(counts.ratio(k, cell, 1.0));
            }
        const int32_t *a = pairs.codes + size_t(pairs.first[at]) * n, *b = pairs.codes + size_t(pairs.second[at]) * n;
        std::vector<uint32_t> cell_of(n);
        for (size_t row = 0; row < n; ++row) {
            bool missing = a[row] < 0 || b[row] < 0;
            cell_of[row] = uint32_t(missing ? cells : size_t(a[row]) * size_t(pairs.second_size[at]) + size_t(b[row]));
        }
        float* found = out + at * classes * n;
        for (size_t k = 0; k < classes; ++k) {
            const float* table = others.data() + k * (cells + 1);
            for (size_t row = 0; row < n; ++row) found[k * n + row] = table[cell_of[row]];
        }
        for (size_t row = 0; row < n; ++row) {
            auto k = size_t(rows.classes[row]);
            double weight = rows.weights ? rows.weights[row] : 1.0;
            if (weight == 1.0 || cell_of[row] == cells)
                found[k * n + row] = own[k * (cells + 1) + cell_of[row]];
            else
                found[k * n + row] = float(counts.ratio(k, cell_of[row], weight));
        }
    });
}

void term_gains(const float* values, size_t terms, size_t classes, size_t rows, const GainRows& of, double* out,
                const Run& run) {
    run_pieces(terms, terms * classes * rows, run, [&](size_t term) {
        const float* x = values + term * classes * rows;
        double slope = 0.0, curve = 0.0;
        std::vector<double> mean(ROWS), square(ROWS);
        for (size_t begin = 0; begin < rows; begin += ROWS) {
            size_t some = std::min(ROWS, rows - begin);
            std::fill(mean.begin(), mean.end(), 0.0), std::fill(square.begin(), square.end(), 0.0);
            double part = 0.0;
            for (size_t k = 0; k < classes; ++k) {
                const float *v = x + k * rows + begin, *p = of.p + k * rows + begin, *e = of.error + k * rows + begin;
                for (size_t i = 0; i < some; ++i) {
                    double weighted = double(p[i]) * double(v[i]);
                    mean[i] += weighted, square[i] += weighted * double(v[i]);
                }
                for (size_t i = 0; i < some; ++i) part += double(e[i]) * double(v[i]);
            }
            slope += part;
            part = 0.0;
            for (size_t i = 0; i < some; ++i) part += of.rows[begin + i] * (square[i] - mean[i] * mean[i]);
            curve += part;
        }
        out[term] = slope * std::abs(slope) / (2 * (curve + 1.0));
    });
}

void add_terms(const float* values, size_t terms, size_t cells, float divisor, float* out, const Run& run) {
    run_pieces((cells + ROWS - 1) / ROWS, terms * cells, run, [&](size_t piece) {
        size_t begin = piece * ROWS, end = std::min(cells, begin + ROWS);
        for (size_t term = 0; term < terms; ++term) {
            const float* from = values + term * cells;
            for (size_t i = begin; i < end; ++i) out[i] += from[i] / divisor;
        }
    });
}

}  // namespace naively::NAIVELY_LEVEL
