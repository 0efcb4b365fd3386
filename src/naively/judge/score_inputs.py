"""Checks of what is scored: true classes and predictions as indices, probabilities, costs, weights and folds."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from .._types import AnyArray, ColumnLike, Floats, Label, Longs, Mask, Places
from ..errors import InvalidInput
from ..errors.message import RowNumber, Setting
from ..stats.axis import is_missing, sorted_labels
from .decision import CostMatrix, LabelledCost, NumberCost, cost_and_choices, decide

# How far the sum of a row's probabilities may be from 1: other libraries may compute in single precision.
SUM_TOLERANCE = 1e-3

# RowLabels of rows: an array of numbers or booleans, or a list of anything else.
RowLabels: TypeAlias = AnyArray | list[Label]
# Costs as `Scores` holds them: a matrix [class, choice], or a cost of numbers.
StoredCost: TypeAlias = Floats | NumberCost | None


class ClassIndices(NamedTuple):
    """True classes given as indices; labels that are numbers could not be distinguished from indices otherwise."""

    indices: npt.ArrayLike


# -- labels ------------------------------------------------------------------------------------------------------------


def class_indices(truth: ColumnLike | ClassIndices, classes: tuple[Label, ...]) -> Places:
    """Return the index of each row's class, given by indices or by labels.

    Integers are indices, unless the classes are numbers themselves: then they are always labels.
    """
    if isinstance(truth, ClassIndices):
        return checked_class_indices(np.asarray(truth.indices), classes)
    result = label_array(truth)
    numbers = all(isinstance(label, (bool, int, float, np.number, np.bool_)) for label in classes)
    if isinstance(result, np.ndarray) and result.dtype.kind in "iu" and not numbers:
        return checked_class_indices(result, classes)
    return label_indices(result, classes, "truth")


def checked_class_indices(at: AnyArray, classes: Sequence[Label]) -> Places:
    """Return indices of classes; raise an error if they are none."""
    if at.dtype.kind not in "iu" or (at.size and (at.min() < 0 or at.max() >= len(classes))):
        raise InvalidInput(
            f"truth must hold the label of each row's class, one of {list(classes)[:8]}, or its index, an integer "
            f"from 0 to {len(classes) - 1}."
        )
    return at.astype(np.intp, copy=False)


def label_array(labels: ColumnLike) -> RowLabels:
    """Return labels of any list, array or column: numbers and booleans as an array, others as a list."""
    result = np.asarray(labels)
    if result.dtype.kind in "US":
        result = np.asarray(list(labels), dtype=object)  # NumPy would turn the 1 of [1, "a"] into text
    result = result.reshape(-1) if result.ndim == 2 and result.shape[1] == 1 else result
    if result.ndim != 1:
        raise InvalidInput(f"Give one label for each row; found an array of shape {result.shape}.")
    return result if result.dtype.kind in "biuf" else result.tolist()


def label_indices(labels: RowLabels, choices: Sequence[Label], name: str, may_be_missing: bool = False) -> Places:
    """Return the index of each label; -1 for a missing one, where labels may be missing."""
    known = {label: place for place, label in reversed(list(enumerate(choices)))}  # of equal choices, the first
    given = labels.tolist() if isinstance(labels, np.ndarray) else labels
    try:
        indices = np.fromiter((known.get(label, -2) for label in given), np.intp, len(given))
    except TypeError:
        raise InvalidInput(f"{name} must hold labels: texts, numbers or booleans.") from None
    for row in np.flatnonzero(indices == -2).tolist():
        if not (may_be_missing and is_missing(given[row])):
            raise InvalidInput(
                f"{name}[{row}] is {given[row]!r}, which is none of {', '.join(map(repr, choices[:8]))}"
                f"{' …' if len(choices) > 8 else ''}. Give labels that occur among the classes."
            )
        indices[row] = -1
    return indices


def matching_label(label: Label, known: Collection[Label]) -> Label:
    """Return the known label that a label stands for: 1 may be text in another file, or 1.0.

    A new label among numbers becomes a number, too.

    >>> matching_label("1.0", [1, 2]), matching_label("true", [False, True])
    (1, True)
    >>> matching_label("3", [1, 2]), matching_label("x", [1, 2])
    (3, 'x')
    """
    if label in known or not isinstance(label, str):
        return next((one for one in known if one == label or str(one) == str(label)), label)
    same = [one for one in known if str(one) == label or (isinstance(one, bool) and str(one).lower() == label.lower())]
    if same or not all(isinstance(one, (int, float)) for one in known):
        return same[0] if same else label
    try:
        number = float(label)
    except ValueError:
        return label
    if not math.isfinite(number):
        return label
    return int(number) if number.is_integer() and not any(isinstance(one, float) for one in known) else number


def numeric_answers(answers: RowLabels) -> Floats:
    """Return predictions that are numbers; NaN where there is none."""
    try:
        return np.array([math.nan if is_missing(answer) else answer for answer in answers], dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput("With 'squared' and 'absolute' costs answers must be numbers; found others.") from None


def distinct_labels(*labels: RowLabels) -> tuple[Label, ...]:
    """Return the distinct labels without missing ones, sorted."""
    seen = {label for some in labels for label in (some.tolist() if isinstance(some, np.ndarray) else some)}
    return sorted_labels({label for label in seen if not is_missing(label)})


def outcomes_from_labels(
    truth: ColumnLike, answers: ColumnLike, classes: Sequence[Label] | None, cost: LabelledCost
) -> tuple[tuple[Label, ...], Places, CostMatrix | NumberCost | None, Places | Floats]:
    """Return the classes, true labels as indices of them, the costs, and predictions as indices of the choices."""
    true, answered = label_array(truth), label_array(answers)
    if len(true) != len(answered) or not len(true):
        raise InvalidInput(
            f"There are {len(true)} true labels and {len(answered)} answers; give as many of both, and at least one."
        )
    if isinstance(cost, str):
        labels = distinct_labels(true) if classes is None else tuple(classes)
        number_cost = checked_number_cost(cost, labels)
        return labels, label_indices(true, labels, "truth"), number_cost, numeric_answers(answered)
    seen = distinct_labels(true, answered)
    labels = seen if classes is None else tuple(classes)
    matrix, choices = stored_cost(cost, labels)
    if not isinstance(matrix, np.ndarray):  # a prediction that is not a class is a mistake like any other
        choices = (*labels, *(label for label in seen if label not in labels))
        matrix = 1.0 - np.eye(len(labels), len(choices))
    decided = label_indices(answered, choices, "answers", may_be_missing=True)
    usual = choices == labels and not (matrix - 1.0 + np.eye(len(labels))).any()
    return labels, label_indices(true, labels, "truth"), None if usual else CostMatrix(matrix, choices), decided


# -- decisions and costs -----------------------------------------------------------------------------------------------


def least_cost_decisions(
    posterior: Floats, cost: StoredCost, reject: float | None, classes: Sequence[Label]
) -> AnyArray:
    """Return the decisions of least expected cost; a class without known costs costs nothing here."""
    if isinstance(cost, str):
        return decide(posterior, cost, reject, classes_as_numbers(classes))
    return decide(posterior, None if cost is None else np.nan_to_num(cost), reject)


def costs_of_answers(
    answers: AnyArray, truth: Places, cost: StoredCost, classes: Sequence[Label], correct: Mask
) -> Floats:
    """Return the cost of each prediction; of numbers by their distance from the true one."""
    if cost is None:
        return np.asarray(~correct, dtype=np.float64)
    if not isinstance(cost, str):
        return np.asarray(cost[truth, answers])
    gap = np.abs(answers - classes_as_numbers(classes)[truth])
    return np.asarray(gap if cost == "absolute" else gap**2)


def classes_as_numbers(classes: Sequence[Label]) -> Floats:
    """Return classes that are numbers as an array."""
    return np.array(list(classes), dtype=np.float64)


def stored_cost(cost: LabelledCost | CostMatrix, classes: tuple[Label, ...]) -> tuple[StoredCost, tuple[Label, ...]]:
    """Return the costs as [class, choice], and the choices; there are none where predictions are numbers."""
    if isinstance(cost, str):
        return checked_number_cost(cost, classes), ()
    if isinstance(cost, CostMatrix):
        return cost.matrix, tuple(cost.choices)
    labels = np.empty(len(classes), dtype=object)
    labels[:] = classes
    matrix, choices = cost_and_choices(cost, labels)
    return matrix, tuple(choices.tolist())


def checked_number_cost(cost: str, classes: tuple[Label, ...]) -> NumberCost:
    """Return the name of a cost of numbers; raise an error if it is unknown or the classes are not numbers."""
    if cost not in ("squared", "absolute"):
        raise InvalidInput(Setting("cost", cost), " is unknown; use 'squared', 'absolute', or a cost for each pair.")
    if np.asarray(classes).dtype.kind not in "biuf":
        raise InvalidInput(Setting("cost", cost), f" needs numbers as classes; found {list(classes)[:3]}.")
    return "squared" if cost == "squared" else "absolute"


# -- probabilities, folds and weights ----------------------------------------------------------------------------------


def checked_probabilities(
    posterior: npt.ArrayLike | None, decided: npt.ArrayLike | None, rows: int, classes: int
) -> Floats | None:
    """Return the probabilities as [row, class]; None if there are decisions instead."""
    if posterior is None and np.shape(() if decided is None else decided) == (rows,):
        return None
    result = np.asarray(posterior, dtype=np.float64)
    if result.shape != (rows, classes) or not result.size:
        raise InvalidInput(
            f"The posterior has the shape {result.shape}; give the shape ({rows}, {classes}): one row for "
            "each true label and one column for each class, at least one of both."
        )
    off = ~(
        np.isfinite(result).all(axis=1) & (result >= 0).all(axis=1) & (np.abs(result.sum(axis=1) - 1) < SUM_TOLERANCE)
    )
    if off.any():
        row = int(np.argmax(off))
        raise InvalidInput(
            RowNumber(row),
            f" of the posterior holds {result[row].tolist()[:8]}; probabilities lie between 0 and 1, and sum to "
            "1 in each row. Give those of predict_proba, not logarithms or votes.",
        )
    return result


def checked_folds(folds: npt.ArrayLike, truth: Places) -> Longs:
    """Return the fold of each row; raise an error if there is not an integer for each."""
    result = np.asarray(folds)
    if result.shape != truth.shape or result.dtype.kind not in "iu":
        raise InvalidInput(f"folds must be an integer for each of the {len(truth)} rows.")
    return result
