"""The log loss of rows near the weights that were fitted to them, to the second order.

Losses of different rows add up. So do their slopes and curvatures, and weights of all rows can be found from those of
parts when the rows are gone.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..._types import Floats, JsonObject
from .terms import Term


@dataclass(frozen=True, eq=False)
class LossNear:
    """Slope and curvature of the leave-one-out log loss, without any ridge, by weights of terms and biases of classes.

    A bias is measured from the log prior of its class, which differs from part to part.
    """

    terms: tuple[Term, ...]
    at: Floats  # the weights and biases at which they were taken
    slope: Floats
    curve: Floats

    @classmethod
    def of(
        cls, terms: Sequence[Term], sizes: Mapping[Term, float], at: Floats, slope: Floats, curve: Floats
    ) -> LossNear:
        """Return the loss near weights of terms that were divided by such sizes; as exact as a file holds it."""
        scale = np.ones(len(at))
        scale[: len(terms)] = [sizes.get(term, 1.0) for term in terms]
        curve = (scale[:, None] * curve * scale).astype(np.float32).astype(np.float64)
        return cls(tuple(terms), at / scale, scale * slope, np.triu(curve) + np.triu(curve, 1).T)

    def times(self, weight: float) -> LossNear:
        """Return the loss of the same rows, each weighing so many times as much."""
        return LossNear(self.terms, self.at, weight * self.slope, weight * self.curve)

    def to_json(self) -> JsonObject:
        """Return it as plain data."""
        upper = self.curve[np.triu_indices(len(self.curve))].astype("<f4")
        terms = [[term.kind, term.level, list(term.columns)] for term in self.terms]
        data = b64encode(upper.tobytes()).decode("ascii")
        return {"terms": terms, "at": self.at.tolist(), "slope": self.slope.tolist(), "curve": data}

    @classmethod
    def from_json(cls, data: JsonObject, classes: int) -> LossNear:
        """Return what to_json described."""
        terms = tuple(Term(kind, level, tuple(columns)) for kind, level, columns in data["terms"])
        at, slope = (np.array([float(by) for by in data[name]]) for name in ("at", "slope"))
        upper, size = np.frombuffer(b64decode(data["curve"]), dtype="<f4"), len(terms) + classes
        sizes = (len(at), len(slope), len(upper))
        if sizes != (size, size, size * (size + 1) // 2) or not np.isfinite([*at, *slope, upper.sum()]).all():
            raise KeyError("near")
        curve = np.zeros((size, size))
        curve[np.triu_indices(size)] = upper
        return cls(terms, at, slope, curve + np.triu(curve, 1).T)
