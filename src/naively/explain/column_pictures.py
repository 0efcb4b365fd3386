"""The distribution of a column within each class as a small picture in a cell of a table."""

from __future__ import annotations

from collections.abc import Collection
from math import ceil, floor

from .._types import Floats
from ..markup.numbers import number_text
from ..markup.svg import curves, grouped_bars, step_histogram
from ..markup.tags import Html
from .column_distributions import BinnedDistribution, Distribution, ValueDistribution


def distribution_picture(found: Distribution | None, classes: Collection[int]) -> Html:
    """Return the picture of a distribution, of some of the classes; nothing where there is none."""
    if found is None:
        return Html("")
    if isinstance(found, ValueDistribution):
        names = ", ".join(name[:30] for name in found.values)
        return grouped_bars(_lines(found.shares, classes), f"Proportion of each value by class: {names}")
    if isinstance(found, BinnedDistribution):
        low, high = found.edges[0], found.edges[-1]
        if found.whole:
            low, high = ceil(low), floor(high)
        ends = f"from {number_text(low, 12 if found.whole else 4)} to {number_text(high, 12 if found.whole else 4)}"
        return step_histogram(found.edges, _lines(found.shares, classes), f"Histogram by class, {ends}")
    ends = f"from {number_text(found.points[0])} to {number_text(found.points[-1])}"
    return curves(_lines(found.density, classes), f"Normal density by class, {ends}")


def _lines(values: Floats, classes: Collection[int]) -> list[list[float]]:
    """Return the values of each class; an empty list for those that are not drawn, or have no rows."""
    return [line.tolist() if k in classes and line.any() else [] for k, line in enumerate(values)]
