// From tokens to numbers: by a lexicon, or by a hash of fixed width.
#pragma once

#include <string>

#include "text/token_counts.hpp"
#include "text/tokenizer.hpp"
#include "text/vocabulary.hpp"

namespace naively {

// How texts are read, and how many columns a hash may have; 0 for a lexicon instead.
struct Plan {
    Manner manner;
    uint32_t width = 0;
};

// Where a token lies in its text, and its number.
struct Span {
    int32_t number;
    uint32_t begin, end;
};

// The hash of fixed width is FNV-1a (64 bits) of a word's bytes; of a sequence, the hash of all words but the last
// times FNV's prime, xor the hash of the last. The column is the hash xor its upper half, modulo the width.
constexpr uint64_t FNV_START = 0xcbf29ce484222325, FNV_PRIME = 0x100000001b3;

inline uint64_t fnv(std::string_view text) {
    uint64_t hash = FNV_START;
    for (unsigned char c : text) hash = (hash ^ c) * FNV_PRIME;
    return hash;
}

inline int32_t column_of(uint64_t hash, uint32_t width) {
    hash ^= hash >> 32;
    return int32_t(width & (width - 1) ? hash % width
                                       : hash & (width - 1));  // a division takes as long as a short word
}

// Reads one text after another. It looks into a lexicon that is known to all readers and does not change meanwhile;
// what it does not find there goes into a fresh one of its own, whose numbers follow the known ones, if there is one.
class Reader {
  public:
    Reader(const Plan& plan, const Lexicon& known, Lexicon* fresh)
        : plan_(plan), known_(known), fresh_(fresh), scanner_(plan.manner, *this) {}

    // Puts the numbers of a text behind the entries, each once, and returns how many tokens had no number.
    size_t row(std::string_view text, std::vector<Entry>& entries) {
        // Few words of a text are new in it, most rows of characters are.
        size_t in_a_row = plan_.manner.most - plan_.manner.least + 1;
        begin(entries, plan_.manner.unit == Unit::words ? text.size() / 8 * in_a_row : text.size() / 2 * in_a_row);
        scanner_.scan(text);
        flush();
        return unknown_;
    }

    // The same for tokens that were found elsewhere.
    template <class Tokens>
    size_t row_of(const Tokens& tokens, std::vector<Entry>& entries) {
        begin(entries, 0);
        for (std::string_view token : tokens) given(token);
        flush();
        return unknown_;
    }

    // The tokens of one text that have a number, in the order of their ends.
    std::vector<Span> spans(std::string_view text) {
        std::vector<Span> found;
        std::vector<Entry> entries;
        spans_ = &found;
        row(text, entries);
        spans_ = nullptr;
        return found;
    }

    // Called by the scanner.
    void operator()(const Found& found) {
        Token& token = batch_[size_++];
        token.begin = found.begin, token.end = found.end, token.sort = found.sort;
        token.text = found.text, token.size = found.size;
        if (!plan_.width) {
            token.key = key_of(found.text, found.size);
            fetch(token.hash = hash_of(token.key));
        }
        if (size_ == BATCH) flush();
    }

    // Whether nothing is asked of the texts that were handed over.
    bool done() {
        if (size_ > BATCH / 2) flush();
        return size_ == 0;
    }

  private:
    static constexpr size_t BATCH = 256;
    static constexpr uint64_t NOTHING = ~uint64_t{0}, PASSED_OVER = NOTHING - 1;
    struct Token {
        Key key;
        uint64_t hash;
        const char* text;
        uint32_t size, begin, end;
        Sort sort;
    };
    // A word among its neighbours: its number or hash, and that of the longest sequence so far that ends with it.
    struct Word {
        uint64_t value, sequence;
        uint32_t begin, end;
        bool first;
    };

    void begin(std::vector<Entry>& entries, size_t expected) {
        tally_.begin(entries, expected);
        unknown_ = 0;
        first_is_due_ = false;
        words_.clear();
        window_.clear();
    }

    void flush() {
        size_t carried = words_.size();
        if (!plan_.width)
            for (size_t i = 0; i < size_; ++i) fetch_key(batch_[i].hash);
        for (size_t i = 0; i < size_; ++i) {
            const Token& token = batch_[i];
            bool word = token.sort != Sort::whole;
            bool counted = !word || plan_.manner.least == 1;
            uint64_t value = value_of(token, counted);
            bool first = token.sort == Sort::first_word || first_is_due_;
            first_is_due_ = value == PASSED_OVER && word && first;  // then the next word is the first one
            if (value == PASSED_OVER) continue;
            if (counted) count(value, token.begin, token.end);
            if (word && plan_.manner.most > 1) words_.push_back({value, value, token.begin, token.end, first});
        }
        size_ = 0;
        if (words_.size() > carried) sequences(carried);
    }

    [[gnu::always_inline]] void fetch(uint64_t hash) const {
        known_.fetch(hash);
        if (fresh_) fresh_->fetch(hash);
    }

    [[gnu::always_inline]] void fetch_key(uint64_t hash) const {
        known_.fetch_key(hash);
        if (fresh_) fresh_->fetch_key(hash);
    }

    uint64_t value_of(const Token& token, bool counted) {
        std::string_view text{token.text, token.size};
        if (!plan_.width) return found(token.key, token.hash, text, counted);
        return known_.stops() && stopped(text) ? PASSED_OVER : fnv(text);
    }

    uint64_t found(const Key& key, uint64_t hash, std::string_view text, bool counted) {
        int32_t number = known_.find(key, hash, text);
        if (number == Lexicon::NONE && fresh_) number = fresh_number(fresh_->find_or_add(key, hash, text, counted));
        return number == Lexicon::NONE      ? NOTHING
               : number == Lexicon::STOPPED ? PASSED_OVER
                                            : uint64_t(uint32_t(number));
    }

    bool stopped(std::string_view text) const {
        std::string room(text);
        room.resize(text.size() + 16);
        Key key = key_of(room.data(), text.size());
        return known_.find(key, hash_of(key), text) == Lexicon::STOPPED;
    }

    int32_t fresh_number(int32_t number) const {
        return number + int32_t(number < Lexicon::HIDDEN ? known_.size() : known_.hidden());
    }

    void count(uint64_t value, uint32_t begin, uint32_t end) {
        if (value == NOTHING && !plan_.width) return void(++unknown_);
        if (value >= uint64_t(Lexicon::HIDDEN) && !plan_.width) return;
        int32_t number = plan_.width ? column_of(value, plan_.width) : int32_t(value);
        tally_.add(number);
        if (spans_) spans_->push_back({number, begin, end});
    }

    // All sequences that end with a word that is not carried over from the last batch.
    void sequences(size_t carried) {
        size_t most = plan_.manner.most;
        for (auto& word : words_) word.sequence = word.value;
        std::vector<uint64_t>& hashes = hashes_;
        hashes.resize(words_.size());
        for (size_t n = 2; n <= most; ++n) {
            for (size_t i = 0; i < words_.size(); ++i) hashes[i] = prepared(i);
            if (!plan_.width)
                for (uint64_t hash : hashes) fetch_key(hash);
            for (size_t i = 0, rest = NOTHING; i < words_.size(); ++i) {
                size_t shorter = words_[i].sequence;
                words_[i].sequence =
                    words_[i].first ? NOTHING : joined(rest, words_[i].value, hashes[i], n >= plan_.manner.least);
                rest = shorter;
                if (i >= carried && n >= plan_.manner.least && !words_[i].first && i + 1 >= n &&
                    words_[i].sequence != NOTHING)
                    count(words_[i].sequence, words_[i + 1 - n].begin, words_[i].end);
            }
        }
        size_t kept = std::min(words_.size(), most - 1);
        words_.erase(words_.begin(), words_.end() - ptrdiff_t(kept));
    }

    [[gnu::always_inline]] uint64_t prepared(size_t i) const {
        if (plan_.width || !i || words_[i].first || words_[i].value == NOTHING || words_[i - 1].sequence == NOTHING)
            return 0;
        uint64_t hash = hash_of(key_of_sequence(int32_t(words_[i - 1].sequence), int32_t(words_[i].value)));
        fetch(hash);
        return hash;
    }

    uint64_t joined(uint64_t rest, uint64_t last, uint64_t hash, bool counted) {
        if (rest == NOTHING || last == NOTHING) return NOTHING;
        if (plan_.width) return rest * FNV_PRIME ^ last;
        return found(key_of_sequence(int32_t(rest), int32_t(last)), hash, {}, counted);
    }

    // A token found elsewhere may hold anything, spaces too, so sequences of such tokens are told apart by their texts.
    void given(std::string_view token) {
        if (known_.stops() && stopped(token)) return;
        window_.emplace_back(token);
        if (window_.size() > plan_.manner.most) window_.erase(window_.begin());
        std::string& text = joined_;
        for (size_t n = plan_.manner.least; n <= window_.size(); ++n) {
            text.clear();
            for (size_t i = window_.size() - n; i < window_.size(); ++i)
                text.append(i + n > window_.size() ? " " : "").append(window_[i]);
            count(value_of_text(n), 0, 0);
        }
    }

    uint64_t value_of_text(size_t words) {
        if (plan_.width) {
            uint64_t hash = fnv(window_[window_.size() - words]);
            for (size_t i = window_.size() - words + 1; i < window_.size(); ++i)
                hash = hash * FNV_PRIME ^ fnv(window_[i]);
            return hash;
        }
        size_t size = joined_.size();
        joined_.resize(size + 16);
        Key key = key_of(joined_.data(), size);
        return found(key, hash_of(key), {joined_.data(), size}, true);
    }

    const Plan plan_;
    const Lexicon& known_;
    Lexicon* fresh_;
    Scanner<Reader> scanner_;
    Tally tally_;
    std::vector<Token> batch_ = std::vector<Token>(BATCH);
    std::vector<Word> words_;
    std::vector<uint64_t> hashes_;
    std::vector<std::string> window_;
    std::string joined_;
    std::vector<Span>* spans_ = nullptr;
    size_t size_ = 0, unknown_ = 0;
    bool first_is_due_ = false;
};

}  // namespace naively
