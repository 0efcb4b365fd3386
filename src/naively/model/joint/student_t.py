"""What a number says under a bell curve for each class: as much as bins do, from fewer rows, if it has that shape.

The curves are averaged over what their centre and width may be (Student's t), and read off at the middle of each fine
bin: so they are a table like any other, and no number says more than so much however far out it lies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from ..._types import Codes, Floats, Singles
from .values import Taken, less

# Rows imagined at the middle of all numbers, and as wide as half of them; what a number may say at most, in nats.
AT_MIDDLE, IMAGINED, WIDE, MOST = 0.5, 1.5, 0.5, 8.0
NONE = 1e-9  # fewer numbers, or rows, than that are what rounding leaves of none


class Bell(NamedTuple):
    """How many numbers each class has, their sums and the sums of their squares, on the scale of the grid."""

    n: Floats
    sums: Floats
    squares: Floats
    middles: Floats  # of the fine bins

    def said(self) -> Floats:
        """Return what each fine bin says, [class, bin]."""
        n, sums, squares = (part[:, None] for part in self[:3])
        return at_most(log_density(n, sums, squares, self.middles))

    def left(self, x: Floats, fine: Codes, taken: Taken) -> Singles:
        """Return what the fine bin of each row says as if its number had not been counted, [class, row].

        A hole, which lies in bin -1, says nothing.
        """
        y, w = taken.y, np.where(fine >= 0, taken.weights, 0.0)
        n, sums, squares = (part[:, None] for part in self[:3])
        out = log_density(n, sums, squares, self.middles).take(fine, axis=1)
        without = (less(self.n[y], w), self.sums[y] - w * x, self.squares[y] - w * x * x)
        out.reshape(-1)[taken.own] = log_density(*without, self.middles[fine])
        out = at_most(out)
        out[:, fine < 0] = 0.0
        return out.astype(np.float32)


def log_density(n: Floats, sums: Floats, squares: Floats, x: Floats) -> Floats:
    """Return log P(x) given n numbers with these sums, and those imagined."""
    there = n > NONE
    mean = np.where(there, sums / np.where(there, n, 1.0), 0.0)
    scatter = np.maximum(squares - sums * mean, 0.0) + n * AT_MIDDLE / (n + AT_MIDDLE) * mean**2
    freedom = n + IMAGINED
    width = (scatter + IMAGINED * WIDE) * (1 + 1 / (n + AT_MIDDLE))
    base = gammaln((freedom + 1) / 2) - gammaln(freedom / 2) - 0.5 * np.log(width)
    far = (x - sums / (n + AT_MIDDLE)) ** 2 / width
    return np.asarray(base - (freedom + 1) / 2 * np.log1p(far))


def at_most(said: Floats) -> Floats:
    """Return evidence [class, ...] that speaks against no class more than it may."""
    return np.asarray(np.maximum(said - said.max(axis=0), -MOST))
