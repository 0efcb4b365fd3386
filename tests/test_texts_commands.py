"""Texts on the command line: what is learned, answered, explained and remarked upon, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

import naively as nv
from naively.cli import main

from .text_cases import CLASSES, TEXTS, Y

every_model = pytest.mark.parametrize("model", ["textbook", "auto"])


def run(*arguments: Any) -> Any:
    """Run a command."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def good(*arguments: Any) -> str:
    """Return what a command prints, which must end well."""
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with mails, and a model of them."""
    folder = tmp_path_factory.mktemp("mails")
    half = pd.DataFrame({"body": TEXTS, "subject": [text[:9] for text in TEXTS], "label": Y, "hour": range(120)})
    half.to_csv(folder / "mails.csv", index=False)
    half[:60].to_csv(folder / "first.csv", index=False)
    half[60:].to_csv(folder / "second.csv", index=False)
    (folder / "vocabulary.txt").write_text("free\nmoney\n\nlunch\nfree\n", encoding="utf-8")
    good(
        "fit",
        folder / "mails.csv",
        "--target",
        "label",
        "--text",
        "body",
        "--ignore",
        "subject",
        "-q",
        "-o",
        folder / "m.parquet",
    )
    return folder


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
@every_model
def test_fit_counts_texts_by_the_options(name, model, files, monkeypatch):
    """The model of the command line is that of the library."""
    monkeypatch.chdir(files)
    said, settings = OPTIONS[name]
    table = pd.read_csv("mails.csv", keep_default_na=False)
    good(
        "fit",
        "mails.csv",
        "-t",
        "label",
        "--text",
        "body",
        "--ignore",
        "subject",
        *said,
        "--model",
        model,
        "-o",
        "x.parquet",
        "--cv",
        0,
    )
    nb = nv.load("x.parquet")
    other = nv.NaiveBayes(families={"body": nv.Words(**settings)}, model=model)
    other.fit(table[["body", "hour"]], table["label"])

    assert nb.counts_.columns["body"].agrees(other.counts_.columns["body"])
    assert_allclose(nb.predict_proba(table), other.predict_proba(table), atol=1e-6)


def test_every_command_takes_models_of_texts(files, monkeypatch):
    """Predict, evaluate, explain, show, merge and forget."""
    monkeypatch.chdir(files)
    nb = nv.load("m.parquet")
    answers = good("predict", "m.parquet", "mails.csv").splitlines()
    assert len(answers) == len(TEXTS) + 1
    assert "accuracy" in good("evaluate", "m.parquet", "mails.csv")
    assert "words" in good("show", "m.parquet")
    for part in ("first", "second"):
        good(
            "fit",
            f"{part}.csv",
            "-t",
            "label",
            "--text",
            "body",
            "--ignore",
            "subject",
            "--model",
            "textbook",
            "-q",
            "-o",
            f"{part}.parquet",
        )
    good("merge", "first.parquet", "second.parquet", "-o", "both.parquet")
    good("forget", "both.parquet", "second.csv", "-o", "rest.parquet")

    assert nv.load("both.parquet").counts_.rows.sum() == nb.counts_.rows.sum()
    assert nv.load("rest.parquet").counts_ == nv.load("first.parquet").counts_


def test_explain_shows_the_words_of_a_text(files, monkeypatch):
    """Without a terminal there are no colours; programs get the words as data."""
    monkeypatch.chdir(files)
    row = next(at for at, text in enumerate(TEXTS) if len(text) > 30)
    shown = good("explain", "m.parquet", "mails.csv", "--row", row + 1)
    told = json.loads(good("explain", "m.parquet", "mails.csv", "--row", row + 1, "--json"))

    assert "\x1b" not in shown
    assert TEXTS[row] in shown
    body = next(column for column in told["columns"] if column["name"] == "body")
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
def test_options_of_texts_that_make_no_sense_are_refused(name, files, monkeypatch):
    """In a line or two that name the option."""
    monkeypatch.chdir(files)
    (files / "empty.txt").write_text("\n\n", encoding="utf-8")
    said, words = REFUSED[name]
    done = run("fit", "mails.csv", "-t", "label", "--ignore", "subject", *said)

    assert done.exit_code != 0
    assert words in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2


@pytest.mark.parametrize("language", ["English", "Chinese"])
def test_long_texts_as_categories_give_a_note(language, tmp_path, monkeypatch):
    """The remark names the line to write, in the library and on the command line."""
    monkeypatch.chdir(tmp_path)
    body = [f"{a} mails of number {n} came today" for n, a in enumerate("ab" * 20)]
    if language == "Chinese":
        body = [f"今天来了第{n}封很长的中文邮件" for n in range(40)]
    table = pd.DataFrame({"body": body, "n": np.arange(40) % 7, "label": ["x", "y"] * 20})
    table.to_csv("mails.csv", index=False)
    nb = nv.NaiveBayes().fit(table[["body", "n"]], table["label"])

    assert "families={'body': 'words'}" in nb.summary()
    assert "--text body" in good("fit", "mails.csv", "-t", "label").replace("\n", " ")
    assert (
        "families"
        not in nv.NaiveBayes(families={"body": "words"})
        .fit(table[["body", "n"]], table["label"])
        .summary()
        .partition("body'")[2]
    )


def test_much_text_is_cross_validated_with_an_option_only(files, monkeypatch):
    asked = ("fit", files / "mails.csv", "--target", "label", "--text", "body")
    assert "cross-validation" in good(*asked)
    monkeypatch.setattr("naively.cli.fit.LONG", 100)
    said = good(*asked)
    assert "cross-validation" not in said
    assert "not cross-validated by default: --cv 5" in said
    assert "cross-validation" in good(*asked, "--cv", 3)
    assert "not scored unasked" not in good(*asked, "--cv", 0)
