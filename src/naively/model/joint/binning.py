"""The first look: which bins and labels are told apart, from rows without their classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._types import Floats
from ...data.grid import Grid, LabelValues, NumberBins
from ...stats.quantiles import quantile_groups, value_weights

# Bins of a number: enough for any shape that so many rows can show.
ROWS_OF_A_BIN, FEWEST, MOST = 25, 20, 100
# The outermost bin is cut in halves so often, while so many rows are left in it.
HALVES, LEAST = 4, 3.0
# Coarse bins of a number and labels of a column that are told apart in pairs, at most: the first that can be afforded.
COARSEST, FINEST = 8, 16
# Fine bins and coarse ones are read off put together, too: fewer rows fill them.
WIDER, ROUGH = 12, 4
STEPS = ((16, 1 << 16), (16, 64), (12, 32), (8, 32), (8, 16), (6, 12), (4, 8), (0, 8), (0, 0))
# More features make the joint evidence too slow; their products may take so many bytes.
FEATURES, BUDGET = 1024, 256 << 20
# Beyond such a share of the rows at either end, numbers are taken for the last before them in the joint evidence: one
# outlier must not tilt it.
EDGE = 0.005
# Of columns whose labels are not all distinguished, so many are named.
NAMED = 3


def look(
    names: Sequence[str], numbers: Floats, weights: Floats, labels: Sequence[tuple[str, Any, Floats]], classes: int
) -> tuple[Grid, str | None]:
    """Return the grid for these numbers and labels, and a remark if not everything can be afforded.

    Labels of each column come with how often they were met.
    """
    fine = [fine_bins(column, weights) for column in numbers.T]
    most = most_features(classes)
    wanted = coarse_bins(weights)
    for bins, values in STEPS:
        bins = min(bins, wanted)
        told = [LabelValues(name, commonest(known, met, values)) for name, known, met in labels]
        laid = [binned(n, c, numbers[:, j], weights, bins) for j, (n, c) in enumerate(zip(names, fine, strict=True))]
        grid = Grid(tuple(laid), tuple(told))
        if grid.features <= most or (bins, values) == STEPS[-1]:
            break
    return grid, said(grid, bins, wanted, {name: len(known) for name, known, _ in labels})


def coarse_bins(weights: Floats) -> int:
    """Return how many coarse bins of a number so many rows can fill."""
    return int(np.clip(round(float(weights.sum()) ** (1 / 3)), COARSEST, FINEST))


def most_features(classes: int) -> int:
    """Return how many features can be afforded."""
    return int(min(FEATURES, np.sqrt(BUDGET / 8 / max(classes, 1))))


def said(grid: Grid, bins: int, wanted: int, labels: Mapping[str, int]) -> str | None:
    """Return the remark on what is not distinguished where not everything can be afforded; labels has how many."""
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


def commonest(labels: Sequence[Any], met: Floats, most: int) -> tuple[Any, ...]:
    """Return the labels that were met most often, in their order; a single one tells nothing."""
    known = [at for at, label in enumerate(labels) if met[at] > 0]
    kept = sorted(sorted(known, key=lambda at: (-met[at], at))[:most])
    return tuple(labels[at] for at in kept) if len(kept) > 1 else ()


def fine_bins(column: Floats, weights: Floats) -> Floats:
    """Return the cuts of a column of numbers."""
    values, met = value_weights(column, weights)
    if len(values) < 2:
        return np.zeros(0)
    groups = quantile_groups(met, int(np.clip(met.sum() / ROWS_OF_A_BIN, FEWEST, MOST)))
    borders = {int(at) for at in np.flatnonzero(np.diff(groups))}
    borders |= tail(met, groups == 0) | {len(met) - 2 - at for at in tail(met[::-1], (groups == groups[-1])[::-1])}
    at = np.array(sorted(borders), dtype=np.intp)
    return np.asarray(values[at] / 2 + values[at + 1] / 2)


def tail(met: Floats, outermost: npt.NDArray[np.bool_]) -> set[int]:
    """Return where the outermost of some bins is cut further: far out, numbers differ most in what they say."""
    inner = np.cumsum(met[outermost])
    shares = (inner[-1] / 2**by for by in range(1, HALVES + 1))
    found = (int(np.searchsorted(inner, share * (1 - 1e-9))) for share in shares if share >= LEAST)
    return {at for at in found if at < len(inner) - 1}


def binned(name: str, cuts: Floats, column: Floats, weights: Floats, bins: int) -> NumberBins:
    """Return the bins of a column: fine ones, and how they are put together to so many coarse ones."""
    there = ~np.isnan(column) & (weights > 0)
    x, w = column[there], weights[there]
    fine = np.asarray(np.bincount(np.searchsorted(cuts, x), w, len(cuts) + 1), dtype=np.float64)
    coarse = quantile_groups(fine, bins) if bins and len(cuts) else np.zeros(len(fine), dtype=np.int64)
    low, high = quantiles(x, w)
    held = np.clip(x, low, high)
    centre = float(w @ held / w.sum()) if len(x) else 0.0
    spread = float(np.sqrt(w @ (held - centre) ** 2 / w.sum())) if len(x) else 0.0
    scale = 1 / spread if spread > 1e-12 * max(abs(low), abs(high)) else 0.0
    wider, rough = quantile_groups(fine, WIDER), quantile_groups(np.bincount(coarse, fine).astype(np.float64), ROUGH)
    laid = tuple(cuts.tolist()), tuple(coarse.tolist()), tuple(wider.tolist()), tuple(rough.tolist())
    middles = (middles_of(x, w, fine) / 2 - centre / 2) * 2 * scale
    return NumberBins(name, *laid, tuple(middles.tolist()), low, high, centre, scale)


def middles_of(x: Floats, weights: Floats, fine: Floats) -> Floats:
    """Return the number in the middle of those in each fine bin, given what the bins weigh; 0 if there are none."""
    if not len(x):
        return np.zeros(len(fine))
    order = np.argsort(x)
    below, halves = np.cumsum(weights[order]), np.cumsum(fine) - fine / 2
    sides = (np.searchsorted(below, halves + by * below[-1]) for by in (-1e-12, 1e-12))
    first, second = (x[order][np.minimum(at, len(x) - 1)] for at in sides)
    return np.asarray(first / 2 + second / 2)


def quantiles(x: Floats, weights: Floats) -> tuple[float, float]:
    """Return the numbers between which almost all lie."""
    if not len(x):
        return 0.0, 0.0
    values, met = value_weights(x, weights)
    low, high = (int(np.searchsorted(np.cumsum(part), EDGE * met.sum() * (1 - 1e-9))) for part in (met, met[::-1]))
    return float(values[low]), float(values[-1 - high])
