"""Some rows of files, kept while all of them are counted: by chance, and yet the same ones whenever they are read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .._types import Codes, Floats, Hashes
from ..data.frame import Frame, frame_of
from ..stats.hashing import mix_hashes

# So many rows are kept, and at times up to twice as many; but fewer if texts that are taken apart are longer than this.
KEPT, BYTES = 20_000, 1 << 26
# Where so many rows are too long, about half of them are kept all the same.
FEWEST = 500
ALL = np.uint64(2**64 - 1)  # the largest hash there is


def place_hash(file: int, begin: int, rows: int) -> Hashes:
    """Return a number for each row that looks random and follows from its file and its place there."""
    places = np.arange(begin, begin + rows, dtype=np.uint64)
    return mix_hashes(places + (np.uint64(file) << np.uint64(40)) + np.uint64(1))


def chosen(rows: int, weights: Floats | None) -> npt.NDArray[np.intp]:
    """Return which rows of a table are kept: those that would be if they came from a file."""
    hashed = place_hash(0, 0, rows)
    there = np.ones(rows, dtype=np.bool_) if weights is None else weights > 0
    most = ALL
    while np.count_nonzero(there & (hashed <= most)) > 2 * KEPT:
        most //= np.uint64(2)
    return np.flatnonzero(there & (hashed <= most))


class Part(NamedTuple):
    """Some rows with their hashes, the codes of their classes, and what they weigh."""

    hashed: Hashes
    table: pa.Table
    y: Codes
    weights: Floats
    bytes: npt.NDArray[np.int64]  # of the texts of each row that are taken apart
    folds: Codes | None = None  # which fold each row is in, if they are split

    def below(self, most: np.uint64) -> Part:
        """Return the rows whose hash is at most this, and which weigh something."""
        at = np.flatnonzero((self.hashed <= most) & (self.weights > 0))
        folds = None if self.folds is None else self.folds[at]
        return Part(self.hashed[at], self.table.take(pa.array(at)), self.y[at], self.weights[at], self.bytes[at], folds)


class Sample:
    """The rows of the least hash among all that were shown; each of them weighs something."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.most = ALL

    @property
    def complete(self) -> bool:
        """Whether all rows that were shown, and weigh something, are there."""
        return bool(self.parts) and self.most == ALL

    def keep(
        self,
        hashed: Hashes,
        frame: Frame,
        y: Codes,
        weights: Floats | None,
        texts: Iterable[str] = (),
        folds: Codes | None = None,
    ) -> None:
        """Look at more rows; some of their columns are texts that are taken apart."""
        weights, before = np.ones(frame.rows) if weights is None else weights, self.most
        table = pa.table({name: values.data for name, values in frame.columns.items()})
        new, there = Part(hashed, table, y, weights, lengths(table, texts), folds), weights > 0
        seen = [*((part.hashed, part.bytes) for part in self.parts), (hashed[there], new.bytes[there])]
        while too_much(seen, self.most):
            self.most //= np.uint64(2)
        if self.most < before:
            self.parts = [part.below(self.most) for part in self.parts]
        self.parts.append(new.below(self.most))

    def rows(self) -> tuple[Frame, Codes, Floats]:
        """Return the rows that were kept, the codes of their classes, and what they weigh."""
        tables = [part.table for part in self.parts]
        names = set(tables[0].column_names).intersection(*(set(table.column_names) for table in tables))
        kept = [name for name in tables[0].column_names if name in names]  # columns may have been set aside meanwhile
        table = pa.concat_tables([table.select(kept) for table in tables], promote_options="permissive")
        return frame_of(table.combine_chunks()), *(np.concatenate([part[at] for part in self.parts]) for at in (2, 3))  # type: ignore[return-value]


def lengths(table: pa.Table, texts: Iterable[str]) -> npt.NDArray[np.int64]:
    """Return the bytes of some columns of texts in each row."""
    found = np.zeros(table.num_rows, dtype=np.int64)
    for name in texts:
        found += pc.fill_null(pc.binary_length(table.column(name)), 0).to_numpy()
    return found


def too_much(seen: list[tuple[Hashes, npt.NDArray[np.int64]]], most: np.uint64) -> bool:
    """Tell whether the rows whose hash is at most this are too many to keep, or too long."""
    there = [hashed <= most for hashed, _ in seen]
    rows = sum(int(np.count_nonzero(some)) for some in there)
    taken = sum(int(size[some].sum()) for some, (_, size) in zip(there, seen, strict=True))
    return rows > 2 * KEPT or (taken > BYTES and rows > FEWEST)
