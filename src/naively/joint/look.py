"""The first look: which bins and labels are told apart, from rows without their classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..grid import Bins, Grid, Values
from ..statistics.axis import Floats

# Bins of a number: enough for any shape that so many rows can show.
ROWS_OF_A_BIN, FEWEST, MOST = 25, 20, 100
# Coarse bins of a number and labels of a column that are told apart in pairs, at most: the first that can be afforded.
COARSEST, FINEST = 8, 16
STEPS = ((16, 1 << 16), (16, 64), (12, 32), (8, 32), (8, 16), (6, 12), (4, 8), (0, 8), (0, 0))
# More features make the joint evidence too slow; their products may take so many bytes.
FEATURES, BUDGET = 1024, 256 << 20
# Numbers beyond these quantiles are taken for the quantile in the joint evidence: one outlier must not tilt it.
EDGES = (0.005, 0.995)


def look(
    names: Sequence[str], numbers: Floats, weights: Floats, labels: Sequence[tuple[str, Any, Floats]], classes: int
) -> tuple[Grid, str | None]:
    """Return the grid for these numbers and labels, and a remark if not everything can be afforded.

    Labels of each column come with how often they were met.
    """
    fine = [fine_bins(column, weights) for column in numbers.T]
    most = int(min(FEATURES, np.sqrt(BUDGET / 8 / max(classes, 1))))
    wanted = int(np.clip(round(float(weights.sum()) ** (1 / 3)), COARSEST, FINEST))
    for step, (bins, values) in enumerate(STEPS):
        bins = min(bins, wanted)
        told = [Values(name, commonest(known, met, values)) for name, known, met in labels]
        laid = [binned(n, c, numbers[:, j], weights, bins) for j, (n, c) in enumerate(zip(names, fine, strict=True))]
        grid = Grid(tuple(laid), tuple(told))
        if grid.features <= most:
            return grid, None if step == 0 else said(bins, values)
    return Grid((), ()), f"There are too many columns ({len(names) + len(labels)}) to take them together."


def said(bins: int, values: int) -> str:
    """Return the remark on what is left out where not everything can be afforded."""
    return f"In pairs of columns only {bins} bins of a number and {values} labels of a column are told apart."


def commonest(labels: Sequence[Any], met: Floats, most: int) -> tuple[Any, ...]:
    """Return the labels that were met most often, in their order; a single one tells nothing."""
    known = [at for at, label in enumerate(labels) if met[at] > 0]
    kept = sorted(sorted(known, key=lambda at: (-met[at], at))[:most])
    return tuple(labels[at] for at in kept) if len(kept) > 1 else ()


def fine_bins(column: Floats, weights: Floats) -> Floats:
    """Return the cuts of a column of numbers."""
    values, met = weighed(column, weights)
    if len(values) < 2:
        return np.zeros(0)
    groups = grouped(met, int(np.clip(met.sum() / ROWS_OF_A_BIN, FEWEST, MOST)))
    at = np.flatnonzero(np.diff(groups))
    return np.asarray(values[at] / 2 + values[at + 1] / 2)


def weighed(column: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the different numbers of a column in their order, and what the rows of each weigh."""
    there = ~np.isnan(column) & (weights > 0)
    values, which = np.unique(column[there], return_inverse=True)
    return values, np.asarray(np.bincount(which, weights[there], len(values)), dtype=np.float64)


def grouped(met: Floats, bins: int, least: float = 3.0) -> npt.NDArray[np.int64]:
    """Return a group for each of some ordered things, about equally many of them in each.

    What holds a bin's share alone is a group of its own, and the others share what is left.
    """
    heavy = met >= met.sum() / bins
    others = np.where(heavy, 0.0, met)
    size = max(others.sum() / max(bins - int(heavy.sum()), bins // 2, 1), least)
    middle = ((np.cumsum(others) - others / 2) / size).astype(np.int64)
    group = np.where(heavy, -1 - np.arange(len(met)), middle)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(group[1:] != group[:-1])])


def binned(name: str, cuts: Floats, column: Floats, weights: Floats, bins: int) -> Bins:
    """Return the bins of a column: fine ones, and how they are put together to so many coarse ones."""
    there = ~np.isnan(column) & (weights > 0)
    x, w = column[there], weights[there]
    fine = np.asarray(np.bincount(np.searchsorted(cuts, x), w, len(cuts) + 1), dtype=np.float64)
    coarse = grouped(fine, bins) if bins and len(cuts) else np.zeros(len(fine), dtype=np.int64)
    low, high = quantiles(x, w)
    held = np.clip(x, low, high)
    centre = float(w @ held / w.sum()) if len(x) else 0.0
    spread = float(np.sqrt(w @ (held - centre) ** 2 / w.sum())) if len(x) else 0.0
    scale = 1 / spread if spread > 1e-12 * max(abs(low), abs(high)) else 0.0
    return Bins(name, tuple(cuts.tolist()), tuple(coarse.tolist()), low, high, centre, scale)


def quantiles(x: Floats, weights: Floats) -> tuple[float, float]:
    """Return the numbers between which almost all lie."""
    if not len(x):
        return 0.0, 0.0
    values, met = weighed(x, weights)
    below = np.cumsum(met) / met.sum()
    first, last = (min(int(np.searchsorted(below, edge)), len(values) - 1) for edge in EDGES)
    return float(values[first]), float(values[last])
