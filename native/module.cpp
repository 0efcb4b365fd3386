// The extension module: arrays in, checks, one call of the kernels of the best instruction level, GIL released.
#include <memory>

#include "arrays.hpp"
#include "dealing.hpp"
#include "pyscorer.hpp"
#include "pystrings.hpp"
#include "pywords.hpp"

using namespace nb::literals;
using namespace naively;

namespace {

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

void count_rows(Classes classes, Weights weights, Vector counts) {
    Rows rows = rows_of(classes, weights, classes.shape(0), counts.shape(0));
    double* n = counts.data();
    size_t end = classes.shape(0);
    if (end <= 1024) {
        for (size_t row = 0; row < end; ++row) n[rows.classes[row]] += rows.weights ? rows.weights[row] : 1.0;
        return;
    }
    if (!rows.weights) {
        // Neighbours are counted apart: two rows of one class need not wait for each other.
        std::vector<uint64_t> met(4 * counts.shape(0), 0);
        for (size_t row = 0; row < end; ++row) ++met[4 * size_t(rows.classes[row]) + row % 4];
        for (size_t i = 0; i < met.size(); ++i) n[i / 4] += double(met[i]);
        return;
    }
    // Fractions in steps that are added up apart: sums of sums round less than one long sum.
    std::vector<double> part(counts.shape(0), 0.0);
    size_t step = std::max<size_t>(1024, 8 * part.size());
    for (size_t begin = 0; begin < end; begin += step) {
        for (size_t row = begin; row < std::min(end, begin + step); ++row) part[rows.classes[row]] += rows.weights[row];
        for (size_t k = 0; k < part.size(); ++k) n[k] += part[k], part[k] = 0.0;
    }
}

int64_t count_codes(AnyMatrix x, Classes classes, Weights weights, bool holes, Offsets offsets, Table counts,
                    int threads) {
    Matrix view = codes(x);
    check_offsets(offsets, view.columns, counts.shape(0), 0);
    require(counts.size() >> 32 == 0, "A table of codes must have fewer than 2^32 cells; merge rare values first.");
    Rows rows = rows_of(classes, weights, view.rows, counts.shape(1));
    size_t row = NO_ROW;
    without_gil(threads, [&](const Run& run) { row = kernels().count_codes(view, rows, holes, offsets.data(), counts.data(), run); });
    return refused(row);
}

int64_t count_dense(AnyMatrix x, Classes classes, Weights weights, std::optional<double> threshold,
                    std::optional<double> least, Table counts, int threads) {
    Matrix view = matrix(x);
    require(counts.shape(1) == view.columns, "The counts must have a column for each column of the matrix.");
    Rows rows = rows_of(classes, weights, view.rows, counts.shape(0));
    Limits limits = limits_of(least, threshold ? std::nullopt : std::optional(LARGEST_COUNT), false);
    size_t row = NO_ROW;
    without_gil(threads, [&](const Run& run) {
        row = kernels().count_dense(view, rows, reading_of(threshold), limits, counts.data(), run);
    });
    return refused(row);
}

int64_t count_sparse(AnyVector starts, AnyVector columns, AnyVector values, Classes classes, Weights weights,
                     std::optional<double> threshold, std::optional<double> least, Table counts, int threads) {
    Sparse view = sparse(starts, columns, values, counts.shape(1));
    Rows rows = rows_of(classes, weights, view.rows, counts.shape(0));
    Limits limits = limits_of(least, threshold ? std::nullopt : std::optional(LARGEST_COUNT), false);
    size_t row = NO_ROW;
    without_gil(threads, [&](const Run& run) {
        row = kernels().count_sparse(view, rows, reading_of(threshold), limits, counts.data(), run);
    });
    return refused(row);
}

int64_t count_moments(AnyMatrix x, Classes classes, Weights weights, bool holes, Table shift, Planes sums, int threads) {
    Matrix view = matrix(x);
    require(sums.shape(0) == 3 && sums.shape(1) == shift.shape(0) && sums.shape(2) == shift.shape(1) &&
                shift.shape(1) == view.columns,
            "Shift and sums must have a column for each column of the matrix.");
    Rows rows = rows_of(classes, weights, view.rows, shift.shape(0));
    size_t row = NO_ROW;
    without_gil(threads, [&](const Run& run) {
        row = kernels().count_moments(view, rows, {-LARGEST, LARGEST, holes}, shift.data(), sums.data(), run);
    });
    return refused(row);
}

// One row as Python holds it, counted whole: numbers (NaN: none) and codes of a class, of weight one. If a number is
// refused nothing is changed, and the answer is no.
bool count_row(nb::list numbers, nb::list codes, int32_t of_class, Table shift, Planes sums, Offsets offsets, Table counts,
               Vector total) {
    std::vector<double> x;
    std::vector<int32_t> c;
    for (nb::handle number : numbers) x.push_back(nb::cast<double>(number));
    for (nb::handle code : codes) c.push_back(nb::cast<int32_t>(code));
    size_t classes = std::min({total.shape(0), shift.shape(0), counts.shape(1)});
    require(of_class >= 0 && size_t(of_class) < classes, "A class code lies outside the table.");
    require(shift.shape(1) == x.size() && sums.shape(0) == 3 && sums.shape(1) == shift.shape(0) &&
                sums.shape(2) == x.size(), "Shift and sums must have a column for each number.");
    check_offsets(offsets, c.size(), counts.shape(0), 0);
    require(counts.size() >> 32 == 0, "A table of codes must have fewer than 2^32 cells; merge rare values first.");
    Run run{1, interrupted};
    auto one_row = [](const void* data, Type type, size_t n) { return Matrix{data, type, 1, n, ptrdiff_t(n), 1}; };
    // The codes are looked at first: they come from a dictionary, and none of them is ever refused.
    for (size_t j = 0; j < c.size(); ++j) require(c[j] >= 0 && c[j] < offsets(j + 1) - offsets(j), "A code without room.");
    Limits limits{-LARGEST, LARGEST, true};
    if (!x.empty() && kernels().count_moments(one_row(x.data(), Type::f64, x.size()), {&of_class, nullptr, shift.shape(0)}, limits,
                                              shift.data(), sums.data(), run) != NO_ROW)
        return false;
    kernels().count_codes(one_row(c.data(), Type::i32, c.size()), {&of_class, nullptr, counts.shape(1)}, false, offsets.data(),
                          counts.data(), run);
    total.data()[of_class] += 1.0;
    return true;
}

void ranges(AnyMatrix x, Vector least, Vector largest, int threads) {
    Matrix view = matrix(x);
    require(least.shape(0) == view.columns && largest.shape(0) == view.columns, "There must be a place for each column.");
    without_gil(threads, [&](const Run& run) { kernels().ranges(view, least.data(), largest.data(), run); });
}

void bin_numbers(AnyMatrix x, ConstVector cuts, Offsets offsets, nb::ndarray<int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> out,
                 int threads) {
    Matrix view = matrix(x);
    check_offsets(offsets, view.columns, cuts.shape(0), 0);
    require(out.shape(0) == view.rows && out.shape(1) == view.columns, "There must be a place for each cell.");
    without_gil(threads, [&](const Run& run) { kernels().bin_numbers(view, cuts.data(), offsets.data(), out.data(), run); });
}

void count_products(AnyMatrix x, Offsets offsets, ConstTable numbers, Classes classes, Weights weights, Planes products,
                    int threads) {
    Matrix view = codes(x);
    check_offsets(offsets, view.columns, size_t(offsets(view.columns)), 0);
    check_few_codes(offsets, view.columns);
    size_t features = 1 + size_t(offsets(view.columns)) + numbers.shape(1);
    require(numbers.shape(0) == view.rows, "There must be as many rows of numbers as of codes.");
    require(products.shape(1) == features && products.shape(2) == features, "The products must be [class, feature, feature].");
    Rows rows = rows_of(classes, weights, view.rows, products.shape(0));
    auto never = [] { return false; };  // stopped half-way, the products would hold half a block
    nb::gil_scoped_release no_gil;
    kernels().count_products(view, offsets.data(), numbers.data(), numbers.shape(1), rows, products.data(), Run{threads, never});
}

int64_t left_codes(AnyMatrix x, Classes classes, Weights weights, Offsets offsets, ConstTable logs, ConstTable n, ConstVector met,
                   ConstVector kept, ConstTable totals, ConstTable columns, Table out, int threads) {
    Matrix view = codes(x);
    require(out.shape(0) == view.rows, "There must be a place for each row.");
    Rows rows = rows_of(classes, weights, view.rows, out.shape(1));
    size_t lines = n.shape(0), width = (out.shape(1) + LANES - 1) / LANES * LANES;
    check_offsets(offsets, view.columns, lines, 1);
    require(n.size() >> 32 == 0, "A table of codes must have fewer than 2^32 cells; merge rare values first.");
    require(met.shape(0) == lines && kept.shape(0) == lines, "There must be a number for each line of the tables.");
    require(totals.shape(0) == view.columns && totals.shape(1) == out.shape(1), "The totals must be [column, class].");
    require(columns.shape(0) == view.columns && columns.shape(1) * sizeof(double) == sizeof(LabelCounts::Column),
            "There must be six numbers for each column.");
    const char* wrong = "The tables must have the same lines, padded to a multiple of four classes.";
    LabelCounts labels{offsets.data(), padded(logs, lines, width, wrong), padded(n, lines, width, wrong), met.data(), kept.data(),
                  totals.data(), reinterpret_cast<const LabelCounts::Column*>(columns.data())};
    size_t row = NO_ROW;
    without_gil(threads, [&](const Run& run) { row = kernels().left_codes(view, rows, labels, out.data(), run); });
    return refused(row);
}

int64_t left_numbers(AnyMatrix x, Classes classes, Weights weights, ConstTable n, ConstTable mean, ConstTable ssd, ConstTable grain,
                     const std::string& estimate, double worth, double epsilon, Table out, int threads) {
    Matrix view = matrix(x);
    require(out.shape(0) == view.rows, "There must be a place for each row.");
    Rows rows = rows_of(classes, weights, view.rows, out.shape(1));
    for (const ConstTable& table : {n, mean, ssd, grain})
        require(table.shape(0) == view.columns && table.shape(1) == out.shape(1), "The moments must be [column, class].");
    require(estimate == "mle" || estimate == "map" || estimate == "bayes", "The estimate is mle, map or bayes.");
    Estimate how = estimate == "mle" ? Estimate::mle : estimate == "map" ? Estimate::map : Estimate::bayes;
    size_t row = NO_ROW;
    without_gil(threads, [&](const Run& run) {
        row = kernels().left_numbers(view, rows, {n.data(), mean.data(), ssd.data(), grain.data(), how, worth, epsilon}, out.data(), run);
    });
    return refused(row);
}

using Groups = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Pieces = nb::ndarray<float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Words32 = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

WordCounts word_counts(const ConstTable& texts, const ConstVector& totals, const Groups& group, const ConstTable& mass, double imagined) {
    size_t words = texts.shape(0), classes = mass.shape(1);
    require(totals.shape(0) == words && group.shape(0) == words, "There must be a number for each word.");
    require(classes > 0 && imagined > 0, "There must be a class, and something imagined.");
    for (size_t i = 0; i < words; ++i) require(group(i) < mass.shape(0), "A word is of a group that is not there.");
    Padded table = padded(texts, words, (classes + LANES - 1) / LANES * LANES, "The texts must be padded to a multiple of four classes.");
    return {table, totals.data(), group.data(), mass.data(), mass.shape(0), classes, imagined};
}

void word_weights(ConstTable texts, ConstVector totals, Groups group, ConstTable mass, ConstTable mix, double imagined, Table out, int threads) {
    WordCounts counts = word_counts(texts, totals, group, mass, imagined);
    require(mix.shape(0) == counts.groups && mix.shape(1) == 2, "Each group has two ways to speak.");
    require(out.shape(0) == texts.shape(0) && out.shape(1) == counts.classes, "There must be a weight for each word and class.");
    without_gil(threads, [&](const Run& run) { kernels().word_weights(counts, mix.data(), out.data(), run); });
}

void left_words(Offsets starts, Words32 words, Classes classes, Weights weights, ConstTable texts, ConstVector totals, Groups group,
                ConstTable mass, double imagined, Pieces out, int threads) {
    WordCounts counts = word_counts(texts, totals, group, mass, imagined);
    size_t n = out.shape(2);
    require(starts.shape(0) == n + 1 && starts(0) == 0 && size_t(starts(n)) <= words.shape(0), "The words lie outside their rows.");
    for (size_t i = 0; i < n; ++i) require(starts(i) <= starts(i + 1), "The rows overlap.");
    for (size_t i = 0; i < words.shape(0); ++i) require(words(i) >= 0 && size_t(words(i)) < texts.shape(0), "There is no such word.");
    require(out.shape(0) == 2 * counts.groups && out.shape(1) == counts.classes, "There must be a place for each piece.");
    Rows rows = rows_of(classes, weights, n, counts.classes);
    without_gil(threads, [&](const Run& run) {
        kernels().left_words({starts.data(), words.data(), n}, rows, counts, out.data(), run);
    });
}

nb::object owned(std::unique_ptr<int32_t[]> codes, size_t n) {
    nb::capsule owner(codes.get(), [](void* p) noexcept { delete[] static_cast<int32_t*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, int32_t, nb::ndim<1>>(codes.release(), {n}, owner));
}

// Whole-number labels as codes: the labels in order, and the place of each among them. None if they lie too far apart.
template <class T>
nb::object encoded(const T* y, size_t n) {
    constexpr uint64_t FARTHEST = uint64_t{1} << 20;
    if (!n) return nb::none();
    T low = y[0], high = y[0];
    for (size_t i = 0; i < n; ++i) low = std::min(low, y[i]), high = std::max(high, y[i]);
    uint64_t least = uint64_t(int64_t(low)), span = uint64_t(int64_t(high)) - least;
    if (span >= FARTHEST) return nb::none();
    std::vector<int32_t> code(span + 1, -1);
    for (size_t i = 0; i < n; ++i) code[uint64_t(int64_t(y[i])) - least] = 0;
    auto labels = new std::vector<int64_t>();
    nb::capsule own_labels(labels, [](void* p) noexcept { delete static_cast<std::vector<int64_t>*>(p); });
    for (uint64_t i = 0; i <= span; ++i)
        if (code[i] == 0) code[i] = int32_t(labels->size()), labels->push_back(int64_t(least + i));
    std::unique_ptr<int32_t[]> codes(new int32_t[n]);
    for (size_t i = 0; i < n; ++i) codes[i] = code[uint64_t(int64_t(y[i])) - least];
    return nb::make_tuple(nb::ndarray<nb::numpy, int64_t, nb::ndim<1>>(labels->data(), {labels->size()}, own_labels),
                          owned(std::move(codes), n));
}

// The place of each label among the known ones, which are sorted. None if one is not there.
nb::object places(Labels known, Labels y) {
    require_aligned(known), require_aligned(y);
    size_t n = y.shape(0);
    std::unique_ptr<int32_t[]> codes(new int32_t[n]);
    const int64_t *first = known.data(), *last = first + known.shape(0);
    for (size_t i = 0; i < n; ++i) {
        const int64_t* found = std::lower_bound(first, last, y(i));
        if (found == last || *found != y(i)) return nb::none();
        codes[i] = int32_t(found - first);
    }
    return owned(std::move(codes), n);
}

nb::object encode(AnyVector y) {
    switch (type_of(y)) {
        case Type::i64: return encoded(static_cast<const int64_t*>(y.data()), y.shape(0));
        case Type::i32: return encoded(static_cast<const int32_t*>(y.data()), y.shape(0));
        case Type::u8: return encoded(static_cast<const uint8_t*>(y.data()), y.shape(0));
        default: return nb::none();
    }
}

}  // namespace

NB_MODULE(_kernels, m) {
    m.doc() = "Counting and scoring loops. Arrays given for results are filled in place; a count or an answer returns the\n"
              "first row that it refuses, or -1. A call that refuses a row has changed no counts.";
    // Whoever stops a program by Ctrl-C leaves objects behind, and need not be told so.
    nb::set_leak_warnings(false);

    m.def("levels", &level_names, "Instruction levels that this machine can run, best first.");
    m.def("use_level", &use_level, "name"_a, "Run the kernels of this instruction level from now on.");

    m.def("encode", &encode, "y"_a,
          "Whole-number labels in order, and the code of each row; None if the labels lie too far apart.");
    m.def("places", &places, "known"_a.noconvert(), "y"_a.noconvert(),
          "The place of each label among the known ones, which are sorted; None if one is not among them.");
    m.def("count_rows", &count_rows, "classes"_a.noconvert(), "weights"_a.noconvert().none(), "counts"_a.noconvert(),
          "counts[class] += weight for each row.");
    m.def("count_codes", &count_codes, "x"_a.noconvert(), "classes"_a.noconvert(), "weights"_a.noconvert().none(), "holes"_a, "offsets"_a.noconvert(),
          "counts"_a.noconvert(), "threads"_a = 1,
          "counts[offsets[j] + code, class] += weight for each cell. Refuses codes beyond their part, and negative ones\n"
          "unless holes are allowed.");
    m.def("count_dense", &count_dense, "x"_a.noconvert(), "classes"_a.noconvert(), "weights"_a.noconvert().none(), "threshold"_a.none(),
          "least"_a.none(), "counts"_a.noconvert(), "threads"_a = 1,
          "counts[class, column] += weight * x, or += weight where x > threshold. Refuses x < least, NaN and infinity.");
    m.def("count_sparse", &count_sparse, "starts"_a, "columns"_a, "values"_a, "classes"_a.noconvert(), "weights"_a.noconvert().none(),
          "threshold"_a.none(), "least"_a.none(), "counts"_a.noconvert(), "threads"_a = 1,
          "The same for a sparse matrix, given as its three arrays (CSR).");
    m.def("count_moments", &count_moments, "x"_a.noconvert(), "classes"_a.noconvert(), "weights"_a.noconvert().none(), "holes"_a,
          "shift"_a.noconvert(), "sums"_a.noconvert(), "threads"_a = 1,
          "sums[0] += w, sums[1] += w (x - shift), sums[2] += w (x - shift)**2. New classes get a shift. Refuses numbers\n"
          "beyond 1e150, and NaN unless holes are allowed.");
    m.def("count_row", &count_row, "numbers"_a, "codes"_a, "of_class"_a, "shift"_a.noconvert(), "sums"_a.noconvert(),
          "offsets"_a.noconvert(), "counts"_a.noconvert(), "total"_a.noconvert(),
          "Count one row of numbers and codes; False if a number is refused, and nothing was changed.");
    m.def("ranges", &ranges, "x"_a.noconvert(), "least"_a.noconvert(), "largest"_a.noconvert(), "threads"_a = 1,
          "Least and largest value of each column.");

    m.def("bin_numbers", &bin_numbers, "x"_a.noconvert(), "cuts"_a.noconvert(), "offsets"_a.noconvert(), "out"_a.noconvert(),
          "threads"_a = 1, "The bin of each number: how many of its column's cuts lie below it; -1 for NaN.");
    m.def("count_products", &count_products, "codes"_a.noconvert(), "offsets"_a.noconvert(), "numbers"_a.noconvert(),
          "classes"_a.noconvert(), "weights"_a.noconvert().none(), "products"_a.noconvert(), "threads"_a = 1,
          "products[class, f, g] += weight * f * g for features f <= g: 1, a flag for each code, the numbers.");
    m.def("left_codes", &left_codes, "x"_a.noconvert(), "classes"_a.noconvert(), "weights"_a.noconvert().none(), "offsets"_a.noconvert(),
          "logs"_a.noconvert(), "n"_a.noconvert(), "met"_a.noconvert(), "kept"_a.noconvert(), "totals"_a.noconvert(),
          "columns"_a.noconvert(), "out"_a.noconvert(), "threads"_a = 1,
          "out[row] += log P(row | class) by the shares of all other rows. Refuses rows that cannot have been counted.");
    m.def("word_weights", &word_weights, "texts"_a.noconvert(), "totals"_a.noconvert(), "group"_a.noconvert(), "mass"_a.noconvert(),
          "mix"_a.noconvert(), "imagined"_a, "out"_a.noconvert(), "threads"_a = 1,
          "What each word says about each class, in two ways that count as the mix of its group says.");
    m.def("left_words", &left_words, "starts"_a.noconvert(), "words"_a.noconvert(), "classes"_a.noconvert(), "weights"_a.noconvert().none(),
          "texts"_a.noconvert(), "totals"_a.noconvert(), "group"_a.noconvert(), "mass"_a.noconvert(), "imagined"_a, "out"_a.noconvert(),
          "threads"_a = 1, "The same of rows as if they had never been counted, out[group and way, class, row].");
    m.def("left_numbers", &left_numbers, "x"_a.noconvert(), "classes"_a.noconvert(), "weights"_a.noconvert().none(), "n"_a.noconvert(),
          "mean"_a.noconvert(), "ssd"_a.noconvert(), "grain"_a.noconvert(), "estimate"_a, "worth"_a, "epsilon"_a,
          "out"_a.noconvert(), "threads"_a = 1,
          "out[row] += log p(row | class) by the bells of all other rows. Refuses infinite numbers.");

    nb::class_<PyScorer>(m, "Scorer", "Adds up what columns say about classes, block by block, and answers.")
        .def("__init__", [](PyScorer* at, ConstVector log_prior) { new (at) PyScorer(kernels(), log_prior); }, "log_prior"_a)
        .def("constant", &PyScorer::constant, "values"_a, "against"_a = false, "Add a number to each class.")
        .def("temper", &PyScorer::temper, "scale"_a, "bias"_a.none() = nb::none(),
             "Answer with bias + scale * (all that was added), whenever it was or will be.")
        .def("codes", &PyScorer::codes, "x"_a.noconvert(), "offsets"_a.noconvert(), "table"_a.noconvert(), "against"_a = false,
             "holes"_a = true,
             "Add table[offsets[j] + code]; the last line of each part is for unknown codes; negative ones are holes.")
        .def("pairs", &PyScorer::pairs, "x"_a.noconvert(), "offsets"_a.noconvert(), "first"_a.noconvert(), "second"_a.noconvert(),
             "lines"_a.noconvert(), "table"_a.noconvert(),
             "Add table[lines[p] + code of first[p] * (codes of second[p] + 1) + code of second[p]] for each pair p.")
        .def("dense", &PyScorer::dense, "x"_a.noconvert(), "threshold"_a.none(), "table"_a.noconvert(),
             "against"_a = false, "Add x * table[column], or table[column] where x > threshold.")
        .def("sparse", &PyScorer::sparse, "starts"_a, "columns"_a, "values"_a, "threshold"_a.none(),
             "table"_a.noconvert(), "against"_a = false, "The same for a sparse matrix.")
        .def("normal", &PyScorer::normal, "x"_a.noconvert(), "centre"_a.noconvert(), "precision"_a.noconvert(),
             "base"_a.noconvert(), "holes"_a,
             "Add base - (x - centre)**2 * precision, summed over the columns; a hole (NaN) says nothing.")
        .def("student", &PyScorer::student, "x"_a.noconvert(), "centre"_a.noconvert(), "precision"_a.noconvert(),
             "power"_a.noconvert(), "base"_a.noconvert(), "holes"_a,
             "Add base - power * log(1 + (x - centre)**2 * precision), summed over the columns.")
        .def("given", &PyScorer::given, "scores"_a.noconvert(), "against"_a = false, "Add these scores [row, class].")
        .def("log_joint", &PyScorer::log_joint, "out"_a.noconvert(), "threads"_a = 1,
             "The sums; -inf where the prior, or what was added against, rules a class out.")
        .def("posterior", &PyScorer::posterior, "fallback"_a, "out"_a.noconvert(), "threads"_a = 1,
             "Probabilities; rows that rule out every class get the fallback (logarithms).")
        .def("log_posterior", &PyScorer::log_posterior, "fallback"_a, "out"_a.noconvert(), "threads"_a = 1,
             "Logarithms of the probabilities.")
        .def("choice", &PyScorer::choice, "fallback"_a, "out"_a.noconvert(), "threads"_a = 1,
             "labels"_a.noconvert() = nb::none(),
             "The first class of the highest score, for each row: its label, or its code if there are no labels.");

    nb::class_<TextCodes>(m, "TextCodes", "Codes of texts, by a dictionary that grows or stays as it is.")
        .def(nb::init<>())
        .def("add", &TextCodes::add, "texts"_a, "codes"_a, "Give texts their codes; those that have one keep it.")
        .def_rw("next", &TextCodes::next_, "The code of the next text that was never met.")
        .def("encode", &TextCodes::encode, "starts"_a.noconvert(), "data"_a.noconvert(), "valid"_a.none(), "skipped"_a,
             "missing"_a, "unseen"_a, "out"_a.noconvert(),
             "Fill in the code of each row of texts in one buffer (Arrow's string). With unseen NEW, texts never met get new\n"
             "codes; returned are the rows in which they were met first.")
        .def("encode_views", &TextCodes::encode_views, "views"_a.noconvert(), "buffers"_a, "valid"_a.none(), "skipped"_a,
             "missing"_a, "unseen"_a, "out"_a.noconvert(), "The same for views of texts (Arrow's string_view).");
    m.attr("NEW") = Dictionary::NONE;
    bind_words(m);
    bind_dealing(m);
}
