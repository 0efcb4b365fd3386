"""A few weights for pieces of evidence: those under which rows left out are answered best."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from ..statistics.axis import Floats

Pieces = npt.NDArray[np.float32]
# The ridge on the biases of the classes, around their log prior.
BIAS_RIDGE = 3.0
# Steps of Newton's method at most, and the gain per row at which it ends.
STEPS, ENOUGH = 50, 1e-9


class Fit(NamedTuple):
    """Weights of pieces of evidence, biases of classes, and the loss to be expected of other rows."""

    weights: Floats
    bias: Floats
    expected: float


class Problem:
    """Minimise the log-loss of rows over weights (not negative) and biases, near to what is given.

    Evidence comes as [row, piece, class], each row with its class and its weight.
    """

    def __init__(self, pieces: Pieces, y: npt.NDArray[np.int32], rows: Floats, prior: Floats) -> None:
        self.pieces, self.y, self.rows, self.prior = pieces, y, rows, prior
        self.n, self.size, self.classes = pieces.shape
        self._by_class = np.ascontiguousarray(pieces.transpose(2, 0, 1))  # [class, row, piece]

    def scores(self, weights: Floats, bias: Floats) -> Floats:
        """Return what the pieces say together, [row, class]."""
        w = weights.astype(np.float32)
        return np.stack([part @ w for part in self._by_class], axis=1).astype(np.float64) + bias

    def loss(self, v: Floats, v0: Floats, ridge: Floats) -> tuple[float, Floats]:
        """Return the loss with its ridge, and the probabilities."""
        z = self.scores(v[: self.size], v[self.size :])
        log_p = z - logsumexp(z, axis=1, keepdims=True)
        far = v - v0
        own = log_p[np.arange(self.n), self.y]
        return float(-self.rows @ own + 0.5 * (ridge * far) @ far), np.exp(log_p)

    def slopes(self, p: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the slope of the loss, its curvature, and the sum of squared slopes of the rows."""
        weighed = (p * self.rows[:, None]).astype(np.float32)
        error = p.copy()
        error[np.arange(self.n), self.y] -= 1.0
        mean = sum(part * p[:, k : k + 1].astype(np.float32) for k, part in enumerate(self._by_class))
        own = self._by_class[self.y, np.arange(self.n)]
        per_row = np.concatenate([mean - own, error.astype(np.float32)], axis=1)
        slope = self.rows.astype(np.float32) @ per_row
        curve = np.zeros((self.size + self.classes,) * 2)
        for k, part in enumerate(self._by_class):
            centred = np.concatenate([part - mean, -p.astype(np.float32)], axis=1)
            centred[:, self.size + k] += 1.0
            curve += (centred * weighed[:, k : k + 1]).T @ centred
        spread = (per_row * self.rows[:, None].astype(np.float32)).T @ per_row
        return slope.astype(np.float64), curve, spread.astype(np.float64)

    def solve(self, start: Floats, towards: Floats, ridge: Floats | float, caution: float = 0.0) -> Fit:
        """Return the best weights and biases; the ridge pulls each weight towards a value.

        The expected loss is Takeuchi's estimate of the loss on other rows, its correction taken as often as caution says.
        """
        pull = np.concatenate([np.broadcast_to(ridge, (self.size,)), np.full(self.classes, BIAS_RIDGE)])
        v0, v = np.concatenate([towards, self.prior]), np.concatenate([start, self.prior])
        loss, p = self.loss(v, v0, pull)
        for _ in range(STEPS):
            slope, curve, _ = self.slopes(p)
            before = loss
            v, loss, p = self._step(v, v0, pull, slope + pull * (v - v0), curve + np.diag(pull), loss, p)
            if before - loss <= ENOUGH * self.n:
                break
        expected = loss - 0.5 * float((pull * (v - v0)) @ (v - v0))
        if caution:
            expected += caution * self._correction(v, p, pull)
        return Fit(v[: self.size], v[self.size :], expected / float(self.rows.sum()))

    def _step(
        self, v: Floats, v0: Floats, pull: Floats, slope: Floats, curve: Floats, loss: float, p: Floats
    ) -> tuple[Floats, float, Floats]:
        """Go one step of Newton's method, the weights that are 0 and would fall held there."""
        free = np.ones(len(v), dtype=bool)
        free[: self.size] = (v[: self.size] > 0) | (slope[: self.size] < 0)
        move = np.zeros(len(v))
        move[free] = -np.linalg.solve(curve[np.ix_(free, free)], slope[free])
        length = 1.0
        while length > 1e-6:
            tried = v + length * move
            tried[: self.size] = np.maximum(tried[: self.size], 0.0)
            found, probabilities = self.loss(tried, v0, pull)
            if found <= loss + 1e-4 * float(slope @ (tried - v)):
                return tried, found, probabilities
            length /= 2
        return v, loss, p

    def _correction(self, v: Floats, p: Floats, pull: Floats) -> float:
        _, curve, spread = self.slopes(p)
        on = np.concatenate([v[: self.size] > 0, np.ones(self.classes, dtype=bool)])
        inner = np.ix_(on, on)
        return float(np.trace(np.linalg.solve((curve + np.diag(pull))[inner], spread[inner])))
