// Rows of numbers in, a part of each row's hash out. Compiled once per instruction level.
#include <algorithm>
#include <cstring>

#include "common/matrix_rows.hpp"
#include "common/threads.hpp"
#include "counting/counting.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

// Few enough rows that their hashes stay in the first-level cache while one column after the other is read.
constexpr size_t ROWS_AT_ONCE = 1024;
// A missing number has bits of its own, whatever NaN it is.
constexpr uint64_t MISSING_BITS = 0x7FF8000000000000;

// The bits of a number, the upper half folded into the lower one, where whole numbers have none; -0 is 0.
inline uint64_t folded_bits(double x) {
    x += 0.0;
    uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    bits = x == x ? bits : MISSING_BITS;
    return bits ^ (bits >> 32);
}

// The bits of a number mixed (splitmix64).
inline uint64_t mixed(uint64_t x) {
    x *= 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
}

}  // namespace

void hash_codes(const Matrix& codes, const int64_t* offsets, const uint64_t* table, const int32_t* classes,
                const uint64_t* of_class, uint64_t base, uint64_t* out, const Run& run) {
    size_t pieces = (codes.rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    auto first = static_cast<const int32_t*>(codes.data);
    run_pieces(pieces, codes.rows * (codes.columns + 1), run, [&](size_t piece) {
        size_t begin = piece * ROWS_AT_ONCE, n = std::min(ROWS_AT_ONCE, codes.rows - begin);
        uint64_t* __restrict hashes = out + begin;
        for (size_t j = 0; j < codes.columns; ++j) {
            auto cell = first + ptrdiff_t(begin) * codes.row_step + ptrdiff_t(j) * codes.column_step;
            const uint64_t* own = table + offsets[j];
            auto last = uint32_t(offsets[j + 1] - offsets[j] - 1);  // there is at least one; no code reads beyond
            for (size_t i = 0; i < n; ++i)
                hashes[i] += own[std::min(uint32_t(cell[ptrdiff_t(i) * codes.row_step]), last)];
        }
        for (size_t i = 0; i < n; ++i) hashes[i] = mixed(hashes[i] + base + of_class[classes[begin + i]]);
    });
}

void hash_numbers(const Matrix& x, const uint64_t* factors, uint64_t* out, const Run& run) {
    size_t pieces = std::min(PIECES, x.rows);
    with_type(x.type, x.data, [&](auto data) {
        run_pieces(pieces, x.rows * x.columns, run, [&](size_t piece) {
            size_t end = x.rows * (piece + 1) / pieces;
            for (size_t begin = x.rows * piece / pieces; begin < end; begin += ROWS_AT_ONCE) {
                size_t n = std::min(ROWS_AT_ONCE, end - begin);
                uint64_t* __restrict hashes = out + begin;
                for (size_t j = 0; j < x.columns; ++j) {
                    auto cell = data + ptrdiff_t(begin) * x.row_step + ptrdiff_t(j) * x.column_step;
                    uint64_t factor = factors[j];
                    if (x.row_step == 1)  // a loop of its own, which the compiler can vectorize
                        for (size_t i = 0; i < n; ++i) hashes[i] += folded_bits(double(cell[i])) * factor;
                    else
                        for (size_t i = 0; i < n; ++i)
                            hashes[i] += folded_bits(double(cell[ptrdiff_t(i) * x.row_step])) * factor;
                }
            }
        });
    });
}

}  // namespace naively::NAIVELY_LEVEL
