"""Student-t densities of a number for each class, read off at the middle of each fine bin.

A density needs fewer rows than bins do, where the numbers have its shape. It is averaged over what its centre and width
may be, given the numbers of the class and a few pseudo-rows. Read off at bins it is a table like any other, and no
number counts against a class by more than a bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from ..._types import Codes, Floats, Singles
from ..recipe import Recipe
from .associations import HeldOutRows, counts_without

NO_ROWS = 1e-9  # fewer numbers, or rows, than that are what rounding leaves of none


class StudentTDensities(NamedTuple):
    """How many numbers each class has, their sums and the sums of their squares, on the scale of the grid."""

    n: Floats
    sums: Floats
    squares: Floats
    middles: Floats  # of the fine bins
    recipe: Recipe

    def scores(self) -> Floats:
        """Return the log density of each fine bin, [class, bin], below that of the best class."""
        n, sums, squares = (part[:, None] for part in (self.n, self.sums, self.squares))
        return bounded(log_student_t(n, sums, squares, self.middles, self.recipe), self.recipe.t_most_nats)

    def scores_left_out(self, x: Floats, fine: Codes, out: HeldOutRows) -> Singles:
        """Return the same of the fine bin of each row, its number left out of the counts, [class, row].

        A missing number, which lies in bin -1, contributes nothing.
        """
        y, w = out.y, np.where(fine >= 0, out.weights, 0.0)
        n, sums, squares = (part[:, None] for part in (self.n, self.sums, self.squares))
        found = log_student_t(n, sums, squares, self.middles, self.recipe).take(fine, axis=1)
        without = (counts_without(self.n[y], w), self.sums[y] - w * x, self.squares[y] - w * x * x)
        found.reshape(-1)[out.own] = log_student_t(*without, self.middles[fine], self.recipe)
        if (mixed := out.mixed(fine >= 0)) is not None:
            part, x = mixed.parts, x[mixed.at]
            left = (counts_without(n, part), sums - part * x, squares - part * x * x)
            found[:, mixed.at] = log_student_t(*left, self.middles[fine[mixed.at]], self.recipe)
        found = bounded(found, self.recipe.t_most_nats)
        found[:, fine < 0] = 0.0
        return found.astype(np.float32)


def log_student_t(n: Floats, sums: Floats, squares: Floats, x: Floats, recipe: Recipe) -> Floats:
    """Return the log density at x of the next number, given n numbers with these sums, and pseudo-rows.

    The posterior predictive of a normal distribution with unknown centre and variance, up to a constant.
    """
    at_centre, rows = recipe.t_centre_rows, recipe.t_variance_rows
    there = n > NO_ROWS
    mean = np.where(there, sums / np.where(there, n, 1.0), 0.0)
    scatter = np.maximum(squares - sums * mean, 0.0) + n * at_centre / (n + at_centre) * mean**2
    freedom = n + rows
    width = (scatter + rows * recipe.t_variance) * (1 + 1 / (n + at_centre))
    base = gammaln((freedom + 1) / 2) - gammaln(freedom / 2) - 0.5 * np.log(width)
    far = (x - sums / (n + at_centre)) ** 2 / width
    return np.asarray(base - (freedom + 1) / 2 * np.log1p(far))


def bounded(scores: Floats, most: float) -> Floats:
    """Return log densities [class, ...] below that of the best class, by so much at most."""
    return np.asarray(np.maximum(scores - scores.max(axis=0), -most))
