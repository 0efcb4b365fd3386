"""Cross-fitting: rows scored by the counts without their fold.

A part of the rows may be taken out of all counts: what is fitted to the other rows can be measured on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..._linear_algebra import dot
from ..._types import Codes, Floats, Longs
from .coefficients import is_clear
from .normal import ALPHA, LINEAR_RIDGE, RIDGE, Shrinkage, cross_normal
from .sample import FittingRows, RowClasses
from .tables import TermCounts
from .term_kinds import kinds_of
from .terms import Term, TermValues


class FoldedRows(NamedTuple):
    """Rows by fold, as the kernels read them: the classes that each row was counted in, and the rows that measure."""

    entries: Longs  # where the classes of each row begin
    classes: Codes
    weights: Floats
    bounds: Longs  # where each fold begins
    test: int
    test_end: int


class CrossFit:
    """The terms of rows, each scored by the counts without its fold, and without the rows that measure."""

    def __init__(
        self, counts: TermCounts, rows: FittingRows, ridges: Mapping[str, float], test: slice | None = None
    ) -> None:
        self.counts, self.rows, self.ridges, self.test = counts, rows, dict(ridges), test

    @cached_property
    def weights(self) -> Floats:
        """What each row weighs while something is fitted: those that measure, nothing."""
        found = self.rows.effective.copy()
        if self.test is not None:
            found[self.test] = 0.0
        return found

    @cached_property
    def folded(self) -> FoldedRows:
        """The rows as the kernels read them."""
        bounds = np.array([0, *(fold.stop for fold in self.rows.folds)], dtype=np.int64)
        test = slice(0, 0) if self.test is None else self.test
        return FoldedRows(*self.rows.entries, bounds, test.start, test.stop)

    def terms(self) -> dict[Term, TermValues]:
        """Return all terms but those of pairs, [class, row]."""
        found = {term: values for kind in kinds_of(self.counts.recipe) for term, values in kind.values(self)}
        return found | dict(self.rows.wide)


def measured_parts(cross: CrossFit) -> list[CrossFit]:
    """Return the same without some of the rows, for as many of them as measure a choice."""
    recipe, found, seen = cross.counts.recipe, list[CrossFit](), 0.0
    for test in cross.rows.folds[: recipe.most_measured]:
        if seen < recipe.measured_rows and test.stop - test.start < len(cross.rows):
            found.append(CrossFit(cross.counts, cross.rows, cross.ridges, test))
            seen += float(cross.rows.effective[test].sum())
    return found


def chosen_ridges(cross: CrossFit) -> dict[str, float]:
    """Return the ridge of the linear term, and the shrinkage of the quadratic one, that held-out rows want."""
    recipe, scores = cross.counts.recipe, cross.counts.normal
    if "normal" in recipe.left_out or not scores.size:
        return {}
    folds = 0
    while folds < len(cross.rows.folds) and cross.rows.effective[: end_of(cross, folds)].sum() < recipe.measured_rows:
        folds += 1
    seen = cross.rows.take(slice(0, end_of(cross, folds)))  # the first folds, one after the other
    prior = cross.counts.prior[:, None]

    def losses(settings: Sequence[Shrinkage]) -> list[Floats]:
        """Return the loss of each row under the best of several weights of the term, for each setting."""
        found = cross_normal(cross, list(settings), folds)
        if found is None:  # of one of them alone, or of each
            none = [np.full(len(seen), np.inf)]
            return none if len(settings) == 1 else [losses([by])[0] for by in settings]
        by_weight = [
            [row_losses(prior + by * part[:, : len(seen)], seen.truth) for by in recipe.term_weights] for part in found
        ]
        return [min(part, key=lambda rows: dot(seen.effective, rows)) for part in by_weight]

    alpha, count = recipe.quadratic_alphas[0], len(recipe.linear_ridges)
    settings = [Shrinkage(1.0, ridge) for ridge in recipe.linear_ridges]
    if scores.by_class:
        settings += [Shrinkage(alpha, ridge) for ridge in recipe.quadratic_ridges]
    found = losses(settings)
    at = first_clear(found[:count], seen.effective)
    if not np.isfinite(found[at]).all():
        return {}
    out = {LINEAR_RIDGE: recipe.linear_ridges[at]}
    if scores.by_class:
        at = first_clear(found[count:], seen.effective)
        ridge, first = recipe.quadratic_ridges[at], found[count + at]
        if not np.isfinite(first).all():
            return out
        weaker = losses([Shrinkage(alpha, ridge) for alpha in recipe.quadratic_alphas[1:]])
        out |= {ALPHA: recipe.quadratic_alphas[first_clear([first, *weaker], seen.effective)], RIDGE: ridge}
    return out


def end_of(cross: CrossFit, folds: int) -> int:
    """Return how many rows lie in the first folds."""
    return cross.rows.folds[folds - 1].stop if folds else 0


def first_clear(losses: Sequence[Floats], weights: Floats) -> int:
    """Return the first of several choices, or a later one whose held-out loss is clearly less; none after a rise."""
    best = 0
    for at in range(1, len(losses)):
        if not np.isfinite(losses[at]).all():  # weaker penalties have no finite loss either
            break
        gains = losses[best] - losses[at]
        if is_clear(gains, weights):
            best = at
        elif not dot(weights, gains) >= 0:
            break
    return best


def row_losses(scores: Floats, truth: RowClasses) -> Floats:
    """Return the log loss of each row, given scores [class, row]."""
    below = scores - scores.max(axis=0)
    return np.asarray(np.log(np.exp(below).sum(axis=0)) - truth.mean_of(below))


def log_loss(scores: Floats, truth: RowClasses, weights: Floats) -> float:
    """Return the mean log loss of scores [class, row]."""
    return dot(weights, row_losses(scores, truth)) / float(weights.sum())
