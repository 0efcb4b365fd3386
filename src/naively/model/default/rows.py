"""Rows that weights and coefficients are fitted on, dealt out to folds; and choices by the loss of held-out rows.

Each row is scored by the counts without its fold. To measure a choice, one more fold is taken out of all counts: what
is fitted to the other rows has not seen a label of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..._linear_algebra import dot
from ..._types import Codes, Floats, Longs, Matrices, Places, Singles
from ...stats.accumulators import offsets_of
from .grid import Cells

if TYPE_CHECKING:
    from .tables import TermCounts


@dataclass(frozen=True, eq=False)
class FittingRows:
    """Rows that were counted; those of each fold lie next to each other.

    A row with a soft label is several rows of the same fold, one for each of its classes.
    """

    cells: Cells
    labels: Codes  # [row, column of categories]: places among all categories of the column, -1 if missing
    columns: Matrices  # the rows as the other terms read them
    y: Codes
    weights: Floats  # as the rows were counted
    effective: Floats  # as they count in a fit
    folds: tuple[slice, ...]

    def __len__(self) -> int:
        return len(self.y)


class FoldedRows(NamedTuple):
    """Rows as the kernels of cross-fitting read them: where folds begin, and the rows that measure a choice."""

    y: Codes
    weights: Floats
    bounds: Longs
    test: int
    test_end: int


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Rows scored by the counts without their fold, and without the fold that measures a choice, if there is one."""

    counts: TermCounts
    rows: FittingRows
    settings: Mapping[str, float]  # chosen before: ridges and shrinkage of terms
    test: slice | None = None

    @cached_property
    def weights(self) -> Floats:
        """The weight of each row in a fit: rows that measure have none."""
        if self.test is None:
            return self.rows.effective
        weights = self.rows.effective.copy()
        weights[self.test] = 0.0
        return weights

    @cached_property
    def folded(self) -> FoldedRows:
        """The rows as the kernels read them."""
        bounds = np.array([0, *(fold.stop for fold in self.rows.folds)], dtype=np.int64)
        test = slice(0, 0) if self.test is None else self.test
        return FoldedRows(self.rows.y, self.rows.weights, bounds, test.start, test.stop)

    def parts(self) -> list[CrossFit]:
        """Return the same without some of the rows, for each of the folds that measure choices."""
        recipe, parts, measured = self.counts.recipe, list[CrossFit](), 0.0
        for test in self.rows.folds[: recipe.most_measured]:
            if measured < recipe.measured_rows and test.stop - test.start < len(self.rows):
                parts.append(replace(self, test=test))
                measured += float(self.rows.effective[test].sum())
        return parts

    def measuring_folds(self) -> int:
        """Return how many of the first folds together hold as many rows as measure a choice."""
        ends = (float(self.rows.effective[: fold.stop].sum()) for fold in self.rows.folds)
        needed = self.counts.recipe.measured_rows
        return min(1 + sum(end < needed for end in ends), len(self.rows.folds))


def deal_out(y: Codes, folds: int) -> Codes:
    """Return the fold of each row: each fold gets its share of every class, in the order of the rows.

    The class of the first row is dealt out first: what classes are called makes no difference.
    """
    _, first, classes = np.unique(y, return_index=True, return_inverse=True)
    rank = np.empty(len(y), dtype=np.int64)
    rank[np.argsort(first[classes], kind="stable")] = np.arange(len(y))
    return (rank % min(folds, len(y))).astype(np.int32)


def fold_slices(fold: Codes) -> tuple[Places, tuple[slice, ...]]:
    """Return an order of rows in which each fold is one slice, and these slices."""
    starts = offsets_of(np.bincount(fold))
    bounds = zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    return np.argsort(fold, kind="stable"), tuple(slice(begin, end) for begin, end in bounds)


def effective_weights(weights: Floats, copies: bool = True) -> Floats:
    """Return the weights of rows in a fit.

    Ridge penalties are measured in rows. Rows whose weights sum to 1 would not move anything: if weights stand for
    copies, all rows together count at least as many as they are. Rows whose weights differ count as many as their
    effective number, (Σw)² / Σw².
    """
    by = max(1.0, len(weights) / weights.sum()) if copies else weights.sum() / float((weights * weights).sum())
    return np.asarray(weights * by)


# -- losses ------------------------------------------------------------------------------------------------------------


def row_losses(scores: Floats, y: Codes) -> Floats:
    """Return the log loss of each row, given scores [class, row]."""
    below = scores - scores.max(axis=0)
    return np.asarray(np.log(np.exp(below).sum(axis=0)) - below[y, np.arange(len(y))])


def log_loss(scores: Floats, y: Codes, weights: Floats) -> float:
    """Return the mean log loss of scores [class, row]."""
    return mean_loss(row_losses(scores, y), weights)


def mean_loss(losses: Floats, weights: Floats) -> float:
    """Return the mean of the losses of rows."""
    return dot(weights, losses) / float(weights.sum())


def is_clear(gains: Floats, weights: Floats) -> bool:
    """Tell whether the log loss of held-out rows falls by more than one nat and by more than its standard error."""
    total = dot(weights, gains)
    if total <= 1.0:
        return False
    mean = total / float(weights.sum())
    return total > float(np.sqrt(dot(weights, (gains - mean) ** 2)))


def first_clear(losses: Sequence[Floats], weights: Floats) -> int:
    """Return the first of several choices, or a later one whose held-out loss is clearly less."""
    best = 0
    for choice in range(1, len(losses)):
        if np.isfinite(losses[choice]).all() and is_clear(losses[best] - losses[choice], weights):
            best = choice
    return best


# -- names of terms ----------------------------------------------------------------------------------------------------


class Term(NamedTuple):
    """The name of a term: its kind, its resolution or its column of words, and its columns by place on the grid."""

    kind: str
    level: str | int | None = None
    columns: tuple[int, ...] = ()

    @property
    def block(self) -> Term:
        """The terms that share a weight at first: those of the same kind and resolution."""
        return Term(self.kind, self.level)


TermValues = Singles | Floats  # the values of a term for some rows, [class, row]
Terms = dict[Term, TermValues]
