// NumPy's arrays as the views that the kernels read, with every size checked.
#pragma once

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "kernels.hpp"

namespace nb = nanobind;

namespace naively {

using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using AnyVector = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Classes = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Weights = std::optional<nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>>;
using Offsets = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Labels = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ConstVector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ConstTable = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Answers = nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Choices = nb::ndarray<int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ConstPlanes = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Planes = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

inline bool interrupted() {
    nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

inline void require(bool condition, const char* otherwise) {
    if (!condition) throw nb::value_error(otherwise);
}

// Raises the library's own error for bad data.
[[noreturn]] inline void refuse(const std::string& message) {
    PyErr_SetString(nb::module_::import_("naively.errors").attr("InvalidInput").ptr(), message.c_str());
    throw nb::python_error();
}

// To read numbers that are not aligned would be undefined behavior.
template <class Array>
void require_aligned(const Array& array) {
    if (std::bit_cast<uintptr_t>(array.data()) % array.itemsize())
        throw nb::type_error("A kernel reads aligned arrays only; copy this one first.");
}

template <class Array>
Type type_of(const Array& array) {
    require_aligned(array);
    auto kind = array.dtype();
    if (kind == nb::dtype<double>()) return Type::f64;
    if (kind == nb::dtype<float>()) return Type::f32;
    if (kind == nb::dtype<int32_t>()) return Type::i32;
    if (kind == nb::dtype<int64_t>()) return Type::i64;
    if (kind == nb::dtype<uint8_t>() || kind == nb::dtype<bool>()) return Type::u8;
    throw nb::type_error("A kernel reads float64, float32, int64, int32, uint8 or bool; convert other types first.");
}

inline Matrix matrix(const AnyMatrix& x) {
    return {x.data(), type_of(x), x.shape(0), x.shape(1), ptrdiff_t(x.stride(0)), ptrdiff_t(x.stride(1))};
}

inline Matrix codes(const AnyMatrix& x) {
    Matrix view = matrix(x);
    require(view.type != Type::f32 && view.type != Type::f64, "Codes must be whole numbers.");
    return view;
}

// A view on three arrays that together are one sparse matrix; its column indices are checked while they are read.
inline SparseMatrix sparse(const AnyVector& starts, const AnyVector& columns, const AnyVector& values, size_t width) {
    require(starts.shape(0) > 0 && columns.shape(0) == values.shape(0), "The parts of the sparse matrix do not fit.");
    Type index = type_of(starts);
    require(index == type_of(columns) && (index == Type::i32 || index == Type::i64),
            "Sparse indices must be int32 or int64, both alike.");
    size_t rows = starts.shape(0) - 1, entries = values.shape(0);
    auto rising = [&](auto kind) {
        auto start = static_cast<const decltype(kind)*>(starts.data());
        bool good = start[0] >= 0 && size_t(start[rows]) <= entries;
        for (size_t row = 0; row < rows; ++row) good &= start[row] <= start[row + 1];
        return good;
    };
    require(index == Type::i32 ? rising(int32_t{}) : rising(int64_t{}), "The rows of the sparse matrix overlap.");
    return {starts.data(), columns.data(), index, values.data(), type_of(values), rows, width, entries};
}

inline LabeledRows labeled_rows(const Classes& classes, const Weights& weights, size_t n_rows, size_t n_classes) {
    require(classes.shape(0) == n_rows, "There must be one class for each row.");
    require(!weights || weights->shape(0) == n_rows, "There must be one weight for each row.");
    require_aligned(classes);
    if (weights) require_aligned(*weights);
    const int32_t* y = classes.data();
    // Without a comparison, so that several rows are checked at once: a code outside is negative, or the last class
    // minus it is.
    uint32_t last = uint32_t(n_classes) - 1, outside = n_classes ? 0 : UINT32_MAX;
    for (size_t row = 0; row < n_rows; ++row) outside |= uint32_t(y[row]) | (last - uint32_t(y[row]));
    if (n_rows && outside >> 31) {
        auto [low, high] = std::minmax_element(y, y + n_rows);
        refuse("Class codes must lie in 0 … " + std::to_string(int64_t(n_classes) - 1) + "; found " +
               std::to_string(*low) + " to " + std::to_string(*high) + ".");
    }
    return {y, weights ? weights->data() : nullptr, n_classes};
}

inline void check_offsets(const Offsets& offsets, size_t columns, size_t lines, int64_t least) {
    require(offsets.shape(0) == columns + 1 && offsets(0) == 0 && offsets(columns) == int64_t(lines),
            "The offsets must cover the table, one part for each column.");
    for (size_t j = 0; j < columns; ++j)  // compared before they are subtracted, which could overflow
        require(offsets(j + 1) >= 0 && offsets(j + 1) <= int64_t(lines) && offsets(j) <= offsets(j + 1) - least,
                "The offsets must not fall.");
}

// Codes of a column have 16 bits where pairs of columns are counted or scored.
inline void check_few_codes(const Offsets& offsets, size_t columns) {
    for (size_t j = 0; j < columns; ++j)
        require(uint64_t(offsets(j + 1) - offsets(j)) < PAIR_CODES_END,
                "A column of the joint model has fewer than 65,535 values.");
}

inline void check_interactions(const Offsets& offsets, size_t columns, const Interactions& which, size_t parts,
                               size_t lines) {
    require(which.size == parts, "There must be a line for each interaction.");
    check_few_codes(offsets, columns);
    for (size_t p = 0; p < which.size; ++p) {
        uint64_t size = 1;
        for (size_t i = 0; i < 3; ++i) {
            int64_t column = which.columns[3 * p + i];
            require((column >= 0 && size_t(column) < columns) || (i == 2 && column == -1),
                    "An interaction names a column that is not there.");
            if (column >= 0) size *= uint64_t(offsets(size_t(column) + 1) - offsets(size_t(column))) + 1;
        }
        require(which.lines[p] >= 0 && size <= lines && uint64_t(which.lines[p]) <= lines - size,
                "An interaction's part lies outside the table.");
    }
}

inline PairColumns pair_columns(const ConstPlanes& products, const Offsets& offsets, const Labels& first,
                                const Labels& second, double pseudo_count) {
    require(offsets.shape(0) > 0 && second.shape(0) == first.shape(0), "There must be two columns for each pair.");
    size_t columns = offsets.shape(0) - 1, features = products.shape(1);
    check_offsets(offsets, columns, size_t(offsets(columns)), 0);
    check_few_codes(offsets, columns);
    require(products.shape(2) == features && features > size_t(offsets(columns)),
            "The products must be [class, feature, feature], a feature for each code and one before them.");
    for (size_t p = 0; p < first.shape(0); ++p)
        for (int64_t column : {first(p), second(p)})
            require(column >= 0 && size_t(column) < columns, "A pair names a column that is not there.");
    require(pseudo_count > 0, "The pseudo-count must be above 0.");
    return {first.data(), second.data(), first.shape(0), offsets.data(), products.data(), features, pseudo_count};
}

inline PaddedTable padded(const ConstTable& table, size_t lines, size_t width, const char* otherwise) {
    require(table.shape(0) == lines && table.shape(1) == width, otherwise);
    return {table.data(), lines, width};
}

// Runs work(run) without the GIL; Ctrl-C during it becomes KeyboardInterrupt.
template <class Work>
void without_gil(int threads, Work&& work) {
    try {
        nb::gil_scoped_release no_gil;
        work(Run{threads, interrupted});
    } catch (const Interrupted&) {
        throw nb::python_error();
    }
}

// The first row that was refused, or -1.
inline int64_t refused(size_t row) { return row == NO_ROW ? -1 : int64_t(row); }

inline AllowedRange allowed_range(std::optional<double> least, std::optional<double> largest, bool allow_missing) {
    constexpr double most = std::numeric_limits<double>::max();
    return {least.value_or(-most), largest.value_or(most), allow_missing};
}

inline Binarize binarize_of(std::optional<double> threshold) {
    return {threshold.has_value(), threshold.value_or(0.0)};
}

}  // namespace naively
