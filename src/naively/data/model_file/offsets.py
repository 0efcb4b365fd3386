"""Offsets of words as rows of the table: a number for each word and class, which may be negative."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from ..._types import Floats, JsonObject
from ...errors import InvalidInput
from ...stats import Axis
from .statistics import RowGroup, axis_of, cell_rows, described, in_text, need, stored

MARK = "(offsets)"
StoredOffsets = Mapping[str, tuple[Axis, Floats]]  # by column: its words, and their offsets, [class, word]


def offset_rows(name: str, classes: Axis, values: Axis, table: Floats) -> tuple[JsonObject, pa.Table]:
    """Return the entry of the footer for the offsets of a column, and their rows of the table."""
    if not np.isfinite(table).all():
        raise InvalidInput(f"offsets of column {name!r} are not finite.", column=name)
    of, texts = in_text(values)
    rows = cell_rows(f"{MARK} {name}", classes, texts, [table])
    seen = np.asarray(stored(table).any(axis=0))
    return {"name": f"{MARK} {name}", "rows": len(rows), "values": described(values, of, seen)}, rows


def stored_offsets(entries: Sequence[JsonObject], classes: Axis, pieces: Sequence[list[RowGroup]]) -> StoredOffsets:
    """Return the offsets of each column, from the entries of the footer and the rows."""
    found: dict[str, tuple[Axis, Floats]] = {}
    for entry, parts in zip(entries, pieces, strict=True):
        need(str(entry["name"]).startswith(f"{MARK} "), "offsets have no mark")
        values, places = axis_of(entry["values"], [part.texts for part in parts])
        table, seen, cells = np.zeros((len(classes), len(values))), 0, 0
        for part in parts:
            table[part.classes, places[seen : seen + len(part.texts)][part.values]] = part.numbers[0]
            seen, cells = seen + len(part.texts), cells + len(part.values)
        need(np.isfinite(table).all(), "offsets are not finite")
        need(np.count_nonzero(stored(table)) == cells, "an offset stands twice, or is 0")
        found[entry["name"][len(MARK) + 1 :]] = values, table
    need(len(found) == len(entries), "a column stands twice")
    return found
