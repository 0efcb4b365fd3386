"""A matrix as one column: the arithmetic that words and flags share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from .._kernels import Scorer
from .._types import Floats, Mask, Matrix, Places
from ..stats.arithmetic import subtract
from .family import check_scored, padded


class Split(NamedTuple):
    """Logarithms in two parts, the finite one and how often log 0 was added.

    Sums of infinities could meet one of the other sign; kept apart, what was added can be taken away again.
    """

    finite: Floats
    ruled_out: Floats

    @classmethod
    def of(cls, logs: Floats) -> Split:
        """Split a table of logarithms."""
        ruled_out = np.isneginf(logs)
        return cls(np.where(ruled_out, 0.0, logs), ruled_out.astype(np.float64))

    def whole(self) -> Floats:
        """Return the logarithms in one part again."""
        return np.where(self.ruled_out > 0.5, -np.inf, self.finite)

    def __add__(self, other: Split) -> Split:  # type: ignore[override]  # a sum of logarithms, no longer tuple
        return Split(self.finite + other.finite, self.ruled_out + other.ruled_out)

    def __sub__(self, other: Split) -> Split:
        return Split(self.finite - other.finite, self.ruled_out - other.ruled_out)

    def __mul__(self, times: Floats) -> Split:  # type: ignore[override]  # a product with numbers, as of arrays
        return Split(self.finite * times, self.ruled_out * (times > 0))

    def sum(self, axis: int) -> Split:
        """Return the sums along an axis."""
        return Split(self.finite.sum(axis=axis), self.ruled_out.sum(axis=axis))

    def only(self, keep: Mask) -> Split:
        """Return the same with nothing where it is not kept."""
        return Split(np.where(keep, self.finite, 0.0), np.where(keep, self.ruled_out, 0.0))

    def row_sums(self, rows: Places, n_rows: int) -> Split:
        """Return the sums of the entries of each row."""
        return Split(row_sums(rows, self.finite, n_rows), row_sums(rows, self.ruled_out, n_rows))


def add_products(scorer: Scorer, x: Matrix, table: Floats, threshold: float | None, against: bool = False) -> None:
    """Have the sum over the cells of each row of value (or presence) times table [value, class] added to the scores."""
    if sparse.issparse(x):
        scorer.sparse(x.indptr, x.indices, x.data, threshold, table, against)
    else:
        scorer.dense(x, threshold, table, against)


def entries(x: Matrix, threshold: float | None = None) -> tuple[Places, Places, Floats]:
    """Return row, column and value of each cell that counts."""
    if sparse.issparse(x):
        x = x.tocsr()
        rows, columns = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr)), x.indices.astype(np.intp)
        values = x.data[: len(columns)].astype(np.float64)
    else:
        rows, columns = np.nonzero(x)
        values = np.asarray(x)[rows, columns].astype(np.float64)
    if threshold is not None:
        values = (values > threshold).astype(np.float64)
    counts = values != 0
    return (rows, columns, values) if counts.all() else (rows[counts], columns[counts], values[counts])


def stored_cells(x: Matrix) -> int:
    """Return how many cells there are to look at: those that a sparse matrix holds."""
    return int(x.nnz if sparse.issparse(x) else x.size)


def known_by_this_row_alone(met: Floats, kept: Mask, columns: Places, taken: Floats) -> Mask:
    """Tell which entries are of values that no other row has and nobody declared: unknown without this row."""
    # Few can be: what is more frequent than any entry stays.
    maybe = np.flatnonzero(((met <= taken.max(initial=0.0) * (1 + 1e-9)) & ~kept)[columns])
    gone = np.zeros(len(columns), dtype=bool)
    gone[maybe] = subtract(met[columns[maybe]], taken[maybe]) == 0
    return gone


def row_sums(rows: Places, terms: Floats, n_rows: int) -> Floats:
    """Return the sum of the terms [entry] or [entry, class] of each row; the entries stand in the order of the rows."""
    if terms.ndim == 1:
        return np.asarray(np.bincount(rows, weights=terms, minlength=n_rows), dtype=np.float64)
    starts = np.searchsorted(rows, np.arange(n_rows + 1))
    ones = (np.ones(len(rows)), np.arange(len(rows)), starts)
    return np.asarray(sparse.csr_array(ones, shape=(n_rows, len(rows))) @ terms)


def weighted_row_sums(x: Matrix, table: Floats, power: int = 1, threads: int = 1) -> Floats:
    """Return the sum over the cells of each row of value to a power times table [value, class], as [row, class]."""
    scorer, out = Scorer(np.zeros(table.shape[1])), np.empty((x.shape[0], table.shape[1]))
    add_products(scorer, raised_cells(x, power), padded(table), None)
    check_scored(scorer.log_joint(out, threads))
    return out


def presence(x: Matrix, threshold: float | None) -> Matrix:
    """Return a matrix with 1 for each cell above the threshold, and 0 for others; without one, the matrix itself."""
    if threshold is None:
        return x
    if sparse.issparse(x):
        return sparse.csr_array(((x.data > threshold).astype(np.float64), x.indices, x.indptr), shape=x.shape)
    return (np.asarray(x) > threshold).astype(np.float64)


def raised_cells(x: Matrix, power: int) -> Matrix:
    """Return a matrix with each cell raised to a power."""
    if power == 1:
        return x
    if sparse.issparse(x):
        return sparse.csr_array((x.data.astype(np.float64) ** power, x.indices, x.indptr), shape=x.shape)
    return np.asarray(x, dtype=np.float64) ** power
