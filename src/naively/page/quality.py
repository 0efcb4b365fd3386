"""What the tab Quality reads: histograms of probabilities by class, intervals of calibration, classes confused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from .._types import Floats, JsonObject, Label, Places
from ..judge.held_out_scores import clopper_pearson_interval
from ..judge.histograms import BINS, CUTS, TAIL, QualityCounts, QualitySource, quality_of_scores
from ..judge.metrics import as_row_count
from ..judge.scores import Scores

# Of more classes, only the largest have a histogram, and can be looked at one by one; and only the first are shown with
# those that they are confused with.
MOST_CLASSES, SHOWN_CLASSES = 40, 26
# Probabilities that are put together to a point of the calibration, and how often its interval fails.
GROUPS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
TAIL_OF_INTERVAL = 0.025
# Rows that a point of the calibration has at least.
FEWEST_ROWS = 10


def quality_of(
    posterior: Floats,
    truth: Places,
    classes: Sequence[Label],
    weights: Floats | None = None,
    source: QualitySource | None = None,
) -> JsonObject:
    """Return what the tab Quality reads, of rows of known classes.

    Parameters
    ----------
    posterior : ndarray of shape (n_samples, n_classes)
        The probability of each class.
    truth : ndarray of shape (n_samples,)
        The place of each row's true class.
    classes : sequence
        The labels.
    weights : ndarray of shape (n_samples,), optional
        The weight of each row.
    source : QualitySource, optional
        Which rows these are; by default rows that were given.

    Returns
    -------
    quality : dict
        Plain data, for JSON.
    """
    scores = Scores.from_indices(posterior, truth, classes, weights)
    return quality_data(quality_of_scores(scores, source or QualitySource("given")))


def quality_data(counts: QualityCounts) -> JsonObject:
    """Return what the tab Quality reads, of counts that were made before.

    Of two classes, the second has a histogram alone: that of the first is its mirror image. `classes` are those that
    can be compared with the rest, and `first` is the one with the fewest rows.
    """
    size = len(counts.classes)
    largest = np.argsort(-counts.confusion.sum(axis=1), kind="stable")[:MOST_CLASSES].tolist()
    drawn = {1} if size == 2 else set(largest)
    sizes = counts.confusion.sum(axis=1)
    known = [k for k in range(size) if (size == 2 or k in drawn) and 0 < sizes[k] < counts.rows]
    return {
        "rows": _count(counts.rows),
        "classes": known,
        "first": min(known, key=lambda k: (sizes[k], -k), default=None),
        "source": asdict(counts.source),
        "figures": {name: [_figure(value), _figure(counts.errors[name])] for name, value in counts.figures.items()},
        "sizes": [_count(n) for n in sizes],
        "confusion": [[_count(cell) for cell in line[:SHOWN_CLASSES]] for line in counts.confusion[:SHOWN_CLASSES]],
        "tail": list(TAIL),
        "histograms": [[packed(counts.own[k]), packed(counts.other[k])] if k in drawn else None for k in range(size)],
        "intervals": [_intervals(counts, k) if k in drawn else None for k in range(size)],
    }


def packed(counts: Floats) -> list[int | float]:
    """Return counts of bins, those without rows as the negative number of them in a row.

    >>> packed(np.array([3.0, 0.0, 0.0, 1.5]))
    [3, -2, 1.5]
    """
    out: list[int | float] = []
    for cell in counts.tolist():
        if cell:
            out.append(_count(cell))
        elif out and out[-1] < 0:
            out[-1] -= 1
        else:
            out.append(-1)
    return out


def calibration_groups(counts: QualityCounts, k: int) -> list[tuple[int, int]]:
    """Return the groups of bins, each by its first bin and its end, that are points of the calibration of a class.

    Groups of fewer rows than are needed to tell something are put together with the next ones.
    """
    bounds = [0, *(int(at) + 1 for at in np.searchsorted(CUTS, np.array(GROUPS) - 1e-9)), BINS]
    every = (counts.own[k] + counts.other[k]) / counts.row_weight
    groups: list[tuple[int, int]] = []
    begin = 0
    for end in bounds[1:]:
        if every[begin:end].sum() >= FEWEST_ROWS:
            groups.append((begin, end))
            begin = end
    return [*groups[:-1], (groups[-1][0], BINS)] if groups else [(0, BINS)]


def bin_middles() -> Floats:
    """Return the probability in the middle of each bin."""
    ends = np.array([0.0, *CUTS, 1.0])
    return np.asarray((ends[1:] + ends[:-1]) / 2)


def _intervals(counts: QualityCounts, k: int) -> list[list[float]]:
    """Return the first bin and the end of each group of probabilities, and the interval of the class in it."""
    groups = calibration_groups(counts, k)
    own, other = (
        np.array([part[k, begin:end].sum() for begin, end in groups]) / counts.row_weight
        for part in (counts.own, counts.other)
    )
    limits = clopper_pearson_interval(own + other, own, TAIL_OF_INTERVAL)
    return [[*group, *(round(float(limit), 4) for limit in pair)] for group, pair in zip(groups, limits.T, strict=True)]


def _count(value: float) -> int | float:
    return as_row_count(float(f"{value:.6g}")) if value < 1e6 else as_row_count(round(value, 1))


def _figure(value: float) -> float | None:
    return float(f"{value:.6g}") if np.isfinite(value) else None
