"""A few rows as dicts, read value by value: for one row this is much quicker than making columns of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import InvalidInput
from ..families import Bernoulli
from ..schema import NOUNS, Column, Schema, likely
from .values import is_missing, seconds, type_of_value

# More rows than this are quicker as columns.
FEW = 16

Reader = Callable[[Any], Any]


def are_few_rows(X: Any) -> bool:
    """Tell whether X is a row, or a few rows, given as dicts of single values."""
    if type(X) is dict:
        return not any(isinstance(value, (list, np.ndarray)) or hasattr(value, "__array__") for value in X.values())
    return type(X) is list and 0 < len(X) <= FEW and all(type(row) is dict for row in X)


def label_reader(column: Column) -> Reader:
    """Return what makes a label of a value: None if it is missing, an error if it is of another type."""
    if isinstance(column.family, Bernoulli) and column.type != "boolean":
        threshold, number = column.family.threshold or 0.0, number_reader(column)

        def flag(value: Any) -> Any:
            found = number(value)
            return None if found != found else found > threshold

        return flag

    def label(value: Any) -> Any:
        if type(value) is str and column.type == "text":
            return value
        if is_missing(value):
            return None
        check(column, value)
        return pa.scalar(value).cast(pa.string()).as_py() if column.type == "time" else value

    return label


def number_reader(column: Column) -> Reader:
    """Return what makes a number of a value: NaN if it is missing, an error if it is of another type."""

    def number(value: Any) -> float:
        if type(value) is float:
            return value
        if is_missing(value):
            return np.nan
        check(column, value)
        return float(seconds(pa.array([value]))[0]) if column.type == "time" else float(value)

    return number


def check(column: Column, value: Any) -> None:
    """Refuse a value of another type than the column was learned with."""
    found, numbers = type_of_value(value), ("boolean", "whole", "number")
    if found == column.type or (found in numbers and column.type in numbers):
        return
    raise InvalidInput(
        f"Column {column.name!r} held {NOUNS[column.type]} when it was learned, and now holds {value!r}. "
        "Convert it to what it was."
    )


def row_values(rows: Sequence[Mapping[str, Any]], name: str, schema: Schema) -> list[Any]:
    """Return what the rows hold in a column; a column that none of them has is an error."""
    values = [row.get(name) for row in rows]
    if values[0] is None and not any(name in row for row in rows):
        known = tuple(dict.fromkeys(str(key) for row in rows for key in row))
        raise InvalidInput(f"The table has no column {name!r}{likely(name, known)}")
    return values
