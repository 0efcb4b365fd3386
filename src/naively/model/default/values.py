"""Values: naive Bayes on single columns, each number in two widths of bins, each category by itself.

The score of a value for a class is log (n + s) / (e + s): n rows of the class have it, and e would if the class had its
share of all rows that do. The pseudo-count s shrinks the score of a rare value towards 0. Levels of an ordinal column
are scored by themselves and in pairs of neighbors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import _kernels
from ..._threads import threads_here
from ..._types import Codes, Floats, Longs
from ...stats.accumulators import offsets_of
from .rows import Term, Terms

if TYPE_CHECKING:
    from .rows import CrossFit, FittingRows
    from .tables import TableBuilder, TermCounts

VALUES, EACH, NEIGHBORS = "values", "each", "neighbors"
# An ordinal column of fewer levels has no neighbors.
FEWEST_LEVELS = 3


@dataclass(frozen=True, eq=False)
class ValueLayout:
    """The cells of all terms of values, one term after the other, and which codes of its column each cell holds."""

    terms: tuple[Term, ...]
    cells: tuple[Codes, ...]  # of each term, the cell of each code of its column; -1 for none
    places: Longs  # codes among those of all columns, by cells
    starts: Longs  # where each cell begins among these
    offsets: Longs  # where the cells of each term begin

    @classmethod
    def of(cls, counts: TermCounts) -> ValueLayout:
        """Return the layout for some columns; a column of a single cell has no term."""
        numbers, fine = len(counts.grid.numbers), counts.grid.fine_offsets
        sizes = [*np.diff(fine).tolist(), *(table.shape[1] for table in counts.tables)]
        begins = offsets_of(np.array(sizes, dtype=np.int64))
        widths = [(width, column) for width in counts.recipe.value_bins for column in range(numbers)]
        wanted = [(Term(VALUES, width, (column,)), counts.bins(column, width)) for width, column in widths]
        wanted += [term for column in range(len(counts.tables)) for term in category_cells(counts, column)]
        wanted = [(term, cells) for term, cells in wanted if cells.max(initial=0) > 0]
        if not wanted:
            none = np.zeros(0, np.int64)
            return cls((), (), none, none, np.zeros(1, np.int64))
        offsets = offsets_of(np.array([cells.max() + 1 for _, cells in wanted], dtype=np.int64))
        cells = np.concatenate(
            [np.where(cells < 0, -1, cells + at) for (_, cells), at in zip(wanted, offsets[:-1], strict=True)]
        )
        codes = np.concatenate([begins[term.columns[0]] + np.arange(len(cells)) for term, cells in wanted])
        order = np.argsort(cells, kind="stable")[np.count_nonzero(cells < 0) :]
        starts = np.flatnonzero(np.diff(cells[order], prepend=-1))
        return cls(tuple(term for term, _ in wanted), tuple(own for _, own in wanted), codes[order], starts, offsets)

    def totals(self, counts: TermCounts) -> Floats:
        """Return how many rows of each class lie in each cell, [class, cell]."""
        codes = np.concatenate([counts.joint.fine, *counts.tables], axis=1)
        if not self.terms:
            return np.zeros((len(codes), 0))
        return np.asarray(np.add.reduceat(codes[:, self.places], self.starts, axis=1))

    def scores(self, counts: TermCounts) -> Floats:
        """Return the score of each cell by some counts, [class, cell]."""
        n, pseudo = self.totals(counts), counts.recipe.value_pseudo_count
        if not self.terms:
            return n
        rows = np.add.reduceat(n, self.offsets[:-1], axis=1)
        share = n.sum(axis=0) / np.repeat(np.maximum(rows.sum(axis=0), 1e-300), np.diff(self.offsets))
        expected = np.repeat(rows, np.diff(self.offsets), axis=1) * share
        return np.asarray(np.log((n + pseudo) / (expected + pseudo)))

    def cells_of(self, rows: FittingRows) -> Codes:
        """Return the cell of each row in each term, [term, row]; -1 for a missing value."""
        numbers = rows.cells.fine.shape[1]
        out = np.empty((len(self.terms), len(rows)), dtype=np.int32)
        for line, term, cells in zip(out, self.terms, self.cells, strict=True):
            column = term.columns[0]
            codes = rows.cells.fine[:, column] if column < numbers else rows.labels[:, column - numbers]
            np.take(np.append(cells, np.int32(-1)), np.where(codes < len(cells), codes, -1), out=line, mode="wrap")
        return out


def category_cells(counts: TermCounts, place: int) -> Iterator[tuple[Term, Codes]]:
    """Give the terms of a column of categories, with the cell of each category."""
    column, codes = (len(counts.grid.numbers) + place,), np.arange(counts.tables[place].shape[1], dtype=np.int32)
    yield Term(VALUES, EACH, column), codes
    if (levels := counts.levels(place)) >= FEWEST_LEVELS:
        yield Term(VALUES, NEIGHBORS, column), np.where(codes < levels, codes // 2, np.int32(-1))


def cross_values(cross: CrossFit, cells: Codes) -> Terms:
    """Return the terms of values by the counts without each row's fold, given the cells of the rows, [term, row]."""
    layout, counts = cross.counts.layout, cross.counts
    out = np.empty((len(layout.terms), len(counts.prior), len(cross.rows)), dtype=np.float32)
    totals = np.ascontiguousarray(layout.totals(counts).T)
    pseudo = counts.recipe.value_pseudo_count
    _kernels.cross_values(cells, layout.offsets, totals, *cross.folded, pseudo, out, threads_here())
    return dict(zip(layout.terms, out, strict=True))


def add_values(tables: TableBuilder) -> None:
    """Add the weighted score of each code of each column."""
    layout = tables.counts.layout
    scores = layout.scores(tables.counts)
    for place, (term, cells) in enumerate(zip(layout.terms, layout.cells, strict=True)):
        if weight := tables.weights.get(term):
            own = scores[:, layout.offsets[place] : layout.offsets[place + 1]].T
            tables.add(term.columns[0], weight * np.where(cells[:, None] >= 0, own[cells], 0.0))
