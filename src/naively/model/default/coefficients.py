"""Coefficients: what is added to the score of each class for single values, and for cells of two and of three columns.

Penalized logistic regression on top of the held-out scores of the terms: coefficients of values first, then of pairs of
columns, then of triples, each as far as held-out rows want them. The ridge of what was fitted before stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..._kernels import fit_coefficients
from ..._linear_algebra import dot, product
from ..._threads import threads_here
from ..._types import Codes, Floats, Longs, Places
from ...data.model_file import arrays_of_bytes, arrays_to_bytes
from ...stats.accumulators import offsets_of
from ..recipe import Recipe
from .grid import Cells, Grid
from .pairs import Columns, PairColumns
from .rows import FittingRows, is_clear, mean_loss

if TYPE_CHECKING:
    from .tables import TermCounts

# Coefficients of all classes at most, and cells of all rows: limits of memory.
MOST_COEFFICIENTS, MOST_CELLS = 1 << 22, 1 << 28
# The score of classes that only fill up the lines of tables: their probability is 0.
NO_CLASS = -1e30
STAGES = ("values", "pairs", "triples")


@dataclass(frozen=True, eq=False)
class CellLayout:
    """The columns, pairs and triples that have coefficients, and where those of each begin.

    A number has one for each of its fine bins. Pairs are read by the codes of the grid, triples by fewer: numbers by
    `merged_bins` bins, categories by the most frequent ones.
    """

    grid: Grid
    pairs: tuple[Columns, ...] = ()
    triples: tuple[Columns, ...] = ()
    merged_bins: int = 0
    most_merged: int = 0

    @cached_property
    def places(self) -> Longs:
        """The columns of each pair and triple among those of the grid, then merged ones, then one of a single code."""
        columns, merged = len(self.grid.names), list(self.merged_codes)
        place = np.zeros(columns, dtype=np.int64)
        place[merged] = columns + np.arange(len(merged))
        pairs = np.array(self.pairs, dtype=np.int64).reshape(-1, 2)
        pairs = np.column_stack([pairs, np.full(len(pairs), columns + len(merged))])
        return np.vstack([pairs, place[np.array(self.triples, dtype=np.int64).reshape(-1, 3)]])

    @cached_property
    def merged_sizes(self) -> Longs:
        """How many merged codes each column of the grid has."""
        sizes, number = np.diff(self.grid.offsets), np.arange(self.columns) < len(self.grid.numbers)
        return np.minimum(sizes, np.where(number, self.merged_bins, self.most_merged))

    @cached_property
    def codes_of_columns(self) -> Longs:
        """How many codes each of the columns that pairs and triples read has."""
        return np.concatenate([np.diff(self.grid.offsets), self.merged_sizes[list(self.merged_codes)], [1]])

    @cached_property
    def sizes(self) -> Longs:
        """How many cells each column has, then all rows together, then each pair, then each triple."""
        numbers, codes = self.grid.numbers, self.codes_of_columns
        columns = [*(len(bins.coarse) for bins in numbers), *codes[len(numbers) : self.columns].tolist(), 1]
        return np.concatenate([np.array(columns, dtype=np.int64), codes[self.places].prod(axis=1)])

    @cached_property
    def starts(self) -> Longs:
        """Where the coefficients of each table begin."""
        return offsets_of(self.sizes)

    @property
    def columns(self) -> int:
        """How many columns there are."""
        return len(self.grid.names)

    def part(self, table: int) -> slice:
        """Return which coefficients are those of a table."""
        return slice(int(self.starts[table]), int(self.starts[table + 1]))

    @cached_property
    def merged_codes(self) -> dict[int, Codes]:
        """The merged code of each code of a column that is part of a triple, -1 for none."""
        return {column: self.merged(column) for column in sorted(set().union(*self.triples))}

    def merged(self, column: int) -> Codes:
        """Return the merged code of each code of a column, -1 for none."""
        size = int(self.grid.offsets[column + 1] - self.grid.offsets[column])
        codes = np.arange(size, dtype=np.int32)
        if column < len(self.grid.numbers):
            # From either end alike: the sign of a number does not matter.
            return (2 * codes + 1) * self.merged_bins // (2 * size) if size > self.merged_bins else codes
        return np.where(codes < self.most_merged, codes, np.int32(-1))

    def codes(self, cells: Cells) -> Codes:
        """Return the cell of each row in each table, [table, row]; the one after the last for a missing value."""
        of_grid, one = cells.codes.T, np.zeros((1, len(cells)), dtype=np.int32)
        merged = [np.append(own, np.int32(-1))[of_grid[column]] for column, own in self.merged_codes.items()]
        known = np.vstack([of_grid, *merged, one])
        sizes = self.codes_of_columns.astype(np.int32)[self.places].T[:, :, None]
        first, second, third = (known[place] for place in self.places.T)
        together = (first * sizes[1] + second) * sizes[2] + third
        together[(first | second | third) < 0] = -1
        out = np.vstack([cells.fine.T, of_grid[len(self.grid.numbers) :], one, together])
        # As numbers without a sign, missing values are the largest.
        return np.minimum(out.view(np.uint32), self.sizes.astype(np.uint32)[:, None], order="C").view(np.int32)


@dataclass(frozen=True, eq=False)
class Coefficients:
    """The coefficients of all cells."""

    pairs: tuple[Columns, ...]
    triples: tuple[Columns, ...]
    table: Floats  # [coefficient, class]
    ridges: Mapping[str, float]  # that they were fitted under, by stage
    merged_bins: int
    most_merged: int
    triple_means: Floats  # the mean contribution of each triple over the rows, [triple, class]

    def layout(self, grid: Grid) -> CellLayout:
        """Return where the coefficients lie."""
        return CellLayout(grid, self.pairs, self.triples, self.merged_bins, self.most_merged)

    def to_bytes(self) -> bytes:
        """Return the coefficients as bytes, for a file; of two classes those of the second, as they are opposite."""
        table = self.table[:, 1:] if self.table.shape[1] == 2 else self.table
        merged = {"merged_bins": self.merged_bins, "most_merged": self.most_merged}
        parts = {"pairs": [list(part) for part in self.pairs], "triples": [list(part) for part in self.triples]}
        means = {"triple_means": self.triple_means.tolist()}
        said = {**parts, "ridges": dict(self.ridges), **merged, **means}
        return arrays_to_bytes({"table": table.astype(np.float32)}, said)

    @classmethod
    def of_bytes(cls, stored: bytes, classes: int) -> Coefficients:
        """Return the coefficients that `to_bytes` wrote."""
        arrays, data = arrays_of_bytes(stored)
        flat, width = arrays["table"], 1 if classes == 2 else classes
        if len(flat) == 0 or len(flat) % width or not np.isfinite(flat).all():
            raise KeyError("coefficients")
        pairs, triples = (tuple(tuple(map(int, part)) for part in data[name]) for name in ("pairs", "triples"))
        if any(len(part) != 2 for part in pairs) or any(len(part) != 3 for part in triples):
            raise KeyError("coefficients")
        ridges = {str(name): float(ridge) for name, ridge in data["ridges"].items()}
        table = flat.reshape(-1, width).astype(np.float64)
        table = np.hstack([-table, table]) if classes == 2 else table
        means = np.array(data["triple_means"], dtype=np.float64).reshape(-1, classes)
        if len(means) != len(triples):
            raise KeyError("coefficients")
        return cls(pairs, triples, table, ridges, int(data["merged_bins"]), int(data["most_merged"]), means)

    def fits(self, grid: Grid) -> bool:
        """Tell whether there is a coefficient for each cell of a grid."""
        parts = (*self.pairs, *self.triples)
        known = all(sorted(set(part)) == list(part) and part[0] >= 0 and part[-1] < len(grid.names) for part in parts)
        return known and len(self.table) == int(self.layout(grid).starts[-1])

    def describe(self) -> list[str]:
        """Return which coefficients there are, in words."""
        numbers = {"values": "", "pairs": f"{len(self.pairs):,} ", "triples": f"{len(self.triples):,} "}
        return [f"{numbers[stage]}{stage} (ridge {ridge:.3g})" for stage, ridge in self.ridges.items()]


# -- fitting -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Problem:
    """The cells of rows, and what the coefficients of each table are penalized by, as multiples of a ridge.

    Tables take steps one after the other, those of columns by name: whatever the order of the columns.
    """

    layout: CellLayout
    order: Places  # of the tables of the layout, in which all that follows comes
    codes: Codes  # [table, row]
    y: Codes
    positions: Floats  # [coefficient]: of the bins of a number, where each lies on a standard scale
    recipe: Recipe

    @classmethod
    def of(cls, layout: CellLayout, counts: TermCounts, rows: FittingRows) -> Problem:
        """Return the problem of some rows."""
        names, places = layout.grid.names, counts.positions
        order = np.array([*sorted(range(len(names)), key=names.__getitem__), *range(len(names), len(layout.sizes))])
        codes, sizes = layout.codes(rows.cells), layout.sizes
        codes[: len(names)] = codes[order[: len(names)]]
        of_columns = [places[t] if t < len(places) else np.zeros(sizes[t]) for t in order[: len(names)]]
        positions = np.concatenate([*of_columns, np.zeros(int(sizes[len(names) :].sum()))])
        return cls(layout, order, codes, rows.y, positions, counts.recipe)

    @cached_property
    def starts(self) -> Longs:
        """Where the coefficients of each table begin."""
        return offsets_of(self.layout.sizes[self.order])

    @cached_property
    def tables(self) -> list[int]:
        """How many tables there are up to each stage."""
        values = self.layout.columns + 1
        return [values, values + len(self.layout.pairs), values + len(self.layout.pairs) + len(self.layout.triples)]

    def pulls(self, ridges: Sequence[float]) -> Floats:
        """Return how strongly coefficients, the line, and neighbors of each table are pulled, [table, 3]."""
        recipe, layout = self.recipe, self.layout
        tables = self.tables[len(ridges) - 1]
        stage = np.searchsorted(self.tables, np.arange(tables), side="right")
        out = np.zeros((tables, 3))
        out[:, 0] = np.asarray(ridges)[stage]
        numbers = [column for column, bins in enumerate(layout.grid.numbers) if len(bins.coarse) > 1]
        out[numbers] = ridges[0] * np.array([recipe.deviation_pull, recipe.line_pull, 1.0])
        out[layout.columns] = recipe.bias_ridge, 0.0, 0.0
        return out[self.order[:tables]]


@dataclass(frozen=True, eq=False)
class State:
    """Coefficients so far, and the scores of rows with them; of two classes there is one score, the difference."""

    problem: Problem
    weights: Floats
    scores: Floats  # [row, class], padded; or [row, 1]
    values: Floats  # [coefficient, class]
    lines: Floats  # [table, class]: the slope of each number

    @classmethod
    def start(cls, problem: Problem, scores: Floats, weights: Floats) -> State:
        """Return the state without coefficients, given scores [class, row]."""
        classes = len(scores)
        if classes == 2:
            laid_out = np.ascontiguousarray(scores[1] - scores[0], dtype=np.float64)[:, None]
        else:
            laid_out = np.full((scores.shape[1], -(-classes // 4) * 4), NO_CLASS)
            laid_out[:, :classes] = scores.T
        none = np.zeros((0, laid_out.shape[1]))
        return cls(problem, weights, laid_out, none, none)

    def fitted(self, ridges: Sequence[float]) -> State:
        """Return the coefficients under these ridges, one for each stage so far, from here on."""
        problem, recipe = self.problem, self.problem.recipe
        tables = problem.tables[len(ridges) - 1]
        size, width = int(problem.starts[tables]), self.scores.shape[1]
        grown = [np.zeros((size, width)), np.zeros((tables, width))]
        for after, before in zip(grown, (self.values, self.lines), strict=True):
            after[: len(before)] = before
        # A difference of two coefficients is pulled half as much as both together.
        pulls, scores = problem.pulls(ridges) * (0.5 if width == 1 else 1.0), self.scores.copy()
        starts, positions = problem.starts[: tables + 1], problem.positions[:size]
        limits = recipe.coefficient_cycles, recipe.coefficient_tolerance, threads_here()
        codes, (values, lines) = problem.codes[:tables], grown
        fit_coefficients(codes, problem.y, self.weights, starts, pulls, positions, scores, values, lines, *limits)
        return replace(self, scores=scores, values=grown[0], lines=grown[1])

    def losses(self, rows: slice) -> Floats:
        """Return the log loss of some rows."""
        y = self.problem.y[rows]
        if self.scores.shape[1] == 1:
            return np.logaddexp(0.0, np.where(y == 1, -1.0, 1.0) * self.scores[rows, 0])
        scores = self.scores[rows] - self.scores[rows].max(axis=1, keepdims=True)
        return np.asarray(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(y)), y])

    def table(self, classes: int) -> Floats:
        """Return all coefficients, [coefficient, class]."""
        out, problem = np.empty_like(self.values), self.problem
        for table, begin, end, line in zip(problem.order, problem.starts, problem.starts[1:], self.lines, strict=False):
            out[problem.layout.part(table)] = self.values[begin:end] + problem.positions[begin:end, None] * line
        return np.hstack([-out / 2, out / 2]) if out.shape[1] == 1 else out[:, :classes]


class MeasuredScores(NamedTuple):
    """Scores of all rows, [class, row], by what was fitted without some of them, and the gains of pairs then."""

    test: slice | None
    scores: Floats
    gains: Floats


def layout_of(counts: TermCounts, rows: FittingRows, pairs: PairColumns, gains: Floats) -> CellLayout:
    """Return which pairs and triples may have coefficients: those of largest gain, as far as rows can fill them."""
    recipe, grid, total = counts.recipe, counts.grid, float(rows.effective.sum())
    bins = int(np.clip(round(total**0.25), recipe.fewest_merged, recipe.most_merged))
    room = recipe.cells_per_row * total

    def affordable(sizes: Longs) -> int:
        return min(int((np.cumsum(sizes) <= room).sum()), recipe.most_tables)

    pairs = pairs if len(gains) else PairColumns(*np.zeros((2, 0), dtype=np.int64))  # pairs may be excluded
    order, sizes = np.lexsort((pairs.second, pairs.first, -gains)), np.diff(grid.offsets)
    order = order[: affordable((sizes[pairs.first] * sizes[pairs.second])[order])]
    chosen = np.stack([pairs.first[order], pairs.second[order]], axis=1)
    helpful = gains[order] > 0
    layout = CellLayout(grid, tuple(map(tuple, chosen.tolist())), (), bins, recipe.most_merged)
    triples = triples_of(chosen[helpful], gains[order][helpful])
    triples = triples[: affordable(layout.merged_sizes[triples].prod(axis=1))]
    return replace(layout, triples=tuple(map(tuple, triples.tolist())))


def triples_of(pairs: Longs, gains: Floats) -> Longs:
    """Return the triples that contain two of these pairs, those of the largest sum of gains first.

    >>> triples_of(np.array([[0, 1], [1, 2], [3, 4]]), np.array([3.0, 2.0, 9.0]))
    array([[0, 1, 2]])
    """
    columns = int(pairs.max(initial=-1)) + 1
    gain = np.zeros((columns, columns))
    gain[pairs[:, 0], pairs[:, 1]] = gains
    first, second = np.triu_indices(len(pairs), 1)
    both = np.sort(np.hstack([pairs[first], pairs[second]]), axis=1)
    shared = both[:, 1:] == both[:, :-1]  # two pairs have at most one column in common
    both = both[shared.any(axis=1)]
    last = np.append(shared[shared.any(axis=1)], np.zeros((len(both), 1), dtype=bool), axis=1)
    triples = np.unique(both[~last].reshape(-1, 3), axis=0)
    i, j, k = triples.T
    return triples[np.lexsort((k, j, i, -(gain[i, j] + gain[i, k] + gain[j, k])))]


def fitted_coefficients(
    counts: TermCounts, rows: FittingRows, pairs: PairColumns, whole: MeasuredScores, parts: Sequence[MeasuredScores]
) -> tuple[Coefficients, dict[str, float]] | None:
    """Return the coefficients, and the held-out log loss by stage; None where they do not clearly lower it.

    Each part chooses its pairs without the rows that measure.
    """
    recipe, columns = counts.recipe, len(counts.grid.names)
    values = int(CellLayout(counts.grid).starts[-1]) * len(counts.prior)
    too_large = values > MOST_COEFFICIENTS or columns * len(counts.prior) * len(rows) > MOST_CELLS
    if "coefficients" in recipe.excluded or not parts or not columns or too_large:
        return None

    def start(part: MeasuredScores) -> State:
        weights = rows.effective.copy()
        if part.test is not None:
            weights[part.test] = 0.0
        return State.start(Problem.of(layout_of(counts, rows, pairs, part.gains), counts, rows), part.scores, weights)

    path = RidgePath([start(part) for part in parts], [part.test for part in parts if part.test], rows.effective)
    for stage in STAGES:
        path.add_stage(stage, recipe)
    if not path.chosen:
        return None
    state, ridges = start(whole), list[float]()
    for stage in STAGES[: path.stages]:
        # As they were measured: by the same steps, from the strongest ridge down.
        last = path.chosen.get(stage, np.inf)
        for ridge in recipe.coefficient_ridges:
            if ridge >= last:
                state = state.fitted([*ridges, ridge])
        ridges.append(last)
    layout = state.problem.layout
    kept = replace(
        layout, pairs=layout.pairs if path.stages > 1 else (), triples=layout.triples if path.stages > 2 else ()
    )
    table = (
        state.table(len(counts.prior))[: int(kept.starts[-1])].astype(np.float32).astype(np.float64)
    )  # as files hold them
    means = np.zeros((len(kept.triples), len(counts.prior)))
    for mean, place in zip(means, range(kept.columns + 1 + len(kept.pairs), len(kept.sizes)), strict=True):
        n = np.bincount(state.problem.codes[place], rows.effective, int(kept.sizes[place]) + 1)[:-1]
        mean[:] = product(n / float(rows.effective.sum()), table[kept.part(place)])
    about = kept.merged_bins, kept.most_merged, means
    return Coefficients(kept.pairs, kept.triples, table, path.chosen, *about), path.losses


class RidgePath:
    """Choices of ridges, stage after stage, by the log loss of the rows that measure."""

    def __init__(self, states: Sequence[State], tests: Sequence[slice], effective: Floats) -> None:
        self.states, self.tests = list(states), tests
        self.rows = [effective[test] for test in tests]
        self.weights = np.concatenate(self.rows)
        self.least = self._losses(self.states)
        self.ridges: list[float] = []  # of all stages so far; infinite where there are no coefficients
        self.chosen: dict[str, float] = {}
        self.losses: dict[str, float] = {}

    @property
    def stages(self) -> int:
        """How many stages there are up to the last one with coefficients."""
        return max((STAGES.index(stage) + 1 for stage in self.chosen), default=0)

    def _losses(self, states: Sequence[State]) -> Floats:
        return np.concatenate([state.losses(test) for state, test in zip(states, self.tests, strict=True)])

    def add_stage(self, stage: str, recipe: Recipe) -> None:
        """Fit from the strongest ridge down, until the loss rises; a weaker one is chosen only for a clear gain."""
        place = STAGES.index(stage)
        empty = (
            all(len(state.problem.codes) == state.problem.tables[place - 1] for state in self.states)
            if place
            else False
        )
        states, best, lowest, title = self.states, None, np.inf, f"coefficients of {stage}"
        for ridge in recipe.coefficient_ridges if not empty and title not in recipe.excluded else ():
            states = [state.fitted([*self.ridges, ridge]) for state in states]
            losses = self._losses(states)
            if is_clear(self.least - losses, self.weights):
                best, self.least = (ridge, states), losses
            total = dot(self.weights, losses)
            lowest = min(lowest, total)
            if total > lowest * (1 + recipe.loss_rise):
                break
        self.ridges.append(np.inf if best is None else best[0])
        if best is not None:
            self.chosen[stage], self.states = best
            self.losses[title] = mean_loss(self.least, self.weights)
