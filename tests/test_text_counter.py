"""TextCounter gives what CountVectorizer gives, on whatever texts come in, and says clearly what it cannot read."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer

from naively.errors import InvalidInput
from naively.sklearn import TextCounter

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
SETS = json.loads((DATA / "datasets.json").read_text("utf-8")) if (DATA / "datasets.json").exists() else {}
SETS = {name: facts for name, facts in SETS.items() if facts["task"] == "text"}
needs_sets = pytest.mark.skipif(not SETS, reason="needs the data sets of ../shared/data beside the repository")

TEXTS = [
    "The quick brown fox jumps over the lazy dog.",
    "Ünïcödé: ΟΔΥΣΣΕΥΣ and İzmir, ǅ; naïve café_42",
    "the dog, the DOG, the new york dog in New York",
    "",
    "  spaces\tand\n\nlines  北京 x y z",
    "numbers 1 22 333 ½ ٣٤ and the dog",
]
NEW = ["a dog of New York", "nothing known", "", "THE naïve 北京 22"]


def pair(**options):
    """Return a counter and its peer, with the same options."""
    peer = options | ({"token_pattern": None} if "tokenizer" in options else {})
    return TextCounter(cjk="words", n_jobs=2, **options), CountVectorizer(**peer)


def assert_same(ours, theirs, texts, new):
    pairs = [(ours.fit_transform(texts), theirs.fit_transform(texts)), (ours.transform(new), theirs.transform(new))]
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    for one, other in pairs:
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        assert one.has_canonical_format
        other.sort_indices()
        for part in ("indptr", "indices", "data"):
            assert getattr(one, part).dtype == getattr(other, part).dtype
            np.testing.assert_array_equal(getattr(one, part), getattr(other, part))


@pytest.mark.parametrize(
    "options",
    [
        {"lowercase": False}, {"binary": True}, {"dtype": np.float32}, {"max_features": 5},
        {"ngram_range": (1, 2)}, {"ngram_range": (2, 3)}, {"ngram_range": (1, 2), "stop_words": ["the", "and"]},
        {"stop_words": "english"}, {"min_df": 2}, {"min_df": 0.3, "max_df": 0.5}, {"max_df": 2, "ngram_range": (1, 2)},
        {"analyzer": "char", "ngram_range": (1, 3)}, {"analyzer": "char_wb", "ngram_range": (2, 5)},
        {"max_features": 4, "binary": True, "min_df": 2}, {"vocabulary": {"dog": 1, "the": 0}},
        {"vocabulary": ["dog", "new york", "york", "absent"], "ngram_range": (1, 2)},
        {"vocabulary": {"new york dog", "dog"}, "ngram_range": (2, 3)},
        {"vocabulary": ["the dog", "the"], "stop_words": ["the"], "ngram_range": (1, 2)},
        {"tokenizer": str.split, "ngram_range": (1, 2)},
        {"tokenizer": lambda text: [text[:5], text[:2] + " " + text[2:4]], "ngram_range": (1, 3)},
    ],
    ids=lambda options: "-".join(options),
)  # fmt: skip
def test_counts_are_those_of_count_vectorizer(options):
    assert_same(*pair(**options), TEXTS, NEW)


@pytest.mark.slow
@needs_sets
@pytest.mark.parametrize("name", SETS)
def test_real_texts_are_counted_alike(name):
    """The whole vocabulary and every count, in English and in Chinese; a tenth of it with pairs of words."""
    texts = pd.read_csv(DATA / SETS[name]["file"], dtype={"text": str}, keep_default_na=False)["text"].tolist()
    texts = texts[:: 1 + sum(map(len, texts)) // 5_000_000]  # the peer takes its time
    assert_same(*pair(), texts, texts[:50])
    assert_same(*pair(ngram_range=(1, 2)), texts[::10], texts[1:100:10])
    assert_same(*pair(analyzer="char", ngram_range=(1, 2)), texts[::50], texts[1:100:10])


@pytest.mark.parametrize(
    "given",
    [
        tuple(TEXTS),
        (text for text in TEXTS),
        np.array(TEXTS, dtype=object),
        np.array(TEXTS),
        pd.Series(TEXTS, index=range(6, 0, -1)),
        pd.Series(TEXTS, dtype=object),
        pd.Series(TEXTS, dtype="category"),
        pl.Series(TEXTS),
        pl.Series(TEXTS, dtype=pl.Categorical),
        pa.array(TEXTS),
        pa.array(["cut off", *TEXTS])[1:],
        pa.array(TEXTS, pa.large_string()),
        pa.array(TEXTS, pa.string_view()),
        pa.array(TEXTS).dictionary_encode(),
        pa.chunked_array([TEXTS[:2], TEXTS[2:]]),
        pa.chunked_array([[], TEXTS], pa.string()),
        [text.encode() for text in TEXTS],
        pa.array([text.encode() for text in TEXTS]),
    ],
    ids=lambda given: f"{type(given).__module__}.{type(given).__name__}",
)
def test_texts_of_every_library_are_read(given):
    expected = TextCounter().fit_transform(TEXTS)
    np.testing.assert_array_equal(TextCounter().fit_transform(given).toarray(), expected.toarray())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("one text", "string object received: this is one text. Put it into a list."),
        (["one", None], "Row 1 holds no text: it is missing. Give it a text"),
        ([*["one"] * 30, float("nan")], "Row 30 holds no text: it is missing."),
        (pl.Series(["one", None]), "Row 1 holds no text: it is missing."),
        (pa.chunked_array([["one"], ["two", None]]), "Row 2 holds no text: it is missing."),
        (["one", 2], "Row 1 holds 2 of type int, which is no text. Convert it, e.g."),
        (np.arange(3), "Expected texts, got an array of int64. Convert the numbers"),
        (pa.array([1.5]), "Expected texts, got a column of double. Convert it to text first."),
        (np.array([["one", "two"]]), r"got an array of shape \(1, 2\). Give one column"),
        (pd.DataFrame({"text": ["one"]}), "got a DataFrame. Give the column"),
        ({"text": ["one"]}, "got a dict. Give the column"),
        (7, "Expected a list or a column of texts, got int."),
        ([b"\xff"], "Row 0 is no valid UTF-8: byte 0 cannot be read."),
        ([], "empty vocabulary; perhaps the documents only contain stop words"),
        (["a b c", "!"], "empty vocabulary; perhaps the documents only contain stop words"),
    ],
    ids=str,
)
def test_what_is_no_text_is_refused(given, message):
    with pytest.raises(InvalidInput, match=message):
        TextCounter().fit(given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"analyzer": "line"}, "'analyzer' parameter .* must be a str among .* Got 'line'"),
        ({"min_df": -1}, "'min_df' parameter .* must be a float in the range .* Got -1"),
        ({"max_df": 1.5}, "'max_df' parameter .* must be a float in the range .* Got 1.5"),
        ({"max_df": 1, "min_df": 2}, "max_df corresponds to < documents than min_df"),
        ({"min_df": 2, "stop_words": ["two"]}, "After pruning, no terms remain"),
        ({"max_features": 0}, r"'max_features' parameter .* must be an int in the range \[1, inf\)"),
        ({"stop_words": "german"}, "'stop_words' parameter .* among {'english'}.* Got 'german'"),
        ({"stop_words": [1]}, "stop_words holds what is not a string"),
        ({"vocabulary": []}, "empty vocabulary passed to fit"),
        ({"vocabulary": ["a", "a"]}, "Duplicate term in vocabulary: 'a'"),
        ({"vocabulary": [1]}, "vocabulary holds what is not a string"),
        ({"vocabulary": {"a": 0, "b": 0}}, "Vocabulary contains repeated indices"),
        (
            {"vocabulary": {"a": 0, "b": 2}},
            "Vocabulary of size 2 doesn't contain index 1: give words, each with a column of its own",
        ),
        ({"vocabulary": ["a"], "hash_width": 8}, "vocabulary and hash_width exclude each other"),
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        TextCounter(**options).fit(["one two", "two three"])


def test_a_hash_has_columns_and_no_names():
    counter = TextCounter(hash_width=16, ngram_range=(1, 2), cjk="words")
    found = counter.transform(TEXTS)  # there is nothing to fit
    assert found.shape == (6, 16)
    assert found.sum() == CountVectorizer(ngram_range=(1, 2)).fit_transform(TEXTS).sum()
    for other in (counter.fit_transform(TEXTS), pickle.loads(pickle.dumps(counter)).transform(TEXTS)):
        np.testing.assert_array_equal(found.toarray(), other.toarray())
    with pytest.raises(InvalidInput, match="Columns of a hash have no names"):
        counter.get_feature_names_out()
    assert not hasattr(counter, "vocabulary_")


@pytest.mark.parametrize(
    "options", [{}, {"min_df": 2}, {"ngram_range": (1, 2), "max_features": 9}, {"vocabulary": ["dog", "the"]}]
)
def test_a_fitted_counter_can_be_pickled_and_cloned(options):
    counter = TextCounter(**options).fit(TEXTS)
    again, fresh = pickle.loads(pickle.dumps(counter)), clone(counter)

    assert again.vocabulary_ == counter.vocabulary_
    np.testing.assert_array_equal(again.transform(NEW).toarray(), counter.transform(NEW).toarray())
    assert fresh.get_params() == counter.get_params()
    if "vocabulary" not in options:
        with pytest.raises(NotFittedError, match="Call fit with texts"):
            fresh.transform(NEW)


def test_words_of_rows_come_back():
    counter = TextCounter(cjk="words")
    found = counter.fit_transform(TEXTS)
    words = counter.inverse_transform(found)

    assert set(words[0]) == {"the", "quick", "brown", "fox", "jumps", "over", "lazy", "dog"}
    assert len(words[3]) == 0
    with pytest.raises(InvalidInput, match="X has 3 columns"):
        counter.inverse_transform(sparse.csr_matrix((1, 3)))
