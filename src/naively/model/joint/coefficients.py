"""Coefficients: what is added to the score of each class for single values, and for cells of pairs of columns.

Penalized logistic regression on top of the held-out scores of the terms, as far as held-out rows want it. Rows must be
scored by counts without the fold that measures: the scores of all other rows hold a trace of its labels otherwise, and
coefficients that are fitted to them are wrong for that fold.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..._kernels import fit_offsets
from ..._linear_algebra import dot, product
from ..._threads import threads_here
from ..._types import Codes, Floats, JsonObject, Longs
from ...data.grid import Cells, Grid
from ...families.family import padded
from ...stats.accumulators import offsets_of
from ..recipe import Recipe

if TYPE_CHECKING:
    from .tables import TermCounts

COEFFICIENTS = "coefficients"  # for `Recipe.left_out`
# Coefficients of all classes at most, and products with the rows: limits of memory and of time.
MOST_COEFFICIENTS, MOST_CELLS = 1 << 22, 1 << 28
# Steps that L-BFGS remembers. Numerical.
LBFGS_MEMORY = 6
# The score of classes that only fill up the lines of tables: their probability is 0.
NO_CLASS = -1e30


@dataclass(frozen=True, eq=False)
class CellLayout:
    """Where the coefficients of each column, of each pair of columns, and of all rows lie among all coefficients.

    A number has one for each of its fine bins, a pair of columns one for each pair of their codes on the grid.
    """

    grid: Grid
    pairs: tuple[tuple[int, int], ...]

    @cached_property
    def starts(self) -> Longs:
        """Where those of each column begin, then those of each pair, then that of all rows, then the end."""
        grid = self.grid
        codes = np.diff(grid.offsets)
        sizes = [len(bins.coarse) for bins in grid.numbers] + codes[len(grid.numbers) :].tolist()
        return offsets_of(np.array([*sizes, *(codes[i] * codes[j] for i, j in self.pairs), 1], dtype=np.int64))

    @property
    def size(self) -> int:
        """How many coefficients a class has."""
        return int(self.starts[-1])

    def column(self, at: int) -> slice:
        """Return which coefficients are those of a column."""
        return slice(int(self.starts[at]), int(self.starts[at + 1]))

    def pair(self, at: int) -> slice:
        """Return which coefficients are those of a pair of columns."""
        return self.column(len(self.grid.names) + at)

    def places(self, cells: Cells) -> Codes:
        """Return the coefficients of each row, [row, column or pair or all rows].

        That of a missing value is the one after the last.
        """
        grid, numbers = self.grid, len(self.grid.numbers)
        out = np.empty((len(self.starts) - 1, len(cells)), dtype=np.int32)
        for at in range(len(grid.names)):
            self._fill(out, at, cells.fine[:, at] if at < numbers else cells.codes[:, at])
        codes = np.diff(grid.offsets)
        for at, (i, j) in enumerate(self.pairs, len(grid.names)):
            a, b = cells.codes[:, i], cells.codes[:, j]
            self._fill(out, at, np.where((a >= 0) & (b >= 0), a * np.int32(codes[j]) + b, np.int32(-1)))
        out[-1] = self.size - 1
        return np.ascontiguousarray(out.T)

    def _fill(self, out: Codes, at: int, codes: Codes) -> None:
        """Enter the places of a column's codes; those out of range have none."""
        part = self.column(at)
        there = (codes >= 0) & (codes < part.stop - part.start)
        np.copyto(out[at], np.where(there, codes + np.int32(part.start), np.int32(self.size)))


@dataclass(frozen=True, eq=False)
class Coefficients:
    """The coefficients of all cells."""

    pairs: tuple[tuple[int, int], ...]  # pairs of columns that have coefficients, by place on the grid
    table: Floats  # [coefficient, class]
    ridge: float  # that they were fitted under

    def layout(self, grid: Grid) -> CellLayout:
        """Return where the coefficients lie."""
        return CellLayout(grid, self.pairs)

    def bias(self) -> Floats:
        """Return the coefficient of all rows, [class]."""
        return np.asarray(self.table[-1])

    def columns(self, grid: Grid) -> Iterator[tuple[int, Floats]]:
        """Give the coefficients of each column, [code, class]: a number by its fine bins, labels as on the grid."""
        layout = self.layout(grid)
        yield from ((at, self.table[layout.column(at)]) for at in range(len(grid.names)))

    def of_pairs(self, grid: Grid) -> Iterator[tuple[tuple[int, int], Floats]]:
        """Give the coefficients of each pair of columns, [code, code, class]."""
        layout, sizes = self.layout(grid), np.diff(grid.offsets).tolist()
        for at, (i, j) in enumerate(self.pairs):
            yield (i, j), self.table[layout.pair(at)].reshape(sizes[i], sizes[j], -1)

    def to_json(self) -> JsonObject:
        """Return it as plain data."""
        data = b64encode(self.table.astype("<f4").tobytes()).decode("ascii")
        return {"pairs": [list(pair) for pair in self.pairs], "table": data, "ridge": self.ridge}

    @classmethod
    def from_json(cls, data: JsonObject, classes: int) -> Coefficients:
        """Return what to_json described."""
        flat = np.frombuffer(b64decode(data["table"]), dtype="<f4")
        if len(flat) == 0 or len(flat) % classes or not np.isfinite(flat).all():
            raise KeyError("coefficients")
        pairs = tuple((int(i), int(j)) for i, j in data["pairs"])
        return cls(pairs, flat.reshape(-1, classes).astype(np.float64), float(data["ridge"]))

    def fits(self, grid: Grid) -> bool:
        """Tell whether there is a coefficient for each cell of a grid."""
        known = all(0 <= i < j < len(grid.names) for i, j in self.pairs)
        return known and len(self.table) == self.layout(grid).size


# -- the penalty -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Penalty:
    """How strongly coefficients are pulled: each towards 0, and those of neighbors towards each other.

    Coefficients of bins of a number are a line plus deviations from it. The line is pulled less than what deviates from
    it, and those of pairs of columns are pulled more than those of columns: what two columns share is small.
    """

    size: int  # how many coefficients there are
    pulls: Floats  # of each, as a multiple of the ridge
    fixed: Floats  # the same, whatever the ridge
    runs: tuple[tuple[slice, Floats], ...]  # bins of numbers, and where each lies on a common scale
    recipe: Recipe

    @classmethod
    def of(cls, layout: CellLayout, counts: TermCounts) -> Penalty:
        """Return the penalty of the coefficients of a layout."""
        recipe, pulls, fixed = counts.recipe, np.ones(layout.size), np.zeros(layout.size)
        runs, fine = [], counts.joint.fine.sum(axis=0)
        for at in range(len(layout.grid.numbers)):
            part, n = layout.column(at), fine[layout.grid.fine_offsets[at] : layout.grid.fine_offsets[at + 1]]
            if len(n) > 1:
                pulls[part] = recipe.coefficient_deviation_pull
                runs.append((part, standard_positions(n)))
        for at in range(len(layout.pairs)):
            pulls[layout.pair(at)] = recipe.coefficient_pair_pull
        pulls[-1], fixed[-1] = 0.0, recipe.bias_ridge
        return cls(layout.size, pulls, fixed, tuple(runs), recipe)

    @cached_property
    def tied(self) -> Floats:
        """1 for every coefficient that has a neighbor after it, else 0."""
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
        """Where each coefficient lies in its run; 0 for those in none."""
        out = np.zeros(self.size)
        for run, positions in self.runs:
            out[run] = positions
        return out

    @cached_property
    def parameters(self) -> int:
        """How many parameters a class has: coefficients, and the slope of each number."""
        return self.size + len(self.runs)

    def coefficients(self, v: Floats) -> Floats:
        """Return all coefficients [coefficient, class], given deviations and then slopes [parameter, class]."""
        out = v[: self.size].copy()
        for slope, (run, positions) in zip(v[self.size :], self.runs, strict=True):
            out[run] += positions[:, None] * slope
        return out

    def of_parameters(self, slope: Floats) -> Floats:
        """Return the slope of a function of the coefficients in each parameter."""
        out = np.empty((self.parameters, slope.shape[1]))
        out[: self.size] = slope
        for at, (run, positions) in enumerate(self.runs, self.size):
            out[at] = product(positions, slope[run])
        return out

    def curve(self, ridge: float) -> Floats:
        """Return the curvature along each parameter."""
        out, tied = self.pulls_under(ridge), self.tied * (ridge * self.recipe.coefficient_neighbor_pull)
        out[1 : self.size] += tied[:-1]
        out[: self.size] += tied
        return out

    def pulls_under(self, ridge: float) -> Floats:
        """Return the pull of each parameter towards 0."""
        lines = np.full(len(self.runs), ridge * self.recipe.coefficient_line_pull)
        return np.concatenate([ridge * self.pulls + self.fixed, lines])


def standard_positions(n: Floats) -> Floats:
    """Return places 0, 1, 2, … less their mean over their deviation, given the rows at each."""
    total = max(float(n.sum()), 1e-300)
    at = np.arange(len(n), dtype=np.float64)
    at -= dot(at, n) / total
    spread = float(np.sqrt(dot(at**2, n) / total))
    return at / spread if spread > 0 else at


# -- fitting -----------------------------------------------------------------------------------------------------------


class CoefficientRows(NamedTuple):
    """Rows that coefficients are fitted to: where their cells lie, their scores, their classes and weights."""

    places: Codes
    scores: Floats  # [row, class], padded
    truth: Floats  # [row, class], padded
    weights: Floats

    @classmethod
    def of(cls, places: Codes, scores: Floats, truth: Floats, weights: Floats) -> CoefficientRows:
        """Return rows, given their scores [class, row] and the probabilities of their classes [row, class]."""
        classes = len(scores)
        wide = padded(np.ascontiguousarray(scores.T))
        wide[:, classes:] = NO_CLASS
        return cls(places, wide, padded(truth), weights)

    def losses(self, table: Floats | None = None) -> Floats:
        """Return the log loss of each row, with these coefficients if any, [coefficient, class]."""
        z = self.scores.copy()
        if table is not None:
            known = padded(np.vstack([table, np.zeros((1, table.shape[1]))]))
            for column in self.places.T:
                z += known[column]
        z -= z.max(axis=1, keepdims=True)
        logs = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
        return np.asarray(-np.where(self.truth > 0, self.truth * logs, 0.0).sum(axis=1))


class CoefficientProblem:
    """Minimize the log loss of rows over the coefficients of their cells, with a penalty.

    Parameters are padded to whole vectors of classes, as the kernels read them; those of no class stay 0.
    """

    def __init__(self, rows: CoefficientRows, penalty: Penalty, classes: int) -> None:
        self.rows, self.penalty, self.classes = rows, penalty, classes
        self._curve = self._curvature()

    def _curvature(self) -> Floats:
        """Return the curvature of the loss along each parameter where all coefficients are 0, [parameter, class]."""
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

    def start(self) -> Floats:
        """Return parameters that are all 0, [parameter, class]."""
        return np.zeros((self.penalty.parameters, self.rows.scores.shape[1]))

    def coefficients(self, v: Floats) -> Floats:
        """Return the coefficients of parameters, [coefficient, class], of classes alone."""
        return self.penalty.coefficients(v)[:, : self.classes]

    def follow(self, last: float) -> Floats:
        """Return parameters that were fitted under one ridge after the other, from the strongest to the last."""
        v = self.start()
        for ridge in self.penalty.recipe.coefficient_ridges:
            if ridge >= last:
                v = self.solve(v, ridge)
        return v

    def solve(self, start: Floats, ridge: float) -> Floats:
        """Return good parameters under a ridge, [parameter, class], by a few steps from others."""
        penalty, recipe = self.penalty, self.penalty.recipe
        steps = 1.0 / (self._curve + penalty.curve(ridge)[:, None])
        near, v = ridge * recipe.coefficient_neighbor_pull * penalty.tied, start.copy()
        pulls = penalty.pulls_under(ridge)
        limits = recipe.coefficient_evaluations, recipe.coefficient_tolerance, LBFGS_MEMORY
        fit_offsets(*self.rows, pulls, near, penalty.ends, penalty.positions, steps, *limits, v, threads_here())
        return v


@dataclass
class RidgePath:
    """The log loss of held-out rows under each ridge, from the strongest down, fold after fold."""

    ridges: Sequence[float]
    losses: dict[float, list[Floats]] = field(default_factory=dict)
    before: list[Floats] = field(default_factory=list)  # without these coefficients
    weights: list[Floats] = field(default_factory=list)

    def follow(self, problem: CoefficientProblem, apart: CoefficientRows, before: Floats) -> None:
        """Fit without a fold and measure on it, from the strongest ridge down; of many rows, until the loss rises."""
        v, least, recipe = problem.start(), np.inf, problem.penalty.recipe
        enough = float(apart.weights.sum()) >= recipe.measured_rows
        self.before.append(before)
        self.weights.append(apart.weights)
        for at, ridge in enumerate(self.ridges):
            v = problem.solve(v, ridge)
            losses = apart.losses(problem.coefficients(v))
            self.losses.setdefault(ridge, []).append(losses)
            total = dot(apart.weights, losses)
            least = min(least, total)
            if enough and total > least * (1 + recipe.loss_rise):
                self.ridges = self.ridges[: at + 1]
                break

    def gains(self) -> bool:
        """Tell whether the loss of all folds so far is less under some ridge."""
        weights, folds = np.concatenate(self.weights), len(self.before)
        known = [np.concatenate(losses) for losses in self.losses.values() if len(losses) == folds]
        return min(dot(weights, losses) for losses in known) < dot(weights, np.concatenate(self.before))

    def best(self) -> float | None:
        """Return the chosen ridge: a weaker one, or any at all, only for a clear gain."""
        weights, chosen, least = np.concatenate(self.weights), None, np.concatenate(self.before)
        for ridge in self.ridges:
            losses = np.concatenate(self.losses[ridge][: len(self.before)])
            if len(losses) == len(least) and is_clear(least - losses, weights):
                chosen, least = ridge, losses
        return chosen

    def losses_under(self, ridge: float) -> list[Floats]:
        """Return the losses of each fold under a ridge."""
        return self.losses[ridge]


def is_clear(gains: Floats, weights: Floats) -> bool:
    """Tell whether a fall of the log loss of held-out rows is clear: more than a nat, and than its standard error."""
    total = dot(weights, gains)
    if total <= 1.0:
        return False
    mean = total / float(weights.sum())
    return total > float(np.sqrt(dot(weights, (gains - mean) ** 2)))
