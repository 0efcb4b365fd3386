// Terms of pairs of columns, of rows by counts. Compiled once per instruction level.
#include <algorithm>
#include <optional>
#include <vector>

#include "common/code_columns.hpp"
#include "common/pair_counts.hpp"
#include "common/vectors.hpp"
#include "scoring/scoring.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// Numbers that the tables of some terms may have together, so that they stay in the cache; rows of a piece of work.
constexpr size_t TABLES_AT_ONCE = size_t{1} << 17, ROWS_AT_ONCE = 256;

// The log ratios of a term, [cell][class]. After the last cell comes one of zeros, for rows without a value.
class RatioTable {
  public:
    RatioTable(const PairTerms& terms, size_t term, const double* products, size_t features, double pseudo)
        : width_((terms.classes + LANES - 1) / LANES * LANES) {
        PairCounts n;
        for (size_t k = 0; k < terms.classes; ++k) {
            n.count(terms, term, products + k * features * features, features);
            if (k == 0) {
                wide_ = n.of_second.size();
                table_.assign((n.both.size() + 1) * width_, 0.0);
            }
            fill(n, k, pseudo);
        }
        for (size_t i = 0; i < cells() * width_; i += LANES) {
            Vec v = load(table_.data() + i);
            // Classes that only fill up a line have 0, and keep it.
            store(table_.data() + i, choose(v > all(0.0), logarithm(choose(v > all(0.0), v, all(1.0))), all(0.0)));
        }
    }

    size_t cells() const { return table_.size() / width_ - 1; }
    size_t wide() const { return wide_; }
    const double* line(size_t cell) const { return table_.data() + cell * width_; }

  private:
    // What was counted over what independence leads to expect.
    void fill(const PairCounts& n, size_t k, double pseudo) {
        double share = n.whole > 0 ? 1.0 / n.whole : 0.0;
        double* out = table_.data() + k;
        for (size_t a = 0, cell = 0; a < n.of_first.size(); ++a)
            for (size_t b = 0; b < wide_; ++b, ++cell, out += width_)
                *out = (n.both[cell] + pseudo) / (n.of_first[a] * n.of_second[b] * share + pseudo);
    }

    size_t width_, wide_ = 0;
    std::vector<double> table_;
};

// Some terms of some rows, and what becomes of their values.
class PairTermRows {
  public:
    PairTermRows(const Matrix& codes, const PairTerms& terms, const PairTermRequest& request)
        : codes_(codes, terms.offsets, 0, codes.rows),
          n_(codes.rows),
          terms_(terms),
          request_(request),
          width_((terms.classes + LANES - 1) / LANES * LANES) {}

    void add(size_t term, const RatioTable& table, size_t begin, size_t end, double* slope, double* curve) const {
        int64_t i = terms_.first[term], j = terms_.second[term];
        const int32_t *bins_i = terms_.bins_of(term, i), *bins_j = terms_.bins_of(term, j);
        const uint16_t *a = codes_.column(size_t(i)), *b = codes_.column(size_t(j));
        size_t high = terms_.column_size(i), wide = terms_.column_size(j);
        double by = request_.by ? request_.by[term] : 0.0;
        for (size_t row = begin; row < end; ++row) {
            bool known = a[row] < high && b[row] < wide;
            size_t cell = known ? size_t(bins_i[a[row]]) * table.wide() + size_t(bins_j[b[row]]) : table.cells();
            const double* value = table.line(cell);
            if (request_.total) add_line(request_.total + row * width_, value, by);
            if (request_.sum) add_line(request_.sum + row * width_, value, 1.0);
            if (request_.slope) add_gain(row, value, *slope, *curve);
            if (request_.values)
                for (size_t k = 0; k < terms_.classes; ++k)
                    request_.values[(term * terms_.classes + k) * n_ + row] = float(value[k]);
        }
    }

  private:
    void add_line(double* to, const double* value, double by) const {
        for (size_t c = 0; c < width_; c += LANES) store(to + c, load(to + c) + all(by) * load(value + c));
    }
    void add_gain(size_t row, const double* value, double& slope, double& curve) const {
        const double *p = request_.p + row * width_, *error = request_.error + row * width_;
        Vec along{}, mean{}, square{};
        for (size_t c = 0; c < width_; c += LANES) {
            Vec v = load(value + c), weighted = load(p + c) * v;
            along += load(error + c) * v, mean += weighted, square += weighted * v;
        }
        double m = sum(mean);
        slope += sum(along), curve += request_.weights[row] * (sum(square) - m * m);
    }

    CodeColumns codes_;
    size_t n_;
    const PairTerms& terms_;
    const PairTermRequest& request_;
    size_t width_;
};

}  // namespace

// Some terms at a time, whose tables are made first; then pieces of the rows go through all of them in their order. So
// every sum is made in the same order, whatever the threads.
void score_pair_terms(const Matrix& codes, const PairTerms& terms, const double* products, size_t features,
                      const PairTermRequest& request, const Run& run) {
    size_t pieces = (codes.rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    PairTermRows rows(codes, terms, request);
    for (size_t first = 0, last = 0; first < terms.size; first = last) {
        for (last = first + 1; last < terms.size; ++last)
            if (size_t(terms.starts[last + 1] - terms.starts[first]) > TABLES_AT_ONCE) break;
        size_t count = last - first;
        std::vector<std::optional<RatioTable>> tables(count);
        run_pieces(count, size_t(terms.starts[last] - terms.starts[first]) * 8, run, [&](size_t t) {
            tables[t].emplace(terms, first + t, products, features, request.pseudo_count);
        });
        std::vector<double> gains(request.slope ? 2 * pieces * count : 2);
        run_pieces(pieces, codes.rows * count * terms.classes, run, [&](size_t piece) {
            size_t begin = piece * ROWS_AT_ONCE, end = std::min(codes.rows, begin + ROWS_AT_ONCE);
            for (size_t t = 0; t < count; ++t) {
                double* own = gains.data() + (request.slope ? 2 * (piece * count + t) : 0);
                rows.add(first + t, *tables[t], begin, end, own, own + 1);
            }
        });
        for (size_t piece = 0; request.slope && piece < pieces; ++piece)
            for (size_t t = 0; t < count; ++t) {
                request.slope[first + t] += gains[2 * (piece * count + t)];
                request.curve[first + t] += gains[2 * (piece * count + t) + 1];
            }
    }
}

}  // namespace naively::NAIVELY_LEVEL
