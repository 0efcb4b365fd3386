// What was read, given out: names in order, totals, and matrices of counts.
#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "parallel.hpp"
#include "texts.hpp"

namespace naively {

using namespace NAIVELY_LEVEL;

namespace {

std::vector<std::string_view> parts_of(std::string_view name, bool apart) {
    std::vector<std::string_view> parts;
    for (size_t space; apart && (space = name.find(' ')) != name.npos; name.remove_prefix(space + 1)) parts.push_back(name.substr(0, space));
    parts.push_back(name);
    return parts;
}

Key key_of_text(std::string_view text) {
    std::string room(text);
    room.resize(text.size() + 16);
    return key_of(room.data(), text.size());
}

// The number of a sequence of words, hidden if it is not known; NONE if one of its words is passed over.
int32_t sequence(Lexicon& lexicon, const std::vector<std::string_view>& words, size_t size) {
    int32_t rest = Lexicon::NONE;
    for (size_t i = 0; i < size; ++i) {
        Key key = key_of_text(words[i]);
        int32_t word = lexicon.find_or_add(key, hash_of(key), words[i], false);
        if (word == Lexicon::STOPPED) return Lexicon::NONE;
        key = key_of_sequence(rest, word);
        rest = i ? lexicon.find_or_add(key, hash_of(key), {}, false) : word;
    }
    return rest;
}

struct Item {
    uint64_t head;
    int32_t number;
};

// Sorts names by their next eight bytes, then those which share them by the eight that follow, and so on.
class Sorter {
  public:
    Sorter(const std::string& text, const std::vector<int64_t>& ends) : text_(text), ends_(ends) {}

    std::vector<int32_t> order() {
        std::vector<Item> items(ends_.size());
        for (size_t i = 0; i < items.size(); ++i) items[i].number = int32_t(i);
        std::vector<Group> left{{0, items.size(), 0}};
        while (!left.empty()) {
            Group group = left.back();
            left.pop_back();
            sort(items, group, left);
        }
        std::vector<int32_t> numbers(items.size());
        std::transform(items.begin(), items.end(), numbers.begin(), [](const Item& item) { return item.number; });
        return numbers;
    }

  private:
    struct Group {
        size_t begin, end, depth;
    };
    static constexpr size_t FEW = 16;

    std::string_view name(int32_t i) const { return {text_.data() + (i ? ends_[i - 1] : 0), size_t(ends_[i] - (i ? ends_[i - 1] : 0))}; }

    void sort(std::vector<Item>& items, Group group, std::vector<Group>& left) const {
        auto first = items.begin() + ptrdiff_t(group.begin), last = items.begin() + ptrdiff_t(group.end);
        if (group.end - group.begin <= FEW)
            return std::sort(first, last, [&](const Item& a, const Item& b) { return name(a.number) < name(b.number); });
        size_t longest = 0;
        for (auto item = first; item != last; ++item) {
            std::string_view rest = name(item->number);
            longest = std::max(longest, rest.size());
            rest.remove_prefix(std::min(rest.size(), group.depth));
            item->head = head_of(rest);
        }
        std::sort(first, last, [](const Item& a, const Item& b) { return a.head < b.head; });
        for (auto run = first; run != last;) {
            auto stop = std::find_if(run, last, [&](const Item& item) { return item.head != run->head; });
            size_t begin = size_t(run - items.begin()), end = size_t(stop - items.begin());
            if (longest > group.depth + 8 && end - begin > 1) left.push_back({begin, end, group.depth + 8});
            else std::sort(run, stop, [&](const Item& a, const Item& b) { return name(a.number).size() < name(b.number).size(); });
            run = stop;
        }
    }

    // The first eight bytes as a number that is in order as they are.
    static uint64_t head_of(std::string_view text) {
        unsigned char bytes[8] = {};
        std::memcpy(bytes, text.data(), std::min<size_t>(text.size(), 8));
        uint64_t head = 0;
        for (unsigned char byte : bytes) head = head << 8 | byte;
        return head;
    }

    const std::string& text_;
    const std::vector<int64_t>& ends_;
};

// Columns (the upper halves) of one row in order: digit by digit, which for many is quicker than by comparing.
void sort_columns(std::vector<uint64_t>& row, std::vector<uint64_t>& other, uint64_t all) {
    constexpr unsigned DIGIT = 9;
    constexpr size_t FEW = 48;
    if (row.size() < FEW) return std::sort(row.begin(), row.end());
    other.resize(row.size());
    for (unsigned shift = 32; all >> shift; shift += DIGIT) {
        uint32_t places[(size_t{1} << DIGIT) + 1] = {};
        auto digit = [=](uint64_t entry) { return entry >> shift & ((size_t{1} << DIGIT) - 1); };
        for (uint64_t entry : row) ++places[digit(entry) + 1];
        for (size_t i = 1; i < std::size(places); ++i) places[i] += places[i - 1];
        for (uint64_t entry : row) other[places[digit(entry)]++] = entry;
        row.swap(other);
        if (shift + DIGIT >= 64) break;
    }
}

// The entries of a row as columns with how often they came up, in order.
void sorted_row(const Piece& piece, size_t row, const int32_t* columns, std::vector<uint64_t>& found, std::vector<uint64_t>& other) {
    found.clear();
    uint64_t all = 0;  // every bit that is set in some column
    for (size_t i = piece.begin(row); i < piece.ends[row]; ++i) {
        auto [number, times] = piece.entries[i];
        int32_t column = columns ? columns[number] : number;
        if (column < 0) continue;
        found.push_back(uint64_t(column) << 32 | times);
        all |= found.back();
    }
    sort_columns(found, other, all);
}

}  // namespace

void WordReader::name(const Texts& names, bool apart) {
    lexicon.keep_free(names.rows);
    size_t most = 1;
    for (size_t round = 1; round <= most; ++round)  // words first, then longer and longer sequences of them
        for (size_t i = 0; i < names.rows; ++i) {
            auto parts = parts_of(names[i], apart);
            if (round == 1) most = std::max(most, std::min<size_t>(parts.size(), plan.manner.most));
            if (parts.size() != round) continue;
            Key key = key_of_text(parts.back());
            if (round > 1) {
                int32_t rest = sequence(lexicon, parts, round - 1), last = sequence(lexicon, {parts.back()}, 1);
                if (rest == Lexicon::NONE || last == Lexicon::NONE) continue;
                key = key_of_sequence(rest, last);
            }
            lexicon.set(key, hash_of(key), round > 1 ? std::string_view{} : parts.back(), int32_t(i));
        }
}

void WordReader::names(const int32_t* numbers, size_t size, std::string& text, int64_t* ends) const {
    for (size_t i = 0; i < size; ++i) {
        lexicon.append_name(numbers[i], text);
        ends[i] = int64_t(text.size());
    }
}

std::vector<int32_t> WordReader::order() const {
    std::vector<int32_t> numbers(lexicon.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    std::string text;
    std::vector<int64_t> ends(numbers.size());
    names(numbers.data(), numbers.size(), text, ends.data());
    return Sorter(text, ends).order();
}

void totals(const std::vector<Piece>& pieces, size_t size, int64_t* rows, int64_t* times) {
    for (const Piece& piece : pieces)
        for (const Entry& entry : piece.entries)
            if (size_t(entry.number) < size) ++rows[entry.number], times[entry.number] += entry.times;
}

CountsOf matrix_of(const std::vector<Piece>& pieces, const int32_t* columns, bool all_kept, Times times, bool whole, const Run& run) {
    CountsOf made;
    std::vector<size_t> first(pieces.size() + 1);
    for (size_t i = 0; i < pieces.size(); ++i) first[i + 1] = first[i] + pieces[i].ends.size();
    made.starts.assign(first.back() + 1, 0);
    size_t entries = 0;
    for (const Piece& piece : pieces) entries += piece.entries.size();
    share_out(pieces.size(), entries, run, [&](size_t i) {
        for (size_t row = 0; row < pieces[i].ends.size(); ++row) {
            int64_t n = all_kept ? int64_t(pieces[i].ends[row] - pieces[i].begin(row)) : 0;
            for (size_t at = pieces[i].begin(row); at < pieces[i].ends[row] && !all_kept; ++at) n += columns[pieces[i].entries[at].number] >= 0;
            made.starts[first[i] + row + 1] = n;
        }
    });
    std::partial_sum(made.starts.begin(), made.starts.end(), made.starts.begin());
    size_t size = size_t(made.starts.back());
    made.columns.reset(new int32_t[size]);
    if (whole) made.whole.reset(new int64_t[size]);
    else made.parts.reset(new double[size]);
    share_out(pieces.size(), entries, run, [&](size_t i) {
        std::vector<uint64_t> found, other;
        for (size_t row = 0; row < pieces[i].ends.size(); ++row) {
            sorted_row(pieces[i], row, columns, found, other);
            size_t to = size_t(made.starts[first[i] + row]);
            for (uint64_t entry : found) {
                made.columns[to] = int32_t(entry >> 32);
                if (whole) made.whole[to++] = times == Times::once ? 1 : int64_t(uint32_t(entry));
                else made.parts[to++] = worth(times, uint32_t(entry));
            }
        }
    });
    return made;
}

}  // namespace naively
