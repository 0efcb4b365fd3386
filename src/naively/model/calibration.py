"""Calibration: one scale for all log joints and a bias for each class, by least log loss on rows of known class."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._linear_algebra import dot, product, solve
from .._types import Codes, Floats
from ..judge.metrics import LEAST_PROBABILITY
from .recipe import RECIPE, Recipe

# The score below the best beyond which a class is out in any case, and steps at most. Numerical.
FARTHEST_SCORE, STEPS = 1e5, 60
# Bounds of the scale of log joints. Numerical.
LEAST_SCALE, LARGEST_SCALE = 1e-3, 1e2


class Calibration(NamedTuple):
    """log P(class | row) = bias + scale · log joint, up to a constant of the row.

    `penalized_loss` is the log loss of all rows plus the penalty of the fit itself, in nats: less is better.
    """

    scale: float
    bias: Floats | None
    penalized_loss: float


class CalibrationRows(NamedTuple):
    """Log joints of rows beside their classes; every row has a weight above 0.

    They are [class, row], because a sum over few classes is quicker that way.
    """

    joint: Floats
    truth: Codes
    weights: Floats
    recipe: Recipe

    @classmethod
    def of(cls, joint: Floats, truth: Codes, weights: Floats | None = None, recipe: Recipe = RECIPE) -> CalibrationRows:
        """Return log joints [row, class] below the best of each row; classes that are ruled out stay so."""
        below = np.ascontiguousarray(joint.T)
        below = below - below.max(axis=0)
        below = np.where(np.isneginf(below), below, np.maximum(below, -FARTHEST_SCORE))
        return cls(below, truth, np.ones(len(truth)) if weights is None else weights, recipe)

    def posterior(self, scale: float = 1.0, bias: Floats | None = None) -> Floats:
        """Return P(class | row) under a scale and biases, [class, row]."""
        scores = scale * self.joint
        if bias is not None:
            scores += bias[:, None]
            scores -= scores.max(axis=0)
        p = np.exp(scores, out=scores)
        p /= p.sum(axis=0)
        return p

    def of_truth(self, figures: Floats) -> Floats:
        """Return the figure of each row's own class."""
        return np.asarray(figures[self.truth, np.arange(len(self.truth))])

    def loss(self, scale: float = 1.0, bias: Floats | None = None) -> float:
        """Return the log loss of all rows together, in nats."""
        return -float((self.weights * np.log(self.of_truth(self.posterior(scale, bias)) + LEAST_PROBABILITY)).sum())


def fit_calibration(rows: CalibrationRows, biased: bool = True) -> Calibration:
    """Return the scale of least log loss, with biases if they pay: never worse than leaving the log joints alone.

    The logarithm of the scale and the biases have a normal prior of mean 0 and deviation 1, so that rows which are all
    predicted correctly do not make probabilities extreme. Biases must save more than one nat for each class but one
    (Akaike's criterion).
    """
    classes, recipe = len(rows.joint), rows.recipe
    logs = np.append(np.linspace(np.log(LEAST_SCALE), np.log(10), 12), 0.0)
    start = min(logs, key=lambda log: (penalized_loss(rows, np.array([log])), abs(log)))
    plain = newton(rows, np.array([start]))
    alone = Calibration(float(np.exp(plain[0])), None, penalized_loss(rows, plain))
    if not biased or classes < 2 or rows.weights.sum() < recipe.rows_per_bias * classes:
        return alone
    both = newton(rows, np.append(plain, np.zeros(classes)))
    price = penalized_loss(rows, both) + classes - 1
    return alone if price >= alone.penalized_loss else Calibration(float(np.exp(both[0])), both[1:], price)


def penalized_loss(rows: CalibrationRows, at: Floats) -> float:
    """Return the log loss in nats and the penalty, at the logarithm of the scale and the biases, if any."""
    return rows.loss(float(np.exp(at[0])), at[1:] if len(at) > 1 else None) + dot(at, at) / 2


def newton(rows: CalibrationRows, at: Floats) -> Floats:
    """Return where the loss is least, by Newton's method."""
    now = penalized_loss(rows, at)
    for _ in range(STEPS):
        slope, bend = derivatives(rows, at)
        step = -solve(bend, slope)
        step *= min(1.0, 2.0 / max(np.abs(step).max(), 1e-300))  # not far at once
        for _ in range(40):
            there = at + step
            there[0] = np.clip(there[0], np.log(LEAST_SCALE), np.log(LARGEST_SCALE))
            then = penalized_loss(rows, there)
            if then <= now + 1e-12 * abs(now):  # as good as rounding lets one see
                break
            step /= 2
        else:
            return at
        moved, at, now = np.abs(there - at).max(), there, then
        if moved < 1e-10:
            break
    return at


def derivatives(rows: CalibrationRows, at: Floats) -> tuple[Floats, Floats]:
    """Return the slope of the penalized loss, and its curvature by Gauss and Newton, which is always positive."""
    scale, bias = float(np.exp(at[0])), at[1:]
    p = rows.posterior(scale, bias if len(bias) else None)
    own = rows.of_truth(p)
    w = rows.weights * (own / (own + LEAST_PROBABILITY))  # a row at the floor pulls no more
    joint = np.where(np.isneginf(rows.joint), 0.0, rows.joint)
    mean = (p * joint).sum(axis=0)
    apart = w * p * (joint - mean)
    slope, bend = at.copy(), np.eye(len(at))
    uphill = scale * float((w * (mean - rows.of_truth(joint))).sum())
    slope[0] += uphill
    bend[0, 0] += scale**2 * float((apart * joint).sum())
    bend[0, 0] += max(uphill, -bend[0, 0] / 2)
    if len(bias):
        weighted = w * p
        total = weighted.sum(axis=1)
        slope[1:] += total - np.bincount(rows.truth, w, len(bias))
        bend[1:, 1:] += np.diag(total) - product(weighted, p.T)
        bend[0, 1:] = bend[1:, 0] = scale * apart.sum(axis=1)
    return slope, bend
