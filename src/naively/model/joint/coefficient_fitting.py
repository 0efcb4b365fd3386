"""Fits coefficients of values, then of pairs, as far as held-out rows want them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._linear_algebra import dot
from ..._types import Floats, Places
from .coefficients import (
    COEFFICIENTS,
    MOST_CELLS,
    MOST_COEFFICIENTS,
    CellLayout,
    CoefficientProblem,
    CoefficientRows,
    Coefficients,
    Penalty,
    RidgePath,
)
from .joint_fit import JointFit
from .pairs import PAIR
from .sample import FittingRows
from .tables import TermCounts


@dataclass(frozen=True, eq=False)
class CoefficientFitting:
    """Rows, their held-out scores under the weights, and what coefficients are tried on them."""

    counts: TermCounts
    rows: FittingRows
    fit: JointFit
    scores: Floats  # [class, row], each by counts without its fold
    parts: tuple[tuple[slice, Floats], ...]  # rows that measure, and scores by counts without these, [class, row]

    def fitted(self) -> tuple[Coefficients, dict[str, float]] | None:
        """Return the coefficients, and the held-out log loss by stage; None where they do not clearly gain."""
        if COEFFICIENTS in self.counts.recipe.left_out or not self.fit.weights:
            return None
        found, losses, before = None, dict[str, float](), None
        for name, layout in self.layouts():
            path = self.path(layout, before)
            if path is None or (ridge := path.best()) is None:
                continue
            before = path.losses_under(ridge)
            weights = np.concatenate(path.weights)
            losses[f"coefficients of {name}"] = dot(weights, np.concatenate(before)) / float(weights.sum())
            found = layout, ridge
        if found is None:
            return None
        layout, ridge = found
        # Fitted as they were measured: by the same steps, from the strongest ridge down.
        problem = self.problem(layout, self.scores, slice(None))
        table = problem.coefficients(problem.follow(ridge)).astype(np.float32).astype(np.float64)  # as files hold them
        return Coefficients(layout.pairs, table, ridge), losses

    def layouts(self) -> list[tuple[str, CellLayout]]:
        """Return which cells may have coefficients: all values, then those of the pairs of largest weight, too."""
        grid, classes = self.counts.grid, len(self.counts.prior)
        columns, rows = len(grid.names), float(self.rows.effective.sum())
        deep = int(MOST_CELLS / (classes * max(rows, 1.0))) - columns
        values = CellLayout(grid, ())
        if not columns or values.size * classes > MOST_COEFFICIENTS or deep < 0:
            return []
        pairs = pairs_by_weight(self.fit)
        sizes = np.diff(CellLayout(grid, pairs).starts)[columns:-1]
        room = min(MOST_COEFFICIENTS // classes, int(self.counts.recipe.coefficients_per_row * rows)) - values.size
        chosen = tuple(sorted(pairs[: min(int((np.cumsum(sizes) <= room).sum()), deep)]))
        return [("values", values), *([("pairs", CellLayout(grid, chosen))] if chosen else [])]

    def path(self, layout: CellLayout, before: Sequence[Floats] | None) -> RidgePath | None:
        """Return the held-out loss under each ridge, against what was chosen before; None where there is no gain."""
        path = RidgePath(self.counts.recipe.coefficient_ridges)
        for at, (test, scores) in enumerate(self.parts):
            if before is not None and at == len(before):
                break
            rest = np.setdiff1d(np.arange(len(self.rows)), np.arange(len(self.rows))[test])
            problem, apart = self.problem(layout, scores, rest), self.rows_with(layout, scores, test)
            path.follow(problem, apart, apart.losses() if before is None else before[at])
            last = at == len(self.parts) - 1
            if not path.gains() and (at > 0 or last):
                return None
        return path if self.parts else None

    @cached_property
    def _truth(self) -> Floats:
        """The proportions of classes, [row, class]."""
        out = np.zeros(self.scores.shape)
        self.rows.truth.add_to(out, np.ones(len(self.rows)))
        return np.ascontiguousarray(out.T)

    def rows_with(self, layout: CellLayout, scores: Floats, rows: slice | Places) -> CoefficientRows:
        """Return some of the rows with these scores, [class, row]."""
        places = layout.places(self.rows.cells.take(rows))
        return CoefficientRows.of(places, scores[:, rows], self._truth[rows], self.rows.effective[rows])

    def problem(self, layout: CellLayout, scores: Floats, rows: slice | Places) -> CoefficientProblem:
        """Return the problem of fitting coefficients to some rows."""
        penalty = Penalty.of(layout, self.counts)
        return CoefficientProblem(self.rows_with(layout, scores, rows), penalty, len(self.counts.prior))


def pairs_by_weight(fit: JointFit) -> tuple[tuple[int, int], ...]:
    """Return the pairs of columns that have a weight of their own, the largest first."""
    found = dict[tuple[int, int], float]()
    for term in fit.own:
        if term.kind == PAIR:
            i, j = term.columns
            found[i, j] = found.get((i, j), 0.0) + fit.weights.get(term, 0.0)
    return tuple(sorted((pair for pair in found if found[pair] > 0), key=lambda pair: (-found[pair], pair)))
