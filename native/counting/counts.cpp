// Rows of codes, of counts or of flags in, their sums out. Compiled once per instruction level.
#include <limits>
#include <vector>

#include "common/matrix_rows.hpp"
#include "common/threads.hpp"
#include "counting/counting.hpp"
#include "counting/sum_by_class.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// Where the cells of a row of codes lie in the counts, and whether all its codes are in range.
// Found for a whole row at once, four or eight cells at a time, before any of them is counted.
template <class Code>
class CellPositions {
    // Unsigned, so that a negative code is larger than any size, and wide enough for any size.
    using Bits = std::conditional_t<sizeof(Code) == 1, uint16_t, std::make_unsigned_t<Code>>;

  public:
    CellPositions(const int64_t* offsets, size_t columns, size_t classes, bool allow_missing)
        : classes_(uint32_t(classes)), allow_missing_(allow_missing), at_(columns) {
        for (size_t j = 0; j < columns; ++j) {
            first_.push_back(uint32_t(offsets[j]) * uint32_t(classes));
            sizes_.push_back(Bits(std::min<uint64_t>(offsets[j + 1] - offsets[j], std::numeric_limits<Bits>::max())));
        }
    }
    bool find(const Code* __restrict line) {
        size_t columns = at_.size();
        const Bits* __restrict sizes = sizes_.data();
        const uint32_t* __restrict first = first_.data();
        uint32_t* __restrict at = at_.data(), classes = classes_;
        Bits outside = 0;
        for (size_t j = 0; j < columns; ++j) {
            Bits here = Bits(line[j]) >= sizes[j];
            outside |= allow_missing_ && is_missing(line[j]) ? Bits(0) : here;
            at[j] = first[j] + uint32_t(line[j]) * classes;
        }
        return !outside;
    }
    const uint32_t* begin() const { return at_.data(); }

  private:
    uint32_t classes_;  // tables have fewer than 2^32 cells
    bool allow_missing_;
    std::vector<uint32_t> first_, at_;
    std::vector<Bits> sizes_;
};

}  // namespace

size_t count_codes(const Matrix& x, const LabeledRows& rows, bool allow_missing, const int64_t* offsets, double* counts,
                   const Run& run) {
    return with_codes(x, [&](auto lines) {
        using Code = std::remove_cvref_t<decltype(*lines(0))>;
        CellPositions<Code> positions(offsets, x.columns, rows.n_classes, allow_missing);
        auto check = [&, line_of = lines, positions]() mutable {
            for (size_t row = 0; row < x.rows; ++row)
                if (weight_of(rows, row) != 0 && !positions.find(line_of(row))) return row;
            return NO_ROW;
        };
        auto fill = [&, lines, positions](size_t begin, size_t end, auto* n) {
            auto line_of = lines;
            auto at = positions;
            for (size_t row = begin; row < end; ++row) {
                auto line = line_of(row);
                auto weight = std::remove_pointer_t<decltype(n)>(weight_of(rows, row));
                if (weight == 0) continue;  // rows of weight 0 do not count
                if (!at.find(line)) return false;
                size_t k = size_t(rows.classes[row]);
                const uint32_t* place = at.begin();
                if (allow_missing) {
                    for (size_t j = 0; j < x.columns; ++j)
                        if (!is_missing(line[j])) n[k + place[j]] += weight;
                } else {
                    for (size_t j = 0; j < x.columns; ++j) n[k + place[j]] += weight;
                }
            }
            return true;
        };
        size_t size = size_t(offsets[x.columns]) * rows.n_classes;
        return rows.weights ? sum_pieces<double>(x.rows, x.columns, size, counts, run, check, fill)
                            : sum_pieces<uint32_t>(x.rows, x.columns, size, counts, run, check, fill);
    });
}

size_t count_dense(const Matrix& x, const LabeledRows& rows, Binarize binarize, AllowedRange limits, double* counts,
                   const Run& run) {
    auto check = [&] { return first_outside(x, limits); };
    return with_numbers(x, 1, [&](auto lines) {
        auto fill = [&](size_t begin, size_t end, double* table) {
            auto line_of = lines;
            for (size_t row = begin; row < end; ++row) {
                auto line = line_of(row);
                if (!within(line, x.columns, limits)) return false;
                double weight = weight_of(rows, row);
                double* __restrict n = table + size_t(rows.classes[row]) * x.columns;
                if (binarize.enabled)
                    for (size_t j = 0; j < x.columns; ++j) n[j] += line[j] > binarize.threshold ? weight : 0.0;
                else
                    for (size_t j = 0; j < x.columns; ++j) n[j] += weight * line[j];
            }
            return true;
        };
        return sum_pieces(x.rows, x.columns, rows.n_classes * x.columns, counts, run, check, fill);
    });
}

size_t count_sparse(const SparseMatrix& x, const LabeledRows& rows, Binarize binarize, AllowedRange limits,
                    double* counts, const Run& run) {
    return with_index(x, [&](auto index) {
        using EntriesOf = Entries<decltype(index)>;
        auto good = [&](EntriesOf& entries, size_t row, const double* values) {
            return entries.inside(row) && within(values, entries.size(row), limits);
        };
        auto check = [&] {
            EntriesOf entries(x);
            for (size_t row = 0; row < x.rows; ++row)
                if (!good(entries, row, entries.values(row))) return row;
            return NO_ROW;
        };
        auto fill = [&](const auto* begin, const auto* end, auto line_of) {
            EntriesOf entries(x);
            for (auto at = begin; at < end; ++at) {
                size_t row = *at;
                auto columns = entries.columns(row);
                const double* values = entries.values(row);
                if (!good(entries, row, values)) return false;
                double weight = weight_of(rows, row), *n = line_of(row);
                for (size_t e = 0, size = entries.size(row); e < size; ++e)
                    n[columns[e]] += !binarize.enabled ? weight * values[e] : (values[e] > binarize.threshold) * weight;
            }
            return true;
        };
        return sum_by_class(rows, x.rows, entries_per_row(x), x.width, counts, run, check, fill);
    });
}

}  // namespace naively::NAIVELY_LEVEL
