"""The counts that the joint model is computed from: single columns, their bins and pairs, and all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._types import Codes, Floats
from ...data.grid import Grid
from ...stats.pairs import JointCounts
from ..recipe import RECIPE, Recipe
from .levels import OrdinalLevels
from .linear import LinearScores
from .rare_classes import RareClasses
from .student_t import StudentTDensities


@dataclass(frozen=True)
class TermCounts:
    """What terms are computed from: pairs of columns, bins of numbers, and each column of labels, [class, label]."""

    joint: JointCounts
    tables: Sequence[Floats]
    ordered: Sequence[int] = ()  # how many values of each table are ordinal levels; they come first
    recipe: Recipe = RECIPE

    def levels_of(self, at: int) -> OrdinalLevels | None:
        """Return a column of labels as an ordinal one, if it is."""
        size = self.ordered[at] if at < len(self.ordered) else 0
        return OrdinalLevels(self.tables[at], size, self.recipe) if size >= self.recipe.fewest_levels else None

    @cached_property
    def grid(self) -> Grid:
        """The bins and labels that are counted."""
        grid: Grid = self.joint.grid
        return grid

    @cached_property
    def prior(self) -> Floats:
        """How probable each class is before, as logarithms."""
        rows = self.joint.products[:, 0, 0]
        return np.asarray(np.log((rows + 1) / (rows.sum() + len(rows))))

    @cached_property
    def rare(self) -> RareClasses:
        """Which classes have few rows."""
        return RareClasses(self.joint.products[:, 0, 0], self.recipe)

    def fine(self, at: int) -> Floats:
        """Return the counts of the fine bins of a number, [class, bin]."""
        begin, end = self.grid.fine_offsets[at : at + 2]
        return self.joint.fine[:, begin:end]

    def density(self, at: int) -> StudentTDensities:
        """Return the Student-t densities of a number."""
        last = self.grid.features - len(self.grid.numbers) + at
        sums, squares = self.joint.products[:, 0, last], self.joint.products[:, last, last]
        middles = np.array(self.grid.numbers[at].middles)
        return StudentTDensities(self.fine(at).sum(axis=1), sums, squares, middles, self.recipe)

    def bins(self, at: int, width: int) -> Codes:
        """Return the bin of each fine one: wide bins, or (0) the fine ones themselves."""
        number = self.grid.numbers[at]
        return np.array(number.wider if width else range(len(number.wider)), dtype=np.int32)

    def pair_bins(self, at: int, width: int) -> Codes:
        """Return the bin of each code of a column in pairs: rough bins, or (0) the codes; labels are themselves."""
        flags = self.grid.flags(at)
        if at >= len(self.grid.numbers) or not width:
            return np.arange(flags.stop - flags.start, dtype=np.int32)
        return np.array(self.grid.numbers[at].rough[: flags.stop - flags.start], dtype=np.int32)

    def pair(self, i: int, j: int, width: int) -> Floats:
        """Return the counts of pairs of values of two columns, [class, value, value]."""
        n = self.joint.products[:, self.grid.flags(i), self.grid.flags(j)]
        n = merged(n, self.pair_bins(i, width), 1)
        return merged(n, self.pair_bins(j, width), 2)

    def linear(self, which: str) -> LinearScores:
        """Return linear scores of features: all ("bins"), or all but the bins of numbers ("numbers")."""
        first = 1 if which == "bins" else 1 + int(self.grid.offsets[len(self.grid.numbers)])
        return LinearScores(self.joint, np.arange(first, self.grid.features), self.recipe)


def merged(n: Floats, to: Codes, axis: int) -> Floats:
    """Return counts of values merged along an axis."""
    if len(to) == (to[-1] + 1 if len(to) else 0):
        return n
    starts = np.flatnonzero(np.diff(to, prepend=-1))  # merged bins are neighbors
    return np.add.reduceat(n, starts, axis=axis)
