"""Weights of several fits of the joint model, averaged where the rows of some of them are no longer there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..model.default.merging import PartFit, combined_fit
from ..model.tuning import UNTUNED
from .fitted_classifier import FittedClassifier
from .models import joint_model
from .settings import Parameters
from .state import FittedState


def with_combined_weights(
    parameters: Parameters, state: FittedState, parts: Sequence[PartFit | None]
) -> FittedState | None:
    """Return the state with the weights of several fits; None if none of them has any."""
    if all(part is None for part in parts):
        return None
    found = combined_fit(parts, joint_model(FittedClassifier(parameters, state), None))
    if found is None:
        return None
    tuning = replace(
        UNTUNED,
        smoothing=state.tuning.smoothing,
        classes=tuple(state.counts.value.classes.labels),
        calibrated=True,
        learned=found,
        rows=float(found.rows),
        loss_after=list(found.loss.values())[-1],
    )
    return state.tuned(tuning, parameters)


def part_fit(model: FittedClassifier) -> PartFit | None:
    """Return the weights of a model, to be combined with those of others; None if the textbook model answers."""
    weights = model.weights
    if weights is None or not model.has_weighted_columns:
        return None
    return PartFit.of(joint_model(model, weights))
