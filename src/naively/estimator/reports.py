"""What a fitted model holds, in frames and in words: probabilities, mutual information, a summary."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._types import Floats, Label, TableLike
from ..counting.notes import about_target
from ..counting.sampled_rows import numbers_to_measure
from ..counting.weights import with_class_weights
from ..errors import InvalidInput
from ..explain.report import importance_frame, information, probabilities, summary
from ..explain.text_evidence import words_for_class
from ..families.family import listed_parts
from ..model.default.fitting import why_textbook
from ..model.measured_information import MeasuredInformation, measure_information
from ..stats.mutual_information import Information
from .fitted_classifier import FittedClassifier
from .rows_in_files import kept_row_count


def column_probabilities(fitted: FittedClassifier, column: str) -> TableLike:
    """Return P(value | class) of a column as a frame; for numbers, the location and the width of each class."""
    known, model = fitted.schema[column], fitted.model
    if column not in model.schema:
        raise InvalidInput(
            f"Column {column!r} is not used: the columns in use are {list(model.schema.names)}.", column=column
        )
    return probabilities(model, known)


def strongest_words(fitted: FittedClassifier, label: Label, top: int, column: str | None) -> TableLike:
    """Return the words that contribute most to a class as a frame."""
    return words_for_class(fitted.model, label, top, column)


def importance_of_columns(fitted: FittedClassifier) -> TableLike:
    """Return the mutual information of each column and the class as a frame, the highest first."""
    return importance_frame(information_of_columns(fitted))


def information_of_columns(fitted: FittedClassifier) -> dict[str, Information]:
    """Return the mutual information of each column and the class."""
    counts, weights = fitted.all_counts, fitted.state.row_weights or {}
    measured = measured_information(fitted)
    known = {} if measured is None else measured.known(float(fitted.counts.rows.sum()))
    each = np.array([weights.get(label, 1.0) for label in counts.classes.labels])
    return information(fitted.model, counts, known, each)


def measured_information(fitted: FittedClassifier) -> MeasuredInformation | None:
    """Return the mutual information of numbers whose bins are not counted; None if there are no rows to measure it on.

    It was measured on some rows of the last fit. If rows came or went since, it is measured on those that are kept.
    """
    state = fitted.state
    measured = None if state.information is None else state.information.measured
    if (measured is not None and measured.fresh) or state.all_kept is None or state.expected is not None:
        return measured
    if not state.all_kept.total:
        return measured
    rows = with_class_weights(state.all_kept.labelled().rows(), state.class_weights)
    some = numbers_to_measure(state.counts.counter, rows, fitted.parameters.threads)
    return measured if some is None else measure_information(some)


def feature_importances(fitted: FittedClassifier) -> Floats:
    """Return the mutual information of the columns, divided by its sum."""
    told = information_of_columns(fitted)
    unknown = [name for name, one in told.items() if one.bits != one.bits]
    if unknown:
        raise InvalidInput(
            f"There is no mutual information of {listed_parts([*map(repr, unknown[:3])])}"
            f"{f' and {len(unknown) - 3} more columns' * (len(unknown) > 3)}: vectors and texts have none, and "
            "numbers have it after `fit`."
        )
    bits = np.array([told[name].bits if name in told else 0.0 for name in fitted.schema.names])
    return bits / bits.sum() if bits.any() else bits


def summary_of(fitted: FittedClassifier) -> str:
    """Return what was learned, in words."""
    remarks = [f"Note: {remark}" for remark in about_target(fitted.all_counts.classes.labels)]
    expected, measured = fitted.state.expected, measured_information(fitted)
    remarks += [] if expected is None else [expected.describe()]
    if measured is not None and not measured.fresh and fitted.counts.joint is None:
        remarks.append(_remark_on_stale_figures(measured, float(fitted.counts.rows.sum())))
    counts, told = fitted.all_counts, information_of_columns(fitted)
    kept = [f"kept beside the counts: {kept_row_count(fitted)}"] if fitted.parameters.leaves_choices else []
    return "\n".join([summary(fitted.model, counts, fitted.schema, told, remarks), *kept, *summary_of_tuning(fitted)])


def _remark_on_stale_figures(measured: MeasuredInformation, rows: float) -> str:
    """Return why the mutual information of numbers is old, or missing: means and variances do not tell it."""
    if measured.known(rows):
        return "The mutual information of numbers is that of the last `fit`; rows were added or removed since."
    return (
        "There is no mutual information of numbers: most rows were added since the last `fit`, and only the means and "
        "variances of their numbers are known. `fit` all rows at once to measure it."
    )


def summary_of_tuning(fitted: FittedClassifier) -> list[str]:
    """Return what was tuned on top of the counts, a line for each."""
    parameters, tuning = fitted.parameters, fitted.tuning
    if fitted.weights is not None:
        return _summary_of_weights(fitted)
    if parameters.model != "textbook":
        return [_reason_for_textbook(fitted), *tuning.summary_lines()]
    if parameters.chooses_smoothing and tuning.smoothing is None:
        return ["smoothing: 1, for there were no rows to choose it with", *tuning.summary_lines()]
    if not tuning.calibrated and not parameters.chooses_smoothing:
        return []
    return replace(tuning, fresh=fitted.is_calibrated).summary_lines()


def _summary_of_weights(fitted: FittedClassifier) -> list[str]:
    """Return which weights were fitted, and by how much they lower the log loss."""
    assert fitted.weights is not None
    if not fitted.has_weighted_columns:
        return [
            "columns: each contributes by itself, because columns or classes have changed since weights were fitted"
        ]
    stale = [] if fitted.is_calibrated else ["rows or settings have changed since the weights were fitted"]
    lines, tuning = fitted.model.summary_lines(), fitted.state.tuning
    return [*tuning.smoothing_lines(), *lines, *stale]


def _reason_for_textbook(fitted: FittedClassifier) -> str:
    """Return why the textbook model answers although the joint model was set."""
    return why_textbook(fitted.counts.rows, fitted.state.expected is None, fitted.parameters.recipe)
