"""`partial_fit` and `forget`: rows are added to the counts of a fitted model, or subtracted from them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace

from .._threads import allowed
from .._types import ColumnLike, Label, TableLike
from ..counting.counter import TableCounter
from ..counting.files import FileRows
from ..counting.kept_rows import KeptRows, can_be_kept
from ..counting.rows import Rows, check_new_classes, check_widths, count_rows, labeled_rows
from ..counting.sample import LARGEST_HASH
from ..counting.second_pass import Blocks
from ..counting.soft_labels import counted_blocks
from ..counting.weights import refuse_balanced, with_class_weights
from ..data.frame import Frame
from ..errors import levels_to_caller
from ..model.tuning import UNTUNED
from .combined_weights import part_fit
from .fitted_classifier import FittedClassifier
from .freshness import outdated, warn_of_new_rows
from .live_counts import LiveCounts
from .refresh import recounted
from .remains import with_middles_of_rest, without_remains
from .settings import Parameters
from .state import FittedState, HeldOutCache, NumberInformation, UnkeptRows
from .tuner import Tuner


def add_row(fitted: FittedClassifier, row: Mapping[str, object], label: Label) -> FittedState:
    """Count one row given as a dict, and return the state after it, which keeps no rows.

    The counter of the state counts it in place.
    """
    state = fitted.state
    after = _outdated(state)
    state.counts.add_row(row, label)
    return after


def add_rows_to_state(
    fitted: FittedClassifier, rows: Rows | FileRows, classes: Sequence[Label] | None = None
) -> FittedState:
    """Count more rows, and return the state after them; classes may be declared that no row has.

    The counter of the state counts them in place: whoever calls this makes a backup of the counts first, and restores
    them if something is raised.
    """
    parameters, state = fitted.parameters, with_room_to_keep(fitted)
    rows, counter = weighed_as_counted(rows, state), state.counts.counter
    if isinstance(rows, FileRows):
        rows.sampling = state.kept is not None
    if classes is not None:
        check_new_classes(counter, [*classes, *rows.target.labels])
    before = float(counter.rows.sum())
    state.counts.add(rows, allowed(parameters.n_jobs, rows.cells))
    came = float(counter.rows.sum()) - before
    if classes is not None:
        counter.classes.codes(classes)
        counter.declared = tuple(dict.fromkeys([*counter.declared, *classes]))
    return _with_rows(parameters, _outdated(state), rows, came)


def forget_rows(fitted: FittedClassifier, rows: Rows | FileRows) -> FittedState:
    """Return the state without rows that were counted before."""
    parameters, state, counts = fitted.parameters, fitted.state, fitted.counts
    refuse_balanced(parameters.class_weight, "forget")
    rows = weighed_as_counted(rows, state)
    if isinstance(rows.source, Frame):
        check_widths(rows.source, state.schema, counts)
    part = TableCounter(state.schema)
    if isinstance(rows, FileRows):
        rows.sampling = state.kept is not None
    count_rows(part, rows, parameters.threads)
    gone = part.value()
    # No row is kept, nor any score of one, once it may be one to forget.
    measured = None if state.information is None else NumberInformation(measured=state.information.measured)
    after = without_remains(replace(state, information=measured, held_out=HeldOutCache()), counts - gone, gone)
    return _without_rows(parameters, _outdated(after), rows, part)


def forget(
    fitted: FittedClassifier,
    X: TableLike,
    y: ColumnLike = None,
    sample_weight: ColumnLike = None,
    *,
    target: str | None = None,
) -> FittedClassifier:
    """Return the model without rows that were counted before; warn of what does not know of it."""
    rows = rows_to_count(fitted.parameters, X, y, target, sample_weight, fitted.state)
    after = FittedClassifier(fitted.parameters, forget_rows(fitted, rows))
    warn_of_change(fitted.state, after)
    return after


def weighed_as_counted(rows: Rows | FileRows, state: FittedState) -> Rows | FileRows:
    """Return rows with the class weights of those that were counted."""
    if isinstance(rows, FileRows):
        rows.by_class = state.class_weights
        return rows
    return with_class_weights(rows, state.class_weights)


def rows_to_count(
    parameters: Parameters,
    X: TableLike,
    y: ColumnLike,
    target: str | None,
    sample_weight: ColumnLike,
    state: FittedState | None = None,
) -> Rows | FileRows:
    """Return the rows of a table or of files with their classes; a state says what the columns are."""
    unlabelled, schema = parameters.unlabelled, None if state is None else state.counts.schema
    if state is None and unlabelled == "em":
        unlabelled = "keep"
    rows: Rows | FileRows = labeled_rows(X, y, target, sample_weight, unlabelled, schema)
    return rows


def _outdated(state: FittedState) -> FittedState:
    """Return the state after rows were added or removed: what was tuned or learned by EM is marked as stale."""
    if state.kept is None and state.expected is not None and not state.expected.stale:
        state = replace(state, expected=replace(state.expected, stale=True))
    return outdated(state)


def warn_of_change(before: FittedState, fitted: FittedClassifier) -> None:
    """Warn, once, of what does not know of rows that came or went; to be called when the change is complete."""
    expected = fitted.state.expected
    if expected is not None and before.expected is not None and expected.stale and not before.expected.stale:
        warnings.warn(
            "What was learned from rows without a label stays as it was; `fit` all rows again to learn it anew.",
            stacklevel=levels_to_caller(),
        )
    warn_of_new_rows(before, fitted)


# -- rows that are kept ------------------------------------------------------------------------------------------------


def with_room_to_keep(fitted: FittedClassifier) -> FittedState:
    """Return the state ready to keep rows that come, where none is kept of those before.

    There may be none of those, or their weights, or too few of them for weights. Where they were enough, and the
    textbook model was better, a few new rows do not tell more.
    """
    state, parameters = fitted.state, fitted.parameters
    if state.kept is not None or state.expected is not None or not parameters.leaves_choices:
        return state
    bare, counted = replace(state.schema, grid=None, hints=()), float(state.counts.counter.rows.sum())
    if not counted:
        return replace(state, kept=KeptRows(bare), tuning=UNTUNED)
    before = part_fit(fitted)
    if before is None and (parameters.model != "auto" or counted >= parameters.recipe.fewest_rows):
        return state
    return replace(state, kept=KeptRows(bare, limit=LARGEST_HASH), unkept=UnkeptRows(before))


def _with_rows(parameters: Parameters, state: FittedState, rows: Rows | FileRows, came: float) -> FittedState:
    """Keep more rows, which weigh so much; once they are too many to keep all, lay out bins while all are at hand."""
    before, threads = state.kept, parameters.threads
    if before is None:
        return state
    if isinstance(rows, Rows) and not can_be_kept(rows):
        return replace(state, kept=None, unkept=None)
    if isinstance(rows, FileRows):
        kept = before + KeptRows.of_file(rows, state.counts.counter, threads)
    else:
        kept = before.plus(rows, threads)
    if kept.complete or not before.complete:
        return replace(state, kept=kept).changed_by(came)
    if state.expected is not None:  # of rows without a label, all are needed to learn from them anew
        return _outdated(replace(state, kept=None, unkept=None))
    return _laid_out(parameters, replace(state, kept=kept.labelled()), before.labelled(), rows)


def _laid_out(parameters: Parameters, state: FittedState, before: KeptRows, rows: Rows | FileRows) -> FittedState:
    """Return the state of rows that were all kept and some more: bins, pairs and weights are those of one fit."""
    assert state.kept is not None
    threads, counter, sample = parameters.threads, state.counts.counter.twin(), state.kept.rows()
    counter.schema, counter.together = replace(counter.schema, grid=None), None
    state = replace(state, schema=replace(state.schema, grid=None), counts=LiveCounts(counter.schema, counter=counter))

    def all_rows() -> Blocks:
        earlier = with_class_weights(before.rows(), state.class_weights)
        yield from counted_blocks(counter, earlier)
        if isinstance(rows, FileRows):
            yield from rows.again(counter, threads)
        else:
            yield from counted_blocks(counter, rows)

    after = Tuner(parameters, state).fit(with_class_weights(sample, state.class_weights), all_rows)
    return replace(after, fitted_rows=float(counter.rows.sum()), changed=0.0, due=False)


def _without_rows(
    parameters: Parameters, state: FittedState, rows: Rows | FileRows, counter: TableCounter
) -> FittedState:
    """Drop rows that are forgotten, whose classes have the codes of a counter.

    Where all others are kept, these are counted anew, so that nothing stays of the rest.
    """
    if state.kept is None:
        return state
    if isinstance(rows, FileRows):
        kept = state.kept - KeptRows.of_file(rows, counter, parameters.threads)
    else:
        kept = state.kept.without(rows, parameters.threads)
    if state.all_kept is not None and not kept.total and not state.counts.value.rows.any():
        return _emptied(state)
    state = replace(state, kept=kept).changed_by(float(counter.rows.sum()), due=True)
    return recounted(parameters, state) if kept.complete and kept.total else with_middles_of_rest(state, kept)


def _emptied(state: FittedState) -> FittedState:
    """Return the state after its last row was forgotten: rows that come are kept as from the start."""
    schema = replace(state.schema, grid=None, hints=())
    counts = LiveCounts(schema, value=replace(state.counts.value, schema=schema, joint=None))
    return replace(state, counts=counts, schema=schema, kept=KeptRows(schema), tuning=UNTUNED, changed=0.0, due=True)
