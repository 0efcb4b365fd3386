// Texts read by several threads: the token counts of each row, and what is computed from them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/huge_pages.hpp"
#include "kernels.hpp"
#include "text/row_reader.hpp"

namespace naively {

// Rows of text in memory. A missing one has no data.
struct Texts {
    size_t rows = 0;
    bool surrogates = false;  // may hold halves of surrogate pairs, as strings of Python can
    bool checked = false;     // is known to be UTF-8
    virtual std::string_view operator[](size_t row) const = 0;
    virtual size_t bytes() const = 0;  // about how many there are in all
    virtual ~Texts() = default;
};

// Tokens of another tokenizer: those of row i lie between starts[i] and starts[i + 1].
struct TokenLists {
    size_t rows;
    const int64_t* starts;
    const Texts& tokens;
};

// Where a text is not valid: the row, the byte, or the whole length if that is too large.
struct InvalidText {
    size_t row = NO_ROW, byte = 0;
    bool too_long = false;
};

// The entries of some rows one after the other; those of row i end at ends[i].
struct RowsPiece {
    std::vector<TokenCount> entries;
    std::vector<uint64_t> ends;
    std::vector<uint32_t> unknown;
    size_t begin(size_t row) const { return row ? ends[row - 1] : 0; }
    void clear() { entries.clear(), ends.clear(), unknown.clear(); }
};

// The weight of a token by its count in a row: the count, 1, or log(1 + count).
enum class CountWeight { all, once, log };
double count_weight(CountWeight times, uint32_t n);

// The sums of each class, a line for each, with room for more words than there are.
struct ClassWords {
    struct Sum {
        double times = 0, rows = 0;
    };
    std::vector<HugeVector<Sum>> lines;
};

// A matrix of counts, row by row, columns rising.
struct CountMatrix {
    std::vector<int64_t> starts;
    std::unique_ptr<int32_t[]> columns;
    std::unique_ptr<int64_t[]> whole;  // one of the two
    std::unique_ptr<double[]> parts;
};

// What the name of a token looks like: whether it has spaces; several characters; or two, the first of which is as
// characters of Chinese and Japanese begin.
enum NameShape : uint8_t { SPACED = 1, LONG = 2, IDEOGRAPHS = 4 };

// Reads texts by one vocabulary, which learns new words or stays as it is.
struct TextReader {
    ReaderSettings settings;
    Vocabulary vocabulary;

    size_t columns() const { return settings.hash_width ? settings.hash_width : vocabulary.size(); }

    // The first text that is not valid. All others below take texts that are.
    static InvalidText first_invalid_text(const Texts& texts, const Run& run);

    // Adds pieces for all rows. The numbers of new words do not depend on the threads: they are counted up in the
    // order in which words occur, row by row.
    void read(const Texts& texts, bool learn, std::vector<RowsPiece>& pieces, const Run& run);
    void read(const TokenLists& lists, bool learn, std::vector<RowsPiece>& pieces, const Run& run);

    // Adds the rows to the sums of their classes, without keeping what was read. New words are added.
    void count(const Texts& texts, const LabeledRows& rows, CountWeight times, bool learn, ClassWords& sums,
               const Run& run);
    // The same for rows that were read before; `first` is the first of them among all rows.
    void add(const std::vector<RowsPiece>& pieces, size_t first, const LabeledRows& rows, CountWeight times,
             ClassWords& sums, const Run& run) const;

    // scores[row][class] += Σ weight of its tokens * table[number][class], for `size` numbers of the table; and, if
    // there are lengths, squares[row] += Σ weight² * lengths[number].
    struct Scored {
        const double* table;  // or, if that is null, the same in single precision
        const float* singles;
        size_t size, classes;
        double* scores;
        const double* lengths = nullptr;
        double* squares = nullptr;
    };
    void score(const Texts& texts, CountWeight times, const Scored& to, const Run& run) const;

    // Gives names the numbers 0, 1, …, in a vocabulary that is empty but for stop words. If they are split, spaces
    // separate the words of a sequence.
    void name(const Texts& names, bool apart);

    // The names of some numbers one after the other, and where each ends.
    void names(const int32_t* numbers, size_t size, std::string& text, int64_t* ends) const;

    // What the names of numbers first … last - 1 look like: flags of NameShape.
    void name_shapes(size_t first, size_t last, uint8_t* out) const;

    // The numbers in the order of their names, by code points.
    std::vector<int32_t> order() const;
};

// In how many rows each number occurs, and how often in all; `size` of them.
void totals(const std::vector<RowsPiece>& pieces, size_t size, int64_t* rows, int64_t* times);

// All pieces as one matrix; number i becomes column columns[i], or is dropped if that is negative, which none is if
// all are kept. Without columns each number is its own column.
CountMatrix count_matrix(const std::vector<RowsPiece>& pieces, const int32_t* columns, bool all_kept, CountWeight times,
                         bool whole, const Run& run);

}  // namespace naively
