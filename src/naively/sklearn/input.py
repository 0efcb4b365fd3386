"""What comes in: rows, class labels and weights are checked once, before anything is counted."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from numbers import Real
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator
from sklearn.utils._array_api import _convert_to_numpy, get_namespace, get_namespace_and_device
from sklearn.utils.validation import check_array, validate_data

from .. import _kernels
from .._types import AnyArray, ColumnLike, Floats, TableLike
from ..counting.arrays import READABLE, is_aligned
from ..errors import InvalidInput
from ..stats.accumulators import contiguous
from ..stats.arithmetic import checked_row_weights

INT64 = np.dtype(np.int64)


# -- rows -------------------------------------------------------------------------------------------------------------


def validated(estimator: BaseEstimator, X: TableLike, *y: ColumnLike, **options: object) -> list[Any]:
    """Return X (and y) as scikit-learn's `validate_data` does; refuse what it lets through and cannot be right."""
    if X is None:
        raise InvalidInput("Expected 2D array, got None instead.")
    X = to_numpy(X)
    refuse_hidden("X", X)
    dtypes = getattr(X, "dtypes", [getattr(X, "dtype", None)])  # of the columns of a frame, or of an array
    kinds = {getattr(dtype, "kind", ""): dtype for dtype in dtypes}
    for kind in kinds.keys() & {"m", "M"}:  # scikit-learn would take them for numbers of days or nanoseconds
        raise InvalidInput(f"X holds dates or times ({kinds[kind]}). Make numbers of them first, e.g. the weekday.")
    if sparse.issparse(X):
        check_indices(X)
    if "O" in kinds and hasattr(X, "dtypes"):
        options = {"dtype": np.float64, **options}  # else some versions leave a frame's categories and texts as objects
    checked = validate_data(estimator, X, *map(python_labels, y), **options)
    return list(checked) if y else [checked]


def refuse_hidden(name: str, array: ColumnLike) -> None:
    """Refuse masked cells: NumPy would use what lies behind the mask."""
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise InvalidInput(f"{name} is a masked array with hidden cells. Fill them, or drop their rows.")


def check_indices(X: TableLike) -> None:
    """Refuse a sparse matrix whose indices point outside its shape: converting it could end the process."""
    try:
        if X.format == "coo":
            sparse.coo_array((X.data, (X.row, X.col)), X.shape)
        elif X.format in ("csr", "csc", "bsr"):  # of a copy, because the check may change arrays of the matrix
            type(X)((X.data, X.indices, X.indptr), X.shape).check_format()
    except ValueError as error:
        raise InvalidInput(f"The sparse matrix X has indices outside its shape: {error}.") from None


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


# -- weights ----------------------------------------------------------------------------------------------------------


def validated_weights(sample_weight: ColumnLike, rows: int) -> Floats | None:
    """Return the weight of each row as float64, if rows can have such weights."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):
        sample_weight = np.full(rows, sample_weight)
    refuse_hidden("sample_weight", sample_weight)
    weights: Floats = check_array(
        to_numpy(sample_weight), ensure_2d=False, dtype=np.float64, order="C", input_name="sample_weight"
    )
    return checked_row_weights(weights, rows)


# -- class labels -----------------------------------------------------------------------------------------------------


def is_plain_target(y: ColumnLike) -> bool:
    """Tell whether y is a vector of whole numbers or texts: classes beyond doubt."""
    return type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iubU"


def python_labels(y: ColumnLike) -> ColumnLike:
    """Return labels as NumPy has long known them; refuse a list of texts and numbers, which would all become texts."""
    y = to_numpy(y)
    refuse_hidden("y", y)
    if isinstance(y, (list, tuple)):
        refuse_mixture(y, any(isinstance(label, str) for label in y))
    return np.array(y.tolist(), dtype=str) if getattr(getattr(y, "dtype", None), "kind", "") == "T" else y


def check_class_labels(y: ColumnLike) -> None:
    """Refuse labels that are not numbers or texts, and objects that are not all texts: they cannot be sorted."""
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise InvalidInput("The labels contain NaN or infinity, which is not a class.")
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


def encode_classes(y: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return the classes in order, and the code of each row's class: 0 … K - 1."""
    if y.dtype.kind in "iub" and y.dtype in READABLE and y.dtype.isnative:
        encoded: Any = _kernels.encode_labels(contiguous(y))  # two arrays, or None; the stub says object
        if encoded is not None:
            return encoded[0].astype(y.dtype), encoded[1]
    classes, codes = np.unique(y, return_inverse=True)
    return classes.astype(str) if classes.dtype.kind == "O" else classes, codes.reshape(-1)


def codes_among(classes: AnyArray, y: AnyArray) -> AnyArray:
    """Return the code of each row's class among the given ones."""
    if classes.dtype == INT64 and y.dtype == INT64:
        codes: AnyArray | None = _kernels.find_labels(classes, contiguous(y))  # type: ignore[assignment]  # the stub says object
        if codes is not None:
            return codes
    alike = (classes.dtype.kind in "biuf") == (y.dtype.kind in "biuf")  # numbers and texts cannot be compared
    codes = classes.searchsorted(y) if alike else np.zeros(len(y), dtype=np.intp)
    codes[codes == len(classes)] = 0
    strange = classes[codes] != y if alike else np.ones(len(y), dtype=bool)
    if strange.any():
        labels = np.unique(y[strange])
        raise InvalidInput(f"The target label(s) {labels} in y do not exist in the initial classes {classes}")
    return codes


# -- arrays of other libraries (PyTorch, CuPy, …) ----------------------------------------------------------------------
# Under ``sklearn.config_context(array_api_dispatch=True)`` they are converted to NumPy, counted and scored as any
# others, and results are converted back. Everywhere else, and for NumPy's own arrays, nothing happens here.

Foreign: TypeAlias = Any  # an array of a library that is not imported here
Method = TypeVar("Method", bound=Callable[..., Any])  # of an estimator, about rows


def is_foreign(x: TableLike) -> bool:
    """Tell whether x is an array of another library, whose results are to be arrays of that library."""
    enabled = get_config()["array_api_dispatch"]
    return bool(enabled) and not isinstance(x, np.ndarray) and hasattr(x, "__dlpack__") and hasattr(x, "device")


def to_numpy(x: TableLike) -> TableLike:
    """Return a foreign array as NumPy's, anything else as it is."""
    return _convert_to_numpy(x, get_namespace(x)[0]) if is_foreign(x) else x


def empty_like_input(x: TableLike) -> Foreign | None:
    """Return an empty array of the same library, device and type, None if x is not foreign.

    A library is a module and cannot be pickled; an empty array of it can.
    """
    return x[:0, ...] if is_foreign(x) else None


def to_place_of(values: AnyArray, place: Foreign | None) -> AnyArray | Foreign:
    """Return NumPy's array as one of the library and device of another one; texts can live in NumPy alone."""
    if place is None or values.dtype.kind not in "biuf":
        return values
    with config_context(array_api_dispatch=True):
        library, _, device = get_namespace_and_device(place)
    return library.asarray(values, device=device)


def in_input_library(method: Method) -> Method:
    """Let a method return arrays like the rows it is given, which must be like those the estimator was fitted with."""

    @wraps(method)
    def converted(self: BaseEstimator, X: TableLike) -> AnyArray | Foreign:
        place, fitted = empty_like_input(X), self._place
        if get_config()["array_api_dispatch"] and get_namespace_and_device(place) != get_namespace_and_device(fitted):
            raise InvalidInput(
                f"Inputs passed to {type(self).__name__}.{method.__name__}() must use the same namespace and the same "
                f"device as those passed to fit(): found {type(X).__name__}, fitted with "
                f"{'NumPy' if fitted is None else type(fitted).__name__}."
            )
        return to_place_of(method(self, X), place)

    return cast(Method, converted)  # it takes and returns what the method does
