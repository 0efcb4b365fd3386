// A target for libFuzzer: whatever bytes come, reading them ends well and in the same way on any number of threads.
#include "text/texts.hpp"

#include <cstdio>
#include <cstdlib>
#include <numeric>

using namespace naively;

namespace {

struct Given : Texts {
    std::vector<std::string> all;
    std::string_view operator[](size_t row) const override { return all[row]; }
    size_t bytes() const override {
        size_t total = 0;
        for (const auto& text : all) total += text.size() + 16;
        return total;
    }
    void add(std::string text) { all.push_back(std::move(text)), rows = all.size(); }
};

void must(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "not true: %s\n", what);
    std::abort();
}

bool never() { return false; }

std::vector<std::string> names_of(const TextReader& words, const std::vector<int32_t>& numbers) {
    std::string text;
    std::vector<int64_t> ends(numbers.size());
    words.names(numbers.data(), numbers.size(), text, ends.data());
    std::vector<std::string> names;
    for (size_t i = 0; i < ends.size(); ++i)
        names.push_back(text.substr(i ? size_t(ends[i - 1]) : 0, size_t(ends[i]) - (i ? size_t(ends[i - 1]) : 0)));
    return names;
}

CountMatrix counted(TextReader& words, const Texts& texts, bool learn, const Run& run) {
    std::vector<RowsPiece> pieces;
    words.read(texts, learn, pieces, run);
    return count_matrix(pieces, nullptr, true, CountWeight::all, true, run);
}

bool same(const CountMatrix& a, const CountMatrix& b) {
    size_t size = size_t(a.starts.back());
    return a.starts == b.starts && std::equal(a.columns.get(), a.columns.get() + size, b.columns.get()) &&
           std::equal(a.whole.get(), a.whole.get() + size, b.whole.get());
}

ReaderSettings settings_of(uint8_t a, uint8_t b) {
    ReaderSettings settings;
    settings.tokenizer = {Unit(a % 3), bool(a & 4), bool(a & 8), bool(a & 16), 1u + (b & 3) % 3, 0, bool(a & 32)};
    settings.tokenizer.max_n = settings.tokenizer.min_n + (b >> 2 & 3) % 3;
    settings.hash_width = b & 32 ? 97 : 0;
    return settings;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 3) return 0;
    ReaderSettings settings = settings_of(data[0], data[1]);
    bool surrogates = data[2] & 1;
    Given texts;
    std::string text;
    for (size_t i = 3; i <= size; ++i) {
        if (i < size && data[i] != 0x1e) {
            text += char(data[i]);
            continue;
        }
        if (first_invalid(text, surrogates) == VALID) texts.add(text);
        text.clear();
    }
    TextReader one{settings, {}}, three{settings, {}}, named{settings, {}};
    CountMatrix learned = counted(one, texts, true, {1, never});
    must(same(learned, counted(three, texts, true, {3, never})), "the number of threads makes no difference");
    must(same(learned, counted(one, texts, false, {2, never})), "what was learned is known");
    if (settings.hash_width) return 0;
    std::vector<int32_t> all(one.columns());
    std::iota(all.begin(), all.end(), 0);
    auto names = names_of(one, all);
    must(names == names_of(three, all), "names do not depend on threads");
    auto ordered = names_of(one, one.order());
    must(std::is_sorted(ordered.begin(), ordered.end()), "names are in order");
    Given given;
    for (auto& name : names) given.add(name);
    named.name(given, settings.tokenizer.unit == Unit::words && settings.tokenizer.max_n > 1);
    must(same(learned, counted(named, texts, false, {1, never})), "a reader made of the names reads alike");
    return 0;
}
