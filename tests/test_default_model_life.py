"""What happens to a default model changes none of its answers, whatever it was fitted to: one table of every kind."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import naively as nv
from naively.estimator.update import up_to_date
from naively.model.default.likelihoods import REST
from naively.model.default.normal import LINEAR, QUADRATIC
from naively.model.default.pairs import PAIRS
from naively.model.recipe import RECIPE

from .tables import penguins
from .test_coefficients import drawn_rows, redundant_texts
from .test_ordinal import as_frame, simulated
from .test_sparse import counts_of_words
from .test_weights import softened, table
from .test_wide_tables import numbers


def shuffled_penguins():
    X, y = penguins()
    order = np.random.default_rng(0).permutation(len(y))
    return X.iloc[order].reset_index(drop=True), y.to_numpy()[order]


def covariances(rows=600):
    """Return numbers and categories whose classes differ in how columns vary together, with missing values."""
    rng = np.random.default_rng(0)
    y, turn = rng.integers(0, 3, rows), np.random.default_rng(7).normal(size=(3, 3, 3))
    X = pd.DataFrame(np.einsum("nij,nj->ni", turn[y], rng.normal(size=(rows, 3))), columns=["u", "v", "w"])
    X["a"] = rng.choice(list("pqr"), rows)
    return X.mask(rng.random(X.shape) < 0.1), y


def soft():
    X, y = table(500)
    return X, softened(y)


def wide(kind):
    X, y, *_ = numbers(300, 120, 2, kind)
    return pd.DataFrame(X).add_prefix("n"), y


def texts_and_numbers():
    texts, y = redundant_texts(500, 1)
    return pd.DataFrame({"text": texts, "n": np.random.default_rng(0).normal(size=500)}), y


def levels():
    x, y = simulated(0, 300)
    return as_frame(x, ordered=True), y


class Narrow(nv.NaiveBayes):
    """The classifier as if thirty columns were a thousand."""

    _recipe = replace(RECIPE, most_features=60)


@dataclass
class Case:
    """Rows and a model of them; a term that has a weight, or what has coefficients; and how near is the same."""

    make: Callable[[], tuple[Any, Any]]
    term: Any = None
    params: dict[str, Any] = field(default_factory=dict)
    kind: type[nv.NaiveBayes] = nv.NaiveBayes
    near: float = 1e-9

    @cached_property
    def rows(self):
        """The rows and their classes."""
        return self.make()

    @cached_property
    def fitted(self):
        """The model of all rows."""
        return self.fit(slice(None))

    def fit(self, at, **params):
        """Return the model of some rows."""
        return self.kind(**self.params, **params).fit(*self.some(at))

    def some(self, at):
        """Return some of the rows, and their classes."""
        X, y = self.rows
        at = np.arange(X.shape[0])[at]
        return X.iloc[at].reset_index(drop=True) if isinstance(X, pd.DataFrame) else X[at], rows_at(y, at)


def rows_at(y, at):
    return y.iloc[at].reset_index(drop=True) if isinstance(y, pd.DataFrame) else np.asarray(y)[at]


CASES = {
    "penguins": Case(shuffled_penguins, PAIRS),
    "covariances": Case(covariances, QUADRATIC),
    "coefficients of values": Case(lambda: drawn_rows("a weighted sum")[0], "values"),
    "coefficients of pairs": Case(lambda: drawn_rows("pairs that agree")[0], "pairs"),
    "levels": Case(levels, "values"),
    "soft labels": Case(soft, LINEAR, near=1e-6),
    "a wide table": Case(lambda: wide("five"), LINEAR, kind=Narrow, near=1e-6),
    "columns that share a weight": Case(lambda: wide("many weak"), REST, kind=Narrow, near=1e-6),
    "counts of words": Case(lambda: counts_of_words(400), "counts", near=1e-4),
    "texts and numbers": Case(texts_and_numbers, "words", {"families": {"text": "words"}}, near=5e-3),
}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """Return the cases, one after the other."""
    return CASES[request.param]


def same(nb, case):
    """Check that a model predicts as that of all rows does."""
    nb.fitted_ = up_to_date(nb.fitted_)
    X, _ = case.some(slice(60))
    assert_allclose(nb.predict_proba(X), case.fitted.predict_proba(X), rtol=0, atol=case.near)


def test_each_case_has_what_it_is_for(case):
    learned = case.fitted.tuning_.learned
    coefficients = [] if learned.coefficients is None else learned.coefficients.ridges
    assert case.term in {*learned.weights, *coefficients, *(term.kind for term in learned.weights)}


def test_a_file_and_a_pickle_give_the_same_bits(case, tmp_path):
    nb, (X, _) = case.fitted, case.some(slice(60))
    nb.save(tmp_path / "model.parquet", rows=True)
    loaded = nv.load(tmp_path / "model.parquet")
    assert (loaded.counts_, loaded.schema_, loaded.summary()) == (nb.counts_, nb.schema_, nb.summary())
    for twin in (loaded, pickle.loads(pickle.dumps(nb))):
        assert_array_equal(twin.predict_proba(X), nb.predict_proba(X))


def test_batches_are_one_fit(case):
    size = case.rows[0].shape[0]
    nb = case.fit(slice(size // 2))
    for begin in range(size // 2, size, size // 4 + 1):
        nb.partial_fit(*case.some(slice(begin, begin + size // 4 + 1)))
    same(nb, case)


def test_merged_halves_are_one_fit(case):
    same(nv.merge(case.fit(slice(0, None, 2)), case.fit(slice(1, None, 2))), case)


def test_to_forget_rows_is_a_fit_of_the_rest(case):
    size = case.rows[0].shape[0]
    gone = np.arange(size) % 4 == 0
    nb, rest = case.fit(slice(None)).forget(*case.some(gone)), case.fit(~gone)
    nb.fitted_ = up_to_date(nb.fitted_)
    X, _ = case.some(slice(60))
    assert_allclose(nb.predict_proba(X), rest.predict_proba(X), rtol=0, atol=case.near)


def test_the_order_of_rows_and_threads_change_nothing(case):
    order = np.random.default_rng(5).permutation(case.rows[0].shape[0])
    same(case.fit(order, n_jobs=3), case)


@pytest.mark.parametrize("name", ["penguins", "covariances", "levels", "soft labels"])
def test_a_row_of_weight_two_is_two_rows_and_one_of_weight_zero_none(name):
    case = CASES[name]
    times = np.arange(case.rows[0].shape[0]) % 3
    X, y = case.some(slice(None))
    weighted = nv.NaiveBayes().fit(X, y, sample_weight=times)
    repeated = case.fit(np.repeat(np.arange(len(times)), times))
    X, _ = case.some(slice(60))
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=0, atol=1e-6)


def test_a_row_gets_the_same_bits_alone_and_among_others(case):
    X, _ = case.some(slice(20))
    many = case.fitted.predict_proba(X)
    for at in range(20):
        assert_array_equal(case.fitted.predict_proba(case.some(slice(at, at + 1))[0])[0], many[at])
        if isinstance(X, pd.DataFrame):
            assert_array_equal(case.fitted.predict_proba(X.iloc[at].to_dict())[0], many[at])


def test_contributions_add_up_from_the_average_row(case):
    """Of texts and vectors nothing is taken off: their mean is in no count."""
    X, _ = case.some(slice(None))
    evidence = case.fitted.explain(X)
    joint = evidence.base + evidence.scores.sum(axis=1)
    assert_allclose(evidence.log_joint, case.fitted.predict_joint_log_proba(X), rtol=0, atol=1e-9)
    assert_allclose(joint, evidence.log_joint, rtol=0, atol=1e-9)
    assert_allclose(evidence.probabilities, case.fitted.predict_proba(X), rtol=0, atol=1e-9)
    counted = [at for at, name in enumerate(evidence.columns) if name not in ("text", "X")]
    if case.term != REST and not isinstance(case.rows[1], pd.DataFrame):
        mean = evidence.scores[:, counted].mean(axis=0)
        assert_allclose(mean - mean.mean(axis=-1, keepdims=True), 0.0, atol=1e-9)
