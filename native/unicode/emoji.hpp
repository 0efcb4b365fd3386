// Characters that belong to others: joiners, variation selectors, and the parts of emoji, as UAX #29 and UTS #51 name
// them.
#pragma once

#include "unicode/utf8.hpp"

// Code that most texts do not need stays out of the loops of code that they need.
#if defined(__GNUC__)
#define OUT_OF_LINE __attribute__((noinline))
#else
#define OUT_OF_LINE
#endif

namespace naively {

constexpr uint32_t ZWNJ = 0x200c, ZWJ = 0x200d, SELECTOR = 0xfe0f, SARA_AM = 0xe33, LAO_AM = 0xeb3;

inline bool is_joiner(uint32_t c) { return c == ZWJ || c == ZWNJ; }
inline bool is_selector(uint32_t c) { return (c >= 0xfe00 && c <= 0xfe0f) || (c >= 0xe0100 && c <= 0xe01ef); }
inline bool is_regional(uint32_t c) { return c >= 0x1f1e6 && c <= 0x1f1ff; }  // two of these are a flag
inline bool is_skin_tone(uint32_t c) { return c >= 0x1f3fb && c <= 0x1f3ff; }
inline bool is_tag(uint32_t c) { return c >= 0xe0020 && c <= 0xe007f; }
inline bool is_stacker(uint32_t c) { return c == 0x1039 || c == 0x17d2 || c == 0x1a60; }  // Burmese, Khmer, Tai Tham

// Whether an emoji begins here: by the table, or because a selector follows. Two arrows are parts of joined emoji, such
// as a shaken head.
inline bool is_emoji(const uint8_t* p, const uint8_t* end, bool joined) {
    constexpr uint32_t INFORMATION = 0x2139, SIDEWAYS = 0x2194, UPRIGHT = 0x2195;  // the first is a letter
    constexpr uint32_t LAST = 0x3299;  // of those that are emoji only if a selector says so
    if (*p < 0x80) return false;
    uint32_t c = read(p);
    uint8_t is = character_table()[c].is;
    if (is & EMOJI) return true;
    if (c > LAST || is_joiner(c) || is & (MARK | SPACE | CJK | CLUSTER) || (is & WORD && c != INFORMATION))
        return false;
    const uint8_t* behind = p + length_at(p);
    bool chosen = behind != end && *behind >= 0x80 && read(behind) == SELECTOR;
    return chosen || (joined && (c == SIDEWAYS || c == UPRIGHT));
}

// Whether the digit, # or * here is drawn as a keycap.
inline bool keycap_at(const uint8_t* p, const uint8_t* end) {
    static constexpr char WITH[] = "\xef\xb8\x8f\xe2\x83\xa3";
    size_t left = size_t(end - ++p);
    return (left >= 3 && !std::memcmp(p, WITH + 3, 3)) || (left >= 6 && !std::memcmp(p, WITH, 6));
}

}  // namespace naively
