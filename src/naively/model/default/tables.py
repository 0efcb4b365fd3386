"""The default model as tables that are looked up: every term times its weight, added up by column and interaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from ..._kernels import Scorer
from ..._linear_algebra import dot
from ..._types import Codes, Floats, Longs, Matrix
from ...families.family import padded
from ...stats import Axis
from ...stats.accumulators import offsets_of
from ..recipe import RECIPE, Recipe
from .coefficients import CellLayout, Coefficients
from .grid import Grid
from .joint_counts import JointCounts, log_shares
from .normal import Features, QuadraticTable, add_linear, add_quadratic
from .pairs import Interactions, add_pairs
from .rows import Term
from .values import ValueLayout, add_values


@dataclass(frozen=True)
class TermCounts:
    """What terms are computed from: pairs of columns, bins of numbers, and each column of categories."""

    joint: JointCounts
    tables: Sequence[Floats]  # [class, category]
    ordered: Sequence[int] = ()  # how many categories of each table are ordinal levels; they come first
    recipe: Recipe = RECIPE
    places: Sequence[Codes] = ()  # the code on the grid of each category of each table, -1 for none

    @cached_property
    def layout(self) -> ValueLayout:
        """The cells of the terms of values."""
        return ValueLayout.of(self)

    @cached_property
    def features(self) -> Features:
        """The features of the linear and the quadratic term."""
        return Features(self)

    @cached_property
    def positions(self) -> list[Floats]:
        """Where the fine bins of each number lie: 0, 1, 2, … less their mean, over their standard deviation."""
        out = []
        for n in np.split(self.joint.fine.sum(axis=0), self.grid.fine_offsets[1:-1]) if self.grid.numbers else ():
            total, place = max(float(n.sum()), 1e-300), np.arange(len(n), dtype=np.float64)
            place -= dot(place, n) / total
            deviation = float(np.sqrt(dot(place**2, n) / total))
            out.append(place / deviation if deviation > 0 else place)
        return out

    def levels(self, place: int) -> int:
        """Return how many categories of a column are ordinal levels."""
        return self.ordered[place] if place < len(self.ordered) else 0

    @property
    def grid(self) -> Grid:
        """The bins and categories that are counted."""
        grid: Grid = self.joint.grid
        return grid

    @cached_property
    def prior(self) -> Floats:
        """The log prior of each class."""
        return log_shares(self.joint.rows)

    def bins(self, column: int, width: int) -> Codes:
        """Return the bin of each fine one: wide bins, or (0) the fine ones themselves."""
        number = self.grid.numbers[column]
        return np.array(number.wider if width else range(len(number.wider)), dtype=np.int32)


@dataclass(frozen=True)
class CodeTables:
    """The contribution of the code of each column: a table [code, class] for each."""

    classes: Axis
    tables: tuple[Floats, ...]

    @cached_property
    def _laid_out(self) -> tuple[Longs, Floats]:
        lines = [np.vstack([table, np.zeros((1, len(self.classes)))]) for table in self.tables]  # unknown: nothing
        return offsets_of(np.array([len(part) for part in lines], dtype=np.int64)), padded(np.vstack(lines))

    def add_to(self, scorer: Scorer, x: Matrix, missing: bool = True) -> None:
        """Have the contributions of the codes added to the scores."""
        if self.tables:
            scorer.codes(x, *self._laid_out)


@dataclass(frozen=True)
class Slopes:
    """The contribution of each number, in proportion to it, [column, class]."""

    classes: Axis
    table: Floats

    @cached_property
    def _laid_out(self) -> Floats:
        return padded(self.table)

    def add_to(self, scorer: Scorer, x: Matrix, missing: bool = True) -> None:
        """Have number times slope added to the scores."""
        if len(self.table):
            scorer.dense(x, None, self._laid_out)


@dataclass(frozen=True)
class ModelTables:
    """All tables of a model, and the bias of each class."""

    bias: Floats
    codes: CodeTables  # numbers by fine bins, then categories
    slopes: Slopes
    interactions: Interactions
    quadratic: QuadraticTable | None
    joint: tuple[Floats, ...]  # of the codes, the part that is fitted to all columns at once: for explanations


class TableBuilder:
    """The tables while terms and coefficients are added to them."""

    def __init__(self, counts: TermCounts, weights: Mapping[Term, float], settings: Mapping[str, float]) -> None:
        self.counts, self.weights, self.settings = counts, weights, settings
        classes, numbers = len(counts.joint.classes), len(counts.grid.numbers)
        sizes = [*np.diff(counts.grid.fine_offsets).tolist(), *(table.shape[1] for table in counts.tables)]
        self._codes = [np.zeros((size, classes)) for size in sizes]
        self._joint = [np.zeros((size, classes)) for size in sizes]
        self._slopes, self._bias = np.zeros((numbers, classes)), np.zeros(classes)
        self.interactions = Interactions.empty(counts.joint.classes, np.diff(counts.grid.offsets), ())
        self.quadratic: QuadraticTable | None = None

    @classmethod
    def of(
        cls,
        counts: TermCounts,
        weights: Mapping[Term, float],
        settings: Mapping[str, float],
        coefficients: Coefficients | None,
        bias: Floats,
    ) -> ModelTables:
        """Return the tables of all terms and coefficients."""
        builder = cls(counts, weights, settings)
        for add in (add_values, add_pairs, add_linear, add_quadratic):
            add(builder)
        if coefficients is not None:
            builder.add_coefficients(coefficients)
        return builder.tables(bias)

    def add(self, column: int, table: Floats) -> None:
        """Add contributions [code, class] of a column: a number by its fine bins, or categories."""
        self._codes[column] += table

    def add_constants(self, constants: Floats) -> None:
        """Add what every row that has a value in a column gets, [column, class]."""
        numbers = len(self.counts.grid.numbers)
        for column, line in enumerate(constants):
            sizes = len(self._codes[column]) if column < numbers else self.counts.grid.columns[column].size
            self._add_joint(column, np.tile(line, (sizes, 1)))

    def add_slopes(self, slopes: Floats, bias: Floats | float = 0.0) -> None:
        """Add slopes of features, [feature, class], and a bias: indicators of categories come first, then numbers."""
        grid, numbers = self.counts.grid, len(self.counts.grid.numbers)
        self._slopes += slopes[len(slopes) - numbers :]
        self._bias += bias
        offsets = grid.offsets[numbers:] - grid.offsets[numbers]
        for column, (begin, end) in enumerate(pairwise(offsets.tolist()), numbers):
            self._add_joint(column, slopes[begin:end])

    def _add_joint(self, column: int, table: Floats) -> None:
        """Add contributions of a column that are fitted to all columns at once: of categories, those on the grid."""
        if column >= len(self.counts.grid.numbers):
            places = self.counts.places[column - len(self.counts.grid.numbers)]
            table = np.vstack([table, np.zeros((1, table.shape[1]))])[places]
        self._codes[column] += table
        self._joint[column] += table

    def add_coefficients(self, coefficients: Coefficients) -> None:
        """Add the coefficients of values, pairs and triples."""
        layout, table = coefficients.layout(self.counts.grid), coefficients.table
        for column in range(layout.columns):
            self._add_joint(column, table[layout.part(column)])
        self._bias += table[layout.part(layout.columns)][0]
        self._make_room(layout)
        known = {columns: place for place, columns in enumerate(self.interactions.all_columns)}
        for place, columns in enumerate((*layout.pairs, *layout.triples), layout.columns + 1):
            part = table[layout.part(place)]
            if part.any():
                target = self.interactions.part(known[columns])
                target += part.reshape(target.shape)

    def _make_room(self, layout: CellLayout) -> None:
        """Make room for the interactions that have coefficients and are not there yet."""
        have, sizes = set(self.interactions.all_columns), layout.codes_of_columns[:-1]
        places = zip((*layout.pairs, *layout.triples), layout.places.tolist(), strict=True)
        more = [tuple(place[: len(columns)]) for columns, place in places if columns not in have]
        self.interactions = self.interactions.with_more(more, sizes, tuple(layout.merged_codes.items()))

    def tables(self, bias: Floats) -> ModelTables:
        """Return the tables with all that was added."""
        classes = self.counts.joint.classes
        codes, slopes = CodeTables(classes, tuple(self._codes)), Slopes(classes, self._slopes)
        return ModelTables(bias + self._bias, codes, slopes, self.interactions, self.quadratic, tuple(self._joint))
