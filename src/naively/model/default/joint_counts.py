"""What the default model counts of several columns at once in the rows that it is fitted to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ... import _kernels
from ..._types import Codes, Floats, Mask
from ...counting.counter import TableCounter
from ...data.encoding import ROWS
from ...data.frame import Frame
from ...data.model_file import arrays_of_bytes, arrays_to_bytes
from ...data.model_file.statistics import from_json, labels_in_json
from ...errors import IncompatibleCounts
from ...stats.arithmetic import frozen, subtract
from ...stats.axis import Axis
from .grid import Grid, label_places

# Rows, the code of each one's class, and their weights.
Blocks = Iterable[tuple[Frame, Codes, Floats | None]]

# Products of two numbers are multiples of this: numbers are counted in steps of 2**-12 (`grid.LEVEL_STEPS`).
PRODUCT_UNIT = 2.0**-24


@dataclass(frozen=True, eq=False)
class JointCounts:
    """Sums of products of features for each class, and fine bins of single numbers.

    Features are 1, a flag for each value or bin, and the numbers themselves, all as the grid lays them out. Products of
    two flags are the counts of pairs of values; those with 1 are the counts of single values.

    Sums of rows whose weights are whole numbers are exact: in any order and any parts they are the same to the last
    bit, and what is subtracted again leaves what was there before. Of other weights they agree up to rounding.
    """

    classes: Axis
    grid: Grid
    fine: Floats  # [class, fine bin of a number]
    products: Floats  # [class, feature, feature]

    def __post_init__(self) -> None:
        size, features = len(self.classes), self.grid.features
        if self.fine.shape != (size, self.grid.fine_bins) or self.products.shape != (size, features, features):
            raise IncompatibleCounts(
                f"{self.fine.shape} and {self.products.shape} sums do not fit the grid and {size} classes."
            )
        object.__setattr__(self, "fine", frozen(self.fine))
        object.__setattr__(self, "products", frozen(self.products))

    @property
    def rows(self) -> Floats:
        """The rows of each class."""
        return self.products[:, 0, 0]

    def on(self, classes: Axis) -> JointCounts:
        """Return the same for these classes, zero for those without rows."""
        if classes == self.classes:
            return self
        sums = (on_classes(part, self.classes, classes) for part in (self.fine, self.products))
        return JointCounts(classes, self.grid, *sums)

    def only(self, names: Sequence[str]) -> JointCounts:
        """Return the same of some of the columns."""
        if set(self.grid.names) <= set(names):
            return self
        grid, fine, features = self.grid.only(names)
        return self._of_features(grid, self.fine[:, fine], features)

    def _of_features(self, grid: Grid, fine: Floats, features: Sequence[int]) -> JointCounts:
        every = range(len(self.products))
        return JointCounts(self.classes, grid, fine, self.products[np.ix_(every, features, features)])

    def __add__(self, other: JointCounts) -> JointCounts:
        classes = self.classes | other.classes
        a, b = self.on(classes), other.on(classes)
        return JointCounts(classes, self.grid, a.fine + b.fine, a.products + b.products)

    def __mul__(self, weight: float) -> JointCounts:
        return JointCounts(self.classes, self.grid, self.fine * weight, self.products * weight)

    def without(self, rows: JointCounts) -> JointCounts:
        """Return the same without some rows, and without labels that no row has then.

        Of rows that were not all in the sample, as many are taken off as there were.
        """
        gone = rows.on(self.classes)
        products = subtract(self.products, gone.products, unit=PRODUCT_UNIT)
        products[subtract(self.rows, gone.rows) <= 0] = 0.0  # no row of the class is left
        flags, diagonal = products.shape[1] - len(self.grid.numbers), np.arange(products.shape[1])
        products[:, :flags, :flags] = np.maximum(products[:, :flags, :flags], 0.0)
        products[:, diagonal, diagonal] = np.maximum(products[:, diagonal, diagonal], 0.0)
        fine = np.maximum(subtract(self.fine, gone.fine), 0.0)
        left = JointCounts(self.classes, self.grid, fine, products)
        grid, features = self.grid.with_used_labels((products[:, 0] != 0).any(axis=0))
        return left if len(features) == self.grid.features else left._of_features(grid, fine, features.tolist())

    def to_bytes(self) -> bytes:
        """Return the counts as bytes, for a file; of products the upper half."""
        upper = np.triu_indices(self.grid.features)
        said = {"grid": self.grid.to_json(), "classes": labels_in_json(self.classes.labels)}
        return arrays_to_bytes({"fine": self.fine, "products": self.products[:, *upper]}, said)

    @classmethod
    def of_bytes(cls, data: bytes, classes: Axis) -> JointCounts:
        """Return the counts that `to_bytes` wrote, whose classes are these."""
        arrays, said = arrays_of_bytes(data)
        grid, labels = Grid.from_json(said["grid"]), [from_json(label) for label in said["classes"]]
        shape = len(labels), grid.features * (grid.features + 1) // 2
        fine, half = (arrays[name].astype(np.float64) for name in ("fine", "products"))
        if [tuple(map(type, labels)), labels] != [tuple(map(type, classes.labels)), list(classes.labels)]:
            raise ValueError("other classes were counted jointly")
        if len(fine) != len(labels) * grid.fine_bins or len(half) != shape[0] * shape[1]:
            raise ValueError("joint counts do not fit their grid")
        products, upper = np.zeros((len(labels), grid.features, grid.features)), np.triu_indices(grid.features)
        products[:, *upper], products[:, upper[1], upper[0]] = half.reshape(shape), half.reshape(shape)
        flags = products[:, : grid.features - len(grid.numbers), : grid.features - len(grid.numbers)]
        counts = (fine, flags, np.diagonal(products, axis1=1, axis2=2))
        if not np.isfinite(half).all() or not all((part >= 0).all() and np.isfinite(part).all() for part in counts):
            raise ValueError("joint counts are negative or not finite")
        return cls(classes, grid, fine.reshape(len(labels), -1), products)

    @property
    def touched(self) -> Mask:
        """Which fine bins hold a row."""
        return np.asarray(self.fine.any(axis=0))


def log_shares(rows: Floats) -> Floats:
    """Return the log of the share of each class, given its rows, each class having one more."""
    return np.asarray(np.log((rows + 1) / (rows.sum() + len(rows))))


def on_classes(sums: Floats, old: Axis, new: Axis) -> Floats:
    """Return sums [class, ...] laid out for other classes."""
    place = new.places(old.labels)
    out = np.zeros((len(new), *sums.shape[1:]))
    out[place[place >= 0]] = sums[place >= 0]
    return out


def count_jointly(counter: TableCounter, blocks: Blocks, grid: Grid, threads: int) -> JointCounts:
    """Count columns of rows jointly; the counter has codes for their labels."""
    blocks = list(blocks)  # a class that the counter has not seen yet has a code from now on
    columns, classes = [column.name for column in counter.of_labels], len(counter.classes)
    known = [{label: index for index, label in enumerate(values.labels)} for values in grid.labels]
    words = [counter.words[columns.index(values.name)] for values in grid.labels]
    coded = zip(known, words, strict=True)
    places = label_places([np.array([own.get(label, -1) for label in one.places], np.int32) for own, one in coded])
    on = grid.places_among([column.name for column in counter.of_numbers], columns)
    fine, products = np.zeros((grid.fine_bins, classes)), np.zeros((classes, grid.features, grid.features))
    for given, y, weights in blocks:
        frame = given.on(counter.schema)
        for begin in range(0, frame.rows, ROWS):
            block = slice(begin, min(begin + ROWS, frame.rows))
            codes, numbers = counter.encoded_cells(frame, block.start, block.stop, threads)
            if on is not None:
                numbers, codes = numbers[:, on[0]], codes[:, on[1]]
            cells, w = grid.encode(numbers, codes, threads, places), None if weights is None else weights[block]
            _kernels.count_codes(cells.fine, y[block], w, True, grid.fine_offsets, fine, threads)
            _kernels.count_products(cells.codes, grid.offsets, cells.level, y[block], w, products, threads)
    seen = list(counter.classes.places)
    axis = Axis(seen, counter.declared)
    place, out = axis.places(seen), np.zeros((len(axis), grid.fine_bins))
    out[place] = fine.T
    whole = np.zeros((len(axis), grid.features, grid.features))
    _kernels.mirror_products(products, place.astype(np.int64), whole)
    return JointCounts(axis, grid, out, whole)
