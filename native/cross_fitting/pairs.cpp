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
    TermLines(const CodeColumns& codes, const PairTerms& terms, size_t term, const double* products, size_t features,
              const FoldedRows& rows, double pseudo)
        : wide_(terms.bin_count(term, terms.second[term])),
          high_(terms.bin_count(term, terms.first[term])),
          lines_(high_ * wide_, padded_classes(rows.classes)),
          place_(rows.rows) {
        int64_t i = terms.first[term], j = terms.second[term];
        const int32_t *bins_i = terms.bins_of(term, i), *bins_j = terms.bins_of(term, j);
        const uint16_t *a = codes.column(size_t(i)), *b = codes.column(size_t(j));
        size_t codes_i = terms.column_size(i), codes_j = terms.column_size(j), none = high_ * wide_;
        std::vector<uint32_t> cells(rows.rows);
        for (size_t row = 0; row < rows.rows; ++row) {
            bool known = a[row] < codes_i && b[row] < codes_j;
            cells[row] = uint32_t(known ? size_t(bins_i[a[row]]) * wide_ + size_t(bins_j[b[row]]) : none);
        }
        CellCounts base(none, rows.classes);
        for (size_t k = 0; k < rows.classes; ++k) {
            // Before the flags of all codes comes the feature that is always 1.
            const double* line =
                products + (k * features + size_t(terms.offsets[i] + 1)) * features + size_t(terms.offsets[j] + 1);
            for (size_t x = 0; x < codes_i; ++x, line += features)
                for (size_t y = 0; y < codes_j; ++y)
                    base.line(size_t(bins_i[x]) * wide_ + size_t(bins_j[y]))[k] += line[y];
        }
        base.add(rows, rows.test, rows.test_end, -1.0, [&](size_t row) { return size_t(cells[row]); });
        score_folds(base, rows, cells, pseudo);
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

// The slope and the curvature of the loss along a term.
void add_gain(const TermLines& lines, const FoldedRows& rows, const PairRequest& request, size_t term) {
    size_t width = padded_classes(rows.classes);
    double slope = 0.0, curve = 0.0;
    for (size_t row = 0; row < rows.rows; ++row) {
        if (request.weights[row] == 0.0) continue;
        const double *value = lines.of(row), *p = request.p + row * width, *error = request.error + row * width;
        Vec along{}, mean{}, square{};
        for (size_t c = 0; c < width; c += LANES) {
            Vec v = load(value + c), weighted = load(p + c) * v;
            along += load(error + c) * v, mean += weighted, square += weighted * v;
        }
        double m = sum(mean);
        slope += sum(along), curve += request.weights[row] * (sum(square) - m * m);
    }
    request.slope[term] = slope, request.curve[term] = curve;
}

}  // namespace

// Some terms at a time; then pieces of the rows go through all of them in their order, so that every sum is made in the
// same order, whatever the threads.
void cross_pairs(const Matrix& codes, const PairTerms& terms, const double* products, size_t features,
                 const FoldedRows& rows, const PairRequest& request, const Run& run) {
    CodeColumns columns(codes, terms.offsets, 0, codes.rows, run);
    size_t width = padded_classes(rows.classes), pieces = (rows.rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    for (size_t first = 0, last = 0; first < terms.size; first = last) {
        size_t numbers = 0;
        for (last = first; last < terms.size && (last == first || numbers < NUMBERS_AT_ONCE); ++last)
            numbers += rows.rows / 2 + size_t(terms.starts[last + 1] - terms.starts[last]) * rows.folds;
        size_t count = last - first;
        std::vector<std::optional<TermLines>> lines(count);
        run_pieces(count, count * rows.rows * width, run, [&](size_t t) {
            const TermLines& own =
                lines[t].emplace(columns, terms, first + t, products, features, rows, request.pseudo_count);
            if (request.slope) add_gain(own, rows, request, first + t);
            if (!request.values) return;
            float* values = request.values + (first + t) * rows.classes * rows.rows;
            for (size_t row = 0; row < rows.rows; ++row)
                for (size_t k = 0; k < rows.classes; ++k) values[k * rows.rows + row] = float(own.of(row)[k]);
        });
        if (!request.sums) continue;
        run_pieces(pieces, rows.rows * count * width, run, [&](size_t piece) {
            size_t begin = piece * ROWS_AT_ONCE, end = std::min(rows.rows, begin + ROWS_AT_ONCE);
            for (size_t t = 0; t < count; ++t) {
                double* sums = request.sums + size_t(terms.level[first + t]) * rows.rows * width;
                for (size_t row = begin; row < end; ++row) {
                    const double* value = lines[t]->of(row);
                    double* to = sums + row * width;
                    for (size_t c = 0; c < width; c += LANES) store(to + c, load(to + c) + load(value + c));
                }
            }
        });
    }
}

}  // namespace naively::NAIVELY_LEVEL
