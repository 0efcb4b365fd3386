"""A class weight is the weight of every row of the class, wherever the rows are, and scores do not know of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.estimator_checks import check_class_weight_classifiers

import naively as nv
from naively.errors import InvalidInput, InvalidSetting

from .test_folds import mixed_rows

ROWS = mixed_rows(240, seed=5).drop(columns="weight")
Y = ROWS["kind"].to_numpy(dtype=object)
X = ROWS.drop(columns="kind")
GIVEN = {"low": 3.0, "high": 0.5}
MODELS = ("auto", "textbook")


def weights_of(setting, labels=Y):
    """Return the weights of rows as scikit-learn gives them."""
    return compute_sample_weight("balanced" if setting == "balanced" else {"middle": 1.0, **setting}, labels)


@pytest.fixture
def path(tmp_path):
    ROWS.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


# -- the same as weights of rows ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", [GIVEN, "balanced"], ids=str)
@pytest.mark.parametrize("model", MODELS)
def test_a_class_weight_is_the_weight_of_its_rows(model, setting, path):
    """In memory, in a file, and where folds are scored."""
    expected = nv.NaiveBayes(model=model).fit(X, Y, sample_weight=weights_of(setting))
    nb = nv.NaiveBayes(model=model, class_weight=setting)
    scored = nv.NaiveBayes(model=model, class_weight=setting)
    nv.fit_files(scored, path, "kind", cv=3)
    for other in (nb.fit(X, Y), nv.NaiveBayes(model=model, class_weight=setting).fit(path, target="kind"), scored):
        assert_allclose(other.predict_proba(X), expected.predict_proba(X), atol=1e-9)
        assert other.counts_.agrees(expected.counts_, 1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_class_weights_and_weights_of_rows_are_multiplied(model):
    """Balanced by weight: a row that weighs 2 is two rows."""
    own = np.random.default_rng(0).integers(0, 3, len(Y)).astype(float)
    nb = nv.NaiveBayes(model=model, class_weight="balanced").fit(X, Y, sample_weight=own)
    share = {label: own.sum() / (3 * own[label == Y].sum()) for label in set(Y)}
    expected = nv.NaiveBayes(model=model).fit(X, Y, sample_weight=own * [share[label] for label in Y])
    assert_allclose(nb.predict_proba(X), expected.predict_proba(X), atol=1e-9)
    assert_allclose(nb.counts_.rows, own.sum() / 3)


def test_soft_labels_and_rows_without_a_label_are_weighed_by_class():
    soft = pd.DataFrame({"low": [0.2, 0.9, 0.5], "high": [0.8, 0.1, 0.5]})
    table = {"x": ["a", "b", "b"]}
    nb = nv.NaiveBayes(model="textbook", class_weight={"low": 2.0}).fit(table, soft)
    assert_allclose(nb.counts_.rows, [1.4, 3.2])
    labels = [None if at % 5 == 0 else label for at, label in enumerate(Y)]
    skipped = nv.NaiveBayes(class_weight=GIVEN, unlabelled="skip").fit(X, labels)
    there = np.array([label is not None for label in labels])
    assert_allclose(
        skipped.predict_proba(X), nv.NaiveBayes(class_weight=GIVEN).fit(X[there], Y[there]).predict_proba(X)
    )
    em = {"unlabelled": "em", "estimate": "map", "model": "textbook"}
    assert nv.NaiveBayes(class_weight=GIVEN, **em).fit(X, labels).expected_ is not None


# -- learning on, forgetting, keeping ----------------------------------------------------------------------------------


def test_rows_come_and_go_with_the_weights_of_their_classes():
    """Also before a class has come, row by row, and under weights that were set since."""
    whole = nv.NaiveBayes(model="textbook", class_weight=GIVEN).fit(X, Y)
    first = np.flatnonzero(Y != "high")[:100]
    rest = np.setdiff1d(np.arange(len(Y)), first)
    nb = nv.NaiveBayes(model="textbook", class_weight=GIVEN, families=whole.schema_)
    nb.partial_fit(X.iloc[first], Y[first]).set_params(class_weight={"low": 9.0})
    for row in rest[:5]:
        nb.partial_fit(X.iloc[row].to_dict(), Y[row])
    nb.partial_fit(X.iloc[rest[5:]], Y[rest[5:]])
    assert nb.counts_.agrees(whole.counts_, 1e-9)
    nb.forget(X.iloc[rest], Y[rest])
    alone = nv.NaiveBayes(model="textbook", class_weight={"low": 3.0}, families=whole.schema_)
    alone.fit(X.iloc[first], Y[first])
    assert nb.counts_.agrees(alone.counts_, 1e-9)


# -- folds -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", [GIVEN, "balanced"], ids=str)
@pytest.mark.parametrize("model", MODELS)
def test_each_fold_is_weighed_by_the_rows_it_learns_from(model, setting, path, keep):
    """As scikit-learn does; scores are those of rows as they are. A file has the same, few rows or many."""
    folds = [(np.flatnonzero(np.arange(len(Y)) % 3 != at), np.arange(at, len(Y), 3)) for at in range(3)]
    scores = nv.cross_validate(X, Y, cv=folds, model=model, class_weight=setting)
    for train, test in folds:
        nb = nv.NaiveBayes(model=model).fit(X.iloc[train], Y[train], sample_weight=weights_of(setting, Y[train]))
        assert_allclose(scores.posterior[test], nb.predict_proba(X.iloc[test]), atol=1e-9)
    assert scores.weights is None
    found = nv.cross_validate(X, Y, cv=4, model=model, class_weight=setting)
    nb = nv.NaiveBayes(model=model, class_weight=setting)
    assert_allclose(nv.fit_files(nb, path, "kind", cv=4).scores.posterior, found.posterior, atol=1e-9)
    if model == "textbook":
        keep(30)
        assert_allclose(nv.fit_files(nb, path, "kind", cv=4).scores.posterior, found.posterior, atol=1e-9)


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("equal", "class_weight='equal' must be 'balanced', a dict of weights by class"),
        (3.0, "class_weight=3.0 must be 'balanced'"),
        ({"low": -1.0}, "gives the class 'low' the weight -1.0; give a finite number of 0 or more"),
        ({"low": float("nan")}, "gives the class 'low' the weight nan"),
        ({"low": float("inf")}, "gives the class 'low' the weight inf"),
        ({"low": "much"}, "gives the class 'low' the weight 'much'"),
        ({"lo": 2.0}, "class_weight names the class 'lo', which no row has; the classes are"),
        (dict.fromkeys(("low", "middle", "high"), 0.0), "a row weighs nothing; give other weights"),
        ({"low": 1e200}, r"a row weighs 1e\+200; give other weights"),
    ],
    ids=str,
)
def test_class_weights_that_mean_nothing_are_refused(setting, words, path):
    with pytest.raises(InvalidInput, match=words):
        nv.NaiveBayes(class_weight=setting).fit(X, Y)
    with pytest.raises(InvalidInput, match=words):
        nv.cross_validate(X, Y, class_weight=setting)
    if words.startswith(("class_weight", "gives")):
        with pytest.raises(InvalidInput, match=words):
            nv.fit_files(nv.NaiveBayes(class_weight=setting), path, "kind")


def test_balanced_weights_are_refused_where_not_all_rows_are_known(path, tmp_path):
    nb = nv.NaiveBayes(class_weight="balanced")
    with pytest.raises(InvalidSetting, match=r"'balanced' follows from all rows, so partial_fit cannot know it"):
        nb.partial_fit(X, Y)
    with pytest.raises(InvalidSetting, match=r"class_weight='balanced' changes what is counted.*keep_counts"):
        nv.fit_files(nb, path, "kind", keep_counts=tmp_path / "kept")
    with pytest.raises(InvalidSetting, match="so forget cannot know it"):
        nb.fit(X, Y).forget(X[:5], Y[:5])


# -- the command line and scikit-learn ---------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_class_weights_pass_the_checks_of_scikit_learn(model):
    check_class_weight_classifiers("NaiveBayes", nv.NaiveBayes(model=model))
