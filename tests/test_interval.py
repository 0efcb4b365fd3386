"""Intervals: the middle of what the posterior of the parameters leads to, without drawing from it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import gammaln, logsumexp

from naively.errors import InvalidInput, InvalidSetting
from naively.families.gaussian import GaussianPrior
from naively.families.numbers import Summary

from .table_cases import KINDS as TABLES
from .table_cases import LABELS
from .tables import book

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


DRAWS, ASKED = 20_000, 8
KINDS = {
    "categorical": {"a": "categorical", "b": "categorical", "c": "categorical"},
    "poisson": {"a": "poisson", "b": "poisson"},
    "bernoulli": {"a": "bernoulli"},
    "words": {"a": "words"},
    "gaussian": {"a": "gaussian", "b": "gaussian"},
    "mixed": {"a": "categorical", "b": "gaussian", "c": "poisson", "d": "categorical", "e": "words", "f": "bernoulli"},
}
NUMBERS = ("gaussian", "mixed")


def named(families):
    return {name: family for name, family in families.items() if family != "categorical"}


def made(kind, rows, classes, seed=0):
    """Return a model of a table, the table, its classes, rows to ask about, and what is drawn for these."""
    rng = np.random.default_rng([seed, rows, classes])
    y, asked = np.arange(rows) % classes, rng.integers(classes, size=ASKED)
    families = KINDS[kind]
    table, asked = ({name: cells(family, of, rng) for name, family in families.items()} for of in (y, asked))
    nb = book(families=named(families)).fit(table, y)
    return nb, table, asked, lambda draws: drawn(families, table, y, classes, asked, draws, rng)


@pytest.mark.pairwise
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("rows", [5, 20, 200, 5000])
@pytest.mark.parametrize("kind", KINDS)
def test_an_interval_is_the_middle_of_what_is_drawn(kind, rows, classes):
    """Its ends are quantiles of P(class | row) under parameters drawn from their exact posterior.

    They lie off most for a number far from the few rows of a class. One number in a class says nothing of its variance:
    where the ends cannot be told well, they leave out little; of what is drawn, four fifths lie within.
    """
    if kind in NUMBERS and (rows, classes) == (5, 4):
        for seed in range(5):
            nb, _, asked, draw = made(kind, rows, classes, seed)
            p, (low, high) = draw(4000), nb.predict_interval(asked)
            assert ((p >= low) & (p <= high)).mean(axis=0)[high - low > 0.01].min() > 0.78
        return
    nb, _, asked, draw = made(kind, rows, classes)
    p, (low, high) = draw(DRAWS), nb.predict_interval(asked)
    near = 0.05 if rows < 20 else 0.03
    if kind in NUMBERS and rows < 200:
        near = 0.16 if rows < 20 else 0.08
    assert np.abs(low - np.quantile(p, 0.05, axis=0)).max() < near
    assert np.abs(high - np.quantile(p, 0.95, axis=0)).max() < near
    inside = ((p >= low) & (p <= high)).mean(axis=0)[high - low > 0.01]
    assert inside.min(initial=1.0) > (0.87 if rows >= 20 else 0.83)
    assert inside.max(initial=0.9) < (0.93 if rows >= 20 else 0.97)


# -- laws --------------------------------------------------------------------------------------------------------------

each_kind = pytest.mark.parametrize("kind", TABLES)
each_estimate = pytest.mark.parametrize(
    "settings", [("bayes", 1.0), ("bayes", 0.3), ("bayes", 0.0), ("map", 2.0), ("mle", 1.0), ("mle", 0.0)], ids=str
)


def fitted(kind, estimate="bayes", smoothing=1.0, times=1, **settings):
    table, families = TABLES[kind]
    if estimate == "map" and kind == "labels, overall":
        pytest.skip("an m-estimate has no mode")
    nb = book(families=families, estimate=estimate, smoothing=smoothing, prior_smoothing=smoothing, **settings)
    return nb.fit(table, LABELS, sample_weight=np.full(len(LABELS), times)), table


@each_estimate
@each_kind
def test_an_interval_lies_between_0_and_1_and_holds_the_prediction(kind, settings):
    """And one of a higher level is never narrower."""
    for missing in ("skip", "value"):
        for unseen in ("skip", "smooth"):
            nb, table = fitted(kind, *settings, missing=missing, unseen=unseen)
            p, (low, high) = nb.predict_proba(table), nb.predict_interval(table)
            assert low.shape == high.shape == p.shape
            assert ((low >= 0) & (low <= p) & (p <= high) & (high <= 1)).all()
    nb, table = fitted(kind, *settings)
    ends = [nb.predict_interval(table, level) for level in (1e-9, 0.2, 0.5, 0.9, 0.99, 1 - 1e-12)]
    for (low, high), (lower, higher) in pairwise(ends):
        assert ((lower <= low) & (higher >= high)).all()


@each_kind
def test_ten_times_the_rows_are_narrower(kind):
    """Summed over rows and classes: a single interval may move to where probabilities change faster."""
    widths = []
    for times in (1, 10, 100, 10_000):
        nb, table = fitted(kind, times=times)
        low, high = nb.predict_interval(table)
        widths.append((high - low).sum())
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.1 * widths[0]


def test_rows_in_any_order_any_form_and_any_number_have_the_same_interval():
    table = {"colour": TABLES["all"][0]["colour"], "size": TABLES["all"][0]["size"], "visits": [*range(14)]}
    nb, frame = book(families={"visits": "poisson"}).fit(table, LABELS), pd.DataFrame(table)
    low, high = nb.predict_interval(frame)
    order = np.random.default_rng(0).permutation(len(frame))
    for given, at in [
        (frame.iloc[order], order),
        (pl.DataFrame(table, strict=False), np.arange(14)),
        (frame[::-1].to_dict("records"), np.arange(14)[::-1]),
        ({name: column[3] for name, column in table.items()}, [3]),
        (pd.concat([frame] * 10_000), np.tile(np.arange(14), 10_000)),  # many blocks
    ]:
        again = nb.predict_interval(given)
        np.testing.assert_allclose(again[0], low[at], rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(again[1], high[at], rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("prior", ["uniform", {"a": 0.5, "b": 0.3, "c": 0.2}], ids=str)
def test_a_missing_cell_and_a_given_prior_are_certain(prior):
    """A row of which nothing is known gets the prior; if that was given, it is known to the last digit."""
    table = {"colour": TABLES["all"][0]["colour"], "size": TABLES["all"][0]["size"], "visits": [1.0] * 14}
    nb = book(families={"visits": "poisson"}, prior=prior).fit(table, LABELS)
    low, high = nb.predict_interval(dict.fromkeys(table))
    np.testing.assert_allclose(low, high, rtol=1e-12)
    np.testing.assert_allclose(low, nb.predict_proba(dict.fromkeys(table)), rtol=1e-12)


@pytest.mark.parametrize("level", [0, 1, -0.5, 90, float("nan"), "0.9", True], ids=repr)
def test_what_is_no_level_and_what_cannot_be_scored_is_refused(level):
    nb = book().fit({"x": [1.0, 2.0]}, ["a", "b"])
    with pytest.raises(InvalidSetting, match=r"must lie strictly between 0 and 1, such as 0\.9"):
        nb.predict_interval({"x": 1.5}, level=level)
    with pytest.raises(InvalidInput, match="'x'"):
        nb.predict_interval({"x": [float("inf"), 1.0]})
