"""What could be left of rows that were subtracted from the counts: words, labels, numbers in the middle of bins.

Where all other rows are kept, everything is made anew from them. Otherwise what no row is left of is dropped here, so
that nothing that a model holds tells of a forgotten row.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..counting.kept_rows import KeptRows
from ..data.frame import frame_of
from ..data.schema import Schema
from ..model.default.bins import with_middles_of, without_middles
from ..model.tuning import UNTUNED, Tuning
from ..stats import Counts, WordTable
from ..stats.pairs import JointCounts
from .live_counts import LiveCounts
from .state import FittedState


def without_remains(state: FittedState, counts: Counts, gone: Counts) -> FittedState:
    """Return the state with the counts that are left after others were subtracted, without what no row is left of.

    Remarks go, too: they are about the rows of `fit`, and some of them name cells.
    """
    joint = None if counts.joint is None else not_below_zero(counts.joint).without_unused_labels()
    if joint is not None and gone.joint is not None and state.all_kept is None:
        joint = replace(joint, grid=without_middles(joint.grid, np.asarray(gone.joint.fine.any(axis=0))))
    columns = {
        name: part.without_unused_words() if isinstance(part, WordTable) else part
        for name, part in counts.columns.items()
    }
    left = Counts(counts.classes, counts.rows, columns, None, joint)
    shrunk = joint is not None and counts.joint is not None and joint.grid.labels != counts.joint.grid.labels
    tuning = without_coefficients_of_gone(tuning_of_rest(state.tuning, left), shrunk)
    weights, known = state.row_weights, set(left.classes.labels)
    return replace(
        with_joint(state, left, joint, replace(state.schema, hints=())),
        tuning=tuning if state.kept is None else UNTUNED,
        row_weights=None if weights is None else {label: by for label, by in weights.items() if label in known},
    )


def not_below_zero(joint: JointCounts) -> JointCounts:
    """Return counts of pairs none of which is negative, as some may be that were moved onto other bins before."""
    flags = joint.products.shape[1] - len(joint.grid.numbers)
    products, diagonal = joint.products.copy(), np.arange(joint.products.shape[1])
    products[:, :flags, :flags] = np.maximum(products[:, :flags, :flags], 0.0)
    products[:, diagonal, diagonal] = np.maximum(products[:, diagonal, diagonal], 0.0)
    return JointCounts(joint.classes, joint.grid, np.maximum(joint.fine, 0.0), products)


def with_joint(state: FittedState, counts: Counts, joint: JointCounts | None, schema: Schema) -> FittedState:
    """Return the state with these counts of columns, and of pairs of them."""
    schema = schema if joint is None else replace(schema, grid=joint.grid)
    value = Counts(counts.classes, counts.rows, counts.columns, schema, joint)
    return replace(state, counts=LiveCounts(schema, value=value), schema=schema)


def with_middles_of_rest(state: FittedState, kept: KeptRows) -> FittedState:
    """Return the state with the middles of bins from the rows that are kept; nothing was counted by them."""
    counts = state.counts.value
    joint = counts.joint
    if joint is None or not joint.grid.numbers or not kept.total or state.all_kept is None:
        return state
    rows = kept.rows()
    frame = frame_of(rows.source)
    numbers = np.stack([frame.columns[bins.name].numbers(0, frame.rows) for bins in joint.grid.numbers], axis=1)
    weights = np.ones(frame.rows) if rows.weights is None else rows.weights
    grid = with_middles_of(joint.grid, numbers, weights)
    return with_joint(state, counts, replace(joint, grid=grid), state.schema)


def tuning_of_rest(tuning: Tuning, counts: Counts) -> Tuning:
    """Return what was tuned without classes and values that no row is left of; weights stay if all classes are left."""
    left = set(counts.classes.labels)
    if not left.issuperset(tuning.classes):
        there = [label in left for label in tuning.classes]
        classes = tuple(label for label in tuning.classes if label in left)
        bias = None if tuning.bias is None else tuning.bias[there]
        return replace(tuning, learned=None, classes=classes, bias=bias)
    if tuning.learned is not None and tuning.learned.words:
        words = {name: found.of_rest(counts.columns[name]) for name, found in tuning.learned.words.items()}
        return replace(tuning, learned=replace(tuning.learned, words=words))
    return tuning


def without_coefficients_of_gone(tuning: Tuning, shrunk: bool) -> Tuning:
    """Return what was tuned without coefficients, if labels are gone from the grid that they were fitted on."""
    if not shrunk or tuning.learned is None or tuning.learned.coefficients is None:
        return tuning
    learned = tuning.learned.without_coefficients()
    return replace(tuning, learned=learned, loss_after=list(learned.loss.values())[-1])
