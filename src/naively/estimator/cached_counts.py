"""Models from what is kept of single files in a folder: a file is read again only if it changed.

Of a textbook model the counts of each file are kept. Of a model that fits something on top of its counts, a model of
each file is kept, with up to 50,000 of its rows unless they are not to be: the models are merged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from os import PathLike
from typing import NamedTuple

import numpy as np

from .._types import JsonObject, Label
from ..counting.cache import CountsCache, file_fingerprint
from ..counting.counter import TableCounter
from ..counting.files import MOST_LABELS, FileRows, set_aside_hint
from ..counting.notes import about_cells, about_labels
from ..counting.reading import checked_classes
from ..data import model_file
from ..data.schema import Schema
from ..errors import UnreadableFile
from ..stats import Counts
from .fit import counted_state
from .fitted_classifier import FittedClassifier
from .load import model_of_file, save_model
from .merge import merge_models
from .settings import Parameters
from .state import FittedState, LiveCounts, state_of_counts
from .update import times_weight, up_to_date


@dataclass(frozen=True)
class CachedFit:
    """The state of what is kept in a folder, and what was found in the files."""

    state: FittedState
    rows: int
    missing: int
    markers: dict[str, dict[str, int]]
    set_aside: tuple[str, ...]
    read: tuple[str, ...]
    cached: tuple[str, ...]
    skipped: int


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
    """What is kept of one file, and what was noted while it was read."""

    counts: Counts
    noted: JsonObject
    fitted: FittedClassifier | None = None  # if something is fitted on top of the counts


def fit_cached(parameters: Parameters, rows: FileRows, how: CacheSettings) -> CachedFit:
    """Return the state of what is kept of each file, which is read from a folder or made and put there."""
    files = CachedFiles(parameters, rows, how)
    source, cache = rows.source, files.cache
    order = sorted(range(len(source.paths)), key=lambda at: source.paths[at])[-(how.window or 0) :]
    parts = [files.found(at) or files.counted(at) for at in order]
    while files.models and any(aside := _columns_aside(parts, rows, cache.schema)):
        # A column with too many values in one file, or in all together, is in none of the models.
        if all(aside.isdisjoint(one.counts.columns) for one in parts):
            break
        pairs = zip(order, parts, strict=True)
        parts = [one if aside.isdisjoint(one.counts.columns) else files.counted(at, aside) for at, one in pairs]
    weights = [how.fade ** (len(parts) - 1 - at) for at in range(len(parts))]
    aside = _columns_aside(parts, rows, cache.schema)
    state = files.merged(parts, weights, aside)
    names = tuple(name for name in cache.schema.names if name in aside)
    schema = cache.schema.only(name for name in cache.schema.names if name not in aside)
    markers = _markers_of(parts, schema.names)
    hints = (
        *source.notes(),
        *about_cells(schema, markers, source.decimal, source.thousands),
        *about_labels(TableCounter.of(state.counts.value, state.schema), float(state.counts.value.rows.sum())),
        *map(set_aside_hint, names),
    )
    state = replace(state, schema=replace(state.schema, hints=hints))
    return CachedFit(
        replace(state, label_type=np.dtype(parts[-1].noted["labels"])),
        sum(one.noted["rows"] for one in parts),
        sum(one.noted["missing"] for one in parts),
        {name: dict(texts.most_common()) for name, texts in markers.items()},
        names,
        tuple(source.paths[at] for at in order if at in files.read),
        tuple(source.paths[at] for at in order if at not in files.read),
        sum(one.noted.get("skipped", 0) for one in parts),
    )


class CachedFiles:
    """The files of a run, and the folder that keeps what was counted of each."""

    def __init__(self, parameters: Parameters, rows: FileRows, how: CacheSettings) -> None:
        self.parameters, self.rows, self.how = parameters, rows, how
        self.declared: Sequence[Label] = checked_classes(parameters.classes, rows)
        self.models = parameters.leaves_choices
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
        noted = stored.about["noted"]
        if not self.models:
            return CachedFile(stored.counts, noted)
        try:
            fitted = model_of_file(self.cache.place(path), stored)
        except UnreadableFile:
            return None  # fitted anew
        if self.how.keep_rows and fitted.state.kept is None:
            return None
        return CachedFile(fitted.counts, noted, FittedClassifier(self.parameters, fitted.state))

    def counted(self, at: int, aside: Collection[str] = ()) -> CachedFile:
        """Count one of the files, without some columns, and put what is kept of it into the folder."""
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
        place = self.cache.place(path)
        if not self.models:
            counts = counter.value()
            model_file.write_model(place, counts, self.cache.entry(path, noted, before))
            return CachedFile(counts, noted)
        fitted = model_of_rows(self.parameters, counter, alone, keep_rows=self.how.keep_rows)
        write_file_model(fitted, place, self.cache.entry(path, noted, before), keep_rows=self.how.keep_rows)
        return CachedFile(fitted.counts, noted, fitted)

    def _alone(self, at: int) -> FileRows:
        """Return the rows of one of the files; progress is that of all files."""
        rows, source = self.rows, self.rows.source
        alone = replace(rows, source=source.alone(at), set_aside=[], rows=0, counted=0, skipped=0, gaps=Counter())
        alone = replace(alone, found={}, first=None, sampling="rows" if self.models else "nothing", passes=(0, 1))
        if (progress := rows.progress) is not None:
            sizes, before = [source.bytes(one) for one in range(len(source.paths))], rows.rows
            done = sum(sizes[:at])

            def report(counted: int, here: int, of: int | None) -> object:
                return progress(before + counted, done + int(sizes[at] * here / max(of or 1, 1)), sum(sizes))

            alone.progress = report
        return alone

    def merged(self, parts: Sequence[CachedFile], weights: Sequence[float], aside: Collection[str]) -> FittedState:
        """Return the state of all files, each with its weight."""
        paths = sorted(self.rows.source.paths)[-len(parts) :]
        models = [one.fitted for one in parts if one.fitted is not None]
        if self.models:
            return merged_files(models, weights, paths).state
        # Always added in the same order, so that the sums are the same to the last bit.
        each = (_without_columns(one.counts, aside) for one in parts)
        faded = (one if weight == 1 else one * weight for one, weight in zip(each, weights, strict=True))
        schema = self.cache.schema.only(name for name in self.cache.schema.names if name not in aside)
        return state_of_counts(self.parameters, reduce(add, faded), schema)


def kept_beside(parameters: Parameters, keep_rows: bool) -> JsonObject:
    """Return the settings that decide what is kept beside the counts of single columns, as plain data."""
    if not parameters.leaves_choices:
        return {"model": "textbook", "keep_rows": None}
    found: JsonObject = {"model": parameters.model, "keep_rows": keep_rows}
    if keep_rows:  # everything is fitted anew on the rows
        return found
    columns = None if parameters.columns is None else list(parameters.columns)
    found |= {"columns": columns, "missing": parameters.missing, "max_categories": parameters.max_categories}
    return found | {"smoothing": parameters.smoothing, "temperature": parameters.temperature}


def markers_in(rows: FileRows) -> dict[str, dict[str, int]]:
    """Return which texts stood for missing values in the columns that were counted, the most frequent first."""
    beside = (rows.of_target, rows.weight, *rows.set_aside)
    return {name: dict(texts.most_common()) for name, texts in rows.found.items() if name not in beside}


def _markers_of(parts: Sequence[CachedFile], names: Sequence[str]) -> dict[str, Counter[str]]:
    """Return which texts stood for missing values in all files, by column."""
    found: dict[str, Counter[str]] = {}
    for one in parts:
        for name, texts in one.noted["markers"].items():
            found.setdefault(name, Counter()).update(texts)
    return {name: found[name] for name in names if name in found}


def _columns_aside(parts: Sequence[CachedFile], rows: FileRows, schema: Schema) -> set[str]:
    """Return the columns that have too many values in a file, or in all together."""
    aside = {name for one in parts for name in one.noted["set_aside"]}
    for column in schema:
        if rows.may_go(column) and column.name not in aside:
            values = [one.counts.columns[column.name].values for one in parts]
            if (
                sum(map(len, values)) > MOST_LABELS
                and len({label for one in values for label in one.labels}) > MOST_LABELS
            ):
                aside.add(column.name)
    return aside


def _without_columns(counts: Counts, names: Collection[str]) -> Counts:
    """Return counts without some columns."""
    columns = {name: statistic for name, statistic in counts.columns.items() if name not in names}
    return Counts(counts.classes, counts.rows, columns)


# -- a model of each file ----------------------------------------------------------------------------------------------


def model_of_rows(
    parameters: Parameters, counter: TableCounter, rows: FileRows, *, keep_rows: bool
) -> FittedClassifier:
    """Return the model of the rows of a file that were counted, with the rows that are kept of it if they are to be.

    Where all rows are kept, nothing is fitted to them: it is fitted to those of all files.
    """
    counter.drop_types(parameters.families or ())
    kept = rows.retained(counter, parameters.threads)
    if not (keep_rows and kept.complete):
        state = counted_state(parameters, counter, rows)
        return FittedClassifier(parameters, replace(state, kept=kept if keep_rows else None))
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


def write_file_model(
    fitted: FittedClassifier, place: str | PathLike[str], entry: JsonObject, *, keep_rows: bool
) -> None:
    """Write the model of a file; settings that do not matter to what is fitted are left out."""
    bare = fitted.with_parameters(n_jobs=None, random_state=0, cost=None, reject=None, prior="empirical")
    save_model(bare, place, rows=keep_rows, beside=entry)


def merged_files(
    models: Sequence[FittedClassifier], weights: Sequence[float], names: Sequence[str]
) -> FittedClassifier:
    """Return the model of the rows of all files, those of each weighing so much."""
    pairs = zip(models, weights, strict=True)
    faded = [one if weight == 1 else times_weight(one, weight) for one, weight in pairs]
    return up_to_date(merge_models(faded, names))
