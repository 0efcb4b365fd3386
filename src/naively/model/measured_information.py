"""The mutual information of numbers and the class where only their moments were counted: measured on some rows.

It is estimated when a model is fitted, and stands beside the counts. It does not follow from moments: a single outlier
would dominate them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from .._types import Codes, Floats, JsonObject
from ..counting.rows import Rows, are_copies
from ..stats.arithmetic import Information, heaviest_rows, information_of_bins
from .default.bins import fine_bins
from .default.rows import effective_weights
from .recipe import RECIPE


@dataclass(frozen=True)
class MeasuredInformation:
    """The mutual information of columns of numbers and the class, by name; stale once rows were added or removed."""

    told: Mapping[str, Information]
    of: float  # the weight of all rows that were there to choose from
    fresh: bool = True

    @property
    def stale(self) -> MeasuredInformation:
        """The same, after rows were added or removed."""
        return replace(self, fresh=False)

    def to_json(self) -> JsonObject:
        """Return it as plain data."""
        return {"told": {name: list(one) for name, one in self.told.items()}, "of": self.of, "fresh": self.fresh}

    @classmethod
    def from_json(cls, data: JsonObject) -> MeasuredInformation:
        """Return what to_json described."""
        if not all(isinstance(figure, (int, float)) for one in data["told"].values() for figure in one):
            raise TypeError("what was measured is no number")
        told = {str(name): Information(*map(float, one)) for name, one in data["told"].items()}
        return cls(told, float(data["of"]), bool(data["fresh"]))

    def known(self, rows: float) -> Mapping[str, Information]:
        """Return the mutual information by column; nothing, if most of the rows were added since it was measured."""
        return self.told if self.fresh or rows <= 2 * self.of else {}


def measure_information(rows: Rows, total: float, *, fresh: bool = True) -> MeasuredInformation:
    """Return the mutual information of the numbers and the classes of rows, which stand for so much weight."""
    y, shares = rows.target.codes, rows.target.proportions
    each: Floats | float = 1.0
    weights = np.ones(len(y)) if rows.weights is None else rows.weights
    if shares is None and not are_copies(weights, y):
        each = heaviest_rows(y, weights, int(y.max(initial=0)) + 1)
    told = {}
    for name, values in rows.source.columns.items():
        numbers = np.ascontiguousarray(values.numbers(0, len(y)))
        told[name] = information_of_bins(bin_counts(numbers, y, shares, weights), each)
    return MeasuredInformation(told, total, fresh)


def bin_counts(x: Floats, y: Codes | Floats, shares: Floats | None, weights: Floats) -> Floats:
    """Return counts [class, bin] of numbers, given the code of each class, or how much of a row belongs to each."""
    cuts = fine_bins(
        x, effective_weights(weights) if weights.any() else weights, RECIPE
    )  # as fine as the rows, however light they are
    there = np.flatnonzero(~np.isnan(x))
    bins, size = np.searchsorted(cuts, x[there]), len(cuts) + 1
    if shares is not None:
        each = (shares[there] * weights[there, None]).T
        return np.array([np.bincount(bins, part, size) for part in each])
    classes = int(y.max(initial=0)) + 1
    counted = np.bincount(y[there] * size + bins, weights[there], classes * size)
    return np.asarray(counted, dtype=np.float64).reshape(classes, size)
