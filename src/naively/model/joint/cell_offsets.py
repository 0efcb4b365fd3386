"""Offsets of cells: what is added to the score of each class for each value, and for each pair of values."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._types import Codes, Floats, JsonObject, Longs
from ...counting.row_hash import multipliers
from ...data.grid import Cells, Grid
from ...stats.accumulators import offsets_of
from ...stats.hashing import mix_hashes


@dataclass(frozen=True, eq=False)
class CellLayout:
    """Where the offsets of each column, of each pair of columns, and of all rows lie among all offsets.

    A number has one for each of its fine bins, a pair of columns one for each pair of their codes on the grid.
    """

    grid: Grid
    pairs: tuple[tuple[int, int], ...]

    @cached_property
    def starts(self) -> Longs:
        """Where the offsets of each column begin, then those of each pair, then that of all rows, then the end."""
        grid = self.grid
        codes = np.diff(grid.offsets)
        sizes = [len(bins.coarse) for bins in grid.numbers] + codes[len(grid.numbers) :].tolist()
        return offsets_of(np.array([*sizes, *(codes[i] * codes[j] for i, j in self.pairs), 1], dtype=np.int64))

    @property
    def size(self) -> int:
        """How many offsets a class has."""
        return int(self.starts[-1])

    def column(self, at: int) -> slice:
        """Return which offsets are those of a column."""
        return slice(int(self.starts[at]), int(self.starts[at + 1]))

    def pair(self, at: int) -> slice:
        """Return which offsets are those of a pair of columns."""
        return self.column(len(self.grid.names) + at)

    def places(self, cells: Cells) -> Codes:
        """Return the offsets of each row, [row, column or pair or all rows].

        That of a missing value is the one after the last.
        """
        grid, numbers = self.grid, len(self.grid.numbers)
        out = np.empty((len(cells), len(self.starts) - 1), dtype=np.int32)
        for at in range(len(grid.names)):
            self._fill(out, at, cells.fine[:, at] if at < numbers else cells.codes[:, at])
        codes = np.diff(grid.offsets)
        for at, (i, j) in enumerate(self.pairs, len(grid.names)):
            a, b = cells.codes[:, i], cells.codes[:, j]
            self._fill(out, at, np.where((a >= 0) & (b >= 0), a * np.int32(codes[j]) + b, np.int32(-1)))
        out[:, -1] = self.size - 1
        return out

    def _fill(self, out: Codes, at: int, codes: Codes) -> None:
        """Enter the places of a column's codes; those out of range have none."""
        part = self.column(at)
        there = (codes >= 0) & (codes < part.stop - part.start)
        np.copyto(out[:, at], np.where(there, codes + np.int32(part.start), np.int32(self.size)))

    def folds(self, cells: Cells, folds: int) -> Codes:
        """Return the fold of each row, which follows from its cells: whatever the order of rows, columns or numbers."""
        sizes = np.diff(self.grid.offsets).tolist()
        total = np.zeros(len(cells), dtype=np.uint64)
        for at, name in enumerate(self.grid.names):
            # Twice the distance from the middle: it is the same if the sign of all numbers is changed.
            far = np.abs(2 * cells.codes[:, at] - np.int32(sizes[at] - 1))
            codes = np.where(cells.codes[:, at] < 0, -1, far if at < len(self.grid.numbers) else cells.codes[:, at])
            with np.errstate(over="ignore"):
                total += mix_hashes((codes + 2).astype(np.uint64) * multipliers(name, 1)[0])
        return (mix_hashes(total) % np.uint64(folds)).astype(np.int32)


@dataclass(frozen=True, eq=False)
class CellOffsets:
    """The offsets of all cells, fitted on all rows, and the same without the rows of each fold.

    A row's own label has no part in the offsets without its fold: leave-one-out scores use these.
    """

    pairs: tuple[tuple[int, int], ...]  # pairs of columns that have offsets, by place on the grid
    tables: Floats  # [all rows, or without a fold; offset; class]
    ridge: float  # that they were fitted under
    loss_ratio: float  # the log loss of held-out rows with offsets over that without

    @property
    def folds(self) -> int:
        """How many folds there are."""
        return len(self.tables) - 1

    def layout(self, grid: Grid) -> CellLayout:
        """Return where the offsets lie."""
        return CellLayout(grid, self.pairs)

    def bias(self) -> Floats:
        """Return the offset of all rows, [class]."""
        return np.asarray(self.tables[0, -1])

    def columns(self, grid: Grid) -> Iterator[tuple[int, Floats]]:
        """Give the offsets of each column, [code, class]: a number by its fine bins, labels as on the grid."""
        layout = self.layout(grid)
        yield from ((at, self.tables[0, layout.column(at)]) for at in range(len(grid.names)))

    def of_pairs(self, grid: Grid) -> Iterator[tuple[tuple[int, int], Floats]]:
        """Give the offsets of each pair of columns, [code, code, class]."""
        layout, sizes = self.layout(grid), np.diff(grid.offsets).tolist()
        for at, (i, j) in enumerate(self.pairs):
            yield (i, j), self.tables[0, layout.pair(at)].reshape(sizes[i], sizes[j], -1)

    def without_fold(self, grid: Grid, cells: Cells) -> Floats:
        """Return the sum of the offsets of each row, fitted without the rows of its fold, [class, row]."""
        layout = self.layout(grid)
        places, fold = layout.places(cells), layout.folds(cells, self.folds)
        out = np.empty((len(cells), self.tables.shape[2]))
        for at in range(self.folds):
            rows = np.flatnonzero(fold == at)
            out[rows] = offset_sums(self.tables[at + 1], places[rows])
        return np.ascontiguousarray(out.T)

    def to_json(self) -> JsonObject:
        """Return it as plain data."""
        data = b64encode(self.tables.astype("<f4").tobytes()).decode("ascii")
        pairs = [list(pair) for pair in self.pairs]
        return {
            "pairs": pairs,
            "tables": list(self.tables.shape),
            "offsets": data,
            "ridge": self.ridge,
            "loss_ratio": self.loss_ratio,
        }

    @classmethod
    def from_json(cls, data: JsonObject, classes: int) -> CellOffsets:
        """Return what to_json described."""
        shape, flat = tuple(map(int, data["tables"])), np.frombuffer(b64decode(data["offsets"]), dtype="<f4")
        whole = len(shape) == 3 and shape[0] > 1 and shape[2] == classes and len(flat) == np.prod(shape)
        if not whole or not np.isfinite(flat).all():
            raise KeyError("offsets")
        pairs = tuple((int(i), int(j)) for i, j in data["pairs"])
        return cls(pairs, flat.reshape(shape).astype(np.float64), float(data["ridge"]), float(data["loss_ratio"]))

    def fits(self, grid: Grid) -> bool:
        """Tell whether there is an offset for each cell of a grid."""
        known = all(0 <= i < j < len(grid.names) for i, j in self.pairs)
        return known and self.tables.shape[1] == self.layout(grid).size


def offset_sums(table: Floats, places: Codes) -> Floats:
    """Return the sum of the offsets of each row, [row, class]; the place after the last has none."""
    known = np.vstack([table, np.zeros((1, table.shape[1]))])
    out = np.zeros((len(places), table.shape[1]))
    for column in places.T:
        out += known[column]
    return out


def rounded(tables: Sequence[Floats]) -> Floats:
    """Return tables in the precision that files hold."""
    return np.stack(tables).astype(np.float32).astype(np.float64)
