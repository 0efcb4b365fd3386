"""What was adjusted: how much naive Bayes counts, how far values moved, and what that bought."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._types import Floats
from ...data.grid import Grid
from ...stats import Axis


class Moved(NamedTuple):
    """How far values of a column were moved, [class, value]; of vectors, values are places."""

    values: Axis
    table: Floats


@dataclass(frozen=True)
class Refined:
    """Adjustments of single values beside the counts; fitted on rows left out of them."""

    book: Mapping[str, float]  # how much naive Bayes counts, by kind of column
    bias: Floats
    grid: Grid  # the bins of numbers
    moved: Mapping[str, Moved]  # by column
    ridge: float | None  # None if no adjustment paid
    loss: Mapping[str, float]  # of rows left out, by what is looked at
    rows: int
    passes: int

    def summary_lines(self, model: Any) -> list[str]:
        """Return which offsets were fitted, and by how much they lower the log loss, a line for each."""
        return self.say()

    def say(self) -> list[str]:
        """Say what was adjusted, and what that bought."""
        values = sum(len(moved.values) for moved in self.moved.values())
        columns = f"{len(self.moved)} column{'s' * (len(self.moved) != 1)}"
        what = f"{values:,} values of {columns} (ridge {self.ridge:g})" if self.ridge is not None else "no value"
        times = ", ".join(f"{by:.3g} for {kind}" for kind, by in self.book.items())
        stages = [f"{loss:.3g} {what}" for what, loss in self.loss.items()]
        return [
            f"refined: the evidence of {what} was adjusted; naive Bayes itself counts {times or 'nothing'}",
            f"the log-loss of {self.rows:,} rows that were left out is {', '.join(stages)}",
        ]

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data, but for how far values moved."""
        return {
            "book": dict(self.book), "bias": self.bias.tolist(), "grid": self.grid.to_json(), "ridge": self.ridge,
            "loss": dict(self.loss), "rows": self.rows, "passes": self.passes,
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any], classes: int, moved: Mapping[str, Moved]) -> Refined:
        """Return what to_json described, with how far values moved."""
        bias = np.array([float(by) for by in data["bias"]])
        if len(bias) != classes or not np.isfinite([*bias, *data["book"].values()]).all():
            raise KeyError("bias")
        return cls(**(dict(data) | {"bias": bias, "grid": Grid.from_json(data["grid"]), "moved": moved}))
