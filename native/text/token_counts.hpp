// Counts of the tokens of one row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace naively {

struct TokenCount {
    int32_t number;
    uint32_t times;
};

// A small table that is emptied by a new row's stamp, so that a short row costs nothing for a long one before it.
class TokenCounter {
  public:
    // Begins a row of about so many numbers, whose entries are appended.
    void begin(std::vector<TokenCount>& entries, size_t expected) {
        entries_ = &entries;
        first_ = entries.size();
        for (bits_ = FEWEST_BITS; bits_ < FIRST_BITS && size_t{1} << bits_ < 2 * expected;) ++bits_;
        if (slots_.size() < size_t{1} << bits_) slots_.resize(size_t{1} << bits_);
        if (!++row_) {  // after four thousand million rows the stamps would come again
            std::fill(slots_.begin(), slots_.end(), Slot{});
            row_ = 1;
        }
    }

    void add(int32_t number) {
        size_t mask = (size_t{1} << bits_) - 1;
        for (size_t at = place(number);; at = (at + 1) & mask) {
            Slot& slot = slots_[at];
            if (slot.row != row_) {
                slot = {row_, uint32_t(entries_->size() - first_)};
                entries_->push_back({number, 1});
                if (2 * (entries_->size() - first_) > mask) grow();
                return;
            }
            TokenCount& entry = (*entries_)[first_ + slot.entry];
            if (entry.number == number) return void(++entry.times);
        }
    }

  private:
    static constexpr unsigned FEWEST_BITS = 9, FIRST_BITS = 13;
    struct Slot {
        uint32_t row = 0, entry = 0;
    };

    size_t place(int32_t number) const { return (uint32_t(number) * 0x9e3779b1u) >> (32 - bits_); }

    void grow() {
        ++bits_;
        if (slots_.size() < size_t{1} << bits_) slots_.resize(size_t{1} << bits_);
        if (!++row_) std::fill(slots_.begin(), slots_.end(), Slot{}), row_ = 1;
        size_t mask = (size_t{1} << bits_) - 1;
        for (size_t i = first_; i < entries_->size(); ++i) {
            size_t at = place((*entries_)[i].number);
            while (slots_[at].row == row_) at = (at + 1) & mask;
            slots_[at] = {row_, uint32_t(i - first_)};
        }
    }

    std::vector<Slot> slots_ = std::vector<Slot>(size_t{1} << FEWEST_BITS);
    std::vector<TokenCount>* entries_ = nullptr;
    size_t first_ = 0;
    unsigned bits_ = FEWEST_BITS;
    uint32_t row_ = 0;
};

}  // namespace naively
