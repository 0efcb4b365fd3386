// Cross-fitting: rows scored by counts without their fold, as Python calls it.
#include <algorithm>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/levels.hpp"
#include "bindings/pair_terms.hpp"

using namespace nb::literals;

namespace naively {
namespace {

using Cells = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<const uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Singles3 = nb::ndarray<float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using OptionalVector = std::optional<Vector>;

// The class of each row, or of each of its entries: entries[row] .. entries[row + 1] - 1.
FoldedRows folded_rows(size_t classes, const Labels& entries, const Classes& labels, const ConstVector& weights,
                       const Labels& bounds, size_t test, size_t test_end) {
    require(entries.shape(0) > 0 && bounds.shape(0) > 0, "The entries of rows and the folds must begin with 0.");
    size_t rows = entries.shape(0) - 1, folds = bounds.shape(0) - 1;
    check_offsets(entries, rows, labels.shape(0), 0);
    check_offsets(bounds, folds, rows, 0);
    require(weights.shape(0) == labels.shape(0), "There must be a weight for each entry.");
    auto is_bound = [&](size_t row) {
        return std::binary_search(bounds.data(), bounds.data() + bounds.shape(0), int64_t(row));
    };
    require(test <= test_end && (test == test_end || (is_bound(test) && is_bound(test_end))),
            "The test must be whole folds.");
    (void)labeled_rows(labels, std::nullopt, labels.shape(0), classes);
    return {rows, classes, folds, entries.data(), labels.data(), weights.data(), bounds.data(), test, test_end};
}

void cross_values(Cells cells, Offsets offsets, ConstTable totals, Labels entries, Classes labels, ConstVector weights,
                  Labels bounds, size_t test, size_t test_end, double pseudo_count, Singles3 out, int threads) {
    size_t terms = cells.shape(0), classes = totals.shape(1);
    FoldedRows rows = folded_rows(classes, entries, labels, weights, bounds, test, test_end);
    check_offsets(offsets, terms, totals.shape(0), 1);
    require(pseudo_count > 0, "The pseudo-count must be above 0.");
    require(
        cells.shape(1) == rows.rows && out.shape(0) == terms && out.shape(1) == classes && out.shape(2) == rows.rows,
        "There must be a cell and a line of results for each term and row.");
    for (size_t t = 0; t < terms; ++t)
        for (size_t row = 0; row < rows.rows; ++row)
            require(cells(t, row) < offsets(t + 1) - offsets(t), "A row lies in a cell that is not there.");
    without_gil(threads, [&](const Run& run) {
        kernels().cross_values(cells.data(), terms, offsets.data(), totals.data(), rows, pseudo_count, out.data(), run);
    });
}

void cross_pairs(AnyMatrix x, ConstPlanes products, Offsets offsets, Bins bins, Labels first, Labels second,
                 Labels level, Labels entries, Classes labels, ConstVector weights, Labels bounds, size_t test,
                 size_t test_end, double pseudo_count, std::optional<Planes> sums, std::optional<ConstTable> p,
                 std::optional<ConstTable> error, std::optional<ConstVector> effective, OptionalVector slope,
                 OptionalVector curve, std::optional<Singles3> values, int threads) {
    size_t classes = products.shape(0), features = products.shape(1), width = (classes + LANES - 1) / LANES * LANES;
    CheckedPairTerms checked(classes, offsets, bins, first, second, level);
    FoldedRows rows = folded_rows(classes, entries, labels, weights, bounds, test, test_end);
    Matrix view = naively::codes(x);
    size_t size = checked.terms.size;
    require(view.columns + 1 == offsets.shape(0) && view.rows == rows.rows,
            "There must be a line of codes for each row, and a column of them for each column.");
    require(products.shape(2) == features && features > bins.shape(1),
            "The products must be [class, feature, feature], a feature for each code and one before them.");
    require(pseudo_count > 0, "The pseudo-count must be above 0.");
    require(!sums || (sums->shape(0) >= bins.shape(0) && sums->shape(1) == rows.rows && sums->shape(2) == width),
            "The sums must be [level, row, class], padded.");
    auto fits = [&](const auto& table) { return table && table->shape(0) == rows.rows && table->shape(1) == width; };
    auto counts = [&](const auto& vector) { return vector && vector->shape(0) == size; };
    require(!slope == !curve && (!slope || (counts(slope) && counts(curve) && fits(p) && fits(error) && effective &&
                                            effective->shape(0) == rows.rows)),
            "The gain of terms needs probabilities and errors, [row, class], padded, and weights of all rows.");
    require(!values || (values->shape(0) == size && values->shape(1) == classes && values->shape(2) == rows.rows),
            "The values must be [term, class, row].");
    auto data = [](auto& array) { return array ? array->data() : nullptr; };
    PairRequest request{pseudo_count,    data(sums),  data(p),     data(error),
                        data(effective), data(slope), data(curve), data(values)};
    without_gil(threads, [&](const Run& run) {
        kernels().cross_pairs(view, checked.terms, products.data(), features, rows, request, run);
    });
}

bool cross_normal(ConstTable x, std::optional<Flags> missing, Labels columns, ConstVector n, ConstTable sums,
                  ConstPlanes products, Labels entries, Classes labels, ConstVector weights, Labels bounds, size_t test,
                  size_t test_end, ConstTable settings, size_t folds, Planes out, int threads) {
    size_t classes = n.shape(0), size = x.shape(1);
    FoldedRows rows = folded_rows(classes, entries, labels, weights, bounds, test, test_end);
    require(columns.shape(0) > 0, "The offsets must begin with 0.");
    check_offsets(columns, columns.shape(0) - 1, size, 0);
    require(x.shape(0) == rows.rows &&
                (!missing || (missing->shape(0) == rows.rows && missing->shape(1) == columns.shape(0) - 1)),
            "There must be a line for each row, and a flag for each of its columns.");
    bool by_class = products.shape(0) == classes;
    require((by_class || products.shape(0) == 1) && products.shape(1) == size && products.shape(2) == size &&
                sums.shape(0) == classes && sums.shape(1) == size,
            "The sums must be [class, number], the products [class or 1, number, number].");
    require(settings.shape(1) == 2 && folds <= rows.folds, "A setting is a shrinkage and a ridge.");
    require(out.shape(0) == settings.shape(0) && out.shape(1) == classes && out.shape(2) == rows.rows,
            "The results must be [setting, class, row].");
    std::vector<Shrinkage> shrinkages;
    for (size_t s = 0; s < settings.shape(0); ++s) {
        shrinkages.push_back({settings(s, 0), settings(s, 1)});
        require(by_class || !(settings(s, 0) < 1), "A covariance for each class needs products for each.");
    }
    NormalRows normal{x.data(),
                      missing ? missing->data() : nullptr,
                      columns.data(),
                      size,
                      columns.shape(0) - 1,
                      n.data(),
                      sums.data(),
                      products.data(),
                      by_class};
    bool good = false;
    without_gil(threads, [&](const Run& run) {
        good = kernels().cross_normal(normal, rows, shrinkages.data(), shrinkages.size(), folds, out.data(), run);
    });
    return good;
}

}  // namespace

void bind_cross_fitting(nb::module_& m) {
    m.def("cross_values", &cross_values, "cells"_a.noconvert(), "offsets"_a.noconvert(), "totals"_a.noconvert(),
          "entries"_a.noconvert(), "labels"_a.noconvert(), "weights"_a.noconvert(), "bounds"_a.noconvert(), "test"_a,
          "test_end"_a, "pseudo_count"_a, "out"_a.noconvert(), "threads"_a = 1,
          "out[term, class, row]: the log ratio of the cell of each row, by counts without the row's fold.");
    m.def("cross_pairs", &cross_pairs, "codes"_a.noconvert(), "products"_a.noconvert(), "offsets"_a.noconvert(),
          "bins"_a.noconvert(), "first"_a.noconvert(), "second"_a.noconvert(), "level"_a.noconvert(),
          "entries"_a.noconvert(), "labels"_a.noconvert(), "weights"_a.noconvert(), "bounds"_a.noconvert(), "test"_a,
          "test_end"_a, "pseudo_count"_a, "sums"_a.none() = nb::none(), "p"_a.none() = nb::none(),
          "error"_a.none() = nb::none(), "effective"_a.none() = nb::none(), "slope"_a.none() = nb::none(),
          "curve"_a.none() = nb::none(), "values"_a.none() = nb::none(), "threads"_a = 1,
          "Terms of pairs of columns, by counts without the row's fold: their sums, their gains, or their values.");
    m.def("cross_normal", &cross_normal, "x"_a.noconvert(), "missing"_a.noconvert().none(), "columns"_a.noconvert(),
          "n"_a.noconvert(), "sums"_a.noconvert(), "products"_a.noconvert(), "entries"_a.noconvert(),
          "labels"_a.noconvert(), "weights"_a.noconvert(), "bounds"_a.noconvert(), "test"_a, "test_end"_a,
          "settings"_a.noconvert(), "folds"_a, "out"_a.noconvert(), "threads"_a = 1,
          "Normal log densities of rows by counts without their fold, each setting a shrinkage and a ridge.");
}

}  // namespace naively
