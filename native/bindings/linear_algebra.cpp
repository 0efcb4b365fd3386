// The kernels of linear algebra, as Python calls them.
#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/levels.hpp"

using namespace nb::literals;

namespace naively {

namespace {

template <class T>
using AnyMatrices = nb::ndarray<const T, nb::ndim<3>, nb::device::cpu>;
template <class T>
using NumberMatrix = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T>
using PlanesOut = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T>
using TableOut = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using TableIn = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using VectorIn = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using VectorOut = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
Matrices<T> matrices(const AnyMatrices<T>& x) {
    require_aligned(x);
    return {x.data(), x.shape(0), x.shape(1), x.shape(2), ptrdiff_t(x.stride(0)), ptrdiff_t(x.stride(1)), x.stride(2)};
}

template <class T>
void multiply(AnyMatrices<T> a, AnyMatrices<T> b, PlanesOut<T> out, bool symmetric, int threads) {
    require(a.shape(2) == b.shape(1) && a.shape(0) == b.shape(0), "The matrices cannot be multiplied.");
    require(out.shape(0) == a.shape(0) && out.shape(1) == a.shape(1) && out.shape(2) == b.shape(2),
            "The product has another size.");
    require(!symmetric || a.shape(1) == b.shape(2), "A symmetric matrix is square.");
    without_gil(threads, [&](const Run& run) {
        if constexpr (std::is_same_v<T, float>)
            kernels().multiply_singles(matrices<T>(a), matrices<T>(b), symmetric, out.data(), run);
        else
            kernels().multiply_doubles(matrices<T>(a), matrices<T>(b), symmetric, out.data(), run);
    });
}

template <class T>
void multiply_vector(NumberMatrix<T> a, VectorIn<T> vector, VectorOut<T> out, int threads) {
    require(a.shape(1) == vector.shape(0) && a.shape(0) == out.shape(0), "Matrix and vector cannot be multiplied.");
    require_aligned(a);
    Matrices<T> one{a.data(), 1, a.shape(0), a.shape(1), 0, ptrdiff_t(a.stride(0)), ptrdiff_t(a.stride(1))};
    without_gil(threads, [&](const Run& run) {
        if constexpr (std::is_same_v<T, float>)
            kernels().multiply_vector_of_singles(one, vector.data(), out.data(), run);
        else
            kernels().multiply_vector_of_doubles(one, vector.data(), out.data(), run);
    });
}

bool factor_cholesky(TableOut<double> matrix) {
    require(matrix.shape(0) == matrix.shape(1), "The matrix must be square.");
    bool positive = false;
    without_gil(1, [&](const Run&) { positive = kernels().factor_cholesky(matrix.data(), matrix.shape(0)); });
    return positive;
}

void solve_cholesky(TableIn<double> root, TableOut<double> sides) {
    require(root.shape(0) == root.shape(1) && sides.shape(0) == root.shape(0), "The sides do not fit the matrix.");
    without_gil(
        1, [&](const Run&) { kernels().solve_cholesky(root.data(), root.shape(0), sides.data(), sides.shape(1)); });
}

void find_eigenvectors(TableOut<double> matrix, VectorOut<double> values) {
    require(matrix.shape(0) == matrix.shape(1) && values.shape(0) == matrix.shape(0), "The matrix must be square.");
    without_gil(1, [&](const Run&) { kernels().find_eigenvectors(matrix.data(), matrix.shape(0), values.data()); });
}

int64_t factor_lu(PlanesOut<double> a, PlanesOut<double> sides, int threads) {
    require(a.shape(1) == a.shape(2), "The matrices must be square.");
    require(sides.shape(0) == a.shape(0) && sides.shape(1) == a.shape(1), "The sides do not fit the matrices.");
    size_t failed = 0;
    without_gil(threads, [&](const Run& run) {
        failed = kernels().factor_lu(a.data(), a.shape(0), a.shape(1), sides.data(), sides.shape(2), run);
    });
    return refused(failed);
}

template <class T>
void bind_products(nb::module_& m) {
    m.def("multiply", &multiply<T>, "a"_a.noconvert(), "b"_a.noconvert(), "out"_a.noconvert(), "symmetric"_a = false,
          "threads"_a = 1, "out[i] = a[i]·b[i]; where all products are symmetric, half of each is computed.");
    m.def("multiply_vector", &multiply_vector<T>, "a"_a.noconvert(), "vector"_a.noconvert(), "out"_a.noconvert(),
          "threads"_a = 1, "out = a·vector.");
}

}  // namespace

void bind_linear_algebra(nb::module_& m) {
    bind_products<double>(m);
    bind_products<float>(m);
    m.def("factor_cholesky", &factor_cholesky, "matrix"_a.noconvert(),
          "Put the root L of a symmetric matrix L·Lᵀ in its place; False if it is not positive definite.");
    m.def("solve_cholesky", &solve_cholesky, "root"_a.noconvert(), "sides"_a.noconvert(),
          "Solve L·Lᵀ·x = sides in the place of the sides.");
    m.def("find_eigenvectors", &find_eigenvectors, "matrix"_a.noconvert(), "values"_a.noconvert(),
          "Put the eigenvectors of a symmetric matrix in its place, line by line, the largest eigenvalue first.");
    m.def("factor_lu", &factor_lu, "matrices"_a.noconvert(), "sides"_a.noconvert(), "threads"_a = 1,
          "Solve matrices·x = sides in their place; diagonals then multiply to determinants, but for their signs.\n"
          "Returns the first matrix that has no inverse, or -1.");
}

}  // namespace naively
