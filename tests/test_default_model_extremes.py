"""The default model of tables of extreme shapes: sensible predictions, no warning of NumPy, bounded memory."""

from __future__ import annotations

import tracemalloc
from functools import cache

import numpy as np
import pandas as pd
import pytest

import naively as nv
from naively.estimator.reports import summary_of_tuning
from naively.model.default.model import DefaultModel


def numbers(rows, columns, y, seed=0):
    """Return noise, but for the first column, which tells the class."""
    x = np.random.default_rng(seed).normal(size=(rows, columns))
    x[:, 0] += 2 * (y % 7)
    return pd.DataFrame(x).add_prefix("n")


def words(rows, columns, labels, y, seed=0):
    """Return labels by chance, but for the first column, which often repeats the class."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, labels, (rows, columns))
    x[:, 0] = np.where(rng.random(rows) < 0.5, y % labels, x[:, 0])
    return ("v" + pd.DataFrame(x).astype(str)).add_prefix("w")  # digits alone would be numbers


def table(make, rows, classes):
    y = np.arange(rows) % classes
    return make(y), y


def repeated(column):
    return pd.concat([column] * 30, axis=1).set_axis([f"d{at}" for at in range(30)], axis=1)


# Each makes a table and its classes.
EXTREMES = {
    "ten classes of two rows": lambda: table(lambda y: numbers(20, 3, y), 20, 10),
    "thirty classes of two rows": lambda: table(lambda y: numbers(60, 3, y), 60, 30),
    "one number": lambda: table(lambda y: numbers(500, 1, y), 500, 2),
    "one column of labels": lambda: table(lambda y: words(500, 1, 4, y), 500, 2),
    "constant columns": lambda: (pd.DataFrame({"a": 1.0, "b": ["x"] * 200}), np.arange(200) % 3 // 2),
    "no cells": lambda: (pd.DataFrame({"a": np.nan, "b": [None] * 200}), np.arange(200) % 3 // 2),
    "500 columns of numbers": lambda: table(lambda y: numbers(80, 500, y), 80, 2),
    "300 columns of labels": lambda: table(lambda y: words(100, 300, 6, y), 100, 2),
    "1,100 columns of numbers": lambda: table(lambda y: numbers(60, 1100, y), 60, 2),
    "2,000 categories": lambda: table(lambda y: words(4000, 2, 2000, y).join(numbers(4000, 1, y)), 4000, 2),
    "1,000 classes": lambda: table(lambda y: numbers(3000, 3, y).assign(n1=y + 0.1), 3000, 1000),
    "300 classes": lambda: table(lambda y: numbers(900, 2, y).assign(n1=y + 0.1), 900, 300),
    "a class of one row": lambda: (numbers(80, 2, np.arange(80) % 2), np.arange(80) % 2 + 2 * (np.arange(80) == 2)),
    "a row for each class": lambda: table(lambda y: numbers(60, 2, y), 60, 60),
    "two values": lambda: (pd.DataFrame({"b": np.arange(80) % 2 == 0, "n": np.arange(80) % 2}), np.arange(80) % 4),
    "two identical columns": lambda: table(lambda y: numbers(200, 1, y).assign(again=lambda X: X["n0"]), 200, 2),
    "a column without cells": lambda: table(lambda y: numbers(80, 1, y).assign(c=np.nan, d=None), 80, 2),
    "five rows": lambda: table(lambda y: numbers(5, 2, y), 5, 2),
    "one class": lambda: table(lambda y: numbers(300, 2, y).join(words(300, 1, 3, y)), 300, 1),
    "100,000 labels": lambda: table(lambda y: numbers(10**5, 1, y).assign(id=np.arange(10**5).astype(str)), 10**5, 2),
    "one number 30 times": lambda: table(lambda y: repeated(numbers(400, 1, y)), 400, 2),
    "one label 30 times": lambda: table(lambda y: repeated(words(400, 1, 3, y)), 400, 2),
    "numbers as large as they may be": lambda: table(lambda y: numbers(300, 3, y) * 1e148, 300, 2),
    "numbers as small as they may be": lambda: table(lambda y: numbers(300, 3, y) * 1e-300, 300, 2),
}  # fmt: skip


@cache
def fitted(name):
    """Return the model of a table, the table and its classes."""
    X, y = EXTREMES[name]()
    return nv.NaiveBayes(model="auto").fit(X, y), X, y


@pytest.mark.parametrize("name", EXTREMES)
def test_extreme_tables_are_answered_sensibly(name):
    nb, X, y = fitted(name)
    p = nb.predict_proba(X)
    assert np.isfinite(p).all()
    assert np.allclose(p.sum(axis=1), 1)
    assert (nb.classes_[p.argmax(axis=1)] == y).mean() >= np.bincount(y).max() / len(y)
    assert np.allclose(nb.explain(X[:5]).probabilities, p[:5], atol=1e-9)
    assert np.array_equal(nb.predict_proba(X[:1]), p[:1])


LEFT_OUT = {
    "300 columns of labels": "In pairs of columns only the 3 most frequent labels of each of 300 columns ('w0', ",
    "2,000 categories": "In pairs of columns only the 503 most frequent labels of each of 2 columns ('w0', 'w1') are ",
    "1,100 columns of numbers": "588 of 1,100 columns tell less of the class on their own and ",
    "1,000 classes": "there are 1,000 classes, and at most 300 can be",
    "five rows": "there are 5 rows; fit, or calibrate with, at least 50",
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_cannot_be_afforded_is_left_out_and_reported(name):
    nb = fitted(name)[0]
    assert LEFT_OUT[name] in "\n".join([*nb.schema_.hints, *summary_of_tuning(nb.fitted_)])


WEIGHTS = {
    "huge": np.full(300, 1e12),
    "huge and tiny": np.where(np.arange(300) % 7 == 0, 1e12, 1e-3),
    "all huge": np.full(300, 1e9),
    "tiny": np.full(300, 1e-9),
    "fractions": np.random.default_rng(0).random(300),
}


@pytest.mark.filterwarnings("ignore::naively.WeightWarning")
@pytest.mark.parametrize("name", WEIGHTS)
def test_extreme_weights_are_answered(name):
    X, y = table(lambda y: numbers(300, 3, y).join(words(300, 2, 3, y)), 300, 2)
    nb = nv.NaiveBayes(model="auto").fit(X, y, sample_weight=WEIGHTS[name])
    assert isinstance(nb.fitted_.model, DefaultModel)
    p = nb.predict_proba(X)
    assert np.isfinite(p).all()
    assert np.allclose(p.sum(axis=1), 1)
    assert (p.argmax(axis=1) == y).mean() >= 0.5


def test_numbers_beyond_the_edges_are_answered_as_those_at_the_edges():
    X, y = table(lambda y: numbers(300, 2, y), 300, 2)
    nb = nv.NaiveBayes(model="auto").fit(X, y)
    edge = X.max().to_dict()
    far = nb.predict_proba(dict.fromkeys(X, 1e140))
    assert np.isfinite(far).all()
    assert np.allclose(far, nb.predict_proba({name: 1e6 * value for name, value in edge.items()}))


MIB = 1 << 20


@pytest.mark.parametrize(
    ("name", "most"),
    [
        pytest.param("500 columns of labels", 300, marks=pytest.mark.slow),
        ("2,000 categories", 200),
        ("one number 30 times", 200),
    ],
)
def test_extreme_tables_take_little_memory(name, most):
    X, y = EXTREMES[name]()
    tracemalloc.start()
    nv.NaiveBayes(model="auto").fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < most * MIB
