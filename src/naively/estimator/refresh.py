"""Models that are current: what was chosen on top of the counts is chosen anew when enough rows came or went.

Where all rows are kept, the model is then that of one `fit` of all of them. Where some are kept, the counts are exact,
and weights are fitted to them on the rows that are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from .._types import Label
from ..counting.counter import TableCounter
from ..counting.kept_rows import KeptRows
from ..counting.rows import Rows, count_rows, weightless
from ..counting.sample import LARGEST_HASH
from ..counting.second_pass import count_jointly
from ..counting.soft_labels import counted_blocks
from ..counting.weights import with_class_weights
from ..data.column import Column, family_of
from ..data.frame import Frame, frame_of
from ..data.grid import Grid, NumberBins
from ..data.schema import Schema
from ..families import Bins
from ..model.default.fitting import enough, fitted_grid, known_rows
from ..model.default.merging import PartFit
from ..model.default.moved_counts import moved_counts
from ..model.tuning import UNTUNED
from ..stats import Axis
from ..stats.pairs import JointCounts
from .combined_weights import part_fit, with_combined_weights
from .fit import fit_rows
from .fitted_classifier import FittedClassifier
from .freshness import outdated, weights_in_use
from .live_counts import LiveCounts
from .settings import FamilyLike, Parameters, families_of_counts
from .state import FittedState
from .tuner import Tuner


def current_model(fitted: FittedClassifier) -> FittedClassifier:
    """Return the model with everything chosen anew, if enough rows came or went; the same one if not."""
    state = fitted.state
    if is_of_another_model(fitted):
        fitted = FittedClassifier(fitted.parameters, replace(state, due=True))
    return up_to_date(fitted) if fitted.state.is_due(fitted.parameters.recipe.refit_share) else fitted


def is_of_another_model(fitted: FittedClassifier) -> bool:
    """Tell whether what was chosen is of another model than the one that is set now, which needs rows to choose."""
    state, parameters = fitted.state, fitted.parameters
    if state.kept is None or parameters.model == "textbook" or state.fitted_as in (None, parameters.model):
        return False
    return weights_in_use(parameters, state.tuning) is None


def up_to_date(fitted: FittedClassifier) -> FittedClassifier:
    """Return the model with everything chosen anew, if any row came or went since."""
    state = fitted.state
    if state.kept is None or not (state.due or state.changed):
        return fitted
    return FittedClassifier(fitted.parameters, refitted(fitted.parameters, state, state.kept))


def times_weight(fitted: FittedClassifier, weight: float) -> FittedClassifier:
    """Return the model of the same rows, each weighing so many times as much."""
    state = fitted.state
    counts = LiveCounts(state.schema, value=state.counts.value * weight)
    if state.kept is None:
        return FittedClassifier(fitted.parameters, outdated(replace(state, counts=counts)))
    before = None if state.unkept is None else state.unkept.times(weight)
    faded = replace(state, counts=counts, kept=state.kept * weight, unkept=before, row_weights=None)
    return FittedClassifier(fitted.parameters, replace(faded, due=True))


def refitted(parameters: Parameters, state: FittedState, kept: KeptRows) -> FittedState:
    """Return the state with everything chosen anew on the rows that are kept."""
    kept = kept.in_order(parameters.threads)
    if not kept.total:
        return replace(state, kept=kept, due=False)
    if kept.complete:
        return fitted_anew(parameters, replace(state, kept=kept), kept.rows())
    rows, state = with_class_weights(kept.rows(), state.class_weights), replace(state, kept=kept)
    if state.unkept is not None:
        after = fitted_beside(parameters, state, state.unkept.fit, rows)
    else:
        after = Tuner(parameters, laid_out_anew(parameters, state, rows)).fit(rows)
    total = float(after.counts.counter.rows.sum())
    return replace(after, fitted_rows=total, fitted_as=parameters.model, changed=0.0, due=False)


def fitted_beside(parameters: Parameters, state: FittedState, before: PartFit | None, rows: Rows) -> FittedState:
    """Return the state with weights fitted on new rows, combined with those of rows that are no longer there."""
    assert state.kept is not None
    some, every = enough(rows, recipe=parameters.recipe), state.kept.limit == LARGEST_HASH
    if some and every and (before is None or nearly_all_are_kept(state, state.kept, parameters)):
        return fitted_beside_few(parameters, state, rows)
    if some and (before is not None or state.counts.value.joint is not None):
        state = Tuner(parameters, state).fit(rows)
    parts = [before, part_fit(FittedClassifier(parameters, state))]
    return with_combined_weights(parameters, replace(state, tuning=UNTUNED), parts) or state


def nearly_all_are_kept(state: FittedState, kept: KeptRows, parameters: Parameters) -> bool:
    """Tell whether no more rows are gone than may come without fitting anything anew."""
    return kept.total >= (1 - parameters.recipe.refit_share) * float(state.counts.counter.rows.sum())


def fitted_beside_few(parameters: Parameters, state: FittedState, rows: Rows) -> FittedState:
    """Return the state of new rows, all of them kept, and of fewer that are no longer there.

    Bins are laid out from the new rows, and counts of pairs of the others are moved onto them. The weights are those of
    the new rows.
    """
    known = TableCounter(state.schema, state.counts.counter.declared)
    count_rows(known, rows, parameters.threads)
    few = state.counts.value - known.value()
    schema, counter = replace(state.schema, grid=None), state.counts.counter.twin()
    counter.schema, counter.together = schema, None

    def joint_on(grid: Grid) -> JointCounts:
        return moved_counts(few, grid) + joint_of_rows(counter, rows, grid, parameters.threads)

    bare = replace(state, counts=LiveCounts(schema, counter=counter), schema=schema, tuning=UNTUNED)
    return Tuner(parameters, bare).fit(rows, joint_on=joint_on)


def joint_of_rows(counter: TableCounter, rows: Rows, grid: Grid, threads: int) -> JointCounts:
    """Return what is counted of pairs in some rows, whose classes and labels a counter has codes for."""
    alone = counter.fresh()
    count_jointly([alone], grid, counted_blocks(counter, rows), threads)
    assert alone.together is not None, "pairs were counted"
    seen = list(counter.classes.places)
    return alone.together.value(seen, Axis(seen, counter.declared))


def laid_out_anew(parameters: Parameters, state: FittedState, rows: Rows) -> FittedState:
    """Return the state with counts of pairs moved onto other bins, if the kept rows fill those that there are badly."""
    joint = state.counts.value.joint
    if joint is None or not joint.grid.columns or not enough(rows, recipe=parameters.recipe):
        return state
    counter = state.counts.counter.twin()
    anew, _ = fitted_grid(counter, rows, parameters.threads, joint.grid.names, parameters.recipe)
    grid = with_better_columns(joint.grid, anew, frame_of(rows.source))
    if grid == joint.grid:
        return state
    counter.take_joint(moved_counts(state.counts.value, grid, known_rows(rows, state.counts.value)))
    schema = replace(state.schema, grid=grid)
    return replace(state, counts=LiveCounts(schema, counter=counter), schema=schema)


def with_better_columns(grid: Grid, anew: Grid, frame: Frame) -> Grid:
    """Return a grid in which columns that rows fill badly are laid out anew; moving the others would only blur them."""
    numbers = [
        after if is_crowded(before, after, frame) else before
        for before, after in zip(grid.numbers, anew.numbers, strict=True)
    ]
    labels = [
        before if set(before.labels) >= set(after.labels) else after
        for before, after in zip(grid.labels, anew.labels, strict=True)
    ]
    return Grid(tuple(numbers), tuple(labels))


def is_crowded(before: NumberBins, after: NumberBins, frame: Frame) -> bool:
    """Tell whether a bin of numbers holds more than twice as many rows as any would that is laid out anew."""
    numbers = frame.columns[before.name].numbers(0, frame.rows)
    there = numbers[~np.isnan(numbers)]
    most = [np.bincount(np.searchsorted(bins.cuts, there)).max(initial=0) for bins in (before, after)]
    return bool(most[0] > 2 * most[1])


def fitted_anew(parameters: Parameters, state: FittedState, rows: Rows) -> FittedState:
    """Return the state of one fit of all rows, whose columns are what they were."""
    balanced = isinstance(parameters.class_weight, str) and state.class_weights is not None
    how = replace(
        parameters,
        families=bare_schema(parameters, state.schema),
        class_weight=parameters.class_weight if balanced else state.class_weights,
        classes=list(state.counts.counter.declared) or None,
    )
    after = fit_rows(how, rows, list(state.class_weights or ()), kept=state.kept)
    return replace(after, label_type=state.label_type, has_names=state.has_names, kept=state.kept)


def recounted(parameters: Parameters, state: FittedState, declared: Sequence[Label] | None = None) -> FittedState:
    """Return the state with nothing but the counts of single columns of the rows that are kept, which are all.

    Classes that no row has may be declared; by default they are those of the state. Everything else is chosen anew
    before the next answer.
    """
    assert state.kept is not None
    kept = state.kept.in_order(parameters.threads)
    rows = with_class_weights(kept.rows(), state.class_weights)
    declared = state.counts.counter.declared if declared is None else declared
    counter = TableCounter(rows.schema(bare_schema(parameters, state.schema)), declared)
    count_rows(counter, weightless(rows, counter.declared), parameters.threads)
    counts = LiveCounts(counter.schema, counter=counter)
    return replace(state, kept=kept, counts=counts, schema=counter.schema, tuning=UNTUNED, information=None, due=True)


def bare_schema(parameters: Parameters, schema: Schema) -> Schema:
    """Return what the columns are, without what was laid out from the rows: bins are cut anew."""
    given = parameters.families
    bare = replace(schema, grid=None, hints=())
    if not isinstance(given, Mapping):
        return bare
    bare = bare.with_families(families_of_counts(given, bare))
    columns = (uncut_column(column, given[column.name]) if column.name in given else column for column in bare)
    return replace(bare, columns=tuple(columns))


def uncut_column(column: Column, given: FamilyLike) -> Column:
    """Return a column without cuts of bins, unless somebody chose them."""
    family, chosen = column.family, family_of(column.name, given)
    if not isinstance(family, Bins) or (isinstance(chosen, Bins) and chosen.cuts is not None):
        return column
    return replace(column, family=replace(family, cuts=None))
