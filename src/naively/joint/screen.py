"""Which columns of a wide table are counted together: those that predict the class on their own, beyond chance.

A column is cut into bins by its quantiles, and rated by how much the leave-one-out log loss of the prior would fall if
its evidence had a weight: that of its bins, or that of a normal density. All of it follows from the counts of bins by
class, so thousands of columns are rated at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import _kernels
from ..families.family import Codes
from ..grid import Places
from ..statistics.accumulators import offsets_of
from ..statistics.axis import Floats
from .bell import MOST, log_density
from .look import EDGE, WIDER
from .tables import less, said_of_values

# Quantile bins of a number: those that the joint model reads its tables off, each cut in two for the density.
BINS = 2 * WIDER
# A gain below this is none, however many columns there are: that of a weight which saves half a nat.
LEAST = 0.5


class Cut(NamedTuple):
    """Columns of numbers cut into bins: the bin of each row, BINS if it is missing, and the middle of each bin."""

    codes: Codes  # [row, column]
    middles: Floats  # [bin, column], on the scale of all numbers of the column


class Rating(NamedTuple):
    """Rows by which columns are rated: their classes, weights and folds, and whether missing values count."""

    y: Codes
    weights: Floats
    classes: int
    fold: Codes
    folds: int
    missing: bool

    @property
    def taken(self) -> float:
        """How much of a row is left out of the counts, in the mean: of one that weighs more than 1, that much."""
        return float(self.weights @ np.minimum(self.weights, 1.0) / self.weights.sum())

    def counts(self, codes: Codes, bins: int) -> Floats:
        """Return the weight of each class in each bin, [class, bin, column]."""
        return counted(codes, self.y, self.weights, self.classes, bins)

    def without_folds(self, codes: Codes, bins: int) -> Floats:
        """Return the same without the rows of each fold in turn, [fold, class, bin, column]."""
        apart = counted(codes, self.fold * self.classes + self.y, self.weights, self.folds * self.classes, bins)
        apart = apart.reshape(self.folds, self.classes, *apart.shape[1:])
        return less(apart.sum(axis=0), apart)

    def of_numbers(self, n: Floats, middles: Floats) -> Floats:
        """Return the gain of columns of numbers: by their bins or by a normal density, whichever is more."""
        wide = n[:, :BINS].reshape(self.classes, WIDER, 2, -1).sum(axis=2)
        wide = np.concatenate([wide, n[:, BINS:]], axis=1) if self.missing else wide
        by_density = gain_of_density(n[:, :BINS], middles, self.taken)
        return np.asarray(np.maximum(gain_of_values(wide, self.taken), by_density))

    def of_labels(self, n: Floats) -> Floats:
        """Return the gain of columns of labels, whose missing values have the code 0."""
        return gain_of_values(n if self.missing else n[:, 1:], self.taken)


def counted(codes: Codes, y: Codes, weights: Floats, classes: int, bins: int) -> Floats:
    """Return the weight of the rows of each class in each bin, [class, bin, column]."""
    columns = codes.shape[1]
    at = (y[:, None] * np.intp(bins) + codes) * np.intp(columns) + np.arange(columns)
    found = np.bincount(at.reshape(-1), np.repeat(weights, columns), classes * bins * columns)
    return np.asarray(found.reshape(classes, bins, columns))


def cut_numbers(numbers: Floats, weights: Floats, threads: int = 1) -> Cut:
    """Return columns of numbers [row, column] cut at quantiles of the rows that have one."""
    x = np.ascontiguousarray(numbers.T, dtype=np.float64)
    order = np.argsort(x, axis=1)
    x, there = np.take_along_axis(x, order, axis=1), np.where(np.isnan(numbers.T), 0.0, weights)
    below = np.cumsum(np.take_along_axis(there, order, axis=1), axis=1)
    last = np.maximum((~np.isnan(x)).sum(axis=1) - 1, 0)
    line = np.arange(len(x))

    def at(share: float) -> Floats:
        """Return the numbers between which such a share of the rows lies below."""
        place = np.minimum((below < below[:, -1:] * share * (1 - 1e-12)).sum(axis=1), last)
        return np.asarray(x[line, place] / 2 + x[line, np.minimum(place + 1, last)] / 2)

    cuts = np.nan_to_num(np.stack([at(share) for share in np.arange(1, BINS) / BINS], axis=1))
    codes = np.empty(numbers.shape, dtype=np.int32)
    offsets = offsets_of(np.full(len(x), BINS - 1, dtype=np.int64))
    _kernels.bin_numbers(np.asfortranarray(numbers), cuts.reshape(-1), offsets, codes, threads)
    codes[codes < 0] = BINS
    held = np.clip(numbers, at(EDGE), at(1 - EDGE))
    return Cut(codes, middles_of(np.nan_to_num(held), codes, weights))


def middles_of(held: Floats, codes: Codes, weights: Floats) -> Floats:
    """Return the mean of the numbers in each bin, [bin, column], where all numbers have mean 0 and deviation 1."""
    n = counted(codes, np.zeros(len(codes), dtype=np.int32), weights, 1, BINS + 1)[0, :BINS]
    at = codes * np.intp(codes.shape[1]) + np.arange(codes.shape[1])
    sums = np.bincount(at.reshape(-1), (held * weights[:, None]).reshape(-1), (BINS + 1) * codes.shape[1])
    middles = sums.reshape(BINS + 1, -1)[:BINS] / np.maximum(n, 1e-300)
    whole = np.maximum(n.sum(axis=0), 1e-300)
    centre = (n * middles).sum(axis=0) / whole
    spread = np.sqrt((n * (middles - centre) ** 2).sum(axis=0) / whole)
    wide = spread > 1e-12 * np.abs(middles).max(axis=0)
    return np.asarray(np.where(n > 0, (middles - centre) / np.where(wide, spread, np.inf), 0.0))


def gain_of_values(n: Floats, taken: float) -> Floats:
    """Return the gain of each column given counts [class, value, column], by what each value says."""
    rows, met = n.sum(axis=1, keepdims=True), less(n.sum(axis=0), taken)
    whole = less(n.sum(axis=(0, 1)), taken)
    others = said_of_values(n, rows, met, whole)
    return gain(n, others, said_of_values(less(n, taken), less(rows, taken), met, whole))


def gain_of_density(n: Floats, middles: Floats, taken: float) -> Floats:
    """Return the gain of each column given counts [class, bin, column], by a normal density for each class."""
    rows, sums, squares = ((n * middles**by).sum(axis=1, keepdims=True) for by in (0, 1, 2))
    others = log_density(rows, sums, squares, middles)
    own = log_density(less(rows, taken), sums - taken * middles, squares - taken * middles**2, middles)
    top = others.max(axis=0)
    return gain(n, *(np.maximum(said - top, -MOST) for said in (others, own)))


def gain(n: Floats, others: Floats, own: Floats) -> Floats:
    """Return by how much the log loss of the prior would fall if evidence had a weight, to the second order.

    Given are the rows of each class with each value, [class, value, column], what a value says of each class, and what
    it says of its own class if the row is left out.
    """
    p = n.sum(axis=1, keepdims=True)
    p = p / np.maximum(p.sum(axis=0), 1e-300)
    mean = (p * others).sum(axis=0) + p * (own - others)
    square = (p * others**2).sum(axis=0) + p * (own**2 - others**2)
    slope = (n * (own - mean)).sum(axis=(0, 1))
    curve = (n * (square - mean**2)).sum(axis=(0, 1)) + 1.0
    return np.asarray(slope * np.abs(slope) / (2 * curve))


def beyond_chance(gains: Floats, tried: int, most: int) -> Places:
    """Return the columns whose gain chance does not explain, best first.

    Of so many that were tried, chance lets about k show a gain of log(tried / k): as many are kept as exceed that for
    their own number, which holds the share of chance among them down (Benjamini and Hochberg).
    """
    order = np.argsort(-gains, kind="stable")
    ranks = np.arange(1, len(order) + 1)
    found = np.flatnonzero(gains[order] > np.maximum(np.log(tried / ranks), LEAST))
    return order[: min(int(found[-1]) + 1, most)] if len(found) else order[:0]
