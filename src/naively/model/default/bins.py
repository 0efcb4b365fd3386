"""Bins of numbers and the categories that pairs distinguish, from a sample of rows without their classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ... import _kernels
from ..._threads import in_threads
from ..._types import Floats, Label, Mask
from ..recipe import Recipe
from .grid import Grid, LabelValues, NumberBins

# Bytes that products of features may take.
PRODUCT_BYTES = 256 << 20
# How remarks on what pairs do not distinguish begin.
IN_PAIRS, TOO_MANY = "In pairs of columns only", "There are too many columns"
# Of columns whose categories are not all distinguished, a remark names at most this number.
NAMED = 3


class Categories(NamedTuple):
    """The categories of a column, the most frequent first."""

    name: str
    labels: Sequence[Label]


def grid_of(
    names: Sequence[str],
    numbers: Sequence[tuple[Floats, Floats]],
    rows: float,
    categories: Sequence[Categories],
    classes: int,
    recipe: Recipe,
) -> tuple[Grid, str | None]:
    """Return the grid for numeric columns, each with row weights, and categorical ones; and a remark on its limits.

    All columns share one resolution: how many bins or categories of a column pairs distinguish at most. It is the
    finest that `most_features` allows; where not even two bins of each number are, it is that of the categories alone.
    """
    measured = in_threads(lambda column: measured_column(*column, recipe), numbers)
    wanted, most = coarse_bins(rows, recipe), most_features(classes, recipe)
    sizes = [min(wanted, len(column.fine)) for column in measured] + [len(column.labels) for column in categories]
    room = most - 1 - len(measured)
    resolution = finest_resolution(sizes, room)
    coarse = min(resolution, wanted)
    resolution = resolution or finest_resolution(sizes[len(measured) :], room)
    bins = [merged_bins(name, column, coarse, recipe) for name, column in zip(names, measured, strict=True)]
    kept = [
        LabelValues(c.name, tuple(c.labels[:resolution]) if min(resolution, len(c.labels)) > 1 else ())
        for c in categories
    ]
    merged = sum(size > max(coarse, 1) for size in sizes[: len(measured)])
    remark = remark_on(resolution, coarse, merged, categories)
    return Grid(tuple(bins), tuple(kept)), remark


def finest_resolution(sizes: Sequence[int], room: int) -> int:
    """Return the largest number of codes of a column for which all columns together have room; 0 if one is too many.

    >>> finest_resolution([2, 50, 90], 100)
    49
    """
    sizes_by_column = np.asarray(sizes, dtype=np.int64)
    low, high = 0, int(sizes_by_column.max(initial=0))
    while low < high:
        middle = (low + high + 1) // 2
        if int(np.minimum(sizes_by_column, middle).sum()) <= room:
            low = middle
        else:
            high = middle - 1
    return low if low > 1 else 0


def coarse_bins(rows: float, recipe: Recipe) -> int:
    """Return how many coarse bins of a number so many rows can fill."""
    return int(np.clip(round(rows ** (1 / 3)), recipe.fewest_coarse_bins, recipe.most_coarse_bins))


def most_features(classes: int, recipe: Recipe) -> int:
    """Return how many features can be afforded."""
    return int(min(recipe.most_features, np.sqrt(PRODUCT_BYTES / 8 / max(classes, 1))))


def remark_on(resolution: int, bins: int, numbers: int, categories: Sequence[Categories]) -> str | None:
    """Return the remark on what pairs do not distinguish; None if they distinguish everything.

    The numbers are how many columns of numbers have fewer bins than rows could fill.
    """
    more = [column.name for column in categories if len(column.labels) > max(resolution, 1)]
    if resolution == 0 and (more or numbers):
        return f"{TOO_MANY} ({numbers + len(categories)}) to count pairs of them."
    names = f"{', '.join(map(repr, more[:NAMED]))}{', …' if len(more) > NAMED else ''}"
    of = f"{more[0]!r}" if len(more) == 1 else f"each of {len(more)} columns ({names})"
    parts = [f"{bins or 'no'} bins of a number"] * bool(numbers)
    parts += [f"the {resolution} most frequent labels of {of}"] * bool(more)
    return f"{IN_PAIRS} {' and '.join(parts)} are distinguished." if parts else None


# -- numbers -----------------------------------------------------------------------------------------------------------


class MeasuredColumn(NamedTuple):
    """What the bins of a column are made from: cuts, the weights of fine bins, their middles, and its scale."""

    cuts: Floats
    fine: Floats
    middles: Floats
    low: float
    high: float
    center: float
    scale: float


def measured_column(column: Floats, weights: Floats, recipe: Recipe, cuts: Floats | None = None) -> MeasuredColumn:
    """Return how the numbers of a column are distributed, given the weights of their rows; its cuts may be given."""
    column = np.ascontiguousarray(column)
    cuts = fine_bins(column, weights, recipe) if cuts is None else cuts
    fine, medians, low, high, center, deviation = _kernels.spread_of_numbers(column, weights, cuts, recipe.clipped)
    scale = 1 / deviation if deviation > 1e-12 * max(abs(low), abs(high)) else 0.0
    return MeasuredColumn(cuts, fine, (medians / 2 - center / 2) * 2 * scale, low, high, center, scale)


def fine_bins(column: Floats, weights: Floats, recipe: Recipe) -> Floats:
    """Return the cuts of a column of numbers: quantiles, and more of them in the tails."""
    rows = float(weights[~np.isnan(column)].sum())
    # Weights that were scaled may add up to a whole number less a rounding error.
    wanted = int(np.clip(rows / recipe.rows_per_bin + 1e-9, recipe.fewest_bins, recipe.most_bins))
    return _kernels.quantile_cuts(column, weights, wanted, halvings=recipe.tail_halvings, tail=recipe.tail_rows)


def merged_bins(name: str, column: MeasuredColumn, bins: int, recipe: Recipe) -> NumberBins:
    """Return the bins of a measured column, merged to at most a number of coarse ones."""
    fine, merged = column.fine, bins and len(column.cuts)
    coarse = _kernels.quantile_groups(fine, bins) if merged else np.zeros(len(fine), dtype=np.int64)
    wider = _kernels.quantile_groups(fine, recipe.value_bins[0])
    cuts, middles = tuple(column.cuts.tolist()), tuple(column.middles.tolist())
    groups = tuple(coarse.tolist()), tuple(wider.tolist())
    return NumberBins(name, cuts, *groups, middles, column.low, column.high, column.center, column.scale)


def without_middles(grid: Grid, touched: Mask) -> Grid:
    """Return the grid with middles halfway between cuts in some of its fine bins, where there are no rows to look at.

    Of an outermost bin it is halfway to where numbers are clipped. No middle there is the number of a row any more.
    """
    result = []
    for index, bins in enumerate(grid.numbers):
        begin, end = (int(place) for place in grid.fine_offsets[index : index + 2])
        cuts = np.array(bins.cuts)
        sides = np.concatenate([[min(bins.low, *cuts[:1])], cuts, [max(bins.high, *cuts[-1:])]])
        halfway = (sides[:-1] / 2 + sides[1:] / 2 - bins.center) * bins.scale
        middles = np.where(touched[begin:end], halfway, np.array(bins.middles))
        result.append(replace(bins, middles=tuple(middles.tolist())))
    return Grid(tuple(result), grid.labels)
