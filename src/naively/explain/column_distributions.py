"""The distribution of a column within each class, to be drawn: counts of bins or values, or normal densities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from .._types import Floats, Label
from ..data.column import Column
from ..data.grid import NumberBins
from ..families.family import shown_label
from ..markup.numbers import number_text
from ..model.protocols import FittedModel
from ..stats import Counts
from ..stats.arithmetic import commonest
from ..stats.quantiles import whole_neighbors

# Bins, values and points of a curve that are drawn; those beside them are put together.
DRAWN_BINS, DRAWN_VALUES, CURVE_POINTS = 24, 10, 33
# Columns of up to so many different whole numbers are drawn by value.
SINGLE_NUMBERS = 12
# A normal curve is drawn as far as this many standard deviations.
CURVE_WIDTH = 3.0


@dataclass(frozen=True, eq=False)
class BinnedDistribution:
    """Proportions [class, bin] of the numbers of a class, and the edges of the bins; the outermost hold all beyond.

    Nearly all numbers lie between `low` and `high`.
    """

    edges: list[float]
    shares: Floats
    low: float
    high: float
    whole: bool = False  # whether all numbers are whole; edges lie halfway between two of them then


@dataclass(frozen=True, eq=False)
class ValueDistribution:
    """Proportions [class, value] of the commonest values, of which the last may stand for all others."""

    values: list[str]
    shares: Floats
    numbers: tuple[float, ...] = ()  # the values, where they are numbers


@dataclass(frozen=True, eq=False)
class NormalDistribution:
    """Densities [class, point] of a normal distribution in each class, at points of equal distance."""

    points: list[float]
    density: Floats


Distribution: TypeAlias = BinnedDistribution | ValueDistribution | NormalDistribution


def column_distribution(model: FittedModel, counts: Counts, name: str) -> Distribution | None:
    """Return the distribution of a column in each class of the counts; None for vectors and texts."""
    joint = counts.joint
    if joint is not None and (place := _place_of(joint.grid.numbers, name)) is not None:
        begin, end = list(pairwise(joint.grid.fine_offsets.tolist()))[place]
        bins, n = joint.grid.numbers[place], joint.fine[:, begin:end]
        if numbers := single_numbers(bins, n, model.number_summaries[name]):
            return ValueDistribution([number_text(x, 12) for x in numbers], _proportions(n), tuple(numbers))
        return _of_bins(bins, n, holds_whole_numbers(model.schema[name], bins.cuts))
    if name in model.label_tables:
        table = model.label_tables[name]
        return _of_values(table.n, table.values.labels)
    if name in model.number_summaries:
        return _of_moments(*model.number_summaries[name])
    return None


def _place_of(numbers: Sequence[NumberBins], name: str) -> int | None:
    return next((at for at, bins in enumerate(numbers) if bins.name == name), None)


def holds_whole_numbers(column: Column, cuts: Sequence[float]) -> bool:
    """Tell whether a column holds whole numbers: by its type, or because all its cuts lie between such numbers."""
    if column.type in ("whole", "time"):
        return column.type == "whole"
    return whole_neighbors(np.array(cuts, dtype=np.float64)) is not None


def single_numbers(bins: NumberBins, n: Floats, summary: tuple[Floats, Floats, Floats]) -> list[float]:
    """Return the whole number that each fine bin [class, bin] holds; none if a bin holds several, or if they are many.

    Cuts tell the numbers next to them. Beyond the outermost cuts nothing else lies if these numbers have the sum of
    squared deviations that was counted.
    """
    if not 1 < n.shape[1] <= SINGLE_NUMBERS or (sides := whole_neighbors(np.array(bins.cuts))) is None:
        return []
    below, above = sides
    rows, mean, ssd = (part[:, None] for part in summary)
    if (above[:-1] != below[1:]).any() or len(rows) != len(n):
        return []
    values = np.append(below, above[-1])
    apart = (n * (values - mean) ** 2).sum(axis=1)
    room = 1e-6 * np.maximum(apart, 1e-3 * n.sum(axis=1))
    same = np.abs(apart - ssd[:, 0]) <= room
    return values.tolist() if (same | (rows[:, 0] == 0)).all() else []


def _of_bins(bins: NumberBins, n: Floats, whole: bool) -> BinnedDistribution:
    starts = np.arange(0, n.shape[1], -(-n.shape[1] // DRAWN_BINS))
    cuts = [bins.cuts[at - 1] for at in starts[1:].tolist()]
    low, high = outer_edges(bins, cuts)
    shares = _proportions(np.add.reduceat(n, starts, axis=1))
    edges = [low, *cuts, high]
    if whole:
        edges = np.unique(np.floor(edges) + 0.5).tolist() if len(cuts) else [np.floor(low) - 0.5, np.ceil(high) + 0.5]
    if len(edges) != len(shares[0]) + 1:  # bins of numbers that are not whole, in a column of whole numbers
        edges, whole = [low, *cuts, high], False
    return BinnedDistribution(edges, shares, bins.low, bins.high, whole)


def outer_edges(bins: NumberBins, cuts: Sequence[float]) -> tuple[float, float]:
    """Return where the first bin begins and the last one ends; both are no narrower than most.

    The limits of the grid leave out the outermost rows, or are cuts themselves.
    """
    if not cuts:
        return bins.low, bins.high if bins.high > bins.low else bins.low + 1.0
    usual = float(np.median(np.diff(cuts))) if len(cuts) > 1 else (bins.high - bins.low) / 2
    return min(bins.low, cuts[0] - usual), max(bins.high, cuts[-1] + usual)


def _of_values(n: Floats, values: Sequence[Label]) -> ValueDistribution:
    best = commonest(n.sum(axis=0), DRAWN_VALUES)
    names, drawn = [shown_label(values[at]) for at in best.tolist()], n[:, best]
    hidden = n.shape[1] - len(best)
    if hidden:
        names.append(f"({hidden:,} others)")
        drawn = np.column_stack([drawn, n.sum(axis=1) - drawn.sum(axis=1)])
    return ValueDistribution(names, _proportions(drawn))


def _of_moments(n: Floats, mean: Floats, ssd: Floats) -> NormalDistribution | None:
    there = (n > 0) & np.isfinite(mean) & np.isfinite(ssd)
    if not there.any():
        return None
    spread = np.sqrt(np.maximum(ssd, 0.0) / np.maximum(n, 1e-300))
    # A class whose numbers are all equal has a narrow curve.
    widest = max(float(spread[there].max()), 1e-9 * float(np.abs(mean[there]).max()), 1e-300)
    spread = np.maximum(spread, widest / 20)
    low = float((mean - CURVE_WIDTH * spread)[there].min())
    high = float((mean + CURVE_WIDTH * spread)[there].max())
    x = np.linspace(low, high, CURVE_POINTS)
    density = np.zeros((len(n), len(x)))
    for k in np.flatnonzero(there):
        density[k] = np.exp(-0.5 * ((x - mean[k]) / spread[k]) ** 2) / (spread[k] * np.sqrt(2 * np.pi))
    return NormalDistribution(x.tolist(), density)


def _proportions(n: Floats) -> Floats:
    """Return the proportions of each class; 0 for a class without rows."""
    return np.asarray(n / np.maximum(n.sum(axis=1, keepdims=True), 1e-300))
