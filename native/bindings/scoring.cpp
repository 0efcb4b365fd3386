// The scorer, as Python calls it.
#include <cmath>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/levels.hpp"
#include "scoring/scorer.hpp"

using namespace nb::literals;

namespace naively {

namespace {

using LabelTable = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// It keeps the arrays alive that its steps read.
class PyScorer {
  public:
    PyScorer(const Kernels& kernels, const ConstVector& log_prior)
        : scorer_(kernels, log_prior.data(), log_prior.shape(0)) {
        require(log_prior.shape(0) > 0, "There must be a class.");
    }

    void constant(ConstVector values, bool exclusion) {
        require(values.shape(0) == scorer_.classes(), "There must be a number for each class.");
        scorer_.add_constant(values.data(), exclusion);
    }

    void rescale(double scale, std::optional<ConstVector> bias) {
        require(std::isfinite(scale) && scale > 0, "A scale must be finite and more than 0.");
        require(!bias || bias->shape(0) == scorer_.classes(), "There must be a bias for each class.");
        scorer_.rescale(scale, bias ? bias->data() : nullptr);
    }

    void set_floor(ConstVector values) {
        require(values.shape(0) == scorer_.classes(), "There must be a floor for each class.");
        double sum = 0;
        for (size_t c = 0; c < values.shape(0); ++c) {
            require(values.data()[c] >= 0, "A floor must not be negative.");
            sum += values.data()[c];
        }
        require(sum < 1, "Floors must add up to less than 1.");
        scorer_.set_floor(values.data());
    }

    void codes(AnyMatrix x, Offsets offsets, ConstTable table, bool exclusion, bool allow_missing) {
        Matrix view = naively::codes(x);
        check_offsets(offsets, view.columns, table.shape(0), 1);
        require(table.size() >> 32 == 0, "A table of codes must have fewer than 2^32 cells; merge rare values first.");
        PaddedTable lines = padded(table, table.shape(0), scorer_.width(), WRONG_TABLE);
        keep_alive(view.rows, x, offsets, table);
        add(
            [=, k = &scorer_.kernels(), o = offsets.data()](size_t begin, size_t end, double* scores) {
                k->score_codes(view, allow_missing, o, lines, begin, end, scores);
            },
            view.columns, exclusion);
    }

    // Two or three columns together; each interaction has a line of the table for every combination of their codes,
    // missing values included.
    void interactions(AnyMatrix x, Offsets offsets, LabelTable columns, Labels lines, ConstTable table) {
        Matrix view = naively::codes(x);
        check_offsets(offsets, view.columns, size_t(offsets(view.columns)), 0);
        require(columns.shape(1) == 3, "An interaction has three columns, the third -1 if there is none.");
        Interactions which{columns.data(), lines.data(), columns.shape(0)};
        check_interactions(offsets, view.columns, which, lines.shape(0), table.shape(0));
        PaddedTable padded_table = padded(table, table.shape(0), scorer_.width(), WRONG_TABLE);
        keep_alive(view.rows, x, offsets, columns, lines, table);
        scorer_.add(
            [=, k = &scorer_.kernels(), o = offsets.data()](size_t begin, size_t end, double* scores) {
                k->score_interactions(view, o, which, padded_table, begin, end, scores);
            },
            which.size);
    }

    void dense(AnyMatrix x, std::optional<double> threshold, ConstTable table, bool exclusion) {
        Matrix view = matrix(x);
        PaddedTable lines = padded(table, view.columns, scorer_.width(), WRONG_TABLE);
        keep_alive(view.rows, x, table);
        add(
            [=, k = &scorer_.kernels(), binarize = binarize_of(threshold)](size_t begin, size_t end, double* scores) {
                k->score_dense(view, binarize, lines, begin, end, scores);
            },
            view.columns, exclusion);
    }

    void sparse(AnyVector starts, AnyVector columns, AnyVector values, std::optional<double> threshold,
                ConstTable table, bool exclusion) {
        SparseMatrix view = naively::sparse(starts, columns, values, table.shape(0));
        PaddedTable lines = padded(table, table.shape(0), scorer_.width(), WRONG_TABLE);
        keep_alive(view.rows, starts, columns, values, table);
        add(
            [=, k = &scorer_.kernels(), binarize = binarize_of(threshold)](size_t begin, size_t end, double* scores) {
                k->score_sparse(view, binarize, lines, begin, end, scores);
            },
            view.rows ? view.entries / view.rows : 0, exclusion);
    }

    void normal(AnyMatrix x, ConstTable center, ConstTable precision, ConstTable base, bool allow_missing) {
        Matrix view = matrix(x);
        size_t width = scorer_.width();
        PaddedTable c = padded(center, view.columns, width, WRONG_TABLE),
                    p = padded(precision, view.columns, width, WRONG_TABLE),
                    b = padded(base, view.columns, width, WRONG_TABLE);
        keep_alive(view.rows, x, center, precision, base);
        scorer_.add(
            [=, k = &scorer_.kernels(), total = column_sums(b)](size_t begin, size_t end, double* scores) {
                k->score_normal(view, allow_missing, c, p, b, total.data(), begin, end, scores);
            },
            view.columns);
    }

    void student(AnyMatrix x, ConstTable center, ConstTable precision, ConstTable power, ConstTable base,
                 bool allow_missing) {
        Matrix view = matrix(x);
        size_t width = scorer_.width();
        PaddedTable c = padded(center, view.columns, width, WRONG_TABLE),
                    p = padded(precision, view.columns, width, WRONG_TABLE),
                    q = padded(power, view.columns, width, WRONG_TABLE),
                    b = padded(base, view.columns, width, WRONG_TABLE);
        keep_alive(view.rows, x, center, precision, power, base);
        scorer_.add(
            [=, k = &scorer_.kernels(), total = column_sums(b)](size_t begin, size_t end, double* scores) {
                k->score_student(view, allow_missing, c, p, q, b, total.data(), begin, end, scores);
            },
            view.columns);
    }

    void quadratic(ConstTable numbers, AnyMatrix x, Offsets offsets, ConstTable of_numbers, ConstTable of_codes,
                   ConstTable squares) {
        Matrix view = naively::codes(x);
        size_t width = numbers.shape(1), size = of_numbers.shape(1), lines = of_codes.shape(0);
        check_offsets(offsets, view.columns, lines, 0);
        require(size > 0 && of_codes.shape(1) == size && of_numbers.shape(0) == width && numbers.shape(0) == view.rows,
                "There must be numbers for each row, and directions for each number and code.");
        require(squares.shape(0) + 1 == scorer_.classes() && squares.shape(1) == QuadraticForm::cells_per_class(size),
                "There must be a triangle of squares for each class but the last.");
        QuadraticForm form{numbers.data(),   width, size, of_numbers.data(), of_codes.data(), squares.data(),
                           scorer_.classes()};
        keep_alive(view.rows, numbers, x, offsets, of_numbers, of_codes, squares);
        scorer_.add([=, k = &scorer_.kernels(), o = offsets.data(), padded_classes = scorer_.width()](
                        size_t begin, size_t end,
                        double* scores) { k->score_quadratic(form, view, o, padded_classes, begin, end, scores); },
                    squares.shape(1) / LANES + (view.columns + width) * size / (LANES * scorer_.width()));
    }

    void given(ConstTable scores, bool exclusion) {
        require(scores.shape(1) == scorer_.classes(), "Scores must be [row, class].");
        keep_alive(scores.shape(0), scores);
        add(
            [=, from = scores.data(), classes = scorer_.classes(), width = scorer_.width()](size_t begin, size_t end,
                                                                                            double* out) {
                for (size_t row = begin; row < end; ++row, out += width)
                    for (size_t c = 0; c < classes; ++c) out[c] += from[row * classes + c];
            },
            1, exclusion);
    }

    int64_t log_joint(Answers out, int threads) const { return run(Answer::log_joint, nullptr, out, threads); }
    int64_t posterior(ConstVector fallback, Answers out, int threads) const {
        return run(Answer::posterior, &fallback, out, threads);
    }
    int64_t log_posterior(ConstVector fallback, Answers out, int threads) const {
        return run(Answer::log_posterior, &fallback, out, threads);
    }
    int64_t choice(ConstVector fallback, Choices out, int threads, std::optional<Labels> labels) const {
        require(fallback.shape(0) == scorer_.classes(), "There must be a fallback for each class.");
        require(!labels || labels->shape(0) == scorer_.classes(), "There must be a label for each class.");
        require(rows_ == NO_ROW || out.shape(0) == rows_, "There must be a place for each row.");
        const int64_t* names = labels ? labels->data() : nullptr;
        return write_answers(out.shape(0),
                             {Answer::choice, 0, 0, nullptr, fallback.data(), names, out.data(), Type::i64}, threads);
    }

  private:
    static constexpr const char* WRONG_TABLE =
        "A table must have a line for each column or value, padded to a multiple of four classes.";

    static std::vector<double> column_sums(const PaddedTable& table) {
        std::vector<double> total(table.width, 0.0);
        for (size_t i = 0; i < table.lines * table.width; ++i) total[i % table.width] += table.data[i];
        return total;
    }

    template <class... Arrays>
    void keep_alive(size_t rows, const Arrays&... arrays) {
        require(rows_ == NO_ROW || rows_ == rows, "All columns must have the same number of rows.");
        rows_ = rows;
        (arrays_.push_back(nb::cast(arrays)), ...);
    }

    void add(Scorer::Step step, size_t cells_per_row, bool exclusion) {
        if (exclusion)
            scorer_.add_exclusion(std::move(step));
        else
            scorer_.add(std::move(step), cells_per_row);
    }

    int64_t run(Answer answer, const ConstVector* fallback, Answers& out, int threads) const {
        require((rows_ == NO_ROW || out.shape(0) == rows_) && out.shape(1) == scorer_.classes(),
                "The answers must be [row, class].");
        require(!fallback || fallback->shape(0) == scorer_.classes(), "There must be a fallback for each class.");
        Type type = type_of(out);
        require(type == Type::f64 || type == Type::f32, "Answers are float64 or float32.");
        return write_answers(out.shape(0),
                             {answer, 0, 0, nullptr, fallback ? fallback->data() : nullptr, nullptr, out.data(), type},
                             threads);
    }

    int64_t write_answers(size_t rows, AnswerRequest how, int threads) const {
        size_t row = NO_ROW;
        without_gil(threads, [&](const Run& run) { row = scorer_.run(rows, how, run); });
        return refused(row);
    }

    Scorer scorer_;
    size_t rows_ = NO_ROW;
    std::vector<nb::object> arrays_;
};

void add_pair_scores(ConstPlanes products, Offsets offsets, Labels first, Labels second, double pseudo_count,
                     double weight, LabelTable columns, Labels lines, Table table, int threads) {
    PairColumns pairs = pair_columns(products, offsets, first, second, pseudo_count);
    size_t classes = products.shape(0);
    require(table.shape(1) >= classes, "The table must have a column for each class.");
    Interactions which{columns.data(), lines.data(), columns.shape(0)};
    check_interactions(offsets, offsets.shape(0) - 1, which, lines.shape(0), table.shape(0));
    require(pairs.size <= which.size, "There must be a part of the table for each pair.");
    for (size_t p = 0; p < pairs.size; ++p)
        require(columns(p, 0) == first(p) && columns(p, 1) == second(p) && columns(p, 2) == -1,
                "Pairs must be the first interactions of the table.");
    without_gil(threads, [&](const Run& run) {
        kernels().add_pair_scores(pairs, classes, weight, lines.data(), table.data(), table.shape(1), run);
    });
}

}  // namespace

void bind_scoring(nb::module_& m) {
    nb::class_<PyScorer>(m, "Scorer",
                         "Adds up the contributions of columns to the scores of classes, block by block, and answers.")
        .def(
            "__init__", [](PyScorer* at, ConstVector log_prior) { new (at) PyScorer(kernels(), log_prior); },
            "log_prior"_a)
        .def("constant", &PyScorer::constant, "values"_a, "against"_a = false, "Add a number to each class.")
        .def("temper", &PyScorer::rescale, "scale"_a, "bias"_a.none() = nb::none(),
             "Answer with bias + scale * (the sum of all that was or will be added).")
        .def("floor", &PyScorer::set_floor, "values"_a,
             "Answer with (1 - the sum of these values) * probability + value: the least probability of each class.")
        .def(
            "codes", &PyScorer::codes, "x"_a.noconvert(), "offsets"_a.noconvert(), "table"_a.noconvert(),
            "against"_a = false, "allow_missing"_a = true,
            "Add table[offsets[j] + code]; the last line of each part is for unknown codes; negative ones are missing.")
        .def("interactions", &PyScorer::interactions, "x"_a.noconvert(), "offsets"_a.noconvert(),
             "columns"_a.noconvert(), "lines"_a.noconvert(), "table"_a.noconvert(),
             "Add table[lines[p] + the place of the combination of codes of two or three columns] for each of them.")
        .def("dense", &PyScorer::dense, "x"_a.noconvert(), "threshold"_a.none(), "table"_a.noconvert(),
             "against"_a = false, "Add x * table[column], or table[column] where x > threshold.")
        .def("sparse", &PyScorer::sparse, "starts"_a, "columns"_a, "values"_a, "threshold"_a.none(),
             "table"_a.noconvert(), "against"_a = false, "The same for a sparse matrix.")
        .def("normal", &PyScorer::normal, "x"_a.noconvert(), "center"_a.noconvert(), "precision"_a.noconvert(),
             "base"_a.noconvert(), "allow_missing"_a,
             "Add base - (x - center)**2 * precision, summed over the columns; a missing value (NaN) adds nothing.")
        .def("student", &PyScorer::student, "x"_a.noconvert(), "center"_a.noconvert(), "precision"_a.noconvert(),
             "power"_a.noconvert(), "base"_a.noconvert(), "allow_missing"_a,
             "Add base - power * log(1 + (x - center)**2 * precision), summed over the columns.")
        .def("quadratic", &PyScorer::quadratic, "numbers"_a.noconvert(), "x"_a.noconvert(), "offsets"_a.noconvert(),
             "of_numbers"_a.noconvert(), "of_codes"_a.noconvert(), "squares"_a.noconvert(),
             "Add a quadratic form of directions, which are sums over numbers and codes.")
        .def("given", &PyScorer::given, "scores"_a.noconvert(), "against"_a = false, "Add these scores [row, class].")
        .def("log_joint", &PyScorer::log_joint, "out"_a.noconvert(), "threads"_a = 1,
             "The sums; -inf where the prior, or what was added against, excludes a class.")
        .def("posterior", &PyScorer::posterior, "fallback"_a, "out"_a.noconvert(), "threads"_a = 1,
             "Probabilities; rows that exclude every class get the fallback (logarithms).")
        .def("log_posterior", &PyScorer::log_posterior, "fallback"_a, "out"_a.noconvert(), "threads"_a = 1,
             "Logarithms of the probabilities.")
        .def("choice", &PyScorer::choice, "fallback"_a, "out"_a.noconvert(), "threads"_a = 1,
             "labels"_a.noconvert() = nb::none(),
             "The first class of the highest score, for each row: its label, or its code if there are no labels.");
    m.def("add_pair_scores", &add_pair_scores, "products"_a.noconvert(), "offsets"_a.noconvert(), "first"_a.noconvert(),
          "second"_a.noconvert(), "pseudo_count"_a, "weight"_a, "columns"_a.noconvert(), "lines"_a.noconvert(),
          "table"_a.noconvert(), "threads"_a = 1, "Add weighted scores of pairs of values to a table of interactions.");
}

}  // namespace naively
