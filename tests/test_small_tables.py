"""Small tables: what is scored is what is kept, whichever model that is, and rows may come bit by bit."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import naively as nv
from naively.errors import StaleWarning, TextbookFallbackWarning
from naively.estimator import folds
from naively.estimator.update import up_to_date
from naively.model.default.model import DefaultModel
from naively.model.table_model import TableModel


def either_or(rows, seed=0):
    """Return a table whose class follows from two columns together, and from neither alone."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, (2, rows))
    X = pd.DataFrame({"a": np.array(["x", "y"])[a], "b": np.array(["u", "v"])[b], "n": rng.normal(size=rows)})
    return X, np.where(a ^ b, "odd", "even")


def flowers(rows=150):
    """Return irises in mixed order, with a column of labels."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    at = np.random.default_rng(0).permutation(150)[:rows]
    X = X.iloc[at].reset_index(drop=True)
    return X.assign(wide=np.where(X.iloc[:, 1] > 3, "yes", "no")), np.array(["a", "b", "c"])[y.to_numpy()[at]]


def kind(nb):
    return type(nb.fitted_.model)


# -- folds -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [50, 55, 62])
def test_folds_are_answered_by_the_kind_of_model_that_is_kept(rows, monkeypatch):
    X, y = either_or(rows)
    kinds, before = [], folds._posterior_of
    monkeypatch.setattr(folds, "_posterior_of", lambda f, *rest: kinds.append(type(f.model)) or before(f, *rest))
    scores = nv.cross_validate(X, y, cv=10)
    assert kinds == [kind(nv.NaiveBayes().fit(X, y))] * 10 == [DefaultModel] * 10
    others, truth = either_or(500, seed=1)
    kept = np.mean(nv.NaiveBayes().fit(X, y).predict(others) == truth)
    assert abs(scores.accuracy - kept) < 0.1  # the textbook would be right in about half


def test_a_fold_that_cannot_be_fitted_is_answered_by_the_textbook_with_a_warning():
    X, y = either_or(60)
    with pytest.warns(TextbookFallbackWarning, match="A fold leaves 6 rows of 2 classes"):
        nv.cross_validate(X, y, cv=[(np.arange(6), np.arange(6, 60))])


def test_files_score_what_is_kept_too(tmp_path):
    X, y = either_or(56)
    X.assign(label=y).to_csv(tmp_path / "few.csv", index=False)
    nb = nv.NaiveBayes()
    done = nv.fit_files(nb, tmp_path / "few.csv", "label", cv=5)
    assert kind(nb) is DefaultModel
    assert done.scores.accuracy > 0.9 > done.textbook_scores.accuracy


# -- rows that come bit by bit -----------------------------------------------------------------------------------------


def test_batches_of_ten_rows_reach_the_default_model():
    X, y = flowers(100)
    nb, kinds = nv.NaiveBayes(), []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for begin in range(0, 100, 10):
            nb.partial_fit(X[begin : begin + 10], y[begin : begin + 10])
            kinds.append(kind(nb))
    assert kinds == [TableModel] * 4 + [DefaultModel] * 6
    whole = nv.NaiveBayes().fit(X, y)
    assert nb.calibrated_  # fitted anew, as more than one row in twenty came
    assert np.allclose(nb.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-9)


def test_one_row_at_a_time_after_five_reaches_it_too():
    X, y = flowers(52)
    nb = nv.NaiveBayes().partial_fit(X[:5], y[:5], classes=["a", "b", "c"])
    for row in range(5, 50):
        assert kind(nb) is TableModel
        nb.partial_fit(X.iloc[row].to_dict(), y[row])
    whole = nv.NaiveBayes().fit(X[:50], y[:50])
    nb.fitted_ = up_to_date(nb.fitted_)  # it would be by itself one row in twenty later
    assert np.allclose(nb.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-9)
    weights = nb.tuning_.learned
    nb.partial_fit(X.iloc[50].to_dict(), y[50])
    assert nb.counts_.rows.sum() == 51
    assert nb.calibrated_
    assert nb.fitted_.state.tuning.learned is weights  # one row in fifty: weights are those of the other fifty


def test_a_saved_model_holds_no_rows_and_counts_those_that_come(tmp_path):
    X, y = flowers(120)
    nv.NaiveBayes().partial_fit(X[:30], y[:30]).save(tmp_path / "model.parquet")
    twin = nv.load(tmp_path / "model.parquet").partial_fit(X[30:60], y[30:60])
    twin.partial_fit(X[60:], y[60:])
    assert kind(twin) is TableModel  # 30 rows were too few to fit weights to, and nothing is fitted since
    assert twin.counts_ == nv.NaiveBayes(model="textbook").fit(X, y).counts_
    assert twin.kept_rows_.rows == 0


def test_rows_that_are_dropped_leave_weights_as_they_are():
    X, y = either_or(120)
    nb = nv.NaiveBayes().partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    weights, answers = nb.tuning_.learned.weights, nb.predict_proba(X)
    assert nb.drop_rows().kept_rows_.rows == 0
    assert np.array_equal(nb.predict_proba(X), answers)
    with pytest.warns(StaleWarning):
        nb.forget(X[100:], y[100:])
    assert nb.tuning_.learned.weights == weights
    assert nb.counts_.rows.sum() == 100


def test_rows_of_one_class_are_kept_until_another_comes():
    X, _ = either_or(120)
    nb = nv.NaiveBayes()
    for begin in range(0, 100, 20):
        nb.partial_fit(X[begin : begin + 20], ["even"] * 20)
        assert kind(nb) is TableModel
    nb.partial_fit(X[100:], ["odd"] * 20)
    whole = nv.NaiveBayes().fit(X, ["even"] * 100 + ["odd"] * 20)
    assert np.allclose(nb.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-9)


# -- rows of little weight ---------------------------------------------------------------------------------------------


# -- rows that come in other forms, and go -----------------------------------------------------------------------------
