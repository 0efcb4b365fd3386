// The leave-one-out kernels, as Python calls them.
#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/levels.hpp"

using namespace nb::literals;

namespace naively {

namespace {

int64_t leave_one_out_codes(AnyMatrix x, Classes classes, Weights weights, Offsets offsets,
                            ConstTable log_probabilities, ConstTable n, ConstVector seen, ConstVector declared,
                            ConstTable totals, ConstTable columns, Table out, int threads) {
    Matrix view = codes(x);
    require(out.shape(0) == view.rows, "There must be a place for each row.");
    LabeledRows rows = labeled_rows(classes, weights, view.rows, out.shape(1));
    size_t lines = n.shape(0), width = (out.shape(1) + LANES - 1) / LANES * LANES;
    check_offsets(offsets, view.columns, lines, 1);
    require(n.size() >> 32 == 0, "A table of codes must have fewer than 2^32 cells; merge rare values first.");
    require(seen.shape(0) == lines && declared.shape(0) == lines,
            "There must be a number for each line of the tables.");
    require(totals.shape(0) == view.columns && totals.shape(1) == out.shape(1), "The totals must be [column, class].");
    require(columns.shape(0) == view.columns && columns.shape(1) == CategoryCounts::COLUMN_NUMBERS,
            "There must be six numbers for each column.");
    const char* wrong = "The tables must have the same lines, padded to a multiple of four classes.";
    CategoryCounts labels{offsets.data(),
                          padded(log_probabilities, lines, width, wrong),
                          padded(n, lines, width, wrong),
                          seen.data(),
                          declared.data(),
                          totals.data(),
                          columns.data()};
    size_t row = NO_ROW;
    without_gil(threads,
                [&](const Run& run) { row = kernels().leave_one_out_codes(view, rows, labels, out.data(), run); });
    return refused(row);
}

int64_t leave_one_out_numbers(AnyMatrix x, Classes classes, Weights weights, ConstTable n, ConstTable mean,
                              ConstTable ssd, ConstTable rounding, const std::string& estimate, double prior_rows,
                              double epsilon, Table out, int threads) {
    Matrix view = matrix(x);
    require(out.shape(0) == view.rows, "There must be a place for each row.");
    LabeledRows rows = labeled_rows(classes, weights, view.rows, out.shape(1));
    for (const ConstTable& table : {n, mean, ssd, rounding})
        require(table.shape(0) == view.columns && table.shape(1) == out.shape(1),
                "The moments must be [column, class].");
    require(estimate == "mle" || estimate == "map" || estimate == "bayes", "The estimate is mle, map or bayes.");
    Estimate how = estimate == "mle" ? Estimate::mle : estimate == "map" ? Estimate::map : Estimate::bayes;
    size_t row = NO_ROW;
    without_gil(threads, [&](const Run& run) {
        row = kernels().leave_one_out_numbers(
            view, rows, {n.data(), mean.data(), ssd.data(), rounding.data(), how, prior_rows, epsilon}, out.data(),
            run);
    });
    return refused(row);
}

using WordGroups = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using LogOddsOut = nb::ndarray<float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
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

void leave_one_out_words(Offsets starts, WordNumbers words, Classes classes, Weights weights, Offsets word_starts,
                         WordNumbers classes_of, ConstVector documents, ConstVector totals, WordGroups group,
                         ConstTable class_words, double pseudo_count, LogOddsOut out, int threads,
                         std::optional<ConstTable> proportions) {
    WordCounts counts = word_counts(word_starts, classes_of, documents, totals, group, class_words, pseudo_count);
    size_t n = out.shape(2);
    require(starts.shape(0) == n + 1 && starts(0) == 0 && size_t(starts(n)) <= words.shape(0),
            "The words lie outside their rows.");
    for (size_t i = 0; i < n; ++i) require(starts(i) <= starts(i + 1), "The rows overlap.");
    for (size_t i = 0; i < words.shape(0); ++i)
        require(words(i) >= 0 && size_t(words(i)) < counts.words, "There is no such word.");
    require(out.shape(0) == 2 * counts.groups && out.shape(1) == counts.classes,
            "The output must be [group and kind, class, row].");
    require(!proportions || (proportions->shape(0) == n && proportions->shape(1) == counts.classes),
            "There must be a proportion for each row and class.");
    LabeledRows rows = labeled_rows(classes, weights, n, counts.classes);
    WordRows x{starts.data(), words.data(), n, proportions ? proportions->data() : nullptr};
    without_gil(threads, [&](const Run& run) { kernels().leave_one_out_words(x, rows, counts, out.data(), run); });
}

}  // namespace

void bind_leave_one_out(nb::module_& m) {
    m.def(
        "leave_one_out_codes", &leave_one_out_codes, "x"_a.noconvert(), "classes"_a.noconvert(),
        "weights"_a.noconvert().none(), "offsets"_a.noconvert(), "log_probabilities"_a.noconvert(), "n"_a.noconvert(),
        "seen"_a.noconvert(), "declared"_a.noconvert(), "totals"_a.noconvert(), "columns"_a.noconvert(),
        "out"_a.noconvert(), "threads"_a = 1,
        "out[row] += log P(row | class) by the counts of all other rows. Refuses rows that cannot have been counted.");
    m.def("word_weights", &word_weights, "word_starts"_a.noconvert(), "classes_of"_a.noconvert(),
          "documents"_a.noconvert(), "totals"_a.noconvert(), "group"_a.noconvert(), "class_words"_a.noconvert(),
          "group_weights"_a.noconvert(), "pseudo_count"_a, "out"_a.noconvert(), "threads"_a = 1,
          "out[word, class]: the two log-odds of each word, times the two weights of its group.");
    m.def("leave_one_out_words", &leave_one_out_words, "starts"_a.noconvert(), "words"_a.noconvert(),
          "classes"_a.noconvert(), "weights"_a.noconvert().none(), "word_starts"_a.noconvert(),
          "classes_of"_a.noconvert(), "documents"_a.noconvert(), "totals"_a.noconvert(), "group"_a.noconvert(),
          "class_words"_a.noconvert(), "pseudo_count"_a, "out"_a.noconvert(), "threads"_a = 1,
          "proportions"_a.noconvert() = nb::none(),
          "Leave-one-out sums of the log-odds of the words of each row, out[group and kind, class, row].");
    m.def("leave_one_out_numbers", &leave_one_out_numbers, "x"_a.noconvert(), "classes"_a.noconvert(),
          "weights"_a.noconvert().none(), "n"_a.noconvert(), "mean"_a.noconvert(), "ssd"_a.noconvert(),
          "rounding"_a.noconvert(), "estimate"_a, "prior_rows"_a, "epsilon"_a, "out"_a.noconvert(), "threads"_a = 1,
          "out[row] += log p(row | class) by the densities of all other rows. Refuses infinite numbers.");
}

}  // namespace naively
