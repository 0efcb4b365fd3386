"""What was fitted beside the counts: weights of naive Bayes, offsets of values, and the held-out log loss with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._types import Floats, JsonObject
from ...data.grid import Grid
from ...stats import Axis


class Offsets(NamedTuple):
    """The offsets of values of a column, [class, value]; values of vectors are places."""

    values: Axis
    table: Floats


@dataclass(frozen=True)
class RefinedFit:
    """Offsets of single values beside the counts, fitted to rows that were left out of them."""

    naive_weights: Mapping[str, float]  # the weight of naive Bayes, by kind of column
    bias: Floats
    grid: Grid  # the bins of numbers
    offsets: Mapping[str, Offsets]  # by column
    ridge: float | None  # None if no offset pays
    loss: Mapping[str, float]  # of held-out rows, by what is considered
    rows: int
    passes: int

    def describe(self) -> list[str]:
        """Return how many values have offsets, and the held-out log loss with them."""
        values = sum(len(offsets.values) for offsets in self.offsets.values())
        columns = f"{len(self.offsets)} column{'s' * (len(self.offsets) != 1)}"
        what = "no value has an offset"
        if self.ridge is not None:
            what = f"{values:,} values of {columns} have offsets (ridge {self.ridge:g})"
        weights = ", ".join(f"{by:.3g} for {kind}" for kind, by in self.naive_weights.items())
        stages = [f"{loss:.3g} {what}" for what, loss in self.loss.items()]
        return [
            f"refined model: {what}; the weight of naive Bayes is {weights or 'nothing'}",
            f"held-out log loss of {self.rows:,} rows: {', '.join(stages)}",
        ]

    def to_json(self) -> JsonObject:
        """Return it as plain data, but for the offsets."""
        return {
            "book": dict(self.naive_weights), "bias": self.bias.tolist(), "grid": self.grid.to_json(),
            "ridge": self.ridge, "loss": dict(self.loss), "rows": self.rows, "passes": self.passes,
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: JsonObject, classes: int, offsets: Mapping[str, Offsets]) -> RefinedFit:
        """Return what to_json described, with the offsets."""
        bias = np.array([float(by) for by in data["bias"]])
        if len(bias) != classes or not np.isfinite([*bias, *data["book"].values()]).all():
            raise KeyError("bias")
        known = dict(data)
        own = {"naive_weights": known.pop("book"), "bias": bias, "offsets": offsets}
        return cls(**known | own | {"grid": Grid.from_json(data["grid"])})
