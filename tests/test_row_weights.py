"""What rows weigh may be a column of the table; weights that stand for no rows are pointed out."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import naively as nv
from naively.errors import InvalidInput, WeightWarning

from .test_folds import mixed_rows

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


def test_rows_come_and_go_with_a_column_of_weights():
    whole = nv.NaiveBayes(model="textbook").fit(X, Y, sample_weight=W)
    nb = nv.NaiveBayes(model="textbook").partial_fit(WITH[:120], Y[:120], sample_weight="weight")
    nb.partial_fit(WITH[120:], Y[120:], sample_weight="weight")
    assert nb.counts_.agrees(whole.counts_, 1e-9)
    nb.forget(WITH[120:], Y[120:], sample_weight="weight")
    assert nb.counts_.agrees(nv.count(X[:120], Y[:120], schema=whole.schema_, sample_weight=W[:120]), 1e-9)


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
