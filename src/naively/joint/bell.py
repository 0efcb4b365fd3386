"""What a number says under a bell curve for each class: as much as bins do, from fewer rows, if it has that shape."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..statistics.axis import Floats
from .tables import Single, Taken, less

# Rows imagined at the middle of all numbers, and as wide as classes are in the mean; a curve is no narrower than this.
AT_MIDDLE, AS_WIDE, NARROWEST = 1.0, 3.0, 1e-4


class Bell(NamedTuple):
    """How many numbers each class has, their sums and the sums of their squares, on the scale of the grid."""

    n: Floats
    sums: Floats
    squares: Floats

    @property
    def middle(self) -> Floats:
        """The centre of each curve."""
        return self.sums / (self.n + AT_MIDDLE)

    @property
    def scatter(self) -> Floats:
        """The squares around the mean of each class."""
        return np.maximum(self.squares - self.sums**2 / np.maximum(self.n, 1e-300), 0.0)

    @property
    def width(self) -> Floats:
        """The variance of each curve."""
        return width_of(self.scatter, self.n, self.scatter.sum() / max(float(self.n.sum()), 1e-300))

    def polynomial(self) -> tuple[Floats, Floats, Floats]:
        """Return what is said as constant + slope · x + square · x², each by class."""
        middle, width = self.middle, self.width
        return -0.5 * (middle**2 / width + np.log(width)), middle / width, -0.5 / width

    def left(self, x: Floats, there: Floats, taken: Taken) -> Single:
        """Return what the number of each row says as if the row had not been counted, [class, row]; a hole, nothing."""
        y, w, own = taken.y, taken.weights * there, taken.own
        n, sums = less(self.n[y], w), self.sums[y] - w * x
        scatter = np.where(n > 0, np.maximum(self.squares[y] - w * x * x - sums**2 / np.maximum(n, 1e-300), 0.0), 0.0)
        of_all = (self.scatter.sum() - self.scatter[y] + scatter) / np.maximum(less(self.n.sum(), w), 1e-300)
        middle = np.repeat(self.middle[:, None], len(x), axis=1)
        width = width_of(self.scatter[:, None], self.n[:, None], of_all)
        middle.reshape(-1)[own], width.reshape(-1)[own] = sums / (n + AT_MIDDLE), width_of(scatter, n, of_all)
        out = -0.5 * ((x - middle) ** 2 / width + np.log(width))
        out[:, there == 0] = 0.0
        return out.astype(np.float32)


def width_of(scatter: Floats, n: Floats, of_all: Floats | float) -> Floats:
    """Return the variance of a curve, given the squares around the mean, how many they are, and how wide all are."""
    return np.maximum((scatter + AS_WIDE * of_all) / (n + AS_WIDE), NARROWEST)
