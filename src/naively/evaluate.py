"""How good answers are: scores of probabilities against the true classes, beside always saying the most frequent."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from .decision import decide
from .errors import InvalidInput
from .report import frame
from .statistics.axis import Floats

# A probability below this counts as this: one row that was ruled out must not make the mean infinite.
LEAST = 1e-15
# Bins of the reliability table.
BINS = 15


@dataclass(frozen=True, eq=False)
class Scores:
    """Probabilities of rows whose classes are known, and what they are worth.

    Parameters
    ----------
    posterior : array of shape (rows, classes)
        Probability of each class.
    truth : array of shape (rows,)
        The code of the true class of each row; -1 if no row of its class was known.
    classes : tuple
        The labels.
    weights : array of shape (rows,), optional
        What each row weighs.
    cost : array of shape (classes, choices), optional
        What a choice costs when a class is true.

    Examples
    --------
    >>> scores = Scores(np.array([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]]), np.array([0, 1, 1]), ("no", "yes"))
    >>> round(scores.accuracy, 3), round(scores.log_loss, 3), scores.confusion.tolist()
    (0.667, 0.459, [[1.0, 0.0], [1.0, 1.0]])
    """

    posterior: Floats
    truth: npt.NDArray[np.intp]
    classes: tuple[Any, ...]
    weights: Floats | None = None
    cost: Floats | None = None

    def __post_init__(self) -> None:
        if len(self.posterior) != len(self.truth):
            raise InvalidInput(f"There are {len(self.posterior)} rows of probabilities and {len(self.truth)} classes.")
        if not len(self.truth):
            raise InvalidInput("There are no rows to score.")

    @cached_property
    def _w(self) -> Floats:
        w = np.ones(len(self.truth)) if self.weights is None else np.asarray(self.weights, dtype=np.float64)
        return w / w.sum()

    @cached_property
    def rows(self) -> float:
        """How many rows there are, by weight."""
        return float(len(self.truth) if self.weights is None else np.sum(self.weights))

    @cached_property
    def answers(self) -> npt.NDArray[np.intp]:
        """The code of the most probable class of each row."""
        return np.asarray(self.posterior.argmax(axis=1))

    @cached_property
    def _given_truth(self) -> Floats:
        known = self.truth >= 0
        p = self.posterior[np.arange(len(self.truth)), np.maximum(self.truth, 0)]
        return np.where(known, p, 0.0)

    @cached_property
    def accuracy(self) -> float:
        """The share of rows whose most probable class is the true one."""
        return float(self._w @ (self.answers == self.truth))

    @cached_property
    def balanced_accuracy(self) -> float:
        """The accuracy within each class that occurs, averaged: chance is 1/K however unequal the classes are."""
        hits = [self._w[here] @ (self.answers[here] == k) / self._w[here].sum() for k, here in self._of_classes()]
        return float(np.mean(hits))

    def _of_classes(self) -> list[tuple[int, npt.NDArray[np.bool_]]]:
        return [(k, self.truth == k) for k in range(-1, len(self.classes)) if self._w[self.truth == k].sum() > 0]

    @cached_property
    def log_loss(self) -> float:
        """The mean of -log P(true class): 0 is perfect, and certainty about a wrong class costs most."""
        return float(-self._w @ np.log(np.maximum(self._given_truth, LEAST)))

    @cached_property
    def brier(self) -> float:
        """The mean squared distance of the probabilities from 0 and 1, summed over the classes."""
        return float(self._w @ ((self.posterior**2).sum(axis=1) - 2 * self._given_truth + 1))

    @cached_property
    def _bins(self) -> tuple[Floats, Floats, Floats]:
        confidence = self.posterior.max(axis=1)
        at = np.minimum((confidence * BINS).astype(int), BINS - 1)
        sums = [np.bincount(at, self._w * part, BINS) for part in (1.0, confidence, self.answers == self.truth)]
        return sums[0], sums[1], sums[2]

    @cached_property
    def calibration_error(self) -> float:
        """How far confidence lies from the share of right answers, averaged over rows of like confidence."""
        _, confidence, right = self._bins
        return float(np.abs(confidence - right).sum())

    def reliability(self) -> Any:
        """Return a frame: of rows of like confidence, how confident the answers were and how many were right."""
        share, confidence, right = self._bins
        met = share > 0
        return frame(
            {
                "from": (np.arange(BINS) / BINS)[met],
                "rows": share[met] * self.rows,
                "confidence": confidence[met] / share[met],
                "right": right[met] / share[met],
            }
        )

    @cached_property
    def auc(self) -> float:
        """The chance that a row of a class is given a higher probability of it than another row; mean over the classes."""
        areas = [area(self.posterior[:, k], self.truth == k, self._w) for k in range(len(self.classes))]
        met = [a for a in areas if a == a]
        if len(self.classes) == 2 and met:
            return areas[1]
        return float(np.mean(met)) if met else float("nan")

    @cached_property
    def mean_cost(self) -> float:
        """What the decisions of least expected cost cost on average (the overall risk R(h)); every mistake costs 1."""
        cost = 1.0 - np.eye(len(self.classes)) if self.cost is None else np.asarray(self.cost, dtype=np.float64)
        known = self.truth >= 0
        paid = cost[np.maximum(self.truth, 0), decide(self.posterior, cost)]
        return float(self._w @ np.where(known, paid, cost.max()))

    @cached_property
    def confusion(self) -> Floats:
        """How many rows of each true class (lines) were given each answer (columns)."""
        size, known = len(self.classes), self.truth >= 0
        w = self._w * self.rows
        flat = np.bincount(self.truth[known] * size + self.answers[known], w[known], size * size)
        return np.asarray(flat).reshape(size, size)

    @cached_property
    def baseline(self) -> Scores:
        """The scores of always giving each class its share of these rows."""
        shares = np.bincount(np.maximum(self.truth, 0), self._w * (self.truth >= 0), len(self.classes))
        shares = shares / shares.sum() if shares.sum() else np.full(len(self.classes), 1 / len(self.classes))
        return Scores(np.tile(shares, (len(self.truth), 1)), self.truth, self.classes, self.weights, self.cost)

    NAMES = ("accuracy", "balanced_accuracy", "log_loss", "brier", "calibration_error", "auc", "mean_cost")

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data."""
        figures = {name: getattr(self, name) for name in self.NAMES}
        baseline = {name: getattr(self.baseline, name) for name in self.NAMES}
        labels = [label if isinstance(label, (str, int, float, bool)) else str(label) for label in self.classes]
        table = {"classes": labels, "confusion": self.confusion.tolist()}
        return {"rows": self.rows, **figures, "baseline": baseline, **table}

    def to_json(self) -> str:
        """Return all figures as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def frame(self) -> Any:
        """Return the figures beside the baseline's as a frame."""
        of = (self, self.baseline)
        return frame(
            {
                "score": list(self.NAMES),
                **{n: [getattr(s, k) for k in self.NAMES] for n, s in zip(("model", "baseline"), of, strict=True)},
            }
        )

    def __str__(self) -> str:
        most = self.classes[int(self.baseline.answers[0])]
        lines = [f"{self.rows:.10g} rows".ljust(20) + f"{'model':>10}  {f'always {most}':>12}"]
        for name in self.NAMES:
            pair = (getattr(self, name), getattr(self.baseline, name))
            texts = [f"{v:.1%}" if "accuracy" in name else f"{v:.4f}" for v in pair]
            lines.append(f"{name.replace('_', ' '):<20}{texts[0]:>10}  {texts[1]:>12}")
        return "\n".join(lines)

    __repr__ = __str__


def area(score: Floats, here: npt.NDArray[np.bool_], weights: Floats) -> float:
    """Return the area under the curve of a score that shall be high for some rows; NaN if all or none are such."""
    if not here.any() or here.all():
        return float("nan")
    if np.ptp(weights) == 0:
        ranks = rankdata(score)
        n = int(here.sum())
        return float((ranks[here].sum() - n * (n + 1) / 2) / (n * (len(score) - n)))
    values, which = np.unique(score, return_inverse=True)
    inside, outside = (np.bincount(which, weights * part, len(values)) for part in (here, ~here))
    below = np.cumsum(outside) - outside
    return float((inside * (below + outside / 2)).sum() / (inside.sum() * outside.sum()))
