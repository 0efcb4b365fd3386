"""Decisions before counting, from rows without classes: the cuts of bins, and whether pairs of words are counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from .._types import Floats, Hashes
from ..data.column import Column
from ..data.frame import Frame
from ..data.schema import Schema
from ..families import Bins, Gaussian, Words
from . import smallest
from .counter import TableCounter
from .row_hash import RowHasher, frame_hashes
from .smallest import smallest_places

# Pairs of words are counted beside single words if all texts of a column take up to so many bytes: of more, they would
# be too many, and single words tell nearly as much.
PAIRED = 1 << 26


def with_word_pairs(schema: Schema, size: Callable[[str], float]) -> Schema:
    """Return the schema with pairs of words set where that is open; `size` returns the bytes of a column."""
    families = {}
    for column in schema.of_kind("vectors"):
        if isinstance(column.family, Words) and column.type == "text" and column.family.may_pair:
            families[column.name] = replace(column.family, pairs=size(column.name) <= PAIRED)
    return schema.with_families(families)


def uncut_columns(schema: Schema) -> tuple[Column, ...]:
    """Return the columns of bins without cuts, as columns of numbers."""
    found = (column for column in schema if isinstance(column.family, Bins) and column.family.cuts is None)
    return tuple(replace(column, family=Gaussian()) for column in found)


def with_cuts(schema: Schema, frame: Frame, weights: Floats | None) -> Schema:
    """Return the schema with all bins cut: about equally many of these rows fall into each."""
    names = [column.name for column in uncut_columns(schema)]
    if not names:
        return schema
    at = np.arange(frame.rows) if weights is None else np.flatnonzero(weights > 0)
    if len(at) > 2 * smallest.KEPT:
        at = smallest_places(cell_hashes(frame, uncut_columns(schema), weights), smallest.KEPT, weights)
    w = np.ones(len(at)) if weights is None else weights[at]
    families = {}
    for name in names:
        values = frame.columns[name]
        values.check(schema[name])
        families[name] = schema[name].family.cut(values.numbers(0, frame.rows)[at], w)  # type: ignore[attr-defined]  # only bins are cut
    return schema.with_families(families)


def cell_hashes(frame: Frame, columns: Sequence[Column], weights: Floats | None) -> Hashes:
    """Return hashes of rows by some columns and their weights; not by their classes, which must not place cuts."""
    hasher = RowHasher(TableCounter(Schema(tuple(columns))))
    return frame_hashes(hasher, frame, np.zeros(frame.rows, dtype=np.uint64), weights, 1)
