"""The arithmetic behind scores: areas and standard errors; which figures there are, and how they are written."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from .._types import AnyArray, Floats

# What stands in the place of an answer where none was given.
NO_ANSWER = "(no answer)"
# Figures of the decisions, of the probabilities, and those of them that are proportions.
DECISIONS = ("coverage", "accuracy", "balanced_accuracy", "mean_cost", "skill")
PROBABILITIES = ("log_loss", "brier", "calibration_error", "auc")
PROPORTIONS = ("coverage", "accuracy", "balanced_accuracy")


# -- arithmetic --------------------------------------------------------------------------------------------------------


def area(score: Floats, here: npt.NDArray[np.bool_], weights: Floats) -> float:
    """Return the area under the curve of a score that shall be high for some rows; NaN if all or none are such."""
    values, which = np.unique(score, return_inverse=True)
    inside, outside = (np.bincount(which, weights * part, len(values)) for part in (here, ~here))
    both = float(inside.sum()) * float(outside.sum())
    below = np.cumsum(outside) - outside / 2  # ties are worth a half
    return float(inside @ below) / both if both else float("nan")


def mean_area(posterior: Floats, truth: AnyArray, weights: Floats) -> float:
    """Return the mean over the classes of the area of each against all others; NaN if all rows are of one class."""
    areas = [area(posterior[:, k], truth == k, weights) for k in range(posterior.shape[1])]
    met = [a for a in areas if not math.isnan(a)]
    return float(np.mean(met)) if met else float("nan")


def bins_of(posterior: Floats | None, truth: AnyArray, weights: Floats, bins: int) -> tuple[Floats, ...]:
    """Return of rows of like confidence how many there are, how confident, how many of them right; each a sum."""
    if posterior is None:
        return np.zeros(bins), np.zeros(bins), np.zeros(bins)
    confidence = posterior.max(axis=1)
    at = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    parts = (np.ones(len(at)), confidence, (posterior.argmax(axis=1) == truth).astype(np.float64))
    return tuple(np.asarray(np.bincount(at, weights * part, bins), dtype=np.float64) for part in parts)


def error_over_folds(values: Iterable[float]) -> float:
    """Return the standard error of the mean over folds: their standard deviation, divided by the root of their number.

    NaN where all are alike: that all folds have no mistake does not say that others would have none.

    >>> round(error_over_folds([0.9, 1.0, 0.8]), 4)
    0.0577
    """
    found = np.array([value for value in values if not math.isnan(value)])
    return float(found.std(ddof=1) / math.sqrt(len(found))) if len(np.unique(found)) > 1 else float("nan")


def error_over_rows(values: Floats, weights: Floats) -> float:
    """Return the standard error of a weighted mean of rows, each of which is one observation whatever it weighs.

    NaN where all are alike.

    >>> round(error_over_rows(np.array([1.0, 0.0, 1.0, 1.0]), np.ones(4)), 4)
    0.25
    """
    heavy = weights > 0
    x, w, n = values[heavy], weights[heavy], int(heavy.sum())
    if len(np.unique(x)) < 2:
        return float("nan")
    gaps = w * (x - w @ x / w.sum())
    return float(math.sqrt(float(gaps @ gaps) * n / (n - 1)) / w.sum())


# -- writing -----------------------------------------------------------------------------------------------------------


def written(name: str, value: float, error: float = float("nan")) -> str:
    """Return a figure in words, with its standard error if there is one.

    >>> written("accuracy", 0.988, 0.0061), written("log_loss", 0.03041, 0.0081), written("auc", float("nan"))
    ('98.8 % ± 0.6', '0.0304 ± 0.0081', '–')
    """
    if math.isnan(value):
        return "–"
    digits = 4 if abs(value) < 1000 else 1
    share = name in PROPORTIONS
    text = f"{value:.1%}".replace("%", " %") if share else f"{value:,.{digits}f}"
    if math.isnan(error):
        return text
    return f"{text} ± {100 * error:.1f}" if share else f"{text} ± {error:,.{digits}f}"


def one_class(label: Any) -> str:
    """Say that all rows are of one class."""
    return (
        f"All rows are of one class, {plain(label)!r}: there is nothing to distinguish, so no score is meaningful. "
        "Give rows of at least two classes, or check which column is the target."
    )


def plain(value: Any) -> Any:
    """Return a figure or a label as JSON can hold it."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float)) else str(value)


def whole(value: Any) -> Any:
    """Return numbers of rows as whole numbers where they are: weights may make them fractions.

    >>> whole(344.0), whole(np.array([1.0, 2.5]))
    (344, [1, 2.5])
    """
    if isinstance(value, np.ndarray):
        return [whole(one) for one in value.tolist()]
    if isinstance(value, list):
        return [whole(one) for one in value]
    return int(value) if float(value).is_integer() else float(value)
