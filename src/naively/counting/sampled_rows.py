"""Samples of rows that were counted, in memory or from files: for fitting, tuning and measuring."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .._types import Codes, Floats, Hashes, Places
from ..data.column import Column
from ..data.encoding import block_numbers
from ..data.frame import Frame, frame_of
from ..data.schema import Schema
from ..data.target import SoftLabels, Target
from .counter import TableCounter
from .files import FileRows, measured_rows
from .row_hash import RowHasher, frame_hashes
from .rows import Rows, hashed_classes
from .sample import KEPT, SamplePart, smallest_places


def sample_places(rows: Rows, most: int, schema: Schema, threads: int) -> Places:
    """Return the places of a sample of rows, in the order of their hashes; of all rows, as they are, if they are few.

    It is a sample of the largest sample that is kept of files, so that it does not matter which of both is at hand.
    """
    if rows.target.rows <= most:
        return np.arange(rows.target.rows)
    hashes = hashes_of_rows(rows, schema, threads)
    at = smallest_places(hashes, max(KEPT, most), rows.own_weights)
    return at if len(at) <= most else at[smallest_places(hashes[at], most)]


def hashes_of_rows(rows: Rows, schema: Schema, threads: int) -> Hashes:
    """Return the hash of each row's content; rows that were hashed when they were counted are not hashed again."""
    if rows.hashes is None:
        hasher = RowHasher(TableCounter(schema))
        y = hashed_classes(rows, hasher.counter)
        rows.hashes = frame_hashes(hasher, frame_of(rows.source).on(schema), y, rows.own_weights, threads)
    return rows.hashes


def sampled_file(rows: FileRows, counter: TableCounter) -> Rows:
    """Return the sample of the rows of files, as a table in memory; each row has the weight that it has by itself."""
    assert rows.sample is not None, "a sample was kept"
    return rows_of_part(rows, rows.sample.rows(), counter)


def rows_of_part(rows: FileRows, part: SamplePart, counter: TableCounter) -> Rows:
    """Return rows that were kept of files as a table in memory."""
    target = Target(list(counter.classes.places), part.y, rows.label_type)
    weights = None if rows.weight is None else part.weights
    hashes = None if rows.sample is None or rows.sample.complete else part.hashes
    return Rows(frame_of(part.table).on(counter.schema), target, weights, rows.of_target, hashes=hashes)


class NumberSample(NamedTuple):
    """Columns of numbers in a sample of rows, to measure their mutual information with the class when asked for it."""

    columns: Sequence[Column]
    numbers: Floats  # [row, column]
    y: Codes
    soft: Floats | None  # soft labels [row, class], if there are; the codes say nothing then
    weights: Floats
    total: float  # the weight of all rows that the sample stands for
    stale: bool = False  # whether rows were added or removed since


def numbers_to_measure(
    counter: TableCounter, rows: Rows | FileRows, binned: Collection[str], threads: int
) -> NumberSample | None:
    """Return a sample of numbers; None if all are binned, or there are none."""
    columns = counter.of_numbers
    if all(column.name in binned for column in columns):
        return None
    if isinstance(rows, FileRows) and rows.measuring is None:
        if rows.sample is None:
            return None
        rows = sampled_file(rows, counter)
    if isinstance(rows, FileRows):
        assert rows.measuring is not None, "numbers were kept"
        part = rows.measuring.rows()
        frame, y, weights, soft = frame_of(part.table), part.y, part.weights, None
    else:
        names, most = [column.name for column in columns], measured_rows(len(columns))
        if rows.target.rows > most:
            at = smallest_places(hashes_of_rows(rows, counter.schema, threads), most, rows.weights)
            rows = replace(rows, source=frame_of(rows.source).only(names)).take(np.sort(at))  # quicker in their order
        frame, weights = frame_of(rows.source), np.ones(rows.target.rows) if rows.weights is None else rows.weights
        soft = rows.target.proportions if isinstance(rows.target, SoftLabels) else None
        y = np.zeros(0, dtype=np.int32) if isinstance(rows.target, SoftLabels) else rows.target.codes
    numbers = np.asarray(block_numbers(frame, columns, 0, frame.rows), dtype=np.float64)
    return NumberSample(columns, numbers, y, soft, weights, float(counter.rows.sum()))


# -- rows with soft labels as rows of one class each -------------------------------------------------------------------


# The proportions of a row sum to 1 up to rounding; its weight is a whole number then.
ROUNDING = 1e-9


def most_probable(rows: Rows, counter: TableCounter, threads: int) -> Rows:
    """Return rows with the most probable class as label, and what all their classes weigh as weight.

    Rows that have one label each are returned as they are. Samples are the same, whichever of both they are drawn from.
    """
    target = rows.target
    if not isinstance(target, SoftLabels):
        return rows
    total = target.proportions.sum(axis=1)
    weights = total if rows.weights is None else total * rows.weights
    whole = np.rint(weights)
    weights = np.where(np.abs(weights - whole) <= ROUNDING * whole, whole, weights)
    codes = target.proportions.argmax(axis=1).astype(np.int32)
    hashes = hashes_of_rows(rows, counter.schema, threads)
    plain = None if rows.weights is None and (weights == 1).all() else weights
    return replace(rows, target=Target(target.labels, codes, target.dtype), weights=plain, hashes=hashes)


def counted_blocks(counter: TableCounter, rows: Rows) -> Iterator[tuple[Frame, Codes, Floats | None]]:
    """Give rows in memory with the codes of their classes: soft labels for each class, weighted by its proportions."""
    frame, target = frame_of(rows.source), rows.target
    if not isinstance(target, SoftLabels):
        yield frame, counter.classes.codes(target.labels)[target.codes], rows.weights
        return
    for code, part in zip(counter.classes.codes(target.labels), target.proportions.T, strict=True):
        weights = part if rows.weights is None else part * rows.weights
        at = np.flatnonzero(weights)
        if len(at):
            some = frame if len(at) == frame.rows else frame.take(at)
            yield some, np.full(len(at), code, dtype=np.int32), np.ascontiguousarray(weights[at])
