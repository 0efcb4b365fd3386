"""The joint model of several models of which some keep no rows: counts of pairs are moved, weights are combined."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import add

from ..errors import CombinedWeightsWarning, levels_to_caller
from ..errors.message import Message, Setting
from ..model.joint.combined_fit import PartFit, combined_fit, expected_quality
from ..model.joint.joint_fit import JointFit
from ..model.joint.pooled_grid import pooled_grid
from ..model.tuning import UNTUNED
from .fitted_classifier import FittedClassifier
from .live_counts import LiveCounts
from .merged_state import joint_of_part, weighed_alike
from .models import joint_model
from .settings import Parameters
from .state import FittedState


def combined_state(
    parameters: Parameters, state: FittedState, models: Sequence[FittedClassifier]
) -> FittedState | None:
    """Return a state of added counts with pairs of columns and weights from all models; None if no model has any."""
    parts = [part_fit(model) for model in models]
    if parameters.model != "auto" or all(part is None for part in parts):
        return None
    states = weighed_alike(parameters, [model.state for model in models])
    grid, remark = pooled_grid([part.counts.value for part in states], parameters.recipe)
    counter = state.counts.counter.twin()
    counter.take_joint(reduce(add, (joint_of_part(counter, part, grid, parameters.threads) for part in states)))
    schema = replace(state.schema, grid=grid, hints=() if remark is None else (remark,))
    state = replace(state, counts=LiveCounts(schema, counter=counter), schema=schema)
    return with_combined_weights(parameters, state, parts)


def with_combined_weights(
    parameters: Parameters, state: FittedState, parts: Sequence[PartFit | None]
) -> FittedState | None:
    """Return the state with the weights of several fits; None if none of them has any."""
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
    if not isinstance(weights, JointFit) or not model.has_weighted_columns:
        return None
    return PartFit.of(joint_model(model, weights))


def warn_of_combined_weights(models: Sequence[FittedClassifier]) -> None:
    """Warn of weights that were combined without rows, and say how good they are expected to be."""
    fewest = min(float(model.counts.rows.sum()) for model in models)
    warnings.warn(
        Message(
            f"Not all of these models keep their rows: {expected_quality(fewest)}. To merge exactly, save models "
            "with their rows: ",
            Setting("rows", True, of="save(...)"),
            ".",
        ),
        CombinedWeightsWarning,
        stacklevel=levels_to_caller(),
    )
