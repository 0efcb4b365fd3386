// Columns of texts in, codes out. For all instruction levels the same.
#include "text/encoding.hpp"

#include <atomic>
#include <cstring>
#include <stdexcept>

#include "common/threads.hpp"

namespace naively {

using namespace NAIVELY_LEVEL;

namespace {

// Rows that a thread looks up at once, and rows after which it is seen whether a dictionary still grows quickly.
constexpr size_t ROWS = 1 << 13, STEP = 1 << 12;
// A dictionary has settled if less than one of so many rows is new.
constexpr size_t SETTLED = 16;

// A text, and the end of the memory that may be read.
struct Text {
    std::string_view text;
    const char* readable_to;
};

[[noreturn]] void outside() { throw std::invalid_argument("A text lies outside its buffer."); }

template <class Start>
struct PlainTexts {
    const ArrowTexts& texts;
    Text operator()(size_t row) const {
        auto start = static_cast<const Start*>(texts.starts);
        if (start[row] < 0 || start[row] > start[row + 1] || size_t(start[row + 1]) > texts.size) outside();
        return {{texts.data + start[row], size_t(start[row + 1] - start[row])}, texts.data + texts.size};
    }
};

struct ViewedTexts {
    const ArrowTexts& texts;
    Text operator()(size_t row) const {
        const char* view = texts.data + 16 * row;
        int32_t where[4] = {};
        std::memcpy(where, view, 16);
        if (where[0] >= 0 && where[0] <= 12) return {{view + 4, size_t(where[0])}, texts.data + texts.size};
        if (where[0] < 0 || where[2] < 0 || size_t(where[2]) >= texts.buffers.size()) outside();
        auto [bytes, size] = texts.buffers[size_t(where[2])];
        if (where[3] < 0 || size_t(where[3]) + size_t(where[0]) > size) outside();
        return {{bytes + where[3], size_t(where[0])}, bytes + size};
    }
};

// Calls work(text_of) with what gives the text of a row, as the column lies.
template <class Work>
auto with_texts(const ArrowTexts& texts, Work&& work) {
    if (texts.views) return work(ViewedTexts{texts});
    return texts.wide ? work(PlainTexts<int64_t>{texts}) : work(PlainTexts<int32_t>{texts});
}

bool is_missing(const ArrowTexts& texts, size_t row) {
    size_t bit = row + texts.skipped;
    return texts.bits && !(texts.bits[bit / 8] >> bit % 8 & 1);
}

// Looks up the codes of some rows; those of new texts become NONE. Returns how many are new, and how many texts have
// the code of missing ones. The dictionary stays as it is, so that threads may share it.
std::pair<size_t, size_t> look_up(const EncodedColumn& column, size_t begin, size_t end) {
    return with_texts(column.texts, [&](auto text_of) {
        size_t unknown = 0, named = 0;
        for (size_t row = begin; row < end; ++row) {
            int32_t code = column.missing;
            if (!is_missing(column.texts, row)) {
                auto [text, readable_to] = text_of(row);
                code = column.dictionary->words.find(text, readable_to);
                named += code == column.missing;
                unknown += code == Dictionary::NONE;
                if (code == Dictionary::NONE) code = column.unseen;
            }
            column.out[ptrdiff_t(row) * column.step] = code;
        }
        return std::pair{unknown, named};
    });
}

// Gives the new texts of some rows, which were looked up, the next codes.
void number_new(EncodedColumn& column, size_t begin, size_t end) {
    with_texts(column.texts, [&](auto text_of) {
        GrowingDictionary& dictionary = *column.dictionary;
        for (size_t row = begin; row < end; ++row) {
            int32_t& code = column.out[ptrdiff_t(row) * column.step];
            if (code != Dictionary::NONE) continue;
            auto [text, readable_to] = text_of(row);
            code = dictionary.words.find(text, readable_to);  // an earlier row may have had it since
            if (code != Dictionary::NONE) continue;
            dictionary.words.add(text, code = dictionary.next++);
            column.first_rows.push_back(int64_t(row));
        }
    });
}

// Rows from the first on, one after the other, while many of them are new: to look those up first would be of no use.
size_t first_settled(EncodedColumn& column) {
    size_t row = 0;
    bool grows = column.unseen == Dictionary::NONE;
    while (grows && !column.dictionary->settled && row < column.rows) {
        size_t end = std::min(row + STEP, column.rows), before = column.first_rows.size();
        column.named_missing += int64_t(look_up(column, row, end).second);
        number_new(column, row, end);
        column.dictionary->settled = (column.first_rows.size() - before) * SETTLED < end - row;
        row = end;
    }
    return row;
}

}  // namespace

void encode_columns(std::vector<EncodedColumn>& columns, int threads) {
    auto never = [] { return false; };
    Run run{threads, never};
    struct Piece {
        size_t column, begin, end;
        size_t unknown = 0, named = 0;
    };
    size_t cells = 0, unsettled = 0;
    for (const auto& column : columns) {
        cells += column.rows;
        unsettled += column.unseen == Dictionary::NONE && !column.dictionary->settled;
    }
    std::vector<size_t> first(columns.size(), 0);
    if (unsettled) run_pieces(columns.size(), cells, run, [&](size_t at) { first[at] = first_settled(columns[at]); });
    std::vector<Piece> pieces;
    for (size_t at = 0; at < columns.size(); ++at)
        for (size_t begin = first[at]; begin < columns[at].rows; begin += ROWS)
            pieces.push_back({at, begin, std::min(begin + ROWS, columns[at].rows)});
    run_pieces(pieces.size(), 4 * cells, run, [&](size_t at) {
        Piece& piece = pieces[at];
        std::tie(piece.unknown, piece.named) = look_up(columns[piece.column], piece.begin, piece.end);
    });
    std::vector<size_t> unknown(columns.size(), 0);
    for (const Piece& piece : pieces) {
        columns[piece.column].named_missing += int64_t(piece.named);
        if (columns[piece.column].unseen == Dictionary::NONE) unknown[piece.column] += piece.unknown;
    }
    std::vector<size_t> growing;
    for (size_t at = 0; at < columns.size(); ++at)
        if (unknown[at]) growing.push_back(at);
    run_pieces(growing.size(), 4 * cells, run, [&](size_t at) {
        EncodedColumn& column = columns[growing[at]];
        for (const Piece& piece : pieces)
            if (piece.column == growing[at] && piece.unknown) number_new(column, piece.begin, piece.end);
        column.dictionary->settled = unknown[growing[at]] * SETTLED < column.rows;
    });
}

}  // namespace naively
