"""What a client needs to know of a model: its columns and its classes."""

from __future__ import annotations

import math

import numpy as np

from .. import __version__
from .._types import JsonObject, Label
from ..data.column import Column, family_text
from ..stats.moments import Moments
from ..stats.table import Table
from .served_model import Snapshot

# So many values of a column are listed, the most frequent first.
LISTED = 1_000


def described_model(snapshot: Snapshot, learning: bool = False) -> JsonObject:
    """Return what a form needs: columns with their types and values, classes with their probabilities."""
    fitted = snapshot.fitted
    rows = fitted.all_counts.rows
    prior = np.exp(fitted.model.textbook.log_prior)
    classes = zip(snapshot.labels, rows.tolist(), prior.tolist(), strict=True)
    return {
        "name": snapshot.name,
        "revision": snapshot.revision,
        "target": fitted.schema.target,
        "model": fitted.parameters.model,
        "rows": float(rows.sum()),
        "learning": learning,
        "naively": __version__,
        "classes": [{"label": label, "rows": n, "prior": p} for label, n, p in classes],
        "columns": [described_column(snapshot, column) for column in snapshot.schema],
        "rejects": fitted.parameters.reject is not None,
        "has_costs": fitted.parameters.cost is not None,
    }


def described_column(snapshot: Snapshot, column: Column) -> JsonObject:
    """Return what a field of a form needs."""
    found: JsonObject = {"name": column.name, "type": column.type, "family": family_text(column)}
    statistic = snapshot.fitted.counts.columns[column.name]
    if isinstance(statistic, Table):
        values = frequent_values(statistic)
        found |= {"values": values[:LISTED], "value_count": len(values)}
    if isinstance(statistic, Moments) and statistic.n.shape[1] == 1:
        found |= spread_of_numbers(snapshot, column, statistic)
    return found


def frequent_values(table: Table) -> list[Label]:
    """Return the values of a column, the most frequent first, without the missing one."""
    counts = table.n.sum(axis=0).tolist()
    pairs = sorted(zip(counts, table.values.labels, strict=True), key=lambda pair: -pair[0])
    return [value for _, value in pairs if value is not None]


def spread_of_numbers(snapshot: Snapshot, column: Column, moments: Moments) -> JsonObject:
    """Return where most numbers of a column lie: bins are known, or three standard deviations around the mean."""
    bins, _ = snapshot.fitted.model.fine_bins.get(column.name, (None, None))
    n, mean = moments.n[:, 0], moments.mean[:, 0]
    total = float(n.sum())
    if not total:
        return {}
    middle = float((n * np.nan_to_num(mean)).sum() / total)
    if bins is not None and len(bins.cuts):
        return {"mean": middle, "low": float(bins.cuts[0]), "high": float(bins.cuts[-1])}
    spread = math.sqrt(max(float(np.nansum(moments.ssd[:, 0] + n * (np.nan_to_num(mean) - middle) ** 2)) / total, 0.0))
    return {"mean": middle, "low": middle - 3 * spread, "high": middle + 3 * spread}
