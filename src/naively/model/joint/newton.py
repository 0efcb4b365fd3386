"""Weights of terms by least leave-one-out log loss with a ridge: Newton's method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ..._linear_algebra import dot, product, solve, squared
from ..._threads import in_threads
from ..._types import Codes, Floats, Singles
from ..recipe import Recipe
from .associations import precision_of, row_blocks
from .soft_rows import RowClasses, SoftRows

# Multiplications from which on it pays to share them among threads.
SHARED_PRODUCTS = 1 << 20


Found = TypeVar("Found")


class WeightFit(NamedTuple):
    """Weights of terms, biases of classes, and the loss to be expected of other rows.

    The expected loss is what fits are compared by: Takeuchi's correction counts in it `caution` times. The
    corrected one has it once: an estimate of the leave-one-out loss, with each row left out of the weights as well.
    """

    weights: Floats
    bias: Floats
    expected: float
    corrected: float = float("nan")
    curve: Floats | None = None  # of the loss with its ridge, by the weights that are not 0 and the biases
    whole_curve: Floats | None = None  # of the loss without its ridge, by all weights and the biases


class WeightProblem:
    """Minimize the log loss of rows over weights (not negative) and biases, near given values.

    Each term is [class, row]; rows have a class, or a soft label, and a weight.
    """

    def __init__(
        self,
        terms: Sequence[Singles | Floats],
        y: Codes,
        rows: Floats,
        prior: Floats,
        recipe: Recipe,
        soft: SoftRows | None = None,
    ) -> None:
        self.truth = RowClasses(y, soft)
        self.y, self.rows, self.prior, self.size, self.classes = y, rows, prior, len(terms), len(prior)
        self.recipe, self.precision = recipe, precision_of(len(y) * self.size * self.classes)
        # Only differences to the first class matter. Biases are as if there were a flag for each class, too.
        self._blocks = in_threads(
            lambda rows: TermBlock.of(terms, rows, self.classes, self.precision), row_blocks(len(y))
        )
        self._curve: Floats | None = None

    def scores(self, v: Floats) -> Floats:
        """Return the score of each class and row, less that of the highest."""
        weights, bias = v[: self.size].astype(self.precision), v[self.size :]
        z = np.zeros((self.classes, len(self.y)))

        def fill(block: TermBlock) -> None:
            z[1:, block.rows] = product(weights, block.x)

        self._each(fill, 1)
        z += (bias - bias[0])[:, None]
        z -= z.max(axis=0)
        return z

    def probabilities(self, v: Floats) -> tuple[Floats, Floats]:
        """Return the probability of each class and row, and the logarithm of its own class's."""
        z = self.scores(v)
        own = self.truth.mean_of(z)
        p = np.exp(z, out=z)
        whole = p.sum(axis=0)
        p /= whole
        return p, own - np.log(whole)

    def accuracy(self, fit: WeightFit) -> float:
        """Return the proportion of rows whose most probable class is their own."""
        p, _ = self.probabilities(np.concatenate([fit.weights, fit.bias]))
        return dot(self.rows, self.truth.agreement(p.argmax(axis=0))) / float(self.rows.sum())

    def loss(self, v: Floats, v0: Floats, ridge: Floats) -> tuple[float, Floats]:
        """Return the loss with its ridge, and the probabilities."""
        p, own = self.probabilities(v)
        return 0.5 * dot(ridge * (v - v0), v - v0) - dot(self.rows, own), p

    def slope(self, p: Floats) -> Floats:
        """Return the slope of the loss without its ridge."""
        error = p * self.rows
        self.truth.add_to(error, -self.rows)
        slopes = self._each(lambda block: block.along(error), 1)
        return np.concatenate([sum(slopes, np.zeros(self.size)), error.sum(axis=1)])

    def curve(self, p: Floats) -> Floats:
        """Return the curvature of the loss without its ridge."""
        parts = self._each(lambda block: block.curve(p, self.rows), self.size)
        return sum(parts, np.zeros((self.size + self.classes,) * 2))

    def scatter(self, p: Floats) -> Floats:
        """Return the sum over the rows of their slopes, each with itself."""
        error = p.copy()
        self.truth.add_to(error, -np.ones(len(self.y)))
        error *= np.sqrt(self.rows)
        parts = self._each(lambda block: block.scatter(error), self.size)
        return sum(parts, np.zeros((self.size + self.classes,) * 2))

    def _each(self, work: Callable[[TermBlock], Found], size: int) -> list[Found]:
        """Return what a function returns for each block; by several threads if there is much to multiply."""
        products = len(self.y) * self.size * self.classes * size
        return in_threads(work, self._blocks, None if products >= SHARED_PRODUCTS else 1)

    def solve(self, start: Floats, towards: Floats, ridge: float, caution: float = 0.0) -> WeightFit:
        """Return the best weights and biases; the ridge pulls each weight towards a value.

        The expected loss is Takeuchi's estimate of that on other rows, its correction counted `caution` times.
        """
        pull = np.concatenate([np.full(self.size, ridge), np.full(self.classes, self.recipe.bias_ridge)])
        v0, v = np.concatenate([towards, self.prior]), np.concatenate([start, self.prior])
        (loss, p), total, same = self.loss(v, v0, pull), float(self.rows.sum()), self.recipe.newton_same_curvature
        for step in range(self.recipe.newton_steps):
            if self._curve is None or step % same == same - 1:
                self._curve = self.curve(p)
            before = loss
            v, loss, p = self._step(v, v0, pull, self._curve, (loss, p))
            if before - loss <= self.recipe.newton_tolerance * total:
                break
        expected = loss - 0.5 * dot(pull * (v - v0), v - v0)
        if not caution:
            return WeightFit(v[: self.size], v[self.size :], expected / total)
        correction, curve, whole = self._correction(v, p, pull)
        losses = (expected + caution * correction) / total, (expected + correction) / total
        return WeightFit(v[: self.size], v[self.size :], *losses, curve, whole)

    def slope_at(self, fit: WeightFit) -> Floats:
        """Return the slope of the loss without its ridge at the weights and biases of a fit."""
        return self.slope(self.probabilities(np.concatenate([fit.weights, fit.bias]))[0])

    def _step(
        self, v: Floats, v0: Floats, pull: Floats, curve: Floats, here: tuple[float, Floats]
    ) -> tuple[Floats, float, Floats]:
        """Go one step of Newton's method; weights that are 0 and would fall are held there."""
        loss, p = here
        slope = self.slope(p) + pull * (v - v0)
        free = np.ones(len(v), dtype=bool)
        free[: self.size] = (v[: self.size] > 0) | (slope[: self.size] < 0)
        move = np.zeros(len(v))
        move[free] = -solve((curve + np.diag(pull))[np.ix_(free, free)], slope[free])
        length = 1.0
        while length > 1e-4:
            tried = v + length * move
            tried[: self.size] = np.maximum(tried[: self.size], 0.0)
            found, probabilities = self.loss(tried, v0, pull)
            if found <= loss + 1e-4 * dot(slope, tried - v):
                return tried, found, probabilities
            length /= 2
        return v, loss, p

    def _correction(self, v: Floats, p: Floats, pull: Floats) -> tuple[float, Floats, Floats]:
        """Return by how much the loss is too low, for having chosen the weights on these rows; and its curvature.

        The curvature comes with the ridge, of weights that are not 0, and without it, of all.
        """
        on = np.concatenate([v[: self.size] > 0, np.ones(self.classes, dtype=bool)])
        inner = np.ix_(on, on)
        whole = self.curve(p)
        curve = (whole + np.diag(pull))[inner]
        return float(np.trace(solve(curve, self.scatter(p)[inner]))), curve, whole


class TermBlock(NamedTuple):
    """The terms of some rows, less those of the first class: [class, term, row].

    What is computed of a block is added up in the order of the blocks, so that it does not depend on the threads.
    """

    rows: slice
    x: Singles | Floats

    @classmethod
    def of(cls, terms: Sequence[Singles | Floats], rows: slice, classes: int, precision: npt.DTypeLike) -> TermBlock:
        """Return the block of terms [class, row] in some rows."""
        x = np.empty((classes - 1, len(terms), rows.stop - rows.start), dtype=precision)
        for at, term in enumerate(terms):
            np.subtract(term[1:, rows], term[0, rows], out=x[:, at])
        return cls(rows, x)

    def along(self, error: Floats) -> Floats:
        """Return the sum over rows and classes of each term times an error, [class, row]."""
        own = error[1:, self.rows].astype(self.x.dtype)
        return sum((product(*of) for of in zip(self.x, own, strict=True)), np.zeros(self.x.shape[1]))

    def curve(self, p: Floats, weights: Floats) -> Floats:
        """Return the curvature of the loss of these rows, by terms and biases."""
        kind, size = self.x.dtype, self.x.shape[1]
        p, weights = p[:, self.rows], weights[self.rows]
        heavy, classes = p * weights, len(p)
        out, mean = np.empty((size + classes,) * 2), np.zeros(self.x.shape[1:], dtype=kind)
        terms, beside = np.zeros((size, size)), np.zeros((size, classes))
        for k, part in enumerate(self.x, 1):
            own = heavy[k] * (1 - p[k]) if classes == 2 else heavy[k]
            terms += squared(part * np.sqrt(own).astype(kind))
            mean += part * p[k].astype(kind)
            beside[:, k] = product(part, heavy[k].astype(kind))
        if classes > 2:
            terms -= squared(mean * np.sqrt(weights).astype(kind))
        out[:size, :size], out[:size, size:] = terms, beside - product(mean, heavy.T.astype(kind))
        out[size:, :size] = out[:size, size:].T
        out[size:, size:] = np.diag(heavy.sum(axis=1)) - squared(p * np.sqrt(weights))
        return out

    def scatter(self, error: Floats) -> Floats:
        """Return the sum over these rows of their slopes, each with itself, given their errors."""
        own = error[:, self.rows].astype(self.x.dtype)
        slopes = np.zeros(self.x.shape[1:], dtype=self.x.dtype)
        for k, part in enumerate(self.x, 1):
            slopes += own[k] * part
        return squared(np.concatenate([slopes, own]))
