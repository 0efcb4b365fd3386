"""Numbers of a sparse matrix, such as tf-idf, are those of the same matrix filled up."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.naive_bayes import GaussianNB

import naively as nv
from naively.errors import InvalidInput
from naively.families import numbers as dense

TEXTS = [
    "free money now",
    "call me free",
    "hello my friend",
    "meeting at noon",
    "free call",
    "my friend hello noon",
] * 8
LABELS = ["spam", "spam", "ham", "ham", "spam", "ham"] * 8
X = TfidfVectorizer().fit_transform(TEXTS)
FAMILIES = {"gaussian": nv.Gaussian(), "wide": nv.Gaussian(epsilon=0.01), "poisson": nv.Poisson()}


@pytest.fixture(autouse=True)
def few_rows_at_a_time(monkeypatch):
    """So that a matrix comes in several pieces."""
    monkeypatch.setattr(dense, "DENSE", 5 * X.shape[1])
    monkeypatch.setattr("naively.counting.wide.DENSE", 5 * X.shape[1])


def both(family, **settings):
    sparsely = nv.NaiveBayes(families={"X": family}, **settings).fit(X, LABELS)
    return sparsely, nv.NaiveBayes(families={"X": family}, **settings).fit({"X": X.toarray()}, LABELS)


@pytest.mark.parametrize("model", ["textbook", "auto"])
@pytest.mark.parametrize("family", list(FAMILIES))
def test_empty_cells_are_zeros(family, model):
    a, b = both(FAMILIES[family], model=model)
    assert a.counts_.agrees(b.counts_)
    filled = {"X": X.toarray()}
    assert np.allclose(a.predict_proba(X), b.predict_proba(filled), atol=1e-9)
    assert np.allclose(a.score_samples(X), b.score_samples(filled))
    assert np.allclose(a.explain(X).scores, b.explain(filled).scores)
    assert a.leave_one_out(X, LABELS).log_loss == pytest.approx(b.leave_one_out(filled, LABELS).log_loss, rel=1e-9)


def test_gaussian_on_tfidf_answers_as_scikit_learn():
    ours = nv.NaiveBayes(families={"X": nv.Gaussian(epsilon=1e-3)}, estimate="mle", model="textbook").fit(X, LABELS)
    smoothing = 1e-3 / X.toarray().var(axis=0).max()
    theirs = GaussianNB(var_smoothing=smoothing).fit(X.toarray(), LABELS)
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X.toarray()), atol=1e-7)


def test_weights_and_forgetting():
    twice = sparse.vstack([X, X]).tocsr()
    heavy = nv.NaiveBayes(families={"X": "gaussian"}, model="textbook").fit(X, LABELS, sample_weight=np.full(48, 2.0))
    nb = nv.NaiveBayes(families={"X": "gaussian"}, model="textbook").fit(twice, LABELS * 2)
    assert heavy.counts_.agrees(nb.counts_)
    assert nb.forget(X, LABELS).counts_.agrees(nv.NaiveBayes(families={"X": "gaussian"}).fit(X, LABELS).counts_)


def test_what_is_too_large_is_refused_before_anything_is_counted():
    nb = nv.NaiveBayes(families={"X": "gaussian"}, model="textbook").fit(X, LABELS)
    before, bad = nb.counts_, X.copy()
    bad.data[40] = np.inf
    row = int(np.searchsorted(bad.indptr, 40, side="right")) - 1
    with pytest.raises(InvalidInput, match=rf"Row {row}, column 'X\[{bad.indices[40]}\]' holds inf"):
        nb.partial_fit(bad, LABELS)
    assert nb.counts_ == before
