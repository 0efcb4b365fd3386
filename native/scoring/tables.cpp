// Rows in, a score for each class out. Compiled once per instruction level (NAIVELY_LEVEL names it).
#include <algorithm>
#include <limits>

#include "common/matrix_rows.hpp"
#include "common/vectors.hpp"
#include "scoring/scoring.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// A score that is no number: finish() refuses the row.
constexpr double REFUSED = std::numeric_limits<double>::quiet_NaN();

// Lines of a table, each with what it is multiplied by: what a row of codes, words or flags says.
struct Chosen {
    std::vector<const double*> lines;
    std::vector<double> times;
    size_t size = 0;
    explicit Chosen(size_t most) { make_room(most); }
    void make_room(size_t most) {
        if (lines.size() < most) lines.resize(most), times.resize(most);
    }
    void add(const double* line, double by) {
        lines[size] = line;
        times[size++] = by;
    }
};

// What counts for a cell.
inline double read(double x, Reading reading) { return reading.presence ? double(x > reading.threshold) : x; }

// What could not have been counted is not scored either: infinity is not just present, nor a count beyond all bounds
// large.
inline Limits readable(Reading reading) {
    double most = reading.presence ? std::numeric_limits<double>::max() : LARGEST_COUNT;
    return {-most, most, false};
}

// How far ahead a line is asked for: a table larger than the cache answers late.
constexpr size_t AHEAD = 12;

// score[v] += Σ times * line[v], for C vectors that stay in registers meanwhile.
template <int C>
void add_lines(const Chosen& chosen, size_t from, double* score) {
    Vec sums[C];
    for (int c = 0; c < C; ++c) sums[c] = load(score + from + c * LANES);
    for (size_t i = 0; i < chosen.size; ++i) {
        if (i + AHEAD < chosen.size) {
            const char* coming = reinterpret_cast<const char*>(chosen.lines[i + AHEAD] + from);
            for (size_t byte = 0; byte < C * LANES * sizeof(double); byte += 64) __builtin_prefetch(coming + byte);
        }
        Vec by = all(chosen.times[i]);
        const double* line = chosen.lines[i] + from;
        for (int c = 0; c < C; ++c) sums[c] += by * load(line + c * LANES);
    }
    for (int c = 0; c < C; ++c) store(score + from + c * LANES, sums[c]);
}

void add_chosen(const Chosen& chosen, size_t width, double* score) {
    by_vectors<6>(width, [&](auto count, size_t from) { add_lines<decltype(count)::value>(chosen, from, score); });
}

}  // namespace

namespace {

// Where the lines of a row's codes begin in the table, found for a whole row at once.
template <class Code>
class CodeLines {
    using Bits = std::conditional_t<sizeof(Code) == 1, uint16_t, std::make_unsigned_t<Code>>;

  public:
    CodeLines(const int64_t* offsets, size_t columns, size_t width) : width_(uint32_t(width)), at_(columns) {
        for (size_t j = 0; j < columns; ++j) {
            first_.push_back(uint32_t(offsets[j]) * width_);
            last_.push_back(
                Bits(std::min<uint64_t>(offsets[j + 1] - offsets[j] - 1, std::numeric_limits<Bits>::max())));
        }
    }
    // The codes' lines, without those of holes; whether there are holes is told apart.
    bool find(const Code* __restrict line) {
        size_t columns = at_.size();
        const Bits* __restrict last = last_.data();
        const uint32_t* __restrict first = first_.data();
        uint32_t* __restrict at = at_.data(), width = width_;
        Code together = 0;  // negative if one of them is
        for (size_t j = 0; j < columns; ++j) {
            together |= line[j];
            Bits code = Bits(line[j]), known = last[j];
            at[j] = first[j] + uint32_t(code < known ? code : known) * width;
        }
        size = columns;
        bool holes = is_hole(together);
        if (holes) {
            size = 0;
            for (size_t j = 0; j < columns; ++j)
                if (!is_hole(line[j])) at[size++] = at[j];
        }
        return holes;
    }
    const uint32_t* begin() const { return at_.data(); }
    size_t size = 0;

  private:
    uint32_t width_;  // tables have fewer than 2^32 cells
    std::vector<uint32_t> first_, at_;
    std::vector<Bits> last_;
};

}  // namespace

void score_codes(const Matrix& x, bool holes, const int64_t* offsets, const Padded& table, size_t begin, size_t end,
                 double* scores) {
    with_codes(x, [&](auto line_of) {
        CodeLines<std::remove_cvref_t<decltype(*line_of(0))>> lines(offsets, x.columns, table.width);
        for (size_t row = begin; row < end; ++row, scores += table.width) {
            bool missing = lines.find(line_of(row));
            by_vectors<6>(table.width, [&](auto count, size_t from) {
                add_at<decltype(count)::value>(lines.begin(), lines.size, table.data + from, scores + from);
            });
            if (missing && !holes) scores[0] = REFUSED;
        }
    });
}

void score_dense(const Matrix& x, Reading reading, const Padded& table, size_t begin, size_t end, double* scores) {
    with_numbers(x, 1, [&](auto line_of) {
        Limits limits = readable(reading);
        Chosen chosen(x.columns);
        for (size_t row = begin; row < end; ++row, scores += table.width) {
            auto line = line_of(row);
            chosen.size = 0;
            for (size_t j = 0; j < x.columns; ++j) {
                double v = read(line[j], reading);
                if (v != 0) chosen.add(table.data + j * table.width, v);
            }
            add_chosen(chosen, table.width, scores);
            if (!within(line, x.columns, limits)) scores[0] = REFUSED;
        }
    });
}

void score_sparse(const Sparse& x, Reading reading, const Padded& table, size_t begin, size_t end, double* scores) {
    with_index(x, [&](auto index) {
        Entries<decltype(index)> entries(x);
        Limits limits = readable(reading);
        Chosen chosen(entries_per_row(x));
        for (size_t row = begin; row < end; ++row, scores += table.width) {
            size_t size = entries.size(row);
            auto columns = entries.columns(row);
            const double* values = entries.values(row);
            chosen.make_room(size);
            chosen.size = 0;
            bool inside = true;
            for (size_t e = 0; e < size; ++e) {
                bool here = columns[e] >= 0 && size_t(columns[e]) < table.lines;
                inside &= here;
                double v = read(values[e], reading);
                if (v != 0 && here) chosen.add(table.data + size_t(columns[e]) * table.width, v);
            }
            add_chosen(chosen, table.width, scores);
            if (!inside || !within(values, size, limits)) scores[0] = REFUSED;
        }
    });
}

}  // namespace naively::NAIVELY_LEVEL
