"""Some rows of files, kept while all of them are counted: by chance, and yet the same ones whenever they are read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..hashing import Hashes, stirred
from ..read.frame import Frame, frame_of
from ..statistics.accumulators import Codes
from ..statistics.axis import Floats

# So many rows are kept, and at times up to twice as many.
KEPT = 20_000


def place_hash(file: int, begin: int, rows: int) -> Hashes:
    """Return a number for each row that looks random and follows from its file and its place there."""
    places = np.arange(begin, begin + rows, dtype=np.uint64)
    return stirred(places + (np.uint64(file) << np.uint64(40)) + np.uint64(1))


def chosen(rows: int, weights: Floats | None) -> npt.NDArray[np.intp]:
    """Return which rows of a table are kept: those that would be if they came from a file."""
    hashed = place_hash(0, 0, rows)
    there = np.ones(rows, dtype=np.bool_) if weights is None else weights > 0
    most = np.uint64(2**64 - 1)
    while np.count_nonzero(there & (hashed <= most)) > 2 * KEPT:
        most //= np.uint64(2)
    return np.flatnonzero(there & (hashed <= most))


class Part(NamedTuple):
    """Some rows with their hashes, the codes of their classes, and what they weigh."""

    hashed: Hashes
    table: pa.Table
    y: Codes
    weights: Floats

    def below(self, most: np.uint64) -> Part:
        """Return the rows whose hash is at most this."""
        at = np.flatnonzero(self.hashed <= most)
        return Part(self.hashed[at], self.table.take(pa.array(at)), self.y[at], self.weights[at])


class Sample:
    """The rows of the least hash among all that were shown; each of them weighs something."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.most = np.uint64(2**64 - 1)

    def keep(self, hashed: Hashes, frame: Frame, y: Codes, weights: Floats | None) -> None:
        """Look at more rows."""
        weights = np.ones(frame.rows) if weights is None else weights
        hashes, before = [*(part.hashed for part in self.parts), hashed[weights > 0]], self.most
        while sum(np.count_nonzero(some <= self.most) for some in hashes) > 2 * KEPT:
            self.most //= np.uint64(2)
        if self.most < before:
            self.parts = [part.below(self.most) for part in self.parts]
        at = np.flatnonzero((hashed <= self.most) & (weights > 0))
        columns = {name: values.data for name, values in frame.columns.items()}
        self.parts.append(Part(hashed[at], pa.table(columns).take(pa.array(at)), y[at], weights[at]))

    def rows(self) -> tuple[Frame, Codes, Floats]:
        """Return the rows that were kept, the codes of their classes, and what they weigh."""
        tables = [part.table for part in self.parts]
        names = set(tables[0].column_names).intersection(*(set(table.column_names) for table in tables))
        kept = [name for name in tables[0].column_names if name in names]  # columns may have been set aside meanwhile
        frame = frame_of(pa.concat_tables([table.select(kept) for table in tables], promote_options="permissive"))
        return frame, *(np.concatenate([part[at] for part in self.parts]) for at in (2, 3))  # type: ignore[return-value]
