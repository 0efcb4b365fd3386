"""The one way to sample rows: those whose content has the smallest hash.

The sample of a table follows from its rows alone, neither from their order nor from where they are read. It can be
merged: the sample of two tables together follows from the samples of both. Rows with the same content have the same
hash, so that all copies of a row are in the sample, or none is; a row counts with all its copies. Where there are more
copies than the sample may have rows, every content keeps its proportion of them: the copies stand in the order of their
hashes, and one of every so many is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .._types import Codes, Floats, Hashes, Longs, Mask, Places
from ..data.frame import Frame, frame_of
from ..stats.arithmetic import mix_hashes

# The rows of a sample, at most; of up to twice as many rows all are kept. If texts are longer than so many bytes
# together, there are fewer rows, but some in any case.
KEPT, BYTES, FEWEST = 50_000, 1 << 26, 500

LARGEST_HASH = np.uint64(2**64 - 1)

Hasher = Callable[[Frame, Codes, Floats], Hashes]  # from rows, the codes of their classes and their weights


def smallest_places(hashes: Hashes, most: int, weights: Floats | None = None) -> Places:
    """Return the places of the sample of some rows, in the order of their hashes; rows of no weight are not in it.

    >>> smallest_places(np.array([5, 9, 1, 5, 5, 1], dtype=np.uint64), 3).tolist()  # of 3 contents every second row
    [2, 0, 4]
    """
    there = None if weights is None or weights.all() else np.flatnonzero(weights > 0)
    found = hashes if there is None else hashes[there]
    near = places_of_contents(found, most)
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


class SamplePart(NamedTuple):
    """Some rows with the codes of their classes, their weights, and what else is kept beside them."""

    table: pa.Table
    y: Codes
    weights: Floats
    bytes: Longs  # of the texts of each row whose words are counted
    folds: Codes  # which fold each row is in; -1 if they are not split
    copies: Longs  # how many rows of this content there are in this fold
    hashes: Hashes  # all 0 while every row is kept

    def take(self, at: Places) -> SamplePart:
        """Return some of the rows, in this order."""
        return SamplePart(
            self.table.take(pa.array(at)),
            self.y[at],
            self.weights[at],
            self.bytes[at],
            self.folds[at],
            self.copies[at],
            self.hashes[at],
        )

    @staticmethod
    def joined(parts: Sequence[SamplePart]) -> SamplePart:
        """Return all rows of several parts; of the columns those that all of them have."""
        tables = [part.table for part in parts]
        names = set(tables[0].column_names).intersection(*(table.column_names for table in tables))
        kept = [name for name in tables[0].column_names if name in names]  # columns may have been set aside meanwhile
        table = pa.concat_tables([table.select(kept) for table in tables], promote_options="permissive")
        arrays = zip(*(part[1:] for part in parts), strict=True)
        return SamplePart(table.combine_chunks(), *map(np.concatenate, arrays))


class RowSample:
    """The sample of rows that come block by block. While they are few, all are kept, as they come.

    Rows of no weight are not in it.

    Parameters
    ----------
    hasher
        Returns the hashes of rows, given the codes of their classes and their weights. None if the rows come with some
        of their columns only, so that nobody else can know their hashes.
    texts
        Columns of texts whose words are counted, which may be long.
    kept, whole : int
        The rows of the sample, and up to how many rows all are kept; twice as many.
    """

    def __init__(
        self, hasher: Hasher | None, texts: Sequence[str] = (), kept: int | None = None, whole: int | None = None
    ) -> None:
        self.hasher, self.texts = hasher, tuple(texts)
        self.kept = KEPT if kept is None else kept
        self.whole = 2 * self.kept if whole is None else whole
        self._parts: list[SamplePart] = []
        self._limit: np.uint64 | None = None  # the largest hash that is kept; None while all rows are

    @classmethod
    def of_part(
        cls, part: SamplePart, limit: np.uint64 | None, hasher: Hasher | None, texts: Sequence[str] = ()
    ) -> RowSample:
        """Return the sample that `contents` described."""
        sample = cls(hasher, texts)
        sample._parts, sample._limit = [part], limit
        return sample

    @property
    def complete(self) -> bool:
        """Whether all rows that came, and weigh something, are there."""
        return bool(self._parts) and self._limit is None

    @property
    def is_empty(self) -> bool:
        """Whether no row came."""
        return not self._parts

    def apart(self) -> RowSample:
        """Return the same sample; what one of the two takes in does not change the other."""
        other = copy(self)
        other._parts = list(self._parts)
        return other

    def without_values(self, names: Sequence[str]) -> RowSample:
        """Return the same rows, whose cells in some columns are all missing: these have no type."""
        other = copy(self)
        other._parts = []
        for part in self._parts:
            table = part.table
            for name in names:
                table = table.set_column(table.column_names.index(name), name, pa.nulls(len(table)))
            other._parts.append(part._replace(table=table))
        return other

    def recoded(self, places: Codes, hasher: Hasher | None) -> RowSample:
        """Return the same rows, with other codes of their classes, by which the hasher goes."""
        other = copy(self)
        other.hasher = hasher
        other._parts = [part._replace(y=places[part.y]) for part in self._parts]
        return other

    def keep(
        self,
        frame: Frame,
        y: Codes,
        weights: Floats | None,
        folds: Codes | None = None,
        hashes: Callable[[], Hashes] | None = None,
    ) -> None:
        """Look at more rows; who has their hashes at hand, or can make them quickly, gives them."""
        weights, rows = np.ones(frame.rows) if weights is None else weights, frame.rows
        table = pa.table({name: values.data for name, values in frame.columns.items()})
        size, there, found = text_bytes(table, self.texts), weights > 0, np.zeros(rows, dtype=np.uint64)
        if self._limit is None and not self._fits(int(np.count_nonzero(there)), int(size[there].sum())):
            self._hash_all()
        if self.hasher is None or self._limit is not None:
            found = self._hashes(table, y, weights) if hashes is None else hashes()
        if self._limit is not None:
            there &= found <= self._limit
            if np.count_nonzero(there) > self.kept:  # else there are no more contents than are kept
                distinct = np.unique(found[there])
                self._limit = self._limit if len(distinct) <= self.kept else distinct[self.kept - 1]
                there &= found <= self._limit
        folds = np.full(rows, -1, dtype=np.int32) if folds is None else folds
        new = SamplePart(table, y, weights, size, folds, np.ones(rows, dtype=np.int64), found)
        self._parts.append(new.take(np.flatnonzero(there)))
        if self._limit is not None and self._large():
            self._shrink()

    def absorb(self, other: RowSample) -> None:
        """Take in the sample of other rows, whose classes have the same codes."""
        rows, size = other._rows, other._bytes
        if other._limit is not None or (self._limit is None and not self._fits(rows, size)):
            self._hash_all()
        if self._limit is None:
            self._parts += other._parts
            return
        if other._limit is None:
            other = copy(other)
            other._hash_all()
        assert other._limit is not None
        self._parts, self._limit = [*self._parts, *other._parts], min(self._limit, other._limit)
        self._shrink()

    def _hash_all(self) -> None:
        """Go by hashes from now on, as not all rows can be kept."""
        if self._limit is None:
            self._limit = LARGEST_HASH
            if self.hasher is not None:
                self._parts = [part._replace(hashes=self._hashes(*part[:3])) for part in self._parts]

    @property
    def _rows(self) -> int:
        return sum(len(part.y) for part in self._parts)

    @property
    def _bytes(self) -> int:
        return sum(int(part.bytes.sum()) for part in self._parts)

    def _fits(self, rows: int, size: int) -> bool:
        """Return whether all rows can be kept if so many more come, with texts of so many bytes."""
        rows, size = rows + self._rows, size + self._bytes
        return rows <= self.whole and (size <= BYTES or rows <= FEWEST)

    def _large(self) -> bool:
        """Return whether there is much more than the sample will have."""
        return self._rows > 2 * self.kept or (self._bytes > 2 * BYTES and self._rows > 2 * FEWEST)

    def _hashes(self, table: pa.Table, y: Codes, weights: Floats) -> Hashes:
        assert self.hasher is not None, "hashes are given with the rows"
        return self.hasher(frame_of(table), y, weights)

    def _shrink(self) -> None:
        """Keep each content once for each fold, and of the contents those of the smallest hashes."""
        joined, limit = SamplePart.joined(self._parts), LARGEST_HASH if self._limit is None else self._limit
        order = np.lexsort((joined.folds, joined.hashes))
        hashes, folds = joined.hashes[order], joined.folds[order]
        content = np.append(True, hashes[1:] != hashes[:-1])
        first = np.flatnonzero(np.append(True, content[1:] | (folds[1:] != folds[:-1])))
        copies = np.add.reduceat(joined.copies[order], first)
        part = joined.take(order[first])._replace(copies=copies)
        rank = np.cumsum(content[first])  # of each content among all
        size = np.cumsum(np.where(content[first], part.bytes, 0))
        few = (rank <= self.kept) & ((size <= BYTES) | (rank <= FEWEST))
        kept = int(np.count_nonzero(few & (part.hashes <= limit)))
        if kept < len(part.hashes):
            self._limit = part.hashes[kept - 1]
        self._parts = [part.take(np.arange(kept))]

    def contents(self) -> tuple[SamplePart, np.uint64 | None]:
        """Return each content once with its copies, and the largest hash that is kept; all rows while all are kept."""
        if self._limit is None:
            return SamplePart.joined(self._parts), None
        self._shrink()
        return self._parts[0], self._limit

    def rows(self) -> SamplePart:
        """Return the rows of the sample: all of them as they came, or in the order of their hashes."""
        if self._limit is None:
            return SamplePart.joined(self._parts)
        self._shrink()
        (part,) = self._parts
        times = proportional_copies(part.copies, self.kept)
        return part.take(np.repeat(np.arange(len(times)), times))


def text_bytes(table: pa.Table, texts: Sequence[str]) -> Longs:
    """Return the bytes of some columns of texts in each row."""
    found = np.zeros(table.num_rows, dtype=np.int64)
    for name in texts:
        found += pc.fill_null(pc.binary_length(table.column(name)), 0).to_numpy()
    return found


# -- samples as bytes of Arrow -----------------------------------------------------------------------------------------


# What stands beside the cells of a row, in this order, behind the columns of the table.
BESIDE = tuple(SamplePart._fields[1:])


def sample_to_bytes(sample: RowSample) -> bytes:
    """Return a sample as an Arrow stream; the largest hash that is kept stands in its metadata."""
    part, limit = sample.contents()
    names = [*part.table.column_names, *("" for _ in BESIDE)]
    arrays = [*part.table.columns, *(pa.array(getattr(part, name)) for name in BESIDE)]
    said = {"limit": "" if limit is None else str(limit)}
    table = pa.Table.from_arrays(arrays, names=names).replace_schema_metadata(said)
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd" if pa.Codec.is_available("zstd") else None)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def sample_of_bytes(data: bytes, hasher: Hasher | None, texts: Sequence[str], classes: Places) -> RowSample:
    """Return the sample in such bytes; the classes of its rows get other codes, given by those they have there."""
    table = pa.ipc.open_stream(data).read_all()
    limit = (table.schema.metadata or {}).get(b"limit", b"").decode()
    own = table.num_columns - len(BESIDE)
    beside = [table.column(own + at).to_numpy() for at in range(len(BESIDE))]
    beside[0] = classes[beside[0]].astype(np.int32)
    cells = table.select(list(range(own))).replace_schema_metadata(None).combine_chunks()
    part = SamplePart(cells, *beside)
    return RowSample.of_part(part, np.uint64(limit) if limit else None, hasher, texts)
