"""The tables of all pairs of columns, made in a few calls of the kernels: a model is made anew after each change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._kernels import Scorer, add_pair_scores, pair_ratios
from ..._types import Codes, Floats, Longs, Matrix
from ...stats import Axis
from ...stats.accumulators import offsets_of
from .term_counts import TermCounts

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
