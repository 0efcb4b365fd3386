"""The distribution of a column within each class, to be drawn: counts of bins or values, or normal densities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from .._types import Floats, Label
from ..data.grid import NumberBins
from ..families.family import shown_label
from ..model.protocols import FittedModel
from ..stats import Counts
from ..stats.arithmetic import commonest

# Bins, values and points of a curve that are drawn; those beside them are put together.
DRAWN_BINS, DRAWN_VALUES, CURVE_POINTS = 24, 10, 33
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


@dataclass(frozen=True, eq=False)
class ValueDistribution:
    """Proportions [class, value] of the commonest values, of which the last may stand for all others."""

    values: list[str]
    shares: Floats


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
        return _of_bins(joint.grid.numbers[place], joint.fine[:, begin:end])
    if name in model.label_tables:
        table = model.label_tables[name]
        return _of_values(table.n, table.values.labels)
    if name in model.number_summaries:
        return _of_moments(*model.number_summaries[name])
    return None


def _place_of(numbers: Sequence[NumberBins], name: str) -> int | None:
    return next((at for at, bins in enumerate(numbers) if bins.name == name), None)


def _of_bins(bins: NumberBins, n: Floats) -> BinnedDistribution:
    starts = np.arange(0, n.shape[1], -(-n.shape[1] // DRAWN_BINS))
    cuts = [bins.cuts[at - 1] for at in starts[1:].tolist()]
    low, high = outer_edges(bins, cuts)
    shares = _proportions(np.add.reduceat(n, starts, axis=1))
    return BinnedDistribution([low, *cuts, high], shares, bins.low, bins.high)


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
