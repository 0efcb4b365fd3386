// The kernels that fit, as Python calls them.
#include <cmath>
#include <memory>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/levels.hpp"

using namespace nb::literals;

namespace naively {

namespace {

using CodeTable = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using ClassCodes = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Codes are [table][row]; the cells of table t are values[starts[t]:starts[t + 1]]; pulls are [table, 3]: of cells, of
// the line and of neighbors; tables whose pulls of neighbors are above 0 have positions.
double fit_coefficients(CodeTable codes, ClassCodes classes, ConstVector weights, Offsets starts, ConstTable pulls,
                        ConstVector positions, Table scores, Table values, Table lines, size_t cycles, double enough,
                        int threads) {
    size_t count = codes.shape(0), rows = codes.shape(1), width = scores.shape(1);
    require(width == 1 || (width > 0 && width % LANES == 0 && width / LANES <= MOST_CLASS_VECTORS),
            "Scores must be of two classes, or padded to a multiple of four.");
    require(scores.shape(0) == rows && classes.shape(0) == rows && weights.shape(0) == rows, "Rows differ.");
    require(starts.shape(0) == count + 1 && size_t(starts(count)) == values.shape(0) &&
                positions.shape(0) == values.shape(0) && values.shape(1) == width && lines.shape(0) == count &&
                lines.shape(1) == width && pulls.shape(0) == count && pulls.shape(1) == 3,
            "Tables differ.");
    size_t limit = width == 1 ? 2 : width;
    for (size_t i = 0; i < rows; ++i) require(classes(i) >= 0 && size_t(classes(i)) < limit, "There is no such class.");
    std::vector<CoefficientTable> tables(count);
    for (size_t t = 0; t < count; ++t) {
        require(starts(t) <= starts(t + 1) && starts(t) >= 0, "Tables overlap.");
        size_t cells = size_t(starts(t + 1) - starts(t));
        const int32_t* own = codes.data() + t * rows;
        for (size_t i = 0; i < rows; ++i) require(own[i] >= 0 && size_t(own[i]) <= cells, "A cell has no coefficient.");
        const double* at = pulls.data() + 3 * t;
        tables[t] = {own,
                     cells,
                     at[0],
                     at[1],
                     at[2],
                     at[2] > 0 ? positions.data() + starts(t) : nullptr,
                     values.data() + size_t(starts(t)) * width,
                     lines.data() + t * width};
    }
    double gain = 0.0;
    CoefficientRows x{rows, width, classes.data(), weights.data(), scores.data()};
    without_gil(threads, [&](const Run& run) {
        gain = kernels().fit_coefficients(x, tables.data(), count, cycles, enough, run);
    });
    return gain;
}

using WordNumbers = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Singles = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using SinglesOut = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using SingleTable = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using SingleTableOut = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void check_words(const Offsets& starts, const WordNumbers& words, size_t rows, size_t lines) {
    require(starts.shape(0) == rows + 1 && starts(0) == 0 && size_t(starts(rows)) <= words.shape(0),
            "The words lie outside their rows.");
    for (size_t i = 0; i < rows; ++i) require(starts(i) <= starts(i + 1), "The rows overlap.");
    for (size_t i = 0; i < words.shape(0); ++i)
        require(words(i) >= 0 && size_t(words(i)) < lines, "There is no such word.");
}

size_t padded_width(size_t classes) { return (classes + LANES - 1) / LANES * LANES; }

size_t fit_word_offsets(Offsets starts, WordNumbers words, Singles lengths, Singles scales, Singles squares,
                        SingleTable scores, SingleTable targets, Singles weights, WordNumbers visited, float ridge,
                        size_t passes, double tolerance, SingleTableOut table, SingleTableOut residuals) {
    size_t rows = scores.shape(0), classes = scores.shape(1), width = padded_width(classes);
    check_words(starts, words, rows, table.shape(0));
    require(classes > 0 && ridge > 0, "There must be a class, and a ridge above 0.");
    require(lengths.shape(0) == rows && squares.shape(0) == rows && weights.shape(0) == rows,
            "There must be a number for each row.");
    require(targets.shape(0) == rows && targets.shape(1) == classes, "There must be a target for each row and class.");
    require(scales.shape(0) == table.shape(0), "There must be a scale for each word.");
    require(table.shape(1) == width && residuals.shape(1) == width && residuals.shape(0) == rows,
            "The tables must be padded to a multiple of four classes.");
    for (size_t i = 0; i < visited.shape(0); ++i)
        require(visited(i) >= 0 && size_t(visited(i)) < rows, "There is no such row.");
    WordOffsetRows x{starts.data(),  words.data(),   lengths.data(), targets.data(), scores.data(),
                     weights.data(), squares.data(), classes,        width};
    WordOffsetFitting how{visited.data(), visited.shape(0), scales.data(), ridge, passes, tolerance};
    size_t taken = 0;
    without_gil(
        1, [&](const Run& run) { taken = kernels().fit_word_offsets(x, how, table.data(), residuals.data(), run); });
    return taken;
}

// The words of rows that have a place, under it, where those of each row begin, and one over the root of how many known
// words a row holds.
nb::tuple words_with_offsets(Offsets starts, WordNumbers words, ConstVector totals, WordNumbers places) {
    size_t rows = starts.shape(0) - 1;
    check_words(starts, words, rows, totals.shape(0));
    require(places.shape(0) == totals.shape(0), "There must be a place for each word.");
    std::unique_ptr<int64_t[]> begins(new int64_t[rows + 1]);
    std::unique_ptr<int32_t[]> kept(new int32_t[words.shape(0)]);
    std::unique_ptr<float[]> lengths(new float[rows]);
    size_t size = 0;
    without_gil(1, [&](const Run&) {
        const int32_t *word = words.data(), *place = places.data();
        const double* total = totals.data();
        for (size_t row = 0; row < rows; ++row) {
            int64_t known = 0;
            begins[row] = int64_t(size);
            for (auto i = starts(row); i < starts(row + 1); ++i) {
                known += total[word[i]] > 0;
                kept[size] = place[word[i]];
                size += place[word[i]] >= 0;
            }
            lengths[row] = float(1 / std::sqrt(double(std::max<int64_t>(known, 1))));
        }
        begins[rows] = int64_t(size);
    });
    auto array = [&](auto& all, size_t length) {
        using Number = std::remove_reference_t<decltype(all[0])>;
        Number* data = all.release();
        nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<Number*>(p); });
        return nb::ndarray<nb::numpy, Number, nb::ndim<1>>(data, {length}, owner);
    };
    return nb::make_tuple(array(begins, rows + 1), array(kept, size), array(lengths, rows));
}

// The sum of the scales of the words of each row, times its squared length.
void word_offset_squares(Offsets starts, WordNumbers words, Singles lengths, Singles scales, SinglesOut out) {
    size_t rows = out.shape(0);
    check_words(starts, words, rows, scales.shape(0));
    require(lengths.shape(0) == rows, "There must be a number for each row.");
    without_gil(1, [&](const Run&) {
        for (size_t row = 0; row < rows; ++row) {
            double sum = 0;
            for (auto i = starts(row); i < starts(row + 1); ++i) sum += double(scales.data()[words.data()[i]]);
            out(row) = float(sum * double(lengths(row)) * double(lengths(row)));
        }
    });
}

void score_word_offsets(Offsets starts, WordNumbers words, Singles lengths, SingleTable table, SingleTableOut out,
                        int threads) {
    size_t rows = out.shape(0), classes = out.shape(1), width = padded_width(classes);
    check_words(starts, words, rows, table.shape(0));
    require(lengths.shape(0) == rows, "There must be a number for each row.");
    require(table.shape(1) == width, "The table must be padded to a multiple of four classes.");
    WordOffsetRows x{starts.data(), words.data(), lengths.data(), nullptr, nullptr, nullptr, nullptr, classes, width};
    without_gil(threads, [&](const Run& run) { kernels().score_word_offsets(x, rows, table.data(), out.data(), run); });
}

using TermLines = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

TermRows term_rows(const TermLines& x, const ConstTable& truth, const ConstVector& weights) {
    size_t classes = x.shape(0) + 1, rows = x.shape(2);
    require(truth.shape(0) == classes && truth.shape(1) == rows && weights.shape(0) == rows,
            "There must be a truth for each class and row, and a weight for each row.");
    return {x.data(), x.shape(1), classes, rows, truth.data(), weights.data()};
}

void term_scores(TermLines x, ConstTable truth, ConstVector weights, ConstVector v, Table out, int threads) {
    TermRows rows = term_rows(x, truth, weights);
    require(v.shape(0) == rows.terms + rows.classes && out.shape(0) == rows.classes && out.shape(1) == rows.rows,
            "There must be a weight for each term, a bias for each class, and a place for each score.");
    without_gil(threads, [&](const Run& run) { kernels().term_scores(rows, v.data(), out.data(), run); });
}

void fit_term_weights(TermLines x, ConstTable truth, ConstVector weights, ConstVector pulls, ConstVector towards,
                      double enough, bool curve_is_known, Table curve, Vector parameters, int threads) {
    TermRows rows = term_rows(x, truth, weights);
    size_t size = rows.terms + rows.classes;
    require(pulls.shape(0) == size && towards.shape(0) == size && parameters.shape(0) == size,
            "There must be a pull, a value and a parameter for each term and class.");
    require(curve.shape(0) == size && curve.shape(1) == size, "The curvature must be of all parameters.");
    WeightPenalty penalty{pulls.data(), towards.data()};
    without_gil(threads, [&](const Run& run) {
        kernels().fit_term_weights(rows, penalty, enough, curve_is_known, curve.data(), parameters.data(), run);
    });
}

}  // namespace

void bind_fitting(nb::module_& m) {
    m.def("fit_word_offsets", &fit_word_offsets, "starts"_a.noconvert(), "words"_a.noconvert(), "lengths"_a.noconvert(),
          "scales"_a.noconvert(), "squares"_a.noconvert(), "scores"_a.noconvert(), "targets"_a.noconvert(),
          "weights"_a.noconvert(), "visited"_a.noconvert(), "ridge"_a, "passes"_a, "tolerance"_a, "table"_a.noconvert(),
          "residuals"_a.noconvert(),
          "Fit the offsets of words, table[word, class], to the visited rows; returns the passes that were taken.");
    m.def("words_with_offsets", &words_with_offsets, "starts"_a.noconvert(), "words"_a.noconvert(),
          "totals"_a.noconvert(), "places"_a.noconvert(),
          "Of rows: where words with a place begin, these words, and the length of each row.");
    m.def("word_offset_squares", &word_offset_squares, "starts"_a.noconvert(), "words"_a.noconvert(),
          "lengths"_a.noconvert(), "scales"_a.noconvert(), "out"_a.noconvert(),
          "out[row]: the sum of the scales of its words, times its squared length.");
    m.def("score_word_offsets", &score_word_offsets, "starts"_a.noconvert(), "words"_a.noconvert(),
          "lengths"_a.noconvert(), "table"_a.noconvert(), "out"_a.noconvert(), "threads"_a = 1,
          "out[row, class]: the length of each row times the sum of the offsets of its words.");
    m.def("fit_coefficients", &fit_coefficients, "codes"_a.noconvert(), "classes"_a.noconvert(),
          "weights"_a.noconvert(), "starts"_a.noconvert(), "pulls"_a.noconvert(), "positions"_a.noconvert(),
          "scores"_a.noconvert(), "values"_a.noconvert(), "lines"_a.noconvert(), "cycles"_a, "enough"_a,
          "threads"_a = 1,
          "Fit coefficients of the cells of tables by penalized logistic regression, one table after the other.\n"
          "Scores [row, class] hold the coefficients before and after; of two classes they have one column.");
    m.def("term_scores", &term_scores, "x"_a.noconvert(), "truth"_a.noconvert(), "weights"_a.noconvert(),
          "v"_a.noconvert(), "out"_a.noconvert(), "threads"_a = 1,
          "Scores [class, row] of terms under weights and then biases, less those of the highest class.");
    m.def("fit_term_weights", &fit_term_weights, "x"_a.noconvert(), "truth"_a.noconvert(), "weights"_a.noconvert(),
          "pulls"_a.noconvert(), "towards"_a.noconvert(), "enough"_a, "curve_is_known"_a, "curve"_a.noconvert(),
          "parameters"_a.noconvert(), "threads"_a = 1,
          "Weights of terms and biases of classes of least penalized log loss; both arrays are changed in place.");
}

}  // namespace naively
