"""Intervals: where P(class | row) lies, given that the counts leave the parameters of the model uncertain.

The log joints of the classes are sums of independent logarithms, so their cumulants add up, column by column. The logit
of a class is its own log joint less the logarithm of the sum of all others. Its quantiles are those of a distribution
with the same first four cumulants, between a gamma variable (what far numbers lead to) and a log-gamma one (what shares
lead to); both are close to the normal where there are many rows. Nothing is drawn by chance.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import accumulate

import numpy as np
from scipy.special import expit, gammainccinv, gammaincinv, ndtr, ndtri

from .._linear_algebra import product
from .._types import Floats, Matrices, Matrix, TableLike
from ..families.family import Cumulants, log_gamma_cumulants, row_blocks
from ..judge.held_out_scores import check_level
from ..model.scorer import NaiveModel
from ..model.table_model import TableModel

# The shapes of log-gamma variables for which quantiles are computed, and the grid of skewness on which they are kept.
SHAPES = np.geomspace(0.1, 1e6, 300)
WIDEST, STEPS = 4, 200
GRID = np.arange(-WIDEST * STEPS, WIDEST * STEPS + 1) / STEPS
# The least gap between light and heavy tails (without skewness there is none), and tails that nothing reaches.
SLIGHT, HEAVIEST = 1e-6, 1e100
# Nodes along each of two classes when their sum is averaged; and how far apart classes are (in logarithms, and in
# standard deviations in addition) when only the larger one counts.
NODES, APART, DEVIATIONS = 4, 20.0, 8.0


def prior_cumulants(model: NaiveModel, rows: Floats, smoothing: float | None) -> Cumulants:
    """Return the cumulants of the log prior, [class]: a Dirichlet posterior with λ, or certainty if it was given.

    Shares of a Dirichlet are gamma variables over their sum, which all classes share; without it they are independent.
    """
    if smoothing is None:
        return Cumulants.certain(model.log_prior)
    gamma, there = log_gamma_cumulants(rows + smoothing), rows + smoothing > 0
    cumulants = Cumulants(*(np.where(there, part, 0.0) for part in gamma))
    return cumulants._replace(mean=np.where(there, gamma.mean, -np.inf))


def interval(
    model: TableModel, source: TableLike, threads: int, prior: Cumulants, level: float
) -> tuple[Floats, Floats]:
    """Return the least and the largest probability of each row and class, at a level such as 0.9."""
    tail = (1 - check_level(level)) / 2

    def limits_of_block(_: slice, columns: Matrices) -> tuple[Floats, Floats]:
        predicted = model.scorer.posterior(columns, threads)  # first: it refuses what cannot be scored
        low, high = probability_limits(log_joint_cumulants(model.textbook, columns, threads, prior), tail)
        # The mean of a density weighs its heights: far from all rows it can lie beyond the quantiles.
        return np.minimum(low, predicted), np.maximum(high, predicted)

    low, high = zip(*model.each_block(limits_of_block, source, threads), strict=True)
    return np.concatenate(low), np.concatenate(high)


def log_joint_cumulants(model: NaiveModel, columns: Mapping[str, Matrix], threads: int, prior: Cumulants) -> Cumulants:
    """Return the cumulants of log P(row, class), [row, class]: of what is added to it, cumulants add."""
    shape = (next(iter(columns.values())).shape[0], len(model.classes))
    joint = start = Cumulants(*(np.broadcast_to(part, shape) for part in prior))
    for name, likelihood in model.terms.items():
        joint = joint + likelihood.uncertainty(columns[name], threads)
    if model.tempered:  # a calibrated model predicts by bias + scale · log joint
        bias = 0.0 if model.bias is None else model.bias
        scaled = (part.times(model.scale) for part in (joint, start))
        joint, start = (part._replace(mean=part.mean + bias) for part in scaled)
    joint = joint._replace(variance=np.maximum(joint.variance, 0.0))  # differences may dip below 0 by rounding
    lost = np.isneginf(joint.mean).all(axis=1, keepdims=True)  # every class is ruled out: only the prior is left
    return Cumulants(*(np.where(lost, first, sums) for first, sums in zip(start, joint, strict=True)))


def probability_limits(joint: Cumulants, tail: float) -> tuple[Floats, Floats]:
    """Return the quantiles of P(class | row) on both sides, given the cumulants of the log joint."""
    low, high = np.empty(joint.mean.shape), np.empty(joint.mean.shape)
    table = quantile_table((tail, True), (tail, False))
    for rows in row_blocks(len(low), NODES * NODES):
        classes = [joint.of(rows, k) for k in range(len(low.T))]
        for k, rest in enumerate(other_classes(classes)):
            low[rows, k], high[rows, k] = expit(quantiles_of(classes[k] + rest.times(-1), table)).T
    return low, high


def quantiles_of(cumulants: Cumulants, table: Floats) -> Floats:
    """Return the quantiles of the distributions that have these cumulants, [row, quantile]."""
    place = np.clip((cumulants.skewness() + WIDEST) * STEPS, 0.0, len(GRID) - 1.0)
    line = np.minimum(place.astype(np.intp), len(GRID) - 2)
    read = table[line] + (table[line + 1] - table[line]) * (place - line)[:, None]
    gamma, further = read[:, 2::2], read[:, 3::2]
    share = np.clip((cumulants.excess() - read[:, 0]) / read[:, 1], 0.0, 1.0)
    deviation = np.sqrt(cumulants.variance)
    out: Floats = cumulants.mean[:, None] + deviation[:, None] * gamma + (deviation * share)[:, None] * further
    return out


@lru_cache(maxsize=64)
def quantile_table(*tails: tuple[float, bool]) -> Floats:
    """Return the quantiles of distributions with mean 0 and variance 1, a line for each skewness of the grid.

    A line holds how heavy the tails of the gamma variable are, and how much heavier those of the log-gamma; then, for
    each quantile, that of the gamma and how much further that of the log-gamma lies. A quantile is named by the
    probability on its outer side, and whether that is the lower one.
    """
    shape, log_gamma = 4 / np.maximum(np.abs(GRID), 1 / STEPS) ** 2, log_gamma_cumulants(SHAPES)

    def both_sides(left: Floats, middle: float, right: Floats) -> Floats:
        """Return figures of left-skewed distributions, of one without skewness, and of right-skewed ones."""
        return np.concatenate([left, [middle], right[::-1]])

    skewness = both_sides(log_gamma.skewness(), 0.0, -log_gamma.skewness())
    columns = []
    for tail, lower in tails:
        middle = float(ndtri(tail) if lower else -ndtri(tail))
        inverses = (gammaincinv, gammainccinv) if lower else (gammainccinv, gammaincinv)
        right, left = ((inverse(shape, tail) - shape) / np.sqrt(shape) for inverse in inverses)
        gamma = np.select([GRID > 0, GRID < 0], [right, -left], middle)
        left, right = (
            (np.log(inverse(SHAPES, tail)) - log_gamma.mean) / np.sqrt(log_gamma.variance) for inverse in inverses
        )
        columns += [gamma, np.interp(GRID, skewness, both_sides(left, middle, -right)) - gamma]
    light = 1.5 * GRID**2
    # Beyond the skewness of every log-gamma variable only the gamma is left: no tails are heavy enough.
    excess = both_sides(log_gamma.excess(), 0.0, log_gamma.excess())
    heavy = np.interp(GRID, skewness, excess, left=np.inf, right=np.inf)
    heavier = np.where(np.isfinite(heavy), np.maximum(heavy - light, SLIGHT), HEAVIEST)
    return np.stack([light, heavier, *columns], axis=1)


# -- the sum of all other classes --------------------------------------------------------------------------------------


def other_classes(classes: list[Cumulants]) -> list[Cumulants]:
    """Return the cumulants of the logarithm of the sum of all other classes, for each class."""
    nothing = Cumulants.certain(np.full(classes[0].mean.shape, -np.inf))
    before = accumulate(classes[:-1], log_sum, initial=nothing)
    after = [*accumulate(classes[:0:-1], log_sum, initial=nothing)][::-1]
    return [log_sum(a, b) for a, b in zip(before, after, strict=True)]


def log_sum(a: Cumulants, b: Cumulants) -> Cumulants:
    """Return the cumulants of log(exp a + exp b), [row]: averaged over both where both count, else the larger."""
    larger = a.mean >= b.mean
    out = Cumulants(*(np.where(larger, first, second) for first, second in zip(a, b, strict=True)))
    with np.errstate(invalid="ignore"):  # both may be ruled out
        gap = np.abs(a.mean - b.mean) - DEVIATIONS * (np.sqrt(a.variance) + np.sqrt(b.variance))
    near = np.flatnonzero(gap < APART)
    if len(near):
        for part, averaged in zip(out, averaged_sum(a.of(near), b.of(near)), strict=True):
            part[near] = averaged
    return out


def averaged_sum(a: Cumulants, b: Cumulants) -> Cumulants:
    """Return the cumulants of log(exp a + exp b), by quadrature over a grid of quantiles of both."""
    weights, table = quadrature_nodes()
    first, second = quantiles_of(a, table)[:, :, None], quantiles_of(b, table)[:, None, :]
    sums = np.maximum(first, second) + np.log(1 + np.exp(-np.abs(first - second)))
    sums = sums.reshape(len(sums), -1)
    mean = product(sums, weights)
    off = sums - mean[:, None]
    square = off * off
    variance = product(square, weights)
    return Cumulants(
        mean, variance, product(square * off, weights), product(square * square, weights) - 3 * variance * variance
    )


@cache
def quadrature_nodes() -> tuple[Floats, Floats]:
    """Return the weights of a grid of two variables (Gauss and Hermite's), and its nodes as a table of quantiles."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    return np.outer(weights, weights).ravel(), quantile_table(*((float(ndtr(-abs(z))), bool(z < 0)) for z in nodes))
