"""A row left out is a row never counted: closed forms and folds agree with counting all other rows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naively as nv
from naively import Bernoulli, Categorical, Gaussian, Poisson, Settings, Words
from naively.counting import arrays as memory
from naively.errors import InvalidInput
from naively.model.column_parts import estimate, uniform_prior
from naively.model.recipe import RECIPE
from naively.stats import Axis, CodesAccumulator, CountsAccumulator

from .family_cases import LEVELS, Case, Rows, codes_of


def left_out(case, rows, i):
    """Return the log-likelihood of row i from all other rows, counted again, and from all rows less that one."""
    others, alone = rows[[j for j in range(len(rows.y)) if j != i]], rows[[i]]
    for statistic in (case.count(others), case.count(rows) - case.count(alone)):
        likelihood = case.estimate(statistic, others)
        yield likelihood.log_likelihood(case.read(likelihood, alone))[0]


@pytest.mark.parametrize("how", ["mle", "map", "bayes"])
@pytest.mark.parametrize("unseen", ["skip", "smooth"])
def test_columns_of_codes_are_left_out_together(how, unseen):
    rng = np.random.default_rng(1)
    x, y = rng.integers(-1, 4, (20, 3)), rng.integers(0, 3, 20).astype(np.int32)
    w = rng.choice([0.5, 1.0, 2.0], 20)

    def learned(keep):
        accumulator = CountsAccumulator(Axis.numbered(3), {"X": CodesAccumulator(Axis.numbered(3), [4, 4, 4])})
        memory.add(accumulator, {"X": x[keep]}, y[keep], w[keep])
        model = estimate(accumulator.value(), {"X": Categorical()}, Settings(how, 1.5, unseen=unseen), uniform_prior(3))
        return model.terms["X"]

    got = learned(np.arange(20)).leave_one_out(x, y, w)
    for i in range(20):
        expected = learned(np.delete(np.arange(20), i)).log_likelihood(x[[i]])[0]
        np.testing.assert_allclose(got[i], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("missing", ["skip", "value"])
def test_an_error_on_unseen_values_names_the_row_that_would_be_unseen(missing):
    """With unseen='error', a value met in one row alone cannot be scored without it."""
    case = Case(Categorical(), Settings(missing=missing, unseen="error"), declared=False)
    rows = case.rows()
    likelihood = case.learn(rows)
    codes = codes_of(likelihood, rows.cells)
    with pytest.raises(InvalidInput, match="Row 5 holds a value that was not seen in training"):
        likelihood.leave_one_out(codes, rows.y)
    with pytest.raises(InvalidInput, match="Row 9 holds a value that was not seen in training"):
        likelihood.leave_one_out(np.where(np.arange(11)[:, None] == 9, len(LEVELS), codes), rows.y)
    twice = Rows(rows.cells * 2, np.tile(rows.y, 2), np.ones(22))
    likelihood = case.learn(twice)
    assert np.isfinite(likelihood.leave_one_out(codes_of(likelihood, twice.cells), twice.y)).all()


@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_numbers_left_out_agree_with_recounting_whatever_they_are(data):
    size = data.draw(st.integers(2, 9))
    y = np.array(data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size)), np.int32)
    cell = st.one_of(st.integers(-2, 2).map(float), st.just(np.nan))
    cells = np.array(data.draw(st.lists(cell, min_size=size, max_size=size)))[:, None]
    offset, unit = data.draw(st.sampled_from([0.0, 0.1, 1e3])), data.draw(st.sampled_from([1.0, 0.1, 1e-3]))
    case = Case(Gaussian(), Settings(data.draw(st.sampled_from(["bayes", "map"]))))
    rows = Rows(cells * unit + offset, y, np.ones(size))
    likelihood = case.learn(rows)
    got = likelihood.leave_one_out(rows.cells, y)
    for i in range(size):
        expected, _ = left_out(case, rows, i)
        np.testing.assert_allclose(got[i], expected, rtol=1e-7, atol=1e-7)


@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_counts_left_out_agree_with_recounting_whatever_they_are(data):
    rows, width = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 4))
    lines = st.lists(st.sampled_from([0.0, 0.0, 1.0, 2.0]), min_size=width, max_size=width)
    x = np.array(data.draw(st.lists(lines, min_size=rows, max_size=rows)))
    y = np.array(data.draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows)), np.int32)
    weights = np.array(data.draw(st.lists(st.sampled_from([1.0, 2.0, 0.3]), min_size=rows, max_size=rows)))
    family = data.draw(
        st.sampled_from([Words(), Words(complement=True), Words(complement=True, norm=True), Bernoulli(), Poisson()])
    )
    how = data.draw(st.sampled_from([Settings("mle"), Settings("map", 1.0), Settings("bayes", 0.5)]))
    case = Case(family, how, data.draw(st.booleans()))
    drawn = Rows(x, y, weights)
    likelihood = case.learn(drawn)
    got = likelihood.leave_one_out(case.read(likelihood, drawn), y, weights)
    for i in range(rows):
        expected, _ = left_out(case, drawn, i)
        np.testing.assert_allclose(got[i], expected, rtol=1e-9, atol=1e-9)


# -- rows of the default model are scored in folds that follow from their content --------------------------------------

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
