"""Scores of decisions and probabilities against the true classes, compared with the best constant prediction."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .._frames import frame
from .._linear_algebra import dot
from .._types import AnyArray, ColumnLike, Floats, FrameLike, JsonObject, Label, Longs, Mask, Places
from ..errors import InvalidInput
from ..stats.arithmetic import checked_row_weights
from . import metrics, score_inputs
from .decision import CostMatrix, LabelledCost, NumberCost
from .metrics import json_value, score_text

# In the order in which they are shown where every mistake costs the same, and decisions follow the probabilities.
ALL_SCORES = ("accuracy", "balanced_accuracy", "log_loss", "brier", "calibration_error", "auc", "mean_cost")


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Scores:
    """Scores of a classifier's decisions and probabilities on rows of known classes.

    `coverage`, `accuracy`, `balanced_accuracy`, `confusion` and `mean_cost` are scores of the decisions: the choices
    of least expected cost, as `predict` makes them. `log_loss`, `brier`, `calibration_error` and `auc` are scores of
    the probabilities, whatever is decided from them.

    Parameters
    ----------
    posterior : array of shape (rows, classes)
        Probability of each class.
    truth : array of shape (rows,)
        The label of each row's true class, or its index among the classes. Integers are indices if the classes are
        texts, and labels if the classes are numbers; for classes 0, 1, 2, … these are the same.
    classes : sequence
        The labels.
    weights : array of shape (rows,), optional
        The weight of each row.
    cost : array of shape (classes, choices), dict, data frame, "squared" or "absolute", optional
        The cost of each choice when a class is true, as for `NaiveBayes`; by default every mistake costs 1.
    reject : float, optional
        The cost of abstaining.
    tuning : "refit" or "fixed", optional
        Whether what models fit in addition to their counts (weights, temperature) was fitted without the rows that are
        scored ("refit") or with them ("fixed").
    folds : array of shape (rows,), optional
        The number of the fold in which each row was held out; `spread` and `by_fold` follow from it.
    decided : array of shape (rows,), optional
        The decisions, if they do not follow from the probabilities: indices of `choices`, -1 for abstention.

    Attributes
    ----------
    choices : tuple
        The possible predictions: the classes, unless the costs name others; empty where they are numbers.

    Examples
    --------
    >>> import naively as nv
    >>> scores = nv.Scores([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]], ["no", "yes", "yes"], ("no", "yes"))
    >>> round(scores.accuracy, 3), round(scores.log_loss, 3), scores.confusion.tolist()
    (0.667, 0.459, [[1.0, 0.0], [1.0, 1.0]])
    """

    posterior: Floats | None
    truth: Places
    classes: tuple[Label, ...]
    weights: Floats | None
    cost: score_inputs.StoredCost
    reject: float | None
    tuning: str | None
    folds: Longs | None
    decided: AnyArray | None
    choices: tuple[Label, ...]

    def __init__(
        self,
        posterior: npt.ArrayLike | None,
        truth: ColumnLike | score_inputs.ClassIndices,
        classes: Sequence[Label],
        weights: npt.ArrayLike | None = None,
        cost: LabelledCost | CostMatrix = None,
        reject: float | None = None,
        tuning: str | None = None,
        folds: npt.ArrayLike | None = None,
        decided: npt.ArrayLike | None = None,
    ) -> None:
        labels = tuple(k.item() if isinstance(k, np.generic) else k for k in classes)
        if not labels:
            raise InvalidInput("There is no class; give at least one.")
        indices = score_inputs.class_indices(truth, labels)
        stored, choices = score_inputs.stored_cost(cost, labels)
        checked = {
            "posterior": score_inputs.checked_probabilities(posterior, decided, len(indices), len(labels)),
            "truth": indices,
            "classes": labels,
            "weights": checked_row_weights(weights, len(indices), "weights"),
            "cost": stored,
            "reject": reject,
            "tuning": tuning,
            "folds": None if folds is None else score_inputs.checked_folds(folds, indices),
            "decided": None if decided is None else np.asarray(decided),
            "choices": choices,
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_indices(
        cls,
        posterior: npt.ArrayLike | None,
        truth: npt.ArrayLike,
        classes: Sequence[Label],
        weights: npt.ArrayLike | None = None,
        cost: LabelledCost | CostMatrix = None,
        reject: float | None = None,
        tuning: str | None = None,
        folds: npt.ArrayLike | None = None,
        decided: npt.ArrayLike | None = None,
    ) -> Scores:
        """Return the scores of rows whose true classes are given as indices, also where the classes are numbers.

        Parameters
        ----------
        posterior : array of shape (rows, classes)
            Probability of each class.
        truth : array of shape (rows,)
            The index of each row's true class.
        classes : sequence
            The labels.
        weights : array of shape (rows,), optional
            The weight of each row.
        cost : array of shape (classes, choices), dict, data frame, "squared" or "absolute", optional
            The cost of each choice when a class is true; by default every mistake costs 1.
        reject : float, optional
            The cost of abstaining.
        tuning : "refit" or "fixed", optional
            How weights and temperature were fitted, as for `Scores`.
        folds : array of shape (rows,), optional
            The number of the fold in which each row was held out.
        decided : array of shape (rows,), optional
            The decisions, if they do not follow from the probabilities.

        Returns
        -------
        scores : Scores
            The scores.

        Examples
        --------
        >>> import naively as nv
        >>> nv.Scores.from_indices([[0.9, 0.1], [0.3, 0.7]], [0, 1], (2010, 2020)).accuracy
        1.0
        """
        indices = score_inputs.ClassIndices(truth)
        return cls(posterior, indices, classes, weights, cost, reject, tuning, folds, decided)

    @classmethod
    def from_labels(
        cls,
        truth: ColumnLike,
        answers: ColumnLike,
        classes: Sequence[Label] | None = None,
        weights: npt.ArrayLike | None = None,
        cost: LabelledCost = None,
        reject: float | None = None,
        folds: npt.ArrayLike | None = None,
    ) -> Scores:
        """Return the scores of predictions of any origin, without probabilities; scores of probabilities are NaN.

        Parameters
        ----------
        truth : array of shape (rows,)
            The true labels.
        answers : array of shape (rows,)
            The predicted labels; None or NaN for abstention. With "squared" and "absolute" costs, numbers.
        classes : sequence, optional
            The labels in the order in which to show them; by default all that occur, sorted.
        weights : array of shape (rows,), optional
            The weight of each row.
        cost : array of shape (classes, choices), dict, data frame, "squared" or "absolute", optional
            The cost of each choice when a class is true; by default every mistake costs 1.
        reject : float, optional
            The cost of abstaining.
        folds : array of shape (rows,), optional
            The number of the fold in which each row was held out.

        Returns
        -------
        scores : Scores
            The scores.

        Examples
        --------
        >>> import naively as nv
        >>> scores = nv.Scores.from_labels(["ham", "ham", "spam"], ["ham", "spam", "spam"])
        >>> round(scores.accuracy, 3), scores.confusion.tolist()
        (0.667, [[1.0, 1.0], [0.0, 1.0]])
        """
        labels, indices, costs, decided = score_inputs.outcomes_from_labels(truth, answers, classes, cost)
        return cls.from_indices(None, indices, labels, weights, costs, reject, folds=folds, decided=decided)

    # -- rows and their decisions --------------------------------------------------------------------------------

    @cached_property
    def row_weights(self) -> Floats:
        """The weight of each row: 1 unless weights were given."""
        return np.ones(len(self.truth)) if self.weights is None else self.weights

    def _mean(self, of_rows: AnyArray) -> float:
        return dot(self.row_weights, of_rows) / self.rows

    @cached_property
    def rows(self) -> float:
        """The sum of the weights: the number of rows, if they have none."""
        return float(self.row_weights.sum())

    @property
    def _number_cost(self) -> NumberCost | None:
        """The cost of predictions that are numbers, which depends on their distance from the true one."""
        return self.cost if isinstance(self.cost, str) else None

    @cached_property
    def answers(self) -> AnyArray:
        """The decision on each row: the index of a choice, -1 if it abstains; of numbers the number, NaN for none."""
        if self.decided is not None:
            return self.decided
        if self.cost is None and self.reject is None:
            return np.asarray(self._probabilities.argmax(axis=1))
        return score_inputs.least_cost_decisions(self._probabilities, self.cost, self.reject, self.classes)

    @property
    def _probabilities(self) -> Floats:
        """The probabilities; scores of them are NaN where there are none."""
        if self.posterior is None:
            raise InvalidInput("These scores are of predictions without probabilities; use Scores with a posterior.")
        return self.posterior

    @cached_property
    def _of_truth(self) -> Floats:
        """The probability of each row's true class."""
        return np.asarray(self._probabilities[np.arange(len(self.truth)), self.truth])

    @cached_property
    def _answered(self) -> Mask:
        return ~np.isnan(self.answers) if self._number_cost is not None else np.asarray(self.answers >= 0)

    @cached_property
    def _own(self) -> Places:
        """The index of the correct choice for each class; -2 if there is none."""
        indices = {label: at for at, label in reversed(list(enumerate(self.choices)))}
        return np.array([indices.get(label, -2) for label in self.classes])

    @cached_property
    def _correct(self) -> Mask:
        return np.asarray(self.answers == self._own[self.truth])

    @cached_property
    def _costs(self) -> Floats:
        """The cost of the decision on each row; 0 for rows of weight 0, whose costs may be unknown."""
        costs = score_inputs.costs_of_answers(self.answers, self.truth, self.cost, self.classes, self._correct)
        costs = np.where(self._answered, costs, np.nan if self.reject is None else self.reject)
        return np.where(self.row_weights > 0, costs, 0.0)

    @cached_property
    def _losses(self) -> Floats:
        return np.asarray(-np.log(np.clip(self._of_truth, metrics.LEAST_PROBABILITY, None)))

    @cached_property
    def _distances(self) -> Floats:
        return np.asarray((self._probabilities**2).sum(axis=1) - 2 * self._of_truth + 1)

    @cached_property
    def confusion_columns(self) -> tuple[Label, ...]:
        """The predictions that the columns of `confusion` stand for: the choices, and None for abstention."""
        return self.choices if self._number_cost is not None or not self._may_abstain else (*self.choices, None)

    @property
    def _may_abstain(self) -> bool:
        return self.reject is not None or not bool(self._answered.all())

    @cached_property
    def _bins(self) -> tuple[Floats, Floats, Floats]:
        """Rows, confidence and correct rows of each bin of confidence, as sums."""
        return metrics.confidence_bins(self.posterior, self.truth, self.row_weights, metrics.RELIABILITY_BINS)

    # -- scores of the decisions ---------------------------------------------------------------------------------

    @cached_property
    def coverage(self) -> float:
        """The proportion of rows with a prediction: 1 unless abstaining has a cost."""
        return self._mean(self._answered)

    @cached_property
    def accuracy(self) -> float:
        """The proportion of predictions that are the true class; NaN if predictions cannot be classes."""
        if self._number_cost is not None or not (self._own >= 0).any():
            return float("nan")
        answered = dot(self.row_weights, self._answered)
        return dot(self.row_weights, self._correct) / answered if answered else float("nan")

    @property
    def _accuracy_of_all(self) -> float:
        """The proportion of all rows whose prediction is correct; an abstention counts as a mistake."""
        return self._mean(self._correct)

    @cached_property
    def balanced_accuracy(self) -> float:
        """The mean of the accuracies within each class that has predictions: 1/K by chance, however unequal."""
        if self._number_cost is not None or not (self._own >= 0).any():
            return float("nan")
        size, parts = len(self.classes), (self._answered, self._correct)
        rows, correct = (np.bincount(self.truth, self.row_weights * part, size) for part in parts)
        return float(np.mean(correct[rows > 0] / rows[rows > 0])) if rows.any() else float("nan")

    @cached_property
    def mean_cost(self) -> float:
        """The mean cost of the decisions: the overall risk R(h). NaN if the cost of some row is unknown."""
        return self._mean(self._costs)

    @cached_property
    def skill(self) -> float:
        """One minus the mean cost divided by the baseline's mean cost.

        1 is perfect, and 0 no better than the best constant prediction; for "squared" costs this is R². NaN where the
        baseline's mean cost is negative.
        """
        least, ours = self.baseline.mean_cost, self.mean_cost
        if least < 0 or (least == 0 and not ours >= 0):
            return float("nan")
        return 1 - ours / least if least else float(ours == 0)

    @cached_property
    def confusion(self) -> Floats:
        """The number of rows of each true class (rows) with each prediction (columns)."""
        width = len(self.confusion_columns)
        if self._number_cost is not None:
            return np.zeros((len(self.classes), 0))
        at = np.where(self._answered, self.answers, width - 1)
        flat = np.bincount(self.truth * width + at, self.row_weights, len(self.classes) * width)
        return np.asarray(flat, dtype=np.float64).reshape(-1, width)

    # -- scores of the probabilities -----------------------------------------------------------------------------

    @cached_property
    def log_loss(self) -> float:
        """The mean of -log P(true class): 0 is perfect, and certainty of a wrong class costs most."""
        return float("nan") if self.posterior is None else self._mean(self._losses)

    @cached_property
    def brier(self) -> float:
        """The mean squared distance of the probabilities from 0 and 1, summed over the classes."""
        return float("nan") if self.posterior is None else self._mean(self._distances)

    @cached_property
    def calibration_error(self) -> float:
        """The expected calibration error: the mean distance of confidence and accuracy over bins of confidence."""
        _, confidence, correct = self._bins
        return float("nan") if self.posterior is None else float(np.abs(confidence - correct).sum() / self.rows)

    def reliability(self) -> FrameLike:
        """Return the reliability table: the mean confidence and the accuracy in each bin of confidence.

        Both are of the most probable class, whatever is decided under costs.

        Returns
        -------
        frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table
            A line for each bin that has rows: `from`, its lower edge, `rows`, `confidence` and `accuracy`. The library
            is the one that the program has imported.

        Examples
        --------
        >>> import naively as nv
        >>> scores = nv.Scores([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]], ["no", "yes", "yes"], ("no", "yes"))
        >>> [round(float(p), 2) for p in scores.reliability()["confidence"]]
        [0.6, 0.7, 0.9]
        """
        rows, confidence, correct = self._bins
        filled = rows > 0
        parts = {
            "rows": rows[filled],
            "confidence": confidence[filled] / rows[filled],
            "accuracy": correct[filled] / rows[filled],
        }
        return frame({"from": (np.arange(len(rows)) / len(rows))[filled], **parts})

    @cached_property
    def auc(self) -> float:
        """The one-against-rest area under the ROC curve, averaged over classes; NaN if there is a single class."""
        return (
            float("nan") if self.posterior is None else metrics.mean_auc(self.posterior, self.truth, self.row_weights)
        )

    # -- baseline, folds and reports -------------------------------------------------------------------------------

    @cached_property
    def baseline(self) -> Scores:
        """The scores of a constant prediction: the class frequencies of these rows as the probabilities of every row.

        Its prediction is the choice of least expected cost; with `reject`, it may abstain.
        """
        frequencies = np.bincount(self.truth, self.row_weights, len(self.classes))[None] / self.rows
        constant = score_inputs.least_cost_decisions(frequencies, self.cost, self.reject, self.classes)
        same = None if self.posterior is None else np.broadcast_to(frequencies, self.posterior.shape)
        decided = np.broadcast_to(constant, self.truth.shape)
        return self._with(posterior=same, decided=decided, folds=None)

    def _with(self, **arrays: AnyArray | None) -> Scores:
        """Return the scores of other predictions or rows, of the same classes and costs."""
        made = object.__new__(type(self))
        made.__dict__.update({field.name: getattr(self, field.name) for field in fields(self)} | arrays)
        return made

    def _of_rows(self, rows: Places) -> Scores:
        """Return the scores of some of the rows."""
        parts = {"posterior": self.posterior, "weights": self.weights, "truth": self.truth, "decided": self.answers}
        return self._with(**{name: None if part is None else part[rows] for name, part in parts.items()}, folds=None)

    @cached_property
    def _fold_scores(self) -> dict[int, dict[str, float]]:
        """The number of rows and the scores of each fold that has weight, by name; its rows are not held twice."""
        if self.folds is None:
            return {}
        order = np.argsort(self.folds, kind="stable")
        numbers, begins = np.unique(self.folds[order], return_index=True)
        parts = zip(numbers.tolist(), np.split(order, begins[1:]), strict=True)
        return {number: scores_by_name(self._of_rows(at)) for number, at in parts if self.row_weights[at].any()}

    @cached_property
    def spread(self) -> dict[str, float]:
        """The standard error of each score.

        With `folds`, the standard error of the mean over folds: the standard deviation of the folds' scores, divided
        by the root of their number. Models of different folds share most of their rows, so it is slightly too small.
        Without folds, the standard error of the mean over rows, for scores that are such means. NaN where it cannot be
        estimated, as where all folds or rows are equal.
        """
        names = score_names(self)
        if has_comparable_folds(self):
            folds = self._fold_scores.values()
            return {name: metrics.standard_error_over_folds(fold[name] for fold in folds) for name in names}
        nan, weights = float("nan"), self.row_weights
        answered = self.row_weights * self._answered
        by_row: dict[str, tuple[AnyArray, AnyArray]] = {
            "coverage": (self._answered, weights),
            "mean_cost": (self._costs, weights),
        }
        if not math.isnan(self.accuracy):
            by_row["accuracy"] = (self._correct, answered)
        if self.posterior is not None:
            by_row |= {"log_loss": (self._losses, weights), "brier": (self._distances, weights)}
        return {name: metrics.standard_error_over_rows(*by_row[name]) if name in by_row else nan for name in names}

    def by_fold(self) -> FrameLike:
        """Return the scores of each fold as a data frame; without `folds`, all rows are one.

        Returns
        -------
        frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table
            A line for each fold: `fold`, `rows`, and a column for each score. The library is the one that the program
            has imported.

        Examples
        --------
        >>> import naively as nv
        >>> scores = nv.Scores.from_labels(["a", "b", "a", "b"], ["a", "b", "b", "b"], folds=[0, 0, 1, 1])
        >>> [float(accuracy) for accuracy in scores.by_fold()["accuracy"]]
        [1.0, 0.5]
        """
        names = ("rows", *score_names(self))
        folds = {0: scores_by_name(self)} if self.folds is None else self._fold_scores
        return frame({"fold": list(folds), **{name: [fold[name] for fold in folds.values()] for name in names}})

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Warnings about the scores: whether all rows are of one class."""
        seen = np.unique(self.truth[self.row_weights > 0])
        if len(seen) > 1:
            return ()
        label = self.classes[int(seen[0])]
        if len(self.classes) == 1:
            return (metrics.single_class_note(label),)
        return (f"All rows are of one class, {label!r}: the scores do not measure how well it is distinguished.",)

    def to_dict(self) -> JsonObject:
        """Return all scores as values that JSON can hold.

        Returns
        -------
        data : dict
            The scores with their standard errors, those of each fold and of the baseline, and the confusion matrix;
            None for a score that is not defined.

        Examples
        --------
        >>> import naively as nv
        >>> scores = nv.Scores([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]], ["no", "yes", "yes"], ("no", "yes"))
        >>> scores.to_dict()["confusion"]
        [[1, 0], [1, 1]]
        """
        names = ("coverage", *ALL_SCORES, "skill")
        in_numbers, constant = self._number_cost is not None, constant_prediction(self)

        def figures(given: Mapping[str, float]) -> JsonObject:
            return {name: json_value(given.get(name, float("nan"))) for name in names}

        return {
            "rows": metrics.as_row_count(self.rows),
            **figures(scores_by_name(self)),
            "spread": figures(self.spread),
            "spread_over": "folds" if has_comparable_folds(self) else "rows",
            "folds": [
                {"fold": number, "rows": metrics.as_row_count(fold["rows"]), **figures(fold)}
                for number, fold in self._fold_scores.items()
            ],
            "baseline": {
                "answer": None if constant is None else json_value(constant),
                **figures(scores_by_name(self.baseline)),
            },
            "classes": [json_value(label) for label in self.classes],
            "choices": None if in_numbers else [None if k is None else json_value(k) for k in self.confusion_columns],
            "confusion": None
            if in_numbers
            else [[metrics.as_row_count(n) for n in line] for line in self.confusion.tolist()],
            "notes": [*self.notes, *tuning_notes(self)],
        }

    def to_json(self) -> str:
        """Return the result of `to_dict` as JSON.

        Returns
        -------
        text : str
            One JSON object.

        Examples
        --------
        >>> import naively as nv
        >>> scores = nv.Scores([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]], ["no", "yes", "yes"], ("no", "yes"))
        >>> scores.to_json()[:34]
        '{"rows": 3, "coverage": 1.0, "accu'
        """
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def frame(self) -> FrameLike:
        """Return the scores with their standard errors next to the baseline's as a data frame.

        Returns
        -------
        frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table
            A line for each score: `score`, `model`, `spread` and `baseline`. The library is the one that the program
            has imported.

        Examples
        --------
        >>> import naively as nv
        >>> scores = nv.Scores([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]], ["no", "yes", "yes"], ("no", "yes"))
        >>> [str(name) for name in scores.frame()["score"]][:2]
        ['accuracy', 'balanced_accuracy']
        """
        names = score_names(self)
        model, baseline = ([getattr(one, name) for name in names] for one in (self, self.baseline))
        errors = [self.spread[name] for name in names]
        return frame({"score": list(names), "model": model, "spread": errors, "baseline": baseline})

    def __str__(self) -> str:
        notes = list(self.notes)
        if len(self.classes) == 1:
            return "\n".join([f"{self.rows:.10g} rows", *notes])
        lines = [(f"{self.rows:.10g} rows", "model", baseline_title(self))]
        for title, name in score_lines(self):
            if name is None:
                lines.append((title, "", ""))
                continue
            model = score_text(name, getattr(self, name), self.spread[name])
            lines.append((title, model, score_text(name, getattr(self.baseline, name))))
        return "\n".join([*notes, *metrics.aligned_lines(lines, right=(1, 2)), *tuning_notes(self)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from .score_views import scores_html  # notebooks alone need it

        return scores_html(self)


# -- which scores there are, and how they are called -------------------------------------------------------------------


def score_names(scores: Scores) -> tuple[str, ...]:
    """Return the names of the scores that are defined for these rows, costs and decisions."""
    if not uses_costs(scores):
        names = ALL_SCORES if scores.posterior is not None else metrics.DECISION_SCORES[1:4]
        return ("coverage", *names) if scores._may_abstain else names
    accurate = metrics.DECISION_SCORES[1:3] if not math.isnan(scores.accuracy) else ()
    decisions = (
        [*metrics.DECISION_SCORES[:1], *accurate, "mean_cost"] if scores._may_abstain else [*accurate, "mean_cost"]
    )
    more = ["skill"] if scores._number_cost is not None else []
    return (*decisions, *more, *(metrics.PROBABILITY_SCORES if scores.posterior is not None else ()))


def uses_costs(scores: Scores) -> bool:
    """Tell whether decisions depend on costs, and so need not be the most probable classes."""
    return scores.cost is not None or scores.reject is not None


def has_comparable_folds(scores: Scores) -> bool:
    """Tell whether scores of folds can be compared: folds of a single row, as in leave-one-out, count as rows."""
    return scores.folds is not None and 2 * len(np.unique(scores.folds)) <= len(scores.truth)


def scores_by_name(scores: Scores) -> dict[str, float]:
    """Return the number of rows and every score."""
    return {name: getattr(scores, name) for name in ("rows", "coverage", *ALL_SCORES, "skill")}


def tuning_notes(scores: Scores) -> list[str]:
    """Return the note below the scores if weights were fitted on the rows that are scored."""
    note = "weights and temperature were fitted on these rows; cross_validate fits them again in each fold"
    return [note] if scores.tuning == "fixed" else []


def baseline_title(scores: Scores) -> str:
    """Return a title for the baseline: always the same prediction, or none."""
    constant = constant_prediction(scores)
    if constant is None:
        return "never answering"
    return f"always {constant:.6g}" if scores._number_cost is not None else f"always {constant}"


def constant_prediction(scores: Scores) -> Label:
    """Return what the baseline always predicts; None if it abstains."""
    if not scores.baseline._answered[0]:
        return None
    constant = scores.baseline.answers[0]
    return constant if scores._number_cost is not None else scores.choices[int(constant)]


def score_lines(scores: Scores) -> list[tuple[str, str | None]]:
    """Return a title for each line of a report, and the name of its score; None for a heading."""
    names = score_names(scores)
    if not uses_costs(scores) or scores.posterior is None:
        return [(name.replace("_", " "), name) for name in names]
    result: list[tuple[str, str | None]] = []
    for title, group in (
        ("of the decisions", metrics.DECISION_SCORES),
        ("of the probabilities", metrics.PROBABILITY_SCORES),
    ):
        result.append((title, None))
        result += [(f"  {name.replace('_', ' ')}", name) for name in names if name in group]
    return result
