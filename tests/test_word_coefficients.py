"""Offsets of words in the default model: they help, add up, are saved, go with their rows, and stay away from noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from naively.model.joint.sample import RowClasses
from naively.model.joint.word_offset_fitting import frequent_words
from naively.model.joint.word_offsets import WordOffsetScores, word_scales

import naively as nv
from naively.model.recipe import RECIPE

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


def offsets_of(nb: nv.NaiveBayes):
    return nb._fitted.state.tuning.learned.word_offsets


def log_loss(nb: nv.NaiveBayes, texts: list[str], y: np.ndarray) -> float:
    logs = nb.predict_log_proba(texts)
    return float(-logs[np.arange(len(y)), np.searchsorted(nb.classes_, y)].mean())


@pytest.fixture(scope="module")
def fitted() -> nv.NaiveBayes:
    return nv.NaiveBayes().fit(*redundant_texts(1500, 1, 3))


def test_offsets_lower_the_loss_on_new_texts(fitted):
    texts, y = redundant_texts(1500, 2, 3)
    recipe = replace(RECIPE, left_out=("offsets of words",))
    without = type("WithoutOffsets", (nv.NaiveBayes,), {"_recipe": recipe})().fit(*redundant_texts(1500, 1, 3))
    assert offsets_of(fitted)
    assert not offsets_of(without)
    assert log_loss(fitted, texts, y) < log_loss(without, texts, y) - 0.01


def test_the_stated_loss_is_that_of_new_texts(fitted):
    stated = list(fitted._fitted.state.tuning.learned.loss.values())[-1]
    assert stated == pytest.approx(log_loss(fitted, *redundant_texts(3000, 3, 3)), rel=0.1)


def test_random_labels_get_no_offsets():
    texts, _ = redundant_texts(600, 4)
    y = np.random.default_rng(5).permutation(np.repeat(["a", "b"], 300))
    found = nv.NaiveBayes().fit(texts, y)._fitted.state.tuning.learned
    assert found is None or not found.word_offsets


def test_contributions_of_words_add_up_to_the_score(fitted):
    texts = redundant_texts(1, 6, 3)[0]
    model = fitted._fitted.model
    _, by_word = model.scorer.terms["text"].by_word(text_rows(fitted, texts))
    scores, found = by_word.sum(axis=0) + model.scorer.log_prior, model.scorer.log_joint(text_rows_of(fitted, texts), 1)
    np.testing.assert_allclose(scores - scores[0], found[0] - found[0, 0], atol=1e-9)


def text_rows_of(nb: nv.NaiveBayes, texts: list[str]):
    return nb._fitted.model.read_rows([{"text": text} for text in texts])


def text_rows(nb: nv.NaiveBayes, texts: list[str]):
    return text_rows_of(nb, texts)["text"]


def test_a_saved_model_answers_as_before(fitted, tmp_path):
    fitted.save(tmp_path / "model.parquet")
    loaded, texts = nv.load(tmp_path / "model.parquet"), redundant_texts(200, 7, 3)[0]
    np.testing.assert_array_equal(loaded.predict_proba(texts), fitted.predict_proba(texts))
    assert {n: len(found.numbers) for n, found in offsets_of(loaded).items()} == {
        n: len(found.numbers) for n, found in offsets_of(fitted).items()
    }


def test_one_text_is_answered_as_many(fitted):
    texts = redundant_texts(50, 8, 3)[0]
    together = fitted.predict_proba(texts)
    np.testing.assert_array_equal(np.vstack([fitted.predict_proba([text]) for text in texts]), together)


def test_the_order_of_rows_does_not_matter(fitted):
    texts, y = redundant_texts(1500, 1, 3)
    order = np.random.default_rng(9).permutation(len(y))
    other = nv.NaiveBayes().fit([texts[at] for at in order], y[order])
    asked = redundant_texts(200, 10, 3)[0]
    np.testing.assert_allclose(other.predict_proba(asked), fitted.predict_proba(asked), atol=5e-3)


def test_words_of_forgotten_texts_have_no_offset():
    texts, y = redundant_texts(800, 11)
    secret = [f"topic0x0 topic0x1 secretword{at % 3} secretword" for at in range(12)]
    nb = nv.NaiveBayes().fit([*texts, *secret], np.append(y, ["class 0"] * 12))
    nb.forget(secret, np.array(["class 0"] * 12))
    nb.predict(texts[:1])
    for found in offsets_of(nb).values():
        assert not any("secret" in str(label) for label in found.labels)
        assert not any("secret" in name for name in found.lexicon.names())


def test_hashed_words_have_offsets(tmp_path):
    nb = nv.NaiveBayes(families={"text": nv.Words(hash_width=4096)}).fit(*redundant_texts(1500, 1, 3))
    assert offsets_of(nb)
    nb.save(tmp_path / "model.parquet")
    texts = redundant_texts(100, 12, 3)[0]
    np.testing.assert_array_equal(nv.load(tmp_path / "model.parquet").predict_proba(texts), nb.predict_proba(texts))


def test_two_columns_of_texts_beside_a_number():
    (texts, y), (others, _) = redundant_texts(1200, 13), redundant_texts(1200, 14)
    table = {"said": texts, "beside": others, "number": np.random.default_rng(15).normal(size=1200)}
    nb = nv.NaiveBayes(families={"said": nv.Words(), "beside": nv.Words()}).fit(table, y)
    assert "beside" not in offsets_of(nb), "words that have nothing to do with the class"
    evidence = nb._fitted.model
    columns = evidence.read_rows([{name: column[at] for name, column in table.items()} for at in range(20)])
    whole = evidence.contributions(columns, 1).scores.sum(axis=1) + evidence.scorer.log_prior
    wanted = evidence.scorer.log_joint(columns, 1)
    np.testing.assert_allclose(whole - whole[:, :1], wanted - wanted[:, :1], atol=1e-6)


def test_a_row_is_taken_back_by_its_residual():
    scores, truth = np.zeros((2, 3)), RowClasses(np.array([0, 1, 0], dtype=np.int32))
    found = WordOffsetScores(np.zeros((3, 2), dtype=np.float32), np.array([0.0, 1.0, 2.0], dtype=np.float32))
    left = found.without_own(scores, truth, np.ones(3))
    np.testing.assert_allclose(left, [[0.0, 0.5, -1.0], [0.0, -0.5, 1.0]])


def test_words_of_a_single_row_have_no_offset():
    assert frequent_words(np.array([0, 1, 1, 3, 3, 3], dtype=np.int32), 5, 2).tolist() == [1, 3]


def test_words_that_classes_differ_in_have_the_larger_scale():
    scales = word_scales(np.array([[8, 8], [16, 0]], dtype=np.float32), np.array([50.0, 50.0]), 0.5)
    assert scales[0] == pytest.approx(0.25)
    assert scales[1] > scales[0]
