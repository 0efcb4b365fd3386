"""Quadratic discriminant scores: the log-density of a normal distribution with a covariance for each class.

Few rows of a class tell little about its covariance. So it is shrunk towards the covariance within all classes, and by
a ridge: Σ_c = (1 - α) S_c / n_c + (α W + λ I) / n, with S_c the scatter of the class and W that within all classes
(regularized discriminant analysis, Friedman 1989). The scores are sums of features and of products of two features: so
they split into columns and pairs of columns. The constants split into columns, so that a missing value contributes
nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..._linear_algebra import cholesky, log_determinants, product, solve_by_root
from ..._types import Floats, Longs, Matrices, Singles
from ...data.grid import Cells, Grid
from ...families.family import ScoreTerm
from .left_out import precision_of
from .linear import LinearScores
from .terms import CELLS, HeldOut, Term, TermKind

if TYPE_CHECKING:
    from .model import JointModel
    from .tables import TableBuilder
    from .term_counts import TermCounts

QUADRATIC = Term("quadratic", None)
# What was chosen, by name, beside the ridges of other terms.
ALPHA, RIDGE = "quadratic shrinkage", "quadratic ridge"


class Shrinkage(NamedTuple):
    """How far the covariance of a class is shrunk: α towards that within all classes, λ towards none."""

    alpha: float
    ridge: float

    def for_rows(self, rows: float) -> float:
        """Return α for a class of so many rows: one row has no scatter, and is left to that within all classes."""
        return self.alpha if rows >= 2 else 1.0


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

    # -- scoring --------------------------------------------------------------------------------------------------

    def scores(self, x: Singles | Floats, missing: Floats, by: Shrinkage) -> Floats:
        """Return the score of each class and row, [class, row]; x are rows along directions."""
        whole, found = float(max(self.linear.rows.sum(), 1e-9)), np.empty((len(self.linear.rows), len(x)))
        constants, known = np.zeros((len(found), len(self.columns))), not missing.any()
        for k, size in enumerate(self.linear.rows.tolist()):
            covariance = self.covariance(k, by, size, whole)
            precision = inverted(covariance)
            if not known:
                constants[k] = self._constants(k, covariance, precision)
            away = x - self.means[k].astype(x.dtype)
            far = np.einsum("rd,rd->r", product(away, precision.matrix.astype(x.dtype)), away)
            found[k] = -0.5 * (far + precision.log_det)
        if not known:
            found -= product(constants, missing.T)
        return np.asarray(found - found.max(axis=0))

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


class QuadraticTerms(TermKind):
    """Quadratic discriminant scores."""

    name = "quadratic"
    beside = "products of columns by class"
    joint = True

    def holds(self, term: Term) -> bool:
        """Tell whether a term is the quadratic one."""
        return term.kind == QUADRATIC.kind

    def title(self, term: Term) -> str:
        """Return what a term is, in words."""
        return "all columns at once, with a covariance for each class"

    def values(self, held: HeldOut) -> Iterator[tuple[Term, Floats]]:
        """Give the term of rows by counts, [class, row], shrunk as was chosen."""
        if ALPHA in held.ridges:
            yield QUADRATIC, quadratic_scores(held, chosen_shrinkage(held.ridges))

    def add_tables(self, tables: TableBuilder) -> None:
        """Add what the term adds up to by column and by pair of labels; the rest is a term of the score."""
        from .quadratic_tables import QuadraticTable

        if weight := tables.weights.get(QUADRATIC):
            table = QuadraticTable.of(tables.counts, chosen_shrinkage(tables.ridges), weight)
            tables.add_linear(table.feature_slopes, table.constants)
            tables.set_pairs(table.with_pairs_of_labels(tables.pairs))
            tables.quadratic = table

    def score_terms(self, model: JointModel, weights: Mapping[Term, float]) -> dict[str, ScoreTerm]:
        """Return the products of numbers with each other and with flags."""
        table = model.tables.quadratic
        return {} if table is None or not model.counts.grid.numbers else {CELLS: table}

    def contributions(self, model: JointModel, columns: Matrices, threads: int) -> Iterator[tuple[str, Floats]]:
        """Give the contributions of the squares of numbers, and of the products of two columns with a number."""
        if (table := model.tables.quadratic) is not None:
            names = model.counts.grid.names
            for (i, j), scores in table.contributions(columns[CELLS]):
                yield (names[i] if i == j else model.pair_names[i, j]), scores


def quadratic_is_affordable(counts: TermCounts) -> bool:
    """Tell whether covariances of all features take so little time and memory that there is a term."""
    size, recipe = sum(counts.quadratic.sizes), counts.recipe
    return 0 < size <= recipe.quadratic_features and len(counts.prior) * size**2 <= recipe.quadratic_cells


def chosen_shrinkage(ridges: Mapping[str, float]) -> Shrinkage:
    """Return the shrinkage that was chosen."""
    return Shrinkage(ridges[ALPHA], ridges[RIDGE])


def quadratic_scores(held: HeldOut, by: Shrinkage) -> Floats:
    """Return the scores of rows by counts, [class, row]."""
    cells, numbers, scores = held.rows.cells, len(held.counts.grid.numbers), held.counts.quadratic
    missing = np.hstack([cells.fine < 0, cells.codes[:, numbers:] < 0]).astype(np.float64)
    return scores.scores(scores.rows(cells), missing, by)
