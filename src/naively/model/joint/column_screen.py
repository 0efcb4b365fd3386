"""Which columns of a wide table predict the class beyond chance: these are counted in pairs.

A column is cut into bins by its quantiles, and rated by how much the leave-one-out log loss would fall if its term had
a weight: that of its bins, or that of a normal density. First each column is rated alone. Then all others are rated
beside those that were found: what these explain no longer hides what is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ... import _kernels
from ..._linear_algebra import product
from ..._types import AnyArray, Codes, Floats, Mask, Places, Singles
from ...stats.accumulators import offsets_of
from ..recipe import Recipe
from .associations import counts_without, value_ratios
from .newton import WeightProblem
from .student_t import log_student_t
from .weight_fitting import gains_beside


def screen_bins(recipe: Recipe) -> int:
    """Return the quantile bins of a number: those of the joint model, each cut in two for the density."""
    return 2 * recipe.wide_bins


class ColumnBlock(NamedTuple):
    """Some columns, all numbers or all labels: their places, their codes, and the means of bins of numbers."""

    places: Places
    codes: AnyArray  # [row, column]; the last code of numbers, and the first of labels, 0, are missing values
    middles: Floats | None  # [bin, column], on the scale of all numbers of the column

    def some(self, wanted: Mask) -> ColumnBlock:
        """Return those of the columns that are wanted, [column of the table]."""
        at = np.flatnonzero(wanted[self.places])
        return ColumnBlock(self.places[at], self.codes[:, at], None if self.middles is None else self.middles[:, at])


class ScreeningRows(NamedTuple):
    """Rows by which columns are rated: their classes and weights, how much of each is left out of the counts."""

    y: Codes
    weights: Floats
    out: Floats
    classes: int
    missing: bool  # whether missing values count
    recipe: Recipe

    @property
    def prior(self) -> Floats:
        """The log prior of each class."""
        rows = np.bincount(self.y, self.weights, self.classes)
        return np.asarray(np.log((rows + 1) / (rows.sum() + self.classes)))

    def terms(self, block: ColumnBlock) -> Iterator[tuple[str, Singles]]:
        """Give the terms of columns, each row left out, [class, row, column], by name."""
        bins = screen_bins(self.recipe)
        if block.middles is None:
            n = class_counts(block.codes, self, int(block.codes.max(initial=0)) + 1)
            yield "labels", self._by_values(n, block.codes, 0)
            return
        n = class_counts(block.codes, self, bins + 1)
        yield "density", self._by_density(n[:, :bins], block.middles, block.codes)
        wide = np.add.reduceat(n, np.arange(0, bins + 1, 2), axis=1)
        yield "bins", self._by_values(wide if self.missing else wide[:, :-1], block.codes // 2, bins // 2)

    def _by_values(self, n: Floats, codes: AnyArray, missing: int) -> Singles:
        """Return log ratios of the values of rows, each row left out, given counts [class, value, column]."""
        pseudo = self.recipe.value_pseudo_count
        cell, columns, w = np.minimum(codes, n.shape[1] - 1), np.arange(codes.shape[1]), self.out[:, None]
        rows, met = n.sum(axis=1), counts_without(n.sum(axis=0)[cell, columns], w)
        whole = counts_without(n.sum(axis=(0, 1)), w)
        out = value_ratios(n[:, cell, columns], rows[:, None], met, whole, pseudo).astype(np.float32)
        here, own = n[self.y[:, None], cell, columns], rows[self.y]
        mine = value_ratios(counts_without(here, w), counts_without(own, w), met, whole, pseudo)
        out[self.y, np.arange(len(self.y))] = mine
        if not self.missing:
            out[:, codes == missing] = 0.0
        return out

    def _by_density(self, n: Floats, middles: Floats, codes: AnyArray) -> Singles:
        """Return log densities of numbers at the means of their bins, each row left out."""
        bins, recipe = screen_bins(self.recipe), self.recipe
        x, w = middles[np.minimum(codes, bins - 1), np.arange(codes.shape[1])], self.out[:, None]
        rows, sums, squares = ((n * middles**by).sum(axis=1) for by in (0, 1, 2))
        out = log_student_t(rows[:, None], sums[:, None], squares[:, None], x, recipe)
        own = (counts_without(rows[self.y], w), sums[self.y] - w * x, squares[self.y] - w * x * x)
        top = out.max(axis=0)
        out[self.y, np.arange(len(self.y))] = log_student_t(*own, x, recipe)
        out = np.maximum(out - top, -recipe.t_most_nats).astype(np.float32)
        out[:, codes == bins] = 0.0
        return np.asarray(out)

    def gains(self, block: ColumnBlock, p: Singles) -> Floats:
        """Return the gain of each column beside what is known: by that of its terms which gains most."""
        return np.asarray(np.max([self._gain(values, p) for _, values in self.terms(block)], axis=0))

    def _gain(self, values: Singles, p: Singles) -> Floats:
        """Return by how much the log loss would fall if each term had a weight, to the second order."""
        rows = self.weights.astype(np.float32)
        error = -p * rows
        error[self.y, np.arange(len(self.y))] += rows
        slope = np.einsum("ki,kic->c", error, values).astype(np.float64)
        mean = np.einsum("ki,kic->ic", p, values)
        square = np.einsum("ki,kic,kic->ic", p, values, values)
        curve = product(rows, square - mean * mean).astype(np.float64) + 1.0
        return np.asarray(slope * np.abs(slope) / (2 * curve))

    def beside(self, blocks: Sequence[ColumnBlock]) -> Singles:
        """Return P(class | row) by some columns together, [class, row], one weight for each kind of term."""
        whole: dict[str, Singles] = {}
        for block in blocks:
            for name, values in self.terms(block):
                whole[name] = whole.get(name, np.float32(0.0)) + values.sum(axis=2)
        if not whole:
            return np.repeat(np.exp(self.prior)[:, None], len(self.y), axis=1).astype(np.float32)
        start = np.array([1.0 if name == "labels" else 0.5 for name in whole])
        problem = WeightProblem(list(whole.values()), self.y, self.weights, self.prior, self.recipe)
        return gains_beside(problem, start).p


def class_counts(codes: AnyArray, rating: ScreeningRows, bins: int) -> Floats:
    """Return the weight of the rows of each class in each bin, [class, bin, column]."""
    columns = codes.shape[1]
    at = (rating.y[:, None] * np.intp(bins) + codes) * np.intp(columns) + np.arange(columns)
    found = np.bincount(at.reshape(-1), np.repeat(rating.weights, columns), rating.classes * bins * columns)
    return np.asarray(found.reshape(rating.classes, bins, columns))


def cut_numbers(places: Places, numbers: Floats, weights: Floats, recipe: Recipe, threads: int = 1) -> ColumnBlock:
    """Return columns of numbers [row, column] cut at quantiles of the rows that have one."""
    bins = screen_bins(recipe)
    x = np.ascontiguousarray(numbers.T, dtype=np.float64)
    order = np.argsort(x, axis=1)
    x, there = np.take_along_axis(x, order, axis=1), np.where(np.isnan(numbers.T), 0.0, weights)
    below = np.cumsum(np.take_along_axis(there, order, axis=1), axis=1)
    last, line = np.maximum((~np.isnan(x)).sum(axis=1) - 1, 0), np.arange(len(x))

    def at(share: float) -> Floats:
        """Return the number of each column that such a share of the rows lies below."""
        place = np.minimum((below < below[:, -1:] * share * (1 - 1e-12)).sum(axis=1), last)
        return np.asarray(x[line, place] / 2 + x[line, np.minimum(place + 1, last)] / 2)

    cuts = np.nan_to_num(np.stack([at(share) for share in np.arange(1, bins) / bins], axis=1))
    codes = np.empty(numbers.shape, dtype=np.int32)
    offsets = offsets_of(np.full(len(x), bins - 1, dtype=np.int64))
    _kernels.bin_numbers(np.asfortranarray(numbers), cuts.reshape(-1), offsets, codes, threads)
    codes[codes < 0] = bins
    held = np.nan_to_num(np.clip(numbers, at(recipe.clipped), at(1 - recipe.clipped)))
    return ColumnBlock(places, codes.astype(np.uint8), bin_means(held, codes, weights, recipe))


def bin_means(held: Floats, codes: Codes, weights: Floats, recipe: Recipe) -> Floats:
    """Return the mean of the numbers in each bin, [bin, column], where all numbers have mean 0 and deviation 1."""
    bins = screen_bins(recipe)
    rows = ScreeningRows(np.zeros(len(codes), dtype=np.int32), weights, weights, 1, False, recipe)
    n = class_counts(codes, rows, bins + 1)[0, :bins]
    at = codes * np.intp(codes.shape[1]) + np.arange(codes.shape[1])
    sums = np.bincount(at.reshape(-1), (held * weights[:, None]).reshape(-1), (bins + 1) * codes.shape[1])
    middles = sums.reshape(bins + 1, -1)[:bins] / np.maximum(n, 1e-300)
    whole = np.maximum(n.sum(axis=0), 1e-300)
    centre = (n * middles).sum(axis=0) / whole
    spread = np.sqrt((n * (middles - centre) ** 2).sum(axis=0) / whole)
    wide = spread > 1e-12 * np.abs(middles).max(axis=0)
    return np.asarray(np.where(n > 0, (middles - centre) / np.where(wide, spread, np.inf), 0.0))


class ScreenedColumns(NamedTuple):
    """The columns that were found, best first, and the highest gain that each column showed in any round."""

    columns: Places
    gains: Floats


def found_in(blocks: Sequence[ColumnBlock], rating: ScreeningRows, size: int, tried: int, most: int) -> ScreenedColumns:
    """Return the columns whose gain chance does not explain: alone, or beside those found before."""
    kept, best = np.zeros(0, dtype=np.intp), np.full(size, -np.inf)
    for _ in range(rating.recipe.screen_rounds):
        p = rating.beside([part for block in blocks if len((part := block.some(among(kept, size))).places)])
        gains = np.full(size, -np.inf)
        for block in blocks:
            gains[block.places] = rating.gains(block, p)
        gains[kept] = -np.inf
        best = np.maximum(best, gains)
        more = beyond_chance(gains, tried, most - len(kept), rating.recipe.screen_least_gain)
        kept = np.concatenate([kept, more])
        if not len(more) or len(kept) >= most:
            break
    return ScreenedColumns(kept, best)


def among(places: Places, size: int) -> Mask:
    """Return which of so many columns are among some."""
    out = np.zeros(size, dtype=np.bool_)
    out[places] = True
    return out


def beyond_chance(gains: Floats, tried: int, most: int, least: float) -> Places:
    """Return the columns whose gain chance does not explain, best first.

    Of so many that were tried, chance lets about k show a gain of log(tried / k): as many are kept as exceed that for
    their own number, which bounds the proportion of chance among them (Benjamini and Hochberg).
    """
    order = np.argsort(-gains, kind="stable")
    ranks = np.arange(1, len(order) + 1)
    found = np.flatnonzero(gains[order] > np.maximum(np.log(tried / ranks), least))
    return order[: min(int(found[-1]) + 1, most)] if len(found) else order[:0]
