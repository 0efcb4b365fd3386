"""From rows with their classes to a fitted state: of a table in memory, or of files in one pass or several."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .._threads import WORTHWHILE, shared_threads
from .._types import Floats, Label, Places
from ..counting.counter import TableCounter
from ..counting.files import FileRows
from ..counting.notes import about_target, is_doubtful
from ..counting.profile import Profile
from ..counting.reading import (
    check_scale,
    check_scale_of_file,
    checked_classes,
    class_weights_of,
    set_file_weights,
    weighted_counts,
    with_class_weights,
)
from ..counting.row_hash import content_order
from ..counting.rows import Rows, weightless
from ..counting.sample import Sample, numbers_to_measure
from ..data.frame import Frame, frame_of
from ..data.target import Target
from ..data.values import ColumnValues
from ..errors import IncompatibleCounts, TargetWarning, levels_to_caller
from ..model.default.joint_counts import count_jointly
from ..model.em import EMSettings, Expected, fit_em
from ..model.leave_one_out import fold_rows, hard_labels, rows_at, rows_with_weight, training_counts, truth_of
from ..model.scorer import AdditiveModel
from ..stats import Counts
from .fitted_classifier import FittedClassifier, prior_pseudo_counts, textbook_model
from .folds import FoldModels
from .settings import Parameters, check_no_em
from .state import FittedState, LiveCounts, NumberInformation
from .tuner import tuned_to_rows


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
    if isinstance(rows, FileRows):
        sample = rows.sampled(counter)
        some = None if sample is None else with_class_weights(sample, rows.by_class)
        if parameters.leaves_choices and some is not None:
            state = replace(tuned_to_rows(parameters, state, some), kept=rows.retained(counter, parameters.threads))
    else:
        some, state = rows, tuned_to_rows(parameters, state, rows)
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
        parameters.threads,
        parameters.recipe,
    )
    return fit_em(rows, counts, declared, how)


def warn_of_target(counts: Counts) -> None:
    """Warn of a target that can hardly be meant: one class alone, or hundreds of numbers."""
    labels = counts.classes.labels
    if is_doubtful(labels):
        warnings.warn(about_target(labels)[0], TargetWarning, stacklevel=levels_to_caller())


# -- rows without a label in the default model -------------------------------------------------------------------------

# The default is fitted to the rows that have a label. It gives the probabilities of the classes of each row without
# one, and these are counted as soft labels are, beside what was counted. The weights stay as they are: they cannot be
# fitted again, because the label of each row took part in the expected labels of others. For the same reason folds of
# labeled rows decide whether the expected counts are used: a held-out row has no part in its prediction.

# Probabilities of 0 would make the mean log loss infinite.
LEAST = 1e-15


class UnlabeledRows(NamedTuple):
    """Rows without a label, and how much each weighs."""

    frame: Frame
    weights: Floats

    @classmethod
    def of(cls, rows: Rows) -> UnlabeledRows | None:
        """Return the rows without a label; None if every row that weighs something has one."""
        weights = np.ones(rows.target.rows) if rows.weights is None else rows.weights
        at = np.flatnonzero((rows.target.codes < 0) & (weights > 0))
        return cls(frame_of(rows.source).take(at).coded(), weights[at]) if len(at) else None

    def filled(self) -> list[str]:
        """Return the columns that have a value in one of the rows."""
        columns = self.frame.columns.items()
        return [name for name, values in columns if not (isinstance(values, ColumnValues) and values.empty)]

    def counted_beside(self, fitted: FittedClassifier) -> FittedState:
        """Return the state of a model with the rows counted by the probabilities of their classes under it.

        Together the rows weigh a few times what the labeled rows do, at most.
        """
        parameters, counts, state = fitted.parameters, fitted.counts, fitted.state
        counter, threads = TableCounter(state.counts.schema, tuple(counts.classes.labels)), parameters.threads
        proportions: Floats = fitted.model.answer(AdditiveModel.posterior, self.frame, threads)
        codes = counter.classes.codes(fitted.model.classes.labels)
        total = float(self.weights.sum())
        weights = self.weights * min(parameters.recipe.unlabelled_weight * float(counts.rows.sum()) / total, 1.0)
        target = Target.of_proportions(list(fitted.model.classes.labels), proportions, state.label_type)
        counter.add(self.frame, target, weights, threads)
        rows = float(counts.rows.sum())
        state = replace(state, expected=Expected(counter.value(), rows, total, (), True))
        if state.tuning.learned is None:
            return state
        learned, frame = state.tuning.learned, self.frame
        each = zip(codes, proportions.T, strict=True)
        blocks = ((frame, np.full(frame.rows, k, dtype=np.int32), np.ascontiguousarray(weights * p)) for k, p in each)
        joint = learned.joint + count_jointly(counter, blocks, learned.joint.grid, threads)
        return replace(state, tuning=replace(state.tuning, learned=replace(learned, joint=joint)))


def with_unlabelled_rows(
    parameters: Parameters, state: FittedState, labelled: Rows, unlabelled: UnlabeledRows, counter: TableCounter
) -> FittedState:
    """Return the state of labeled rows with the expected counts of others, or with a remark why they are not used.

    The counter has counted the labeled rows, without pairs of columns.
    """
    fitted, known = FittedClassifier(parameters, state), rows_with_weight(labelled)
    losses = losses_of_folds(parameters, known, unlabelled, counter)
    without, gain, error = float(losses[0].mean()), losses[0] - losses[1], 0.0
    if len(gain) > 1:
        error = float(gain.std(ddof=1)) / len(gain) ** 0.5
    rows = float(known.target.rows if known.weights is None else known.weights.sum())
    others, beside = float(unlabelled.weights.sum()), float(losses[1].mean())
    if float(gain.mean()) > error:
        with_others = unlabelled.counted_beside(fitted)
        assert with_others.expected is not None
        expected = replace(with_others.expected, labelled=rows, losses=(without, beside))
        return replace(with_others, expected=expected)
    remark = (
        f"{others:.10g} rows have no label and are not used. With their expected labels the log loss of held-out "
        f"labelled rows is {beside:.3g}, without them {without:.3g}; it has to be lower by a standard error."
    )
    return replace(state, schema=replace(state.schema, hints=(*state.schema.hints, remark)))


def losses_of_folds(parameters: Parameters, rows: Rows, unlabelled: UnlabeledRows, counter: TableCounter) -> Floats:
    """Return the log loss of each held-out row, first without and then with the expected counts, [2, row].

    Rows whose class no other row has are left out: no model knows it.
    """
    recipe, threads, whole = parameters.recipe, parameters.threads, counter.value()
    how = replace(parameters, unlabelled="error", class_weight=None)  # rows weigh what their classes do already
    order = content_order(counter, frame_of(rows.source), truth_of(rows, whole), threads)
    rows = rows_at(rows, order)
    models, result = FoldModels(how, None, recipe.fewest_rows_in_folds), []
    for test in fold_rows(rows, recipe.unlabelled_folds, 0):
        asked = rows_at(rows, test)
        counts = training_counts(None, asked, rows, whole, threads)
        fitted = models.fitted(counts, whole, rows, None, test)
        target = hard_labels(asked)
        y = fitted.counts.classes.places(target.labels)[target.codes]
        known = np.flatnonzero((y >= 0) & (fitted.counts.rows[y] > 0))
        beside = FittedClassifier(how, unlabelled.counted_beside(fitted))
        result.append(np.array([own_losses(one, asked, y)[known] for one in (fitted, beside)]))
    return np.hstack(result)


def own_losses(fitted: FittedClassifier, rows: Rows, y: Places) -> Floats:
    """Return minus the log of the probability of each row's class."""
    p: Floats = fitted.model.answer(AdditiveModel.posterior, rows.source, fitted.parameters.threads)
    return np.asarray(-np.log(np.maximum(p[np.arange(len(y)), y], LEAST)))


# -- from the counts of parts and their profile to a fitted state ------------------------------------------------------


def state_of_profile(parameters: Parameters, counts: Counts, profile: Profile) -> FittedState:
    """Return the state of rows that were profiled and counted; what the settings leave open the sample decides."""
    parameters.check()
    check_no_em(parameters)
    check_same_rows(counts, profile)
    schema = replace(counts.schema or profile.schema_for(parameters), hints=())
    weighted, by_class = weighted_counts(counts, parameters.class_weight)
    counter = TableCounter.of(Counts(weighted.classes, weighted.rows, weighted.columns, schema), schema)
    counter.drop_types(parameters.families or ())
    rows = profile.file_rows(list(counter.classes.places))
    rows.by_class = by_class
    return counted_state(parameters, counter, rows)


def check_same_rows(counts: Counts, profile: Profile) -> None:
    """Refuse counts of other rows than were profiled."""
    counted = dict(zip(counts.classes.labels, counts.rows.tolist(), strict=True))
    seen = dict(zip(profile.counts.classes.labels, profile.counts.rows.tolist(), strict=True))
    for label in {**counted, **seen}:
        a, b = counted.get(label, 0.0), seen.get(label, 0.0)
        if abs(a - b) > 1e-9 * max(a, b):
            raise IncompatibleCounts(
                f"{a:.10g} rows of class {label!r} were counted, and {b:.10g} were profiled. Profile all rows that "
                "are counted, and at no others."
            )
