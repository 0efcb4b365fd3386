"""True classes may come as labels or as places, and answers without probabilities."""

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
