"""Classes of few rows: the textbook's evidence of them stands beside the other, with a weight that rows decide."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import naively as nv
from naively.errors import StaleWarning
from naively.estimator import tuner
from naively.model.joint.associations import HeldOutRows
from naively.model.joint.rare_classes import RareClasses, label_scores, label_scores_left_out, laplace_ratios, rarity
from naively.model.joint.terms import Term
from naively.model.recipe import RECIPE
from naively.model.tuning import TextbookScores

pytestmark = pytest.mark.thorough


def drawn(seed, sizes, columns=20, numbers=0, asked=60):
    """Return a table of labels and numbers with classes of such sizes, and as many other rows of each class."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(4), size=(len(sizes), columns))
    centres = 2 * rng.normal(size=(len(sizes), numbers))

    def rows(of):
        y = np.repeat(np.arange(len(sizes)), of)
        table = {f"n{j}": centres[y, j] + rng.normal(size=len(y)) for j in range(numbers)}
        for j in range(columns):
            which = (rng.random(len(y))[:, None] > np.cumsum(shares[y, j], axis=1)).sum(axis=1)
            table[f"c{j}"] = np.array(["p", "q", "r", "s"])[np.minimum(which, 3)]
        return pd.DataFrame(table), y

    return rows(sizes), rows([asked] * len(sizes))


def losses(nb, X, y):
    """Return the log loss of each class."""
    own = nb.predict_log_proba(X)[np.arange(len(y)), y]
    return np.array([-own[y == label].mean() for label in range(len(nb.classes_))])


# -- closed forms ------------------------------------------------------------------------------------------------------


def test_labels_of_a_rare_class_are_read_as_if_the_row_had_not_been_counted():
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, 4, 40).astype(np.int32), rng.integers(0, 3, 40).astype(np.int32)
    n = np.zeros((3, 4))
    np.add.at(n, (y, codes), 1.0)
    for label in range(3):
        found = label_scores_left_out(n, label, codes, HeldOutRows(y, np.ones(40)))
        for row in range(40):
            without = n.copy()
            without[y[row], codes[row]] -= 1
            assert found[row] == pytest.approx(label_scores(without)[label, codes[row]])


def test_a_missing_label_contributes_nothing():
    codes = np.array([-1, 0], dtype=np.int32)
    found = label_scores_left_out(np.ones((2, 2)), 0, codes, HeldOutRows(np.zeros(2, dtype=np.int32), np.ones(2)))
    assert found[0] == 0
    assert found[1] != 0


def test_laplace_lifts_a_label_by_its_proportion_of_all_rows():
    found = laplace_ratios(np.array(1.0), 2.0, np.array(9.0), 38.0, 2)
    assert found == pytest.approx(np.log((2 / 4) / (10 / 40)))


def test_only_classes_under_twenty_rows_are_rare_and_empty_ones_contribute_nothing():
    assert rarity(np.array([0.0, 2.0, 10.0, 20.0, 500.0]), RECIPE.rare_rows).tolist() == [0.0, 0.9, 0.5, 0.0, 0.0]
    assert RareClasses(np.array([0.0, 2.0, 20.5, 21.0, 500.0]), RECIPE).classes == [
        1,
        2,
    ]  # the third without one of its rows


def test_a_class_is_as_rare_as_it_is_without_the_row():
    left = RareClasses(np.array([2.0, 100.0]), RECIPE).rarity_left_out(
        HeldOutRows(np.array([0, 1], dtype=np.int32), np.ones(2))
    )
    assert np.allclose(left, [[0.95, 0.9], [0.0, 0.0]])


# -- what it is worth --------------------------------------------------------------------------------------------------


def test_rare_classes_gain_and_the_others_do_not_lose(monkeypatch):
    sizes, found = [300, 300, 2, 4, 8], {"with": [], "without": []}
    monkeypatch.setattr(tuner, "_textbook_scores", lambda *given: TextbookScores(9.0, 0.0))  # the joint model is kept
    for seed in range(8):
        (X, y), (asked, truth) = drawn(seed, sizes)
        for name, least in (("with", 20.0), ("without", 1e-9)):
            monkeypatch.setattr(nv.NaiveBayes, "_recipe", replace(RECIPE, rare_rows=least))
            found[name].append(losses(nv.NaiveBayes().fit(X, y), asked, truth))
    after, before = (np.mean(found[name], axis=0) for name in ("with", "without"))
    assert after[2:].mean() < before[2:].mean() - 0.1
    assert after[:2].mean() < before[:2].mean() + 0.005


def test_rare_classes_are_nearly_as_well_off_as_in_the_textbook_model(monkeypatch):
    found = []
    for seed in range(16):
        (X, y), (asked, truth) = drawn(seed, [200, 200, 2, 4, 8], columns=8 + seed % 8, numbers=seed % 4)
        both = [losses(nv.NaiveBayes(model=model).fit(X, y), asked, truth) for model in ("auto", "textbook")]
        with monkeypatch.context() as patch:  # without evidence of their own, and without the comparison
            patch.setattr(tuner, "_textbook_scores", lambda *given: TextbookScores(9.0, 0.0))
            patch.setattr(nv.NaiveBayes, "_recipe", replace(RECIPE, rare_rows=1e-9))
            found.append([*both, losses(nv.NaiveBayes().fit(X, y), asked, truth)])
    ours, book, before = np.mean(found, axis=0)
    assert ours[2:].mean() - book[2:].mean() < 0.5 * (before[2:].mean() - book[2:].mean())
    assert ours[:2].mean() < min(book[:2].mean(), before[:2].mean()) + 0.005


def test_tables_without_rare_classes_do_not_change_in_any_digit(monkeypatch):
    X, y = load_iris(return_X_y=True)
    after = nv.NaiveBayes().fit(X, y).predict_proba(X)
    monkeypatch.setattr(nv.NaiveBayes, "_recipe", replace(RECIPE, rare_rows=1e-9))
    assert np.array_equal(nv.NaiveBayes().fit(X, y).predict_proba(X), after)


# -- what stays true ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    """Return a model that believes the textbook of its rare classes, and its rows."""
    (X, y), _ = drawn(1, [200, 200, 3, 5], columns=12, numbers=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuner, "_textbook_scores", lambda *given: TextbookScores(9.0, 0.0))  # the joint model is kept
        nb = nv.NaiveBayes().fit(X, y)
    assert any(piece.kind == "rare" for piece in nb.tuning_.learned.weights)
    return nb, X, y


def test_evidence_adds_up_with_rare_classes(fitted):
    nb, X, _ = fitted
    evidence = nb.explain(X)
    assert np.abs(evidence.log_joint - nb.predict_joint_log_proba(X)).max() < 1e-9
    assert "rare classes by textbook naive Bayes" in nb.summary()


def test_rare_evidence_is_saved(fitted, tmp_path):
    nb, X, _ = fitted
    nb.save(tmp_path / "model.parquet")
    twin = nv.load(tmp_path / "model.parquet")
    assert np.array_equal(twin.predict_proba(X), nb.predict_proba(X))
    assert {p for p in twin.tuning_.learned.weights if p.kind == "rare"} <= {
        Term("rare", "student_t"), Term("rare", "labels")
    }  # fmt: skip


def test_leave_one_out_of_rare_classes_is_near_to_counting_without_the_row(fitted):
    nb, X, y = fitted
    left = nb.leave_one_out(X, y).posterior
    rows = [0, 250, 400, 402, 404, 407]
    for row in rows:
        other = copy.copy(nb).drop_rows()  # so that the weights stay
        with pytest.warns(StaleWarning):
            other.forget(X[row : row + 1], y[row : row + 1])
        assert np.abs(other.predict_proba(X[row : row + 1])[0] - left[row]).max() < 0.15
