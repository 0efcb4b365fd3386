"""The worked table of the lecture notes through NaiveBayes: "will there be a date?", to the last digit."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

import naively as nv

from .tables import cells, rows
from .test_seeds import products
from .textbook import book
from .worked_table import COLUMNS, LABELS, RAINY, ROWS, TODAY, counted

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


def test_without_smoothing_rain_rules_out_a_date():
    """P(是) is exactly 0, and its logarithm minus infinity."""
    nb = book(estimate="mle").fit(TABLE, Y)

    assert nb.predict_proba(day(RAINY))[0].tolist() == [1.0, 0.0]
    assert nb.predict_log_proba(day(RAINY))[0, 1] == -np.inf


@pytest.mark.parametrize(("estimate", "chance"), [("mle", 0.0), ("bayes", 1 / 19)])
def test_a_declared_class_without_rows(estimate, chance):
    """With all 17 rows 是 and both classes declared, P(否) is 0/17, and 1/19 with λ = 1."""
    nb = book(estimate=estimate, classes=["是", "否"]).fit(TABLE, ["是"] * 17)

    assert list(nb.classes_) == list(LABELS)
    assert nb.set_params(columns=[]).predict_proba(day(TODAY))[0, 0] == pytest.approx(chance, rel=EXACT)
    assert np.exp(nb.predict_joint_log_proba(day(TODAY)))[0, 0] == pytest.approx(chance, rel=EXACT)
    if estimate == "mle":
        assert nb.set_params(columns=None).predict_proba(day(TODAY))[0].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("smoothing", [Fraction(1, 2), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("asked", [TODAY, RAINY], ids=["cloudy", "rainy"])
def test_any_smoothing_gives_its_fractions(smoothing, asked):
    """(n + λ) / (N + S·λ) on columns and (n + λ) / (N + K·λ) on the prior; `map` takes λ + 1."""
    expected = [float(part) for part in products(asked, smoothing)]
    for estimate, value in (("bayes", smoothing), ("map", smoothing + 1)):
        settings = {"smoothing": float(value), "prior_smoothing": float(value)}
        nb = book(estimate=estimate, **settings).fit(TABLE, Y)
        assert_allclose(np.exp(nb.predict_joint_log_proba(day(asked)))[0], expected, rtol=EXACT)


def test_probabilities_of_a_column_are_the_fractions():
    """P(天气 | 约会): five of eight sunny, three cloudy, none rainy; with λ = 1 a row more of each."""
    plain = book(estimate="mle").fit(TABLE, Y).probabilities("天气").set_index("value")
    smooth = book().fit(TABLE, Y).probabilities("天气").set_index("value")

    yes = [row for row in ROWS if row[-1] == "是"]
    for value in ("晴天", "阴天", "雨天"):
        n = sum(row[2] == value for row in yes)
        assert plain.loc[value, "是"] == pytest.approx(n / 8, rel=EXACT)
        assert smooth.loc[value, "是"] == pytest.approx((n + 1) / 11, rel=EXACT)


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


def test_a_day_learned_and_forgotten_leaves_the_fractions():
    """Seventeen days one by one, an eighteenth and its end: the counts of the table."""
    nb = book()
    for row in ROWS:
        nb.partial_fit(day(row[:-1]), row[-1])
    nb.partial_fit(day(("周一", "吃饭", "下雪", "轻松", "清零", "精彩")), "也许")
    nb.forget(day(("周一", "吃饭", "下雪", "轻松", "清零", "精彩")), "也许")

    assert nb.counts_ == counted()
    assert f"{nb.predict_proba(day(TODAY))[0, 0]:.15f}".startswith("0.6448882914")
