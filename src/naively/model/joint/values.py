"""Values: naive Bayes on single columns, each number in two widths of bins, each category by itself.

The score of a value for a class is log (n + s) / (e + s): n rows of the class hold it, and e would if the class had its
share of all rows that do. The pseudo-count s shrinks the score of a rare value towards 0. Levels of an ordinal column
are read by themselves and in pairs of neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import _kernels
from ..._threads import threads_here
from ..._types import Codes, Floats, Longs, Singles
from ...stats.accumulators import offsets_of
from ..recipe import Recipe
from .terms import Term, TermKind

if TYPE_CHECKING:
    from .cross_fit import CrossFit
    from .sample import FittingRows
    from .tables import TableBuilder, TermCounts

VALUE, EACH, NEIGHBOURS = "value", "each", "neighbours"


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
        numbers, first = len(counts.grid.numbers), np.concatenate([counts.grid.fine_offsets, np.zeros(0, np.int64)])
        begins = [int(at) for at in first[:-1]]
        end = int(first[-1])
        for table in counts.tables:
            begins.append(end)
            end += table.shape[1]
        wanted = [
            *((Term(VALUE, width, (at,)), counts.bins(at, width))
              for width in counts.recipe.value_bins for at in range(numbers)),
            *(one for at in range(len(counts.tables)) for one in label_cells(counts, at)),
        ]  # fmt: skip
        wanted = [(term, to) for term, to in wanted if to.max(initial=0) > 0]
        places, starts, sizes, total = [], [], [], 0
        for term, to in wanted:
            codes = np.flatnonzero(to >= 0)
            codes = codes[np.argsort(to[codes], kind="stable")]
            starts.append(total + np.flatnonzero(np.diff(to[codes], prepend=-1)))
            places.append(begins[term.columns[0]] + codes)
            sizes.append(len(starts[-1]))
            total += len(codes)
        none = np.zeros(0, np.int64)
        return cls(
            tuple(term for term, _ in wanted), tuple(to for _, to in wanted), np.concatenate([*places, none]),
            np.concatenate([*starts, none]), offsets_of(np.array(sizes, dtype=np.int64)),
        )  # fmt: skip

    def totals(self, counts: TermCounts) -> Floats:
        """Return how many rows of each class lie in each cell, [class, cell]."""
        codes = np.concatenate([counts.joint.fine, *counts.tables], axis=1)
        if not len(self.terms):
            return np.zeros((len(codes), 0))
        return np.asarray(np.add.reduceat(codes[:, self.places], self.starts, axis=1))

    def scores(self, counts: TermCounts) -> Floats:
        """Return the score of each cell by some counts, [class, cell]."""
        n, pseudo = self.totals(counts), counts.recipe.value_pseudo_count
        if not len(self.terms):
            return n
        rows = np.add.reduceat(n, self.offsets[:-1], axis=1)
        share = n.sum(axis=0) / np.repeat(np.maximum(rows.sum(axis=0), 1e-300), np.diff(self.offsets))
        expected = np.repeat(rows, np.diff(self.offsets), axis=1) * share
        return np.asarray(np.log((n + pseudo) / (expected + pseudo)))

    def cells_of(self, rows: FittingRows) -> Codes:
        """Return the cell of each row in each term, [term, row]; -1 for a missing value."""
        numbers = rows.cells.fine.shape[1]
        out = np.empty((len(self.terms), len(rows)), dtype=np.int32)
        for at, (term, to) in enumerate(zip(self.terms, self.cells, strict=True)):
            column = term.columns[0]
            codes = rows.cells.fine[:, column] if column < numbers else rows.labels[:, column - numbers]
            out[at] = np.append(to, np.int32(-1))[np.where(codes < len(to), codes, -1)]
        return out


def label_cells(counts: TermCounts, at: int) -> Iterator[tuple[Term, Codes]]:
    """Give the terms of a column of labels, with the cell of each label."""
    column, size = (len(counts.grid.numbers) + at,), counts.tables[at].shape[1]
    codes = np.arange(size, dtype=np.int32)
    yield Term(VALUE, EACH, column), codes
    if (levels := counts.levels(at)) >= counts.recipe.fewest_levels:
        yield Term(VALUE, NEIGHBOURS, column), np.where(codes < levels, codes // 2, np.int32(-1))


class ValueTerms(TermKind):
    """Scores of the values of each column."""

    name = "values"
    single = True

    def holds(self, term: Term) -> bool:
        """Tell whether a term is of values."""
        return term.kind == VALUE

    def title(self, term: Term) -> str:
        """Return what a term is, in words."""
        if isinstance(term.level, int):
            return f"each number by {f'{term.level} bins' if term.level else 'its finest bins'}"
        return "each category" if term.level == EACH else "each level with a neighbour"

    def values(self, cross: CrossFit) -> Iterator[tuple[Term, Singles]]:
        """Give the terms of rows by counts without their fold, [class, row]."""
        layout, counts = cross.counts.layout, cross.counts
        out = np.empty((len(layout.terms), len(counts.prior), len(cross.rows)), dtype=np.float32)
        cells, totals = cross.rows.value_cells(layout), np.ascontiguousarray(layout.totals(counts).T)
        about = (cells, layout.offsets, totals, *cross.folded)
        _kernels.cross_values(*about, counts.recipe.value_pseudo_count, out, threads_here())
        yield from zip(layout.terms, out, strict=True)

    def start_group(self, block: Term) -> str | None:
        """Return the group that both widths of numbers share, or both readings of levels."""
        return "numbers" if isinstance(block.level, int) else None

    def start(self, block: Term) -> float:
        """Return the weight before any row is seen: each column counts once."""
        return 0.0 if block.level == NEIGHBOURS else 1.0

    def column_alone(self, term: Term, recipe: Recipe) -> bool:
        """Tell whether a term stands for its column where each column counts by itself."""
        return term.level in (recipe.wide_bins, EACH)

    def add_tables(self, tables: TableBuilder) -> None:
        """Add the weighted score of each code of each column."""
        layout = tables.counts.layout
        scores = layout.scores(tables.counts)
        for at, (term, to) in enumerate(zip(layout.terms, layout.cells, strict=True)):
            if by := tables.weights.get(term):
                own = scores[:, layout.offsets[at] : layout.offsets[at + 1]].T
                tables.add(term.columns[0], by * np.where(to[:, None] >= 0, own[to], 0.0))
