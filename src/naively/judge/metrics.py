"""Measures of decisions and probabilities, their standard errors, and how they are written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from unicodedata import east_asian_width

import numpy as np

from .._linear_algebra import dot
from .._types import AnyArray, Floats, Json, Label, Mask, Places

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
    found = np.array([value for value in values if not math.isnan(value)])
    return float(found.std(ddof=1) / math.sqrt(len(found))) if len(np.unique(found)) > 1 else float("nan")


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
    lines = ([_padded(cell, widths[at], at in right) for at, cell in enumerate(row)] for row in rows)
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
