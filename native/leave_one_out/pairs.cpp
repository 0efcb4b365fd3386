// Leave-one-out terms of pairs of columns. Compiled once per instruction level.
#include <algorithm>
#include <optional>
#include <vector>

#include "common/code_columns.hpp"
#include "common/pair_counts.hpp"
#include "common/vectors.hpp"
#include "leave_one_out/leave_one_out.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// Numbers that the tables of some terms may have together, so that they stay in the cache; rows of a piece of work.
constexpr size_t TABLES_AT_ONCE = size_t{1} << 17, ROWS_AT_ONCE = 256;

double without(double n, double by) { return std::max(n - by, 0.0); }

// Both sides of the ratio of one cell: what was counted, and what independence leads to expect.
struct Sides {
    double counted, expected;
};
Sides sides(const PairCounts& n, size_t a, size_t b, double out, double pseudo) {
    double whole = without(n.whole, out);
    double both = without(n.both[a * n.of_second.size() + b], out);
    double product = without(n.of_first[a], out) * without(n.of_second[b], out);
    return {both + pseudo, (whole > 0 ? product / whole : 0.0) + pseudo};
}

// The log ratios of a term, [cell][class]: of all rows, and without one row of the class. After the last cell comes one
// of zeros, for rows without a value.
class LeftOutTables {
  public:
    LeftOutTables(const PairTerms& terms, size_t term, const double* products, size_t features, double pseudo,
                  bool any_weight)
        : width_((terms.classes + LANES - 1) / LANES * LANES), pseudo_(pseudo), counts_(terms.classes) {
        for (size_t k = 0; k < terms.classes; ++k)
            counts_[k].count(terms, term, products + k * features * features, features);
        wide_ = counts_[0].of_second.size();
        size_t cells = counts_[0].both.size();
        all_.assign((cells + 1) * width_, 0.0), own_.assign((cells + 1) * width_, 0.0);
        fill(all_, 0.0), fill(own_, 1.0);
        if (!any_weight) counts_.clear();
    }

    size_t cells() const { return all_.size() / width_ - 1; }
    size_t wide() const { return wide_; }
    const double* line(size_t cell) const { return all_.data() + cell * width_; }
    // The ratio of a row's own class, without so much of it.
    double own(size_t cell, size_t k, double out) const {
        if (out == 1.0) return own_[cell * width_ + k];
        if (out == 0.0 || cell == cells()) return line(cell)[k];
        Sides s = sides(counts_[k], cell / wide_, cell % wide_, out, pseudo_);
        return logarithm(all(s.counted / s.expected))[0];
    }

  private:
    void fill(std::vector<double>& table, double out) {
        for (size_t k = 0; k < counts_.size(); ++k)
            for (size_t cell = 0; cell < cells(); ++cell) {
                Sides s = sides(counts_[k], cell / wide_, cell % wide_, out, pseudo_);
                table[cell * width_ + k] = s.counted / s.expected;
            }
        for (size_t i = 0; i < cells() * width_; i += LANES) {
            Vec v = load(table.data() + i);
            // Classes that only fill up a line have 0, and keep it.
            store(table.data() + i, choose(v > all(0.0), logarithm(choose(v > all(0.0), v, all(1.0))), all(0.0)));
        }
    }

    size_t width_, wide_ = 0;
    double pseudo_;
    std::vector<PairCounts> counts_;
    std::vector<double> all_, own_;
};

// Some terms of some rows, and what becomes of their values.
class PairTermRows {
  public:
    PairTermRows(const Matrix& codes, const int32_t* classes, const PairTerms& terms, const PairTermRequest& request)
        : codes_(codes, terms.offsets, 0, codes.rows),
          n_(codes.rows),
          classes_(classes),
          terms_(terms),
          request_(request),
          width_((terms.classes + LANES - 1) / LANES * LANES) {}

    void add(size_t term, const LeftOutTables& tables, size_t begin, size_t end, double* slope, double* curve) const {
        int64_t i = terms_.first[term], j = terms_.second[term];
        const int32_t *bins_i = terms_.bins_of(term, i), *bins_j = terms_.bins_of(term, j);
        const uint16_t *a = codes_.column(size_t(i)), *b = codes_.column(size_t(j));
        size_t high = terms_.column_size(i), wide = terms_.column_size(j);
        double by = request_.by ? request_.by[term] : 0.0;
        std::vector<double> value(width_);
        for (size_t row = begin; row < end; ++row) {
            bool known = a[row] < high && b[row] < wide;
            size_t cell = known ? size_t(bins_i[a[row]]) * tables.wide() + size_t(bins_j[b[row]]) : tables.cells();
            std::copy_n(tables.line(cell), width_, value.data());
            size_t own = size_t(classes_[row]);
            value[own] = tables.own(cell, own, request_.left_out[row]);
            if (request_.total) add_line(request_.total + row * width_, value.data(), by);
            if (request_.sum) add_line(request_.sum + row * width_, value.data(), 1.0);
            if (request_.slope) add_gain(row, value.data(), *slope, *curve);
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
    const int32_t* classes_;
    const PairTerms& terms_;
    const PairTermRequest& request_;
    size_t width_;
};

}  // namespace

// Some terms at a time, whose tables are made first; then pieces of the rows go through all of them in their order. So
// every sum is made in the same order, whatever the threads.
void leave_one_out_pairs(const Matrix& codes, const int32_t* classes, const PairTerms& terms, const double* products,
                         size_t features, const PairTermRequest& request, const Run& run) {
    size_t pieces = (codes.rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    bool any_weight = std::any_of(request.left_out, request.left_out + codes.rows, [](double w) { return w != 1.0; });
    PairTermRows rows(codes, classes, terms, request);
    for (size_t first = 0, last = 0; first < terms.size; first = last) {
        for (last = first + 1; last < terms.size; ++last)
            if (size_t(terms.starts[last + 1] - terms.starts[first]) > TABLES_AT_ONCE) break;
        size_t count = last - first;
        std::vector<std::optional<LeftOutTables>> tables(count);
        run_pieces(count, size_t(terms.starts[last] - terms.starts[first]) * 8, run, [&](size_t t) {
            tables[t].emplace(terms, first + t, products, features, request.pseudo_count, any_weight);
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
