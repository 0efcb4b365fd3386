"""Goes over rows again that a counter has counted: to count their columns together, too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..grid import Grid
from ..read.block import ROWS, codes_of, numbers_of
from ..read.frame import Frame
from ..statistics.accumulators import Codes
from ..statistics.axis import Floats
from . import memory
from .tables import TableCounter
from .together import TogetherCounter

# Rows, the code of each one's class, and what they weigh.
Blocks = Iterable[tuple[Frame, Codes, Floats | None]]


def cells(
    counter: TableCounter, frame: Frame, begin: int, end: int, threads: int
) -> tuple[Codes | None, Floats | None]:
    """Return some rows of a frame whose labels were all met before: their codes and their numbers."""
    codes = codes_of(frame, counter.coders, begin, end, threads)[0] if counter.of_labels else None
    numbers = memory.native(numbers_of(frame, counter.of_numbers, begin, end)) if counter.of_numbers else None
    return codes, numbers


def add_together(counter: TableCounter, grid: Grid, blocks: Blocks, threads: int) -> None:
    """Let a counter count columns together, too: from now on, and in the rows it has counted, which are given again."""
    together = TogetherCounter(grid, counter.words)
    together.make_room(len(counter.classes))
    for frame, y, weights in blocks:
        for begin in range(0, frame.rows, ROWS):
            rows = slice(begin, min(begin + ROWS, frame.rows))
            codes, numbers = cells(counter, frame, rows.start, rows.stop, threads)
            together.add(numbers, codes, y[rows], None if weights is None else weights[rows], threads)
    counter.schema, counter.together = replace(counter.schema, grid=grid), together
