// Texts read by all threads at once: what is kept of each row, and what becomes of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/huge_pages.hpp"
#include "kernels.hpp"
#include "text/row_reader.hpp"

namespace naively {

// Rows of text, wherever they lie. A missing one has no data.
struct Texts {
    size_t rows = 0;
    bool surrogates = false;  // may hold halves of surrogate pairs, as strings of Python can
    bool checked = false;     // is known to be UTF-8
    virtual std::string_view operator[](size_t row) const = 0;
    virtual size_t bytes() const = 0;  // about how many there are in all
    virtual ~Texts() = default;
};

// Tokens that were found elsewhere: those of row i lie between starts[i] and starts[i + 1].
struct TokenLists {
    size_t rows;
    const int64_t* starts;
    const Texts& tokens;
};

// Where a text is not valid: the row, the byte, or the whole length if that is too large.
struct Fault {
    size_t row = NO_ROW, byte = 0;
    bool long_ = false;
};

// The entries of some rows one after the other; those of row i end at ends[i].
struct Piece {
    std::vector<Entry> entries;
    std::vector<uint64_t> ends;
    std::vector<uint32_t> unknown;
    size_t begin(size_t row) const { return row ? ends[row - 1] : 0; }
    void clear() { entries.clear(), ends.clear(), unknown.clear(); }
};

// What counts of a number that came up so often in a row.
enum class Times { all, once, log };
double worth(Times times, uint32_t n);

// The sums of each class, a line for each, which has room for more words than there are.
struct ClassWords {
    struct Sum {
        double times = 0, rows = 0;
    };
    std::vector<LargeVector<Sum>> lines;
};

// A matrix of counts, row by row, columns rising.
struct CountsOf {
    std::vector<int64_t> starts;
    std::unique_ptr<int32_t[]> columns;
    std::unique_ptr<int64_t[]> whole;  // one of the two
    std::unique_ptr<double[]> parts;
};

// Reads texts by one lexicon, which learns new words or stays as it is.
struct WordReader {
    Plan plan;
    Lexicon lexicon;

    size_t columns() const { return plan.width ? plan.width : lexicon.size(); }

    // The first text that is not valid. All others below take texts that are.
    static Fault fault(const Texts& texts, const Run& run);

    // Adds pieces for all rows. The numbers of new words do not depend on the threads: they are counted up in the
    // order in which words are met, row by row.
    void read(const Texts& texts, bool learn, std::vector<Piece>& pieces, const Run& run);
    void read(const TokenLists& lists, bool learn, std::vector<Piece>& pieces, const Run& run);

    // Adds the rows to the sums of their classes, without keeping what was read. New words get a place.
    void count(const Texts& texts, const Rows& rows, Times times, bool learn, ClassWords& sums, const Run& run);
    // The same for rows that were read before; `first` is the first of them among all rows.
    void add(const std::vector<Piece>& pieces, size_t first, const Rows& rows, Times times, ClassWords& sums,
             const Run& run) const;

    // scores[row][class] += Σ worth of its numbers * table[number][class], for `size` numbers of the table; and, if
    // asked for, squares[row] += Σ worth² * lengths[number].
    struct Scored {
        const double* table;
        size_t size, classes;
        double* scores;
        const double* lengths = nullptr;
        double* squares = nullptr;
    };
    void score(const Texts& texts, Times times, const Scored& to, const Run& run) const;

    // Names come to have the numbers 0, 1, …, in a lexicon that is empty but for words to be passed over. In names
    // taken apart, spaces are what stands between the words of a sequence.
    void name(const Texts& names, bool apart);

    // The names of some numbers one after the other, and where each ends.
    void names(const int32_t* numbers, size_t size, std::string& text, int64_t* ends) const;

    // The numbers in the order of their names, by code points.
    std::vector<int32_t> order() const;
};

// In how many rows each number came up, and how often in all; `size` of them.
void totals(const std::vector<Piece>& pieces, size_t size, int64_t* rows, int64_t* times);

// All pieces as one matrix; number i becomes column columns[i], or nothing if that is negative, which none is if all
// are kept. Without columns each number is its own.
CountsOf matrix_of(const std::vector<Piece>& pieces, const int32_t* columns, bool all_kept, Times times, bool whole,
                   const Run& run);

}  // namespace naively
