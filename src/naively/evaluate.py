"""How good answers are: scores of probabilities against the true classes, beside always saying the most frequent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .decision import decide
from .drawing import aligned
from .errors import InvalidInput
from .frames import frame
from .statistics.axis import Floats

# A probability below this counts as this: one row that was ruled out must not make the mean infinite.
LEAST = 1e-15
# Bins of the reliability table.
BINS = 15
# What is said below the figures if something was fitted on the rows that were asked about.
NOTES = {
    "fixed": ("weights and temperature were fitted on these rows; cross_validate fits them anew in each fold",),
    "adjusted": (
        "weights were fitted on these rows, each row's part in them taken out to first order;",
        "with few rows prefer cross_validate, which fits them anew in each fold",
    ),
}
FIGURES = ("accuracy", "balanced_accuracy", "log_loss", "brier", "calibration_error", "auc", "mean_cost")


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """Probabilities of rows whose classes are known, and what they are worth.

    Parameters
    ----------
    posterior : array of shape (rows, classes)
        Probability of each class.
    truth : array of shape (rows,)
        The place of each row's true class among the classes.
    classes : sequence
        The labels.
    weights : array of shape (rows,), optional
        What each row weighs.
    cost : array of shape (classes, choices), "squared" or "absolute", optional
        What a choice costs when a class is true; by default every mistake costs 1.
    reject : float, optional
        The price of not answering.
    tuning : "refit", "fixed" or "adjusted", optional
        Whether what models choose beside their counts (weights, temperature) was chosen anew without the rows asked
        about, or held fixed as it was chosen with them; "adjusted" if the part of each row in the weights was taken
        out to first order.

    Examples
    --------
    >>> import naively as nv
    >>> scores = nv.Scores([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]], [0, 1, 1], ("no", "yes"))
    >>> round(scores.accuracy, 3), round(scores.log_loss, 3), scores.confusion.tolist()
    (0.667, 0.459, [[1.0, 0.0], [1.0, 1.0]])
    """

    posterior: Any
    truth: Any
    classes: Any
    weights: Any = None
    cost: Any = None
    reject: float | None = None
    tuning: str | None = None

    def __post_init__(self) -> None:
        posterior, truth = np.asarray(self.posterior, dtype=np.float64), np.asarray(self.truth)
        classes = tuple(self.classes)
        if posterior.shape != (len(truth), len(classes)) or not posterior.size:
            raise InvalidInput(
                f"The posterior has the shape {posterior.shape}; give a line for each of the {len(truth)} rows and a "
                f"column for each of the {len(classes)} classes, and at least one of both."
            )
        if truth.dtype.kind not in "iu" or truth.min() < 0 or truth.max() >= len(classes):
            raise InvalidInput(
                f"truth must hold the place of each row's class, a whole number from 0 to {len(classes) - 1}."
            )
        given = {"posterior": posterior, "truth": truth, "classes": classes, "weights": checked(self.weights, truth)}
        for name, value in given.items():
            object.__setattr__(self, name, value)

    @cached_property
    def _w(self) -> Floats:
        return np.ones(len(self.truth)) if self.weights is None else np.asarray(self.weights)

    def _mean(self, of_rows: npt.NDArray[Any]) -> float:
        return float(self._w @ of_rows / self.rows)

    @cached_property
    def rows(self) -> float:
        """How many rows there are, by weight."""
        return float(self._w.sum())

    @cached_property
    def answers(self) -> npt.NDArray[np.intp]:
        """The place of the most probable class of each row."""
        return np.asarray(self.posterior.argmax(axis=1))

    @cached_property
    def _of_truth(self) -> Floats:
        return np.asarray(self.posterior[np.arange(len(self.truth)), self.truth])

    @cached_property
    def accuracy(self) -> float:
        """The share of rows whose most probable class is the true one."""
        return self._mean(self.answers == self.truth)

    @cached_property
    def balanced_accuracy(self) -> float:
        """The accuracy within each class that occurs, averaged: chance is 1/K however unequal the classes are."""
        rows = self.confusion.sum(axis=1)
        return float(np.mean(self.confusion.diagonal()[rows > 0] / rows[rows > 0]))

    @cached_property
    def log_loss(self) -> float:
        """The mean of -log P(true class): 0 is perfect, and certainty about a wrong class costs most."""
        return self._mean(-np.log(np.clip(self._of_truth, LEAST, None)))

    @cached_property
    def brier(self) -> float:
        """The mean squared distance of the probabilities from 0 and 1, summed over the classes."""
        return self._mean((self.posterior**2).sum(axis=1) - 2 * self._of_truth + 1)

    @cached_property
    def _bins(self) -> tuple[Floats, Floats, Floats]:
        """Of answers of like confidence: how many, how confident, how many right; each a sum."""
        confidence = self.posterior.max(axis=1)
        at = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
        parts = (np.ones(len(at)), confidence, (self.answers == self.truth).astype(np.float64))
        rows, sure, right = (np.bincount(at, self._w * part, BINS) for part in parts)
        return np.asarray(rows, float), np.asarray(sure, float), np.asarray(right, float)

    @cached_property
    def calibration_error(self) -> float:
        """How far confidence lies from the share of right answers, averaged over rows of like confidence."""
        _, sure, right = self._bins
        return float(np.abs(sure - right).sum() / self.rows)

    def reliability(self) -> Any:
        """Return a frame: of rows of like confidence, how confident the answers were and how many were right."""
        rows, sure, right = self._bins
        met = rows > 0
        parts = {"rows": rows[met], "confidence": sure[met] / rows[met], "right": right[met] / rows[met]}
        return frame({"from": (np.arange(BINS) / BINS)[met], **parts})

    @cached_property
    def auc(self) -> float:
        """The chance that a row of a class is given more probability of it than another row; mean over the classes.

        NaN if all rows are of one class.
        """
        areas = [area(self.posterior[:, k], self.truth == k, self._w) for k in range(len(self.classes))]
        met = [a for a in areas if not np.isnan(a)]
        return float(np.mean(met)) if met else float("nan")

    @cached_property
    def mean_cost(self) -> float:
        """What the decisions of least expected cost cost on average: the overall risk R(h)."""
        if isinstance(self.cost, str):
            return self._mean(self._paid_for_numbers(np.asarray(self.classes, dtype=np.float64)))
        cost = 1.0 - np.eye(len(self.classes)) if self.cost is None else np.asarray(self.cost, dtype=np.float64)
        chosen = decide(self.posterior, cost, self.reject)
        paid = cost[self.truth, chosen]
        return self._mean(paid if self.reject is None else np.where(chosen < 0, self.reject, paid))

    def _paid_for_numbers(self, values: Floats) -> Floats:
        answers = decide(self.posterior, self.cost, self.reject, values)
        gap = np.abs(answers - values[self.truth])
        paid = gap if self.cost == "absolute" else gap**2
        return paid if self.reject is None else np.where(np.isnan(answers), self.reject, paid)

    @cached_property
    def confusion(self) -> Floats:
        """How many rows of each true class (lines) were given each answer (columns)."""
        size = len(self.classes)
        flat = np.bincount(self.truth * size + self.answers, self._w, size * size)
        return np.asarray(flat, dtype=np.float64).reshape(size, size)

    @cached_property
    def baseline(self) -> Scores:
        """The scores of knowing no more than how frequent the classes are among these rows: the same for every row."""
        shares = self.confusion.sum(axis=1) / self.rows
        same = np.broadcast_to(shares, self.posterior.shape)
        return Scores(same, self.truth, self.classes, self.weights, self.cost, self.reject)

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data; None where one cannot be given."""
        figures = {name: plain(getattr(self, name)) for name in FIGURES}
        baseline = {name: plain(getattr(self.baseline, name)) for name in FIGURES}
        table = {"classes": [plain(label) for label in self.classes], "confusion": self.confusion.tolist()}
        return {"rows": self.rows, **figures, "baseline": baseline, **table}

    def to_json(self) -> str:
        """Return all figures as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def frame(self) -> Any:
        """Return the figures beside the baseline's as a frame."""
        columns = {"model": self, "baseline": self.baseline}
        figures = {name: [getattr(scores, figure) for figure in FIGURES] for name, scores in columns.items()}
        return frame({"score": list(FIGURES), **figures})

    def __str__(self) -> str:
        lines = [(f"{self.rows:.10g} rows", "model", f"always {self.classes[int(self.baseline.answers[0])]}")]
        for name in FIGURES:
            both = (getattr(self, name), getattr(self.baseline, name))
            texts = [f"{figure:.1%}" if "accuracy" in name else f"{figure:.4f}" for figure in both]
            lines.append((name.replace("_", " "), texts[0], texts[1]))
        return "\n".join([*aligned(lines, right=(1, 2)), *NOTES.get(self.tuning or "", ())])

    __repr__ = __str__


def together(parts: Sequence[Scores]) -> Scores:
    """Return the scores of all rows of several, which have the same classes and costs."""
    posterior, truth = (np.concatenate([getattr(part, name) for part in parts]) for name in ("posterior", "truth"))
    weights = None if parts[0].weights is None else np.concatenate([part._w for part in parts])
    first = parts[0]
    return Scores(posterior, truth, first.classes, weights, first.cost, first.reject, first.tuning)


def checked(weights: Any, truth: npt.NDArray[Any]) -> Floats | None:
    """Return what each row weighs, if rows can weigh that."""
    if weights is None:
        return None
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != truth.shape or not (np.isfinite(w) & (w >= 0)).all() or not w.any():
        raise InvalidInput(f"weights must be a number of 0 or more for each of the {len(truth)} rows, and not all 0.")
    return w


def plain(value: Any) -> Any:
    """Return a figure or a label as JSON can hold it."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float)) else str(value)


def area(score: Floats, here: npt.NDArray[np.bool_], weights: Floats) -> float:
    """Return the area under the curve of a score that shall be high for some rows; NaN if all or none are such."""
    values, which = np.unique(score, return_inverse=True)
    inside, outside = (np.bincount(which, weights * part, len(values)) for part in (here, ~here))
    both = float(inside.sum()) * float(outside.sum())
    below = np.cumsum(outside) - outside / 2  # ties are worth a half
    return float(inside @ below) / both if both else float("nan")
