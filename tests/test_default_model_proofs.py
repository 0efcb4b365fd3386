"""What must hold of the default model, on rows drawn from distributions that are known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import naively as nv
from naively.model.recipe import RECIPE

pytestmark = pytest.mark.thorough

CLASSES, FRESH = 3, 20_000


def drawn(seed):
    """Return the same distribution for the same seed."""
    return np.random.default_rng(seed)


def words(rows, rng, y=None, columns=6):
    """Return labels that are independent within a class."""
    shares = drawn(3).dirichlet(np.full(5, 2.0), size=(CLASSES, columns))
    y = rng.integers(0, CLASSES, rows) if y is None else y
    codes = (rng.random((rows, columns, 1)) > shares[y].cumsum(axis=2)).sum(axis=2).clip(max=4)
    return ("v" + pd.DataFrame(codes).astype(str)).add_prefix("w"), y


def mixed(rows, rng):
    """Return numbers and labels that are independent within a class."""
    mean, y = drawn(1).normal(size=(CLASSES, 4)) * 0.6, rng.integers(0, CLASSES, rows)
    numbers = pd.DataFrame(mean[y] + rng.normal(size=(rows, 4))).add_prefix("n")
    return numbers.join(words(rows, rng, y, 4)[0]), y


def auto(X, y, **how):
    return nv.NaiveBayes(model="auto").fit(X, y, **how)


# -- probabilities ---------------------------------------------------------------------------------------------------


def dependent(rows, rng):
    """Return rows whose columns hang together, and the true probability of each class."""
    mean = np.array([[0.0, 0, 0, 0], [1.0, 0.5, 0, 0.7], [0.0, -0.8, 0.9, 0]])
    within = np.linalg.cholesky(np.full((4, 4), 0.6) + 0.4 * np.eye(4))
    y = rng.choice(CLASSES, rows, p=[0.5, 0.3, 0.2])
    x = mean[y] + rng.normal(size=(rows, 4)) @ within.T
    # The second label repeats the first in three of four rows, whatever the class.
    shares = np.array([[0.6, 0.3, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3]])
    first = (rng.random((rows, 1)) > shares[y].cumsum(axis=1)).sum(axis=1).clip(max=2)
    second = np.where(rng.random(rows) < 0.75, first, rng.integers(0, 3, rows))
    gap = (x[:, None, :] - mean) @ np.linalg.inv(within).T
    joint = np.log([0.5, 0.3, 0.2]) - 0.5 * (gap**2).sum(axis=2) + np.log(shares.T[first])
    true = np.exp(joint - joint.max(axis=1, keepdims=True))
    labels = {"first": np.char.add("v", first.astype(str)), "second": np.char.add("v", second.astype(str))}
    table = pd.DataFrame(x).add_prefix("n").assign(**labels)
    return table, y, true / true.sum(axis=1, keepdims=True)


def pooled_error(reported, true, groups=20):
    """Return how far reports lie from what is true, in groups of rows with like reports, all classes pooled."""
    reported, true = reported.ravel(), true.ravel()
    parts = np.array_split(np.argsort(reported), groups)
    return sum(len(at) * abs(reported[at].mean() - true[at].mean()) for at in parts) / len(true)


def test_reported_probabilities_match_true_ones():
    rng = np.random.default_rng(4)
    X, y, _ = dependent(8000, rng)
    T, t, true = dependent(60_000, rng)
    reported = auto(X, y).predict_proba(T)
    frequency = np.eye(CLASSES)[t]
    # How often classes came out is itself a draw: so far off are the true probabilities, too.
    noise = pooled_error(true, frequency)
    assert noise < 0.004
    assert pooled_error(reported, frequency) < noise + 0.005
    assert pooled_error(reported, true) < 0.006
    assert np.abs(reported - true).mean() < 0.02
    book = nv.NaiveBayes(model="textbook").fit(X, y).predict_proba(T)
    assert pooled_error(reported, true) < pooled_error(book, true) / 3


# -- what classes are called -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["mixed", "equal rows", "weighted"])
def test_names_of_classes_change_no_prediction(kind):
    """In any alphabetical order of the classes, even where many rows differ in nothing but their class.

    But for rounding: weights are fitted to differences to the first class, in single precision, until the loss falls by
    less than 1e-9 of itself.
    """
    rng = np.random.default_rng(7)
    y = rng.choice(["a", "b", "c"], 300, p=[0.5, 0.3, 0.2])
    if kind == "mixed":
        X = mixed(300, rng)[0]
    else:
        X = pd.DataFrame(rng.integers(0, 3, (300, 3)) * (y == "b")[:, None] % 3).astype(str).add_prefix("w")
        X["n"] = rng.integers(0, 2, 300) + (y == "c")
    weights = rng.integers(1, 4, 300).astype(float) if kind == "weighted" else None
    before = auto(X, y, sample_weight=weights)
    for names in (["c", "b", "a"], ["b", "c", "a"], [9, 10, -1]):
        called = dict(zip("abc", names, strict=True))
        after = auto(X, np.array([called[label] for label in y]), sample_weight=weights)
        columns = [after.classes_.tolist().index(called[label]) for label in before.classes_]
        assert np.allclose(after.predict_proba(X)[:, columns], before.predict_proba(X), rtol=0, atol=1e-5)


# -- how the table is written ----------------------------------------------------------------------------------------


def renamed(X):
    """Return the table with other names of its labels, in another order."""
    return X.replace({c: {f"v{k}": "zyxwu"[k] for k in range(5)} for c in X if c.startswith("w")})


def measured(X, by, plus):
    """Return the table with its numbers in other units."""
    return X.assign(**{c: by * X[c] + plus for c in X if c.startswith("n")})


WAYS = {
    "rows": lambda X, at: X.iloc[at],
    "columns": lambda X, at: X[X.columns[::-1]],
    "units": lambda X, at: measured(X, 0.4536, 273.15),
    "the other way round": lambda X, at: measured(X, -2.0, 7.0),
    "names of labels": lambda X, at: renamed(X),
}


@pytest.fixture(scope="module", params=[400, 6000, pytest.param(21_000, marks=pytest.mark.slow)])
def as_it_is(request):
    """Return a few rows, more than the ridge is chosen on, more than weights are fitted on."""
    X, y = mixed(request.param, np.random.default_rng(request.param))
    return X, y, auto(X, y)


@pytest.mark.parametrize("way", WAYS)
def test_answers_do_not_depend_on_how_the_table_is_written(as_it_is, way):
    """Of more rows than weights are fitted on, a sample is drawn by what is written in the cells."""
    X, y, nb = as_it_is
    bound = 1e-6 if len(X) <= RECIPE.sample_rows or way in ("rows", "columns") else 0.05
    order = np.random.default_rng(0).permutation(len(X)) if way == "rows" else np.arange(len(X))
    other, asked = WAYS[way](X, order), np.argsort(order)[:500]
    twin = auto(other, y[order])
    assert np.abs(twin.predict_proba(other.iloc[asked]) - nb.predict_proba(X.iloc[:500])).max() < bound
    if way == "rows":
        ours, theirs = (one.tuning_.learned.weights for one in (nb, twin))
        assert ours.keys() == theirs.keys()
        assert max(abs(ours[piece] - theirs[piece]) for piece in ours) < 1e-7


def scored(nb, X, y):
    return nv.Scores(nb.predict_proba(X), y, nb.classes_)


def test_fifty_columns_of_noise_cost_less_than_half_a_point():
    """On average over three tables: that of one has a standard error of 0.3 points."""

    def noisy(rows, rng):
        X, y = mixed(rows, rng)
        numbers = pd.DataFrame(rng.normal(size=(rows, 25))).add_prefix("noise")
        labels = ("v" + pd.DataFrame(rng.integers(0, 5, (rows, 25))).astype(str)).add_prefix("nought")
        return X, X.join(numbers).join(labels), y

    lost = []
    for rng in map(np.random.default_rng, range(2, 5)):
        (X, more, y), (T, many, t) = noisy(4_000, rng), noisy(FRESH, rng)
        lost.append(scored(auto(X, y), T, t).accuracy - scored(auto(more, y), many, t).accuracy)
    assert np.mean(lost) < 0.005
