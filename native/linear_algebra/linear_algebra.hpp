// Products and decompositions of matrices. Compiled once per instruction level.
#pragma once

#include "kernels.hpp"

namespace naively::NAIVELY_LEVEL {

void multiply(const Matrices<float>&, const Matrices<float>&, bool symmetric, float* out, const Run&);
void multiply(const Matrices<double>&, const Matrices<double>&, bool symmetric, double* out, const Run&);
void multiply_vector(const Matrices<float>&, const float* vector, float* out, const Run&);
void multiply_vector(const Matrices<double>&, const double* vector, double* out, const Run&);
bool factor_cholesky(double* matrix, size_t size);
void solve_cholesky(const double* root, size_t size, double* sides, size_t columns);
void find_eigenvectors(double* matrix, size_t size, double* values);
size_t factor_lu(double* matrices, size_t count, size_t size, double* sides, size_t columns, const Run&);

}  // namespace naively::NAIVELY_LEVEL
