"""Sparse matrices: of counts, whose rows are texts, and of numbers, whose empty cells are zeros."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

import naively as nv
from naively.errors import InvalidInput, UnreadableFile
from naively.families import numbers as dense
from naively.model.default.rows import CrossFit, FittingRows, deal_out, fold_slices
from naively.model.default.words import DocumentRows

from .test_coefficients import redundant_texts


def counts_of_words(rows: int = 500, words: int = 120, seed: int = 2):
    """Return bags of words of two classes: some words of each, in bursts, and each in company of two others."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    rate = np.full((2, words), 0.04)
    rate[0, :15], rate[1, 15:30] = 0.12, 0.12
    x = rng.poisson(rate[y] * rng.gamma(0.5, 2.0, (rows, words)))
    x[:, 30:60] = x[:, 60:90] = x[:, :30]
    return sparse.csr_array(x.astype(np.float64)), np.array(["no", "yes"])[y]


X, LABELS = counts_of_words()


def loss_of(nb: nv.NaiveBayes, x, y) -> float:
    return nv.Scores(nb.predict_proba(x), np.searchsorted(nb.classes_, y), nb.classes_).log_loss


@pytest.fixture(scope="module")
def fitted() -> nv.NaiveBayes:
    return nv.NaiveBayes().fit(X, LABELS)


def weights_of(nb: nv.NaiveBayes) -> dict[str, float]:
    return {term.kind: by for term, by in nb.tuning_.learned.weights.items()}


# -- what it is for ----------------------------------------------------------------------------------------------------


def test_words_of_a_matrix_have_terms_and_coefficients_as_those_of_texts_have():
    texts, y = redundant_texts(1500, 1, 3)
    counter = CountVectorizer().fit(texts)
    new, y_new = redundant_texts(1500, 2, 3)
    nb, book = (nv.NaiveBayes(model=model).fit(counter.transform(texts), y) for model in ("auto", "textbook"))
    assert loss_of(nb, counter.transform(new), y_new) < loss_of(book, counter.transform(new), y_new) - 0.1
    assert loss_of(nb, counter.transform(new), y_new) < loss_of(nv.NaiveBayes().fit(texts, y), new, y_new) + 0.01
    assert {"words", "words that others lack"} & set(weights_of(nb))
    assert nb.tuning_.learned.words


# -- rows as texts -----------------------------------------------------------------------------------------------------


def test_terms_of_words_are_those_of_the_texts_that_were_counted():
    """Also by the counts without a row's fold."""
    texts, labels = redundant_texts(80, 1)
    counter = CountVectorizer().fit(texts)
    family = nv.Words(vocabulary=list(counter.get_feature_names_out()))
    x, y = counter.transform(texts), np.searchsorted(np.unique(labels), labels).astype(np.int32)
    of_matrix = nv.NaiveBayes().fit(x, labels).fitted_.model.word_associations["X"]
    model = nv.NaiveBayes(families={"text": family}).fit({"text": texts}, labels).fitted_.model
    of_texts, read = model.word_associations["text"], model.read_rows([{"text": text} for text in texts])["text"]
    order, folds = fold_slices(deal_out(y, 5))
    ones = np.ones(len(y))
    cross = CrossFit(None, FittingRows(None, None, {}, y[order], ones, ones, folds), {})
    found = of_matrix.cross(cross, of_matrix.words_of(DocumentRows.of(x, 1)[order]), 1.0)
    for term, values in of_texts.cross(cross, of_texts.words_of(read[order]), 1.0).items():
        assert_allclose(found[term._replace(level="X")], values, atol=1e-5)
    mix = {"words": 0.7, "words that others lack": 0.4}
    assert_allclose(of_matrix.scores(mix, 1.0).word_scores, of_texts.scores(mix, 1.0).word_scores, atol=1e-6)


@pytest.mark.parametrize("form", ["csc", "coo", "dense", "whole numbers", "cells of zero", "cells in parts"])
def test_a_matrix_may_lie_in_any_form(fitted, form):
    x = X.astype(np.int32) if form == "whole numbers" else X
    if form == "cells of zero":
        some = sparse.coo_array(X)
        one = np.append(some.row, 0), np.append(some.col, int(np.flatnonzero(X[[0]].toarray()[0] == 0)[0]))
        x = sparse.coo_array((np.append(some.data, 0.0), one), shape=X.shape).tocsr()
        assert x.nnz == X.nnz + 1
    if form == "cells in parts":
        halves = np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr
        x = sparse.csr_array(halves, shape=X.shape)
        assert not x.has_canonical_format
    x = x.asformat(form) if form in ("csc", "coo") else x
    nb = nv.NaiveBayes(families={"X": "words"}).fit({"X": x.toarray() if form == "dense" else x}, LABELS)
    new = {"X": X.toarray() if form == "dense" else x}
    assert nb.counts_.columns["X"] == fitted.counts_.columns["X"]
    assert_allclose(nb.predict_proba(new), fitted.predict_proba(X), atol=1e-9)


# -- counts ------------------------------------------------------------------------------------------------------------


def test_a_file_whose_matrix_was_counted_as_texts_is_refused(fitted, tmp_path, monkeypatch):
    texts = nv.NaiveBayes(families={"X": nv.Words(hash_width=120)}, model="textbook").fit({"X": ["a", "b"]}, [0, 1])
    said = fitted.schema_.to_json()
    monkeypatch.setattr(type(fitted.schema_), "to_json", lambda self: said)
    texts.save(tmp_path / "m.parquet")
    with pytest.raises(UnreadableFile, match="was counted otherwise than it is read"):
        nv.load(tmp_path / "m.parquet")


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_what_is_no_count_is_refused_before_anything_is_counted(fitted, bad):
    before, x = fitted.counts_, X.copy()
    x.data[40] = bad
    row = int(np.searchsorted(x.indptr, 40, side="right")) - 1
    with pytest.raises(InvalidInput, match=rf"Row {row}, column 'X\[{x.indices[40]}\]'"):
        fitted.partial_fit(x, LABELS)
    assert fitted.counts_ == before


# -- numbers of a sparse matrix, such as tf-idf, are those of the same matrix filled up --------------------------------

TEXTS = [
    "free money now",
    "call me free",
    "hello my friend",
    "meeting at noon",
    "free call",
    "my friend hello noon",
] * 8
SPAM_OR_HAM = ["spam", "spam", "ham", "ham", "spam", "ham"] * 8
TFIDF = TfidfVectorizer().fit_transform(TEXTS)
FAMILIES = {"gaussian": nv.Gaussian(), "wide": nv.Gaussian(epsilon=0.01), "poisson": nv.Poisson()}


@pytest.fixture
def few_rows_at_a_time(monkeypatch):
    """So that a matrix comes in several pieces."""
    monkeypatch.setattr(dense, "DENSE", 5 * TFIDF.shape[1])
    monkeypatch.setattr("naively.counting.arrays.DENSE", 5 * TFIDF.shape[1])


def both(family, **settings):
    sparsely = nv.NaiveBayes(families={"X": family}, **settings).fit(TFIDF, SPAM_OR_HAM)
    return sparsely, nv.NaiveBayes(families={"X": family}, **settings).fit({"X": TFIDF.toarray()}, SPAM_OR_HAM)


@pytest.mark.usefixtures("few_rows_at_a_time")
@pytest.mark.parametrize("model", ["textbook", "auto"])
@pytest.mark.parametrize("family", list(FAMILIES))
def test_empty_cells_are_zeros(family, model):
    a, b = both(FAMILIES[family], model=model)
    assert a.counts_.agrees(b.counts_)
    filled = {"X": TFIDF.toarray()}
    assert np.allclose(a.predict_proba(TFIDF), b.predict_proba(filled), atol=1e-9)
    assert np.allclose(a.score_samples(TFIDF), b.score_samples(filled))
    assert np.allclose(a.explain(TFIDF).scores, b.explain(filled).scores)
    assert a.leave_one_out(TFIDF, SPAM_OR_HAM).log_loss == pytest.approx(
        b.leave_one_out(filled, SPAM_OR_HAM).log_loss, rel=1e-9
    )


@pytest.mark.usefixtures("few_rows_at_a_time")
def test_weights_and_forgetting():
    twice = sparse.vstack([TFIDF, TFIDF]).tocsr()
    heavy = nv.NaiveBayes(families={"X": "gaussian"}, model="textbook").fit(
        TFIDF, SPAM_OR_HAM, sample_weight=np.full(48, 2.0)
    )
    nb = nv.NaiveBayes(families={"X": "gaussian"}, model="textbook").fit(twice, SPAM_OR_HAM * 2)
    assert heavy.counts_.agrees(nb.counts_)
    assert nb.forget(TFIDF, SPAM_OR_HAM).counts_.agrees(
        nv.NaiveBayes(families={"X": "gaussian"}).fit(TFIDF, SPAM_OR_HAM).counts_
    )


@pytest.mark.usefixtures("few_rows_at_a_time")
def test_what_is_too_large_is_refused_before_anything_is_counted():
    nb = nv.NaiveBayes(families={"X": "gaussian"}, model="textbook").fit(TFIDF, SPAM_OR_HAM)
    before, bad = nb.counts_, TFIDF.copy()
    bad.data[40] = np.inf
    row = int(np.searchsorted(bad.indptr, 40, side="right")) - 1
    with pytest.raises(InvalidInput, match=rf"Row {row}, column 'X\[{bad.indices[40]}\]' holds inf"):
        nb.partial_fit(bad, SPAM_OR_HAM)
    assert nb.counts_ == before
