// Characters of UTF-8: what they are, how they are read and written, and whether bytes are text at all.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

#include "common/bytes.hpp"
#include "unicode/characters.hpp"

namespace naively {

constexpr uint32_t CHARACTERS = 0x110000;

// The kind of each character, in blocks of 128; equal blocks are stored once.
class CharacterTable {
  public:
    CharacterTable() {
        std::vector<uint8_t> kinds(CHARACTERS);
        size_t runs = std::size(RUNS);
        for (size_t i = 0; i < runs; ++i) {
            size_t begin = RUNS[i] >> 8, end = i + 1 < runs ? RUNS[i + 1] >> 8 : CHARACTERS;
            std::memset(kinds.data() + begin, int(RUNS[i] & 0xff), end - begin);
        }
        for (size_t block = 0; block < places_.size(); ++block) places_[block] = place_of(kinds.data() + 128 * block);
    }

    const CharacterKind& operator[](uint32_t character) const {
        return KINDS[blocks_[128 * size_t(places_[character >> 7]) + (character & 127)]];
    }

  private:
    uint16_t place_of(const uint8_t* block) {
        size_t known = blocks_.size() / 128;
        for (size_t i = known; i-- > 0;)  // the last ones first: neighbors are often equal
            if (!std::memcmp(blocks_.data() + 128 * i, block, 128)) return uint16_t(i);
        blocks_.insert(blocks_.end(), block, block + 128);
        return uint16_t(known);
    }

    std::array<uint16_t, CHARACTERS / 128> places_;
    std::vector<uint8_t> blocks_;
};

inline const CharacterTable& character_table() {
    static const CharacterTable all;
    return all;
}

// The number of bytes of the character that begins here, which must be valid.
inline size_t length_at(const uint8_t* p) { return *p < 0x80 ? 1 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4; }

inline uint32_t read(const uint8_t* p) {
    if (*p < 0x80) return *p;
    if (*p < 0xe0) return (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
    if (*p < 0xf0) return (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
    return (p[0] & 0x07u) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu);
}

// Writes a character, and returns where the next one goes.
inline char* write(uint32_t c, char* to) {
    if (c < 0x80) return *to++ = char(c), to;
    if (c < 0x800) return *to++ = char(0xc0 | c >> 6), *to++ = char(0x80 | (c & 0x3f)), to;
    if (c < 0x10000)
        *to++ = char(0xe0 | c >> 12);
    else
        *to++ = char(0xf0 | c >> 18), *to++ = char(0x80 | (c >> 12 & 0x3f));
    return *to++ = char(0x80 | (c >> 6 & 0x3f)), *to++ = char(0x80 | (c & 0x3f)), to;
}

// Whether a capital sigma ends a word, by the rule of str.lower: a cased letter before it and none after it, whatever
// is ignored in between.
inline bool ends_word(const uint8_t* begin, const uint8_t* sigma, const uint8_t* end) {
    const CharacterTable& known = character_table();
    uint8_t is = 0;
    for (const uint8_t* p = sigma; p != begin;) {
        do --p;
        while ((*p & 0xc0) == 0x80);
        is = known[read(p)].is;
        if (!(is & IGNORED)) break;
    }
    if (!(is & CASED)) return false;
    for (const uint8_t* p = sigma + 2; p != end; p += length_at(p)) {
        is = known[read(p)].is;
        if (!(is & IGNORED)) return !(is & CASED);
    }
    return true;
}

constexpr size_t VALID = SIZE_MAX;

// The first byte that is no UTF-8, or VALID. Halves of surrogate pairs are accepted if `surrogates`: Python's strings
// can hold them, UTF-8 cannot.
inline size_t first_invalid(std::string_view text, bool surrogates) {
    auto begin = as_bytes(text), p = begin, end = begin + text.size();
    auto follows = [&](size_t at) { return size_t(end - p) > at && (p[at] & 0xc0) == 0x80; };
    while (p != end) {
        uint64_t eight = 0;
        for (; end - p >= 8; p += 8) {
            std::memcpy(&eight, p, 8);
            if (eight & 0x8080808080808080) break;
        }
        if (p == end) break;
        if (*p < 0x80) {
            ++p;
            continue;
        }
        size_t size = *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : *p < 0xf5 ? 4 : 0;
        bool good = size > 1 && follows(1) && (size < 3 || follows(2)) && (size < 4 || follows(3));
        if (good && size > 2) {
            uint32_t c = read(p);
            good = c >= (size == 3 ? 0x800u : 0x10000u) && c < CHARACTERS && (surrogates || c < 0xd800 || c > 0xdfff);
        }
        if (!good) return size_t(p - begin);
        p += size;
    }
    return VALID;
}

}  // namespace naively
