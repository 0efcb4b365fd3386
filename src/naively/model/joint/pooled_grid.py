"""A grid for counts of several parts together, from the counts alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..._types import Floats, Label
from ...data.grid import Grid, NumberBins
from ...stats import Counts, Table
from ...stats.quantiles import value_weights
from ..recipe import RECIPE, Recipe
from .binning import grid_of_columns
from .moved_counts import original_middles

# The middles of two bins are the same number if they differ by less than this, in standard deviations: each was brought
# to the scale of its own part and back.
SAME_NUMBER = 1e-9


def pooled_grid(parts: Sequence[Counts], recipe: Recipe = RECIPE) -> tuple[Grid, str | None]:
    """Return the grid for the rows of all parts, and a remark if not everything can be afforded.

    Numbers are known by the middles of their fine bins, weighted by the rows of these. The grid has all columns that
    one of the parts counted jointly, in the order of the first that has each. Parts that share a grid keep it, so that
    their counts add up exactly.

    Parameters
    ----------
    parts : sequence of Counts
        What was counted of each part; one at least was counted jointly.
    recipe : Recipe
        The constants of the method.

    Returns
    -------
    tuple of Grid and str or None
        The grid, and the remark.
    """
    grids = [part.joint.grid for part in parts if part.joint is not None]
    if len(grids) == len(parts) and all(grid == grids[0] for grid in grids[1:]):
        return grids[0], None
    numbers = list(dict.fromkeys(bins.name for grid in grids for bins in grid.numbers))
    labels = list(dict.fromkeys(values.name for grid in grids for values in grid.labels))
    rows, classes = sum(float(part.rows.sum()) for part in parts), {label for p in parts for label in p.classes.labels}
    return grid_of_columns(
        numbers,
        [pooled_numbers(parts, name) for name in numbers],
        rows,
        [(name, *pooled_labels(parts, name)) for name in labels],
        len(classes),
        recipe,
    )


class CountedNumber(NamedTuple):
    """A number as one part counted it: the middles of fine bins, what they weigh, and a standard deviation."""

    middles: Floats
    weights: Floats
    spread: float


def pooled_numbers(parts: Sequence[Counts], name: str) -> tuple[Floats, Floats]:
    """Return the middles of the fine bins of a column in all parts, and what the rows of each weigh."""
    found = [known for part in parts if (known := counted_number(part, name)) is not None]
    spread = max((one.spread for one in found), default=0.0)
    values, met = value_weights(*(np.concatenate(side) for side in list(zip(*found, strict=True))[:2]))
    apart = np.diff(values, prepend=-np.inf) > SAME_NUMBER * spread
    starts = np.flatnonzero(apart)
    return values[starts], np.add.reduceat(met, starts) if len(starts) else met


def counted_number(part: Counts, name: str) -> CountedNumber | None:
    """Return a number as a part counted it; None if it was not counted jointly there."""
    grid: Grid | None = None if part.joint is None else part.joint.grid
    at = next((at for at, bins in enumerate(grid.numbers if grid else ()) if bins.name == name), None)
    if part.joint is None or grid is None or at is None:
        return None
    bins: NumberBins = grid.numbers[at]
    begin, end = grid.fine_offsets[at : at + 2]
    n = part.joint.fine[:, begin:end].sum(axis=0)
    return CountedNumber(original_middles(bins), n, 1 / bins.scale if bins.scale else 0.0)


def pooled_labels(parts: Sequence[Counts], name: str) -> tuple[list[Label], Floats]:
    """Return the labels of a column in all parts, the most frequent first, and how many rows hold each."""
    tables = [part.columns[name] for part in parts if isinstance(part.columns[name], Table)]
    known: dict[Label, float] = {}
    for table in tables:
        for label, n in zip(table.values.labels, table.n.sum(axis=0).tolist(), strict=True):
            if label is not None:
                known[label] = known.get(label, 0.0) + n
    order = sorted(known, key=lambda label: (-known[label], str(label)))  # by frequency, then by name
    return order, np.array([known[label] for label in order])
