"""What changed between two counts of the same columns: proportions of values, means of numbers, with their errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..data.schema import Schema
from ..families import Bins
from ..families.family import shown_label
from ..stats import Counts, Moments, Table, WordTable

# The name under which changes of the classes stand.
CLASS = "(class)"


class Change(NamedTuple):
    """One value, or the mean of a number, before and after.

    `strength` is the change in standard errors, if there were none; `error` is the standard error of the change as it
    is, for an interval. `spread` is the standard deviation of a number in all rows, and 0 of a proportion.
    """

    column: str
    value: str
    before: float
    after: float
    strength: float
    error: float
    spread: float = 0.0

    @property
    def is_mean(self) -> bool:
        """Whether it is a change of a mean, not of a proportion."""
        return self.spread > 0


def changes_between(a: Counts, b: Counts) -> list[Change]:
    """Return every change, the strongest first; counts of other columns are refused."""
    bare_a, bare_b = (Counts(one.classes, one.rows, one.columns, one.schema) for one in (a, b))
    bare_a + bare_b  # raises an error on what does not fit; pairs of columns are not compared
    before, after = (Table(["all"], part.classes, part.rows[None]) for part in (a, b))
    found = proportion_changes(CLASS, before, after)
    for name, statistic in a.columns.items():
        if isinstance(statistic, Moments):
            found += mean_changes(name, statistic, b.columns[name])
        else:
            before, after = (table_of_values(part.columns[name]) for part in (a, b))
            found += proportion_changes(name, before, after, names_of_bins(a.schema, name))
    return sorted(found, key=lambda change: -abs(change.strength))


def table_of_values(statistic: Table | WordTable) -> Table:
    """Return counts of words as a table of values."""
    return statistic if isinstance(statistic, Table) else Table(statistic.classes, statistic.values, statistic.n)


def names_of_bins(schema: Schema | None, name: str) -> Sequence[str]:
    """Return what the bins of a column are called, if it has some."""
    family = None if schema is None or name not in schema else schema[name].family
    return family.names() if isinstance(family, Bins) else ()


def proportion_changes(name: str, a: Table, b: Table, bins: Sequence[str] = ()) -> list[Change]:
    """Return the proportion of each value before and after."""
    axis = a.values | b.values
    met = [table.on(table.classes, axis).sum(axis=0) for table in (a, b)]
    totals = [max(float(n.sum()), 1e-300) for n in met]
    before, after = met[0] / totals[0], met[1] / totals[1]
    both = (met[0] + met[1]) / (totals[0] + totals[1])
    pooled = np.sqrt(np.maximum(both * (1 - both) * (1 / totals[0] + 1 / totals[1]), 1e-300))
    strength = np.where(before == after, 0.0, (after - before) / pooled)
    error = np.sqrt(before * (1 - before) / totals[0] + after * (1 - after) / totals[1])
    names = [bins[label] if bins and isinstance(label, int) else shown_label(label) for label in axis.labels]
    parts = (part.tolist() for part in (before, after, strength, error))
    return [Change(name, *cells) for cells in zip(names, *parts, strict=True)]


def mean_changes(name: str, a: Moments, b: Moments) -> list[Change]:
    """Return the mean of each column of numbers before and after."""
    one, two = a.overall(), b.overall()
    found = []
    for at, label in enumerate(a.columns.labels):
        (n, mean, var), (m, other, far) = ((x.n[0, at], x.mean[0, at], x.variance[0, at]) for x in (one, two))
        error = float(np.sqrt(var / max(n, 1) + far / max(m, 1)))
        strength = 0.0 if mean == other else float((other - mean) / error) if error > 0 else float("inf")
        value = "mean" if len(a.columns) == 1 else f"mean of {label}"
        spread = float(np.sqrt((n * var + m * far) / max(n + m, 1))) or float(abs(other - mean)) or 1.0
        found.append(Change(name, value, float(mean), float(other), strength, error, spread))
    return found
