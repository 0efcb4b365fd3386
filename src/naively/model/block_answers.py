"""Answers about many rows: every thread reads and scores blocks of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Protocol

import numpy as np

from .._threads import in_threads
from .._types import AnyArray, Matrices
from ..data.frame import Frame

if TYPE_CHECKING:
    from .table_model import LabelColumn

# Rows that one thread reads and scores at a time: what is made of them is some megabytes. Whatever the threads, the
# blocks are the same.
ROWS_OF_THREAD = 1 << 15


class BlockReader(Protocol):
    """A model that reads blocks of rows."""

    @property
    def labels(self) -> Sequence[LabelColumn]:
        """The columns of labels."""

    def read(self, frame: Frame, begin: int, end: int, threads: int) -> Matrices:
        """Return some rows of a frame, a matrix for each part of the model."""

    def ask_block(self, ask: Callable[[slice, Matrices], AnyArray], rows: slice, columns: Matrices) -> AnyArray:
        """Return what a function returns for a block of rows."""


def answers_in_threads(model: BlockReader, ask: Callable[[Matrices], AnyArray], frame: Frame, threads: int) -> AnyArray:
    """Return the answers about all rows of a frame; each block is read, scored and put in its place by one thread."""
    for label in model.labels:
        label.coder.learn()  # the threads only look labels up
    whole: list[AnyArray] = []
    making = Lock()

    def fill(begin: int) -> None:
        rows = slice(begin, min(begin + ROWS_OF_THREAD, frame.rows))
        found = model.ask_block(lambda _, columns: ask(columns), rows, model.read(frame, rows.start, rows.stop, 1))
        with making:  # the first answer shows what there must be room for
            if not whole:
                whole.append(np.empty((frame.rows, *found.shape[1:]), dtype=found.dtype))
        whole[0][rows] = found

    in_threads(fill, range(0, frame.rows, ROWS_OF_THREAD), threads)
    return whole[0]
