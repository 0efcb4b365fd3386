// Sixteen bytes of ASCII at a time.
#pragma once

#if defined(__SSE2__)
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <emmintrin.h>

namespace naively {

// Writes sixteen bytes in lowercase, and returns how many of the first are part of a word.
inline size_t lowercase_16(const uint8_t* at, char* to, bool lower) {
    auto all = [](int c) { return _mm_set1_epi8(char(c)); };
    auto within = [&](__m128i bytes, int first, int size) {
        __m128i from_first = _mm_sub_epi8(bytes, all(first));
        return _mm_cmpeq_epi8(_mm_min_epu8(from_first, all(size - 1)), from_first);
    };
    __m128i bytes;
    std::memcpy(&bytes, at, sizeof bytes);
    __m128i capitals = within(bytes, 'A', 26);
    __m128i letters = _mm_or_si128(capitals, within(bytes, 'a', 26));
    __m128i others = _mm_or_si128(within(bytes, '0', 10), _mm_cmpeq_epi8(bytes, all('_')));
    if (lower) bytes = _mm_add_epi8(bytes, _mm_and_si128(capitals, all(0x20)));
    std::memcpy(to, &bytes, sizeof bytes);
    return size_t(std::countr_one(uint32_t(_mm_movemask_epi8(_mm_or_si128(letters, others)))));
}

}  // namespace naively
#endif
