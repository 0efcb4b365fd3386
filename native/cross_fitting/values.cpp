// Terms of single columns, of rows by counts without their fold. Compiled once per instruction level.
#include <algorithm>
#include <vector>

#include "common/threads.hpp"
#include "cross_fitting/cell_counts.hpp"
#include "cross_fitting/cross_fitting.hpp"

namespace naively::NAIVELY_LEVEL {
namespace {

void score_term(const int32_t* cells, size_t size, const double* totals, const FoldedRows& rows, double pseudo,
                float* out) {
    CellCounts base(size, rows.classes);
    auto cell_of = [&](size_t row) { return cells[row] < 0 ? size : size_t(cells[row]); };
    for (size_t cell = 0; cell < size; ++cell)
        std::copy(totals + cell * rows.classes, totals + (cell + 1) * rows.classes, base.line(cell));
    base.add(rows, rows.test, rows.test_end, -1.0, cell_of);
    RatioLines lines(size, base.width);
    std::vector<double> of_class(base.width);
    for (size_t fold = 0; fold < rows.folds; ++fold) {
        CellCounts counts = base;
        size_t begin = rows.first(fold), end = rows.first(fold + 1);
        if (!rows.tests(fold)) counts.add(rows, begin, end, -1.0, cell_of);
        std::fill(of_class.begin(), of_class.end(), 0.0);
        for (size_t cell = 0; cell < size; ++cell)
            for (size_t c = 0; c < base.width; ++c) {
                double& n = counts.line(cell)[c];
                of_class[c] += n = std::max(n, 0.0);  // fractions leave less than nothing by rounding
            }
        double whole = 0.0;
        for (double x : of_class) whole += x;
        auto fill = [&](size_t cell, double* n, double* expected) {
            double share = 0.0;
            for (size_t c = 0; c < base.width; ++c) share += n[c] = counts.line(cell)[c];
            share /= std::max(whole, 1e-300);
            for (size_t c = 0; c < base.width; ++c) expected[c] = of_class[c] * share;
        };
        for (size_t row = begin; row < end; ++row) {
            size_t cell = cell_of(row);
            const double* line = lines.line(cell == size ? lines.nothing() : lines.place(cell, pseudo, fill));
            for (size_t k = 0; k < rows.classes; ++k) out[k * rows.rows + row] = float(line[k]);
        }
        lines.forget_cells();
    }
}

}  // namespace

void cross_values(const int32_t* cells, size_t terms, const int64_t* offsets, const double* totals,
                  const FoldedRows& rows, double pseudo_count, float* out, const Run& run) {
    run_pieces(terms, terms * rows.rows * rows.classes, run, [&](size_t t) {
        score_term(cells + t * rows.rows, size_t(offsets[t + 1] - offsets[t]),
                   totals + size_t(offsets[t]) * rows.classes, rows, pseudo_count, out + t * rows.classes * rows.rows);
    });
}

}  // namespace naively::NAIVELY_LEVEL
