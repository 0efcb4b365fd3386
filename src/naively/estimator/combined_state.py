"""The joint model of several models of which some keep no rows: counts of pairs are moved, weights are averaged."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import add

from ..errors import CombinedWeightsWarning, levels_to_caller
from ..errors.message import Message, Setting
from ..model.default.merging import expected_quality, pooled_grid
from .combined_weights import part_fit, with_combined_weights
from .fitted_classifier import FittedClassifier
from .live_counts import LiveCounts
from .merged_state import joint_of_part, weighed_alike
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


def warn_of_combined_weights(models: Sequence[FittedClassifier]) -> None:
    """Warn of weights that were combined without rows, and say how good they are expected to be."""
    fewest = min(float(model.counts.rows.sum()) for model in models)
    warnings.warn(
        Message(
            f"Not all of these models keep their rows: {expected_quality(fewest)}. To merge exactly, write "
            "files with rows: ",
            Setting("rows", True, of="save(...)"),
            ".",
        ),
        CombinedWeightsWarning,
        stacklevel=levels_to_caller(),
    )
