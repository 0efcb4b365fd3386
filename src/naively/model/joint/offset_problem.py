"""Offsets of cells by least log loss with ridges: neighboring bins are tied, and follow a line where that is enough."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..._kernels import fit_offsets, offset_loss
from ..._linear_algebra import dot, product
from ..._threads import threads_here
from ..._types import Codes, Floats, Longs
from ...families.family import padded
from ..recipe import Recipe
from .cell_offsets import CellLayout
from .term_counts import TermCounts

# The score of classes that only fill up the lines of tables: their probability is 0.
NO_CLASS = -1e30


@dataclass(frozen=True, eq=False)
class OffsetPenalty:
    """How strongly offsets are pulled: each towards 0, and those of neighbors towards each other.

    Offsets of bins of a number are a line plus deviations from it. The line is pulled less than what deviates from it,
    and offsets of pairs of columns are pulled more than those of columns: what two columns share is small beside each.
    """

    size: int  # how many offsets there are
    pulls: Floats  # of each, as a multiple of the ridge
    fixed: Floats  # the same, whatever the ridge
    runs: tuple[tuple[slice, Floats], ...]  # bins of numbers, and where each lies on a common scale
    recipe: Recipe

    @classmethod
    def of(cls, layout: CellLayout, counts: TermCounts) -> OffsetPenalty:
        """Return the penalty of the offsets of a layout."""
        recipe, pulls, fixed = counts.recipe, np.ones(layout.size), np.zeros(layout.size)
        runs = []
        for at in range(len(layout.grid.numbers)):
            part, n = layout.column(at), counts.fine(at).sum(axis=0)
            if len(n) > 1:
                pulls[part] = recipe.offset_deviation_pull
                runs.append((part, standard_positions(n)))
        for at in range(len(layout.pairs)):
            pulls[layout.pair(at)] = recipe.offset_pair_pull
        pulls[-1], fixed[-1] = 0.0, recipe.bias_ridge
        return cls(layout.size, pulls, fixed, tuple(runs), recipe)

    @cached_property
    def tied(self) -> Floats:
        """1 for every offset that has a neighbor after it, else 0."""
        out = np.zeros(self.size)
        for run, _ in self.runs:
            out[run.start : run.stop - 1] = 1.0
        return out

    @cached_property
    def ends(self) -> Longs:
        """Where each run begins and ends, [run, 2]."""
        return np.array([(run.start, run.stop) for run, _ in self.runs], dtype=np.int64).reshape(-1, 2)

    @cached_property
    def positions(self) -> Floats:
        """Where each offset lies in its run; 0 for those in none."""
        out = np.zeros(self.size)
        for run, positions in self.runs:
            out[run] = positions
        return out

    @cached_property
    def parameters(self) -> int:
        """How many parameters a class has: offsets, and the slope of each number."""
        return self.size + len(self.runs)

    def offsets(self, v: Floats) -> Floats:
        """Return all offsets [offset, class], given deviations and then slopes [parameter, class]."""
        out = v[: self.size].copy()
        for slope, (run, positions) in zip(v[self.size :], self.runs, strict=True):
            out[run] += positions[:, None] * slope
        return out

    def of_parameters(self, slope: Floats) -> Floats:
        """Return the slope of a function of the offsets in each parameter."""
        out = np.empty((self.parameters, slope.shape[1]))
        out[: self.size] = slope
        for at, (run, positions) in enumerate(self.runs, self.size):
            out[at] = product(positions, slope[run])
        return out

    def curve(self, ridge: float) -> Floats:
        """Return the curvature along each parameter."""
        out, tied = self.pulls_under(ridge), self.tied * (ridge * self.recipe.offset_neighbor_pull)
        out[1 : self.size] += tied[:-1]
        out[: self.size] += tied
        return out

    def pulls_under(self, ridge: float) -> Floats:
        """Return the pull of each parameter towards 0."""
        lines = np.full(len(self.runs), ridge * self.recipe.offset_line_pull)
        return np.concatenate([ridge * self.pulls + self.fixed, lines])


def standard_positions(n: Floats) -> Floats:
    """Return places 0, 1, 2, … less their mean over their deviation, given the rows at each."""
    total = max(float(n.sum()), 1e-300)
    at = np.arange(len(n), dtype=np.float64)
    at -= dot(at, n) / total
    spread = float(np.sqrt(dot(at**2, n) / total))
    return at / spread if spread > 0 else at


class OffsetRows(NamedTuple):
    """Rows that offsets are fitted to: their places among the offsets, their scores, their classes and weights."""

    places: Codes
    scores: Floats  # [row, class], padded
    truth: Floats  # [row, class], padded
    weights: Floats

    @classmethod
    def of(cls, places: Codes, scores: Floats, truth: Floats, weights: Floats) -> OffsetRows:
        """Return rows, given their scores [class, row] and the probabilities of their classes [row, class]."""
        classes = len(scores)
        wide = padded(np.ascontiguousarray(scores.T))
        wide[:, classes:] = NO_CLASS
        return cls(places, wide, padded(truth), weights)

    def some(self, rows: Longs) -> OffsetRows:
        """Return some of the rows."""
        return OffsetRows(self.places[rows], self.scores[rows], self.truth[rows], self.weights[rows])

    def losses(self, table: Floats | None = None) -> Floats:
        """Return the log loss of each row, with these offsets if any, [offset, class]."""
        z = self.scores.copy()
        if table is not None:
            known = padded(np.vstack([table, np.zeros((1, table.shape[1]))]))
            for column in self.places.T:
                z += known[column]
        z -= z.max(axis=1, keepdims=True)
        logs = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
        return np.asarray(-np.where(self.truth > 0, self.truth * logs, 0.0).sum(axis=1))


class OffsetProblem:
    """Minimize the log loss of rows over the offsets of their cells, with a penalty.

    Parameters are padded to whole vectors of classes, as the kernels read them; those of no class stay 0.
    """

    def __init__(self, rows: OffsetRows, penalty: OffsetPenalty, classes: int) -> None:
        self.rows, self.penalty, self.classes = rows, penalty, classes
        self._curve = self._curvature()

    def _curvature(self) -> Floats:
        """Return the curvature of the loss along each parameter where all offsets are 0, [parameter, class]."""
        rows, size = self.rows, self.penalty.size
        z = rows.scores - rows.scores.max(axis=1, keepdims=True)
        p = np.exp(z)
        p /= p.sum(axis=1, keepdims=True)
        heavy = p * (1 - p) * rows.weights[:, None]
        of_cells = np.zeros((size + 1, p.shape[1]))
        flat = rows.places.ravel()
        for k in range(self.classes):
            weights = np.repeat(heavy[:, k], rows.places.shape[1])
            of_cells[:, k] = np.bincount(flat, weights, size + 1)
        out = self.penalty.of_parameters(of_cells[:size])
        for at, (run, positions) in enumerate(self.penalty.runs, size):
            out[at] = product(positions**2, of_cells[run])
        return out

    def fall(self, v: Floats) -> float:
        """Return by how much these parameters let the loss of the rows fall, without the penalty."""
        table, none = (np.zeros((self.penalty.size + 1, v.shape[1])) for _ in range(2))
        table[:-1] = self.penalty.offsets(v)
        before, after = (offset_loss(*self.rows, offsets, None, threads_here()) for offsets in (none, table))
        return before - after

    def effective_number(self, ridge: float) -> float:
        """Return how many parameters there are, each by how little the penalty holds it."""
        free = self._curve / (self._curve + self.penalty.curve(ridge)[:, None])
        return float(free.sum()) * (1 - 1 / self.classes)

    def start(self) -> Floats:
        """Return parameters that are all 0, [parameter, class]."""
        return np.zeros((self.penalty.parameters, self.rows.scores.shape[1]))

    def offsets(self, v: Floats) -> Floats:
        """Return the offsets of parameters, [offset, class], of classes alone."""
        return self.penalty.offsets(v)[:, : self.classes]

    def solve(self, start: Floats, ridge: float, evaluations: int, tolerance: float) -> Floats:
        """Return the best parameters under a ridge, [parameter, class], by so many evaluations at most."""
        penalty, recipe = self.penalty, self.penalty.recipe
        steps = 1.0 / (self._curve + penalty.curve(ridge)[:, None])
        near, v = ridge * recipe.offset_neighbor_pull * penalty.tied, start.copy()
        pulls = penalty.pulls_under(ridge)
        limits = evaluations, tolerance, recipe.lbfgs_memory
        fit_offsets(*self.rows, pulls, near, penalty.ends, penalty.positions, steps, *limits, v, threads_here())
        return v
