"""Real tables and texts are taken as they are read, and answered at least as well as by scikit-learn."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import CategoricalNB, GaussianNB, MultinomialNB
from sklearn.preprocessing import OrdinalEncoder

import naively as nv

from .tables import book, penguins

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SETS = json.loads((DATA / "datasets.json").read_text("utf-8")) if (DATA / "datasets.json").exists() else {}
TABLES = {name: facts for name, facts in SETS.items() if facts["task"] == "tabular"}
# Sets on which the textbook model is less often right than the peer; a new name here is a loss.
WORSE = {"ionosphere", "dermatology", "covertype-15k", "hotel-bookings"}
MOST = 10_000  # rows of a set in the comparison; more would take minutes and change little

DAILY = ("votes", "credit-a", "soybean", "hepatitis")  # categories, numbers, missing values, many classes; few rows
SHIPPED = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}
needs_tables = pytest.mark.skipif(not TABLES, reason="needs the data sets of ../shared/data beside the repository")


def read(name, **options):
    """Return the rows of a set as pandas reads them; its own mark for a missing value is all that pandas is told."""
    facts = TABLES[name]
    files = [facts[key] for key in ("file", "test_file") if key in facts]
    marks = [facts["missing"]] if "missing" in facts else []
    frames = [pd.read_csv(DATA / file, na_values=marks, **options) for file in files]
    return pd.concat(frames, keys=files[:1] + ["test"] * (len(files) - 1))


# -- as they are -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_table_of_numbers_is_learned_asked_saved_and_loaded(name, tmp_path):
    assert_learned_and_kept(*SHIPPED[name](return_X_y=True, as_frame=True), tmp_path)


def test_penguins_with_missing_values_are_learned_asked_saved_and_loaded(tmp_path):
    assert_learned_and_kept(*penguins(), tmp_path)


@needs_tables
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n not in DAILY)) for n in TABLES])
def test_a_table_as_read_is_learned_asked_saved_and_loaded(name, tmp_path):
    frame = read(name).reset_index(drop=True)
    frame = frame.sample(min(len(frame), 3_000 if frame.shape[1] > 20 else 20_000), random_state=0)
    assert_learned_and_kept(frame, frame.pop(TABLES[name]["target"]), tmp_path)


def assert_learned_and_kept(frame, y, tmp_path):
    """Check that strings, numbers and missing values need no preparation, and that a file holds the same model."""
    some = frame.sample(min(len(frame), 2_000), random_state=0)

    nb = nv.NaiveBayes().fit(frame, y)
    chances = nb.predict_proba(some)
    nb.save(tmp_path / "model.parquet")
    again = nv.load(tmp_path / "model.parquet")

    assert_array_equal(nb.classes_, np.unique(y))
    assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-12)
    assert set(nb.predict(some)) <= set(y)
    assert_array_equal(again.predict_proba(some), chances)
    assert_array_equal(again.predict(some), nb.predict(some))


# -- how often they are right ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """The rows of a set, with the kinds of its columns as its authors meant them, and how they are split."""

    X: pd.DataFrame
    y: np.ndarray
    splits: list  # of repeats, each a list of (rows to learn from, rows to ask about)

    @classmethod
    def of(cls, name, repeats):
        """Return a set, or a sample of a large one, as every model sees it."""
        facts = TABLES[name]
        kinds = {column: kind for column, kind in facts["kinds"].items() if kind != "id"}
        types = {column: float if kind == "num" else str for column, kind in kinds.items()} | {facts["target"]: str}
        frame = read(name, dtype=types, usecols=list(types), keep_default_na=False)
        official = frame.index.get_level_values(0) == "test"
        if not official.any() and len(frame) > MOST:
            frame = frame.sample(MOST, random_state=0)
            official = official[:MOST]
        y = frame.pop(facts["target"]).to_numpy(object)
        return cls(frame.reset_index(drop=True), y, splits(y, official, repeats))


def splits(y, official, repeats):
    """Return the official split where there is one, else five stratified folds by the seeds from 0 on."""
    if official.any():
        return [[(np.flatnonzero(~official), np.flatnonzero(official))]]
    seeds = range(repeats if len(y) < MOST else 1)
    folds = [StratifiedKFold(5, shuffle=True, random_state=seed) for seed in seeds]
    return [list(fold.split(y, y)) for fold in folds]


def scored(make, task, score=lambda answers, y: np.mean(answers == y)):
    """Return the mean score of each repeat: by default how often the answers are right."""
    repeats = []
    for folds in task.splits:
        fitted = ((make().fit(task.X.iloc[known], task.y[known]), asked) for known, asked in folds)
        repeats.append(np.mean([score(nb.predict(task.X.iloc[asked]), task.y[asked]) for nb, asked in fitted]))
    return np.array(repeats)


class Added:
    """GaussianNB on imputed numbers and CategoricalNB on encoded strings, their log-likelihoods added."""

    def fit(self, X, y):
        """Learn from a frame of strings and floats."""
        self.texts = [column for column in X if X[column].dtype.kind != "f"]
        self.numbers = [column for column in X if column not in self.texts]
        self.classes_, counts = np.unique(y, return_counts=True)
        self.log_prior = np.log(counts / len(y))
        if self.numbers:
            self.imputer = SimpleImputer(keep_empty_features=True).fit(X[self.numbers])
            self.gaussian = GaussianNB().fit(self.imputer.transform(X[self.numbers]), y)
        if self.texts:
            unknown = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
            self.encoder = OrdinalEncoder(dtype=int, **unknown).fit(X[self.texts].fillna("a hole"))
            sizes = [len(names) + 1 for names in self.encoder.categories_]
            self.categorical = CategoricalNB(min_categories=sizes).fit(self.codes(X), y)
        return self

    def codes(self, X):
        """Return the codes of the strings; a missing value is a category, 0 what fit never seen."""
        return self.encoder.transform(X[self.texts].fillna("a hole")) + 1

    def predict(self, X):
        """Return the most probable class of each row."""
        joint = self.log_prior
        if self.numbers:
            numbers = self.imputer.transform(X[self.numbers])
            joint = joint + self.gaussian.predict_joint_log_proba(numbers) - self.log_prior
        if self.texts:
            joint = joint + self.categorical.predict_joint_log_proba(self.codes(X)) - self.log_prior
        return self.classes_[joint.argmax(axis=1)]


@needs_tables
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
def test_labels_are_right_more_often_than_scikit_learns(record_property):
    """The mean over all sets is above the peer's; few sets are worse by 2 points and a standard deviation."""
    ours, theirs, worse = {}, {}, {}
    for name in TABLES:
        task = Task.of(name, repeats=2)
        mine, peer = (scored(make, task) for make in (book, Added))
        ours[name], theirs[name] = mine.mean(), peer.mean()
        if mine.mean() < peer.mean() - 0.02 - peer.std():
            worse[name] = f"{mine.mean():.3f} < {peer.mean():.3f} ± {peer.std():.3f}"
        record_property(name, f"{ours[name]:.4f} against {theirs[name]:.4f}")

    assert set(worse) <= WORSE, worse
    assert np.mean(list(ours.values())) > np.mean(list(theirs.values()))


# -- texts out of the box ----------------------------------------------------------------------------------------------

# How many more of 100 rows held out must be right than by scikit-learn's model; seen were 8.6, 3.2 and 6.7.
MARGINS = {"trec-questions.csv": 6.0, "customer-reviews.csv": 1.5, "zh-thucnews-titles.csv.gz": 5.0}


def split(name: str) -> tuple[Any, Any]:
    """Return the rows to learn from and those held out: as the set says, or every fifth."""
    table = pd.read_csv(DATA / name, keep_default_na=False)
    held = table["split"] != "train" if "split" in table else pd.Series(np.arange(len(table)) % 5 == 0)
    return table[~held], table[held]


def right(answers: Any, truth: Any) -> float:
    """Return the share of right answers in percent."""
    return 100 * float(np.mean(np.asarray(answers) == np.asarray(truth)))


@pytest.mark.skipif(
    not all((DATA / name).is_file() for name in MARGINS),
    reason="needs the data sets of ../shared/data beside the repository",
)
@pytest.mark.parametrize("name", MARGINS)
def test_texts_are_answered_better_than_by_the_plain_multinomial(name):
    """That counts single words, or characters where no spaces are; its probabilities are worse, too."""
    train, test = split(name)
    analyzer = {"analyzer": "char"} if name.startswith("zh") else {}
    vectorizer = CountVectorizer(**analyzer)
    plain = MultinomialNB().fit(vectorizer.fit_transform(train["text"]), train["label"])
    nb = nv.NaiveBayes().fit(train["text"], train["label"])

    ours = right(nb.predict(test["text"]), test["label"])
    theirs = right(plain.predict(vectorizer.transform(test["text"])), test["label"])
    assert ours >= theirs + MARGINS[name]
    probabilities = nb.predict_proba(test["text"]), plain.predict_proba(vectorizer.transform(test["text"]))
    assert np.less(*(log_loss(test["label"], found, labels=plain.classes_) for found in probabilities))
