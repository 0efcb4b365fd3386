// The kernels that fit, as Python calls them.
#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/levels.hpp"

using namespace nb::literals;

namespace naively {

namespace {

using CellPlaces = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

CellRows cell_rows(const CellPlaces& cells, const ConstTable& scores, const ConstTable& truth,
                   const ConstVector& weights, size_t offsets) {
    size_t rows = cells.shape(0), width = scores.shape(1);
    require(width > 0 && width % LANES == 0, "Scores must be padded to a multiple of four classes.");
    for (const ConstTable& table : {scores, truth})
        require(table.shape(0) == rows && table.shape(1) == width, "Scores and truth must be [row, class], padded.");
    require(weights.shape(0) == rows, "There must be a weight for each row.");
    for (size_t i = 0; i < cells.size(); ++i)
        require(cells.data()[i] >= 0 && size_t(cells.data()[i]) < offsets, "A cell has no offset.");
    return {cells.data(), rows, cells.shape(1), scores.data(), truth.data(), weights.data()};
}

double offset_loss(CellPlaces cells, ConstTable scores, ConstTable truth, ConstVector weights, ConstTable offsets,
                   std::optional<Table> slope, int threads) {
    CellRows rows = cell_rows(cells, scores, truth, weights, offsets.shape(0));
    require(offsets.shape(1) == scores.shape(1), "The offsets must be padded as the scores are.");
    require(!slope || (slope->shape(0) == offsets.shape(0) && slope->shape(1) == offsets.shape(1)),
            "The slope must be as large as the offsets.");
    PaddedTable table{offsets.data(), offsets.shape(0), offsets.shape(1)};
    double loss = 0.0;
    without_gil(threads, [&](const Run& run) {
        loss = kernels().offset_loss(rows, table, slope ? slope->data() : nullptr, run);
    });
    return loss;
}

using RunEnds = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void fit_offsets(CellPlaces cells, ConstTable scores, ConstTable truth, ConstVector weights, ConstVector pulls,
                 ConstVector neighbors, RunEnds runs, ConstVector positions, ConstTable steps, size_t evaluations,
                 double tolerance, size_t memory, Table parameters, int threads) {
    size_t size = positions.shape(0);
    CellRows rows = cell_rows(cells, scores, truth, weights, size + 1);
    require(neighbors.shape(0) == size && runs.shape(1) == 2 && pulls.shape(0) == size + runs.shape(0),
            "There must be a pull for each offset and each run of them.");
    require(parameters.shape(0) == pulls.shape(0) && parameters.shape(1) == scores.shape(1) &&
                steps.shape(0) == pulls.shape(0) && steps.shape(1) == scores.shape(1),
            "Parameters and steps must be [parameter, class], padded.");
    for (size_t r = 0; r < runs.shape(0); ++r)
        require(runs(r, 0) >= 0 && runs(r, 0) <= runs(r, 1) && size_t(runs(r, 1)) <= size,
                "A run lies outside the offsets.");
    require(evaluations > 0 && memory > 0, "There must be an evaluation, and a step to remember.");
    OffsetPenalty penalty{pulls.data(), neighbors.data(), runs.data(), positions.data(), size, runs.shape(0)};
    without_gil(threads, [&](const Run& run) {
        kernels().fit_offsets(rows, scores.shape(1), penalty, steps.data(), {evaluations, tolerance, memory},
                              parameters.data(), run);
    });
}

}  // namespace

void bind_fitting(nb::module_& m) {
    m.def("offset_loss", &offset_loss, "cells"_a.noconvert(), "scores"_a.noconvert(), "truth"_a.noconvert(),
          "weights"_a.noconvert(), "offsets"_a.noconvert(), "slope"_a.none(), "threads"_a = 1,
          "The log loss of rows under scores + the offsets of their cells; its slope is added to `slope`.");
    m.def("fit_offsets", &fit_offsets, "cells"_a.noconvert(), "scores"_a.noconvert(), "truth"_a.noconvert(),
          "weights"_a.noconvert(), "pulls"_a.noconvert(), "neighbors"_a.noconvert(), "runs"_a.noconvert(),
          "positions"_a.noconvert(), "steps"_a.noconvert(), "evaluations"_a, "tolerance"_a, "memory"_a,
          "parameters"_a.noconvert(), "threads"_a = 1,
          "Go from parameters [offset, then slope of each run; class] to those of least log loss with its penalty.");
}

}  // namespace naively
