"""What the tab Compare shows: two models, or two periods, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .._types import JsonObject
from ..explain.changes import CLASS, Change, changes_between
from ..judge.metrics import as_row_count
from ..stats import Counts
from ..stats.mutual_information import Information

# Changes that a page shows: those that are hardly chance, by their number of standard errors, but so many at least and
# at most; and values that it names as new or gone.
CLEAR, FEWEST_CHANGES, MOST_CHANGES, MOST_VALUES = 3.0, 15, 60, 40
# Half the width of an interval in standard errors, at 95 %.
INTERVAL = 1.959964


def comparison_of(
    before: Counts,
    after: Counts,
    names: tuple[str, str],
    told: tuple[Mapping[str, Information], Mapping[str, Information]] | None = None,
) -> JsonObject:
    """Return what changed between two counts of the same columns, as the tab Compare shows it.

    Parameters
    ----------
    before, after : Counts
        What was counted.
    names : tuple of str
        What both are called, such as the names of their files.
    told : tuple of mappings of str to Information, optional
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
    clear = sum(abs(change.strength) >= CLEAR for change in of_columns)
    shown = min(max(clear, FEWEST_CHANGES), MOST_CHANGES)
    return {
        "names": list(names),
        "rows": [as_row_count(float(part.rows.sum())) for part in (before, after)],
        "classes": [_change_as_json(change) for change in changes if change.column == CLASS],
        "changes": [_change_as_json(change) for change in of_columns[:shown]],
        "clear": clear + sum(abs(change.strength) >= CLEAR for change in changes if change.column == CLASS),
        "left": max(len(of_columns) - shown, 0),
        "appeared": _values([change for change in of_columns if not change.is_mean and not change.before]),
        "gone": _values([change for change in of_columns if not change.is_mean and not change.after]),
        "bits": [] if told is None else _information_changes(*told),
    }


def _change_as_json(change: Change) -> JsonObject:
    """Return a change with its interval; a mean also with where it lies on an axis four deviations wide."""
    moved, half = change.after - change.before, INTERVAL * change.error
    numbers = {"before": change.before, "after": change.after, "change": moved, "low": moved - half}
    numbers |= {"high": moved + half, "strength": np.clip(change.strength, -999, 999), "spread": change.spread}
    return {"column": change.column, "value": change.value, **{name: _short(x) for name, x in numbers.items()}}


def _values(changes: Sequence[Change]) -> JsonObject:
    """Return values that stand on one side only, the most frequent first, and how many more there are."""
    order = sorted(changes, key=lambda change: -max(change.before, change.after))
    shown = [[one.column, one.value, _short(max(one.before, one.after))] for one in order[:MOST_VALUES]]
    return {"values": shown, "more": len(order) - len(shown)}


def _information_changes(before: Mapping[str, Information], after: Mapping[str, Information]) -> list[JsonObject]:
    """Return the mutual information of each column in both, the largest change first."""
    lines = []
    for name in before:
        one, two = before[name], after.get(name)
        if two is None or not (np.isfinite(one.bits) and np.isfinite(two.bits)):
            continue
        moved, error = two.bits - one.bits, float(np.hypot(one.error, two.error))
        figures = {"before": one.bits, "after": two.bits, "change": moved, "low": moved - INTERVAL * error}
        figures |= {"high": moved + INTERVAL * error, "strength": moved / error if error else 0.0}
        lines.append({"column": name, **{key: _short(x) for key, x in figures.items()}})
    return sorted(lines, key=lambda line: -abs(line["change"]))


def _short(value: float) -> float:
    return float(f"{value:.5g}")
