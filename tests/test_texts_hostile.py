"""Texts that nobody expects: they are counted right, or refused in one clear sentence, and nothing is half done."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

import naively as nv
from naively.errors import InvalidInput

from .tables import NEW, TEXTS, Y

MODELS = ["textbook", "auto"]
pytestmark = pytest.mark.filterwarnings("ignore::naively.errors.StaleWarning")
every_model = pytest.mark.parametrize("model", MODELS)


@pytest.fixture(scope="module", params=MODELS)
def nb(request):
    """Return a model of texts, of each kind."""
    return nv.NaiveBayes(model=request.param).fit(TEXTS, Y)


def unchanged(nb: Any, ask: Any, words: str, error: type[Exception] = InvalidInput) -> None:
    """Check that something is refused in these words, and that the counts stay what they were."""
    before = nb.counts_
    with pytest.raises(error, match=words):
        ask(nb)
    assert nb.counts_ == before


# -- texts that are none ----------------------------------------------------------------------------------------------


def broken(kind: Any) -> Any:
    """Return texts of Arrow, one of which is no UTF-8."""
    parts = [text.encode() for text in TEXTS]
    parts[5] = b"free \xff\xfe money"
    return pa.array(parts, pa.binary() if kind == pa.string() else pa.large_binary()).view(kind)


@every_model
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
def test_texts_that_are_no_utf_8_are_refused(kind, model):
    """With the row; nothing is counted of the others."""
    texts = broken(kind)
    nb = nv.NaiveBayes(model=model)
    with pytest.raises(InvalidInput, match=r"Row 5 is no valid UTF-8: byte 5 .* bytes.decode\('latin-1'\)"):
        nb.fit(texts, Y)
    assert "_counter" not in vars(nb)
    nb.fit(TEXTS, Y)
    for ask in (lambda nb: nb.partial_fit(texts, Y), lambda nb: nb.forget(texts, Y), lambda nb: nb.predict(texts)):
        unchanged(nb, ask, "Row 5 is no valid UTF-8")


NO_TEXTS = {
    "numbers": ([1, 2, 3], "Expected 2D array, got 1D array"),
    "bytes": ([b"free", b"money"], r"Row 0 holds b'free' of type bytes.*decode\('utf-8'\)"),
    "booleans": ([True, False], "Expected 2D array, got 1D array"),
    "times": ([pd.Timestamp("2020-01-01")], "Expected 2D array, got 1D array"),
    "a number among texts": (["free", 3, "money"], "Row 1 holds 3 of type int, which is no text"),
    "a list among texts": (["free", ["money"]], r"Row 1 holds \['money'\] of type list"),
    "a series of numbers": (pd.Series([1, 2]), "Expected 2D array, got 1D array"),
    "a series of mixed values": (pd.Series(["free", 2], dtype=object), "mixes values of different types|no text"),
    "an array of bytes": (np.array([b"free"]), "got 1D array"),
    "binary of Arrow": (pa.array([b"free"]), "holds binary, which is neither text"),
    "nothing": ([], "0 sample"),
    "no series": (pd.Series([], dtype=str), "0 sample|got 1D array"),
    "a set": ({"free"}, "Expected a table"),
    "a generator": ((text for text in TEXTS), "item 0 of the stream is a str, .*Texts are given as a list"),
    "a number": (3, "Expected a table"),
}


@pytest.mark.parametrize("kind", NO_TEXTS)
def test_what_is_no_text_is_refused(kind, nb):
    """By fit, predict and partial_fit."""
    X, words = NO_TEXTS[kind]
    y = ["ham", "spam", "ham"][: len(X)] if hasattr(X, "__len__") else ["ham"]
    with pytest.raises(InvalidInput, match=words):
        nv.NaiveBayes().fit(X, y)
    unchanged(nb, lambda nb: nb.predict(X), ".")
    unchanged(nb, lambda nb: nb.partial_fit(X, y), ".")


COLUMNS = {
    "numbers": ([1, 2] * 3, "holds whole numbers; the family 'words' counts the words of texts"),
    "fractions": ([1.5, 2] * 3, "holds numbers; the family 'words'"),
    "booleans": ([True, False] * 3, "holds booleans; the family 'words'"),
    "times": ([pd.Timestamp("2020-01-01")] * 6, "holds times; the family 'words'"),
    "bytes": ([b"free"] * 6, "holds objects of type bytes"),
    "lists": ([["free"]] * 6, "holds objects of type list"),
    "mixed": (["free", 1] * 3, r"mixes values of different types \(int, str\)"),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_that_holds_no_texts_has_no_words(kind):
    """At fit, and at predict where texts were learned."""
    column, words = COLUMNS[kind]
    with pytest.raises(InvalidInput, match=words):
        nv.NaiveBayes(families={"body": "words"}).fit({"body": column}, ["a", "b"] * 3)
    nb = nv.NaiveBayes(families={"body": "words"}).fit({"body": ["free", "lunch"] * 3}, ["a", "b"] * 3)
    unchanged(nb, lambda nb: nb.predict({"body": column}), ".")
    if kind != "lists":  # which are columns
        unchanged(nb, lambda nb: nb.predict({"body": column[-1]}), ".")


@pytest.mark.parametrize("text", ["free money", "free " * 5000, "", "a\x00b", "\ud800", "你好"], ids=ascii)
def test_a_text_alone_belongs_into_a_list(text, nb):
    """The error says so, whatever the text is; it is not taken as the name of a file."""
    for ask in (nb.predict, nb.predict_proba, nb.explain):
        unchanged(nb, lambda _, ask=ask: ask(text), r"put it into a list: predict\(\[text\]\)")


# -- texts that are unusual -------------------------------------------------------------------------------------------

MISSING = {
    "None": lambda texts: list(texts),
    "NaN": lambda texts: [float("nan") if text is None else text for text in texts],
    "NA": lambda texts: [pd.NA if text is None else text for text in texts],
    "array": lambda texts: np.array(texts, object),
    "series": lambda texts: pd.Series(texts),
    "series of objects": lambda texts: pd.Series(texts, dtype=object),
    "strings": lambda texts: pd.Series(texts, dtype="string"),
    "Polars": lambda texts: pl.Series(texts, dtype=pl.String),
    "Arrow": lambda texts: pa.array(texts, pa.string()),
    "a column": lambda texts: {"text": texts},
}


@every_model
@pytest.mark.parametrize("way", MISSING)
def test_a_missing_text_contributes_nothing(way, model):
    """As an empty one, in fit and in predict, alone and among others."""
    give = MISSING[way]
    families = {"text": "words"}
    texts = [None if at % 5 == 0 else text for at, text in enumerate(TEXTS)]
    missing = nv.NaiveBayes(model=model, families=families).fit(give(texts), Y)
    empty = nv.NaiveBayes(model=model, families=families).fit([text or "" for text in texts], Y)

    assert missing.counts_ == empty.counts_
    assert_allclose(missing.predict_proba(NEW), empty.predict_proba(NEW), atol=1e-6)
    for rows in ([None, "free money"], [None], [None] * 30):
        answers = missing.predict_proba(give(rows)) if way != "NaN" else missing.predict_proba(rows)
        assert_allclose(answers, empty.predict_proba([text or "" for text in rows]), atol=1e-6)
    assert missing.forget(give(texts), Y).counts_.rows.sum() == 0


UNUSUAL = {
    "emoji": "party🎉time 👩‍👩‍👧 ❤️",
    "combining marks": "é e\u0301 naïve nai\u0308ve ﬁne ǅ",
    "right to left": "שלום עולם مرحبا بالعالم",
    "Hindi": "नमस्ते दुनिया",
    "NUL": "free\x00money\x00",
    "halves of surrogate pairs": "free \ud800 money \udfff",
    "control characters": "free\x1b[31mmoney\x07\u202e",
    "a mark of order": "\ufefffree money",
    "line ends": "free\r\nmoney\u2028lunch\x85call",
    "Turkish": "İSTANBUL ıı ß ẞ",
    "beyond all planes": "\U0010ffff free \U000e0001",
}


@every_model
@pytest.mark.parametrize("kind", UNUSUAL)
def test_unusual_texts_are_read_by_the_rules_of_python(kind, model):
    """Words are those of str.lower and the pattern of words, in a list, a series, one by one, and in a message."""
    text = UNUSUAL[kind]
    texts = [*TEXTS, *[text] * 3]
    y = [*Y, "odd", "odd", "odd"]
    nb = nv.NaiveBayes(model=model).fit(texts, y)
    series = nv.NaiveBayes(model=model).fit(pd.Series(texts, dtype=object), y)
    again = nv.NaiveBayes(model=model, n_jobs=2).fit(texts[:-1], y[:-1])

    assert series.counts_ == nb.counts_
    assert_allclose(nb.predict_proba([text, "free"]), nb.predict_proba([text, *TEXTS, "free"])[[0, -1]], atol=1e-9)
    assert nb.explain([text]).words(0).shape[1] == 9
    if model == "textbook":
        assert again.partial_fit([text], ["odd"]).counts_ == nb.counts_
        assert nb.forget([text] * 3, ["odd"] * 3).counts_ == nv.NaiveBayes(model=model).fit(TEXTS, Y).counts_


# -- functions --------------------------------------------------------------------------------------------------------


class Lost(Exception):
    """What a function of somebody raises."""


def failing(text: str) -> list[str]:
    """Fail at one text."""
    if "zebra" in text:
        raise Lost(text)
    return text.split()


def joined(text: str) -> str:
    """Fail at the same text, else return it."""
    return " ".join(failing(text))


FUNCTIONS = {
    "tokenizer fails": ({"tokenizer": failing}, Lost, "zebra"),
    "preprocessor fails": ({"preprocessor": joined}, Lost, "zebra"),
    "tokens are numbers": ({"tokenizer": lambda t: [1, 2] if "zebra" in t else ["x"]}, InvalidInput, r"gave \[1, 2\]"),
    "a list, no text": (
        {"preprocessor": lambda t: [t] if "zebra" in t else t},
        InvalidInput,
        "preprocessor gave .*zebra.*must give a string",
    ),
    "a number, no text": (
        {"preprocessor": lambda t: 3 if "zebra" in t else t},
        InvalidInput,
        "preprocessor gave 3; it must give a string",
    ),
}


@every_model
@pytest.mark.parametrize("name", FUNCTIONS)
def test_nothing_is_half_counted_when_a_function_fails(name, model):
    """Its own error comes through, or one that names the row; counts and answers stay."""
    settings, error, words = FUNCTIONS[name]
    family = {"text": nv.Words(**settings)}
    fresh = nv.NaiveBayes(model=model, families=family)
    bad = [*TEXTS[:50], "a zebra", *TEXTS[51:]]
    with pytest.raises(error, match=words):
        fresh.fit(bad, Y)
    assert "_counter" not in vars(fresh)
    nb = nv.NaiveBayes(model=model, families=family).fit(TEXTS, Y)
    answers = nb.predict_proba(NEW)
    for ask in (
        lambda nb: nb.partial_fit(bad, Y),
        lambda nb: nb.partial_fit({"text": "zebra"}, "ham"),
        lambda nb: nb.partial_fit(["zebra"], ["ham"]),
        lambda nb: nb.forget(bad, Y),
        lambda nb: nb.fit(bad, Y),
        lambda nb: nb.predict(bad),
    ):
        unchanged(nb, ask, words, error)
    assert_allclose(nb.predict_proba(NEW), answers, atol=1e-12)
    assert nv.NaiveBayes(model=model, families=family).fit(TEXTS, Y).counts_ == nb.counts_
