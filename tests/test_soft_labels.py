"""Soft labels with the default model: rows that belong to several classes by proportions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import naively as nv

NAMES = ["a", "b", "c"]


def table(rows=400, seed=0):
    """Return numbers and labels that depend on each other within a class, and classes."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, rows, p=[0.5, 0.4, 0.1])
    shared = rng.normal(size=rows)
    X = pd.DataFrame({"n0": shared + y, "n1": shared - y + rng.normal(size=rows) / 2, "n2": rng.normal(size=rows)})
    X["w0"] = np.array(["p", "q", "r", "s"])[(rng.integers(0, 3, rows) + (y == 1)) % 4]
    X["w1"] = np.where((X.w0 == "p") ^ (y == 2) ^ (rng.random(rows) < 0.2), "u", "v")
    return X, y


def softened(y, least=0.5, seed=1):
    """Return soft labels: a third of the rows are certain, the others more or less."""
    rng = np.random.default_rng(seed)
    p = np.where(rng.random(len(y)) < 1 / 3, 1.0, rng.uniform(least, 1.0, len(y)))
    q = np.repeat((1 - p)[:, None] / 2, 3, axis=1)
    q[np.arange(len(y)), y] = p
    return pd.DataFrame(q, columns=NAMES)


# -- counting ----------------------------------------------------------------------------------------------------------


def test_zeros_and_ones_are_labels():
    X, y = table()
    hard = nv.NaiveBayes().fit(X, np.array(NAMES)[y])
    soft = nv.NaiveBayes().fit(X, pd.DataFrame(np.eye(3)[y], columns=NAMES))
    assert np.array_equal(hard.predict_proba(X), soft.predict_proba(X))
    assert soft.tuning_.learned is not None
    assert soft.leave_one_out(X, np.array(NAMES)[y]).log_loss == hard.leave_one_out(X, np.array(NAMES)[y]).log_loss


def test_labels_that_are_nearly_certain_give_nearly_the_model_of_labels():
    """All rows take the way of soft labels, and all terms and weights come out as on the other one."""
    X, y = table()
    hard = nv.NaiveBayes().fit(X, np.array(NAMES)[y])
    soft = nv.NaiveBayes().fit(X, pd.DataFrame(np.eye(3)[y] * (1 - 3e-10) + 1e-10, columns=NAMES))
    assert np.abs(hard.predict_proba(X) - soft.predict_proba(X)).max() < 1e-5


def test_two_halves_twice_are_each_label_once_in_the_counts_of_pairs():
    X, y = table()
    twice, other = pd.concat([X, X], ignore_index=True), (y + 1) % 3
    halves = pd.DataFrame((np.eye(3)[y] + np.eye(3)[other]) / 2, columns=NAMES)
    soft = nv.NaiveBayes().fit(twice, pd.concat([halves, halves], ignore_index=True))
    hard = nv.NaiveBayes().fit(twice, np.array(NAMES)[np.concatenate([y, other])])
    assert soft.counts_.agrees(hard.counts_)
    joint, other = (nb.tuning_.learned.joint for nb in (soft, hard))
    assert np.allclose(joint.products, other.products)
    assert np.allclose(joint.fine, other.fine)


def test_class_weights_multiply_proportions():
    X, y = table()
    q, by = softened(y), {"a": 1.0, "b": 2.0, "c": 5.0}
    weighted = nv.NaiveBayes(class_weight=by).fit(X, q)
    by_hand = nv.NaiveBayes().fit(X, q * np.array([1.0, 2.0, 5.0]))
    assert weighted.counts_.rows == pytest.approx(q.to_numpy().sum(axis=0) * [1, 2, 5])
    assert np.abs(weighted.predict_proba(X) - by_hand.predict_proba(X)).max() < 1e-9


# -- the whole model ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    X, y = table(600)
    q = softened(y)
    return X, y, q, nv.NaiveBayes().fit(X, q)


def test_the_default_model_is_better_than_the_textbook_model(fitted):
    X, _, q, nb = fitted
    fresh, truth = table(3_000, seed=9)
    labels = np.array(NAMES)[truth]
    textbook = nv.NaiveBayes(model="textbook").fit(X, q)
    losses = [nv.Scores(one.predict_proba(fresh), labels, one.classes_).log_loss for one in (nb, textbook)]
    assert losses[0] < 0.9 * losses[1]
    assert "default model" in nb.summary()


def test_weights_are_fitted_anew_by_calibrate(fitted):
    X, _, q, nb = fitted
    again = nv.NaiveBayes().fit(X, q).calibrate(X, q)
    assert again.calibrated_
    assert np.abs(again.predict_proba(X) - nb.predict_proba(X)).max() < 1e-9
