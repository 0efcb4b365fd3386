"""Quadratic discriminant scores: the log-density of a normal distribution with a covariance for each class.

Few rows of a class tell little about its covariance. So it is shrunk towards the covariance within all classes, and by
a ridge: Σ_c = (1 - α) S_c / n_c + (α W + λ I) / n, with S_c the scatter of the class and W that within all classes
(regularized discriminant analysis, Friedman 1989). The scores are sums of features and of products of two features: so
they split into columns and pairs of columns. The constants split into columns, so that a missing value contributes
nothing at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..._linear_algebra import cholesky, eigenvectors, log_determinants, product, solve_by_root
from ..._types import Floats, Longs, Singles
from ...data.grid import Cells, Grid
from .associations import HeldOutRows, MixedRows, precision_of
from .linear import MIXED_ROWS, LinearScores

# What is left of a variance when a row is left out, as a share of it, but not less. Numerical.
LEAST_REST = 1e-6


class Lost(NamedTuple):
    """The share of a scatter in the covariance of a class: of that within all classes, and of its own."""

    of_all: float
    of_class: float


class Shrinkage(NamedTuple):
    """How far the covariance of a class is shrunk: α towards that within all classes, λ towards none."""

    alpha: float
    ridge: float

    def for_rows(self, rows: float) -> float:
        """Return α for a class of so many rows: one row has no scatter, and is left to that within all classes."""
        return self.alpha if rows >= 2 else 1.0

    def lost(self, rows: float, whole: float) -> Lost:
        """Return how much of what scatters lose the covariance of a class loses, given its rows and all rows."""
        alpha = self.for_rows(rows)
        return Lost(alpha / whole, (1 - alpha) / rows if alpha < 1 else 0.0)


class Precision(NamedTuple):
    """The inverse of a covariance, and the logarithm of its determinant."""

    matrix: Floats
    log_det: float


class QuadraticParts(NamedTuple):
    """Scores as x·squares·x + slopes·x + constants, by class, up to what all classes share; x are directions."""

    squares: Floats  # [class, direction, direction], symmetric
    slopes: Floats  # [class, direction]
    constants: Floats  # [class, column]


@dataclass(frozen=True)
class QuadraticScores:
    """Quadratic scores of the features of linear ones: numbers, and flags of labels.

    The flags of a column, centred at their proportions, add up to 0. So a column of k labels has k - 1 directions.
    """

    linear: LinearScores

    @property
    def _grid(self) -> Grid:
        grid: Grid = self.linear.joint.grid
        return grid

    @cached_property
    def sizes(self) -> list[int]:
        """How many directions each column of the grid has."""
        numbers = len(self._grid.numbers)
        return [1] * numbers + [max(values.size - 1, 0) for values in self._grid.labels]

    @cached_property
    def columns(self) -> list[slice]:
        """Which directions each column of the grid has; those of numbers come last, as their features do."""
        numbers, flags = len(self._grid.numbers), sum(self.sizes[len(self._grid.numbers) :])
        starts = np.cumsum([0, *self.sizes[numbers:]]).tolist()
        labels = [slice(begin, end) for begin, end in pairwise(starts)]
        return [*(slice(flags + at, flags + at + 1) for at in range(numbers)), *labels]

    @cached_property
    def directions(self) -> Floats:
        """The directions of each feature, [feature, direction]: centred, and at right angles to each other."""
        first, numbers = int(self.linear.features[0]), len(self._grid.numbers)
        out = np.zeros((len(self.linear.features), sum(self.sizes)))
        for at, columns in enumerate(self.columns):
            if at < numbers:
                out[len(out) - numbers + at, columns] = 1.0
            else:
                flags = self._grid.flags(at)
                out[flags.start - first : flags.stop - first, columns] = contrasts(flags.stop - flags.start)
        return self.linear.centring.back(out)

    def rows(self, cells: Cells) -> Singles | Floats:
        """Return rows along the directions; a missing value is 0."""
        numbers, size = len(self._grid.numbers), sum(self.sizes)
        out = np.zeros((len(cells), size), dtype=precision_of(len(cells) * size))
        for at, columns in enumerate(self.columns[numbers:], numbers):
            flags, first = self._grid.flags(at), int(self.linear.features[0])
            lines = self.directions[flags.start - first : flags.stop - first, columns]
            lines = np.vstack([lines, np.zeros(lines.shape[1])]).astype(out.dtype)
            codes = cells.codes[:, at]
            out[:, columns] = lines[np.where(codes < len(lines) - 1, codes, -1)]
        out[:, size - numbers :] = cells.level
        return out

    # -- covariances ----------------------------------------------------------------------------------------------

    @cached_property
    def means(self) -> Floats:
        """The mean of each class, [class, direction]; a class of less than two rows has that of all rows."""
        rows = self.linear.rows
        sums = product(self.linear.joint.products[:, 0][:, self.linear.features], self.directions)
        overall, enough = sums.sum(axis=0) / max(rows.sum(), 1e-300), (rows >= 2)[:, None]
        return np.where(enough, sums / np.where(enough, rows[:, None], 1.0), overall)

    @cached_property
    def scatters(self) -> Floats:
        """The scatter of each class, [class, direction, direction]; 0 for a class of less than two rows."""
        rows, means = self.linear.rows, self.means
        part = slice(int(self.linear.features[0]), int(self.linear.features[-1]) + 1)
        out = np.zeros((len(rows), means.shape[1], means.shape[1]))
        for k in np.flatnonzero(rows >= 2):
            products = product(product(self.directions.T, self.linear.joint.products[k, part, part]), self.directions)
            out[k] = products - rows[k] * np.outer(means[k], means[k])
        return out

    @cached_property
    def within(self) -> Floats:
        """The scatter within all classes."""
        return np.asarray(self.scatters.sum(axis=0))

    def covariance(self, k: int, by: Shrinkage, rows: float, whole: float) -> Floats:
        """Return the covariance of a class, given the rows that it and all classes have."""
        alpha = by.for_rows(rows)
        found = self.within * (alpha / whole)
        if alpha < 1:
            found += ((1 - alpha) / rows) * self.scatters[k]
        found.reshape(-1)[:: len(found) + 1] += by.ridge / whole
        return found

    # -- rows that are left out -----------------------------------------------------------------------------------

    def scores_left_out(self, x: Singles | Floats, missing: Floats, out: HeldOutRows, by: Shrinkage) -> Floats:
        """Return the score of each class and row with the row left out, [class, row]; x are rows along directions.

        A row takes w φ d·dᵀ from the scatters that it is part of, with d its distance from the mean of its class of n
        rows and φ = n / (n - w). The inverse of what is left follows by the formula of Sherman and Morrison. It is
        exact where all rows weigh the same and no value is missing.
        """
        rows, y, w = self.linear.rows, out.y, out.weights
        whole, found = float(max(rows.sum() - w.mean(), 1e-9)), np.empty((len(rows), len(y)))
        constants, known = np.zeros((len(rows), len(self.columns))), not missing.any()
        for k, size in enumerate(rows.tolist()):
            covariance = self.covariance(k, by, size, whole)
            precision = inverted(covariance)
            if not known:
                constants[k] = self._constants(k, covariance, precision)
            own, other = np.flatnonzero(y == k), np.flatnonzero(y != k)
            found[k, other] = self._without(k, precision, x[other], out.some(other), by.lost(size, whole))
            if len(own):
                less = max(size - float(w[own].mean()), 1e-9)
                precision = inverted(self.covariance(k, by, less, whole))
                found[k, own] = self._without(k, precision, x[own], out.some(own), by.lost(less, whole))
        if not known:
            found -= product(constants, missing.T)
        return np.asarray(found - found.max(axis=0))

    def _without(self, k: int, precision: Precision, x: Singles | Floats, out: HeldOutRows, share: Lost) -> Floats:
        """Return the scores of rows for a class, whose covariance loses a share of what each takes from scatters."""
        y, rows = out.y, self.linear.rows[out.y]
        more = np.where(rows >= 2, rows / np.maximum(rows - out.weights, 1e-9), 1.0)  # how much further the mean lies
        lost = np.where(rows >= 2, out.weights * more, 0.0) * (share.of_all + np.where(y == k, share.of_class, 0.0))
        turned = product(x, precision.matrix.astype(x.dtype))
        squares, crossed = (
            np.einsum("rd,rd->r", turned, x).astype(np.float64),
            product(turned, self.means.T.astype(x.dtype)),
        )
        between = product(product(self.means, precision.matrix), self.means.T)
        own, here = crossed[np.arange(len(y)), y].astype(np.float64), crossed[:, k].astype(np.float64)
        far = squares - 2 * here + between[k, k]
        along = squares - here - own + between[k, y]
        rest = np.maximum(1 - lost * (squares - 2 * own + between[y, y]), LEAST_REST)
        far += lost / rest * along**2
        found = np.asarray(-0.5 * (far * np.where(y == k, more, 1.0) ** 2 + precision.log_det + np.log(rest)))
        if (mixed := out.mixed()) is not None:
            found[mixed.at] = self._without_mixed(k, precision, x[mixed.at], mixed, share)
        return found

    def _without_mixed(
        self, k: int, precision: Precision, x: Singles | Floats, mixed: MixedRows, share: Lost
    ) -> Floats:
        """Return the scores for a class of rows of several classes, each left out of all of them.

        The scatters lose a product for each class; of many classes the most probable ones are considered.
        """
        rows, means = self.linear.rows[:, None], self.means
        left = np.where(rows >= 2, mixed.parts, 0.0)
        more = rows / np.maximum(rows - left, 1e-9)  # how much further each mean lies
        few = np.argsort(-left, axis=0, kind="stable")[: self.linear.recipe.mixed_classes]
        lost = np.take_along_axis(left * more, few, axis=0)
        roots = np.sqrt(lost * (share.of_all + np.where(few == k, share.of_class, 0.0))).T
        between, found = product(product(means, precision.matrix), means.T), np.empty(len(x))
        for begin in range(0, len(x), MIXED_ROWS):
            at = slice(begin, begin + MIXED_ROWS)
            part, some, root = x[at].astype(np.float64), few[:, at].T, roots[at]
            turned = product(part, precision.matrix)
            squares, crossed = (turned * part).sum(axis=1), product(turned, means.T)
            theirs = np.take_along_axis(crossed, some, axis=1)
            along = (squares - crossed[:, k])[:, None] - theirs + between[k][some]
            inner = squares[:, None, None] - theirs[:, :, None] - theirs[:, None, :]
            inner += between[some[:, :, None], some[:, None, :]]
            width, axes = eigenvectors(root[:, :, None] * inner * root[:, None, :])
            rest = np.maximum(1 - width, LEAST_REST)
            gain = product((along * root)[:, None, :], axes)[:, 0] ** 2 / rest
            far = squares - 2 * crossed[:, k] + between[k, k] + gain.sum(axis=1)
            found[at] = -0.5 * (far * more[k, at] ** 2 + precision.log_det + np.log(rest).sum(axis=1))
        return found

    # -- scoring --------------------------------------------------------------------------------------------------

    def parts(self, by: Shrinkage) -> QuadraticParts:
        """Return what scores are the sum of."""
        rows, means = self.linear.rows, self.means
        whole, squares = float(max(rows.sum(), 1e-9)), np.empty_like(self.scatters)
        slopes, constants = np.empty_like(means), np.empty((len(rows), len(self.columns)))
        for k, size in enumerate(rows.tolist()):
            covariance = self.covariance(k, by, size, whole)
            precision = inverted(covariance)
            squares[k], slopes[k] = -0.5 * precision.matrix, product(precision.matrix, means[k])
            constants[k] = self._constants(k, covariance, precision)
        return QuadraticParts(*(part - part.mean(axis=0) for part in (squares, slopes, constants)))

    def _constants(self, k: int, covariance: Floats, precision: Precision) -> Floats:
        """Return the constant of each column for a class: of all columns together they add up to the whole.

        The logarithm of a determinant splits into columns: the first one adds that of its own covariance, the last one
        that of what the others leave of it. No column is first or last: so each adds a value between both, at the same
        place for all of them.
        """
        first, last = self._log_dets(covariance), -self._log_dets(precision.matrix)
        spread = float((first - last).sum())
        share = (precision.log_det - float(last.sum())) / spread if spread > 1e-9 else 0.5
        means = self.means[k] * product(precision.matrix, self.means[k])
        return np.asarray(-0.5 * (last + share * (first - last) + np.bincount(self._owners, means, len(first))))

    @cached_property
    def _owners(self) -> Longs:
        """The column of each direction."""
        out = np.empty(sum(self.sizes), dtype=np.int64)
        for at, columns in enumerate(self.columns):
            out[columns] = at
        return out

    @cached_property
    def _columns_by_size(self) -> list[tuple[list[int], Longs]]:
        """The columns of as many directions, and their directions, [column, direction]."""
        out = []
        for size in sorted(set(self.sizes) - {0}):
            some = [at for at, own in enumerate(self.sizes) if own == size]
            out.append((some, np.array([self.columns[one].start for one in some])[:, None] + np.arange(size)))
        return out

    def _log_dets(self, matrix: Floats) -> Floats:
        """Return the logarithm of the determinant of the part of each column."""
        out, diagonal = np.zeros(len(self.columns)), np.diagonal(matrix)
        for some, at in self._columns_by_size:
            if at.shape[1] == 1:
                out[some] = np.log(diagonal[at[:, 0]])
            else:
                out[some] = log_determinants(matrix[at[:, :, None], at[:, None, :]])
        return out


def inverted(covariance: Floats) -> Precision:
    """Return the inverse of a covariance; a ridge has made it positive."""
    root = cholesky(covariance)
    assert root is not None, "a ridge makes every covariance positive"
    half = solve_by_root(root, np.eye(len(root)))
    return Precision((half + half.T) / 2, 2 * float(np.log(np.diagonal(root)).sum()))


def contrasts(size: int) -> Floats:
    """Return directions at right angles to each other in which numbers of so many flags add up to 0.

    >>> contrasts(2).round(3).tolist()
    [[0.707], [-0.707]]
    """
    at = np.arange(1, max(size, 1))
    below = np.arange(max(size, 1))[:, None] < at
    out = np.where(below, 1.0, np.where(np.arange(max(size, 1))[:, None] == at, -at, 0.0))
    return np.asarray(out / np.sqrt(at * (at + 1.0)))[:size]
