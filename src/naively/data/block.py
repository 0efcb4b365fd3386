"""Some rows of a frame in the form that the kernels read: codes and numbers, one line a row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import _kernels
from .._threads import WORTHWHILE, in_threads
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
    columns = [frame.columns[coder.column.name] for coder in coders]
    texts = [coder.texts(values, begin, end) for coder, values in zip(coders, columns, strict=True)]
    tasks = {at: coders[at].text_task(array, codes[:, at]) for at, array in enumerate(texts) if array is not None}
    # All columns of texts in one call: new ones get their codes in the order in which they come.
    encoded = dict(zip(tasks, _kernels.encode_texts(list(tasks.values()), threads), strict=True))
    others = [at for at in range(len(coders)) if at not in tasks]
    worthwhile = threads if len(codes) * len(others) >= WORTHWHILE else 1
    filled = in_threads(lambda at: coders[at].fill(columns[at], begin, end, codes[:, at]), others, worthwhile)
    new = dict(zip(others, filled, strict=True))
    new |= {at: coders[at].take_texts(texts[at], *found) for at, found in encoded.items()}
    for at, coder in enumerate(coders):
        coder.check(columns[at], begin, codes[:, at], new[at])
    return codes, [new[at] for at in range(len(coders))]


def block_numbers(frame: Frame, columns: Sequence[Column], begin: int, end: int, threads: int = 1) -> AnyArray:
    """Return some rows of numbers, [row, column]; NaN where there is none. A matrix is taken as it lies."""
    if frame.matrix is not None and len(columns) == len(frame.columns):
        numbers = frame.matrix[begin:end]
    else:
        laid = np.empty((len(columns), end - begin))  # a column is filled in one go
        values = [frame.columns[column.name] for column in columns]
        for column, of_column in zip(columns, values, strict=True):
            of_column.check(column)
        parts = [of_column.number_buffers(begin, end) for of_column in values]
        bits, skipped = [part.bits for part in parts], [part.skipped for part in parts]
        _kernels.gather_numbers([part.data for part in parts], bits, skipped, laid, threads)
        numbers = laid.T
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
