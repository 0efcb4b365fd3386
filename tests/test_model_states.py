"""Parts of a model work together: what was chosen before, columns beside others, remarks, names, and light weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import naively as nv
from naively.model.default.fit import DefaultFit
from naively.model.default.likelihoods import REST
from naively.model.default.normal import LINEAR, QUADRATIC
from naively.model.recipe import RECIPE


def flowers(rows=150):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[:rows]
    return X[order], y[order]


# What kinds of evidence, and matrices of cells, are called inside.
NAMES = ("levels", "labels", "codes", "level", "pairs", "cells", "numbers 0")


@pytest.fixture
def narrow(monkeypatch):
    """Let columns be screened as if they were a thousand: all that are more than thirty."""
    monkeypatch.setattr(nv.NaiveBayes, "_recipe", replace(RECIPE, most_features=60))


def either_or(rows=600, noise=150, seed=0, labels=True):
    """Return two columns that tell the class only together, beside noise."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, (2, rows))
    X = pd.DataFrame(rng.normal(size=(rows, noise))).add_prefix("n")
    X["a"], X["b"] = (pd.Series(x).map({0: "no", 1: "yes"}) if labels else x for x in (a, b))
    return X, a ^ b


def weak(rows=400, columns=150, seed=3, missing=True):
    """Return many columns of numbers, each of which tells a little by being missing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    X = rng.normal(size=(rows, columns))
    if missing:
        X[rng.random(X.shape) < np.where(y, 0.22, 0.08)[:, None]] = np.nan
    else:
        X += 0.15 * y[:, None]
    return pd.DataFrame(X).add_prefix("n"), y


# -- what was chosen before --------------------------------------------------------------------------------------------


def test_fitting_weights_forgets_the_temperature_of_the_textbook():
    X, y = flowers()
    nb = nv.NaiveBayes(model="textbook").fit(X, y).calibrate(X, y)
    assert nb.temperature_ != 1.0
    nb.set_params(model="auto").calibrate(X, y)
    assert nb.temperature_ == 1.0
    assert nb.tuning_.bias is None


# -- columns beside others ---------------------------------------------------------------------------------------------


def test_columns_asked_for_are_counted_together_however_wide_the_table(narrow):
    X, y = either_or()
    nb = nv.NaiveBayes(columns=["a", "b"]).fit(X, y)
    assert (nb.predict(X) == y).mean() == 1.0
    assert {"a", "b"} <= set(nb.tuning_.learned.joint.grid.names)
    assert len(nb.tuning_.learned.joint.grid.names) < 50


def test_other_columns_tell_by_missing_values_where_these_count(narrow):
    X, y = weak()
    nb = nv.NaiveBayes(missing="value").fit(X[:300], y[:300])
    assert nb.tuning_.learned.weights.get(REST)
    model = nb.fitted_.model
    assert sum(len(one.names) for one in model.others.values()) == 2 * (150 - len(model.counts.grid.names))
    assert (nb.predict(X[300:]) == y[300:]).mean() > 0.8
    assert np.allclose(nb.predict_proba(X[:3]), nb.predict_proba(X[:3].to_dict("records")))


@pytest.mark.parametrize("name", NAMES)
def test_texts_say_the_same_whatever_their_column_is_named(name):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    words = np.array(["good fine nice", "bad poor sad", "day night the"])
    texts = [
        " ".join(rng.permutation(f"{words[k]} {words[2]} {words[j]}".split())[:4])
        for k, j in zip(y, 1 - y, strict=True)
    ]
    beside = {"n": rng.normal(size=200) + y, "l": np.where(rng.random(200) < 0.7, y, 1 - y).astype(str)}
    families = {name: nv.Words(), "text": nv.Words()}
    X, other = ({**beside, title: texts} for title in (name, "text"))
    p, expected = (
        nv.NaiveBayes(families={title: families[title]}).fit(pd.DataFrame(x), y).predict_proba(pd.DataFrame(x))
        for title, x in ((name, X), ("text", other))
    )
    assert np.allclose(p, expected)


# -- light weights -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [(5.0, 0.5), (9.0, 1.0), None], ids=["by class", "whole", "by chance"])
def test_heavy_rows_tell_no_more_than_light_ones(weights):
    """Weights that follow from the class, or have fractions, are a row's own: noise tells nothing under any of them."""
    rng = np.random.default_rng(0)
    y = rng.choice(["no", "yes"], 400, p=[0.9, 0.1])
    table = pd.DataFrame({"id": [f"i{at}" for at in range(400)], "noise": rng.normal(size=400)})
    given = rng.exponential(size=400) if weights is None else np.where(y == "yes", *weights)
    for model in ("auto", "textbook"):
        told = nv.NaiveBayes(model=model).fit(table, y, sample_weight=given).importance()
        assert max(told["bits"]) < 0.06


# -- remarks -----------------------------------------------------------------------------------------------------------


def learned(*pieces):
    return DefaultFit(dict.fromkeys(pieces, 1.0), {}, np.zeros(2), {"a": 0.5}, 100, None)


@pytest.mark.parametrize(
    ("piece", "said"),
    [
        (REST, "terms of all other columns"),
        (LINEAR, "terms of all columns at once"),
        (QUADRATIC, "terms of all columns at once"),
    ],
)
def test_a_term_that_alone_has_a_weight_is_named(piece, said):
    assert said in learned(piece).describe([])[0]
    assert "the prior answers" not in learned(piece).describe([])[0]
