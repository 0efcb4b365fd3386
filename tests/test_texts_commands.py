"""Texts on the command line: what is learned, answered, explained and remarked upon, and what is refused."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from numpy.testing import assert_allclose

import naively as nv

from .commands import bad, good, run, told
from .tables import CLASSES, TEXTS, Y

FIT = ("-t", "label", "--text", "body", "--ignore", "subject", "-q", "--cv", 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with mails, and a model of them."""
    folder = tmp_path_factory.mktemp("mails")
    half = pd.DataFrame({"body": TEXTS, "subject": [text[:9] for text in TEXTS], "label": Y, "hour": range(120)})
    half.to_csv(folder / "mails.csv", index=False)
    half[:60].to_csv(folder / "first.csv", index=False)
    half[60:].to_csv(folder / "second.csv", index=False)
    (folder / "vocabulary.txt").write_text("free\nmoney\n\nlunch\nfree\n", encoding="utf-8")
    (folder / "empty.txt").write_text("\n\n", encoding="utf-8")
    good("fit", folder / "mails.csv", *FIT, "-o", folder / "m.parquet")
    return folder


@pytest.fixture
def files(folder, monkeypatch):
    """Run a test in that folder."""
    monkeypatch.chdir(folder)


OPTIONS: dict[str, tuple[list[str], Any]] = {
    "nothing else": ([], {}),
    "pairs": (["--ngram-range", "1-2"], {"ngram_range": (1, 2)}),
    "up to three": (["--ngram-range", "3"], {"ngram_range": (1, 3)}),
    "characters": (["--characters", "--ngram-range", "2-3"], {"unit": "characters", "ngram_range": (2, 3)}),
    "complement": (["--complement"], {"complement": True}),
    "min_df": (["--min-df", "2"], {"min_df": 2}),
    "hash": (["--hash-width", "64"], {"hash_width": 64}),
    "vocabulary": (["--vocabulary", "vocabulary.txt"], {"vocabulary": ("free", "money", "lunch")}),
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("model", ["textbook", "auto"])
def test_fit_counts_texts_by_the_options(name, model, files):
    """The model of the command line is that of the library."""
    options, settings = OPTIONS[name]
    table = pd.read_csv("mails.csv", keep_default_na=False)
    good("fit", "mails.csv", *FIT, *options, "--model", model, "-o", "x.parquet")
    nb = nv.load("x.parquet")
    other = nv.NaiveBayes(families={"body": nv.Words(**settings)}, model=model)
    other.fit(table[["body", "hour"]], table["label"])

    assert nb.counts_.columns["body"].agrees(other.counts_.columns["body"])
    assert_allclose(nb.predict_proba(table), other.predict_proba(table), atol=1e-6)


def test_every_command_takes_models_of_texts(files):
    """Predict, evaluate, explain, show, merge and forget."""
    assert len(good("predict", "m.parquet", "mails.csv").splitlines()) == len(TEXTS) + 1
    assert "accuracy" in good("evaluate", "m.parquet", "mails.csv")
    assert "words" in good("show", "m.parquet")
    for half in ("first", "second"):
        good("fit", f"{half}.csv", *FIT, "--model", "textbook", "-o", f"{half}.parquet")
    good("merge", "first.parquet", "second.parquet", "-o", "both.parquet")
    good("forget", "both.parquet", "second.csv", "-o", "rest.parquet")
    assert nv.load("both.parquet").counts_.rows.sum() == nv.load("m.parquet").counts_.rows.sum()
    assert nv.load("rest.parquet").counts_ == nv.load("first.parquet").counts_

    row = next(at for at, text in enumerate(TEXTS) if len(text) > 30)
    shown = good("explain", "m.parquet", "mails.csv", "--row", row + 1)
    assert "\x1b" not in shown  # without a terminal there are no colors
    assert TEXTS[row] in shown
    columns = told("explain", "m.parquet", "mails.csv", "--row", row + 1)["columns"]
    body = next(column for column in columns if column["name"] == "body")
    for label in CLASSES:
        assert sum(word["scores"][label] for word in body["words"]) == pytest.approx(body["scores"][label], abs=1e-9)


REFUSED = {
    "ngram_range without text": (["--ngram-range", "1-2"], "--ngram-range is an option for texts; name their"),
    "hash without text": (["--hash-width", "4"], "--hash-width is an option for texts"),
    "min-df without text": (["--min-df", "2"], "--min-df is an option for texts"),
    "no range": (["--text", "body", "--ngram-range", "two"], "'two' is neither a number of words nor a range"),
    "backwards": (["--text", "body", "--ngram-range", "2-1"], "is no range"),
    "no such column": (["--text", "boddy"], "there is no column 'boddy'; did you mean 'body'"),
    "no vocabulary": (["--text", "body", "--vocabulary", "none.txt"], "none.txt cannot be read"),
    "empty vocabulary": (["--text", "body", "--vocabulary", "empty.txt"], "holds no words"),
    "vocabulary and hash": (["--text", "body", "--vocabulary", "vocabulary.txt", "--hash-width", "4"], "not both"),
    "the target": (["--text", "label"], "label"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_options_of_texts_that_make_no_sense_are_refused(name, files):
    """In a line or two that name the option."""
    options, words = REFUSED[name]
    asked = ("fit", "mails.csv", "-t", "label", "--ignore", "subject", *options)
    assert words in bad(run(*asked).exit_code or 1, *asked).replace("\n", " ")
