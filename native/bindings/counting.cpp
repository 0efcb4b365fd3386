// The kernels that count, as Python calls them.
#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/levels.hpp"
#include "bindings/text_columns.hpp"
#include "counting/quantiles.hpp"

using namespace nb::literals;

namespace naively {

namespace {

void count_rows(Classes classes, Weights weights, Vector counts) {
    LabeledRows rows = labeled_rows(classes, weights, classes.shape(0), counts.shape(0));
    double* n = counts.data();
    size_t end = classes.shape(0);
    if (end <= 1024) {
        for (size_t row = 0; row < end; ++row) n[rows.classes[row]] += rows.weights ? rows.weights[row] : 1.0;
        return;
    }
    if (!rows.weights) {
        // Four counters for each class: two neighboring rows of one class need not wait for each other.
        std::vector<uint64_t> seen(4 * counts.shape(0), 0);
        for (size_t row = 0; row < end; ++row) ++seen[4 * size_t(rows.classes[row]) + row % 4];
        for (size_t i = 0; i < seen.size(); ++i) n[i / 4] += double(seen[i]);
        return;
    }
    // Fractions in steps: sums of sums round less than one long sum.
    std::vector<double> part(counts.shape(0), 0.0);
    size_t step = std::max<size_t>(1024, 8 * part.size());
    for (size_t begin = 0; begin < end; begin += step) {
        for (size_t row = begin; row < std::min(end, begin + step); ++row) part[rows.classes[row]] += rows.weights[row];
        for (size_t k = 0; k < part.size(); ++k) n[k] += part[k], part[k] = 0.0;
    }
}

int64_t count_codes(AnyMatrix x, Classes classes, Weights weights, bool allow_missing, Offsets offsets, Table counts,
                    int threads) {
    Matrix view = codes(x);
    check_offsets(offsets, view.columns, counts.shape(0), 0);
    require(counts.size() >> 32 == 0, "A table of codes must have fewer than 2^32 cells; merge rare values first.");
    LabeledRows rows = labeled_rows(classes, weights, view.rows, counts.shape(1));
    size_t row = NO_ROW;
    without_gil(threads, [&](const Run& run) {
        row = kernels().count_codes(view, rows, allow_missing, offsets.data(), counts.data(), run);
    });
    return refused(row);
}

int64_t count_dense(AnyMatrix x, Classes classes, Weights weights, std::optional<double> threshold,
                    std::optional<double> least, Table counts, int threads) {
    Matrix view = matrix(x);
    require(counts.shape(1) == view.columns, "The counts must have a column for each column of the matrix.");
    LabeledRows rows = labeled_rows(classes, weights, view.rows, counts.shape(0));
    AllowedRange limits = allowed_range(least, threshold ? std::nullopt : std::optional(LARGEST_COUNT), false);
    size_t row = NO_ROW;
    without_gil(threads, [&](const Run& run) {
        row = kernels().count_dense(view, rows, binarize_of(threshold), limits, counts.data(), run);
    });
    return refused(row);
}

int64_t count_sparse(AnyVector starts, AnyVector columns, AnyVector values, Classes classes, Weights weights,
                     std::optional<double> threshold, std::optional<double> least, Table counts, int threads) {
    SparseMatrix view = sparse(starts, columns, values, counts.shape(1));
    LabeledRows rows = labeled_rows(classes, weights, view.rows, counts.shape(0));
    AllowedRange limits = allowed_range(least, threshold ? std::nullopt : std::optional(LARGEST_COUNT), false);
    size_t row = NO_ROW;
    without_gil(threads, [&](const Run& run) {
        row = kernels().count_sparse(view, rows, binarize_of(threshold), limits, counts.data(), run);
    });
    return refused(row);
}

int64_t count_moments(AnyMatrix x, Classes classes, Weights weights, bool allow_missing, Table shift, Planes sums,
                      int threads) {
    Matrix view = matrix(x);
    require(sums.shape(0) == 3 && sums.shape(1) == shift.shape(0) && sums.shape(2) == shift.shape(1) &&
                shift.shape(1) == view.columns,
            "Shift and sums must have a column for each column of the matrix.");
    LabeledRows rows = labeled_rows(classes, weights, view.rows, shift.shape(0));
    size_t row = NO_ROW;
    without_gil(threads, [&](const Run& run) {
        row = kernels().count_moments(view, rows, {-LARGEST_NUMBER, LARGEST_NUMBER, allow_missing}, shift.data(),
                                      sums.data(), run);
    });
    return refused(row);
}

// Counts one row of Python objects, of weight one: numbers (NaN: missing) and codes. If a number is refused, nothing is
// changed, and the answer is false.
bool count_row(nb::list numbers, nb::list codes, int32_t of_class, Table shift, Planes sums, Offsets offsets,
               Table counts, Vector total) {
    std::vector<double> x;
    std::vector<int32_t> c;
    for (nb::handle number : numbers) x.push_back(nb::cast<double>(number));
    for (nb::handle code : codes) c.push_back(nb::cast<int32_t>(code));
    size_t classes = std::min({total.shape(0), shift.shape(0), counts.shape(1)});
    require(of_class >= 0 && size_t(of_class) < classes, "A class code lies outside the table.");
    require(shift.shape(1) == x.size() && sums.shape(0) == 3 && sums.shape(1) == shift.shape(0) &&
                sums.shape(2) == x.size(),
            "Shift and sums must have a column for each number.");
    check_offsets(offsets, c.size(), counts.shape(0), 0);
    require(counts.size() >> 32 == 0, "A table of codes must have fewer than 2^32 cells; merge rare values first.");
    Run run{1, interrupted};
    const Kernels& level = kernels();
    auto one_row = [](const void* data, Type type, size_t n) { return Matrix{data, type, 1, n, ptrdiff_t(n), 1}; };
    // The codes are checked first: they come from a dictionary, and none of them is ever refused.
    for (size_t j = 0; j < c.size(); ++j)
        require(c[j] >= 0 && c[j] < offsets(j + 1) - offsets(j), "A code lies outside its column.");
    AllowedRange limits{-LARGEST_NUMBER, LARGEST_NUMBER, true};
    if (!x.empty() && level.count_moments(one_row(x.data(), Type::f64, x.size()), {&of_class, nullptr, shift.shape(0)},
                                          limits, shift.data(), sums.data(), run) != NO_ROW)
        return false;
    level.count_codes(one_row(c.data(), Type::i32, c.size()), {&of_class, nullptr, counts.shape(1)}, false,
                      offsets.data(), counts.data(), run);
    total.data()[of_class] += 1.0;
    return true;
}

void column_ranges(AnyMatrix x, Vector least, Vector largest, int threads) {
    Matrix view = matrix(x);
    require(least.shape(0) == view.columns && largest.shape(0) == view.columns,
            "There must be a place for each column.");
    without_gil(threads, [&](const Run& run) { kernels().ranges(view, least.data(), largest.data(), run); });
}

using Hashes = nb::ndarray<const uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void hash_numbers(AnyMatrix x, Hashes factors, nb::ndarray<uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> out,
                  int threads) {
    Matrix view = matrix(x);
    require(factors.shape(0) == view.columns && out.shape(0) == view.rows,
            "There must be a factor for each column, and a place for each row.");
    without_gil(threads, [&](const Run& run) { kernels().hash_numbers(view, factors.data(), out.data(), run); });
}

void bin_numbers(AnyMatrix x, ConstVector cuts, Offsets offsets,
                 nb::ndarray<int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> out, int threads) {
    Matrix view = matrix(x);
    check_offsets(offsets, view.columns, cuts.shape(0), 0);
    require(out.shape(0) == view.rows && out.shape(1) == view.columns, "There must be a place for each cell.");
    without_gil(threads,
                [&](const Run& run) { kernels().bin_numbers(view, cuts.data(), offsets.data(), out.data(), run); });
}

using CodesTable = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Cells32 = nb::ndarray<int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void lay_out(AnyMatrix x, AnyMatrix labels, ConstVector cuts, Offsets cut_offsets, CodesTable coarse,
             Offsets coarse_offsets, ConstTable scale, double step, CodesTable places, Offsets place_offsets,
             Cells32 fine, Cells32 codes, Table level, int threads) {
    Matrix numbers = matrix(x), given = matrix(labels);
    require(given.type == Type::i32 && given.rows == numbers.rows, "There must be codes of labels for each row.");
    check_offsets(cut_offsets, numbers.columns, cuts.shape(0), 0);
    check_offsets(coarse_offsets, numbers.columns, coarse.shape(0), 1);
    check_offsets(place_offsets, given.columns, places.shape(0), 0);
    for (size_t j = 0; j < numbers.columns; ++j)
        require(coarse_offsets(j + 1) - coarse_offsets(j) > cut_offsets(j + 1) - cut_offsets(j),
                "There must be a coarse bin for each fine one.");
    require(scale.shape(0) == 4 && scale.shape(1) == numbers.columns, "The scale must be [4, column].");
    require(fine.shape(0) == numbers.rows && fine.shape(1) == numbers.columns && level.shape(0) == numbers.rows &&
                level.shape(1) == numbers.columns,
            "There must be a place for each number.");
    require(codes.shape(0) == numbers.columns + given.columns && codes.shape(1) == numbers.rows,
            "The codes must be [column, row].");
    GridLayout grid{numbers.columns, cuts.data(), cut_offsets.data(), coarse.data(),       coarse_offsets.data(),
                    scale.data(),    step,        places.data(),      place_offsets.data()};
    without_gil(threads, [&](const Run& run) {
        kernels().lay_out(numbers, given, grid, {fine.data(), codes.data(), level.data()}, run);
    });
}

void gather_numbers(const std::vector<AnyVector>& columns, const std::vector<std::optional<Bytes>>& valid,
                    const std::vector<size_t>& skipped, Table out, int threads) {
    size_t rows = out.shape(1);
    require(columns.size() == out.shape(0) && valid.size() == columns.size() && skipped.size() == columns.size(),
            "There must be a place for each column.");
    std::vector<NumberColumn> parts;
    for (size_t j = 0; j < columns.size(); ++j) {
        require(columns[j].shape(0) == rows, "All columns must be of the same length.");
        require(!valid[j] || valid[j]->shape(0) * 8 >= rows + skipped[j], "There must be a bit for each row.");
        parts.push_back({columns[j].data(), type_of(columns[j]), ptrdiff_t(columns[j].stride(0)),
                         valid[j] ? valid[j]->data() : nullptr, skipped[j]});
    }
    without_gil(threads,
                [&](const Run& run) { kernels().gather_numbers(parts.data(), parts.size(), rows, out.data(), run); });
}

void hash_codes(AnyMatrix x, Offsets offsets, Hashes table, Classes classes, Hashes of_class, uint64_t base,
                nb::ndarray<uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> out, int threads) {
    Matrix view = codes(x);
    require(view.type == Type::i32, "Codes must have 32 bits.");
    check_offsets(offsets, view.columns, table.shape(0), 1);
    require(out.shape(0) == view.rows, "There must be a place for each row.");
    labeled_rows(classes, std::nullopt, view.rows, of_class.shape(0));
    without_gil(threads, [&](const Run& run) {
        kernels().hash_codes(view, offsets.data(), table.data(), classes.data(), of_class.data(), base, out.data(),
                             run);
    });
}

void count_products(AnyMatrix x, Offsets offsets, ConstTable numbers, Classes classes, Weights weights, Planes products,
                    int threads) {
    Matrix view = codes(x);
    check_offsets(offsets, view.columns, size_t(offsets(view.columns)), 0);
    check_few_codes(offsets, view.columns);
    size_t features = 1 + size_t(offsets(view.columns)) + numbers.shape(1);
    require(numbers.shape(0) == view.rows, "There must be as many rows of numbers as of codes.");
    require(products.shape(1) == features && products.shape(2) == features,
            "The products must be [class, feature, feature].");
    LabeledRows rows = labeled_rows(classes, weights, view.rows, products.shape(0));
    auto never = [] { return false; };  // interrupted, the products would hold half a block
    nb::gil_scoped_release no_gil;
    kernels().count_products(view, offsets.data(), numbers.data(), numbers.shape(1), rows, products.data(),
                             Run{threads, never});
}

void mirror_products(ConstPlanes half, Labels places, Planes out) {
    size_t classes = places.shape(0), features = half.shape(1);
    require(
        half.shape(0) >= classes && half.shape(2) == features && out.shape(1) == features && out.shape(2) == features,
        "The products must be [class, feature, feature], both of the same features.");
    for (size_t k = 0; k < classes; ++k)
        require(places(k) >= 0 && size_t(places(k)) < out.shape(0), "A class has a place that is not there.");
    nb::gil_scoped_release no_gil;
    kernels().mirror_products(half.data(), classes, features, places.data(), out.data());
}

// -- quantiles --------------------------------------------------------------------------------------------------------

template <class Number>
auto array_of(const std::vector<Number>& numbers) {
    auto* own = new std::vector<Number>(numbers);
    nb::capsule owner(own, [](void* p) noexcept { delete static_cast<std::vector<Number>*>(p); });
    return nb::ndarray<nb::numpy, Number, nb::ndim<1>>(own->data(), {own->size()}, owner);
}

WeightedValues weighted(const ConstVector& x, const ConstVector& weights) {
    require(x.shape(0) == weights.shape(0), "There must be a weight for each number.");
    return weighted_values(x.data(), weights.data(), x.shape(0));
}

auto groups_of_quantiles(const ConstVector& weights, size_t bins, double least) {
    return array_of(quantile_groups({weights.data(), weights.data() + weights.shape(0)}, {bins, least, true}));
}

auto cuts_at_quantiles(const ConstVector& x, const ConstVector& weights, size_t bins, double least, bool even,
                       size_t halvings, double tail) {
    require(bins > 0, "There must be a bin.");
    Numbers cuts;
    without_gil(1,
                [&](const Run&) { cuts = quantile_cuts(weighted(x, weights), {bins, least, even, halvings, tail}); });
    return array_of(cuts);
}

auto spread_of_numbers(const ConstVector& x, const ConstVector& weights, const ConstVector& cuts, double clipped) {
    Spread out;
    without_gil(1, [&](const Run&) { out = spread_of(weighted(x, weights), cuts.data(), cuts.shape(0), clipped); });
    return nb::make_tuple(array_of(out.bins), array_of(out.medians), out.low, out.high, out.center, out.deviation);
}

}  // namespace

void bind_counting(nb::module_& m) {
    m.def("count_rows", &count_rows, "classes"_a.noconvert(), "weights"_a.noconvert().none(), "counts"_a.noconvert(),
          "counts[class] += weight for each row.");
    m.def(
        "count_codes", &count_codes, "x"_a.noconvert(), "classes"_a.noconvert(), "weights"_a.noconvert().none(),
        "allow_missing"_a, "offsets"_a.noconvert(), "counts"_a.noconvert(), "threads"_a = 1,
        "counts[offsets[j] + code, class] += weight for each cell. Refuses codes beyond their part, and negative ones\n"
        "unless missing values are allowed.");
    m.def(
        "count_dense", &count_dense, "x"_a.noconvert(), "classes"_a.noconvert(), "weights"_a.noconvert().none(),
        "threshold"_a.none(), "least"_a.none(), "counts"_a.noconvert(), "threads"_a = 1,
        "counts[class, column] += weight * x, or += weight where x > threshold. Refuses x < least, NaN and infinity.");
    m.def("count_sparse", &count_sparse, "starts"_a, "columns"_a, "values"_a, "classes"_a.noconvert(),
          "weights"_a.noconvert().none(), "threshold"_a.none(), "least"_a.none(), "counts"_a.noconvert(),
          "threads"_a = 1, "The same for a sparse matrix, given as its three arrays (CSR).");
    m.def("count_moments", &count_moments, "x"_a.noconvert(), "classes"_a.noconvert(), "weights"_a.noconvert().none(),
          "allow_missing"_a, "shift"_a.noconvert(), "sums"_a.noconvert(), "threads"_a = 1,
          "sums[0] += w, sums[1] += w (x - shift), sums[2] += w (x - shift)**2. New classes get a shift. Refuses "
          "numbers\n"
          "beyond 1e150, and NaN unless missing values are allowed.");
    m.def("count_row", &count_row, "numbers"_a, "codes"_a, "of_class"_a, "shift"_a.noconvert(), "sums"_a.noconvert(),
          "offsets"_a.noconvert(), "counts"_a.noconvert(), "total"_a.noconvert(),
          "Count one row of numbers and codes; False if a number is refused, and nothing was changed.");
    m.def("column_ranges", &column_ranges, "x"_a.noconvert(), "least"_a.noconvert(), "largest"_a.noconvert(),
          "threads"_a = 1, "Least and largest value of each column.");

    m.def("hash_numbers", &hash_numbers, "x"_a.noconvert(), "factors"_a.noconvert(), "out"_a.noconvert(),
          "threads"_a = 1, "out[row] += the bits of each number times the factor of its column, modulo 2**64.");

    m.def("bin_numbers", &bin_numbers, "x"_a.noconvert(), "cuts"_a.noconvert(), "offsets"_a.noconvert(),
          "out"_a.noconvert(), "threads"_a = 1,
          "The bin of each number: how many of its column's cuts lie below it; -1 for NaN.");
    m.def(
        "lay_out", &lay_out, "numbers"_a.noconvert(), "labels"_a.noconvert(), "cuts"_a.noconvert(),
        "cut_offsets"_a.noconvert(), "coarse"_a.noconvert(), "coarse_offsets"_a.noconvert(), "scale"_a.noconvert(),
        "step"_a, "places"_a.noconvert(), "place_offsets"_a.noconvert(), "fine"_a.noconvert(), "codes"_a.noconvert(),
        "level"_a.noconvert(), "threads"_a,
        "Lay out numbers and labels: fine[row, column] and level[row, column] of numbers, codes[column, row] of both.");
    m.attr("CUT_SHARE") = CUT_SHARE;
    m.def("quantile_groups", &groups_of_quantiles, "weights"_a, "bins"_a, "least"_a = 3.0,
          "A group for each of some ordered things, about equally many of them in each, from either end the same.");
    m.def("quantile_cuts", &cuts_at_quantiles, "x"_a, "weights"_a, "bins"_a, "least"_a = 3.0, "even"_a = true,
          "halvings"_a = 0, "tail"_a = 0.0,
          "Cuts of a column of numbers with row weights; the outermost bin is halved while it holds so many rows.");
    m.def("spread_of_numbers", &spread_of_numbers, "x"_a, "weights"_a, "cuts"_a, "clipped"_a,
          "The weights and the medians of the bins of a column, its clipping range, and its mean and deviation then.");
    m.def("gather_numbers", &gather_numbers, "columns"_a, "valid"_a, "skipped"_a, "out"_a.noconvert(), "threads"_a,
          "out[column, row] = the numbers of columns that lie apart; NaN where a bit says that there is none.");
    m.def("hash_codes", &hash_codes, "codes"_a.noconvert(), "offsets"_a.noconvert(), "table"_a.noconvert(),
          "classes"_a.noconvert(), "of_class"_a.noconvert(), "base"_a, "out"_a.noconvert(), "threads"_a,
          "out[row] = mixed bits of out[row] + base + the hashes of its codes and of its class.");
    m.def("count_products", &count_products, "codes"_a.noconvert(), "offsets"_a.noconvert(), "numbers"_a.noconvert(),
          "classes"_a.noconvert(), "weights"_a.noconvert().none(), "products"_a.noconvert(), "threads"_a = 1,
          "products[class, f, g] += weight * f * g for features f <= g: 1, a flag for each code, the numbers.");
    m.def("mirror_products", &mirror_products, "half"_a.noconvert(), "places"_a.noconvert(), "out"_a.noconvert(),
          "out[places[class], f, g] = out[places[class], g, f] = half[class, f, g] for features f <= g.");
}

}  // namespace naively
