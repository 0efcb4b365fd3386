// Cross-fitting: rows scored by counts without their fold, as Python calls it.
#include <algorithm>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/levels.hpp"

using namespace nb::literals;

namespace naively {
namespace {

using Cells = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Singles3 = nb::ndarray<float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

FoldedRows folded_rows(size_t classes, const Classes& labels, const ConstVector& weights, const Labels& bounds,
                       size_t test, size_t test_end) {
    size_t rows = labels.shape(0);
    require(bounds.shape(0) > 0 && weights.shape(0) == rows, "There must be a weight for each row, and a fold.");
    check_offsets(bounds, bounds.shape(0) - 1, rows, 0);
    auto is_bound = [&](size_t row) {
        return std::binary_search(bounds.data(), bounds.data() + bounds.shape(0), int64_t(row));
    };
    require(test <= test_end && (test == test_end || (is_bound(test) && is_bound(test_end))),
            "The test must be whole folds.");
    (void)labeled_rows(labels, std::nullopt, rows, classes);
    return {rows, classes, bounds.shape(0) - 1, labels.data(), weights.data(), bounds.data(), test, test_end};
}

void cross_values(Cells cells, Offsets offsets, ConstTable totals, Classes labels, ConstVector weights, Labels bounds,
                  size_t test, size_t test_end, double pseudo_count, Singles3 out, int threads) {
    size_t terms = cells.shape(0), classes = totals.shape(1);
    FoldedRows rows = folded_rows(classes, labels, weights, bounds, test, test_end);
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

void cross_pairs(AnyMatrix x, ConstPlanes products, Offsets offsets, Labels first, Labels second, Classes labels,
                 ConstVector weights, Labels bounds, size_t test, size_t test_end, double pseudo_count, ConstTable p,
                 ConstTable error, ConstVector effective, Table sums, Vector slope, Vector curve, int threads) {
    size_t classes = products.shape(0), width = (classes + LANES - 1) / LANES * LANES;
    PairColumns pairs = pair_columns(products, offsets, first, second, pseudo_count);
    FoldedRows rows = folded_rows(classes, labels, weights, bounds, test, test_end);
    Matrix view = naively::codes(x);
    require(view.columns + 1 == offsets.shape(0) && view.rows == rows.rows,
            "There must be a line of codes for each row, and a column of them for each column.");
    for (const auto& table : {p, error})
        require(table.shape(0) == rows.rows && table.shape(1) == width, "Probabilities are [row, class], padded.");
    require(sums.shape(0) == rows.rows && sums.shape(1) == width, "The sums must be [row, class], padded.");
    require(slope.shape(0) == pairs.size && curve.shape(0) == pairs.size && effective.shape(0) == rows.rows,
            "There must be a slope and a curvature for each pair, and a weight for each row.");
    without_gil(threads, [&](const Run& run) {
        kernels().cross_pairs(view, pairs, rows, p.data(), error.data(), effective.data(), sums.data(), slope.data(),
                              curve.data(), run);
    });
}

using Gaps = nb::ndarray<const uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

bool cross_normal(ConstTable x, Gaps gaps, ConstVector n, ConstTable sums, ConstPlanes products, Classes labels,
                  ConstVector weights, Labels bounds, size_t test, size_t test_end, ConstTable settings, size_t folds,
                  Planes out, int threads) {
    size_t classes = n.shape(0), size = x.shape(1);
    FoldedRows rows = folded_rows(classes, labels, weights, bounds, test, test_end);
    require(x.shape(0) == rows.rows, "There must be a line for each row.");
    bool any = gaps.size() > 0;
    require(!any || (gaps.shape(0) == x.shape(0) && gaps.shape(1) == size),
            "There must be a gap or none for each number.");
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
    NormalRows normal{x.data(), size, n.data(), sums.data(), products.data(), by_class, any ? gaps.data() : nullptr};
    bool good = false;
    without_gil(threads, [&](const Run& run) {
        good = kernels().cross_normal(normal, rows, shrinkages.data(), shrinkages.size(), folds, out.data(), run);
    });
    return good;
}

// -- words

using WordGroups = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using WordNumbers = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using WordWeightsOut = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

WordCounts word_counts(const Offsets& starts, const WordNumbers& classes_of, const ConstVector& documents,
                       const ConstVector& totals, const WordGroups& group, const ConstTable& class_words,
                       double pseudo_count) {
    size_t words = totals.shape(0), classes = class_words.shape(1), cells = documents.shape(0);
    require(starts.shape(0) == words + 1 && group.shape(0) == words, "There must be a number for each word.");
    require(starts(0) == 0 && size_t(starts(words)) == cells && classes_of.shape(0) == cells,
            "There must be a class for each number of documents.");
    for (size_t i = 0; i < words; ++i) require(starts(i) <= starts(i + 1), "The words overlap.");
    for (size_t i = 0; i < cells; ++i)
        require(classes_of(i) >= 0 && size_t(classes_of(i)) < classes, "There is no such class.");
    require(classes > 0 && pseudo_count > 0, "There must be a class, and a pseudo-count above 0.");
    for (size_t i = 0; i < words; ++i)
        require(group(i) < class_words.shape(0), "A word is of a group that is not there.");
    return {starts.data(), classes_of.data(),  documents.data(),     words,   totals.data(),
            group.data(),  class_words.data(), class_words.shape(0), classes, pseudo_count};
}

void word_weights(Offsets word_starts, WordNumbers classes_of, ConstVector documents, ConstVector totals,
                  WordGroups group, ConstTable class_words, ConstTable group_weights, double pseudo_count,
                  WordWeightsOut out, int threads) {
    WordCounts counts = word_counts(word_starts, classes_of, documents, totals, group, class_words, pseudo_count);
    require(group_weights.shape(0) == counts.groups && group_weights.shape(1) == 2,
            "Each group must have two weights.");
    require(out.shape(0) == counts.words && out.shape(1) == counts.classes,
            "There must be a weight for each word and class.");
    without_gil(threads,
                [&](const Run& run) { kernels().word_weights(counts, group_weights.data(), out.data(), run); });
}

void cross_words(Offsets starts, WordNumbers words, Offsets word_starts, WordNumbers classes_of, ConstVector documents,
                 ConstVector totals, WordGroups group, ConstTable class_words, Classes labels, ConstVector weights,
                 Labels bounds, size_t test, size_t test_end, double pseudo_count, size_t folds, Singles3 out,
                 int threads) {
    WordCounts counts = word_counts(word_starts, classes_of, documents, totals, group, class_words, pseudo_count);
    FoldedRows rows = folded_rows(counts.classes, labels, weights, bounds, test, test_end);
    require(starts.shape(0) == rows.rows + 1, "There must be words for each row.");
    check_offsets(starts, rows.rows, words.shape(0), 0);
    for (size_t i = 0; i < words.shape(0); ++i)
        require(words(i) >= 0 && size_t(words(i)) < counts.words, "There is no such word.");
    require(out.shape(0) == 2 * counts.groups && out.shape(1) == counts.classes && out.shape(2) == rows.rows,
            "The output must be [group and kind, class, row].");
    require(folds <= rows.folds, "There are fewer folds.");
    WordRows x{starts.data(), words.data()};
    without_gil(threads, [&](const Run& run) { kernels().cross_words(x, rows, counts, folds, out.data(), run); });
}

}  // namespace

void bind_cross_fitting(nb::module_& m) {
    m.def("cross_values", &cross_values, "cells"_a.noconvert(), "offsets"_a.noconvert(), "totals"_a.noconvert(),
          "labels"_a.noconvert(), "weights"_a.noconvert(), "bounds"_a.noconvert(), "test"_a, "test_end"_a,
          "pseudo_count"_a, "out"_a.noconvert(), "threads"_a = 1,
          "out[term, class, row]: the log ratio of the cell of each row, by counts without the row's fold.");
    m.def("cross_pairs", &cross_pairs, "codes"_a.noconvert(), "products"_a.noconvert(), "offsets"_a.noconvert(),
          "first"_a.noconvert(), "second"_a.noconvert(), "labels"_a.noconvert(), "weights"_a.noconvert(),
          "bounds"_a.noconvert(), "test"_a, "test_end"_a, "pseudo_count"_a, "p"_a.noconvert(), "error"_a.noconvert(),
          "effective"_a.noconvert(), "sums"_a.noconvert(), "slope"_a.noconvert(), "curve"_a.noconvert(),
          "threads"_a = 1,
          "Scores of pairs of columns by counts without the row's fold: their sums, and slope and curvature of each.");
    m.def("cross_normal", &cross_normal, "x"_a.noconvert(), "gaps"_a.noconvert(), "n"_a.noconvert(),
          "sums"_a.noconvert(), "products"_a.noconvert(), "labels"_a.noconvert(), "weights"_a.noconvert(),
          "bounds"_a.noconvert(), "test"_a, "test_end"_a, "settings"_a.noconvert(), "folds"_a, "out"_a.noconvert(),
          "threads"_a = 1,
          "Normal log densities of rows by counts without their fold, each setting a shrinkage and a ridge; in linear "
          "ones a "
          "missing number contributes nothing.");
    m.def("word_weights", &word_weights, "word_starts"_a.noconvert(), "classes_of"_a.noconvert(),
          "documents"_a.noconvert(), "totals"_a.noconvert(), "group"_a.noconvert(), "class_words"_a.noconvert(),
          "group_weights"_a.noconvert(), "pseudo_count"_a, "out"_a.noconvert(), "threads"_a = 1,
          "out[word, class]: the two log-odds of each word, times the two weights of its group.");
    m.def("cross_words", &cross_words, "starts"_a.noconvert(), "words"_a.noconvert(), "word_starts"_a.noconvert(),
          "classes_of"_a.noconvert(), "documents"_a.noconvert(), "totals"_a.noconvert(), "group"_a.noconvert(),
          "class_words"_a.noconvert(), "labels"_a.noconvert(), "weights"_a.noconvert(), "bounds"_a.noconvert(),
          "test"_a, "test_end"_a, "pseudo_count"_a, "folds"_a, "out"_a.noconvert(), "threads"_a = 1,
          "Sums of the log-odds of the words of each row by counts without its fold, out[group and kind, class, row].");
}

}  // namespace naively
