// The kernels of one instruction level that count.
#pragma once

#include "common/matrix_rows.hpp"
#include "kernels.hpp"

namespace naively::NAIVELY_LEVEL {

inline double weight_of(const LabeledRows& rows, size_t row) { return rows.weights ? rows.weights[row] : 1.0; }

// The first row of a dense matrix with a cell outside the limits.
inline size_t first_outside(const Matrix& x, AllowedRange limits) {
    return with_numbers(x, 1, [&](auto line_of) {
        for (size_t row = 0; row < x.rows; ++row)
            if (!within(line_of(row), x.columns, limits)) return row;
        return NO_ROW;
    });
}

size_t count_codes(const Matrix&, const LabeledRows&, bool allow_missing, const int64_t* offsets, double* counts,
                   const Run&);
size_t count_dense(const Matrix&, const LabeledRows&, Binarize, AllowedRange, double* counts, const Run&);
size_t count_sparse(const SparseMatrix&, const LabeledRows&, Binarize, AllowedRange, double* counts, const Run&);
size_t count_moments(const Matrix&, const LabeledRows&, AllowedRange, double* shift, double* sums, const Run&);
void ranges(const Matrix&, double* least, double* largest, const Run&);
void hash_numbers(const Matrix&, const uint64_t* factors, uint64_t* out, const Run&);
void hash_codes(const Matrix& codes, const int64_t* offsets, const uint64_t* table, const int32_t* classes,
                const uint64_t* of_class, uint64_t base, uint64_t* out, const Run&);
void bin_numbers(const Matrix&, const double* cuts, const int64_t* offsets, int32_t* out, const Run&);
void lay_out(const Matrix& numbers, const Matrix& labels, const GridLayout&, const GridCells& out, const Run&);
void gather_numbers(const NumberColumn* columns, size_t n, size_t rows, double* out, const Run&);
void count_products(const Matrix& codes, const int64_t* offsets, const double* numbers, size_t width,
                    const LabeledRows&, double* products, const Run&);
void mirror_products(const double* half, size_t classes, size_t features, const int64_t* places, double* out);

}  // namespace naively::NAIVELY_LEVEL
