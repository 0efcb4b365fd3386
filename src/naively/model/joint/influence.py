"""How far the weights of the evidence would move without a row: leave-one-out for the weights themselves.

Weights are fitted on rows that are left out of the counts, but each of these rows took part in fitting them. Without
row i they would move by about (H - Hᵢ)⁻¹ gᵢ, with H the curvature of the penalised loss, and gᵢ and Hᵢ the slope and
curvature of the row's own part: one step of Newton's method (approximate leave-one-out; the term that Takeuchi's
estimate sums up). Only its effect on the row's own scores is needed, and that takes a matrix of classes by classes.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._types import Codes, Floats, Singles
from .terms import Piece

# Classes that are looked at for each row: its own, and those that are most likely.
LIKELY = 16


@dataclass(frozen=True, eq=False)
class Doubt:
    """The inverse curvature of the loss that weights and biases were fitted by; weights that are 0 are held there."""

    pieces: tuple[Piece, ...]  # all that had a weight to fit
    free: tuple[int, ...]  # which of them are not 0
    inverse: Floats  # of those, and of the biases
    share: float  # what a row of weight 1 weighed in the fit: less if it was looked at only perhaps

    @classmethod
    def of(cls, pieces: Sequence[Piece], sizes: Mapping[Piece, float], free: Any, curve: Any, share: float) -> Doubt:
        """Return the doubt about weights, given the curvature; sizes are what evidence was divided by."""
        at = tuple(int(one) for one in np.flatnonzero(free))
        scale = np.ones(len(curve))
        scale[: len(at)] = [1 / sizes.get(pieces[one], 1.0) for one in at]
        inverse = scale[:, None] * np.linalg.inv(curve) * scale
        return cls(tuple(pieces), at, inverse.astype(np.float32).astype(np.float64), share)

    @cached_property
    def place(self) -> dict[Piece, int]:
        """Where each piece that has a weight stands."""
        return {self.pieces[at]: place for place, at in enumerate(self.free)}

    @cached_property
    def held(self) -> set[Piece]:
        """Pieces whose own weight is 0."""
        return set(self.pieces) - set(self.place)

    def without_own(self, scores: Floats, evidence: Singles, y: Codes, weights: Floats) -> Floats:
        """Return scores [class, row] under the weights that each row would leave behind; evidence: [row, class, piece].

        The weights say how much of each row is left out.
        """
        at = np.arange(scores.shape[1])[:, None]
        p = np.exp(scores - scores.max(axis=0)).T
        p /= p.sum(axis=1, keepdims=True)
        error = p.copy()
        error[at[:, 0], y] -= 1.0
        # Classes that were neither likely nor right have next to no part in the row's slope and curvature.
        few = np.argsort(-np.abs(error), axis=1)[:, :LIKELY]
        p, error, some = p[at, few], error[at, few], np.arange(few.shape[1])
        size, w = evidence.shape[2], self.share * weights[:, None]
        turned = evidence[at, few] @ self.inverse[:size] + self.inverse[size:][few]
        q = evidence @ turned[:, :, :size].transpose(0, 2, 1) + turned[:, :, size:].transpose(0, 2, 1)
        curve = (w * p)[:, :, None] * (np.eye(len(some)) - p[:, None, :])
        inner = np.eye(len(some)) - curve @ q[at[:, :, None], few[:, :, None], some]
        moved = q @ np.linalg.solve(inner, (w * error)[:, :, None])
        return np.asarray(scores + moved[:, :, 0].T)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        upper = self.inverse[np.triu_indices(len(self.inverse))].astype("<f4")
        pieces = [[p.kind, p.level, list(p.columns)] for p in self.pieces]
        data = b64encode(upper.tobytes()).decode("ascii")
        return {"pieces": pieces, "free": list(self.free), "inverse": data, "share": self.share}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], classes: int) -> Doubt:
        """Return what to_json described."""
        pieces = tuple(Piece(kind, level, tuple(columns)) for kind, level, columns in data["pieces"])
        free, upper = tuple(int(at) for at in data["free"]), np.frombuffer(b64decode(data["inverse"]), dtype="<f4")
        size = len(free) + classes
        known = len(upper) == size * (size + 1) // 2 and all(0 <= at < len(pieces) for at in free)
        if not known or not np.isfinite(upper).all() or not 0 < float(data["share"]) < np.inf:
            raise KeyError("doubt")
        inverse = np.zeros((size, size))
        inverse[np.triu_indices(size)] = upper
        return cls(pieces, free, inverse + np.triu(inverse, 1).T, float(data["share"]))


class Gathered:
    """Evidence of rows put together to that of each fitted weight, [row, class, piece]."""

    def __init__(self, doubt: Doubt, classes: int, rows: int) -> None:
        self.doubt, self.x = doubt, np.zeros((rows, classes, len(doubt.free)), dtype=np.float32)

    def add(self, piece: Piece, said: Singles | Floats, shared: float = 1.0) -> None:
        """Add a piece of evidence [class, row] where it has a weight of its own, and where its block has one."""
        at, block = self.doubt.place.get(piece), Piece(*piece.block)
        if at is not None:
            self.x[:, :, at] += said.T
        among = piece.kind == "pair" or (at is None and piece not in self.doubt.held)
        if piece != block and among and (at := self.doubt.place.get(block)) is not None:
            self.x[:, :, at] += shared * said.T
