"""Pairs: what two columns say together beyond each alone.

The score of a pair of values for a class is log (n + s) / (e + s): n rows of the class hold both, and e would if the
columns were independent within the class. Numbers come in rough and in coarse bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import _kernels
from ..._linear_algebra import dot
from ..._threads import threads_here
from ..._types import Floats, Singles
from ...data.grid import Grid
from ...families.family import padded
from .pair_tables import PairTermArrays, pair_tables
from .soft_rows import RowClasses
from .tables import TableBuilder
from .term_counts import TermCounts
from .terms import Term, TermKind, Terms

if TYPE_CHECKING:
    from .cross_fit import CrossFit

PAIR = "pair"


class PairTerms(TermKind):
    """Scores of the pairs of values of each two columns.

    There may be too many of them to hold at once: those of clear gain get a weight of their own, all share another.
    """

    name = "pairs"

    def holds(self, term: Term) -> bool:
        """Tell whether a term is of pairs."""
        return term.kind == PAIR

    def title(self, term: Term) -> str:
        """Return what a term is, in words."""
        return f"each pair of columns{f', numbers by {term.level} bins' if term.level else ''}"

    def add_tables(self, tables: TableBuilder) -> None:
        """Add the weighted scores of each pair that has a weight."""
        own = {pair_and_level(term): by for term, by in tables.weights.items() if self.holds(term)}
        found = pair_tables(tables.counts, own)
        if tables.coefficients is not None:
            wanted = tables.coefficients.pairs
            known = set(found.pairs)
            found = found.with_more([pair for pair in wanted if pair not in known])
            for pair, values in tables.coefficients.of_pairs(tables.counts.grid):
                found.add(pair, values)
        tables.set_pairs(found)


def pair_and_level(term: Term) -> tuple[int, int, int]:
    """Return the columns and the resolution of a term of a pair."""
    return *term.columns, int(term.level or 0)  # type: ignore[return-value]  # pairs have two columns


def pair_terms(counts: TermCounts, level: int) -> list[Term]:
    """Return the terms of all pairs of columns at a resolution."""
    return [Term(PAIR, level, pair) for pair in column_pairs(counts.grid, level, counts.recipe.pair_bins)]


def column_pairs(grid: Grid, level: int, levels: Sequence[int]) -> list[tuple[int, int]]:
    """Return the pairs of columns that are counted; those without bins of numbers at the first resolution only."""
    told = [at for at in range(len(grid.names)) if grid.offsets[at + 1] - grid.offsets[at] > 1]
    pairs = list(combinations(told, 2))
    return pairs if level == levels[0] else [(i, j) for i, j in pairs if i < len(grid.numbers)]


def partners(counts: TermCounts) -> int:
    """Return with how many others each column is paired: what sums of all pairs are divided by."""
    pairs = column_pairs(counts.grid, counts.recipe.pair_bins[0], counts.recipe.pair_bins)
    return max(len({at for pair in pairs for at in pair}) - 1, 1)


class TermGains:
    """Probabilities of rows so far, [class, row], to tell how much one more term would gain."""

    def __init__(self, p: Singles, truth: RowClasses, rows: Floats) -> None:
        self.p, self.rows = p, rows.astype(np.float32)
        self.error = -p * self.rows
        truth.add_to(self.error, self.rows)

    def of(self, values: Singles) -> float:
        """Return by how much the log loss would fall if a term had a weight, to the second order."""
        slope, weighted = dot(self.error.ravel(), values.ravel()), self.p * values
        mean = weighted.sum(axis=0)
        weighted *= values
        curve = dot(self.rows, weighted.sum(axis=0) - mean * mean) + 1.0
        return slope * abs(slope) / (2 * curve)


class PairScores:
    """Some terms of pairs, to score rows by counts without their fold in one call of the kernels."""

    def __init__(self, cross: CrossFit, terms: Sequence[Term]) -> None:
        self.cross, self.terms = cross, terms

    def _run(self, **request: Any) -> None:
        counts, cross = self.cross.counts, self.cross
        arrays = PairTermArrays.of(counts, dict.fromkeys(map(pair_and_level, self.terms), 1.0))
        about = (counts.joint.products, counts.grid.offsets, arrays.bins, arrays.first, arrays.second, arrays.level)
        pseudo = counts.recipe.pair_pseudo_count
        _kernels.cross_pairs(cross.rows.cells.codes, *about, *cross.folded, pseudo, **request, threads=threads_here())

    def sums_and_gains(self, p: Floats) -> tuple[dict[Term, Singles], Floats]:
        """Return the sums of the terms at each resolution, [class, row], and the gain of each term.

        A gain is by how much the log loss would fall if the term had a weight, to the second order, given the
        probabilities so far, [class, row].
        """
        rows, weights, classes = self.cross.rows, self.cross.weights, len(p)
        error = -p * weights
        rows.truth.add_to(error, weights)
        p, error = (padded(np.ascontiguousarray(part.T, dtype=np.float64)) for part in (p, error))
        blocks = list(dict.fromkeys(term.block for term in self.terms))
        sums = np.zeros((len(blocks), *p.shape))
        slope, curve = np.zeros(len(self.terms)), np.zeros(len(self.terms))
        self._run(sums=sums, p=p, error=error, effective=weights, slope=slope, curve=curve)
        by_block = {
            block: np.ascontiguousarray(part[:, :classes].T, dtype=np.float32)
            for block, part in zip(blocks, sums, strict=True)
        }
        return by_block, slope * np.abs(slope) / (2 * (curve + 1))

    def values(self) -> Terms:
        """Return the values of all terms, [class, row]."""
        if not self.terms:
            return {}
        out = np.empty((len(self.terms), len(self.cross.counts.prior), len(self.cross.rows)), dtype=np.float32)
        self._run(values=out)
        return dict(zip(self.terms, out, strict=True))
