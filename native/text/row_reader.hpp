// From tokens to numbers: by a vocabulary, or by a hash of fixed width.
#pragma once

#include <string>

#include "text/token_counts.hpp"
#include "text/tokenizer.hpp"
#include "text/vocabulary.hpp"

namespace naively {

// How texts are read, and the number of columns of the hash; 0 for a vocabulary instead.
struct ReaderSettings {
    TokenizerOptions tokenizer;
    uint32_t hash_width = 0;
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

// Reads one text after another. It reads a vocabulary that all readers share and that does not change meanwhile; what
// is not in there goes into a new one of its own, if there is one, whose numbers follow the shared ones.
class RowReader {
  public:
    RowReader(const ReaderSettings& settings, const Vocabulary& known, Vocabulary* fresh)
        : settings_(settings), known_(known), fresh_(fresh), tokenizer_(settings.tokenizer, *this) {}

    // Appends the numbers of a text to the entries, each once, and returns how many tokens had no number.
    size_t row(std::string_view text, std::vector<TokenCount>& entries) {
        // Most words of a text repeat, most n-grams of characters do not.
        size_t in_a_row = settings_.tokenizer.max_n - settings_.tokenizer.min_n + 1;
        begin(entries,
              settings_.tokenizer.unit == Unit::words ? text.size() / 8 * in_a_row : text.size() / 2 * in_a_row);
        tokenizer_.scan(text);
        flush();
        return unknown_;
    }

    // The same for tokens of another tokenizer.
    template <class Tokens>
    size_t row_of(const Tokens& tokens, std::vector<TokenCount>& entries) {
        begin(entries, 0);
        for (std::string_view token : tokens) add_token(token);
        flush();
        return unknown_;
    }

    // The tokens of one text that have a number, in the order of their ends.
    std::vector<Span> spans(std::string_view text) {
        std::vector<Span> found;
        std::vector<TokenCount> entries;
        spans_ = &found;
        row(text, entries);
        spans_ = nullptr;
        return found;
    }

    // Called by the tokenizer.
    void operator()(const FoundToken& found) {
        Token& token = batch_[size_++];
        token.begin = found.begin, token.end = found.end, token.kind = found.kind;
        token.text = found.text, token.size = found.size;
        if (!settings_.hash_width) {
            token.key = key_of(found.text, found.size);
            fetch(token.hash = hash_of(token.key));
        }
        if (size_ == BATCH) flush();
    }

    // Whether the texts of all tokens so far are no longer needed.
    bool done() {
        if (size_ > BATCH / 2) flush();
        return size_ == 0;
    }

  private:
    static constexpr size_t BATCH = 256;
    static constexpr uint64_t UNKNOWN = ~uint64_t{0}, STOP_WORD = UNKNOWN - 1;
    struct Token {
        Key key;
        uint64_t hash;
        const char* text;
        uint32_t size, begin, end;
        TokenKind kind;
    };
    // A word among its neighbors: its number or hash, and that of the longest sequence so far that ends with it.
    struct Word {
        uint64_t value, sequence;
        uint32_t begin, end;
        bool first;
    };

    void begin(std::vector<TokenCount>& entries, size_t expected) {
        counter_.begin(entries, expected);
        unknown_ = 0;
        first_is_due_ = false;
        words_.clear();
        window_.clear();
    }

    void flush() {
        size_t carried = words_.size();
        if (!settings_.hash_width)
            for (size_t i = 0; i < size_; ++i) fetch_key(batch_[i].hash);
        for (size_t i = 0; i < size_; ++i) {
            const Token& token = batch_[i];
            bool word = token.kind != TokenKind::whole;
            bool counted = !word || settings_.tokenizer.min_n == 1;
            uint64_t value = value_of(token, counted);
            bool first = token.kind == TokenKind::first_word || first_is_due_;
            first_is_due_ = value == STOP_WORD && word && first;  // then the next word is the first one
            if (value == STOP_WORD) continue;
            if (counted) count(value, token.begin, token.end);
            if (word && settings_.tokenizer.max_n > 1) words_.push_back({value, value, token.begin, token.end, first});
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
        if (!settings_.hash_width) return found(token.key, token.hash, text, counted);
        return known_.stops() && is_stop_word(text) ? STOP_WORD : fnv(text);
    }

    uint64_t found(const Key& key, uint64_t hash, std::string_view text, bool counted) {
        int32_t number = known_.find(key, hash, text);
        if (number == Vocabulary::NONE && fresh_) number = fresh_number(fresh_->find_or_add(key, hash, text, counted));
        return number == Vocabulary::NONE      ? UNKNOWN
               : number == Vocabulary::STOPPED ? STOP_WORD
                                               : uint64_t(uint32_t(number));
    }

    bool is_stop_word(std::string_view text) const {
        std::string padded(text);
        padded.resize(text.size() + 16);
        Key key = key_of(padded.data(), text.size());
        return known_.find(key, hash_of(key), text) == Vocabulary::STOPPED;
    }

    int32_t fresh_number(int32_t number) const {
        return number + int32_t(number < Vocabulary::HIDDEN ? known_.size() : known_.hidden());
    }

    void count(uint64_t value, uint32_t begin, uint32_t end) {
        if (value == UNKNOWN && !settings_.hash_width) return void(++unknown_);
        if (value >= uint64_t(Vocabulary::HIDDEN) && !settings_.hash_width) return;
        int32_t number = settings_.hash_width ? column_of(value, settings_.hash_width) : int32_t(value);
        counter_.add(number);
        if (spans_) spans_->push_back({number, begin, end});
    }

    // All sequences that end with a word that is not carried over from the last batch.
    void sequences(size_t carried) {
        size_t most = settings_.tokenizer.max_n;
        for (auto& word : words_) word.sequence = word.value;
        std::vector<uint64_t>& hashes = hashes_;
        hashes.resize(words_.size());
        for (size_t n = 2; n <= most; ++n) {
            for (size_t i = 0; i < words_.size(); ++i) hashes[i] = sequence_hash(i);
            if (!settings_.hash_width)
                for (uint64_t hash : hashes) fetch_key(hash);
            for (size_t i = 0, rest = UNKNOWN; i < words_.size(); ++i) {
                size_t shorter = words_[i].sequence;
                words_[i].sequence =
                    words_[i].first ? UNKNOWN
                                    : sequence_value(rest, words_[i].value, hashes[i], n >= settings_.tokenizer.min_n);
                rest = shorter;
                if (i >= carried && n >= settings_.tokenizer.min_n && !words_[i].first && i + 1 >= n &&
                    words_[i].sequence != UNKNOWN)
                    count(words_[i].sequence, words_[i + 1 - n].begin, words_[i].end);
            }
        }
        size_t kept = std::min(words_.size(), most - 1);
        words_.erase(words_.begin(), words_.end() - ptrdiff_t(kept));
    }

    [[gnu::always_inline]] uint64_t sequence_hash(size_t i) const {
        if (settings_.hash_width || !i || words_[i].first || words_[i].value == UNKNOWN ||
            words_[i - 1].sequence == UNKNOWN)
            return 0;
        uint64_t hash = hash_of(key_of_sequence(int32_t(words_[i - 1].sequence), int32_t(words_[i].value)));
        fetch(hash);
        return hash;
    }

    uint64_t sequence_value(uint64_t rest, uint64_t last, uint64_t hash, bool counted) {
        if (rest == UNKNOWN || last == UNKNOWN) return UNKNOWN;
        if (settings_.hash_width) return rest * FNV_PRIME ^ last;
        return found(key_of_sequence(int32_t(rest), int32_t(last)), hash, {}, counted);
    }

    // A token of another tokenizer may hold anything, spaces too, so sequences of such tokens are identified by their
    // texts.
    void add_token(std::string_view token) {
        if (known_.stops() && is_stop_word(token)) return;
        window_.emplace_back(token);
        if (window_.size() > settings_.tokenizer.max_n) window_.erase(window_.begin());
        std::string& text = joined_text_;
        for (size_t n = settings_.tokenizer.min_n; n <= window_.size(); ++n) {
            text.clear();
            for (size_t i = window_.size() - n; i < window_.size(); ++i)
                text.append(i + n > window_.size() ? " " : "").append(window_[i]);
            count(value_of_text(n), 0, 0);
        }
    }

    uint64_t value_of_text(size_t words) {
        if (settings_.hash_width) {
            uint64_t hash = fnv(window_[window_.size() - words]);
            for (size_t i = window_.size() - words + 1; i < window_.size(); ++i)
                hash = hash * FNV_PRIME ^ fnv(window_[i]);
            return hash;
        }
        size_t size = joined_text_.size();
        joined_text_.resize(size + 16);
        Key key = key_of(joined_text_.data(), size);
        return found(key, hash_of(key), {joined_text_.data(), size}, true);
    }

    const ReaderSettings settings_;
    const Vocabulary& known_;
    Vocabulary* fresh_;
    Tokenizer<RowReader> tokenizer_;
    TokenCounter counter_;
    std::vector<Token> batch_ = std::vector<Token>(BATCH);
    std::vector<Word> words_;
    std::vector<uint64_t> hashes_;
    std::vector<std::string> window_;
    std::string joined_text_;
    std::vector<Span>* spans_ = nullptr;
    size_t size_ = 0, unknown_ = 0;
    bool first_is_due_ = false;
};

}  // namespace naively
