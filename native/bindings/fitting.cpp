// The kernels that fit, as Python calls them.
#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/levels.hpp"

using namespace nb::literals;

namespace naively {

namespace {

using CellPlaces = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

double offset_loss(CellPlaces cells, ConstTable scores, ConstTable truth, ConstVector weights, ConstTable offsets,
                   std::optional<Table> slope, int threads) {
    size_t rows = cells.shape(0), width = offsets.shape(1);
    require(width > 0 && width % LANES == 0, "The offsets must be padded to a multiple of four classes.");
    for (const ConstTable& table : {scores, truth})
        require(table.shape(0) == rows && table.shape(1) == width, "Scores and truth must be [row, class], padded.");
    require(weights.shape(0) == rows, "There must be a weight for each row.");
    require(!slope || (slope->shape(0) == offsets.shape(0) && slope->shape(1) == width),
            "The slope must be as large as the offsets.");
    for (size_t i = 0; i < cells.size(); ++i)
        require(cells.data()[i] >= 0 && size_t(cells.data()[i]) < offsets.shape(0), "A cell has no offset.");
    PaddedTable table{offsets.data(), offsets.shape(0), width};
    CellRows view{cells.data(), rows, cells.shape(1), scores.data(), truth.data(), weights.data()};
    double loss = 0.0;
    without_gil(threads, [&](const Run& run) {
        loss = kernels().offset_loss(view, table, slope ? slope->data() : nullptr, run);
    });
    return loss;
}

}  // namespace

void bind_fitting(nb::module_& m) {
    m.def("offset_loss", &offset_loss, "cells"_a.noconvert(), "scores"_a.noconvert(), "truth"_a.noconvert(),
          "weights"_a.noconvert(), "offsets"_a.noconvert(), "slope"_a.none(), "threads"_a = 1,
          "The log loss of rows under scores + the offsets of their cells; its slope is added to `slope`.");
}

}  // namespace naively
