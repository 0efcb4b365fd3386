"""Ordered things put into groups of about the same size, and cuts between them: the bins of numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._types import Floats, Longs, Places

Grouping = Callable[[Floats, float], Longs]

# Where a cut lies between two neighboring numbers, as a share of the gap: sqrt(6) - 2. On a midpoint, or at any other
# rational share, a third number of a few decimals may lie, and rounding would then decide its bin: another unit would
# change the result. No such number lies at an irrational share.
CUT_SHARE = 0.4494897427831781
# The widest gap between whole numbers whose cut is recognized.
WIDEST_GAP = 256


def value_weights(column: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the different numbers of a column in their order, and what the rows of each weigh."""
    there = ~np.isnan(column) & (weights > 0)
    values, which = np.unique(column[there], return_inverse=True)
    return values, np.asarray(np.bincount(which, weights[there], len(values)), dtype=np.float64)


def quantile_groups(weights: Floats, bins: int, least: float = 3.0, grouping: Grouping | None = None) -> Longs:
    """Return a group for each of some ordered things, about equally many of them in each.

    What holds a bin's share alone is a group of its own, and the others share what is left: the same way from either
    end by default.
    """
    heavy = weights >= weights.sum() / bins
    others = np.where(heavy, 0.0, weights)
    size = max(others.sum() / max(bins - int(heavy.sum()), bins // 2, 1), least)
    group = np.where(heavy, -1 - np.arange(len(weights)), (grouping or even_groups)(others, size))
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(group[1:] != group[:-1])])


def even_groups(weights: Floats, size: float) -> Longs:
    """Return which share of such a size the middle of each thing falls into; counted from either end, the same things.

    What is left over is added to the first and the last share. On a border a thing belongs to the share nearer to the
    middle of all; in the very middle it is a share of its own.
    """
    shares = max(int(weights.sum() / size + 1e-9), 1)
    place = (np.cumsum(weights) - weights / 2 - weights.sum() / 2) / size + shares / 2
    near = np.rint(place)
    on_border, side = np.abs(place - near) < 1e-9, np.sign(near - shares / 2)
    into = np.clip(np.floor(np.where(on_border, near - 0.5 * side, place)), 0, shares - 1)
    return np.asarray(np.where(on_border & (side == 0), shares, into), dtype=np.int64)


def ordered_groups(weights: Floats, size: float) -> Longs:
    """Return which share of such a size the middle of each thing falls into, counted from the first on."""
    return np.asarray((np.cumsum(weights) - weights / 2) / size, dtype=np.int64)


def point_between(outer: Floats, inner: Floats) -> Floats:
    """Return a number between each two numbers, nearer to the outer one, that is no multiple of their gap.

    It lies strictly between them. Where no floating-point number does, it is the lower one: a number on a cut lies in
    the bin below it.
    """
    found = (1 - CUT_SHARE) * outer + CUT_SHARE * inner  # a difference of huge numbers might overflow
    lower, upper = np.minimum(outer, inner), np.maximum(outer, inner)
    above, below = np.nextafter(lower, np.inf), np.nextafter(upper, -np.inf)
    return np.asarray(np.minimum(np.maximum(found, above), below))


def cuts_after(places: Places, values: Floats, weights: Floats) -> Floats:
    """Return the cuts after some of the different numbers of a column, given all of them and what each weighs.

    A cut is nearer to the number that lies further out, by the weight beyond it: counted from either end, the same.
    """
    below, half = np.cumsum(weights)[places], weights.sum() / 2
    low, high, upper_half = values[places], values[places + 1], below > half * (1 + 1e-9)
    return point_between(np.where(upper_half, high, low), np.where(upper_half, low, high))


def whole_neighbors(cuts: Floats) -> tuple[Floats, Floats] | None:
    """Return the whole numbers below and above each cut; None unless every cut lies between two whole numbers.

    The share at which a cut lies is irrational, so a cut tells both of its neighbors: no other whole numbers, and no
    numbers of a few decimals, have a cut at the same place.

    >>> whole_neighbors(point_between(np.array([61.0, 5.0]), np.array([62.0, 0.0])))
    (array([61.,  0.]), array([62.,  5.]))
    >>> whole_neighbors(np.array([18.0, 65.0]))
    """
    if not len(cuts) or _gaps_at(cuts[:1]) is None:
        return None
    found = _gaps_at(cuts)
    return None if found is None else (found[0], found[0] + found[1])


def _gaps_at(cuts: Floats) -> tuple[Floats, Floats] | None:
    """Return the whole number below each cut and the gap to the next one, if every cut lies in such a gap."""
    gaps = np.tile(np.arange(1.0, WIDEST_GAP + 1), 2)
    shares = gaps * np.repeat([CUT_SHARE, 1 - CUT_SHARE], WIDEST_GAP)
    below = np.rint(cuts[:, None] - shares)
    off = np.abs(below + shares - cuts[:, None])
    best = off.argmin(axis=1)
    at = np.arange(len(cuts)), best
    if (off[at] > 8 * np.spacing(np.maximum(np.abs(cuts), 1.0))).any():
        return None
    return below[at], gaps[best]
