"""What a fitted model holds, in frames, in words and as plain tables: probabilities, mutual information, a summary."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .._frames import frame
from .._types import Floats, TableLike
from ..counting.notes import about_target
from ..counting.reading import with_class_weights
from ..counting.sample import numbers_to_measure
from ..errors import InvalidInput, InvalidSetting
from ..errors.message import Setting
from ..explain.distributions import strongest_first
from ..families.family import listed_parts
from ..model.column_parts import InformationSource
from ..model.default.fitting import why_textbook
from ..stats.arithmetic import Information
from .fitted_classifier import FittedClassifier, kept_row_count
from .state import MeasuredInformation, measure_information

if TYPE_CHECKING:
    from ..flat import FlatModel

# Columns and classes that have their place in the summary; of wide tables the others are left to `importance()`.
MOST_COLUMNS, MOST_CLASSES = 30, 8


def flattened(fitted: FittedClassifier, words: int | None) -> FlatModel:
    """Return the model as plain tables, for whoever scores rows without Python."""
    from ..flat.flattening import flat_model

    if words is not None and (isinstance(words, bool) or not isinstance(words, int) or words < 0):
        raise InvalidSetting(Setting("words", words), " is no number of words; give 0 or more, or None for all.")
    return flat_model(fitted.model, words=words)


def column_probabilities(fitted: FittedClassifier, column: str) -> TableLike:
    """Return P(value | class) of a column as a frame; for numbers, the location and the width of each class."""
    name, model = fitted.schema[column].name, fitted.model
    if column not in model.schema:
        raise InvalidInput(
            f"Column {column!r} is not used: the columns in use are {list(model.schema.names)}.", column=column
        )
    return frame(dict(model.parts[name].table([str(label) for label in model.classes.labels])))


# -- mutual information ------------------------------------------------------------------------------------------------


def information_of_columns(fitted: FittedClassifier) -> dict[str, Information]:
    """Return the mutual information of each column and the class, from counts of values and bins.

    Of numbers whose bins were not counted it is what was measured on some rows; otherwise there is none, and none of
    vectors and texts. A missing value contributes nothing, unless it is a value like any other.
    """
    counts, weights = fitted.all_counts, fitted.state.row_weights or {}
    measured = measured_information(fitted)
    on_rows = {} if measured is None else measured.known(float(fitted.counts.rows.sum()))
    heaviest = np.array([weights.get(label, 1.0) for label in counts.classes.labels])
    bins = {name: n for name, (_, n) in fitted.model.fine_bins.items()}
    source = InformationSource(counts, bins, on_rows, heaviest)
    return {name: part.information(source) for name, part in fitted.model.parts.items()}


def measured_information(fitted: FittedClassifier) -> MeasuredInformation | None:
    """Return the mutual information of numbers whose bins are not counted; None if there are no rows to measure it on.

    It was measured on some rows of the last fit. If rows came or went since, it is measured on those that are kept.
    """
    state = fitted.state
    measured = None if state.information is None else state.information.measured
    if (measured is not None and measured.fresh) or state.kept is None or state.expected is not None:
        return measured
    if not state.kept.total:
        return measured
    rows = with_class_weights(state.kept.labeled().rows(), state.class_weights)
    counter = state.counts.counter
    some = numbers_to_measure(counter, rows, fitted.model.fine_bins, fitted.parameters.threads)
    return measured if some is None else measure_information(some, float(counter.rows.sum()))


def importance_of_columns(fitted: FittedClassifier) -> TableLike:
    """Return the mutual information of each column and the class in bits, the highest first, with its error."""
    measured = information_of_columns(fitted)
    names = strongest_first(measured)
    figures = {key: [getattr(measured[name], key) for name in names] for key in Information._fields}
    return frame({"column": names, **figures})


def feature_importances(fitted: FittedClassifier) -> Floats:
    """Return the mutual information of the columns, divided by its sum."""
    measured = information_of_columns(fitted)
    unknown = [name for name, figures in measured.items() if np.isnan(figures.bits)]
    if unknown:
        raise InvalidInput(
            f"There is no mutual information of {listed_parts([*map(repr, unknown[:3])])}"
            f"{f' and {len(unknown) - 3} more columns' * (len(unknown) > 3)}: vectors and texts have none, and "
            "numbers have it after `fit`."
        )
    bits = np.array([measured[name].bits if name in measured else 0.0 for name in fitted.schema.names])
    return bits / bits.sum() if bits.any() else bits


# -- in words ----------------------------------------------------------------------------------------------------------


def summary_of(fitted: FittedClassifier) -> str:
    """Return what was learned, in words."""
    counts, model, information = fitted.all_counts, fitted.model, information_of_columns(fitted)
    rows, labels = counts.rows.sum(), counts.classes.labels
    order = sorted(zip(labels, counts.rows, strict=True), key=lambda pair: -pair[1])[:MOST_CLASSES]
    shares = ", ".join(f"{label} {n / rows:.1%}" if rows else f"{label}" for label, n in order)
    lines = [f"{rows:.10g} rows, {len(labels)} classes: {shares}{' …' if len(labels) > MOST_CLASSES else ''}"]
    lines += [f"Note: {remark}" for remark in about_target(labels)]
    expected, measured = fitted.state.expected, measured_information(fitted)
    lines += [] if expected is None else [expected.describe()]
    if measured is not None and not measured.fresh and not fitted.model.fine_bins:
        lines.append(_remark_on_stale_figures(measured, float(fitted.counts.rows.sum())))
    names = strongest_first(information)
    if not all(np.isnan(information[name].bits) for name in names):
        lines.append("Mutual information of each column and the class:")
    for name in names[:MOST_COLUMNS]:
        bits = information[name].bits
        lines.append(f"{'' if np.isnan(bits) else f'{bits:.3f} bits':10}  {model.parts[name].describe()}")
    if len(names) > MOST_COLUMNS:
        lines.append(f"… and {len(names) - MOST_COLUMNS:,} more columns: importance()")
    sizes = [len(table.values) for table in model.label_tables.values()]
    if sizes:
        power = float(np.log10(np.maximum(sizes, 1)).sum())
        whole = len(labels) * int(np.prod([float(size) for size in sizes])) if power < 15 else None
        combinations = f"about 10^{power + np.log10(len(labels)):.0f}" if whole is None else f"{whole:,}"
        lines.append(
            f"{len(labels) * sum(sizes):,} probabilities stand for the columns of labels (K·ΣS); "
            f"all combinations would take {combinations} (K·ΠS)."
        )
    lines += [f"Note: {hint}" for hint in fitted.schema.hints]
    if fitted.parameters.leaves_choices:
        lines.append(f"retained sample: {kept_row_count(fitted)}")
    return "\n".join([*lines, *summary_of_tuning(fitted)])


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
        if not fitted.has_weighted_columns:
            return [
                "columns: each contributes by itself, because columns or classes have changed since weights were fitted"
            ]
        stale = [] if fitted.is_calibrated else ["rows or settings have changed since the weights were fitted"]
        return [*fitted.state.tuning.smoothing_lines(), *fitted.model.summary_lines(), *stale]
    if parameters.model != "textbook":
        why = why_textbook(fitted.counts.rows, fitted.state.expected is None, parameters.recipe)
        return [why, *tuning.summary_lines()]
    if parameters.chooses_smoothing and tuning.smoothing is None:
        return ["smoothing: 1, for there were no rows to choose it with", *tuning.summary_lines()]
    if not tuning.calibrated and not parameters.chooses_smoothing:
        return []
    return replace(tuning, fresh=fitted.is_calibrated).summary_lines()
