"""Pairs: what two columns say together beyond each alone; and the tables of interactions that rows are scored by.

The score of a pair of values for a class is log (n + s) / (e + s): n rows of the class have both, and e would if the
columns were independent within the class. All pairs of columns share one weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import _kernels
from ..._kernels import Scorer
from ..._threads import threads_here
from ..._types import Codes, Floats, Longs, Matrix, Singles
from ...families.family import padded
from ...stats import Axis
from ...stats.accumulators import offsets_of
from .rows import Term

if TYPE_CHECKING:
    from .rows import CrossFit
    from .tables import TableBuilder, TermCounts

PAIRS = Term("pairs")
Columns = tuple[int, ...]  # of an interaction: two or three columns by their place on the grid


@dataclass(frozen=True)
class PairColumns:
    """All pairs of columns that have several codes."""

    first: Longs
    second: Longs

    @classmethod
    def of(cls, counts: TermCounts) -> PairColumns:
        """Return the pairs of the columns of some counts."""
        columns = np.flatnonzero(np.diff(counts.grid.offsets) > 1)
        first, second = np.triu_indices(len(columns), 1)
        return cls(columns[first].astype(np.int64), columns[second].astype(np.int64))

    def __len__(self) -> int:
        return len(self.first)

    @property
    def partners(self) -> int:
        """With how many others each column is paired: what the sum over all pairs is divided by."""
        return max(len(np.unique(self.first)), 1)


def cross_pairs(cross: CrossFit, pairs: PairColumns, p: Floats) -> tuple[Singles, Floats]:
    """Return the sum of all pairs by the counts without each row's fold, [class, row], and the gain of each pair.

    The gain is by how much the log loss would fall if the pair had a weight of its own, to the second order, given the
    probabilities so far, [class, row].
    """
    counts, rows, weights, classes = cross.counts, cross.rows, cross.weights, len(p)
    error = -p * weights
    error[rows.y, np.arange(len(rows))] += weights
    by_row = [padded(np.ascontiguousarray(part.T)) for part in (p, error)]
    sums, slope, curve = np.zeros(by_row[0].shape), np.zeros(len(pairs)), np.zeros(len(pairs))
    columns = rows.cells.codes, counts.joint.products, counts.grid.offsets, pairs.first, pairs.second
    results = weights, sums, slope, curve, threads_here()
    arguments: tuple[Any, ...] = (*columns, *cross.folded, counts.recipe.pair_pseudo_count, *by_row, *results)
    _kernels.cross_pairs(*arguments)
    total = np.ascontiguousarray(sums[:, :classes].T / pairs.partners, dtype=np.float32)
    return total, slope * np.abs(slope) / (2 * (curve + 1))


def add_pairs(tables: TableBuilder) -> None:
    """Add the weighted scores of all pairs."""
    if not (weight := tables.weights.get(PAIRS)):
        return
    counts, pairs = tables.counts, PairColumns.of(tables.counts)
    columns = [(i, j) for i, j in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)]
    tables.interactions = Interactions.empty(counts.joint.classes, np.diff(counts.grid.offsets), columns)
    places = tables.interactions.columns, tables.interactions.lines, tables.interactions.table
    about = counts.joint.products, counts.grid.offsets, pairs.first, pairs.second, counts.recipe.pair_pseudo_count
    _kernels.add_pair_scores(*about, weight / pairs.partners, *places, threads_here())


# -- tables ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Interactions:
    """The contribution of combinations of the codes of two or three columns: a line of a table for each combination.

    After the codes of each column comes one more, for missing values, which contribute nothing. Three columns are read
    by fewer bins than two: codes of the grid that are merged lie behind those of the grid.
    """

    classes: Axis
    sizes: Longs  # the number of codes of each column: those of the grid, then merged ones
    columns: Longs  # [interaction, 3], the third -1 where there are two
    lines: Longs  # where each interaction begins in the table
    table: Floats  # [line, class], padded as the kernels read it
    merged: tuple[tuple[int, Codes], ...] = ()  # columns whose codes are merged, and the merged code of each

    @classmethod
    def empty(
        cls, classes: Axis, sizes: Longs, columns: Sequence[Columns], merged: tuple[tuple[int, Codes], ...] = ()
    ) -> Interactions:
        """Return tables that contribute nothing yet; columns are those of the grid, then the merged ones."""
        places = np.array([(*part, -1)[:3] for part in columns], dtype=np.int64).reshape(-1, 3)
        codes = np.append(sizes + 1, 1)[places]  # the size of no column is 1
        lines = offsets_of(codes.prod(axis=1))
        table = np.zeros((int(lines[-1]), -(-len(classes) // 4) * 4))
        return cls(classes, np.asarray(sizes, dtype=np.int64), places, lines[:-1], table, merged)

    def __len__(self) -> int:
        return len(self.columns)

    def with_more(
        self, columns: Sequence[Columns], sizes: Longs, merged: tuple[tuple[int, Codes], ...]
    ) -> Interactions:
        """Return the same with other interactions behind, which contribute nothing yet."""
        more = Interactions.empty(self.classes, sizes, columns, merged)
        return Interactions(
            self.classes,
            more.sizes,
            np.vstack([self.columns, more.columns]),
            np.append(self.lines, len(self.table) + more.lines),
            np.vstack([self.table, more.table]),
            merged,
        )

    def part(self, place: int) -> Floats:
        """Return the table of an interaction, [code, code, class] or [code, code, code, class], to be added to."""
        sizes = self.sizes[self.columns[place][self.columns[place] >= 0]] + 1
        begin = int(self.lines[place])
        whole = self.table[begin : begin + int(sizes.prod())].reshape(*sizes, -1)
        return whole[tuple(slice(-1) for _ in sizes)][..., : len(self.classes)]

    def of_grid(self, place: int) -> Columns:
        """Return the columns of an interaction by their place on the grid."""
        columns = len(self.sizes) - len(self.merged)
        return tuple(
            int(at) if at < columns else self.merged[at - columns][0] for at in self.columns[place].tolist() if at >= 0
        )

    @cached_property
    def all_columns(self) -> tuple[Columns, ...]:
        """The columns of each interaction by their place on the grid."""
        return tuple(self.of_grid(place) for place in range(len(self)))

    @cached_property
    def _offsets(self) -> Longs:
        return offsets_of(self.sizes)

    def codes(self, codes: Codes) -> Codes:
        """Return the codes of rows on the grid, with merged ones behind."""
        if not self.merged:
            return codes
        more = [np.append(merged, np.int32(-1))[codes[:, column]] for column, merged in self.merged]
        return np.asfortranarray(np.column_stack([codes, *more]).astype(np.int32))

    def contributions(self, codes: Codes) -> Floats:
        """Return the contribution of each interaction to the score of each row, [row, interaction, class]."""
        known = np.where(codes < 0, self.sizes, codes)  # the line of missing values comes last
        known = np.column_stack([known, np.zeros(len(codes), dtype=known.dtype)])  # of no column
        first, second, third = self.columns.T
        sizes = np.append(self.sizes + 1, 1)
        lines = (known[:, first] * sizes[second] + known[:, second]) * sizes[third] + known[:, third] + self.lines
        result: Floats = self.table[lines, : len(self.classes)]
        return result

    def means(self, products: Floats, offsets: Longs, rows: float) -> Iterator[tuple[Columns, Floats]]:
        """Give the mean contribution of each interaction of two columns, [class], given products of features."""
        for place, columns in enumerate(self.all_columns):
            if len(columns) == 2:
                first, second = (slice(1 + int(offsets[at]), 1 + int(offsets[at + 1])) for at in columns)
                yield columns, np.einsum("ab,abk->k", products[first, second], self.part(place)) / rows

    def add_to(self, scorer: Scorer, x: Matrix, missing: bool = True) -> None:
        """Have the contributions of the interactions added to the scores."""
        if len(self):
            scorer.interactions(x, self._offsets, self.columns, self.lines, self.table)
