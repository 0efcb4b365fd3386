"""Values of rows as cells of the table: numbers in one of its columns, all else as text, and back with their types.

A number is written as 64 bits of floating point where that is exact, and as text where it is not. Texts that repeat
are written once, and a number for each row says which it holds.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from ..._types import AnyArray, CellLike, JsonObject, Matrix
from ...errors import InvalidInput
from ..values import is_text_type
from .statistics import TEXT, need

# Types of Arrow by the names that a file has for them; times in a zone and decimals are spelled out.
UNITS = ("s", "ms", "us", "ns")
PLAIN = {
    str(kind): kind
    for kind in (
        *(pa.null(), pa.bool_(), pa.string(), pa.large_string(), pa.date32(), pa.date64()),
        *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        *(pa.float16(), pa.float32(), pa.float64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")),
        *(pa.timestamp(unit) for unit in UNITS),
        *(pa.duration(unit) for unit in UNITS),
    )
}
ZONED = re.compile(r"timestamp\[(s|ms|us|ns), tz=(.+)\]")
DECIMAL = re.compile(r"decimal(128|256)\((\d+), (-?\d+)\)")
# Whole numbers up to this one are exact as floating-point numbers.
LARGEST_EXACT = 1 << 53


class Cells(NamedTuple):
    """Cells of the table, one after the other: their texts, their numbers; null where there is none."""

    texts: pa.Array
    numbers: pa.Array

    @classmethod
    def of_texts(cls, texts: pa.Array) -> Cells:
        """Return cells of texts alone."""
        return cls(texts, pa.nulls(len(texts), pa.float64()))

    @classmethod
    def of_numbers(cls, numbers: pa.Array) -> Cells:
        """Return cells of numbers alone."""
        return cls(pa.nulls(len(numbers), TEXT), numbers)

    def then(self, others: Cells) -> Cells:
        """Return these cells and others behind them."""
        return Cells(*(pa.concat_arrays(both) for both in zip(self, others, strict=True)))

    def between(self, begin: int, end: int) -> Cells:
        """Return some of the cells."""
        need(0 <= begin <= end <= len(self.numbers), "a column has too few cells")
        return Cells(self.texts.slice(begin, end - begin), self.numbers.slice(begin, end - begin))


# -- types --------------------------------------------------------------------------------------------------------


def type_of_name(name: str) -> pa.DataType:
    """Return the type of Arrow that a file names."""
    if name in PLAIN:
        return PLAIN[name]
    if zoned := ZONED.fullmatch(name):
        return pa.timestamp(zoned[1], zoned[2])
    if found := DECIMAL.fullmatch(name):
        return (pa.decimal128 if found[1] == "128" else pa.decimal256)(int(found[2]), int(found[3]))
    raise ValueError(f"values have the type {name!r}, which is unknown")


def name_of_type(kind: pa.DataType) -> str:
    """Return the name of a type of Arrow in files; views of texts are texts there."""
    name = str(TEXT if pa.types.is_string_view(kind) else kind)
    if name not in PLAIN and not ZONED.fullmatch(name) and not DECIMAL.fullmatch(name):
        raise InvalidInput(f"a file cannot hold rows with values of the type {name}.")
    return name


# -- arrays -------------------------------------------------------------------------------------------------------


def array_cells(array: pa.Array) -> tuple[JsonObject, Cells]:
    """Return what the footer says about an array, and its cells."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        entry, labels = array_cells(array.dictionary)
        codes = array.indices.cast(pa.float64())
        said = {"codes": str(kind.index_type), "ordered": bool(kind.ordered)}
        return said | {"labels": len(array.dictionary), "of": entry}, labels.then(Cells.of_numbers(codes))
    entry = {"type": name_of_type(kind)}
    if is_text_type(kind):
        texts = array if kind != pa.string_view() else pa.array(array.to_pylist(), TEXT)
        return entry, Cells.of_texts(texts.cast(TEXT))
    if pa.types.is_decimal(kind):
        return entry, Cells.of_texts(pa.array([None if v is None else str(v) for v in array.to_pylist()], TEXT))
    if pa.types.is_null(kind):
        return entry, Cells.of_texts(pa.nulls(len(array), TEXT))
    if pa.types.is_temporal(kind):
        array = array.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    if pa.types.is_float16(kind):
        array = pa.array(array.to_numpy(zero_copy_only=False).astype(np.float64), mask=array.is_null().to_numpy(False))
    if pa.types.is_boolean(kind):
        array = array.cast(pa.int8())
    if pa.types.is_integer(array.type) and not is_exact(array):
        return entry | {"digits": True}, Cells.of_texts(array.cast(TEXT))
    return entry, Cells.of_numbers(array.cast(pa.float64()))


def is_exact(numbers: pa.Array) -> bool:
    """Return whether whole numbers are the same as floating-point numbers."""
    extremes = pc.min_max(numbers).as_py()
    return extremes["min"] is None or -LARGEST_EXACT <= extremes["min"] <= extremes["max"] <= LARGEST_EXACT


def stored_array(entry: JsonObject, cells: Cells) -> pa.Array:
    """Return an array from what the footer says about it, and its cells."""
    if "codes" in entry:
        labels = stored_array(entry["of"], cells.between(0, entry["labels"]))
        codes = cells.numbers.slice(entry["labels"]).cast(type_of_name(entry["codes"]))
        need(codes.null_count == len(codes) or pc.min(codes).as_py() >= 0, "a code is negative")
        need(codes.null_count == len(codes) or pc.max(codes).as_py() < len(labels), "a code has no label")
        return pa.DictionaryArray.from_arrays(codes, labels, ordered=bool(entry["ordered"]))
    kind = type_of_name(entry["type"])
    if is_text_type(kind):
        cells.texts.validate(full=True)
        return cells.texts.cast(kind)
    if pa.types.is_decimal(kind):
        return pa.array([None if text is None else Decimal(text) for text in cells.texts.to_pylist()], kind)
    if pa.types.is_null(kind):
        return pa.nulls(len(cells.texts))
    if pa.types.is_floating(kind):
        return stored_floats(cells.numbers, kind)
    whole = kind
    if pa.types.is_temporal(kind) or pa.types.is_boolean(kind):
        whole = pa.int8() if pa.types.is_boolean(kind) else pa.int32() if kind.bit_width == 32 else pa.int64()
    found = (cells.texts if entry.get("digits") else cells.numbers).cast(whole)
    return found.cast(kind)


def stored_floats(numbers: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return floating-point numbers of a type, which had fewer bits before they were written."""
    if not pa.types.is_float16(kind):
        return numbers.cast(kind)
    halves = numbers.to_numpy(zero_copy_only=False).astype(np.float16)
    return pa.array(halves, kind, mask=numbers.is_null().to_numpy(False))


# -- objects, vectors ---------------------------------------------------------------------------------------------


def object_cells(objects: AnyArray) -> tuple[JsonObject, Cells]:
    """Return texts that Arrow cannot hold, such as halves of surrogate pairs, as the JSON of each."""
    if not all(value is None or isinstance(value, (str, float)) for value in objects):
        raise InvalidInput("a file cannot hold rows with values that are neither texts nor numbers.")
    return {"objects": True}, Cells.of_texts(pa.array([json.dumps(value) for value in objects], TEXT))


def stored_objects(cells: Cells) -> AnyArray:
    """Return texts that were written as JSON."""
    found: list[CellLike] = [json.loads(text) for text in cells.texts.to_pylist()]
    need(all(value is None or isinstance(value, (str, float)) for value in found), "a value is no text")
    return np.fromiter(found, dtype=object, count=len(found))


def vector_cells(vectors: Matrix) -> tuple[JsonObject, Cells]:
    """Return what the footer says about a matrix, dense or sparse, and its cells."""
    entry = {"width": vectors.shape[1], "dtype": vectors.dtype.str}
    if not sparse.issparse(vectors):
        said, cells = array_cells(pa.array(np.ascontiguousarray(vectors).ravel()))
        return entry | {"dense": said}, cells
    vectors = sparse.csr_array(vectors)
    said, cells = array_cells(pa.array(vectors.data))
    places = np.concatenate([vectors.indptr, vectors.indices]).astype(np.float64)
    return entry | {"sparse": said, "stored": len(vectors.data)}, Cells.of_numbers(pa.array(places)).then(cells)


def stored_vectors(entry: JsonObject, rows: int, cells: Cells) -> Matrix:
    """Return a matrix from what the footer says about it, and its cells."""
    dtype, width = np.dtype(entry["dtype"]), int(entry["width"])
    need(dtype.kind in "biuf" and width >= 0, "vectors hold no numbers")
    if "dense" in entry:
        found = stored_array(entry["dense"], cells)
        need(found.null_count == 0 and len(found) == rows * width, "vectors have too few cells")
        return found.to_numpy(zero_copy_only=False).astype(dtype, copy=True).reshape(rows, width)
    stored = int(entry["stored"])
    places = cells.between(0, rows + 1 + stored).numbers.cast(pa.int64())
    need(places.null_count == 0 and len(cells.numbers) == rows + 1 + 2 * stored, "vectors have too few cells")
    indptr, indices = np.split(places.to_numpy(), [rows + 1])
    need(indptr[0] == 0 and indptr[-1] == stored and (np.diff(indptr) >= 0).all(), "rows of vectors are not in order")
    need(not stored or (indices.min() >= 0 and indices.max() < width), "a number lies outside its vector")
    data = stored_array(entry["sparse"], cells.between(rows + 1 + stored, rows + 1 + 2 * stored))
    need(data.null_count == 0, "a number of a vector is missing")
    small = np.int32 if max(width, stored) < 1 << 31 else np.int64
    parts = data.to_numpy(zero_copy_only=False).astype(dtype), indices.astype(small), indptr.astype(small)
    return sparse.csr_array(parts, shape=(rows, width))
