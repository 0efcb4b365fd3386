// Reading texts on several threads: each reads rows of its own, and new words are merged in the order of rows.
#include <cmath>

#include "common/threads.hpp"
#include "text/texts.hpp"

namespace naively {

using namespace NAIVELY_LEVEL;

namespace {

// Texts are read in rounds of so many bytes for each piece, with some pieces for each thread; after each round all
// threads know the words that were new in it, and Ctrl-C is checked. While no word is known yet, rounds are short.
constexpr size_t PIECE_BYTES = size_t{1} << 20, FIRST_BYTES = size_t{1} << 18;
constexpr size_t PIECES_PER_THREAD = 2;
// Sums and lines of tables are prefetched so many entries ahead.
constexpr size_t PREFETCH_DISTANCE = 12;
constexpr const char* TOO_MANY_WORDS = "A thousand million different words are too many.";

// Where the pieces of a round begin, by the bytes of their rows; the first ends at `begin`.
std::vector<size_t> next_round(const Texts& texts, size_t begin, size_t each, const Run& run) {
    size_t most = PIECES_PER_THREAD * size_t(std::max(run.threads, 1));
    std::vector<size_t> cuts{begin};
    each = std::min(each, texts.bytes() / most + 1);
    for (size_t bytes = 0, row = begin; row < texts.rows && cuts.size() <= most; ++row) {
        bytes += texts[row].size() + 16;
        if (bytes < each && row + 1 < texts.rows) continue;
        cuts.push_back(row + 1);
        bytes = 0;
    }
    return cuts;
}

// The numbers in the shared vocabulary of a reader's own words and sequences.
struct Renumbering {
    std::vector<int32_t> shown, hidden;
    size_t first_shown, first_hidden;

    int32_t operator()(int32_t number) const {
        if (number < Vocabulary::HIDDEN)
            return size_t(number) < first_shown ? number : shown[size_t(number) - first_shown];
        size_t at = size_t(number - Vocabulary::HIDDEN);
        return at < first_hidden ? number : hidden[at - first_hidden];
    }
};

// Merges the words of a thread's new vocabulary into the shared one; the hidden ones first, as sequences consist of
// them.
Renumbering merge(Vocabulary& known, const Vocabulary& fresh, size_t first_shown, size_t first_hidden) {
    Renumbering numbers{{}, {}, first_shown, first_hidden};
    auto take = [&](int32_t number, bool counted) {
        Key key = fresh.key(number);
        if (key.is_sequence()) key = key_of_sequence(numbers(key.rest()), numbers(key.last()));
        return known.find_or_add(key, hash_of(key), fresh.stored(fresh.key(number)), counted);
    };
    numbers.hidden.reserve(fresh.hidden());
    numbers.shown.reserve(fresh.size());
    for (size_t i = 0; i < fresh.hidden(); ++i) numbers.hidden.push_back(take(Vocabulary::HIDDEN + int32_t(i), false));
    for (size_t i = 0; i < fresh.size(); ++i) numbers.shown.push_back(take(int32_t(i), true));
    if (known.size() > size_t(Vocabulary::MOST)) throw std::length_error(TOO_MANY_WORDS);
    return numbers;
}

void renumber(std::vector<TokenCount>& entries, const Renumbering& numbers) {
    for (TokenCount& entry : entries)
        if (size_t(entry.number) >= numbers.first_shown)
            entry.number = numbers.shown[size_t(entry.number) - numbers.first_shown];
}

// Reads rows cuts[i] … cuts[i + 1] - 1 into piece i, by read_row(reader, row, entries). What the pieces held before is
// dropped, but not their memory: the next round uses it again.
template <class ReadRow>
void read_round(TextReader& words, const std::vector<size_t>& cuts, size_t bytes, bool learn, const Run& run,
                std::vector<RowsPiece>& pieces, ReadRow&& read_row) {
    size_t size = cuts.size() - 1, shown = words.vocabulary.size(), hidden = words.vocabulary.hidden();
    pieces.resize(size);
    auto read_piece = [&](RowReader&& reader, size_t i) {
        RowsPiece& piece = pieces[i];
        piece.clear();
        for (size_t row = cuts[i]; row < cuts[i + 1]; ++row) {
            piece.unknown.push_back(uint32_t(read_row(reader, row, piece.entries)));
            piece.ends.push_back(piece.entries.size());
        }
    };
    if (learn && !words.settings.hash_width && run.threads <= 1 && !words.vocabulary.stops()) {
        // Alone, a reader may add to the vocabulary itself: the numbers are the same, and nothing is to be merged.
        static const Vocabulary nothing;
        for (size_t i = 0; i < size; ++i) read_piece(RowReader(words.settings, nothing, &words.vocabulary), i);
        if (words.vocabulary.size() > size_t(Vocabulary::MOST)) throw std::length_error(TOO_MANY_WORDS);
        return;
    }
    std::vector<Vocabulary> fresh(learn && !words.settings.hash_width ? size : 0);
    run_pieces(size, bytes, run, [&](size_t i) {
        read_piece(RowReader(words.settings, words.vocabulary, fresh.empty() ? nullptr : &fresh[i]), i);
    });
    std::vector<Renumbering> numbers;
    numbers.reserve(fresh.size());
    for (const Vocabulary& own : fresh) numbers.push_back(merge(words.vocabulary, own, shown, hidden));
    if (!fresh.empty()) run_pieces(size, bytes, run, [&](size_t i) { renumber(pieces[i].entries, numbers[i]); });
}

size_t bytes_between(const Texts& texts, size_t begin, size_t end) {
    size_t bytes = 0;
    for (size_t row = begin; row < end; ++row) bytes += texts[row].size() + 16;
    return bytes;
}

// Calls use(pieces, first row) for all rows, round by round.
template <class Use>
void for_each_round(TextReader& words, const Texts& texts, bool learn, const Run& run, Use&& use) {
    auto read_row = [&](RowReader& reader, size_t row, std::vector<TokenCount>& entries) {
        return reader.row(texts[row], entries);
    };
    size_t each = learn && !words.vocabulary.size() ? FIRST_BYTES : PIECE_BYTES;
    std::vector<RowsPiece> pieces;
    for (size_t begin = 0; begin < texts.rows; each = std::min(2 * each, PIECE_BYTES)) {
        std::vector<size_t> cuts = next_round(texts, begin, each, run);
        read_round(words, cuts, bytes_between(texts, begin, cuts.back()), learn, run, pieces, read_row);
        use(pieces, begin);
        begin = cuts.back();
        if (begin < texts.rows && run.interrupted()) throw Interrupted();
    }
}

struct OfRow {
    const RowsPiece* piece;
    size_t at;
    double weight;
};

// The rows of each class, in their order.
std::vector<std::vector<OfRow>> by_class(const std::vector<RowsPiece>& pieces, const LabeledRows& rows, size_t first) {
    std::vector<std::vector<OfRow>> found(rows.n_classes);
    for (const RowsPiece& piece : pieces)
        for (size_t i = 0; i < piece.ends.size(); ++i, ++first)
            found[size_t(rows.classes[first])].push_back({&piece, i, rows.weights ? rows.weights[first] : 1.0});
    return found;
}

}  // namespace

double count_weight(CountWeight times, uint32_t n) {
    return times == CountWeight::once ? 1.0 : times == CountWeight::log ? std::log1p(double(n)) : double(n);
}

InvalidText TextReader::first_invalid_text(const Texts& texts, const Run& run) {
    std::vector<size_t> cuts{0};
    size_t bytes = 0;
    for (size_t row = 0; row < texts.rows; ++row) {
        size_t size = texts[row].size();
        if (size >= TEXT_BYTES_END) return {row, size, true};
        bytes += size + 16;
        if (bytes < PIECE_BYTES && row + 1 < texts.rows) continue;
        cuts.push_back(row + 1);
        bytes = 0;
    }
    if (texts.checked) return {};
    std::vector<InvalidText> faults(cuts.size());
    run_pieces(cuts.size() - 1, texts.bytes(), run, [&](size_t i) {
        for (size_t row = cuts[i]; row < cuts[i + 1] && faults[i].row == NO_ROW; ++row)
            if (size_t byte = first_invalid(texts[row], texts.surrogates); byte != VALID)
                faults[i] = {row, byte, false};
    });
    for (const InvalidText& invalid : faults)
        if (invalid.row != NO_ROW) return invalid;
    return {};
}

void TextReader::read(const Texts& texts, bool learn, std::vector<RowsPiece>& pieces, const Run& run) {
    for_each_round(*this, texts, learn, run, [&](std::vector<RowsPiece>& found, size_t) {
        for (RowsPiece& piece : found) pieces.push_back(std::move(piece));
    });
}

void TextReader::read(const TokenLists& lists, bool learn, std::vector<RowsPiece>& pieces, const Run& run) {
    struct OfList {
        const Texts& tokens;
        size_t first, last;
        struct At {
            const Texts& tokens;
            size_t i;
            std::string_view operator*() const { return tokens[i]; }
            At& operator++() { return ++i, *this; }
            bool operator!=(const At& other) const { return i != other.i; }
        };
        At begin() const { return {tokens, first}; }
        At end() const { return {tokens, last}; }
    };
    auto read_row = [&](RowReader& reader, size_t row, std::vector<TokenCount>& entries) {
        return reader.row_of(OfList{lists.tokens, size_t(lists.starts[row]), size_t(lists.starts[row + 1])}, entries);
    };
    size_t most = PIECES_PER_THREAD * size_t(std::max(run.threads, 1));
    std::vector<size_t> cuts;
    for (size_t i = 0; i <= most; ++i)
        if (size_t cut = lists.rows * i / most; cuts.empty() || cut > cuts.back()) cuts.push_back(cut);
    if (cuts.size() < 2) return;
    std::vector<RowsPiece> found;
    read_round(*this, cuts, lists.tokens.bytes(), learn, run, found, read_row);
    for (RowsPiece& piece : found) pieces.push_back(std::move(piece));
}

void TextReader::count(const Texts& texts, const LabeledRows& rows, CountWeight times, bool learn, ClassWords& sums,
                       const Run& run) {
    for_each_round(*this, texts, learn, run, [&](const std::vector<RowsPiece>& pieces, size_t first) {
        add(pieces, first, rows, times, sums, run);
    });
}

void TextReader::add(const std::vector<RowsPiece>& pieces, size_t first, const LabeledRows& rows, CountWeight times,
                     ClassWords& sums, const Run& run) const {
    sums.lines.resize(std::max(sums.lines.size(), rows.n_classes));
    auto of_class = by_class(pieces, rows, first);
    size_t entries = 0;
    for (const RowsPiece& piece : pieces) entries += piece.entries.size();
    run_pieces(of_class.size(), entries, run, [&](size_t k) {
        auto& line = sums.lines[k];
        if (line.size() < columns()) line.resize(columns());
        for (auto [piece, at, weight] : of_class[k])
            for (size_t i = piece->begin(at); i < piece->ends[at]; ++i) {
                if (i + PREFETCH_DISTANCE < piece->entries.size())
                    __builtin_prefetch(&line[piece->entries[i + PREFETCH_DISTANCE].number], 1);
                auto [number, n] = piece->entries[i];
                line[number].times += weight * count_weight(times, n), line[number].rows += weight;
            }
    });
}

namespace {

// Adds the tokens of rows first … last - 1 to their scores, given the table in its precision.
template <class Number>
void score_rows(RowReader& reader, const Texts& texts, size_t first, size_t last, CountWeight times,
                const TextReader::Scored& of, const Number* table) {
    constexpr size_t LINE = 64 / sizeof(Number);  // numbers of a line of the cache
    std::vector<TokenCount> entries;
    for (size_t row = first; row < last; ++row) {
        entries.clear();
        reader.row(texts[row], entries);
        double* to = of.scores + row * of.classes;
        double squares = 0;
        for (size_t i = 0; i < entries.size(); ++i) {
            if (i + PREFETCH_DISTANCE < entries.size()) {
                const Number* ahead = table + size_t(entries[i + PREFETCH_DISTANCE].number) * of.classes;
                __builtin_prefetch(ahead);
                if (of.classes > LINE) __builtin_prefetch(ahead + LINE);
                if (of.lengths) __builtin_prefetch(of.lengths + entries[i + PREFETCH_DISTANCE].number);
            }
            auto [number, n] = entries[i];
            if (size_t(number) >= of.size) continue;
            double value = count_weight(times, n);
            const Number* from = table + size_t(number) * of.classes;
            for (size_t k = 0; k < of.classes; ++k) to[k] += value * double(from[k]);
            if (of.lengths) squares += value * value * of.lengths[number];
        }
        if (of.squares) of.squares[row] += squares;
    }
}

}  // namespace

void TextReader::score(const Texts& texts, CountWeight times, const Scored& of, const Run& run) const {
    size_t pieces = std::clamp<size_t>(texts.bytes() / (PIECE_BYTES / 2), 1, std::max<size_t>(texts.rows, 1));
    run_pieces(pieces, texts.bytes(), run, [&](size_t piece) {
        RowReader reader(settings, vocabulary, nullptr);
        size_t first = texts.rows * piece / pieces, last = texts.rows * (piece + 1) / pieces;
        if (of.table)
            score_rows(reader, texts, first, last, times, of, of.table);
        else
            score_rows(reader, texts, first, last, times, of, of.singles);
    });
}

}  // namespace naively
