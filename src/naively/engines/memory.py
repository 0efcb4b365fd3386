"""Counts rows that are in memory, through the compiled kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .. import _kernels
from ..errors import InvalidInput, NumberTooLarge
from ..statistics import CodesAccumulator, CountsAccumulator, MomentsAccumulator, TableAccumulator

# The square of a larger number, summed over rows, would overflow.
LARGEST = 1e150


def add(
    counts: CountsAccumulator, batch: dict[str, Any], y: npt.NDArray[np.int32], weights: Any = None, threads: int = 1
) -> None:
    """Count a batch: a matrix for each column, the class code of each row, and what each row weighs.

    Everything is checked before anything is counted, so an error leaves the counts as they were.
    """
    matrices = {name: native(matrix) for name, matrix in batch.items()}
    check_rows(y, weights, len(counts.classes))
    for name, accumulator in counts.columns.items():
        check_column(name, accumulator, matrices.get(name), len(y), threads)
    for name, accumulator in counts.columns.items():
        add_column(accumulator, matrices[name], y, weights, threads)
    counts.add_rows(y, weights)  # last: it cannot fail, and a single column changes nothing when it does


def check_rows(y: npt.NDArray[np.int32], weights: Any, classes: int) -> None:
    """Refuse class codes and weights that cannot be counted."""
    if y.ndim != 1 or y.dtype.kind not in "iu":
        raise InvalidInput(f"Classes must be one whole number for each row; found {y.dtype} of shape {y.shape}.")
    if len(y) and not (y.min() >= 0 and y.max() < classes):
        raise InvalidInput(f"Class codes must lie in 0 … {classes - 1}; found {y.min()} to {y.max()}.")
    if weights is not None and np.shape(weights) != y.shape:
        raise InvalidInput(f"Weights of shape {np.shape(weights)} do not fit {len(y)} rows; give one for each row.")


def check_column(name: str, accumulator: Any, x: Any, rows: int, threads: int) -> None:
    """Refuse a matrix that its accumulator cannot count."""
    wanted = (rows, accumulator.width)
    if x is None or x.shape != wanted:
        found = "nothing" if x is None else f"shape {x.shape}"
        raise InvalidInput(f"Column {name!r} needs shape {wanted}; found {found}.")
    if x.dtype.kind not in "biuf":
        raise InvalidInput(f"Column {name!r} holds {x.dtype}; convert it to numbers first.")
    if isinstance(accumulator, TableAccumulator):
        return
    if sparse.issparse(x):
        raise InvalidInput(f"Column {name!r} is sparse, but {type(accumulator).__name__} counts dense rows.")
    if isinstance(accumulator, CodesAccumulator) and x.dtype.kind not in "iub":
        raise InvalidInput(f"Column {name!r} holds {x.dtype}, but its codes must be whole numbers.")
    if isinstance(accumulator, MomentsAccumulator):
        check_magnitude(x, accumulator.columns.labels, threads)


def add_column(accumulator: Any, x: Any, y: npt.NDArray[np.int32], weights: Any, threads: int) -> None:
    """Count one column, which may be a whole matrix."""
    if isinstance(accumulator, (CodesAccumulator, MomentsAccumulator)):
        accumulator.add(x, y, weights, threads)
    elif isinstance(accumulator, TableAccumulator) and sparse.issparse(x):
        accumulator.add_sparse(x, y, weights, threads)
    else:
        accumulator.add_dense(x, y, weights, threads)


def native(x: Any) -> Any:
    """Return the matrix in a type the kernels read, itself where it already is."""
    if sparse.issparse(x):
        x = x if x.format == "csr" else x.tocsr()
        if x.indices.dtype != x.indptr.dtype:
            x = sparse.csr_array((x.data, x.indices.astype(np.int64), x.indptr.astype(np.int64)), shape=x.shape)
        kind = readable(x.data.dtype)
        return x if x.data.dtype == kind else x.astype(kind)
    array = np.asarray(x)
    return array.astype(readable(array.dtype), copy=False)


def readable(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type in which the kernels read data of this one, without loss."""
    if dtype.kind in "iu" and dtype not in (np.int32, np.uint8):
        return np.dtype(np.float64) if dtype == np.uint64 else np.dtype(np.int64)
    if dtype.kind == "f":
        return np.dtype(np.float32) if dtype.itemsize <= 4 else np.dtype(np.float64)
    return dtype.newbyteorder("=")


def ranges(x: npt.NDArray[Any], threads: int = 1) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the least and the largest value of each column."""
    least, largest = np.empty(x.shape[1]), np.empty(x.shape[1])
    _kernels.ranges(x, least, largest, threads)
    return least, largest


def check_magnitude(x: npt.NDArray[Any], columns: Any, threads: int) -> None:
    """Refuse numbers whose squares cannot be summed, naming the column."""
    if x.dtype.kind != "f" or not len(x):
        return  # whole numbers do not reach that far; float32 can be infinite
    least, largest = ranges(x, threads)
    for j in np.flatnonzero((least < -LARGEST) | (largest > LARGEST)):
        raise NumberTooLarge(columns[j], largest[j] if largest[j] > LARGEST else least[j])
