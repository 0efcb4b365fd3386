"""Counts that fill in place: adding one row costs that row, however large the model is.

Each accumulator holds the arrays of one statistic while rows come in, and returns the immutable value on request.
Classes are codes here, 0 … K - 1, in the order of the accumulator's axis.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .. import _kernels
from .._types import AnyArray, Codes, Floats
from ..errors import InvalidInput
from .axis import Axis
from .counts import Counts
from .moments import Moments
from .table import Table, Tables

INT32 = np.dtype(np.int32)


class SparseRows(Protocol):
    """A matrix in compressed rows (CSR), of SciPy or of another library."""

    indptr: AnyArray
    indices: AnyArray
    data: AnyArray


class TableAccumulator:
    """Fills a Table whose values are the columns of a matrix, dense or sparse: words, flags.

    With a threshold a cell counts once where it lies above it; without, it counts for what it holds, which must not be
    negative.
    """

    def __init__(self, classes: Axis, values: Axis, threshold: float | None = None) -> None:
        self.classes, self.values, self.threshold = classes, values, threshold
        self.n: Floats = np.zeros((len(classes), len(values)))

    @property
    def width(self) -> int:
        """How many columns the matrices have."""
        return len(self.values)

    @property
    def least(self) -> float | None:
        """The least that a cell may hold."""
        return 0.0 if self.threshold is None else None

    def add_dense(self, x: AnyArray, y: Codes, weights: Floats | None, threads: int) -> int:
        """Count the rows of a dense matrix; return the first that is refused, or -1."""
        return _kernels.count_dense(x, as_codes(y), as_weights(weights), self.threshold, self.least, self.n, threads)

    def add_sparse(self, x: SparseRows, y: Codes, weights: Floats | None, threads: int) -> int:
        """Count the rows of a sparse matrix (CSR); return the first that is refused, or -1."""
        return _kernels.count_sparse(
            x.indptr, x.indices, x.data, as_codes(y), as_weights(weights), self.threshold, self.least, self.n, threads
        )

    def fresh(self) -> TableAccumulator:
        """Return an empty one of the same kind."""
        return TableAccumulator(self.classes, self.values, self.threshold)

    def value(self) -> Table:
        """Return the table of all rows so far."""
        return Table(self.classes, self.values, self.n.copy())


class CodesAccumulator:
    """Fills a Table for each column of a matrix of codes. A negative code is a missing value."""

    def __init__(self, classes: Axis, sizes: npt.ArrayLike, *, allow_missing: bool = True) -> None:
        self.classes, self.allow_missing = classes, allow_missing
        self.offsets = offsets_of(np.asarray(sizes, dtype=np.int64))
        self.n: Floats = np.zeros((int(self.offsets[-1]), len(classes)))  # [column and code, class]: one line a cell

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many codes each column has."""
        return np.diff(self.offsets)

    @property
    def width(self) -> int:
        """How many columns the matrices have."""
        return len(self.offsets) - 1

    def grown(self, sizes: npt.NDArray[np.int64]) -> CodesAccumulator:
        """Return one with room for at least so many codes in each column: itself if it has that."""
        old, new = self.sizes, np.maximum(sizes, self.sizes)
        if np.array_equal(old, new):
            return self
        larger = CodesAccumulator(self.classes, new, allow_missing=self.allow_missing)
        for j, (start, end) in enumerate(zip(self.offsets[:-1], self.offsets[1:], strict=True)):
            larger.n[larger.offsets[j] : larger.offsets[j] + old[j]] = self.n[start:end]
        return larger

    def add(self, x: AnyArray, y: Codes, weights: Floats | None, threads: int) -> int:
        """Count the rows of a matrix of codes; return the first with a code that has no place, or -1."""
        return _kernels.count_codes(
            x, as_codes(y), as_weights(weights), self.allow_missing, self.offsets, self.n, threads
        )

    def fresh(self) -> CodesAccumulator:
        """Return an empty one of the same kind."""
        return CodesAccumulator(self.classes, self.sizes, allow_missing=self.allow_missing)

    def value(self) -> Tables:
        """Return the tables of all rows so far."""
        parts = (self.n[start:end].T for start, end in zip(self.offsets[:-1], self.offsets[1:], strict=True))
        return Tables(tuple(Table(self.classes, Axis.numbered(part.shape[1]), part.copy()) for part in parts))


class MomentsAccumulator:
    """Fills Moments of the columns of a matrix of numbers; NaN is a missing value."""

    def __init__(self, classes: Axis, columns: Axis, *, allow_missing: bool = True) -> None:
        self.classes, self.columns, self.allow_missing = classes, columns, allow_missing
        self.shift: Floats = np.zeros((len(classes), len(columns)))
        self.sums: Floats = np.zeros((3, len(classes), len(columns)))

    @property
    def width(self) -> int:
        """How many columns the matrices have."""
        return len(self.columns)

    def add(self, x: AnyArray, y: Codes, weights: Floats | None, threads: int) -> int:
        """Count the rows of a matrix of numbers; return the first that is refused, or -1."""
        return _kernels.count_moments(
            x, as_codes(y), as_weights(weights), self.allow_missing, self.shift, self.sums, threads
        )

    def fresh(self) -> MomentsAccumulator:
        """Return an empty one of the same kind."""
        return MomentsAccumulator(self.classes, self.columns, allow_missing=self.allow_missing)

    def value(self) -> Moments:
        """Return the moments of all rows so far."""
        n, total, squares = self.sums.copy()
        shift = np.where(n > 0, self.shift, 0.0)  # rows of no weight may have left a shift behind
        return Moments(self.classes, self.columns, n, shift, total, squares)


class CountsAccumulator:
    """Fills Counts: the rows of each class and an accumulator for each column."""

    def __init__(self, classes: Axis, columns: dict[str, Any]) -> None:
        self.classes, self.columns = classes, columns
        self.rows: Floats = np.zeros(len(classes))

    def add_rows(self, y: Codes, weights: Floats | None) -> None:
        """Count the classes of the rows."""
        _kernels.count_rows(as_codes(y), as_weights(weights), self.rows)

    def value(self) -> Counts:
        """Return the counts of all rows so far."""
        return Counts(self.classes, self.rows.copy(), {name: column.value() for name, column in self.columns.items()})


def offsets_of(sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return where each column's part starts when parts of these sizes lie one after another, and the end."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def as_codes(y: AnyArray) -> Codes:
    """Return class codes as the kernels read them; whole numbers only, and none that would become another."""
    if y.dtype == INT32 or y.dtype.kind not in "iu":
        return contiguous(y)  # what are no whole numbers the kernels refuse
    codes = y.astype(np.int32)
    if not np.array_equal(codes, y):
        raise InvalidInput(f"Class codes must lie in 0 … {2**31 - 1}; found {y.min()} to {y.max()}.")
    return codes


def as_weights(weights: npt.ArrayLike | None) -> Floats | None:
    """Return weights as the kernels read them."""
    return None if weights is None else contiguous(np.asarray(weights, dtype=np.float64))


def contiguous(x: AnyArray) -> AnyArray:
    """Return a vector as the kernels read it, side by side and aligned: itself where it already is."""
    return x if x.flags.c_contiguous and x.flags.aligned else x.copy()
