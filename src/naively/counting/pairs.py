"""Counts columns jointly: codes and numbers in, sums of products out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import _kernels
from .._types import AnyArray, Codes, Floats, Label, Places
from ..data.grid import Cells, Grid, LabelPlaces, label_places
from ..stats.accumulators import Vocabulary, with_room
from ..stats.axis import Axis
from ..stats.pairs import JointCounts, on_classes

# Rows that are laid out at once: enough for many threads, few enough to stay small beside the data.
ROWS = 1 << 17


class JointCounter:
    """Fills a Joint; classes may be new at any time. Labels come as codes of vocabularies."""

    def __init__(self, grid: Grid, words: Sequence[Vocabulary], on: tuple[Places, Places] | None = None) -> None:
        # Where the columns of the grid stand among all numbers and all labels, if they are not all of them.
        self.grid, self.on = grid, on
        self.words = words if on is None else [words[at] for at in on[1]]
        self.known = [{label: at for at, label in enumerate(values.labels)} for values in grid.labels]
        self.places: list[Codes] = [np.full(1, -1, dtype=np.int32) for _ in grid.labels]
        self._laid: LabelPlaces | None = None  # the same, one after the other
        self.fine: Floats = np.zeros((grid.fine_bins, 1))
        self.products: Floats = np.zeros((1, grid.features, grid.features))

    def make_room(self, classes: int) -> None:
        """Make room for so many classes."""
        self.fine, self.products = with_room(self.fine, 1, classes), with_room(self.products, 0, classes)

    def _laid_places(self) -> LabelPlaces:
        """Return the code on the grid of each code of the vocabularies; -1 for labels that are not distinguished."""
        for at, (words, known) in enumerate(zip(self.words, self.known, strict=True)):
            if len(self.places[at]) < len(words):
                self.places[at] = np.array([known.get(label, -1) for label in words.places], dtype=np.int32)
                self._laid = None
        if self._laid is None:
            self._laid = label_places(self.places)
        return self._laid

    def add(
        self, numbers: AnyArray | None, codes: Codes | None, y: Codes, weights: Floats | None, threads: int
    ) -> None:
        """Count rows, given their numbers and the codes of their labels, if there are such columns."""
        numbers = np.empty((len(y), 0)) if numbers is None else numbers
        codes = np.empty((len(y), 0), dtype=np.int32) if codes is None else codes
        if self.on is not None:
            numbers, codes = numbers[:, self.on[0]], codes[:, self.on[1]]
        for begin in range(0, len(y), ROWS):
            rows = slice(begin, begin + ROWS)
            cells = self.grid.encode(numbers[rows], codes[rows], threads, self._laid_places())
            self.add_cells(cells, y[rows], None if weights is None else weights[rows], threads)

    def add_cells(self, cells: Cells, y: Codes, weights: Floats | None, threads: int) -> None:
        """Count rows that are laid out already."""
        offsets = self.grid.fine_offsets
        _kernels.count_codes(cells.fine, y, weights, True, offsets, self.fine, threads)
        _kernels.count_products(cells.codes, self.grid.offsets, cells.level, y, weights, self.products, threads)

    def take_rows(self, rows: Floats) -> None:
        """Hold the rows of each class, which is all there is to count of no columns at all."""
        self.products[: len(rows), 0, 0] = rows

    def value(self, seen: Sequence[Label], axis: Axis) -> JointCounts:
        """Return the sums of all rows so far, the classes sorted."""
        place = axis.places(seen)
        fine = np.zeros((len(axis), self.grid.fine_bins))
        fine[place] = self.fine[:, : len(seen)].T
        size = self.grid.features
        products = np.empty((len(axis), size, size)) if len(axis) == len(seen) else np.zeros((len(axis), size, size))
        _kernels.mirror_products(self.products, place.astype(np.int64), products)
        for sums in (fine, products):
            sums.flags.writeable = False  # they are nobody else's: no copy is needed
        return JointCounts(axis, self.grid, fine, products)

    def take(self, joint: JointCounts, classes: Sequence[Label]) -> None:
        """Hold these sums from now on, the classes by their codes."""
        self.make_room(len(classes))
        wanted = Axis.ordered(classes)
        self.fine[:, : len(classes)] = on_classes(joint.fine, joint.classes, wanted).T
        self.products[: len(classes)] = np.triu(on_classes(joint.products, joint.classes, wanted))

    def absorb(self, other: JointCounter) -> None:
        """Take in what another counter with the same grid and codes has counted."""
        self.make_room(len(other.products))
        size = len(other.products)
        self.fine[:, :size] += other.fine
        self.products[:size] += other.products
