"""Classes of rows while terms and weights are fitted: one for each row, or the proportions of a soft label.

A row with a soft label is one observation. It is left out of the counts of all its classes at once, and its loss is the
cross-entropy with its proportions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._types import Codes, Floats, Mask, Places, Singles


@dataclass(frozen=True, eq=False)
class SoftRows:
    """Those of some rows that belong to several classes: which they are, and their proportions, [class, row]."""

    at: Places
    proportions: Floats

    @classmethod
    def of(cls, proportions: Floats) -> SoftRows | None:
        """Return the rows of several classes, given the proportions [class, row] of all; None if there are none."""
        at = np.flatnonzero((proportions > 0).sum(axis=0) > 1)
        return cls(at, np.ascontiguousarray(proportions[:, at])) if len(at) else None

    def some(self, rows: Places, total: int) -> SoftRows | None:
        """Return those among some of all rows, which are so many."""
        place = np.full(total, -1, dtype=np.intp)
        place[self.at] = np.arange(len(self.at))
        found = place[rows]
        at = np.flatnonzero(found >= 0)
        return SoftRows(at, self.proportions[:, found[at]]) if len(at) else None

    def known(self, mask: Mask) -> SoftRows:
        """Return those of which a mask over all rows is true."""
        there = mask[self.at]
        return self if there.all() else SoftRows(self.at[there], self.proportions[:, there])

    def of_all(self, y: Codes) -> Floats:
        """Return the proportions of all rows, [row, class], given the class of those that have one."""
        out = np.zeros((len(y), len(self.proportions)))
        out[np.arange(len(y)), y] = 1.0
        out[self.at] = self.proportions.T
        return out


@dataclass(frozen=True, eq=False)
class RowClasses:
    """What rows are compared with: the class of each, and the proportions of those that have several."""

    y: Codes
    soft: SoftRows | None = None

    @cached_property
    def own(self) -> Places:
        """Where the class of each row lies in an array [class, row], flattened."""
        return self.y * np.intp(len(self.y)) + np.arange(len(self.y))

    def mean_of(self, values: Floats) -> Floats:
        """Return the value [class, row] of each row's class; of a soft label, the mean by its proportions."""
        found = values.reshape(-1).take(self.own)
        if self.soft is not None:
            found[self.soft.at] = (self.soft.proportions * values[:, self.soft.at]).sum(axis=0)
        return found

    def add_to(self, values: Floats | Singles, weights: Floats | Singles) -> None:
        """Add the weight of each row to the value [class, row] of its class, or to all of them by proportion."""
        alone = weights
        if self.soft is not None:
            alone = weights.copy()
            alone[self.soft.at] = 0.0
            values[:, self.soft.at] += (self.soft.proportions * weights[self.soft.at]).astype(values.dtype)
        values[self.y, np.arange(len(self.y))] += alone

    def agreement(self, predicted: Places) -> Floats:
        """Return 1 where the predicted class is that of the row, else 0; of a soft label, its proportion."""
        found = np.asarray(predicted == self.y, dtype=np.float64)
        if self.soft is not None:
            found[self.soft.at] = self.soft.proportions[predicted[self.soft.at], np.arange(len(self.soft.at))]
        return found
