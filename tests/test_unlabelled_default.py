"""Rows without a label in the default model: counted by their expected labels if held-out rows gain by it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import naively as nv
from naively.errors import InvalidInput

EM = {"unlabelled": "em", "estimate": "map"}
LABELED = 80


def words(rows, seed=0):
    """Return texts of two classes with many rare words each, and the classes: few texts show few of the words."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    texts = [" ".join([*(f"w{k}x{at}" for at in rng.integers(0, 150, 4)), f"s{rng.integers(0, 30)}"]) for k in y]
    return pd.DataFrame({"text": texts}), np.array(["a", "b"])[y]


def misleading(rows, seed=0):
    """Return rows whose largest clusters are not their classes, and the classes."""
    rng = np.random.default_rng(seed)
    cluster, y = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
    columns = {f"c{at}": 4 * cluster + rng.normal(size=rows) for at in range(6)}
    return pd.DataFrame(columns | {"x": 0.8 * y + rng.normal(size=rows)}), np.array(["a", "b"])[y]


def hidden(y, known=LABELED):
    """Return labels of which the first ones are known."""
    return np.where(np.arange(len(y)) < known, y, None)


def loss(nb, X, y):
    return nv.Scores(nb.predict_proba(X), y, nb.classes_).log_loss


@pytest.fixture(scope="module")
def gained():
    X, y = words(1_500)
    return X, y, nv.NaiveBayes(families={"text": nv.Words()}, **EM).fit(X, hidden(y))


def test_expected_labels_are_counted_where_held_out_rows_gain(gained):
    X, y, nb = gained
    fresh, truth = words(2_000, seed=1)
    alone = nv.NaiveBayes(families={"text": nv.Words()}).fit(X[:LABELED], y[:LABELED])
    without, beside = nb.expected_.losses
    assert beside < without
    assert loss(nb, fresh, truth) < 0.9 * loss(alone, fresh, truth)
    assert nb.tuning_.learned.weights == pytest.approx(alone.tuning_.learned.weights)  # the weights stay
    assert "Their expected labels are counted, too" in nb.summary()


def test_other_rows_are_not_used_where_held_out_rows_do_not_gain():
    X, y = misleading(1_000, seed=1)
    nb = nv.NaiveBayes(**EM).fit(X, hidden(y))
    alone = nv.NaiveBayes(estimate="map", unlabelled="skip").fit(X, hidden(y))
    assert nb.expected_ is None
    assert np.array_equal(nb.predict_proba(X), alone.predict_proba(X))
    assert "920 rows have no label and are not used" in nb.summary()
    scores = [one.leave_one_out(X[:LABELED], y[:LABELED]).log_loss for one in (nb, alone)]  # no label took part twice
    assert scores[0] == scores[1]


def test_a_saved_model_has_the_expected_counts_of_pairs(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1_200)
    columns = {
        f"c{at}": np.where(rng.random(1_200) < 0.7, y, rng.integers(0, 12, 1_200)).astype(str) for at in range(12)
    }
    X, y = pd.DataFrame(columns), np.array(["a", "b"])[y]
    nb = nv.NaiveBayes(**EM).fit(X, hidden(y, 50))
    assert nb.expected_ is not None
    pairs, rows = nb.tuning_.learned.joint, nb.counts_.rows + nb.expected_.counts.rows
    assert np.allclose(pairs.rows, rows)
    nb.save(tmp_path / "m.parquet")
    again = nv.load(tmp_path / "m.parquet")
    assert np.abs(again.predict_proba(X) - nb.predict_proba(X)).max() < 1e-12
    assert again.expected_.losses == nb.expected_.losses
    assert np.array_equal(again.tuning_.learned.joint.products, pairs.products)
    assert repr(again.expected_) == repr(nb.expected_)


def test_leave_one_out_is_refused_after_expected_labels(gained):
    X, y, nb = gained
    with pytest.raises(InvalidInput, match="Leave-one-out is not defined"):
        nb.leave_one_out(X[:LABELED], y[:LABELED])


def test_classes_without_labels_are_found_by_the_textbook_model():
    """Clusters, declared classes without a row, and few labels: expectation-maximization as it was."""
    X, y = misleading(300)
    for labels, settings in ((None, {"classes": 2}), (hidden(y), {"classes": ["a", "b", "c"]}), (hidden(y, 30), {})):
        nb = nv.NaiveBayes(**EM, **settings).fit(X, labels)
        assert nb.tuning_.learned is None
        assert nb.expected_.steps > 1
