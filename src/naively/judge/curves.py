"""ROC and precision–recall curves of one class against all others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._types import Floats, Label, Places
from ..errors import InvalidInput
from .metrics import area_under_curve

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
        raise InvalidInput("These scores are of answers without probabilities, which have no curve.")
    positive, weights = scores.truth == k, scores._w
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
