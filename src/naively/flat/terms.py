"""The parts of a flat model while it is made: tables of a column add up, and what contributes nothing is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .._types import Codes, Floats, Json, JsonObject, Singles


def relative(table: Floats | Singles) -> Floats:
    """Return scores [..., class] relative to the first class, which is left out; whole if some are infinite.

    Only differences between classes matter.
    """
    table = np.asarray(table, dtype=np.float64)
    return table[..., 1:] - table[..., :1] if np.isfinite(table).all() else table


def contributes(table: Floats | Singles) -> bool:
    """Tell whether scores [..., class] differ between classes anywhere."""
    return bool(table.size) and bool((table != table[..., :1]).any())


@dataclass
class FlatColumn:
    """A column while its terms are collected: how its cells are read, and what each of its codes contributes.

    The last code is that of values never seen, or of missing numbers; where it contributes nothing, it is left out.
    """

    fields: JsonObject
    table: Floats  # [code, class]
    labels: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))  # each code as the model numbers labels
    pair_codes: Codes | None = None  # each code as tables of pairs and products number it, -1 for none
    terms: list[JsonObject] = field(default_factory=list)  # all terms but the table

    def add(self, kind: str, **fields: Json) -> None:
        """Add a term of this column alone."""
        self.terms.append({"kind": kind} | fields)

    def add_labels(self, table: Floats) -> None:
        """Add a table [label, class]; labels beyond its end contribute nothing."""
        lines = np.vstack([table, np.zeros((1, table.shape[1]))])
        self.table += lines[np.minimum(self.labels, len(table))]

    def add_bins(self, table: Floats) -> None:
        """Add a table [bin, class]; a missing number contributes nothing."""
        self.table[: len(table)] += table

    def add_missing(self, table: Floats) -> None:
        """Add a table [whether a number is missing, class]."""
        self.table[:-1] += table[0]
        self.table[-1] += table[1]

    def set_pair_codes(self, of_labels: Sequence[int]) -> None:
        """Set the code in tables of pairs of each label, or of each bin of a number."""
        known = np.array([*of_labels, -1], dtype=np.int32)
        codes = self.labels if len(self.labels) else np.arange(len(self.table))
        self.pair_codes = known[np.minimum(codes, len(known) - 1)]

    def finished(self, place: int, scale: float, paired: bool) -> tuple[JsonObject, list[JsonObject]]:
        """Return how cells are read and the terms of the column, by its place among all; `paired` if pairs read it."""
        fields, table, last = dict(self.fields), self.table, len(self.table) - 1
        if len(table) and not contributes(table[last:]):
            table = table[:last]
            fields |= {name: -1 for name in ("missing", "unseen") if fields.get(name) == last}
        if paired and self.pair_codes is not None:
            codes = self.pair_codes[: len(table)]
            fields |= {} if np.array_equal(codes, np.arange(len(codes))) else {"pair_codes": codes}
        own = [{"kind": term["kind"], "columns": [place]} | term for term in self.terms]
        if contributes(table):
            own.insert(0, {"kind": "table", "columns": [place], "table": relative(scale * table)})
        return fields, own
