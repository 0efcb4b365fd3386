"""The rows that a report holds, with honest probabilities: rows of the fit by models without them."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np

from .._types import ColumnLike, Floats, Json, Label, Places, TableLike
from ..counting.files import Progress
from ..counting.rows import count, labeled_rows
from ..data.frame import Frame, frame_of
from ..data.values import ColumnValues
from ..files.file import File, file_of
from ..judge.histograms import QualitySource
from ..judge.score_inputs import matching_label
from ..judge.scores import Scores
from ..model.leave_one_out import hard_labels
from .answers import probabilities_of
from .evaluation import scores_by_leave_one_out
from .fitted_classifier import FittedClassifier
from .predict_files import file_as_fitted, scores_of_files
from .priors_and_costs import costs_of_scores


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

    @property
    def labelled(self) -> bool:
        """Whether the class of each row is given."""
        return self.y is not None or self.target is not None


@dataclass(frozen=True)
class ScoredRows:
    """Rows of a source: the probabilities of their classes, and how these were made.

    Attributes
    ----------
    posterior : ndarray of shape (n_rows, n_classes)
        The probability of each class that the model knows.
    truth : ndarray of shape (n_rows,)
        The place of the true class of each row, -1 where it is not known to the model.
    scores : Scores or None
        The same with the costs of the settings; None where classes are not given.
    how : QualitySource
        "leave_one_out" or "folds" where the rows are those that the model was fitted on, "given" otherwise.
    """

    posterior: Floats
    truth: Places
    scores: Scores | None = field(repr=False)
    how: QualitySource


def scored_rows(fitted: FittedClassifier, source: RowSource, progress: Progress | None = None) -> ScoredRows:
    """Return the probabilities of rows; those that the model was fitted on by models without them."""
    if not source.labelled:
        posterior = probabilities_of(fitted, source.rows)
        return ScoredRows(posterior, np.full(len(posterior), -1, dtype=np.intp), None, QualitySource("given"))
    if not are_rows_of_fit(fitted, source):
        scores, how = _scores_as_they_are(fitted, source, progress), QualitySource("given")
    else:
        scores = scores_by_leave_one_out(fitted, source.rows, source.y, None, source.target)
        folds = 0 if scores.folds is None else len(np.unique(scores.folds))
        how = QualitySource("folds" if folds else "leave_one_out", folds)
    known = len(fitted.classes)
    assert scores.posterior is not None
    truth = np.where(scores.truth < known, scores.truth, -1)
    return ScoredRows(scores.posterior[:, :known], truth, scores, how)


def are_rows_of_fit(fitted: FittedClassifier, source: RowSource) -> bool:
    """Tell whether rows are all those that the model was fitted on: whether counting them gives its counts."""
    state, known = fitted.state, fitted.counts
    if source.weight is not None or state.row_weights is not None or state.class_weights is not None:
        return False
    if state.expected is not None or state.has_soft_labels:
        return False
    threads = fitted.parameters.n_jobs
    found = count(source.rows, source.y, target=source.target, schema=fitted.schema, n_jobs=threads)
    if found.classes.labels != known.classes.labels or (found.rows != known.rows).any():
        return False
    return all(found.columns[name].agrees(statistic) for name, statistic in known.columns.items())


def _scores_as_they_are(fitted: FittedClassifier, source: RowSource, progress: Progress | None) -> Scores:
    """Return the scores of rows by the model as it is; a class that it never saw has no probability."""
    file = file_of(source.rows)
    if file is not None:
        assert source.target is not None, "the classes of rows in files are a column of theirs"
        return scores_of_files(fitted, file, source.target, source.weight, progress)
    rows = labeled_rows(source.rows, source.y, source.target, source.weight, "error", fitted.schema)
    known, own = hard_labels(rows), fitted.classes.tolist()
    places: dict[Label, int] = {label: k for k, label in enumerate(own)}
    each = [places.setdefault(matching_label(label, own), len(places)) for label in known.labels]
    posterior = probabilities_of(fitted, rows.source)
    posterior = np.pad(posterior, [(0, 0), (0, len(places) - posterior.shape[1])])
    costs = costs_of_scores(fitted.parameters, tuple(places), len(own))
    return Scores.from_indices(posterior, np.array(each)[known.codes], tuple(places), rows.weights, *costs)


# -- cells -------------------------------------------------------------------------------------------------------------


def cells_of_rows(fitted: FittedClassifier, source: RowSource, places: Places) -> dict[str, list[object]]:
    """Return the cells of some rows by column; `places` are ascending."""
    names, out = fitted.model.schema.names, dict[str, list[object]]()
    for name in names:
        out[name] = []
    for begin, frame in _frames(fitted, source):
        here = places[(places >= begin) & (places < begin + frame.rows)] - begin
        if len(here):
            for name in names:
                out[name] += _cells(frame, name, here)
        if not len(places) or begin + frame.rows > places[-1]:
            break
    return out


def _frames(fitted: FittedClassifier, source: RowSource) -> Iterator[tuple[int, Frame]]:
    """Give frames of the rows, and the number of the first row of each."""
    file = file_of(source.rows)
    if file is None:
        yield 0, frame_of(source.rows).on(fitted.model.schema)
        return
    yield from _frames_of_file(file_as_fitted(fitted, file), fitted)


def _frames_of_file(file: File, fitted: FittedClassifier) -> Iterator[tuple[int, Frame]]:
    begin = 0
    for table in file.batches():
        if table.num_rows:
            yield begin, frame_of(table).on(fitted.model.schema)
        begin += table.num_rows


def _cells(frame: Frame, name: str, places: Places) -> list[object]:
    """Return some cells of a column."""
    values = frame.columns[name]
    if not isinstance(values, ColumnValues):  # vectors are no cells that a page could show
        return [None] * len(places)
    found: list[object] = values.take(places).arrow().to_pylist()
    return found


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
