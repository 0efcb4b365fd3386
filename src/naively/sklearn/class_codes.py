"""Labels of classes as codes, 0 … K - 1, in the order of the classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _kernels
from .._types import AnyArray
from ..counting import arrays
from ..errors import InvalidInput
from ..stats.accumulators import contiguous

INT64 = np.dtype(np.int64)


def encode_classes(y: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return the classes in order, and the code of each row's class."""
    if y.dtype.kind in "iub" and y.dtype in arrays.READABLE and y.dtype.isnative:
        found: Any = _kernels.encode_labels(contiguous(y))  # two arrays, or None; the stub says object
        if found is not None:
            return found[0].astype(y.dtype), found[1]
    classes, codes = np.unique(y, return_inverse=True)
    return classes.astype(str) if classes.dtype.kind == "O" else classes, codes.reshape(-1)


def codes_among(known: AnyArray, y: AnyArray) -> AnyArray:
    """Return the code of each row's class among the known ones."""
    if known.dtype == INT64 and y.dtype == INT64:
        places: AnyArray | None = _kernels.find_labels(known, contiguous(y))  # type: ignore[assignment]  # the stub says object
        if places is not None:
            return places
    number = "biuf"
    alike = (known.dtype.kind in number) == (y.dtype.kind in number)  # numbers and texts cannot be compared
    codes = known.searchsorted(y) if alike else np.zeros(len(y), dtype=np.intp)
    codes[codes == len(known)] = 0
    strange = known[codes] != y if alike else np.ones(len(y), dtype=bool)
    if strange.any():
        strangers = np.unique(y[strange])
        raise InvalidInput(f"The target label(s) {strangers} in y do not exist in the initial classes {known}")
    return codes
