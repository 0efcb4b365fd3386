"""Cuts between numbers, and the whole numbers that they lie between."""

from __future__ import annotations

import numpy as np

from .._kernels import CUT_SHARE
from .._types import Floats

# The widest gap between whole numbers whose cut is recognized.
WIDEST_GAP = 256


def whole_neighbors(cuts: Floats) -> tuple[Floats, Floats] | None:
    """Return the whole numbers below and above each cut; None unless every cut lies between two whole numbers.

    The share at which a cut lies is irrational, so a cut tells both of its neighbors: no other whole numbers, and no
    numbers of a few decimals, have a cut at the same place.

    >>> from naively._kernels import quantile_cuts
    >>> whole_neighbors(quantile_cuts(np.array([61.0, 62.0, 62.0]), np.ones(3), 2))
    (array([61.]), array([62.]))
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
