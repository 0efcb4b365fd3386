"""Models from files: fitted in one pass or two, scored by cross-validation, or merged from models of single files.

With `keep_counts`, a model of each file is kept in a folder, and a file is read again only if it changed; the models
are merged. If something is fitted on top of the counts, a model holds up to 50,000 rows of its file, unless they are
not to be kept.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from os import PathLike
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._progress import progress_shown
from .._types import JsonObject, Label
from ..counting.cache import CountsCache, file_fingerprint
from ..counting.counter import TableCounter
from ..counting.files import MOST_LABELS, FileRows, Progress, set_aside_hint
from ..counting.notes import about_cells, about_labels
from ..counting.reading import check_scale_of_file, checked_classes
from ..data.schema import Schema
from ..errors import InvalidInput, InvalidSetting, UnreadableFile
from ..errors.message import Setting
from ..files.file import File, file_of
from ..judge.scores import Scores
from .cross_validation import FoldFit, fit_folds, scores_of_kept_rows
from .fit import counted_state, fit_rows, prepare_file, warn_of_target
from .fitted_classifier import FittedClassifier
from .held_out import keep_quality_of_folds
from .load import model_of_file, save_model
from .merge import merge_models
from .settings import Parameters, check_no_em
from .state import FittedState, LiveCounts
from .update import times_weight, up_to_date

if TYPE_CHECKING:
    from .naive_bayes import NaiveBayes


@dataclass(frozen=True)
class FileFit:
    r"""What `fit_files` did.

    Parameters
    ----------
    rows : int
        Rows that were counted.
    missing : int
        Missing values in the columns of the model.
    markers : dict of dict
        By column, which texts stood for a missing value, ``""`` for empty cells, and how often.
    set_aside : tuple of str
        Columns with too many values to be counted, as identifiers have.
    scores : Scores or None
        By cross-validation, if ``cv`` was given.
    textbook_scores : Scores or None
        Of the textbook model in the same folds, if another model was fitted.
    passes : int
        How often the rows were read.
    read : tuple of str
        The files that were read.
    cached : tuple of str
        The files whose counts were in the cache.
    seconds : float
        How long it took.
    skipped : int
        Rows without a label, which were skipped.
    missing_by_column : dict or None
        Missing values by column, however much their rows weigh; None if that is not known.
    by_file : bool
        Whether each file was counted by itself, with ``keep_counts``.

    Examples
    --------
    `fit_files` returns it:

    >>> import pathlib, tempfile
    >>> import naively as nv
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "mail.csv"
    >>> _ = path.write_text("words,label\n" + "12,ham\n80,spam\n" * 50)
    >>> done = nv.fit_files(nv.NaiveBayes(), path, "label")
    >>> done.rows, done.missing, done.scores
    (100, 0, None)
    """

    rows: int
    missing: int
    markers: Mapping[str, Mapping[str, int]]
    set_aside: tuple[str, ...]
    scores: Scores | None
    textbook_scores: Scores | None
    passes: int
    read: tuple[str, ...]
    cached: tuple[str, ...]
    seconds: float
    skipped: int = 0
    missing_by_column: Mapping[str, int] | None = None
    by_file: bool = False


def fit_files(
    nb: NaiveBayes,
    file: File | str | PathLike[str],
    target: str,
    *,
    ignore: Sequence[str] = (),
    weight: str | None = None,
    cv: int = 0,
    keep_counts: str | PathLike[str] | None = None,
    window: int | None = None,
    fade: float = 1.0,
    keep_rows: bool = True,
    progress: Progress | bool | None = None,
    normalize_weight: bool = False,
) -> FileFit:
    r"""Fit a classifier to the rows of files, and return what was read.

    ``nb.fit(file, target=target)`` fits the same model; this function also scores it, and tells what it read.

    Parameters
    ----------
    nb : NaiveBayes
        The classifier to fit, by its settings.
    file : File, str, Path or stream
        The rows: a path, a glob, a folder, an `nv.File`, or a stream of Arrow.
    target : str
        The column of the classes.
    ignore : sequence of str, default=()
        Columns that are not used.
    weight : str, optional
        The column of the row weights.
    cv : int, default=0
        With 2 or more, the number of folds of a cross-validation, which scores the model and the textbook model.
        Folds are stratified. Up to 100,000 rows are kept in memory while they are counted, and are scored as
        `cross_validate` scores them. More rows take one more pass: the counts of each fold are subtracted from the
        total, and cv + 1 models are held in memory. Of very many rows some are scored: as many as 2**21 probabilities
        allow. With `keep_counts`, the rows that are kept are scored: all of them, or at most 50,000, whose folds are
        subtracted from the counts of all rows.
    keep_counts : str or Path, optional
        A folder to keep the counts of each file in; a file is read again only if it changed. Unless the model is the
        textbook model, up to 50,000 rows of each file are kept there, too, as they are: the model is then that of one
        fit of all files where these have no more rows, and as good beyond.
    window : int, optional
        With `keep_counts`: only the newest so many files, which are the last in the order of their names.
    fade : float, default=1.0
        With `keep_counts`: how much a file counts, compared with the next newer one. With 0.9, rows of the newest file
        weigh 1, those of the file before 0.9, then 0.81.
    keep_rows : bool, default=True
        With `keep_counts`: whether rows are kept in the folder. Without them, the counts of all files are added, but
        what was fitted is that of the largest file, which is less accurate.
    progress : callable or bool, optional
        Called with the rows and bytes done so far, and the bytes there are; None if that is not known, as of a stream.
        True shows a bar on stderr, if that is a terminal, from the second second on.
    normalize_weight : bool, default=False
        Whether the weights are multiplied so that they sum to the number of rows, which takes a pass over them before:
        for weights that only compare rows with each other.

    Returns
    -------
    FileFit
        Numbers of rows and missing values, the scores, the files that were read.

    Raises
    ------
    InvalidSetting
        If settings do not fit each other.
    UnreadableRows
        If a file, or a line of one, cannot be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import naively as nv
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "mail.csv"
    >>> _ = path.write_text("words,label\n" + "12,ham\n80,spam\n9,ham\n95,spam\n" * 25)
    >>> nb = nv.NaiveBayes()
    >>> done = nv.fit_files(nb, path, "label", cv=5)
    >>> done.rows, done.scores.accuracy, nb.predict({"words": 85})[0]
    (100, 1.0, 'spam')
    """
    start, parameters = time.perf_counter(), nb.parameters
    parameters.check()
    check_no_em(parameters)
    source = file_of(file)
    if source is None:
        raise InvalidInput(f"Give a path or nv.File(...); got {type(file).__name__}.")
    _check_choices(cv, keep_counts, window, fade)
    with progress_shown(progress, "fitting") as report:
        rows = FileRows(source, target, weight, tuple(ignore), parameters.unlabelled, report)
        if keep_counts is not None:
            if source.is_stream:
                raise InvalidInput(
                    Setting("keep_counts"), f" keeps the counts of each file, and {source.path} is a stream."
                )
            _check_cacheable(parameters, normalize_weight)
            how = CacheSettings(keep_counts, window, float(fade), keep_rows)
            _check_scorable(parameters, cv, how)
            state, facts = fit_cached(parameters, rows, how)
            scores, textbook_scores = scores_of_kept_rows(parameters, state, cv) if cv else (None, None)
        else:
            state, scores, textbook_scores = _fit_from_rows(parameters, rows, cv, normalize_weight)
            facts = _facts_of(rows, state)
    keep_quality_of_folds(parameters, state, scores)
    nb.fitted_ = fitted = FittedClassifier(parameters, state)
    warn_of_target(fitted.all_counts)
    seconds = time.perf_counter() - start
    return FileFit(scores=scores, textbook_scores=textbook_scores, seconds=seconds, **facts)


def _fit_from_rows(parameters: Parameters, rows: FileRows, cv: int, normalize_weight: bool) -> FoldFit:
    """Return the state of all rows; with folds, their scores."""
    if not cv:
        return fit_rows(parameters, rows, normalize_weight=normalize_weight), None, None
    prepare_file(parameters, rows, normalize_weight=normalize_weight)
    result = fit_folds(parameters, rows, cv)
    check_scale_of_file(rows)
    return result


def _facts_of(rows: FileRows, state: FittedState) -> JsonObject:
    """Return what was read, as fields of `FileFit`."""
    by_column = {name: rows.gaps[name] for name in state.schema.names}
    return {
        "rows": rows.counted,
        "missing": sum(by_column.values()),
        "markers": markers_in(rows),
        "set_aside": tuple(rows.set_aside),
        "passes": rows.passes[0] + 1,
        "read": rows.source.paths,
        "cached": (),
        "skipped": rows.skipped,
        "missing_by_column": by_column,
    }


def _check_choices(cv: int, keep_counts: str | PathLike[str] | None, window: int | None, fade: float) -> None:
    """Refuse numbers of folds and files that mean nothing, or nothing together."""
    if window is not None and (keep_counts is None or window < 1):
        raise InvalidSetting(
            Setting("window", window),
            " must be 1 or more, and needs ",
            Setting("keep_counts"),
            " to have counts to choose from.",
        )
    if isinstance(fade, bool) or not isinstance(fade, Real) or not 0 < float(fade) <= 1:
        raise InvalidSetting(Setting("fade", fade), " must be a number above 0, and at most 1.")
    if fade != 1 and keep_counts is None:
        raise InvalidSetting(
            Setting("fade", fade), " needs ", Setting("keep_counts"), ", which counts each file by itself."
        )
    if cv and cv < 2:
        raise InvalidSetting(Setting("cv", cv), ": give 2 or more, or 0 for no scores.")


def _check_scorable(parameters: Parameters, cv: int, how: CacheSettings) -> None:
    """Refuse scores where no rows are kept to score."""
    if cv and not (parameters.leaves_choices and how.keep_rows):
        textbook = Setting("model", "textbook"), " keeps counts alone"
        why = textbook if not parameters.leaves_choices else (Setting("keep_rows", False), " keeps no row")
        raise InvalidSetting(
            Setting("cv", cv),
            " with ",
            Setting("keep_counts"),
            " scores the rows that are kept, but ",
            *why,
            "; set ",
            Setting("cv", 0),
            ", or leave out ",
            Setting("keep_counts"),
            ".",
        )


def _check_cacheable(parameters: Parameters, normalize_weight: bool) -> None:
    """Refuse weights that follow from all files where each is counted for itself."""
    if parameters.class_weight is not None or normalize_weight:
        weights = Setting("class_weight", parameters.class_weight)
        raise InvalidSetting(
            Setting("normalize_weight", True) if normalize_weight else weights,
            " changes what is counted, and counts that are kept are those of the rows as they are; leave it out, or "
            "leave out ",
            Setting("keep_counts"),
            ".",
        )


# -- a model of each file --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CacheSettings:
    """Which files of a folder are used, how much each counts, and whether rows are kept there.

    Parameters
    ----------
    folder : str or Path
        The folder.
    window : int or None
        How many of the newest files are used.
    fade : float
        How much a file counts, compared with the next newer one.
    keep_rows : bool
        Whether rows are kept in the folder.
    """

    folder: str | PathLike[str]
    window: int | None = None
    fade: float = 1.0
    keep_rows: bool = True


class CachedFile(NamedTuple):
    """The model of one file, and what was noted while it was read."""

    fitted: FittedClassifier
    noted: JsonObject


def fit_cached(parameters: Parameters, rows: FileRows, how: CacheSettings) -> tuple[FittedState, JsonObject]:
    """Return the state of all files, and fields of `FileFit`; each is read from a folder, or counted and put there."""
    files = CachedFiles(parameters, rows, how)
    source, schema = rows.source, files.cache.schema
    order = sorted(range(len(source.paths)), key=lambda at: source.paths[at])[-(how.window or 0) :]
    parts = [files.found(at) or files.counted(at) for at in order]
    while any(aside := _columns_aside(parts, rows, schema)):
        # A column with too many values in one file, or in all together, is in none of the models.
        if all(aside.isdisjoint(one.fitted.counts.columns) for one in parts):
            break
        pairs = zip(order, parts, strict=True)
        parts = [one if aside.isdisjoint(one.fitted.counts.columns) else files.counted(at, aside) for at, one in pairs]
    # Always added in the same order, so that the sums are the same to the last bit.
    weights = [how.fade ** (len(parts) - 1 - at) for at in range(len(parts))]
    models = [
        one.fitted if weight == 1 else times_weight(one.fitted, weight)
        for one, weight in zip(parts, weights, strict=True)
    ]
    state = up_to_date(merge_models(models, [source.paths[at] for at in order])).state
    names = tuple(name for name in schema.names if name in aside)
    schema = schema.only(name for name in schema.names if name not in aside)
    markers = _markers_of(parts, schema.names)
    hints = (
        *source.notes(),
        *about_cells(schema, markers, source.decimal, source.thousands),
        *about_labels(TableCounter.of(state.counts.value, state.schema), float(state.counts.value.rows.sum())),
        *map(set_aside_hint, names),
    )
    state = replace(state, schema=replace(state.schema, hints=hints), label_type=np.dtype(parts[-1].noted["labels"]))
    return state, {
        "rows": sum(one.noted["rows"] for one in parts),
        "missing": sum(one.noted["missing"] for one in parts),
        "markers": {name: dict(texts.most_common()) for name, texts in markers.items()},
        "set_aside": names,
        "passes": min(len(files.read), 1),
        "read": tuple(source.paths[at] for at in order if at in files.read),
        "cached": tuple(source.paths[at] for at in order if at not in files.read),
        "skipped": sum(one.noted.get("skipped", 0) for one in parts),
        "by_file": True,
    }


class CachedFiles:
    """The files of a run, and the folder that keeps what was counted of each."""

    def __init__(self, parameters: Parameters, rows: FileRows, how: CacheSettings) -> None:
        self.parameters, self.rows = parameters, rows
        self.declared: Sequence[Label] = checked_classes(parameters.classes, rows)
        self.keep_rows = how.keep_rows and parameters.leaves_choices
        self.cache = CountsCache(
            how.folder,
            rows,
            parameters.families,
            kept_beside(parameters, how.keep_rows),
            pairs=parameters.model != "textbook",
        )
        self.read: set[int] = set()

    def found(self, at: int) -> CachedFile | None:
        """Return what is kept of a file; None if it is not there, or the file changed."""
        path = self.rows.source.paths[at]
        stored = self.cache.find(path)
        if stored is None:
            return None
        try:
            fitted = model_of_file(self.cache.place(path), stored)
        except UnreadableFile:
            return None  # fitted anew
        if self.keep_rows and fitted.state.kept is None:
            return None
        return CachedFile(FittedClassifier(self.parameters, fitted.state), stored.about["noted"])

    def counted(self, at: int, aside: Collection[str] = ()) -> CachedFile:
        """Count one of the files, without some columns, and put its model into the folder."""
        self.read.add(at)
        path = self.rows.source.paths[at]
        before = file_fingerprint(path)
        alone = self._alone(at)
        schema = self.cache.schema.only(name for name in self.cache.schema.names if name not in aside)
        counter = TableCounter(schema, self.declared)
        alone.count(counter, self.parameters.threads)
        self.rows.rows += alone.rows
        noted: JsonObject = {"rows": alone.counted, "skipped": alone.skipped, "missing": alone.gaps.total()}
        noted |= {"labels": alone.label_type.str, "markers": markers_in(alone)}
        noted["set_aside"] = [name for name in self.cache.schema.names if name in {*alone.set_aside, *aside}]
        fitted = self._model_of_rows(counter, alone)
        # Settings that do not matter to what is fitted are left out.
        bare = fitted.with_parameters(n_jobs=None, random_state=0, cost=None, reject=None, prior="empirical")
        save_model(bare, self.cache.place(path), rows=self.keep_rows, beside=self.cache.entry(path, noted, before))
        return CachedFile(fitted, noted)

    def _alone(self, at: int) -> FileRows:
        """Return the rows of one of the files; progress is that of all files."""
        rows, source = self.rows, self.rows.source
        alone = replace(rows, source=source.alone(at), set_aside=[], rows=0, counted=0, skipped=0, gaps=Counter())
        alone = replace(
            alone, found={}, first=None, sampling="rows" if self.parameters.leaves_choices else "nothing", passes=(0, 1)
        )
        if (progress := rows.progress) is not None:
            sizes, before = [source.bytes(one) for one in range(len(source.paths))], rows.rows
            done = sum(sizes[:at])

            def report(counted: int, here: int, of: int | None) -> object:
                return progress(before + counted, done + int(sizes[at] * here / max(of or 1, 1)), sum(sizes))

            alone.progress = report
        return alone

    def _model_of_rows(self, counter: TableCounter, rows: FileRows) -> FittedClassifier:
        """Return the model of a file that was counted, with its rows if they are to be kept.

        Where all rows are kept, nothing is fitted to them: it is fitted to those of all files.
        """
        parameters, kept = self.parameters, None
        if parameters.leaves_choices:
            counter.drop_types(parameters.families or ())
            kept = rows.retained(counter, parameters.threads)
            if not (self.keep_rows and kept.complete):
                state = counted_state(parameters, counter, rows)
                return FittedClassifier(parameters, replace(state, kept=kept if self.keep_rows else None))
        schema = replace(counter.schema, hints=rows.hints(counter))
        state = FittedState(
            LiveCounts(schema, counter=counter),
            schema,
            rows.label_type,
            row_weights=rows.heaviest(counter),
            kept=kept,
            fitted_rows=float(counter.rows.sum()),
        )
        return FittedClassifier(parameters, state)


def kept_beside(parameters: Parameters, keep_rows: bool) -> JsonObject:
    """Return the settings that decide what is kept beside the counts of single columns, as plain data."""
    if not parameters.leaves_choices:
        return {"model": "textbook", "keep_rows": None}
    result: JsonObject = {"model": parameters.model, "keep_rows": keep_rows}
    if keep_rows:  # everything is fitted anew on the rows
        return result
    columns = None if parameters.columns is None else list(parameters.columns)
    result |= {"columns": columns, "missing": parameters.missing, "max_categories": parameters.max_categories}
    return result | {"smoothing": parameters.smoothing, "temperature": parameters.temperature}


def markers_in(rows: FileRows) -> dict[str, dict[str, int]]:
    """Return which texts stood for missing values in the columns that were counted, the most frequent first."""
    beside = (rows.of_target, rows.weight, *rows.set_aside)
    return {name: dict(texts.most_common()) for name, texts in rows.found.items() if name not in beside}


def _markers_of(parts: Sequence[CachedFile], names: Sequence[str]) -> dict[str, Counter[str]]:
    """Return which texts stood for missing values in all files, by column."""
    result: dict[str, Counter[str]] = {}
    for one in parts:
        for name, texts in one.noted["markers"].items():
            result.setdefault(name, Counter()).update(texts)
    return {name: result[name] for name in names if name in result}


def _columns_aside(parts: Sequence[CachedFile], rows: FileRows, schema: Schema) -> set[str]:
    """Return the columns that have too many values in a file, or in all together."""
    aside = {name for one in parts for name in one.noted["set_aside"]}
    for column in schema:
        if rows.may_go(column) and column.name not in aside:
            values = [one.fitted.counts.columns[column.name].values for one in parts]
            if (
                sum(map(len, values)) > MOST_LABELS
                and len({label for one in values for label in one.labels}) > MOST_LABELS
            ):
                aside.add(column.name)
    return aside
