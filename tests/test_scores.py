"""Scores agree with scikit-learn and plain loops, whatever the truth is given as, and have standard errors."""

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.model_selection import KFold

import naively as nv
from naively.cli import main
from naively.errors import InvalidInput

from .strategies import checked


def drawn(classes, rows=200, weighted=False, ties=False):
    """Return probabilities, true classes and weights, drawn at random; rounded, many of them tie."""
    rng = np.random.default_rng(classes)
    posterior = rng.dirichlet(np.ones(classes), rows)
    if ties:
        posterior = np.round(posterior * 4)
        posterior[posterior.sum(axis=1) == 0, 0] = 1.0
        posterior /= posterior.sum(axis=1, keepdims=True)
    truth = np.array([rng.choice(classes, p=0.5 * p + 0.5 / classes) for p in posterior])
    return posterior, truth, rng.choice([0.0, 0.5, 1.0, 4.0], rows) if weighted else None


CASES = [(k, weighted, ties) for k in (2, 3, 5) for weighted in (False, True) for ties in (False, True)]
each_case = pytest.mark.parametrize(("classes", "weighted", "ties"), CASES)


@each_case
def test_the_figures_are_those_of_scikit_learn_and_of_plain_loops(classes, weighted, ties):
    p, truth, w = drawn(classes, weighted=weighted, ties=ties)
    scores, answers = nv.Scores(p, truth, range(classes), w), p.argmax(axis=1)
    weights = np.ones(len(truth)) if w is None else w
    assert scores.rows == weights.sum()
    assert scores.accuracy == pytest.approx(metrics.accuracy_score(truth, answers, sample_weight=w), rel=1e-12)
    balanced = metrics.balanced_accuracy_score(truth, answers, sample_weight=w)
    assert scores.balanced_accuracy == pytest.approx(balanced, rel=1e-12)
    clipped = np.clip(p, 1e-15, 1)  # scikit-learn takes less than this for this, too, and divides by the sum
    clipped /= clipped.sum(axis=1, keepdims=True)
    assert scores.log_loss == pytest.approx(metrics.log_loss(truth, clipped, sample_weight=w), rel=1e-9)
    one = p[:, 1] if classes == 2 else p
    assert scores.auc == pytest.approx(metrics.roc_auc_score(truth, one, sample_weight=w, multi_class="ovr"), rel=1e-12)
    np.testing.assert_allclose(scores.confusion, metrics.confusion_matrix(truth, answers, sample_weight=w), rtol=1e-12)
    brier, bins = 0.0, {}
    for row, t, x in zip(p, truth, weights, strict=True):
        brier += x * sum((q - (k == t)) ** 2 for k, q in enumerate(row))
        n = bins.setdefault(min(int(row.max() * 15), 14), [0.0, 0.0, 0.0])
        n[0], n[1], n[2] = n[0] + x, n[1] + x * row.max(), n[2] + x * (row.argmax() == t)
    assert scores.brier == pytest.approx(brier / weights.sum(), rel=1e-12)
    if classes == 2:
        assert scores.brier == pytest.approx(2 * metrics.brier_score_loss(truth, p[:, 1], sample_weight=w), rel=1e-9)
    met = {at: n for at, n in sorted(bins.items()) if n[0] > 0}
    error = sum(n[0] / weights.sum() * abs(n[1] / n[0] - n[2] / n[0]) for n in met.values())
    assert scores.calibration_error == pytest.approx(error, rel=1e-9)
    table = pd.DataFrame(scores.reliability())
    assert table["from"].tolist() == pytest.approx([at / 15 for at in met])
    lines = [[n[0], n[1] / n[0], n[2] / n[0]] for n in met.values()]
    np.testing.assert_allclose(table[["rows", "confidence", "accuracy"]], lines, rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reject", [None, 0.3])
def test_the_mean_cost_is_what_the_decisions_cost(weighted, reject):
    p, truth, w = drawn(3, weighted=weighted)
    cost = np.array([[0.0, 1.0, 5.0, 0.6], [2.0, 0.0, 1.0, 0.6], [1.0, 9.0, 0.0, 0.6]])  # the last choice is no class
    weights = np.ones(len(truth)) if w is None else w
    paid = 0.0
    for row, t, x in zip(p, truth, weights, strict=True):
        expected = row @ cost
        best = int(expected.argmin())
        paid += x * (reject if reject is not None and expected[best] > reject else cost[t, best])
    scores = nv.Scores(p, truth, "abc", w, cost, reject)
    assert scores.mean_cost == pytest.approx(paid / weights.sum(), rel=1e-12)
    assert math.isnan(scores.accuracy)  # choices without a name are no classes
    simple = nv.Scores(p, truth, "abc", w)
    assert simple.mean_cost == pytest.approx(1 - simple.accuracy)


def test_the_figures_come_as_a_frame_as_json_and_as_text():
    p, truth, _ = drawn(2)
    scores = nv.Scores(p, np.array([10, 20])[truth], np.array([10, 20]))
    found = json.loads(scores.to_json())
    assert found == scores.to_dict()
    assert found["classes"] == [10, 20]
    assert found["confusion"] == scores.confusion.tolist()
    table = pd.DataFrame(scores.frame()).set_index("score")
    for name in ("accuracy", "balanced_accuracy", "log_loss", "brier", "calibration_error", "auc", "mean_cost"):
        assert found[name] == table.loc[name, "model"] == getattr(scores, name)
        assert found["baseline"][name] == table.loc[name, "baseline"] == getattr(scores.baseline, name)
    lines = str(scores).splitlines()
    most = [10, 20][int(np.bincount(truth).argmax())]
    assert lines[0].split() == ["200", "rows", "model", "always", str(most)]
    assert f"{100 * scores.accuracy:.1f} %" in lines[1]
    assert f"{scores.log_loss:.4f}" in lines[3]
    assert repr(scores) == str(scores)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (([[0.5, 0.5]], [0, 1], "ab"), r"The posterior has the shape \(1, 2\); give the shape \(2, 2\)"),
        (([[0.5, 0.5]], [0], "abc"), r"give the shape \(1, 3\)"),
        ((np.empty((0, 2)), np.empty(0, int), "ab"), "at least one of both"),
        (([[0.5, 0.5]], [2], "ab"), "or its index, an integer from 0 to 1"),
        (([[0.5, 0.5]], [-1], "ab"), "truth must hold the label of each row's class, one of"),
        (([[0.5, 0.5]], ["c"], "ab"), r"truth\[0\] is 'c', which is none of 'a', 'b'. Give labels"),
        (([[0.5, 0.5]], [0], "ab", [0.0]), "must contain at least one non-zero number"),
        (([[0.5, 0.5]], [0], "ab", [1.0, 2.0]), r"weights.shape == \(2,\), expected \(1,\)"),
        (([[0.5, 0.5]], [0], "ab", [-1.0]), r"weights\[0\] is -1; a row weighs a finite number of 0 or more"),
    ],
)
def test_what_cannot_be_scored_is_refused(given, words):
    with pytest.raises(InvalidInput, match=words):
        nv.Scores(*given)


# -- true classes may come as labels or as places, and answers without probabilities -----------------------------------

P = [[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]]


@pytest.mark.parametrize(
    "truth",
    [
        ["no", "yes", "yes"],
        np.array(["no", "yes", "yes"]),
        pd.Series(["no", "yes", "yes"], index=[5, 6, 7]),
        pd.Series(["no", "yes", "yes"], dtype="category"),
        pl.Series(["no", "yes", "yes"]),
        np.array([["no"], ["yes"], ["yes"]], dtype=object),
        pd.DataFrame({"truth": ["no", "yes", "yes"]}),
        [0, 1, 1],
        np.array([0, 1, 1], dtype=np.uint8),
    ],
    ids=["list", "array", "series", "categories", "Polars", "column", "frame", "places", "small places"],
)
def test_truth_is_labels_or_places_of_classes_that_are_texts(truth):
    scores = nv.Scores(P, truth, ("no", "yes"))
    assert scores.truth.tolist() == [0, 1, 1]
    assert scores.accuracy == pytest.approx(2 / 3)


# -- answers alone -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [str, int, float, object])
def test_answers_alone_have_the_figures_of_scikit_learn(kind):
    rng = np.random.default_rng(1)
    truth, answers = (rng.integers(3, 6, 100).astype(kind) for _ in range(2))
    w = rng.uniform(0.5, 2, 100)
    scores = nv.Scores.from_labels(truth, answers, weights=w)
    assert scores.accuracy == pytest.approx(metrics.accuracy_score(list(truth), list(answers), sample_weight=w))
    balanced = metrics.balanced_accuracy_score(list(truth), list(answers), sample_weight=w)
    assert scores.balanced_accuracy == pytest.approx(balanced)
    matrix = metrics.confusion_matrix(list(truth), list(answers), sample_weight=w)
    np.testing.assert_allclose(scores.confusion, matrix)
    assert scores.mean_cost == pytest.approx(1 - scores.accuracy)


@pytest.mark.parametrize("none", [None, math.nan, pd.NA])
def test_no_answer_is_none(none):
    scores = nv.Scores.from_labels(["a", "b", "b", "a"], ["a", "b", none, "b"], reject=0.25)
    assert scores.coverage == 0.75
    assert scores.accuracy == pytest.approx(2 / 3)
    assert scores.mean_cost == pytest.approx((0.25 + 1) / 4)
    assert scores.confusion_columns == ("a", "b", None)
    assert scores.confusion.tolist() == [[1, 1, 0], [0, 1, 1]]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: nv.Scores.from_labels(["a"], ["a", "b"]), "There are 1 true labels and 2 answers"),
        (lambda: nv.Scores.from_labels([], []), "at least one"),
        (lambda: nv.Scores.from_labels(["a", None], ["a", "a"]), r"truth\[1\] is None"),
        (lambda: nv.Scores.from_labels([1, 2], ["x", 2], cost="squared"), "answers must be numbers"),
        (lambda: nv.Scores.from_labels(["a"], ["a"], cost="squared"), "needs numbers as classes"),
        (lambda: nv.Scores([[0.5, 0.5]], ["a"], "ab", cost="dear"), "cost='dear' is unknown"),
        (lambda: nv.Scores([[0.5, 0.5]], [["a", "b"]], "ab"), "one label for each row"),
        (lambda: nv.Scores([[0.5, 0.5]], [0], "ab", folds=[0, 1]), "folds must be an integer for each of the 1"),
        (lambda: nv.Scores([[0.5, 0.5]], [0], "ab", folds=["x"]), "folds must be an integer"),
        (lambda: nv.Scores([[]], [0], ()), "There is no class"),
    ],
)
def test_invalid_labels_are_refused_with_advice(call, words):
    with pytest.raises(InvalidInput, match=words):
        call()


@pytest.mark.parametrize("posterior", [[[18.0, 2.0]], [[float("nan"), 1.0]], [[-0.1, -2.3]], [[1.2, -0.2]]])
def test_what_are_no_probabilities_is_refused(posterior):
    with pytest.raises(InvalidInput, match=r"Row 0 of the posterior holds .* sum to 1"):
        nv.Scores(posterior, ["a"], ("a", "b"))


# -- figures come with their standard errors ---------------------------------------------------------------------------

FIGURES = ("accuracy", "balanced_accuracy", "log_loss", "brier", "calibration_error", "auc", "mean_cost")


def few_rows(rows=200, seed=0):
    rng = np.random.default_rng(seed)
    posterior = rng.dirichlet(np.ones(3), rows)
    truth = np.array([rng.choice(3, p=0.5 * p + 1 / 6) for p in posterior])
    return posterior, truth, rng.integers(0, 5, rows), rng.uniform(0.5, 2, rows)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_spread_over_folds_is_the_standard_error_of_their_figures(weighted):
    posterior, truth, folds, weights = few_rows()
    w = weights if weighted else None
    scores = nv.Scores(posterior, truth, "abc", w, folds=folds)
    parts = [
        nv.Scores(posterior[at], truth[at], "abc", None if w is None else w[at])
        for at in (folds == number for number in range(5))
    ]
    table = pd.DataFrame(scores.by_fold())
    assert table["fold"].tolist() == [0, 1, 2, 3, 4]
    assert table["rows"].tolist() == pytest.approx([part.rows for part in parts])
    for name in FIGURES:
        values = [getattr(part, name) for part in parts]
        assert table[name].tolist() == pytest.approx(values)
        assert scores.spread[name] == pytest.approx(np.std(values, ddof=1) / math.sqrt(5))


def test_the_spread_over_rows_is_the_standard_error_of_their_mean():
    posterior, truth, _, _ = few_rows()
    scores = nv.Scores(posterior, truth, "abc")
    right = posterior.argmax(axis=1) == truth
    losses = -np.log(posterior[np.arange(200), truth])
    assert scores.spread["accuracy"] == pytest.approx(np.std(right, ddof=1) / math.sqrt(200))
    assert scores.spread["log_loss"] == pytest.approx(np.std(losses, ddof=1) / math.sqrt(200))
    assert scores.spread["mean_cost"] == pytest.approx(scores.spread["accuracy"])
    assert math.isnan(scores.spread["auc"])


def test_cross_validation_returns_the_fold_of_each_row():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    splits = list(KFold(4, shuffle=True, random_state=0).split(X))
    scores = nv.cross_validate(X, y, cv=splits, model="textbook")
    for number, (_, test) in enumerate(splits):
        assert (scores.folds[test] == number).all()
    dealt = nv.cross_validate(X, y, cv=5, model="textbook")
    assert np.bincount(dealt.folds).tolist() == [12] * 5
    twice = nv.cross_validate(X, y, cv=[(np.arange(30), np.arange(30, 60))] * 2, model="textbook")
    assert sorted(twice.folds.tolist()) == [0] * 30 + [1] * 30


# -- scores are of the answers that are given --------------------------------------------------------------------------


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


def drawn_decisions(seed, classes, choices, rows):
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
    posterior, truth, weights, cost = drawn_decisions(seed, classes, classes + more, 40)
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
    posterior, truth, weights, cost = drawn_decisions(seed, classes, choices, 30)
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
