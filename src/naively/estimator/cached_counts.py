"""Models from the counts of single files, which are kept in a folder: a file is read again only if it changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from os import PathLike

import numpy as np

from .._types import JsonObject, Label
from ..counting.cache import CachedCounts, CountsCache, file_fingerprint
from ..counting.cell_notes import about_cells
from ..counting.counter import TableCounter
from ..counting.files import MOST_LABELS, FileRows, set_aside_hint
from ..counting.notes import about_labels
from ..counting.rows import checked_classes
from ..stats import Counts
from .settings import Parameters
from .state import FittedState, state_of_counts


@dataclass(frozen=True)
class CachedFit:
    """The state of counts from a cache, and what was found in the files."""

    state: FittedState
    rows: int
    missing: int
    markers: dict[str, dict[str, int]]
    set_aside: tuple[str, ...]
    read: tuple[str, ...]
    cached: tuple[str, ...]
    skipped: int


def fit_cached(parameters: Parameters, rows: FileRows, folder: str | PathLike[str], window: int | None) -> CachedFit:
    """Return the state of the counts of each file, which are read from a folder or made and put there."""
    declared = checked_classes(parameters.classes, rows)
    cache, source = CountsCache(folder, rows, parameters.families), rows.source
    order = sorted(range(len(source.paths)), key=lambda at: source.paths[at])[-(window or 0) :]
    parts, read = [], []
    for at in order:
        one = cache.find(source.paths[at])
        if one is None:
            one = _count_file(parameters, rows, cache, at, declared)
            read.append(source.paths[at])
        parts.append(one)
    counts, aside = _sum_of(parts, rows, cache)
    schema = cache.schema.only(name for name in cache.schema.names if name not in aside)
    markers = _markers_of(parts, schema.names)
    hints = (
        *source.notes(),
        *about_cells(schema, markers, source.decimal, source.thousands),
        *about_labels(TableCounter.of(counts, schema), float(counts.rows.sum())),
        *map(set_aside_hint, aside),
        *["Counts that are kept are those of single columns: the textbook model answers."]
        * (parameters.model != "textbook"),
    )
    state = state_of_counts(parameters, counts, replace(schema, hints=hints))
    return CachedFit(
        replace(state, label_type=np.dtype(parts[-1].noted["labels"])),
        sum(one.noted["rows"] for one in parts),
        sum(one.noted["missing"] for one in parts),
        {name: dict(texts.most_common()) for name, texts in markers.items()},
        aside,
        tuple(read),
        tuple(source.paths[at] for at in order if source.paths[at] not in read),
        sum(one.noted.get("skipped", 0) for one in parts),  # counts of older versions do not say
    )


def markers_in(rows: FileRows) -> dict[str, dict[str, int]]:
    """Return which texts stood for missing values in the columns that were counted, the most frequent first."""
    beside = (rows.of_target, rows.weight, *rows.set_aside)
    return {name: dict(texts.most_common()) for name, texts in rows.found.items() if name not in beside}


def _markers_of(parts: Sequence[CachedCounts], names: Sequence[str]) -> dict[str, Counter[str]]:
    """Return which texts stood for missing values in all files, by column."""
    found: dict[str, Counter[str]] = {}
    for one in parts:
        for name, texts in one.noted["markers"].items():
            found.setdefault(name, Counter()).update(texts)
    return {name: found[name] for name in names if name in found}


def _count_file(
    parameters: Parameters, rows: FileRows, cache: CountsCache, at: int, declared: Sequence[Label]
) -> CachedCounts:
    """Count one of the files, and put its counts into the cache."""
    alone = replace(rows, set_aside=[], rows=0, counted=0, skipped=0, gaps=Counter(), found={}, first=None)
    path = rows.source.paths[at]
    before = file_fingerprint(path)
    counter = TableCounter(cache.schema, declared)
    alone.count(counter, parameters.threads, [at])
    rows.rows += alone.rows
    noted: JsonObject = {"rows": alone.counted, "skipped": alone.skipped, "missing": alone.gaps.total()}
    noted |= {"set_aside": alone.set_aside, "labels": alone.label_type.str, "markers": markers_in(alone)}
    one = CachedCounts(counter.value(), noted)
    cache.put(path, one, before)
    return one


def _sum_of(parts: Sequence[CachedCounts], rows: FileRows, cache: CountsCache) -> tuple[Counts, tuple[str, ...]]:
    """Return the sum of counts, always in the same order, without the columns that have too many values."""
    aside = {name for one in parts for name in one.noted["set_aside"]}
    counts = sum(_without_columns(one.counts, aside) for one in parts)
    assert isinstance(counts, Counts)
    many = [c for c in cache.schema if rows.may_go(c) and c.name in counts.columns]
    aside |= {c.name for c in many if len(counts.columns[c.name].values) > MOST_LABELS}
    return _without_columns(counts, aside), tuple(name for name in cache.schema.names if name in aside)


def _without_columns(counts: Counts, names: Collection[str]) -> Counts:
    """Return counts without some columns."""
    columns = {name: statistic for name, statistic in counts.columns.items() if name not in names}
    return Counts(counts.classes, counts.rows, columns)
