"""P(class | row) drawn from the posterior of the parameters: what `predict_interval` gives without drawing."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from naively.families.gaussian import GaussianPrior
from naively.families.numbers import Summary

WORDS = 12  # of a bag
PALETTE = ["red", "green", "blue", "grey"]
HOLES = 0.15


def cells(family: str, y: Any, rng: Any) -> Any:
    """Return a column of this family for rows of these classes (numbers).

    With missing values where it may have some.
    """
    hole = rng.random(len(y)) < HOLES
    if family == "categorical":
        places = (rng.integers(0, 3, len(y)) + (rng.random(len(y)) < 0.5) * y) % len(PALETTE)
        return [None if gone else PALETTE[at] for at, gone in zip(places, hole, strict=True)]
    if family == "gaussian":
        return np.where(hole, np.nan, rng.normal(50 + 0.8 * y, 1 + 0.3 * y))
    if family == "poisson":
        return np.where(hole, np.nan, rng.poisson(1.5 + y))
    if family == "bernoulli":
        return (rng.random((len(y), 5)) < 0.25 + 0.1 * y[:, None]).astype(float)
    return rng.poisson(0.4 + 0.15 * ((np.arange(WORDS) + y[:, None]) % 3)).reshape(len(y), WORDS).astype(float)


def log_draws(
    family: str, column: Any, y: Any, classes: int, asked: Any, smoothing: float, draws: int, rng: Any
) -> Any:
    """Return log P(cell | class) of these cells, [draw, row, class], under parameters drawn from their posterior."""
    each = {
        "categorical": of_labels,
        "gaussian": of_bells,
        "poisson": of_rates,
        "bernoulli": of_flags,
        "words": of_words,
    }
    parts = each[family](column, y, classes, asked, smoothing, draws, rng)
    return np.stack([*parts], axis=2)


def of_labels(column: Any, y: Any, classes: int, asked: Any, smoothing: float, draws: int, rng: Any) -> Any:
    values, column = sorted({value for value in column if value is not None}), np.array(column, dtype=object)
    for k in range(classes):
        n = np.array([((column == value) & (y == k)).sum() for value in values])
        logs = np.log(rng.dirichlet(n + smoothing, draws))
        yield np.stack([logs[:, values.index(v)] if v in values else np.zeros(draws) for v in asked], axis=1)


def summary_of(column: Any, y: Any, classes: int) -> Summary:
    numbers = [column[(y == k) & ~np.isnan(column)] for k in range(classes)]
    n, mean = np.array([len(x) for x in numbers], float), np.array([x.mean() if len(x) else 0.0 for x in numbers])
    ssd = np.array([((x - x.mean()) ** 2).sum() if len(x) else 0.0 for x in numbers])
    return Summary(n[None], mean[None], ssd[None], np.zeros((1, classes)))


def of_bells(column: Any, y: Any, classes: int, asked: Any, smoothing: float, draws: int, rng: Any) -> Any:
    summary = summary_of(column, y, classes)
    prior = GaussianPrior.of(summary, smoothing)
    believed = [float(np.ravel(part)[0]) for part in (prior.centre, prior.centred, prior.variance)]
    for k in range(classes):
        n, mean, ssd = (float(part[0, k]) for part in summary[:3])
        centre, centred, variance = believed
        rows, squares = prior.rows + n, prior.rows * variance + ssd + centred * n / (centred + n) * (mean - centre) ** 2
        sigma2 = 1 / rng.gamma(rows / 2, 2 / squares, draws)[:, None]
        mu = rng.normal((centred * centre + n * mean) / (centred + n), np.sqrt(sigma2 / (centred + n)))
        yield known(asked, -0.5 * np.log(2 * np.pi * sigma2) - (asked - mu) ** 2 / (2 * sigma2))


def of_rates(column: Any, y: Any, classes: int, asked: Any, smoothing: float, draws: int, rng: Any) -> Any:
    there = ~np.isnan(column)
    overall = (column[there].sum() + 0.5) / (there.sum() + 1)
    for k in range(classes):
        own = column[there & (y == k)]
        rate = rng.gamma(own.sum() + smoothing * overall, 1 / (len(own) + smoothing), draws)[:, None]
        yield known(asked, asked * np.log(rate) - rate - gammaln(asked + 1))


def known(asked: Any, logs: Any) -> Any:
    return np.where(np.isnan(asked), 0.0, logs)


def of_flags(column: Any, y: Any, classes: int, asked: Any, smoothing: float, draws: int, rng: Any) -> Any:
    for k in range(classes):
        n, rows = column[y == k].sum(axis=0), (y == k).sum()
        p = rng.beta(n + smoothing, rows - n + smoothing, (draws, column.shape[1]))
        yield np.log(p) @ asked.T + np.log1p(-p) @ (1 - asked).T


def of_words(column: Any, y: Any, classes: int, asked: Any, smoothing: float, draws: int, rng: Any) -> Any:
    for k in range(classes):
        yield np.log(rng.dirichlet(column[y == k].sum(axis=0) + smoothing, draws)) @ asked.T


def drawn(
    families: dict[str, str], table: Any, y: Any, classes: int, asked: Any, draws: int, rng: Any, smoothing: float = 1.0
) -> Any:
    """Return P(class | row), [draw, row, class], of a table whose columns have these families; the prior has λ, too."""
    joint = np.log(rng.dirichlet(np.bincount(y, minlength=classes) + smoothing, draws))[:, None]
    for name, family in families.items():
        joint = joint + log_draws(family, table[name], y, classes, asked[name], smoothing, draws, rng)
    return np.exp(joint - logsumexp(joint, axis=2, keepdims=True))
