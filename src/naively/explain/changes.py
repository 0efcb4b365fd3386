"""What changed between two counts of the same columns: proportions of values, means of numbers, with their errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .._frames import frame
from .._types import FrameLike, JsonObject
from ..families import Bins
from ..families.family import shown_label
from ..judge.metrics import as_row_count
from ..page.sections import CLEAR
from ..stats import Counts, Moments, Table
from ..stats.arithmetic import Information

# The name under which changes of the classes stand.
CLASS = "(class)"
# Changes that a page shows, those that are hardly chance first: the least and the largest number; and values that it
# names as new or gone.
FEWEST_CHANGES, MOST_CHANGES, MOST_VALUES = 15, 60, 40
# Half the width of an interval in standard errors, at 95 %.
INTERVAL = 1.959964


class Change(NamedTuple):
    """One value, or the mean of a number, before and after.

    `strength` is the change divided by its standard error if nothing had changed; `error` is the standard error of the
    change as it is, for an interval. `spread` is the standard deviation of a number in all rows, and 0 of a proportion.
    """

    column: str
    value: str
    before: float
    after: float
    strength: float
    error: float
    spread: float = 0.0

    def to_json(self) -> JsonObject:
        """Return the change with its 95 % interval."""
        change, half = self.after - self.before, INTERVAL * self.error
        figures = {"before": self.before, "after": self.after, "change": change, "low": change - half}
        figures |= {"high": change + half, "strength": np.clip(self.strength, -999, 999), "spread": self.spread}
        return {"column": self.column, "value": self.value, **{key: _short(x) for key, x in figures.items()}}


def _short(value: float) -> float:
    return float(f"{value:.5g}")


def changes_between(a: Counts, b: Counts) -> list[Change]:
    """Return every change, the strongest first; counts of other columns are refused."""
    single_a, single_b = (Counts(counts.classes, counts.rows, counts.columns, counts.schema) for counts in (a, b))
    single_a + single_b  # raises an error on what does not fit; pairs of columns are not compared
    before, after = (Table(["all"], counts.classes, counts.rows[None]) for counts in (a, b))
    changes = _changes_of_values(CLASS, before, after)
    for name, statistic in a.columns.items():
        if isinstance(statistic, Moments):
            changes += _changes_of_means(name, statistic, b.columns[name])
            continue
        family = None if a.schema is None or name not in a.schema else a.schema[name].family
        bins = family.names() if isinstance(family, Bins) else ()
        before, after = (  # words are compared as values
            part if isinstance(part, Table) else Table(part.classes, part.values, part.n)
            for part in (statistic, b.columns[name])
        )
        changes += _changes_of_values(name, before, after, bins)
    return sorted(changes, key=lambda change: -abs(change.strength))


def _changes_of_values(name: str, a: Table, b: Table, bins: Sequence[str] = ()) -> list[Change]:
    """Return the proportion of each value before and after."""
    values = a.values | b.values
    n, m = (table.on(table.classes, values).sum(axis=0) for table in (a, b))
    n_total, m_total = (max(float(part.sum()), 1e-300) for part in (n, m))
    before, after, both = n / n_total, m / m_total, (n + m) / (n_total + m_total)
    pooled = np.sqrt(np.maximum(both * (1 - both) * (1 / n_total + 1 / m_total), 1e-300))
    strength = np.where(before == after, 0.0, (after - before) / pooled)
    error = np.sqrt(before * (1 - before) / n_total + after * (1 - after) / m_total)
    names = [bins[label] if bins and isinstance(label, int) else shown_label(label) for label in values.labels]
    figures = (part.tolist() for part in (before, after, strength, error))
    return [Change(name, *cells) for cells in zip(names, *figures, strict=True)]


def _changes_of_means(name: str, a: Moments, b: Moments) -> list[Change]:
    """Return the mean of each column of numbers before and after."""
    changes, (before, after) = [], (a.overall(), b.overall())
    for place, label in enumerate(a.columns.labels):
        (n, mean, variance), (m, other, far) = (
            (part.n[0, place], part.mean[0, place], part.variance[0, place]) for part in (before, after)
        )
        error = float(np.sqrt(variance / max(n, 1) + far / max(m, 1)))
        strength = 0.0 if mean == other else float((other - mean) / error) if error > 0 else float("inf")
        value = "mean" if len(a.columns) == 1 else f"mean of {label}"
        spread = float(np.sqrt((n * variance + m * far) / max(n + m, 1))) or float(abs(other - mean)) or 1.0
        changes.append(Change(name, value, float(mean), float(other), strength, error, spread))
    return changes


def compare(a: Counts, b: Counts) -> FrameLike:
    """Return what changed between two counts as a data frame: proportions of labels, means of numbers.

    Parameters
    ----------
    a : Counts
        The counts before.
    b : Counts
        The counts after, of the same columns.

    Returns
    -------
    DataFrame
        A line for each value, the strongest change first. `strength` is the change in standard errors: beyond about 3
        it is hardly chance.

    Examples
    --------
    >>> import naively as nv
    >>> may = nv.count({"sky": ["rain"] * 6 + ["sunny"] * 2}, ["in"] * 8)
    >>> june = nv.count({"sky": ["rain"] * 1 + ["sunny"] * 9}, ["in"] * 10)
    >>> import pandas  # a frame is one of pandas' then
    >>> nv.compare(may, june).round(2)
        column  value  before  after  change  strength
    0      sky   rain    0.75    0.1   -0.65     -2.81
    1      sky  sunny    0.25    0.9    0.65      2.81
    2  (class)     in    1.00    1.0    0.00      0.00
    """
    changes = changes_between(a, b)
    columns = {name: [getattr(change, name) for change in changes] for name in ("column", "value", "before", "after")}
    moved = [change.after - change.before for change in changes]
    return frame(columns | {"change": moved, "strength": [change.strength for change in changes]})


# -- for the page ------------------------------------------------------------------------------------------------------


def comparison_of(
    before: Counts,
    after: Counts,
    names: tuple[str, str],
    measured: tuple[Mapping[str, Information], Mapping[str, Information]] | None = None,
) -> JsonObject:
    """Return what changed between two counts of the same columns, as the tab Compare shows it.

    Parameters
    ----------
    before, after : Counts
        What was counted.
    names : tuple of str
        What both are called, such as the names of their files.
    measured : tuple of mappings of str to Information, optional
        The mutual information of each column and the class in both.

    Returns
    -------
    comparison : dict
        The changes of classes, of values and means, and of mutual information, each with its 95 % interval; and the
        values that appeared or disappeared.

    Raises
    ------
    IncompatibleCounts
        If the columns are not the same.
    """
    changes = changes_between(before, after)
    of_columns = [change for change in changes if change.column != CLASS]
    shown = min(max(sum(abs(change.strength) >= CLEAR for change in of_columns), FEWEST_CHANGES), MOST_CHANGES)
    values = [change for change in of_columns if not change.spread]
    return {
        "names": list(names),
        "rows": [as_row_count(float(part.rows.sum())) for part in (before, after)],
        "classes": [change.to_json() for change in changes if change.column == CLASS],
        "changes": [change.to_json() for change in of_columns[:shown]],
        "clear": sum(abs(change.strength) >= CLEAR for change in changes),
        "left": max(len(of_columns) - shown, 0),
        "appeared": _one_sided([change for change in values if not change.before]),
        "gone": _one_sided([change for change in values if not change.after]),
        "bits": [] if measured is None else _changes_of_information(*measured),
    }


def _one_sided(changes: Sequence[Change]) -> JsonObject:
    """Return values that stand on one side only, the most frequent first, and how many more there are."""
    order = sorted(changes, key=lambda change: -max(change.before, change.after))
    shown = [[change.column, change.value, _short(max(change.before, change.after))] for change in order[:MOST_VALUES]]
    return {"values": shown, "more": len(order) - len(shown)}


def _changes_of_information(before: Mapping[str, Information], after: Mapping[str, Information]) -> list[JsonObject]:
    """Return the mutual information of each column in both, the largest change first."""
    lines = []
    for name in before:
        if name in after and np.isfinite([before[name].bits, after[name].bits]).all():
            error = float(np.hypot(before[name].error, after[name].error))
            moved = after[name].bits - before[name].bits
            strength = moved / error if error else 0.0
            line = Change(name, "", before[name].bits, after[name].bits, strength, error).to_json()
            lines.append({key: x for key, x in line.items() if key not in ("value", "spread")})
    return sorted(lines, key=lambda line: -abs(line["change"]))
