"""Fits offsets of cells on top of the weights, where they are shown to gain on rows that were held out.

Leave-one-out scores must not be used to choose the ridge: those of all other rows hold a trace of a row's own label, so
that offsets which are fitted to them are wrong for that row. Held-out rows are subtracted from the counts first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..._linear_algebra import dot
from ..._types import Codes, Floats, Mask, Places
from ...counting.pairs import JointCounter
from ...stats.pairs import JointCounts
from ..recipe import Recipe
from .associations import counts_without
from .cell_offsets import CellLayout, CellOffsets, rounded
from .joint_fit import WITH_OFFSETS, JointFit
from .linear import log_loss
from .offset_problem import OffsetPenalty, OffsetProblem, OffsetRows
from .soft_rows import RowClasses
from .term_counts import TermCounts
from .term_kinds import term_kind
from .terms import JointSample
from .weight_fitting import effective_weights, joint_scores_left_out

OFFSETS = "offsets"  # for `Recipe.left_out`
# Offsets of all classes at most; what fewer pairs of columns have fits in. Products with the rows at most; features of
# linear terms at most, whose axes are computed for each fold. Limits of memory and of time.
MOST_OFFSETS, MOST_CELLS, MOST_FEATURES = 1 << 16, 1 << 26, 600
# Rows of a class below which it has none: what rounding of fractional weights leaves.
LEAST_ROWS = 1e-9


def with_offsets(counts: TermCounts, fit: JointFit, scores: Floats, sample: JointSample) -> JointFit:
    """Return a fit with offsets of cells, if they gain on held-out rows, given leave-one-out scores [class, row]."""
    weights = effective_weights(sample.weights, sample.copies)
    rows = float(weights.sum())
    total = rows * list(fit.loss.values())[-1]  # in nats: what offsets could gain at most
    tried = OFFSETS not in counts.recipe.left_out and total > counts.recipe.offset_price
    layout = affordable_layout(counts, fit, rows) if tried else None
    found = None if layout is None else OffsetFolds(counts, fit, scores, sample, layout).fitted()
    if found is None:
        return fit
    truth = RowClasses(sample.y, sample.soft)
    moved = scores + found.without_fold(counts.grid, sample.cells)
    # Folds hold out whole cells, so that rows which repeat lose more by it than by being left out alone.
    if log_loss(moved, truth, weights) >= log_loss(scores, truth, weights):
        return fit
    accuracy = dot(weights, truth.agreement(moved.argmax(axis=0))) / rows
    loss = list(fit.loss.values())[-1] * found.loss_ratio
    return replace(fit, offsets=found, loss={**fit.loss, WITH_OFFSETS: loss}, accuracy=accuracy)


def affordable_layout(counts: TermCounts, fit: JointFit, rows: float) -> CellLayout | None:
    """Return which cells have offsets: all values, and those of the pairs of largest weight; None if too many."""
    grid, classes = counts.grid, len(counts.joint.classes)
    if not fit.weights or not grid.names or grid.features > MOST_FEATURES:
        return None
    pairs = pairs_with_weight(fit)
    sizes = np.diff(CellLayout(grid, pairs).starts)
    columns = len(grid.names)
    values = int(sizes[:columns].sum())
    deep = int(MOST_CELLS / (classes * max(rows, 1.0))) - columns
    if values * classes > MOST_OFFSETS or deep < 0:
        return None
    room = min(MOST_OFFSETS, int(counts.recipe.cell_offsets * rows)) // classes - values
    fitting = int((np.cumsum(sizes[columns:-1]) <= room).sum())
    return CellLayout(grid, tuple(sorted(pairs[: min(fitting, deep)])))


def pairs_with_weight(fit: JointFit) -> tuple[tuple[int, int], ...]:
    """Return the pairs of columns that have a weight of their own, the largest first."""
    known = set() if fit.influence is None else set(fit.influence.place)
    found = dict[tuple[int, int], float]()
    for term, weight in fit.weights.items():
        if term in known and term_kind(term).selected:
            i, j = term.columns
            found[i, j] = found.get((i, j), 0.0) + weight
    return tuple(sorted(found, key=lambda pair: (-found[pair], pair)))


class RidgePath:
    """What offsets gain on held-out rows under each ridge, fold after fold."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe, self.ridges = recipe, list(recipe.cell_ridges)
        self.gains: dict[float, list[Floats]] = {ridge: [] for ridge in self.ridges}  # of each held-out row
        self.found: dict[float, list[Floats]] = {ridge: [] for ridge in self.ridges}  # parameters, fold by fold
        self.weights = np.zeros(0)  # of held-out rows
        self.bare = 0.0  # the loss of held-out rows without offsets

    @property
    def rows(self) -> float:
        """How many rows were held out so far, copies among them."""
        return float(self.weights.sum())

    def follow(self, problem: OffsetProblem, apart: OffsetRows) -> None:
        """Fit without a fold and measure on it, from the strongest ridge down, until the gain falls."""
        recipe, bare, v, most, tried = self.recipe, apart.losses(), problem.start(), -np.inf, []
        room = recipe.offset_loss_rise * dot(apart.weights, bare)
        many = float(apart.weights.sum()) >= recipe.cell_rows
        for ridge in self.ridges:
            v = problem.solve(v, ridge, recipe.cell_evaluations, recipe.offset_rough_tolerance)
            gain = bare - apart.losses(problem.offsets(v))
            self.gains[ridge].append(gain)
            self.found[ridge].append(v)
            tried.append(ridge)
            total = dot(apart.weights, gain)
            most = max(most, total)
            if many and total < most - room:
                break
        self.ridges, self.weights = tried, np.concatenate([self.weights, apart.weights])
        self.bare += dot(apart.weights, bare)

    def gain(self, ridge: float) -> float:
        """Return the gain of all held-out rows so far, in nats."""
        return dot(self.weights, np.concatenate(self.gains[ridge]))

    @property
    def best(self) -> float:
        """The ridge of the largest gain so far."""
        return max(self.ridges, key=self.gain)

    def settle(self) -> None:
        """Keep to the best ridge in the folds to come."""
        self.ridges = [self.best]

    def is_clear(self) -> bool:
        """Tell whether the gain is more than a nat, and clear beside its standard error."""
        each, recipe = np.concatenate(self.gains[self.best]), self.recipe
        total = dot(self.weights, each)
        error = float(np.sqrt(dot(self.weights, (each - total / self.rows) ** 2)))
        return total > max(recipe.offset_price, recipe.cell_gain_errors * error)


@dataclass(frozen=True, eq=False)
class OffsetFolds:
    """Rows in folds: what offsets that were fitted without a fold gain on it."""

    counts: TermCounts
    fit: JointFit
    scores: Floats  # leave-one-out, [class, row]
    sample: JointSample
    layout: CellLayout

    def fitted(self) -> CellOffsets | None:
        """Return the offsets under the ridge of least held-out loss; None where they do not clearly gain."""
        recipe = self.counts.recipe
        screened = float(self.weights.sum()) < recipe.cell_screened_rows
        path = None if screened and not self.may_gain() else self.path()
        if path is None or not path.is_clear():
            return None
        problem = self.problem(self.rows_with(self.scores))
        start = np.mean(path.found[path.best], axis=0)
        v = problem.solve(start, path.best, recipe.last_cell_evaluations, recipe.cell_tolerance)
        tables = [problem.offsets(one) for one in (v, *path.found[path.best])]
        return CellOffsets(self.layout.pairs, rounded(tables), path.best, 1 - path.gain(path.best) / path.bare)

    def path(self) -> RidgePath | None:
        """Return what offsets gain under each ridge; None as soon as that is nothing."""
        recipe, path = self.counts.recipe, RidgePath(self.counts.recipe)
        number = recipe.cell_folds[0 if float(self.weights.sum()) < recipe.cell_many_rows else 1]
        fold = self.layout.folds(self.sample.cells, number)
        for at in range(number):
            held = fold == at
            if not held.any() or len(np.unique(self.sample.y[~held])) < 2:
                return None
            rows = self.rows_with(self.scores_without(held))
            path.follow(self.problem(rows.some(np.flatnonzero(~held))), rows.some(np.flatnonzero(held)))
            gains, enough = path.gain(path.best) > 0, path.rows >= recipe.cell_rows
            if not gains and (at > 0 or enough):
                return None
            if gains and enough:
                path.settle()
        return path

    @cached_property
    def weights(self) -> Floats:
        """How much each row counts."""
        return effective_weights(self.sample.weights, self.sample.copies)

    def may_gain(self) -> bool:
        """Tell whether offsets let the loss of these rows fall by more than chance would.

        Offsets that are all 0 in truth let it fall by half of their effective number, on average.
        """
        recipe, problem = self.counts.recipe, self.problem(self.rows_with(self.scores))
        v, limits = problem.start(), (recipe.cell_evaluations, recipe.offset_rough_tolerance)
        for ridge in recipe.cell_tried_ridges:
            v = problem.solve(v, ridge, *limits)
            if problem.fall(v) > 0.5 * problem.effective_number(ridge):
                return True
        return False

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
        return OffsetRows.of(self.places, scores, truth, self.weights)

    def problem(self, rows: OffsetRows) -> OffsetProblem:
        """Return the problem of fitting offsets to some rows."""
        return OffsetProblem(rows, self.penalty, len(self.counts.joint.classes))

    def scores_without(self, held: Mask) -> Floats:
        """Return scores by the counts without some rows, leave-one-out for all others, [class, row]."""
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
    return replace(counts, joint=left, tables=[np.maximum(table, 0.0) for table in tables])


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
