// What a token is, and how texts are cut into tokens.
#pragma once

#include <cstdint>

namespace naively {

enum class Unit { words, characters, inside };  // `inside`: characters in a row that do not cross the end of a word

// How a text becomes tokens. Sequences have `least` to `most` words or characters. `unicode`: marks and joiners belong
// to their word, as in UAX #29, emoji are tokens, and scripts of South East Asia are read as CJK is.
struct Manner {
    Unit unit = Unit::words;
    bool lower = true, marks = false, pairs = true;
    uint32_t least = 1, most = 1;
    bool unicode = false;
};

// A token as it was found. Words stand in a row with their neighbours, unless something lies between them.
enum class Sort : uint32_t { whole, word, first_word };
struct Found {
    const char* text;           // in small letters; 16 bytes behind it may be read
    uint32_t size, begin, end;  // bytes of the token; where it lies in the text it was read from
    Sort sort;
};

}  // namespace naively
