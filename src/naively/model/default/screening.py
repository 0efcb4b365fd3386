"""Screening a wide table: which of its columns are counted in pairs.

A column that was chosen because of a row looks better in that row than it is. So half of the rows choose the columns,
and weights are fitted on the other half.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..._types import Codes, Floats, Mask, Places
from ...counting.counter import TableCounter
from ...counting.row_hash import content_order
from ...counting.rows import Rows
from ...counting.sample import sample_places
from ...data.encoding import block_codes, block_numbers
from ...data.frame import Frame, frame_of
from ...data.schema import Schema
from ...stats.arithmetic import divide
from ..leave_one_out import hard_labels, narrowest_codes
from ..recipe import Recipe
from .bins import most_features
from .grid import Grid
from .rows import effective_weights

# Cells times classes that are rated in all, and at once; but some rows in any case. Limits of memory and time.
MOST_CELLS, BLOCK_CELLS, FEWEST_ROWS = 1 << 26, 1 << 20, 1000

# Bins of a number by which its information is rated.
ROUGH_BINS = 4
# Columns that are asked for by name are kept, if there are no more.
NAMED = 100

# The remark on columns that are not kept, between their number and what becomes of them.
NO_GAIN = " columns tell less of the class on their own and "


class Screening(NamedTuple):
    """Which columns are kept, and which rows they were chosen by: on these no weights are fitted."""

    names: tuple[str, ...]  # numbers first, then labels, each in the order of the table
    rated: int  # how many columns were rated
    chose: Mask  # [row]

    def remarks(self, grid: Grid, shared: bool) -> tuple[str, ...]:
        """Return a remark on the columns that are not on the grid, if there are, and on whether they share a weight."""
        left = self.rated - len(grid.names)
        said = f"{left:,} of {self.rated:,}{NO_GAIN}{'share one weight.' if shared else 'are not used.'}"
        return (said,) * bool(left)

    def beside(self, schema: Schema, asked: Sequence[str] | None) -> list[str]:
        """Return the columns that are counted in pairs: those kept, and those asked for by name if they are few.

        Columns that predict the class only jointly show no gain on their own, so all of a few named columns are used.
        """
        named = [] if asked is None else [column.name for column in schema.only(asked) if column.kind != "vectors"]
        return list(dict.fromkeys([*self.names, *(named if len(named) <= NAMED else [])]))


def screen(
    counter: TableCounter,
    rows: Rows,
    missing: bool,
    copies: bool,
    threads: int,
    recipe: Recipe,
    *,
    clear: bool = False,
    half: bool = True,
) -> Screening:
    """Return which columns are kept, from half of the rows with their classes: those that tell most of the class.

    The weights of what is chosen by some rows would be too large if they were fitted to the same rows. Where a clear
    gain is asked for, columns are left out that noise among so many might equal; then all rows may choose.
    """
    frame, target = frame_of(rows.source), hard_labels(rows)
    names = [column.name for column in (*counter.of_numbers, *counter.of_labels)]
    classes = len(target.labels)
    at = sample_places(rows, max(MOST_CELLS // (len(names) * classes), FEWEST_ROWS), counter.schema, threads)
    part = frame if len(at) == frame.rows else frame.take(at)
    weights = np.ones(frame.rows) if rows.weights is None else rows.weights
    at = at[content_order(counter, part, target.codes[at], threads, weights[at])]  # halves follow the order of rows
    if half:
        at = at[every_other(target.codes[at])]
    y, heavy, told = target.codes[at], effective_weights(weights[at], copies), np.empty(len(names))
    for columns in column_blocks(counter, frame.take(at), classes, threads, recipe):
        told[columns.places] = columns.information(y, heavy, classes, missing)
    most = most_features(classes, recipe) // 2  # as many features are left for their bins
    kept, chose = np.sort(np.argsort(-told, kind="stable")[:most]), np.zeros(frame.rows, dtype=np.bool_)
    if clear:
        kept = kept[told[kept] > np.log(len(names))]
    chose[at] = True
    return Screening(tuple(names[column] for column in kept), len(names), chose)


def every_other(y: Codes) -> Places:
    """Return every other row of each class, whatever the order of the classes."""
    order = np.argsort(narrowest_codes(y), kind="stable")
    begins = np.searchsorted(y[order], y[order])
    return np.sort(order[(np.arange(len(y)) - begins) % 2 == 0])


# -- columns as they are rated -----------------------------------------------------------------------------------------


class ColumnBlock(NamedTuple):
    """Some columns: their places, their codes [row, column], how many there are, and that of missing values."""

    places: Places
    codes: Codes
    size: int
    missing: int

    def information(self, y: Codes, weights: Floats, classes: int, missing: bool) -> Floats:
        """Return what each column tells of the class, in nats, less what chance would show.

        That is half for each degree of freedom.
        """
        columns = self.codes.shape[1]
        at = (y[:, None] * np.intp(self.size) + self.codes) * columns + np.arange(columns)
        shape = classes, self.size, columns
        n = np.bincount(at.reshape(-1), np.repeat(weights, columns), int(np.prod(shape))).reshape(shape)
        if not missing:
            n[:, self.missing] = 0.0
        rows, cells = n.sum(axis=1, keepdims=True), n.sum(axis=0, keepdims=True)
        ratio = divide(n * rows.sum(axis=0), rows * cells)
        told = (n * np.log(np.where(ratio > 0, ratio, 1.0))).sum(axis=(0, 1))
        return np.asarray(told - np.maximum((cells > 0).sum(axis=(0, 1)) - 1, 0) * (classes - 1) / 2)


def column_blocks(
    counter: TableCounter, frame: Frame, classes: int, threads: int, recipe: Recipe
) -> Iterator[ColumnBlock]:
    """Give the columns of some rows as they are rated, a block of them at a time: numbers first, then labels."""
    cells, bins = classes, ROUGH_BINS + 1
    each = max(BLOCK_CELLS // max(frame.rows, bins * cells), 1)
    numbers = len(counter.of_numbers)
    for begin in range(0, numbers, each):
        columns = counter.of_numbers[begin : begin + each]
        x = np.asarray(block_numbers(frame, columns, 0, frame.rows), dtype=np.float64)
        yield ColumnBlock(np.arange(begin, begin + len(columns)), quantile_codes(x, bins - 1), bins, bins - 1)
    sizes = np.array([len(words) for words in counter.words], dtype=np.int64)
    order = np.argsort(sizes, kind="stable")
    while len(order):  # labels in the order of how many there are: the last column of a block decides what it takes
        costs = np.maximum(sizes[order] * cells, frame.rows) * np.arange(1, len(order) + 1)
        part = order[: max(int(np.searchsorted(costs, BLOCK_CELLS, "right")), 1)]
        codes, _ = block_codes(frame, [counter.coders[at] for at in part], 0, frame.rows, threads)
        yield ColumnBlock(numbers + part, codes, int(sizes[part].max()), 0)
        order = order[len(part) :]


def quantile_codes(x: Floats, bins: int) -> Codes:
    """Return numbers [row, column] by bins of equally many rows; missing ones come after the last."""
    cuts = np.nanquantile(np.where(np.isnan(x).all(axis=0), 0.0, x), np.arange(1, bins) / bins, axis=0)
    codes = np.zeros(x.shape, dtype=np.int32)
    for cut in cuts:
        codes += x > cut
    codes[np.isnan(x)] = bins
    return codes
