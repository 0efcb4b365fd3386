"""Pairs: what two columns say together beyond each alone.

The score of a pair of values for a class is log (n + s) / (e + s): n rows of the class hold both, and e would if the
columns were independent within the class. Numbers come in rough and in coarse bins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ... import _kernels
from ..._kernels import Scorer, add_pair_scores, pair_ratios
from ..._linear_algebra import dot
from ..._threads import threads_here
from ..._types import Codes, Floats, Longs, Matrix, Singles
from ...data.grid import Grid
from ...families.family import padded
from ...stats import Axis
from ...stats.accumulators import offsets_of
from .sample import RowClasses
from .terms import Term, TermKind, Terms

if TYPE_CHECKING:
    from .cross_fit import CrossFit
    from .tables import TableBuilder, TermCounts


# Cells of terms that are computed at once: 2 MB, which stay in the second-level cache.
CELLS_AT_ONCE = 1 << 18

PairWeights = Mapping[tuple[int, int, int], float]  # by the places of both columns and the level


@dataclass(frozen=True)
class PairTables:
    """The contribution of pairs of codes: for each pair of columns, lines of a table for every two codes.

    After the codes of each column comes one more, for missing values, which contribute nothing.
    """

    classes: Axis
    offsets: Longs  # where the codes of each column begin
    first: Longs  # columns of each pair
    second: Longs
    lines: Longs  # where each pair begins in the table
    table: Floats  # [line, class], padded as the kernels read it

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The columns of each pair."""
        return tuple(zip(self.first.tolist(), self.second.tolist(), strict=True))

    @property
    def tables(self) -> tuple[Floats, ...]:
        """The contributions of each pair, [code, code, class]."""
        return tuple(self._part(*pair) for pair in zip(self.first, self.second, self.lines, strict=True))

    def _part(self, i: int, j: int, begin: int) -> Floats:
        high, wide = (int(self.offsets[at + 1] - self.offsets[at]) + 1 for at in (i, j))
        part = self.table[begin : begin + high * wide].reshape(high, wide, -1)
        return part[:-1, :-1, : len(self.classes)]

    def contributions(self, codes: Codes) -> Floats:
        """Return the contribution of each pair to the score of each row, [row, pair, class]."""
        sizes = np.diff(self.offsets)
        known = np.where(codes < 0, sizes, codes)  # the line of missing values comes last
        lines = known[:, self.first] * (sizes[self.second] + 1) + known[:, self.second] + self.lines
        found: Floats = self.table[lines, : len(self.classes)]
        return found

    def add(self, pair: tuple[int, int], scores: Floats) -> None:
        """Add contributions [code, code, class] to those of a pair of columns, while the tables are made."""
        at = self.pairs.index(pair)
        part = self._part(*pair, int(self.lines[at]))
        part += scores

    def with_more(self, pairs: Sequence[tuple[int, int]]) -> PairTables:
        """Return the tables with those of other pairs, which contribute nothing yet; the same where there are none."""
        if not pairs:
            return self
        first, second = (np.array(part, dtype=np.int64) for part in zip(*pairs, strict=True))
        sizes = np.diff(self.offsets) + 1
        lines = len(self.table) + offsets_of(sizes[first] * sizes[second])
        return PairTables(
            self.classes, self.offsets, np.append(self.first, first), np.append(self.second, second),
            np.append(self.lines, lines[:-1]),
            np.vstack([self.table, np.zeros((int(lines[-1]) - len(self.table), self.table.shape[1]))]),
        )  # fmt: skip

    def add_to(self, scorer: Scorer, x: Matrix, missing: bool = True) -> None:
        """Have the contributions of the pairs added to the scores."""
        if len(self.first):
            scorer.pairs(x, self.offsets, self.first, self.second, self.lines, self.table)


def no_pairs(classes: Axis, offsets: Longs) -> PairTables:
    """Return the tables of a model without pairs."""
    none = np.zeros(0, dtype=np.int64)
    return PairTables(classes, offsets, none, none, none, np.zeros((0, -(-len(classes) // 4) * 4)))


class PairTermArrays(NamedTuple):
    """Terms of pairs as the kernels read them."""

    bins: Codes  # the bin of each code, [level, code]
    first: Longs
    second: Longs
    level: Longs  # the line of bins that each term reads
    cells: Longs  # how many cells of the scores each term has

    @classmethod
    def of(cls, counts: TermCounts, weights: PairWeights) -> PairTermArrays:
        """Return the terms that have a weight."""
        widths = list(dict.fromkeys(width for _, _, width in weights))
        columns = range(len(counts.grid.names))
        parts = [[counts.pair_bins(at, width) for at in columns] for width in widths]
        sizes = np.array([[part[-1] + 1 if len(part) else 0 for part in line] for line in parts], dtype=np.int64)
        first, second, width = np.array(list(weights), dtype=np.int64).T
        level = np.array([widths.index(one) for one in width.tolist()], dtype=np.int64)
        cells = len(counts.joint.classes) * sizes[level, first] * sizes[level, second]
        bins = np.array([np.concatenate(line) for line in parts], dtype=np.int32)
        return cls(bins, np.ascontiguousarray(first), np.ascontiguousarray(second), level, cells)

    def in_parts(self) -> Iterator[slice]:
        """Give the terms, so many at once that their cells stay in the cache."""
        part = offsets_of(self.cells)[:-1] // CELLS_AT_ONCE
        starts = np.flatnonzero(np.diff(part, prepend=-1))
        yield from (slice(a, b) for a, b in zip(starts.tolist(), [*starts[1:].tolist(), len(part)], strict=True))


def pair_tables(counts: TermCounts, weights: PairWeights) -> PairTables:
    """Return the weighted log ratios of all pairs that have a weight; the terms of a pair add up in their order."""
    joint, offsets = counts.joint, counts.grid.offsets
    if not weights:
        return no_pairs(joint.classes, offsets)
    terms, by = PairTermArrays.of(counts, weights), np.array([*weights.values()])
    pairs = {pair: at for at, pair in enumerate(dict.fromkeys((i, j) for i, j, _ in weights))}
    first, second = (np.array(part, dtype=np.int64) for part in zip(*pairs, strict=True))
    sizes = np.diff(offsets) + 1
    lines = offsets_of(sizes[first] * sizes[second])
    out = PairTables(
        joint.classes, offsets, first, second, lines[:-1], np.zeros((int(lines[-1]), -(-len(joint.classes) // 4) * 4))
    )
    line_of_term = lines[[pairs[i, j] for i, j, _ in weights]]
    for part in terms.in_parts():
        which = offsets, terms.bins, terms.first[part], terms.second[part], terms.level[part]
        scores = np.empty(int(terms.cells[part].sum()))
        pair_ratios(joint.products, *which, counts.recipe.pair_pseudo_count, scores)
        np.log(scores, out=scores)
        scores *= np.repeat(by[part], terms.cells[part])
        add_pair_scores(scores, *which, line_of_term[part], len(joint.classes), out.table)
    return out


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
