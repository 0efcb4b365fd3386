"""Rows in memory of their own: copied out of the tables they came in, and put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from .._types import AnyArray, Floats, Label, Longs, Matrix, Places
from ..data.frame import Frame, FrameColumn, frame_of
from ..data.schema import Schema
from ..data.target import SoftLabels, Target
from ..data.values import ColumnValues, is_text_type
from ..errors import InvalidInput
from . import sample
from .rows import Rows


def owned_rows(rows: Rows, schema: Schema, at: Places | None = None) -> Rows:
    """Return rows, or some of them, that share no memory with the table they came in; values lie as Arrow arrays.

    Their weights are their own, without those of their classes.
    """
    frame = frame_of(rows.source).on(schema)
    rows = replace(rows, source=frame, weights=rows.own_weights, own=None, by_class=None)
    rows = rows.take(np.arange(frame.rows) if at is None else at)
    assert isinstance(rows.source, Frame)
    if rows.source.matrix is not None:  # a copy, as it lies
        return rows
    columns = {name: owned_column(values) for name, values in rows.source.columns.items()}
    return replace(rows, source=Frame(columns, rows.source.rows, named=frame.named))


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


def joined_rows(parts: Sequence[Rows], schema: Schema) -> Rows:
    """Return the rows of several parts, one after the other; the type of the labels is that of the first."""
    if len(parts) == 1:
        return parts[0]
    frame = joined_frames([frame_of(part.source).on(schema) for part in parts])
    every = [np.ones(part.target.rows) if part.weights is None else part.weights for part in parts]
    weights = None if all(part.weights is None for part in parts) else np.concatenate(every)
    hashes = [part.hashes for part in parts if part.hashes is not None]
    return Rows(
        frame,
        joined_targets([part.target for part in parts]),
        weights,
        next((part.called for part in parts if part.called is not None), None),
        hashes=np.concatenate(hashes) if len(hashes) == len(parts) else None,
    )


def joined_frames(frames: Sequence[Frame]) -> Frame:
    """Return the rows of several frames of the same columns; matrices of numbers stay matrices."""
    first, rows, named = frames[0], sum(frame.rows for frame in frames), all(frame.named for frame in frames)
    matrices = [frame.matrix for frame in frames if frame.matrix is not None]
    if len(matrices) == len(frames) and matrices[0].shape[1] == len(first.columns):
        matrix = np.concatenate(matrices)
        own = {name: joined_types(frames, name).on(matrix[:, at]) for at, name in enumerate(first.names)}
        return Frame(own, rows, named=named, matrix=matrix)
    columns = {name: joined_columns([frame.columns[name] for frame in frames]) for name in first.names}
    return Frame(columns, rows, named=named)


def joined_types(frames: Sequence[Frame], name: str) -> ColumnValues:
    """Return a column of the first frame in which it has a type: one without any value has none."""
    return next((f.columns[name] for f in frames if f.columns[name].type is not None), frames[0].columns[name])


def joined_columns(parts: Sequence[FrameColumn]) -> FrameColumn:
    """Return the values of several parts of a column, one after the other."""
    values = [part for part in parts if isinstance(part, ColumnValues)]
    if len(values) < len(parts):
        return joined_vectors([part for part in parts if not isinstance(part, ColumnValues)])
    first = next((part for part in values if part.type is not None), values[0])
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
    found = whole.combine_chunks()
    return found.chunk(0) if isinstance(found, pa.ChunkedArray) else found


def is_numeric(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is one of numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def objects_of(values: ColumnValues) -> AnyArray:
    """Return values as Python objects."""
    if isinstance(values.data, np.ndarray):
        return values.data.astype(object)
    listed = values.arrow().to_pylist()
    return np.fromiter(listed, dtype=object, count=len(listed))


def without_unused_classes(target: Target | SoftLabels) -> Target | SoftLabels:
    """Return the classes of some rows without labels that none of them has."""
    if isinstance(target, SoftLabels):
        there = (target.proportions != 0).any(axis=0)
    else:
        there = np.bincount(target.codes[target.codes >= 0], minlength=len(target.labels)) > 0
    if there.all():
        return target
    labels = [label for label, used in zip(target.labels, there.tolist(), strict=True) if used]
    if isinstance(target, SoftLabels):
        return SoftLabels(labels, target.proportions[:, there], target.dtype)
    codes = np.append(np.cumsum(there) - 1, -1).astype(np.int32)
    return Target(labels, codes[target.codes], target.dtype)


def joined_targets(parts: Sequence[Target | SoftLabels]) -> Target | SoftLabels:
    """Return the classes of several parts; soft labels if one of them has such."""
    labels = list(dict.fromkeys(label for part in parts for label in part.labels))
    place = {label: at for at, label in enumerate(labels)}
    dtype = next((part.dtype for part in parts if part.labels), parts[0].dtype)
    if any(isinstance(part, SoftLabels) for part in parts):
        return SoftLabels(labels, np.concatenate([proportions_of(part, place) for part in parts]), dtype)
    codes = []
    for part in parts:
        assert isinstance(part, Target)
        codes.append(np.array([*(place[label] for label in part.labels), -1], dtype=np.int32)[part.codes])
    return Target(labels, np.concatenate(codes), dtype)


def proportions_of(target: Target | SoftLabels, place: dict[Label, int]) -> Floats:
    """Return soft labels over other classes; a plain label is that of one class alone."""
    found = np.zeros((target.rows, len(place)))
    at = np.array([place[label] for label in target.labels], dtype=np.intp)
    if isinstance(target, SoftLabels):
        found[:, at] = target.proportions
    else:
        there = np.flatnonzero(target.codes >= 0)
        found[there, at[target.codes[there]]] = 1.0
    return found


# -- how many bytes rows take ------------------------------------------------------------------------------------------


def affordable_contents(rows: Rows, schema: Schema) -> int:
    """Return how many of the rows, in their order, are kept: fewer if their texts are long."""
    most = min(rows.target.rows, sample.KEPT)
    size = row_text_bytes(rows, schema)
    few = int(np.searchsorted(np.cumsum(size), sample.BYTES, side="right"))
    return min(most, max(few, sample.FEWEST))


def text_bytes_of(rows: Rows, schema: Schema) -> int:
    """Return the bytes of all texts whose words are counted."""
    if isinstance(rows.source, Frame):
        return int(row_text_bytes(rows, schema).sum())
    names = [column.name for column in schema.of_kind("vectors")]
    cells = (row.get(name) for row in rows.source for name in names)
    return sum(len(cell.encode("utf-8", "surrogatepass")) for cell in cells if isinstance(cell, str))


def row_text_bytes(rows: Rows, schema: Schema) -> Longs:
    """Return the bytes of the texts of each row whose words are counted."""
    assert isinstance(rows.source, Frame)
    found = np.zeros(rows.source.rows, dtype=np.int64)
    for column in schema.of_kind("vectors"):
        values = rows.source.columns[column.name]
        if not isinstance(values, ColumnValues):
            continue
        if isinstance(values.data, np.ndarray):
            found += np.array([len(text) if isinstance(text, str) else 0 for text in values.data], dtype=np.int64)
        else:
            array = values.arrow()
            array = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
            found += pc.fill_null(pc.binary_length(array), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def part_bytes(rows: Rows) -> int:
    """Return how many bytes the cells of some rows take."""
    if not isinstance(rows.source, Frame):
        return 64 * sum(map(len, rows.source))
    if rows.source.matrix is not None:
        return int(rows.source.matrix.nbytes)
    sizes = (c.data.nbytes if hasattr(getattr(c, "data", None), "nbytes") else 0 for c in rows.source.columns.values())
    return int(sum(sizes))
