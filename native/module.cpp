// The extension module: arrays in, checks, one call of the kernels of the best instruction level, GIL released.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <vector>

#include "kernels.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace naively;

namespace {

using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using AnyVector = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Classes = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Weights = std::optional<nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>>;
using Offsets = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ConstVector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ConstTable = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Planes = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

bool interrupted() {
    nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

void require(bool true_, const char* otherwise) {
    if (!true_) throw nb::value_error(otherwise);
}

// Instruction levels this machine can run, best first.
const std::vector<const Kernels*>& levels() {
    static const std::vector<const Kernels*> found = [] {
        std::vector<const Kernels*> all;
#if defined(NAIVELY_HAS_AVX512)
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
            all.push_back(&avx512::kernels);
#endif
#if defined(NAIVELY_HAS_AVX2)
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
            all.push_back(&avx2::kernels);
#endif
        all.push_back(&baseline::kernels);
        return all;
    }();
    return found;
}

const Kernels* chosen = nullptr;
const Kernels& kernels() { return *(chosen ? chosen : levels().front()); }

std::vector<std::string> level_names() {
    std::vector<std::string> names;
    for (auto level : levels()) names.push_back(level->level);
    return names;
}

void use_level(const std::string& name) {
    for (auto level : levels())
        if (name == level->level) return void(chosen = level);
    throw nb::value_error(("This machine cannot run the instruction level '" + name + "'; levels() lists those it can.").c_str());
}

template <class Array>
Type type_of(const Array& array) {
    auto kind = array.dtype();
    if (kind == nb::dtype<double>()) return Type::f64;
    if (kind == nb::dtype<float>()) return Type::f32;
    if (kind == nb::dtype<int32_t>()) return Type::i32;
    if (kind == nb::dtype<int64_t>()) return Type::i64;
    if (kind == nb::dtype<uint8_t>() || kind == nb::dtype<bool>()) return Type::u8;
    throw nb::type_error("A kernel reads float64, float32, int64, int32, uint8 or bool; convert other types first.");
}

Matrix matrix(const AnyMatrix& x) {
    return {x.data(), type_of(x), x.shape(0), x.shape(1), ptrdiff_t(x.stride(0)), ptrdiff_t(x.stride(1))};
}

Matrix codes(const AnyMatrix& x) {
    Matrix view = matrix(x);
    require(view.type != Type::f32 && view.type != Type::f64, "Codes must be whole numbers.");
    return view;
}

template <class I>
bool well_formed(const I* starts, const I* columns, size_t rows, size_t width, size_t entries) {
    if (starts[0] < 0 || size_t(starts[rows]) > entries) return false;
    for (size_t row = 0; row < rows; ++row)
        if (starts[row] > starts[row + 1]) return false;
    bool inside = true;
    for (I e = starts[0]; e < starts[rows]; ++e) inside &= columns[e] >= 0 && size_t(columns[e]) < width;
    return inside;
}

// A view on three arrays that together are one sparse matrix; refuses indices that point outside.
Sparse sparse(const AnyVector& starts, const AnyVector& columns, const AnyVector& values, size_t width) {
    require(starts.shape(0) > 0 && columns.shape(0) == values.shape(0), "The parts of the sparse matrix do not fit.");
    Type index = type_of(starts);
    require(index == type_of(columns) && (index == Type::i32 || index == Type::i64),
            "Sparse indices must be int32 or int64, both alike.");
    Sparse x{starts.data(), columns.data(), index,         values.data(),
             type_of(values), starts.shape(0) - 1, width, values.shape(0)};
    nb::gil_scoped_release no_gil;
    auto check = [&](auto kind) {
        using I = decltype(kind);
        return well_formed(static_cast<const I*>(x.starts), static_cast<const I*>(x.columns), x.rows, width, x.entries);
    };
    require(index == Type::i32 ? check(int32_t{}) : check(int64_t{}), "The sparse matrix has indices outside its shape.");
    return x;
}

Rows rows_of(const Classes& classes, const Weights& weights, size_t n_rows, size_t n_classes) {
    require(classes.shape(0) == n_rows, "There must be one class for each row.");
    require(!weights || weights->shape(0) == n_rows, "There must be one weight for each row.");
    const int32_t* y = classes.data();
    bool inside = true;
    for (size_t row = 0; row < n_rows; ++row) inside &= y[row] >= 0 && size_t(y[row]) < n_classes;
    require(inside, "A class code lies outside the table.");
    return {y, weights ? weights->data() : nullptr, n_classes};
}

void check_offsets(const Offsets& offsets, size_t columns, size_t lines, int64_t least) {
    require(offsets.shape(0) == columns + 1 && offsets(0) == 0 && size_t(offsets(columns)) == lines,
            "The offsets must cover the table, one part for each column.");
    for (size_t j = 0; j < columns; ++j)
        require(offsets(j + 1) - offsets(j) >= least, "The offsets must not fall.");
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

void count_rows(Classes classes, Weights weights, Vector counts) {
    Rows rows = rows_of(classes, weights, classes.shape(0), counts.shape(0));
    double* n = counts.data();
    for (size_t row = 0; row < classes.shape(0); ++row) n[rows.classes[row]] += rows.weights ? rows.weights[row] : 1.0;
}

void count_codes(AnyMatrix x, Classes classes, Weights weights, Offsets offsets, Table counts, int threads) {
    Matrix view = codes(x);
    check_offsets(offsets, view.columns, counts.shape(0), 0);
    Rows rows = rows_of(classes, weights, view.rows, counts.shape(1));
    without_gil(threads, [&](const Run& run) { kernels().count_codes(view, rows, offsets.data(), counts.data(), run); });
}

Reading reading_of(std::optional<double> threshold) { return {threshold.has_value(), threshold.value_or(0.0)}; }

void count_dense(AnyMatrix x, Classes classes, Weights weights, std::optional<double> threshold, Table counts,
                 int threads) {
    Matrix view = matrix(x);
    require(counts.shape(1) == view.columns, "The counts must have a column for each column of the matrix.");
    Rows rows = rows_of(classes, weights, view.rows, counts.shape(0));
    without_gil(threads, [&](const Run& run) {
        kernels().count_dense(view, rows, reading_of(threshold), counts.data(), run);
    });
}

void count_sparse(AnyVector starts, AnyVector columns, AnyVector values, Classes classes, Weights weights,
                  std::optional<double> threshold, Table counts, int threads) {
    Sparse view = sparse(starts, columns, values, counts.shape(1));
    Rows rows = rows_of(classes, weights, view.rows, counts.shape(0));
    without_gil(threads, [&](const Run& run) {
        kernels().count_sparse(view, rows, reading_of(threshold), counts.data(), run);
    });
}

void count_moments(AnyMatrix x, Classes classes, Weights weights, Table shift, Planes sums, int threads) {
    Matrix view = matrix(x);
    require(sums.shape(0) == 3 && sums.shape(1) == shift.shape(0) && sums.shape(2) == shift.shape(1) &&
                shift.shape(1) == view.columns,
            "Shift and sums must have a column for each column of the matrix.");
    Rows rows = rows_of(classes, weights, view.rows, shift.shape(0));
    without_gil(threads, [&](const Run& run) { kernels().count_moments(view, rows, shift.data(), sums.data(), run); });
}

void ranges(AnyMatrix x, Vector least, Vector largest, int threads) {
    Matrix view = matrix(x);
    require(least.shape(0) == view.columns && largest.shape(0) == view.columns, "There must be a place for each column.");
    without_gil(threads, [&](const Run& run) { kernels().ranges(view, least.data(), largest.data(), run); });
}

void check_scores(size_t rows, size_t classes, const Table& scores) {
    require(scores.shape(0) == rows && scores.shape(1) == classes, "The scores must be [row, class].");
}

void score_codes(AnyMatrix x, Offsets offsets, ConstTable table, Table scores, int threads) {
    Matrix view = codes(x);
    check_offsets(offsets, view.columns, table.shape(0), 1);
    check_scores(view.rows, table.shape(1), scores);
    without_gil(threads, [&](const Run& run) {
        kernels().score_codes(view, offsets.data(), table.data(), table.shape(1), scores.data(), run);
    });
}

void score_dense(AnyMatrix x, std::optional<double> threshold, ConstTable table, Table scores, int threads) {
    Matrix view = matrix(x);
    require(table.shape(0) == view.columns, "The table must have a line for each column of the matrix.");
    check_scores(view.rows, table.shape(1), scores);
    without_gil(threads, [&](const Run& run) {
        kernels().score_dense(view, reading_of(threshold), table.data(), table.shape(1), scores.data(), run);
    });
}

void score_sparse(AnyVector starts, AnyVector columns, AnyVector values, std::optional<double> threshold,
                  ConstTable table, Table scores, int threads) {
    Sparse view = sparse(starts, columns, values, table.shape(0));
    check_scores(view.rows, table.shape(1), scores);
    without_gil(threads, [&](const Run& run) {
        kernels().score_sparse(view, reading_of(threshold), table.data(), table.shape(1), scores.data(), run);
    });
}

bool same_shape(const ConstTable& a, const ConstTable& b) { return a.shape(0) == b.shape(0) && a.shape(1) == b.shape(1); }

void score_normal(AnyMatrix x, ConstTable centre, ConstTable precision, ConstTable base, Table scores, int threads) {
    Matrix view = matrix(x);
    require(centre.shape(0) == view.columns && same_shape(centre, precision) && same_shape(centre, base),
            "The tables must be [column, class], all alike.");
    check_scores(view.rows, centre.shape(1), scores);
    without_gil(threads, [&](const Run& run) {
        kernels().score_normal(view, centre.data(), precision.data(), base.data(), centre.shape(1), scores.data(), run);
    });
}

void score_student(AnyMatrix x, ConstTable centre, ConstTable precision, ConstTable power, ConstTable base,
                   Table scores, int threads) {
    Matrix view = matrix(x);
    require(centre.shape(0) == view.columns && same_shape(centre, precision) && same_shape(centre, power) &&
                same_shape(centre, base),
            "The tables must be [column, class], all alike.");
    check_scores(view.rows, centre.shape(1), scores);
    without_gil(threads, [&](const Run& run) {
        kernels().score_student(view, centre.data(), precision.data(), power.data(), base.data(), centre.shape(1),
                                scores.data(), run);
    });
}

void normalise(Table scores, ConstVector fallback, bool exponential, Vector evidence, int threads) {
    require(fallback.shape(0) == scores.shape(1) && evidence.shape(0) == scores.shape(0),
            "There must be a fallback for each class and evidence for each row.");
    without_gil(threads, [&](const Run& run) {
        kernels().normalise(scores.data(), scores.shape(0), scores.shape(1), fallback.data(), exponential,
                            evidence.data(), run);
    });
}

}  // namespace

NB_MODULE(_kernels, m) {
    m.doc() = "Counting and scoring loops. Arrays given for results are filled in place.";

    m.def("levels", &level_names, "Instruction levels that this machine can run, best first.");
    m.def("use_level", &use_level, "name"_a, "Run the kernels of this instruction level from now on.");

    m.def("count_rows", &count_rows, "classes"_a, "weights"_a.none(), "counts"_a.noconvert(),
          "counts[class] += weight for each row.");
    m.def("count_codes", &count_codes, "x"_a.noconvert(), "classes"_a, "weights"_a.none(), "offsets"_a,
          "counts"_a.noconvert(), "threads"_a = 1,
          "counts[offsets[j] + code, class] += weight for each cell; codes outside their part count for nothing.");
    m.def("count_dense", &count_dense, "x"_a.noconvert(), "classes"_a, "weights"_a.none(), "threshold"_a.none(),
          "counts"_a.noconvert(), "threads"_a = 1,
          "counts[class, column] += weight * x, or += weight where x > threshold.");
    m.def("count_sparse", &count_sparse, "starts"_a, "columns"_a, "values"_a, "classes"_a, "weights"_a.none(),
          "threshold"_a.none(), "counts"_a.noconvert(), "threads"_a = 1,
          "The same for a sparse matrix, given as its three arrays (CSR).");
    m.def("count_moments", &count_moments, "x"_a.noconvert(), "classes"_a, "weights"_a.none(), "shift"_a.noconvert(),
          "sums"_a.noconvert(), "threads"_a = 1,
          "sums[0] += w, sums[1] += w (x - shift), sums[2] += w (x - shift)**2; NaN is a hole. New classes get a shift.");
    m.def("ranges", &ranges, "x"_a.noconvert(), "least"_a.noconvert(), "largest"_a.noconvert(), "threads"_a = 1,
          "Least and largest value of each column.");

    m.def("score_codes", &score_codes, "x"_a.noconvert(), "offsets"_a, "table"_a, "scores"_a.noconvert(),
          "threads"_a = 1,
          "scores[row, class] += table[offsets[j] + code, class]; the last line of each part is for unknown codes.");
    m.def("score_dense", &score_dense, "x"_a.noconvert(), "threshold"_a.none(), "table"_a, "scores"_a.noconvert(),
          "threads"_a = 1, "scores[row, class] += x * table[column, class], or += table where x > threshold.");
    m.def("score_sparse", &score_sparse, "starts"_a, "columns"_a, "values"_a, "threshold"_a.none(), "table"_a,
          "scores"_a.noconvert(), "threads"_a = 1, "The same for a sparse matrix.");
    m.def("score_normal", &score_normal, "x"_a.noconvert(), "centre"_a, "precision"_a, "base"_a,
          "scores"_a.noconvert(), "threads"_a = 1,
          "scores[row, class] += base - (x - centre)**2 * precision, summed over the columns; NaN says nothing.");
    m.def("score_student", &score_student, "x"_a.noconvert(), "centre"_a, "precision"_a, "power"_a, "base"_a,
          "scores"_a.noconvert(), "threads"_a = 1,
          "scores[row, class] += base - power * log(1 + (x - centre)**2 * precision), summed over the columns.");
    m.def("normalise", &normalise, "scores"_a.noconvert(), "fallback"_a, "exponential"_a, "evidence"_a.noconvert(),
          "threads"_a = 1, "Turn log joints into (log) posteriors in place; rows ruled out everywhere get the fallback.");
}
