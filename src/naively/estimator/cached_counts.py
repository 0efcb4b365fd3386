"""Models from what is kept of single files in a folder: a file is read again only if it changed.

A model of each file is kept, and the models are merged. If something is fitted on top of the counts, it holds up to
50,000 rows of its file, unless they are not to be kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import NamedTuple

import numpy as np

from .._types import JsonObject, Label
from ..counting.cache import CountsCache, file_fingerprint
from ..counting.counter import TableCounter
from ..counting.files import MOST_LABELS, FileRows, set_aside_hint
from ..counting.kept_rows import KeptRows
from ..counting.notes import about_cells, about_labels
from ..counting.rows import checked_classes, with_hints
from ..counting.weights import row_weights_of
from ..data.schema import Schema
from ..errors import UnreadableFile
from .fit import counted_state
from .fitted_classifier import FittedClassifier
from .load import model_of_file, save_model
from .merge import merge_models
from .settings import Parameters
from .state import FittedState, LiveCounts
from .update import times_weight, up_to_date


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
        alone = replace(alone, found={}, first=None, sampling=self.parameters.leaves_choices, passes=(0, 1))
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
            kept = KeptRows.of_file(rows, counter, parameters.threads)
            if not (self.keep_rows and kept.complete):
                state = counted_state(parameters, counter, rows)
                return FittedClassifier(parameters, replace(state, kept=kept if self.keep_rows else None))
        schema = with_hints(counter, rows)
        state = FittedState(
            LiveCounts(schema, counter=counter),
            schema,
            rows.label_type,
            row_weights=row_weights_of(counter, rows),
            kept=kept,
            fitted_rows=float(counter.rows.sum()),
        )
        return FittedClassifier(parameters, state)


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
            values = [one.fitted.counts.columns[column.name].values for one in parts]
            if (
                sum(map(len, values)) > MOST_LABELS
                and len({label for one in values for label in one.labels}) > MOST_LABELS
            ):
                aside.add(column.name)
    return aside
