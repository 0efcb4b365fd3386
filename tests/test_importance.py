"""Mutual information of a column and the class: counted, corrected for chance, the same for every model."""

from math import log2

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.feature_selection import RFE, SelectFromModel

import naively as nv
from naively.errors import InvalidInput

from .tables import instructions

each_model = pytest.mark.parametrize("model", ["auto", "textbook"])


def labels(rows, seed=0):
    return np.random.default_rng(seed).choice(["no", "yes"], rows)


def bits(nb):
    """Return the bits of each column by name, and their errors."""
    told = nb.importance()
    return dict(zip(told["column"], told["bits"], strict=True)), dict(zip(told["column"], told["error"], strict=True))


def noisy(rows=2_000, seed=1):
    """Return columns that know nothing of the class, of every shape."""
    rng = np.random.default_rng(seed)
    outlier = rng.normal(size=rows)
    outlier[7] = 1e9
    return pd.DataFrame(
        {
            "normal": rng.normal(size=rows),
            "one outlier": outlier,
            "Cauchy": rng.standard_cauchy(rows),
            "mostly zero": np.where(rng.random(rows) < 0.95, 0.0, rng.exponential(size=rows)),
            "identifiers": [f"id{at}" for at in rng.permutation(rows)],
            "few repeats": [f"id{at}" for at in rng.integers(0, 20 * rows, rows)],
            "rare labels": [f"id{at}" for at in rng.integers(0, 400, rows)],
            "record numbers": np.arange(rows) + 10_000,
            "missing": np.where(rng.random(rows) < 0.5, np.nan, rng.normal(size=rows)),
        }
    )


@each_model
def test_noise_of_any_shape_tells_nothing(model):
    """Neither outliers nor heavy tails nor identifiers look like knowledge."""
    found, error = bits(nv.NaiveBayes(model=model).fit(noisy(), labels(2_000)))

    assert len(found) == 9
    assert all(0 <= found[name] <= max(3 * error[name], 0.003) for name in found), found


@pytest.mark.parametrize("rows", [400, 4_000])
@pytest.mark.parametrize("apart", [0.5, 1.0, 2.0])
def test_the_figure_is_that_of_the_distributions(rows, apart):
    """Two normal distributions: ∫ p(x, class) log2 p(x | class) / p(x) dx, on average, within its error."""
    rng, drawn = np.random.default_rng(5), []
    for _ in range(20):
        y = rng.integers(0, 2, rows)
        found, error = bits(nv.NaiveBayes(model="textbook").fit({"x": rng.normal(size=rows) + apart * y}, y))
        drawn.append(found["x"])

    def of(x):
        densities = norm.pdf(x), norm.pdf(x - apart)
        return sum(0.5 * p * log2(2 * p / sum(densities)) for p in densities)

    assert np.mean(drawn) == pytest.approx(quad(of, -8, 10)[0], abs=1.5 * error["x"])
    assert np.std(drawn) / 2 < error["x"] < 2 * np.std(drawn)


def test_all_models_and_sources_agree(tmp_path):
    """What is measured does not depend on the model, nor on where the rows come from."""
    table = noisy().assign(good=np.arange(2_000) % 7 + np.where(labels(2_000) == "yes", 3.0, 0.0), y=labels(2_000))
    table.to_csv(tmp_path / "rows.csv", index=False)
    table.to_parquet(tmp_path / "rows.parquet")
    kinds = [nv.NaiveBayes(model=model).fit(table, target="y") for model in ("auto", "textbook")]
    kinds += [nv.NaiveBayes(model="textbook").fit(tmp_path / f"rows.{end}", target="y") for end in ("csv", "parquet")]

    first, *others = (bits(nb)[0] for nb in kinds)

    for found in others:
        assert found == pytest.approx(first, abs=1e-9)


def test_counts_made_elsewhere_have_figures_of_what_was_counted():
    """Moments do not tell what a number says; values do."""
    nb = nv.NaiveBayes(model="textbook").fit({"x": [1.0, 2, 3, 4] * 20, "label": list("abab") * 20}, list("abab") * 20)
    other = nv.NaiveBayes.from_counts(nb.counts_, model="textbook")

    assert bits(other)[0]["label"] == pytest.approx(1.0)
    assert np.isnan(bits(other)[0]["x"])
    assert bits(nv.merge([nb, nb]))[0]["x"] == bits(nb)[0]["x"]
    with pytest.raises(InvalidInput, match="no mutual information of 'x'"):
        _ = other.feature_importances_


def test_weights_are_rows():
    """A weight of 2 is two rows, and rows of no weight are none."""
    rng = np.random.default_rng(7)
    y = rng.integers(0, 2, 400)
    table, weights = (
        pd.DataFrame({"x": rng.normal(size=400) + y, "s": rng.choice(list("abc"), 400)}),
        np.where(np.arange(400) % 3, 1.0, 2.0),
    )
    twice = np.repeat(np.arange(400), weights.astype(int))

    found = bits(nv.NaiveBayes(model="textbook").fit(table, y, sample_weight=weights))[0]

    assert found == pytest.approx(bits(nv.NaiveBayes(model="textbook").fit(table.iloc[twice], y[twice]))[0], abs=1e-9)


@each_model
def test_figures_after_rows_came_are_measured_or_said_to_be_missing(model):
    """Kept rows are measured; where only moments are known, there is no figure, and the summary says why."""
    rng = np.random.default_rng(10)
    y = rng.integers(0, 2, 4_000)
    skewed = np.where(rng.random(4_000) < 0.9 - 0.3 * y, 0.0, np.exp(rng.normal(8, 2, 4_000)))
    table = pd.DataFrame({"skewed": skewed})
    whole = bits(nv.NaiveBayes(model="textbook").fit(table, y))[0]["skewed"]
    nb = nv.NaiveBayes(model=model)
    for begin in range(0, 4_000, 500):
        nb.partial_fit(table[begin : begin + 500], y[begin : begin + 500])

    if model == "textbook":
        assert np.isnan(bits(nb)[0]["skewed"])
        assert "There is no mutual information of numbers: most rows were added since the last `fit`" in nb.summary()
    else:
        assert bits(nb)[0]["skewed"] == pytest.approx(whole, rel=0.02)
        assert "mutual information of numbers" not in nb.summary()


# -- as scikit-learn asks for it ---------------------------------------------------------------------------------------


def chosen_from(rows=300):
    rng = np.random.default_rng(8)
    y = rng.integers(0, 2, rows)
    table = pd.DataFrame({f"noise{at}": rng.normal(size=rows) for at in range(6)})
    return table.assign(good=rng.normal(size=rows) + 2 * y, better=rng.normal(size=rows) + 3 * y), y


@each_model
def test_feature_importances_are_in_the_order_of_the_columns(model):
    """They add up to 1, as those of trees do; a column that is not used has none."""
    table, y = chosen_from()
    nb = nv.NaiveBayes(model=model).fit(table, y)

    assert nb.feature_importances_.shape == (8,)
    assert nb.feature_importances_.sum() == pytest.approx(1.0)
    assert table.columns[np.argsort(-nb.feature_importances_)[:2]].tolist() == ["better", "good"]
    nb = nv.NaiveBayes(model="textbook", columns=["good", "noise0"]).fit(table, y)
    assert nb.feature_importances_[-1] == 0.0
    assert nb.feature_importances_[-2] > 0.9


@pytest.mark.parametrize("as_array", [False, True])
@each_model
def test_columns_are_selected_by_scikit_learn(model, as_array):
    """RFE and SelectFromModel find the columns that tell something, of frames and of arrays."""
    table, y = chosen_from()
    X = table.to_numpy() if as_array else table

    for pick in (RFE(nv.NaiveBayes(model=model), n_features_to_select=2), SelectFromModel(nv.NaiveBayes(model=model))):
        assert_array_equal(table.columns[pick.fit(X, y).get_support()], ["good", "better"])
        assert pick.transform(X).shape == (300, 2)


# -- wide tables -------------------------------------------------------------------------------------------------------


def test_the_work_of_a_summary_and_of_an_explanation_is_proportional_to_the_columns():
    rng, summaries, explanations = np.random.default_rng(0), [], []
    for columns in (100, 400):
        nb = nv.NaiveBayes(model="textbook").fit(rng.normal(size=(60, columns)), np.arange(60) % 2)
        row = rng.normal(size=(1, columns))
        summaries.append(instructions(nb.summary))
        explanations.append(instructions(lambda nb=nb, row=row: str(nb.explain(row))))
    assert summaries[1] < 4.4 * summaries[0]
    assert explanations[1] < 4.4 * explanations[0]
