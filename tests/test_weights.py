"""Weights of rows and of classes, and soft labels: each is as many rows as it says, wherever they are."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.estimator_checks import check_class_weight_classifiers

import naively as nv
from naively.errors import InvalidInput, InvalidSetting, WeightWarning

from .test_cross_validation import mixed_rows

ROWS = mixed_rows(200, seed=8)
W = ROWS["weight"].to_numpy(dtype=float)
Y = ROWS["kind"].to_numpy(dtype=object)
X = ROWS.drop(columns=["kind", "weight"])
WITH = ROWS.drop(columns="kind")
FORMS = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "arrow": pa.Table.from_pandas,
    "dict": lambda frame: frame.to_dict("list"),
    "rows": lambda frame: frame.to_dict("records"),
}


def written(tmp_path, rows):
    """Return a file of some rows."""
    rows.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


# -- a column of weights -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("model", ["auto", "textbook"])
def test_a_column_may_hold_the_weights(form, model):
    """It is then no feature, and predict ignores it as it ignores other columns that it does not know."""
    expected = nv.NaiveBayes(model=model).fit(X, Y, sample_weight=W)
    nb = nv.NaiveBayes(model=model).fit(FORMS[form](WITH), Y, sample_weight="weight")
    of_target = nv.NaiveBayes(model=model).fit(FORMS[form](ROWS), target="kind", sample_weight="weight")
    for found in (nb, of_target):
        assert list(found.feature_names_in_) == list(X.columns)
        assert_allclose(found.predict_proba(FORMS[form](WITH)), expected.predict_proba(X), atol=1e-9)


def test_scores_and_counts_take_a_column_of_weights(tmp_path):
    nb = nv.NaiveBayes().fit(WITH, Y, sample_weight="weight")
    expected = nb.leave_one_out(X, Y, sample_weight=W)
    path = written(tmp_path, ROWS)
    for scores in (
        nb.leave_one_out(WITH, Y, sample_weight="weight"),
        nb.leave_one_out(ROWS, target="kind", sample_weight="weight"),
        nb.leave_one_out(path, target="kind", sample_weight="weight"),
    ):
        assert_allclose(scores.posterior, expected.posterior, atol=1e-9)
        assert_array_equal(scores.weights, W)
    crossed = nv.cross_validate(ROWS, target="kind", sample_weight="weight", cv=4)
    assert_array_equal(crossed.posterior, nv.cross_validate(X, Y, sample_weight=W, cv=4).posterior)
    assert nv.count(ROWS, target="kind", sample_weight="weight").agrees(nv.count(X, Y, sample_weight=W), 1e-9)
    assert nv.count(path, target="kind", sample_weight="weight").agrees(nv.count(X, Y, sample_weight=W), 1e-9)
    again = nv.NaiveBayes(model="textbook").fit(X, Y, sample_weight=W)
    by_name = again.calibrate(WITH, Y, sample_weight="weight").temperature_
    assert by_name == again.calibrate(X, Y, sample_weight=W).temperature_


@pytest.mark.parametrize(
    ("table", "name", "words"),
    [
        (WITH, "wieght", r"no column 'wieght'.*weight"),
        (
            WITH.assign(weight=np.where(np.arange(200) == 7, -2.0, 1.0)),
            "weight",
            "Row 7: its weight in column 'weight'",
        ),
        (WITH.assign(weight=np.where(np.arange(200) == 7, np.nan, 1.0)), "weight", "'weight' is missing; a row weighs"),
        (WITH.assign(weight=np.where(np.arange(200) == 7, np.inf, 1.0)), "weight", "is inf; a row weighs a finite"),
        (WITH, "color", "The column 'color' of the weights holds text; a row weighs a number"),
        (WITH.assign(weight=0.0), "weight", "Sample weights must contain at least one non-zero number"),
        (np.ones((200, 2)), "x1", "names a column, but the columns of X have no names; give a weight for each row"),
        ({"x": np.ones(200), "bag": np.ones((200, 2))}, "bag", "The column 'bag' of the weights holds vectors"),
    ],
    ids=["misspelt", "negative", "missing", "infinite", "texts", "nothing", "array", "vectors"],
)
def test_columns_that_are_no_weights_are_refused(table, name, words):
    with pytest.raises(InvalidInput, match=words):
        nv.NaiveBayes().fit(table, Y, sample_weight=name)
    with pytest.raises(InvalidInput, match=words):
        nv.cross_validate(table, Y, sample_weight=name)


# -- the scale of weights ----------------------------------------------------------------------------------------------


def test_weights_that_stand_for_no_rows_are_pointed_out(tmp_path):
    """With what to do about it, once for each way that rows are learned from."""
    weights, words = W / W.sum(), r"The weights of 200 rows sum to 1\. .*outweighed by the smoothing"
    table = ROWS.assign(weight=weights)
    path = written(tmp_path, table)
    with pytest.warns(WeightWarning, match=words + r".*w \* len\(w\) / w\.sum\(\)"):
        nv.NaiveBayes().fit(X, Y, sample_weight=weights)
    with pytest.warns(WeightWarning, match=words) as told:
        nv.NaiveBayes().fit(table, target="kind", sample_weight="weight")
    assert told[0].filename == __file__
    with pytest.warns(WeightWarning, match=words):
        nv.cross_validate(X, Y, sample_weight=weights, cv=3)
    by_file = words + r".*nv\.fit_files\(\.\.\., normalize_weight=True\)"
    for ask in (
        lambda: nv.NaiveBayes().fit(path, target="kind", sample_weight="weight"),
        lambda: nv.cross_validate(path, target="kind", sample_weight="weight", cv=3),
        lambda: nv.fit_files(nv.NaiveBayes(), path, "kind", weight="weight", cv=3),
    ):
        with pytest.warns(WeightWarning, match=by_file):
            ask()


@pytest.mark.parametrize(
    "weights",
    [W / W.mean(), W / W.mean() * 0.2, W * 100.5, W * 1000, np.where(np.arange(200) < 20, 1.0, 0.0), None],
    ids=["normalized", "a fifth", "many", "how often", "some", "none"],
)
def test_weights_that_may_stand_for_rows_are_not(weights, tmp_path):
    """However many rows they stand for; rows of no weight are none."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeightWarning)
        nv.NaiveBayes(model="textbook").fit(X, Y, sample_weight=weights)
        if weights is not None:
            path = written(tmp_path, ROWS.assign(weight=weights))
            nv.fit_files(nv.NaiveBayes(model="textbook"), path, "kind", weight="weight", cv=2)


@pytest.mark.parametrize("kept", [20_000, 40])
def test_weights_of_a_file_may_be_normalized(tmp_path, keep, kept):
    keep(kept)
    path = written(tmp_path, ROWS.assign(weight=W / W.sum()))
    nb = nv.NaiveBayes(model="textbook")
    done = nv.fit_files(nb, path, "kind", weight="weight", cv=4, normalize_weight=True)
    scale = len(W) / W.sum()
    expected = nv.cross_validate(X, Y, sample_weight=W * scale, cv=4, model="textbook")
    assert_allclose(
        nb.predict_proba(X), nv.NaiveBayes(model="textbook").fit(X, Y, sample_weight=W * scale).predict_proba(X)
    )
    assert_allclose(done.scores.posterior, expected.posterior, atol=1e-9)
    assert done.scores.rows == pytest.approx(len(W))
    plain = nv.NaiveBayes(model="textbook")
    nv.fit_files(plain, path, "kind", normalize_weight=True)  # no weights, nothing to normalize
    assert plain.counts_.rows.sum() == len(W)


# -- a class weight is the weight of every row of the class, wherever the rows are, and scores do not know of it -------

GIVEN = {"low": 3.0, "high": 0.5}
MODELS = ("auto", "textbook")


def weights_of(setting, labels=Y):
    """Return the weights of rows as scikit-learn gives them."""
    return compute_sample_weight("balanced" if setting == "balanced" else {"middle": 1.0, **setting}, labels)


@pytest.fixture
def path(tmp_path):
    X.assign(kind=Y).to_csv(tmp_path / "t.csv", index=False)
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
    for other in (
        nb.fit(X, Y),
        nv.NaiveBayes(model=model, class_weight=setting).fit(path, target="kind"),
        scored,
    ):
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
        skipped.predict_proba(X),
        nv.NaiveBayes(class_weight=GIVEN).fit(X[there], Y[there]).predict_proba(X),
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


# -- soft labels with the default model --------------------------------------------------------------------------------

NAMES = ["a", "b", "c"]


def table(rows=400, seed=0):
    """Return numbers and labels that depend on each other within a class, and classes."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, rows, p=[0.5, 0.4, 0.1])
    shared = rng.normal(size=rows)
    X = pd.DataFrame({"n0": shared + y, "n1": shared - y + rng.normal(size=rows) / 2, "n2": rng.normal(size=rows)})
    X["w0"] = np.array(["p", "q", "r", "s"])[(rng.integers(0, 3, rows) + (y == 1)) % 4]
    X["w1"] = np.where((X.w0 == "p") ^ (y == 2) ^ (rng.random(rows) < 0.2), "u", "v")
    return X, y


def softened(y, least=0.5, seed=1):
    """Return soft labels: a third of the rows are certain, the others more or less."""
    rng = np.random.default_rng(seed)
    p = np.where(rng.random(len(y)) < 1 / 3, 1.0, rng.uniform(least, 1.0, len(y)))
    q = np.repeat((1 - p)[:, None] / 2, 3, axis=1)
    q[np.arange(len(y)), y] = p
    return pd.DataFrame(q, columns=NAMES)


# -- counting ----------------------------------------------------------------------------------------------------------


def test_zeros_and_ones_are_labels():
    X, y = table()
    hard = nv.NaiveBayes().fit(X, np.array(NAMES)[y])
    soft = nv.NaiveBayes().fit(X, pd.DataFrame(np.eye(3)[y], columns=NAMES))
    assert np.array_equal(hard.predict_proba(X), soft.predict_proba(X))
    assert soft.tuning_.learned is not None
    assert soft.leave_one_out(X, np.array(NAMES)[y]).log_loss == hard.leave_one_out(X, np.array(NAMES)[y]).log_loss


def test_two_halves_twice_are_each_label_once_in_the_counts_of_pairs():
    X, y = table()
    twice, other = pd.concat([X, X], ignore_index=True), (y + 1) % 3
    halves = pd.DataFrame((np.eye(3)[y] + np.eye(3)[other]) / 2, columns=NAMES)
    soft = nv.NaiveBayes().fit(twice, pd.concat([halves, halves], ignore_index=True))
    hard = nv.NaiveBayes().fit(twice, np.array(NAMES)[np.concatenate([y, other])])
    assert soft.counts_.agrees(hard.counts_)
    joint, other = (nb.tuning_.learned.joint for nb in (soft, hard))
    assert np.allclose(joint.products, other.products)
    assert np.allclose(joint.fine, other.fine)
