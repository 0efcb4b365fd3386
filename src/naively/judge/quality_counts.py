"""Probabilities of rows of known classes as counts: a histogram for each class, and the classes confused.

Confusion at any threshold, precision, recall, costs, the ROC curve and calibration follow from it, exactly at the cuts
of the bins. It holds no row, so a model file can keep it.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import asdict, dataclass
from typing import Literal, get_args

import numpy as np

from .._linear_algebra import dot
from .._types import Floats, JsonObject, Label, Places
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


@dataclass(frozen=True)
class QualitySource:
    """Which rows figures were measured on, and how these were held out.

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
    """How probable each class was in rows of known classes, as counts by bins of probability.

    Attributes
    ----------
    classes : tuple
        The labels.
    own : array of shape (classes, bins)
        The weight of the rows of each class, by the bin of its probability. A probability on a cut lies below it.
    other : array of shape (classes, bins)
        The weight of the rows of all other classes, by the bin of the probability of this class.
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

    # -- files ----------------------------------------------------------------------------------------------------

    def to_json(self) -> JsonObject:
        """Return the counts as plain data; they are compressed, since most of them are 0."""
        numbers = np.concatenate([part.ravel() for part in (self.own, self.other, self.confusion)])
        packed = base64.b64encode(zlib.compress(numbers.astype("<f8").tobytes(), 9)).decode("ascii")
        figures = {name: [_number_or_none(part[name]) for part in (self.figures, self.errors)] for name in FIGURES}
        about = {"version": 1, "bins": BINS, "counts": packed, "figures": figures}
        return about | {"source": asdict(self.source), "row_weight": self.row_weight}

    @classmethod
    def from_json(cls, data: JsonObject, classes: tuple[Label, ...]) -> QualityCounts | None:
        """Return what to_json described; None if a newer version wrote it."""
        if data["version"] != 1:
            return None
        size = len(classes)
        places = size * BINS
        bytes_there = 8 * (2 * places + size * size)
        numbers = zlib.decompressobj().decompress(base64.b64decode(data["counts"], validate=True), bytes_there + 1)
        if data["bins"] != BINS or len(numbers) != bytes_there:
            raise ValueError(f"the quality has {data['bins']} bins and {len(numbers)} bytes")
        counts = np.frombuffer(numbers, "<f8").astype(np.float64)
        if not (np.isfinite(counts).all() and counts.min() >= 0):
            raise ValueError("the quality holds a number that is no count")
        own, other = counts[:places].reshape(size, BINS), counts[places : 2 * places].reshape(size, BINS)
        figures, errors = (
            {name: float("nan" if pair[at] is None else pair[at]) for name, pair in data["figures"].items()}
            for at in (0, 1)
        )
        source = QualitySource(data["source"]["kind"], int(data["source"]["folds"]), float(data["source"]["of"]))
        if source.kind not in get_args(Kind) or set(figures) != set(FIGURES):
            raise ValueError(f"the quality was measured on {source.kind!r}")
        confusion = counts[2 * places :].reshape(size, size)
        return cls(classes, own, other, confusion, figures, errors, source, float(data["row_weight"]))


def _number_or_none(value: float) -> float | None:
    """Return a figure as JSON can hold it."""
    return value if np.isfinite(value) else None


def quality_of_scores(scores: Scores, source: QualitySource) -> QualityCounts:
    """Return the counts of rows that were scored; decisions under costs do not matter here."""
    posterior, truth, weights = scores.posterior, scores.truth, scores.weights
    if posterior is None:
        raise ValueError("these scores have no probabilities")
    plain = Scores.from_indices(posterior, truth, scores.classes, weights, folds=scores.folds)
    w = np.ones(len(truth)) if weights is None else weights
    size = len(scores.classes)
    own, every = np.empty((2, size, BINS))
    for k in range(size):
        bins = bins_of(posterior[:, k])
        own[k] = np.bincount(bins, w * (truth == k), BINS)
        every[k] = np.bincount(bins, w, BINS)
    figures = {name: float(getattr(plain, name)) for name in FIGURES}
    errors = {name: float(plain.spread.get(name, np.nan)) for name in FIGURES}
    one = dot(w, w) / float(w.sum()) if w.any() else 1.0
    other = np.maximum(every - own, 0.0)
    return QualityCounts(scores.classes, own, other, plain.confusion, figures, errors, source, one)


def bins_of(probabilities: Floats) -> Places:
    """Return the bin of each probability.

    >>> bins_of(np.array([0.0, 0.5, 0.5000001, 1.0])).tolist()
    [0, 511, 512, 1023]
    """
    return np.asarray(np.searchsorted(CUTS, probabilities, side="left"), dtype=np.intp)
