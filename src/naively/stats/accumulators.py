"""Counts that fill in place: adding one row costs that row, however large the model is.

Each accumulator holds the arrays of one statistic while rows come in, and returns the immutable value on request.
Classes and values are codes here; they may be new at any time, if room is made for them. Room is doubled when it runs
out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _kernels
from .._types import AnyArray, Codes, Floats, Label, Longs, Matrix, Places
from ..errors import InvalidInput
from .axis import Axis
from .counts import Counts
from .moments import Moments
from .table import Table, Tables

INT32 = np.dtype(np.int32)


class Vocabulary:
    """Labels and their codes: 0, 1, … in the order in which they first occurred."""

    def __init__(self, labels: Iterable[Label] = (), growth: list[int] | None = None) -> None:
        self.places: dict[Label, int] = {}
        self.growth = [0] if growth is None else growth  # how many labels there are, of several vocabularies together
        self._sorted: tuple[Axis, Places] | None = None
        self.codes(labels)

    def __len__(self) -> int:
        return len(self.places)

    def code(self, label: Label) -> int:
        """Return the code of a label, a new one for a new label."""
        code = self.places.get(label)
        if code is None:
            code = self.places[label] = len(self.places)
            self.growth[0] += 1
        return code

    def codes(self, labels: Iterable[Label]) -> npt.NDArray[np.int32]:
        """Return the code of each label."""
        return np.fromiter((self.code(label) for label in labels), dtype=np.int32)

    def sorted(self, fixed: Iterable[Label] = ()) -> tuple[Axis, Places]:
        """Return all labels as an axis, and the place of each code on it; cached until a label is new."""
        declared, known = frozenset(fixed), self._sorted
        if known is None or len(known[1]) != len(self.places) or known[0].fixed != declared:
            axis = Axis(self.places, declared)
            known = self._sorted = axis, axis.places(self.places)
        return known


class TableAccumulator:
    """Fills a Table whose values are the columns of a matrix, dense or sparse: words, flags.

    With a threshold, a cell counts once if it lies above it. Without one it counts for its value, which must not be
    negative.
    """

    def __init__(self, classes: Axis, values: Axis, threshold: float | None = None) -> None:
        self.classes, self.values, self.threshold = classes, values, threshold
        self.n: Floats = np.zeros((len(classes), len(values)))

    @property
    def width(self) -> int:
        """How many columns the matrices have."""
        return len(self.values)

    @property
    def least(self) -> float | None:
        """The least that a cell may hold."""
        return 0.0 if self.threshold is None else None

    def add(self, x: Matrix, y: Codes, weights: Floats | None, threads: int) -> int:
        """Count the rows of a matrix, which may be sparse (CSR); return the first that is refused, or -1."""
        y, weights = as_codes(y), as_weights(weights)
        if isinstance(x, np.ndarray):
            return _kernels.count_dense(x, y, weights, self.threshold, self.least, self.n, threads)
        return _kernels.count_sparse(
            x.indptr, x.indices, x.data, y, weights, self.threshold, self.least, self.n, threads
        )

    def make_room(self, classes: int) -> None:
        """Make room for this many classes."""
        self.n = with_room(self.n, 0, classes)

    def fresh(self) -> TableAccumulator:
        """Return an empty one of the same kind."""
        return TableAccumulator(self.classes, self.values, self.threshold)

    def value(self, axis: Axis | None = None, seen: Sequence[Label] | None = None) -> Table:
        """Return the table of all rows so far; `seen` are the labels of classes 0, 1, … on another axis."""
        axis, place = places_of_codes(self.classes, axis, seen)
        n = np.zeros((len(axis), self.width))
        n[place] = self.n[: len(place)]
        return Table(axis, self.values, n)

    def take(self, table: Table, classes: Sequence[Label]) -> None:
        """Hold these counts from now on, the classes by their codes."""
        self.make_room(len(classes))
        self.n[: len(classes)] = table.on(Axis.ordered(classes), self.values)


class MomentsAccumulator:
    """Fills Moments of the columns of a matrix of numbers; NaN is a missing value."""

    def __init__(self, classes: Axis, columns: Axis, *, allow_missing: bool = True) -> None:
        self.classes, self.columns, self.allow_missing = classes, columns, allow_missing
        self.shift: Floats = np.zeros((len(classes), len(columns)))
        self.sums: Floats = np.zeros((3, len(classes), len(columns)))

    @property
    def width(self) -> int:
        """How many columns the matrices have."""
        return len(self.columns)

    def add(self, x: AnyArray, y: Codes, weights: Floats | None, threads: int) -> int:
        """Count the rows of a matrix of numbers; return the first that is refused, or -1."""
        return _kernels.count_moments(
            x, as_codes(y), as_weights(weights), self.allow_missing, self.shift, self.sums, threads
        )

    def make_room(self, classes: int) -> None:
        """Make room for this many classes."""
        self.shift, self.sums = with_room(self.shift, 0, classes), with_room(self.sums, 1, classes)

    def fresh(self) -> MomentsAccumulator:
        """Return an empty one of the same kind."""
        return MomentsAccumulator(self.classes, self.columns, allow_missing=self.allow_missing)

    def value(self, axis: Axis | None = None, seen: Sequence[Label] | None = None) -> Moments:
        """Return the moments of all rows so far; `seen` are the labels of classes 0, 1, … on another axis."""
        axis, place = places_of_codes(self.classes, axis, seen)
        n, shift, total, squares = np.zeros((4, len(axis), self.width))
        n[place], total[place], squares[place] = self.sums[:, : len(place)]
        # Rows of no weight may have left a shift behind.
        shift[place] = np.where(self.sums[0, : len(place)] > 0, self.shift[: len(place)], 0.0)
        return Moments(axis, self.columns, n, shift, total, squares)

    def take(self, moments: Moments, classes: Sequence[Label]) -> None:
        """Hold these moments from now on, the classes by their codes."""
        self.make_room(len(classes))
        laid, rows = moments.on(Axis.ordered(classes)), slice(len(classes))
        self.sums[:, rows] = laid.n, laid.total, laid.squares
        self.shift[rows] = laid.shift


class CodesAccumulator:
    """Fills a Table for each column of a matrix of codes. A negative code is a missing value."""

    def __init__(self, classes: Axis, sizes: npt.ArrayLike, *, allow_missing: bool = True) -> None:
        self.classes, self.allow_missing = classes, allow_missing
        self.offsets = offsets_of(np.asarray(sizes, dtype=np.int64))
        self.n: Floats = np.zeros((int(self.offsets[-1]), len(classes)))  # [column and code, class]: one line a cell

    @property
    def sizes(self) -> Longs:
        """How many codes each column has room for."""
        return np.diff(self.offsets)

    @property
    def width(self) -> int:
        """How many columns the matrices have."""
        return len(self.offsets) - 1

    def grown(self, sizes: Longs, classes: int = 0) -> CodesAccumulator:
        """Return one with room for at least these numbers of codes and classes: itself if it has that."""
        old, new, room = self.sizes, np.maximum(sizes, self.sizes), max(classes, self.n.shape[1])
        if np.array_equal(old, new) and room == self.n.shape[1]:
            return self
        larger = CodesAccumulator(self.classes, new, allow_missing=self.allow_missing)
        larger.n = np.zeros((len(larger.n), room))
        for begin, end, to in zip(self.offsets[:-1], self.offsets[1:], larger.offsets[:-1], strict=True):
            larger.n[to : to + end - begin, : self.n.shape[1]] = self.n[begin:end]
        return larger

    def make_room(self, sizes: Sequence[int], classes: int) -> None:
        """Make room for these numbers of codes and classes, at least twice as much as before where it runs out."""
        needed, room = np.asarray(sizes, dtype=np.int64), self.n.shape[1]
        larger = self.grown(
            np.where(needed > self.sizes, np.maximum(needed, 2 * self.sizes), 0),
            max(classes, 2 * room) if classes > room else 0,
        )
        self.offsets, self.n = larger.offsets, larger.n

    def without(self, column: int) -> CodesAccumulator:
        """Return the counts of all columns but one."""
        other = CodesAccumulator(self.classes, np.delete(self.sizes, column), allow_missing=self.allow_missing)
        other.n = np.delete(self.n, slice(int(self.offsets[column]), int(self.offsets[column + 1])), axis=0)
        return other

    def add(self, x: AnyArray, y: Codes, weights: Floats | None, threads: int) -> int:
        """Count the rows of a matrix of codes; return the first with a code that has no place, or -1."""
        return _kernels.count_codes(
            x, as_codes(y), as_weights(weights), self.allow_missing, self.offsets, self.n, threads
        )

    def fresh(self) -> CodesAccumulator:
        """Return an empty one of the same kind."""
        return CodesAccumulator(self.classes, self.sizes, allow_missing=self.allow_missing)

    def part(self, column: int, size: int, classes: int) -> Floats:
        """Return the counts of one column, [code, class]."""
        begin = int(self.offsets[column])
        return self.n[begin : begin + size, :classes]

    def table(
        self, column: int, words: Vocabulary, classes: Sequence[Label], axis: Axis, levels: Iterable[Label]
    ) -> Table:
        """Return the counts of one column with its labels, sorted."""
        values, places = words.sorted(levels)
        n = np.zeros((len(axis), len(values)))
        n[np.ix_(axis.places(classes), places)] = self.part(column, len(words), len(classes)).T
        return Table(axis, values, n)

    def value(self) -> Tables:
        """Return the tables of all rows so far."""
        parts = (self.n[start:end].T for start, end in zip(self.offsets[:-1], self.offsets[1:], strict=True))
        return Tables(tuple(Table(self.classes, Axis.numbered(part.shape[1]), part.copy()) for part in parts))


class CountsAccumulator:
    """Fills Counts: the rows of each class and an accumulator for each column."""

    def __init__(self, classes: Axis, columns: dict[str, Any]) -> None:
        self.classes, self.columns = classes, columns
        self.rows: Floats = np.zeros(len(classes))

    def add_rows(self, y: Codes, weights: Floats | None) -> None:
        """Count the classes of the rows."""
        _kernels.count_rows(as_codes(y), as_weights(weights), self.rows)

    def value(self) -> Counts:
        """Return the counts of all rows so far."""
        return Counts(self.classes, self.rows.copy(), {name: column.value() for name, column in self.columns.items()})


def places_of_codes(classes: Axis, axis: Axis | None, seen: Sequence[Label] | None) -> tuple[Axis, Places]:
    """Return the axis of classes, and the place of each code on it: without another axis, codes are places."""
    if axis is None or seen is None:
        return classes, np.arange(len(classes))
    return axis, axis.places(seen)


def with_room(sums: Floats, along: int, classes: int) -> Floats:
    """Return sums with room for this many classes: themselves if they have it, else at least twice as much."""
    room = sums.shape[along]
    if classes <= room:
        return sums
    shape = list(sums.shape)
    shape[along] = max(classes, 2 * room) - room
    return np.concatenate([sums, np.zeros(shape)], axis=along)


def offsets_of(sizes: Longs) -> Longs:
    """Return where each column's part starts when parts of these sizes lie one after another, and the end."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def as_codes(y: AnyArray) -> Codes:
    """Return class codes as the kernels read them; only whole numbers that fit."""
    if y.dtype == INT32 or y.dtype.kind not in "iu":
        return contiguous(y)  # the kernels refuse other numbers
    codes = y.astype(np.int32)
    if not np.array_equal(codes, y):
        raise InvalidInput(f"Class codes must lie in 0 … {2**31 - 1}; found {y.min()} to {y.max()}.")
    return codes


def as_weights(weights: npt.ArrayLike | None) -> Floats | None:
    """Return weights as the kernels read them."""
    return None if weights is None else contiguous(np.asarray(weights, dtype=np.float64))


def contiguous(x: AnyArray) -> AnyArray:
    """Return a vector as the kernels read it, contiguous and aligned: itself if it is so already."""
    return x if x.flags.c_contiguous and x.flags.aligned else x.copy()
