"""Linear and quadratic terms: normal densities of all columns at once, so that nothing common to two counts twice.

Features are the numbers, and for each column of categories directions in which its indicators differ. With one
covariance for all classes the log-density is linear in the features, up to what all classes share (discriminant
analysis); a missing value contributes nothing to it. With one for each class it is quadratic: on the leading principal
components of the features, in which a missing value is 0, the mean; and shrunk towards the covariance within all
classes (Friedman 1989). How many components and how far to shrink is chosen by the loss of held-out rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ... import _kernels
from ..._kernels import Scorer
from ..._linear_algebra import cholesky, dot, leading_eigenvectors, product, solve_by_root
from ..._threads import threads_here
from ..._types import Codes, Flags, Floats, Longs, Matrix
from ...stats import Axis
from ..recipe import Recipe
from .grid import Cells, Grid
from .rows import FittingRows, Term, Terms, first_clear

if TYPE_CHECKING:
    from .rows import CrossFit
    from .tables import TableBuilder, TermCounts

LINEAR, QUADRATIC = Term("linear"), Term("quadratic")
# Rows of a class that have a mean and a scatter of their own: two, but for the rounding of fractional weights.
ENOUGH = 2.0 - 1e-9
# What was chosen, by name, next to the settings of other terms.
RIDGE, COMPONENTS, SHRINKAGE = "linear ridge", "quadratic components", "quadratic shrinkage"
NO_GAPS: Flags = np.zeros((0, 0), dtype=np.uint8)
# The kernel reads the squares of a class in tiles of so many lines (`QuadraticForm::TILE`).
TILE = 4


class Moments(NamedTuple):
    """The rows of each class, their sums [class, direction], and their products [class or 1, direction, direction]."""

    n: Floats
    sums: Floats
    products: Floats

    @property
    def means(self) -> Floats:
        """The mean of each class, [class, direction]; a class of less than two rows has that of all rows."""
        overall, enough = self.sums.sum(axis=0) / max(self.n.sum(), 1e-300), (self.n >= ENOUGH)[:, None]
        return np.where(enough, self.sums / np.where(enough, self.n[:, None], 1.0), overall)

    def of(self, size: int) -> Moments:
        """Return those of the first directions."""
        parts = self.sums[:, :size], self.products[:, :size, :size]
        return Moments(self.n, *map(np.ascontiguousarray, parts))


@dataclass(frozen=True)
class Features:
    """The features of some counts, and their principal components.

    The indicators of a column of categories, centered at their proportions among the rows that have a value, add up to
    0: a column of k categories has k - 1 directions. Those of categories come first, then the numbers.
    """

    counts: TermCounts

    @property
    def grid(self) -> Grid:
        """The bins and categories that are counted."""
        return self.counts.grid

    @cached_property
    def first(self) -> int:
        """The first feature of the grid that is an indicator of a category."""
        return 1 + int(self.grid.offsets[len(self.grid.numbers)])

    @cached_property
    def directions(self) -> Floats:
        """The directions of each indicator and number, [feature of the grid, direction]: centered, at right angles."""
        numbers, sizes = len(self.grid.numbers), [column.size for column in self.grid.labels]
        flags, columns = self.grid.features - self.first - numbers, sum(max(size - 1, 0) for size in sizes)
        out = np.zeros((flags + numbers, columns + numbers))
        out[flags:, columns:] = np.eye(numbers)
        rows = self.counts.joint.products[:, 0, self.first : self.first + flags].sum(axis=0)
        line = column = 0
        for size in sizes:
            own = rows[line : line + size]
            lines = contrasts(size)
            width = lines.shape[1]
            out[line : line + size, column : column + width] = lines - product(
                own / max(float(own.sum()), 1e-300), lines
            )
            line, column = line + size, column + width
        return out

    @property
    def size(self) -> int:
        """How many directions there are."""
        return int(self.directions.shape[1])

    @cached_property
    def moments(self) -> Moments:
        """The moments of the directions; products are those of all classes together."""
        joint, to = self.counts.joint, self.directions
        products = product(product(to.T, joint.products[:, self.first :, self.first :].sum(axis=0)), to)
        sums = product(np.ascontiguousarray(joint.products[:, 0, self.first :]), to)
        return Moments(np.ascontiguousarray(joint.products[:, 0, 0]), sums, products[None])

    @cached_property
    def components(self) -> Floats:
        """The leading principal components, [feature of the grid, component], the first one first.

        Numbers have the unit of their range, so that a number which is nearly always the same counts for little; all
        components together have a mean variance of 1.
        """
        n, sums, (products,) = self.moments
        total, mean = max(float(n.sum()), 1e-300), sums.sum(axis=0) / max(float(n.sum()), 1e-300)
        units, numbers = np.ones(self.size), self.grid.numbers
        if numbers:
            ranges = np.array([(bins.high - bins.low) * bins.scale for bins in numbers])
            inverse = np.where((ranges > 1e-12) & np.isfinite(ranges), 1 / np.where(ranges > 1e-12, ranges, 1.0), 0.0)
            units[self.size - len(numbers) :] = inverse / max(float(np.sqrt(np.mean(inverse**2))), 1e-300)
        covariance = (products / total - mean[:, None] * mean) * units[:, None] * units
        values, vectors = leading_eigenvectors(covariance, max(self.counts.recipe.quadratic_components))
        rank = int((values > 1e-9 * values[:1].sum()).sum())
        scale = 1 / np.sqrt(max(float(values[:rank].mean()), 1e-300)) if rank else 1.0
        return product(self.directions * units, np.ascontiguousarray(vectors[:rank].T)) * scale

    @cached_property
    def of_components(self) -> Moments:
        """The moments of the components, by class."""
        joint, to = self.counts.joint, self.components
        products = [
            product(product(to.T, np.ascontiguousarray(part)), to)
            for part in joint.products[:, self.first :, self.first :]
        ]
        sums = product(np.ascontiguousarray(joint.products[:, 0, self.first :]), to)
        return Moments(self.moments.n, sums, np.stack(products))

    def rows(self, cells: Cells, to: Floats) -> Floats:
        """Return rows along directions, [row, direction], given those of each feature of the grid."""
        numbers, flags = len(self.grid.numbers), len(to) - len(self.grid.numbers)
        out = product(cells.level, np.ascontiguousarray(to[flags:])) if numbers else np.zeros((len(cells), to.shape[1]))
        begins = self.grid.offsets[numbers:] - self.grid.offsets[numbers]
        for column, (begin, end) in enumerate(pairwise(begins.tolist()), numbers):
            if end > begin:
                lines = np.vstack([to[begin:end], np.zeros(to.shape[1])])
                out += lines[np.where(cells.codes[:, column] < end - begin, cells.codes[:, column], -1)]
        return out

    @cached_property
    def owners(self) -> Longs:
        """The column of the grid that each direction is of."""
        numbers = len(self.grid.numbers)
        sizes = [max(column.size - 1, 0) for column in self.grid.labels]
        return np.append(np.repeat(np.arange(numbers, numbers + len(sizes)), sizes), np.arange(numbers)).astype(
            np.int64
        )

    def gaps(self, cells: Cells) -> Flags:
        """Return whether the column of each direction has no value in a row, [row, direction]; empty if all have."""
        numbers = len(self.grid.numbers)
        gaps = np.hstack([cells.fine < 0, cells.codes[:, numbers:] < 0])
        return np.ascontiguousarray(gaps[:, self.owners].view(np.uint8)) if gaps.any() else NO_GAPS

    def sizes(self) -> list[int]:
        """Return the numbers of components that are compared."""
        most = int(self.components.shape[1])
        return sorted({size for size in self.counts.recipe.quadratic_components if size < most} | ({most} - {0}))


def contrasts(size: int) -> Floats:
    """Return directions at right angles to each other in which numbers of so many indicators add up to 0.

    >>> contrasts(2).round(3).tolist()
    [[0.707], [-0.707]]
    """
    place = np.arange(1, max(size, 1))
    lines = np.arange(max(size, 1))[:, None]
    out = np.where(lines < place, 1.0, np.where(lines == place, -place, 0.0))
    return np.asarray(out / np.sqrt(place * (place + 1.0)))[:size]


# -- scores of rows ----------------------------------------------------------------------------------------------------


def cross_normal(
    cross: CrossFit,
    x: Floats,
    moments: Moments,
    settings: Sequence[tuple[float, float]],
    folds: int,
    gaps: Flags | None = None,
) -> Floats | None:
    """Return scores by the counts without each row's fold, for shrinkages and ridges, [setting, class, row].

    They are of the rows of the first folds; None where a covariance is not positive. Where there are gaps, a missing
    value contributes nothing to linear scores.
    """
    out = np.zeros((len(settings), len(moments.n), len(x)))
    given = np.array(settings, dtype=np.float64).reshape(-1, 2)
    arguments: tuple[Any, ...] = (
        x,
        NO_GAPS if gaps is None else gaps,
        *moments,
        *cross.folded,
        given,
        folds,
        out,
        threads_here(),
    )
    return out if _kernels.cross_normal(*arguments) else None


class NormalRows:
    """Rows along the features and along their components, made once."""

    def __init__(self, features: Features, rows: FittingRows) -> None:
        self.features, self._cells = features, rows.cells

    @cached_property
    def linear(self) -> Floats:
        """The rows along the directions."""
        return self.features.rows(self._cells, self.features.directions)

    @cached_property
    def gaps(self) -> Flags:
        """Which directions have no value in a row."""
        return self.features.gaps(self._cells)

    @cached_property
    def quadratic(self) -> Floats:
        """The rows along the components."""
        return self.features.rows(self._cells, self.features.components)


def chosen_settings(cross: CrossFit, rows: NormalRows) -> dict[str, float]:
    """Return the ridge of the linear term, and the components and the shrinkage of the quadratic one.

    Each is measured by the held-out scores of its term alone, under the best of several weights.
    """
    recipe, features = cross.counts.recipe, rows.features
    if not features.size:
        return {}
    folds = cross.measuring_folds()
    end = cross.rows.folds[folds - 1].stop
    weights, prior, y = cross.rows.effective[:end], cross.counts.prior[:, None], cross.rows.y[:end]

    def losses(
        x: Floats, moments: Moments, settings: Sequence[tuple[float, float]], gaps: Flags = NO_GAPS
    ) -> list[Floats]:
        scores = cross_normal(cross, x, moments, settings, folds, gaps)
        if scores is None:
            return [np.full(end, np.inf)] * len(settings)
        return [losses_at_best_weight(part[:, :end], prior, y, weights, recipe) for part in scores]

    ridges = losses(rows.linear, features.moments, [(1.0, ridge) for ridge in recipe.linear_ridges], rows.gaps)
    best = first_clear(ridges, weights)
    if not np.isfinite(ridges[best]).all():
        return {}
    out: dict[str, float] = {RIDGE: recipe.linear_ridges[best]}
    if not features.sizes() or QUADRATIC.kind in recipe.excluded:
        return out

    def quadratic(size: int, alpha: float) -> Floats:
        x = np.ascontiguousarray(rows.quadratic[:, :size])
        return losses(x, features.of_components.of(size), [(alpha, recipe.quadratic_ridge)])[0]

    sizes, first = features.sizes(), recipe.first_shrinkage
    by_size = [quadratic(size, first) for size in sizes]
    best = first_clear(by_size, weights)
    size, known = sizes[best], by_size[best]
    if not np.isfinite(known).all():
        return out
    by_alpha = [known if alpha == first else quadratic(size, alpha) for alpha in recipe.quadratic_shrinkages]
    return out | {COMPONENTS: size, SHRINKAGE: recipe.quadratic_shrinkages[first_clear(by_alpha, weights)]}


def losses_at_best_weight(scores: Floats, prior: Floats, y: Codes, weights: Floats, recipe: Recipe) -> Floats:
    """Return the log loss of each row by the prior and scores [class, row], under the weight of them that is best."""
    by_weight = prior + np.array(recipe.term_weights)[:, None, None] * scores
    by_weight -= by_weight.max(axis=1, keepdims=True)
    out = np.log(np.exp(by_weight).sum(axis=1)) - by_weight[:, y, np.arange(len(y))]
    return np.asarray(out[np.argmin(product(out, weights))])


def cross_terms(cross: CrossFit, rows: NormalRows) -> Terms:
    """Return the linear and the quadratic term by the counts without each row's fold, [class, row]."""
    settings, features, folds = cross.settings, rows.features, len(cross.rows.folds)
    if RIDGE not in settings:
        return {}
    linear = cross_normal(cross, rows.linear, features.moments, [(1.0, settings[RIDGE])], folds, rows.gaps)
    out: Terms = {} if linear is None else {LINEAR: linear[0]}
    if COMPONENTS in settings:
        size, recipe = int(settings[COMPONENTS]), cross.counts.recipe
        x, moments = np.ascontiguousarray(rows.quadratic[:, :size]), features.of_components.of(size)
        quadratic = cross_normal(cross, x, moments, [(settings[SHRINKAGE], recipe.quadratic_ridge)], folds)
        out |= {} if quadratic is None else {QUADRATIC: quadratic[0]}
    return out


# -- tables ------------------------------------------------------------------------------------------------------------


def add_linear(tables: TableBuilder) -> None:
    """Add the weighted slopes of all features."""
    if not (weight := tables.weights.get(LINEAR)):
        return
    features = tables.counts.features
    moments = features.moments
    means, within = moments.means, moments.products[0].copy()
    known = np.where(moments.n > 1e-9, 1 / np.maximum(moments.n, 1e-9), 0.0)
    within -= product((moments.sums * known[:, None]).T, moments.sums)
    within[np.diag_indices_from(within)] += tables.settings[RIDGE]
    slopes = float(moments.n.sum()) * solve_by_root(positive_root(within), np.ascontiguousarray(means.T)).T
    # Each direction has its share of the constants, so that a missing value contributes nothing. Only differences
    # between classes matter; without what all share the numbers stay small.
    constants = -0.5 * means * slopes
    constants -= constants.mean(axis=0)
    slopes -= slopes.mean(axis=0)
    tables.add_slopes(weight * product(features.directions, slopes.T))
    of_columns = np.zeros((len(features.grid.columns), len(slopes)))
    np.add.at(of_columns, features.owners, weight * constants.T)
    tables.add_constants(of_columns)


def add_quadratic(tables: TableBuilder) -> None:
    """Add the weighted quadratic form; its slopes join those of the features."""
    if not (weight := tables.weights.get(QUADRATIC)):
        return
    features, recipe = tables.counts.features, tables.counts.recipe
    size, alpha = int(tables.settings[COMPONENTS]), tables.settings[SHRINKAGE]
    components, moments = np.ascontiguousarray(features.components[:, :size]), features.of_components.of(size)
    n, means = moments.n, moments.means
    known = np.where(n > 1e-9, 1 / np.maximum(n, 1e-9), 0.0)
    scatters = moments.products - known[:, None, None] * moments.sums[:, :, None] * moments.sums[:, None, :]
    scatters[n < ENOUGH] = 0.0
    within, total = scatters.sum(axis=0), max(float(n.sum()), 1e-9)
    squares, slopes, constants = np.empty_like(scatters), np.empty_like(means), np.empty(len(n))
    for k, rows in enumerate(n.tolist()):
        own = alpha if rows >= ENOUGH else 1.0  # one row has no scatter of its own
        covariance = within * (own / total) + scatters[k] * ((1 - own) / max(rows, 1e-9))
        covariance[np.diag_indices_from(covariance)] += recipe.quadratic_ridge / total
        root = positive_root(covariance)
        half = solve_by_root(root, np.eye(len(root)))
        precision = (half + half.T) / 2
        squares[k], slopes[k] = -0.5 * precision, product(precision, means[k])
        constants[k] = -0.5 * dot(means[k], slopes[k]) - float(np.log(np.diagonal(root)).sum())
    squares, slopes, constants = (weight * (part - part.mean(axis=0)) for part in (squares, slopes, constants))
    tables.quadratic = QuadraticTable(tables.counts.joint.classes, tables.counts.grid, components, squares)
    tables.add_slopes(product(components, slopes.T), constants)


def positive_root(matrix: Floats) -> Floats:
    """Return the root of a matrix that a ridge has made positive; a larger ridge where that does not do.

    Rounding may leave it otherwise, and so may rows that were forgotten though they were not in the sample.
    """
    more = np.abs(np.diagonal(matrix))
    for power in range(-12, 13):
        if (root := cholesky(matrix)) is not None:
            return root
        large = np.max(more, initial=0.0) if power > 1 else 0.0
        matrix = matrix + np.diag((more + large) * 10.0**power + 1e-300)
    raise FloatingPointError("a covariance is not finite")


@dataclass(frozen=True)
class QuadraticTable:
    """A quadratic form of components, for each class; a component is a sum over numbers and categories."""

    classes: Axis
    grid: Grid
    components: Floats  # [feature of the grid, component]: indicators of categories, then numbers
    squares: Floats  # [class, component, component], symmetric; classes add up to 0

    @property
    def flags(self) -> int:
        """How many features are indicators."""
        return len(self.components) - len(self.grid.numbers)

    @cached_property
    def offsets(self) -> Longs:
        """Where the indicators of each column of categories begin."""
        offsets = self.grid.offsets[len(self.grid.numbers) :]
        return np.asarray(offsets - offsets[0])

    @property
    def columns_of_codes(self) -> list[tuple[int, int]]:
        """Where the indicators of each column of categories begin and end."""
        return list(pairwise(self.offsets.tolist()))

    @cached_property
    def _laid_out(self) -> Floats:
        """The squares as the kernel reads them: of all classes but the last, [class, cell]."""
        lower = np.tril(2 * self.squares[:-1], -1)
        size = -(-self.squares.shape[1] // TILE) * TILE
        whole = np.zeros((len(lower), size, size))
        whole[:, : lower.shape[1], : lower.shape[1]] = lower
        place = np.arange(lower.shape[1])
        whole[:, place, place] = np.einsum("kff->kf", self.squares[:-1])
        tiles = [whole[:, i : i + TILE, : i + TILE].transpose(0, 2, 1) for i in range(0, size, TILE)]
        return np.ascontiguousarray(np.concatenate([tile.reshape(len(whole), -1) for tile in tiles], axis=1))

    @cached_property
    def of_numbers(self) -> Floats:
        """The components of each number."""
        return np.ascontiguousarray(self.components[self.flags :])

    @cached_property
    def of_codes(self) -> Floats:
        """The components of each category."""
        return np.ascontiguousarray(self.components[: self.flags])

    def add_to(self, scorer: Scorer, x: Matrix, missing: bool = True) -> None:
        """Have the quadratic form of rows, given their cells on the grid, added to the scores."""
        codes = x.codes[:, len(self.grid.numbers) :]
        scorer.quadratic(x.level, codes, self.offsets, self.of_numbers, self.of_codes, self._laid_out)

    def contributions(self, x: Cells) -> Floats:
        """Return what each column contributes, [row, column of the grid, class].

        What two columns contribute together is shared between them equally, which is their Shapley value.
        """
        parts = np.zeros((len(x), len(self.grid.names), self.squares.shape[1]))
        numbers = len(self.grid.numbers)
        parts[:, :numbers] = x.level[:, :, None] * self.of_numbers
        for column, (begin, end) in enumerate(self.columns_of_codes, numbers):
            lines = np.vstack([self.of_codes[begin:end], np.zeros(parts.shape[2])])
            codes = x.codes[:, column]
            parts[:, column] = lines[np.where(codes < end - begin, codes, -1)]
        whole = parts.sum(axis=1)
        towards = np.einsum("kcd,nd->nck", self.squares, whole)
        return np.asarray(np.einsum("npc,nck->npk", parts, towards))

    def means(self, products: Floats, rows: float) -> Floats:
        """Return the mean contribution of each column, [column, class], given products of features of all rows."""
        along = product(products, self.components) / max(rows, 1e-300)  # [feature, component]
        each = np.einsum("fc,kcf->fk", self.components, product(self.squares, np.ascontiguousarray(along.T)))
        starts = np.concatenate([self.flags + np.arange(len(self.grid.numbers)), self.offsets[:-1]]).astype(np.int64)
        sizes = np.concatenate([np.ones(len(self.grid.numbers), dtype=np.int64), np.diff(self.offsets)])
        return np.stack([each[begin : begin + size].sum(axis=0) for begin, size in zip(starts, sizes, strict=True)])
