"""Words in the default model: terms by counts without the fold, coefficients that end at the optimum and stay known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import naively as nv
from naively.model.default.rows import CrossFit, FittingRows, deal_out, fold_slices
from naively.model.default.words import WordAssociations, WordRows, WordState
from naively.model.recipe import RECIPE
from naively.text import TextRows

from .tables import CLASSES, TEXTS, Y

COPIES = 6


def redundant_texts(rows: int, seed: int, classes: int = 2) -> tuple[list[str], np.ndarray]:
    """Return texts in which one word counts as several that always come with it: counts are far too sure of them."""
    rng = np.random.default_rng(seed)
    texts, y = [], rng.integers(0, classes, rows)
    for own in y:
        said = int(own) if rng.random() < 0.7 else int(rng.integers(classes))
        words = [f"topic{said}x{copy}" for copy in range(COPIES)]
        for at in range(8):  # single words, each on its own
            right = int(own) if rng.random() < 0.55 else int(rng.integers(classes))
            words.append(f"word{at}of{right}")
        words += [f"noise{rng.integers(400)}" for _ in range(6)]
        texts.append(" ".join(rng.permutation(words)))
    return texts, np.array([f"class {own}" for own in y])


def coefficients_of(nb: nv.NaiveBayes):
    return nb.tuning_.learned.words


def log_loss(nb: nv.NaiveBayes, texts: list[str], y: np.ndarray) -> float:
    logs = nb.predict_log_proba(texts)
    return float(-logs[np.arange(len(y)), np.searchsorted(nb.classes_, y)].mean())


# -- terms -------------------------------------------------------------------------------------------------------------


def texts_in_folds(family, weights, test=None):
    """Return a model, its texts as cross-fitting reads them, and the texts in that order."""
    nb = nv.NaiveBayes(families={"text": family}, model="textbook").fit(TEXTS, Y, sample_weight=weights)
    y = np.array([CLASSES.index(label) for label in Y], dtype=np.int32)
    order, folds = fold_slices(deal_out(y, 4))
    rows = FittingRows(None, None, {}, y[order], weights[order], weights[order], folds)
    cross = CrossFit(None, rows, {}, None if test is None else folds[test])
    return nb, cross, [TEXTS[at] for at in order]


def associations_of(family, counts):
    return WordAssociations("text", family, counts.columns["text"], counts.rows, counts.classes)


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("family", [nv.Words(pairs=True), nv.Words(ngram_range=(1, 1))], ids=["pairs", "words"])
@pytest.mark.parametrize(("weighted", "test"), [(False, None), (True, None), (True, 1)])
def test_texts_are_scored_as_by_a_model_that_was_counted_without_their_fold(family, weighted, test):
    weights = np.where(np.arange(len(TEXTS)) % 2, 0.5, 1.0) if weighted else np.ones(len(TEXTS))
    nb, cross, texts = texts_in_folds(family, weights, test)
    family, reader = nb.schema_["text"].family, nb.counts_.columns["text"].lexicon
    whole = associations_of(family, nb.counts_)
    found = whole.cross(cross, whole.words_of(TextRows(reader, texts)), 1.0)
    assert len(found) == (4 if whole.group.any() else 2)
    for fold in cross.rows.folds:
        gone = np.zeros(len(texts), bool)
        gone[fold] = True
        if cross.test is not None:
            gone[cross.test] = True
        labels = [CLASSES[k] for k in cross.rows.y[gone]]
        part = [text for text, out in zip(texts, gone, strict=True) if out]
        rest = nb.counts_ - nv.count(part, labels, schema=nb.schema_, sample_weight=cross.rows.weights[gone])
        of_rest, read = associations_of(family, rest), TextRows(reader, texts[fold])
        for term, values in found.items():
            one = of_rest.scores({term.kind: 1.0}, 1.0)
            scores, squares = read.measured(*one._by_number, "once")
            expected = (scores / np.sqrt(np.maximum(squares, 1.0))[:, None]).T
            own = values[:, fold] - values[:, fold].mean(axis=0)
            np.testing.assert_allclose(own, expected - expected.mean(axis=0), atol=1e-5, err_msg=str(term))


# -- coefficients ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("classes", [2, 5])
def test_a_fit_ends_where_the_slope_of_the_penalized_loss_is_zero(classes, monkeypatch):
    """The coefficient of a word is its variance over the ridge times the residuals of the rows that hold it.

    A row is left where its residual is off by a thousandth.
    """
    monkeypatch.setattr("naively.model.default.words.PASSES", 500)
    monkeypatch.setattr("naively.model.default.words.TOLERANCE", 1e-7)
    rng = np.random.default_rng(classes)
    held = rng.random((80, 12)) < 0.3
    starts = np.concatenate([[0], np.cumsum(held.sum(axis=1))])
    lengths = (1 / np.sqrt(np.maximum(held.sum(axis=1), 1))).astype(np.float32)
    words = WordRows(starts, np.nonzero(held)[1].astype(np.int32), lengths)
    y, weights = rng.integers(0, classes, 80).astype(np.int32), rng.random(80) + 0.5
    scales, scores = (rng.random(12) + 0.2).astype(np.float32), rng.normal(size=(classes, 80))
    visited = np.flatnonzero(np.arange(80) % 4).astype(np.int32)
    state = WordState(words, scales, scores, y, weights, visited)
    for ridge in (3.0, 0.3):
        state.fit(ridge)
    z = state.all_scores().astype(float)
    p = np.exp(z - z.max(axis=1, keepdims=True))
    residual = (np.eye(classes)[y] - p / p.sum(axis=1, keepdims=True)) * weights[:, None]
    x = (held * lengths[:, None])[visited]
    slope = state.table[:, :classes] * state.ridge / scales[:, None] - x.T @ residual[visited]
    assert (np.abs(slope) < 2e-3 * x.sum(axis=0)[:, None]).all()
    assert np.abs(state.table).max() > 0.5


@pytest.fixture(scope="module")
def fitted() -> nv.NaiveBayes:
    return nv.NaiveBayes().fit(*redundant_texts(1500, 1, 3))


def test_coefficients_lower_the_loss_on_new_texts(fitted):
    texts, y = redundant_texts(1500, 2, 3)
    recipe = replace(RECIPE, excluded=("coefficients of words",))
    without = type("WithoutCoefficients", (nv.NaiveBayes,), {"_recipe": recipe})().fit(*redundant_texts(1500, 1, 3))
    assert coefficients_of(fitted)
    assert not coefficients_of(without)
    assert log_loss(fitted, texts, y) < log_loss(without, texts, y) - 0.01


def test_contributions_of_words_add_up_to_the_score(fitted):
    texts = redundant_texts(1, 6, 3)[0]
    model = fitted.fitted_.model
    _, by_word = model.scorer.terms["text"].by_word(text_rows(fitted, texts))
    scores, found = by_word.sum(axis=0) + model.scorer.log_prior, model.scorer.log_joint(text_rows_of(fitted, texts), 1)
    np.testing.assert_allclose(scores - scores[0], found[0] - found[0, 0], atol=1e-9)


def text_rows_of(nb: nv.NaiveBayes, texts: list[str]):
    return nb.fitted_.model.read_rows([{"text": text} for text in texts])


def text_rows(nb: nv.NaiveBayes, texts: list[str]):
    return text_rows_of(nb, texts)["text"]


def test_words_of_forgotten_texts_have_no_coefficient():
    texts, y = redundant_texts(800, 11)
    secret = [f"topic0x0 topic0x1 secretword{at % 3} secretword" for at in range(12)]
    nb = nv.NaiveBayes().fit([*texts, *secret], np.append(y, ["class 0"] * 12))
    nb.forget(secret, np.array(["class 0"] * 12))
    nb.predict(texts[:1])
    for found in coefficients_of(nb).values():
        assert not any("secret" in str(label) for label in found.labels)
        assert not any("secret" in name for name in found.lexicon.names())


def test_hashed_words_have_coefficients(tmp_path):
    nb = nv.NaiveBayes(families={"text": nv.Words(hash_width=4096)}).fit(*redundant_texts(1500, 1, 3))
    assert coefficients_of(nb)
    nb.save(tmp_path / "model.parquet")
    texts = redundant_texts(100, 12, 3)[0]
    np.testing.assert_array_equal(nv.load(tmp_path / "model.parquet").predict_proba(texts), nb.predict_proba(texts))


def test_two_columns_of_texts_beside_a_number():
    (texts, y), (others, _) = redundant_texts(1200, 13), redundant_texts(1200, 14)
    table = {"said": texts, "beside": others, "number": np.random.default_rng(15).normal(size=1200)}
    nb = nv.NaiveBayes(families={"said": nv.Words(), "beside": nv.Words()}).fit(table, y)
    assert "beside" not in coefficients_of(nb), "words that have nothing to do with the class"
    model = nb.fitted_.model
    columns = model.read_rows([{name: column[at] for name, column in table.items()} for at in range(20)])
    whole = model.contributions(columns, 1).scores.sum(axis=1) + model.base
    wanted = model.scorer.log_joint(columns, 1)
    np.testing.assert_allclose(whole - whole[:, :1], wanted - wanted[:, :1], atol=1e-6)
