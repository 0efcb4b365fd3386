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

}  // namespace

void bind_leave_one_out(nb::module_& m) {
    m.def(
        "leave_one_out_codes", &leave_one_out_codes, "x"_a.noconvert(), "classes"_a.noconvert(),
        "weights"_a.noconvert().none(), "offsets"_a.noconvert(), "log_probabilities"_a.noconvert(), "n"_a.noconvert(),
        "seen"_a.noconvert(), "declared"_a.noconvert(), "totals"_a.noconvert(), "columns"_a.noconvert(),
        "out"_a.noconvert(), "threads"_a = 1,
        "out[row] += log P(row | class) by the counts of all other rows. Refuses rows that cannot have been counted.");
    m.def("leave_one_out_numbers", &leave_one_out_numbers, "x"_a.noconvert(), "classes"_a.noconvert(),
          "weights"_a.noconvert().none(), "n"_a.noconvert(), "mean"_a.noconvert(), "ssd"_a.noconvert(),
          "rounding"_a.noconvert(), "estimate"_a, "prior_rows"_a, "epsilon"_a, "out"_a.noconvert(), "threads"_a = 1,
          "out[row] += log p(row | class) by the densities of all other rows. Refuses infinite numbers.");
}

}  // namespace naively
