"""The first rows of a model that began with too few to fit weights: kept until there are enough, and no longer.

`partial_fit` may begin with a handful of rows. Counts of single columns do not contain their pairs, so the
rows themselves are kept while they are few. When there are enough, the default model is learned from all of them, and
again each time their number has doubled; then they are dropped. A saved model holds no rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from .._types import CellLike, Floats, Label, Objects
from ..data.frame import Frame, frame_of
from ..data.schema import Schema
from ..data.target import SoftLabels
from ..data.values import ColumnValues
from ..stats.missing import is_missing
from .rows import Rows

# Rows are kept until there are so many, eight times the fewest that weights are fitted on. A batch larger than the
# second is not kept: as plain values it would take long.
MOST, LARGEST = 400, 20_000

Row = tuple[tuple[CellLike, ...], Label, float]  # its cells, its label, its weight


class FirstRows(NamedTuple):
    """All rows that were counted so far, as plain values, and with how many of them to learn next."""

    rows: tuple[Row, ...]
    due: int

    def more(self, rows: Rows, schema: Schema) -> Self | None:
        """Return these rows and some more; None if they cannot be kept, or are too many."""
        found = None if rows.target.rows > LARGEST else plain_rows(rows, schema)
        return None if found is None or self.full else self._replace(rows=(*self.rows, *found))

    @property
    def full(self) -> bool:
        """Whether these are as many as are kept."""
        return len(self.rows) >= MOST

    def less(self, rows: Rows, schema: Schema) -> Self | None:
        """Return these rows without some of them; None if one is not among them."""
        found = plain_rows(rows, schema)
        gone = Counter(found or ())
        kept = []
        for row in reversed(self.rows):
            if gone[row]:
                gone[row] -= 1
            else:
                kept.append(row)
        return None if found is None or gone.total() else self._replace(rows=tuple(reversed(kept)))

    def columns(self, schema: Schema) -> tuple[dict[str, Objects], list[Label], Floats | None]:
        """Return the rows as columns, with their labels and their weights."""
        cells, labels, weights = zip(*self.rows, strict=True)
        by_column = zip(schema.names, zip(*cells, strict=True), strict=True)
        table = {name: np.fromiter(values, dtype=object, count=len(values)) for name, values in by_column}
        return table, list(labels), None if set(weights) == {1.0} else np.array(weights)


def plain_rows(rows: Rows, schema: Schema) -> list[Row] | None:
    """Return rows as plain values; None if that cannot be: vectors, soft labels."""
    if isinstance(rows.target, SoftLabels) or any(c.type == "vector" for c in schema):
        return None
    n = rows.target.rows
    frame = rows.source if isinstance(rows.source, Frame) else frame_of(list(rows.source)).on(schema)
    columns = [column_values(frame.columns[name]) for name in schema.names]
    weights = np.ones(n) if rows.weights is None else rows.weights
    labels = [rows.target.labels[code] if code >= 0 else None for code in rows.target.codes]
    whole = zip(zip(*columns, strict=True), labels, weights.tolist(), strict=True)
    return [row for row in whole if row[2] > 0]


def column_values(values: ColumnValues) -> Sequence[CellLike]:
    """Return the values of a column as Python has them, None for a missing one."""
    data = values.data
    if hasattr(data, "to_pylist"):
        return [value_or_none(value) for value in data.to_pylist()]
    return [value_or_none(value) for value in (data.tolist() if isinstance(data, np.ndarray) else data.to_list())]


def value_or_none(value: CellLike) -> CellLike:
    """Return a value, None if it is missing."""
    return None if is_missing(value) else value
