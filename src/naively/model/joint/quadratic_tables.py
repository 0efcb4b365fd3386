"""The quadratic term as tables: what it adds to the scores by column and by pair of columns.

A flag is its own square, and only one flag of a column is set. So products of flags are contributions of labels and of
pairs of labels, and join the tables that there are for these. Products with numbers are left: they are a term of the
score of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from ..._kernels import Scorer
from ..._linear_algebra import product
from ..._types import Floats, Longs, Matrix
from ...data.grid import Cells, Grid
from ...families.family import padded
from ...stats import Axis
from .normal import Shrinkage
from .pairs import PairTables
from .tables import TermCounts

# The kernel reads the squares of a class in tiles of so many lines (`QuadraticForm::TILE`).
TILE = 4


@dataclass(frozen=True)
class QuadraticTable:
    """The weighted quadratic term of a model; features are the flags of labels, then the numbers."""

    classes: Axis
    grid: Grid
    products: Floats  # [class, feature, feature], symmetric; classes add up to 0
    slopes: Floats  # [class, feature]
    constants: Floats  # [column, class]

    @classmethod
    def of(cls, counts: TermCounts, by: Shrinkage, weight: float) -> QuadraticTable:
        """Return the term under a shrinkage and a weight."""
        scores = counts.normal
        parts, to = scores.parts(by), scores.directions
        assert parts.squares is not None
        products, slopes = product(product(to, weight * parts.squares), to.T), product(weight * parts.slopes, to.T)
        return cls(counts.joint.classes, counts.grid, products, slopes, weight * parts.constants.T)

    @property
    def _flags(self) -> int:
        """How many features are flags."""
        return int(self.products.shape[1]) - len(self.grid.numbers)

    @property
    def feature_slopes(self) -> Floats:
        """The slope of each feature of the grid, [feature, class]; that of a flag includes its square."""
        out = np.zeros((self.grid.features, len(self.classes)))
        out[self.grid.features - self.products.shape[1] :] = self.slopes.T
        own = out[self.grid.features - self.products.shape[1] :][: self._flags]
        own += np.einsum("kff->fk", self.products)[: self._flags]
        return out

    # -- labels ---------------------------------------------------------------------------------------------------

    @cached_property
    def _offsets(self) -> Longs:
        """Where the flags of each column of labels begin."""
        offsets = self.grid.offsets[len(self.grid.numbers) :]
        return np.asarray(offsets - offsets[0])

    @property
    def _labels(self) -> list[int]:
        """The columns that have several labels: a single one contributes nothing."""
        return [int(at) for at in np.flatnonzero(np.diff(self.grid.offsets) > 1) if at >= len(self.grid.numbers)]

    def with_pairs_of_labels(self, pairs: PairTables) -> PairTables:
        """Return tables of pairs, while they are made, with the products of flags of two columns added."""
        wanted, known = list(combinations(self._labels, 2)), set(pairs.pairs)
        found = pairs.with_more([pair for pair in wanted if pair not in known])
        line_of = np.full((len(self.grid.names),) * 2, -1, dtype=np.int64)
        line_of[found.first, found.second] = found.lines
        sizes, first = np.diff(self.grid.offsets), len(self.grid.numbers)
        column = np.repeat(np.arange(first, len(sizes)), sizes[first:])
        code = np.arange(self._flags) - self._offsets[column - first]
        a, b = np.triu_indices(self._flags, 1)
        others = column[a] != column[b]
        a, b = a[others], b[others]
        at = line_of[column[a], column[b]] + code[a] * (sizes[column[b]] + 1) + code[b]
        there = np.flatnonzero(np.isin(column[a], self._labels) & np.isin(column[b], self._labels))
        found.table[at[there], : len(self.classes)] += 2 * self.products[:, a[there], b[there]].T
        return found

    # -- numbers --------------------------------------------------------------------------------------------------

    @cached_property
    def _squares(self) -> Floats:
        """The products of numbers as the kernel reads them: of all classes but the last, [class, cell]."""
        of_numbers = np.tril(2 * self.products[:-1, self._flags :, self._flags :], -1)
        size = -(-len(self.grid.numbers) // TILE) * TILE
        whole = np.zeros((len(of_numbers), size, size))
        whole[:, : of_numbers.shape[1], : of_numbers.shape[1]] = of_numbers
        at = np.arange(of_numbers.shape[1])
        whole[:, at, at] = np.einsum("kff->kf", self.products[:-1])[:, self._flags :]
        tiles = [whole[:, i : i + TILE, : i + TILE].transpose(0, 2, 1) for i in range(0, size, TILE)]
        return np.ascontiguousarray(np.concatenate([tile.reshape(len(whole), -1) for tile in tiles], axis=1))

    @cached_property
    def _slopes_by_flag(self) -> Floats:
        """The slopes of numbers that each flag adds, [flag, number and class]."""
        lines = 2 * self.products[:, : self._flags, self._flags :].transpose(1, 2, 0)
        table = padded(lines.reshape(-1, len(self.classes)))
        return table.reshape(self._flags, len(self.grid.numbers) * table.shape[1])

    def add_to(self, scorer: Scorer, x: Matrix, missing: bool = True) -> None:
        """Have the products of numbers, with each other and with flags, added to the scores."""
        codes = x.codes[:, len(self.grid.numbers) :]
        scorer.quadratic(x.level, codes, self._offsets, self._squares, self._slopes_by_flag)

    # -- contributions --------------------------------------------------------------------------------------------

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of columns with a number whose products contribute, by their places on the grid."""
        numbers = [at for at, bins in enumerate(self.grid.numbers) if bins.scale]
        return [*combinations(numbers, 2), *((i, j) for i in numbers for j in self._labels)]

    def contributions(self, x: Cells) -> Iterator[tuple[tuple[int, int], Floats]]:
        """Give the contributions of products with numbers, [row, class], by the places of both columns."""
        squares = np.einsum("kff->fk", self.products)[self._flags :]
        for at, line in enumerate(squares):
            yield (at, at), x.level[:, at : at + 1] ** 2 * line
        for i, j in self.pairs:
            of_first = 2 * self.products[:, self._flags + i]
            if j < len(self.grid.numbers):
                times = (x.level[:, i] * x.level[:, j])[:, None]
                yield (i, j), times * of_first[:, self._flags + j]
            else:
                begin, end = self._offsets[j - len(self.grid.numbers) :][:2]
                lines = np.vstack([of_first[:, begin:end].T, np.zeros(len(self.classes))])
                codes = x.codes[:, j]
                yield (i, j), x.level[:, i : i + 1] * lines[np.where(codes < end - begin, codes, -1)]
