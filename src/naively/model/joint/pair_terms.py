"""Terms of pairs of columns: log ratios of pairs of values beyond independence within the class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from ..._types import Floats, Singles
from ...data.grid import Grid
from .associations import pair_scores_left_out
from .pair_tables import pair_tables
from .pairs_left_out import PairsLeftOut, pair_and_level
from .tables import TableBuilder
from .term_counts import TermCounts
from .term_gains import TermGains
from .terms import LeaveOneOut, Term, TermKind

if TYPE_CHECKING:
    from .influence import WeightedValues

PAIR = "pair"


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
        counts, codes, bins = (
            held.counts,
            held.sample.cells.codes,
            dict[int, np.ndarray[tuple[int], np.dtype[np.int32]]](),
        )
        rows, pseudo = held.rows, counts.recipe.pair_pseudo_count
        for i, j in column_pairs(counts.grid, level, counts.recipe.pair_bins):
            for at in (i, j):
                if at not in bins:
                    bins[at] = np.append(counts.pair_bins(at, level), np.int32(-1))[codes[:, at]]
            values = pair_scores_left_out(counts.pair(i, j, level), bins[i], bins[j], rows, pseudo)
            yield Term(PAIR, level, (i, j)), values

    def gaining(
        self, held: LeaveOneOut, level: int, gains: TermGains, least: float
    ) -> tuple[Singles, list[tuple[float, Term, Singles]]]:
        """Return the sum of the terms of a resolution, and those that gain more than the least, with their gain."""
        if held.sample.soft is not None:
            return super().gaining(held, level, gains, least)
        terms = self.all_at_level(held.counts, level)
        total, gain = PairsLeftOut(held, terms).sums_and_gains(gains)
        most = np.argsort(-gain, kind="stable")[: held.counts.recipe.own_pairs]
        kept = [int(at) for at in most if gain[at] > least]
        if not kept:
            return total, []
        values = PairsLeftOut(held, [terms[at] for at in kept]).values()
        return total, [(float(gain[at]), terms[at], part) for at, part in zip(kept, values, strict=True)]

    def add_left_out(
        self, held: LeaveOneOut, weights: Mapping[Term, float], total: Floats, gathered: WeightedValues | None
    ) -> None:
        """Add the weighted leave-one-out terms of rows to scores [class, row], and each to what its weight counts."""
        if held.sample.soft is not None:
            super().add_left_out(held, weights, total, gathered)
            return
        shared = 1 / self.divisor(held.counts)
        for level in self.levels(held.counts):
            terms = self.all_at_level(held.counts, level)
            by = np.array([weights.get(term, 0.0) for term in terms])
            if by.any():
                used = [term for term, weight in zip(terms, by, strict=True) if weight]
                total += PairsLeftOut(held, used).weighted(by[by != 0])
            if gathered is None or not terms:
                continue
            if terms[0].block in gathered.influence.place:
                gathered.add_sum(terms[0].block, PairsLeftOut(held, terms).weighted(np.full(len(terms), shared)))
            if own := [term for term in terms if term in gathered.influence.place]:
                for term, values in zip(own, PairsLeftOut(held, own).values(), strict=True):
                    gathered.add_own(term, values)

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
            if self.holds(term):
                own[pair_and_level(term)] = by
        found = pair_tables(tables.counts, own)
        for pair, offsets in () if tables.offsets is None else tables.offsets.of_pairs(tables.counts.grid):
            found.add(pair, offsets)
        tables.set_pairs(found)


def column_pairs(grid: Grid, level: int, levels: Sequence[int]) -> list[tuple[int, int]]:
    """Return the pairs of columns that are counted; those without bins of numbers at the first resolution only."""
    told = [at for at in range(len(grid.names)) if grid.offsets[at + 1] - grid.offsets[at] > 1]
    pairs = list(combinations(told, 2))
    return pairs if level == levels[0] else [(i, j) for i, j in pairs if i < len(grid.numbers)]
