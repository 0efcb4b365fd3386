"""Validation of rows, labels and weights, once, before anything is counted."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from .._types import AnyArray, ColumnLike, Floats, TableLike
from ..counting.arrays import READABLE, is_aligned
from ..errors import InvalidInput
from ..stats.arithmetic import checked_row_weights
from .array_api import to_numpy


def validated(estimator: BaseEstimator, X: TableLike, *y: ColumnLike, **options: object) -> Any:
    """Return X (and y) as scikit-learn's `validate_data` does; refuse what it lets through and nobody can answer."""
    if X is None:
        raise InvalidInput("Expected 2D array, got None instead.")
    X = to_numpy(X)
    refuse_hidden("X", X)
    refuse_dates(X)
    if sparse.issparse(X):
        check_indices(X)
    if any(getattr(dtype, "kind", "") == "O" for dtype in getattr(X, "dtypes", ())):
        options = {"dtype": np.float64, **options}  # else some versions leave a frame's categories and texts as objects
    return validate_data(estimator, X, *map(python_labels, y), **options)


def refuse_hidden(name: str, array: ColumnLike) -> None:
    """Refuse masked cells: NumPy would use what lies behind the mask."""
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise InvalidInput(f"{name} is a masked array with hidden cells. Fill them or leave their rows out.")


def refuse_dates(X: TableLike) -> None:
    """Refuse dates and times, which would be taken for numbers of days or nanoseconds."""
    for dtype in getattr(X, "dtypes", [getattr(X, "dtype", None)]):  # of the columns of a frame, or of an array
        if getattr(dtype, "kind", "") in ("m", "M"):
            raise InvalidInput(f"X holds dates or times ({dtype}). Make numbers of them first, e.g. the weekday.")


def check_indices(X: TableLike) -> None:
    """Refuse a sparse matrix whose indices point outside its shape: turning it to rows could end the process."""
    if X.format == "coo":
        inside = all(are_within(at, size) for at, size in zip((X.row, X.col), X.shape, strict=True))
    elif X.format in ("csr", "csc", "bsr"):
        across = 0 if X.format == "csc" else 1
        size = X.shape[across] // (X.blocksize[across] if X.format == "bsr" else 1)
        starts = X.indptr
        rising = starts[0] == 0 and starts[-1] <= len(X.indices) and bool(np.all(starts[1:] >= starts[:-1]))
        inside = rising and are_within(X.indices[: starts[-1]], size)
    else:
        inside = True
    if not inside:
        raise InvalidInput("The sparse matrix X has indices outside its shape: it was put together wrongly.")


def are_within(at: AnyArray, size: int) -> bool:
    """Tell whether all of these indices are at least 0 and below the size."""
    return not len(at) or bool(at.min() >= 0 and at.max() < size)


def python_labels(y: ColumnLike) -> ColumnLike:
    """Return labels as NumPy has long known them; refuse a list of texts and numbers, which would all become texts."""
    y = to_numpy(y)
    refuse_hidden("y", y)
    if isinstance(y, (list, tuple)):
        refuse_mixture(y, any(isinstance(label, str) for label in y))
    return np.array(y.tolist(), dtype=str) if getattr(getattr(y, "dtype", None), "kind", "") == "T" else y


def check_class_labels(y: ColumnLike) -> None:
    """Refuse labels that are no numbers or texts, and objects that are not all texts: they cannot be sorted."""
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise InvalidInput("The labels contain NaN or infinity, which is no class.")
    if y.dtype.kind == "S":
        raise InvalidInput("Labels represented as bytes are not supported. Convert them to texts or whole numbers.")
    refuse_mixture(y, y.dtype.kind == "O")


def refuse_mixture(y: ColumnLike, texts: bool) -> None:
    """Refuse anything but texts among labels that should be texts."""
    if texts and not all(isinstance(label, str) for label in y):
        kinds = ", ".join(sorted({type(label).__name__ for label in y}))
        raise InvalidInput(
            f"Unknown label type: labels must be all numbers or all texts; found objects of type {kinds}."
        )


def validated_weights(sample_weight: ColumnLike, rows: int) -> Floats | None:
    """Return what each row weighs as float64, if rows can weigh that."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):
        sample_weight = np.full(rows, sample_weight)
    refuse_hidden("sample_weight", sample_weight)
    weights: Floats = check_array(
        to_numpy(sample_weight), ensure_2d=False, dtype=np.float64, order="C", input_name="sample_weight"
    )
    return checked_row_weights(weights, rows)


def is_plain(X: TableLike, kinds: str) -> bool:
    """Tell whether the kernels can read X as it is: a matrix, dense or sparse and in order, of these kinds of type."""
    if type(X) is np.ndarray:
        dtype = X.dtype
        readable = dtype.kind in kinds and dtype in READABLE and dtype.isnative and X.flags.aligned
        return X.ndim == 2 and X.size > 0 and readable
    if "s" not in kinds or type(X) not in (sparse.csr_matrix, sparse.csr_array) or min(X.shape) == 0:
        return False
    alike = X.indices.dtype == X.indptr.dtype and len(X.indptr) == X.shape[0] + 1 and len(X.indices) == len(X.data)
    readable = X.data.dtype in READABLE and X.data.dtype.isnative and is_aligned(X)
    return alike and readable and bool(X.has_canonical_format)


def is_plain_target(y: ColumnLike) -> bool:
    """Tell whether y is a vector of whole numbers or texts: classes beyond doubt."""
    return type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iubU"
