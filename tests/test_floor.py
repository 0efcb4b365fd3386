"""The floor under probabilities: a model of n rows gives every class at least a share 0.1 / (n + 1) of its prior."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, softmax

import naively as nv
from naively.model.default.model import DefaultModel
from naively.model.recipe import RECIPE
from naively.model.scorer import log_posterior, posterior

WORDS = ["good", "fine", "great", "bad", "poor", "awful", "film", "plot", "music", "scene", "long", "short"]


def table(rows=120, classes=2, seed=0):
    """Draw rows with missing values; the numbers depend on each other within a class, which naive Bayes ignores."""
    rng = np.random.default_rng(seed)
    y = np.minimum(rng.integers(0, classes, rows), rng.integers(0, classes, rows))  # the first are more frequent
    x = 2.5 * y + rng.normal(size=rows)
    z = x + 0.1 * rng.normal(size=rows)
    x[::11] = np.nan
    labels = np.where(rng.random(rows) < 0.8, y, rng.integers(0, classes, rows))
    return pd.DataFrame({"x": x, "z": z, "label": [f"v{at}" for at in labels]}), np.array([f"c{at}" for at in y])


def texts(rows=150, seed=0):
    """Draw texts of two classes, which prefer other words; a word stands several times in a text or not at all."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    first = np.array([3.0, 3, 3, 1, 1, 1, 2, 2, 2, 2, 2, 2])
    chances = np.array([first, first[[3, 4, 5, 0, 1, 2, *range(6, 12)]]]) / first.sum()
    lines = [" ".join(np.repeat(rng.choice(WORDS, 4, p=chances[k]), 4)) for k in y]
    return pd.DataFrame({"text": lines}), np.where(y == 1, "yes", "no")


def fitted(X, y, **params):
    """Fit a model that must be the default one: a textbook model has no floor."""
    weights, recipe = params.pop("weights", None), params.pop("recipe", RECIPE)
    families = {"text": nv.Words()} if "text" in X else None
    nb = type("Fitted", (nv.NaiveBayes,), {"_recipe": recipe})(families=families, **params)
    nb.fit(X, y, sample_weight=weights)
    assert isinstance(nb.fitted_.model, DefaultModel)
    return nb


def floors(y, weights=None, prior=None):
    """Return the floor of each class by its definition; a prior that is not set has a pseudo-count of one row."""
    classes, codes = np.unique(y, return_inverse=True)
    n = np.bincount(codes, weights, len(classes)).astype(float)
    prior = (n + 1) / (n.sum() + len(n)) if prior is None else np.asarray(prior)
    return 0.1 / (n.sum() + 1) * prior


def mixed(scores, floor):
    """Return (1 - ε) · softmax + ε · prior."""
    return (1 - floor.sum()) * softmax(scores, axis=1) + floor


CASES = {
    "two classes": (table(), {}),
    "five classes": (table(300, 5), {}),
    "few rows": (table(60, 2, 3), {}),
    "uniform prior": (table(), {"prior": "uniform"}),
    "given prior": (table(), {"prior": [0.9, 0.1]}),
    "weights": (table(), {"weights": np.arange(120) % 4 + 1.0}),
    "fractions of rows": (table(), {"weights": np.linspace(0.1, 1.9, 120)}),
    "temperature": (table(), {"temperature": 2.0}),
    "texts": (texts(), {}),
    "texts with a uniform prior": (texts(), {"prior": "uniform"}),
}
PRIORS = {"uniform": [0.5, 0.5]}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """Return a model, its rows and classes, and the floor of each class by definition."""
    (X, y), params = CASES[request.param]
    prior = params.get("prior")
    floor = floors(y, params.get("weights"), PRIORS.get(prior, prior) if isinstance(prior, str) else prior)
    return fitted(X, y, **params), X, y, floor


# -- the definition ----------------------------------------------------------------------------------------------------


def test_probabilities_are_the_softmax_mixed_with_the_prior(case):
    nb, X, _, floor = case
    assert_allclose(nb.predict_proba(X), mixed(nb.predict_joint_log_proba(X), floor), rtol=0, atol=1e-12)
    assert_allclose(nb.predict_proba(X).sum(axis=1), 1.0, rtol=0, atol=1e-12)


# -- no class is impossible --------------------------------------------------------------------------------------------


def test_rows_without_their_fold_have_the_floor_of_the_other_rows():
    X, y = table(200, 3)
    without = fitted(X, y, recipe=replace(RECIPE, floor_rows=0.0)).leave_one_out(X, y)
    found = fitted(X, y).leave_one_out(X, y)
    assert_array_equal(found.folds, without.folds)
    assert len(np.unique(found.folds)) == RECIPE.folds
    for fold in np.unique(found.folds):
        here, floor = found.folds == fold, floors(y[found.folds != fold])
        bare = without.posterior[here]
        assert_allclose(found.posterior[here], (1 - floor.sum()) * bare + floor, rtol=0, atol=1e-12)
        assert (bare < floor).any()


def test_no_probability_is_below_its_floor():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 10, (300, 5)), columns=list("abcde"))
    y = (X.sum(axis=1) > 22).to_numpy()
    nb, floor = fitted(X, y), floors(y)
    far = pd.DataFrame([[0] * 5, [9] * 5, [-1e6] * 5, [1e6] * 5, [np.nan] * 5], columns=X.columns)
    p = nb.predict_proba(far)
    assert (p >= floor * (1 - 1e-12)).all()
    assert (softmax(nb.predict_joint_log_proba(far), axis=1) < floor).sum() >= 4  # without it they would be lower
    assert np.isfinite(nb.predict_log_proba(far)).all()
    assert_array_equal(nb.predict(far)[:2], [False, True])


def test_the_textbook_model_has_none():
    X, y = table()
    nb = nv.NaiveBayes(model="textbook").fit(X, y)
    assert nb.fitted_.model.scorer.floor is None
    assert nb.explain(X).floor is None
    assert_allclose(nb.predict_proba(X), softmax(nb.predict_joint_log_proba(X), axis=1), rtol=0, atol=1e-12)
    far = {"x": 1e4, "z": None, "label": None}
    assert_allclose(nb.predict_log_proba(far)[0], log_softmax(nb.predict_joint_log_proba(far)[0]))
    assert nb.predict_log_proba(far).min() < -100


# -- the kernel --------------------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 13), st.integers(1, 40), st.floats(0, 0.99), st.floats(0.01, 500), st.integers(0, 2**32 - 1))
def test_the_kernel_mixes_whatever_scores_come(classes, rows, share, spread, seed):
    """Of any number of classes and rows, with scores as far apart as can be."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(rows, classes)) * spread
    floor = share * rng.dirichlet(np.ones(classes))
    p = posterior(scores, np.zeros(classes), floor=floor)
    assert_allclose(p, mixed(scores, floor), rtol=0, atol=1e-12)
    assert (p >= floor * (1 - 1e-12)).all()
    with np.errstate(divide="ignore"):
        assert_allclose(log_posterior(scores, np.zeros(classes), floor=floor), np.log(p), rtol=1e-10, atol=1e-12)
