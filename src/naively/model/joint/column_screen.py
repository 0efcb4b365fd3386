"""Which columns of a wide table are counted together: those that predict the class, beyond what chance gives.

A column is cut into bins by its quantiles, and rated by how much the leave-one-out log loss would fall if its evidence
had a weight: that of its bins, or that of a normal density. First each column is rated alone. Then all others are rated
beside those that were found: what these explain no longer hides what is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import _kernels
from ..._types import Codes, Floats, Places, Singles
from ...stats.accumulators import offsets_of
from .binning import EDGE, WIDER
from .learned import rated_by
from .student_t import MOST, log_density
from .values import less, said_of_values
from .weights import Problem

# Quantile bins of a number: those that the joint model reads its tables off, each cut in two for the density.
BINS = 2 * WIDER
# A gain below this is none, however many columns there are: half a nat, as for pairs of columns.
LEAST = 0.5
# How often columns are rated at most: alone, and then beside those that were found.
ROUNDS = 4


class Block(NamedTuple):
    """Some columns of one kind: where they stand among all, their codes, and for numbers the middles of their bins."""

    places: Places
    codes: Any  # [row, column]; the last code of numbers, BINS, and the first of labels, 0, are missing values
    middles: Floats | None  # [bin, column], on the scale of all numbers of the column

    def some(self, wanted: Any) -> Block:
        """Return those of the columns that are wanted, [column of the table]."""
        at = np.flatnonzero(wanted[self.places])
        return Block(self.places[at], self.codes[:, at], None if self.middles is None else self.middles[:, at])


class Rating(NamedTuple):
    """Rows by which columns are rated: their classes and weights, how much of each is left out of the counts."""

    y: Codes
    weights: Floats
    out: Floats
    classes: int
    missing: bool  # whether missing values count

    @property
    def prior(self) -> Floats:
        """How probable each class is before, as logarithms."""
        rows = np.bincount(self.y, self.weights, self.classes)
        return np.asarray(np.log((rows + 1) / (rows.sum() + self.classes)))

    def said(self, block: Block) -> Iterator[tuple[str, Singles]]:
        """Give what columns say of the rows, each left out, [class, row, column]: each kind of evidence."""
        if block.middles is None:
            n = counted(block.codes, self, int(block.codes.max(initial=0)) + 1)
            yield "labels", self._by_values(n, block.codes, 0)
            return
        n = counted(block.codes, self, BINS + 1)
        yield "density", self._by_density(n[:, :BINS], block.middles, block.codes)
        wide = np.add.reduceat(n, np.arange(0, BINS + 1, 2), axis=1)
        yield "bins", self._by_values(wide if self.missing else wide[:, :-1], block.codes // 2, WIDER)

    def _by_values(self, n: Floats, codes: Any, missing: int) -> Singles:
        """Return what the values of rows say, each row left out, given counts [class, value, column]."""
        cell, columns, w = np.minimum(codes, n.shape[1] - 1), np.arange(codes.shape[1]), self.out[:, None]
        rows, met = n.sum(axis=1), less(n.sum(axis=0)[cell, columns], w)
        whole = less(n.sum(axis=(0, 1)), w)
        out = said_of_values(n[:, cell, columns], rows[:, None], met, whole).astype(np.float32)
        here, own = n[self.y[:, None], cell, columns], rows[self.y]
        out[self.y, np.arange(len(self.y))] = said_of_values(less(here, w), less(own, w), met, whole)
        if not self.missing:
            out[:, codes == missing] = 0.0
        return out

    def _by_density(self, n: Floats, middles: Floats, codes: Any) -> Singles:
        """Return what numbers say by a normal density for each class, at the middles of bins, each row left out."""
        x, w = middles[np.minimum(codes, BINS - 1), np.arange(codes.shape[1])], self.out[:, None]
        rows, sums, squares = ((n * middles**by).sum(axis=1) for by in (0, 1, 2))
        out = log_density(rows[:, None], sums[:, None], squares[:, None], x)
        own = (less(rows[self.y], w), sums[self.y] - w * x, squares[self.y] - w * x * x)
        top = out.max(axis=0)
        out[self.y, np.arange(len(self.y))] = log_density(*own, x)
        out = np.maximum(out - top, -MOST).astype(np.float32)
        out[:, codes == BINS] = 0.0
        return np.asarray(out)

    def gains(self, block: Block, p: Singles) -> Floats:
        """Return the gain of each column beside what is known: by that kind of its evidence which gains most."""
        return np.asarray(np.max([self._gain(said, p) for _, said in self.said(block)], axis=0))

    def _gain(self, said: Singles, p: Singles) -> Floats:
        """Return by how much the log loss would fall if evidence had a weight, to the second order."""
        rows = self.weights.astype(np.float32)
        error = -p * rows
        error[self.y, np.arange(len(self.y))] += rows
        slope = np.tensordot(error, said, 2).astype(np.float64)
        mean = np.einsum("ki,kic->ic", p, said)
        square = np.einsum("ki,kic,kic->ic", p, said, said)
        curve = (rows @ (square - mean * mean)).astype(np.float64) + 1.0
        return np.asarray(slope * np.abs(slope) / (2 * curve))

    def beside(self, blocks: Sequence[Block]) -> Singles:
        """Return P(class | row) by what some columns say together, [class, row], one weight for each kind."""
        whole: dict[str, Any] = {}
        for block in blocks:
            for kind, said in self.said(block):
                whole[kind] = whole.get(kind, 0.0) + said.sum(axis=2)
        if not whole:
            return np.repeat(np.exp(self.prior)[:, None], len(self.y), axis=1).astype(np.float32)
        start = np.array([1.0 if kind == "labels" else 0.5 for kind in whole])
        return rated_by(Problem(list(whole.values()), self.y, self.weights, self.prior), start).p


def counted(codes: Any, rating: Rating, bins: int) -> Floats:
    """Return the weight of the rows of each class in each bin, [class, bin, column]."""
    columns = codes.shape[1]
    at = (rating.y[:, None] * np.intp(bins) + codes) * np.intp(columns) + np.arange(columns)
    found = np.bincount(at.reshape(-1), np.repeat(rating.weights, columns), rating.classes * bins * columns)
    return np.asarray(found.reshape(rating.classes, bins, columns))


def cut_numbers(places: Places, numbers: Floats, weights: Floats, threads: int = 1) -> Block:
    """Return columns of numbers [row, column] cut at quantiles of the rows that have one."""
    x = np.ascontiguousarray(numbers.T, dtype=np.float64)
    order = np.argsort(x, axis=1)
    x, there = np.take_along_axis(x, order, axis=1), np.where(np.isnan(numbers.T), 0.0, weights)
    below = np.cumsum(np.take_along_axis(there, order, axis=1), axis=1)
    last, line = np.maximum((~np.isnan(x)).sum(axis=1) - 1, 0), np.arange(len(x))

    def at(share: float) -> Floats:
        """Return the number of each column that such a share of the rows lies below."""
        place = np.minimum((below < below[:, -1:] * share * (1 - 1e-12)).sum(axis=1), last)
        return np.asarray(x[line, place] / 2 + x[line, np.minimum(place + 1, last)] / 2)

    cuts = np.nan_to_num(np.stack([at(share) for share in np.arange(1, BINS) / BINS], axis=1))
    codes = np.empty(numbers.shape, dtype=np.int32)
    offsets = offsets_of(np.full(len(x), BINS - 1, dtype=np.int64))
    _kernels.bin_numbers(np.asfortranarray(numbers), cuts.reshape(-1), offsets, codes, threads)
    codes[codes < 0] = BINS
    held = np.nan_to_num(np.clip(numbers, at(EDGE), at(1 - EDGE)))
    return Block(places, codes.astype(np.uint8), middles_of(held, codes, weights))


def middles_of(held: Floats, codes: Codes, weights: Floats) -> Floats:
    """Return the mean of the numbers in each bin, [bin, column], where all numbers have mean 0 and deviation 1."""
    n = counted(codes, Rating(np.zeros(len(codes), dtype=np.int32), weights, weights, 1, False), BINS + 1)[0, :BINS]
    at = codes * np.intp(codes.shape[1]) + np.arange(codes.shape[1])
    sums = np.bincount(at.reshape(-1), (held * weights[:, None]).reshape(-1), (BINS + 1) * codes.shape[1])
    middles = sums.reshape(BINS + 1, -1)[:BINS] / np.maximum(n, 1e-300)
    whole = np.maximum(n.sum(axis=0), 1e-300)
    centre = (n * middles).sum(axis=0) / whole
    spread = np.sqrt((n * (middles - centre) ** 2).sum(axis=0) / whole)
    wide = spread > 1e-12 * np.abs(middles).max(axis=0)
    return np.asarray(np.where(n > 0, (middles - centre) / np.where(wide, spread, np.inf), 0.0))


class Found(NamedTuple):
    """The columns that were found, best first, and the highest gain that each column showed in any round."""

    columns: Places
    gains: Floats


def found_in(blocks: Sequence[Block], rating: Rating, size: int, tried: int, most: int) -> Found:
    """Return the columns whose gain chance does not explain: alone, or beside those found before."""
    kept, best = np.zeros(0, dtype=np.intp), np.full(size, -np.inf)
    for _ in range(ROUNDS):
        p = rating.beside([part for block in blocks if len((part := block.some(among(kept, size))).places)])
        gains = np.full(size, -np.inf)
        for block in blocks:
            gains[block.places] = rating.gains(block, p)
        gains[kept] = -np.inf
        best = np.maximum(best, gains)
        more = beyond_chance(gains, tried, most - len(kept))
        kept = np.concatenate([kept, more])
        if not len(more) or len(kept) >= most:
            break
    return Found(kept, best)


def among(places: Places, size: int) -> Any:
    """Return which of so many columns are among some."""
    out = np.zeros(size, dtype=np.bool_)
    out[places] = True
    return out


def beyond_chance(gains: Floats, tried: int, most: int) -> Places:
    """Return the columns whose gain chance does not explain, best first.

    Of so many that were tried, chance lets about k show a gain of log(tried / k): as many are kept as exceed that for
    their own number, which holds the share of chance among them down (Benjamini and Hochberg).
    """
    order = np.argsort(-gains, kind="stable")
    ranks = np.arange(1, len(order) + 1)
    found = np.flatnonzero(gains[order] > np.maximum(np.log(tried / ranks), LEAST))
    return order[: min(int(found[-1]) + 1, most)] if len(found) else order[:0]
