"""The evidence about one row as JSON, for the command line and the server."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._types import CellLike, Floats, JsonObject
from .evidence import Evidence


def evidence_json(evidence: Evidence, row: int, cells: Mapping[str, CellLike]) -> JsonObject:
    """Return the contributions for one row: `base` and the `scores` of all `columns` add up to `log_joint`."""
    pairs = evidence.provenance.pairs or {}
    columns = []
    for place, name in enumerate(evidence.columns):
        about: JsonObject = {"columns": list(pairs[name])} if name in pairs else {"value": cells.get(name)}
        columns.append({"name": name, **about, "scores": by_class(evidence, evidence.scores[row, place])})
    return {
        "against": evidence.classes[int(evidence.against[row])],
        "probabilities": by_class(evidence, evidence.probabilities[row]),
        "log_joint": by_class(evidence, evidence.log_joint[row]),
        "base": by_class(evidence, np.asarray(evidence.base)),
        "columns": columns,
        "floor": None if evidence.floor is None else by_class(evidence, np.asarray(evidence.floor)),
    }


def by_class(evidence: Evidence, numbers: Floats) -> JsonObject:
    """Return the number of each class; null for those that are not finite."""
    return dict(zip(map(str, evidence.classes), finite(numbers.tolist()), strict=True))


def finite(data: Any) -> Any:
    """Return data with null in place of NaN and infinity, which JSON does not have."""
    if isinstance(data, dict):
        return {str(name): finite(value) for name, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
