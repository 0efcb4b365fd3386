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

// Rows that follow each other in memory: their codes are looked at as one line.
constexpr size_t ROWS_AT_ONCE = 8, BLOCKS_AHEAD = 3;

// The same for several rows at once, in counts that lie class by class: [class][column and code], and a last cell for
// missing values. Then no class has to be multiplied in, and no loop over columns has a remainder.
template <class Code>
class ClassPositions {
    using Bits = std::conditional_t<sizeof(Code) == 1, uint16_t, std::make_unsigned_t<Code>>;

  public:
    ClassPositions(const int64_t* offsets, size_t columns, size_t at_once, bool allow_missing)
        : missing_(allow_missing ? uint32_t(offsets[columns]) : UINT32_MAX), at_(columns * at_once) {
        for (size_t i = 0; i < at_.size(); ++i) {
            size_t j = i % columns;
            first_.push_back(uint32_t(offsets[j]));
            sizes_.push_back(Bits(std::min<uint64_t>(offsets[j + 1] - offsets[j], std::numeric_limits<Bits>::max())));
        }
    }
    // Whether all of the first n codes have a place.
    bool find(const Code* __restrict codes, size_t n) {
        const Bits* __restrict sizes = sizes_.data();
        const uint32_t* __restrict first = first_.data();
        uint32_t* __restrict at = at_.data();
        Bits outside = 0;
        for (size_t i = 0; i < n; ++i) {
            outside |= Bits(Bits(codes[i]) >= sizes[i]);
            at[i] = first[i] + uint32_t(codes[i]);
        }
        return !outside || find_missing(codes, n);
    }
    const uint32_t* begin() const { return at_.data(); }

  private:
    bool find_missing(const Code* codes, size_t n) {
        bool good = missing_ != UINT32_MAX;
        for (size_t i = 0; i < n; ++i) {
            if (is_missing(codes[i]))
                at_[i] = missing_;
            else
                good &= Bits(codes[i]) < sizes_[i];
        }
        return good;
    }
    uint32_t missing_;  // where missing values are counted, if they are allowed
    std::vector<uint32_t> first_, at_;
    std::vector<Bits> sizes_;
};

// Many rows that weigh one each.
template <class Lines, class Check>
size_t count_many_codes(const Matrix& x, const LabeledRows& rows, bool allow_missing, const int64_t* offsets,
                        double* counts, const Run& run, const Lines& lines, Check&& check) {
    using Code = std::remove_cvref_t<decltype(*Lines(lines)(0))>;
    size_t columns = x.columns, cells = size_t(offsets[columns]), line = cells + 1, classes = rows.n_classes;
    size_t at_once = is_contiguous(x) ? ROWS_AT_ONCE : 1;
    std::vector<double> total(line * classes, 0.0);
    const ClassPositions<Code> positions(offsets, columns, at_once, allow_missing);
    auto fill = [&](size_t begin, size_t end, auto* n) {
        auto line_of = lines;
        auto at = positions;
        for (size_t row = begin, some = 0; row < end; row += some) {
            some = std::min(at_once, end - row);
            auto codes = line_of(row);
            if (some > 1) prefetch(codes + BLOCKS_AHEAD * some * columns, some * columns);
            if (!at.find(codes, some * columns)) return false;
            const uint32_t* place = at.begin();
            for (size_t r = 0; r < some; ++r, place += columns) {
                auto* to = n + size_t(rows.classes[row + r]) * line;
                for (size_t j = 0; j < columns; ++j) ++to[place[j]];
            }
        }
        return true;
    };
    // Counts of 16 bits, so that more of them stay in the first-level cache; a large table is not added up so often.
    bool small = total.size() < (size_t{1} << 16);
    size_t refused = small ? sum_pieces<uint16_t>(x.rows, columns, total.size(), total.data(), run, check, fill)
                           : sum_pieces<uint32_t>(x.rows, columns, total.size(), total.data(), run, check, fill);
    if (refused == NO_ROW)
        for (size_t k = 0; k < classes; ++k)
            for (size_t cell = 0; cell < cells; ++cell) counts[cell * classes + k] += total[k * line + cell];
    return refused;
}

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
        auto fill = [&, lines, positions](size_t begin, size_t end, double* n) {
            auto line_of = lines;
            auto at = positions;
            for (size_t row = begin; row < end; ++row) {
                auto line = line_of(row);
                double weight = weight_of(rows, row);
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
        if (!rows.weights && !counted_directly(x.rows * x.columns, size))
            return count_many_codes(x, rows, allow_missing, offsets, counts, run, lines, check);
        return sum_pieces<double>(x.rows, x.columns, size, counts, run, check, fill);
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
