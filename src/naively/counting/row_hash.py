"""A hash of each row's content: the same for equal cells, class and weight, wherever the row stands.

Numbers go by the 64 bits of their value, labels and texts by their characters, columns by their names. So a row has
the same hash in a data frame, a CSV file and a Parquet file, in any order of rows and columns, whatever codes its
labels have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from hashlib import blake2b
from itertools import islice

import numpy as np
from scipy import sparse

from .. import _kernels
from .._types import AnyArray, Codes, Floats, Hashes, Label, Longs, Mask, Matrix, Places
from ..data.encoding import ROWS as BLOCK
from ..data.frame import Frame
from ..data.target import Target
from ..stats.accumulators import offsets_of
from ..stats.arithmetic import mix_hashes
from ..text import TextRows
from ..text.reader import text_hashes
from .arrays import distinct_cells, kernel_matrix
from .counter import EncodedRows, TableCounter

# A missing number has bits of its own, whatever NaN it came as.
MISSING = np.uint64(0x7FF8_0000_0000_0000)
# Names of what is hashed beside the cells; no column can have them, for those are texts.
CLASS, WEIGHT = 1, 2


class RowHasher:
    """Hashes rows as a counter reads them; what it knows of labels is kept from block to block."""

    def __init__(self, counter: TableCounter) -> None:
        self.counter = counter
        self._labels: dict[str | int, Hashes] = {}
        self._laid: tuple[Longs, Hashes] | None = None  # those of all columns

    def hashes(
        self,
        block: EncodedRows,
        y: Codes | Hashes,
        weights: Floats | None,
        threads: int = 1,
        out: Hashes | None = None,
    ) -> Hashes:
        """Return the hash of each row, given its weight and the code of its class, or a hash of its soft label.

        Without weights, each row has 1. They may be put into zeros that are given.
        """
        result, base = np.zeros(len(y), dtype=np.uint64) if out is None else out, WEIGHT_OF_ONE
        if block.numbers is not None:
            _kernels.hash_numbers(kernel_matrix(block.numbers), self._factors, result, threads)
        for name, vectors in block.vectors.items():
            if isinstance(vectors, TextRows):
                result += mix_hashes(vectors.hashes() + hash_of_text(name))
            else:
                result += vector_hashes(vectors, name)
        if weights is not None:
            result += number_hashes(weights[:, None], multipliers(WEIGHT, 1))
            base = 0
        if y.dtype == np.uint64:
            result += y
            classes, of_class = np.zeros(len(y), dtype=np.int32), np.zeros(1, dtype=np.uint64)
        else:  # a row without a label has code -1; while no row has one, all codes are 0
            of_class = np.append(self._known(CLASS, self.counter.classes.places), np.uint64(0))
            classes = np.ascontiguousarray(y, dtype=np.int32)
            if classes.min(initial=0) < 0:
                classes = np.where(classes < 0, np.int32(len(of_class) - 1), classes)
        codes = np.empty((len(y), 0), dtype=np.int32) if block.codes is None else block.codes
        offsets, table = self._tables() if codes.shape[1] else NO_TABLES
        _kernels.hash_codes(codes, offsets, table, classes, of_class, base, result, threads)
        return result

    @cached_property
    def _factors(self) -> Hashes:
        """The factor of each column of numbers."""
        return np.concatenate([multipliers(column.name, 1) for column in self.counter.of_numbers])

    def _tables(self) -> tuple[Longs, Hashes]:
        """Return the hashes of the labels of all columns, one after the other, and where each column begins."""
        columns = zip(self.counter.of_labels, self.counter.words, strict=True)
        known = [self._known(column.name, words.places) for column, words in columns]
        sizes = np.array([len(part) for part in known], dtype=np.int64)
        if self._laid is None or not np.array_equal(np.diff(self._laid[0]), sizes):
            self._laid = offsets_of(sizes), np.concatenate(known)
        return self._laid

    def _known(self, name: str | int, places: dict[Label, int]) -> Hashes:
        """Return the hashes of the labels of a column, by their codes."""
        known = self._labels.get(name, np.zeros(0, dtype=np.uint64))
        if len(known) < len(places):
            new = label_hashes(name, islice(places, len(known), None))
            known = self._labels[name] = np.concatenate([known, new])
        return known


def target_hashes(target: Target, counter: TableCounter) -> Codes | Hashes:
    """Return the classes of rows as they are hashed: codes that the counter gives them, or hashes of soft labels.

    Those of a soft label follow from its proportions; all of one class is that label.
    """
    proportions = target.proportions
    if proportions is None:
        return np.append(counter.classes.codes(target.labels), counter.classes.code(None))[target.codes]
    known = label_hashes(CLASS, target.labels)
    result, likely = number_hashes(proportions, known | np.uint64(1)), proportions.argmax(axis=1)
    alone = ((proportions != 0).sum(axis=1) == 1) & (proportions[np.arange(len(result)), likely] == 1)
    return np.where(alone, known[likely], result)


def frame_hashes(hasher: RowHasher, frame: Frame, y: Codes | Hashes, weights: Floats | None, threads: int) -> Hashes:
    """Return the hash of each row of a frame."""
    result = np.zeros(frame.rows, dtype=np.uint64)  # there may be no row: all were forgotten
    for begin in range(0, frame.rows, BLOCK):
        rows = slice(begin, min(begin + BLOCK, frame.rows))
        block = hasher.counter.encoded(frame, rows.start, rows.stop, threads)
        hasher.hashes(block, y[rows], None if weights is None else weights[rows], threads, result[rows])
    return result


def number_hashes(numbers: AnyArray, by: Hashes, threads: int = 1) -> Hashes:
    """Return a number for each row of a matrix, by a factor for each column; a cell of 0 adds nothing."""
    result = np.zeros(len(numbers), dtype=np.uint64)
    _kernels.hash_numbers(kernel_matrix(numbers), by, result, threads)
    return result


def vector_hashes(vectors: Matrix, name: str = "") -> Hashes:
    """Return a number for each vector of a matrix, dense or sparse; that of equal vectors is the same in both."""
    hashes_of = sparse_hashes if sparse.issparse(vectors) else number_hashes
    return hashes_of(distinct_cells(vectors), multipliers(name, vectors.shape[1]))


def sparse_hashes(numbers: sparse.csr_array, by: Hashes) -> Hashes:
    """Return the same of a sparse matrix."""
    cells = folded_bits(numbers.data) * by[numbers.indices]
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(cells, dtype=np.uint64)])
    result: Hashes = sums[numbers.indptr[1:]] - sums[numbers.indptr[:-1]]
    return result


def folded_bits(numbers: AnyArray) -> Hashes:
    """Return the bits of numbers, the upper half folded into the lower one; -0 is 0, and every NaN is the same."""
    clean = np.asarray(numbers, dtype=np.float64) + 0.0
    bits: Hashes = clean.view(np.uint64)
    with np.errstate(all="ignore"):
        some_missing = np.isnan(clean.sum())  # quicker than to look at each; infinite numbers may give NaN, too
    if some_missing:
        bits[np.isnan(clean)] = MISSING
    bits ^= bits >> np.uint64(32)
    return bits


def multipliers(name: str | int, width: int) -> Hashes:
    """Return an odd factor for each of the numbers of a column: one, or as many as its vectors are wide."""
    return mix_hashes(hash_of_text(name) + np.arange(width, dtype=np.uint64)) | np.uint64(1)


def label_hashes(name: str | int, labels: Iterable[Label]) -> Hashes:
    """Return a number for each label of a column."""
    result = np.array([hash_of_text(text_of_label(label)) for label in labels], dtype=np.uint64)
    return mix_hashes(result + hash_of_text(name))


def hash_of_text(text: str | int) -> np.uint64:
    """Return 64 bits that follow from a text; the small numbers stand for what is no text."""
    if isinstance(text, int):
        return np.uint64(text)
    coded = text.encode("utf-8", "surrogatepass")
    return np.uint64(int.from_bytes(blake2b(coded, digest_size=8).digest(), "little"))


def text_of_label(label: Label) -> str | int:
    """Return what a label is hashed by: its text; a whole number is written without a point.

    >>> text_of_label("red"), text_of_label(3.0), text_of_label(3), text_of_label(None)
    ('red', '3', '3', 0)
    """
    if label is None:
        return 0
    if isinstance(label, (float, np.floating)) and float(label).is_integer():
        return str(int(label))
    return str(label)


NO_TABLES = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.uint64)
# What a weight of 1 adds to the hash of a row.
WEIGHT_OF_ONE = int(number_hashes(np.ones((1, 1)), multipliers(WEIGHT, 1))[0])


# -- the order of rows by their content --------------------------------------------------------------------------------


# Into so many parts the range of a column is cut. No round number, and not from the edge on: numbers that people write
# lie on the borders of round parts, where a change of units would move them across.
PARTS, SHIFT = 977.3819, 0.2371
# Numbers that are hashed at once.
NUMBERS = 1 << 16
# Weights of rows are hashed in steps of one of these: a row of weight 2 as two rows.
WEIGHT_STEPS = 1 << 16


def content_order(counter: TableCounter, frame: Frame, y: Codes, threads: int, weights: Floats | None = None) -> Places:
    """Return the places of all rows in an order that follows from their content, and not from names of classes."""
    codes, numbers = counter.encoded_cells(frame, 0, frame.rows, threads)
    hashed = np.zeros(frame.rows, dtype=np.uint64)
    for columns in number_blocks(numbers):
        hashed += mix_hashes(range_parts(columns)).sum(axis=1, dtype=np.uint64)
    for index in range(codes.shape[1]):
        seen = counter.labels.part(index, len(counter.words[index]), len(counter.classes)).sum(axis=1)
        hashed += mix_hashes(np.asarray(np.minimum(seen * PARTS + SHIFT, 2.0**60), dtype=np.uint64))[codes[:, index]]
    for name in counter.readers:
        hashed += text_hashes(frame.columns[name].prose(counter.schema[name], 0, frame.rows))
    for column in counter.of_vectors:
        if column.name not in counter.readers:
            hashed += mix_hashes(vector_hashes(frame.columns[column.name]))
    ranks = ranks_of_alike(numbers, hashed)
    exact = exact_numbers(counter, numbers), exact_labels(counter, codes)
    # The exact cells decide among rows that look alike, and among equal rows the other rows of their class.
    w = ((np.ones(frame.rows) if weights is None else weights) * WEIGHT_STEPS).astype(np.uint64)
    classes = (hashes_of_classes(y, mix_hashes(cells) * w) for cells in (exact[0] + exact[1], hashed + ranks))
    return np.lexsort((w, *classes, *exact, ranks, hashed))


def hashes_of_classes(y: Codes, hashed: Hashes) -> Hashes:
    """Return a hash of all rows of its class for each row, given hashes of rows."""
    labels, classes = np.unique(y, return_inverse=True)
    sums = np.zeros(len(labels), dtype=np.uint64)
    np.add.at(sums, classes, hashed)
    return mix_hashes(sums)[classes]


def ranks_of_alike(numbers: Floats, hashed: Hashes) -> Hashes:
    """Return a hash of the ranks of the numbers of each row among the rows that share their hash with others.

    Most numbers of a skewed column lie in a few parts of its range. Ranks are counted from the end near which more of
    the numbers lie, and from both ends where they are as many.
    """
    out = np.zeros(len(hashed), dtype=np.uint64)
    _, which, times = np.unique(hashed, return_inverse=True, return_counts=True)
    alike = np.flatnonzero(times[which] > 1)
    for column in numbers.T if len(alike) else ():
        result, rank = np.unique(column[alike], return_inverse=True)
        last = int(np.count_nonzero(~np.isnan(result))) - 1
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
    each = max(NUMBERS // max(len(numbers), 1), 1)
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


# -- the one way to choose rows ----------------------------------------------------------------------------------------


# The rows of a sample, at most.
KEPT = 50_000


def smallest_places(hashes: Hashes, most: int, weights: Floats | None = None) -> Places:
    """Return the places of the sample of some rows, in the order of their hashes; rows of no weight are not in it.

    >>> smallest_places(np.array([5, 9, 1, 5, 5, 1], dtype=np.uint64), 3).tolist()  # of 3 contents every second row
    [2, 0, 4]
    """
    there = None if weights is None or weights.all() else np.flatnonzero(weights > 0)
    result = hashes if there is None else hashes[there]
    near = places_of_contents(result, most)
    near = near[proportional_copies(np.ones(len(near), dtype=np.int64), most) > 0]
    return near if there is None else there[near]


def places_of_contents(hashes: Hashes, most: int) -> Places:
    """Return the places of all rows of so many contents of smallest hash, in the order of their hashes."""
    wanted = float(most)
    while wanted + 6 * wanted**0.5 < len(hashes):  # hashes are spread evenly: so many are below this, unless by chance
        near = np.flatnonzero(hashes <= np.uint64((wanted + 6 * wanted**0.5) / len(hashes) * 2.0**64))
        near = near[np.argsort(hashes[near], kind="stable")]
        if number_contents(hashes[near])[-1:].sum() > most:
            break
        wanted *= 8  # there are copies
    else:
        near = np.argsort(hashes, kind="stable")
    return near[number_contents(hashes[near]) <= most]


def number_contents(ordered: Hashes) -> Longs:
    """Return the number of each row's content, 1 for the first, given their hashes in order."""
    return np.cumsum(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])


def proportional_copies(copies: Longs, most: int) -> Longs:
    """Return how many copies of each content are taken if there are too many: in proportion, and so many in sum.

    >>> proportional_copies(np.array([1, 1, 10, 4]), 8).tolist(), proportional_copies(np.array([1, 2]), 8).tolist()
    ([1, 0, 5, 2], [1, 2])
    """
    total = int(copies.sum())
    if total <= most:
        return copies
    upto = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(copies)])
    return np.diff((upto * most + total // 2) // total)


def in_proportion(hashes: Hashes, proportion: float) -> Mask:
    """Return which rows of a block are in a sample of about such a proportion of all rows, by their content.

    It is for samples too large to be kept. Copies of a row are numbered within the block, and each is in the sample or
    not by its number, so that few contents with many copies keep their proportions.
    """
    order = np.argsort(hashes, kind="stable")
    ordered, number = hashes[order], np.empty(len(hashes), dtype=np.uint64)
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    number[order] = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    return (mix_hashes(hashes + number) >> np.uint64(11)).astype(np.float64) < proportion * 2.0**53
