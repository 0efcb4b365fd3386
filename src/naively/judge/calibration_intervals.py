"""Intervals of a probability from the held-out scores of one class: counts of its rows and of all, by bins."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv

from .._types import Floats, Places

# Limits come from a window of n to this power of all n rows: then what it holds of other scores and what it has by
# chance shrink at the same rate, as they do in isotonic regression.
WINDOW = 2 / 3


class ScoreCounts:
    """How many rows of a class, and how many in all, have each score; `row_weight` is what one row weighs."""

    def __init__(self, own: Floats, every: Floats, row_weight: float) -> None:
        self.own, self.every, self.row_weight = own, every, row_weight
        self._venn_abers: dict[int, tuple[float, float]] = {}

    # -- Venn–Abers -----------------------------------------------------------------------------------------------

    def venn_abers(self, bins: Places) -> Floats:
        """Return the limits of each bin, [2, bin]: isotonic regression with one row more, of another class or of this.

        One of both is calibrated, whatever the distribution of the rows: the one whose class is true.
        """
        for at in bins.tolist():
            if at not in self._venn_abers:
                self._venn_abers[at] = self._with_row(at, 0.0), self._with_row(at, self.row_weight)
        return np.array([self._venn_abers[at] for at in bins.tolist()]).T

    def _with_row(self, at: int, own: float) -> float:
        """Return the isotonic regression at a bin, with a row there that is of the class by this weight."""
        from scipy.optimize import isotonic_regression  # slow to import; few models are asked for intervals

        rows, every = self.own.copy(), self.every.copy()
        rows[at] += own
        every[at] += self.row_weight
        used = np.flatnonzero(every)
        fitted = isotonic_regression(rows[used] / every[used], weights=every[used]).x
        return float(fitted[np.searchsorted(used, at)])

    # -- confidence -----------------------------------------------------------------------------------------------

    def confidence(self, bins: Places, tail: float) -> Floats:
        """Return the limits of each bin, [2, bin], each wrong with about this probability at most.

        A class is no more frequent in rows of lower scores, and no less frequent in rows of higher ones. So the limit
        of Clopper and Pearson for a window of rows below a bin is a lower limit for the bin, and an upper one for a
        window above it. The scores alone say which rows they hold.
        """
        return np.stack([self._lower(bins, tail), 1 - self._mirrored()._lower(len(self.own) - 1 - bins, tail)])

    def _mirrored(self) -> ScoreCounts:
        """Return the counts of all other classes, by their probability."""
        return ScoreCounts((self.every - self.own)[::-1], self.every[::-1], self.row_weight)

    def _lower(self, bins: Places, tail: float) -> Floats:
        """Return the lower limits of bins."""
        own, every = (np.append(0.0, np.cumsum(part)) / self.row_weight for part in (self.own, self.every))
        size = every[-1] ** WINDOW
        end = bins + 1
        begin = np.maximum(np.searchsorted(every, every[end] - size, side="right") - 1, 0)
        rows = every[end] - every[begin]
        hits = np.minimum(own[end] - own[begin], rows)
        return clopper_pearson_lower(rows, hits, tail)


def clopper_pearson_lower(rows: Floats, hits: Floats, tail: float) -> Floats:
    """Return the lower limits of proportions, given so many hits of so many rows, each too high with this probability.

    >>> clopper_pearson_lower(np.array([10.0, 10.0]), np.array([0.0, 10.0]), 0.025).round(2).tolist()
    [0.0, 0.69]
    """
    return np.where(hits > 0, betaincinv(np.maximum(hits, 1e-9), rows - hits + 1, tail), 0.0)


def clopper_pearson_interval(rows: Floats, hits: Floats, tail: float) -> Floats:
    """Return both limits of proportions, [2, proportion]."""
    return np.stack([clopper_pearson_lower(rows, hits, tail), 1 - clopper_pearson_lower(rows, rows - hits, tail)])
