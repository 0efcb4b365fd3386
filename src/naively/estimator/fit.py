"""From rows with their classes to a fitted state: of a table in memory, or of files in one pass or several."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

from .._threads import WORTHWHILE, shared_threads
from .._types import Label
from ..counting.counter import TableCounter
from ..counting.files import FileRows
from ..counting.notes import about_target, is_doubtful
from ..counting.reading import checked_classes
from ..counting.rows import Rows, weightless
from ..counting.sample import Sample, numbers_to_measure
from ..counting.weights import (
    check_scale,
    check_scale_of_file,
    class_weights_of,
    set_file_weights,
    with_class_weights,
)
from ..errors import TargetWarning, levels_to_caller
from ..model.em import EMSettings, Expected, fit_em
from ..stats import Counts
from .fitted_classifier import prior_pseudo_counts, textbook_model
from .settings import Parameters, check_no_em
from .state import FittedState, LiveCounts, NumberInformation
from .tuner import Tuner
from .unlabelled import UnlabeledRows, with_unlabelled_rows


def fit_rows(
    parameters: Parameters,
    rows: Rows | FileRows,
    to_come: Sequence[Label] = (),
    *,
    normalize_weight: bool = False,
    kept: Sample | None = None,
) -> FittedState:
    """Return the state of these rows; classes that are to come may have weights already.

    What is kept of the rows may be given, if they were kept before.
    """
    worthwhile = isinstance(rows, FileRows) or rows.cells >= WORTHWHILE
    with shared_threads(parameters.threads if worthwhile else 1):
        if isinstance(rows, FileRows):
            return _fit_file(parameters, rows, to_come, normalize_weight)
        return _fit_table(parameters, rows, to_come, kept)


def _fit_table(parameters: Parameters, rows: Rows, to_come: Sequence[Label], kept: Sample | None) -> FittedState:
    """Return the state of the rows of a table."""
    declared, given = checked_classes(parameters.classes, rows), rows
    if kept is None:  # weights of kept rows may have faded, which nobody has to change
        check_scale(rows.weights)
    rows = with_class_weights(rows, class_weights_of(parameters.class_weight, rows, [*declared, *to_come]))
    counter = TableCounter(rows.schema(parameters.families, parameters.model != "textbook"), declared)
    labelled = weightless(rows, declared)
    sampling = parameters.leaves_choices or bool(counter.of_numbers)
    labelled.count(counter, parameters.threads, sampling)
    unlabelled = UnlabeledRows.of(rows) if parameters.unlabelled == "em" else None
    counter.drop_types(parameters.families or (), () if unlabelled is None else unlabelled.filled())
    state = None if unlabelled is None else _default_state(parameters, counter, labelled, unlabelled)
    if state is None:
        expected = None if unlabelled is None else _expected(parameters, rows, counter.value(), declared)
        state = counted_state(parameters, counter, labelled, expected)
    if parameters.leaves_choices:
        kept = kept or Sample.of(replace(given, hashes=labelled.hashes), state.schema, parameters.threads)
        if unlabelled is None or kept.complete:  # of rows without a label, all are needed to learn from them anew
            state = replace(state, kept=kept)
    return state


def _default_state(
    parameters: Parameters, counter: TableCounter, labelled: Rows, unlabelled: UnlabeledRows
) -> FittedState | None:
    """Return the default model of labeled rows and others; None if the labeled ones are too few, or lack a class."""
    enough_rows = counter.rows.sum() >= parameters.recipe.fewest_rows
    if parameters.model != "auto" or not enough_rows or not counter.rows[: len(counter.classes)].all():
        return None
    state = counted_state(parameters, counter, labelled)
    if state.tuning.learned is None:
        return None
    return with_unlabelled_rows(parameters, state, labelled, unlabelled, counter)


def _fit_file(parameters: Parameters, rows: FileRows, to_come: Sequence[Label], normalize_weight: bool) -> FittedState:
    """Return the state of the rows of files, which are read once."""
    declared = prepare_file(parameters, rows, to_come, normalize_weight)
    counter = TableCounter(rows.schema(parameters.families, parameters.model != "textbook"), declared)
    rows.source.keep_no_more()
    rows.count(counter, parameters.threads)
    counter.drop_types(parameters.families or ())
    state = counted_state(parameters, counter, rows)
    check_scale_of_file(rows)
    return state


def prepare_file(
    parameters: Parameters, rows: FileRows, to_come: Sequence[Label] = (), normalize_weight: bool = False
) -> list[Label]:
    """Set how rows of files are counted: their weights, and whether a sample is kept; return the declared classes."""
    declared = checked_classes(parameters.classes, rows)
    check_no_em(parameters)
    rows.sampling = "rows" if parameters.leaves_choices else "numbers"
    set_file_weights(rows, parameters.class_weight, [*declared, *to_come], normalize_weight)
    return declared


def counted_state(
    parameters: Parameters,
    counter: TableCounter,
    rows: Rows | FileRows,
    expected: Expected | None = None,
) -> FittedState:
    """Return the state of rows that a counter has counted, with what the settings leave to them to choose."""
    if counter.schema.empty and isinstance(rows, Rows):
        rows = replace(rows, source=rows.source.on(counter.schema))
    schema = replace(counter.schema, hints=rows.hints(counter))
    state = FittedState(
        LiveCounts(schema, counter=counter),
        schema,
        rows.label_type,
        rows.named,
        class_weights=rows.by_class,
        row_weights=rows.heaviest(counter),
        expected=expected,
        has_soft_labels=rows.target.soft,
    )
    tuner = Tuner(parameters, state)
    if isinstance(rows, FileRows):
        sample = rows.sampled(counter)
        some = None if sample is None else with_class_weights(sample, rows.by_class)
        if parameters.leaves_choices and some is not None:
            state = replace(tuner.fit(some), kept=rows.retained(counter, parameters.threads))
    else:
        some, state = rows, tuner.fit(rows)
    binned = () if state.tuning.learned is None else state.tuning.learned.joint.grid.names
    total = float(counter.rows.sum())
    some = numbers_to_measure(counter, some, binned, parameters.threads)
    information = None if some is None else NumberInformation(some, total)
    return replace(state, information=information, fitted_rows=total)


def _expected(parameters: Parameters, rows: Rows, counts: Counts, declared: Sequence[Label]) -> Expected | None:
    """Return the counts that are expected of rows without a label."""
    settings = replace(parameters.settings(parameters.smoothing_or(1.0)), marginal=True)
    how = EMSettings(
        lambda counts: textbook_model(parameters, counts, counts.schema, settings),
        prior_pseudo_counts(parameters) or 0.0,
        isinstance(parameters.prior, str),
        parameters.random_state,
        parameters.threads,
        parameters.recipe,
    )
    return fit_em(rows, counts, declared, how)


def warn_of_target(counts: Counts) -> None:
    """Warn of a target that can hardly be meant: one class alone, or hundreds of numbers."""
    labels = counts.classes.labels
    if is_doubtful(labels):
        warnings.warn(about_target(labels)[0], TargetWarning, stacklevel=levels_to_caller())
