"""Why a text is answered as it is, word by word, and what was learned of texts."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

import naively as nv
from naively.errors import InvalidInput

from .tables import CLASSES, NEW, TEXTS, Y

MODELS = ["textbook", "auto"]
FAMILIES = {
    "words": nv.Words(),
    "pairs": nv.Words(ngram_range=(1, 2)),
    "complement": nv.Words(complement=True),
    "idf": nv.Words(idf=True, times="log"),
    "characters": nv.Words(unit="characters", ngram_range=(1, 2)),
    "hash": nv.Words(hash_width=128),
    "function": nv.Words(tokenizer=str.split),
}
every_model = pytest.mark.parametrize("model", MODELS)
COLOUR = re.compile(r"\x1b\[(?:30;48;5;(\d+)|0)m")


@pytest.fixture(scope="module", params=MODELS)
def mails(request):
    """Return a model of two columns of texts beside others, and the table."""
    hour = np.random.default_rng(0).normal(size=len(TEXTS)) + np.array([label == "spam" for label in Y])
    table = {"body": TEXTS, "subject": [text[:15] for text in TEXTS], "sender": ["a", "b"] * 60, "hour": hour}
    families = {"body": "words", "subject": nv.Words(ngram_range=(1, 2), lowercase=False)}
    return nv.NaiveBayes(families=families, model=request.param).fit(table, Y), table


# -- evidence ---------------------------------------------------------------------------------------------------------


@every_model
@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_what_words_say_adds_up_to_what_the_column_says(family, model):
    """And what columns say, with the prior, to the probabilities."""
    nb = nv.NaiveBayes(families={"text": family}, model=model).fit(TEXTS, Y)
    evidence = nb.explain(NEW)

    assert_allclose(evidence.probabilities, nb.predict_proba(NEW), atol=1e-9)
    for row in range(len(NEW)):
        words = evidence.words(row)
        found = [words[f"score of {label}"].sum() for label in CLASSES]
        assert_allclose(found, evidence.scores[row, 0], rtol=1e-9, atol=1e-9)
        assert len(words) == len(set(words["word"]))


def test_absent_words_count_beside_those_that_are_there():
    """Of flags, the words of a text say what their presence changes: an empty text is what absence says alone."""
    nb = nv.NaiveBayes(families={"text": nv.Words(bernoulli=True)}, model="textbook").fit(TEXTS, Y)
    evidence = nb.explain(NEW)
    for row in range(len(NEW)):
        words = evidence.words(row)
        found = [words[f"score of {label}"].sum() for label in CLASSES]
        assert_allclose(found, evidence.scores[row, 0] - evidence.scores[0, 0], atol=1e-9)


def test_several_columns_of_texts_have_their_words_apart(mails):
    """Each is asked for by name; without one the error says which there are."""
    nb, table = mails
    row = {name: column[3] for name, column in table.items()}
    evidence = nb.explain(row)

    assert_allclose(evidence.probabilities, nb.predict_proba(row), atol=1e-9)
    for name in ("body", "subject"):
        words = evidence.words(0, name)
        at = evidence.columns.index(name)
        assert_allclose([words[f"score of {k}"].sum() for k in CLASSES], evidence.scores[0, at], atol=1e-9)
        assert COLOUR.sub("", evidence.message(0, name)) == row[name]
        assert set(nb.words("spam", 3, name)["word"]) <= set(nb.counts_.columns[name].values.labels)
    for ask in (evidence.words, evidence.message, lambda **how: nb.words("spam", **how)):
        with pytest.raises(InvalidInput, match=r"column=None is no column of texts; those are \['body', 'subject'\]"):
            ask()
        with pytest.raises(InvalidInput, match="column='hour' is no column of texts"):
            ask(column="hour")
    assert f"{row['body'][:10]}" in str(evidence)


def test_a_message_is_coloured_by_what_its_words_say():
    """Words for the answer are blue, words against it orange, words never seen plain; the text stays what it is."""
    nb = nv.NaiveBayes(model="textbook").fit(["free money", "free cash", "lunch home", "lunch soon"], list("sshh"))
    message = nb.explain(["Free cash!\nlunch?   zebra\t<b>"]).message()

    assert COLOUR.sub("", message) == "Free cash!\nlunch?   zebra\t<b>"
    pieces = re.findall(r"\x1b\[30;48;5;(\d+)m(.*?)\x1b\[0m", message, re.DOTALL)
    assert [text for _, text in pieces] == ["Free", "cash", "lunch"]
    assert pieces[0][0] in ("153", "111")
    assert pieces[2][0] in ("223", "215")
    assert message.endswith("zebra\t<b>")


def test_a_page_shows_no_markup_of_texts():
    """Whatever a text or a word holds is escaped."""
    nb = nv.NaiveBayes(families={"text": nv.Words(tokenizer=str.split)}).fit(
        ["<b>x</b> a", "<i> b"] * 3, ["<s>", "h"] * 3
    )
    for shown in (
        nb.explain(["<b>x</b> <script>alert(1)</script>"])._repr_html_(),
        nb.explain([None, "<i>"])._repr_html_(),
    ):
        assert not re.search(r"<(b|i|s|script)>", shown)
        assert "<table" in shown
    plain = nv.NaiveBayes().fit(["bold a", "italic b"] * 3, ["s", "h"] * 3).explain(["<i>bold</i> & b"])._repr_html_()
    text = re.findall(r'<p class="colored"[^>]*>(.*?)</p>', plain)[0]
    assert html.unescape(re.sub(r"</?mark[^>]*>", "", text)) == "<i>bold</i> & b"


# -- what was learned -------------------------------------------------------------------------------------------------


@every_model
def test_words_most_indicative_of_a_class(model):
    """They are of the class, led by their lead in all its texts together, with the texts they occurred in."""
    nb = nv.NaiveBayes(model=model).fit(TEXTS, Y)
    words = nb.words("spam", top=5)
    table = nb.counts_.columns["text"]

    assert list(words.columns) == ["word", "lead", "texts of spam", "other texts"]
    assert 0 < len(words) <= 5
    assert (words["lead"] > 0).all()
    for _, word in words.iterrows():
        at = table.values.place(word["word"])
        spam = list(table.classes.labels).index("spam")
        assert word["texts of spam"] == table.n_texts[spam, at]
        assert word["other texts"] == table.n_texts[:, at].sum() - table.n_texts[spam, at]
    strength = words["lead"] * words["texts of spam"]
    assert (np.diff(strength) <= 1e-12).all()


def test_questions_about_words_that_have_no_answer():
    """A class that is none, no number of words, a model without texts."""
    nb = nv.NaiveBayes().fit(TEXTS, Y)
    with pytest.raises(InvalidInput, match=r"'egg' is no class; the classes are \['ham', 'spam', 'work'\]"):
        nb.words("egg")
    for top in (0, -1, 1.5, "all", None):
        with pytest.raises(InvalidInput, match="is no number of words"):
            nb.words("spam", top)
    with pytest.raises(InvalidInput, match=r"families=\{'body': 'words'\}"):
        nv.NaiveBayes().fit({"n": [1.0, 2.0]}, ["a", "b"]).words("a")


@every_model
def test_probabilities_are_those_of_words_by_name(model):
    """A line for each word, sorted; shares add up to 1, and pairs that the textbook model leaves out are not there."""
    nb = nv.NaiveBayes(model=model).fit(TEXTS, Y)
    told = nb.probabilities("text")

    assert told["word"].tolist() == sorted(told["word"])
    assert not any(" " in word for word in told["word"])
    assert_allclose(told[CLASSES].sum(), 1.0)
    flags = nv.NaiveBayes(families={"text": nv.Words(bernoulli=True)}, model=model).fit(TEXTS, Y).probabilities("text")
    spam = [text.lower() for text, label in zip(TEXTS, Y, strict=True) if label == "spam"]
    there = sum("money" in text for text in spam)
    assert flags.set_index("word").loc["money", "spam"] == pytest.approx((there + 1) / (len(spam) + 2))
    hashed = nv.NaiveBayes(families={"text": nv.Words(hash_width=4)}, model=model).fit(TEXTS, Y).probabilities("text")
    assert hashed["word"].tolist() == [0, 1, 2, 3]
