"""Counts with room to grow: new labels and new classes may come at any time, and one row costs no more than itself.

Labels and classes are codes here, in the order in which they first occurred; they are sorted when the value is
read. Room is doubled when it runs out, so that growing costs little for each row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from .. import _kernels
from .._types import Codes, Floats, Label, Places
from .accumulators import MomentsAccumulator, TableAccumulator, offsets_of
from .axis import Axis
from .moments import Moments
from .table import Table


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
        found = self.places.get(label)
        if found is None:
            found = self.places[label] = len(self.places)
            self.growth[0] += 1
        return found

    def codes(self, labels: Iterable[Label]) -> npt.NDArray[np.int32]:
        """Return the code of each label."""
        return np.fromiter((self.code(label) for label in labels), dtype=np.int32)

    def sorted(self, fixed: Iterable[Label] = ()) -> tuple[Axis, Places]:
        """Return all labels as an axis, and the place of each code on it; kept until a label is new."""
        declared, known = frozenset(fixed), self._sorted
        if known is None or len(known[1]) != len(self.places) or known[0].fixed != declared:
            axis = Axis(self.places, declared)
            known = self._sorted = axis, axis.places(self.places)
        return known


class GrowingLabels:
    """Fills a Table for each column of a matrix of codes."""

    def __init__(self, columns: int) -> None:
        self.sizes = np.zeros(columns, dtype=np.int64)  # the room of each column
        self.offsets = offsets_of(self.sizes)
        self.n: Floats = np.zeros((0, 1))  # [column and code, class]

    def make_room(self, sizes: Sequence[int], classes: int) -> None:
        """Make room for so many labels in each column, and so many classes."""
        needed = np.asarray(sizes, dtype=np.int64)
        if np.all(needed <= self.sizes) and classes <= self.n.shape[1]:
            return
        old, offsets = self.n, self.offsets
        room = np.where(needed > self.sizes, np.maximum(needed, 2 * self.sizes), self.sizes)
        made = offsets_of(room)
        n = np.zeros((int(made[-1]), room_for(old.shape[1], classes)))
        for begin, end, to in zip(offsets[:-1], offsets[1:], made[:-1], strict=True):
            n[to : to + end - begin, : old.shape[1]] = old[begin:end]
        self.offsets, self.n, self.sizes = made, n, room  # last, so that Ctrl-C before changes nothing

    def without(self, column: int) -> GrowingLabels:
        """Return the counts of all columns but one."""
        other = GrowingLabels(len(self.sizes) - 1)
        other.sizes = np.delete(self.sizes, column)
        other.offsets = offsets_of(other.sizes)
        other.n = np.delete(self.n, slice(int(self.offsets[column]), int(self.offsets[column + 1])), axis=0)
        return other

    def add(self, x: Codes, y: Codes, weights: Floats | None, threads: int) -> None:
        """Count the rows of a matrix of codes, for which there is room."""
        row = _kernels.count_codes(x, y, weights, False, self.offsets, self.n, threads)
        assert row < 0, "a code without room"  # the vocabulary gave it, and room was made

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


class GrowingMoments(MomentsAccumulator):
    """Fills Moments of the columns of a matrix of numbers; NaN is a missing value."""

    def __init__(self, columns: int, classes: int = 1) -> None:
        super().__init__(Axis.numbered(classes), Axis.numbered(columns), allow_missing=True)

    def make_room(self, classes: int) -> None:
        """Make room for so many classes."""
        if classes > len(self.classes):
            larger = GrowingMoments(self.width, room_for(len(self.classes), classes))
            larger.shift[: len(self.classes)] = self.shift
            larger.sums[:, : len(self.classes)] = self.sums
            self.classes, self.shift, self.sums = larger.classes, larger.shift, larger.sums

    def moments(self, classes: Sequence[Label], axis: Axis) -> Moments:
        """Return the moments of all rows so far, the classes sorted."""
        place, size = axis.places(classes), len(classes)
        n, shift, total, squares = np.zeros((4, len(axis), self.width))
        n[place], total[place], squares[place] = self.sums[:, :size]
        shift[place] = np.where(self.sums[0, :size] > 0, self.shift[:size], 0.0)
        return Moments(axis, self.columns, n, shift, total, squares)

    def take(self, moments: Moments, classes: Sequence[Label]) -> None:
        """Hold these moments from now on, the classes by their codes."""
        self.make_room(len(classes))
        place, size = moments.classes.places(classes), len(classes)
        self.sums[:, :size], self.shift[:size] = 0.0, 0.0
        known = np.flatnonzero(place >= 0)
        for to, part in zip(
            (*self.sums, self.shift), (moments.n, moments.total, moments.squares, moments.shift), strict=True
        ):
            to[known] = part[place[known]]


class GrowingTable(TableAccumulator):
    """Fills a Table whose values are the columns of a matrix, dense or sparse."""

    def __init__(self, width: int, threshold: float | None, classes: int = 1) -> None:
        super().__init__(Axis.numbered(classes), Axis.numbered(width), threshold)

    def make_room(self, classes: int) -> None:
        """Make room for so many classes."""
        if classes > len(self.classes):
            larger = GrowingTable(self.width, self.threshold, room_for(len(self.classes), classes))
            larger.n[: len(self.classes)] = self.n
            self.classes, self.n = larger.classes, larger.n

    def table(self, classes: Sequence[Label], axis: Axis) -> Table:
        """Return the counts of all rows so far, the classes sorted."""
        n = np.zeros((len(axis), self.width))
        n[axis.places(classes)] = self.n[: len(classes)]
        return Table(axis, self.values, n)

    def take(self, table: Table, classes: Sequence[Label]) -> None:
        """Hold these counts from now on, the classes by their codes."""
        self.make_room(len(classes))
        self.n[: len(classes)] = 0.0
        place = table.classes.places(classes)
        known = np.flatnonzero(place >= 0)
        self.n[known] = table.on(table.classes, self.values)[place[known]]


def room_for(room: int, needed: int) -> int:
    """Return the room to make when so much is needed: at least twice what there is."""
    return room if needed <= room else max(needed, 2 * room)
