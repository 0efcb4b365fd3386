"""Bins of numbers and labels that are distinguished, from some rows without their classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..._threads import in_threads
from ..._types import Floats, Label, Longs, Mask
from ...data.grid import Grid, LabelValues, NumberBins
from ...stats.quantiles import cuts_after, point_between, quantile_groups, value_weights
from ..recipe import Recipe

# Bytes that products of features may take.
PRODUCT_BYTES = 256 << 20
# Of columns whose labels are not all distinguished, so many are named in a remark.
NAMED = 3


def grid_of(
    names: Sequence[str],
    numbers: Floats,
    weights: Floats,
    labels: Sequence[tuple[str, Sequence[Label], Floats]],
    classes: int,
    recipe: Recipe,
) -> tuple[Grid, str | None]:
    """Return the grid for these numbers and labels, and a remark if not everything can be afforded.

    Labels of each column come with their counts.
    """
    columns = [(column, weights) for column in numbers.T]
    return grid_of_columns(names, columns, float(weights.sum()), labels, classes, recipe)


def grid_of_columns(
    names: Sequence[str],
    numbers: Sequence[tuple[Floats, Floats]],
    rows: float,
    labels: Sequence[tuple[str, Sequence[Label], Floats]],
    classes: int,
    recipe: Recipe,
) -> tuple[Grid, str | None]:
    """Return the grid for numbers that come with weights of their own for each column."""
    measured = in_threads(lambda column: measured_column(*column, recipe), numbers)
    most = most_features(classes, recipe)
    wanted = coarse_bins(rows, recipe)
    for bins, values in recipe.pair_resolutions:
        bins = min(bins, wanted)
        kept = [LabelValues(name, most_frequent(known, met, values)) for name, known, met in labels]
        binned = [merged_bins(name, column, bins, recipe) for name, column in zip(names, measured, strict=True)]
        grid = Grid(tuple(binned), tuple(kept))
        if grid.features <= most or (bins, values) == recipe.pair_resolutions[-1]:
            break
    return grid, remark_on(grid, bins, wanted, {name: len(known) for name, known, _ in labels})


def coarse_bins(rows: float, recipe: Recipe) -> int:
    """Return how many coarse bins of a number so many rows can fill."""
    return int(np.clip(round(rows ** (1 / 3)), recipe.fewest_coarse_bins, recipe.most_coarse_bins))


def most_features(classes: int, recipe: Recipe) -> int:
    """Return how many features can be afforded."""
    return int(min(recipe.most_features, np.sqrt(PRODUCT_BYTES / 8 / max(classes, 1))))


def remark_on(grid: Grid, bins: int, wanted: int, labels: Mapping[str, int]) -> str | None:
    """Return the remark on what is not distinguished where not everything can be afforded; labels are their numbers."""
    told = max((column.size for column in grid.labels), default=0)
    more = [name for name, known in labels.items() if known > max(told, 1)]
    of = f"{more[0]!r}" if len(more) == 1 else f"each of {len(more)} columns ({', '.join(map(repr, more[:NAMED]))}"
    of += "" if len(more) == 1 else ", …)" if len(more) > NAMED else ")"
    parts = [f"{bins} bins of a number"] * bool(grid.numbers and bins < wanted)
    parts += [f"the {told} most frequent labels of {of}"] * bool(more)
    if not parts:
        return None
    if not any(column.size for column in grid.columns):
        return f"There are too many columns ({len(grid.names)}) to count pairs of them."
    return f"In pairs of columns only {' and '.join(parts)} are distinguished."


def most_frequent(labels: Sequence[Label], met: Floats, most: int) -> tuple[Label, ...]:
    """Return the most frequent labels, in their order; none if there is only one."""
    known = [at for at, label in enumerate(labels) if met[at] > 0]
    kept = sorted(sorted(known, key=lambda at: (-met[at], at))[:most])
    return tuple(labels[at] for at in kept) if len(kept) > 1 else ()


def fine_bins(column: Floats, weights: Floats, recipe: Recipe) -> Floats:
    """Return the cuts of a column of numbers."""
    return cuts_between(*value_weights(column, weights), recipe)


def cuts_between(values: Floats, met: Floats, recipe: Recipe) -> Floats:
    """Return the same, given the different numbers in their order and what the rows of each weigh."""
    if len(values) < 2:
        return np.zeros(0)
    groups = quantile_groups(met, int(np.clip(met.sum() / recipe.rows_per_bin, recipe.fewest_bins, recipe.most_bins)))
    borders = {int(at) for at in np.flatnonzero(np.diff(groups))}
    last = tail_cuts(met[::-1], (groups == groups[-1])[::-1], recipe)
    borders |= tail_cuts(met, groups == 0, recipe) | {len(met) - 2 - at for at in last}
    return cuts_after(np.array(sorted(borders), dtype=np.intp), values, met)


def tail_cuts(met: Floats, outermost: Mask, recipe: Recipe) -> set[int]:
    """Return where the outermost bin is cut further: far out, numbers differ most in their contribution."""
    inner = np.cumsum(met[outermost])
    shares = (inner[-1] / 2**by for by in range(1, recipe.tail_halvings + 1))
    found = (int(np.searchsorted(inner, share * (1 - 1e-9))) for share in shares if share >= recipe.tail_rows)
    return {at for at in found if at < len(inner) - 1}


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
    """Return how the numbers of a column lie, given what their rows weigh; its cuts may be given."""
    there = ~np.isnan(column) & (weights > 0)
    x, w = column[there], weights[there]
    values, met = value_weights(x, w)  # sums over these do not depend on the order of the rows
    cuts = cuts_between(values, met, recipe) if cuts is None else cuts
    fine = np.asarray(np.bincount(np.searchsorted(cuts, x), w, len(cuts) + 1), dtype=np.float64)
    low, high = clipping_range(values, met, recipe.clipped)
    held = np.clip(values, low, high)
    centre = float((met * held).sum() / met.sum()) if len(values) else 0.0
    spread = float(np.sqrt((met * (held - centre) ** 2).sum() / met.sum())) if len(values) else 0.0
    scale = 1 / spread if spread > 1e-12 * max(abs(low), abs(high)) else 0.0
    middles = (bin_medians(x, w, fine) / 2 - centre / 2) * 2 * scale
    return MeasuredColumn(cuts, fine, middles, low, high, centre, scale)


def bins_of_column(name: str, cuts: Floats, column: Floats, weights: Floats, bins: int, recipe: Recipe) -> NumberBins:
    """Return the bins of a column: fine ones, and how they are merged to so many coarse ones."""
    return merged_bins(name, measured_column(column, weights, recipe, cuts), bins, recipe)


def merged_bins(name: str, column: MeasuredColumn, bins: int, recipe: Recipe) -> NumberBins:
    """Return the same of a column that was measured."""
    fine = column.fine
    coarse = quantile_groups(fine, bins) if bins and len(column.cuts) else np.zeros(len(fine), dtype=np.int64)
    wider, rough = quantile_groups(fine, recipe.wide_bins), rough_bins(coarse, fine, recipe)
    cuts, middles = tuple(column.cuts.tolist()), tuple(column.middles.tolist())
    laid = tuple(coarse.tolist()), tuple(wider.tolist()), tuple(rough.tolist())
    return NumberBins(name, cuts, *laid, middles, column.low, column.high, column.center, column.scale)


def rough_bins(coarse: Longs, fine: Floats, recipe: Recipe) -> Longs:
    """Return the rough bin of each coarse one."""
    return quantile_groups(np.bincount(coarse, fine).astype(np.float64), recipe.rough_bins)


def bin_medians(x: Floats, weights: Floats, fine: Floats) -> Floats:
    """Return the median of the numbers in each fine bin, given the weights of the bins; 0 if there are none."""
    if not len(x):
        return np.zeros(len(fine))
    order = np.argsort(x)
    below, halves = np.cumsum(weights[order]), np.cumsum(fine) - fine / 2
    sides = (np.searchsorted(below, halves + by * below[-1]) for by in (-1e-12, 1e-12))
    first, second = (x[order][np.minimum(at, len(x) - 1)] for at in sides)
    return np.asarray(first / 2 + second / 2)


def with_middles_of(grid: Grid, numbers: Floats, weights: Floats) -> Grid:
    """Return the grid with the middles of its bins from other rows, [row, column of numbers].

    A middle is the median of the rows that the grid was made from, and so it may be the number of a row that was
    forgotten; so may the number that nearly all rows shared, at which a column without a scale is clipped. Nothing that
    was counted depends on either: cuts, coarse bins, bounds and scales stay.
    """
    found = []
    for bins, column in zip(grid.numbers, numbers.T, strict=True):
        there = ~np.isnan(column) & (weights > 0)
        x, w = column[there], weights[there]
        fine = np.asarray(np.bincount(np.searchsorted(bins.cuts, x), w, len(bins.coarse)), dtype=np.float64)
        middles = (bin_medians(x, w, fine) / 2 - bins.center / 2) * 2 * bins.scale
        bins = replace(bins, middles=tuple(middles.tolist()))
        if not bins.scale:
            usual = most_frequent_number(x, w)
            bins = replace(bins, low=usual, high=usual, center=usual)
        found.append(bins)
    return Grid(tuple(found), grid.labels)


def without_middles(grid: Grid, touched: Mask) -> Grid:
    """Return the grid with middles halfway between cuts in some of its fine bins, where there are no rows to look at.

    Of an outermost bin it is halfway to where numbers are clipped. No middle there is the number of a row any more.
    """
    found = []
    for at, bins in enumerate(grid.numbers):
        begin, end = (int(place) for place in grid.fine_offsets[at : at + 2])
        cuts = np.array(bins.cuts)
        sides = np.concatenate([[min(bins.low, *cuts[:1])], cuts, [max(bins.high, *cuts[-1:])]])
        halfway = (sides[:-1] / 2 + sides[1:] / 2 - bins.center) * bins.scale
        middles = np.where(touched[begin:end], halfway, np.array(bins.middles))
        found.append(replace(bins, middles=tuple(middles.tolist())))
    return Grid(tuple(found), grid.labels)


def most_frequent_number(x: Floats, weights: Floats) -> float:
    """Return the most frequent number; 0 if there is none."""
    values, met = value_weights(x, weights)
    return float(values[np.argmax(met)]) if len(values) else 0.0


def clipping_range(values: Floats, met: Floats, clipped: float) -> tuple[float, float]:
    """Return the numbers beyond which such a proportion of the rows lies, at either end, given all in their order.

    They lie between a number and its neighbor further in: so they are the number of no row, and there always is such a
    neighbor. Where all but so few rows have the same number, all are clipped to it.
    """
    if not len(values):
        return 0.0, 0.0
    low, high = (int(np.searchsorted(np.cumsum(part), clipped * met.sum() * (1 - 1e-9))) for part in (met, met[::-1]))
    high = len(values) - 1 - high
    if low >= high:
        return float(values[low]), float(values[low])
    least, most = point_between(values[[low, high]], values[[low + 1, high - 1]]).tolist()
    return least, max(least, most)
