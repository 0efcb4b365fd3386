"""The class of each row: labels of any type that come back as they were, or soft labels."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from .. import _kernels
from .._frames import is_of_pandas
from .._linear_algebra import product
from .._types import AnyArray, Codes, ColumnLike, DType, Floats, Label, Mask, Places, TableLike
from ..errors import InvalidInput
from ..errors.message import Message, PythonOnly, RowNumber
from ..stats.axis import is_missing
from .frame import frame_of, object_array, series_values
from .values import ColumnValues, type_of_value

IN_TIME = Message(
    "; write them as texts such as '2024' or 'week 7'", PythonOnly(", or as dates: y.astype(str) or y.dt.date")
)
COLUMN_VECTOR = (
    "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,)."
)
ONE = np.zeros(1, dtype=np.int32)
# From so many labels on, Arrow finds the different ones sooner than Python does.
MANY_LABELS = 1_000


class Target(NamedTuple):
    """The classes of some rows: each label once, and which of them each row has (-1: none).

    A row may belong to several classes by proportions (a soft label); its code is that of the largest one then.
    """

    labels: list[Label]
    codes: Codes
    dtype: DType  # to give labels back in
    proportions: Floats | None = None  # [row, class]; None if every row has one class

    @classmethod
    def of_proportions(cls, labels: list[Label], proportions: Floats, dtype: DType) -> Target:
        """Return the classes of rows with soft labels."""
        return cls(labels, proportions.argmax(axis=1).astype(np.int32), dtype, np.ascontiguousarray(proportions))

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.codes)

    @property
    def soft(self) -> bool:
        """Whether rows have soft labels."""
        return self.proportions is not None

    @property
    def used(self) -> Mask:
        """Which classes a row has."""
        if self.proportions is not None:
            return np.asarray((self.proportions != 0).any(axis=0))
        return np.asarray(np.bincount(self.codes[self.codes >= 0], minlength=len(self.labels)) > 0)

    def take(self, at: Places) -> Target:
        """Return the classes of some rows, in this order."""
        codes, proportions = np.ascontiguousarray(self.codes[at]), self.proportions
        return self._replace(codes=codes, proportions=None if proportions is None else proportions[at])

    def pairs(self, weights: Floats | None, rows: slice = slice(None)) -> Iterator[tuple[Codes, Floats | None]]:
        """Yield the rows with a class and a weight each: once, or with soft labels once for each class."""
        weights = None if weights is None else weights[rows]
        if self.proportions is None:
            yield self.codes[rows], weights
            return
        for code, shares in enumerate(self.proportions[rows].T):
            own = np.ascontiguousarray(shares if weights is None else shares * weights)
            if own.any():
                yield np.full(len(own), code, dtype=np.int32), own

    def totals(self, weights: Floats | None) -> Floats:
        """Return what the rows of each class weigh."""
        own = np.ones(self.rows) if weights is None else weights
        if self.proportions is not None:
            return product(own, self.proportions)
        return np.bincount(self.codes[there := self.codes >= 0], own[there], len(self.labels)).astype(np.float64)

    def on(self, labels: Sequence[Label]) -> Target:
        """Return the same classes, numbered by other labels, among which all of these are."""
        if list(labels) == self.labels:
            return self
        place = {label: code for code, label in enumerate(labels)}
        places = np.array([*(place[label] for label in self.labels), -1], dtype=np.int32)
        proportions = None
        if self.proportions is not None:
            proportions = np.zeros((self.rows, len(place)))
            proportions[:, places[:-1]] = self.proportions
        return Target(list(labels), places[self.codes], self.dtype, proportions)

    def without_unused_labels(self) -> Target:
        """Return the same classes without labels that no row has."""
        used = self.used
        if used.all():
            return self
        labels = [label for label, there in zip(self.labels, used.tolist(), strict=True) if there]
        codes = np.append(np.where(used, np.cumsum(used) - 1, 0), -1).astype(np.int32)[self.codes]
        return Target(labels, codes, self.dtype, None if self.proportions is None else self.proportions[:, used])

    def as_proportions(self) -> Floats:
        """Return how much of each row belongs to each class: all of it to the only one, if it has one."""
        if self.proportions is not None:
            return self.proportions
        result = np.zeros((self.rows, len(self.labels)))
        there = np.flatnonzero(self.codes >= 0)
        result[there, self.codes[there]] = 1.0
        return result

    @staticmethod
    def joined(parts: Sequence[Target]) -> Target:
        """Return the classes of several parts, one after the other; soft labels if one of them has such."""
        labels = list(dict.fromkeys(label for part in parts for label in part.labels))
        dtype = next((part.dtype for part in parts if part.labels), parts[0].dtype)
        parts = [part.on(labels) for part in parts]
        if any(part.soft for part in parts):
            return Target.of_proportions(labels, np.concatenate([part.as_proportions() for part in parts]), dtype)
        return Target(labels, np.concatenate([part.codes for part in parts]), dtype)


def single(y: ColumnLike) -> Label:
    """Return the label of a single row: itself, or the only one of a list."""
    label: Label = y[0] if type(y) is list and len(y) == 1 else y
    return label


def target_of(y: ColumnLike) -> Target:
    """Return the classes of rows: a vector of labels, or a frame whose columns are the classes."""
    if y is None:
        raise InvalidInput("requires y to be passed, but the target y is None: give the class of each row.")
    if type(y) is list and len(y) == 1 and type(y[0]) in (str, int, bool):
        return Target(y, ONE, np.dtype(type(y[0])))  # at once, for those who learn row by row
    if (hasattr(y, "columns") and np.ndim(y) == 2) or isinstance(y, dict):
        frame = frame_of(y)
        if len(frame.columns) > 1:
            return soft_labels_of(frame)
        y = next(iter(frame.columns.values())).data
    if hasattr(y, "__array__") and not hasattr(y, "dtype"):
        y = y if hasattr(y, "type") else np.asarray(y)
    array = y if hasattr(y, "dtype") or hasattr(y, "type") else as_array(y)
    if isinstance(array, np.ndarray) and array.ndim == 2 and array.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning  # as scikit-learn says it

        warnings.warn(COLUMN_VECTOR, DataConversionWarning, stacklevel=4)
        array = array.ravel()
    if isinstance(array, np.ndarray) and array.ndim != 1:
        raise InvalidInput(f"y should be a 1d array, got an array of shape {array.shape} instead.")
    return arrow_target(array)


def as_array(y: ColumnLike) -> AnyArray:
    """Return a list of labels as an array that keeps their types."""
    values = list(y) if hasattr(y, "__iter__") and not isinstance(y, (str, bytes)) else None
    if values is None:
        raise InvalidInput(f"y should be a 1d array, got {y!r} instead: give the class of each row.")
    try:
        plain = np.asarray(values) if len({type(v) for v in values}) == 1 else None
    except ValueError:  # lists of different lengths
        plain = None
    return plain if plain is not None and plain.dtype.kind in "biufU" else object_array(values)


def arrow_target(y: ColumnLike) -> Target:
    """Return labels, each different one once, and which of them each row has."""
    if isinstance(y, np.ndarray) and y.dtype.kind == "O":
        return labels_of_objects(y)
    if isinstance(y, np.ndarray) and y.dtype.kind not in "biufUT":
        more = IN_TIME if y.dtype.kind in "mM" else ""
        raise InvalidInput(f"Unknown label type: labels must be numbers, texts or booleans; found {y.dtype}", more, ".")
    dtype = getattr(y, "dtype", None)
    dtype = getattr(getattr(dtype, "categories", None), "dtype", dtype)
    if is_of_pandas(dtype, "IntervalDtype", "PeriodDtype"):  # which holds objects as labels, or categories of such
        return labels_of_objects(np.asarray(y, dtype=object))
    values = ColumnValues("y", y) if isinstance(y, np.ndarray) or hasattr(y, "type") else series_values("y", y)
    if isinstance(values.data, np.ndarray) and values.data.dtype.kind == "O":
        return labels_of_objects(values.data)
    if values.type == "time":
        array = values.arrow()
        if pa.types.is_date(array.type) and not isinstance(values.data, np.ndarray):
            return labels_of_objects(object_array(array.to_pylist()))
        raise InvalidInput("Unknown label type: labels must be numbers, texts or booleans; found times", IN_TIME, ".")
    labels, which = whole_labels(values.data) or values.labels(0, len(values))
    check_numbers(labels)
    kind = values.data.dtype if isinstance(values.data, np.ndarray) else np.dtype(object)
    return Target(labels, which, type_for(labels, kind))


def type_for(labels: list[Label], dtype: DType) -> DType:
    """Return the NumPy type that labels are given back in."""
    if dtype.kind not in "biufO":
        return np.dtype(str)
    plain = dtype.kind != "O" or not labels or isinstance(labels[0], (str, Enum))
    return dtype if plain else np.asarray(labels).dtype


def labels_of_objects(y: AnyArray) -> Target:
    """Return labels that are Python objects: texts, numbers, members of an enumeration, but all of one type."""
    if len(y) >= MANY_LABELS and set(map(type, y)) <= {str, type(None)}:
        with suppress(UnicodeEncodeError):  # halves of surrogate pairs, which Arrow cannot hold
            texts, codes = ColumnValues("y", pa.array(y, pa.large_string())).labels(0, len(y))
            return Target(texts, codes, type_for(texts, y.dtype))
    places: dict[Label, int] = {}
    try:
        codes = np.fromiter((-1 if is_missing(v) else places.setdefault(v, len(places)) for v in y), np.int32, len(y))
    except TypeError:
        result = next(type(v).__name__ for v in y if type(v).__hash__ is None)
        raise InvalidInput(
            f"Unknown label type: a class is a text, a whole number or a boolean; found {result}."
        ) from None
    labels = list(places)
    check_kinds(labels)
    check_numbers(labels)
    return Target(labels, codes, type_for(labels, y.dtype))


def whole_labels(y: ColumnLike) -> tuple[list[Label], Codes] | None:
    """Return labels that are whole numbers close to each other, sorted, and which of them each row has; else None."""
    if not isinstance(y, np.ndarray) or y.dtype.kind not in "iu" or len(y) < MANY_LABELS:
        return None
    if y.dtype not in (np.int64, np.int32, np.uint8) or not y.dtype.isnative or not y.flags.aligned:
        return None
    result: Any = _kernels.encode_labels(np.ascontiguousarray(y))  # two arrays, or None; the stub says object
    return None if result is None else (result[0].tolist(), result[1])


def check_kinds(labels: list[Label]) -> None:
    """Refuse labels of different kinds, or of none that can be a class."""
    kinds = {label_kind(label) for label in labels}
    if (len(kinds) > 1 and not kinds <= {"boolean", "whole", "number"}) or None in kinds or "time" in kinds:
        result = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise InvalidInput(
            f"Unknown label type: labels must be all numbers or all texts; found objects of type {result}. "
            "Convert them to text."
        )


def label_kind(label: Label) -> str | None:
    """Return which kind of class a label is; all labels must be of one."""
    if isinstance(label, Enum):
        return "enum"
    own = type(label) is datetime.date or is_of_pandas(label, "Interval", "Period")
    return type(label).__name__ if own else type_of_value(label)


def typed(labels: list[Label], dtype: DType) -> AnyArray:
    """Return labels as an array of their own type; a wider one if some do not fit it."""
    if dtype.kind == "O":
        return np.asarray(object_array(labels))
    natural = np.array(labels)
    narrow = natural if dtype.kind == "U" or not labels else natural.astype(dtype)
    return narrow if np.array_equal(narrow, natural) else natural


def check_numbers(labels: list[Label]) -> None:
    """Refuse numbers that are measured rather than labels."""
    for label in labels:
        if isinstance(label, (float, np.floating)) and not float(label).is_integer():
            raise InvalidInput(
                f"Unknown label type: continuous. The label {label!r} is no whole number; a class is a text, a whole "
                "number or a boolean. Cut the target into classes first."
            )


def soft_labels_of(frame: TableLike) -> Target:
    """Return soft labels: the columns are the classes, the cells how much of the row belongs to each."""
    table = np.column_stack([values.numbers(0, frame.rows) for values in frame.columns.values()])
    wrong = np.flatnonzero(~(table >= 0).all(axis=1) | ~np.isfinite(table).all(axis=1))
    if len(wrong):
        raise InvalidInput(
            RowNumber(wrong[0]),
            f" of y holds the soft labels {table[wrong[0]]}; the proportion of a class is a number of 0 or more.",
        )
    labels, dtype = list(frame.names), np.dtype(object)
    if ((table == 0) | (table == 1)).all() and (table.sum(axis=1) == 1).all():
        return Target(labels, table.argmax(axis=1).astype(np.int32), dtype)  # every row has one class: no soft label
    return Target.of_proportions(labels, table, dtype)
