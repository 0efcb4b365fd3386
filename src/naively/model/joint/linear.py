"""Linear discriminant scores of all features at once: what two columns have in common is not counted twice.

With one scatter within the classes for all of them, the log-density of a normal distribution is linear in the features
up to what all classes share: so it splits into columns. A ridge on the scatter, chosen by leave-one-out, shrinks what
few rows show. The constants split into columns, too, so that a missing value contributes nothing at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..._linear_algebra import cholesky, dot, eigenvectors, product, solve_by_root
from ..._threads import in_threads
from ..._types import Floats, Longs, Places
from ...data.grid import Grid
from ...stats.pairs import JointCounts
from ..recipe import Recipe
from .associations import HeldOutRows, MixedRows, row_blocks
from .soft_rows import RowClasses

# Rows of several classes that are left out at once. A limit of memory.
MIXED_ROWS = 1 << 10


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


class NarrowedScatter(NamedTuple):
    """What rows are compared with under a ridge: how narrow each axis is, the means, and their products."""

    narrow: Floats
    means: Floats  # along the axes, narrowed
    between: Floats  # products of the means with each other
    constants: Floats  # of columns, [column, class]


class RotatedRows(NamedTuple):
    """Rows along the axes of the scatter, and which of their columns are missing, [row, column]."""

    rows: Floats
    missing: Floats

    def some(self, rows: Places | slice) -> RotatedRows:
        """Return some of the rows."""
        return RotatedRows(self.rows[rows], self.missing[rows])


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

    @cached_property
    def _axes(self) -> tuple[Floats, Floats]:
        """The scatter within classes, by its own axes: how wide each is, and which features it is made of."""
        width, axes = eigenvectors(self._scatter)
        return np.maximum(width, 0.0), axes

    @cached_property
    def directions(self) -> Floats:
        """The axes of the scatter, by which rows of features are turned; they are centred, which is as good."""
        return self.centring.back(self._axes[1])

    def scores_left_out(self, rows: RotatedRows, out: HeldOutRows, ridge: float) -> Floats:
        """Return the score of each class and row with the row left out, up to what all classes share."""
        known = self._under(ridge)
        found = in_threads(lambda at: self._block_left_out(rows.some(at), out.some(at), known), row_blocks(len(out.y)))
        return np.hstack(found)

    def _under(self, ridge: float) -> NarrowedScatter:
        """Return the products of means under the narrowed scatter, and the constants of columns."""
        narrow, means = 1 / (self._axes[0] + ridge), product(self.means, self._axes[1])
        return NarrowedScatter(
            narrow, means * narrow, product(means * narrow, means.T), self.by_column(self.coefficients(ridge)[1])
        )

    def _block_left_out(self, rows: RotatedRows, out: HeldOutRows, known: NarrowedScatter) -> Floats:
        (turned, missing), y, between = rows, out.y, known.between
        own, enough = self.rows[y], self.rows[y] >= 2
        more = np.where(enough, own / np.maximum(own - out.weights, 1e-9), 1.0)  # how much further the own mean lies
        lost = np.where(enough, out.weights * more, 0.0)  # of the scatter, in the direction of the row
        # Products under the narrowed scatter: of rows with themselves, and with means.
        squares, crossed = product(turned * turned, known.narrow), product(known.means, turned.T)
        mine = crossed.reshape(-1)[out.own]
        far = squares - 2 * crossed + np.diag(between)[:, None]
        along = squares - crossed - mine + between[:, y]
        rest = np.maximum(1 - lost * far.reshape(-1)[out.own], 1e-3)
        far += (lost / rest) * along**2
        far.reshape(-1)[out.own] *= more**2
        if (mixed := out.mixed()) is not None:
            far[:, mixed.at] = self._far_from_mixed(mixed, squares[mixed.at], crossed[:, mixed.at], between)
        scores = np.asarray(-0.5 * self.rows.sum() * (far - far.min(axis=0)))
        return scores - product(known.constants.T, missing.T) if missing.any() else scores

    def _far_from_mixed(self, mixed: MixedRows, squares: Floats, crossed: Floats, between: Floats) -> Floats:
        """Return the squared distance of rows of several classes from each mean, each row left out of all of them.

        The scatter loses a product for each class; of many classes the most probable ones are considered.
        """
        own = self.rows[:, None]
        left = np.where(own >= 2, mixed.parts, 0.0)
        more = own / np.maximum(own - left, 1e-9)  # how much further each mean lies
        few = np.argsort(-left, axis=0, kind="stable")[: self.recipe.mixed_classes]
        lost = np.sqrt(np.take_along_axis(left * more, few, axis=0)).T
        out = np.empty_like(crossed)
        for begin in range(0, len(squares), MIXED_ROWS):
            rows = slice(begin, begin + MIXED_ROWS)
            some, cross, root = few[:, rows].T, crossed[:, rows].T, lost[rows, None, :]
            # Products [row, class, class] of the distances from the means; then those with the classes that lose.
            along = squares[rows, None, None] - cross[:, :, None] + between.T[some].transpose(0, 2, 1)
            along -= np.take_along_axis(cross, some, axis=1)[:, None, :]
            inner = root * np.take_along_axis(along, some[:, :, None], axis=1) * root.transpose(0, 2, 1)
            width, axes = eigenvectors(inner)
            gain = product(along * root, axes) ** 2 / np.maximum(1 - width, 1e-3)[:, None, :]
            far = squares[rows, None] - 2 * cross + np.diag(between)
            out[:, rows] = (far + gain.sum(axis=2)).T
        return np.asarray(out * more**2)

    def best_ridge(self, rows: RotatedRows, out: HeldOutRows, weights: Floats, prior: Floats) -> float:
        """Return the ridge of least leave-one-out log loss, under the best of several weights of the scores."""
        classes, ridges = RowClasses(out.y, out.soft), self.recipe.linear_ridges

        def least_loss(scores: Floats) -> float:
            tried = (log_loss(prior[:, None] + by * scores, classes, weights) for by in self.recipe.linear_weights)
            return min(tried)

        scores = [self.scores_left_out(rows, out, ridge) for ridge in ridges]
        return ridges[int(np.argmin(in_threads(least_loss, scores)))]

    def coefficients(self, ridge: float) -> tuple[Floats, Floats]:
        """Return the slope of each feature and its constant, [feature, class]."""
        slopes = self.rows.sum() * self._narrowed_means(ridge)
        return self.centring.back(slopes), -0.5 * self.means.T * slopes

    def _narrowed_means(self, ridge: float) -> Floats:
        """Return the means divided by the scatter with a ridge, [feature, class]."""
        if "_axes" not in vars(self):  # rows that are left out need the axes; without them, Cholesky is much quicker
            scatter = self._scatter.copy()
            scatter[np.diag_indices_from(scatter)] += ridge
            if (root := cholesky(scatter)) is not None:
                return solve_by_root(root, self.means.T)
        width, axes = self._axes  # also where rounding leaves a scatter that is not positive
        return product(axes, (product(self.means, axes) / (width + ridge)).T)

    def by_column(self, constants: Floats) -> Floats:
        """Return the constant of each column, [column, class], given those of its features."""
        whole = np.zeros((self.joint.grid.features, len(self.rows)))
        whole[self.features] = constants
        return sums_by_column(self.joint.grid, whole)


def log_loss(scores: Floats, classes: RowClasses, weights: Floats) -> float:
    """Return the mean log loss of scores [class, row]."""
    below = scores - scores.max(axis=0)
    own = classes.mean_of(below)
    return dot(weights, np.log(np.exp(below).sum(axis=0)) - own) / float(weights.sum())
