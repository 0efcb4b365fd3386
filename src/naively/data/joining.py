"""Frames put together, and rows taken out of the tables they came in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from .._types import AnyArray, Longs, Matrix
from ..errors import InvalidInput
from .dict_rows import FewRows
from .frame import Frame, FrameColumn
from .schema import Schema
from .values import ColumnValues, is_text_type


def owned_column(values: FrameColumn) -> FrameColumn:
    """Return a column that was copied, as an Arrow array; texts that repeat lie as codes."""
    if not isinstance(values, ColumnValues):
        return values
    data = values.data
    if not isinstance(data, (np.ndarray, pa.Array, pa.ChunkedArray)):  # Polars, whose views few kernels can read
        return values.on(data.to_arrow()).coded()
    try:
        return values.on(values.arrow()).coded()
    except InvalidInput:  # halves of surrogate pairs, which Arrow cannot hold
        return values


def owned_frame(frame: Frame) -> Frame:
    """Return rows that were taken out of a frame, values as Arrow arrays; a matrix of numbers stays as it lies."""
    if frame.matrix is not None:
        return Frame(frame.columns, frame.rows, named=frame.named, matrix=frame.matrix)
    columns = {name: owned_column(values) for name, values in frame.columns.items()}
    return Frame(columns, frame.rows, named=frame.named)


def without_unused_texts(frame: Frame) -> Frame:
    """Return the same rows; columns whose texts lie as codes without texts that no row holds."""
    if frame.matrix is not None:
        return frame
    columns = dict(frame.columns)
    for name, values in frame.columns.items():
        if isinstance(values, ColumnValues) and values.categorical and not isinstance(values.data, np.ndarray):
            columns[name] = owned_column(values.on(values.arrow().dictionary_decode()))
    return Frame(columns, frame.rows, named=frame.named)


def joined_frames(frames: Sequence[Frame]) -> Frame:
    """Return the rows of several frames of the same columns; matrices of numbers stay matrices."""
    first, rows, named = frames[0], sum(frame.rows for frame in frames), all(frame.named for frame in frames)
    few = [frame for frame in frames if isinstance(frame, FewRows)]
    if len(few) == len(frames):
        return FewRows([row for frame in few for row in frame.dicts], few[0].of_dicts)
    matrices = [frame.matrix for frame in frames if frame.matrix is not None]
    if len(matrices) == len(frames) and matrices[0].shape[1] == len(first.columns):
        matrix = np.concatenate(matrices)
        own = {
            name: first_with_type([frame.columns[name] for frame in frames]).on(matrix[:, index])
            for index, name in enumerate(first.names)
        }
        return Frame(own, rows, named=named, matrix=matrix)
    columns = {name: joined_columns([frame.columns[name] for frame in frames]) for name in first.names}
    return Frame(columns, rows, named=named)


def first_with_type(parts: Sequence[FrameColumn]) -> ColumnValues:
    """Return the first part of a column that has a type: one without any value has none."""
    values = [part for part in parts if isinstance(part, ColumnValues)]
    return next((part for part in values if part.type is not None), values[0])


def joined_columns(parts: Sequence[FrameColumn]) -> FrameColumn:
    """Return the values of several parts of a column, one after the other."""
    values = [part for part in parts if isinstance(part, ColumnValues)]
    if len(values) < len(parts):
        return joined_vectors([part for part in parts if not isinstance(part, ColumnValues)])
    first = first_with_type(values)
    if len({part.type for part in values}) > 1:  # a part without any value may have any type
        first = next((part for part in values if part.arrow().null_count < len(part)), first)
    if any(isinstance(part.data, np.ndarray) and part.data.dtype.kind == "O" for part in values):
        return first.on(np.concatenate([objects_of(part) for part in values]))
    return first.on(joined_arrays([part.arrow() for part in values])).coded()


def joined_vectors(parts: Sequence[Matrix]) -> Matrix:
    """Return the vectors of several parts, dense only if all are."""
    if any(sparse.issparse(part) for part in parts):
        return sparse.csr_array(sparse.vstack([sparse.csr_array(part) for part in parts]))
    return np.concatenate(parts)


def joined_arrays(arrays: Sequence[pa.Array]) -> pa.Array:
    """Return Arrow arrays in one: of their common type, of numbers as floating-point numbers if they differ."""
    arrays = [pa.nulls(len(array)) if array.null_count == len(array) else array for array in arrays]
    kinds = {array.type for array in arrays if not pa.types.is_null(array.type)}
    if any(pa.types.is_dictionary(kind) for kind in kinds) and len(kinds) > 1:
        arrays = [array.dictionary_decode() if pa.types.is_dictionary(array.type) else array for array in arrays]
        kinds = {array.type for array in arrays if not pa.types.is_null(array.type)}
    if len(kinds) > 1:
        common = pa.float64() if all(map(is_numeric, kinds)) else pa.large_string()
        kinds = {common if all(map(is_numeric, kinds)) or all(map(is_text_type, kinds)) else sorted(kinds, key=str)[0]}
    kind = next(iter(kinds), pa.null())
    whole = pa.chunked_array([array.cast(kind) for array in arrays], type=kind)
    if pa.types.is_dictionary(kind):
        whole = whole.unify_dictionaries()
    result = whole.combine_chunks()
    return result.chunk(0) if isinstance(result, pa.ChunkedArray) else result


def is_numeric(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is one of numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def objects_of(values: ColumnValues) -> AnyArray:
    """Return values as Python objects."""
    if isinstance(values.data, np.ndarray):
        return values.data.astype(object)
    listed = values.arrow().to_pylist()
    return np.fromiter(listed, dtype=object, count=len(listed))


def text_bytes(frame: Frame, schema: Schema) -> Longs:
    """Return the bytes of the texts of each row whose words are counted."""
    if isinstance(frame, FewRows):
        names = [column.name for column in schema.of_kind("vectors")]
        cells = ((row.get(name) for name in names) for row in frame.dicts)
        sizes = (sum(len(text.encode("utf-8", "replace")) for text in row if isinstance(text, str)) for row in cells)
        return np.fromiter(sizes, np.int64, frame.rows)
    result = np.zeros(frame.rows, dtype=np.int64)
    for column in schema.of_kind("vectors"):
        values = frame.columns[column.name]
        if not isinstance(values, ColumnValues):
            continue
        if isinstance(values.data, np.ndarray):
            result += np.array([len(text) if isinstance(text, str) else 0 for text in values.data], dtype=np.int64)
        else:
            array = values.arrow()
            array = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
            result += pc.fill_null(pc.binary_length(array), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return result
