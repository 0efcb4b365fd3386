"""What single values and pairs of values say, read off their counts; and the same as if a row had never been counted.

A value speaks for a class in which it is met more often than its share of all rows leads to expect, a pair of values
for one in which they are met together more often than they would be if they were independent within the class. A few
rows are imagined in both the counts and the expectation, so that what is rare says little.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..families.family import Codes
from ..statistics.arithmetic import divide
from ..statistics.axis import Floats

# How many rows are imagined: pairs of values have more cells to fill.
OF_VALUES, OF_PAIRS = 0.5, 2.0


class Taken(NamedTuple):
    """Rows that are taken out of the counts, one at a time: the class of each, and how much of it is taken out."""

    y: Codes
    weights: Floats

    def some(self, rows: npt.NDArray[np.intp]) -> Taken:
        """Return some of the rows."""
        return Taken(self.y[rows], self.weights[rows])

    def out_of(self, n: Floats) -> Floats:
        """Return numbers [row, class] without each row, in its class."""
        out, at = np.array(n, dtype=np.float64), np.arange(len(self.y))
        out[at, self.y] = np.maximum(out[at, self.y] - self.weights, 0.0)
        return out


def of_values(n: Floats) -> Floats:
    """Return what each value says, [value, class], given how often it was met, [class, value]."""
    met = n.sum(axis=0)
    expected = divide(np.outer(met, n.sum(axis=1)), np.array(met.sum()))
    return np.asarray(np.log((n.T + OF_VALUES) / (expected + OF_VALUES)))


def of_values_left(n: Floats, codes: Codes, taken: Taken) -> Floats:
    """Return what the value of each row says as if the row had not been counted; a hole or an unknown one, nothing."""
    out = np.zeros((len(codes), len(n)))
    known = np.flatnonzero((codes >= 0) & (codes < n.shape[1]))
    some, code = taken.some(known), codes[known]
    here = some.out_of(n.T[code])
    rows = some.out_of(np.broadcast_to(n.sum(axis=1), here.shape))
    met = np.maximum(n.sum(axis=0)[code] - some.weights, 0.0)
    expected = rows * divide(met, np.maximum(n.sum() - some.weights, 0.0))[:, None]
    out[known] = np.log((here + OF_VALUES) / (expected + OF_VALUES))
    return out


def of_pairs(n: Floats) -> Floats:
    """Return what each pair of values says beyond both, [value, value, class], given [class, value, value]."""
    first, second, whole = n.sum(axis=2), n.sum(axis=1), n.sum(axis=(1, 2))
    expected = divide(first[:, :, None] * second[:, None, :], whole[:, None, None])
    return np.ascontiguousarray(np.log((n + OF_PAIRS) / (expected + OF_PAIRS)).transpose(1, 2, 0))


def of_pairs_left(n: Floats, said: Floats, first: Codes, second: Codes, taken: Taken) -> Floats:
    """Return what the pair of each row says as if the row had not been counted: only its own class changes."""
    out = np.zeros((len(first), len(n)))
    known = np.flatnonzero((first >= 0) & (second >= 0))
    (y, w), u, v = taken.some(known), first[known], second[known]
    out[known] = said[u, v]
    parts = (n[y, u, v], n.sum(axis=2)[y, u], n.sum(axis=1)[y, v], n.sum(axis=(1, 2))[y])
    here, a, b, whole = (np.maximum(part - w, 0.0) for part in parts)
    out[known, y] = np.log((here + OF_PAIRS) / (divide(a * b, whole) + OF_PAIRS))
    return out
