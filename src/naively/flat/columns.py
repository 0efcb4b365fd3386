"""How the cells of each column become codes and levels: bins of numbers, values of labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime

import numpy as np

from .._types import Floats, Json, JsonObject, Label
from ..data.cell_format import exact_names
from ..data.column import Column
from ..data.grid import LEVEL_STEPS, NumberBins
from ..families import Bernoulli, Bins
from ..model.table_model import RARE, LabelColumn, TableModel
from .terms import FlatColumn


def label_json(label: Label) -> Json:
    """Return a label as JSON has it: its text, where JSON has no such type."""
    if isinstance(label, np.generic):
        label = label.item()
    if label is None or isinstance(label, (str, bool, int)) or (isinstance(label, float) and np.isfinite(label)):
        return label
    return label.isoformat() if isinstance(label, (date, datetime)) else str(label)


def flat_columns(model: TableModel, bins: Mapping[str, NumberBins]) -> dict[str, FlatColumn]:
    """Return the columns of numbers and labels in use, without terms; some numbers have bins."""
    labels = {one.column.name: one for one in model.labels}
    spread = model.number_summaries
    classes = len(model.classes)
    found: dict[str, FlatColumn] = {}
    for column in model.schema:
        if column.name in labels:
            found[column.name] = label_column(labels[column.name], classes)
        elif column.name in spread:
            found[column.name] = number_column(column, bins.get(column.name), spread[column.name], classes)
    return found


# -- labels -----------------------------------------------------------------------------------------------------------


def label_column(one: LabelColumn, classes: int) -> FlatColumn:
    """Return a column of labels; bins and flags of numbers are read as numbers."""
    cuts = cuts_of(one.column)
    if cuts is not None:
        return binned_column(one, cuts, classes)
    codes = {label: code for label, code in one.places.items() if label is not None and label is not RARE}
    fields: JsonObject = {
        "name": one.column.name,
        "kind": "label",
        "type": "text" if one.column.type == "empty" else one.column.type,
        "values": [label_json(label) for label in codes],
        "missing": one.places[None],
        "unseen": one.unseen,
    }
    if list(codes.values()) != list(range(len(codes))):
        fields["codes"] = np.array(list(codes.values()), dtype=np.int32)
    if one.settings.unseen == "error":
        fields["refuses"] = "unseen"
    if names := exact_names(one.column.written):
        fields["no_value"] = list(names)
    return FlatColumn(fields, np.zeros((one.unseen + 1, classes)), np.arange(one.unseen + 1, dtype=np.int32))


def cuts_of(column: Column) -> Sequence[float] | None:
    """Return where the numbers of a column are cut; None if its labels are no numbers."""
    if isinstance(column.family, Bins):
        return column.family.cuts or ()
    if isinstance(column.family, Bernoulli) and column.type != "boolean":
        return (column.family.threshold or 0.0,)
    return None


def binned_column(one: LabelColumn, cuts: Sequence[float], classes: int) -> FlatColumn:
    """Return a column of numbers that are counted by their bins."""
    bins: Sequence[Label] = range(len(cuts) + 1) if isinstance(one.column.family, Bins) else (False, True)
    codes = [one.places.get(at, one.unseen) for at in bins]
    missing = one.places[None]
    fields = number_fields(one.column, cuts, *shown_range(cuts)) | {"missing": -1 if missing < 0 else len(codes)}
    labels = np.array([*codes, one.unseen + 1 if missing < 0 else missing], dtype=np.int32)
    return FlatColumn(fields, np.zeros((len(codes) + 1, classes)), labels)


def shown_range(cuts: Sequence[float]) -> tuple[float, float]:
    """Return a range of numbers that reaches beyond all cuts."""
    if not cuts:
        return 0.0, 1.0
    beyond = (cuts[-1] - cuts[0]) / (len(cuts) - 1) if len(cuts) > 1 else max(abs(cuts[0]), 1.0)
    return float(cuts[0] - beyond), float(cuts[-1] + beyond)


# -- numbers ----------------------------------------------------------------------------------------------------------


def number_fields(column: Column, cuts: Sequence[float], low: float, high: float) -> JsonObject:
    """Return how the cells of a column of numbers are read."""
    found = {
        "name": column.name,
        "kind": "number",
        "type": "number" if column.type == "empty" else column.type,
        "low": low,
        "high": high,
    }
    return found | {"center": 0.0, "steps": 0.0, "cuts": np.array(cuts, dtype=np.float64)}


def number_column(
    column: Column, bins: NumberBins | None, spread: tuple[Floats, Floats, Floats], classes: int
) -> FlatColumn:
    """Return a column of numbers; it has a level if it has bins."""
    if bins is None:
        fields = number_fields(column, (), *range_of(*spread))
    else:
        fields = number_fields(column, bins.cuts, bins.low, bins.high)
        fields |= {"center": bins.center, "steps": bins.scale * LEVEL_STEPS}
    size = len(fields["cuts"]) + 1
    if column.family.name == "poisson":
        fields["refuses"] = "negative"
    return FlatColumn(fields | {"missing": size}, np.zeros((size + 1, classes)))


def range_of(n: Floats, mean: Floats, ssd: Floats) -> tuple[float, float]:
    """Return three standard deviations around the mean of each class, together."""
    there = n > 0
    if not there.any():
        return 0.0, 1.0
    far = 3 * np.sqrt(ssd[there] / n[there])
    low, high = float((mean[there] - far).min()), float((mean[there] + far).max())
    return (low, high) if low < high else (low - 1.0, high + 1.0)
