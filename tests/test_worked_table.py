"""The worked table of the lecture notes through NaiveBayes: "will there be a date?", to the last digit."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

import naively as nv

from .tables import book, cells, rows
from .test_seeds import products
from .worked_table import COLUMNS, RAINY, ROWS, TODAY, counted

TABLE = {name: [row[at] for row in ROWS] for at, name in enumerate(COLUMNS)}
Y = [row[-1] for row in ROWS]
EXACT = 1e-12


def day(values):
    """Return a day as a dict."""
    return dict(zip(COLUMNS, values, strict=True))


def test_the_counts_are_those_of_the_table():
    """Counted by NaiveBayes, by nv.count, and by hand."""
    assert book().fit(TABLE, Y).counts_ == counted() == nv.count(TABLE, Y)


CASES = [
    ("mle", 1.0, TODAY, 0, Fraction(32, 37179), Fraction(45, 139264), "0.7270488325"),
    ("bayes", 1.0, TODAY, 1, Fraction(125, 135432), Fraction(7776, 15299845), "0.6448882914"),
    ("map", 2.0, TODAY, 1, Fraction(125, 135432), Fraction(7776, 15299845), "0.6448882914"),
    ("mle", 1.0, RAINY, 0, None, Fraction(0), "1.0000000000"),
    ("bayes", 1.0, RAINY, 1, None, None, "0.8033831622"),
    ("map", 2.0, RAINY, 1, None, None, "0.8033831622"),
]


@pytest.mark.parametrize(("estimate", "smoothing", "asked", "imagined", "no", "yes", "answer"), CASES)
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict, rows, cells])
def test_there_will_be_no_date(make, estimate, smoothing, asked, imagined, no, yes, answer):
    """The fractions of the textbook model, and their share, from a table of any library."""
    nb = book(estimate=estimate, smoothing=smoothing, prior_smoothing=smoothing).fit(make(TABLE), Y)
    X = make({name: [value] for name, value in day(asked).items()})
    expected = products(asked, imagined)

    assert no in (None, expected[0])
    assert yes in (None, expected[1])
    assert_allclose(np.exp(nb.predict_joint_log_proba(X))[0], [float(part) for part in expected], rtol=EXACT, atol=0)
    shares = [float(part / sum(expected)) for part in expected]
    assert_allclose(nb.predict_proba(X)[0], shares, rtol=EXACT, atol=0)
    assert_allclose(np.exp(nb.score_samples(X)), float(sum(expected)), rtol=EXACT)
    assert f"{nb.predict_proba(X)[0, 0]:.15f}".startswith(answer)
    assert list(nb.predict(X)) == ["否"]


@pytest.mark.parametrize("smoothing", [Fraction(1, 2), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("asked", [TODAY, RAINY], ids=["cloudy", "rainy"])
def test_any_smoothing_gives_its_fractions(smoothing, asked):
    """(n + λ) / (N + S·λ) on columns and (n + λ) / (N + K·λ) on the prior; `map` takes λ + 1."""
    expected = [float(part) for part in products(asked, smoothing)]
    for estimate, value in (("bayes", smoothing), ("map", smoothing + 1)):
        settings = {"smoothing": float(value), "prior_smoothing": float(value)}
        nb = book(estimate=estimate, **settings).fit(TABLE, Y)
        assert_allclose(np.exp(nb.predict_joint_log_proba(day(asked)))[0], expected, rtol=EXACT)


def test_the_summary_counts_parameters():
    """K·ΣS_j numbers instead of K·ΠS_j."""
    sizes = [len(set(column)) for column in TABLE.values()]
    text = book().fit(TABLE, Y).summary()

    assert f"{2 * sum(sizes)} probabilities" in text
    assert f"{2 * int(np.prod(sizes)):,} (K·ΠS)" in text


def test_costs_change_the_answer():
    """If a date missed costs ten times a wasted evening, go: 10 · P(是) > P(否)."""
    nb = book(cost={("是", "否"): 10}).fit(TABLE, Y)
    p = nb.predict_proba(day(TODAY))[0]

    assert_allclose(nb.expected_cost(day(TODAY))[0], [10 * p[1], p[0]], rtol=EXACT)
    assert list(nb.predict(day(TODAY))) == ["是"]
    assert list(nb.set_params(cost=None, reject=0.3).predict(day(TODAY))) == [None]
