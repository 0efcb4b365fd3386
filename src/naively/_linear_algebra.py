"""Products and decompositions of matrices of numbers: the same bits wherever they are computed.

The library behind NumPy's products (BLAS) adds up in an order that depends on its threads, on how many of them are
free, and on the processor. Our kernels do not; so no other module uses that library.
"""

from __future__ import annotations

import numpy as np

from . import _kernels
from ._threads import threads_here
from ._types import AnyArray, Floats

# Steps towards the leading eigenvectors of a large matrix, and vectors that are followed beside those that are wanted.
SUBSPACE_STEPS, OVERSAMPLED = 12, 16


def product(a: AnyArray, b: AnyArray) -> AnyArray:
    """Return a·b as NumPy's operator @ does: of vectors, matrices, or matrices one by one. Singles give singles."""
    kind: type = np.float32 if a.dtype == b.dtype == np.float32 else np.float64
    a, b = np.asarray(a, kind), np.asarray(b, kind)
    if a.ndim == b.ndim == 2:  # the usual case, and often a small one
        result: AnyArray = np.empty((a.shape[0], b.shape[1]), kind)
        _kernels.multiply(a[None], b[None], result[None], False, threads_here())
        return result
    if b.ndim == 1:
        lines = np.atleast_2d(a)
        result = np.empty(lines.shape[0], kind)
        _kernels.multiply_vector(lines, np.ascontiguousarray(b), result, threads_here())
        return result if a.ndim > 1 else result[0]
    rows, columns = np.atleast_2d(a), b
    count = max(rows.shape[0] if rows.ndim == 3 else 1, columns.shape[0] if columns.ndim == 3 else 1)
    rows, columns = (np.broadcast_to(part, (count, *part.shape[-2:])) for part in (rows, columns))
    out: AnyArray = np.empty((count, rows.shape[1], columns.shape[2]), kind)
    _kernels.multiply(rows, columns, out, False, threads_here())
    out = out if max(a.ndim, b.ndim) == 3 else out[0]
    return out if a.ndim > 1 else out[..., 0, :]


def dot(a: AnyArray, b: AnyArray) -> float:
    """Return the sum of the products of two vectors."""
    kind = np.float32 if a.dtype == b.dtype == np.float32 else np.float64
    out: AnyArray = np.empty(1, kind)
    line: AnyArray = np.asarray(a, kind)[None]
    vector: AnyArray = np.ascontiguousarray(b, dtype=kind)
    _kernels.multiply_vector(line, vector, out, threads_here())
    return float(out[0])


def squared(lines: AnyArray) -> Floats:
    """Return the products of lines with each other."""
    out: AnyArray = np.empty((1, len(lines), len(lines)), lines.dtype)
    _kernels.multiply(lines[None], lines.T[None], out, True, threads_here())
    return np.asarray(out[0], dtype=np.float64)


def solve(a: Floats, b: Floats) -> Floats:
    """Return x with a·x = b, of one matrix or many; b is a vector, or has as many dimensions as a."""
    matrices = np.array(a if a.ndim == 3 else a[None], np.float64, order="C")
    sides = np.array(b.reshape(len(matrices), matrices.shape[1], -1), np.float64, order="C")
    if _kernels.factor_lu(matrices, sides, threads_here()) >= 0:
        raise np.linalg.LinAlgError("Singular matrix")
    return sides.reshape(b.shape)


def cholesky(a: Floats) -> Floats | None:
    """Return L with L·Lᵀ = a, a symmetric matrix; None if it is not positive definite."""
    root = np.array(a, np.float64, order="C")
    return root if _kernels.factor_cholesky(root) else None


def solve_by_root(root: Floats, b: Floats) -> Floats:
    """Return x with L·Lᵀ·x = b, given L."""
    result = np.array(b, np.float64, order="C")
    _kernels.solve_cholesky(root, result)
    return result


def leading_eigenvectors(a: Floats, most: int) -> tuple[Floats, Floats]:
    """Return the largest eigenvalues of a symmetric positive matrix and their vectors, line by line; at most a number.

    Of a large matrix they are found in a space that products with it turn towards its leading vectors.
    """
    size = min(most + OVERSAMPLED, len(a))
    if size < len(a):
        start = np.argsort(-np.diagonal(a), kind="stable")[:size]
        basis = orthonormal(np.ascontiguousarray(a[:, start]))
        for _ in range(SUBSPACE_STEPS):
            basis = orthonormal(product(a, basis))
        small = product(product(basis.T, a), basis)
    else:
        basis, small = np.eye(len(a)), np.array(a, np.float64, order="C")
    values = np.empty(size)
    vectors = np.ascontiguousarray((small + small.T) / 2)
    _kernels.find_eigenvectors(vectors, values)
    return values[:most], np.asarray(product(vectors[:most], np.ascontiguousarray(basis.T)))


def orthonormal(lines: Floats) -> Floats:
    """Return columns at right angles to each other that span the same space; columns that add nothing are 0."""
    gram = product(lines.T, lines)
    scale = np.sqrt(np.maximum(np.diagonal(gram), 1e-300))
    ridge = np.diag(np.full(len(gram), 1e-12))
    root = cholesky(gram / (scale[:, None] * scale) + ridge)
    if root is None:
        raise FloatingPointError("a matrix is not finite")
    return np.ascontiguousarray(solve_lower(root, (lines / scale).T).T)


def solve_lower(root: Floats, b: Floats) -> Floats:
    """Return x with L·x = b: Lᵀ times the solution by both."""
    return np.asarray(product(root.T, solve_by_root(root, b)))
