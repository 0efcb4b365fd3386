// Rows of any type and layout, read as plain doubles or codes: each loop is then written and compiled once.
// Lines already in such a form are read in place; others are converted line by line, within the first-level cache.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "common/vectors.hpp"
#include "kernels.hpp"

// In the namespace of the instruction level: a function compiled for one must never be taken for another's.
namespace naively::NAIVELY_LEVEL {

// Calls f with a pointer of the data's type.
template <class F>
void with_type(Type type, const void* data, F&& f) {
    switch (type) {
        case Type::f32: return f(static_cast<const float*>(data));
        case Type::f64: return f(static_cast<const double*>(data));
        case Type::i32: return f(static_cast<const int32_t*>(data));
        case Type::i64: return f(static_cast<const int64_t*>(data));
        case Type::u8: return f(static_cast<const uint8_t*>(data));
    }
}

template <class From, class To>
void convert(const From* __restrict from, ptrdiff_t step, size_t n, To* __restrict to) {
    if (step == 1)  // a loop of its own, which the compiler can vectorize
        for (size_t i = 0; i < n; ++i) to[i] = To(from[i]);
    else
        for (size_t i = 0; i < n; ++i) to[i] = To(from[ptrdiff_t(i) * step]);
}

// Whether all cells lie in the range; NaN lies in none, and is accepted only where missing values are.
template <class Number>
bool within(const Number* line, size_t n, AllowedRange limits) {
    auto outside = [&](auto x, auto least, auto largest) { return ~((x >= least) & (x <= largest)); };
    Mask bad{};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        Vec x = load(line + i);
        Mask here = outside(x, all(limits.least), all(limits.largest));
        bad |= limits.allow_missing ? here & (x == x) : here;
    }
    bool good = !any(bad);
    for (; i < n; ++i)
        good &= (line[i] >= limits.least && line[i] <= limits.largest) || (limits.allow_missing && line[i] != line[i]);
    return good;
}

// The lines of a dense matrix, converted to To. One for each thread: it holds the last lines that it returned.
template <class To>
class Lines {
  public:
    explicit Lines(const Matrix& x, size_t at_once = 1) : x_(x), at_once_(at_once), kept_(x.columns * at_once) {}
    const To* operator()(size_t row) {
        To* line = kept_.data() + row % at_once_ * x_.columns;
        with_type(x_.type, x_.data,
                  [&](auto data) { convert(data + ptrdiff_t(row) * x_.row_step, x_.column_step, x_.columns, line); });
        return line;
    }

  private:
    Matrix x_;
    size_t at_once_;
    std::vector<To> kept_;
};

// The lines of a matrix whose columns are contiguous: transposed a tile of rows at a time, so that each column is read
// in one go. The tile before the last stays valid, too, for callers that hold several lines.
template <class T>
class Tiles {
  public:
    explicit Tiles(const Matrix& x)
        : x_(x),
          rows_(std::clamp<size_t>(4096 / std::max<size_t>(x.columns, 1), 8, 64)),
          kept_(2 * x.columns * rows_) {}
    const T* operator()(size_t row) {
        if (row < begin_ || row >= begin_ + rows_) turn(row);
        return tile() + (row - begin_) * x_.columns;
    }

  private:
    T* tile() { return kept_.data() + (second_ ? rows_ * x_.columns : 0); }
    void turn(size_t begin) {
        second_ = !second_;
        begin_ = begin;
        size_t rows = std::min(rows_, x_.rows - begin), columns = x_.columns;
        for (size_t j = 0; j < columns; ++j) {
            const T* __restrict column =
                static_cast<const T*>(x_.data) + ptrdiff_t(j) * x_.column_step + ptrdiff_t(begin);
            T* __restrict to = tile() + j;
            for (size_t r = 0; r < rows; ++r) to[r * columns] = column[r];
        }
    }
    Matrix x_;
    size_t rows_, begin_ = SIZE_MAX / 2;
    bool second_ = false;
    std::vector<T> kept_;
};

// Calls f(line_of), where line_of(row) is a row in place: contiguous, and of type T.
template <class T, class F>
decltype(auto) with_lines(const Matrix& x, F&& f) {
    return f([first = static_cast<const T*>(x.data), step = x.row_step](size_t row) {
        return first + ptrdiff_t(row) * step;
    });
}

// Calls f(line_of) for numbers: as float or double in place, else converted to double. The lines of `at_once`
// consecutive rows stay valid.
template <class F>
decltype(auto) with_numbers(const Matrix& x, size_t at_once, F&& f) {
    if (x.column_step == 1 && x.type == Type::f32) return with_lines<float>(x, f);
    if (x.column_step == 1 && x.type == Type::f64) return with_lines<double>(x, f);
    if (x.row_step == 1 && x.type == Type::f64) return f(Tiles<double>(x));
    return f(Lines<double>(x, at_once));
}

// Whether the rows of a matrix follow each other in memory, so that some of them can be read as one line.
inline bool is_contiguous(const Matrix& x) { return x.column_step == 1 && x.row_step == ptrdiff_t(x.columns); }

// Fetches cells that will be read soon: the processor does not see them coming behind the work on those before. Where
// there is no memory it does nothing.
template <class T>
void prefetch(const T* cells, size_t n) {
    constexpr size_t cache_line = 64 / sizeof(T);
    for (size_t i = 0; i < n; i += cache_line) __builtin_prefetch(cells + i);
}

// A missing code is a negative one.
template <class Code>
constexpr bool is_missing(Code code) {
    if constexpr (std::is_signed_v<Code>) return code < 0;
    return false;
}

// Calls f(line_of) for codes: in their own type where they are contiguous, else converted to int64_t.
template <class F>
decltype(auto) with_codes(const Matrix& x, F&& f) {
    if (x.column_step == 1 && x.type == Type::i32) return with_lines<int32_t>(x, f);
    if (x.column_step == 1 && x.type == Type::i64) return with_lines<int64_t>(x, f);
    if (x.column_step == 1 && x.type == Type::u8) return with_lines<uint8_t>(x, f);
    if (x.row_step == 1 && x.type == Type::i32) return f(Tiles<int32_t>(x));
    return f(Lines<int64_t>(x));
}

// The entries of a sparse matrix, row by row: values as doubles, columns in their own index type I.
template <class I>
class Entries {
  public:
    explicit Entries(const SparseMatrix& x) : x_(x) {}
    size_t size(size_t row) const { return size_t(starts()[row + 1] - starts()[row]); }
    const I* columns(size_t row) const { return static_cast<const I*>(x_.columns) + starts()[row]; }
    const double* values(size_t row) {
        if (x_.type == Type::f64) return static_cast<const double*>(x_.values) + starts()[row];
        size_t n = size(row);
        if (kept_.size() < n) kept_.resize(n);
        with_type(x_.type, x_.values, [&](auto data) { convert(data + starts()[row], 1, n, kept_.data()); });
        return kept_.data();
    }
    bool inside(size_t row) const {
        const I* column = columns(row);
        bool inside = true;
        for (size_t e = 0, n = size(row); e < n; ++e) inside &= column[e] >= 0 && size_t(column[e]) < x_.width;
        return inside;
    }

  private:
    const I* starts() const { return static_cast<const I*>(x_.starts); }
    SparseMatrix x_;
    std::vector<double> kept_;
};

// Calls f with a value of the matrix's index type.
template <class F>
decltype(auto) with_index(const SparseMatrix& x, F&& f) {
    return x.index_type == Type::i32 ? f(int32_t{}) : f(int64_t{});
}

inline size_t entries_per_row(const SparseMatrix& x) { return x.rows ? x.entries / x.rows + 1 : 1; }

}  // namespace naively::NAIVELY_LEVEL
