"""Counts rows that are in memory, through the compiled kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from .. import _kernels
from .._types import AnyArray, Codes, DType, Floats, Matrix
from ..errors import InvalidInput, NumberTooLarge, RowRefused
from ..errors.message import RowNumber
from ..stats import Axis, CodesAccumulator, CountsAccumulator, Moments, MomentsAccumulator, TableAccumulator
from ..stats.accumulators import as_codes, as_weights

# The square of a larger number, summed over rows, would overflow.
LARGEST = _kernels.LARGEST_NUMBER
# Counts beyond this cannot be summed.
LARGEST_COUNT = _kernels.LARGEST_COUNT
READABLE = frozenset(np.dtype(kind) for kind in ("f8", "f4", "i8", "i4", "u1", "?"))

AnyAccumulator = TableAccumulator | CodesAccumulator | MomentsAccumulator


def add(
    counts: CountsAccumulator, batch: dict[str, Matrix], y: AnyArray, weights: Floats | None = None, threads: int = 1
) -> None:
    """Count a batch: a matrix for each column, the class code of each row, and the weight of each row.

    An error leaves the counts as they were. A single column is checked while it is counted; of several, each is looked
    through before the first is counted.
    """
    matrices = {name: kernel_matrix(matrix) for name, matrix in batch.items()}
    codes, weights = checked_rows(y, weights)
    for name, accumulator in counts.columns.items():
        check_column(name, accumulator, matrices.get(name), len(y))
    if len(counts.columns) > 1:
        for name, accumulator in counts.columns.items():
            add_column(accumulator.fresh(), matrices[name], codes, weights, threads, name)
    for name, accumulator in counts.columns.items():
        add_column(accumulator, matrices[name], codes, weights, threads, name)
    counts.add_rows(codes, weights)  # last: it cannot fail


def checked_rows(y: AnyArray, weights: Floats | None) -> tuple[Codes, Floats | None]:
    """Return class codes and weights as the kernels read them; whether there are such classes the kernels will see."""
    if y.ndim != 1 or y.dtype.kind not in "iu":
        raise InvalidInput(f"Classes must be one whole number for each row; found {y.dtype} of shape {y.shape}.")
    if weights is not None and np.shape(weights) != y.shape:
        raise InvalidInput(f"Weights of shape {np.shape(weights)} do not fit {len(y)} rows; give one for each row.")
    return as_codes(y), as_weights(weights)


def add_rows(rows: Floats, y: Codes, weights: Floats | None) -> None:
    """Count the classes of the rows."""
    _kernels.count_rows(y, weights, rows)


def check_column(name: str, accumulator: AnyAccumulator, x: Matrix, rows: int) -> None:
    """Refuse a matrix that its accumulator cannot count."""
    wanted = (rows, accumulator.width)
    if x is None or x.shape != wanted:
        found = "nothing" if x is None else f"shape {x.shape}"
        raise InvalidInput(f"Column {name!r} needs shape {wanted}; found {found}.", column=name)
    if x.dtype.kind not in "biuf":
        raise InvalidInput(f"Column {name!r} holds {x.dtype}; convert it to numbers first.", column=name)
    if isinstance(accumulator, TableAccumulator):
        return
    if is_sparse(x):
        raise InvalidInput(
            f"Column {name!r} is sparse, but {type(accumulator).__name__} counts dense rows.", column=name
        )
    if isinstance(accumulator, CodesAccumulator) and x.dtype.kind not in "iub":
        raise InvalidInput(f"Column {name!r} holds {x.dtype}, but its codes must be whole numbers.", column=name)


def add_column(
    accumulator: AnyAccumulator, x: Matrix, y: Codes, weights: Floats | None, threads: int, name: str = "X"
) -> None:
    """Count one column, which may be a whole matrix; a row that is refused changes nothing."""
    row = accumulator.add(x, y, weights, threads)
    if row >= 0:
        raise refused_cell(name, accumulator, x, row)


def refused_cell(name: str, accumulator: AnyAccumulator, x: Matrix, row: int) -> InvalidInput:
    """Return the error that says which cell of a refused row cannot be counted, and why."""
    entries = slice(*x.indptr[row : row + 2]) if is_sparse(x) else row
    cells = (x.data if is_sparse(x) else x)[entries].astype(np.float64)
    columns = x.indices[entries] if is_sparse(x) else np.arange(len(cells))
    if isinstance(accumulator, CodesAccumulator):
        at = int(np.argmax((cells >= accumulator.sizes) | ((cells < 0) & ~np.bool_(accumulator.allow_missing))))
        return RowRefused(row, at, f"{cells[at]:.0f}", f"its codes are 0 … {accumulator.sizes[at] - 1}.")
    if isinstance(accumulator, MomentsAccumulator):
        at = int(np.argmax(~(np.abs(cells) <= LARGEST) & ~(accumulator.allow_missing & np.isnan(cells))))
        if not np.isnan(cells[at]):
            return NumberTooLarge(accumulator.columns.labels[at], float(cells[at]))
        return RowRefused(row, accumulator.columns.labels[at], cells[at], "only numbers can be counted.")
    wrong = ~np.isfinite(cells) | (cells < (-np.inf if accumulator.least is None else accumulator.least))
    if accumulator.threshold is None:
        wrong |= cells > LARGEST_COUNT
    if not wrong.any():
        return InvalidInput(
            RowNumber(row), f" of the sparse matrix {name!r} has column indices outside its {x.shape[1]} columns."
        )
    at = int(np.argmax(wrong))
    return RowRefused(
        row, int(columns[at]), cells[at], "counts must be finite numbers that can be summed, and not negative."
    )


def is_sparse(x: Matrix) -> bool:
    """Return whether x is a sparse matrix; plain arrays, the most frequent case, are recognized at once."""
    return type(x) is not np.ndarray and bool(sparse.issparse(x))


def kernel_matrix(x: Matrix) -> Matrix:
    """Return the matrix in a type the kernels read, itself where it already is."""
    if is_sparse(x):
        x = x if x.format == "csr" else x.tocsr()
        if x.indices.dtype != x.indptr.dtype:
            x = sparse.csr_array((x.data, x.indices.astype(np.int64), x.indptr.astype(np.int64)), shape=x.shape)
        kind = readable_dtype(x.data.dtype)
        x = x if x.data.dtype == kind else x.astype(kind)
        return x if is_aligned(x) else x.copy()
    array = np.asarray(x)
    plain = array.dtype in READABLE and array.dtype.isnative and array.flags.aligned
    return array if plain else array.astype(readable_dtype(array.dtype))


def distinct_cells(x: Matrix) -> Matrix:
    """Return a matrix each cell of which lies at one place: parts of a cell of a sparse matrix are added."""
    if not is_sparse(x):
        return x
    x = x.tocsr()
    if not x.has_canonical_format:
        x = x.copy()
        x.sum_duplicates()
    return x


def is_aligned(x: Matrix) -> bool:
    """Return whether the numbers of a sparse matrix lie where the kernels can read them."""
    return bool(x.indptr.flags.aligned and x.indices.flags.aligned and x.data.flags.aligned)


def readable_dtype(dtype: DType) -> DType:
    """Return the type in which the kernels read data of this one, without loss."""
    if dtype in READABLE and dtype.isnative:
        return dtype
    if dtype.kind in "iu" and dtype not in (np.int32, np.uint8):
        return np.dtype(np.float64) if dtype == np.uint64 else np.dtype(np.int64)
    if dtype.kind == "f":
        return np.dtype(np.float32) if dtype.itemsize <= 4 else np.dtype(np.float64)
    return dtype.newbyteorder("=")


def ranges(x: AnyArray, threads: int = 1) -> tuple[Floats, Floats]:
    """Return the least and the largest value of each column."""
    least, largest = np.empty(x.shape[1]), np.empty(x.shape[1])
    _kernels.column_ranges(x, least, largest, threads)
    return least, largest


# -- moments of one column and of several ------------------------------------------------------------------------------


def moments_of_column(moments: Moments, at: int, name: str) -> Moments:
    """Return the moments of one of the columns, under its name."""
    parts = (part[:, at : at + 1] for part in (moments.n, moments.shift, moments.total, moments.squares))
    return Moments(moments.classes, Axis.declared([name]), *parts)


def joined_moments(columns: Sequence[Moments], classes: Axis) -> Moments:
    """Return the moments of several columns as those of a matrix."""
    laid = [column.on(classes) for column in columns]
    parts = zip(*((m.n, m.shift, m.total, m.squares) for m in laid), strict=True)
    return Moments(classes, Axis.numbered(len(columns)), *(np.concatenate(part, axis=1) for part in parts))
