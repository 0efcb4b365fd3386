"""A model as HTML: one file that scores any row as Python does, and the view that a notebook shows of it."""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from html import escape
from pathlib import Path

import numpy as np
from scipy.special import logsumexp

from .. import __version__
from .._types import ColumnLike, Floats, Json, JsonObject, Longs, Places, TableLike
from ..counting.files import Progress
from ..counting.notes import about_target
from ..counting.reading import count, labeled_rows
from ..data.frame import frame_of
from ..data.schema import Schema
from ..data.values import ColumnValues
from ..errors import InvalidInput, InvalidSetting
from ..errors.message import Setting
from ..explain.changes import comparison_of
from ..explain.distributions import column_facts, typical_cell
from ..explain.evidence_lines import page_row
from ..explain.words import word_facts
from ..families.family import shown_label
from ..files.file import file_of
from ..flat.flat_model import save_bytes
from ..judge.histograms import QualityCounts, QualitySource, quality_of_scores
from ..judge.score_inputs import matching_label
from ..judge.score_views import quality_data, quality_view
from ..judge.scores import Scores
from ..model.leave_one_out import hard_labels
from ..page.content import PageData, page_texts
from ..page.numbers import counted
from ..page.page import report_page
from ..page.sections import LISTED_COLUMNS, model_section, words_section
from ..page.style import notebook_view
from ..page.tags import Html, tag
from ..stats.arithmetic import commonest
from .answers import evidence_of, probabilities_of
from .fitted_classifier import FittedClassifier
from .held_out import held_out_quality, scores_by_leave_one_out
from .predict_files import file_as_fitted, scores_of_files
from .reports import flattened, information_of_columns, summary_of_tuning
from .settings import NAMES, Parameters

# Rows that a report holds unless a number is given.
DEFAULT_ROWS = 200
# Words times classes that a page holds of each column of texts unless a number is given: about 3 MB. Browsers gave up
# on a page of 45 MB.
WORD_SCORES = 600_000
# In a notebook: columns that are drawn (of many classes fewer, whose pictures are large), classes whose words are
# listed, notes, and characters of a setting.
DRAWN_COLUMNS, DRAWN_CURVES, WORD_CLASSES, MOST_NOTES, LONGEST_SETTING = 12, 80, 6, 6, 240
NO_SETTINGS = tag("p", "All settings are at their defaults.", css="muted")


# -- the page ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Report:
    """A model as one HTML page, which needs neither network nor server.

    In a notebook the page itself is shown.

    Parameters
    ----------
    html : str
        The page.

    Examples
    --------
    >>> import naively as nv
    >>> table = {"sky": ["sunny", "rain", "sunny", "rain"] * 20, "wind": [3.0, 9.5, 4.0, 8.0] * 20}
    >>> nb = nv.NaiveBayes().fit(table, ["out", "in", "out", "in"] * 20)
    >>> report = nb.report(title="outdoors")
    >>> "<title>outdoors" in report.html
    True
    """

    html: str

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, which appears only when it is complete.

        Parameters
        ----------
        path : str or path-like
            The file, such as "report.html".

        Returns
        -------
        path : Path
            The file.

        Raises
        ------
        UnwritableFile
            If the file cannot be written.
        """
        save_bytes(path, self.html.encode("utf-8"))
        return Path(path)

    def __repr__(self) -> str:
        return f"Report({len(self.html.encode()) / 1024:.0f} KB; save it by .save('report.html'))"

    def _repr_html_(self) -> str:
        """Return the page in a frame of its own; its scripts can reach nothing outside of it."""
        frame = '<iframe title="naively report" sandbox="allow-scripts" width="100%" height="720" srcdoc="'
        return f'{frame}{escape(self.html, quote=True)}"></iframe>'


@dataclass(frozen=True)
class ReportOptions:
    """What a report holds.

    Parameters
    ----------
    rows : int
        How many rows, at most.
    words : int, optional
        How many words of each column of texts, the commonest first; by default as many as a browser can bear.
    title : str, optional
        The title of the page.
    language : {"en", "zh"}
        The language of the page.
    """

    rows: int = DEFAULT_ROWS
    words: int | None = None
    title: str | None = None
    language: str = "en"

    def __post_init__(self) -> None:
        if isinstance(self.rows, bool) or not isinstance(self.rows, int) or self.rows < 0:
            raise InvalidSetting(Setting("rows", self.rows), " is no number of rows; give 0 or more.")
        page_texts(self.language)  # refuses a language that the page does not have


def report_of(
    fitted: FittedClassifier,
    source: RowSource | None = None,
    options: ReportOptions | None = None,
    other: tuple[FittedClassifier, str, str] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Return the report of a model: with rows, those it holds and their quality; with another model, a comparison.

    `other` is an earlier model, what it is called and what this one is called.
    """
    return Report(report_page(page_data_of(fitted, source, options, other, progress)))


def page_data_of(
    fitted: FittedClassifier,
    source: RowSource | None = None,
    options: ReportOptions | None = None,
    other: tuple[FittedClassifier, str, str] | None = None,
    progress: Progress | None = None,
    server: JsonObject | None = None,
) -> PageData:
    """Return everything that the page of a model shows."""
    options = ReportOptions() if options is None else options
    scored = None if source is None else scored_rows(fitted, source, progress)
    rows = None if source is None or scored is None else _report_rows(fitted, source, scored, options.rows)
    words, most = options.words, WORD_SCORES // len(fitted.classes)
    if words is None and any(len(table.values) > most for table in fitted.model.words.values()):
        words = most
    # In single precision a probability is off by less than one in a million.
    flat = flattened(fitted, words).to_json(single=True)
    data, target = model_data(fitted), fitted.schema.target
    counts = _quality_counts(fitted, scored)
    quality = None if counts is None else quality_data(counts)
    cells = _typical_row(data, flat)
    if rows is not None:
        cells = {name: column[0] for name, column in zip(rows["columns"], rows["cells"], strict=True)}
    data = replace(
        data,
        classes=flat["classes"],
        flat=flat,
        title=options.title or (f"Model of {target}" if target else "Model"),
        version=__version__,
        language=options.language,
        quality=quality,
        quality_view=None if counts is None or quality is None else quality_view(counts, quality),
        rows=rows,
        first=cells,
        server=server,
    )
    if other is not None:
        earlier, *names = other
        measured = information_of_columns(earlier), information_of_columns(fitted)
        compare = comparison_of(earlier.all_counts, fitted.all_counts, (names[0], names[1]), measured)
        data = replace(data, compare=compare)
    times = {column.name for column in fitted.schema if column.type == "time"}
    row = {name: time_of_json(cell) if name in times else cell for name, cell in cells.items()}
    return replace(data, first_view=page_row(evidence_of(fitted, [row]), cells, data))


def _quality_counts(fitted: FittedClassifier, scored: ScoredRows | None) -> QualityCounts | None:
    """Return the quality of rows of classes that the model knows, or of those that were held out at fit."""
    if scored is None or scored.how is None:
        return held_out_quality(fitted)
    known, labels = np.flatnonzero(scored.truth >= 0), fitted.all_counts.classes.labels
    weights = None if scored.weights is None else scored.weights[known]
    scores = Scores.from_indices(scored.posterior[known], scored.truth[known], labels, weights)
    return quality_of_scores(scores, scored.how)


def model_data(fitted: FittedClassifier, drawn: int | None = None) -> PageData:
    """Return what the tabs Model and Words show; by default all columns have a distribution."""
    counts, log_prior = fitted.all_counts, fitted.model.textbook.log_prior
    return PageData(
        classes=list(counts.classes.labels),
        class_rows=[float(n) for n in counts.rows],
        columns=column_facts(fitted.model, counts, information_of_columns(fitted), drawn),
        target=fitted.schema.target,
        priors=np.exp(log_prior - logsumexp(log_prior)).tolist(),
        fitting=summary_of_tuning(fitted),
        words=word_facts(fitted.model),
    )


def _report_rows(fitted: FittedClassifier, source: RowSource, scored: ScoredRows, most: int) -> JsonObject | None:
    """Return the rows that the page holds, as `PageData` describes them; None if these are none."""
    places = places_of_report_rows(scored.posterior, scored.truth, most)
    if not len(places):
        return None
    cells = cells_of_rows(fitted, source, places)
    return {
        "columns": list(cells),
        "cells": [[*map(json_cell, column)] for column in cells.values()],
        "truth": scored.truth[places].tolist(),
        "numbers": (places + 1).tolist(),
        "total": len(scored.truth),
        "source": source.name,
        "fitted_on": True if scored.how is not None and scored.how.kind != "given" else None,
        "posterior": scored.posterior[places].round(6).tolist(),
    }


def places_of_report_rows(probabilities: Floats, truth: Longs, most: int = DEFAULT_ROWS) -> Longs:
    """Return the indices of the rows that a report holds, in the order of the table.

    Of more rows than `most`, half are those whose true class was given the lowest probability, and the rest are
    spread evenly over the other rows.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
        The predicted probabilities.
    truth : ndarray of shape (n_samples,)
        The index of each row's true class, -1 where it is not known.
    most : int
        The number of rows to hold at most.

    Returns
    -------
    places : ndarray of int
        The indices of the rows.
    """
    n = len(truth)
    if n <= most:
        return np.arange(n)
    known = np.flatnonzero(truth >= 0)
    surprise = known[np.argsort(probabilities[known, truth[known]], kind="stable")][: most // 2]
    others = np.setdiff1d(np.arange(n), surprise)
    spread = np.linspace(0, len(others) - 1, most - len(surprise)).round().astype(np.int64)
    return np.asarray(np.union1d(surprise, others[spread]), dtype=np.int64)


def _typical_row(data: PageData, flat: JsonObject) -> JsonObject:
    """Return the middle of each column; labels with their types, which the flat model has."""
    labels = {
        column["name"]: {shown_label(value): value for value in column.get("values", ())} for column in flat["columns"]
    }
    cells = {facts["name"]: typical_cell(facts["distribution"]) for facts in data.columns}
    return {name: labels[name].get(cell) if isinstance(cell, str) else cell for name, cell in cells.items()}


def row_source(
    fitted: FittedClassifier, X: TableLike, y: ColumnLike = None, target: str | None = None, weight: str | None = None
) -> RowSource | None:
    """Return rows to look at; if they have the column that the model was fitted to predict, it holds their classes."""
    if X is None:
        if y is not None or target is not None:
            raise InvalidInput("The classes of rows are given, but no rows; give them as X.")
        return None
    file, of_fit = file_of(X), fitted.schema.target
    if y is None and target is None and of_fit is not None:
        names = list(frame_of(X).columns) if file is None else list(file.columns())
        target = of_fit if of_fit in names else None
    # The names of files, without their folders.
    files = [] if file is None else [Path(str(path)).name for path in file.paths]
    name = ", ".join(files[:3]) + (" …" if len(files) > 3 else "")
    return RowSource(X if file is None else file, y, target, weight, name)


# -- in a notebook -----------------------------------------------------------------------------------------------------


def shows_html() -> bool:
    """Tell whether scikit-learn, if it is imported, is set to show estimators as HTML."""
    if "sklearn" not in sys.modules:
        return True
    from sklearn import get_config

    return bool(get_config()["display"] == "diagram")


def classifier_html(current: Callable[[], FittedClassifier] | None, parameters: Parameters, title: str) -> Html:
    """Return a classifier as HTML, sections of its page; if its settings cannot be used, what to do about it."""
    texts = [tag("code", f"{name}={value}") for name, value in _changed_settings(parameters).items()]
    settings = tag("p", "Settings: ", [Html(f"{text} ") for text in texts]) if texts else NO_SETTINGS
    if current is None:
        return notebook_view(tag("p", title, css="nv-head"), tag("p", "not fitted yet", css="muted"), settings)
    try:
        fitted = current()
        data = model_data(fitted, DRAWN_COLUMNS + LISTED_COLUMNS)
    except InvalidInput as error:
        return notebook_view(tag("p", title, css="nv-head"), tag("p", str(error)))
    size = [counted(sum(data.class_rows), "row"), counted(len(data.classes), "class", "classes")]
    about = f"{', '.join([*size, counted(len(data.columns), 'column')])}: {_kind_of_model(fitted)}"
    notes = [*about_target(data.classes), *map(str, fitted.schema.hints)][:MOST_NOTES]
    frequent = commonest(fitted.all_counts.rows, WORD_CLASSES)
    left = len(data.classes) - len(frequent)
    more = f"… and {counted(left, 'more class', 'more classes')}: words(label)"
    return notebook_view(
        tag("p", title, f" for {data.target}" if data.target else "", css="nv-head"),
        tag("p", about, css="muted"),
        model_section(data, min(DRAWN_COLUMNS, DRAWN_CURVES // len(data.classes))),
        words_section(data, frequent.tolist()) or "",
        tag("p", more, css="muted") if data.words and left else "",
        tag("ul", [tag("li", note) for note in notes]) if notes else "",
        settings,
    )


def _kind_of_model(fitted: FittedClassifier) -> str:
    """Return which model predicts, and its held-out log loss where it is known."""
    tuning = fitted.state.tuning
    kind = "default model" if fitted.weights is not None and fitted.has_weighted_columns else "textbook naive Bayes"
    if tuning.learned is None or tuning.loss_after is None:
        return kind
    return f"{kind}, held-out log loss {tuning.loss_after:.3g}"


def _changed_settings(parameters: Parameters) -> dict[str, str]:
    """Return the settings that differ from their defaults, as Python writes them; long ones are cut."""
    usual, texts = Parameters(), {}
    for name in NAMES:
        if not parameters.is_same(usual, [name]):
            value = getattr(parameters, name)
            text = "Schema(…)" if isinstance(value, Schema) else " ".join(repr(value).split())
            texts[name] = text if len(text) <= LONGEST_SETTING else f"{text[: LONGEST_SETTING - 1]}…"
    return texts


# -- the rows that a report holds --------------------------------------------------------------------------------------


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
