"""The values of one column, wherever they lie: Arrow, NumPy, or Python's own objects.

They are read a block of rows at a time, either as labels (each different one once, and which of them each row holds)
or as numbers (float64, NaN where there is none). Nothing is copied but the block.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .._frames import is_of_pandas
from .._types import AnyArray, CellLike, ColumnLike, Floats, Label, Places
from ..errors import InvalidInput
from ..errors.message import RowNumber
from ..stats.axis import is_missing
from . import cells
from .cell_format import USUAL, numpy_values
from .cells import NUMBER, READ_AS, TIME, TIMES, ZONED_TIME, CellType, NotRead, TypeGuess
from .column import NOUNS, Column, Type, same_kind

# Texts are worth a code if each is seen in so many rows.
SEVERAL = 8
# Of no more rows the objects of a column are read once and held. A limit of memory.
FEW_ROWS = 1 << 16
# An array of Arrow's shorter texts holds no more bytes than this.
LONGEST = 1 << 31


# Types of numbers that the kernels read where they lie; whole numbers and times of other types are converted first.
READABLE = frozenset(np.dtype(kind) for kind in ("f8", "f4", "i8", "i4"))
ARROW_NUMBERS = {pa.float64(): np.float64, pa.float32(): np.float32, pa.int64(): np.int64, pa.int32(): np.int32}


class ColumnLabels(NamedTuple):
    """The different labels of some rows, and which of them each row holds; -1 where it holds none."""

    labels: list[Label]
    which: npt.NDArray[np.int32]


class ColumnValues:
    """A column as it was given: an Arrow array, a series of Polars, or a NumPy array of numbers or of objects."""

    def __init__(
        self,
        name: str,
        data: ColumnLike,
        levels: tuple[Label, ...] | None = None,
        views: object = None,
        kind: Type | None = None,
        ordered: bool = False,
    ) -> None:
        self._read: pa.Array | None = None  # objects as Arrow: a fit reads them several times
        if kind is None and isinstance(data, np.ndarray) and data.dtype.kind == "O":
            self._read = texts_of_objects(data) if len(data) <= FEW_ROWS else None
            if self._read is not None and self._read.null_count < len(data):
                kind = "text"
            else:
                data, result = known_objects(data)
                levels, ordered = (result, result is not None) if levels is None else (levels, ordered)
        self.ordered = ordered  # whether the levels have an order
        self.name, self.data, self.levels, self.views = name, data, levels, views
        self.type: Type | None = kind or type_of(name, data)  # None: every cell is missing
        self.none: Counter[str] = Counter()  # texts that were read as missing, and how often

    @property
    def categorical(self) -> bool:
        """Whether the type says that these are categories, whatever they look like."""
        kind = getattr(self.data, "type", None)
        coded = kind is not None and pa.types.is_dictionary(kind)
        return self.levels is not None or coded or type(getattr(self.data, "dtype", None)).__name__ == "Categorical"

    @property
    def floating(self) -> bool:
        """Whether the values are floating-point numbers where they lie."""
        if isinstance(self.data, np.ndarray):
            return bool(self.data.dtype.kind == "f")
        return isinstance(self.data, (pa.Array, pa.ChunkedArray)) and bool(pa.types.is_floating(self.data.type))

    @property
    def bytes(self) -> float:
        """About how many bytes the values take."""
        if isinstance(self.data, np.ndarray) and self.data.dtype.kind == "O":
            some = self.data[:: max(len(self.data) // 1000, 1)]
            return len(self.data) * float(np.mean([len(v) if isinstance(v, str) else 8 for v in some] or [0]))
        if isinstance(self.data, (np.ndarray, pa.Array, pa.ChunkedArray)):
            return float(self.data.nbytes)
        return float(self.data.estimated_size())

    def take(self, at: Places) -> ColumnValues:
        """Return the values of some rows, in this order."""
        if isinstance(self.data, np.ndarray):
            return self.on(self.data[at])
        return self.on(self.data.take(at) if isinstance(self.data, (pa.Array, pa.ChunkedArray)) else self.data[at])

    def on(self, data: ColumnLike) -> ColumnValues:
        """Return other values of the same column; the type stays, even where all of them are missing."""
        other = ColumnValues.__new__(ColumnValues)
        other.__dict__.update(vars(self) | {"data": data, "_read": None})
        return other

    def coded(self) -> ColumnValues:
        """Return the same values, texts as codes if few are different: quicker where they are read again and again."""
        if self.type != "text" or not len(self):
            return self
        array = self.arrow(0, len(self))
        if pa.types.is_dictionary(array.type):
            return self
        coded = pc.dictionary_encode(array.cast(pa.large_string()))
        return self.on(coded) if len(coded.dictionary) <= len(self) // SEVERAL else self

    @property
    def empty(self) -> bool:
        """Whether every cell is missing, whatever the type says."""
        array = self.arrow()
        return bool(array.null_count == len(array))

    def written(self) -> TypeGuess | None:
        """Return how texts are numbers, if all of them are; soon None, for labels."""
        for end in (min(len(self), cells.FEW), len(self)):
            result = cells.guess_type(plain_texts(self.arrow(0, end)))
            if NUMBER not in result.kinds:
                return None
        return result

    def as_in(self, column: Column) -> ColumnValues:
        """Return texts as what a column holds: numbers, times or booleans."""
        array = plain_texts(self.arrow(0, len(self)))
        try:
            result, none = cells.convert_cells(array, CellType(kind_for(column, array), column.written or USUAL))
        except NotRead as error:
            raise another_type(column, repr(error.text)) from None
        other = self.on(result)
        other.type, other.none = column.type, none
        return other

    def __len__(self) -> int:
        return len(self.data)

    def check(self, column: Column) -> None:
        """Refuse values of another type than the column was learned with; missing ones have none."""
        if self.type is None or same_kind(self.type, column.type):
            return
        if not self.empty:  # such as NaN alone, which data frames call numbers
            raise another_type(column, NOUNS[self.type])

    def labels(self, begin: int, end: int) -> ColumnLabels:
        """Return the labels of some rows."""
        array = self.arrow(begin, end)
        if pa.types.is_temporal(array.type):
            array = time_texts(array)
        if pa.types.is_float16(array.type):  # older Arrows cannot look for equal ones among these
            array = array.cast(pa.float32())
        if not pa.types.is_dictionary(array.type):
            array = pc.dictionary_encode(array)
        which = array.indices.cast(pa.int32(), safe=False)
        which = which.fill_null(-1) if which.null_count else which
        return ColumnLabels(list(arrow_labels(array.dictionary)), numpy_values(which, np.int32))

    def texts(self, begin: int, end: int) -> pa.Array | None:
        """Return some rows as an Arrow array of texts, None if that is not what they are."""
        array = self.arrow(begin, end) if self.type == "text" else None
        return array if array is not None and is_text_type(array.type) else None

    def prose(self, column: Column, begin: int, end: int) -> AnyArray | pa.Array:
        """Return some rows as texts to be tokenized: as they lie, for halves of surrogate pairs are let in there."""
        self.check(column)
        return self.data[begin:end] if isinstance(self.data, np.ndarray) else self.arrow(begin, end)

    def numbers(self, begin: int, end: int) -> Floats:
        """Return some rows as numbers."""
        if isinstance(self.data, np.ndarray) and self.data.dtype.kind in "biuf":
            return self.data[begin:end].astype(np.float64, copy=False)
        array = self.arrow(begin, end)
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if pa.types.is_temporal(array.type):
            return seconds(array)
        if pa.types.is_null(array.type):
            return np.full(len(array), np.nan)
        array = array.cast(pa.float64(), safe=False)
        return numpy_values(array.fill_null(np.nan) if array.null_count else array, np.float64)

    def number_buffers(self, begin: int, end: int) -> tuple[AnyArray, npt.NDArray[np.uint8] | None, int]:
        """Return some rows as numbers where they lie, if the kernels can read them there; else a copy of them.

        With them come the bits of those that are there, from some bit on; None: all of them.
        """
        data = self.data
        if isinstance(data, np.ndarray):
            plain = data.dtype in READABLE and data.dtype.isnative and data.flags.aligned
            return data[begin:end] if plain else self.numbers(begin, end), None, 0
        array = self.arrow(begin, end)
        kind = ARROW_NUMBERS.get(array.type)
        if kind is None or not len(array):
            return self.numbers(begin, end), None, 0
        bits = np.frombuffer(array.buffers()[0], np.uint8) if array.null_count else None
        return numpy_values(array, kind), bits, array.offset

    def arrow(self, begin: int = 0, end: int | None = None) -> pa.Array:
        """Return the values, or those of some rows, as one Arrow array."""
        end = len(self) if end is None else end
        if isinstance(self.data, np.ndarray):
            if self.data.dtype.kind != "O" or len(self) > FEW_ROWS:
                return arrow_values_of(self.name, self.data[begin:end])
            if self._read is None:
                self._read = arrow_values_of(self.name, self.data)
            return self._read.slice(begin, end - begin)
        array = self.data.slice(begin, end - begin)
        if not isinstance(array, (pa.Array, pa.ChunkedArray)):  # Polars: its texts lie as views, which need no copy
            array = array.to_arrow(compat_level=self.views) if self.type == "text" else array.to_arrow()
        if isinstance(array, pa.ChunkedArray):
            if pa.types.is_string(array.type) and array.nbytes >= LONGEST:
                array = array.cast(pa.large_string())
            array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
            array = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
        return array


def is_text_type(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is that of texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def plain_texts(array: pa.Array) -> pa.Array:
    """Return texts as Arrow computes with them: neither codes nor views."""
    array = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    if not pa.types.is_string_view(array.type):
        return array
    try:
        return array.cast(pa.large_string())
    except pa.ArrowNotImplementedError:  # older versions of Arrow cannot cast them
        return pa.array(array.to_pylist(), pa.large_string())


def kind_for(column: Column, texts: pa.Array) -> pa.DataType:
    """Return what texts are read as, so that they are what a column holds."""
    if column.type == "time":
        return ZONED_TIME if cells.is_any(pc.match_substring_regex(texts, TIMES[ZONED_TIME])) else TIME
    measured = column.type == "whole" and column.kind != "labels"
    return NUMBER if measured else READ_AS[column.type]


def another_type(column: Column, now: str) -> InvalidInput:
    """Return the error about a value, or a type, that is not what its column held."""
    written = column.written
    how = "" if written is None or written.plain else f" written as {written}"
    return InvalidInput(
        f"Column {column.name!r} held {NOUNS[column.type]}{how} when it was learned, and now holds {now}. "
        "Convert it to what it was.",
        column=column.name,
    )


def seconds(array: pa.Array) -> Floats:
    """Return times as seconds: since 1970 (UTC), of a duration, or since midnight."""
    kind = array.type
    if pa.types.is_date(kind):
        array = array.cast(pa.timestamp("s"))
    elif pa.types.is_time32(kind):
        array = array.cast(pa.time64("us"))
    per_second = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[getattr(array.type, "unit", "us")]
    whole = array.cast(pa.int64(), safe=False)
    return np.asarray(whole.to_numpy(zero_copy_only=False), dtype=np.float64) / per_second


def type_of(name: str, data: ColumnLike) -> Type | None:
    """Return the type of a column's values; None if they are all missing."""
    if isinstance(data, np.ndarray):
        kinds: dict[str, Type] = {"b": "boolean", "i": "whole", "u": "whole", "f": "number", "M": "time", "m": "time"}
        if data.dtype.kind in kinds:
            return kinds[data.dtype.kind]
        return "text" if data.dtype.kind in "UT" else type_of_objects(name, data)
    kind = data.type if isinstance(data, (pa.Array, pa.ChunkedArray)) else data.slice(0, 0).to_arrow().type
    return type_of_arrow(name, kind.value_type if pa.types.is_dictionary(kind) else kind)


ARROW_TYPES: dict[Type, Callable[[pa.DataType], bool]] = {
    "boolean": pa.types.is_boolean,
    "whole": pa.types.is_integer,
    "number": lambda kind: pa.types.is_floating(kind) or pa.types.is_decimal(kind),
    "text": is_text_type,
    "time": pa.types.is_temporal,
}


def type_of_arrow(name: str, kind: pa.DataType) -> Type | None:
    """Return the type of values of an Arrow type."""
    if pa.types.is_null(kind):
        return None
    result = next((of_type for of_type, is_a in ARROW_TYPES.items() if is_a(kind)), None)
    if result is None:
        raise InvalidInput(
            f"Column {name!r} holds {kind}, which is neither text nor a number nor a time. Take it apart into "
            "columns of their own, or leave it out.",
            column=name,
        )
    return result


PYTHON_TYPES: tuple[tuple[type | tuple[type, ...], Type], ...] = (
    (str, "text"),
    ((bool, np.bool_), "boolean"),
    ((int, np.integer), "whole"),
    ((float, np.floating, Decimal), "number"),
    ((datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64), "time"),
)


def type_of_value(value: CellLike) -> Type | None:
    """Return the type of one Python object, None if it is missing or nothing we know."""
    return next((kind for types, kind in PYTHON_TYPES if isinstance(value, types)), None)


def clock(value: CellLike) -> str:
    """Return which sort of time a value is: points in time, times of day and durations cannot be counted together."""
    if isinstance(value, datetime.time):
        return "time of day"
    return "duration" if isinstance(value, (datetime.timedelta, np.timedelta64)) else "other"


def texts_of_objects(data: AnyArray) -> pa.Array | None:
    """Return objects as an Arrow array if all of them are texts or missing; most columns of objects are."""
    try:
        array = pa.array(data, from_pandas=True)
    except (pa.ArrowException, UnicodeEncodeError, TypeError, ValueError, OverflowError):
        return None
    return array if pa.types.is_string(array.type) else None


def only_texts(data: AnyArray) -> bool:
    """Tell whether all objects are texts, None or NaN, which takes a tenth of the time of looking at each."""
    values = data.tolist()
    types = set(map(type, values)) - {str, type(None)}
    return not types or (types == {float} and all(value != value for value in values if type(value) is float))


def type_of_objects(name: str, data: AnyArray) -> Type | None:
    """Return the type that all objects of a column have in common."""
    if only_texts(data):
        return "text" if any(type(value) is str for value in data) else None
    first = dict((type(v), (v, row)) for row, v in reversed(list(enumerate(data))) if not is_missing(v))  # noqa: C402
    result = {type_of_value(value) for value, _ in first.values()}
    if None in result:
        refuse_object(name, data, min(row for value, row in first.values() if type_of_value(value) is None))
    if len(result) > 1 and result <= {"boolean", "whole", "number"}:
        return "number"
    if len(result) > 1 or len({clock(value) for value, _ in first.values()}) > 1:
        mixed = ", ".join(sorted(kind.__name__ for kind in first))
        raise InvalidInput(
            f"Column {name!r} mixes values of different types ({mixed}). Convert it to one of them, e.g. to text.",
            column=name,
        )
    return result.pop() if result else None


def arrow_values_of(name: str, data: AnyArray) -> pa.Array:
    """Return a piece of a NumPy array as Arrow; NaN and other missing values become nulls."""
    if data.dtype.kind == "T":
        data = data.astype(object)
    if data.dtype.kind != "O":
        return pa.array(in_seconds(data) if data.dtype.kind in "mM" else data, from_pandas=True)
    values = data.tolist() if only_texts(data) else [None if is_missing(value) else value for value in data]
    try:
        return pa.array(values, from_pandas=True)
    except UnicodeEncodeError as error:
        halves = [v for v in values if isinstance(v, str) and any("\ud800" <= c <= "\udfff" for c in v)]
        raise InvalidInput(
            f"Column {name!r} holds {halves[0]!r}, which is no valid text ({error.reason}).", column=name
        ) from None
    except (pa.ArrowInvalid, TypeError, OverflowError):
        pass
    try:
        return pa.array([None if v is None else float(v) for v in values])  # numbers of several types
    except (TypeError, ValueError, ArithmeticError) as error:
        raise InvalidInput(
            f"Column {name!r} holds values that cannot be read together ({error}). Convert it to one type, "
            "such as numbers or text.",
            column=name,
        ) from None


# -- types of pandas that neither NumPy nor Arrow knows; nothing here imports pandas ----------------------------------


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


def known_objects(data: AnyArray) -> tuple[AnyArray, tuple[Label, ...] | None]:
    """Return an array of objects without those that only pandas knows, and the levels of intervals, in their order."""
    if not any(is_of_pandas(kind, "Interval", "Period") for kind in set(map(type, data))):
        return data, None
    plain = np.fromiter(map(plain_cell, data), dtype=object, count=len(data))
    intervals = [value for value in data if is_of_pandas(value, "Interval")]
    if not intervals or any(isinstance(value, str) for value in data):  # texts have no place among intervals
        return plain, None
    return plain, tuple(dict.fromkeys(map(str, sorted(intervals))))


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
    advice = {
        "complex": "Give the two parts of each as columns of their own: np.real(…) and np.imag(…)",
        "bytes": "Decode them first, e.g. by .str.decode('utf-8')",
    }.get(kind, "Take them apart into columns of their own, or leave the column out")
    what = f"Column {name!r} holds objects of type {kind}, which are neither texts nor numbers nor times: "
    raise InvalidInput(what, RowNumber(row), f" holds {shown}. {advice}.", column=name)
