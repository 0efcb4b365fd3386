"""The unit and the sign of numbers change no answer: cuts lie on no number, whatever the rounding."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris, load_wine

import naively as nv
from naively.families.bins import Bins
from naively.model.default.bins import measured_column, merged_bins
from naively.model.recipe import RECIPE
from naively.stats.quantiles import cuts_after

from .strategies import checked

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SETS = json.loads((DATA / "datasets.json").read_text("utf-8")) if (DATA / "datasets.json").exists() else {}
REAL = [name for name in ("waveform", "segment", "vehicle", "pima", "glass") if name in SETS]
# A factor, and what is added: a number that is added must not take digits from numbers that lie close together.
UNITS = [(2.54, 0.0), (1 / 3, 0.0), (1000.0, 0.0), (-1.0, 0.0), (0.4536, 0.5)]
SAME = 1e-9


def simulated(kind):
    """Return a table of numbers with few decimals, whose values lie on each other's midpoints, and its classes."""
    rng = np.random.default_rng(17)
    rows, y = 900, rng.integers(0, 3, 900)
    x = rng.normal(size=(rows, 5)) + 0.7 * y[:, None] * rng.normal(size=5)
    if kind == "two decimals":
        return pd.DataFrame(x.round(2)).add_prefix("x"), y
    if kind == "whole numbers":
        return pd.DataFrame((x * 20).round()).add_prefix("x"), y
    if kind == "skewed":
        return pd.DataFrame(np.exp(2 * x).round(1)).add_prefix("x"), y
    holes = np.where(rng.random(x.shape) < 0.2, np.nan, x.round(1))
    return pd.DataFrame(holes).add_prefix("x").assign(city=rng.choice(["Rome", "Oslo", "Bern"], rows)), y


def real(name):
    """Return a real table and its classes."""
    table = pd.read_csv(DATA / SETS[name]["file"])
    y = table.pop(SETS[name]["target"])
    return table, y.to_numpy()


def in_other_units(table, by, plus):
    """Return the table with its numbers in other units."""
    numbers = table.select_dtypes("number").columns
    return table.assign(**{name: by * table[name].astype(float) + plus for name in numbers})


def check_units(table, y, **settings):
    """Check that two thirds of the rows answer for the last third as they do in other units."""
    learned = np.arange(len(y)) % 3 > 0
    asked = ~learned

    def answers(rows):
        return nv.NaiveBayes(**settings).fit(rows[learned], y[learned]).predict_proba(rows[asked])

    before = answers(table)
    for by, plus in UNITS:
        assert np.abs(answers(in_other_units(table, by, plus)) - before).max() <= SAME, (by, plus)


@pytest.mark.parametrize("kind", ["two decimals", "whole numbers", "skewed", "missing values"])
def test_units_change_no_answer(kind):
    check_units(*simulated(kind))


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_units_change_no_prediction_of_a_shipped_table(load):
    check_units(*load(return_X_y=True, as_frame=True))


@pytest.mark.slow
@pytest.mark.skipif(not REAL, reason="needs the data sets of ../shared/data beside the repository")
@pytest.mark.parametrize("name", REAL)
def test_units_change_no_answer_of_a_real_table(name):
    check_units(*real(name))


@pytest.mark.parametrize("kind", ["two decimals", "whole numbers"])
def test_units_change_no_bin_of_the_family(kind):
    """All but the sign: the bins of the family are counted from the lowest number on."""
    table, y = simulated(kind)
    learned = np.arange(len(y)) % 3 > 0
    for name in table:
        x = table[name].to_numpy()
        family = Bins().cut(x[learned], np.ones(learned.sum()))
        for by, plus in UNITS:
            if by > 0:
                other = Bins().cut(by * x[learned] + plus, np.ones(learned.sum()))
                assert np.array_equal(other.codes(by * x + plus), family.codes(x)), (name, by)


# -- where cuts lie --------------------------------------------------------------------------------------------------

numbers = st.floats(-1e150, 1e150) | st.floats(-10, 10) | st.integers(-1000, 1000).map(lambda n: n / 100)


@checked
@given(st.lists(numbers, min_size=2, max_size=40, unique=True), st.integers(0, 2**32 - 1))
def test_cuts_lie_between_neighbors_and_on_no_number(found, seed):
    values = np.unique(np.array(found) + 0.0)
    weights = np.random.default_rng(seed).integers(1, 5, len(values)).astype(float)
    cuts = cuts_after(np.arange(len(values) - 1), values, weights)
    for low, cut, high in zip(values[:-1], cuts, values[1:], strict=True):
        adjacent = np.nextafter(low, np.inf) == high
        assert cut == low if adjacent else low < cut < high


@pytest.mark.parametrize("x", [[7.5], [7.5] * 30, [7.5] * 995 + [1.0, 2.0, 9.0]])
def test_a_number_that_nearly_all_rows_share_has_no_scale(x):
    """A constant column, or one with fewer other numbers than are clipped."""
    column, weights = np.array(x), np.ones(len(x))
    bins = merged_bins("x", measured_column(column, weights, RECIPE), 8, RECIPE)
    assert (bins.low, bins.high, bins.center, bins.scale) == (7.5, 7.5, 7.5, 0.0)
    assert not any(bins.middles)
