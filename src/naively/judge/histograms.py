"""Probabilities of rows of known classes as counts by bins: no row is held, and parts add up."""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from operator import add
from typing import Literal, NamedTuple, get_args

import numpy as np

from .._linear_algebra import dot
from .._types import AnyArray, Floats, JsonObject, Label, Places
from .metrics import aligned_lines, as_row_count, json_value, score_text
from .scores import Scores

# Cuts are the multiples of 0.001, and finer ones near 0 and 1: where a mistake of one kind costs a thousand times as
# much as one of the other, the best threshold lies there.
TAIL = (1e-7, 2e-7, 5e-7, 1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4)
CUTS = np.array([*TAIL, *(np.arange(1, 1000) / 1000), *(1 - cut for cut in reversed(TAIL))])
BINS = len(CUTS) + 1

# How the rows were held out: in folds, one at a time, not at all because they are other rows or may be, or because the
# model was fitted on them.
Kind = Literal["folds", "leave_one_out", "given", "fitted"]
FIGURES = ("accuracy", "log_loss", "brier", "auc")

# Of each score that is a mean over rows x of weights w: the rows, the sums of w, w x, w², w² x, w² x²; its ends.
MEANS = ("coverage", "accuracy", "mean_cost", "log_loss", "brier")
SUMS = 6
SHOWN = ("coverage", "accuracy", "balanced_accuracy", "mean_cost", "log_loss", "brier", "calibration_error", "auc")


class ClassHistograms(NamedTuple):
    """Weight of rows by the bin of the probability of each class, [class, bin]: rows of the class, and all others."""

    own: Floats
    other: Floats

    @classmethod
    def of(cls, bins: Places, members: Places | Floats, weights: Floats, size: int) -> ClassHistograms:
        """Return those of rows, given bins [row, class] and each row's class or, of soft labels, the proportions."""
        own, every = np.empty((2, bins.shape[1], size))
        for k in range(bins.shape[1]):
            part = np.equal(members, k) if members.ndim == 1 else members[:, k]
            own[k] = np.bincount(bins[:, k], weights * part, size)
            every[k] = np.bincount(bins[:, k], weights, size)
        return cls(own, np.maximum(every - own, 0.0))

    def plus(self, more: ClassHistograms) -> ClassHistograms:
        """Return the histograms of the rows of both."""
        return ClassHistograms(self.own + more.own, self.other + more.other)

    def at(self, places: Places) -> ClassHistograms:
        """Return those of the classes at these places; -1 stands for a class without rows and probability."""
        own, other = (np.where(places[:, None] >= 0, part[places], 0.0) for part in self)
        other[places < 0, 0] = self.own.sum()
        return ClassHistograms(own, other)


def packed_counts(*counts: Floats) -> str:
    """Return counts as text; they are compressed, since most of them are 0."""
    numbers = np.concatenate([part.ravel() for part in counts]).astype("<f8")
    return base64.b64encode(zlib.compress(numbers.tobytes(), 9)).decode("ascii")


def unpacked_counts(text: str, *shapes: tuple[int, ...]) -> list[Floats]:
    """Return the counts that were packed; an error if they are not counts of these shapes."""
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    numbers = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), 8 * int(ends[-1]) + 1)
    if len(numbers) != 8 * ends[-1]:
        raise ValueError(f"there are {len(numbers)} bytes of counts, and not {8 * ends[-1]}")
    counts = np.frombuffer(numbers, "<f8").astype(np.float64)
    if not (np.isfinite(counts).all() and counts.min() >= 0):
        raise ValueError("a number is not a count")
    return [part.reshape(shape) for part, shape in zip(np.split(counts, ends[:-1]), shapes, strict=True)]


def bins_of(probabilities: Floats) -> Places:
    """Return the bin of each probability; one on a cut lies below it.

    >>> bins_of(np.array([0.0, 0.5, 0.5000001, 1.0])).tolist()
    [0, 511, 512, 1023]
    """
    return np.asarray(np.searchsorted(CUTS, probabilities, side="left"), dtype=np.intp)


# -- of a model file ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class QualitySource:
    """Which rows scores were measured on, and how these were held out.

    Attributes
    ----------
    kind : {"folds", "leave_one_out", "given", "fitted"}
        "folds": by models of the other folds. "leave_one_out": each row by the textbook model without it. "given": rows
        that were handed over, which the model may know or not. "fitted": rows that the model was fitted on, which
        flatters it.
    folds : int
        How many folds there were.
    of : float
        How many rows there were to choose from, by weight; 0 if these are all.
    """

    kind: Kind
    folds: int = 0
    of: float = 0.0


@dataclass(frozen=True, eq=False)
class QualityCounts:
    """How probable each class was in rows of known classes, as histograms, and the classes confused.

    Confusion at any threshold, precision, recall, costs, the ROC curve and calibration follow from it, exactly at the
    cuts of the bins.

    Attributes
    ----------
    classes : tuple
        The labels.
    own, other : array of shape (classes, bins)
        The weight of the rows of each class, and of all others, by the bin of its probability.
    confusion : array of shape (classes, classes)
        The weight of rows by their true class and by their most probable class.
    figures : dict
        Accuracy of the most probable class, log loss, Brier score and mean AUC of all rows.
    errors : dict
        The standard error of each figure; NaN where it is not known.
    source : QualitySource
        Which rows these are.
    row_weight : float
        What one row weighs: 1 without weights.
    """

    classes: tuple[Label, ...]
    own: Floats
    other: Floats
    confusion: Floats
    figures: dict[str, float]
    errors: dict[str, float]
    source: QualitySource
    row_weight: float = 1.0

    @property
    def rows(self) -> float:
        """The weight of all rows."""
        return float(self.confusion.sum())

    def to_json(self) -> JsonObject:
        """Return the counts as plain data."""
        figures = {name: [json_value(part[name]) for part in (self.figures, self.errors)] for name in FIGURES}
        counts = packed_counts(self.own, self.other, self.confusion)
        about = {"version": 1, "bins": BINS, "counts": counts, "figures": figures}
        return about | {"source": asdict(self.source), "row_weight": self.row_weight}

    @classmethod
    def from_json(cls, data: JsonObject, classes: tuple[Label, ...]) -> QualityCounts | None:
        """Return what to_json described; None if a newer version wrote it."""
        if data["version"] != 1:
            return None
        size = len(classes)
        histogram = size, int(data["bins"])
        own, other, confusion = unpacked_counts(data["counts"], histogram, histogram, (size, size))
        figures, errors = (
            {name: math.nan if pair[side] is None else float(pair[side]) for name, pair in data["figures"].items()}
            for side in (0, 1)
        )
        source = QualitySource(data["source"]["kind"], int(data["source"]["folds"]), float(data["source"]["of"]))
        if data["bins"] != BINS or source.kind not in get_args(Kind) or set(figures) != set(FIGURES):
            raise ValueError(f"the quality has {data['bins']} bins and was measured on {source.kind!r}")
        return cls(classes, own, other, confusion, figures, errors, source, float(data["row_weight"]))


def quality_of_scores(scores: Scores, source: QualitySource) -> QualityCounts:
    """Return the counts of rows that were scored; decisions under costs do not matter here."""
    posterior, truth, weights = scores.posterior, scores.truth, scores.weights
    if posterior is None:
        raise ValueError("these scores have no probabilities")
    plain = Scores.from_indices(posterior, truth, scores.classes, weights, folds=scores.folds)
    w = plain.row_weights
    figures = {name: float(getattr(plain, name)) for name in FIGURES}
    errors = {name: float(plain.spread.get(name, np.nan)) for name in FIGURES}
    one = dot(w, w) / float(w.sum()) if w.any() else 1.0
    histograms = ClassHistograms.of(bins_of(posterior), truth, w, BINS)
    return QualityCounts(scores.classes, *histograms, plain.confusion, figures, errors, source, one)


# -- of rows that are too many to be kept ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class ScoreSums:
    """Scores of a classifier on any number of rows of known classes, counted in parts and added.

    ``a + b`` are the scores of the rows of both. All are those of `Scores`, except for the area under the ROC curve: it
    follows from histograms of probabilities, and `auc_error` bounds its distance from the area of the rows.

    Parameters
    ----------
    classes : tuple
        The labels of the model, and after them those that only rows have.
    choices : tuple
        The predictions that the columns of `confusion` stand for; the last is None: no prediction.
    confusion : array of shape (classes, choices)
        The weight of rows by their true class and by their prediction.
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
        w, posterior, size = scores.row_weights, scores._probabilities, len(scores.classes)
        choices = (*scores.choices, None)
        confusion = np.zeros((size, len(choices)))
        if scores._number_cost is None:
            chosen = np.where(scores._answered, scores.answers, len(choices) - 1).astype(np.intp)
            np.add.at(confusion, (scores.truth, chosen), w)
        of_rows = (scores._answered, scores._correct, scores._costs, scores._losses, scores._distances)
        weights = (w, w * scores._answered, w, w, w)
        means = np.array([_sums_of(np.asarray(x, np.float64), v) for x, v in zip(of_rows, weights, strict=True)])
        histograms = ClassHistograms.of(bins_of(posterior), scores.truth, w, BINS)
        return cls(scores.classes, choices, confusion, means, *histograms, np.array(scores._bins))

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
        known = {label: place for place, label in enumerate(self.classes)}
        places = np.array([known.get(label, -1) for label in classes], dtype=np.intp)
        own, other = ClassHistograms(self.own, self.other).at(places)
        confusion = np.zeros((len(classes), len(choices)))
        lines, columns = [classes.index(k) for k in self.classes], [choices.index(k) for k in self.choices]
        confusion[np.ix_(lines, columns)] = self.confusion
        return replace(self, classes=classes, choices=choices, confusion=confusion, own=own, other=other)

    @property
    def rows(self) -> float:
        """The weight of all rows: their number, if they have none."""
        return float(self.means[0, 1])

    @property
    def coverage(self) -> float:
        """The proportion of rows with a prediction."""
        return self._mean("coverage")

    @property
    def accuracy(self) -> float:
        """The proportion of predictions that are the true class; NaN if predictions cannot be classes."""
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
        """The mean of the accuracies within each class that has rows with a prediction."""
        if math.isnan(self.accuracy):
            return float("nan")
        correct = [
            self.confusion[k, self.choices.index(label)] if label in self.choices else 0.0
            for k, label in enumerate(self.classes)
        ]
        predicted = self.confusion[:, :-1].sum(axis=1)
        there = predicted > 0
        return float(np.mean(np.array(correct)[there] / predicted[there])) if there.any() else float("nan")

    @property
    def calibration_error(self) -> float:
        """The expected calibration error: the mean distance of confidence and accuracy over bins of confidence."""
        _, confidence, correct = self.confidence
        return float(np.abs(confidence - correct).sum() / self.rows)

    @property
    def auc(self) -> float:
        """The one-against-rest area under the ROC curve, averaged over classes, to within `auc_error`."""
        return self._mean_over_pairs(np.cumsum(self.other, axis=1) - self.other / 2)

    @property
    def auc_error(self) -> float:
        """How far `auc` can be from the area of the rows: pairs of rows in one bin may be in either order."""
        return self._mean_over_pairs(self.other / 2)

    def _mean_over_pairs(self, others: Floats) -> float:
        """Return the mean over classes of the proportion of pairs, given the weight of others for each own row."""
        pairs = self.own.sum(axis=1) * self.other.sum(axis=1)
        result = (self.own * others).sum(axis=1)[pairs > 0] / pairs[pairs > 0]
        return float(result.mean()) if len(result) else float("nan")

    @property
    def spread(self) -> dict[str, float]:
        """The standard error over rows of each score that is a mean; NaN where all rows have the same value."""
        return {name: _standard_error(sums) for name, sums in zip(MEANS, self.means, strict=True)}

    def _mean(self, name: str) -> float:
        _, weight, total, *_ = self.means[MEANS.index(name)]
        return float(total / weight) if weight else float("nan")

    def to_dict(self) -> JsonObject:
        """Return the scores as values that JSON can hold; None for one that is not defined.

        Returns
        -------
        dict
            The rows, each score, the classes and the confusion.
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
    """Return the sums of a score over rows of weight."""
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
