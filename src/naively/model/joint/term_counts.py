"""The counts that the default model is computed from: single columns, their bins and pairs, all numbers at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ... import _kernels
from ..._threads import threads_here
from ..._types import Codes, Floats
from ...data.grid import Grid
from ...stats.pairs import JointCounts
from ..recipe import RECIPE, Recipe
from .linear import LinearScores
from .quadratic import QuadraticScores
from .sample import FittingRows
from .values import ValueLayout

# Rows of a class below which it has none: what rounding of fractional weights leaves.
LEAST_ROWS = 1e-9


@dataclass(frozen=True)
class TermCounts:
    """What terms are computed from: pairs of columns, bins of numbers, and each column of labels, [class, label]."""

    joint: JointCounts
    tables: Sequence[Floats]
    ordered: Sequence[int] = ()  # how many values of each table are ordinal levels; they come first
    recipe: Recipe = RECIPE
    places: Sequence[Codes] = ()  # the code on the grid of each label of each table, -1 for none
    laid: ValueLayout | None = None  # the same for all counts of these columns

    @cached_property
    def layout(self) -> ValueLayout:
        """The cells of the terms of values."""
        return ValueLayout.of(self) if self.laid is None else self.laid

    def without(self, rows: FittingRows) -> TermCounts:
        """Return the counts without some rows that were counted."""
        some, y, w = rows.by_class()
        grid, joint, threads = self.grid, self.joint, threads_here()
        fine, half = np.array(joint.fine.T, order="C"), joint.products.copy()
        less = np.negative(w)
        _kernels.count_codes(some.cells.fine, y, less, True, grid.fine_offsets, fine, threads)
        _kernels.count_products(some.cells.codes, grid.offsets, some.cells.level, y, less, half, threads)
        products = np.empty_like(half)
        _kernels.mirror_products(half, np.arange(len(half)), products)
        products[products[:, 0, 0] < LEAST_ROWS] = 0.0  # no row of the class is left
        tables = []
        for at, table in enumerate(self.tables):
            codes = some.labels[:, at]
            known = codes >= 0
            cells = y[known] * np.int64(table.shape[1]) + codes[known]
            lost = np.bincount(cells, w[known], table.size).reshape(table.shape)
            tables.append(np.maximum(table - lost, 0.0))
        lower = np.maximum(fine.T, 0.0)
        for sums in (lower, products):
            sums.flags.writeable = False  # they are nobody else's: no copy is needed
        left = JointCounts(joint.classes, grid, lower, products)
        return replace(self, joint=left, tables=tables, laid=self.layout)

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

    def linear(self, which: str) -> LinearScores:
        """Return linear scores of features: all ("bins"), or all but the bins of numbers ("numbers")."""
        if which not in self._linear:
            first = 1 if which == "bins" else 1 + int(self.grid.offsets[len(self.grid.numbers)])
            self._linear[which] = LinearScores(self.joint, np.arange(first, self.grid.features), self.recipe)
        return self._linear[which]

    @cached_property
    def _linear(self) -> dict[str, LinearScores]:
        """Those that were asked for: several ridges are tried on the same scatter."""
        return {}

    @cached_property
    def quadratic(self) -> QuadraticScores:
        """Quadratic scores of the numbers and of the flags of labels."""
        return QuadraticScores(self.linear("numbers"))
