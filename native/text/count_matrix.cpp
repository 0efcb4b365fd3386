// Rows of tokens as a sparse matrix of counts.
#include <algorithm>
#include <numeric>

#include "common/threads.hpp"
#include "text/texts.hpp"

namespace naively {

using namespace NAIVELY_LEVEL;

namespace {

// Columns (the upper halves) of one row in order: by radix sort, which for many is quicker than comparisons.
void sort_columns(std::vector<uint64_t>& row, std::vector<uint64_t>& other, uint64_t all) {
    constexpr unsigned DIGIT = 9;
    constexpr size_t FEW = 48;
    if (row.size() < FEW) return std::sort(row.begin(), row.end());
    other.resize(row.size());
    for (unsigned shift = 32; all >> shift; shift += DIGIT) {
        uint32_t places[(size_t{1} << DIGIT) + 1] = {};
        auto digit = [=](uint64_t entry) { return entry >> shift & ((size_t{1} << DIGIT) - 1); };
        for (uint64_t entry : row) ++places[digit(entry) + 1];
        for (size_t i = 1; i < std::size(places); ++i) places[i] += places[i - 1];
        for (uint64_t entry : row) other[places[digit(entry)]++] = entry;
        row.swap(other);
        if (shift + DIGIT >= 64) break;
    }
}

// The tokens of a row as columns with their counts, in order.
void sorted_row(const RowsPiece& piece, size_t row, const int32_t* columns, std::vector<uint64_t>& found,
                std::vector<uint64_t>& other) {
    found.clear();
    uint64_t all = 0;  // every bit that is set in some column
    for (size_t i = piece.begin(row); i < piece.ends[row]; ++i) {
        auto [number, times] = piece.entries[i];
        int32_t column = columns ? columns[number] : number;
        if (column < 0) continue;
        found.push_back(uint64_t(column) << 32 | times);
        all |= found.back();
    }
    sort_columns(found, other, all);
}

}  // namespace

void totals(const std::vector<RowsPiece>& pieces, size_t size, int64_t* rows, int64_t* times) {
    for (const RowsPiece& piece : pieces)
        for (const TokenCount& entry : piece.entries)
            if (size_t(entry.number) < size) ++rows[entry.number], times[entry.number] += entry.times;
}

CountMatrix count_matrix(const std::vector<RowsPiece>& pieces, const int32_t* columns, bool all_kept, CountWeight times,
                         bool whole, const Run& run) {
    CountMatrix made;
    std::vector<size_t> first(pieces.size() + 1);
    for (size_t i = 0; i < pieces.size(); ++i) first[i + 1] = first[i] + pieces[i].ends.size();
    made.starts.assign(first.back() + 1, 0);
    size_t entries = 0;
    for (const RowsPiece& piece : pieces) entries += piece.entries.size();
    run_pieces(pieces.size(), entries, run, [&](size_t i) {
        for (size_t row = 0; row < pieces[i].ends.size(); ++row) {
            int64_t n = all_kept ? int64_t(pieces[i].ends[row] - pieces[i].begin(row)) : 0;
            for (size_t at = pieces[i].begin(row); at < pieces[i].ends[row] && !all_kept; ++at)
                n += columns[pieces[i].entries[at].number] >= 0;
            made.starts[first[i] + row + 1] = n;
        }
    });
    std::partial_sum(made.starts.begin(), made.starts.end(), made.starts.begin());
    size_t size = size_t(made.starts.back());
    made.columns.reset(new int32_t[size]);
    if (whole)
        made.whole.reset(new int64_t[size]);
    else
        made.parts.reset(new double[size]);
    run_pieces(pieces.size(), entries, run, [&](size_t i) {
        std::vector<uint64_t> found, other;
        for (size_t row = 0; row < pieces[i].ends.size(); ++row) {
            sorted_row(pieces[i], row, columns, found, other);
            size_t to = size_t(made.starts[first[i] + row]);
            for (uint64_t entry : found) {
                made.columns[to] = int32_t(entry >> 32);
                if (whole)
                    made.whole[to++] = times == CountWeight::once ? 1 : int64_t(uint32_t(entry));
                else
                    made.parts[to++] = count_weight(times, uint32_t(entry));
            }
        }
    });
    return made;
}

}  // namespace naively
