// Rows in, a score for each class out. Compiled once per instruction level (NAIVELY_LEVEL names it).
#include <algorithm>
#include <limits>

#include "common/matrix_rows.hpp"
#include "common/vectors.hpp"
#include "scoring/scoring.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// A score of NaN: write_answers() refuses the row.
constexpr double REFUSED = std::numeric_limits<double>::quiet_NaN();

// Lines of a table, each with its factor: the contributions of a row of counts or flags.
struct WeightedLines {
    std::vector<const double*> lines;
    std::vector<double> times;
    size_t size = 0;
    explicit WeightedLines(size_t most) { make_room(most); }
    void make_room(size_t most) {
        if (lines.size() < most) lines.resize(most), times.resize(most);
    }
    void add(const double* line, double by) {
        lines[size] = line;
        times[size++] = by;
    }
};

// The number that a cell counts for.
inline double read(double x, Binarize binarize) { return binarize.enabled ? double(x > binarize.threshold) : x; }

// The cells that can be counted: others are not scored either.
inline AllowedRange range_for(Binarize binarize) {
    double most = binarize.enabled ? std::numeric_limits<double>::max() : LARGEST_COUNT;
    return {-most, most, false};
}

// Lines are prefetched this far ahead: a table larger than the cache is slow to read.
constexpr size_t PREFETCH_DISTANCE = 12;
constexpr size_t CACHE_LINE = 64 / sizeof(double);

// score[v] += Σ times * line[v], for C vectors that stay in registers.
template <int C>
void add_lines(const WeightedLines& selected, size_t from, double* score) {
    Vec sums[C];
    for (int c = 0; c < C; ++c) sums[c] = load(score + from + c * LANES);
    for (size_t i = 0; i < selected.size; ++i) {
        if (i + PREFETCH_DISTANCE < selected.size) {
            const double* coming = selected.lines[i + PREFETCH_DISTANCE] + from;
            for (size_t at = 0; at < C * LANES; at += CACHE_LINE) __builtin_prefetch(coming + at);
        }
        Vec by = all(selected.times[i]);
        const double* line = selected.lines[i] + from;
        for (int c = 0; c < C; ++c) sums[c] += by * load(line + c * LANES);
    }
    for (int c = 0; c < C; ++c) store(score + from + c * LANES, sums[c]);
}

void add_selected(const WeightedLines& selected, size_t width, double* score) {
    for_vector_groups<6>(width,
                         [&](auto count, size_t from) { add_lines<decltype(count)::value>(selected, from, score); });
}

}  // namespace

namespace {

// Rows that follow each other in memory: their codes are looked at as one line.
constexpr size_t ROWS_AT_ONCE = 8, BLOCKS_AHEAD = 3;

// Where the lines of codes begin in the table, found for several rows at once.
template <class Code>
class CodeLines {
    using Bits = std::conditional_t<sizeof(Code) == 1, uint16_t, std::make_unsigned_t<Code>>;

  public:
    CodeLines(const int64_t* offsets, size_t columns, size_t at_once, size_t width)
        : width_(uint32_t(width)), at_(columns * at_once) {
        for (size_t i = 0; i < at_.size(); ++i) {
            size_t j = i % columns;
            first_.push_back(uint32_t(offsets[j]) * width_);
            last_.push_back(
                Bits(std::min<uint64_t>(offsets[j + 1] - offsets[j] - 1, std::numeric_limits<Bits>::max())));
        }
    }
    // Finds the lines of the first n codes; returns whether some of them are missing.
    bool find(const Code* __restrict codes, size_t n) {
        const Bits* __restrict last = last_.data();
        const uint32_t* __restrict first = first_.data();
        uint32_t* __restrict at = at_.data(), width = width_;
        Code any_negative = 0;  // negative if one of them is
        for (size_t i = 0; i < n; ++i) {
            any_negative |= codes[i];
            Bits code = Bits(codes[i]), known = last[i];
            at[i] = first[i] + uint32_t(code < known ? code : known) * width;
        }
        return is_missing(any_negative);
    }
    // Keeps the lines of those of the first n codes that are not missing; returns how many there are.
    size_t keep_known(const Code* codes, size_t n) {
        size_t size = 0;
        for (size_t i = 0; i < n; ++i)
            if (!is_missing(codes[i])) at_[size++] = at_[i];
        return size;
    }
    const uint32_t* begin() const { return at_.data(); }

  private:
    uint32_t width_;  // tables have fewer than 2^32 cells
    std::vector<uint32_t> first_, at_;
    std::vector<Bits> last_;
};

void add_all_lines(const uint32_t* at, size_t size, const PaddedTable& table, double* score) {
    for_vector_groups<6>(table.width, [&](auto count, size_t from) {
        add_table_lines<decltype(count)::value>(at, size, table.data + from, score + from);
    });
}

// The same for several rows, four at once where their sums fit into sixteen registers.
void add_all_lines(const uint32_t* at, size_t size, size_t rows, const PaddedTable& table, double* score) {
    constexpr int TOGETHER = 4, MOST = 3;
    size_t row = 0, vectors = table.width / LANES;
    if (vectors <= MOST)
        with_constant<MOST>(vectors, [&](auto count) {
            for (; row + TOGETHER <= rows; row += TOGETHER)
                add_table_lines<decltype(count)::value, TOGETHER>(at + row * size, size, table.data,
                                                                  score + row * table.width, table.width);
        });
    for (; row < rows; ++row) add_all_lines(at + row * size, size, table, score + row * table.width);
}

}  // namespace

void score_codes(const Matrix& x, bool allow_missing, const int64_t* offsets, const PaddedTable& table, size_t begin,
                 size_t end, double* scores) {
    with_codes(x, [&](auto line_of) {
        size_t columns = x.columns;
        size_t at_once = is_contiguous(x) && end - begin > 1 ? ROWS_AT_ONCE : 1;
        CodeLines<std::remove_cvref_t<decltype(*line_of(0))>> lines(offsets, columns, at_once, table.width);
        for (size_t row = begin, some = 0; row < end; row += some) {
            some = std::min(at_once, end - row);
            auto codes = line_of(row);
            if (some > 1) prefetch(codes + BLOCKS_AHEAD * some * columns, some * columns);
            if (!lines.find(codes, some * columns)) {
                add_all_lines(lines.begin(), columns, some, table, scores);
                scores += some * table.width;
                continue;
            }
            for (size_t r = 0; r < some; ++r, codes += columns, scores += table.width) {
                bool missing = lines.find(codes, columns);
                size_t known = missing ? lines.keep_known(codes, columns) : columns;
                add_all_lines(lines.begin(), known, table, scores);
                if (missing && !allow_missing) scores[0] = REFUSED;
            }
        }
    });
}

void score_dense(const Matrix& x, Binarize binarize, const PaddedTable& table, size_t begin, size_t end,
                 double* scores) {
    with_numbers(x, 1, [&](auto line_of) {
        AllowedRange limits = range_for(binarize);
        WeightedLines selected(x.columns);
        for (size_t row = begin; row < end; ++row, scores += table.width) {
            auto line = line_of(row);
            selected.size = 0;
            for (size_t j = 0; j < x.columns; ++j) {
                double v = read(line[j], binarize);
                if (v != 0) selected.add(table.data + j * table.width, v);
            }
            add_selected(selected, table.width, scores);
            if (!within(line, x.columns, limits)) scores[0] = REFUSED;
        }
    });
}

void score_sparse(const SparseMatrix& x, Binarize binarize, const PaddedTable& table, size_t begin, size_t end,
                  double* scores) {
    with_index(x, [&](auto index) {
        Entries<decltype(index)> entries(x);
        AllowedRange limits = range_for(binarize);
        WeightedLines selected(entries_per_row(x));
        for (size_t row = begin; row < end; ++row, scores += table.width) {
            size_t size = entries.size(row);
            auto columns = entries.columns(row);
            const double* values = entries.values(row);
            selected.make_room(size);
            selected.size = 0;
            bool inside = true;
            for (size_t e = 0; e < size; ++e) {
                bool here = columns[e] >= 0 && size_t(columns[e]) < table.lines;
                inside &= here;
                double v = read(values[e], binarize);
                if (v != 0 && here) selected.add(table.data + size_t(columns[e]) * table.width, v);
            }
            add_selected(selected, table.width, scores);
            if (!inside || !within(values, size, limits)) scores[0] = REFUSED;
        }
    });
}

}  // namespace naively::NAIVELY_LEVEL
