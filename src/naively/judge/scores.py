"""How good answers are: decisions and probabilities against the true classes, beside the best constant answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._types import AnyArray, Floats
from ..errors import InvalidInput
from ..stats.row_weights import checked_row_weights
from . import outcomes as judged
from . import score_table as scoresheet
from .decision import Priced
from .metrics import bins_of, mean_area

# A probability below this counts as this: one row that was ruled out must not make the mean infinite.
LEAST = 1e-15
# Bins of the reliability table.
BINS = 15


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """Answers to rows whose classes are known, and what they are worth.

    `coverage`, `accuracy`, `balanced_accuracy`, `confusion` and `mean_cost` are figures of the decisions: the choices
    of least expected cost, as `predict` makes them. `log_loss`, `brier`, `calibration_error` and `auc` are figures of
    the probabilities, whatever is decided on them.

    Parameters
    ----------
    posterior : array of shape (rows, classes)
        Probability of each class.
    truth : array of shape (rows,)
        The label of each row's true class, or its place among the classes. Whole numbers are places if the classes are
        texts, and labels if the classes are numbers; for classes 0, 1, 2, … these are the same.
    classes : sequence
        The labels.
    weights : array of shape (rows,), optional
        What each row weighs.
    cost : array of shape (classes, choices), dict, data frame, "squared" or "absolute", optional
        What a choice costs when a class is true, as for `NaiveBayes`; by default every mistake costs 1.
    reject : float, optional
        The price of not answering.
    tuning : "refit", "fixed" or "adjusted", optional
        Whether what models choose beside their counts (weights, temperature) was chosen anew without the rows asked
        about, or held fixed as it was chosen with them; "adjusted" if the part of each row in the weights was taken
        out to first order.
    folds : array of shape (rows,), optional
        The number of the fold that each row was held out in; `spread` and `by_fold` follow from it.
    decided : array of shape (rows,), optional
        The answers, if they are not to be decided from the probabilities: places among `choices`, -1 for none.

    Attributes
    ----------
    choices : tuple
        What could be answered: the classes, unless the costs name others; none where answers are numbers.

    Examples
    --------
    >>> import naively as nv
    >>> scores = nv.Scores([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]], ["no", "yes", "yes"], ("no", "yes"))
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
    folds: Any = None
    decided: Any = None
    choices: tuple[Any, ...] = field(init=False)

    def __post_init__(self) -> None:
        classes = tuple(k.item() if isinstance(k, np.generic) else k for k in self.classes)
        if not classes:
            raise InvalidInput("There is no class; give at least one.")
        truth = judged.places_of(self.truth, classes)
        cost, choices = judged.prices_of(self.cost, classes)
        given = {
            "posterior": judged.checked_shape(self.posterior, self.decided, len(truth), len(classes)),
            "truth": truth,
            "classes": classes,
            "weights": checked_row_weights(self.weights, len(truth), "weights"),
            "cost": cost,
            "choices": choices,
            "folds": None if self.folds is None else judged.checked_folds(self.folds, truth),
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of_places(cls, posterior: Any, places: Any, *given: Any, **named: Any) -> Scores:
        """Return the scores of rows whose classes are given by their places, also where the classes are numbers."""
        return cls(posterior, judged.Placed(places), *given, **named)

    @classmethod
    def from_labels(
        cls,
        truth: Any,
        answers: Any,
        classes: Any = None,
        weights: Any = None,
        cost: Any = None,
        reject: float | None = None,
        folds: Any = None,
    ) -> Scores:
        """Return the scores of answers without probabilities, of whatever they come from; those of these are NaN.

        Parameters
        ----------
        truth, answers : array of shape (rows,)
            The true labels, and those that were answered; None or NaN where there was no answer.
        classes : sequence, optional
            The labels in the order to show them; by default all that occur, sorted.
        weights, cost, reject, folds
            As for `Scores`. With "squared" and "absolute" costs the answers are numbers.

        Examples
        --------
        >>> import naively as nv
        >>> scores = nv.Scores.from_labels(["ham", "ham", "spam"], ["ham", "spam", "spam"])
        >>> round(scores.accuracy, 3), scores.confusion.tolist()
        (0.667, [[1.0, 1.0], [0.0, 1.0]])
        """
        classes, at, cost, decided = judged.from_labels(truth, answers, classes, cost)
        return cls.of_places(None, at, classes, weights, cost, reject, folds=folds, decided=decided)

    # -- rows -----------------------------------------------------------------------------------------------------

    @cached_property
    def _w(self) -> Floats:
        return np.ones(len(self.truth)) if self.weights is None else np.asarray(self.weights)

    def _mean(self, of_rows: AnyArray) -> float:
        return float(self._w @ of_rows / self.rows)

    @cached_property
    def rows(self) -> float:
        """How many rows there are, by weight."""
        return float(self._w.sum())

    @property
    def _in_numbers(self) -> bool:
        """Whether answers are numbers, which cost what they are away from the true one."""
        return isinstance(self.cost, str)

    @property
    def _prices(self) -> Any:
        return self.cost if self.cost is None or self._in_numbers else Priced(self.cost, self.choices)

    @cached_property
    def answers(self) -> AnyArray:
        """What was decided for each row: the place among `choices`, -1 for no answer; of numbers, themselves or NaN."""
        if self.decided is not None:
            return np.asarray(self.decided)
        if self.cost is None and self.reject is None:
            return np.asarray(self._surest)
        return judged.decided_on(self.posterior, self.cost, self.reject, self.classes)

    @cached_property
    def _surest(self) -> npt.NDArray[np.intp]:
        return np.asarray(self.posterior.argmax(axis=1))

    @cached_property
    def _of_truth(self) -> Floats:
        return np.asarray(self.posterior[np.arange(len(self.truth)), self.truth])

    @cached_property
    def _answered(self) -> npt.NDArray[np.bool_]:
        return ~np.isnan(self.answers) if self._in_numbers else np.asarray(self.answers >= 0)

    @cached_property
    def _own(self) -> npt.NDArray[np.intp]:
        """Of each class, the place of the choice that is right; -2 if there is none."""
        places = {label: at for at, label in reversed(list(enumerate(self.choices)))}
        return np.array([places.get(label, -2) for label in self.classes])

    @cached_property
    def _right(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.answers == self._own[self.truth])

    @cached_property
    def _paid(self) -> Floats:
        """What the decision on each row cost; 0 where a row has no weight, whatever has no price there."""
        paid = judged.paid_for(self.answers, self.truth, self.cost, self.classes, self._right)
        paid = np.where(self._answered, paid, np.nan if self.reject is None else self.reject)
        return np.where(self._w > 0, paid, 0.0)

    # -- figures of the decisions ---------------------------------------------------------------------------------

    @cached_property
    def coverage(self) -> float:
        """The proportion of rows that got an answer: 1, unless not answering has a price."""
        return self._mean(self._answered)

    @cached_property
    def accuracy(self) -> float:
        """The proportion of answered rows whose answer is their true class; NaN if no answer can be a class."""
        if self._in_numbers or not (self._own >= 0).any():
            return float("nan")
        answered = float(self._w @ self._answered)
        return float(self._w @ self._right) / answered if answered else float("nan")

    @property
    def _mean_right(self) -> float:
        """The proportion of all rows whose answer is right; a row without an answer is not."""
        return self._mean(self._right)

    @cached_property
    def balanced_accuracy(self) -> float:
        """The accuracy within each class that has answered rows, averaged: chance is 1/K however unequal they are."""
        if self._in_numbers or not (self._own >= 0).any():
            return float("nan")
        size, parts = len(self.classes), (self._answered, self._right)
        rows, right = (np.bincount(self.truth, self._w * part, size) for part in parts)
        return float(np.mean(right[rows > 0] / rows[rows > 0])) if rows.any() else float("nan")

    @cached_property
    def mean_cost(self) -> float:
        """What the decisions cost on average: the overall risk R(h). NaN if something that happened has no price."""
        return self._mean(self._paid)

    @cached_property
    def skill(self) -> float:
        """How much less the decisions cost than the best constant answer: 1 − mean cost / that of the baseline.

        1 is perfect, and 0 no better than the constant; of "squared" costs this is R². NaN where costs are gains, so
        that the constant costs less than nothing: there is no cost to be saved.
        """
        least, ours = self.baseline.mean_cost, self.mean_cost
        if least < 0 or (least == 0 and not ours >= 0):
            return float("nan")
        return 1 - ours / least if least else float(ours == 0)

    @cached_property
    def confusion(self) -> Floats:
        """How many rows of each true class (lines) were given each answer (columns)."""
        width = len(self.confusion_columns)
        if self._in_numbers:
            return np.zeros((len(self.classes), 0))
        at = np.where(self._answered, self.answers, width - 1)
        flat = np.bincount(self.truth * width + at, self._w, len(self.classes) * width)
        return np.asarray(flat, dtype=np.float64).reshape(-1, width)

    @cached_property
    def confusion_columns(self) -> tuple[Any, ...]:
        """What the columns of `confusion` stand for: the choices, and None for no answer where there may be such."""
        return self.choices if self._in_numbers or not self._may_abstain else (*self.choices, None)

    @property
    def _may_abstain(self) -> bool:
        return self.reject is not None or not bool(self._answered.all())

    # -- figures of the probabilities -----------------------------------------------------------------------------

    @cached_property
    def log_loss(self) -> float:
        """The mean of -log P(true class): 0 is perfect, and certainty about a wrong class costs most."""
        return float("nan") if self.posterior is None else self._mean(self._losses)

    @cached_property
    def _losses(self) -> Floats:
        return np.asarray(-np.log(np.clip(self._of_truth, LEAST, None)))

    @cached_property
    def brier(self) -> float:
        """The mean squared distance of the probabilities from 0 and 1, summed over the classes."""
        return float("nan") if self.posterior is None else self._mean(self._distances)

    @cached_property
    def _distances(self) -> Floats:
        return np.asarray((self.posterior**2).sum(axis=1) - 2 * self._of_truth + 1)

    @cached_property
    def _bins(self) -> tuple[Floats, ...]:
        """Of most probable classes of like probability: how many, how probable, how many true; each a sum."""
        return bins_of(self.posterior, self.truth, self._w, BINS)

    @cached_property
    def calibration_error(self) -> float:
        """How far confidence lies from the share of right answers, averaged over rows of like confidence."""
        _, sure, right = self._bins
        return float("nan") if self.posterior is None else float(np.abs(sure - right).sum() / self.rows)

    def reliability(self) -> Any:
        """Return a frame: of rows of like confidence, how probable their likeliest class was and how often it was true.

        This is about the probabilities, and so about the most probable class, whatever is decided under costs.
        """
        return scoresheet.reliability_of(self)

    @cached_property
    def auc(self) -> float:
        """The chance that a row of a class is given more probability of it than another row; mean over the classes.

        NaN if all rows are of one class.
        """
        if self.posterior is None:
            return float("nan")
        return mean_area(self.posterior, self.truth, self._w)

    # -- beside others, and as a whole ----------------------------------------------------------------------------

    @cached_property
    def baseline(self) -> Scores:
        """The scores of knowing no more than how frequent the classes are among these rows: the same for every row.

        Its answer is the constant one that costs least; with `reject`, that may be none.
        """
        shares = np.bincount(self.truth, self._w, len(self.classes))[None] / self.rows
        constant = judged.decided_on(shares, self.cost, self.reject, self.classes)
        same = None if self.posterior is None else np.broadcast_to(shares, self.posterior.shape)
        decided = np.broadcast_to(constant, self.truth.shape)
        return self._with(same, decided, self.truth, self.weights, None)

    def _with(self, posterior: Any, decided: Any, truth: Any, weights: Any, folds: Any) -> Scores:
        """Return the scores of other answers or rows, of the same classes and costs."""
        how = (self.classes, weights, self._prices, self.reject, self.tuning)
        return Scores.of_places(posterior, truth, *how, folds, decided)

    def _some(self, at: Any) -> Scores:
        """Return the scores of some of the rows."""
        posterior = None if self.posterior is None else self.posterior[at]
        weights = None if self.weights is None else self.weights[at]
        return self._with(posterior, self.answers[at], self.truth[at], weights, None)

    @cached_property
    def _of_folds(self) -> dict[int, Scores]:
        """The scores of each fold; of one without weight there are none."""
        parts = scoresheet.places_by_fold(self.folds)
        return {number: self._some(at) for number, at in parts.items() if self._w[at].any()}

    @cached_property
    def spread(self) -> dict[str, float]:
        """The standard error of each figure.

        With `folds`, the standard error of the mean over folds: the standard deviation of the folds' figures, divided
        by the root of their number. Models of different folds share most of their rows, so it is a little small.
        Without folds it is that of the mean over rows, for figures that are such means: the model is taken as it is.
        NaN where it cannot be told, as where all folds or rows are alike.
        """
        return scoresheet.spread_of(self)

    def by_fold(self) -> Any:
        """Return a frame: the figures of each fold."""
        return scoresheet.by_fold(self)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What to know before believing the figures: whether there is anything to distinguish."""
        return scoresheet.notes_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data; None where one cannot be given."""
        return scoresheet.data_of(self)

    def to_json(self) -> str:
        """Return all figures as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def frame(self) -> Any:
        """Return the figures with their standard errors beside the baseline's as a frame."""
        return scoresheet.frame_of(self)

    def __str__(self) -> str:
        return scoresheet.text_of(self)

    __repr__ = __str__


def together(parts: Sequence[Scores]) -> Scores:
    """Return the scores of all rows of several, which have the same classes and costs."""
    names, first = ("posterior", "truth", "weights", "folds", "decided"), parts[0]
    joined = [
        None if getattr(first, name) is None else np.concatenate([getattr(part, name) for part in parts])
        for name in names
    ]
    posterior, truth, weights, folds, decided = joined
    return first._with(posterior, decided, truth, weights, folds)
