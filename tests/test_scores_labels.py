"""True classes may come as labels or as places, and answers without probabilities."""

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import metrics

import naively as nv
from naively.errors import InvalidInput

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


@pytest.mark.parametrize("classes", [(1, 2), np.array([1, 2]), (1.0, 2.0)])
def test_integers_are_labels_if_the_classes_are_numbers(classes):
    assert nv.Scores(P, [1, 2, 2], classes).truth.tolist() == [0, 1, 1]
    assert nv.Scores.from_indices(P, [0, 1, 1], classes).truth.tolist() == [0, 1, 1]
    with pytest.raises(InvalidInput, match=r"truth\[0\] is 0, which is none of 1"):
        nv.Scores(P, [0, 1, 1], classes)


@pytest.mark.parametrize(
    ("classes", "truth"),
    [
        ((0, 1), [0, 1, 1]),
        ((False, True), [False, True, True]),
        ((False, True), [0, 1, 1]),
        (("1", "0"), ["1", "0", "0"]),
        (("1", "0"), [0, 1, 1]),
    ],
)
def test_labels_and_places_are_the_same_for_classes_that_count_from_0(classes, truth):
    """Digits as text are labels, and numbers then places."""
    assert nv.Scores(P, truth, classes).truth.tolist() == [0, 1, 1]


@pytest.mark.parametrize("kind", [int, str, float])
def test_scores_of_a_models_own_labels_need_no_places(kind):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.choice([3, 7, 11], 200)
    X[:, 0] += y
    labels = y.astype(kind)
    nb = nv.NaiveBayes().fit(X, labels)
    assert nv.Scores(nb.predict_proba(X), labels, nb.classes_).accuracy == pytest.approx(
        (nb.predict(X) == labels).mean()
    )
    assert nv.cross_validate(X, labels, cv=4, model="textbook").accuracy > 0.9
    assert nb.leave_one_out(X, labels).accuracy > 0.9


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


def test_answers_alone_have_no_figures_of_probabilities():
    scores = nv.Scores.from_labels(["a", "b", "b"], ["a", "b", "a"])
    found = json.loads(scores.to_json())
    for name in ("log_loss", "brier", "calibration_error", "auc"):
        assert math.isnan(getattr(scores, name))
        assert found[name] is found["baseline"][name] is None
        assert name.replace("_", " ") not in str(scores)
    assert list(pd.DataFrame(scores.frame())["score"]) == ["accuracy", "balanced_accuracy", "mean_cost"]
    assert len(pd.DataFrame(scores.reliability())) == 0


@pytest.mark.parametrize("none", [None, math.nan, pd.NA])
def test_no_answer_is_none(none):
    scores = nv.Scores.from_labels(["a", "b", "b", "a"], ["a", "b", none, "b"], reject=0.25)
    assert scores.coverage == 0.75
    assert scores.accuracy == pytest.approx(2 / 3)
    assert scores.mean_cost == pytest.approx((0.25 + 1) / 4)
    assert scores.confusion_columns == ("a", "b", None)
    assert scores.confusion.tolist() == [[1, 1, 0], [0, 1, 1]]


def test_what_a_model_answered_with_reject_can_be_scored_by_labels():
    rng = np.random.default_rng(0)
    y = rng.choice(["x", "y"], 300)
    X = {"a": rng.normal(size=300) + (y == "x")}
    nb = nv.NaiveBayes(reject=0.3, cost={("x", "y"): 2}).fit(X, y)
    by_labels = nv.Scores.from_labels(y, nb.predict(X), cost=nb.cost, reject=nb.reject)
    by_chances = nv.Scores(nb.predict_proba(X), y, nb.classes_, cost=nb.cost, reject=nb.reject)
    for name in ("coverage", "accuracy", "balanced_accuracy", "mean_cost", "skill"):
        assert getattr(by_labels, name) == pytest.approx(getattr(by_chances, name))
    np.testing.assert_array_equal(by_labels.confusion, by_chances.confusion)


def test_an_answer_that_is_no_class_is_a_mistake():
    scores = nv.Scores.from_labels(["a", "b"], ["a", "spam"], classes=["a", "b"])
    assert scores.accuracy == scores.mean_cost == 0.5
    assert scores.confusion_columns == ("a", "b", "spam")
    numbers = nv.Scores.from_labels([1, 2, 4], [1.5, 2.0, math.nan], cost="squared", reject=3.0)
    assert numbers.mean_cost == pytest.approx((0.25 + 0 + 3) / 3)


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
