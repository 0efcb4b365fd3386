"""How much the log loss would fall if one more term had a weight."""

from __future__ import annotations

import numpy as np

from ..._linear_algebra import dot
from ..._types import Floats, Singles
from .soft_rows import RowClasses


class TermGains:
    """Probabilities of rows so far, [class, row], to tell how much one more term would gain."""

    def __init__(self, p: Singles, truth: RowClasses, rows: Floats) -> None:
        self.p, self.rows = p, rows.astype(np.float32)
        self.error = -p * self.rows
        truth.add_to(self.error, self.rows)

    def of(self, values: Singles) -> float:
        """Return by how much the log loss would fall if a term had a weight, to the second order."""
        slope, weighted = dot(self.error.ravel(), values.ravel()), self.p * values
        mean = weighted.sum(axis=0)
        weighted *= values
        curve = dot(self.rows, weighted.sum(axis=0) - mean * mean) + 1.0
        return slope * abs(slope) / (2 * curve)
