// Terms of pairs of columns, of rows by counts without their fold. Compiled once per instruction level.
#include <optional>
#include <vector>

#include "common/code_columns.hpp"
#include "common/threads.hpp"
#include "cross_fitting/cell_counts.hpp"
#include "cross_fitting/cross_fitting.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// Rows of a piece of work, and numbers that the lines of some terms may take together: they stay in the cache.
constexpr size_t ROWS_AT_ONCE = 256, NUMBERS_AT_ONCE = size_t{1} << 18;

// The values of one term: a line for each cell that rows of a fold lie in, and which of them each row has.
class TermLines {
  public:
    TermLines(const CodeColumns& codes, const PairColumns& pairs, size_t pair, const FoldedRows& rows)
        : wide_(pairs.codes_of(pairs.second[pair])),
          high_(pairs.codes_of(pairs.first[pair])),
          lines_(high_ * wide_, padded_classes(rows.classes)),
          place_(rows.rows) {
        const uint16_t *a = codes.column(size_t(pairs.first[pair])), *b = codes.column(size_t(pairs.second[pair]));
        size_t none = high_ * wide_;
        std::vector<uint32_t> cells(rows.rows);
        for (size_t row = 0; row < rows.rows; ++row)
            cells[row] = uint32_t(a[row] < high_ && b[row] < wide_ ? a[row] * wide_ + b[row] : none);
        CellCounts base(none, rows.classes);
        for (size_t k = 0; k < rows.classes; ++k) {
            const double* line = pairs.counts(pair, k);
            for (size_t x = 0; x < high_; ++x, line += pairs.features)
                for (size_t y = 0; y < wide_; ++y) base.line(x * wide_ + y)[k] = line[y];
        }
        base.add(rows, rows.test, rows.test_end, -1.0, [&](size_t row) { return size_t(cells[row]); });
        score_folds(base, rows, cells, pairs.pseudo_count);
    }

    const double* of(size_t row) const { return lines_.line(place_[row]); }

  private:
    // The rows of a fold are taken out of the counts, and put back once they have their scores.
    void score_folds(CellCounts& counts, const FoldedRows& rows, const std::vector<uint32_t>& cells, double pseudo) {
        size_t width = counts.width, none = high_ * wide_;
        std::vector<double> of_first(high_ * width), of_second(wide_ * width), share(width);
        auto cell_of = [&](size_t row) { return size_t(cells[row]); };
        auto fill = [&](size_t cell, double* n, double* expected) {
            const double *first = of_first.data() + cell / wide_ * width,
                         *second = of_second.data() + cell % wide_ * width;
            for (size_t c = 0; c < width; ++c)
                n[c] = counts.line(cell)[c], expected[c] = first[c] * second[c] * share[c];
        };
        for (size_t fold = 0; fold < rows.folds; ++fold) {
            size_t begin = rows.first(fold), end = rows.first(fold + 1);
            if (!rows.tests(fold)) counts.add(rows, begin, end, -1.0, cell_of);
            add_up(counts, of_first, of_second, share);
            for (size_t row = begin; row < end; ++row)
                place_[row] = cells[row] == none ? lines_.nothing() : lines_.place(cells[row], pseudo, fill);
            if (!rows.tests(fold)) counts.add(rows, begin, end, 1.0, cell_of);
            lines_.forget_cells();
        }
    }
    // The counts of each column, and 1 over those of all rows.
    void add_up(const CellCounts& counts, std::vector<double>& of_first, std::vector<double>& of_second,
                std::vector<double>& share) const {
        size_t width = counts.width;
        std::fill(of_second.begin(), of_second.end(), 0.0);
        std::fill(share.begin(), share.end(), 0.0);
        for (size_t c = 0; c < width; c += LANES) {
            Vec whole{};
            for (size_t x = 0; x < high_; ++x) {
                Vec sum{};
                const double* line = counts.n.data() + x * wide_ * width + c;
                double* to = of_second.data() + c;
                for (size_t y = 0; y < wide_; ++y, line += width, to += width) {
                    Vec n = load(line);
                    sum += n;
                    store(to, load(to) + n);
                }
                store(of_first.data() + x * width + c, sum);
                whole += sum;
            }
            store(share.data() + c,
                  choose(whole > all(0.0), all(1.0) / choose(whole > all(0.0), whole, all(1.0)), all(0.0)));
        }
    }

    size_t wide_, high_;
    RatioLines lines_;
    std::vector<uint32_t> place_;
};

// The slope and the curvature of the loss along a term, given the probabilities so far, [row][class].
void add_gain(const TermLines& lines, const FoldedRows& rows, const double* p, const double* error,
              const double* weights, double& slope, double& curve) {
    size_t width = padded_classes(rows.classes);
    for (size_t row = 0; row < rows.rows; ++row) {
        if (weights[row] == 0.0) continue;
        const double* value = lines.of(row);
        Vec along{}, mean{}, square{};
        for (size_t c = 0; c < width; c += LANES) {
            Vec v = load(value + c), weighted = load(p + row * width + c) * v;
            along += load(error + row * width + c) * v, mean += weighted, square += weighted * v;
        }
        double m = sum(mean);
        slope += sum(along), curve += weights[row] * (sum(square) - m * m);
    }
}

}  // namespace

// Some terms at a time; then pieces of the rows go through all of them in their order, so that every sum is made in the
// same order, whatever the threads.
void cross_pairs(const Matrix& codes, const PairColumns& pairs, const FoldedRows& rows, const double* p,
                 const double* error, const double* weights, double* sums, double* slope, double* curve,
                 const Run& run) {
    CodeColumns columns(codes, pairs.offsets, 0, codes.rows, run);
    size_t width = padded_classes(rows.classes), pieces = (rows.rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    auto numbers_of = [&](size_t pair) {
        size_t cells = pairs.codes_of(pairs.first[pair]) * pairs.codes_of(pairs.second[pair]);
        return rows.rows / 2 + std::min(cells * rows.folds, rows.rows) * width;
    };
    for (size_t first = 0, last = 0; first < pairs.size; first = last) {
        size_t numbers = 0;
        for (last = first; last < pairs.size && (last == first || numbers < NUMBERS_AT_ONCE); ++last)
            numbers += numbers_of(last);
        size_t count = last - first;
        std::vector<std::optional<TermLines>> lines(count);
        run_pieces(count, count * rows.rows * width, run, [&](size_t t) {
            const TermLines& own = lines[t].emplace(columns, pairs, first + t, rows);
            add_gain(own, rows, p, error, weights, slope[first + t], curve[first + t]);
        });
        run_pieces(pieces, rows.rows * count * width, run, [&](size_t piece) {
            size_t begin = piece * ROWS_AT_ONCE, end = std::min(rows.rows, begin + ROWS_AT_ONCE);
            for (size_t t = 0; t < count; ++t)
                for (size_t row = begin; row < end; ++row) {
                    const double* value = lines[t]->of(row);
                    double* to = sums + row * width;
                    for (size_t c = 0; c < width; c += LANES) store(to + c, load(to + c) + load(value + c));
                }
        });
    }
}

}  // namespace naively::NAIVELY_LEVEL
