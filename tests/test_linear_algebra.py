"""Products and decompositions of matrices: as NumPy's to rounding, and the same bits however they are computed."""

import ast

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from naively import _kernels as kernels
from naively._linear_algebra import (
    cholesky,
    dot,
    leading_eigenvectors,
    product,
    solve_by_root,
    squared,
)
from naively._threads import shared_threads

from .test_package import SOURCE

RNG = np.random.default_rng(8)
SIZES = [(1, 1, 1), (3, 5, 7), (9, 17, 300), (130, 530, 600), (1, 40, 513), (0, 3, 4), (3, 0, 2), (2, 3, 0)]
# Modules that multiply sparse matrices, which no library of linear algebra does.
SPARSE = {"model/default/words.py", "model/default/moved_counts.py", "text/reader.py", "families/wide.py"}
BLAS = {f"np.{name}" for name in ("vdot", "inner", "matmul", "tensordot", "vecdot", "matvec", "vecmat", "linalg")}


def drawn(*shape, kind=np.float64):
    """Return normal numbers."""
    return RNG.normal(size=shape).astype(kind)


def positive(size, count=None):
    """Return positive definite matrices."""
    root = drawn(*(() if count is None else (count,)), size, size + 3)
    return np.einsum("...ij,...kj->...ik", root, root)


@pytest.fixture(scope="module", params=kernels.levels())
def by_level(request):
    """Return a function that computes at this level and at the best one; both must give the same bits."""

    def both(compute):
        kernels.use_level(request.param)
        try:
            found = compute()
        finally:
            kernels.use_level(kernels.levels()[0])
        for one, other in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, compute())), strict=True):
            assert_array_equal(one, other)
        return found

    return both


# -- products ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize(("rows", "columns", "terms"), SIZES)
def test_a_product_is_that_of_numpy_in_any_layout(by_level, rows, columns, terms, kind):
    a, b = drawn(rows, terms, kind=kind), drawn(terms, columns, kind=kind)
    found = by_level(lambda: product(a, b))
    assert found.dtype == kind
    assert_allclose(found, a.astype(np.float64) @ b, atol=1e-11 if kind == np.float64 else 1e-3)
    wide = np.zeros((2 * rows, 3 * terms), kind)
    wide[::2, ::3] = a
    for left in (np.asfortranarray(a), wide[::2, ::3], a[::-1][::-1]):
        assert_array_equal(product(left, np.asfortranarray(b)), found)


def test_rows_and_columns_have_the_same_bits_alone_and_by_threads(by_level):
    a, b = drawn(300, 700), drawn(700, 90)
    found = by_level(lambda: product(a, b))
    for row in (0, 5, 127, 128, 299):
        assert_array_equal(product(a[row : row + 1], b)[0], found[row])
        assert_array_equal(product(a[row], b), found[row])
    assert_array_equal(product(a, b[:, 30:47]), found[:, 30:47])
    with shared_threads(3):
        assert_array_equal(product(a, b), found)
    vector = by_level(lambda: product(a, b[:, 3]))
    assert_allclose(vector, found[:, 3], atol=1e-11)
    assert [dot(line, b[:, 3]) for line in a] == vector.tolist()
    assert_array_equal(product(np.asfortranarray(a), b[:, 3]), vector)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("size", [0, 1, 9, 61, 150])
def test_half_of_a_symmetric_product_is_enough(by_level, size, kind):
    lines = drawn(size, 600, kind=kind)
    assert_array_equal(by_level(lambda: squared(lines)), product(lines, lines.T))


@pytest.mark.parametrize(("left", "right"), [((2, 3), (2, 3)), ((3,), (2,)), ((2, 3, 4), (3, 4, 2))])
def test_matrices_that_do_not_fit_are_refused(left, right):
    with pytest.raises(ValueError, match=r"multiplied|broadcast"):
        product(np.ones(left), np.ones(right))


# -- decompositions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 5, 17, 70, 150])
def test_a_positive_matrix_has_a_root(by_level, size):
    a, b = positive(size), drawn(size, 4)
    root = by_level(lambda: cholesky(a))
    assert_allclose(root, np.linalg.cholesky(a), atol=1e-9)
    assert_allclose(a @ by_level(lambda: solve_by_root(root, b)), b, atol=1e-6)


@pytest.mark.parametrize(("size", "most"), [(1, 5), (40, 40), (300, 12)])
def test_leading_eigenvectors_are_those_of_numpy(by_level, size, most):
    lines = drawn(size, size) * 0.8 ** np.arange(size)
    a = lines.T @ lines
    values, vectors = by_level(lambda: leading_eigenvectors(a, most))
    expected = np.linalg.eigvalsh(a)[::-1][:most]
    assert_allclose(values, expected, rtol=1e-9, atol=1e-9 * expected[0])
    assert_allclose(vectors @ vectors.T, np.eye(len(vectors)), atol=1e-9)
    leading = values > 1e-6 * values[0]
    assert_allclose((vectors @ a)[leading], (values[:, None] * vectors)[leading], atol=1e-6 * values[0])


# -- nothing else ------------------------------------------------------------------------------------------------------


def uses_of_blas(tree):
    """Give the lines that multiply or decompose matrices with NumPy or SciPy."""
    for node in ast.walk(tree):
        operator = isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult)
        attribute = isinstance(node, ast.Attribute) and (ast.unparse(node) in BLAS or node.attr == "dot")
        optimized = isinstance(node, ast.keyword) and node.arg == "optimize"  # einsum, which then calls BLAS
        imported = isinstance(node, ast.Import | ast.ImportFrom) and "linalg" in ast.unparse(node)
        if operator or attribute or optimized or imported:
            yield getattr(node, "lineno", 0), operator


def test_no_module_uses_blas():
    found = [
        (path.relative_to(SOURCE).as_posix(), line)
        for path in SOURCE.rglob("*.py")
        if path.name != "_linear_algebra.py"
        for line, operator in uses_of_blas(ast.parse(path.read_text(encoding="utf-8")))
        if not (operator and path.relative_to(SOURCE).as_posix() in SPARSE)
    ]
    assert found == []
    assert len(list(uses_of_blas(ast.parse("a @ b; a @= b; np.dot(a, b); np.linalg.inv(a); import scipy.linalg")))) == 5
