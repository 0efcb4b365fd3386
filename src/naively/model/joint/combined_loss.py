"""The log loss of all rows as the sum of those of parts, to the second order, and the weights where it is least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._linear_algebra import dot, product, solve
from ..._types import Floats, Mask, Places
from ...stats.arithmetic import divide
from ..recipe import Recipe
from .loss_near import LossNear
from .term_kinds import term_kind
from .terms import Term
from .weight_fitting import start_weights

# Changes of which weights are held at 0, beside one for each; a few are enough. Numerical.
MOST_CHANGES = 100


class CombinedWeights(NamedTuple):
    """Weights of terms, or of blocks of them, and biases; the curvature with its ridge, and the loss near them."""

    terms: list[Term]
    at: Floats
    curve: Floats
    near: LossNear


class TriedWeights(NamedTuple):
    """Weights and biases, the curvature of their loss with its ridge, and the loss expected of other rows."""

    at: Floats
    curve: Floats
    expected: float


@dataclass(frozen=True, eq=False)
class CombinedLoss:
    """Half of u·curve·u - linear·u, up to a constant; u are weights of terms, and biases measured from the prior."""

    terms: list[Term]
    classes: int
    curve: Floats
    linear: Floats

    @classmethod
    def of(
        cls, parts: Sequence[LossNear], places: Sequence[Places], singles: Sequence[Term], classes: int
    ) -> CombinedLoss:
        """Return the loss of all parts, given the places of their classes among all, and terms of single columns."""
        other = (term for part in parts for term in part.terms if not is_single_block(term))
        terms = list(dict.fromkeys([*singles, *other]))
        place = {term: at for at, term in enumerate(terms)}
        curve, linear = np.zeros((len(terms) + classes,) * 2), np.zeros(len(terms) + classes)
        for part, at in zip(parts, places, strict=True):
            to = np.zeros((len(part.at), len(linear)))
            for line, term in enumerate(part.terms):
                of = [place[one] for one in terms_behind(term, part, singles)]
                to[line, of] = 1 / max(len(of), 1)
            to[np.arange(len(part.terms), len(part.at)), len(terms) + at] = 1.0
            curve += product(product(to.T, part.curve), to)
            linear += product(product(part.curve, part.at) - part.slope, to)
        return cls(terms, classes, curve, linear)

    def fit(self, recipe: Recipe) -> CombinedWeights:
        """Return the weights of least loss: for each block, and for single terms as far as these are expected to gain.

        As on rows, with the curvature in the place of the scatter of slopes, which equals it on average.
        """
        blocks = list(dict.fromkeys(term.block for term in self.terms if not is_own(term)))
        to = np.zeros((len(self.linear), len(blocks) + self.classes))
        for at, term in enumerate(self.terms):
            if not is_own(term):
                to[at, blocks.index(term.block)] = 1.0
        to[len(self.terms) :, len(blocks) :] = np.eye(self.classes)
        start = start_weights(blocks)
        pulls = np.array([term_kind(block).pull(block, by) for block, by in zip(blocks, start.tolist(), strict=True)])
        tied = self._tried(pulls, recipe.block_ridge, recipe, to)
        towards, best, terms, found = product(to, tied.at)[: len(self.terms)], tied, blocks, product(to, tied.at)
        for ridge in recipe.own_ridges:
            own = self._tried(towards, ridge, recipe)
            if own.expected >= best.expected:
                break
            best, terms, found = own, self.terms, own.at
        near = LossNear.of(self.terms, {}, found, product(self.curve, found) - self.linear, self.curve)
        return CombinedWeights(terms, best.at, best.curve, near)

    def _tried(self, towards: Floats, ridge: float, recipe: Recipe, to: Floats | None = None) -> TriedWeights:
        """Return the best weights under a ridge towards some values; those of blocks if `to` says what they sum."""
        curve, linear = (
            (self.curve, self.linear)
            if to is None
            else (product(product(to.T, self.curve), to), product(self.linear, to))
        )
        size = len(towards)
        pull = np.concatenate([np.full(size, ridge), np.full(self.classes, recipe.bias_ridge)])
        bounded = np.arange(len(pull)) < size
        u = least_quadratic(
            curve + np.diag(pull), linear + pull * np.concatenate([towards, pull[size:] * 0.0]), bounded
        )
        on = ~bounded | (u > 0)
        inner = np.ix_(on, on)
        correction = float(np.trace(solve((curve + np.diag(pull))[inner], curve[inner])))
        loss = 0.5 * dot(u, product(curve, u)) - dot(linear, u)
        return TriedWeights(u, curve + np.diag(pull), loss + recipe.combined_caution * correction)


def is_own(term: Term) -> bool:
    """Tell whether a term has a weight of its own beside that of its block."""
    return term_kind(term).selected and bool(term.columns)


def is_single_block(term: Term) -> bool:
    """Tell whether a term is the sum of terms of single columns."""
    return term_kind(term).single and not term.columns


def terms_behind(term: Term, part: LossNear, singles: Sequence[Term]) -> list[Term]:
    """Return the terms whose mean weight the weight of a term of a part is: itself, or those that it sums up."""
    if not is_single_block(term):
        return [term]
    own = set(part.terms)
    return [one for one in singles if one.block == term and one not in own]


def least_quadratic(curve: Floats, linear: Floats, bounded: Mask) -> Floats:
    """Return where half of u·curve·u - linear·u is least; bounded ones are not negative.

    An active set: what is at 0 and would fall is held there. Each step goes as far as no bound is crossed, so that the
    quadratic falls and no set of held ones comes twice (Lawson and Hanson). Several are let go at once
    while that helps.
    """
    u: Floats = solve(curve, linear)
    u[bounded] = np.maximum(u[bounded], 0.0)
    free, least, one = ~bounded | (u > 0), np.inf, False
    for _ in range(MOST_CHANGES + len(u)):
        u = _within_bounds(curve, linear, bounded, free, u)
        slope, value = product(curve, u) - linear, 0.5 * dot(u, product(curve, u)) - dot(linear, u)
        held = np.where(free, 0.0, slope)
        if held.min(initial=0.0) >= -1e-9 * np.abs(linear).max(initial=0.0):
            break
        one, least = one or not value < least, min(value, least)
        free |= (np.arange(len(u)) == np.argmin(held)) if one else held < 0
    return u


def _within_bounds(curve: Floats, linear: Floats, bounded: Mask, free: Mask, u: Floats) -> Floats:
    """Go to the least point of those that are free, as far as none turns negative; those that would are held at 0."""
    while True:
        aim = np.zeros(len(u))
        aim[free] = solve(curve[np.ix_(free, free)], linear[free])
        below = bounded & free & (aim <= 0)
        if not below.any():
            return aim
        step = float(np.min(divide(u[below], u[below] - aim[below])))
        u = np.where(free, u + step * (aim - u), 0.0)
        free &= ~(below & (u <= 1e-12 * np.abs(u).max(initial=0.0)))
        u = np.where(free, u, 0.0)
