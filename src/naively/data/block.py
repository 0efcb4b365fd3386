"""Some rows of a frame in the form that the kernels read: codes and numbers, one line a row."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from .._threads import WORTHWHILE
from .._types import AnyArray, Codes, Floats, Label, Matrix
from ..errors import RowRefused
from ..families import Poisson
from ..families.poisson import NEVER_NEGATIVE
from .column import Column
from .encoder import Coder
from .frame import Frame

# Rows that are read at once: enough to keep threads busy, few enough to stay small beside the data.
ROWS = 1 << 17


def block_codes(
    frame: Frame, coders: Sequence[Coder], begin: int, end: int, threads: int
) -> tuple[Codes, list[list[Label]]]:
    """Return the codes of some rows, [row, column], and the labels of each column that are new."""
    codes = np.empty((end - begin, len(coders)), dtype=np.int32, order="F")  # a column is filled in one go

    def fill(at: int) -> list[Label]:
        return coders[at].fill(frame.columns[coders[at].column.name], begin, end, codes[:, at])

    if threads > 1 and codes.size >= WORTHWHILE:
        with ThreadPoolExecutor(min(threads, len(coders))) as pool:
            return codes, list(pool.map(fill, range(len(coders))))
    return codes, [fill(at) for at in range(len(coders))]


def block_numbers(frame: Frame, columns: Sequence[Column], begin: int, end: int) -> AnyArray:
    """Return some rows of numbers, [row, column]; NaN where there is none. A matrix is taken as it lies."""
    if frame.matrix is not None and len(columns) == len(frame.columns):
        numbers = frame.matrix[begin:end]
    else:
        numbers = np.empty((end - begin, len(columns)), order="F")  # a column is filled in one go
        for at, column in enumerate(columns):
            values = frame.columns[column.name]
            values.check(column)
            numbers[:, at] = values.numbers(begin, end)
    for at, column in enumerate(columns):
        if isinstance(column.family, Poisson):
            check_events(column, numbers[:, at], begin)
    return numbers


def check_events(column: Column, numbers: Floats, begin: int) -> None:
    """Refuse numbers of events below zero."""
    below = np.flatnonzero(numbers < 0)
    if len(below):
        raise RowRefused(begin + int(below[0]), column.name, f"{numbers[below[0]]:g}", NEVER_NEGATIVE)


def block_vectors(frame: Frame, column: Column, begin: int, end: int) -> Matrix:
    """Return some rows of a column of vectors."""
    return frame.vectors(column.name)[begin:end]
