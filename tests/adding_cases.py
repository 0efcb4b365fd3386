"""Tables for the laws of adding up: columns, classes, weights and settings of every kind, and parts of them."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

import naively as nv
from naively.counting import smallest
from naively.estimator.update import up_to_date

SIZE = 120
RNG = np.random.default_rng(17)
CLASS = RNG.integers(2, size=SIZE)
LABELS = np.array(["no", "yes"])[CLASS]
WORDS = ["apple", "pear", "plum", "fig", "nut", "oak"]


def with_gaps(values, every=9):
    """Return values of which some are missing."""
    return [None if at % every == 4 else value for at, value in enumerate(values)]


def texts(n, rng, shift):
    """Return texts whose words depend on a class."""
    return [" ".join(rng.choice(WORDS[k : k + 4], 5)) for k in shift]


NUMBERS = pd.DataFrame({"a": RNG.normal(size=SIZE) + CLASS, "b": RNG.normal(size=SIZE).round(1), "c": CLASS * 0.5 + 1})
MIXED = pd.DataFrame(
    {
        "size": with_gaps((RNG.normal(size=SIZE) + CLASS).tolist()),
        "colour": with_gaps(RNG.choice(["red", "blue", "", "字"], SIZE).tolist(), 11),
        "flag": RNG.integers(2, size=SIZE) == CLASS,
        "year": RNG.integers(2000, 2010, SIZE),
        "when": pd.Timestamp("2026-01-01") + pd.to_timedelta(RNG.integers(0, 90, SIZE) + 20 * CLASS, unit="D"),
        "level": pd.Categorical(RNG.choice(["low", "high"], SIZE), ["low", "mid", "high"], ordered=True),
        "nothing": [None] * SIZE,
    }
)
TEXTS = MIXED[["size", "colour"]].assign(text=with_gaps(texts(SIZE, RNG, CLASS), 13))
BAGS = RNG.poisson(1 + np.outer(CLASS, [0, 1, 2]) + 0.5)
FAMILIES = {"a": "poisson", "b": "bernoulli", "c": nv.Bins(4), "d": nv.Ordinal(["s", "m", "l"]), "e": "categorical"}
OF_FAMILIES = {
    "a": RNG.poisson(2 + CLASS),
    "b": RNG.integers(2, size=SIZE),
    "c": RNG.normal(size=SIZE) + CLASS,
    "d": RNG.choice(["s", "m", "l"], SIZE),
    "e": RNG.integers(3, size=SIZE) + CLASS,
}


@dataclass
class Case:
    """A table with its classes, and how a model of it is made."""

    X: Any
    y: Any = field(default_factory=lambda: LABELS)
    settings: dict[str, Any] = field(default_factory=dict)
    weights: Any = None
    known: dict[tuple[int, bytes], nv.NaiveBayes] = field(default_factory=dict)  # by how many rows they keep, and which

    def rows(self, at):
        """Return some of the rows, their classes, and their weights as arguments."""
        at = np.arange(SIZE)[at]
        X = self.X.iloc[at] if hasattr(self.X, "iloc") else self.X[at]
        y = self.y.iloc[at] if hasattr(self.y, "iloc") else self.y[at]
        return X, y, {} if self.weights is None else {"sample_weight": self.weights[at]}

    def new(self):
        """Return a classifier that was not fitted."""
        return nv.NaiveBayes(**self.settings)

    def fitted(self, at=slice(None)):
        """Return a copy of the model of one fit of some rows; a part of one class is no reason to warn here."""
        key = smallest.KEPT, np.arange(SIZE)[at].tobytes()
        if key not in self.known:
            X, y, how = self.rows(at)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", nv.TargetWarning)
                self.known[key] = self.new().fit(X, y, **how)
        return copy.deepcopy(self.known[key])

    def answers(self, nb):
        """Return the probabilities of all rows, once everything is up to date."""
        nb.fitted_ = up_to_date(nb.fitted_)
        return nb.predict_proba(self.X)


CASES = {
    "mixed": Case(MIXED),
    "mixed, textbook": Case(MIXED, settings={"model": "textbook"}),
    "mixed, tuned": Case(MIXED, settings={"model": "textbook", "smoothing": "auto", "temperature": "auto"}),
    "mixed, missing values count": Case(MIXED, settings={"missing": "value", "unseen": "smooth", "smoothing": "auto"}),
    "numbers without names": Case(NUMBERS.to_numpy(), CLASS),
    "narrow numbers": Case(NUMBERS.to_numpy().astype(np.float32), CLASS.astype(bool)),
    "texts": Case(TEXTS, settings={"families": {"text": "words"}}),
    "texts, pairs": Case(TEXTS, settings={"families": {"text": nv.Words(ngram_range=(1, 2))}}),
    "sparse vectors": Case(sparse.csr_array(BAGS), CLASS),
    "families": Case(pd.DataFrame(OF_FAMILIES), CLASS * 7, {"families": FAMILIES}),
    "families, textbook": Case(
        pd.DataFrame(OF_FAMILIES), settings={"families": FAMILIES | {"c": nv.Bins(cuts=[0, 1])}, "model": "textbook"}
    ),
    "whole weights": Case(MIXED, weights=1.0 + np.arange(SIZE) % 3),
    "weights": Case(MIXED, weights=0.5 + RNG.random(SIZE)),
    "class weights": Case(MIXED, settings={"class_weight": {"no": 3.0}}),
    "three classes": Case(MIXED, (CLASS + (np.arange(SIZE) % 5 == 0)).astype(object)),
    "declared classes": Case(NUMBERS, settings={"classes": ["no", "maybe", "yes"]}),
    "soft labels": Case(NUMBERS, pd.DataFrame({"no": 0.9 - 0.8 * CLASS, "yes": 0.1 + 0.8 * CLASS})),
}
