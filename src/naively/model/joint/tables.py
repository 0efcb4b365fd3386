"""The joint model as tables that are looked up: every term times its weight, added up by column and pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..._kernels import Scorer
from ..._types import Codes, Floats, Longs, Matrix
from ...data.grid import Grid
from ...families.family import padded
from ...stats import Axis
from ...stats.accumulators import offsets_of
from ...stats.pairs import JointCounts
from ..recipe import RECIPE, Recipe
from .coefficients import Coefficients
from .normal import NormalScores
from .pairs import PairTables, no_pairs
from .values import ValueLayout

if TYPE_CHECKING:
    from .quadratic_tables import QuadraticTable
    from .terms import Term


@dataclass(frozen=True)
class TermCounts:
    """What terms are computed from: pairs of columns, bins of numbers, and each column of labels, [class, label]."""

    joint: JointCounts
    tables: Sequence[Floats]
    ordered: Sequence[int] = ()  # how many values of each table are ordinal levels; they come first
    recipe: Recipe = RECIPE
    places: Sequence[Codes] = ()  # the code on the grid of each label of each table, -1 for none

    @cached_property
    def layout(self) -> ValueLayout:
        """The cells of the terms of values."""
        return ValueLayout.of(self)

    def levels(self, at: int) -> int:
        """Return how many values of a column of labels are ordinal levels."""
        return self.ordered[at] if at < len(self.ordered) else 0

    @cached_property
    def grid(self) -> Grid:
        """The bins and labels that are counted."""
        grid: Grid = self.joint.grid
        return grid

    @cached_property
    def prior(self) -> Floats:
        """How probable each class is before, as logarithms."""
        rows = self.joint.products[:, 0, 0]
        return np.asarray(np.log((rows + 1) / (rows.sum() + len(rows))))

    def bins(self, at: int, width: int) -> Codes:
        """Return the bin of each fine one: wide bins, or (0) the fine ones themselves."""
        number = self.grid.numbers[at]
        return np.array(number.wider if width else range(len(number.wider)), dtype=np.int32)

    def pair_bins(self, at: int, width: int) -> Codes:
        """Return the bin of each code of a column in pairs: rough bins, or (0) the codes; labels are themselves."""
        flags = self.grid.flags(at)
        if at >= len(self.grid.numbers) or not width:
            return np.arange(flags.stop - flags.start, dtype=np.int32)
        return np.array(self.grid.numbers[at].rough[: flags.stop - flags.start], dtype=np.int32)

    @cached_property
    def normal(self) -> NormalScores:
        """Normal densities of the numbers and of the flags of labels."""
        return NormalScores(self.joint, self.recipe)


@dataclass(frozen=True)
class CodeTables:
    """The contribution of the code of each column: a table [code, class] for each."""

    classes: Axis
    tables: tuple[Floats, ...]

    @cached_property
    def _laid(self) -> tuple[Longs, Floats]:
        lines = [np.vstack([table, np.zeros((1, len(self.classes)))]) for table in self.tables]  # unknown: nothing
        return offsets_of(np.array([len(part) for part in lines], dtype=np.int64)), padded(np.vstack(lines))

    def column(self, at: int) -> CodeTables:
        """Return the table of one of the columns."""
        return CodeTables(self.classes, (self.tables[at],))

    def add_to(self, scorer: Scorer, x: Matrix, missing: bool = True) -> None:
        """Have the contributions of the codes added to the scores."""
        if self.tables:
            scorer.codes(x, *self._laid)


@dataclass(frozen=True)
class Slopes:
    """The contribution of each number, in proportion to it, [column, class]."""

    classes: Axis
    table: Floats

    @cached_property
    def _laid(self) -> Floats:
        return padded(self.table)

    def add_to(self, scorer: Scorer, x: Matrix, missing: bool = True) -> None:
        """Have number times slope added to the scores."""
        if len(self.table):
            scorer.dense(x, None, self._laid)


@dataclass(frozen=True)
class JointTables:
    """All tables of a model, and the bias of each class."""

    bias: Floats
    codes: CodeTables  # numbers by fine bins, then labels
    slopes: Slopes
    pairs: PairTables
    linear: tuple[Floats, ...]  # of codes, the part of linear terms: for explanations, scores need but the sum
    quadratic: QuadraticTable | None = None  # the products with numbers of the quadratic term


class TableBuilder:
    """The tables while kinds of terms are added to them."""

    def __init__(
        self,
        counts: TermCounts,
        weights: Mapping[Term, float],
        ridges: Mapping[str, float],
        coefficients: Coefficients | None = None,
    ) -> None:
        self.counts, self.weights, self.ridges, self.coefficients = counts, weights, ridges, coefficients
        self._places = counts.places  # the code on the grid of each label of each column
        self._codes: list[Floats] = []
        self._linear: list[Floats] = []
        self._slopes = np.zeros((counts.grid.features, len(counts.joint.classes)))
        self.pairs = no_pairs(counts.joint.classes, counts.grid.offsets)
        self.quadratic: QuadraticTable | None = None

    def set_linear(self, slopes: Floats, constants: Floats) -> None:
        """Start with linear terms: slopes [feature, class], and constants of columns [column, class]."""
        self._slopes, self._linear = slopes, self._linear_tables(slopes, constants)
        self._codes = list(self._linear)

    def _start(self) -> None:
        """Start without linear terms, unless they came first."""
        if not self._codes:
            self.set_linear(self._slopes, np.zeros((len(self.counts.grid.names), self._slopes.shape[1])))

    def add_linear(self, slopes: Floats, constants: Floats) -> None:
        """Add more linear terms, laid out in the same way."""
        self._start()
        self._slopes = self._slopes + slopes
        more = self._linear_tables(slopes, constants)
        self._linear, self._codes = (
            [table + by for table, by in zip(tables, more, strict=True)] for tables in (self._linear, self._codes)
        )

    def add(self, at: int, table: Floats) -> None:
        """Add contributions [code, class] of a column: a number by its fine bins, or labels."""
        self._start()
        self._codes[at] = self._codes[at] + table

    def _add_coefficients(self, coefficients: Coefficients) -> None:
        """Add the coefficients of columns, which are fitted for all of them at once, as linear terms are."""
        grid, none = self.counts.grid, np.zeros((1, len(self.counts.joint.classes)))
        for at, table in coefficients.columns(grid):
            places = None if at < len(grid.numbers) else self._places[at - len(grid.numbers)]
            of_codes = table if places is None else np.vstack([table, none])[places]
            self._codes[at], self._linear[at] = self._codes[at] + of_codes, self._linear[at] + of_codes

    def set_pairs(self, pairs: PairTables) -> None:
        """Take in the contributions of all pairs of columns."""
        self.pairs = pairs

    def _linear_tables(self, slopes: Floats, constants: Floats) -> list[Floats]:
        """Return the linear contribution of the code of each column, [code, class]; slopes of numbers come on top."""
        grid, none = self.counts.grid, np.zeros((1, len(self.counts.joint.classes)))
        out = []
        for at, bins in enumerate(grid.numbers):
            coarse = np.array(bins.coarse if bins.size else [-1] * len(bins.coarse))
            out.append(np.vstack([slopes[grid.flags(at)], none])[coarse] + constants[at])
        for at, place in enumerate(self._places, len(grid.numbers)):
            own = slopes[grid.flags(at)] if at < len(grid.names) else slopes[:0]
            own = own + constants[at] if len(own) else own
            out.append(np.vstack([own, none])[place])  # -1 finds the last: not on the grid
        return out

    def tables(self, bias: Floats) -> JointTables:
        """Return the tables with all that was added."""
        self._start()
        if self.coefficients is not None:
            self._add_coefficients(self.coefficients)
            bias = bias + self.coefficients.bias()
        grid, classes = self.counts.grid, self.counts.joint.classes
        slopes = Slopes(classes, self._slopes[grid.features - len(grid.numbers) :])
        codes = CodeTables(classes, tuple(self._codes))
        return JointTables(bias, codes, slopes, self.pairs, tuple(self._linear), self.quadratic)
