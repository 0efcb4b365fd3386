// Four doubles at a time, with the elementary functions that the loops need.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <type_traits>

#if defined(__AVX__)
#include <immintrin.h>
#endif

#include "kernels.hpp"

namespace naively::NAIVELY_LEVEL {

#if defined(__GNUC__)
// The compiler's own vectors: it splits them where the machine's are shorter.
using Vec __attribute__((vector_size(LANES * sizeof(double)))) = double;
using Mask __attribute__((vector_size(LANES * sizeof(int64_t)))) = int64_t;

// Through memcpy: a plain cast would promise an alignment that the data does not have.
inline Vec load(const double* from) {
    Vec v;
    std::memcpy(&v, from, sizeof v);
    return v;
}
inline Vec load(const float* from) {
    using Half __attribute__((vector_size(LANES * sizeof(float)))) = float;
    Half h;
    std::memcpy(&h, from, sizeof h);
    return __builtin_convertvector(h, Vec);
}
inline void store(double* to, Vec v) { std::memcpy(to, &v, sizeof v); }

// The longest vectors that one instruction computes. The lanes of a vector never meet in it, so that a number gets the
// same bits in a vector of any length.
#if defined(__AVX512F__)
using Longest __attribute__((vector_size(2 * LANES * sizeof(double)))) = double;
#else
using Longest = Vec;
#endif
template <class V>
inline V load_as(const double* from) {
    V v;
    std::memcpy(&v, from, sizeof v);
    return v;
}
template <class V>
inline void store_as(double* to, V v) {
    std::memcpy(to, &v, sizeof v);
}
template <class V>
inline V all_of(double x) {
    return x - V{};  // x in each lane
}
inline Vec all(double x) { return Vec{x, x, x, x}; }
inline Vec choose(Mask where, Vec a, Vec b) { return where ? a : b; }
inline Mask bits(Vec v) { return std::bit_cast<Mask>(v); }
inline Vec doubles(Mask m) { return std::bit_cast<Vec>(m); }
#if defined(__AVX__)
inline bool any(Mask m) { return !_mm256_testz_si256(__m256i(m), __m256i(m)); }  // gcc would take the lanes one by one
#else
inline bool any(Mask m) { return (m[0] | m[1] | m[2] | m[3]) != 0; }
#endif
#else
#error "The kernels need the vector types of gcc or clang; on Windows build with clang-cl."
#endif

inline Vec larger(Vec a, Vec b) { return choose(a > b, a, b); }
inline Vec smaller(Vec a, Vec b) { return choose(a < b, a, b); }
inline double largest(Vec v) { return std::max(std::max(v[0], v[1]), std::max(v[2], v[3])); }
inline double sum(Vec v) { return (v[0] + v[1]) + (v[2] + v[3]); }
// c - a * b, rounded once where the level has such an instruction and twice elsewhere: the only operation whose bits
// differ between levels. Never left to the compiler (-ffp-contract=off): a row's bits must not depend on the loop.
inline Vec subtract_product(Vec c, Vec a, Vec b) {
#if defined(__FMA__)
    return Vec(_mm256_fnmadd_pd(__m256d(a), __m256d(b), __m256d(c)));
#else
    return c - a * b;
#endif
}
// Whether every number is finite: infinity minus itself is not a number, and that is not equal to anything.
inline Mask not_finite(Vec v) { return Mask((v - v) != all(0.0)); }

// Calls f(C) with n, which is at most Most, as a constant.
template <int Most, class F>
inline void with_constant(size_t n, F&& f) {
    if (n == Most) return f(std::integral_constant<int, Most>{});
    if constexpr (Most > 1) with_constant<Most - 1>(n, f);
}

// Calls f<C>(from) for groups of at most Most vectors that together cover the width.
template <int Most, class F>
inline void for_vector_groups(size_t width, F&& f) {
    size_t from = 0;
    auto rest = [&] { return (width - from) / LANES; };
    for (; rest() >= Most; from += Most * LANES) f(std::integral_constant<int, Most>{}, from);
    if constexpr (Most > 1) {
        auto tail = [&](auto self, auto count) {
            constexpr int C = decltype(count)::value;
            if (rest() >= C) f(count, from), from += C * LANES;
            if constexpr (C > 1) self(self, std::integral_constant<int, C - 1>{});
        };
        tail(tail, std::integral_constant<int, Most - 1>{});
    }
}

// score[v] += Σ table[at + v], for C vectors that stay in registers meanwhile, and for R rows at once: their `size`
// lines, and their scores, which are `width` long, follow each other. One sum would wait for its last addition.
template <int C, int R = 1>
inline void add_table_lines(const uint32_t* at, size_t size, const double* table, double* score, size_t width = 0) {
    constexpr size_t doubles = C * LANES;
    using V = std::conditional_t<doubles * sizeof(double) % sizeof(Longest) == 0, Longest, Vec>;
    constexpr size_t step = sizeof(V) / sizeof(double), vectors = doubles / step;
    V sums[R][vectors];
    for (size_t r = 0; r < R; ++r)
        for (size_t c = 0; c < vectors; ++c) sums[r][c] = load_as<V>(score + r * width + c * step);
    for (size_t i = 0; i < size; ++i)
        for (size_t r = 0; r < R; ++r)
            for (size_t c = 0; c < vectors; ++c) sums[r][c] += load_as<V>(table + at[r * size + i] + c * step);
    for (size_t r = 0; r < R; ++r)
        for (size_t c = 0; c < vectors; ++c) store_as(score + r * width + c * step, sums[r][c]);
}

// log 2 in two parts; the first has so few digits that its product with an exponent is exact.
constexpr double LOG2_HIGH = 0x1.62e42feep-1,  // NOLINT(modernize-use-std-numbers): a part of it
    LOG2_LOW = 0x1.a39ef35793c76p-33;

// exp(x) for N vectors x <= 0, within 2 units of the last place; 0 below -708, where doubles end.
// x = n log 2 + r with |r| <= log(2) / 2; exp(r) by its series, then n is added to the exponent.
template <class V, size_t N>
inline void exponential(V (&x)[N]) {
    using Whole = decltype(V{} < V{});
    constexpr double shifter = 0x1.8p52;  // adding it rounds to a whole number, left in the low bits
    V shifted[N], r[N], p[N];
    for (size_t i = 0; i < N; ++i) {
        x[i] = x[i] > all_of<V>(-750.0) ? x[i] : all_of<V>(-750.0);
        shifted[i] = x[i] * std::numbers::log2e + shifter;
        V n = shifted[i] - shifter;
        r[i] = (x[i] - n * LOG2_HIGH) - n * LOG2_LOW;
        p[i] = all_of<V>(1.0 / 6227020800);
    }
    for (double c : {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
                     1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0})
        for (size_t i = 0; i < N; ++i) p[i] = p[i] * r[i] + c;
    for (size_t i = 0; i < N; ++i) {
        V power = std::bit_cast<V>(std::bit_cast<Whole>(p[i]) + (std::bit_cast<Whole>(shifted[i]) << 52));
        x[i] = x[i] < all_of<V>(-708.0) ? V{} : power;
    }
}
inline Vec exponential(Vec x) {
    Vec one[1] = {x};
    exponential(one);
    return one[0];
}

// log(1 + x) for 0 <= x <= 1/64, within a few units of the last place: its series, with neither division nor exponent.
inline Vec log_of_one_plus_little(Vec x) {
    Vec p = all(1.0 / 9);
    for (double c : {-1.0 / 8, 1.0 / 7, -1.0 / 6, 1.0 / 5, -1.0 / 4, 1.0 / 3, -1.0 / 2}) p = p * x + all(c);
    return x + x * x * p;
}

// log(u) + lost for u > 0, within a few units of the last place.
// u = m 2^e with m near 1; log(m) by the series of artanh; what is lost is little, and added at the end.
inline Vec logarithm(Vec u, Vec lost = all(0.0)) {
    Mask raw = bits(u);
    Mask exponent = ((raw - 0x3fe6a09e667f3bcd) >> 52);  // so that m lies between √½ and √2
    Vec m = doubles(raw - (exponent << 52));
    Vec e = __builtin_convertvector(exponent, Vec);
    Vec f = m - all(1.0), s = f / (all(2.0) + f), z = s * s;
    Vec p = all(1.0 / 21);
    for (double c : {1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3})
        p = p * z + all(c);
    Vec log_m = all(2.0) * s + all(2.0) * s * z * p;
    return e * all(LOG2_HIGH) + (log_m + (e * all(LOG2_LOW) + lost));
}

// log(1 + x) for x >= 0, within a few units of the last place. Each lane is computed as if it were alone.
inline Vec log_of_one_plus(Vec x) {
    // Most numbers lie near the center of a class of many rows.
    Mask little = Mask(x <= all(1.0 / 64));
    if (!any(~little)) return log_of_one_plus_little(x);
    Vec u = all(1.0) + x;
    Vec log_u = logarithm(u, (x - (u - all(1.0))) / u);  // with what rounding lost of 1 + x
    return any(little) ? choose(little, log_of_one_plus_little(x), log_u) : log_u;
}

}  // namespace naively::NAIVELY_LEVEL
