"""What is judged: the true class and the decision of each row, from labels, places, probabilities and costs."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._types import AnyArray, Floats, Places
from ..errors import InvalidInput
from ..errors.message import RowNumber, Setting
from .decision import Priced, decide, labelled_cost

# How far probabilities of a row may be from 1 in all: those of other libraries may be in single precision.
OFF = 1e-3


class Placed(NamedTuple):
    """Classes of rows that are places among the classes for certain, whatever the classes are called."""

    at: Any


# -- labels ------------------------------------------------------------------------------------------------------------


def places_of(truth: Any, classes: tuple[Any, ...]) -> Places:
    """Return the place of each row's class, given by places or by labels.

    Whole numbers are places, unless the classes are numbers themselves: then they are labels, always.
    """
    if isinstance(truth, Placed):
        return checked_places(np.asarray(truth.at), classes)
    found = plain_labels(truth)
    numbers = all(isinstance(label, (bool, int, float, np.number, np.bool_)) for label in classes)
    if isinstance(found, np.ndarray) and found.dtype.kind in "iu" and not numbers:
        return checked_places(found, classes)
    return places_among(found, classes, "truth")


def checked_places(at: AnyArray, classes: Sequence[Any]) -> Places:
    """Return places among the classes, if they are."""
    if at.dtype.kind not in "iu" or (at.size and (at.min() < 0 or at.max() >= len(classes))):
        raise InvalidInput(
            f"truth must hold the label of each row's class, one of {list(classes)[:8]}, or its place, a whole number "
            f"from 0 to {len(classes) - 1}."
        )
    return at.astype(np.intp, copy=False)


def plain_labels(labels: Any) -> AnyArray | list[Any]:
    """Return labels of any list, array or column: numbers and booleans as an array, others as a list."""
    found = np.asarray(labels)
    if found.dtype.kind in "US":
        found = np.asarray(list(labels), dtype=object)  # [1, "a"] is no list of texts
    found = found.reshape(-1) if found.ndim == 2 and found.shape[1] == 1 else found
    if found.ndim != 1:
        raise InvalidInput(f"Give one label for each row; found an array of shape {found.shape}.")
    return found if found.dtype.kind in "biuf" else found.tolist()


def places_among(labels: AnyArray | list[Any], choices: Sequence[Any], name: str, none: bool = False) -> Places:
    """Return the place of each label; -1 for a missing one, where there may be such."""
    known = {label: at for at, label in reversed(list(enumerate(choices)))}  # of the same name, the first
    if isinstance(labels, np.ndarray):
        different, which = np.unique(labels, return_inverse=True)
    else:
        met: dict[Any, int] = {}
        try:
            which = np.fromiter((met.setdefault(label, len(met)) for label in labels), np.intp, len(labels))
        except TypeError:
            raise InvalidInput(f"{name} must hold labels: texts, numbers or booleans.") from None
        different = np.empty(len(met), dtype=object)
        different[:] = list(met)
    codes = np.array([-1 if none and is_none(k) else known.get(k, -2) for k in different.tolist()], dtype=np.intp)
    if (codes == -2).any():
        stranger = different.tolist()[int(np.argmax(codes == -2))]
        row = int(np.argmax(codes[which] == -2))
        raise InvalidInput(
            f"{name}[{row}] is {stranger!r}, which is none of {', '.join(map(repr, choices[:8]))}"
            f"{' …' if len(choices) > 8 else ''}. Give labels that occur among the classes."
        )
    return np.asarray(codes[which], dtype=np.intp)


def fitting(label: Any, known: Collection[Any]) -> Any:
    """Return the label that a model knows under the same name: 1 may come as text in another file, or as 1.0.

    A new one among numbers is a number, too.

    >>> fitting("1.0", [1, 2]), fitting("true", [False, True]), fitting("3", [1, 2]), fitting("x", [1, 2])
    (1, True, 3, 'x')
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


def numbers_said(answers: AnyArray | list[Any]) -> Floats:
    """Return answers that are numbers; NaN where there is none."""
    try:
        return np.array([math.nan if is_none(one) else one for one in answers], dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput("With 'squared' and 'absolute' costs answers are numbers; found others.") from None


def is_none(label: Any) -> bool:
    """Tell whether a label is missing: None, NaN, or pandas' NA."""
    return label is None or type(label).__name__ == "NAType" or (isinstance(label, float) and math.isnan(label))


def classes_among(*labels: AnyArray | list[Any]) -> tuple[Any, ...]:
    """Return the different labels, sorted; missing ones are none."""
    met = {label for some in labels for label in (some.tolist() if isinstance(some, np.ndarray) else some)}
    found = [label for label in met if not is_none(label)]
    try:
        return tuple(sorted(found))
    except TypeError:
        return tuple(sorted(found, key=lambda label: (type(label).__name__, str(label))))


def from_labels(truth: Any, answers: Any, classes: Any, cost: Any) -> tuple[tuple[Any, ...], Places, Any, Any]:
    """Return the classes, the place of each row's, the costs with their choices, and what was answered."""
    true, said = plain_labels(truth), plain_labels(answers)
    if len(true) != len(said) or not len(true):
        raise InvalidInput(
            f"There are {len(true)} true labels and {len(said)} answers; give as many of both, and at least one."
        )
    if isinstance(cost, str):
        classes = classes_among(true) if classes is None else tuple(classes)
        checked_numbers(cost, classes)
        return classes, places_among(true, classes, "truth"), cost, numbers_said(said)
    met = classes_among(true, said)
    classes = met if classes is None else tuple(classes)
    cost, choices = prices_of(cost, classes)
    if cost is None:  # an answer that is no class is a mistake as any other
        choices = (*classes, *(label for label in met if label not in classes))
        cost = 1.0 - np.eye(len(classes), len(choices))
    decided = places_among(said, choices, "answers", none=True)
    priced = None if choices == classes and not (cost - 1.0 + np.eye(len(classes))).any() else Priced(cost, choices)
    return classes, places_among(true, classes, "truth"), priced, decided


# -- decisions and checks ---------------------------------------------------------------------------------------------


def decided_on(posterior: Floats, cost: Any, reject: float | None, classes: Sequence[Any]) -> AnyArray:
    """Return the decisions of least expected cost; a class without a price costs nothing here."""
    if isinstance(cost, str):
        return decide(posterior, cost, reject, np.asarray(classes, dtype=np.float64))
    return decide(posterior, None if cost is None else np.nan_to_num(cost), reject)


def paid_for(answers: AnyArray, truth: Places, cost: Any, classes: Sequence[Any], right: Any) -> Floats:
    """Return what each answer cost: of numbers by their distance from the true one."""
    if cost is None:
        return np.asarray(~right, dtype=np.float64)
    if not isinstance(cost, str):
        return np.asarray(cost[truth, answers])
    gap = np.abs(answers - np.asarray(classes, dtype=np.float64)[truth])
    return np.asarray(gap if cost == "absolute" else gap**2)


def prices_of(cost: Any, classes: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Return the costs as [class, choice], and the choices; numbers are no choices."""
    if isinstance(cost, str):
        return checked_numbers(cost, classes), ()
    if isinstance(cost, Priced):
        return cost.matrix, tuple(cost.choices)
    labels = np.empty(len(classes), dtype=object)
    labels[:] = classes
    matrix, choices = labelled_cost(cost, labels)
    return matrix, tuple(choices.tolist())


def checked_numbers(cost: str, classes: tuple[Any, ...]) -> str:
    """Return the name of a cost of numbers, if the classes are such."""
    if cost not in ("squared", "absolute"):
        raise InvalidInput(Setting("cost", cost), " is unknown; use 'squared', 'absolute', or a price for each pair.")
    if np.asarray(classes).dtype.kind not in "biuf":
        raise InvalidInput(Setting("cost", cost), f" needs numbers as classes; found {list(classes)[:3]}.")
    return cost


def checked_shape(posterior: Any, decided: Any, rows: int, classes: int) -> Floats | None:
    """Return the probabilities as [row, class], if they have that shape; None where answers stand for them."""
    if posterior is None and np.shape(decided) == (rows,):
        return None
    found = np.asarray(posterior, dtype=np.float64)
    if found.shape != (rows, classes) or not found.size:
        raise InvalidInput(
            f"The posterior has the shape {found.shape}; give a line for each of the {rows} rows and a "
            f"column for each of the {classes} classes, and at least one of both."
        )
    off = ~(np.isfinite(found).all(axis=1) & (found >= 0).all(axis=1) & (np.abs(found.sum(axis=1) - 1) < OFF))
    if off.any():
        row = int(np.argmax(off))
        raise InvalidInput(
            RowNumber(row),
            f" of the posterior holds {found[row].tolist()[:8]}; probabilities lie between 0 and 1, and sum to "
            "1 in each row. Give those of predict_proba, not logarithms or votes.",
        )
    return found


def checked_folds(folds: Any, truth: AnyArray) -> AnyArray:
    """Return the fold of each row, if there is a whole number for each."""
    found = np.asarray(folds)
    if found.shape != truth.shape or found.dtype.kind not in "iu":
        raise InvalidInput(f"folds must be a whole number for each of the {len(truth)} rows.")
    return found
