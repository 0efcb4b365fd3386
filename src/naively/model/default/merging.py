"""Several fits combined without their rows: a common grid from their counts, and the mean of their weights.

Where each part has many rows, each determines the weights well, and their mean is as good as one fit (Zhang, Duchi and
Wainwright, 2013).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..._types import Floats, Label
from ...data.grid import Grid, NumberBins
from ...stats import Axis, Counts, Table
from ...stats.arithmetic import divide
from ...stats.quantiles import value_weights
from ..recipe import RECIPE, Recipe
from .bins import Categories, grid_of
from .fit import DefaultFit
from .model import DefaultModel
from .moved_counts import original_middles
from .terms import Term

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
    columns = [pooled_numbers(parts, name) for name in numbers]
    return grid_of(numbers, columns, rows, [pooled_labels(parts, name) for name in labels], len(classes), recipe)


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


def pooled_labels(parts: Sequence[Counts], name: str) -> Categories:
    """Return the categories of a column in all parts, the most frequent first."""
    tables = [part.columns[name] for part in parts if isinstance(part.columns[name], Table)]
    known: dict[Label, float] = {}
    for table in tables:
        for label, n in zip(table.values.labels, table.n.sum(axis=0).tolist(), strict=True):
            if label is not None and n > 0:
                known[label] = known.get(label, 0.0) + n
    order = sorted(known, key=lambda label: (-known[label], str(label)))  # by frequency, then by name
    return Categories(name, order)


# Merged without rows, a model has so many times the log loss of one fit, on held-out rows: where each part has at least
# so many rows, and where one has fewer.
ENOUGH_ROWS, RATIO_OF_LARGE_PARTS, RATIO_OF_SMALL_PARTS = 5_000, 1.05, 1.50

Owner = tuple[str, bool]  # a column, and whether it is meant or whether it is missing


class PartFit(NamedTuple):
    """The weights that were fitted to one part of the rows, and what their terms are of."""

    fit: DefaultFit
    owners: tuple[Owner, ...]  # by the places that terms name
    classes: Axis
    rows: Floats  # of each class
    prior: Floats

    @classmethod
    def of(cls, model: DefaultModel) -> PartFit | None:
        """Return the weights of a model; None if it has none."""
        rows = model.counts.joint.products[:, 0, 0]
        if model.fit is None:
            return None
        # Coefficients are of no use with other rows: what is said of the weights must hold without them.
        return cls(model.fit.without_coefficients(), owners_of(model), model.classes, rows, model.counts.prior)

    def times(self, weight: float) -> PartFit:
        """Return the weights of the same rows, each weighing so many times as much."""
        return self._replace(rows=weight * self.rows)


def owners_of(model: DefaultModel) -> tuple[Owner, ...]:
    """Return what the places that terms name are of: columns of the grid, then whether numbers are missing."""
    known = len(model.counts.grid.names)
    return tuple((name, at >= known) for at, name in enumerate(model.owners))


def combined_fit(parts: Sequence[PartFit | None], model: DefaultModel) -> DefaultFit | None:
    """Return the weights for the rows of all parts, without these rows.

    Parameters
    ----------
    parts : sequence of PartFit or None
        What was fitted to each part; None where nothing was, for too few rows.
    model : DefaultModel
        The model of all rows, without weights: its counts are those of all parts, on a common grid.

    Returns
    -------
    DefaultFit or None
        The weights; None if no part has any.
    """
    known = [part for part in parts if part is not None]
    if not known:
        return None
    places = {owner: at for at, owner in enumerate(owners_of(model))}
    loss = {"the weights of each part": mean([list(part.fit.loss.values())[-1] for part in known], known)}
    rows, copies = sum(part.fit.rows for part in known), all(part.fit.copies for part in known)
    weights, bias = mean_weights(known, places), mean_bias(known, model)
    return DefaultFit(weights, mean_settings(known), bias, loss, rows, copies=copies, parts=len(parts))


def renamed(term: Term, owners: Sequence[Owner], places: Mapping[Owner, int]) -> Term | None:
    """Return a term of a part under the places of its columns in the whole; None if one of them is not there."""
    at = [places.get(owners[column], -1) for column in term.columns]
    return None if -1 in at else term._replace(columns=tuple(sorted(at)))


def mean_settings(parts: Sequence[PartFit]) -> dict[str, float]:
    """Return the ridges of linear terms and pseudo-counts of words: their geometric mean, by rows."""
    out = {}
    for name in dict.fromkeys(name for part in parts for name in part.fit.settings):
        some = [part for part in parts if name in part.fit.settings]
        out[name] = float(np.exp(mean([np.log(part.fit.settings[name]) for part in some], some)))
    return out


def mean_weights(parts: Sequence[PartFit], places: Mapping[Owner, int]) -> dict[Term, float]:
    """Return the mean of the weights of each term, by rows."""
    by_part = [
        {renamed(term, part.owners, places): weight for term, weight in part.fit.weights.items()} for part in parts
    ]
    terms = dict.fromkeys(term for weights in by_part for term in weights)
    known = [term for term in terms if term is not None]
    return {term: mean([weights.get(term, 0.0) for weights in by_part], parts) for term in known}


def mean_bias(parts: Sequence[PartFit], model: DefaultModel) -> Floats:
    """Return the prior of each class and the mean of how far its bias lies from it, by the rows of the class."""
    rows, sums = np.zeros(len(model.classes)), np.zeros(len(model.classes))
    for part in parts:
        at = model.classes.places(part.classes.labels)
        rows[at] += part.rows
        sums[at] += part.rows * (part.fit.bias - part.prior)
    return np.asarray(model.counts.prior + divide(sums, rows))


def mean(values: Sequence[float], parts: Sequence[PartFit]) -> float:
    """Return the mean over parts, by rows."""
    return float(np.average(values, weights=[part.rows.sum() for part in parts]))


# -- in words ----------------------------------------------------------------------------------------------------------


def expected_ratio(fewest_rows: float) -> float:
    """Return how many times the log loss of one fit is expected, given the rows of the smallest part."""
    return RATIO_OF_LARGE_PARTS if fewest_rows >= ENOUGH_ROWS else RATIO_OF_SMALL_PARTS


def expected_quality(fewest_rows: float) -> str:
    """Return how good weights are that were combined without rows, given the rows of the smallest part.

    >>> expected_quality(8000)[-56:]
    'parts of 5,000 rows or more gave 1.05 times its log loss'
    """
    large = fewest_rows >= ENOUGH_ROWS
    parts = f"parts of {ENOUGH_ROWS:,} rows or more" if large else f"parts of fewer than {ENOUGH_ROWS:,} rows"
    ratio = expected_ratio(fewest_rows)
    how = "weights were combined without rows; compared with one fit on public tables"
    return f"{how}, {parts} gave {ratio:.2f} times its log loss"
