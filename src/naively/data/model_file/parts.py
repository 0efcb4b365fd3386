"""Named parts of a file: bytes of Arrow, for what is no table of counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from scipy import sparse

from ..._types import AnyArray, Floats, Hashes, JsonObject, Longs, Matrix
from ..cell_format import numpy_floats
from ..column import NOUNS, Type, same_kind
from ..frame import Frame, FrameColumn
from ..target import Target
from ..values import ColumnValues, type_of_arrow
from .statistics import from_json, labels_in_json, need

SAID = b"naively"  # the key under which the metadata of a part hold what its columns cannot say
# What stands beside the cells of a row, under names that no column has.
CLASS, SOFT, WEIGHT, COPIES, HASH, MATRIX = "\0class", "\0soft", "\0weight", "\0copies", "\0hash", "\0matrix"
# How cells lie that are no Arrow array of their own: texts that Arrow cannot hold, vectors, sparse vectors.
OBJECTS, DENSE, SPARSE = "objects", "dense", "sparse"


# -- Arrow -------------------------------------------------------------------------------------------------------------


def table_to_bytes(table: pa.Table, said: JsonObject) -> bytes:
    """Return a table, and what it cannot say, as a stream of Arrow."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd" if pa.Codec.is_available("zstd") else None)
    table = table.replace_schema_metadata({SAID: json.dumps(said)})
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table.unify_dictionaries().combine_chunks())
    data: bytes = sink.getvalue().to_pybytes()
    return data


def table_of_bytes(data: bytes) -> tuple[pa.Table, JsonObject]:
    """Return the table that `table_to_bytes` wrote, and what was said beside it."""
    table = pa.ipc.open_stream(data).read_all().combine_chunks()
    table.validate(full=True)
    return table.replace_schema_metadata(None), json.loads((table.schema.metadata or {})[SAID])


def arrays_to_bytes(arrays: Mapping[str, Floats], said: JsonObject) -> bytes:
    """Return arrays of numbers of any lengths as a stream of Arrow."""
    columns = {
        name: pa.LargeListArray.from_arrays([0, array.size], pa.array(np.ascontiguousarray(array).ravel()))
        for name, array in arrays.items()
    }
    return table_to_bytes(pa.table(columns), said)


def arrays_of_bytes(data: bytes) -> tuple[dict[str, Floats], JsonObject]:
    """Return the arrays that `arrays_to_bytes` wrote, each of one dimension."""
    table, said = table_of_bytes(data)
    arrays = {name: table.column(name).combine_chunks().flatten() for name in table.column_names}
    need(len(table) == 1 and all(array.null_count == 0 for array in arrays.values()), "a number is missing")
    return {name: numpy_floats(array) for name, array in arrays.items()}, said


# -- rows --------------------------------------------------------------------------------------------------------------


class StoredRows(NamedTuple):
    """Rows in a file: their columns and classes, their weights, and what tells which rows they are of how many."""

    frame: Frame
    target: Target
    weights: Floats | None
    called: str | None  # the column of the classes
    copies: Longs | None  # how often each was seen; None: once
    hashes: Hashes | None  # of each row; None if they follow from the rows
    limit: np.uint64 | None  # the largest hash of a row that is kept; None if all rows are


def rows_to_bytes(kept: StoredRows) -> bytes:
    """Return rows as a stream of Arrow."""
    frame, target = kept.frame, kept.target
    said: JsonObject = {"named": frame.named, "called": kept.called, "labels": labels_in_json(target.labels)}
    said |= {"dtype": target.dtype.str, "limit": None if kept.limit is None else str(kept.limit)}
    columns: dict[str, pa.Array] = {}
    if target.proportions is not None:
        columns[SOFT] = fixed_lists(target.proportions)
    else:
        columns[CLASS] = pa.array(target.codes, pa.int32())
    for name, values in ((WEIGHT, kept.weights), (COPIES, kept.copies), (HASH, kept.hashes)):
        if values is not None:
            columns[name] = pa.array(values)
    if frame.matrix is not None and frame.matrix.shape[1] == len(frame.columns):
        said["names"] = list(frame.names)
        columns[MATRIX] = fixed_lists(frame.matrix)
    else:
        said["columns"] = []
        for name, column in frame.columns.items():
            columns[name], about = column_to_arrow(column)
            said["columns"].append({"name": name, **about})
    return table_to_bytes(pa.table(list(columns.values()), list(columns)), said)


def rows_of_bytes(data: bytes) -> StoredRows:
    """Return the rows that `rows_to_bytes` wrote."""
    table, said = table_of_bytes(data)
    rows, labels = len(table), [from_json(label) for label in said["labels"]]
    need(len(set(table.column_names)) == table.num_columns, "a column of rows stands twice")
    need(len({(type(label), label) for label in labels}) == len(labels), "labels of rows stand twice")
    dtype = np.dtype(said["dtype"])
    need(dtype.kind in "biufUO", "labels have no type")
    if SOFT in table.column_names:
        proportions = dense_matrix(table.column(SOFT), len(labels)).astype(np.float64)
        need((proportions >= 0).all() and np.isfinite(proportions).all(), "soft labels are negative or not finite")
        target = Target.of_proportions(labels, proportions, dtype)
    else:
        codes = numbers_of(table, CLASS, pa.int32())
        need(((codes >= -1) & (codes < len(labels))).all(), "a row has a class that there is not")
        target = Target(labels, codes, dtype)
    weights = numbers_of(table, WEIGHT, pa.float64()) if WEIGHT in table.column_names else None
    need(weights is None or ((weights >= 0) & np.isfinite(weights)).all(), "weights of rows are negative or not finite")
    copies = numbers_of(table, COPIES, pa.int64()) if COPIES in table.column_names else None
    need(copies is None or (copies >= 1).all(), "a row was seen no whole times")
    hashes = numbers_of(table, HASH, pa.uint64()) if HASH in table.column_names else None
    limit = None if said["limit"] is None else np.uint64(int(said["limit"]))
    return StoredRows(frame_of_table(table, rows, said), target, weights, said["called"], copies, hashes, limit)


def frame_of_table(table: pa.Table, rows: int, said: JsonObject) -> Frame:
    """Return the columns of the rows."""
    named = bool(said["named"])
    if "names" in said:
        names = said["names"]
        matrix = dense_matrix(table.column(MATRIX), len(set(names)))
        need(len(set(names)) == len(names), "columns lack a name")
        columns = {name: ColumnValues(name, matrix[:, index]) for index, name in enumerate(names)}
        return Frame(columns, rows, named=named, matrix=matrix)
    result = {about["name"]: column_of_arrow(table.column(about["name"]), about) for about in said["columns"]}
    need(len(result) == len(said["columns"]), "a column of rows stands twice")
    return Frame(result, rows, named=named)


def numbers_of(table: pa.Table, name: str, kind: pa.DataType) -> AnyArray:
    """Return a column of numbers, none of which is missing."""
    column = table.column(name)
    need(column.type == kind and column.null_count == 0, f"{name[1:]} beside a row is missing")
    numbers: AnyArray = column.combine_chunks().to_numpy(zero_copy_only=False)
    return numbers


# -- columns -----------------------------------------------------------------------------------------------------------


def column_to_arrow(values: FrameColumn) -> tuple[pa.Array, JsonObject]:
    """Return a column as an Arrow array, and what that cannot say."""
    if not isinstance(values, ColumnValues):
        if not sparse.issparse(values):
            return fixed_lists(np.asarray(values)), {"as": DENSE, "width": values.shape[1]}
        matrix = sparse.csr_array(values)
        cells = pa.StructArray.from_arrays(
            [pa.array(matrix.indices.astype(np.int32)), pa.array(matrix.data)], ["place", "value"]
        )
        offsets = pa.array(matrix.indptr.astype(np.int64))
        return pa.LargeListArray.from_arrays(offsets, cells), {"as": SPARSE, "width": matrix.shape[1]}
    levels = None if values.levels is None else labels_in_json(values.levels)
    about: JsonObject = {"of": values.type, "levels": levels, "in_order": values.ordered, "none": dict(values.none)}
    if not (isinstance(values.data, np.ndarray) and values.data.dtype.kind == "O"):
        return values.arrow(), about
    # Halves of surrogate pairs, which Arrow's texts cannot hold.
    cells = [cell.encode("utf-8", "surrogatepass") if isinstance(cell, str) else None for cell in values.data]
    return pa.array(cells, pa.large_binary()), about | {"as": OBJECTS}


def column_of_arrow(data: pa.ChunkedArray, about: JsonObject) -> FrameColumn:
    """Return the column that `column_to_arrow` wrote."""
    kind, array = about.get("as"), data.combine_chunks()
    if kind == DENSE:
        return dense_matrix(data, about["width"])
    if kind == SPARSE:
        return sparse_matrix(array, about["width"])
    values: pa.Array | AnyArray = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
    if kind == OBJECTS:
        values = np.empty(len(array), dtype=object)
        values[:] = [None if cell is None else cell.decode("utf-8", "surrogatepass") for cell in array.to_pylist()]
    check_type(about["of"], values)
    levels = None if about["levels"] is None else tuple(from_json(level) for level in about["levels"])
    empty = ColumnValues(about["name"], pa.nulls(0), levels, kind=about["of"], ordered=bool(about["in_order"]))
    column = empty.on(values)
    column.none = Counter({str(text): int(times) for text, times in about["none"].items()})
    return column


def check_type(kind: Type | None, data: pa.Array | AnyArray) -> None:
    """Refuse values that are not what the file says."""
    if isinstance(data, np.ndarray):
        need(kind == "text", "values are no texts")
        return
    held = data.type.value_type if pa.types.is_dictionary(data.type) else data.type
    result = type_of_arrow("", held)
    need(result is None or (kind in NOUNS and same_kind(result, kind)), f"values are {result}, and said to be {kind}")


def fixed_lists(matrix: AnyArray) -> pa.Array:
    """Return the rows of a matrix as lists of one length."""
    flat = pa.array(np.ascontiguousarray(matrix).ravel())
    return (
        pa.FixedSizeListArray.from_arrays(flat, max(matrix.shape[1], 1)) if matrix.shape[1] else pa.nulls(len(matrix))
    )


def dense_matrix(lists: pa.ChunkedArray, width: int) -> AnyArray:
    """Return the matrix whose rows are lists of one length."""
    if not width:
        return np.zeros((len(lists), 0))
    need(pa.types.is_fixed_size_list(lists.type) and lists.type.list_size == width, "vectors have another length")
    flat = lists.combine_chunks().flatten()
    numeric = pa.types.is_floating(flat.type) or pa.types.is_integer(flat.type) or pa.types.is_boolean(flat.type)
    need(numeric and flat.null_count == 0, "vectors hold no numbers")
    matrix: AnyArray = np.array(flat.to_numpy(zero_copy_only=False)).reshape(len(lists), width)
    return matrix


def sparse_matrix(lists: pa.Array, width: int) -> Matrix:
    """Return the sparse matrix whose rows are lists of places and values."""
    need(pa.types.is_large_list(lists.type) and lists.null_count == 0, "vectors are no lists")
    cells = lists.flatten()
    parts = [cells, cells.field("place"), cells.field("value")]
    place, value = (part.to_numpy(zero_copy_only=False) for part in parts[1:])
    whole = all(part.null_count == 0 for part in parts) and place.dtype.kind == "i" and value.dtype.kind in "biuf"
    need(whole and np.isfinite(value).all(), "vectors hold no numbers")
    need(len(place) == 0 or (place.min() >= 0 and place.max() < width), "a cell lies outside its vector")
    starts = lists.offsets.to_numpy(zero_copy_only=False)
    return sparse.csr_array((np.array(value), np.array(place), starts - starts[0]), shape=(len(lists), width))
