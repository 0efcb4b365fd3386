"""Linear and quadratic terms: normal densities of all columns at once, so that nothing common to two counts twice.

Features are the numbers, and for each column of labels directions in which its flags differ. With one covariance for
all classes the log-density is linear in the features, up to what all classes share (discriminant analysis); with one
for each class it is quadratic. Few rows of a class tell little about its covariance: Σ_c = (1 - α) S_c / n_c +
(α W + λ I) / n, with S_c the scatter of the class and W that within all classes (Friedman 1989). α = 1 is the linear
term. The scores split into columns and pairs of columns. The constants split into columns, too, so that a missing value
contributes nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ... import _kernels
from ..._linear_algebra import cholesky, log_determinants, product, solve_by_root
from ..._threads import threads_here
from ..._types import Bytes, Floats, Longs, Matrices
from ...data.grid import Cells, Grid
from ...families.family import ScoreTerm
from ...stats.accumulators import offsets_of
from ...stats.pairs import JointCounts
from ..recipe import Recipe
from .terms import CELLS, Term, TermKind

if TYPE_CHECKING:
    from .cross_fit import CrossFit
    from .model import JointModel
    from .tables import TableBuilder

LINEAR, QUADRATIC = Term("linear", None), Term("quadratic", None)
# Rows of a class that have a mean and a scatter of their own: two, but for the rounding of fractional weights.
ENOUGH = 2.0 - 1e-9
# What was chosen, by name, next to the settings of other terms.
LINEAR_RIDGE, ALPHA, RIDGE = "linear ridge", "quadratic shrinkage", "quadratic ridge"


class Shrinkage(NamedTuple):
    """How far the covariance of a class is shrunk: α towards that within all classes, λ towards none."""

    alpha: float
    ridge: float


class NormalParts(NamedTuple):
    """Scores as x·squares·x + slopes·x + constants, by class, up to what all classes share; x are directions."""

    squares: Floats | None  # [class, direction, direction], symmetric; None if all classes share them
    slopes: Floats  # [class, direction]
    constants: Floats  # [class, column of the grid]


@dataclass(frozen=True)
class NormalScores:
    """Normal densities of the features of some counts.

    The flags of a column of labels, centred at their proportions among the rows that have a value, add up to 0. So a
    column of k labels has k - 1 directions. Those of labels come first, then the numbers.
    """

    joint: JointCounts
    recipe: Recipe

    @property
    def grid(self) -> Grid:
        """The bins and labels that are counted."""
        grid: Grid = self.joint.grid
        return grid

    @property
    def first(self) -> int:
        """The first feature that is a flag of a label."""
        return 1 + int(self.grid.offsets[len(self.grid.numbers)])

    @cached_property
    def sizes(self) -> list[int]:
        """How many directions each column of labels has."""
        return [max(values.size - 1, 0) for values in self.grid.labels]

    @cached_property
    def size(self) -> int:
        """How many directions there are."""
        return sum(self.sizes) + len(self.grid.numbers)

    @cached_property
    def starts(self) -> Longs:
        """Where the directions of each column begin: columns of labels, then numbers."""
        return offsets_of(np.array([*self.sizes, *(1 for _ in self.grid.numbers)], dtype=np.int64))

    @cached_property
    def directions(self) -> Floats:
        """The directions of each feature, [feature, direction]: centred, and at right angles to each other."""
        flags = self.grid.features - self.first - len(self.grid.numbers)
        out = np.zeros((flags + len(self.grid.numbers), self.size))
        out[flags:, self.size - len(self.grid.numbers) :] = np.eye(len(self.grid.numbers))
        rows = self.joint.products[:, 0, self.first : self.first + flags].sum(axis=0)
        for at, (begin, end) in enumerate(pairwise(self.starts[: len(self.sizes) + 1].tolist())):
            own = self.grid.flags(at + len(self.grid.numbers))
            part = slice(own.start - self.first, own.stop - self.first)
            shares = rows[part] / max(float(rows[part].sum()), 1e-300)
            lines = contrasts(part.stop - part.start)
            out[part, begin:end] = lines - product(shares, lines)
        return out

    @cached_property
    def by_class(self) -> bool:
        """Whether covariances of all classes take so little time and memory that there is a quadratic term."""
        classes, recipe = len(self.joint.classes), self.recipe
        return 0 < self.size <= recipe.quadratic_features and classes * self.size**2 <= recipe.quadratic_cells

    @cached_property
    def moments(self) -> tuple[Floats, Floats, Floats]:
        """The rows of each class, their sums [class, direction], and their products [class, direction, direction].

        Products are those of all classes together, [1, …], where there is no quadratic term.
        """
        to, products = self.directions, self.joint.products[:, self.first :, self.first :]
        if not self.by_class:
            products = products.sum(axis=0, keepdims=True)
        if self.sizes:  # a column of a single label has no direction
            products = np.stack([product(product(to.T, part), to) for part in products])
        sums = product(np.ascontiguousarray(self.joint.products[:, 0, self.first :]), to)
        return np.ascontiguousarray(self.joint.products[:, 0, 0]), sums, np.ascontiguousarray(products)

    def rows(self, cells: Cells) -> tuple[Floats, Bytes | None]:
        """Return rows along the directions, a missing value 0, and which of their columns are missing, if any is."""
        numbers, out = len(self.grid.numbers), np.zeros((len(cells), self.size))
        missing = np.empty((len(cells), len(self.sizes) + numbers), dtype=np.uint8)
        for at, (begin, end) in enumerate(pairwise(self.starts[: len(self.sizes) + 1].tolist())):
            own, codes = self.grid.flags(at + numbers), cells.codes[:, at + numbers]
            lines = self.directions[own.start - self.first : own.stop - self.first, begin:end]
            lines = np.vstack([lines, np.zeros(end - begin)])
            out[:, begin:end] = lines[np.where(codes < len(lines) - 1, codes, -1)]
            missing[:, at] = codes < 0
        out[:, self.size - numbers :] = cells.level
        missing[:, len(self.sizes) :] = cells.fine < 0
        return out, missing if missing.any() else None

    # -- covariances ----------------------------------------------------------------------------------------------

    @cached_property
    def means(self) -> Floats:
        """The mean of each class, [class, direction]; a class of less than two rows has that of all rows."""
        rows, sums, _ = self.moments
        overall, enough = sums.sum(axis=0) / max(rows.sum(), 1e-300), (rows >= ENOUGH)[:, None]
        return np.where(enough, sums / np.where(enough, rows[:, None], 1.0), overall)

    @cached_property
    def scatters(self) -> Floats:
        """The scatter of each class, or that within all of them, [class or 1, direction, direction]."""
        rows, sums, products = self.moments
        known = np.where(rows > 1e-9, 1 / np.maximum(rows, 1e-9), 0.0)
        if not self.by_class:
            return np.asarray(products - product((sums * known[:, None]).T, sums))
        out = products - known[:, None, None] * sums[:, :, None] * sums[:, None, :]
        out[rows < ENOUGH] = 0.0
        return np.asarray(out)

    def linear_parts(self, ridge: float) -> NormalParts:
        """Return what linear scores are the sum of."""
        within, rows = self.scatters.sum(axis=0), self.moments[0]
        within[np.diag_indices_from(within)] += ridge
        slopes = rows.sum() * solve_by_root(positive_root(within), self.means.T).T
        return NormalParts(None, slopes, self._by_column(-0.5 * self.means * slopes))

    def parts(self, by: Shrinkage) -> NormalParts:
        """Return what quadratic scores are the sum of."""
        rows, within = self.moments[0], self.scatters.sum(axis=0)
        whole, squares = float(max(rows.sum(), 1e-9)), np.empty_like(self.scatters)
        slopes, constants = np.empty_like(self.means), np.empty((len(rows), len(self.starts) - 1))
        for k, size in enumerate(rows.tolist()):
            alpha = by.alpha if size >= ENOUGH else 1.0  # one row has no scatter of its own
            covariance = within * (alpha / whole) + (self.scatters[k] * ((1 - alpha) / size) if size >= ENOUGH else 0.0)
            covariance[np.diag_indices_from(covariance)] += by.ridge / whole
            root = positive_root(covariance)
            half = solve_by_root(root, np.eye(len(root)))
            precision = (half + half.T) / 2
            log_det = 2 * float(np.log(np.diagonal(root)).sum())
            squares[k], slopes[k] = -0.5 * precision, product(precision, self.means[k])
            constants[k] = self._constants(covariance, precision, log_det, self.means[k] * slopes[k])
        found = NormalParts(squares, slopes, self._in_grid_order(constants))
        return NormalParts(*(part - part.mean(axis=0) for part in found if part is not None))

    def _constants(self, covariance: Floats, precision: Floats, log_det: float, means: Floats) -> Floats:
        """Return the constant of each column for a class: of all columns together they add up to the whole.

        The logarithm of a determinant splits into columns: the first one adds that of its own covariance, the last one
        that of what the others leave of it. No column is first or last: so each adds a value between both, at the same
        place for all of them.
        """
        first, last = self._log_dets(covariance), -self._log_dets(precision)
        spread = float((first - last).sum())
        share = (log_det - float(last.sum())) / spread if spread > 1e-9 else 0.5
        of_columns = np.add.reduceat(np.append(means, 0.0), self.starts[:-1]) * (np.diff(self.starts) > 0)
        return np.asarray(-0.5 * (last + share * (first - last) + of_columns))

    def _log_dets(self, matrix: Floats) -> Floats:
        """Return the logarithm of the determinant of the part of each column."""
        out, sizes = np.zeros(len(self.starts) - 1), np.diff(self.starts)
        for size in sorted({*sizes.tolist()} - {0}):
            some = np.flatnonzero(sizes == size)
            at = self.starts[some][:, None] + np.arange(size)
            out[some] = log_determinants(matrix[at[:, :, None], at[:, None, :]])
        return out

    def _by_column(self, constants: Floats) -> Floats:
        """Return the sum over the directions of each column, [class, column of the grid]."""
        padded = np.column_stack([constants, np.zeros(len(constants))])
        return self._in_grid_order(np.add.reduceat(padded, self.starts[:-1], axis=1) * (np.diff(self.starts) > 0))

    def _in_grid_order(self, of_columns: Floats) -> Floats:
        """Return values of columns with numbers first, as the grid has them."""
        return np.roll(of_columns, len(self.grid.numbers), axis=1)

    def feature_slopes(self, slopes: Floats) -> Floats:
        """Return the slope of each feature of the grid, [feature, class], given those of directions."""
        out = np.zeros((self.grid.features, len(slopes)))
        out[self.first :] = product(self.directions, slopes.T)
        return out


def positive_root(matrix: Floats) -> Floats:
    """Return the root of a matrix that a ridge has made positive; where rounding leaves it so no more, more of it."""
    more = np.abs(np.diagonal(matrix))
    for power in range(-12, 2):
        if (root := cholesky(matrix)) is not None:
            return root
        matrix = matrix + np.diag(more * 10.0**power + 1e-300)
    raise FloatingPointError("a covariance is not finite")


def contrasts(size: int) -> Floats:
    """Return directions at right angles to each other in which numbers of so many flags add up to 0.

    >>> contrasts(2).round(3).tolist()
    [[0.707], [-0.707]]
    """
    at = np.arange(1, max(size, 1))
    below = np.arange(max(size, 1))[:, None] < at
    out = np.where(below, 1.0, np.where(np.arange(max(size, 1))[:, None] == at, -at, 0.0))
    return np.asarray(out / np.sqrt(at * (at + 1.0)))[:size]


def cross_normal(cross: CrossFit, settings: list[Shrinkage], folds: int) -> Floats | None:
    """Return the scores of the rows of the first folds by counts without each fold, [setting, class, row].

    None where a covariance is not positive.
    """
    scores: NormalScores = cross.counts.normal
    x, missing = cross.rows.along(scores)
    rows, sums, products = scores.moments
    out = np.empty((len(settings), len(rows), len(x)))
    about = (x, missing, scores.starts, rows, sums, products, *cross.folded)
    given = np.array(settings, dtype=np.float64).reshape(-1, 2)
    good = _kernels.cross_normal(*about, given, folds, out, threads_here())
    return out if good else None


class NormalTerms(TermKind):
    """Linear and quadratic scores of all columns at once."""

    name = "normal"
    beside = "all columns at once"
    joint = True

    def holds(self, term: Term) -> bool:
        """Tell whether a term is the linear or the quadratic one."""
        return term in (LINEAR, QUADRATIC)

    def title(self, term: Term) -> str:
        """Return what a term is, in words."""
        return "all columns at once" + (", with a covariance for each class" if term == QUADRATIC else "")

    def values(self, cross: CrossFit) -> Iterator[tuple[Term, Floats]]:
        """Give the terms of rows by counts without their fold, [class, row], shrunk as was chosen."""
        chosen = cross.ridges
        if LINEAR_RIDGE not in chosen:
            return
        settings = [Shrinkage(1.0, chosen[LINEAR_RIDGE])]
        if ALPHA in chosen:
            settings.append(Shrinkage(chosen[ALPHA], chosen[RIDGE]))
        found = cross_normal(cross, settings, len(cross.rows.folds))
        if found is not None:
            yield from zip((LINEAR, QUADRATIC), found, strict=False)

    def add_tables(self, tables: TableBuilder) -> None:
        """Add the weighted slopes of all features, and what the quadratic term adds by column and pair of labels."""
        from .quadratic_tables import QuadraticTable

        scores = tables.counts.normal
        if weight := tables.weights.get(LINEAR):
            parts = scores.linear_parts(tables.ridges[LINEAR_RIDGE])
            # Only differences between classes matter; without what all share the numbers stay small.
            slopes, constants = (weight * (part - part.mean(axis=0)) for part in (parts.slopes, parts.constants))
            tables.add_linear(scores.feature_slopes(slopes), constants.T)
        if weight := tables.weights.get(QUADRATIC):
            shrinkage = Shrinkage(tables.ridges[ALPHA], tables.ridges[RIDGE])
            table = QuadraticTable.of(tables.counts, shrinkage, weight)
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
