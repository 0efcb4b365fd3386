"""Rows of texts and vectors that are left out of the counts one at a time, and blocks in which rows are computed."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ..._types import Codes, Floats, Mask, Matrix, Places
from .sample import SoftRows

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


class RowLikelihood(Protocol):
    """What gives log P(x | class) of rows that were counted, each left out."""

    def leave_one_out(self, x: Matrix, y: Codes, weights: Floats | None = None, threads: int = 1) -> Floats:
        """Return log P(x | class) of each row as if that row had never been counted."""


class MixedRows(NamedTuple):
    """Rows that are left out of several classes: which they are, how much of each in all, and by class."""

    at: Places
    weights: Floats
    parts: Floats  # [class, row]


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
