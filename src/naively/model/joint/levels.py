"""What a column of levels says: level by level, by neighbours put together, and by a Student-t density over its places.

The three differ in how much a level is told by its neighbours; weights fitted by leave-one-out log loss say how much
each is believed. All are read off the counts of the levels alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..._types import Codes, Floats, Singles
from .student_t import Bell
from .values import Taken, of_values, of_values_left

# The kinds of evidence by name. Fewer levels than these have no neighbours worth the name.
EACH, NEAR, DENSITY = "levels", "levels near", "levels density"
KINDS, FEWEST = (EACH, NEAR, DENSITY), 3


class Levels(NamedTuple):
    """How often each value was counted with each class, [class, value]; so many of them are levels, and come first."""

    n: Floats
    size: int

    @property
    def middles(self) -> Floats:
        """The places of the levels on the common scale: mean 0 and variance 1 if all were as frequent."""
        return np.asarray((np.arange(self.size) - (self.size - 1) / 2) / np.sqrt((self.size**2 - 1) / 12))

    @property
    def near(self) -> Codes:
        """Which levels are put together: neighbours, two and two; the last is alone if they are odd in number."""
        return np.arange(self.size, dtype=np.int32) // 2

    @property
    def put_together(self) -> Floats:
        """How often neighbours were counted, [class, pair of levels]."""
        return np.add.reduceat(self.n[:, : self.size], np.arange(0, self.size, 2), axis=1)

    @property
    def bell(self) -> Bell:
        """The densities over the places, one for each class."""
        n, x = self.n[:, : self.size], self.middles
        return Bell(n.sum(axis=1), n @ x, n @ (x * x), x)

    def left(self, codes: Codes, taken: Taken) -> Iterator[tuple[str, Singles]]:
        """Give what the value of each row says as if the row had not been counted, [class, row], by each kind."""
        level = np.where((codes >= 0) & (codes < self.size), codes, np.int32(-1))
        yield EACH, of_values_left(self.n, codes, taken)
        near = np.append(self.near, np.int32(-1))[level]
        yield NEAR, of_values_left(self.put_together, near, taken)
        yield DENSITY, self.bell.left(np.append(self.middles, 0.0)[level], level, taken)

    def said(self, kind: str) -> Floats:
        """Return what each value says by one kind of evidence, [value, class]; what is no level has no neighbours."""
        if kind == EACH:
            return of_values(self.n)
        said = of_values(self.put_together)[self.near] if kind == NEAR else self.bell.said().T
        return np.vstack([said, np.zeros((self.n.shape[1] - self.size, len(self.n)))])
