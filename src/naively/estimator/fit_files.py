"""Models from files: fitted in one pass, scored in a second, and fitted again from counts that were kept."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._threads import allowed
from ..counting.cache import CachedCounts, CountsCache, file_fingerprint
from ..counting.cell_notes import about_cells
from ..counting.counter import TableCounter
from ..counting.files import MOST_LABELS, FileRows, Progress, set_aside_hint
from ..counting.notes import about_labels
from ..counting.weights import check_scale_of_file, set_file_weights
from ..data.files import File, file_of
from ..errors import InvalidInput, InvalidSetting
from ..errors.message import Setting
from ..judge.scores import Scores
from ..stats import Counts
from .classifier import Classifier, holding
from .file_folds import MORE, fit_folds, spared
from .settings import check_from_file, check_settings


@dataclass(frozen=True)
class Fitted:
    """What was done to fit a model from files."""

    rows: int  # that were counted
    missing: int  # cells without a value among the columns of the model
    markers: dict[str, dict[str, int]]  # by column: which texts stood for none, '' for empty cells, and how often
    set_aside: tuple[str, ...]  # columns with too many values, as identifiers have
    scores: Scores | None  # by cross-validation, if folds were asked for
    book: Scores | None  # of the text-book model in the same folds, if another was fitted
    passes: int  # how often the rows were gone over
    read: tuple[str, ...]  # the files that were read
    kept: tuple[str, ...]  # the files whose counts were there already
    seconds: float
    skipped: int = 0  # rows without a label
    gaps: Mapping[str, int] | None = None  # cells without a value by column, whatever rows weigh; None if not known


def fit(
    nb: Classifier,
    file: Any,
    target: str,
    *,
    ignore: Sequence[str] = (),
    weight: str | None = None,
    folds: int = 0,
    keep_counts: Any = None,
    window: int | None = None,
    progress: Progress | None = None,
    normalize_weight: bool = False,
) -> Fitted:
    r"""Fit a classifier to the rows of files, and say what was done.

    Parameters
    ----------
    nb : NaiveBayes
        Its settings are used, and it is fitted.
    file : File, str or Path
        The rows.
    target, weight : str
        The column of the classes; that of the weights, if there is one.
    ignore : sequence of str
        Columns that are not used.
    folds : int
        With 2 or more, scores by cross-validation, and those of the textbook model beside them. Each fold has its share
        of every class. Up to 20,000 rows, at times twice as many, are kept in memory while they are counted, and are
        scored as `cross_validate` scores them. More rows take one more pass: the counts of each fold are taken out of
        the total, folds + 1 models are held in memory, and all share the bins, which are laid out without looking at
        classes. Of very many rows some are scored: as many as 2**24 probabilities allow.
    keep_counts : path, optional
        A folder to keep the counts of each file in; a file is read again only if it changed.
    window : int, optional
        With `keep_counts`: only the newest so many files, which are the last in the order of their names.
    progress : callable, optional
        Called with the rows and bytes done so far, and the bytes there are.
    normalize_weight : bool
        Whether the weights are multiplied so that they sum to the number of rows, which takes a pass over them before:
        for weights that only compare rows with each other.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import naively as nv
    >>> from naively import files
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "mail.csv"
    >>> _ = path.write_text("words,label\n" + "12,ham\n80,spam\n9,ham\n95,spam\n" * 25)
    >>> nb = nv.NaiveBayes()
    >>> done = files.fit(nb, path, "label", folds=5)
    >>> done.rows, done.scores.accuracy, nb.predict({"words": 85})[0]
    (100, 1.0, 'spam')
    """
    start = time.perf_counter()
    check_settings(nb)
    check_from_file(nb)
    source = file_of(file)
    if source is None:
        raise InvalidInput(f"Give a path or nv.File(...); got {type(file).__name__}.")
    if window is not None and (keep_counts is None or window < 1):
        raise InvalidSetting(
            Setting("window", window),
            " must be 1 or more, and needs ",
            Setting("keep_counts"),
            " to have counts to choose from.",
        )
    if folds and (folds < 2 or keep_counts is not None):
        raise InvalidSetting(
            Setting("folds", folds),
            ": give 2 or more, or 0 for no scores; with ",
            Setting("keep_counts"),
            " it must be 0, because scores need to read every file again.",
        )
    rows = FileRows(source, target, weight, tuple(ignore), nb.unlabelled, progress)
    rows.sampling = nb._leaves_open
    if keep_counts is not None:
        check_kept(nb, normalize_weight)
        return fit_kept(nb, rows, keep_counts, window, start)
    set_file_weights(rows, nb.class_weight, list(nb.classes or ()), normalize_weight)
    scores, book = None, None
    if folds:
        scores, book = fit_folds(nb, rows, folds)
    else:
        fit_once(nb, rows)
    check_scale_of_file(rows)
    seconds, passes = time.perf_counter() - start, rows.passes[0] + 1
    gaps = {name: rows.gaps[name] for name in nb.schema_.names}
    told, aside = (sum(gaps.values()), markers_in(rows)), tuple(rows.set_aside)
    return Fitted(rows.counted, *told, aside, scores, book, passes, source.paths, (), seconds, rows.skipped, gaps)


def markers_in(rows: FileRows) -> dict[str, dict[str, int]]:
    """Return which texts stood for no value in the columns that were counted, the most frequent first."""
    beside = (rows.of_target, rows.weight, *rows.set_aside)
    return {name: dict(none.most_common()) for name, none in rows.found.items() if name not in beside}


def fit_once(nb: Classifier, rows: FileRows) -> None:
    """Count all rows; if columns are taken together, once more."""
    rows.passes = rows.passes[0], rows.passes[0] + 1 + MORE[nb.model]
    counter = TableCounter(rows.schema(nb.families, nb.model != "textbook"), list(nb.classes or ()))
    rows.passes = rows.passes[0], rows.passes[1] - spared(nb, counter)
    rows.count(counter, allowed(nb.threads))
    nb._settle(counter, rows)
    rows.finish()


# -- counts that are kept ----------------------------------------------------------------------------------------------


def check_kept(nb: Classifier, normalize_weight: bool) -> None:
    """Refuse weights that follow from all files where each is counted for itself."""
    if nb.class_weight is not None or normalize_weight:
        what = Setting("normalize_weight", True) if normalize_weight else Setting("class_weight", nb.class_weight)
        raise InvalidSetting(
            what,
            " changes what is counted, and counts that are kept are those of the rows as they are; leave it out, or "
            "leave out ",
            Setting("keep_counts"),
            ".",
        )


def fit_kept(nb: Classifier, rows: FileRows, folder: Any, window: int | None, start: float) -> Fitted:
    """Fit from the counts of each file, which are read from a folder or made and kept there."""
    kept = CountsCache(folder, rows, nb.families)
    source = rows.source
    order = sorted(range(len(source.paths)), key=lambda at: source.paths[at])[-(window or 0) :]
    parts, read = [], []
    for at in order:
        one = kept.find(source.paths[at])
        if one is None:
            one = count_one(nb, rows, kept, at)
            read.append(source.paths[at])
        parts.append(one)
    counts, aside = added_up(parts, rows, kept)
    schema = kept.schema.only(name for name in kept.schema.names if name not in aside)
    hints = about_labels(TableCounter.of(counts, schema), float(counts.rows.sum()))
    alone = ["Counts that are kept are those of single columns: the text book answers."] * (nb.model != "textbook")
    found = markers_of(parts, schema.names)
    said = (
        *source.notes(),
        *about_cells(schema, found, source.decimal, source.thousands),
        *hints,
        *map(set_aside_hint, aside),
        *alone,
    )
    holding(nb, counts, replace(schema, hints=said))
    nb._label_type = np.dtype(parts[-1].noted["labels"])
    rows_, missing = (sum(one.noted[name] for one in parts) for name in ("rows", "missing"))
    there = tuple(source.paths[at] for at in order if source.paths[at] not in read)
    seconds = time.perf_counter() - start
    told = {name: dict(none.most_common()) for name, none in found.items()}
    skipped = sum(one.noted.get("skipped", 0) for one in parts)  # counts of older versions do not say
    return Fitted(rows_, missing, told, aside, None, None, min(len(read), 1), tuple(read), there, seconds, skipped)


def markers_of(parts: Sequence[CachedCounts], names: Sequence[str]) -> dict[str, Counter[str]]:
    """Return which texts stood for no value in all files together, by column."""
    found: dict[str, Counter[str]] = {}
    for one in parts:
        for name, none in one.noted["markers"].items():
            found.setdefault(name, Counter()).update(none)
    return {name: found[name] for name in names if name in found}


def count_one(nb: Classifier, rows: FileRows, kept: CountsCache, at: int) -> CachedCounts:
    """Count one of the files, and keep its counts."""
    alone = replace(rows, set_aside=[], rows=0, counted=0, skipped=0, gaps=Counter(), found={}, first=None)
    path = rows.source.paths[at]
    before = file_fingerprint(path)
    counter = TableCounter(kept.schema, list(nb.classes or ()))
    alone.count(counter, allowed(nb.threads), [at])
    rows.rows += alone.rows
    noted: dict[str, Any] = {"rows": alone.counted, "skipped": alone.skipped, "missing": alone.gaps.total()}
    noted |= {"set_aside": alone.set_aside, "labels": alone.label_type.str, "markers": markers_in(alone)}
    one = CachedCounts(counter.value(), noted)
    kept.put(path, one, before)
    return one


def added_up(parts: Sequence[CachedCounts], rows: FileRows, kept: CountsCache) -> tuple[Counts, tuple[str, ...]]:
    """Return the sum of counts, always in the same order, without the columns that have too many values."""
    aside = {name for one in parts for name in one.noted["set_aside"]}
    counts = sum(without(one.counts, aside) for one in parts)
    assert isinstance(counts, Counts)
    many = [c for c in kept.schema if rows.may_go(c) and c.name in counts.columns]
    aside |= {c.name for c in many if len(counts.columns[c.name].values) > MOST_LABELS}
    return without(counts, aside), tuple(name for name in kept.schema.names if name in aside)


def without(counts: Counts, names: set[str]) -> Counts:
    """Return counts without some columns."""
    columns = {name: statistic for name, statistic in counts.columns.items() if name not in names}
    return Counts(counts.classes, counts.rows, columns)


__all__ = ["File", "Fitted", "fit"]
