"""Scores agree with the metrics of scikit-learn, and with plain loops where it has none."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

import naively as nv
from naively.errors import InvalidInput


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


def test_a_class_without_rows_is_not_in_means():
    p, truth, _ = drawn(3)
    some = truth != 2
    scores = nv.Scores(p[some], truth[some], "abc")
    areas = [metrics.roc_auc_score(truth[some] == k, p[some, k]) for k in (0, 1)]
    assert scores.auc == pytest.approx(np.mean(areas))
    within = [np.mean(p[truth == k].argmax(axis=1) == k) for k in (0, 1)]
    assert scores.balanced_accuracy == pytest.approx(np.mean(within))


def test_the_baseline_knows_the_frequencies_and_nothing_else():
    p, truth, w = drawn(3, weighted=True)
    baseline = nv.Scores(p, truth, "abc", w).baseline
    shares = np.bincount(truth, w) / w.sum()
    assert baseline.accuracy == pytest.approx(shares.max())
    assert baseline.log_loss == pytest.approx(-(shares @ np.log(shares)))
    assert baseline.balanced_accuracy == pytest.approx(1 / 3)
    assert baseline.auc == pytest.approx(0.5)
    assert baseline.calibration_error == pytest.approx(0.0, abs=1e-12)


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
