// Texts in, codes out: a dictionary of byte strings that grows, or one that is fixed.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "text/hashing.hpp"

namespace naively {

class Dictionary {
  public:
    Dictionary() : slots_(64) {}

    static constexpr int32_t NONE = INT32_MIN;

    // The code of a text, or NONE.
    int32_t find(std::string_view text, const char* readable_to) const {
        return slots_[slot_index(key_of(text, readable_to), text)].code;
    }

    // Gives a text a code, if it has none yet; returns whether it had none.
    bool add(std::string_view text, int32_t code) {
        Key key = key_of(text, text.data() + text.size());
        size_t at = slot_index(key, text);
        if (slots_[at].code != NONE) return false;
        if (key.is_long()) {
            key.low = long_texts_.size();
            long_texts_.push_back({bytes_.size(), text.size()});
            bytes_.insert(bytes_.end(), text.begin(), text.end());
        }
        slots_[at] = {key, code};
        if (2 * ++size_ > slots_.size()) grow();
        return true;
    }

  private:
    // Texts of up to 15 bytes are their own key: the bytes, zeros, and the length in the last one. Of longer ones the
    // key holds a hash; the index of their bytes is in `low` once they are in the table.
    struct Key {
        uint64_t low, high;
        bool is_long() const { return high >> 56 == 0xff; }
    };
    struct Slot {
        Key key{0, 0};
        int32_t code = NONE;
    };
    struct StoredText {
        size_t start, size;
    };

    static Key key_of(std::string_view text, const char* readable_to) {
        size_t n = text.size();
        if (n > 15) {
            uint64_t hash = n;
            const char* p = text.data();
            for (size_t left = n; left > 8; left -= 8, p += 8) {
                uint64_t word = 0;
                std::memcpy(&word, p, 8);
                hash = mix_bits(hash, word);
            }
            uint64_t last = 0;
            std::memcpy(&last, text.data() + n - 8, 8);
            hash = mix_bits(hash, last);
            return {hash, 0xff00000000000000 | (hash >> 8)};
        }
        uint64_t words[2] = {0, 0};
        if (readable_to - text.data() >= 16) {  // reading beyond the text is allowed, and quicker than byte by byte
            std::memcpy(words, text.data(), 16);
            words[0] &= n >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * n) - 1;
            words[1] &= n <= 8 ? 0 : (uint64_t{1} << 8 * (n - 8)) - 1;
        } else {
            std::memcpy(words, text.data(), n);
        }
        static_assert(std::endian::native == std::endian::little, "the masks above count bytes from the lowest");
        return {words[0], words[1] | uint64_t(n) << 56};
    }

    // The slot of a text: its own, or the first empty one that it may take.
    size_t slot_index(Key key, std::string_view text) const {
        size_t mask = slots_.size() - 1, at = mix_bits(key.is_long() ? 0 : key.low, key.high) & mask;
        for (;; at = (at + 1) & mask) {
            const Slot& slot = slots_[at];
            if (slot.code == NONE) return at;
            if (slot.key.high != key.high) continue;
            if (!key.is_long() ? slot.key.low == key.low : text == stored(slot)) return at;
        }
    }

    std::string_view stored(const Slot& slot) const {
        const StoredText& where = long_texts_[slot.key.low];
        return {bytes_.data() + where.start, where.size};
    }

    void grow() {
        std::vector<Slot> old(2 * slots_.size());
        old.swap(slots_);
        size_t mask = slots_.size() - 1;
        for (const Slot& slot : old) {
            if (slot.code == NONE) continue;
            size_t at = mix_bits(slot.key.is_long() ? 0 : slot.key.low, slot.key.high) & mask;
            while (slots_[at].code != NONE) at = (at + 1) & mask;
            slots_[at] = slot;
        }
    }

    std::vector<Slot> slots_;
    std::vector<StoredText> long_texts_;
    std::vector<char> bytes_;
    size_t size_ = 0;
};

}  // namespace naively
