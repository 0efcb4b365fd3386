"""What single values and pairs of values say, read off their counts; and the same as if a row had never been counted.

A value speaks for a class in which it is met more often than its share of all rows leads to expect, a pair of values
for one in which they are met together more often than they would be if they were independent within the class. A few
rows are imagined in both the counts and the expectation, so that what is rare says little.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._types import Codes, Floats, Places, Singles
from ...stats.arithmetic import divide

# How many rows are imagined: pairs of values have more cells to fill.
OF_VALUES, OF_PAIRS = 0.5, 2.0
# Up to so many numbers all digits are kept; beyond, half of them serve as well and take half the time.
EXACT = 1 << 22


class Taken(NamedTuple):
    """Rows that are taken out of the counts, one at a time: the class of each, and how much of it is taken out."""

    y: Codes
    weights: Floats

    def some(self, rows: Places) -> Taken:
        """Return some of the rows."""
        return Taken(self.y[rows], self.weights[rows])

    @property
    def own(self) -> Places:
        """Where the own class of each row lies in numbers [class, row], one after the other."""
        return self.y * np.intp(len(self.y)) + np.arange(len(self.y))


def said_of_values(here: Floats, rows: Floats, met: Floats, whole: Floats) -> Floats:
    """Return what values say, given how often they are met in a class, its rows, the value's rows and all rows."""
    expected = rows * divide(met, whole)
    return np.asarray(np.log((here + OF_VALUES) / (expected + OF_VALUES)))


def said_of_pairs(here: Floats, first: Floats, second: Floats, whole: Floats) -> Floats:
    """Return what pairs of values say beyond both, given how often both, each, and any are met in a class."""
    return np.asarray(np.log((here + OF_PAIRS) / (divide(first * second, whole) + OF_PAIRS)))


def of_values(n: Floats) -> Floats:
    """Return what each value says, [value, class], given how often it was met, [class, value]."""
    return said_of_values(n, n.sum(axis=1)[:, None], n.sum(axis=0), n.sum()).T


def of_pairs(n: Floats) -> Floats:
    """Return what each pair of values says beyond both, [class, value, value], given how often it was met."""
    return said_of_pairs(n, *margins(n))


def margins(n: Floats) -> tuple[Floats, Floats, Floats]:
    """Return how often the first and the second of two values, and any, were met, as they fit [class, value, value]."""
    return n.sum(axis=2)[:, :, None], n.sum(axis=1)[:, None, :], n.sum(axis=(1, 2))[:, None, None]


def of_values_left(n: Floats, codes: Codes, taken: Taken) -> Singles:
    """Return what the value of each row says as if the row had not been counted, [class, row].

    A hole or an unknown value says nothing.
    """
    rows, met, whole, w = n.sum(axis=1)[:, None], n.sum(axis=0), n.sum(), taken.weights
    cell = np.where((codes >= 0) & (codes < n.shape[1]), codes, np.int32(n.shape[1]))
    others = said_of_values(n, rows, less(met), less(whole))
    own = said_of_values(less(n), less(rows), less(met), less(whole))
    out = looked_up(others, own, cell, taken)
    if (light := np.flatnonzero((w != 1) & (cell < n.shape[1]))).size:
        (y, w), cell = taken.some(light), cell[light]
        out[:, light] = said_of_values(n[:, cell], rows, less(met[cell], w), less(whole, w))
        own = said_of_values(less(n[y, cell], w), less(rows[y, 0], w), less(met[cell], w), less(whole, w))
        out[y, light] = own
    return out


def of_pairs_left(n: Floats, first: Codes, second: Codes, taken: Taken) -> Singles:
    """Return what the pair of each row says as if the row had not been counted, [class, row].

    Only its own class changes.
    """
    wide, sides, w = np.int32(n.shape[2]), margins(n), taken.weights
    cell = np.where((first >= 0) & (second >= 0), first * wide + second, np.int32(n[0].size))
    own = said_of_pairs(less(n), *(less(side) for side in sides))
    out = looked_up(said_of_pairs(n, *sides).reshape(len(n), -1), own.reshape(len(n), -1), cell, taken)
    if (light := np.flatnonzero((w != 1) & (cell < n[0].size))).size:
        (y, w), u, v = taken.some(light), first[light], second[light]
        a, b, whole = sides
        parts = (n[y, u, v], a[y, u, 0], b[y, 0, v], whole[y, 0, 0])
        out[y, light] = said_of_pairs(*(less(part, w) for part in parts))
    return out


def less(n: Floats, by: Floats | float = 1.0) -> Floats:
    """Return counts without a row."""
    return np.maximum(n - by, 0.0)


def looked_up(others: Floats, own: Floats, cell: Codes, taken: Taken) -> Singles:
    """Return what the cell of each row says of each class, [class, row]; its own class has a table of its own.

    The cell after the last is that of a hole, which says nothing.
    """
    shown, mine = (with_hole(table) for table in (others, own))
    out = shown.take(cell, axis=1)
    out.reshape(-1)[taken.own] = mine.reshape(-1).take(taken.y * np.intp(mine.shape[1]) + cell)
    return out


def with_hole(table: Floats) -> Singles:
    """Return a table [class, cell] with a cell more that says nothing."""
    out = np.zeros((len(table), table.shape[1] + 1), dtype=np.float32)
    out[:, :-1] = table
    return out
