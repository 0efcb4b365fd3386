"""Log ratios of observed and expected counts, of single values and of pairs; and the same with each row left out.

A value counts for a class in which it is more frequent than its proportion of all rows leads to expect, a pair of
values for one in which both are more frequent together than if they were independent within the class. Pseudo-counts on
both sides shrink the ratios of rare values towards 1.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ..._types import Codes, Floats, Mask, Matrix, Numeric, Places, Singles
from ...stats.arithmetic import divide
from .soft_rows import SoftRows

# Up to so many numbers double precision is kept; beyond, single precision serves as well and takes half the time.
EXACT = 1 << 22
# Rows whose products are computed at once: few enough that they stay in the cache.
BLOCK_ROWS = 1 << 11


def precision_of(size: int) -> npt.DTypeLike:
    """Return the precision of an array of so many numbers."""
    return np.float64 if size <= EXACT else np.float32


def row_blocks(rows: int) -> list[slice]:
    """Return the blocks in which rows are computed: whatever the threads, products have the same bits."""
    return [slice(begin, min(begin + BLOCK_ROWS, rows)) for begin in range(0, max(rows, 1), BLOCK_ROWS)]


class HeldOutRows(NamedTuple):
    """Rows that are left out of the counts, one at a time: the class of each, and how much of it is left out.

    Of a row with a soft label `y` is the most probable class; it is left out of all its classes.
    """

    y: Codes
    weights: Floats
    soft: SoftRows | None = None

    def some(self, rows: Places | slice) -> HeldOutRows:
        """Return some of the rows."""
        places = np.arange(len(self.y))[rows] if isinstance(rows, slice) else rows
        soft = None if self.soft is None else self.soft.some(places, len(self.y))
        return HeldOutRows(self.y[rows], self.weights[rows], soft)

    def mixed(self, known: Mask | None = None) -> MixedRows | None:
        """Return the rows of several classes, of those that a mask names; None if there are none."""
        if self.soft is None:
            return None
        soft = self.soft if known is None else self.soft.known(known)
        weights = self.weights[soft.at]
        return MixedRows(soft.at, weights, soft.proportions * weights)

    @property
    def own(self) -> Places:
        """Where the own class of each row lies in an array [class, row], flattened."""
        return self.y * np.intp(len(self.y)) + np.arange(len(self.y))


class RowLikelihood(Protocol):
    """What gives log P(x | class) of rows that were counted, each left out."""

    def leave_one_out(self, x: Matrix, y: Codes, weights: Floats | None = None, threads: int = 1) -> Floats:
        """Return log P(x | class) of each row as if that row had never been counted."""


class MixedRows(NamedTuple):
    """Rows that are left out of several classes: which they are, how much of each in all, and by class."""

    at: Places
    weights: Floats
    parts: Floats  # [class, row]


def value_ratios(here: Floats, rows: Floats, met: Floats, whole: Floats, pseudo: float) -> Floats:
    """Return log ratios of values, given their counts in a class, the rows of it, of the value and of all."""
    expected = rows * divide(met, whole)
    return np.asarray(np.log((here + pseudo) / (expected + pseudo)))


def pair_ratios(here: Floats, first: Floats, second: Floats, whole: Floats, *, pseudo: float) -> Floats:
    """Return log ratios of pairs, given the counts of both, of each and of any in a class; pseudo-counts."""
    return np.asarray(np.log((here + pseudo) / (divide(first * second, whole) + pseudo)))


def value_scores(n: Floats, pseudo: float) -> Floats:
    """Return the log ratio of each value, [value, class], given its counts, [class, value]."""
    return value_ratios(n, n.sum(axis=1)[:, None], n.sum(axis=0), n.sum(), pseudo).T


def margins(n: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the counts of the first value, of the second, and of any, as they fit [class, value, value]."""
    return n.sum(axis=2)[:, :, None], n.sum(axis=1)[:, None, :], n.sum(axis=(1, 2))[:, None, None]


def value_scores_left_out(n: Floats, codes: Codes, out: HeldOutRows, pseudo: float) -> Singles:
    """Return the log ratio of the value of each row with the row left out, [class, row].

    A missing or unknown value contributes nothing.
    """
    rows, met, whole, w = n.sum(axis=1)[:, None], n.sum(axis=0), n.sum(), out.weights
    cell = np.where((codes >= 0) & (codes < n.shape[1]), codes, np.int32(n.shape[1]))
    others = value_ratios(n, rows, counts_without(met), counts_without(whole), pseudo)
    own = value_ratios(counts_without(n), counts_without(rows), counts_without(met), counts_without(whole), pseudo)
    found = values_at_cells(others, own, cell, out)
    if (light := np.flatnonzero((w != 1) & (cell < n.shape[1]))).size:
        y, w, here = out.y[light], w[light], cell[light]
        of_value, of_all = counts_without(met[here], w), counts_without(whole, w)
        found[:, light] = value_ratios(n[:, here], rows, of_value, of_all, pseudo)
        mine = value_ratios(counts_without(n[y, here], w), counts_without(rows[y, 0], w), of_value, of_all, pseudo)
        found[y, light] = mine
    if (mixed := out.mixed(cell < n.shape[1])) is not None:
        here, w, parts = cell[mixed.at], mixed.weights, mixed.parts
        left = counts_without(n[:, here], parts), counts_without(rows, parts)
        found[:, mixed.at] = value_ratios(*left, counts_without(met[here], w), counts_without(whole, w), pseudo)
    return found


def pair_scores_left_out(n: Floats, first: Codes, second: Codes, out: HeldOutRows, pseudo: float) -> Singles:
    """Return the log ratio of the pair of each row with the row left out, [class, row].

    Only those of its own classes change.
    """
    wide, sides, w = np.int32(n.shape[2]), margins(n), out.weights
    cell = np.where((first >= 0) & (second >= 0), first * wide + second, np.int32(n[0].size))
    own = pair_ratios(counts_without(n), *(counts_without(side) for side in sides), pseudo=pseudo)
    found = values_at_cells(
        pair_ratios(n, *sides, pseudo=pseudo).reshape(len(n), -1), own.reshape(len(n), -1), cell, out
    )
    if (light := np.flatnonzero((w != 1) & (cell < n[0].size))).size:
        y, w, u, v = out.y[light], w[light], first[light], second[light]
        a, b, whole = sides
        counted = (n[y, u, v], a[y, u, 0], b[y, 0, v], whole[y, 0, 0])
        found[y, light] = pair_ratios(*(counts_without(part, w) for part in counted), pseudo=pseudo)
    if (mixed := out.mixed(cell < n[0].size)) is not None:
        u, v, (a, b, whole) = first[mixed.at], second[mixed.at], sides
        counted = (n[:, u, v], a[:, u, 0], b[:, 0, v], whole[:, 0])
        found[:, mixed.at] = pair_ratios(*(counts_without(part, mixed.parts) for part in counted), pseudo=pseudo)
    return found


def likelihood_left_out(likelihood: RowLikelihood, x: Matrix, out: HeldOutRows) -> Floats:
    """Return log P(x | class) of rows by a likelihood, so much of each left out of the counts, [row, class].

    A row of several classes is left out of each of them in turn: the likelihood of a class depends on the others by
    no more than the values they have in common.
    """
    mixed = out.mixed()
    if mixed is None:
        return likelihood.leave_one_out(x, out.y, out.weights)
    weights, places = out.weights.copy(), out.y[mixed.at]
    weights[mixed.at] = mixed.parts[places, np.arange(len(places))]
    found = likelihood.leave_one_out(x, out.y, weights)
    for k, part in enumerate(mixed.parts):
        others = np.flatnonzero((part > 0) & (places != k))
        at = mixed.at[others]
        if len(at):
            found[at, k] = likelihood.leave_one_out(x[at], np.full(len(at), k, dtype=np.int32), part[others])[:, k]
    return found


def counts_without(n: Floats, by: Numeric = 1.0) -> Floats:
    """Return counts without a row, which they may not hold at all: not below 0."""
    return np.maximum(n - by, 0.0)


def values_at_cells(others: Floats, own: Floats, cell: Codes, out: HeldOutRows) -> Singles:
    """Return the entry of each row's cell in tables [class, cell], as [class, row]; its own class has its own table.

    The cell after the last is that of a missing value, which contributes nothing.
    """
    shown, mine = (with_missing_cell(table) for table in (others, own))
    found = shown.take(cell, axis=1)
    found.reshape(-1)[out.own] = mine.reshape(-1).take(out.y * np.intp(mine.shape[1]) + cell)
    return found


def with_missing_cell(table: Floats) -> Singles:
    """Return a table [class, cell] with one more cell, of zeros."""
    out = np.zeros((len(table), table.shape[1] + 1), dtype=np.float32)
    out[:, :-1] = table
    return out
