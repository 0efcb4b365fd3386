"""Scores are of the answers that are given: decisions under costs, rows without an answer, numbers."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

import naively as nv
from naively.cli import main

from .strategies import checked


def table(rows=300, seed=0):
    """Return two numbers and a class that they say something of, as whole numbers 1 and 2."""
    rng = np.random.default_rng(seed)
    y = rng.choice([1, 2], rows, p=[0.7, 0.3])
    return pd.DataFrame({"a": rng.normal(size=rows) + y, "b": rng.normal(size=rows) + 0.5 * y}), y


def told(*arguments):
    """Return what a command says as JSON."""
    done = CliRunner().invoke(main, [*map(str, arguments), "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def said(*arguments):
    """Return what a command prints."""
    done = CliRunner().invoke(main, [*map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.stdout


def drawn(seed, classes, choices, rows):
    """Return probabilities, true places, weights and costs."""
    rng = np.random.default_rng(seed)
    posterior = rng.dirichlet(np.ones(classes), rows)
    cost = rng.integers(0, 9, (classes, choices)) / 2.0
    return posterior, rng.integers(0, classes, rows), rng.choice([0.5, 1.0, 3.0], rows), cost


# -- the figures are those of the decisions ----------------------------------------------------------------------------


@checked
@given(
    st.integers(0, 10**6),
    st.integers(2, 4),
    st.integers(0, 2),
    st.sampled_from([None, 0.0, 0.4, 1.1]),
    st.booleans(),
)
def test_every_figure_of_decisions_is_that_of_a_plain_loop(seed, classes, more, reject, named):
    posterior, truth, weights, cost = drawn(seed, classes, classes + more, 40)
    labels = [f"c{k}" for k in range(classes)]
    choices = [*labels, *(f"look {j}" for j in range(more))][: classes + more][::-1]  # in another order
    frame = pd.DataFrame(cost, columns=choices, index=labels)
    w = weights if named else np.ones(40)
    scores = nv.Scores(posterior, truth, labels, weights if named else None, frame, reject)
    paid, right, answered, table = 0.0, 0.0, 0.0, {}
    for p, t, x in zip(posterior, truth, w, strict=True):
        expected = p @ cost
        best = int(np.argmin(expected))
        none = reject is not None and expected[best] > reject
        paid += x * (reject if none else cost[t, best])
        answered += x * (not none)
        right += x * (not none and choices[best] == labels[t])
        key = labels[t], None if none else choices[best]
        table[key] = table.get(key, 0.0) + x
    assert scores.mean_cost == pytest.approx(paid / w.sum(), rel=1e-12)
    assert scores.coverage == pytest.approx(answered / w.sum(), rel=1e-12)
    assert scores.accuracy == pytest.approx(right / answered if answered else math.nan, rel=1e-12, nan_ok=True)
    assert scores.confusion_columns == ((*choices, None) if reject is not None else tuple(choices))
    for k, true in enumerate(labels):
        for j, choice in enumerate(scores.confusion_columns):
            assert scores.confusion[k, j] == pytest.approx(table.get((true, choice), 0.0))
    within = [
        table.get((k, k), 0.0) / n
        for k in labels
        if (n := sum(x for (true, choice), x in table.items() if true == k and choice is not None))
    ]
    assert scores.balanced_accuracy == pytest.approx(np.mean(within) if within else math.nan, nan_ok=True)


@checked
@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(1, 5), st.sampled_from([None, 0.2, 1.0, 3.0]))
def test_the_baseline_is_the_cheapest_of_all_constant_answers(seed, classes, choices, reject):
    posterior, truth, weights, cost = drawn(seed, classes, choices, 30)
    labels = tuple("abcd"[:classes])
    baseline = nv.Scores(posterior, truth, labels, weights, cost, reject).baseline
    constants = [float(weights @ cost[truth, j] / weights.sum()) for j in range(choices)]
    cheapest = min(constants) if reject is None else min(*constants, reject)
    assert baseline.mean_cost == pytest.approx(cheapest, rel=1e-9)
    assert len(set(baseline.answers.tolist())) == 1
    if baseline.coverage:
        assert constants[baseline.answers[0]] == pytest.approx(min(constants))
    else:
        assert reject is not None
        assert reject <= min(constants) + 1e-9


@checked
@given(st.integers(0, 10**6), st.sampled_from(["squared", "absolute"]), st.sampled_from([None, 0.5, 2.0]))
def test_numbers_are_compared_with_the_best_constant_number(seed, cost, reject):
    posterior, truth, weights, _ = drawn(seed, 4, 1, 50)
    values = np.array([1, 2, 5, 9])
    scores = nv.Scores(posterior, values[truth], values, weights, cost, reject)
    power = 2 if cost == "squared" else 1
    answers = nv.decide(posterior, cost, reject, values)
    gaps = np.where(np.isnan(answers), reject or 0.0, np.abs(answers - values[truth]) ** power)
    assert scores.mean_cost == pytest.approx(weights @ gaps / weights.sum())
    grid = np.linspace(1, 9, 801)  # every constant answer to a hundredth
    paid = (weights[:, None] * np.abs(grid - values[truth][:, None]) ** power).sum(axis=0).min() / weights.sum()
    assert scores.baseline.mean_cost == pytest.approx(paid if reject is None else min(paid, reject), abs=1e-3)
    assert scores.skill == pytest.approx(1 - scores.mean_cost / scores.baseline.mean_cost)
    assert math.isnan(scores.accuracy)
    assert math.isnan(scores.balanced_accuracy)
    found = json.loads(scores.to_json())
    assert found["accuracy"] is found["confusion"] is found["choices"] is None
    assert "accuracy" not in str(scores)
    assert "mean cost" in str(scores)


def test_text_json_and_frame_agree_with_reject():
    """The baseline abstains where that costs least."""
    posterior, truth, _, _ = drawn(2, 3, 3, 100)
    scores = nv.Scores(posterior, truth, "abc", None, [[0, 1, 5], [2, 0, 1], [1, 9, 0]], 0.6)
    found, table = json.loads(scores.to_json()), pd.DataFrame(scores.frame()).set_index("score")
    for name in ("coverage", "accuracy", "balanced_accuracy", "mean_cost"):
        assert found[name] == table.loc[name, "model"] == getattr(scores, name)
        constant = getattr(scores.baseline, name)
        assert found["baseline"][name] == (None if math.isnan(constant) else constant)
    assert 0 < scores.coverage < 1
    assert found["choices"] == ["a", "b", "c", None]
    assert sum(map(sum, found["confusion"])) == found["rows"] == 100
    assert f"{scores.coverage:.1%}".replace("%", " %") in str(scores)
    scores = nv.Scores([[0.9, 0.1], [0.4, 0.6]], ["a", "b"], "ab", reject=0.1)
    assert scores.baseline.mean_cost == 0.1
    assert "never answering" in str(scores).splitlines()[0]
    assert scores.to_dict()["baseline"]["answer"] is None


# -- evaluate and score() agree with predict ---------------------------------------------------------------------------


@pytest.mark.parametrize("reject", [None, 0.3])
def test_evaluate_scores_the_answers_of_predict(tmp_path, monkeypatch, reject):
    monkeypatch.chdir(tmp_path)
    X, y = table()
    X.assign(y=y).to_csv("t.csv", index=False)
    asked = ["--cost", "2,1=5", *([] if reject is None else ["--reject", reject])]
    said("fit", "t.csv", "-t", "y", "-o", "m.parquet", "--quiet", "--cv", 0)
    found = told("evaluate", "m.parquet", "t.csv", *asked)
    said("predict", "m.parquet", "t.csv", "-o", "a.parquet", *asked, "--quiet")
    answers = pd.read_parquet("a.parquet")["answer"]
    given = answers.notna().to_numpy()
    assert found["coverage"] == pytest.approx(given.mean())
    assert found["accuracy"] == pytest.approx((answers.to_numpy()[given] == y[given]).mean())
    assert found["accuracy"] != pytest.approx(told("evaluate", "m.parquet", "t.csv")["accuracy"], abs=0.01)
    nb = nv.load("m.parquet").set_params(cost={(2, 1): 5}, reject=reject)
    assert nb.score(X, y) == pytest.approx((nb.predict(X) == y).mean())
    assert nb.score("t.csv", target="y") == nb.score(X, y)
    if reject is not None:
        assert nb.score(X, y) == pytest.approx(found["accuracy"] * found["coverage"])
        assert "(no answer)" in said("evaluate", "m.parquet", "t.csv", *asked)


def test_score_is_scikit_learns_where_every_row_is_answered():
    X, y = table()
    w = np.random.default_rng(0).uniform(0.5, 2, len(y))
    nb = nv.NaiveBayes().fit(X, y)
    assert nb.score(X, y) == pytest.approx(metrics.accuracy_score(y, nb.predict(X)))
    assert nb.score(X, y, w) == pytest.approx(metrics.accuracy_score(y, nb.predict(X), sample_weight=w))
    assert nb.score(X, y, sample_weight=w) == nb.score(X.assign(y=y), target="y", sample_weight=w)
    strange = np.where(np.arange(len(y)) < 30, 7, y)  # a class it was never shown
    assert nb.score(X, strange) == pytest.approx((nb.predict(X) == strange).mean())


# -- classes that a model never saw ------------------------------------------------------------------------------------


def test_a_class_never_seen_is_no_choice_and_costs_what_mistakes_cost(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = table()
    X.assign(y=y).to_csv("t.csv", index=False)
    X.assign(y=np.where(np.arange(len(y)) < 60, 3, y)).to_csv("new.csv", index=False)
    said("fit", "t.csv", "-t", "y", "-o", "m.parquet", "--quiet", "--cv", 0)
    asked = ["--cost", "2,1=9", "--cost", "1,2=9"]
    found = told("evaluate", "m.parquet", "new.csv", *asked)
    assert found["classes"] == [1, 2, 3]
    assert found["choices"] == [1, 2]
    nb = nv.load("m.parquet").set_params(cost={(2, 1): 9, (1, 2): 9})
    answers = nb.predict(X)
    truth = pd.read_csv("new.csv")["y"].to_numpy()
    paid = np.where(truth == 3, 1.0, 9.0 * (answers != truth))
    assert found["mean_cost"] == pytest.approx(paid.mean())
    assert found["accuracy"] == pytest.approx((answers == truth).mean())
    nb.set_params(cost=[[0, 9], [9, 0]]).save("matrix.parquet")
    found = told("evaluate", "matrix.parquet", "new.csv")
    assert found["accuracy"] == pytest.approx((answers == truth).mean())
    assert found["mean_cost"] is None  # a matrix has no price for it
