"""Matrices of counts in the default model: their rows are texts, and their columns are words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from naively.model.joint.document_rows import DocumentRows
from naively.model.joint.left_out import HeldOutRows
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

import naively as nv
from naively.errors import InvalidInput, UnreadableFile
from naively.estimator.update import up_to_date
from naively.model.recipe import RECIPE
from naively.stats import Axis, Counts, Table, WordTable

from .test_word_offsets import redundant_texts


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
    return {term.kind: by for term, by in nb._fitted.state.tuning.learned.weights.items()}


# -- what it is for ----------------------------------------------------------------------------------------------------


def test_words_of_a_matrix_have_terms_and_offsets_as_those_of_texts_have():
    texts, y = redundant_texts(1500, 1, 3)
    counter = CountVectorizer().fit(texts)
    new, y_new = redundant_texts(1500, 2, 3)
    nb, book = (nv.NaiveBayes(model=model).fit(counter.transform(texts), y) for model in ("auto", "textbook"))
    assert loss_of(nb, counter.transform(new), y_new) < loss_of(book, counter.transform(new), y_new) - 0.1
    assert loss_of(nb, counter.transform(new), y_new) < loss_of(nv.NaiveBayes().fit(texts, y), new, y_new) + 0.01
    assert {"words", "words that others lack"} & set(weights_of(nb))
    assert nb._fitted.state.tuning.learned.word_offsets


def test_how_large_counts_are_matters_too():
    """Every row holds every word; classes differ in how often alone."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 400)
    x = 1 + rng.poisson(np.where(y[:, None] == np.arange(6) % 2, 3.0, 1.0))
    nb = nv.NaiveBayes().fit(sparse.csr_array(x[:200]), y[:200])
    assert nb.score(sparse.csr_array(x[200:]), y[200:]) > 0.9


# -- rows as texts -----------------------------------------------------------------------------------------------------


def test_terms_of_words_are_those_of_the_texts_that_were_counted():
    """Also with each row left out of the counts."""
    texts, labels = redundant_texts(80, 1)
    counter = CountVectorizer().fit(texts)
    family = nv.Words(vocabulary=list(counter.get_feature_names_out()))
    x, y = counter.transform(texts), np.searchsorted(np.unique(labels), labels).astype(np.int32)
    of_matrix = nv.NaiveBayes().fit(x, labels).fitted_.model.word_associations["X"]
    model = nv.NaiveBayes(families={"text": family}).fit({"text": texts}, labels).fitted_.model
    of_texts, read = model.word_associations["text"], model.read_rows([{"text": text} for text in texts])["text"]
    rows = HeldOutRows(y, np.ones(len(y)))
    found = of_matrix.leave_one_out(DocumentRows.of(x, 1), rows, 1.0)
    for name, values in of_texts.leave_one_out(read, rows, 1.0).items():
        assert_allclose(found[name], values, atol=1e-5)
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


def test_evidence_adds_up(fitted):
    evidence = fitted.explain(X[:40])
    assert_allclose(evidence.log_joint, fitted.predict_joint_log_proba(X[:40]), atol=1e-9)
    assert_allclose(evidence.probabilities, fitted.predict_proba(X[:40]), atol=1e-9)


def test_the_order_of_rows_and_threads_does_not_matter(fitted):
    order = np.random.default_rng(1).permutation(len(LABELS))
    other = nv.NaiveBayes(n_jobs=3).fit(X[order], LABELS[order])
    assert_allclose(other.predict_proba(X), fitted.predict_proba(X), atol=1e-4)


def test_what_is_chosen_on_some_rows_is_not_chosen_on_those_of_one_class(monkeypatch):
    """Some rows follow from their content: whether the table is sorted by class or added up of parts."""
    monkeypatch.setattr(nv.NaiveBayes, "_recipe", replace(RECIPE, word_pseudo_rows=100))
    order, half = np.argsort(LABELS, kind="stable"), len(LABELS) // 2
    nb, shuffled = (nv.NaiveBayes().fit(X[at], LABELS[at]) for at in (order, slice(None)))
    merged = nv.merge(*(nv.NaiveBayes().fit(X[at], LABELS[at]) for at in (slice(0, half), slice(half, None))))
    assert_allclose(nb.predict_proba(X), shuffled.predict_proba(X), rtol=0, atol=1e-12)
    assert_allclose(nb.predict_proba(X), merged.predict_proba(X), rtol=0, atol=1e-12)


def test_a_weight_of_two_is_two_rows_and_one_of_zero_none():
    weights = np.random.default_rng(5).integers(0, 4, len(LABELS))
    often = np.repeat(np.arange(len(LABELS)), weights)
    one = nv.NaiveBayes().fit(X, LABELS, sample_weight=weights.astype(float))
    two = nv.NaiveBayes().fit(X[often], LABELS[often])
    assert one.counts_ == two.counts_
    assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=0.02)


def test_rows_left_out_are_scored_as_rows_that_are_new(fitted):
    new = counts_of_words(2_000, seed=31)
    assert fitted.leave_one_out(X, LABELS).log_loss == pytest.approx(loss_of(fitted, *new), rel=0.2)


def test_words_that_are_set_in_another_form_have_their_textbook_score_alone():
    for family in (nv.Words(complement=True), nv.Bernoulli()):
        nb = nv.NaiveBayes(families={"X": family}).fit(X, LABELS)
        assert set(weights_of(nb)) == {"vectors"}


def test_counts_have_a_likelihood_next_to_their_words(fitted):
    assert "counts" in weights_of(fitted)
    assert "counts of X" in fitted.summary()


# -- counts ------------------------------------------------------------------------------------------------------------


def test_counts_say_how_much_cells_hold_and_in_how_many_rows_they_do(fitted):
    table, x = fitted.counts_.columns["X"], X.toarray()
    for k, label in enumerate(fitted.classes_):
        assert_array_equal(table.n[k], x[label == LABELS].sum(axis=0))
        assert_array_equal(table.n_texts[k], (x[label == LABELS] > 0).sum(axis=0))
    assert table.values == Axis.numbered(120)


def test_parts_add_up_to_the_model_of_all_rows(fitted, tmp_path):
    parts = [nv.NaiveBayes().fit(X[at], LABELS[at]) for at in (slice(0, 200), slice(200, None))]
    parts[0].save(tmp_path / "part.parquet", rows=True)
    merged = nv.merge(nv.load(tmp_path / "part.parquet"), parts[1])
    batches = nv.NaiveBayes().partial_fit(X[:200], LABELS[:200], classes=["no", "yes"])
    batches.partial_fit(X[200:], LABELS[200:])
    more = nv.NaiveBayes().fit(sparse.vstack([X, X[:50]]).tocsr(), [*LABELS, *LABELS[:50]])
    for nb in (merged, batches, more.forget(X[:50], LABELS[:50])):
        assert nb.counts_.columns["X"].agrees(fitted.counts_.columns["X"])
        nb.fitted_ = up_to_date(nb.fitted_)
        assert_allclose(nb.predict_proba(X), fitted.predict_proba(X), atol=1e-4)


def test_a_model_comes_back_from_its_file(fitted, tmp_path):
    fitted.save(tmp_path / "m.parquet")
    back = nv.load(tmp_path / "m.parquet")
    assert back.counts_ == fitted.counts_
    assert back.schema_ == fitted.schema_
    assert_allclose(back.predict_proba(X), fitted.predict_proba(X), atol=1e-12)
    back.save(tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "m.parquet").read_bytes()


def test_counts_without_a_model_are_a_column_of_vectors():
    counts = nv.count(X, LABELS)
    nb = nv.NaiveBayes.from_counts(Counts(counts.classes, counts.rows, counts.columns), model="textbook")
    assert nb.schema_["X"].type == "vector"
    whole = nv.NaiveBayes(model="textbook").fit(X, LABELS)
    assert_allclose(nb.predict_proba(X), whole.predict_proba(X), atol=1e-12)
    assert_allclose(nb.partial_fit(X, LABELS).predict_proba(X).sum(axis=1), 1.0)


def test_tables_of_counts_made_by_hand_go_on():
    """Nobody counted the rows that hold a word: they are taken to hold it once."""
    x = X.toarray()
    table = Table(Axis(["no", "yes"]), Axis.numbered(120), [x[label == LABELS].sum(axis=0) for label in ("no", "yes")])
    rows = [(label == LABELS).sum() for label in ("no", "yes")]
    nb = nv.NaiveBayes.from_counts(Counts(["no", "yes"], rows, {"X": table}), model="textbook")
    twice = nv.NaiveBayes(model="textbook").fit(sparse.vstack([X, X]).tocsr(), [*LABELS, *LABELS])
    assert_allclose(nb.partial_fit(X, LABELS).predict_proba(X), twice.predict_proba(X), atol=1e-12)
    assert isinstance(nb.counts_.columns["X"], WordTable)


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
