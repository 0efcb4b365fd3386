"""The rows that a report holds, with honest probabilities: rows of the fit by models without them."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from .._types import ColumnLike, Floats, Json, Places, TableLike
from ..counting.files import Progress
from ..counting.rows import count, labeled_rows
from ..data.frame import frame_of
from ..data.values import ColumnValues
from ..files.file import file_of
from ..judge.histograms import QualitySource
from ..judge.score_inputs import matching_label
from ..model.leave_one_out import hard_labels
from .answers import probabilities_of
from .evaluation import scores_by_leave_one_out
from .fitted_classifier import FittedClassifier
from .predict_files import file_as_fitted, scores_of_files


@dataclass(frozen=True)
class RowSource:
    """A table or files, and where the classes and the weights of the rows are.

    Parameters
    ----------
    rows : data frame, array, dict of columns, path or File
        The rows.
    y : array-like of shape (n_rows,), optional
        The class of each row, if it is not a column of the table.
    target : str, optional
        The column of the classes.
    weight : str, optional
        The column of the weights.
    name : str, default=""
        What the rows are called, such as the name of the file.
    """

    rows: TableLike
    y: ColumnLike = None
    target: str | None = None
    weight: str | None = None
    name: str = ""


@dataclass(frozen=True)
class ScoredRows:
    """Rows of a source: the probabilities of their classes, and how these were made.

    Attributes
    ----------
    posterior : ndarray of shape (n_rows, n_classes)
        The probability of each class that the model knows.
    truth : ndarray of shape (n_rows,)
        The index of the true class of each row, -1 where it is not known to the model.
    weights : ndarray of shape (n_rows,) or None
        The weight of each row.
    how : QualitySource or None
        "leave_one_out" or "folds" where the rows are those that the model was fitted on, "given" otherwise; None where
        classes are not given.
    """

    posterior: Floats
    truth: Places
    weights: Floats | None = None
    how: QualitySource | None = None


def scored_rows(fitted: FittedClassifier, source: RowSource, progress: Progress | None = None) -> ScoredRows:
    """Return the probabilities of rows; those that the model was fitted on by models without them."""
    file, given = file_of(source.rows), QualitySource("given")
    if source.y is None and source.target is None:
        posterior = probabilities_of(fitted, source.rows)
        return ScoredRows(posterior, np.full(len(posterior), -1, dtype=np.intp))
    if are_rows_of_fit(fitted, source):
        scores = scores_by_leave_one_out(fitted, source.rows, source.y, None, source.target)
        folds = 0 if scores.folds is None else len(np.unique(scores.folds))
        how = QualitySource("folds" if folds else "leave_one_out", folds)
    elif file is not None:
        assert source.target is not None, "the classes of rows in files are a column of theirs"
        scores, how = scores_of_files(fitted, file, source.target, source.weight, progress), given
    else:
        rows = labeled_rows(source.rows, source.y, source.target, source.weight, "error", fitted.schema)
        labels, own = hard_labels(rows), fitted.classes.tolist()
        place = {label: k for k, label in enumerate(own)}
        truth = np.array([place.get(matching_label(label, own), -1) for label in labels.labels], dtype=np.intp)
        return ScoredRows(probabilities_of(fitted, rows.source), truth[labels.codes], rows.weights, given)
    classes = len(fitted.classes)  # others come after those of the model
    assert scores.posterior is not None
    truth = np.where(scores.truth < classes, scores.truth, -1)
    return ScoredRows(scores.posterior[:, :classes], truth, scores.weights, how)


def are_rows_of_fit(fitted: FittedClassifier, source: RowSource) -> bool:
    """Tell whether rows are all those that the model was fitted on: whether counting them gives its counts."""
    state, counts = fitted.state, fitted.counts
    if source.weight is not None or state.row_weights is not None or state.class_weights is not None:
        return False
    if state.expected is not None or state.has_soft_labels:
        return False
    threads = fitted.parameters.n_jobs
    again = count(source.rows, source.y, target=source.target, schema=fitted.schema, n_jobs=threads)
    if again.classes.labels != counts.classes.labels or (again.rows != counts.rows).any():
        return False
    return all(again.columns[name].agrees(statistic) for name, statistic in counts.columns.items())


# -- cells -------------------------------------------------------------------------------------------------------------


def cells_of_rows(fitted: FittedClassifier, source: RowSource, places: Places) -> dict[str, list[object]]:
    """Return the cells of some rows by column; `places` are ascending."""
    schema, file = fitted.model.schema, file_of(source.rows)
    cells: dict[str, list[object]] = {name: [] for name in schema.names}
    begin = 0
    for table in [source.rows] if file is None else file_as_fitted(fitted, file).batches():
        if file is not None and not table.num_rows:
            continue
        frame = frame_of(table).on(schema)
        inside = places[(places >= begin) & (places < begin + frame.rows)] - begin
        for name in schema.names if len(inside) else ():
            values = frame.columns[name]
            is_column = isinstance(values, ColumnValues)  # vectors are no cells that a page could show
            cells[name] += values.take(inside).arrow().to_pylist() if is_column else [None] * len(inside)
        begin += frame.rows
        if not len(places) or begin > places[-1]:
            break
    return cells


def json_cell(value: object) -> Json:
    """Return a cell as JSON has it: dates and times as texts, NaN and missing values as null."""
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float) and not np.isfinite(value):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return value.isoformat() if isinstance(value, (datetime.date, datetime.time)) else str(value)


def time_of_json(cell: Json) -> object:
    """Return a date or a time that JSON holds as a text, or as seconds since 1970."""
    if isinstance(cell, (int, float)):
        return datetime.datetime.fromtimestamp(cell, datetime.UTC).replace(tzinfo=None)
    if not isinstance(cell, str):
        return cell
    return (datetime.date if len(cell) == len("2026-02-28") else datetime.datetime).fromisoformat(cell)
