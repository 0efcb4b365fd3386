"""Ordinal columns: each level by itself, neighboring levels merged, and a Student-t density over their places.

The three differ in how much neighbors have in common; weights fitted by leave-one-out log loss set how much each of
them counts. All are computed from the counts of the levels alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..._linear_algebra import product
from ..._types import Codes, Floats, Singles
from ..recipe import Recipe
from .associations import HeldOutRows, value_scores, value_scores_left_out
from .student_t import StudentTDensities

# The terms of an ordinal column by name.
EACH, NEAR, DENSITY = "levels", "levels near", "levels density"
LEVEL_TERMS = (EACH, NEAR, DENSITY)


class OrdinalLevels(NamedTuple):
    """The counts of each value in each class, [class, value]; so many of them are levels, and come first."""

    n: Floats
    size: int
    recipe: Recipe

    @property
    def middles(self) -> Floats:
        """The places of the levels on the common scale: mean 0 and variance 1 if all were equally frequent."""
        return np.asarray((np.arange(self.size) - (self.size - 1) / 2) / np.sqrt((self.size**2 - 1) / 12))

    @property
    def near(self) -> Codes:
        """Which levels are merged: neighbors, two by two; the last is alone if they are odd in number."""
        return np.arange(self.size, dtype=np.int32) // 2

    @property
    def merged(self) -> Floats:
        """The counts of merged neighbors, [class, pair of levels]."""
        return np.add.reduceat(self.n[:, : self.size], np.arange(0, self.size, 2), axis=1)

    @property
    def density(self) -> StudentTDensities:
        """The densities over the places, one for each class."""
        n, x = self.n[:, : self.size], self.middles
        return StudentTDensities(n.sum(axis=1), product(n, x), product(n, x * x), x, self.recipe)

    def scores_left_out(self, codes: Codes, out: HeldOutRows) -> Iterator[tuple[str, Singles]]:
        """Give each term for the value of each row with the row left out, [class, row], by name."""
        level, pseudo = (
            np.where((codes >= 0) & (codes < self.size), codes, np.int32(-1)),
            self.recipe.value_pseudo_count,
        )
        yield EACH, value_scores_left_out(self.n, codes, out, pseudo)
        near = np.append(self.near, np.int32(-1))[level]
        yield NEAR, value_scores_left_out(self.merged, near, out, pseudo)
        yield DENSITY, self.density.scores_left_out(np.append(self.middles, 0.0)[level], level, out)

    def scores(self, name: str) -> Floats:
        """Return one term for each value, [value, class]; values that are no levels have no neighbors."""
        pseudo = self.recipe.value_pseudo_count
        if name == EACH:
            return value_scores(self.n, pseudo)
        found = value_scores(self.merged, pseudo)[self.near] if name == NEAR else self.density.scores().T
        return np.vstack([found, np.zeros((self.n.shape[1] - self.size, len(self.n)))])
