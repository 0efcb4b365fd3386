"""Some rows of a frame in the form that the kernels read: codes and numbers, one line a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput
from ..families import Bernoulli
from ..schema import Column
from ..statistics.axis import Floats
from .frame import Frame
from .values import Labels

# Rows that are read at once: enough to keep threads busy, few enough to stay small beside the data.
ROWS = 1 << 17
# Below this many cells a thread costs more than it brings.
WORTHWHILE = 1 << 16

Codes = npt.NDArray[np.int32]
# Gives the code of each label of a column.
Lookup = Callable[[Sequence[Any]], npt.NDArray[Any]]


def codes_of(
    frame: Frame, columns: Sequence[Column], lookups: Sequence[Lookup], begin: int, end: int, threads: int
) -> Codes:
    """Return the codes of some rows, [row, column]."""
    codes = np.empty((end - begin, len(columns)), dtype=np.int32)

    def read(at: int) -> Labels:
        return labels_of(frame, columns[at], begin, end)

    def fill(at: int, found: Labels) -> None:
        # A row without a label looks at the last place: that of None.
        place = np.asarray(lookups[at]([*map(known_label, found.labels), None]), dtype=np.int32)
        codes[:, at] = place[found.which]

    if threads > 1 and codes.size >= WORTHWHILE:
        with ThreadPoolExecutor(threads) as pool:
            for at, found in enumerate(pool.map(read, range(len(columns)))):
                fill(at, found)
    else:
        for at in range(len(columns)):
            fill(at, read(at))
    return codes


def labels_of(frame: Frame, column: Column, begin: int, end: int) -> Labels:
    """Return the labels of some rows of a column; a flag is whether a number lies above its threshold."""
    values = frame.columns[column.name]
    values.check(column)
    if not isinstance(column.family, Bernoulli) or values.type in ("boolean", None):
        return values.labels(begin, end)  # type: ignore[no-any-return]
    return flags(values.numbers(begin, end), column.family)


def flags(numbers: Floats, family: Bernoulli) -> Labels:
    """Return numbers as flags."""
    which = (numbers > (family.threshold or 0.0)).astype(np.int32)
    which[np.isnan(numbers)] = -1
    return Labels([False, True], which)


def known_label(label: Any) -> Any:
    """Return a label as it is counted: what is not equal to itself is missing."""
    return label if label == label else None


def numbers_of(frame: Frame, columns: Sequence[Column], begin: int, end: int) -> Any:
    """Return some rows of numbers, [row, column]; NaN where there is none. A matrix is taken as it lies."""
    if frame.matrix is not None and len(columns) == len(frame.columns):
        return frame.matrix[begin:end]
    numbers = np.empty((end - begin, len(columns)))
    for at, column in enumerate(columns):
        values = frame.columns[column.name]
        values.check(column)
        numbers[:, at] = values.numbers(begin, end)
        if column.family.name == "poisson":
            check_events(column, numbers[:, at], begin)
    return numbers


def check_events(column: Column, numbers: Floats, begin: int) -> None:
    """Refuse numbers of events below zero."""
    below = np.flatnonzero(numbers < 0)
    if len(below):
        raise InvalidInput(
            f"Row {begin + below[0]}, column {column.name!r} holds {numbers[below[0]]:g}; a number of events cannot be "
            "negative. Use the family 'gaussian' for numbers of any sign."
        )


def vectors_of(frame: Frame, column: Column, begin: int, end: int) -> Any:
    """Return some rows of a column of vectors."""
    return frame.columns[column.name][begin:end]
