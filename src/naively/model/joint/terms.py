"""Pieces of evidence, each read off the counts: which there are, and what each says of rows left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..._types import Codes, Floats, Singles
from ...counting.weights import left_out_weights
from ...data.grid import Cells, Grid
from ...stats.pairs import JointCounts
from .binning import ROUGH, WIDER
from .levels import FEWEST, Levels
from .linear import ROWS as RIDGE_ROWS
from .linear import Linear, Turned
from .rare_classes import Rare, of_labels_left
from .student_t import Bell
from .values import EXACT, Taken, of_pairs_left, of_values_left

# Numbers are read off bins of two widths, the finer as they are counted (0); and off a bell curve.
OF_NUMBERS, OF_PAIRS = (WIDER, 0), (ROUGH, 0)
BELL = "bell"


class Piece(NamedTuple):
    """The name of a piece of evidence: its kind, the bins it is read off, and its columns by place on the grid."""

    kind: str  # "value", "pair", "linear", "rare", "rest", "vectors", or one of those in which words speak
    level: Any
    columns: tuple[Any, ...] = ()

    @property
    def block(self) -> tuple[str, Any]:
        """The pieces that share a weight at first."""
        return (self.kind, self.level)


@dataclass(frozen=True)
class Counted:
    """What pieces of evidence are read off: columns together, and each column of labels alone, [class, label]."""

    joint: JointCounts
    tables: Sequence[Floats]
    ordered: Sequence[int] = ()  # how many values of each table are levels that have an order; they come first

    def levels_of(self, at: int) -> Levels | None:
        """Return a column of labels as one of levels, if it is one."""
        size = self.ordered[at] if at < len(self.ordered) else 0
        return Levels(self.tables[at], size) if size >= FEWEST else None

    @property
    def grid(self) -> Grid:
        """How columns are laid out."""
        grid: Grid = self.joint.grid
        return grid

    @cached_property
    def prior(self) -> Floats:
        """How probable each class is before, as logarithms."""
        rows = self.joint.products[:, 0, 0]
        return np.asarray(np.log((rows + 1) / (rows.sum() + len(rows))))

    @cached_property
    def rare(self) -> Rare:
        """Which classes have few rows."""
        return Rare(self.joint.products[:, 0, 0])

    def fine(self, at: int) -> Floats:
        """Return the counts of the fine bins of a number, [class, bin]."""
        begin, end = self.grid.fine_offsets[at : at + 2]
        return self.joint.fine[:, begin:end]

    def bell(self, at: int) -> Bell:
        """Return the bell curves of a number."""
        last = self.grid.features - len(self.grid.numbers) + at
        sums, squares = self.joint.products[:, 0, last], self.joint.products[:, last, last]
        return Bell(self.fine(at).sum(axis=1), sums, squares, np.array(self.grid.numbers[at].middles))

    def levels(self, at: int, bins: int) -> Codes:
        """Return the bin of each fine one, at a level."""
        number = self.grid.numbers[at]
        return np.array(number.wider if bins else range(len(number.wider)), dtype=np.int32)

    def pair_levels(self, at: int, bins: int) -> Codes:
        """Return the level of each code of a column in pairs: labels and fine levels are themselves."""
        flags = self.grid.flags(at)
        if at >= len(self.grid.numbers) or not bins:
            return np.arange(flags.stop - flags.start, dtype=np.int32)
        return np.array(self.grid.numbers[at].rough[: flags.stop - flags.start], dtype=np.int32)

    def pair(self, i: int, j: int, bins: int) -> Floats:
        """Return how often two values were met together, [class, value, value]."""
        n = self.joint.products[:, self.grid.flags(i), self.grid.flags(j)]
        n = summed(n, self.pair_levels(i, bins), 1)
        return summed(n, self.pair_levels(j, bins), 2)

    def linear(self, which: str) -> Linear:
        """Return the joint evidence of some features: all, or those that are no bins of numbers."""
        first = 1 if which == "bins" else 1 + int(self.grid.offsets[len(self.grid.numbers)])
        return Linear(self.joint, np.arange(first, self.grid.features))


def summed(n: Floats, to: Codes, axis: int) -> Floats:
    """Return counts of values put together along an axis."""
    if len(to) == (to[-1] + 1 if len(to) else 0):
        return n
    starts = np.flatnonzero(np.diff(to, prepend=-1))  # bins put together are neighbours
    return np.add.reduceat(n, starts, axis=axis)


@dataclass(frozen=True)
class Sample:
    """Rows that were counted, as they are scored."""

    labels: Codes  # [row, column of labels]: places among all labels of the column, -1 for a hole
    cells: Cells
    y: Codes
    weights: Floats
    wide: Mapping[Piece, Floats]  # what vectors and texts say, each row left out, [class, row]
    imagined: Mapping[str, float]  # by column of texts, how many are imagined with each word
    copies: bool = True  # whether a weight of 2 stands for two rows, of which one is left out at a time

    def shown(self, mask: npt.NDArray[np.bool_]) -> Sample:
        """Return the same rows with some cells missing, given which are there, [row, column of the grid]."""
        cells, numbers = self.cells, self.cells.fine.shape[1]
        fine = np.where(mask[:, :numbers], cells.fine, np.int32(-1))
        codes, level = np.where(mask, cells.codes, np.int32(-1)), np.where(mask[:, :numbers], cells.level, 0.0)
        labels, kept = self.labels.copy(), mask[:, numbers:]
        labels[:, : kept.shape[1]][~kept] = -1
        return replace(self, labels=labels, cells=Cells(fine, np.asfortranarray(codes), level))

    @property
    def out(self) -> Floats:
        """How much of each row is left out."""
        return left_out_weights(self.weights, self.copies)

    @property
    def taken(self) -> Taken:
        """The rows as they are left out, one at a time."""
        return Taken(self.y, self.out)


class Left:
    """Pieces of evidence of a sample of rows, [class, row], each row left out of the counts."""

    def __init__(self, counted: Counted, sample: Sample) -> None:
        self.counted, self.grid, self.sample, self.taken = counted, counted.grid, sample, sample.taken
        self._bells: dict[int, Singles] = {}

    def values(self) -> Iterator[tuple[Piece, Singles]]:
        """Give what each column says alone; numbers by bins of several widths."""
        for bins in OF_NUMBERS:
            for at in range(len(self.grid.numbers)):
                to = self.counted.levels(at, bins)
                codes = np.append(to, np.int32(-1))[self.sample.cells.fine[:, at]]
                n = summed(self.counted.fine(at), to, 1)
                if n.shape[1] > 1:
                    yield Piece("value", bins, (at,)), of_values_left(n, codes, self.taken)
        for at, number in enumerate(self.grid.numbers):
            if number.scale:
                yield Piece("value", BELL, (at,)), self._bell(at)
        for at, n in enumerate(self.counted.tables):
            column, codes = (len(self.grid.numbers) + at,), self.sample.labels[:, at]
            if (levels := self.counted.levels_of(at)) is not None:
                for kind, said in levels.left(codes, self.taken):
                    yield Piece("value", kind, column), said
            else:
                yield Piece("value", "labels", column), of_values_left(n, codes, self.taken)

    def rare(self) -> Iterator[tuple[Piece, Singles]]:
        """Give what columns say of rare classes by the textbook, numbers and labels apart; of other classes nothing."""
        rare = self.counted.rare
        if not rare.classes:
            return
        by = rare.left(self.taken)
        for level, said in ((BELL, self._rare_numbers()), ("labels", self._rare_labels())):
            if said.any():
                yield Piece("rare", level), said * by

    def _rare_numbers(self) -> Singles:
        out = np.zeros((len(self.counted.prior), len(self.taken.y)), dtype=np.float32)
        for at, number in enumerate(self.grid.numbers):
            if number.scale:
                said = self.counted.rare.lifted(self._bell(at))
                out += np.where(self.sample.cells.fine[:, at] >= 0, said, np.float32(0.0))
        return out

    def _bell(self, at: int) -> Singles:
        """Return what a number says by its bell curves; kept where rare classes ask for it once more."""
        if at in self._bells:
            return self._bells[at]
        x, fine = self.sample.cells.level[:, at], self.sample.cells.fine[:, at]
        said = self.counted.bell(at).left(x, fine, self.taken)
        if self.counted.rare.classes:
            self._bells[at] = said
        return said

    def _rare_labels(self) -> Singles:
        out = np.zeros((len(self.counted.prior), len(self.taken.y)), dtype=np.float32)
        for at, n in enumerate(self.counted.tables):
            for label in self.counted.rare.classes:
                out[label] += of_labels_left(n, label, self.sample.labels[:, at], self.taken)
        return out

    def linear(self, which: str) -> tuple[Singles, float]:
        """Return the joint evidence of some features, and its ridge."""
        linear, turned = self._turned(which)
        some = np.arange(min(len(turned.rows), RIDGE_ROWS))
        weights = self.sample.weights[some]
        ridge = linear.best_ridge(turned.some(some), self.taken.some(some), weights, self.counted.prior)
        return linear.left(turned, self.taken, ridge).astype(np.float32), ridge

    def _turned(self, which: str) -> tuple[Linear, Turned]:
        linear, cells = self.counted.linear(which), self.sample.cells
        holes = np.hstack([cells.fine < 0, cells.codes[:, len(self.grid.numbers) :] < 0]).astype(np.float64)
        return linear, linear.turned(features(self.grid, cells, int(linear.features[0])), holes)

    def linear_under(self, which: str, ridge: float) -> Floats:
        """Return the joint evidence of some features under a ridge."""
        linear, turned = self._turned(which)
        return linear.left(turned, self.taken, ridge)

    def pairs(self, bins: int) -> Iterator[tuple[Piece, Singles]]:
        """Give what each pair of columns says beyond both."""
        codes, levels = self.sample.cells.codes, {}
        for i, j in pairs_of(self.grid, bins):
            for at in (i, j):
                if at not in levels:
                    levels[at] = np.append(self.counted.pair_levels(at, bins), np.int32(-1))[codes[:, at]]
            said = of_pairs_left(self.counted.pair(i, j, bins), levels[i], levels[j], self.taken)
            yield Piece("pair", bins, (i, j)), said


def pairs_of(grid: Grid, bins: int) -> list[tuple[int, int]]:
    """Return the pairs of columns that are looked at; those without bins of numbers at the first level only."""
    told = [at for at in range(len(grid.names)) if grid.offsets[at + 1] - grid.offsets[at] > 1]
    pairs = list(combinations(told, 2))
    return pairs if bins == OF_PAIRS[0] else [(i, j) for i, j in pairs if i < len(grid.numbers)]


def linear_kinds(grid: Grid) -> tuple[str, ...]:
    """Return which joint evidence there is: of the numbers as they are, and of their bins, too."""
    bins, flags = (any(column.size for column in part) for part in (grid.numbers, grid.labels))
    if not grid.numbers:
        return ("bins",) if flags else ()
    return ("numbers", "bins") if bins else ("numbers",)


def features(grid: Grid, cells: Cells, first: int = 0) -> Any:
    """Return the features of rows from some feature on, [row, feature]."""
    size = grid.features - first
    out = np.zeros((len(cells), size), dtype=np.float64 if len(cells) * size <= EXACT else np.float32)
    out[:, : 1 - min(first, 1)] = 1.0
    for at in range(len(grid.names)):
        if grid.flags(at).start >= first:
            known = np.flatnonzero(cells.codes[:, at] >= 0)
            out[known, grid.flags(at).start - first + cells.codes[known, at]] = 1.0
    out[:, size - len(grid.numbers) :] = cells.level
    return out
