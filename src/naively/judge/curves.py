"""ROC and precision–recall curves of one class against all others, and the reliability diagram."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import betaincinv

from .._types import Floats, Label, Places
from ..errors import InvalidInput
from .metrics import RELIABILITY_BINS, area_under_curve

if TYPE_CHECKING:
    from .scores import Scores

# Points of a curve that are kept; a curve of a million rows looks the same.
MOST_POINTS = 400


class ClassCurve(NamedTuple):
    """What happens to one class as the threshold of its probability falls.

    `recall` is the proportion of its rows that are found, `fall_out` that of all other rows that are taken for it, and
    `precision` how many of those found are of the class.
    """

    label: Label
    threshold: Floats
    recall: Floats
    fall_out: Floats
    precision: Floats
    area: float  # under the ROC curve
    base_rate: float  # the proportion of rows of the class


def class_curve(scores: Scores, label: Label) -> ClassCurve:
    """Return the curve of a class; an error if there are no probabilities, or no rows to distinguish."""
    k, posterior = class_place(scores, label), scores.posterior
    if posterior is None:
        raise InvalidInput("These scores are of predictions without probabilities, which have no curve.")
    positive, weights = scores.truth == k, scores.row_weights
    values, which = np.unique(-posterior[:, k], return_inverse=True)
    found, taken = (np.bincount(which, weights * part, len(values)).cumsum() for part in (positive, ~positive))
    if not (found[-1:] > 0).all() or not (taken[-1:] > 0).all():
        raise InvalidInput(f"There are no rows of {label!r}, or no others: there is nothing to distinguish.")
    found, taken, threshold = (
        np.concatenate([[0.0], found]),
        np.concatenate([[0.0], taken]),
        np.append(np.inf, -values),
    )
    kept = _kept_points(taken / taken[-1], found / found[-1])
    found, taken, threshold = found[kept], taken[kept], threshold[kept]
    precision = np.divide(found, found + taken, out=np.ones_like(found), where=found + taken > 0)
    area = area_under_curve(posterior[:, k], positive, weights)
    rate = float(found[-1] / (found[-1] + taken[-1]))
    return ClassCurve(label, threshold, found / found[-1], taken / taken[-1], precision, area, rate)


def class_place(scores: Scores, label: Label) -> int:
    """Return the place of a class; an error if it is none."""
    if label not in scores.classes:
        raise InvalidInput(
            f"{label!r} is no class; the classes are {list(scores.classes)}.", value=label, classes=list(scores.classes)
        )
    return scores.classes.index(label)


def _kept_points(x: Floats, y: Floats) -> Places:
    """Return the places of the points that are drawn: the ends, and those where the curve has come a step further."""
    way = np.cumsum(np.abs(np.diff(x, prepend=0.0)) + np.abs(np.diff(y, prepend=0.0)))
    if len(way) <= MOST_POINTS:
        return np.arange(len(way), dtype=np.intp)
    steps = (way / way[-1] * MOST_POINTS).astype(np.int64)
    kept = np.flatnonzero(np.diff(steps, prepend=-1))
    return np.unique(np.append(kept, [0, len(way) - 1]))


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
