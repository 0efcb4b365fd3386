"""Arrow arrays to and from NumPy and Python by their buffers: Arrow's own functions for it import pandas.

That takes longer than to load a model. Where an array is not of the plain kind, Arrow's functions do it after all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .._types import AnyArray


def numpy_values(array: pa.Array, kind: npt.DTypeLike) -> AnyArray:
    """Return the numbers of an Arrow array that has no nulls, without a copy and without importing pandas."""
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    data = array.buffers()[1]
    if data is None or not len(array):
        return np.empty(0, dtype=kind)
    return np.frombuffer(data, dtype=kind)[array.offset : array.offset + len(array)]


def numpy_floats(array: pa.Array) -> AnyArray:
    """Return the numbers of an Arrow array as NumPy's; NaN where there is none."""
    if array.null_count or array.type != pa.float64():
        return np.asarray(array.to_numpy(zero_copy_only=False))
    return numpy_values(array, np.float64)


def numpy_integers(array: pa.Array) -> AnyArray:
    """Return the whole numbers of an Arrow array, such as the indices of a dictionary, as NumPy's."""
    kinds = {pa.int8(): np.int8, pa.int32(): np.int32, pa.int64(): np.int64}
    if array.null_count or array.type not in kinds:
        return np.asarray(array.to_numpy(zero_copy_only=False))
    return numpy_values(array, kinds[array.type])


def numpy_flags(array: pa.Array) -> AnyArray:
    """Return the flags of an Arrow array that has no nulls."""
    return numpy_values(array.cast(pa.uint8()), np.uint8).astype(np.bool_)


def arrow_places(places: AnyArray) -> pa.Array:
    """Return whole numbers of 64 bits as an Arrow array, without a copy."""
    return pa.Array.from_buffers(pa.int64(), len(places), [None, pa.py_buffer(np.ascontiguousarray(places, np.int64))])


def arrow_strings(texts: Sequence[str | None]) -> pa.Array:
    """Return strings as an Arrow array of large strings; one that is no valid Unicode is a UnicodeEncodeError."""
    if None in texts:
        return pa.array(texts, pa.large_string())
    data = [text.encode() for text in texts if text is not None]
    ends = np.cumsum([0, *map(len, data)], dtype=np.int64)
    return pa.LargeStringArray.from_buffers(len(data), pa.py_buffer(ends), pa.py_buffer(b"".join(data)))


def arrow_choices(labels: AnyArray) -> pa.Array:
    """Return labels of any type as an Arrow array."""
    if labels.dtype == np.int64:
        return arrow_numbers(labels)
    values = labels.tolist()
    texts = all(type(value) is str for value in values)
    return arrow_strings(values).cast(pa.string()) if texts else pa.array(values)


def arrow_text(text: str) -> pa.Scalar:
    """Return one string as Arrow's functions take it."""
    return arrow_strings([text])[0]


def arrow_numbers(values: AnyArray, missing: AnyArray | None = None) -> pa.Array:
    """Return numbers of NumPy as an Arrow array of their type, null where they are missing."""
    if missing is not None and missing.any():
        return pa.array(values, mask=missing)
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])
