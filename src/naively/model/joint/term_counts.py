"""The counts that the default model is computed from: single columns, their bins and pairs, all numbers at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._types import Codes, Floats
from ...data.grid import Grid
from ...stats.pairs import JointCounts
from ..recipe import RECIPE, Recipe
from .normal import NormalScores
from .values import ValueLayout


@dataclass(frozen=True)
class TermCounts:
    """What terms are computed from: pairs of columns, bins of numbers, and each column of labels, [class, label]."""

    joint: JointCounts
    tables: Sequence[Floats]
    ordered: Sequence[int] = ()  # how many values of each table are ordinal levels; they come first
    recipe: Recipe = RECIPE
    places: Sequence[Codes] = ()  # the code on the grid of each label of each table, -1 for none

    @cached_property
    def layout(self) -> ValueLayout:
        """The cells of the terms of values."""
        return ValueLayout.of(self)

    def levels(self, at: int) -> int:
        """Return how many values of a column of labels are ordinal levels."""
        return self.ordered[at] if at < len(self.ordered) else 0

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

    @cached_property
    def normal(self) -> NormalScores:
        """Normal densities of the numbers and of the flags of labels."""
        return NormalScores(self.joint, self.recipe)
