"""Types of pandas that neither NumPy nor Arrow knows, as types that both know; and what to say of all others.

A sparse column is read dense, a Period as the time at which it begins, an Interval as its text, such as ``(0, 10]``:
intervals have an order, so theirs are levels. Nothing here imports pandas; its values know what they are.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from .._frames import is_of_pandas
from .._types import AnyArray, CellLike, ColumnLike, Label
from ..errors import InvalidInput
from ..errors.message import RowNumber

ADVICE = {
    "complex": "Give the two parts of each as columns of their own: np.real(…) and np.imag(…)",
    "bytes": "Decode them first, e.g. by .str.decode('utf-8')",
}
ELSE = "Take them apart into columns of their own, or leave the column out"


class KnownColumn(NamedTuple):
    """A column as NumPy or Arrow knows it, the levels its type declares, and whether they have an order."""

    data: ColumnLike
    levels: tuple[Label, ...] | None = None
    ordered: bool = False


def plain_cell(value: CellLike) -> CellLike:
    """Return a cell as Python's own types have it: an interval as its text, a period as the time when it begins."""
    if is_of_pandas(value, "Interval"):
        return str(value)
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return in_seconds(value)
    return value.start_time.to_pydatetime() if is_of_pandas(value, "Period") else value


def in_seconds(times: pa.Array) -> pa.Array:
    """Return times of NumPy in a unit that Arrow has: months, hours and the like as seconds."""
    unit = np.datetime_data(times.dtype)[0]
    known = ("s", "ms", "us", "ns", *(["D"] if isinstance(times, np.ndarray) and times.dtype.kind == "M" else []))
    return times if unit in known else times.astype(f"{times.dtype.kind}8[s]")


def known_objects(data: AnyArray) -> KnownColumn:
    """Return an array of objects without those that only pandas knows."""
    kinds = set(map(type, data))
    if not any(is_of_pandas(kind, "Interval", "Period") for kind in kinds):
        return KnownColumn(data)
    plain = np.fromiter(map(plain_cell, data), dtype=object, count=len(data))
    intervals = [value for value in data if is_of_pandas(value, "Interval")]
    others = any(isinstance(value, str) for value in data)  # texts beside intervals have no place among them
    if not intervals or others:
        return KnownColumn(plain)
    return KnownColumn(plain, tuple(dict.fromkeys(str(value) for value in sorted(intervals))), True)


def known_series(series: ColumnLike) -> KnownColumn | None:
    """Return a series of a type that only pandas has; None if it is of another."""
    name = type(series.dtype).__name__
    if name == "SparseDtype":
        return KnownColumn(np.asarray(series))
    if name in ("PeriodDtype", "IntervalDtype"):
        return KnownColumn(np.asarray(series, dtype=object))
    if name == "CategoricalDtype":
        return known_categories(series)
    return None


def known_categories(series: ColumnLike) -> KnownColumn:
    """Return a categorical series of pandas: codes, and categories that a file can hold."""
    ordered, categories = bool(series.dtype.ordered), np.asarray(series.dtype.categories)
    if categories.dtype.kind == "O":
        categories = known_objects(categories).data
    try:
        labels = pa.array(categories, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # of several types: whoever reads the cells says so
        return KnownColumn(np.asarray(series, dtype=object))
    codes = np.asarray(series.cat.codes if hasattr(series, "cat") else series.codes)
    data = pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), labels)
    return KnownColumn(data, arrow_labels(labels), ordered)


def arrow_labels(labels: pa.Array) -> tuple[Label, ...]:
    """Return the labels that an Arrow array declares; times as their texts, which is how they are counted."""
    return tuple((time_texts(labels) if pa.types.is_temporal(labels.type) else labels).to_pylist())


def time_texts(times: pa.Array) -> pa.Array:
    """Return times as texts, which are the same whatever unit they were held in."""
    if pa.types.is_timestamp(times.type) and times.type.unit != "us":
        with suppress(pa.ArrowInvalid):  # nanoseconds are kept
            times = times.cast(pa.timestamp("us", times.type.tz))
    return times.cast(pa.string())


def refuse_object(name: str, data: AnyArray, row: int) -> None:
    """Refuse a cell that is neither text nor a number nor a time."""
    value = data[row]
    kind = "complex" if isinstance(value, (complex, np.complexfloating)) else type(value).__name__
    shown = repr(value) if len(repr(value)) <= 60 else repr(value)[:59] + "…"
    raise InvalidInput(
        f"Column {name!r} holds objects of type {kind}, which are neither texts nor numbers nor times: ",
        RowNumber(row),
        f" holds {shown}. {ADVICE.get(kind, ELSE)}.",
        column=name,
    )
