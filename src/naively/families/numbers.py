"""Number, mean and squares of each column and class: what the families of numbers estimate from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..statistics import Moments
from ..statistics.arithmetic import RESIDUE, take_away
from ..statistics.axis import Floats
from .family import Codes


class Summary(NamedTuple):
    """Moments with the class as the last axis, [..., column, class]: the form in which they are estimated from."""

    n: Floats
    mean: Floats
    ssd: Floats

    @classmethod
    def of(cls, moments: Moments) -> Summary:
        """Return the summary [column, class] of these moments."""
        return cls(*(np.ascontiguousarray(part.T) for part in (moments.n, moments.mean, moments.ssd)))

    def without(self, x: Floats, y: Codes, w: Floats) -> Summary:
        """Return the summary [row, column, class] for each row of x, that row taken out of its class."""
        own = np.zeros((len(x), 1, self.n.shape[-1]), dtype=bool)
        own[np.arange(len(x)), 0, y] = True
        there = own & ~np.isnan(x)[..., None]
        taken = np.where(there, w[:, None, None], 0.0)
        gap = np.where(there, x[..., None] - self.mean, 0.0)
        n = take_away(np.broadcast_to(self.n, taken.shape), taken)
        left = np.where(n > 0, n, 1.0)
        mean = np.where(n > 0, self.mean - taken * gap / left, 0.0)
        ssd = self.ssd - taken * gap * gap * (self.n / left)
        ssd = np.where((n > 0) & (ssd > RESIDUE * self.ssd), ssd, 0.0)
        return Summary(n, mean, ssd)
