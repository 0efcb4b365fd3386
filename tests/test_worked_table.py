"""The worked table of the lecture notes, and their formulas, to the last digit: by fractions from raw rows."""

import math
from collections import Counter
from fractions import Fraction
from math import prod

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.stats import beta

from naively import Bernoulli, Categorical, Gaussian, Moments, Settings, Table, Words, decide, expected_cost
from naively.model.column_parts import empirical_prior
from naively.model.scorer import posterior
from naively.stats import Axis

from .tables import book, cells, rows
from .worked_table import COLUMNS, LABELS, RAINY, ROWS, TODAY, coded, counted, estimated

TABLE = {name: [row[at] for row in ROWS] for at, name in enumerate(COLUMNS)}
Y = [row[-1] for row in ROWS]
EXACT = 1e-12


def day(values):
    """Return a day as a dict."""
    return dict(zip(COLUMNS, values, strict=True))


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


# -- the formulas of the five lecture notes this project grew from, recomputed with fractions from raw rows ------------


def share(part, whole, size, imagined=0):
    """(n + λ) / (N + S·λ), as a fraction."""
    return Fraction(part + imagined) / Fraction(whole + size * imagined)


def products(day, imagined=0, rows=ROWS, labels=LABELS):
    """P(class) · Π P(value | class) of each class, by counting raw rows."""
    answers = []
    for label in labels:
        own = [row for row in rows if row[-1] == label]
        factors = [share(len(own), len(rows), len(labels), imagined)]
        for j, value in enumerate(day):
            size = len({row[j] for row in rows})
            factors.append(share(sum(row[j] == value for row in own), len(own), size, imagined))
        answers.append(prod(factors))
    return answers


def approx(fractions):
    return pytest.approx([float(fraction) for fraction in fractions], rel=EXACT, abs=0)


# -- 000: categories by counting ------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize(
    ("how", "smoothing", "imagined"),
    [("mle", 1.0, 0), ("bayes", 1.0, 1), ("bayes", 0.5, Fraction(1, 2)), ("bayes", 3.0, 3), ("map", 2.0, 1)],
)
def test_probability_of_a_value_is_its_count_over_the_rows_of_the_class(column, how, smoothing, imagined):
    """P(value | class) is n / N, with λ pseudo-counts of each value (n + λ) / (N + S·λ)."""
    j, (likelihood,) = COLUMNS.index(column), estimated(counted(), how, smoothing).terms[column].tables
    values = sorted({row[j] for row in ROWS})

    assert tuple(likelihood.values.labels) == tuple(values)
    for k, label in enumerate(LABELS):
        own = [row[j] for row in ROWS if row[-1] == label]
        expected = [share(own.count(value), len(own), len(values), imagined) for value in values]
        assert sum(expected) == 1
        assert list(np.exp(likelihood.log_p[k])) == approx(expected)


# -- 001: λ on the prior too; Gaussian with ε ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "smoothing", "imagined"), [("mle", 5.0, 0), ("bayes", 1.0, 1), ("bayes", 0.25, Fraction(1, 4))]
)
def test_prior_is_smoothed_like_the_columns(how, smoothing, imagined):
    """P(class) = (n + λ) / (N + K·λ)."""
    sizes = Counter(row[-1] for row in ROWS)
    expected = [share(sizes[label], len(ROWS), 2, imagined) for label in LABELS]

    assert sum(expected) == 1
    assert list(np.exp(estimated(counted(), how, smoothing).log_prior)) == approx(expected)


@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.5])
def test_gaussian_has_the_mean_and_the_variance_plus_epsilon_of_its_class(epsilon):
    """The log-density is -log(2πσ²) / 2 - (x - μ)² / 2σ² with σ² = variance + ε."""
    numbers = {
        "a": [Fraction(17, 10), Fraction(9, 5), Fraction(8, 5)],
        "b": [Fraction(3), Fraction(7, 2), Fraction(5), Fraction(9, 2)],
    }
    moments = sum(
        Moments.of([label], ["x"], n=[[1]], mean=[[float(x)]], variance=[[0.0]])
        for label, own in numbers.items()
        for x in own
    )
    x = Fraction(11, 4)

    got = Gaussian(epsilon=epsilon).estimate(moments, np.array([3.0, 4.0]), moments.classes, Settings(estimate="mle"))
    for k, own in enumerate(numbers.values()):
        mean = sum(own) / len(own)
        variance = sum((value - mean) ** 2 for value in own) / len(own) + Fraction(epsilon)
        expected = -0.5 * math.log(2 * math.pi * variance) - float((x - mean) ** 2 / (2 * variance))
        assert got.log_likelihood(np.array([[float(x)]]))[0, k] == pytest.approx(expected, rel=EXACT)


# -- 002: will there be a date? ---------------------------------------------------------------------------------------


# Five short texts, the words "cheap", "meeting", "today" and "win" counted in each.
TEXTS = {"ham": [[0, 2, 1, 0], [0, 1, 0, 0], [1, 3, 1, 0]], "spam": [[2, 0, 1, 1], [1, 0, 0, 4]]}
WORDS = ["cheap", "meeting", "today", "win"]
TEXT = [1, 0, 2, 1]


def text_table(cell):
    n = [[sum(cell(text[j]) for text in texts) for j in range(len(WORDS))] for texts in TEXTS.values()]
    return Table(Axis(TEXTS), Axis(WORDS), n)


def rows_of_texts():
    return np.array([float(len(texts)) for texts in TEXTS.values()])


@pytest.mark.parametrize(("how", "imagined"), [("mle", 0), ("bayes", 1)])
def test_texts_as_flags_multiply_presence_and_absence(how, imagined):
    """P(text | class) = Π θ^x · (1 - θ)^(1 - x) with θ = (texts with the word + λ) / (texts + 2·λ)."""
    table = text_table(lambda cell: cell > 0)
    flags = Bernoulli().estimate(table, rows_of_texts(), table.classes, Settings(estimate=how))
    got = np.exp(flags.log_likelihood(np.array([TEXT])))[0]

    for k, texts in enumerate(TEXTS.values()):
        there = [share(sum(text[j] > 0 for text in texts), len(texts), 2, imagined) for j in range(4)]
        assert list(np.exp(flags.log_there[k])) == approx(there)
        assert list(np.exp(flags.log_absent[k])) == approx([1 - p for p in there])
        expected = prod(p if x else 1 - p for p, x in zip(there, TEXT, strict=True))
        assert got[k] == pytest.approx(float(expected), rel=EXACT, abs=0)


@pytest.mark.parametrize(("how", "imagined"), [("mle", 0), ("bayes", 1)])
def test_texts_as_bags_of_words_follow_the_multinomial_distribution(how, imagined):
    """P(text | class) = (Σx)! / Πx! · Π θ^x with θ = (occurrences of the word + λ) / (all occurrences + d·λ)."""
    table = text_table(lambda cell: cell)
    words = Words().estimate(table, rows_of_texts(), table.classes, Settings(estimate=how))
    got = np.exp(words.log_likelihood(np.array([TEXT])))[0]
    orders = math.factorial(sum(TEXT)) // prod(math.factorial(x) for x in TEXT)

    for k, texts in enumerate(TEXTS.values()):
        total = sum(map(sum, texts))
        p = [share(sum(text[j] for text in texts), total, 4, imagined) for j in range(4)]
        assert sum(p) == 1
        assert list(np.exp(words.log_p[k])) == approx(p)
        expected = orders * prod(q**x for q, x in zip(p, TEXT, strict=True))
        assert got[k] == pytest.approx(float(expected), rel=EXACT, abs=0)


def test_squared_loss_is_answered_by_the_conditional_mean():
    """E[y | x] has the least expected squared loss, as the derivative says."""
    p = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    mean = sum(q * y for q, y in zip(p, (1, 2, 5), strict=True))

    answer = decide([[float(q) for q in p]], cost="squared", values=[1, 2, 5])

    assert answer[0] == pytest.approx(float(mean), rel=EXACT)


# -- 003: costs and conditional risk ----------------------------------------------------------------------------------

J = [[0, 4, 6], [2, 0, 3], [1, 1, 0]]  # J[i][j]: the loss of calling i what is j
P = [Fraction(1, 2), Fraction(1, 8), Fraction(3, 8)]


def test_conditional_risk_is_the_expected_cost_with_the_transposed_matrix():
    """R(c_i | x) = Σ_j J[i][j] · P(c_j | x); our cost[true, chosen] is the transpose of J."""
    risks = [sum(loss * p for loss, p in zip(line, P, strict=True)) for line in J]
    p = [[float(part) for part in P]]
    cost = np.transpose(J)

    assert list(expected_cost(p, cost)[0]) == approx(risks)
    assert decide(p, cost)[0] == risks.index(min(risks))
    assert decide(p, np.asarray(J))[0] != decide(p, cost)[0]


# -- 004: three estimates side by side --------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "rows", "smoothing"), [(3, 8, 1.5), (0, 5, 2.0), (7, 7, 4.0)])
def test_the_estimates_are_what_they_are_called(n, rows, smoothing):
    """Of a flag: mle maximises the likelihood, map the posterior density, bayes integrates θ over the posterior."""
    table = Table(Axis.declared(["c"]), Axis.declared(["flag"]), [[n]])

    def there(how):
        flags = Bernoulli().estimate(table, np.array([rows]), table.classes, Settings(how, smoothing))
        return float(np.exp(flags.log_there[0, 0]))

    density = beta(n + smoothing, rows - n + smoothing)
    mode = minimize_scalar(lambda p: -density.logpdf(p), bounds=(0, 1), method="bounded", options={"xatol": 1e-10}).x
    with np.errstate(divide="ignore"):
        likelihood = [np.log(p) * n + np.log1p(-p) * (rows - n) for p in np.linspace(1e-9, 1 - 1e-9, 10_001)]
    assert there("mle") == pytest.approx(np.argmax(likelihood) / 10_000, abs=1e-4)
    assert there("map") == pytest.approx(mode, abs=1e-6)
    assert there("bayes") == pytest.approx(quad(lambda p: p * density.pdf(p), 0, 1, epsabs=1e-12)[0], abs=1e-9)


whole = st.integers(0, 50)
DISCRETE = [Categorical(), Bernoulli(), Words(), Words(complement=True), Words(complement=True, norm=True)]
LAMBDA = st.sampled_from([Fraction(0), Fraction(1, 8), Fraction(1, 2), Fraction(1), Fraction(7, 4), Fraction(6)])


@settings(deadline=None, max_examples=60)
@given(
    n=st.lists(st.lists(whole, min_size=3, max_size=3), min_size=2, max_size=2),
    smoothing=LAMBDA,
    family=st.sampled_from(DISCRETE),
)
def test_laplace_is_bayes_with_lambda_and_map_with_one_more(n, smoothing, family):
    """Laplace's λ is the `bayes` λ and the `map` λ + 1, for every discrete family, and for the prior."""
    rows = np.array([150.0, 150.0])
    table = Table(Axis.declared("ab"), Axis.declared("xyz"), n)

    def learned(how, value):
        likelihood = family.estimate(table, rows, table.classes, Settings(how, float(value)))
        likelihood = getattr(likelihood, "tables", [likelihood])[0]
        return getattr(likelihood, "log_there" if isinstance(family, Bernoulli) else "log_p")

    bayes, mode = learned("bayes", smoothing), learned("map", smoothing + 1)
    np.testing.assert_allclose(mode, bayes, rtol=EXACT, atol=EXACT)
    told = table.n[::-1] if getattr(family, "complement", False) else table.n
    for k, line in enumerate(told):
        total = rows[k] if isinstance(family, Bernoulli) else line.sum()
        size = 2 if isinstance(family, Bernoulli) else 3
        if total + size * smoothing > 0:
            expected = [share(int(cell), int(total), size, smoothing) for cell in line]
            assert list(np.exp(bayes[k])) == approx(expected)
    np.testing.assert_allclose(
        empirical_prior(table.n.sum(axis=1), Settings("map", float(smoothing + 1))),
        empirical_prior(table.n.sum(axis=1), Settings("bayes", float(smoothing))),
        rtol=EXACT,
        atol=EXACT,
    )


def test_probabilities_of_a_column_are_the_fractions():
    """P(天气 | 约会): five of eight sunny, three cloudy, none rainy; with λ = 1 a row more of each."""
    plain = book(estimate="mle").fit(TABLE, Y).probabilities("天气").set_index("value")
    smooth = book().fit(TABLE, Y).probabilities("天气").set_index("value")

    yes = [row for row in ROWS if row[-1] == "是"]
    for value in ("晴天", "阴天", "雨天"):
        n = sum(row[2] == value for row in yes)
        assert plain.loc[value, "是"] == pytest.approx(n / 8, rel=EXACT)
        assert smooth.loc[value, "是"] == pytest.approx((n + 1) / 11, rel=EXACT)


def test_a_day_learned_and_forgotten_leaves_the_fractions():
    """Seventeen days one by one, an eighteenth and its end: the counts of the table."""
    nb = book()
    for row in ROWS:
        nb.partial_fit(day(row[:-1]), row[-1])
    nb.partial_fit(day(("周一", "吃饭", "下雪", "轻松", "清零", "精彩")), "也许")
    nb.forget(day(("周一", "吃饭", "下雪", "轻松", "清零", "精彩")), "也许")

    assert nb.counts_ == counted()
    assert f"{nb.predict_proba(day(TODAY))[0, 0]:.15f}".startswith("0.6448882914")


def test_rain_rules_a_date_out_exactly_without_smoothing():
    """A factor of 0 / 8 leaves exactly nothing, whatever the other columns say."""
    model = estimated(counted(), "mle")

    assert posterior(model.log_joint(coded(model, RAINY)), model.log_prior).tolist() == [[1.0, 0.0]]
