// From a text to its tokens: words and emoji, characters of scripts without spaces and pairs of them, or n-grams
// of characters.
#pragma once

#include <algorithm>
#include <bit>
#include <string_view>
#include <vector>

#include "text/ascii_words.hpp"
#include "text/token.hpp"
#include "unicode/emoji.hpp"
#include "unicode/utf8.hpp"

namespace naively {

// Finds the tokens of one text after another and passes them to sink(FoundToken). Their texts stay valid until
// sink.done(), or until the next text.
template <class Sink>
class Tokenizer {
  public:
    Tokenizer(const TokenizerOptions& options, Sink& sink)
        : options_(options),
          sink_(sink),
          marks_(options.marks || options.unicode),
          unspaced_(options.pairs ? uint8_t(options.unicode ? CJK | CLUSTER : CJK) : uint8_t(0)) {
        for (uint32_t c = 0; c < 128; ++c) {
            const CharacterKind& letter = characters_[c];
            ascii_[c] = letter.is & WORD ? uint8_t(options.lower ? int32_t(c) + letter.lower : int32_t(c)) : 0;
            ascii_[c + 128] = BEYOND;
        }
        recent_.resize(std::bit_ceil(size_t{options.max_n} + 1));
    }

    // The text must be valid UTF-8, and no longer than 2 GiB.
    void scan(std::string_view text) {
        if (buffer_.size() < 2 * text.size() + 64) buffer_.resize(2 * text.size() + 64);  // lowercase may be longer
        begin_ = at_ = as_bytes(text);
        end_ = at_ + text.size();
        to_ = buffer_.data();
        separated_ = true;
        if (options_.unit == Unit::words)
            scan_words();
        else if (options_.unit == Unit::characters)
            scan_characters();
        else
            scan_inside_words();
    }

  private:
    static constexpr uint8_t BEYOND = 0x80;
    static constexpr size_t KEYCAP = SIZE_MAX / 2 + 1;  // added to the characters of a word before a keycap

    void scan_words() {
        while (at_ != end_) {
            uint8_t c = ascii_[*at_];
            if (!c) {
                ++at_;
                continue;
            }
            if (sink_.done()) to_ = buffer_.data();
            if (c != BEYOND || !take_unspaced_or_emoji()) take_word();
        }
    }

    // Takes what is not ASCII and begins no word: a run of a script without spaces, or an emoji. Returns whether there
    // was one.
    bool take_unspaced_or_emoji() {
        uint32_t c = read(at_);
        uint8_t is = characters_[c].is;
        if (is & unspaced_) return take_unspaced(), true;
        return options_.unicode && take_emoji(c, is);
    }

    // One word; or one character that no word begins with, which is skipped.
    void take_word() {
        char* start = to_;
        const uint8_t* from = at_;
        size_t characters = 0;
        do characters += take_ascii();
        while (at_ != end_ && *at_ >= 0x80 && take_letter(characters));
        if (characters < 2)
            to_ = start;
        else if (characters < KEYCAP)
            emit_word(start, from);
        else
            take_word_before_keycap(start, from, characters - KEYCAP);
    }

    void emit_word(const char* start, const uint8_t* from) {
        sink_(FoundToken{start, uint32_t(to_ - start), uint32_t(from - begin_), uint32_t(at_ - begin_),
                         separated_ ? TokenKind::first_word : TokenKind::word});
        separated_ = false;
    }

    // Takes letters, digits and underscores of ASCII into a word, as many as follow each other; returns how many. Local
    // copies stay in registers: a byte written through a char* might otherwise change any member.
    size_t take_ascii() {
        const uint8_t *at = at_, *end = end_;
        char* to = to_;
#if defined(__SSE2__)
        while (end - at >= 16) {  // the buffer has space for what is written in excess
            size_t n = lowercase_16(at, to, options_.lower);
            at += n, to += n;
            if (n < 16) {
                end = at;
                break;
            }
        }
#endif
        for (uint8_t c = 0; at != end && uint8_t((c = ascii_[*at]) - 1) < BEYOND - 1; ++at) *to++ = char(c);
        size_t taken = size_t(at - at_);
        at_ = at, to_ = to;
        return taken;
    }

    // Takes a letter beyond ASCII into a word; returns whether the word may go on.
    bool take_letter(size_t& characters) {
        uint32_t c = read(at_);
        const CharacterKind& letter = characters_[c];
        if (options_.unicode && characters && !(letter.is & WORD)) return extends(c, letter.is, characters);
        bool inside = letter.is & WORD ? !(letter.is & unspaced_) : marks_ && letter.is & MARK && characters;
        if (inside || !characters) {
            size_t size = length_at(at_);
            if (!inside) return at_ += size, false;
            uint32_t small = lowered(c, letter);
            at_ += size;
            to_ = write(small, to_);
            ++characters;
            if (c == DOTTED && options_.lower) {  // the dot is a mark of its own, and ends the word like any other
                if (!marks_) return false;
                to_ = write(DOT, to_);
                ++characters;
            }
        }
        return inside;
    }

    // Takes what is no letter but belongs to the word before it: marks, and joiners between letters. Returns whether
    // there was one.
    OUT_OF_LINE bool extends(uint32_t c, uint8_t is, size_t& characters) {
        if (size_t size = joiners(c, false)) return copy(size), true;
        if (!(is & MARK)) return false;
        if (uint8_t(at_[-1] - '0') < 10 &&
            keycap_at(at_ - 1, end_)) {  // the digit before it is no longer part of the word
            --at_, --to_;
            characters += KEYCAP - 1;
            return false;
        }
        if (is_selector(c))
            at_ += length_at(at_);
        else
            copy(), ++characters;
        return true;
    }

    // The bytes of the joiners here, if they have a mark behind them or a letter of the same kind: of a run without
    // spaces, or of a word.
    size_t joiners(uint32_t c, bool in_run) const {
        if (!is_joiner(c)) return 0;
        const uint8_t* p = at_;
        for (; p != end_ && is_joiner(c = read(p)); p += length_at(p)) {
        }
        if (p == end_) return 0;
        uint8_t is = characters_[c].is;
        bool belongs = is & MARK || (is & WORD && bool(is & unspaced_) == in_run);
        return belongs ? size_t(p - at_) : 0;
    }

    // A run of characters of scripts without spaces: each of them with its marks, and each pair of neighbors.
    void take_unspaced() {
        const char* before = nullptr;
        const uint8_t* from_before = nullptr;
        do {
            const char* start = to_;
            const uint8_t* from = at_;
            copy();
            if (marks_) take_attached();
            emit(start, from);
            if (before) emit(before, from_before);
            before = start, from_before = from;
        } while (at_ != end_ && *at_ >= 0x80 && characters_[read(at_)].is & unspaced_);
        separated_ = true;
    }

    // Takes what is written with the character before it: marks, the vowel am, and what stands below a stacking
    // sign.
    void take_attached() {
        bool stacks = false;
        while (at_ != end_ && *at_ >= 0x80) {
            uint32_t c = read(at_);
            uint8_t is = characters_[c].is;
            if (is & CJK) return;
            if (is & MARK) {
                stacks = is_stacker(c);
                if (options_.unicode && is_selector(c))
                    at_ += length_at(at_);
                else
                    copy();
            } else if (is & unspaced_ && (stacks || c == SARA_AM || c == LAO_AM)) {
                stacks = false;
                copy();
            } else if (size_t size = options_.unicode ? joiners(c, true) : 0) {
                copy(size);
            } else {
                return;
            }
        }
    }

    // An emoji is one token, whatever it is made of: skin tones, parts that are joined, the two letters of a flag.
    // Variation selectors are dropped. Returns whether there was one, or half a flag, which is skipped.
    OUT_OF_LINE bool take_emoji(uint32_t c, uint8_t is) {
        if (is_regional(c)) return take_flag(), true;
        if (is & MARK) {
            if (at_ == begin_ || (at_[-1] != '#' && at_[-1] != '*') || !keycap_at(at_ - 1, end_)) return false;
            --at_;
            return take_keycap(), true;
        }
        if (!is_emoji(at_, end_, false)) return false;
        char* start = to_;
        const uint8_t* from = at_;
        at_ += length_at(at_);
        to_ = write(options_.lower ? uint32_t(int32_t(c) + characters_[c].lower) : c, to_);  // Ⓜ has a lowercase letter
        take_modifiers();
        while (end_ - at_ > 3 && read(at_) == ZWJ && is_emoji(at_ + 3, end_, true)) {
            copy(), copy();
            take_modifiers();
        }
        emit_word(start, from);
        return true;
    }

    void take_modifiers() {
        while (at_ != end_ && *at_ >= 0x80) {
            uint32_t c = read(at_);
            if (is_selector(c))
                at_ += length_at(at_);
            else if (characters_[c].is & MARK || is_skin_tone(c) || is_tag(c))
                copy();
            else
                return;
        }
    }

    void take_flag() {
        char* start = to_;
        const uint8_t* from = at_;
        copy();
        if (at_ == end_ || *at_ < 0x80 || !is_regional(read(at_))) {
            to_ = start;
            return;
        }
        copy();
        emit_word(start, from);
    }

    // A word whose last digit is a keycap, and that keycap.
    OUT_OF_LINE void take_word_before_keycap(char* start, const uint8_t* from, size_t characters) {
        if (characters < 2)
            to_ = start;
        else
            emit_word(start, from);
        take_keycap();
    }

    void take_keycap() {
        char* start = to_;
        const uint8_t* from = at_;
        copy();
        take_modifiers();
        emit_word(start, from);
    }

    void copy() { copy(length_at(at_)); }

    void copy(size_t size) {
        std::memcpy(to_, at_, size);
        to_ += size, at_ += size;
    }

    void emit(const char* start, const uint8_t* from) {
        sink_(FoundToken{start, uint32_t(to_ - start), uint32_t(from - begin_), uint32_t(at_ - begin_),
                         TokenKind::whole});
    }

    uint32_t lowered(uint32_t c, const CharacterKind& letter) const {
        if (!options_.lower) return c;
        if (c == DOTTED) return 'i';
        if (c == SIGMA && ends_word(begin_, at_, end_)) return FINAL_SIGMA;
        return uint32_t(int32_t(c) + letter.lower);
    }

    // N-grams of all characters; several spaces count as one.
    void scan_characters() {
        count_ = 0;
        while (at_ != end_) {
            if (characters_[read(at_)].is & SPACE) {
                const uint8_t* from = at_;
                size_t spaces = 0;
                for (; at_ != end_ && characters_[read(at_)].is & SPACE; at_ += length_at(at_)) ++spaces;
                take(spaces > 1 ? ' ' : read(from), from, at_);
            } else {
                take_lowercase([&](uint32_t c, const uint8_t* from, const uint8_t* to) { take(c, from, to); });
            }
        }
    }

    // Passes the next character to take(character, begin, end), in lowercase: two characters for an I with a dot.
    template <class Take>
    void take_lowercase(Take&& take) {
        const uint8_t* from = at_;
        uint32_t c = read(at_), small = lowered(c, characters_[c]);
        at_ += length_at(at_);
        take(small, from, at_);
        if (c == DOTTED && options_.lower) take(DOT, from, at_);
    }

    // Adds a character, and emits all n-grams that end with it.
    void take(uint32_t c, const uint8_t* from, const uint8_t* to) {
        size_t mask = recent_.size() - 1;
        recent_[count_++ & mask] = {to_, from};
        to_ = write(c, to_);
        for (size_t n = options_.min_n; n <= std::min<size_t>(options_.max_n, count_); ++n) {
            const Start& start = recent_[(count_ - n) & mask];
            sink_(FoundToken{start.text, uint32_t(to_ - start.text), uint32_t(start.from - begin_),
                             uint32_t(to - begin_), TokenKind::whole});
        }
    }

    // N-grams within words, which are separated by spaces; a space is put before and after each.
    void scan_inside_words() {
        while (at_ != end_) {
            if (characters_[read(at_)].is & SPACE) {
                at_ += length_at(at_);
                continue;
            }
            if (sink_.done()) to_ = buffer_.data();
            starts_.clear();
            auto add = [&](uint32_t c, const uint8_t* from, const uint8_t*) {
                starts_.push_back({to_, from});
                to_ = write(c, to_);
            };
            // The first and the last letter include the space beside them.
            add(' ', at_, at_);
            while (at_ != end_ && !(characters_[read(at_)].is & SPACE)) take_lowercase(add);
            add(' ', at_, at_);
            emit_ngrams();
        }
    }

    // A word that is no longer than an n-gram counts once.
    void emit_ngrams() {
        size_t size = starts_.size();
        starts_.push_back({to_, at_});
        for (size_t n = options_.min_n; n <= options_.max_n; ++n) {
            size_t last = n < size ? size - n : 0;
            for (size_t i = 0; i <= last; ++i) {
                const Start &start = starts_[i], &stop = starts_[std::min(i + n, size)];
                sink_(FoundToken{start.text, uint32_t(stop.text - start.text), uint32_t(start.from - begin_),
                                 uint32_t(stop.from - begin_), TokenKind::whole});
            }
            if (n >= size) break;
        }
    }

    static constexpr uint32_t DOTTED = 0x130, DOT = 0x307, SIGMA = 0x3a3, FINAL_SIGMA = 0x3c2;
    struct Start {
        const char* text;
        const uint8_t* from;
    };

    const TokenizerOptions options_;
    Sink& sink_;
    const CharacterTable& characters_ = character_table();
    uint8_t ascii_[256];        // the lowercase letter, 0 for what is no part of a word, BEYOND for what is not ASCII
    std::vector<char> buffer_;  // the text in lowercase
    std::vector<Start> recent_, starts_;
    size_t count_ = 0;
    const uint8_t *begin_ = nullptr, *at_ = nullptr, *end_ = nullptr;
    char* to_ = nullptr;
    bool separated_ = true;  // something lies between the last word and the next one
    const bool marks_;
    const uint8_t unspaced_;  // what is read as characters and pairs of them, not as words
};

}  // namespace naively
