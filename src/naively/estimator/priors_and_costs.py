"""The class prior and the costs of mistakes, as the settings say, for the classes that were counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from .._types import AnyArray, Floats, Label
from ..errors import InvalidSetting
from ..errors.message import Setting
from ..judge.decision import CostMatrix, cost_and_choices
from ..model.estimate import empirical_prior, given_prior, uniform_prior
from ..model.leave_one_out import PriorWithout, empirical_without, given_without
from ..stats import Counts
from .settings import Parameters, check_choice


def log_prior(parameters: Parameters, counts: Counts) -> Floats:
    """Return the logarithm of the prior probability of each class that was counted."""
    prior, labels = parameters.prior, list(counts.classes.labels)
    if isinstance(prior, str):
        if prior == "empirical":
            return empirical_prior(counts.rows, parameters.settings(parameters.prior_smoothing))
        check_choice("prior", prior, ("empirical", "uniform"))
        return uniform_prior(len(labels))
    if isinstance(prior, Mapping):
        if set(prior) != set(labels):
            raise InvalidSetting(
                Setting("prior"),
                f" names the classes {sorted(map(str, prior))}; give one for each of {labels}.",
                value=prior,
                classes=labels,
            )
        return given_prior(_numbers_of([prior[label] for label in labels]), len(labels))
    return given_prior(_numbers_of(prior), len(labels))


def prior_pseudo_counts(parameters: Parameters) -> float | None:
    """Return the pseudo-count of each class in the empirical prior; None if the prior was given."""
    if not parameters.has_empirical_prior:
        return None
    return float(parameters.settings(parameters.prior_smoothing).pseudo_counts)


def prior_without_row(parameters: Parameters, counts: Counts) -> PriorWithout:
    """Return what gives the log prior of the classes for each row, leaving that row out."""
    if parameters.has_empirical_prior:
        return empirical_without(parameters.settings(parameters.prior_smoothing))
    return given_without(log_prior(parameters, counts))


def costs_of_scores(
    parameters: Parameters, classes: Sequence[Label], known: int | None = None
) -> tuple[str | CostMatrix | None, float | None]:
    """Return the costs of the choices in the order of the classes, and the price of not answering.

    Only the first `known` classes are the model's: it cannot choose the others. By a dict of costs every mistake about
    those costs 1; a matrix of costs has no line for them, so their cost is unknown.
    """
    if isinstance(parameters.cost, str):
        numeric_classes(np.array(classes))
        return parameters.cost, parameters.reject
    labels = np.empty(len(classes), dtype=object)
    labels[:] = classes
    matrix, choices = cost_and_choices(parameters.cost, labels[:known])
    if matrix is None:
        return None, parameters.reject
    price = 1.0 if isinstance(parameters.cost, dict) else np.nan
    more = np.full((len(labels) - len(matrix), matrix.shape[1]), price)
    return CostMatrix(np.vstack([matrix, more]), tuple(choices.tolist())), parameters.reject


def numeric_classes(classes: AnyArray) -> AnyArray:
    """Return the labels if they are numbers, as costs of numbers need them."""
    if classes.dtype.kind not in "biuf":
        raise InvalidSetting(
            Setting("cost", "squared"),
            " and ",
            Setting("cost", "absolute"),
            f" need numbers as labels; found {classes[:3].tolist()}.",
            classes=list(classes),
        )
    return classes


def _numbers_of(values: npt.ArrayLike) -> Floats:
    """Return the probabilities of a prior, if they are numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidSetting(Setting("prior", values), " must hold numbers.") from None
