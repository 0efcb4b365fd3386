"""Terms of pairs of columns: log ratios of pairs of values beyond independence within the class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from ... import _kernels
from ..._threads import threads_here
from ..._types import Codes, Floats, Singles
from ...data.grid import Grid
from ...stats.accumulators import offsets_of
from .associations import HeldOutRows, pair_scores_left_out
from .pair_tables import pair_tables
from .tables import TableBuilder
from .term_counts import TermCounts
from .terms import LeaveOneOut, Term, TermKind

PAIR = "pair"
# Numbers of 4 bytes that the terms of some pairs take together. A limit of memory.
MOST_CELLS = 1 << 23


class PairTerms(TermKind):
    """Log ratios of each pair of columns."""

    name = "pairs"
    selected = True
    sum_rank = 5

    def holds(self, term: Term) -> bool:
        """Tell whether a term is of pairs."""
        return term.kind == PAIR

    def title(self, term: Term) -> str:
        """Return what a term is, in words."""
        return f"each pair of columns{f', numbers by {term.level} bins' if term.level else ''}"

    def levels(self, counts: TermCounts) -> Sequence[int]:
        """Return the resolutions of bins."""
        return counts.recipe.pair_bins

    def at_level(self, held: LeaveOneOut, level: int) -> Iterator[tuple[Term, Singles]]:
        """Give the term of each pair of columns, each row left out."""
        for terms, values in self.batches_at_level(held, level):
            yield from zip(terms, values, strict=True)

    def batches_at_level(self, held: LeaveOneOut, level: int) -> Iterator[tuple[list[Term], Singles]]:
        """Give the terms of pairs of columns, some at a time, each row left out, [term, class, row]."""
        counts, rows, pseudo = held.counts, held.rows, held.counts.recipe.pair_pseudo_count
        codes, to = held.sample.cells.codes, [counts.pair_bins(at, level) for at in range(len(counts.grid.names))]
        bins = np.empty(codes.shape[::-1], dtype=np.int32)
        for at, of_column in enumerate(bins):
            np.take(np.append(to[at], np.int32(-1)), codes[:, at], out=of_column, mode="wrap")
        size = max(MOST_CELLS // max(len(rows.y) * len(counts.prior), 1), 1)
        pairs = column_pairs(counts.grid, level, counts.recipe.pair_bins)
        for begin in range(0, len(pairs), size):
            some = pairs[begin : begin + size]
            tables = [counts.pair_in(i, j, to[i], to[j]) for i, j in some]
            yield [Term(PAIR, level, pair) for pair in some], pairs_left_out(some, tables, bins, rows, pseudo)

    def all_at_level(self, counts: TermCounts, level: int) -> list[Term]:
        """Return the terms of all pairs of columns."""
        return [Term(PAIR, level, pair) for pair in column_pairs(counts.grid, level, counts.recipe.pair_bins)]

    def divisor(self, counts: TermCounts) -> int:
        """Return with how many others each column is paired."""
        pairs = column_pairs(counts.grid, counts.recipe.pair_bins[0], counts.recipe.pair_bins)
        return max(len({at for pair in pairs for at in pair}) - 1, 1)

    def leave_one_out(self, held: LeaveOneOut, weights: Mapping[Term, float]) -> Iterator[tuple[Term, Singles]]:
        """Give the terms of all pairs."""
        for level in self.levels(held.counts):
            yield from self.at_level(held, level)

    def add_tables(self, tables: TableBuilder) -> None:
        """Add the weighted log ratios of each pair that has a weight."""
        own = {}
        for term, by in tables.weights.items():
            if self.holds(term) and isinstance(term.level, int):
                i, j = term.columns
                own[i, j, term.level] = by
        tables.set_pairs(pair_tables(tables.counts, own))


def pairs_left_out(
    pairs: Sequence[tuple[int, int]], tables: Sequence[Floats], bins: Codes, rows: HeldOutRows, pseudo: float
) -> Singles:
    """Return the log ratios of pairs of columns with each row left out, [pair, class, row].

    Given are the counts [class, bin, bin] of each pair, and the bins [column, row] of all columns.
    """
    out = np.empty((len(pairs), len(tables[0]), len(rows.y)), dtype=np.float32)
    if rows.soft is not None:  # a row is left out of several classes
        for at, ((i, j), n) in enumerate(zip(pairs, tables, strict=True)):
            out[at] = pair_scores_left_out(n, bins[i], bins[j], rows, pseudo)
        return out
    first, second = np.array(pairs, dtype=np.int64).T.copy()
    sizes = np.array([table.shape for table in tables], dtype=np.int64)
    starts = offsets_of(sizes.prod(axis=1))[:-1]
    sides = sizes[:, 1].copy(), sizes[:, 2].copy()
    counts = np.concatenate([np.ravel(table) for table in tables])
    _kernels.leave_one_out_pairs(
        bins, first, second, *sides, starts, counts, pseudo, rows.y, rows.weights, out, threads_here()
    )
    return out


def column_pairs(grid: Grid, level: int, levels: Sequence[int]) -> list[tuple[int, int]]:
    """Return the pairs of columns that are counted; those without bins of numbers at the first resolution only."""
    told = [at for at in range(len(grid.names)) if grid.offsets[at + 1] - grid.offsets[at] > 1]
    pairs = list(combinations(told, 2))
    return pairs if level == levels[0] else [(i, j) for i, j in pairs if i < len(grid.numbers)]
