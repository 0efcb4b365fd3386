// A number for every word and every sequence of words that was seen.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "common/huge_pages.hpp"
#include "text/hashing.hpp"

namespace naively {

// Sixteen bytes that stand for a text, or for a sequence of words. Texts of up to 15 bytes are their own key: the
// bytes, zeros, and the length in the last byte. Of longer ones it holds a hash, and the index of their bytes once
// they are in the table. A sequence is the number of all words but the last, and that of the last.
struct Key {
    uint64_t low, high;
    bool is_long() const { return high >> 56 == 0xff; }
    bool is_sequence() const { return high >> 56 == 0xfe; }
    int32_t rest() const { return int32_t(low >> 32); }
    int32_t last() const { return int32_t(low); }
};

inline Key key_of_sequence(int32_t rest, int32_t last) {
    return {uint64_t(uint32_t(rest)) << 32 | uint32_t(last), 0xfeull << 56};
}

// The key of a text after which 16 bytes may be read.
inline Key key_of(const char* text, size_t size) {
    static_assert(std::endian::native == std::endian::little, "the masks count bytes from the lowest");
    if (size > 15) {
        uint64_t hash = size, word = 0;
        const char* p = text;
        for (size_t left = size; left > 8; left -= 8, p += 8) std::memcpy(&word, p, 8), hash = mix_bits(hash, word);
        std::memcpy(&word, text + size - 8, 8);
        return {0, 0xffull << 56 | mix_bits(hash, word) >> 8};
    }
    uint64_t words[2];
    std::memcpy(words, text, 16);
    words[0] &= size >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * size) - 1;
    words[1] &= size <= 8 ? 0 : (uint64_t{1} << 8 * (size - 8)) - 1;
    return {words[0], words[1] | uint64_t(size) << 56};
}

inline uint64_t hash_of(const Key& key) { return mix_bits(key.is_long() ? 0 : key.low, key.high); }

// Numbers count up from 0 in the order in which texts and sequences came. Words that only help to find sequences are
// hidden: their numbers begin at HIDDEN. All stop words have the number STOPPED.
class Vocabulary {
  public:
    static constexpr int32_t NONE = -1, HIDDEN = 1 << 30, STOPPED = INT32_MAX, MOST = HIDDEN - 1;

    Vocabulary() : slots_(64) {}

    size_t size() const { return keys_.size(); }
    bool stops() const { return !stopped_.empty(); }
    size_t hidden() const { return hidden_.size(); }
    const Key& key(int32_t number) const { return number < HIDDEN ? keys_[number] : hidden_[number - HIDDEN]; }

    // Prefetches a slot. Always inline: GCC would remove a call that only prefetches, as it has no effect.
    [[gnu::always_inline]] void fetch(uint64_t hash) const { __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]); }

    // Prefetches the key that will be compared, once the slot is in the cache.
    [[gnu::always_inline]] void fetch_key(uint64_t hash) const {
        int32_t number = slots_[hash & (slots_.size() - 1)].number;
        if (uint32_t(number) < keys_.size()) __builtin_prefetch(&keys_[number]);
    }

    // The number of a key, or NONE; the text matters for long keys only.
    int32_t find(const Key& key, uint64_t hash, std::string_view text) const {
        return slots_[slot_index(key, hash, text)].number;
    }

    // The same, but a new key gets the next number.
    int32_t find_or_add(Key key, uint64_t hash, std::string_view text, bool counted) {
        Slot& slot = slots_[slot_index(key, hash, text)];
        return slot.number != NONE
                   ? slot.number
                   : insert(slot, key, hash, text, counted ? int32_t(size()) : HIDDEN + int32_t(hidden()));
    }

    // Reserves the first numbers for keys that will be set; one that is never set is never found.
    void keep_free(size_t numbers) { keys_.assign(numbers, {UNREACHED, 0}); }

    // Gives a reserved number to a key, unless the key has one.
    void set(const Key& key, uint64_t hash, std::string_view text, int32_t number) {
        Slot& slot = slots_[slot_index(key, hash, text)];
        if (slot.number == NONE) insert(slot, key, hash, text, number);
    }

    // Adds a stop word.
    void stop(std::string_view text) {
        std::string padded(text);
        padded.resize(text.size() + 16);
        Key key = key_of(padded.data(), text.size());
        Slot& slot = slots_[slot_index(key, hash_of(key), text)];
        if (slot.number == NONE) insert(slot, key, hash_of(key), text, STOPPED);
    }

    // The text of a number: a word, or the words of a sequence with a space between them.
    void append_name(int32_t number, std::string& to) const {
        const Key& key = this->key(number);
        if (key.is_sequence()) {
            append_name(key.rest(), to);
            to += ' ';
            append_name(key.last(), to);
        } else if (key.is_long()) {
            to += stored(key);
        } else {
            auto bytes = std::bit_cast<std::array<char, sizeof(Key)>>(key);
            to.append(bytes.data(), size_t(key.high >> 56));
        }
    }

    // The text that belongs to a key of the table, if it is a long one.
    std::string_view stored(const Key& key) const {
        return key.is_long() ? std::string_view{bytes_.data() + long_texts_[key.low].start, long_texts_[key.low].size}
                             : std::string_view{};
    }

    size_t memory() const {
        return slots_.capacity() * sizeof(Slot) +
               (keys_.capacity() + hidden_.capacity() + long_texts_.capacity()) * sizeof(Key) + bytes_.capacity();
    }

  private:
    static constexpr uint64_t UNREACHED = 1;  // no text of length 0 has such bytes

    // Small, as it is read first; the key is compared where the mark, a part of the hash, is the same.
    struct Slot {
        uint32_t mark = 0;
        int32_t number = NONE;
    };
    struct StoredText {
        size_t start, size;
    };

    const Key& key_at(const Slot& slot) const {
        return slot.number == STOPPED ? stopped_[slot.mark] : key(slot.number);
    }

    // The slot of a key: its own, or the first empty one that it may take.
    size_t slot_index(const Key& key, uint64_t hash, std::string_view text) const {
        size_t mask = slots_.size() - 1;
        for (size_t at = hash & mask;; at = (at + 1) & mask) {
            const Slot& slot = slots_[at];
            if (slot.number == NONE) return at;
            if (slot.number != STOPPED && slot.mark != uint32_t(hash >> 32)) continue;
            const Key& there = key_at(slot);
            if (there.high == key.high && (key.is_long() ? text == stored(there) : there.low == key.low)) return at;
        }
    }

    int32_t insert(Slot& slot, Key key, uint64_t hash, std::string_view text, int32_t number) {
        if (key.is_long()) {
            key.low = long_texts_.size();
            long_texts_.push_back({bytes_.size(), text.size()});
            bytes_.insert(bytes_.end(), text.begin(), text.end());
        }
        auto& keys = number == STOPPED ? stopped_ : number >= HIDDEN ? hidden_ : keys_;
        slot = {number == STOPPED ? uint32_t(stopped_.size()) : uint32_t(hash >> 32), number};
        if (&keys == &keys_ && size_t(number) < keys_.size())
            keys_[number] = key;
        else
            keys.push_back(key);
        if (2 * ++used_ > slots_.size()) grow();
        return number;
    }

    // Goes through the keys in order: the slots, which are far apart, are only written.
    void grow() {
        slots_.assign(2 * slots_.size(), Slot{});
        auto fill = [&](const HugeVector<Key>& keys, auto&& slot_of) {
            size_t mask = slots_.size() - 1;
            for (size_t i = 0; i < keys.size(); ++i) {
                if (keys[i].high == 0 && keys[i].low == UNREACHED) continue;
                uint64_t hash = hash_of(keys[i]);
                size_t at = hash & mask;
                while (slots_[at].number != NONE) at = (at + 1) & mask;
                slots_[at] = slot_of(hash, i);
            }
        };
        fill(keys_, [](uint64_t hash, size_t i) { return Slot{uint32_t(hash >> 32), int32_t(i)}; });
        fill(hidden_, [](uint64_t hash, size_t i) { return Slot{uint32_t(hash >> 32), HIDDEN + int32_t(i)}; });
        fill(stopped_, [](uint64_t, size_t i) { return Slot{uint32_t(i), STOPPED}; });
    }

    HugeVector<Slot> slots_;
    HugeVector<Key> keys_, hidden_, stopped_;
    std::vector<StoredText> long_texts_;
    std::vector<char> bytes_;
    size_t used_ = 0;
};

}  // namespace naively
