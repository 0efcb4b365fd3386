"""Joint counts of columns: sums of products of features for each class, and fine bins of single numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from .._types import Floats
from ..errors import IncompatibleCounts
from .arithmetic import ClassWeights, Statistic, frozen, subtract
from .axis import Axis

# `data.grid.Grid`, which knows columns and so cannot be named here.
AnyGrid: TypeAlias = Any

# Products of two numbers are multiples of this: numbers are counted in steps of 2**-12 (`data.grid.LEVEL_STEPS`).
PRODUCT_UNIT = 2.0**-24


@dataclass(frozen=True, eq=False)
class JointCounts(Statistic):
    """What is counted of several columns at once, by class.

    Features are 1, a flag for each value or bin, and the numbers themselves, all as the grid lays them out. Products of
    two flags are the counts of pairs of values; those with 1 are the counts of single values.

    Sums of rows whose weights are whole numbers are exact: in any order and any parts they are the same to the last
    bit, and what is subtracted again leaves what was there before. Of other weights they agree up to rounding.
    """

    classes: Axis
    grid: AnyGrid
    fine: Floats  # [class, fine bin of a number]
    products: Floats  # [class, feature, feature]

    def __post_init__(self) -> None:
        size = len(self.classes)
        fits = self.fine.shape == (size, self.grid.fine_bins)
        if not fits or self.products.shape != (size, self.grid.features, self.grid.features):
            raise IncompatibleCounts(
                f"{self.fine.shape} and {self.products.shape} sums do not fit the grid and {size} classes."
            )
        object.__setattr__(self, "fine", frozen(self.fine))
        object.__setattr__(self, "products", frozen(self.products))

    def on(self, classes: Axis) -> JointCounts:
        """Return the same for these classes, zero for those without rows."""
        if classes == self.classes:
            return self
        return JointCounts(
            classes, self.grid, *(on_classes(sums, self.classes, classes) for sums in (self.fine, self.products))
        )

    def only(self, names: Sequence[str]) -> JointCounts:
        """Return the same of some of the columns."""
        if set(self.grid.names) <= set(names):
            return self
        grid, fine, features = self.grid.only(names)
        return JointCounts(
            self.classes, grid, self.fine[:, fine], self.products[np.ix_(range(len(self.products)), features, features)]
        )

    def without_unused_labels(self) -> JointCounts:
        """Return the same without labels that no row has: nothing stays of rows that were subtracted."""
        grid, features = self.grid.with_used_labels((self.products[:, 0] != 0).any(axis=0))
        if len(features) == self.grid.features:
            return self
        products = self.products[np.ix_(range(len(self.products)), features, features)]
        return JointCounts(self.classes, grid, self.fine, products)

    def __add__(self, other: JointCounts) -> JointCounts:
        if not isinstance(other, JointCounts):
            return NotImplemented
        self._check(other)
        classes = self.classes | other.classes
        a, b = self.on(classes), other.on(classes)
        return JointCounts(classes, self.grid, a.fine + b.fine, a.products + b.products)

    def __sub__(self, part: JointCounts) -> JointCounts:
        if not isinstance(part, JointCounts):
            return NotImplemented
        self._check(part)
        classes = self.classes | part.classes
        a, b = self.on(classes), part.on(classes)
        products = subtract(a.products, b.products, unit=PRODUCT_UNIT)
        products[subtract(a.products[:, 0, 0], b.products[:, 0, 0]) == 0] = 0.0  # no row of the class is left
        return JointCounts(classes.declaring(self.classes), self.grid, subtract(a.fine, b.fine), products)

    def scaled(self, of: ClassWeights) -> JointCounts:
        """Return the sums of each class times its weight."""
        w = of(self.classes)
        return JointCounts(self.classes, self.grid, self.fine * w[:, None], self.products * w[:, None, None])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JointCounts):
            return NotImplemented
        return self.classes == other.classes and self.grid == other.grid and self.agrees(other, 0.0)

    def agrees(self, other: JointCounts, tolerance: float = 1e-9) -> bool:
        """Tell whether both describe the same rows up to rounding."""
        if self.grid != other.grid:
            return False
        classes = self.classes | other.classes
        a, b = self.on(classes), other.on(classes)
        size = np.sqrt(
            np.einsum("kff->kf", a.products)
        )  # no product is larger than those of its factors with themselves
        room = tolerance * (size[:, :, None] * size[:, None, :] + 1e-300)
        return bool(
            np.all(np.abs(a.products - b.products) <= room) and np.all(np.abs(a.fine - b.fine) <= tolerance * a.fine)
        )

    def _check(self, other: JointCounts) -> None:
        if self.grid != other.grid:
            raise IncompatibleCounts(
                "Pairs of columns were counted over different bins; give both the same schema: "
                "NaiveBayes(families=first.schema_)."
            )


def on_classes(sums: Floats, old: Axis, new: Axis) -> Floats:
    """Return sums [class, ...] laid out for other classes."""
    place = new.places(old.labels)
    out = np.zeros((len(new), *sums.shape[1:]))
    out[place[place >= 0]] = sums[place >= 0]
    return out
