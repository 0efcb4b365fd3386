// Rows of any type and layout, read as plain doubles or codes: each loop above is then written and compiled once.
// Lines already in that form are used where they lie; others are converted line by line, within the first cache.
#pragma once

#include <vector>

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
void convert(const From* from, ptrdiff_t step, size_t n, To* to) {
    if (step == 1)  // apart, so that the compiler can use vectors
        for (size_t i = 0; i < n; ++i) to[i] = To(from[i]);
    else
        for (size_t i = 0; i < n; ++i) to[i] = To(from[ptrdiff_t(i) * step]);
}

inline void apply(Reading reading, size_t n, double* line) {
    if (reading.presence)
        for (size_t i = 0; i < n; ++i) line[i] = line[i] > reading.threshold ? 1.0 : 0.0;
}

// The lines of a dense matrix as To (double or int64_t). One for each thread: it holds a line.
template <class To>
class Lines {
  public:
    explicit Lines(const Matrix& x, Reading reading = {}) : x_(x), reading_(reading) {
        constexpr Type same = sizeof(To) == sizeof(double) && To(0.5) != 0 ? Type::f64 : Type::i64;
        direct_ = x.type == same && x.column_step == 1 && !reading.presence;
        if (!direct_) line_.resize(x.columns);
    }
    const To* operator()(size_t row) {
        const To* line = nullptr;
        ptrdiff_t start = ptrdiff_t(row) * x_.row_step;
        if (direct_) return static_cast<const To*>(x_.data) + start;
        with_type(x_.type, x_.data, [&](auto data) { convert(data + start, x_.column_step, x_.columns, line_.data()); });
        line = line_.data();
        if constexpr (To(0.5) != 0) apply(reading_, x_.columns, line_.data());
        return line;
    }

  private:
    Matrix x_;
    Reading reading_;
    bool direct_;
    std::vector<To> line_;
};

// The entries of a sparse matrix, row by row: values as doubles, columns in their own index type I.
template <class I>
class Entries {
  public:
    Entries(const Sparse& x, Reading reading) : x_(x), reading_(reading) {
        direct_ = x.type == Type::f64 && !reading.presence;
    }
    size_t size(size_t row) const { return size_t(starts()[row + 1] - starts()[row]); }
    const I* columns(size_t row) const { return static_cast<const I*>(x_.columns) + starts()[row]; }
    const double* values(size_t row) {
        size_t n = size(row);
        if (direct_) return static_cast<const double*>(x_.values) + starts()[row];
        if (line_.size() < n) line_.resize(n);
        with_type(x_.type, x_.values, [&](auto data) { convert(data + starts()[row], 1, n, line_.data()); });
        apply(reading_, n, line_.data());
        return line_.data();
    }

  private:
    const I* starts() const { return static_cast<const I*>(x_.starts); }
    Sparse x_;
    Reading reading_;
    bool direct_;
    std::vector<double> line_;
};

// Calls f with an Entries reader maker of the matrix's index type.
template <class F>
void with_index(const Sparse& x, F&& f) {
    x.index_type == Type::i32 ? f(int32_t{}) : f(int64_t{});
}

inline size_t entries_per_row(const Sparse& x) { return x.rows ? x.entries / x.rows + 1 : 1; }

}  // namespace naively::NAIVELY_LEVEL
