// Names of tokens: given to a vocabulary, written out, and sorted.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "text/texts.hpp"

namespace naively {

namespace {

std::vector<std::string_view> parts_of(std::string_view name, bool apart) {
    std::vector<std::string_view> parts;
    for (size_t space = 0; apart && (space = name.find(' ')) != name.npos; name.remove_prefix(space + 1))
        parts.push_back(name.substr(0, space));
    parts.push_back(name);
    return parts;
}

Key key_of_text(std::string_view text) {
    std::string room(text);
    room.resize(text.size() + 16);
    return key_of(room.data(), text.size());
}

// The number of a sequence of words, hidden if it is not known; NONE if one of its words is a stop word.
int32_t sequence(Vocabulary& vocabulary, const std::vector<std::string_view>& words, size_t size) {
    int32_t rest = Vocabulary::NONE;
    for (size_t i = 0; i < size; ++i) {
        Key key = key_of_text(words[i]);
        int32_t word = vocabulary.find_or_add(key, hash_of(key), words[i], false);
        if (word == Vocabulary::STOPPED) return Vocabulary::NONE;
        key = key_of_sequence(rest, word);
        rest = i ? vocabulary.find_or_add(key, hash_of(key), {}, false) : word;
    }
    return rest;
}

struct Item {
    uint64_t head;
    int32_t number;
};

// Sorts names by their next eight bytes, then those with equal bytes by the eight that follow, and so on.
class NameSorter {
  public:
    NameSorter(const std::string& text, const std::vector<int64_t>& ends) : text_(text), ends_(ends) {}

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

    std::string_view name(int32_t i) const {
        return {text_.data() + (i ? ends_[i - 1] : 0), size_t(ends_[i] - (i ? ends_[i - 1] : 0))};
    }

    void sort(std::vector<Item>& items, Group group, std::vector<Group>& left) const {
        auto first = items.begin() + ptrdiff_t(group.begin), last = items.begin() + ptrdiff_t(group.end);
        if (group.end - group.begin <= FEW)
            return std::sort(first, last,
                             [&](const Item& a, const Item& b) { return name(a.number) < name(b.number); });
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
            if (longest > group.depth + 8 && end - begin > 1)
                left.push_back({begin, end, group.depth + 8});
            else
                std::sort(run, stop,
                          [&](const Item& a, const Item& b) { return name(a.number).size() < name(b.number).size(); });
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

}  // namespace

void TextReader::name(const Texts& names, bool apart) {
    vocabulary.keep_free(names.rows);
    size_t most = 1;
    for (size_t round = 1; round <= most; ++round)  // words first, then longer and longer sequences of them
        for (size_t i = 0; i < names.rows; ++i) {
            auto parts = parts_of(names[i], apart);
            if (round == 1) most = std::max(most, std::min<size_t>(parts.size(), settings.tokenizer.max_n));
            if (parts.size() != round) continue;
            Key key = key_of_text(parts.back());
            if (round > 1) {
                int32_t rest = sequence(vocabulary, parts, round - 1), last = sequence(vocabulary, {parts.back()}, 1);
                if (rest == Vocabulary::NONE || last == Vocabulary::NONE) continue;
                key = key_of_sequence(rest, last);
            }
            vocabulary.set(key, hash_of(key), round > 1 ? std::string_view{} : parts.back(), int32_t(i));
        }
}

void TextReader::names(const int32_t* numbers, size_t size, std::string& text, int64_t* ends) const {
    for (size_t i = 0; i < size; ++i) {
        vocabulary.append_name(numbers[i], text);
        ends[i] = int64_t(text.size());
    }
}

void TextReader::name_shapes(size_t first, size_t last, uint8_t* out) const {
    std::string name;
    for (size_t number = first; number < last; ++number, ++out) {
        if (vocabulary.key(int32_t(number)).is_sequence()) {  // words with spaces between them
            *out = SPACED | LONG;
            continue;
        }
        name.clear();
        vocabulary.append_name(int32_t(number), name);
        auto lead = name.empty() ? uint8_t{0} : uint8_t(name[0]);
        auto characters = std::count_if(name.begin(), name.end(), [](char c) { return (uint8_t(c) & 0xc0) != 0x80; });
        bool ideographs = (lead >= 0xe3 && lead <= 0xe9) || lead >= 0xef;
        *out = uint8_t((name.find(' ') != name.npos ? SPACED : 0) | (characters > 1 ? LONG : 0) |
                       (characters == 2 && ideographs ? IDEOGRAPHS : 0));
    }
}

std::vector<int32_t> TextReader::order() const {
    std::vector<int32_t> numbers(vocabulary.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    std::string text;
    std::vector<int64_t> ends(numbers.size());
    names(numbers.data(), numbers.size(), text, ends.data());
    return NameSorter(text, ends).order();
}

}  // namespace naively
