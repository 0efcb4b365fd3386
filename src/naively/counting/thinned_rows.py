"""Some rows of a table, or of files read block by block: evenly spread, the same ones whichever way they come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._types import Floats, Longs
from ..data.block import numbers_of
from ..data.frame import Frame
from ..data.schema import Column
from ..stats.hashing import mix_hashes

# So many rows are kept at most; of wide tables fewer, for all cells together are bounded, but some in any case.
MOST, CELLS, FEWEST = 1 << 14, 1 << 22, 1 << 11


class Part(NamedTuple):
    """Some rows: where they stand among all, their columns, their classes (codes or shares), what they weigh."""

    places: Longs
    frame: Frame
    y: Any
    weights: Floats | None

    def take(self, at: Any) -> Part:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[at]
        return Part(self.places[at], self.frame.take(at), self.y[at], weights)


class Thinned:
    """One row of every 1, 2, 4, 8 … neighbours, by a hash of their place: no other row is touched."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = tuple(columns)
        self.most = int(np.clip(CELLS // max(len(self.columns), 1), FEWEST, MOST))
        self.seen, self.level = 0, 0
        self.of, self.stale = 0.0, False  # the weight of all rows they stand for; whether others came or went since
        self.parts: list[Part] = []

    def add(self, frame: Frame, y: Any, weights: Floats | None) -> None:
        """Look at more rows, which come after those before."""
        begin, before, self.seen = self.seen, self.level, self.seen + frame.rows
        self.level = max((-(-self.seen // self.most) - 1).bit_length(), 0)
        if self.level > before:
            self.parts = [part.take(np.flatnonzero(stay(part.places, before, self.level))) for part in self.parts]
        places = picked(begin, self.seen, self.level)
        if len(self.columns) < len(frame.columns):
            frame = Frame({c.name: frame.columns[c.name] for c in self.columns}, frame.rows, library=frame.library)
        at = places - begin
        self.parts.append(Part(places, frame.take(at), y[at], None if weights is None else weights[at]))

    def rows(self) -> tuple[Floats, Any, Floats]:
        """Return the numbers of the rows that were kept, [row, column], their classes, and what they weigh."""
        numbers = [np.asarray(numbers_of(p.frame, self.columns, 0, p.frame.rows), dtype=np.float64) for p in self.parts]
        weights = [np.ones(len(p.places)) if p.weights is None else p.weights for p in self.parts]
        return np.concatenate(numbers), np.concatenate([p.y for p in self.parts]), np.concatenate(weights)


def half(places: Longs, level: int) -> Longs:
    """Return which half of each pair of neighbours at a level is kept, 0 or 1, given the place of the pair."""
    hashed = mix_hashes(places.astype(np.uint64) + (np.uint64(level) << np.uint64(56)) + np.uint64(1))
    return (hashed >> np.uint64(63)).astype(np.int64)


def picked(begin: int, end: int, level: int) -> Longs:
    """Return the places of the rows that are kept at a level, between two places.

    >>> picked(0, 64, 3).tolist() == [at for at in picked(0, 64, 2).tolist() if stay(np.array([at]), 2, 3)[0]]
    True
    """
    places = np.arange(begin >> level, ((end - 1) >> level) + 1, dtype=np.int64)
    for at in range(level, 0, -1):
        places = 2 * places + half(places, at)
    return places[(places >= begin) & (places < end)]


def stay(places: Longs, before: int, level: int) -> npt.NDArray[np.bool_]:
    """Tell which rows that were kept at one level are kept at a higher one, too."""
    kept = np.ones(len(places), dtype=np.bool_)
    for at in range(before + 1, level + 1):
        kept &= (places >> (at - 1)) & 1 == half(places >> at, at)
    return kept
