"""Fits offsets of cells on top of the weights, where they are shown to gain on rows that were held out.

Leave-one-out scores must not be used to choose the ridge: those of all other rows hold a trace of a row's own label, so
that offsets which are fitted to them are wrong for that row. Held-out rows are subtracted from the counts first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..._types import Codes, Floats, Mask, Places
from ...counting.pairs import JointCounter
from ...stats.pairs import JointCounts
from .associations import counts_without
from .cell_offsets import CellLayout, CellOffsets, rounded
from .joint_fit import JointFit
from .offset_problem import OffsetPenalty, OffsetProblem, OffsetRows
from .soft_rows import RowClasses
from .term_counts import TermCounts
from .term_kinds import term_kind
from .terms import JointSample
from .weight_fitting import effective_weights, joint_scores_left_out

# Offsets of all classes at most, and their products with the rows. Limits of memory and of time.
MOST_OFFSETS, MOST_CELLS = 1 << 18, 1 << 27
# Rows of a class below which it has none: what rounding of fractional weights leaves.
LEAST_ROWS = 1e-9


def with_offsets(counts: TermCounts, fit: JointFit, sample: JointSample) -> JointFit:
    """Return a fit with offsets of cells, if they gain on held-out rows."""
    layout, classes = CellLayout(counts.grid, pairs_with_weight(fit)), len(counts.joint.classes)
    cells = len(sample.y) * len(layout.starts) * classes
    if not fit.weights or not counts.grid.names or layout.size * classes > MOST_OFFSETS or cells > MOST_CELLS:
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


@dataclass(frozen=True, eq=False)
class OffsetFolds:
    """Rows in folds: what offsets that were fitted without a fold gain on it."""

    counts: TermCounts
    fit: JointFit
    sample: JointSample
    layout: CellLayout

    def fitted(self) -> CellOffsets | None:
        """Return the offsets under the ridge of least held-out loss; None where they do not clearly gain."""
        recipe, sample, y = self.counts.recipe, self.sample, self.sample.y
        penalty, classes = OffsetPenalty.of(self.layout, self.counts), len(self.counts.joint.classes)
        places, fold = self.layout.places(sample.cells), self.layout.folds(sample.cells, recipe.cell_folds)
        truth = np.eye(classes)[y] if sample.soft is None else sample.soft.of_all(y)
        weights = effective_weights(sample.weights, sample.copies)
        start = np.zeros((penalty.parameters, classes))
        gains: dict[float, list[Floats]] = {ridge: [] for ridge in recipe.cell_ridges}
        parameters: dict[float, list[Floats]] = {ridge: [] for ridge in recipe.cell_ridges}
        ridges, done = list(recipe.cell_ridges), 0
        for at in range(recipe.cell_folds):
            held = fold == at
            if not held.any() or len(np.unique(y[~held])) < 2:
                return None
            rows = OffsetRows.of(places, self.scores_without(held), truth, weights)
            train, apart = (rows.some(np.flatnonzero(mask)) for mask in (~held, held))
            problem, bare, v, least = (
                OffsetProblem(train, penalty, classes),
                apart.losses(),
                start,
                np.inf,
            )
            for ridge in ridges:
                v = problem.solve(v, ridge, recipe.offset_rough_tolerance)
                gain = apart.weights * (bare - apart.losses(penalty.offsets(v)))
                gains[ridge].append(gain)
                parameters[ridge].append(v)
                least = min(least, -float(gain.sum()))
                if -float(gain.sum()) > least + recipe.offset_loss_rise * float(apart.weights @ bare):
                    break
            done = at + 1
            ridges = [ridge for ridge in ridges if len(gains[ridge]) == done]
            best = max(ridges, key=lambda ridge: sum(float(gain.sum()) for gain in gains[ridge]))
            whole = np.concatenate(gains[best])
            # One fold that gains nothing is enough to tell; one that is large enough tells the ridge.
            if float(whole.sum()) <= 0:
                return None
            if len(whole) >= recipe.offset_held_out_rows:
                ridges = [best]
        if float(whole.sum()) <= max(recipe.offset_price, float(np.sqrt(len(whole)) * whole.std())):
            return None
        rows = OffsetRows.of(places, joint_scores_left_out(self.counts, self.fit, sample), truth, weights)
        problem = OffsetProblem(rows, penalty, classes)
        v = problem.solve(np.mean(parameters[best], axis=0), best, recipe.cell_tolerance)
        tables = [penalty.offsets(one) for one in (v, *parameters[best])]
        return CellOffsets(self.layout.pairs, rounded(tables), best, float(whole.sum() / weights.sum()))

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
