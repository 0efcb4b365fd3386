"""From log joints of rows whose classes are known to honest probabilities: one scale for all, a bias for each class."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._types import Codes, Floats
from ..judge.scored_rows import LEAST_PROBABILITY

# The scale stays within these, whatever the rows say.
SMALLEST, LARGEST = 1e-3, 1e2
# Scores this far below the best one say no under every scale: farther ones would only overflow.
FAR = 1e5
# Biases are tried where there are at least so many rows for each class.
ROWS_FOR_BIASES = 10
STEPS = 60


class Fit(NamedTuple):
    """log P(class | row) = bias + scale · log joint, up to a constant of the row; and what that is worth.

    `paid` is the log-loss of all rows plus what the fit itself costs, in nats: less is better.
    """

    scale: float
    bias: Floats | None
    paid: float


class Rated(NamedTuple):
    """Log joints of rows beside their classes; every row weighs something.

    They are [class, row], because a sum over few classes is quicker that way.
    """

    joint: Floats
    truth: Codes
    weights: Floats

    @classmethod
    def of(cls, joint: Floats, truth: Codes, weights: Floats | None = None) -> Rated:
        """Return log joints [row, class] as far below the best of each row as they lie; what is ruled out stays so."""
        below = np.ascontiguousarray(joint.T)
        below = below - below.max(axis=0)
        below = np.where(np.isneginf(below), below, np.maximum(below, -FAR))
        return cls(below, truth, np.ones(len(truth)) if weights is None else weights)

    def posterior(self, scale: float = 1.0, bias: Floats | None = None) -> Floats:
        """Return P(class | row) under a scale and biases, [class, row]."""
        scores = scale * self.joint
        if bias is not None:
            scores += bias[:, None]
            scores -= scores.max(axis=0)
        shares = np.exp(scores, out=scores)
        shares /= shares.sum(axis=0)
        return shares

    def of_truth(self, figures: Floats) -> Floats:
        """Return the figure of each row's own class."""
        return np.asarray(figures[self.truth, np.arange(len(self.truth))])

    def loss(self, scale: float = 1.0, bias: Floats | None = None) -> float:
        """Return the log-loss of all rows together, in nats."""
        # Sums, not products of vectors: for those the threads of BLAS would be woken each time.
        return -float((self.weights * np.log(self.of_truth(self.posterior(scale, bias)) + LEAST_PROBABILITY)).sum())


def fitted(rated: Rated, biased: bool = True) -> Fit:
    """Return the scale of least log-loss, with biases if they pay: never worse than leaving the log joints alone.

    The logarithm of the scale and the biases are drawn towards 0 as by a normal prior of deviation 1, so that rows
    which are all answered right do not make the model sure beyond measure. Biases must save more than one nat for
    each class but one (Akaike's criterion).
    """
    classes = len(rated.joint)
    logs = np.append(np.linspace(np.log(SMALLEST), np.log(10), 12), 0.0)
    start = min(logs, key=lambda log: (paid(rated, np.array([log])), abs(log)))
    plain = newton(rated, np.array([start]))
    alone = Fit(float(np.exp(plain[0])), None, paid(rated, plain))
    if not biased or classes < 2 or rated.weights.sum() < ROWS_FOR_BIASES * classes:
        return alone
    both = newton(rated, np.append(plain, np.zeros(classes)))
    price = paid(rated, both) + classes - 1
    return alone if price >= alone.paid else Fit(float(np.exp(both[0])), both[1:], price)


def paid(rated: Rated, at: Floats) -> float:
    """Return the log-loss in nats and the pull towards 0, at the logarithm of the scale and the biases, if any."""
    return rated.loss(float(np.exp(at[0])), at[1:] if len(at) > 1 else None) + float(at @ at) / 2


def newton(rated: Rated, at: Floats) -> Floats:
    """Return where the loss is least, downhill from a place by Newton's steps."""
    now = paid(rated, at)
    for _ in range(STEPS):
        slope, bend = derivatives(rated, at)
        step = -np.linalg.solve(bend, slope)
        step *= min(1.0, 2.0 / max(np.abs(step).max(), 1e-300))  # not far at once
        for _ in range(40):
            there = at + step
            there[0] = np.clip(there[0], np.log(SMALLEST), np.log(LARGEST))
            then = paid(rated, there)
            if then <= now + 1e-12 * abs(now):  # as good as rounding lets one see
                break
            step /= 2
        else:
            return at
        moved, at, now = np.abs(there - at).max(), there, then
        if moved < 1e-10:
            break
    return at


def derivatives(rated: Rated, at: Floats) -> tuple[Floats, Floats]:
    """Return the slope of what is paid at a place, and how it bends: Gauss and Newton's, which always opens upwards."""
    scale, bias = float(np.exp(at[0])), at[1:]
    shares = rated.posterior(scale, bias if len(bias) else None)
    own = rated.of_truth(shares)
    w = rated.weights * (own / (own + LEAST_PROBABILITY))  # a row at the floor pulls no more
    joint = np.where(np.isneginf(rated.joint), 0.0, rated.joint)
    mean = (shares * joint).sum(axis=0)
    apart = w * shares * (joint - mean)
    slope, bend = at.copy(), np.eye(len(at))
    uphill = scale * float((w * (mean - rated.of_truth(joint))).sum())
    slope[0] += uphill
    bend[0, 0] += scale**2 * float((apart * joint).sum())
    bend[0, 0] += max(uphill, -bend[0, 0] / 2)
    if len(bias):
        weighed = w * shares
        total = weighed.sum(axis=1)
        slope[1:] += total - np.bincount(rated.truth, w, len(bias))
        bend[1:, 1:] += np.diag(total) - weighed @ shares.T
        bend[0, 1:] = bend[1:, 0] = scale * apart.sum(axis=1)
    return slope, bend
