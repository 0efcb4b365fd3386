"""What others make of the same texts: scikit-learn's pipelines, jieba, Vowpal Wabbit, fastText.

All but scikit-learn need not be installed. Files that others read are written before the clock starts.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline
from text_sets import Documents

PASSES_OF_FASTTEXT = 5


def bayes(**how: Any) -> Pipeline:
    """Return CountVectorizer and MultinomialNB."""
    return make_pipeline(CountVectorizer(**how), MultinomialNB())


def by_jieba() -> Pipeline | None:
    """Return CountVectorizer over the words that jieba finds, and MultinomialNB; None if it is not installed."""
    if find_spec("jieba") is None:
        return None
    import jieba

    jieba.setLogLevel("ERROR")
    jieba.initialize()
    return bayes(tokenizer=jieba.lcut, token_pattern=None)


def logistic() -> Pipeline:
    """Return what many begin with: weighed words, and logistic regression."""
    return make_pipeline(TfidfVectorizer(sublinear_tf=True), LogisticRegression(max_iter=1000))


class Wabbit:
    """Vowpal Wabbit, a class against all others, over the words of a file."""

    title, needs = "Vowpal Wabbit", "vowpalwabbit"

    def __init__(self, rows: Documents, folder: Path) -> None:
        self.data, self.model, self.answers = (folder / name for name in ("texts.vw", "model.vw", "answers.txt"))
        classes = np.unique(rows.y)
        codes = np.searchsorted(classes, rows.y) + 1
        plain = (re.sub(r"[|:\s]+", " ", text.lower()) for text in rows.texts)
        self.data.write_text("".join(f"{k} | {text}\n" for k, text in zip(codes, plain, strict=True)), "utf-8")
        self.how, self.labels = f"--oaa {len(classes)} -b 20 --quiet --no_stdin", classes

    def fit(self) -> None:
        """Learn in one pass over the file."""
        from vowpalwabbit import Workspace

        Workspace(f"{self.how} -d {self.data} -f {self.model}").finish()

    def predict(self) -> Any:
        """Answer every line of the file."""
        from vowpalwabbit import Workspace

        Workspace(f"-t -i {self.model} -d {self.data} -p {self.answers} --quiet --no_stdin").finish()
        return self.labels[np.loadtxt(self.answers, dtype=np.int64) - 1]


class FastText:
    """FastText's classifier, over the words of a file."""

    title, needs = f"fastText, {PASSES_OF_FASTTEXT} passes", "fasttext"

    def __init__(self, rows: Documents, folder: Path) -> None:
        self.data, self.labels = folder / "texts.txt", np.unique(rows.y)
        codes = np.searchsorted(self.labels, rows.y)
        self.lines = [" ".join(text.lower().split()) + "\n" for text in rows.texts]
        whole = "".join(f"__label__{k} {line}" for k, line in zip(codes, self.lines, strict=True))
        self.data.write_text(whole, "utf-8")

    def fit(self) -> None:
        """Learn in some passes over the file, on all threads."""
        import fasttext

        from naively._threads import allowed

        how: Any = {"epoch": PASSES_OF_FASTTEXT, "thread": allowed(), "lr": 0.5, "verbose": 0}
        self.model = fasttext.train_supervised(input=str(self.data), **how)

    def predict(self) -> Any:
        """Answer every line; by the compiled part itself, since its Python fails with NumPy 2."""
        found, _ = self.model.f.multilinePredict(self.lines, 1, 0.0, "strict")
        return self.labels[[int(labels[0].removeprefix("__label__")) for labels in found]]


def others(rows: Documents, told: Callable[[Any], None]) -> None:
    """Tell of each of the others that is installed; say which are not."""
    for kind in (Wabbit, FastText):
        if find_spec(kind.needs) is None:
            print(f"| {kind.title} | | not installed | | | | | |")
            continue
        with tempfile.TemporaryDirectory() as folder:
            told(kind(rows, Path(folder)))
