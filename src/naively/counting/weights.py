"""Weights of rows: by their class, and whether their weights stand for rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from .._types import Floats, Label
from ..data.target import Target
from ..errors import InvalidInput, InvalidSetting, WeightWarning, levels_to_caller
from ..errors.message import Message, MessagePart, Setting
from ..stats import Counts
from ..stats.arithmetic import MOST_WEIGHT
from ..stats.counts import times_class_weights
from .files import FileRows, check_class_names
from .rows import ByClass, Rows

# Pseudo-counts are worth a row for each value: where ten rows weigh less than one, they say more than the rows do.
LEAST = 0.1

# Fewer rows say little under any weights, and no more than that is chosen from them.
FEW = 50

ClassWeight = str | ByClass | None  # the setting: "balanced", or a weight for each class


# -- weights of rows -------------------------------------------------------------------------------------------------


def left_out_weights(weights: Floats, copies: bool) -> Floats:
    """Return how much of each row is left out: all of it, but where weights count copies of a row, one of these."""
    return np.minimum(weights, 1.0) if copies else weights


# -- class weights -----------------------------------------------------------------------------------------------------


def class_weights(
    setting: ClassWeight, labels: Sequence[Label], rows: Floats, declared: Sequence[Label] = ()
) -> ByClass | None:
    """Return the weight of a row of each class, given how many rows there are of each; None if all weigh the same.

    "balanced" gives all classes the same weight in sum: N / (K n), as scikit-learn does.
    """
    if setting is None:
        return None
    if isinstance(setting, str):
        seen = rows > 0
        shares = rows.sum() / (np.count_nonzero(seen) * np.where(seen, rows, 1.0))
        return dict(zip(labels, np.where(seen, shares, 1.0).tolist(), strict=True))
    check_class_names(setting, [*labels, *declared])
    return dict(setting)


def class_weights_of(setting: ClassWeight, rows: Rows, declared: Sequence[Label] = ()) -> ByClass | None:
    """Return the weight of a row of each class, from the rows themselves."""
    if setting is None:
        return None
    return class_weights(setting, rows.target.labels, rows.target.totals(rows.weights), declared)


def with_class_weights(rows: Rows, weights: ByClass | None) -> Rows:
    """Return the rows with their weights multiplied by those of their classes; a class that is not named has 1."""
    if weights is None:
        return rows
    factors = np.array([weights.get(label, 1.0) for label in rows.target.labels])
    proportions = rows.target.proportions
    if proportions is not None:
        target = Target.of_proportions(rows.target.labels, proportions * factors, rows.target.dtype)
        return replace(rows, target=target, by_class=weights, own=rows.own_weights)
    product = np.append(factors, 1.0)[rows.target.codes]  # code -1, a row without a label, takes the last
    product = product if rows.weights is None else product * rows.weights
    if not product.any() or product.max() > MOST_WEIGHT:
        result = "nothing" if not product.any() else f"{product.max():g}"
        raise InvalidInput(
            "With ", Setting("class_weight", dict(weights)), f" a row weighs {result}; give other weights."
        )
    return replace(rows, weights=product, by_class=weights, own=rows.own_weights)


def weighted_counts(counts: Counts, setting: ClassWeight) -> tuple[Counts, ByClass | None]:
    """Return counts of rows as if they had been weighed by class, and what each class weighs."""
    if setting is None:
        return counts, None
    labels = counts.classes.labels
    weights = class_weights(setting, labels, counts.rows, () if isinstance(setting, str) else list(setting))
    assert weights is not None
    return times_class_weights(counts, np.array([weights.get(label, 1.0) for label in labels])), weights


def set_file_weights(
    rows: FileRows, setting: ClassWeight, declared: Sequence[Label] = (), normalize: bool = False
) -> None:
    """Let rows of files weigh what their classes do, and so much that their weights sum to the number of rows.

    What follows from all rows takes a pass of its own, which reads the classes and the weights alone.
    """
    if isinstance(setting, Mapping):
        rows.by_class, rows.expected = dict(setting), [label for label in setting if label not in set(declared)]
    normalize = normalize and rows.weight is not None
    if not (normalize or isinstance(setting, str)):
        return
    result = rows.survey()
    labels, sums = list(result.weights), np.array(list(result.weights.values()))
    rows.scale = result.rows / float(sums.sum()) if normalize else 1.0
    if isinstance(setting, str):
        rows.by_class = class_weights(setting, labels, sums)


def refuse_balanced(setting: ClassWeight, what: str) -> None:
    """Refuse to count some rows apart where the weight of each follows from all of them."""
    if isinstance(setting, str):
        raise InvalidSetting(
            Setting("class_weight", "balanced"),
            f" follows from all rows, so {what} cannot know it. Fit with given weights instead, such as ",
            Setting("class_weight", {"spam": 3.0}),
            ".",
        )


# -- the scale of weights ----------------------------------------------------------------------------------------------


def check_scale(weights: Floats | None) -> None:
    """Warn if the weights of rows stand for far fewer rows than there are."""
    if weights is not None:
        warn_of_scale(int(np.count_nonzero(weights)), float(weights.sum()), "w * len(w) / w.sum()")


def check_scale_of_file(rows: FileRows) -> None:
    """Warn if the weights in files stand for far fewer rows than there are."""
    if rows.weight is not None:
        warn_of_scale(*rows.weighed, Setting("normalize_weight", True, of="nv.fit_files(...)"))


def warn_of_scale(rows: int, total: float, normalized: str | MessagePart) -> None:
    """Warn of weights whose sum is far below the number of rows."""
    if rows < FEW or rows * LEAST <= total:
        return
    warnings.warn(
        Message(
            f"The weights of {rows:,} rows sum to {total:.6g}. A weight counts as that many rows; so few "
            "rows are outweighed by the smoothing. If the weights only compare rows, let them sum to the number of "
            "rows: ",
            normalized,
            ".",
        ),
        WeightWarning,
        stacklevel=levels_to_caller(),
    )
