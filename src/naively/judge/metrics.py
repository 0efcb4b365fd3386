"""Measures of decisions and probabilities, their standard errors, and how they are written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import east_asian_width

import numpy as np
from scipy.special import betaincinv

from .._linear_algebra import dot
from .._types import AnyArray, Floats, Json, Label, Mask, Places
from ..errors import InvalidInput

if TYPE_CHECKING:
    from .scores import Scores

# The title of rows without a prediction.
NO_ANSWER = "(no answer)"
# A lower probability of the true class counts as this: one row that was ruled out must not make the mean infinite.
LEAST_PROBABILITY = 1e-15
# Bins of the reliability table.
RELIABILITY_BINS = 15
# Scores of the decisions, scores of the probabilities, and those of them that are written in percent.
DECISION_SCORES = ("coverage", "accuracy", "balanced_accuracy", "mean_cost", "skill")
PROBABILITY_SCORES = ("log_loss", "brier", "calibration_error", "auc")
PROPORTIONS = ("coverage", "accuracy", "balanced_accuracy")


# -- measures ----------------------------------------------------------------------------------------------------------


def area_under_curve(score: Floats, positive: Mask, weights: Floats) -> float:
    """Return the area under the ROC curve of a score; NaN if all rows are positive, or none."""
    values, which = np.unique(score, return_inverse=True)
    inside, outside = (np.bincount(which, weights * part, len(values)) for part in (positive, ~positive))
    both = float(inside.sum()) * float(outside.sum())
    below = np.cumsum(outside) - outside / 2  # ties count one half
    return dot(inside, below) / both if both else float("nan")


def mean_auc(posterior: Floats, truth: Places, weights: Floats) -> float:
    """Return the mean one-against-rest area under the ROC curve; NaN if all rows are of one class."""
    areas = [area_under_curve(posterior[:, k], truth == k, weights) for k in range(posterior.shape[1])]
    defined = [area for area in areas if not math.isnan(area)]
    return float(np.mean(defined)) if defined else float("nan")


def confidence_bins(
    posterior: Floats | None, truth: Places, weights: Floats, bins: int
) -> tuple[Floats, Floats, Floats]:
    """Return for each bin of confidence the weighted number of rows, their confidence and the correct ones, as sums."""
    if posterior is None:
        return np.zeros(bins), np.zeros(bins), np.zeros(bins)
    confidence = posterior.max(axis=1)
    at = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    correct = (posterior.argmax(axis=1) == truth).astype(np.float64)

    def summed(part: Floats) -> Floats:
        return np.asarray(np.bincount(at, weights * part, bins), dtype=np.float64)

    return summed(np.ones(len(at))), summed(confidence), summed(correct)


def standard_error_over_folds(values: Iterable[float]) -> float:
    """Return the standard error of the mean over folds: their standard deviation, divided by the root of their number.

    NaN where all values are equal: that no fold has a mistake does not mean that others would have none.

    >>> round(standard_error_over_folds([0.9, 1.0, 0.8]), 4)
    0.0577
    """
    result = np.array([value for value in values if not math.isnan(value)])
    return float(result.std(ddof=1) / math.sqrt(len(result))) if len(np.unique(result)) > 1 else float("nan")


def standard_error_over_rows(values: AnyArray, weights: Floats) -> float:
    """Return the standard error of a weighted mean over rows; a row is one observation, whatever its weight.

    NaN where all values are equal.

    >>> round(standard_error_over_rows(np.array([1.0, 0.0, 1.0, 1.0]), np.ones(4)), 4)
    0.25
    """
    heavy = weights > 0
    x, w, n = values[heavy], weights[heavy], int(heavy.sum())
    if len(np.unique(x)) < 2:
        return float("nan")
    gaps = w * (x - dot(w, x) / w.sum())
    return float(math.sqrt(dot(gaps, gaps) * n / (n - 1)) / w.sum())


# -- writing -----------------------------------------------------------------------------------------------------------


def score_text(name: str, value: float, error: float = float("nan")) -> str:
    """Return a score as text, with its standard error if it has one.

    >>> score_text("accuracy", 0.988, 0.0061), score_text("log_loss", 0.03041, 0.0081), score_text("auc", float("nan"))
    ('98.8 % ± 0.6', '0.0304 ± 0.0081', '–')
    """
    if math.isnan(value):
        return "–"
    digits = 4 if abs(value) < 1000 else 1
    in_percent = name in PROPORTIONS
    text = f"{value:.1%}".replace("%", " %") if in_percent else f"{value:,.{digits}f}"
    if math.isnan(error):
        return text
    return f"{text} ± {100 * error:.1f}" if in_percent else f"{text} ± {error:,.{digits}f}"


def single_class_note(label: Label) -> str:
    """Return the note that all rows are of one class."""
    return (
        f"All rows are of one class, {json_value(label)!r}: there is nothing to distinguish, so no score is "
        "meaningful. Give rows of at least two classes, or check which column is the target."
    )


def json_value(value: Label) -> Json:
    """Return a score or a label as JSON can hold it: NaN and infinity become None, dates and the like text."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float)) else str(value)


def as_row_count(value: float) -> int | float:
    """Return a number of rows as an integer; a fraction, which comes from weights, stays as it is.

    >>> as_row_count(344.0), as_row_count(2.5)
    (344, 2.5)
    """
    return int(value) if float(value).is_integer() else float(value)


def aligned_lines(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Return one line per row with aligned columns; the columns in `right` are aligned to the right.

    >>> aligned_lines([("rows", "4"), ("accuracy", "75.0 %")], right=(1,))
    ['rows           4', 'accuracy  75.0 %']
    """
    widths = [max(display_width(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = ([_padded(cell, widths[index], index in right) for index, cell in enumerate(row)] for row in rows)
    return ["  ".join(line).rstrip() for line in lines]


def truncated_line(text: str, width: int) -> str:
    """Return the beginning of a text as one line of at most `width` terminal cells.

    >>> truncated_line("one two  three", 8)
    'one two…'
    """
    line = " ".join(text.split())
    if display_width(line) <= width:
        return line
    while display_width(line) > width - 1:
        line = line[:-1] if len(line) < 2 * width else line[: 2 * width - 1]
    return line + "…"


def display_width(text: str) -> int:
    """Return the number of terminal cells that a text takes: wide characters, such as Chinese ones, take two."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def _padded(text: str, width: int, right: bool = False) -> str:
    space = " " * (width - display_width(text))
    return space + text if right else text + space


# -- rOC and precision–recall curves of one class against all others ---------------------------------------------------


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
    result, taken = (np.bincount(which, weights * part, len(values)).cumsum() for part in (positive, ~positive))
    if not (result[-1:] > 0).all() or not (taken[-1:] > 0).all():
        raise InvalidInput(f"There are no rows of {label!r}, or no others: there is nothing to distinguish.")
    result, taken, threshold = (
        np.concatenate([[0.0], result]),
        np.concatenate([[0.0], taken]),
        np.append(np.inf, -values),
    )
    kept = _kept_points(taken / taken[-1], result / result[-1])
    result, taken, threshold = result[kept], taken[kept], threshold[kept]
    precision = np.divide(result, result + taken, out=np.ones_like(result), where=result + taken > 0)
    area = area_under_curve(posterior[:, k], positive, weights)
    rate = float(result[-1] / (result[-1] + taken[-1]))
    return ClassCurve(label, threshold, result / result[-1], taken / taken[-1], precision, area, rate)


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
