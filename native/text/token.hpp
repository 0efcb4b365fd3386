// What a token is, and how texts are cut into tokens.
#pragma once

#include <cstdint>

namespace naively {

// `inside_words`: n-grams of characters that do not cross the end of a word.
enum class Unit { words, characters, inside_words };

// How a text becomes tokens. N-grams have `min_n` to `max_n` words or characters. `unicode`: marks and joiners belong
// to their word, as in UAX #29, emoji are tokens, and scripts of South East Asia are read as CJK is.
struct TokenizerOptions {
    Unit unit = Unit::words;
    bool lower = true, marks = false, pairs = true;
    uint32_t min_n = 1, max_n = 1;
    bool unicode = false;
};

// A token as it was found. A word forms n-grams with the words before it, unless it is the first after something else.
enum class TokenKind : uint32_t { whole, word, first_word };
struct FoundToken {
    const char* text;           // in lowercase; 16 bytes after it may be read
    uint32_t size, begin, end;  // bytes of the token; where it lies in the text it was read from
    TokenKind kind;
};

}  // namespace naively
