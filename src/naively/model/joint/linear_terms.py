"""Linear terms of all columns at once, of the numbers as they are and of their bins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ..._linear_algebra import product, sums_of_lines
from ..._threads import in_threads
from ..._types import Singles
from ...data.grid import Grid
from .associations import precision_of
from .linear import LinearScores, RotatedRows, sums_by_column
from .tables import TableBuilder
from .terms import LeaveOneOut, Term, TermKind, TermValues

LINEAR = "linear"
TITLES = {"numbers": "all columns at once", "bins": "all columns at once, numbers by bins"}


class LinearTerms(TermKind):
    """Linear discriminant scores."""

    name = "linear"
    beside = "all columns at once"
    sum_rank, table_rank = 4, 0

    def holds(self, term: Term) -> bool:
        """Tell whether a term is a linear one."""
        return term.kind == LINEAR

    def title(self, term: Term) -> str:
        """Return what a term is, in words."""
        return TITLES[str(term.level)]

    def fit(self, held: LeaveOneOut) -> Iterator[tuple[Term, Singles]]:
        """Give the leave-one-out terms of rows, each under the ridge of least leave-one-out log loss."""
        linear = {which: held.counts.linear(which) for which in linear_features(held.counts.grid)}
        in_threads(lambda one: one.directions, linear.values())  # each is kept where it was computed
        for which, scores in linear.items():
            rotated = rotated_rows(held, scores)
            some = np.arange(min(len(rotated.rows), held.counts.recipe.linear_rows))
            weights = held.sample.weights[some]
            ridge = scores.best_ridge(rotated.some(some), held.rows.some(some), weights, held.counts.prior)
            held.ridges[which] = ridge
            yield Term(LINEAR, which), scores.scores_left_out(rotated, held.rows, ridge).astype(np.float32)

    def leave_one_out(self, held: LeaveOneOut, weights: Mapping[Term, float]) -> Iterator[tuple[Term, TermValues]]:
        """Give the terms that have a weight, under the ridge that was chosen."""
        for which in linear_features(held.counts.grid):
            if weights.get(Term(LINEAR, which)):
                scores = held.counts.linear(which)
                rotated = rotated_rows(held, scores)
                yield Term(LINEAR, which), scores.scores_left_out(rotated, held.rows, held.ridges[which])

    def add_tables(self, tables: TableBuilder) -> None:
        """Add the weighted slopes of all features."""
        joint = tables.counts.joint
        total, constant = (np.zeros((joint.grid.features, len(joint.classes))) for _ in range(2))
        for which, ridge in tables.ridges.items():
            weight = tables.weights.get(Term(LINEAR, which), 0.0)
            if weight:
                linear = tables.counts.linear(which)
                slopes, constants = linear.coefficients(ridge)
                total[linear.features] += weight * slopes
                constant[linear.features] += weight * constants
        # Only differences between classes matter; without what all share the numbers stay small.
        total, constant = (part - part.mean(axis=1, keepdims=True) for part in (total, constant))
        tables.set_linear(total, sums_by_column(joint.grid, constant))


def linear_features(grid: Grid) -> tuple[str, ...]:
    """Return which linear terms there are: of the numbers as they are, and of their bins, too."""
    bins, flags = (any(column.size for column in part) for part in (grid.numbers, grid.labels))
    if not grid.numbers:
        return ("bins",) if flags else ()
    return ("numbers", "bins") if bins else ("numbers",)


def rotated_rows(held: LeaveOneOut, linear: LinearScores) -> RotatedRows:
    """Return rows along the axes of the scatter of linear scores."""
    cells, grid = held.sample.cells, held.counts.grid
    missing = np.hstack([cells.fine < 0, cells.codes[:, len(grid.numbers) :] < 0]).astype(np.float64)
    first = int(linear.features[0])
    precision = precision_of(len(cells) * (grid.features - first))
    axes, flags = linear.directions.astype(precision), 1 + grid.offsets - first
    begin = int(np.searchsorted(flags, 0))  # the first column that has flags
    turned = sums_of_lines(cells.codes[:, begin:], flags[begin:], axes[: flags[-1]])
    return RotatedRows(turned + product(cells.level.astype(precision), axes[flags[-1] :]), missing)
