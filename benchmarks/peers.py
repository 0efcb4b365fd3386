"""What a user would take instead for a table of strings and numbers: pipelines of scikit-learn, and three packages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder


def encoded_strings() -> Any:
    """Return OrdinalEncoder and CategoricalNB in a row; whole codes spare scikit-learn a conversion."""
    return make_pipeline(OrdinalEncoder(dtype=np.int64), CategoricalNB())


class Prepared:
    """Turns a frame into codes and numbers: a missing value is a category, or the mean; 0 is an unseen label."""

    def __init__(self, texts: list[str], numbers: list[str]) -> None:
        self.texts, self.numbers = texts, numbers
        self.encoder = OrdinalEncoder(
            dtype=np.int64, handle_unknown="use_encoded_value", unknown_value=-2, encoded_missing_value=-1
        )
        self.imputer = SimpleImputer(keep_empty_features=True)

    def fit(self, frame: Any) -> tuple[Any, Any]:
        """Return the codes and the numbers of a frame to learn from."""
        return self.encoder.fit_transform(frame[self.texts]) + 2, self.imputer.fit_transform(frame[self.numbers])

    def transform(self, frame: Any) -> tuple[Any, Any]:
        """Return the codes and the numbers of a frame to ask about."""
        return self.encoder.transform(frame[self.texts]) + 2, self.imputer.transform(frame[self.numbers])

    @property
    def sizes(self) -> list[int]:
        """How many codes each column of strings has; the category of missing values may be listed last, as NaN."""
        listed = [sum(isinstance(name, str) for name in names) for names in self.encoder.categories_]
        return [count + 2 for count in listed]


class GaussAndCategories:
    """GaussianNB on imputed numbers and CategoricalNB on encoded strings, their log-likelihoods added."""

    def __init__(self, texts: list[str], numbers: list[str]) -> None:
        self.prepared = Prepared(texts, numbers)

    def fit(self, frame: Any, y: Any) -> GaussAndCategories:
        """Learn from a pandas frame."""
        codes, numbers = self.prepared.fit(frame)
        self.categorical = CategoricalNB(min_categories=self.prepared.sizes).fit(codes, y)
        self.gaussian = GaussianNB().fit(numbers, y)
        self.classes_ = self.gaussian.classes_
        return self

    def log_joint(self, frame: Any) -> Any:
        """Return log P(class, row) as [row, class]."""
        codes, numbers = self.prepared.transform(frame)
        both = self.categorical.predict_joint_log_proba(codes) + self.gaussian.predict_joint_log_proba(numbers)
        return both - self.categorical.class_log_prior_  # which both have added

    def predict(self, frame: Any) -> Any:
        """Return the most probable class of each row."""
        return self.classes_[self.log_joint(frame).argmax(axis=1)]

    def predict_proba(self, frame: Any) -> Any:
        """Return P(class | row) as [row, class]."""
        joint = self.log_joint(frame)
        chances = np.exp(joint - joint.max(axis=1, keepdims=True))
        return chances / chances.sum(axis=1, keepdims=True)


class OneArray:
    """A package that takes one array of codes and numbers side by side, behind the same preparation."""

    def __init__(self, texts: list[str], numbers: list[str], make: Callable[[Prepared], Any]) -> None:
        self.prepared, self.make = Prepared(texts, numbers), make

    def fit(self, frame: Any, y: Any) -> OneArray:
        """Learn from a pandas frame."""
        X = np.hstack(self.prepared.fit(frame))
        self.model = self.make(self.prepared)
        self.model.fit(X, y)
        return self

    def predict(self, frame: Any) -> Any:
        """Return the most probable class of each row."""
        return self.model.predict(np.hstack(self.prepared.transform(frame)))


def packages() -> Iterator[tuple[str, Callable[[Prepared], Any] | None]]:
    """Give mixed-naive-bayes and wnb, each with what makes its classifier, or None where it is not installed."""
    for name, make in (("mixed-naive-bayes", mixed_naive_bayes), ("wnb", wnb)):
        try:
            yield name, make()
        except ImportError:
            yield name, None


def mixed_naive_bayes() -> Callable[[Prepared], Any]:
    from mixed_naive_bayes import MixedNB

    return lambda prepared: MixedNB(
        categorical_features=list(range(len(prepared.texts))), max_categories=prepared.sizes, alpha=1.0
    )


def wnb() -> Callable[[Prepared], Any]:
    from wnb import Distribution, GeneralNB

    return lambda prepared: GeneralNB(
        [Distribution.CATEGORICAL] * len(prepared.texts) + [Distribution.NORMAL] * len(prepared.numbers), alpha=1.0
    )


class River:
    """River's nearest to a mixed table, learning row by row: GaussianNB on numbers, BernoulliNB on one-hot strings.

    River has no classifier for both, so two learn side by side. BernoulliNB takes half the time of MultinomialNB, and
    strings named here a fraction of that of River's OneHotEncoder. Holes are left out.
    """

    def __init__(self) -> None:
        from river import naive_bayes

        self.gaussian, self.categorical = naive_bayes.GaussianNB(), naive_bayes.BernoulliNB()

    def learn_one(self, row: dict[str, Any], label: Any) -> None:
        """Learn one row."""
        numbers = {name: value for name, value in row.items() if isinstance(value, float)}
        texts = {f"{name}={value}": 1 for name, value in row.items() if isinstance(value, str)}
        self.gaussian.learn_one(numbers, label)
        if texts:
            self.categorical.learn_one(texts, label)
