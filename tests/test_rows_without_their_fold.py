"""Rows of the default model are scored in folds that follow from their content: in any order, units, and copies."""

import numpy as np
import pandas as pd
import pytest

import naively as nv
from naively.errors import InvalidInput
from naively.estimator.evaluation import dealt_out
from naively.model.recipe import RECIPE

ROWS = 240


def drawn(seed=0):
    """Return rows of numbers, of which many are near each other in a skewed column, and of labels; and their classes.

    No two rows are equal: of these, either may lie in the fold of the other.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=2 * ROWS)
    size = np.exp(2 * (rng.normal(size=len(y)) + 0.8 * (y == 2))).round(1)
    colour = np.array(["red", "green", "blue"])[np.where(rng.random(len(y)) < 0.6, y, rng.integers(3, size=len(y)))]
    table = pd.DataFrame({"size": size, "colour": colour, "y": np.array(["a", "b", "c"])[y]}).drop_duplicates()[:ROWS]
    assert len(table) == ROWS
    return table.drop(columns="y").reset_index(drop=True), table["y"].to_numpy()


X, Y = drawn()


@pytest.fixture(scope="module")
def fitted():
    return nv.NaiveBayes().fit(X, Y)


@pytest.fixture(scope="module")
def scores(fitted):
    return fitted.leave_one_out(X, Y)


def test_each_row_is_scored_by_one_fit_of_the_other_folds(scores):
    """A fit of the rows of the other folds alone, with bins, weights and coefficients of its own."""
    assert (scores.tuning, len(np.unique(scores.folds))) == ("refit", RECIPE.folds)
    for fold in np.unique(scores.folds):
        here = scores.folds == fold
        alone = nv.NaiveBayes().fit(X[~here], Y[~here])
        np.testing.assert_allclose(scores.posterior[here], alone.predict_proba(X[here]), atol=1e-9)
        for own in (label == Y for label in "abc"):
            assert abs((here & own).sum() - own.sum() / RECIPE.folds) < 1


@pytest.mark.parametrize("by", [2.54, 1 / 3, -1.0])
def test_units_change_no_score(scores, by):
    other = X.assign(size=by * X["size"])
    found = nv.NaiveBayes().fit(other, Y).leave_one_out(other, Y)
    assert np.array_equal(found.folds, scores.folds)
    np.testing.assert_allclose(found.posterior, scores.posterior, atol=1e-9)


def test_a_file_and_a_loaded_model_give_the_same_scores(fitted, scores, tmp_path):
    X.assign(y=Y).to_csv(tmp_path / "rows.csv", index=False)
    fitted.save(tmp_path / "model.parquet")
    found = nv.load(tmp_path / "model.parquet").leave_one_out(tmp_path / "rows.csv", target="y")
    np.testing.assert_allclose(found.posterior, scores.posterior, atol=1e-9)


@pytest.mark.parametrize("rows", [True, False], ids=["kept", "not kept"])
def test_rows_that_were_never_counted_are_refused(fitted, rows, tmp_path):
    fitted.save(tmp_path / "model.parquet", rows=rows)
    nb, label, number = nv.load(tmp_path / "model.parquet"), X.copy(), X.copy()
    label.loc[3, "colour"] = "pink"
    number.loc[5, "size"] = 1e6
    for table, y in ((label, Y), (number, Y), (X, np.roll(Y, 1)), (label[:10], Y[:10])):
        with pytest.raises(InvalidInput, match="never counted"):
            nb.leave_one_out(table, y)
    if rows:
        with pytest.raises(InvalidInput, match=r"^Row 3 was never counted\. Give the rows that"):
            nb.leave_one_out(label, Y)
    assert nb.counts_.agrees(fitted.counts_)


@pytest.mark.parametrize("folds", [2, 5])
def test_copies_lie_in_folds_as_equal_rows_do(folds):
    rng = np.random.default_rng(3)
    times, order = rng.integers(1, 13, 40), rng.permutation(40)
    found = dealt_out(order, times, folds)
    one_by_one = np.repeat(order, times[order])
    expected = np.zeros((40, folds))
    np.add.at(expected, (one_by_one, np.arange(len(one_by_one)) % folds), 1)
    assert np.array_equal(found.copies, expected[found.rows, found.folds])
    assert found.copies.sum() == times.sum()
    assert (np.diff(found.rows) >= 0).all()
