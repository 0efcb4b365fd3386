"""Models from files: fitted in one pass or two, scored by cross-validation, or fitted from counts in a cache."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from os import PathLike
from typing import TYPE_CHECKING

from .._progress import progress_shown
from .._types import JsonObject
from ..counting.files import FileRows, Progress
from ..counting.weights import check_scale_of_file
from ..errors import InvalidInput, InvalidSetting
from ..errors.message import Setting
from ..files.file import File, file_of
from ..judge.scores import Scores
from .cached_counts import CacheSettings, fit_cached, markers_in
from .cross_validation import FoldFit, fit_folds, scores_of_kept_rows
from .fit import fit_rows, prepare_file, warn_of_target
from .fitted_classifier import FittedClassifier
from .settings import Parameters, check_no_em
from .state import FittedState
from .uncertainty import keep_quality_of_folds

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
    found = fit_folds(parameters, rows, cv)
    check_scale_of_file(rows)
    return found


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
