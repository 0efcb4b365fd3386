"""Models added up: given one by one or as a list, and what is no model."""

import pytest
from numpy.testing import assert_array_equal

import naively as nv
from naively.errors import DoesNotFit, InvalidInput

from .textbook import book

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
        with pytest.raises(DoesNotFit, match=r"^monday and tuesday do not fit together"):
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
