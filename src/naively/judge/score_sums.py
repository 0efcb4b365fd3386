"""Scores of rows that are too many to be kept: sums that add, of which the same figures follow as of `Scores`.

All figures are those of `Scores`, but for the area under the ROC curve: it follows from histograms of probabilities,
and `auc_error` bounds how far it may be from that of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from .._linear_algebra import dot
from .._types import AnyArray, Floats, JsonObject, Label, Mask
from .metrics import as_row_count, json_value, score_text
from .quality_counts import BINS, bins_of
from .scores import Scores
from .text_table import aligned_lines

# Of each figure that is a mean over rows x of weights w: the rows, the sums of w, w x, w², w² x, w² x²; its ends.
MEANS = ("coverage", "accuracy", "mean_cost", "log_loss", "brier")
SUMS = 6
SHOWN = ("coverage", "accuracy", "balanced_accuracy", "mean_cost", "log_loss", "brier", "calibration_error", "auc")


@dataclass(frozen=True, eq=False, repr=False)
class ScoreSums:
    """Scores of a classifier on any number of rows of known classes, counted in parts and added.

    ``a + b`` are the scores of the rows of both.

    Parameters
    ----------
    classes : tuple
        The labels of the model, and after them those that only rows have.
    choices : tuple
        The answers that the columns of `confusion` stand for; the last is None: no answer.
    confusion : array of shape (classes, choices)
        The weight of rows by their true class and by their answer.
    means : array of shape (5, 8)
        Sums of which the means over rows and their standard errors follow.
    own, other : array of shape (classes, bins)
        The weight of the rows of each class, and of all others, by the bin of its probability.
    confidence : array of shape (3, bins)
        Rows, confidence and correct rows of each bin of confidence.

    Examples
    --------
    >>> import naively as nv
    >>> from naively.spark import ScoreSums
    >>> first, rest = ([[0.9, 0.1], [0.3, 0.7]], ["no", "yes"]), ([[0.6, 0.4]], ["yes"])
    >>> parts = [ScoreSums.of(nv.Scores(*rows, ("no", "yes"))) for rows in (first, rest)]
    >>> round((parts[0] + parts[1]).accuracy, 3)
    0.667
    """

    classes: tuple[Label, ...]
    choices: tuple[Label, ...]
    confusion: Floats
    means: Floats
    own: Floats
    other: Floats
    confidence: Floats

    @classmethod
    def of(cls, scores: Scores) -> ScoreSums:
        """Return the sums of rows that were scored."""
        w, posterior, size = scores._w, scores._probabilities, len(scores.classes)
        choices = (*scores.choices, None)
        at = np.where(scores._answered, scores.answers, len(choices) - 1) if scores._number_cost is None else None
        flat = np.zeros(0) if at is None else scores.truth * len(choices) + at.astype(np.int64)
        confusion = np.zeros((size, len(choices)))
        if at is not None:
            confusion = np.bincount(flat, w, confusion.size).astype(np.float64).reshape(confusion.shape)
        of_rows = (scores._answered, scores._correct, scores._costs, scores._losses, scores._distances)
        weights = (w, w * scores._answered, w, w, w)
        means = np.array([_sums_of(np.asarray(x, np.float64), v) for x, v in zip(of_rows, weights, strict=True)])
        own, every = np.empty((2, size, BINS))
        for k in range(size):
            bins = bins_of(posterior[:, k])
            own[k], every[k] = np.bincount(bins, w * (scores.truth == k), BINS), np.bincount(bins, w, BINS)
        return cls(scores.classes, choices, confusion, means, own, every - own, np.array(scores._bins))

    def __add__(self, part: ScoreSums) -> ScoreSums:
        if not isinstance(part, ScoreSums):
            return NotImplemented
        classes = (*self.classes, *(label for label in part.classes if label not in self.classes))
        choices = (*self.choices[:-1], *(label for label in part.choices if label not in self.choices), None)
        a, b = self.on(classes, choices), part.on(classes, choices)
        sums = {name: getattr(a, name) + getattr(b, name) for name in ("confusion", "own", "other", "confidence")}
        least, largest = np.fmin(a.means[:, SUMS], b.means[:, SUMS]), np.fmax(a.means[:, -1], b.means[:, -1])
        means = np.column_stack([a.means[:, :SUMS] + b.means[:, :SUMS], least, largest])
        return ScoreSums(classes, choices, means=means, **sums)

    @classmethod
    def sum_of(cls, parts: Sequence[ScoreSums]) -> ScoreSums:
        """Return the scores of the rows of all parts."""
        return reduce(add, parts)

    def on(self, classes: tuple[Label, ...], choices: tuple[Label, ...]) -> ScoreSums:
        """Return the same for more classes and choices: no row has the probability of those."""
        places = [classes.index(label) for label in self.classes]
        own, other = np.zeros((2, len(classes), BINS))
        own[places], other[places] = self.own, self.other
        other[[k for k in range(len(classes)) if k not in places], 0] = self.rows
        confusion = np.zeros((len(classes), len(choices)))
        confusion[np.ix_(places, [choices.index(label) for label in self.choices])] = self.confusion
        return replace(self, classes=classes, choices=choices, confusion=confusion, own=own, other=other)

    # -- figures --------------------------------------------------------------------------------------------------

    @property
    def rows(self) -> float:
        """The weight of all rows: their number, if they have none."""
        return float(self.means[0, 1])

    @property
    def coverage(self) -> float:
        """The proportion of rows with an answer."""
        return self._mean("coverage")

    @property
    def accuracy(self) -> float:
        """The proportion of answered rows whose answer is their true class; NaN if answers cannot be classes."""
        return self._mean("accuracy") if set(self.classes) & set(self.choices) else float("nan")

    @property
    def mean_cost(self) -> float:
        """The mean cost of the decisions; by default every mistake costs 1."""
        return self._mean("mean_cost")

    @property
    def log_loss(self) -> float:
        """The mean of -log P(true class)."""
        return self._mean("log_loss")

    @property
    def brier(self) -> float:
        """The mean squared distance of the probabilities from 0 and 1, summed over the classes."""
        return self._mean("brier")

    @property
    def balanced_accuracy(self) -> float:
        """The mean of the accuracies within each class that has answered rows."""
        if math.isnan(self.accuracy):
            return float("nan")
        answered = self.confusion[:, :-1].sum(axis=1)
        at = [self.choices.index(label) if label in self.choices else -1 for label in self.classes]
        correct = np.where(np.array(at) < 0, 0.0, self.confusion[np.arange(len(at)), at])
        there = answered > 0
        return float(np.mean(correct[there] / answered[there])) if there.any() else float("nan")

    @property
    def calibration_error(self) -> float:
        """The mean distance of confidence and accuracy over bins of confidence."""
        _, confidence, correct = self.confidence
        return float(np.abs(confidence - correct).sum() / self.rows)

    @property
    def auc(self) -> float:
        """The one-against-rest area under the ROC curve, averaged over classes, to within `auc_error`."""
        below = np.cumsum(self.other, axis=1) - self.other / 2
        found = (self.own * below).sum(axis=1)[self._two_sided] / self._pairs[self._two_sided]
        return float(found.mean()) if len(found) else float("nan")

    @property
    def auc_error(self) -> float:
        """How far `auc` can be from that of the rows: pairs of rows in one bin may be in either order."""
        found = (self.own * self.other).sum(axis=1)[self._two_sided] / self._pairs[self._two_sided] / 2
        return float(found.mean()) if len(found) else float("nan")

    @property
    def spread(self) -> dict[str, float]:
        """The standard error over rows of each figure that is a mean; NaN where all rows have the same value."""
        return {name: _standard_error(sums) for name, sums in zip(MEANS, self.means, strict=True)}

    @property
    def _pairs(self) -> Floats:
        return np.asarray(self.own.sum(axis=1) * self.other.sum(axis=1))

    @property
    def _two_sided(self) -> Mask:
        return np.asarray(self._pairs > 0)

    def _mean(self, name: str) -> float:
        _, weight, total, *_ = self.means[MEANS.index(name)]
        return float(total / weight) if weight else float("nan")

    # -- writing --------------------------------------------------------------------------------------------------

    def to_dict(self) -> JsonObject:
        """Return the figures as values that JSON can hold; None for one that is not defined.

        Returns
        -------
        dict
            The rows, each figure, the classes and the confusion.
        """
        figures = {name: json_value(getattr(self, name)) for name in (*SHOWN, "auc_error")}
        lines = [[as_row_count(n) for n in line] for line in self.confusion.tolist()]
        classes = [json_value(label) for label in self.classes]
        choices = [None if label is None else json_value(label) for label in self.choices]
        return {"rows": as_row_count(self.rows), **figures, "classes": classes, "choices": choices, "confusion": lines}

    def __str__(self) -> str:
        lines = [(f"{self.rows:.10g} rows", "model")]
        for name in SHOWN:
            value = getattr(self, name)
            if not math.isnan(value) and not (name == "coverage" and value == 1.0):
                lines.append((name.replace("_", " "), score_text(name, value, self.spread.get(name, math.nan))))
        return "\n".join(line.rstrip() for line in aligned_lines(lines, right=(1,)))

    __repr__ = __str__


def _sums_of(values: Floats, weights: AnyArray) -> list[float]:
    """Return the sums of a figure over rows of weight."""
    heavy = weights > 0
    x, w = values[heavy], weights[heavy]
    ends = [float(x.min()), float(x.max())] if len(x) else [math.nan, math.nan]
    return [float(len(x)), w.sum(), dot(w, x), dot(w, w), dot(w * w, x), dot(w * w, x * x), *ends]


def _standard_error(sums: Floats) -> float:
    """Return the standard error of a weighted mean, of its sums over rows."""
    n, w, wx, ww, wwx, wwxx, least, largest = (float(one) for one in sums)
    if n < 2 or not least < largest:
        return math.nan
    mean = wx / w
    gaps = max(wwxx - 2 * mean * wwx + mean * mean * ww, 0.0)
    return math.sqrt(gaps * n / (n - 1)) / w
