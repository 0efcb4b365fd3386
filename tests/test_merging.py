"""Models added up: given one by one or as a list, and what is no model."""

import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from palmerpenguins import load_penguins

import naively as nv
from naively.errors import IncompatibleCounts, InvalidInput, InvalidSetting
from naively.estimator import fit, update

from .tables import book

DAYS = [
    book().fit({"sky": ["rain", "sunny"]}, ["in", "out"]),
    book().fit({"sky": ["rain", "rain"]}, ["in", "out"]),
    book().fit({"sky": ["sunny", "snow"]}, ["out", "in"]),
]


def test_models_one_by_one_are_a_list_of_models():
    for some in (DAYS[:1], DAYS[:2], DAYS):
        together = nv.merge(*some)
        assert (
            together.counts_ == nv.merge(some).counts_ == nv.merge(tuple(some)).counts_ == nv.merge(iter(some)).counts_
        )
        assert_array_equal(together.predict_proba({"sky": "rain"}), nv.merge(some).predict_proba({"sky": "rain"}))
    assert nv.merge(*DAYS).counts_.rows.sum() == 6


def test_names_are_what_errors_call_the_models():
    other = book().fit({"wind": ["calm", "storm"]}, ["in", "out"])
    for models in ((DAYS[0], other), ([DAYS[0], other],)):
        with pytest.raises(IncompatibleCounts, match=r"^monday and tuesday do not fit together"):
            nv.merge(*models, names=["monday", "tuesday"])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((), "There is no model to merge; give one or more"),
        (([],), "There is no model to merge; give one or more"),
        (("model.parquet",), r"number 1 of those given is 'model.parquet' of type str\. Load .*nv\.load"),
        ((DAYS[0], "b.parquet"), r"number 2 of those given is 'b.parquet' of type str\. Load .*nv\.load"),
        ((["a.parquet", DAYS[0]],), "number 1 of those given is 'a.parquet' of type str"),
        ((DAYS[0], DAYS[1].counts_), r"number 2 of those given is Counts: .* of type Counts\. Counts add up by \+"),
        ((DAYS[0], DAYS[1:]), "number 2 of those given is .* of type list"),
        ((None,), "number 1 of those given is None of type NoneType"),
        (({"a": DAYS[0]},), "number 1 of those given is .* of type dict"),
    ],
    ids=["nothing", "no list", "a path", "a model and a path", "paths", "counts", "a list", "None", "a dict"],
)  # fmt: skip
def test_what_is_no_model_is_named(given, words):
    with pytest.raises(InvalidInput, match=words):
        nv.merge(*given)


def test_models_without_names_are_numbered_from_one():
    other = book().fit({"wind": ["calm", "storm"]}, ["in", "out"])
    with pytest.raises(IncompatibleCounts, match=r"^Model 1 and Model 3 do not fit together"):
        nv.merge(DAYS[0], DAYS[1], other)


@pytest.mark.parametrize("weight", ["a", "0.5", None, [1], 1j, -1, np.nan, np.inf])
def test_what_is_no_weight_is_refused(weight):
    for times in (lambda: DAYS[0] * weight, lambda: weight * DAYS[0], lambda: DAYS[0].counts_ * weight):
        with pytest.raises(InvalidSetting, match=r"Rows cannot weigh .*; multiply by a finite number"):
            times()
    assert (DAYS[0] * Fraction(1, 2)).counts_ == (DAYS[0] * 0.5).counts_


def test_rows_fade_for_long_without_a_warning_and_without_a_fit_at_each_step(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame({"a": rng.normal(size=600), "b": rng.choice(["x", "y"], 600)}), rng.choice(["no", "yes"], 600)
    fits = []
    monkeypatch.setattr(update, "fit_rows", lambda *args, **how: fits.append(1) or fit.fit_rows(*args, **how))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        faded = nv.NaiveBayes().fit(X[:50], y[:50])
        for begin in range(50, 600, 50):
            faded = nv.merge(0.1 * faded, nv.NaiveBayes().fit(X[begin : begin + 50], y[begin : begin + 50]))
        assert not fits
        found = faded.predict_proba(X)
    assert fits == [1]
    with pytest.warns(nv.WeightWarning):
        once = nv.NaiveBayes().fit(X, y, sample_weight=np.repeat(0.1 ** np.arange(11, -1, -1), 50))
    assert np.allclose(found, once.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("column", ["sex", "bill_length_mm"])
@pytest.mark.parametrize("missing", [float("nan"), None], ids=str)
def test_a_column_without_values_has_the_type_of_other_parts(column, missing):
    """Data frames call a column of NaN alone one of numbers, and one of None alone one of objects."""
    birds = load_penguins().sample(frac=1, random_state=0)
    kind = object if missing is None else float
    empty = birds[:170].assign(**{column: pd.Series([missing] * 170, index=birds.index[:170], dtype=kind)})
    rest, asked = birds[170:], birds.drop(columns="species")
    same = birds.where(~(birds.index.isin(empty.index)[:, None] & (birds.columns == column)))
    once = nv.NaiveBayes().fit(same, target="species").predict_proba(asked)
    parts = [nv.NaiveBayes().fit(part, target="species") for part in (empty, rest)]
    for order in (parts, parts[::-1]):
        merged = nv.merge(order)
        assert merged.schema_[column].type == parts[1].schema_[column].type
        assert np.allclose(merged.predict_proba(asked), once, rtol=0, atol=1e-7)
    later = nv.NaiveBayes().fit(rest, target="species").partial_fit(empty, target="species")
    assert np.allclose(later.predict_proba(asked), once, rtol=0, atol=1e-7)
