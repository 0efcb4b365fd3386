"""Fits offsets of cells on top of the weights, where they are shown to gain on rows that were held out.

Leave-one-out scores must not be used to choose the ridge: those of all other rows hold a trace of a row's own label, so
that offsets which are fitted to them are wrong for that row. Held-out rows are subtracted from the counts first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..._types import Codes, Floats, Mask, Places
from ...counting.pairs import JointCounter
from ...stats.pairs import JointCounts
from ..recipe import Recipe
from .associations import counts_without
from .cell_offsets import CellLayout, CellOffsets, rounded
from .joint_fit import JointFit
from .offset_problem import OffsetPenalty, OffsetProblem, OffsetRows
from .soft_rows import RowClasses
from .term_counts import TermCounts
from .term_kinds import term_kind
from .terms import JointSample
from .weight_fitting import effective_weights, joint_scores_left_out

OFFSETS = "offsets"  # for `Recipe.left_out`
# Offsets of all classes at most, and their products with the rows. Limits of memory and of time.
MOST_OFFSETS, MOST_CELLS = 1 << 18, 1 << 27
# Rows of a class below which it has none: what rounding of fractional weights leaves.
LEAST_ROWS = 1e-9


def with_offsets(counts: TermCounts, fit: JointFit, sample: JointSample) -> JointFit:
    """Return a fit with offsets of cells, if they gain on held-out rows."""
    layout, classes = CellLayout(counts.grid, pairs_with_weight(fit)), len(counts.joint.classes)
    cells = len(sample.y) * len(layout.starts) * classes
    left_out = OFFSETS in counts.recipe.left_out
    if (
        left_out
        or not fit.weights
        or not counts.grid.names
        or layout.size * classes > MOST_OFFSETS
        or cells > MOST_CELLS
    ):
        return fit
    found = OffsetFolds(counts, fit, sample, layout).fitted()
    if found is None:
        return fit
    bare = replace(fit, offsets=found)
    scores = joint_scores_left_out(counts, bare, sample)
    truth, weights = RowClasses(sample.y, sample.soft), effective_weights(sample.weights, sample.copies)
    below = scores - scores.max(axis=0)
    loss = float(weights @ (np.log(np.exp(below).sum(axis=0)) - truth.mean_of(below)) / weights.sum())
    accuracy = float(weights @ truth.agreement(scores.argmax(axis=0)) / weights.sum())
    return replace(bare, loss={**fit.loss, "offsets of values": loss}, accuracy=accuracy)


def pairs_with_weight(fit: JointFit) -> tuple[tuple[int, int], ...]:
    """Return the pairs of columns that have a weight of their own."""
    known = set() if fit.influence is None else set(fit.influence.place)
    pairs = (term.columns for term in fit.weights if term in known and term_kind(term).selected)
    return tuple(sorted({(i, j) for i, j in pairs}))


class RidgePath:
    """What offsets gain on held-out rows under each ridge, fold after fold."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe, self.ridges = recipe, list(recipe.cell_ridges)
        self.gains: dict[float, list[Floats]] = {ridge: [] for ridge in self.ridges}  # of each held-out row
        self.found: dict[float, list[Floats]] = {ridge: [] for ridge in self.ridges}  # parameters, fold by fold

    def follow(self, problem: OffsetProblem, apart: OffsetRows) -> None:
        """Fit without a fold and measure on it, from the strongest ridge down, until the loss rises."""
        bare, v, least = apart.losses(), problem.start(), np.inf
        room, tried = self.recipe.offset_loss_rise * float(apart.weights @ bare), []
        for ridge in self.ridges:
            v = problem.solve(v, ridge, self.recipe.offset_rough_tolerance)
            gain = apart.weights * (bare - apart.losses(problem.penalty.offsets(v)))
            self.gains[ridge].append(gain)
            self.found[ridge].append(v)
            tried.append(ridge)
            least = min(least, -float(gain.sum()))
            if -float(gain.sum()) > least + room:
                break
        self.ridges = tried

    @property
    def best(self) -> float:
        """The strongest ridge whose gain so far is the largest, up to its standard error."""
        gains = {ridge: np.concatenate(self.gains[ridge]) for ridge in self.ridges}
        most = max(self.ridges, key=lambda ridge: float(gains[ridge].sum()))

        def is_as_good(ridge: float) -> bool:
            less = gains[most] - gains[ridge]
            return float(less.sum()) <= self.recipe.cell_errors * float(np.sqrt(len(less)) * less.std())

        return next(ridge for ridge in self.ridges if is_as_good(ridge))

    @property
    def gain(self) -> Floats:
        """The gain of each held-out row so far under the best ridge."""
        return np.concatenate(self.gains[self.best])

    def settle(self) -> None:
        """Keep to the best ridge in the folds to come."""
        self.ridges = [self.best]

    def is_clear(self) -> bool:
        """Tell whether the gain is more than a nat, and more than its standard error."""
        gain = self.gain
        return float(gain.sum()) > max(self.recipe.offset_price, float(np.sqrt(len(gain)) * gain.std()))


@dataclass(frozen=True, eq=False)
class OffsetFolds:
    """Rows in folds: what offsets that were fitted without a fold gain on it."""

    counts: TermCounts
    fit: JointFit
    sample: JointSample
    layout: CellLayout

    def fitted(self) -> CellOffsets | None:
        """Return the offsets under the ridge of least held-out loss; None where they do not clearly gain."""
        recipe, path = self.counts.recipe, RidgePath(self.counts.recipe)
        fold = self.layout.folds(self.sample.cells, recipe.cell_folds)
        for at in range(recipe.cell_folds):
            held = fold == at
            if not held.any() or len(np.unique(self.sample.y[~held])) < 2:
                return None
            rows = self.rows_with(self.scores_without(held))
            path.follow(self.problem(rows.some(np.flatnonzero(~held))), rows.some(np.flatnonzero(held)))
            if float(path.gain.sum()) <= 0:  # one fold that gains nothing is enough to tell
                return None
            if len(path.gain) >= recipe.offset_held_out_rows:
                path.settle()
        if not path.is_clear():
            return None
        problem = self.problem(self.rows_with(joint_scores_left_out(self.counts, self.fit, self.sample)))
        start = np.mean(path.found[path.best], axis=0)
        v = problem.solve(start, path.best, recipe.cell_tolerance)
        tables = [problem.penalty.offsets(one) for one in (v, *path.found[path.best])]
        return CellOffsets(self.layout.pairs, rounded(tables), path.best, float(path.gain.mean()))

    @cached_property
    def places(self) -> Codes:
        """The offsets of each row."""
        return self.layout.places(self.sample.cells)

    @cached_property
    def penalty(self) -> OffsetPenalty:
        """How strongly offsets are pulled."""
        return OffsetPenalty.of(self.layout, self.counts)

    def rows_with(self, scores: Floats) -> OffsetRows:
        """Return the rows with these scores, [class, row]."""
        sample = self.sample
        truth = np.eye(len(scores))[sample.y] if sample.soft is None else sample.soft.of_all(sample.y)
        return OffsetRows.of(self.places, scores, truth, effective_weights(sample.weights, sample.copies))

    def problem(self, rows: OffsetRows) -> OffsetProblem:
        """Return the problem of fitting offsets to some rows."""
        return OffsetProblem(rows, self.penalty, len(self.counts.joint.classes))

    def scores_without(self, held: Mask) -> Floats:
        """Return scores by the counts without some rows, each of the others left out, too, [class, row]."""
        counts = counts_without_rows(self.counts, self.sample, held)
        sample = replace(self.sample, weights=np.where(held, 0.0, self.sample.weights))
        return joint_scores_left_out(counts, replace(self.fit, influence=None, offsets=None), sample)


def counts_without_rows(counts: TermCounts, sample: JointSample, rows: Mask) -> TermCounts:
    """Return counts without some of the rows of a sample."""
    joint, at = counts.joint, np.flatnonzero(rows)
    counter = JointCounter(joint.grid, ())
    counter.make_room(len(joint.classes))
    tables = [table.copy() for table in counts.tables]
    for y, weights, some in by_class(sample, at):
        counter.add_cells(sample.cells.take(some), y, weights, 1)
        for column, table in enumerate(tables):
            codes = sample.labels[some, column]
            known = np.flatnonzero(codes >= 0)
            np.subtract.at(table, (y[known], codes[known]), weights[known])
    part = counter.value(joint.classes.labels, joint.classes)
    products = joint.products - part.products
    products[products[:, 0, 0] < LEAST_ROWS] = 0.0  # no row of the class is left
    left = JointCounts(joint.classes, joint.grid, counts_without(joint.fine, part.fine), products)
    return replace(counts, joint=left, tables=[counts_without(table, 0.0) for table in tables])


def by_class(sample: JointSample, at: Places) -> Iterator[tuple[Codes, Floats, Places]]:
    """Give rows with a class and a weight; those with a soft label once for each class."""
    if sample.soft is None:
        yield sample.y[at], sample.weights[at], at
        return
    proportions = sample.soft.of_all(sample.y)[at]
    for k in range(proportions.shape[1]):
        some = np.flatnonzero(proportions[:, k] > 0)
        rows = at[some]
        yield np.full(len(rows), k, dtype=np.int32), sample.weights[rows] * proportions[some, k], rows
