"""Classes of few rows: the log-likelihoods of textbook naive Bayes for them, as terms with weights of their own.

Log ratios of bins and labels shrink towards 0, and weights are fitted mostly by the classes that have most rows. A
class of a handful of rows can lose by that what textbook naive Bayes would still see: labels by Laplace's rule, numbers
by a density. So both are terms for classes that are rare, and for them alone; leave-one-out fits their weights.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from ..._types import Codes, Floats, Numeric, Singles
from ..recipe import Recipe
from .associations import HeldOutRows, counts_without
from .student_t import NO_ROWS


def rarity(rows: Numeric, rare_rows: float) -> Floats:
    """Return how rare classes of so many rows are: nearly 1 with few, 0 with many; and 0 with none."""
    return np.where(rows > NO_ROWS, np.clip(1.0 - rows / rare_rows, 0.0, 1.0), 0.0)


class RareClasses(NamedTuple):
    """How many rows each class has."""

    rows: Floats
    recipe: Recipe

    @property
    def classes(self) -> list[int]:
        """The classes that are rare, if only without one of their rows."""
        return [int(at) for at in np.flatnonzero((self.rows > NO_ROWS) & (self.rows < self.recipe.rare_rows + 1))]

    def rarity_left_out(self, out: HeldOutRows) -> Singles:
        """Return how rare each class is without each row, [class, row]."""
        found = np.repeat(rarity(self.rows, self.recipe.rare_rows)[:, None], len(out.y), axis=1)
        found.reshape(-1)[out.own] = rarity(counts_without(self.rows[out.y], out.weights), self.recipe.rare_rows)
        if (mixed := out.mixed()) is not None:
            found[:, mixed.at] = rarity(counts_without(self.rows[:, None], mixed.parts), self.recipe.rare_rows)
        return found.astype(np.float32)

    def against_mean(self, densities: Singles | Floats) -> Floats:
        """Return log densities [class, ...] over the mean density of all classes."""
        shares = np.log(np.maximum(self.rows, 1e-300) / self.rows.sum())
        return np.asarray(densities - logsumexp(densities + shares[:, None], axis=0))


def label_scores(n: Floats) -> Floats:
    """Return the log ratio of each label by Laplace's rule, [class, label], given its counts."""
    return laplace_ratios(n, n.sum(axis=1)[:, None], n.sum(axis=0), n.sum(), n.shape[1])


def label_scores_left_out(n: Floats, label: int, codes: Codes, out: HeldOutRows) -> Floats:
    """Return the log ratio of the label of each row for one class, each row left out; 0 where it is missing."""
    if not n.shape[1]:  # every cell of the column is missing
        return np.zeros(len(codes))
    known, w = (codes >= 0) & (codes < n.shape[1]), out.weights
    cell, own = np.where(known, codes, 0), np.where(out.y == label, w, 0.0)
    if (mixed := out.mixed()) is not None:
        own[mixed.at] = mixed.parts[label]
    here, rows = counts_without(n[label].take(cell), own), counts_without(n[label].sum(), own)
    found = laplace_ratios(
        here, rows, counts_without(n.sum(axis=0).take(cell), w), counts_without(n.sum(), w), n.shape[1]
    )
    return np.where(known, found, 0.0)


def laplace_ratios(here: Floats, rows: Numeric, met: Floats, whole: Numeric, size: int) -> Floats:
    """Return the log of P(value | class) over P(value), each with a pseudo-count of 1 for every value."""
    return np.asarray(np.log((here + 1) / (rows + size)) - np.log((met + 1) / (whole + size)))
