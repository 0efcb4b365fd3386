"""Linear discriminant scores of all features at once: what two columns have in common is not counted twice.

With one scatter within the classes for all of them, the log-density of a normal distribution is linear in the features
up to what all classes share: so it splits into columns. A ridge on the scatter, chosen on held-out rows, shrinks what
few rows show. The constants split into columns, too, so that a missing value contributes nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..._linear_algebra import cholesky, eigenvectors, product, solve_by_root, sums_of_lines
from ..._types import Floats, Longs, Places
from ...data.grid import Cells, Grid
from ...stats.pairs import JointCounts
from ..recipe import Recipe
from .terms import HeldOut, Term, TermKind

if TYPE_CHECKING:
    from .tables import TableBuilder

LINEAR = "linear"
TITLES = {"numbers": "all columns at once", "bins": "all columns at once, numbers by bins"}


@dataclass(frozen=True)
class Centring:
    """Flags of a column, centred at their proportions among the rows that have a value: a missing one is 0 then."""

    starts: Longs  # where the flags of each column begin; all columns lie side by side
    sizes: Longs  # how many there are
    shares: Floats  # the proportion of each flag

    @property
    def flags(self) -> slice:
        """Which features are flags."""
        begin = int(self.starts[0]) if len(self.starts) else 0
        return slice(begin, begin + len(self.shares))

    def of(self, x: Floats) -> Floats:
        """Return features [row, feature] with the flags of each column centred."""
        out = np.array(x.T, dtype=np.float64, order="C")  # sums of whole lines are the quickest
        flags = out[self.flags]
        flags -= self._by_flag(flags) * self.shares[:, None]
        return out.T

    def back(self, slopes: Floats) -> Floats:
        """Return the slopes [feature, class] of the features as they are, given those of the centred ones."""
        out = np.array(slopes)
        flags = out[self.flags]
        flags -= self._by_flag(flags * self.shares[:, None])
        return out

    def _by_flag(self, x: Floats) -> Floats:
        """Return the sum over the flags of each column, for each of them."""
        if not len(self.starts):
            return x
        return np.repeat(np.add.reduceat(x, self.starts - self.starts[0], axis=0), self.sizes, axis=0)


def sums_by_column(grid: Grid, constants: Floats) -> Floats:
    """Return the sum over the features of each column, [column, class]."""
    out = np.array([constants[grid.flags(at)].sum(axis=0) for at in range(len(grid.names))]).reshape(
        -1, constants.shape[1]
    )
    out[: len(grid.numbers)] += constants[grid.features - len(grid.numbers) :]
    return out


@dataclass(frozen=True)
class LinearScores:
    """Linear scores of some of the features."""

    joint: JointCounts
    features: Places
    recipe: Recipe

    @cached_property
    def rows(self) -> Floats:
        """How many rows each class has."""
        return np.asarray(self.joint.products[:, 0, 0])

    @cached_property
    def centring(self) -> Centring:
        """How flags are centred."""
        offsets, first = 1 + self.joint.grid.offsets, int(self.features[0])
        known = np.flatnonzero((offsets[:-1] >= first) & (np.diff(offsets) > 0))
        starts, sizes = offsets[known], np.diff(offsets)[known]
        met = self.joint.products[:, 0, first : int(offsets[-1])].sum(axis=0)
        sums = np.add.reduceat(met, starts - first) if len(starts) else met
        return Centring(starts - first, sizes, met / np.repeat(np.maximum(sums, 1e-300), sizes))

    @cached_property
    def means(self) -> Floats:
        """The mean of each feature, [class, feature]; a class of less than two rows has that of all rows."""
        sums = self.centring.of(self.joint.products[:, 0][:, self.features])
        overall = sums.sum(axis=0) / max(self.rows.sum(), 1e-300)
        enough = (self.rows >= 2)[:, None]
        return np.where(enough, sums / np.where(enough, self.rows[:, None], 1.0), overall)

    @cached_property
    def _scatter(self) -> Floats:
        """The scatter within classes, [feature, feature]."""
        enough, part = self.rows >= 2, slice(int(self.features[0]), int(self.features[-1]) + 1)
        all_products = self.joint.products if enough.all() else self.joint.products[enough]
        products = self.centring.of(all_products[:, part, part].sum(axis=0))
        means, rows = self.means[enough], self.rows[enough]
        return np.asarray(self.centring.of(products.T) - product((means * rows[:, None]).T, means))

    def scores(self, cells: Cells, ridge: float) -> Floats:
        """Return the score of each class and row, up to what all classes share, [class, row]."""
        grid, (slopes, constants) = self.joint.grid, self.coefficients(ridge)
        numbers, first, own = len(grid.numbers), int(self.features[0]), self.by_column(constants)
        flags = np.maximum(1 + grid.offsets - first, 0)
        begin, known = 0 if first == 1 else numbers, slopes[: flags[-1]].copy()
        known[flags[numbers] :] += np.repeat(own[numbers:], np.diff(flags[numbers:]), axis=0)
        scores = sums_of_lines(cells.codes[:, begin:], flags[begin:], known) + product(cells.level, slopes[flags[-1] :])
        scores += product((cells.fine >= 0).astype(np.float64), own[:numbers])
        return np.asarray(scores.T - scores.max(axis=1))

    def coefficients(self, ridge: float) -> tuple[Floats, Floats]:
        """Return the slope of each feature and its constant, [feature, class]."""
        slopes = self.rows.sum() * self._narrowed_means(ridge)
        return self.centring.back(slopes), -0.5 * self.means.T * slopes

    def _narrowed_means(self, ridge: float) -> Floats:
        """Return the means divided by the scatter with a ridge, [feature, class]."""
        scatter = self._scatter.copy()
        scatter[np.diag_indices_from(scatter)] += ridge
        if (root := cholesky(scatter)) is not None:
            return solve_by_root(root, self.means.T)
        width, axes = eigenvectors(self._scatter)  # where rounding leaves a scatter that is not positive
        return product(axes, (product(self.means, axes) / (np.maximum(width, 0.0) + ridge)).T)

    def by_column(self, constants: Floats) -> Floats:
        """Return the constant of each column, [column, class], given those of its features."""
        whole = np.zeros((self.joint.grid.features, len(self.rows)))
        whole[self.features] = constants
        return sums_by_column(self.joint.grid, whole)


class LinearTerms(TermKind):
    """Linear discriminant scores."""

    name = "linear"
    beside = "all columns at once"

    def holds(self, term: Term) -> bool:
        """Tell whether a term is a linear one."""
        return term.kind == LINEAR

    def title(self, term: Term) -> str:
        """Return what a term is, in words."""
        return TITLES[str(term.level)]

    def values(self, held: HeldOut) -> Iterator[tuple[Term, Floats]]:
        """Give the terms of rows by counts, [class, row], of the ridges that were chosen."""
        for which in linear_features(held.counts.grid):
            if which in held.ridges:
                yield Term(LINEAR, which), held.counts.linear(which).scores(held.rows.cells, held.ridges[which])

    def add_tables(self, tables: TableBuilder) -> None:
        """Add the weighted slopes of all features."""
        joint = tables.counts.joint
        total, constant = (np.zeros((joint.grid.features, len(joint.classes))) for _ in range(2))
        for which in linear_features(joint.grid):
            if weight := tables.weights.get(Term(LINEAR, which)):
                linear = tables.counts.linear(which)
                slopes, constants = linear.coefficients(tables.ridges[which])
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
