"""Rows that a model keeps, as rows of the table: a part for their classes and weights, and one for each column.

Each part has the mark ``(rows)`` before the name of its column, and alone for the classes: there ``class`` is the class
of a row, ``n`` its weight, ``shift`` how often it was seen, and ``sum`` and ``squares`` are the upper and the lower 32
bits of its hash; null where a model does not have it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ..._types import AnyArray, Codes, Floats, Hashes, JsonObject, Longs
from ..column import NOUNS, Type, same_kind
from ..frame import Frame, FrameColumn
from ..target import SoftLabels, Target
from ..values import ColumnValues, type_of_arrow
from .cells import Cells, array_cells, object_cells, stored_array, stored_objects, stored_vectors, vector_cells
from .labels import encode_labels, from_json, labels_in_json
from .statistics import SCHEMA, column_without_nulls, need

MARK = "(rows)"
READ = ["column", "value", "class", "n", "shift", "sum", "squares"]
HALF = np.uint64(32)


class StoredRows(NamedTuple):
    """Rows in a file: their columns and classes, their weights, and what tells which rows they are of how many."""

    frame: Frame
    target: Target | SoftLabels
    weights: Floats | None
    called: str | None  # the column of the classes
    copies: Longs | None  # how often each was seen; None: once
    hashes: Hashes | None  # of each row; None if they follow from the rows
    limit: np.uint64 | None  # the largest hash of a row that is kept; None if all rows are


# -- to the table -------------------------------------------------------------------------------------------------


def kept_row_parts(kept: StoredRows) -> tuple[JsonObject, list[pa.Table]]:
    """Return what the footer says about rows that are kept, and the parts of the table that hold them."""
    frame, target = kept.frame, kept.target
    kind, texts = encode_labels(target.labels)
    said: JsonObject = {"rows": frame.rows, "named": frame.named, "called": kept.called}
    said |= {"labels": labels_in_json(target.labels), "label_type": kind, "dtype": target.dtype.str}
    said |= {"weights": kept.weights is not None, "copies": kept.copies is not None}
    said |= {"hashes": kept.hashes is not None, "limit": None if kept.limit is None else str(kept.limit)}
    parts = [class_part(kept, texts)]
    if isinstance(target, SoftLabels):
        cells = Cells.of_numbers(pa.array(np.ascontiguousarray(target.proportions).ravel()))
        parts.append(cell_part(MARK, cells))
    said["soft"] = isinstance(target, SoftLabels)
    if is_matrix(frame):
        entry, cells = vector_cells(frame.matrix)
        said |= {"matrix": entry | {"cells": len(cells.numbers)}, "names": list(frame.names)}
        return said, [*parts, cell_part(MARK, cells)]
    entries = []
    for name, values in frame.columns.items():
        entry, cells = column_cells(values)
        entries.append({"name": name, "cells": len(cells.numbers)} | entry)
        parts.append(cell_part(f"{MARK} {name}", cells))
    return said | {"columns": entries}, parts


def is_matrix(frame: Frame) -> bool:
    """Return whether all columns of a frame lie in one matrix."""
    return frame.matrix is not None and frame.matrix.shape[1] == len(frame.columns)


def class_part(kept: StoredRows, texts: pa.Array) -> pa.Table:
    """Return the part that holds what rows have beside their cells."""
    columns = empty_columns(MARK, kept.frame.rows)
    if isinstance(kept.target, Target):
        codes = pa.array(kept.target.codes, pa.int32(), mask=kept.target.codes < 0)
        columns["class"] = pa.DictionaryArray.from_arrays(codes, texts.cast(pa.string()))
    if kept.weights is not None:
        columns["n"] = pa.array(kept.weights.astype(np.float64))
    if kept.copies is not None:
        columns["shift"] = pa.array(kept.copies.astype(np.float64))
    if kept.hashes is not None:
        halves = kept.hashes >> HALF, kept.hashes & np.uint64(0xFFFFFFFF)
        columns |= {name: pa.array(half.astype(np.float64)) for name, half in zip(READ[-2:], halves, strict=True)}
    return pa.table(columns, SCHEMA)


def cell_part(name: str, cells: Cells) -> pa.Table:
    """Return the part of the table that holds some cells."""
    columns = empty_columns(name, len(cells.numbers))
    return pa.table(columns | {"value": cells.texts, "n": cells.numbers}, SCHEMA)


def empty_columns(name: str, rows: int) -> dict[str, pa.Array]:
    """Return the columns of so many rows of the table that have nothing but a name."""
    columns = {field.name: pa.nulls(rows, field.type) for field in SCHEMA}
    columns["column"] = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), [name])
    return columns


def column_cells(values: FrameColumn) -> tuple[JsonObject, Cells]:
    """Return what the footer says about a column of rows, and its cells."""
    if not isinstance(values, ColumnValues):
        return vector_cells(values)
    if isinstance(values.data, np.ndarray) and values.data.dtype.kind == "O":
        entry, cells = object_cells(values.data)
    else:
        entry, cells = array_cells(values.arrow())
    levels = None if values.levels is None else labels_in_json(values.levels)
    said = {"of": values.type, "levels": levels, "in_order": values.ordered, "none": dict(values.none)}
    return said | {"array": entry}, cells


# -- from the table -----------------------------------------------------------------------------------------------


def row_part_sizes(said: JsonObject) -> list[int]:
    """Return how many rows of the table each part of the rows that are kept has, by what the footer says."""
    soft = [said["rows"] * len(said["labels"])] if said["soft"] else []
    entries = [said["matrix"]] if "matrix" in said else said["columns"]
    sizes = [said["rows"], *soft, *(entry["cells"] for entry in entries)]
    need(all(isinstance(size, int) and size >= 0 for size in sizes), "a number of rows is none")
    return sizes


def stored_rows(said: JsonObject, file: pq.ParquetFile, groups: Sequence[Iterable[int]]) -> StoredRows:
    """Return the rows that are kept, from what the footer says and the row groups of their parts."""
    rows, labels = said["rows"], [from_json(label) for label in said["labels"]]
    tables = [part_of_groups(file, group) for group in groups]
    first, parts = tables[0], tables[1:]
    kind, texts = encode_labels(labels)
    need(kind == said["label_type"] and len(set(texts.to_pylist())) == len(texts), "labels of rows stand twice")
    check_name(first, MARK)
    target: Target | SoftLabels
    if said["soft"]:
        target = SoftLabels(labels, proportions_in(cells_of(parts.pop(0), MARK), rows, len(labels)), dtype_of(said))
    else:
        target = Target(labels, codes_in(first, texts), dtype_of(said))
    weights = numbers_in(first, "n") if said["weights"] else None
    need(weights is None or ((weights >= 0) & np.isfinite(weights)).all(), "weights of rows are negative or not finite")
    copies = numbers_in(first, "shift") if said["copies"] else None
    need(copies is None or ((copies >= 1) & (copies == np.floor(copies))).all(), "a row was seen no whole times")
    frame = frame_in(said, parts)
    need(frame.rows == rows, "columns of rows have different lengths")
    return StoredRows(
        frame,
        target,
        weights,
        said["called"],
        None if copies is None else copies.astype(np.int64),
        hashes_in(first) if said["hashes"] else None,
        None if said["limit"] is None else np.uint64(int(said["limit"])),
    )


def part_of_groups(file: pq.ParquetFile, groups: Iterable[int]) -> pa.Table:
    """Return the rows of the table that are in some row groups."""
    return file.read_row_groups(list(groups), columns=READ).unify_dictionaries()


def dtype_of(said: JsonObject) -> np.dtype[np.generic]:
    """Return the type in which labels are given back."""
    dtype = np.dtype(said["dtype"])
    need(dtype.kind in "biufUO", "labels have no type")
    return dtype


def check_name(part: pa.Table, name: str) -> None:
    """Refuse a part that is not the one of this name."""
    found = column_without_nulls(part, "column").unique().to_pylist()
    need(found in ([name], []), f"rows of {name!r} are not where they should be")


def cells_of(part: pa.Table, name: str) -> Cells:
    """Return the cells of a part."""
    check_name(part, name)
    return Cells(column_without_nulls(part, "value").cast(pa.large_string()), column_without_nulls(part, "n"))


def codes_in(part: pa.Table, texts: pa.Array) -> Codes:
    """Return the code of each row's class, -1 where it has none."""
    place = {text: at for at, text in enumerate(texts.to_pylist())} | {None: -1}
    words = column_without_nulls(part, "class")
    places = np.array([*(place[text] for text in words.dictionary.to_pylist()), -1], dtype=np.int32)
    codes: Codes = places[words.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    return codes


def numbers_in(part: pa.Table, name: str) -> Floats:
    """Return a column of numbers, none of which is missing."""
    found = column_without_nulls(part, name)
    need(found.null_count == 0, "a number beside a row is missing")
    numbers: Floats = found.to_numpy(zero_copy_only=False)
    return numbers


def proportions_in(cells: Cells, rows: int, classes: int) -> Floats:
    """Return soft labels [row, class]."""
    need(cells.numbers.null_count == 0, "a soft label is missing")
    found: Floats = cells.numbers.to_numpy(zero_copy_only=False).reshape(rows, classes)
    need((found >= 0).all() and np.isfinite(found).all(), "soft labels are negative or not finite")
    return np.array(found)


def hashes_in(part: pa.Table) -> Hashes:
    """Return the hash of each row, whose halves are numbers."""
    halves = [numbers_in(part, name) for name in READ[-2:]]
    whole = all(((half >= 0) & (half < 2.0**32) & (half == np.floor(half))).all() for half in halves)
    need(whole, "a hash of a row is none")
    return (halves[0].astype(np.uint64) << HALF) | halves[1].astype(np.uint64)


def frame_in(said: JsonObject, parts: Sequence[pa.Table]) -> Frame:
    """Return the columns of the rows."""
    rows, named = said["rows"], bool(said["named"])
    if "matrix" in said:
        (part,) = parts
        matrix, names = stored_vectors(said["matrix"], rows, cells_of(part, MARK)), said["names"]
        need(isinstance(matrix, np.ndarray) and matrix.shape[1] == len(set(names)) == len(names), "columns lack a name")
        columns = {name: ColumnValues(name, matrix[:, at]) for at, name in enumerate(names)}
        return Frame(columns, rows, named=named, matrix=matrix)
    found: dict[str, FrameColumn] = {}
    for entry, part in zip(said["columns"], parts, strict=True):
        found[entry["name"]] = column_in(entry, rows, cells_of(part, f"{MARK} {entry['name']}"))
    need(len(found) == len(said["columns"]), "a column of rows stands twice")
    return Frame(found, rows, named=named)


def check_type(kind: Type | None, data: pa.Array | AnyArray) -> None:
    """Refuse values that are not what the footer says."""
    if isinstance(data, np.ndarray):
        need(kind == "text", "values are no texts")
        return
    held = data.type.value_type if pa.types.is_dictionary(data.type) else data.type
    found = type_of_arrow("", held)
    need(found is None or (kind in NOUNS and same_kind(found, kind)), f"values are {found}, and said to be {kind}")


def column_in(entry: JsonObject, rows: int, cells: Cells) -> FrameColumn:
    """Return one column of the rows."""
    if "array" not in entry:
        return stored_vectors(entry, rows, cells)
    said = entry["array"]
    data = stored_objects(cells) if "objects" in said else stored_array(said, cells)
    need(len(data) == rows, "columns of rows have different lengths")
    check_type(entry["of"], data)
    levels = None if entry["levels"] is None else tuple(from_json(level) for level in entry["levels"])
    empty = ColumnValues(entry["name"], pa.nulls(0), levels, kind=entry["of"], ordered=bool(entry["in_order"]))
    values = empty.on(data)
    values.none = Counter({str(text): int(times) for text, times in entry["none"].items()})
    return values
