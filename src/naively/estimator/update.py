"""How a fitted model changes: rows come or go, models are merged, and what was fitted is fitted anew.

A state is (counts, retained sample or none, what was fitted). Whatever happens to the rows, counts move at once, and
the sample with them. What was fitted follows at the next question, once enough rows came or went:

- all rows are in the sample: the model is that of one fit of all of them;
- some are: counts are exact, and everything else is fitted to the sample;
- none are: what was fitted stays as it was, and a warning says so once.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np

from .._threads import allowed
from .._types import ColumnLike, Floats, Label, TableLike
from ..counting.counter import TableCounter
from ..counting.files import FileRows
from ..counting.reading import class_weights, labeled_rows, refuse_balanced, with_class_weights
from ..counting.rows import Rows, check_new_classes, check_widths, weightless
from ..counting.sample import Sample
from ..data.column import Column, family_of
from ..data.frame import Frame, frame_of
from ..data.schema import Schema
from ..data.values import ColumnValues
from ..errors import levels_to_caller
from ..families import Bins
from ..files.file import File
from ..model.default.bins import without_middles
from ..model.default.joint_counts import JointCounts, count_jointly
from ..model.tuning import UNTUNED, Tuning
from ..stats import Counts, WordTable
from ..stats.arithmetic import divide
from ..stats.counts import counted_as, is_without_values, times_class_weights
from .fit import fit_rows
from .fitted_classifier import FittedClassifier, outdated, warn_of_new_rows
from .settings import FamilyLike, Parameters, families_of_counts
from .state import FittedState, HeldOutCache, LiveCounts, NumberInformation, state_of_counts
from .tuner import tuned_to_rows


def current_model(fitted: FittedClassifier) -> FittedClassifier:
    """Return the model with everything fitted anew, if enough rows came or went; the same one if not.

    A model that was fitted as a textbook model has no weights; if another is set since, they are fitted now.
    """
    state, parameters, before = fitted.state, fitted.parameters, fitted.state.tuned_with
    if state.kept is None:
        return fitted
    if before is not None and before.model != parameters.model != "textbook" and state.tuning.learned is None:
        return up_to_date(FittedClassifier(parameters, state.changed_by(np.inf)))
    return up_to_date(fitted) if state.changed and state.is_due(parameters.recipe.refit_share) else fitted


def up_to_date(fitted: FittedClassifier) -> FittedClassifier:
    """Return the model with everything fitted anew, if any row came or went since."""
    parameters, state = fitted.parameters, fitted.state
    if state.kept is None or not state.changed:
        return fitted
    state = replace(state, kept=state.kept.in_order(parameters.threads))
    assert state.kept is not None
    if not state.kept.total:
        return FittedClassifier(parameters, replace(state, changed=0.0))
    if state.kept.complete:
        return FittedClassifier(parameters, fitted_anew(parameters, state, state.kept.rows()))
    rows = with_class_weights(state.kept.rows(), state.class_weights)
    after = tuned_to_rows(parameters, replace(state, tuning=UNTUNED), rows)
    total = float(after.counts.counter.rows.sum())
    return FittedClassifier(parameters, replace(after, fitted_rows=total, changed=0.0))


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
    """Return the state with nothing but the counts of the rows of its sample, which are all.

    Classes that no row has may be declared; by default they are those of the state. Everything else is fitted anew
    before the next answer.
    """
    assert state.kept is not None
    kept = state.kept.in_order(parameters.threads)
    rows = with_class_weights(kept.rows(), state.class_weights)
    declared = state.counts.counter.declared if declared is None else declared
    counter = TableCounter(rows.schema(bare_schema(parameters, state.schema)), declared)
    weightless(rows, counter.declared).count(counter, parameters.threads)
    counts = LiveCounts(counter.schema, counter=counter)
    state = replace(state, kept=kept, counts=counts, schema=counter.schema, tuning=UNTUNED, information=None)
    return state.changed_by(np.inf)


def bare_schema(parameters: Parameters, schema: Schema) -> Schema:
    """Return what the columns are, without what was laid out from the rows: bins are cut anew."""
    given = parameters.families
    bare = replace(schema, hints=())
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


# -- rows that come ----------------------------------------------------------------------------------------------------


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


def weighed_as_counted(rows: Rows | FileRows, state: FittedState) -> Rows | FileRows:
    """Return rows with the class weights of those that were counted; files keep a sample if the state does."""
    if isinstance(rows, FileRows):
        rows.by_class, rows.sampling = state.class_weights, "nothing" if state.kept is None else "rows"
        return rows
    return with_class_weights(rows, state.class_weights)


def add_row(fitted: FittedClassifier, row: Mapping[str, object], label: Label) -> FittedState:
    """Count one row given as a dict, and return the state after it, which retains no rows.

    The counter of the state counts it in place.
    """
    after = stale(fitted.state)
    fitted.state.counts.add_row(row, label)
    return after


def add_rows_to_state(
    fitted: FittedClassifier, rows: Rows | FileRows, classes: Sequence[Label] | None = None
) -> FittedState:
    """Count more rows, and return the state after them; classes may be declared that no row has.

    The counter of the state counts them in place: whoever calls this makes a backup of the counts first, and restores
    them if something is raised.
    """
    parameters, state, counter = fitted.parameters, fitted.state, fitted.state.counts.counter
    if state.kept is None and state.expected is None and parameters.leaves_choices and not counter.rows.any():
        state = replace(state, kept=Sample(replace(state.schema, hints=())), tuning=UNTUNED)
    rows = weighed_as_counted(rows, state)
    if classes is not None:
        check_new_classes(counter, [*classes, *rows.target.labels])
    before = float(counter.rows.sum())
    state.counts.add(rows, allowed(parameters.n_jobs, rows.cells))
    came = float(counter.rows.sum()) - before
    if classes is not None:
        counter.classes.codes(classes)
        counter.declared = tuple(dict.fromkeys([*counter.declared, *classes]))
    state = stale(state)
    if state.kept is None:
        return state
    if isinstance(rows, Rows) and not rows.source.is_storable:
        return stale(replace(state, kept=None))
    if isinstance(rows, FileRows):
        kept = state.kept + rows.retained(counter, parameters.threads)
    else:
        kept = state.kept.plus(rows, parameters.threads)
    if state.kept.complete and not kept.complete:
        if state.expected is not None:  # of rows without a label, all are needed to learn from them anew
            return stale(replace(state, kept=None))
        kept = kept.labeled()
    return replace(state, kept=kept).changed_by(came)


def stale(state: FittedState) -> FittedState:
    """Return the state after rows came or went: what was tuned or learned by EM is marked if there is no sample."""
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


# -- rows that go ------------------------------------------------------------------------------------------------------


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


def forget_rows(fitted: FittedClassifier, rows: Rows | FileRows) -> FittedState:
    """Return the state without rows that were counted before: no byte of them stays, nor what they were measured by."""
    parameters, state, counts = fitted.parameters, fitted.state, fitted.counts
    refuse_balanced(parameters.class_weight, "forget")
    rows = weighed_as_counted(rows, state)
    if isinstance(rows, Rows):
        check_widths(rows.source, state.schema, counts)
    part, joint = counted_again(parameters, state, rows)
    left, measured = without_words(counts - part.value()), None
    if state.information is not None:
        measured = NumberInformation(measured=state.information.measured)
    weights, known, schema = state.row_weights, set(left.classes.labels), replace(state.schema, hints=())
    tuning = UNTUNED if state.kept is not None else tuning_of_rest(parameters, state, left, joint)
    after = replace(
        state,
        counts=LiveCounts(schema, value=Counts(left.classes, left.rows, left.columns, schema)),
        schema=schema,
        tuning=tuning,
        information=measured,
        held_out=HeldOutCache(),
        row_weights=None if weights is None else {label: by for label, by in weights.items() if label in known},
    )
    after = stale(after)
    if after.kept is None:
        return after
    if isinstance(rows, FileRows):
        kept = after.kept - rows.retained(part, parameters.threads)
    else:
        kept = after.kept.without(rows, parameters.threads)
    if not kept.total and not left.rows.any():  # rows that come are retained as from the start
        return replace(after, kept=Sample(schema), changed=np.inf)
    after = replace(after, kept=kept).changed_by(np.inf)
    return recounted(parameters, after) if kept.complete and kept.total else after


def counted_again(
    parameters: Parameters, state: FittedState, rows: Rows | FileRows
) -> tuple[TableCounter, list[JointCounts]]:
    """Count rows that go; jointly, too, if what was fitted does not follow from a sample without them."""
    part, threads = TableCounter(state.schema), parameters.threads
    learned, joint = None if state.kept is not None else state.tuning.learned, list[JointCounts]()
    if isinstance(rows, FileRows) and learned is not None:
        grid = learned.joint.grid
        rows.each_block = lambda block: joint.append(
            count_jointly(part, [(block.frame, block.y, block.weights)], grid, threads)
        )
    rows.count(part, threads)
    if isinstance(rows, Rows) and learned is not None:
        joint.append(count_jointly(part, rows.blocks(part), learned.joint.grid, threads))
    return part, joint


def without_words(counts: Counts) -> Counts:
    """Return counts without words that no text is left of."""
    columns = {
        name: part.without_unused_words() if isinstance(part, WordTable) else part
        for name, part in counts.columns.items()
    }
    return Counts(counts.classes, counts.rows, columns, counts.schema)


def tuning_of_rest(parameters: Parameters, state: FittedState, counts: Counts, gone: Sequence[JointCounts]) -> Tuning:
    """Return what was tuned without classes and values that no row is left of; weights stay if all classes are left.

    If the fit is to some of the rows, or to rows of one of several models, it is not known which of those that go were
    among them: of more than a few, nothing of it can stay.
    """
    tuning, left = state.tuning, set(counts.classes.labels)
    if not left.issuperset(tuning.classes):
        there = [label in left for label in tuning.classes]
        classes = tuple(label for label in tuning.classes if label in left)
        bias = None if tuning.bias is None else tuning.bias[there]
        return replace(tuning, learned=None, classes=classes, bias=bias)
    learned = tuning.learned
    if learned is None:
        return tuning
    taken, fitted_to = reduce(add, gone), float(learned.joint.rows.sum())
    counted = state.counts.value if state.expected is None else state.counts.value + state.expected.counts
    if not np.isclose(fitted_to, counted.rows.sum()) and taken.rows.sum() > parameters.recipe.refit_share * fitted_to:
        return replace(tuning, learned=None)
    joint = learned.joint.without(taken)
    if joint.grid.labels != learned.joint.grid.labels:  # coefficients were fitted to labels that are gone
        learned = learned.without_coefficients()
        tuning = replace(tuning, loss_after=learned.last_loss)
    joint = replace(joint, grid=without_middles(joint.grid, taken.touched))
    words = {name: result.of_rest(counts.columns[name]) for name, result in learned.words.items()}
    return replace(tuning, learned=replace(learned, joint=joint, words=words))


# -- weights of rows, and several models -------------------------------------------------------------------------------


def times_weight(fitted: FittedClassifier, weight: float) -> FittedClassifier:
    """Return the model of the same rows, each weighing so many times as much."""
    state = fitted.state
    state = replace(state, counts=LiveCounts(state.schema, value=state.counts.value * weight))
    learned = state.tuning.learned
    if state.kept is not None:
        state = replace(state, kept=state.kept * weight, row_weights=None).changed_by(np.inf)
    elif learned is not None:
        state = replace(state, tuning=replace(state.tuning, learned=replace(learned, joint=learned.joint * weight)))
    return FittedClassifier(fitted.parameters, stale(state))


def merged_state(parameters: Parameters, states: Sequence[FittedState], schema: Schema) -> FittedState:
    """Return the state of all rows of several states, whose columns are these; without a fit yet."""
    every, first = [state.kept for state in states if state.kept is not None], states[0]
    kept = reduce(add, every) if len(every) == len(states) else None
    soft = any(state.has_soft_labels for state in states)
    if kept is not None and kept.complete:
        declared = dict.fromkeys(label for state in states for label in state.counts.counter.declared)
        return recounted(parameters, replace(first, kept=kept, schema=schema, has_soft_labels=soft), list(declared))
    states = weighed_alike(parameters, states)
    merged = replace(
        state_of_counts(parameters, reduce(add, [state.counts.value for state in states]), replace(schema, hints=())),
        class_weights=states[0].class_weights,
        has_soft_labels=soft,
        has_names=first.has_names,
        # From rows without a label others are learned where all rows are there.
        kept=None if kept is None else kept.labeled(),
    )
    return merged if kept is None else merged.changed_by(np.inf)


def weighed_alike(parameters: Parameters, states: Sequence[FittedState]) -> list[FittedState]:
    """Return states whose rows weigh what their classes weigh in all of them, whatever they weighed when counted."""
    if all(state.class_weights is None for state in states):
        return list(states)
    own = [own_rows(state) for state in states]
    total = reduce(add, (Counts(state.counts.value.classes, rows, {}) for state, rows in zip(states, own, strict=True)))
    given = parameters.class_weight if isinstance(parameters.class_weight, str) else states[0].class_weights
    named = () if isinstance(given, str) or given is None else list(given)
    weights = class_weights(given, total.classes.labels, total.rows, named) or {}
    result = []
    for state in states:
        value, then = state.counts.value, state.class_weights or {}
        now, before = (np.array([of.get(label, 1.0) for label in value.classes.labels]) for of in (weights, then))
        counts = LiveCounts(state.schema, value=times_class_weights(value, divide(now, before)))
        result.append(replace(state, counts=counts, class_weights=weights or None))
    return result


def own_rows(state: FittedState) -> Floats:
    """Return the rows of each class without the weights of their classes."""
    counts, weights = state.counts.value, state.class_weights or {}
    return divide(counts.rows, np.array([weights.get(label, 1.0) for label in counts.classes.labels]))


# -- columns without any value: their type is that of other models, or of rows that come -------------------------------


def with_types_of_others(models: Sequence[FittedClassifier]) -> list[FittedClassifier]:
    """Return models whose columns without any value have the types of other models.

    A column of missing values alone says nothing of its type: data frames call it one of numbers, or of objects.
    """
    types: dict[str, Column] = {}
    for model in models:
        for column in model.schema:
            if not is_without_values(model.counts.columns.get(column.name)):
                types.setdefault(column.name, column)
    for column in models[0].schema:
        types.setdefault(column.name, column)
    return [_with_types(model, types) for model in models]


def with_types_of_rows(fitted: FittedClassifier, X: TableLike | File) -> FittedClassifier:
    """Return a model whose empty columns have the types that they have in rows that are to be counted."""
    names = fitted.schema.empty
    if not names:
        return fitted
    if isinstance(X, File):
        schema = X.schema(apart=[name for name in X.columns() if name not in names])
        return _with_types(fitted, {column.name: column for column in schema})
    frame = frame_of(X).aligned(fitted.schema)
    some = {name: v for name in names if not (isinstance(v := frame.columns[name], ColumnValues) and v.empty)}
    schema = Frame(some, frame.rows, named=frame.named).schema()
    return _with_types(fitted, {column.name: column for column in schema})


def without_types(state: FittedState, names: Sequence[str]) -> FittedState:
    """Return the state, those of some columns empty that have no value yet."""
    counted = state.counts.counter.without_values()
    names = [name for name in names if name in counted and state.schema[name].type != "empty"]
    if not names:
        return state
    schema, counter = state.schema.without_types(names), copy(state.counts.counter)
    counter.schema = counter.schema.without_types(names)
    kept = None if state.kept is None else state.kept.read_as(state.kept.schema.without_types(names))
    return replace(state, schema=schema, counts=LiveCounts(schema, counter=counter), kept=kept)


def _with_types(model: FittedClassifier, types: Mapping[str, Column]) -> FittedClassifier:
    """Return a model with other types of columns that have no value."""
    schema, counted = model.schema, model.counts.columns
    changed = {
        column.name: types[column.name]
        for column in schema
        if column.name in types
        and (types[column.name].type, types[column.name].kind) != (column.type, column.kind)
        and is_without_values(counted.get(column.name))
    }
    if not changed:
        return model
    kept, columns = model.state.kept, tuple(changed.get(column.name, column) for column in schema)
    bare = replace(schema, columns=columns, hints=())
    if kept is not None and kept.complete:
        state = replace(model.state, kept=kept.read_as(bare, changed), schema=bare)
        return FittedClassifier(model.parameters, recounted(model.parameters, state))
    return FittedClassifier(model.parameters, _counted_as(model.state, replace(schema, columns=columns), changed))


def _counted_as(state: FittedState, schema: Schema, changed: Mapping[str, Column]) -> FittedState:
    """Return the state with the same counts, some columns without any value counted as a schema has them."""
    nothing = TableCounter(Schema(tuple(changed.values()))).value().columns
    counts = LiveCounts(schema, value=counted_as(state.counts.value, nothing, schema))
    kept = None if state.kept is None else replace(state.kept, schema=state.kept.schema.typed_as(schema, changed))
    return replace(state, schema=schema, counts=counts, kept=kept)
