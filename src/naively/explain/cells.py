"""The cells of rows as texts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from .._types import Floats, TableLike
from ..data.frame import Frame
from ..data.values import ColumnValues
from ..families.family import shown_label
from ..stats.axis import is_missing


def cell_texts(source: TableLike, name: str, begin: int, end: int) -> pa.Array:
    """Return the cells of a column in some rows of a frame, or some dicts, as an Arrow array of texts."""
    if not isinstance(source, Frame):
        return pa.array([cell_text(cell_of(row, name)) for row in source[begin:end]], pa.string())
    values = source.columns[name]
    if not isinstance(values, ColumnValues):
        return pa.repeat("(vector)", end - begin)
    if values.floating:
        return pa.array(number_texts(values.numbers(begin, end)), pa.string())
    labels, which = values.labels(begin, end)
    texts = pa.array([*map(cell_text, labels), shown_label(None)], pa.string())
    return texts.take(pa.array(np.where(which < 0, len(labels), which)))


def cell_of(row: Mapping[object, object], name: str) -> object:
    """Return the cell of a dict in a column; a number is a name, too."""
    return row[name] if name in row else next((value for key, value in row.items() if str(key) == name), None)


def cell_text(value: object) -> str:
    """Return a value as people write it."""
    if is_missing(value):
        return shown_label(None)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def number_texts(numbers: Floats) -> list[str]:
    """Return numbers as people write them, all in one go."""
    texts = ("%.6g\n" * len(numbers) % tuple(numbers.tolist())).split("\n")[:-1]
    for row in np.flatnonzero(np.isnan(numbers)):
        texts[row] = shown_label(None)
    return texts
