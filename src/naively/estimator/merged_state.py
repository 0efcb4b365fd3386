"""One state of the rows of several: counts are added, what was chosen on top of them is chosen anew.

Where all rows of all states are kept, the next question fits the model of all of them at once. Where some are kept,
bins are laid out from these, counts of pairs are moved onto the bins, and weights are fitted to them on the kept rows.
Where a state keeps no rows, weights are the mean of those of all states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np

from .._types import Floats
from ..counting.counter import TableCounter
from ..counting.kept_rows import KeptRows
from ..counting.weights import class_weights, with_class_weights
from ..data.grid import Grid
from ..data.schema import Schema
from ..model.default.fitting import known_rows
from ..model.default.moved_counts import moved_counts
from ..stats import Counts
from ..stats.arithmetic import divide
from ..stats.counts import times_class_weights
from ..stats.pairs import JointCounts
from .live_counts import LiveCounts
from .refresh import joint_of_rows, recounted
from .settings import Parameters
from .state import FittedState, state_of_counts
from .tuner import Tuner


def merged_state(parameters: Parameters, states: Sequence[FittedState], schema: Schema) -> FittedState:
    """Return the state of all rows of several states, whose columns are these."""
    kept, first = kept_of_all(states), states[0]
    soft = any(state.has_soft_labels for state in states)
    if kept is not None and kept.complete:
        declared = dict.fromkeys(label for state in states for label in state.counts.counter.declared)
        return recounted(parameters, replace(first, kept=kept, schema=schema, has_soft_labels=soft), list(declared))
    states = weighed_alike(parameters, states)
    counts = sum_of_columns([state.counts.value for state in states])
    merged = replace(
        state_of_counts(parameters, counts, replace(schema, grid=None, hints=())),
        class_weights=states[0].class_weights,
        has_soft_labels=soft,
        has_names=first.has_names,
        kept=kept,
    )
    return merged if kept is None else fitted_on_kept_rows(parameters, merged, states)


def kept_of_all(states: Sequence[FittedState]) -> KeptRows | None:
    """Return the rows that are kept of all states; None if one of them keeps none."""
    kept = [state.all_kept for state in states if state.all_kept is not None]
    if len(kept) < len(states):
        return None
    every = reduce(add, kept)
    return every if every.complete else every.labelled()  # others are learned from where all rows are kept


def sum_of_columns(parts: Sequence[Counts]) -> Counts:
    """Return the sum of counts of single columns."""
    return reduce(add, (Counts(part.classes, part.rows, part.columns, part.schema) for part in parts))


def weighed_alike(parameters: Parameters, states: Sequence[FittedState]) -> list[FittedState]:
    """Return states whose rows weigh what their classes weigh in all of them, whatever they weighed when counted."""
    if all(state.class_weights is None for state in states):
        return list(states)
    own = [own_rows(state) for state in states]
    total = reduce(add, (Counts(state.counts.value.classes, rows, {}) for state, rows in zip(states, own, strict=True)))
    given = parameters.class_weight if isinstance(parameters.class_weight, str) else states[0].class_weights
    named = () if isinstance(given, str) or given is None else list(given)
    weights = class_weights(given, total.classes.labels, total.rows, named) or {}
    found = []
    for state in states:
        value, then = state.counts.value, state.class_weights or {}
        now, before = (np.array([of.get(label, 1.0) for label in value.classes.labels]) for of in (weights, then))
        counts = LiveCounts(state.schema, value=times_class_weights(value, divide(now, before)))
        found.append(replace(state, counts=counts, class_weights=weights or None))
    return found


def own_rows(state: FittedState) -> Floats:
    """Return the rows of each class without the weights of their classes."""
    counts, weights = state.counts.value, state.class_weights or {}
    return divide(counts.rows, np.array([weights.get(label, 1.0) for label in counts.classes.labels]))


def fitted_on_kept_rows(parameters: Parameters, state: FittedState, parts: Sequence[FittedState]) -> FittedState:
    """Return the state with pairs of columns from all parts, on bins from the kept rows, and weights from these."""
    assert state.kept is not None
    kept = state.kept.in_order(parameters.threads)
    rows = with_class_weights(kept.rows(), state.class_weights)
    counter = state.counts.counter

    def joint_on(grid: Grid) -> JointCounts:
        return reduce(add, (joint_of_part(counter, part, grid, parameters.threads) for part in parts))

    after = Tuner(parameters, state).fit(rows, joint_on=joint_on)
    total = float(counter.rows.sum())
    return replace(after, kept=kept, fitted_rows=total, fitted_as=parameters.model, changed=0.0, due=False)


def joint_of_part(counter: TableCounter, part: FittedState, grid: Grid, threads: int) -> JointCounts:
    """Return what a part has counted of pairs, on other bins: counted anew if all its rows are kept, or else moved."""
    if part.all_kept is not None and part.all_kept.complete:
        rows = with_class_weights(part.all_kept.labelled().rows(), part.class_weights)
        return joint_of_rows(counter, rows, grid, threads)
    counts = part.counts.value
    if part.all_kept is None:
        return moved_counts(counts, grid)
    rows = with_class_weights(part.all_kept.rows(), part.class_weights)
    return moved_counts(counts, grid, known_rows(rows, counts))
