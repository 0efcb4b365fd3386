"""Goes over rows again that were counted: to count their columns jointly, too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from .._types import Codes, Floats
from ..data.encoding import ROWS, block_codes
from ..data.frame import Frame
from ..data.grid import Grid
from .counter import TableCounter
from .encoded_rows import EncodedRows, encoded_numbers

# Rows, the code of each one's class, their weights, and which counter each belongs to; None if there is but one.
Blocks = Iterable[tuple[Frame, Codes, Floats | None, Codes | None]]


def encoded_cells(
    counter: TableCounter, frame: Frame, begin: int, end: int, threads: int
) -> tuple[Codes | None, Floats | None]:
    """Return some rows of a frame whose labels were all seen before: their codes and their numbers."""
    codes = block_codes(frame, counter.coders, begin, end, threads)[0] if counter.of_labels else None
    return codes, encoded_numbers(frame, counter.of_numbers, begin, end, threads)


def count_jointly(counters: Sequence[TableCounter], grid: Grid, blocks: Blocks, threads: int) -> None:
    """Let counters of the same codes count columns jointly, too: first in their rows, which are given again."""
    first, fresh = counters[0], [counter.of_grid(grid) for counter in counters]
    for counter, together in zip(counters, fresh, strict=True):
        together.make_room(len(first.classes))
        if not grid.columns:
            together.take_rows(counter.rows[: len(first.classes)])
    for frame, y, weights, folds in blocks if grid.columns else ():
        for begin in range(0, frame.rows, ROWS):
            rows = slice(begin, min(begin + ROWS, frame.rows))
            block = EncodedRows(*encoded_cells(first, frame, rows.start, rows.stop, threads), {})
            w = None if weights is None else weights[rows]
            for at, together in enumerate(fresh):
                if folds is None:
                    together.add(block.numbers, block.codes, y[rows], w, threads)
                    continue
                own = np.flatnonzero(folds[rows] == at)
                part = block.take(own)
                together.add(part.numbers, part.codes, y[rows][own], None if w is None else w[own], threads)
    for counter, together in zip(counters, fresh, strict=True):
        counter.schema, counter.together = replace(counter.schema, grid=grid), together


def add_joint_counts(counter: TableCounter, parts: Sequence[TableCounter]) -> None:
    """Give a counter what its parts have counted together."""
    grid = parts[0].schema.grid
    assert grid is not None
    counter.schema, counter.together = replace(counter.schema, grid=grid), counter.of_grid(grid)
    for part in parts:
        if part.together is not None:
            counter.together.absorb(part.together)
