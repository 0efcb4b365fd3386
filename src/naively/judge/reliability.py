"""The reliability diagram: accuracy by confidence, with the interval of each bin."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import betaincinv

from .._types import Floats
from .evaluated_rows import RELIABILITY_BINS

if TYPE_CHECKING:
    from .scores import Scores


class ReliabilityPoint(NamedTuple):
    """A bin of confidence: its lower edge, its rows, their mean confidence, and their accuracy with its interval."""

    start: float
    rows: float
    confidence: float
    accuracy: float
    low: float
    high: float


def reliability_of_bins(scores: Scores, level: float = 0.9) -> list[ReliabilityPoint]:
    """Return a point for each bin of confidence that has rows."""
    rows, confidence, correct = scores._bins
    low, high = jeffreys_interval(rows, correct, level)
    return [
        ReliabilityPoint(
            at / RELIABILITY_BINS,
            float(rows[at]),
            float(confidence[at] / rows[at]),
            float(correct[at] / rows[at]),
            float(low[at]),
            float(high[at]),
        )
        for at in np.flatnonzero(rows > 0).tolist()
    ]


def jeffreys_interval(rows: Floats, right: Floats, level: float) -> tuple[Floats, Floats]:
    """Return where a proportion lies, given how many of how many rows were right, by Jeffreys' prior.

    >>> [end.round(2).tolist() for end in jeffreys_interval(np.array([10.0, 10.0]), np.array([5.0, 10.0]), 0.9)]
    [[0.26, 0.83], [0.74, 1.0]]
    """
    wrong, tail = np.maximum(rows - right, 0.0), (1 - level) / 2
    low, high = (betaincinv(right + 0.5, wrong + 0.5, end) for end in (tail, 1 - tail))
    return np.where(right > 0, low, 0.0), np.where(wrong > 1e-9 * rows, high, 1.0)
