"""How far the weights of the terms would move without a row: leave-one-out for the weights themselves.

Weights are fitted on rows that are left out of the counts, but each of these rows took part in fitting them. Without
row i they would move by about (H - Hᵢ)⁻¹ gᵢ, with H the curvature of the penalized loss, and gᵢ and Hᵢ the slope and
curvature of the row's own part: one step of Newton's method (approximate leave-one-out; the term that Takeuchi's
estimate sums up). Only its effect on the row's own scores is needed, and that takes a matrix of classes by classes.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._linear_algebra import product, solve
from ..._types import Floats, JsonObject, Mask, Singles
from .associations import HeldOutRows
from .term_kinds import term_kind
from .terms import Term, TermValues


@dataclass(frozen=True, eq=False)
class WeightInfluence:
    """The inverse curvature of the loss that weights and biases were fitted by; weights that are 0 are held there."""

    terms: tuple[Term, ...]  # all that had a weight to fit
    free: tuple[int, ...]  # which of them are not 0
    inverse: Floats  # of those, and of the biases
    share: float  # what a row of weight 1 weighed in the fit: less than 1 on a sample

    @classmethod
    def of(
        cls, terms: Sequence[Term], sizes: Mapping[Term, float], free: Mask, curve: Floats, share: float
    ) -> WeightInfluence:
        """Return the influence of rows, given the curvature; sizes are what terms were divided by."""
        at = tuple(int(one) for one in np.flatnonzero(free))
        scale = np.ones(len(curve))
        scale[: len(at)] = [1 / sizes.get(terms[one], 1.0) for one in at]
        inverse = scale[:, None] * solve(curve, np.eye(len(curve))) * scale
        return cls(tuple(terms), at, inverse.astype(np.float32).astype(np.float64), share)

    @cached_property
    def place(self) -> dict[Term, int]:
        """Where each term that has a weight stands."""
        return {self.terms[at]: place for place, at in enumerate(self.free)}

    @cached_property
    def held(self) -> set[Term]:
        """Terms whose own weight is 0."""
        return set(self.terms) - set(self.place)

    def without_own(self, scores: Floats, terms: Singles, rows: HeldOutRows, likely: int) -> Floats:
        """Return scores [class, row] under the weights without each row; terms are [row, class, term].

        Of the classes, the row's own and the most likely ones are considered, so many of them.
        """
        y, weights, soft = rows
        at = np.arange(scores.shape[1])[:, None]
        p = np.exp(scores - scores.max(axis=0)).T
        p /= p.sum(axis=1, keepdims=True)
        error = p.copy()
        if soft is None:
            error[at[:, 0], y] -= 1.0
        else:
            error -= soft.of_all(y)
        # Classes that were neither likely nor right have next to no part in the row's slope and curvature.
        few = np.argsort(-np.abs(error), axis=1)[:, :likely]
        p, error, some = p[at, few], error[at, few], np.arange(few.shape[1])
        size, w = terms.shape[2], self.share * weights[:, None]
        turned = product(terms[at, few], self.inverse[:size]) + self.inverse[size:][few]
        q = product(terms, turned[:, :, :size].transpose(0, 2, 1)) + turned[:, :, size:].transpose(0, 2, 1)
        curve = (w * p)[:, :, None] * (np.eye(len(some)) - p[:, None, :])
        inner = np.eye(len(some)) - product(curve, q[at[:, :, None], few[:, :, None], some])
        moved = product(q, solve(inner, (w * error)[:, :, None]))
        return np.asarray(scores + moved[:, :, 0].T)

    def to_json(self) -> JsonObject:
        """Return it as plain data."""
        upper = self.inverse[np.triu_indices(len(self.inverse))].astype("<f4")
        terms = [[term.kind, term.level, list(term.columns)] for term in self.terms]
        data = b64encode(upper.tobytes()).decode("ascii")
        return {"pieces": terms, "free": list(self.free), "inverse": data, "share": self.share}

    @classmethod
    def from_json(cls, data: JsonObject, classes: int) -> WeightInfluence:
        """Return what to_json described."""
        terms = tuple(Term(kind, level, tuple(columns)) for kind, level, columns in data["pieces"])
        free, upper = tuple(int(at) for at in data["free"]), np.frombuffer(b64decode(data["inverse"]), dtype="<f4")
        size = len(free) + classes
        known = len(upper) == size * (size + 1) // 2 and all(0 <= at < len(terms) for at in free)
        if not known or not np.isfinite(upper).all() or not 0 < float(data["share"]) < np.inf:
            raise KeyError("doubt")
        inverse = np.zeros((size, size))
        inverse[np.triu_indices(size)] = upper
        return cls(terms, free, inverse + np.triu(inverse, 1).T, float(data["share"]))


class WeightedValues:
    """The values of terms by the fitted weight that they count with, [row, class, weight]."""

    def __init__(self, influence: WeightInfluence, classes: int, rows: int) -> None:
        self.influence, self.x = influence, np.zeros((rows, classes, len(influence.free)), dtype=np.float32)

    def add_sum(self, block: Term, values: TermValues) -> None:
        """Add the sum of the terms of a block [class, row], where it has a weight."""
        if (at := self.influence.place.get(block)) is not None:
            self.x[:, :, at] += values.T

    def add_own(self, term: Term, values: TermValues) -> None:
        """Add a term [class, row] where it has a weight of its own."""
        self.add_sum(term, values)

    def add(self, term: Term, values: TermValues, shared: float = 1.0) -> None:
        """Add a term [class, row] where it has a weight of its own, and where its block has one."""
        at, block = self.influence.place.get(term), term.block
        if at is not None:
            self.x[:, :, at] += values.T
        among = term_kind(term).selected or (at is None and term not in self.influence.held)
        if term != block and among and (at := self.influence.place.get(block)) is not None:
            self.x[:, :, at] += shared * values.T
