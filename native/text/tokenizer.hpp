// From a text to its tokens: words and emoji, characters of scripts without spaces and pairs of them, or characters in
// a row.
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

// Finds the tokens of one text after another and hands them to sink(Found). What was handed over stays where it is
// until sink.done(), after which nothing is asked of it, or until the next text.
template <class Sink>
class Scanner {
  public:
    Scanner(const Manner& manner, Sink& sink)
        : manner_(manner),
          sink_(sink),
          marks_(manner.marks || manner.unicode),
          unspaced_(manner.pairs ? uint8_t(manner.unicode ? CJK | CLUSTER : CJK) : uint8_t(0)) {
        for (uint32_t c = 0; c < 128; ++c) {
            const Letter& letter = letters_[c];
            ascii_[c] = letter.is & WORD ? uint8_t(manner.lower ? int32_t(c) + letter.lower : int32_t(c)) : 0;
            ascii_[c + 128] = BEYOND;
        }
        recent_.resize(std::bit_ceil(size_t{manner.most} + 1));
    }

    // The text must be valid UTF-8, and no longer than 2 GiB.
    void scan(std::string_view text) {
        if (room_.size() < 2 * text.size() + 64) room_.resize(2 * text.size() + 64);  // small letters may be longer
        begin_ = at_ = reinterpret_cast<const uint8_t*>(text.data());
        end_ = at_ + text.size();
        to_ = room_.data();
        apart_ = true;
        if (manner_.unit == Unit::words)
            words();
        else if (manner_.unit == Unit::characters)
            characters();
        else
            inside();
    }

  private:
    static constexpr uint8_t BEYOND = 0x80;
    static constexpr size_t KEYCAP = SIZE_MAX / 2 + 1;  // added to the characters of a word that a key follows

    void words() {
        while (at_ != end_) {
            uint8_t c = ascii_[*at_];
            if (!c) {
                ++at_;
                continue;
            }
            if (sink_.done()) to_ = room_.data();
            if (c != BEYOND || !no_word()) word();
        }
    }

    // Takes what is not ASCII and begins no word: a run of a script without spaces, or an emoji. Tells whether it was
    // there.
    bool no_word() {
        uint32_t c = read(at_);
        uint8_t is = letters_[c].is;
        if (is & unspaced_) return unspaced(), true;
        return manner_.unicode && picture(c, is);
    }

    // One word, up to what is no part of it; or one character that no word begins with.
    void word() {
        char* start = to_;
        const uint8_t* from = at_;
        size_t characters = 0;
        do characters += plain();
        while (at_ != end_ && *at_ >= 0x80 && letter(characters));
        if (characters < 2)
            to_ = start;
        else if (characters < KEYCAP)
            hand_over_word(start, from);
        else
            before_keycap(start, from, characters - KEYCAP);
    }

    void hand_over_word(const char* start, const uint8_t* from) {
        sink_(Found{start, uint32_t(to_ - start), uint32_t(from - begin_), uint32_t(at_ - begin_),
                    apart_ ? Sort::first_word : Sort::word});
        apart_ = false;
    }

    // Takes letters, digits and underscores of ASCII into a word, as many as follow each other; returns how many. What
    // is counted up stands in registers: a byte written through a char* might otherwise be any member.
    size_t plain() {
        const uint8_t *at = at_, *end = end_;
        char* to = to_;
#if defined(__SSE2__)
        while (end - at >= 16) {  // the room has space for what is written too much
            size_t n = plain_of_16(at, to, manner_.lower);
            at += n, to += n;
            if (n < 16) {
                end = at;
                break;
            }
        }
#endif
        for (uint8_t c; at != end && uint8_t((c = ascii_[*at]) - 1) < BEYOND - 1; ++at) *to++ = char(c);
        size_t taken = size_t(at - at_);
        at_ = at, to_ = to;
        return taken;
    }

    // Takes a letter beyond ASCII into a word; tells whether the word may go on.
    bool letter(size_t& characters) {
        uint32_t c = read(at_);
        const Letter& letter = letters_[c];
        if (manner_.unicode && characters && !(letter.is & WORD)) return extends(c, letter.is, characters);
        bool inside = letter.is & WORD ? !(letter.is & unspaced_) : marks_ && letter.is & MARK && characters;
        if (inside || !characters) {
            size_t size = length_at(at_);
            if (!inside) return at_ += size, false;
            uint32_t small = lowered(c, letter);
            at_ += size;
            to_ = write(small, to_);
            ++characters;
            if (c == DOTTED && manner_.lower) {  // the dot is a mark of its own, and ends the word like any other
                if (!marks_) return false;
                to_ = write(DOT, to_);
                ++characters;
            }
        }
        return inside;
    }

    // Takes what is no letter but belongs to the word before it: marks, and joiners between letters. Tells whether it
    // did.
    RARELY bool extends(uint32_t c, uint8_t is, size_t& characters) {
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
        uint8_t is = letters_[c].is;
        bool belongs = is & MARK || (is & WORD && bool(is & unspaced_) == in_run);
        return belongs ? size_t(p - at_) : 0;
    }

    // A run of characters of scripts without spaces: each of them with its marks, and each pair of neighbours.
    void unspaced() {
        const char* before = nullptr;
        const uint8_t* from_before = nullptr;
        do {
            const char* start = to_;
            const uint8_t* from = at_;
            copy();
            if (marks_) attached();
            hand_over(start, from);
            if (before) hand_over(before, from_before);
            before = start, from_before = from;
        } while (at_ != end_ && *at_ >= 0x80 && letters_[read(at_)].is & unspaced_);
        apart_ = true;
    }

    // Takes what is written with the character before it: marks, the vowel am, and what stands below a sign that
    // stacks.
    void attached() {
        bool stacks = false;
        while (at_ != end_ && *at_ >= 0x80) {
            uint32_t c = read(at_);
            uint8_t is = letters_[c].is;
            if (is & CJK) return;
            if (is & MARK) {
                stacks = is_stacker(c);
                if (manner_.unicode && is_selector(c))
                    at_ += length_at(at_);
                else
                    copy();
            } else if (is & unspaced_ && (stacks || c == SARA_AM || c == LAO_AM)) {
                stacks = false;
                copy();
            } else if (size_t size = manner_.unicode ? joiners(c, true) : 0) {
                copy(size);
            } else {
                return;
            }
        }
    }

    // An emoji is one token, whatever it is made of: skin tones, parts that are joined, the two letters of a flag. What
    // only chooses how it is drawn is left out. Tells whether there was one, or half a flag, which is passed over.
    RARELY bool picture(uint32_t c, uint8_t is) {
        if (is_regional(c)) return flag(), true;
        if (is & MARK) {
            if (at_ == begin_ || (at_[-1] != '#' && at_[-1] != '*') || !keycap_at(at_ - 1, end_)) return false;
            --at_;
            return keycap(), true;
        }
        if (!is_picture(at_, end_, false)) return false;
        char* start = to_;
        const uint8_t* from = at_;
        at_ += length_at(at_);
        to_ = write(manner_.lower ? uint32_t(int32_t(c) + letters_[c].lower) : c, to_);  // Ⓜ has a small letter
        modifiers();
        while (end_ - at_ > 3 && read(at_) == ZWJ && is_picture(at_ + 3, end_, true)) {
            copy(), copy();
            modifiers();
        }
        hand_over_word(start, from);
        return true;
    }

    void modifiers() {
        while (at_ != end_ && *at_ >= 0x80) {
            uint32_t c = read(at_);
            if (is_selector(c))
                at_ += length_at(at_);
            else if (letters_[c].is & MARK || is_tone(c) || is_tag(c))
                copy();
            else
                return;
        }
    }

    void flag() {
        char* start = to_;
        const uint8_t* from = at_;
        copy();
        if (at_ == end_ || *at_ < 0x80 || !is_regional(read(at_))) {
            to_ = start;
            return;
        }
        copy();
        hand_over_word(start, from);
    }

    // A word whose last digit is drawn as a key, and that key.
    RARELY void before_keycap(char* start, const uint8_t* from, size_t characters) {
        if (characters < 2)
            to_ = start;
        else
            hand_over_word(start, from);
        keycap();
    }

    void keycap() {
        char* start = to_;
        const uint8_t* from = at_;
        copy();
        modifiers();
        hand_over_word(start, from);
    }

    void copy() { copy(length_at(at_)); }

    void copy(size_t size) {
        std::memcpy(to_, at_, size);
        to_ += size, at_ += size;
    }

    void hand_over(const char* start, const uint8_t* from) {
        sink_(Found{start, uint32_t(to_ - start), uint32_t(from - begin_), uint32_t(at_ - begin_), Sort::whole});
    }

    uint32_t lowered(uint32_t c, const Letter& letter) const {
        if (!manner_.lower) return c;
        if (c == DOTTED) return 'i';
        if (c == SIGMA && ends_word(begin_, at_, end_)) return FINAL_SIGMA;
        return uint32_t(int32_t(c) + letter.lower);
    }

    // All characters in a row; several spaces count as one.
    void characters() {
        count_ = 0;
        while (at_ != end_) {
            if (letters_[read(at_)].is & SPACE) {
                const uint8_t* from = at_;
                size_t spaces = 0;
                for (; at_ != end_ && letters_[read(at_)].is & SPACE; at_ += length_at(at_)) ++spaces;
                take(spaces > 1 ? ' ' : read(from), from, at_);
            } else {
                small_letters([&](uint32_t c, const uint8_t* from, const uint8_t* to) { take(c, from, to); });
            }
        }
    }

    // Hands the character that comes next to take(character, begin, end), in small letters: two of them for an I with a
    // dot.
    template <class Take>
    void small_letters(Take&& take) {
        const uint8_t* from = at_;
        uint32_t c = read(at_), small = lowered(c, letters_[c]);
        at_ += length_at(at_);
        take(small, from, at_);
        if (c == DOTTED && manner_.lower) take(DOT, from, at_);
    }

    // Adds a character, and hands over all rows of characters that end with it.
    void take(uint32_t c, const uint8_t* from, const uint8_t* to) {
        size_t mask = recent_.size() - 1;
        recent_[count_++ & mask] = {to_, from};
        to_ = write(c, to_);
        for (size_t n = manner_.least; n <= std::min<size_t>(manner_.most, count_); ++n) {
            const Start& start = recent_[(count_ - n) & mask];
            sink_(Found{start.text, uint32_t(to_ - start.text), uint32_t(start.from - begin_), uint32_t(to - begin_),
                        Sort::whole});
        }
    }

    // Characters within words, which are what stands between spaces; a space is put before and behind each.
    void inside() {
        while (at_ != end_) {
            if (letters_[read(at_)].is & SPACE) {
                at_ += length_at(at_);
                continue;
            }
            if (sink_.done()) to_ = room_.data();
            starts_.clear();
            auto add = [&](uint32_t c, const uint8_t* from, const uint8_t*) {
                starts_.push_back({to_, from});
                to_ = write(c, to_);
            };
            // The first and the last letter include the space beside them.
            add(' ', at_, at_);
            while (at_ != end_ && !(letters_[read(at_)].is & SPACE)) small_letters(add);
            add(' ', at_, at_);
            hand_over_rows();
        }
    }

    // A word that is no longer than a row of characters counts once.
    void hand_over_rows() {
        size_t size = starts_.size();
        starts_.push_back({to_, at_});
        for (size_t n = manner_.least; n <= manner_.most; ++n) {
            size_t last = n < size ? size - n : 0;
            for (size_t i = 0; i <= last; ++i) {
                const Start &start = starts_[i], &stop = starts_[std::min(i + n, size)];
                sink_(Found{start.text, uint32_t(stop.text - start.text), uint32_t(start.from - begin_),
                            uint32_t(stop.from - begin_), Sort::whole});
            }
            if (n >= size) break;
        }
    }

    static constexpr uint32_t DOTTED = 0x130, DOT = 0x307, SIGMA = 0x3a3, FINAL_SIGMA = 0x3c2;
    struct Start {
        const char* text;
        const uint8_t* from;
    };

    const Manner manner_;
    Sink& sink_;
    const Letters& letters_ = letters();
    uint8_t ascii_[256];      // the small letter, 0 for what is no part of a word, BEYOND for what is not ASCII
    std::vector<char> room_;  // the text in small letters
    std::vector<Start> recent_, starts_;
    size_t count_ = 0;
    const uint8_t *begin_ = nullptr, *at_ = nullptr, *end_ = nullptr;
    char* to_ = nullptr;
    bool apart_ = true;  // something lies between the last word and the next one
    const bool marks_;
    const uint8_t unspaced_;  // what is read as characters and pairs of them, not as words
};

}  // namespace naively
