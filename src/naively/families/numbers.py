"""Number, mean and squares of each column and class: what the families of numbers estimate from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._kernels import MEAN_ROUNDING, SUM_ROUNDING
from .._types import Codes, Floats
from ..stats import Moments
from ..stats.arithmetic import subtract

# A prior worth less than this many rows is taken for this: it would make classes without rows infinitely flat.
LIGHTEST = 1e-9


class Summary(NamedTuple):
    """Moments with the class as the last axis, [..., column, class]: the form in which they are estimated from."""

    n: Floats
    mean: Floats
    ssd: Floats
    grain: Floats  # how much of the mean may be rounding

    @classmethod
    def of(cls, moments: Moments) -> Summary:
        """Return the summary [column, class] of these moments."""
        grain = MEAN_ROUNDING * np.maximum(np.abs(moments.mean), np.abs(moments.shift))
        ssd = np.where(moments.ssd > MEAN_ROUNDING * moments.squares, moments.ssd, 0.0)  # a far shift costs digits
        parts = (moments.n, moments.mean, ssd, grain)
        return cls(*(np.ascontiguousarray(part.T) for part in parts)).without_rounding()

    def without_rounding(self) -> Summary:
        """Return the same with 0 for means and squares that rounding alone has left: constants have no variance."""
        mean = np.where(np.abs(self.mean) > self.grain, self.mean, 0.0)
        ssd = np.where(self.ssd > self.n * self.grain**2, self.ssd, 0.0)
        return Summary(self.n, mean, ssd, self.grain)

    def column(self, at: int) -> Summary:
        """Return the summary of one of the columns."""
        return Summary(*(part[at : at + 1] for part in self))

    def gap(self, centre: Floats) -> Floats:
        """Return how far each mean lies from a centre; 0 where rounding may explain it, or nothing was counted."""
        gap = self.mean - centre
        return np.where((self.n > 0) & (np.abs(gap) > self.grain), gap, 0.0)

    def without(self, x: Floats, y: Codes, w: Floats) -> Summary:
        """Return the summary [row, column, class] for each row of x, that row taken out of its class."""
        own = np.zeros((len(x), 1, self.n.shape[-1]), dtype=bool)
        own[np.arange(len(x)), 0, y] = True
        there = own & ~np.isnan(x)[..., None]
        taken = np.where(there, w[:, None, None], 0.0)
        gap = np.where(there, x[..., None] - self.mean, 0.0)
        n = subtract(np.broadcast_to(self.n, taken.shape), taken)
        left = np.where(n > 0, n, 1.0)
        mean = np.where(n > 0, self.mean - taken * gap / left, 0.0)
        more = taken * (self.n / left)
        ssd = self.ssd - more * gap * gap
        rounding = SUM_ROUNDING * self.ssd + 2 * more * np.abs(gap) * self.grain
        ssd = np.where((n > 0) & (ssd > rounding), ssd, 0.0)
        grain = np.where(n > 0, np.maximum(self.grain, MEAN_ROUNDING * np.abs(mean)), 0.0)
        return Summary(n, mean, ssd, grain).without_rounding()
