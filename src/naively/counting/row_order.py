"""An order of rows that follows from their content and not from how the table is written.

A number goes by its distance from the middle of its column, and a label by its count; among rows that are alike so far,
a number goes by its rank. So the order of rows and columns, units of measurement and the names of labels do not matter.
Folds, and the rows on which a ridge is chosen, follow this order; which rows are in a sample is decided in `sample`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._types import Codes, Floats, Hashes, Places
from ..data.encoding import block_vectors
from ..data.frame import Frame
from ..stats.arithmetic import mix_hashes
from ..text.reader import text_hashes
from .counter import TableCounter
from .row_hash import hash_of_text, label_hashes, vector_hashes
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
    exact = exact_numbers(counter, numbers), exact_labels(counter, codes)
    return np.lexsort((y, *exact, ranks_of_alike(numbers, hashed), hashed))


def ranks_of_alike(numbers: Floats, hashed: Hashes) -> Hashes:
    """Return a hash of the ranks of the numbers of each row among the rows that share their hash with others.

    Most numbers of a skewed column lie in a few parts of its range. Ranks are counted from the end near which more of
    the numbers lie, and from both ends where they are as many.
    """
    out = np.zeros(len(hashed), dtype=np.uint64)
    _, which, times = np.unique(hashed, return_inverse=True, return_counts=True)
    alike = np.flatnonzero(times[which] > 1)
    for column in numbers.T if len(alike) else ():
        found, rank = np.unique(column[alike], return_inverse=True)
        last = int(np.count_nonzero(~np.isnan(found))) - 1
        middle = np.fmin.reduce(column) / 2 + np.fmax.reduce(column) / 2
        low, high = np.count_nonzero(column < middle), np.count_nonzero(column > middle)
        back = last - rank
        from_end = np.minimum(rank, back) if low == high else rank if low > high else back
        out[alike] += mix_hashes(np.where(rank <= last, 1 + from_end, 0).astype(np.uint64))  # 0 where it is missing
    return out


def exact_labels(counter: TableCounter, codes: Codes) -> Hashes:
    """Return a hash for each row that follows from its labels as they are written."""
    out = np.zeros(len(codes), dtype=np.uint64)
    for labelled, words, column in zip(counter.of_labels, counter.words, codes.T, strict=False):
        out += label_hashes(labelled.name, words.places)[column]
    return out


def exact_numbers(counter: TableCounter, numbers: Floats) -> Hashes:
    """Return a hash for each row that follows from its numbers as they are written."""
    out = np.zeros(len(numbers), dtype=np.uint64)
    for numeric, column in zip(counter.of_numbers, numbers.T, strict=False):
        out += mix_hashes(np.ascontiguousarray(column).view(np.uint64) + hash_of_text(numeric.name))
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
