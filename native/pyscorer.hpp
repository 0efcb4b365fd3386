// The Python face of a Scorer.
#pragma once

#include <cmath>

#include "arrays.hpp"
#include "scorer.hpp"

namespace naively {

inline Padded padded(const ConstTable& table, size_t lines, size_t width, const char* otherwise) {
    require(table.shape(0) == lines && table.shape(1) == width, otherwise);
    return {table.data(), lines, width};
}

// It holds on to the arrays that its steps read.
class PyScorer {
  public:
    PyScorer(const Kernels& kernels, const ConstVector& log_prior)
        : scorer_(kernels, log_prior.data(), log_prior.shape(0)) {
        require(log_prior.shape(0) > 0, "There must be a class.");
    }

    void constant(ConstVector values, bool against) {
        require(values.shape(0) == scorer_.classes(), "There must be a number for each class.");
        scorer_.add_constant(values.data(), against);
    }

    void temper(double scale, std::optional<ConstVector> bias) {
        require(std::isfinite(scale) && scale > 0, "A scale must be finite and more than 0.");
        require(!bias || bias->shape(0) == scorer_.classes(), "There must be a bias for each class.");
        scorer_.temper(scale, bias ? bias->data() : nullptr);
    }

    void codes(AnyMatrix x, Offsets offsets, ConstTable table, bool against, bool holes) {
        Matrix view = naively::codes(x);
        check_offsets(offsets, view.columns, table.shape(0), 1);
        require(table.size() >> 32 == 0, "A table of codes must have fewer than 2^32 cells; merge rare values first.");
        Padded lines = padded(table, table.shape(0), scorer_.width(), WRONG_TABLE);
        take(view.rows, x, offsets, table);
        add([=, k = &scorer_.kernels(), o = offsets.data()](size_t begin, size_t end, double* scores) {
            k->score_codes(view, holes, o, lines, begin, end, scores);
        }, view.columns, against);
    }

    void dense(AnyMatrix x, std::optional<double> threshold, ConstTable table, bool against) {
        Matrix view = matrix(x);
        Padded lines = padded(table, view.columns, scorer_.width(), WRONG_TABLE);
        take(view.rows, x, table);
        add([=, k = &scorer_.kernels(), reading = reading_of(threshold)](size_t begin, size_t end, double* scores) {
            k->score_dense(view, reading, lines, begin, end, scores);
        }, view.columns, against);
    }

    void sparse(AnyVector starts, AnyVector columns, AnyVector values, std::optional<double> threshold,
                ConstTable table, bool against) {
        Sparse view = naively::sparse(starts, columns, values, table.shape(0));
        Padded lines = padded(table, table.shape(0), scorer_.width(), WRONG_TABLE);
        take(view.rows, starts, columns, values, table);
        add([=, k = &scorer_.kernels(), reading = reading_of(threshold)](size_t begin, size_t end, double* scores) {
            k->score_sparse(view, reading, lines, begin, end, scores);
        }, view.rows ? view.entries / view.rows : 0, against);
    }

    void normal(AnyMatrix x, ConstTable centre, ConstTable precision, ConstTable base, bool holes) {
        Matrix view = matrix(x);
        size_t width = scorer_.width();
        Padded c = padded(centre, view.columns, width, WRONG_TABLE), p = padded(precision, view.columns, width, WRONG_TABLE),
               b = padded(base, view.columns, width, WRONG_TABLE);
        take(view.rows, x, centre, precision, base);
        scorer_.add([=, k = &scorer_.kernels(), total = column_sums(b)](size_t begin, size_t end, double* scores) {
            k->score_normal(view, holes, c, p, b, total.data(), begin, end, scores);
        }, view.columns);
    }

    void student(AnyMatrix x, ConstTable centre, ConstTable precision, ConstTable power, ConstTable base, bool holes) {
        Matrix view = matrix(x);
        size_t width = scorer_.width();
        Padded c = padded(centre, view.columns, width, WRONG_TABLE), p = padded(precision, view.columns, width, WRONG_TABLE),
               q = padded(power, view.columns, width, WRONG_TABLE), b = padded(base, view.columns, width, WRONG_TABLE);
        take(view.rows, x, centre, precision, power, base);
        scorer_.add([=, k = &scorer_.kernels(), total = column_sums(b)](size_t begin, size_t end, double* scores) {
            k->score_student(view, holes, c, p, q, b, total.data(), begin, end, scores);
        }, view.columns);
    }

    void given(ConstTable scores, bool against) {
        require(scores.shape(1) == scorer_.classes(), "Scores must be [row, class].");
        take(scores.shape(0), scores);
        add([=, from = scores.data(), classes = scorer_.classes(), width = scorer_.width()](size_t begin, size_t end,
                                                                                           double* out) {
            for (size_t row = begin; row < end; ++row, out += width)
                for (size_t c = 0; c < classes; ++c) out[c] += from[row * classes + c];
        }, 1, against);
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
        return finish(out.shape(0), {Answer::choice, 0, 0, nullptr, fallback.data(), names, out.data(), Type::i64}, threads);
    }

  private:
    static constexpr const char* WRONG_TABLE =
        "A table must have a line for each column or value, padded to a multiple of four classes.";

    static std::vector<double> column_sums(const Padded& table) {
        std::vector<double> total(table.width, 0.0);
        for (size_t i = 0; i < table.lines * table.width; ++i) total[i % table.width] += table.data[i];
        return total;
    }

    template <class... Arrays>
    void take(size_t rows, const Arrays&... arrays) {
        require(rows_ == NO_ROW || rows_ == rows, "All columns must have the same number of rows.");
        rows_ = rows;
        (kept_.push_back(nb::cast(arrays)), ...);
    }

    void add(Scorer::Step step, size_t cells_per_row, bool against) {
        if (against)
            scorer_.add_against(std::move(step));
        else
            scorer_.add(std::move(step), cells_per_row);
    }

    int64_t run(Answer answer, const ConstVector* fallback, Answers& out, int threads) const {
        require((rows_ == NO_ROW || out.shape(0) == rows_) && out.shape(1) == scorer_.classes(),
                "The answers must be [row, class].");
        require(!fallback || fallback->shape(0) == scorer_.classes(), "There must be a fallback for each class.");
        Type type = type_of(out);
        require(type == Type::f64 || type == Type::f32, "Answers are float64 or float32.");
        return finish(out.shape(0), {answer, 0, 0, nullptr, fallback ? fallback->data() : nullptr, nullptr, out.data(), type},
                      threads);
    }

    int64_t finish(size_t rows, Finish how, int threads) const {
        size_t row = NO_ROW;
        without_gil(threads, [&](const Run& run) { row = scorer_.run(rows, how, run); });
        return refused(row);
    }

    Scorer scorer_;
    size_t rows_ = NO_ROW;
    std::vector<nb::object> kept_;
};

}  // namespace naively
