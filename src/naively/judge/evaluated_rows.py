"""Rows of known classes with their probabilities, decisions and costs: what scores are computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from .._linear_algebra import dot
from .._types import AnyArray, ColumnLike, Floats, Label, Longs, Mask, Places
from ..errors import InvalidInput
from ..stats.arithmetic import checked_row_weights
from . import score_inputs
from .decision import CostMatrix, LabelledCost, NumberCost
from .metrics import confidence_bins

# A lower probability of the true class counts as this: one row that was ruled out must not make the mean infinite.
LEAST_PROBABILITY = 1e-15
# Bins of the reliability table.
RELIABILITY_BINS = 15

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, eq=False, repr=False, init=False)
class EvaluatedRows:
    """Rows of known classes, each with its probabilities, the decision and its cost; `Scores` has the parameters."""

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

    @cached_property
    def _w(self) -> Floats:
        return np.ones(len(self.truth)) if self.weights is None else self.weights

    def _mean(self, of_rows: AnyArray) -> float:
        return dot(self._w, of_rows) / self.rows

    @cached_property
    def rows(self) -> float:
        """The sum of the weights: the number of rows, if they have none."""
        return float(self._w.sum())

    @property
    def _number_cost(self) -> NumberCost | None:
        """The cost of answers that are numbers, which depends on their distance from the true one."""
        return self.cost if isinstance(self.cost, str) else None

    @property
    def _labelled_cost(self) -> CostMatrix | NumberCost | None:
        if self.cost is None or isinstance(self.cost, str):
            return self.cost
        return CostMatrix(self.cost, self.choices)

    @cached_property
    def answers(self) -> AnyArray:
        """The decision on each row: the index of a choice, -1 for no answer; of numbers the number, NaN for none."""
        if self.decided is not None:
            return self.decided
        if self.cost is None and self.reject is None:
            return np.asarray(self._probabilities.argmax(axis=1))
        return score_inputs.least_cost_decisions(self._probabilities, self.cost, self.reject, self.classes)

    @property
    def _probabilities(self) -> Floats:
        """The probabilities; scores of them are NaN where there are none."""
        if self.posterior is None:
            raise InvalidInput("These scores are of answers without probabilities; use Scores with a posterior.")
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
        return np.where(self._w > 0, costs, 0.0)

    @cached_property
    def _losses(self) -> Floats:
        return np.asarray(-np.log(np.clip(self._of_truth, LEAST_PROBABILITY, None)))

    @cached_property
    def _distances(self) -> Floats:
        return np.asarray((self._probabilities**2).sum(axis=1) - 2 * self._of_truth + 1)

    @cached_property
    def confusion_columns(self) -> tuple[Label, ...]:
        """The answers that the columns of `confusion` stand for: the choices, and None where there may be no answer."""
        return self.choices if self._number_cost is not None or not self._may_abstain else (*self.choices, None)

    @property
    def _may_abstain(self) -> bool:
        return self.reject is not None or not bool(self._answered.all())

    @cached_property
    def _bins(self) -> tuple[Floats, Floats, Floats]:
        """Rows, confidence and correct rows of each bin of confidence, as sums."""
        return confidence_bins(self.posterior, self.truth, self._w, RELIABILITY_BINS)


def joined_arrays(arrays: Sequence[npt.NDArray[Scalar] | None]) -> npt.NDArray[Scalar] | None:
    """Return arrays of rows as one; None if there are none."""
    given = [array for array in arrays if array is not None]
    return np.concatenate(given) if given else None
