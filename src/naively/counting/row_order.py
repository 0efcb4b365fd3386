"""An order of rows that follows from their content and not from how the table is written.

A number goes by its distance from the middle of its column, and a label by its count. So the order of rows and columns,
units of measurement and the names of labels do not matter. Folds, and the rows on which a ridge is chosen, follow this
order; which rows are in a sample is decided in `sample`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._types import Codes, Floats, Hashes, Label, Places
from ..data.block import block_vectors
from ..data.frame import Frame
from ..stats.hashing import mix_hashes
from ..text.rows import text_hashes
from .counter import TableCounter
from .row_hash import vector_hashes
from .second_pass import encoded_cells

# Into so many parts the range of a column is cut. No round number, and not from the edge on: numbers that people write
# lie on the borders of round parts, where a change of units would move them across.
PARTS, SHIFT = 977.3819, 0.2371
# Numbers that are hashed at once.
BLOCK = 1 << 16


def content_order(counter: TableCounter, frame: Frame, y: Codes, threads: int) -> Places:
    """Return the places of all rows in an order that follows from their content."""
    codes, numbers = encoded_cells(counter, frame, 0, frame.rows, threads)
    numbers = np.empty((frame.rows, 0)) if numbers is None else np.asarray(numbers, dtype=np.float64)
    codes = np.empty((frame.rows, 0), dtype=np.int32) if codes is None else codes
    hashed = np.zeros(frame.rows, dtype=np.uint64)
    for columns in number_blocks(numbers):
        hashed += mix_hashes(range_parts(columns)).sum(axis=1, dtype=np.uint64)
    for at in range(codes.shape[1]):
        seen = counter.labels.part(at, len(counter.words[at]), len(counter.classes)).sum(axis=1)
        hashed += mix_hashes(whole_counts(seen))[codes[:, at]]
    for name in counter.readers:
        hashed += text_hashes(frame.columns[name].prose(counter.schema[name], 0, frame.rows))
    for column in counter.of_vectors:
        if column.name not in counter.readers:
            hashed += mix_hashes(vector_hashes(block_vectors(frame, column, 0, frame.rows)))
    # The exact cells decide among rows that look alike, and among equal rows their class.
    return np.lexsort((y, exact_cells(counter, numbers, codes), hashed))


def exact_cells(counter: TableCounter, numbers: Floats, codes: Codes) -> Hashes:
    """Return a hash for each row that follows from its cells as they are written."""
    out = np.zeros(len(numbers), dtype=np.uint64)
    for column in numbers.T:
        out = mix_hashes(out + np.ascontiguousarray(column).view(np.uint64))
    for words, column in zip(counter.words, codes.T, strict=False):
        out = mix_hashes(out + rank_by_name(words.places)[column])
    return out


def number_blocks(numbers: Floats) -> Iterator[Floats]:
    """Give numbers [row, column] some columns at a time: one of many rows, many of few."""
    each = max(BLOCK // max(len(numbers), 1), 1)
    for begin in range(0, numbers.shape[1], each):
        yield numbers[:, begin : begin + each]


def range_parts(columns: Floats) -> Hashes:
    """Return the part of its column's range in which each number lies, from the middle outwards; 0 if missing."""
    low, high = (edge(columns, axis=0) / 2 for edge in (np.fmin.reduce, np.fmax.reduce))  # halves: no range overflows
    out = np.abs(columns / 2 - (low / 2 + high / 2))
    wide = high > low
    out *= np.where(wide, PARTS / np.where(wide, high - low, 1.0), 0.0)
    out += 1.0 + SHIFT
    return np.asarray(np.nan_to_num(out, copy=False, nan=0.0), dtype=np.uint64)


def whole_counts(seen: Floats) -> Hashes:
    """Return counts as whole numbers; sums of weights differ in their last digits with the order of rows."""
    return np.asarray(np.minimum(seen * PARTS + SHIFT, 2.0**60), dtype=np.uint64)


def rank_by_name(places: dict[Label, int]) -> Hashes:
    """Return for each label where it stands among all, by name."""
    order = {label: at for at, label in enumerate(sorted(places, key=str))}
    return np.array([order[label] for label in places], dtype=np.uint64)
