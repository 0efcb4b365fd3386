"""`partial_fit` and `forget`: rows are added to the counts of a fitted model, or subtracted from them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace

from .._threads import allowed
from .._types import ColumnLike, Label, TableLike
from ..counting.counter import TableCounter
from ..counting.files import FileRows
from ..counting.first_rows import MOST, FirstRows
from ..counting.rows import Rows, check_new_classes, check_widths, count_rows, labeled_rows
from ..counting.weights import refuse_balanced, with_class_weights
from ..data.frame import Frame
from ..errors import levels_to_caller
from ..model.recipe import RECIPE
from ..model.tuning import UNTUNED
from .fitted_classifier import FittedClassifier
from .freshness import outdated, warn_if_outdated, warn_of_new_rows
from .live_counts import LiveCounts
from .settings import Parameters
from .state import FittedState, HeldOutCache, NumberInformation
from .tuner import Tuner


def add_row(fitted: FittedClassifier, row: Mapping[str, object], label: Label) -> FittedState:
    """Count one row given as a dict, and return the state after it. The counter of the state counts it in place."""
    state = fitted.state
    after = _outdated(state)
    state.counts.add_row(row, label)
    if state.first_rows is None:
        return after
    rows = labeled_rows(row, [label], None, None, fitted.parameters.unlabelled, state.counts.counter.schema)
    return _with_more_rows(fitted.parameters, after, rows)


def add_rows_to_state(
    fitted: FittedClassifier, rows: Rows | FileRows, classes: Sequence[Label] | None = None
) -> FittedState:
    """Count more rows, and return the state after them; classes may be declared that no row has.

    The counter of the state counts them in place: whoever calls this makes a backup of the counts first, and restores
    them if something is raised.
    """
    parameters, state = fitted.parameters, fitted.state
    rows, counter = weighed_as_counted(rows, state), state.counts.counter
    if classes is not None:
        check_new_classes(counter, [*classes, *rows.target.labels])
    state.counts.add(rows, allowed(parameters.n_jobs, rows.cells))
    if classes is not None:
        counter.classes.codes(classes)
        counter.declared = tuple(dict.fromkeys([*counter.declared, *classes]))
    return _with_more_rows(parameters, _outdated(state), rows)


def forget_rows(fitted: FittedClassifier, rows: Rows | FileRows) -> FittedState:
    """Return the state without rows that were counted before."""
    parameters, state, counts = fitted.parameters, fitted.state, fitted.counts
    refuse_balanced(parameters.class_weight, "forget")
    rows = weighed_as_counted(rows, state)
    if isinstance(rows.source, Frame):
        check_widths(rows.source, state.schema, counts)
    part = TableCounter(state.schema)
    count_rows(part, rows, parameters.threads)
    left = LiveCounts(state.schema, value=counts - part.value())
    # No row is kept, nor any score of one, once it may be one to forget.
    measured = None if state.information is None else NumberInformation(measured=state.information.measured)
    after = _outdated(replace(state, counts=left, information=measured, held_out=HeldOutCache()))
    return _with_fewer_rows(parameters, after, rows)


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
    warn_of_change(fitted.state, after, forgotten=True)
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
    if state.expected is not None and not state.expected.stale:
        state = replace(state, expected=replace(state.expected, stale=True))
    return outdated(state)


def warn_of_change(before: FittedState, fitted: FittedClassifier, *, forgotten: bool = False) -> None:
    """Warn, once, of what does not know of rows that came or went; to be called when the change is complete."""
    expected = fitted.state.expected
    if expected is not None and before.expected is not None and expected.stale and not before.expected.stale:
        warnings.warn(
            "What was learned from rows without a label stays as it was; `fit` all rows again to learn it anew.",
            stacklevel=levels_to_caller(),
        )
    warn_of_new_rows(before, fitted)
    if forgotten and before.first_rows is not None and fitted.state.first_rows is None:
        warn_if_outdated(fitted)


# -- the first rows of a model -----------------------------------------------------------------------------------------


def _with_more_rows(parameters: Parameters, state: FittedState, rows: Rows | FileRows) -> FittedState:
    """Keep more of the first rows; once they are enough, and each time they have doubled, fit weights on all."""
    if state.first_rows is None:
        return state
    first = state.first_rows.more(rows, state.schema) if isinstance(rows, Rows) else None
    state = replace(state, first_rows=first)
    return state if first is None or len(first.rows) < first.due else _fit_first_rows(parameters, state, first)


def _with_fewer_rows(parameters: Parameters, state: FittedState, rows: Rows | FileRows) -> FittedState:
    """Drop rows that were forgotten from the first ones, and fit weights on those that are left."""
    if state.first_rows is None:
        return state
    first = state.first_rows.less(rows, state.schema) if isinstance(rows, Rows) else None
    state = replace(state, first_rows=first)
    if first is None:
        return state
    if len(first.rows) >= RECIPE.fewest_rows:
        return _fit_first_rows(parameters, state, first)
    return replace(state, tuning=UNTUNED, first_rows=first._replace(due=RECIPE.fewest_rows))


def _fit_first_rows(parameters: Parameters, state: FittedState, first: FirstRows) -> FittedState:
    """Fit weights on the rows that are kept, if they suffice."""
    table, labels, weights = first.columns(state.schema)
    every = labeled_rows(table, labels, None, weights, schema=state.schema)
    if not Tuner(parameters, state).fits_weights(every):
        return state
    counter = state.counts.counter.twin()
    counter.together = None  # bins are laid out anew
    state = Tuner(parameters, replace(state, counts=LiveCounts(state.schema, counter=counter))).fit(every)
    due = None if first.full else first._replace(due=min(2 * len(first.rows), MOST))
    return replace(state, first_rows=due)
