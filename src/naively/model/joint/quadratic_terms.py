"""The quadratic term of all columns at once: a normal distribution with a covariance for each class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..._types import Floats, Matrices, Places, Singles
from ...families.family import ScoreTerm
from .linear import log_loss
from .quadratic import QuadraticScores, Shrinkage
from .quadratic_tables import QuadraticTable
from .soft_rows import RowClasses
from .tables import TableBuilder
from .term_counts import TermCounts
from .terms import CELLS, LeaveOneOut, Term, TermKind, TermValues

if TYPE_CHECKING:
    from .model import JointModel

QUADRATIC = Term("quadratic", None)
# What was chosen, by name, beside the ridges of other terms.
ALPHA, RIDGE = "quadratic shrinkage", "quadratic ridge"


class QuadraticTerms(TermKind):
    """Quadratic discriminant scores."""

    name = "quadratic"
    beside = "products of columns by class"
    joint = True
    sum_rank, table_rank = 7, 10  # after pairs, whose tables the products of flags join

    def holds(self, term: Term) -> bool:
        """Tell whether a term is the quadratic one."""
        return term.kind == QUADRATIC.kind

    def title(self, term: Term) -> str:
        """Return what a term is, in words."""
        return "all columns at once, with a covariance for each class"

    def fit(self, held: LeaveOneOut) -> Iterator[tuple[Term, Singles]]:
        """Give the leave-one-out term of rows, shrunk so that the leave-one-out log loss is least."""
        if not quadratic_is_affordable(held.counts):
            return
        rows = QuadraticRows(held)
        by, found = rows.best_shrinkage()
        held.ridges[ALPHA], held.ridges[RIDGE] = by
        yield QUADRATIC, (rows.scores(by) if found is None else found).astype(np.float32)

    def leave_one_out(self, held: LeaveOneOut, weights: Mapping[Term, float]) -> Iterator[tuple[Term, TermValues]]:
        """Give the term if it has a weight, shrunk as was chosen."""
        if weights.get(QUADRATIC):
            yield QUADRATIC, QuadraticRows(held).scores(chosen_shrinkage(held.ridges))

    def add_tables(self, tables: TableBuilder) -> None:
        """Add what the term adds up to by column and by pair of labels; the rest is a term of the score."""
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
    size, recipe = sum(QuadraticScores(counts.linear("numbers")).sizes), counts.recipe
    return 0 < size <= recipe.quadratic_features and len(counts.prior) * size**2 <= recipe.quadratic_cells


def chosen_shrinkage(ridges: Mapping[str, float]) -> Shrinkage:
    """Return the shrinkage that was chosen."""
    return Shrinkage(ridges[ALPHA], ridges[RIDGE])


class QuadraticRows:
    """Rows that are left out, with their features."""

    def __init__(self, held: LeaveOneOut) -> None:
        cells, grid = held.sample.cells, held.counts.grid
        self.held, self.quadratic = held, QuadraticScores(held.counts.linear("numbers"))
        self.missing = np.hstack([cells.fine < 0, cells.codes[:, len(grid.numbers) :] < 0]).astype(np.float64)
        self.x = self.quadratic.rows(cells)

    def scores(self, by: Shrinkage, rows: Places | slice = slice(None)) -> Floats:
        """Return the leave-one-out scores of rows, [class, row]."""
        held = self.held.rows if isinstance(rows, slice) else self.held.rows.some(rows)
        return self.quadratic.scores_left_out(self.x[rows], self.missing[rows], held, by)

    def best_shrinkage(self) -> tuple[Shrinkage, Floats | None]:
        """Return the shrinkage of least leave-one-out log loss, and the scores with it where all rows were used.

        Downhill from the middle: first along α, then along λ, and along α again where λ changed.
        """
        recipe, total = self.held.counts.recipe, len(self.x)
        alphas, ridges = recipe.quadratic_alphas, recipe.quadratic_ridges
        tried = TriedShrinkages(self, np.arange(min(total, recipe.linear_rows)))
        at = (len(alphas) // 2 - 1, 0)

        def loss(alpha: int, ridge: int) -> float:
            return tried.loss(Shrinkage(alphas[alpha], ridges[ridge]))

        while True:
            alpha = lowest_near(at[0], len(alphas), partial(loss, ridge=at[1]))
            before, at = at, (alpha, lowest_near(at[1], len(ridges), partial(loss, alpha)))
            if at[1] == before[1]:
                break
        best = Shrinkage(alphas[at[0]], ridges[at[1]])
        return best, tried.scores[best] if len(tried.rows) == total else None


class TriedShrinkages:
    """The leave-one-out log loss of some rows under each shrinkage that was tried, with the best weight of several."""

    def __init__(self, rows: QuadraticRows, some: Places) -> None:
        out = rows.held.rows.some(some)
        self.of, self.rows, self.truth = rows, some, RowClasses(out.y, out.soft)
        self.scores: dict[Shrinkage, Floats] = {}
        self._losses: dict[Shrinkage, float] = {}
        self._weight = len(rows.held.counts.recipe.linear_weights) // 2  # the best so far, to start from

    def loss(self, by: Shrinkage) -> float:
        """Return the loss; it is convex in the weight."""
        if by not in self._losses:
            held = self.of.held
            weights, prior, rows = held.counts.recipe.linear_weights, held.counts.prior[:, None], held.sample.weights
            scores = self.scores[by] = self.of.scores(by, self.rows)
            losses = dict[int, float]()

            def weighted(at: int) -> float:
                if at not in losses:
                    losses[at] = log_loss(prior + weights[at] * scores, self.truth, rows[self.rows])
                return losses[at]

            self._weight = lowest_near(self._weight, len(weights), weighted)
            self._losses[by] = losses[self._weight]
        return self._losses[by]


def lowest_near(start: int, size: int, of: Callable[[int], float]) -> int:
    """Return where a function of whole numbers below a size is lowest, going downhill from a start."""
    at = start
    for step in (1, -1):
        while 0 <= at + step < size and of(at + step) < of(at):
            at += step
        if at != start:
            break
    return at
