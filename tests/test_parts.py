"""A table in parts: looked at, counted and added up anywhere, it gives the model of one fit."""

import io
import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from palmerpenguins import load_penguins

import naively as nv
from naively.data.schema import schema_of_types
from naively.errors import IncompatibleCounts, InvalidInput, InvalidSetting, UnreadableFile, UnwritableFile

from .strategies import checked
from .tables import book
from .test_streams import long_table, table

TABLE = table(900)
MANY = long_table(105_000)  # more than twice what a sample keeps


def parts_of(rows: pa.Table, number: int, *, shuffled: bool = False) -> list[pa.Table]:
    """Return so many parts of a table, of different sizes; one of them is empty if there are several."""
    if shuffled:
        rows = rows.take(np.random.default_rng(number).permutation(len(rows)))
    cuts = np.unique(np.linspace(0, len(rows) ** 0.5, number + 1).astype(int) ** 2)
    cuts[-1] = len(rows)
    parts = [rows.slice(begin, end - begin) for begin, end in itertools.pairwise(cuts)]
    return parts if number == 1 else [*parts[:1], rows.slice(0, 0), *parts[1:]]


def sent(part):
    """Return counts or a look as another process gets it: by bytes."""
    return type(part).from_bytes(part.to_bytes())


def fitted_in_parts(parts, families=None, weight=None, **settings):
    """Return the model of parts that were profiled and counted one by one."""
    types = schema_of_types(parts[0].schema, families, target="label", weight=weight)
    names = {"target": "label", "sample_weight": weight}
    parameters = nv.NaiveBayes(**settings).parameters

    def looked_at(schema):
        return nv.add([sent(nv.profile(part.to_reader(), schema=schema, **names)) for part in parts])

    profile = looked_at(types)
    schema = profile.schema_for(parameters)
    if profile.cells is not None:  # bins had no cuts
        profile = looked_at(schema)
        schema = profile.schema_for(parameters)
    counts = nv.add([sent(nv.count(part.to_reader(), schema=schema, **names)) for part in parts])
    return nv.NaiveBayes.from_counts(counts, profile=profile, **settings)


@pytest.fixture(scope="module")
def one_fit():
    """Return the model of one fit of many rows: more than a sample keeps."""
    return nv.NaiveBayes().fit(MANY, target="label")


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("number", [1, 3, 17])
def test_many_rows_in_parts_give_the_model_of_one_fit(number, shuffled, one_fit):
    found = fitted_in_parts(parts_of(MANY, number, shuffled=shuffled))
    assert found.counts_.agrees(one_fit.counts_, 1e-9)
    assert np.abs(found.predict_proba(TABLE) - one_fit.predict_proba(TABLE)).max() <= 1e-9
    assert found.kept_rows_ == one_fit.kept_rows_


SETTINGS = {
    "default": {},
    "textbook": {"model": "textbook"},
    "balanced": {"class_weight": "balanced"},
    "weights by class": {"class_weight": {"ham": 2.0, "spam": 0.5}},
    "smoothing": {"model": "textbook", "smoothing": "auto"},
    "temperature": {"model": "textbook", "temperature": "auto"},
    "some columns": {"columns": ["colour", "size"]},
    "missing values": {"missing": "value"},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_settings_act_on_parts_as_on_one_table(settings):
    found = fitted_in_parts(parts_of(TABLE, 3), **settings)
    known = nv.NaiveBayes(**settings).fit(TABLE, target="label")
    assert np.abs(found.predict_proba(TABLE) - known.predict_proba(TABLE)).max() <= 1e-9
    assert found.counts_.agrees(known.counts_, 1e-9)


FAMILIES = {
    "bins": {"size": "bins"},
    "bins with cuts": {"size": nv.Bins(cuts=(-1.0, 0.0, 1.5))},
    "poisson": {"visits": "poisson"},
    "whole numbers as labels": {"visits": "categorical"},
    "words": {"colour": "words"},
    "ordinal": {"colour": nv.Ordinal(levels=tuple("rgbyk"))},
}


@pytest.mark.parametrize("model", ["auto", "textbook"])
@pytest.mark.parametrize("families", FAMILIES.values(), ids=FAMILIES)
def test_families_are_counted_in_parts_as_in_one_table(families, model):
    found = fitted_in_parts(parts_of(TABLE, 3), families, model=model)
    known = nv.NaiveBayes(model=model, families=families).fit(TABLE, target="label")
    assert np.abs(found.predict_proba(TABLE) - known.predict_proba(TABLE)).max() <= 1e-9


@pytest.mark.parametrize("whole", [True, False])
def test_weights_of_rows_are_those_of_one_table(whole):
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 5, len(TABLE)) if whole else rng.random(len(TABLE)) + 0.5
    rows = TABLE.append_column("weight", pa.array(weights))
    found = fitted_in_parts(parts_of(rows, 3), weight="weight")
    known = nv.NaiveBayes().fit(rows, target="label", sample_weight="weight")
    assert np.abs(found.predict_proba(TABLE) - known.predict_proba(TABLE)).max() <= 1e-9


def test_rows_without_a_label_are_skipped_in_every_part_if_asked():
    labels = pa.array([None if at % 7 == 0 else label for at, label in enumerate(TABLE["label"].to_pylist())])
    rows = TABLE.set_column(TABLE.schema.get_field_index("label"), "label", labels)
    schema = nv.Schema.of(rows.schema, target="label")
    parts = parts_of(rows, 3)
    with pytest.raises(InvalidInput, match="has no label"):
        [nv.profile(part, target="label", schema=schema) for part in parts]
    profile = nv.add(nv.profile(part, target="label", schema=schema, unlabelled="skip") for part in parts)
    counts = nv.add(nv.count(part, target="label", schema=schema, unlabelled="skip") for part in parts)
    labelled = rows.filter(labels.is_valid())
    assert (profile.rows, profile.skipped) == (len(labelled), len(rows) - len(labelled))
    assert counts == nv.count(labelled, target="label")


@checked
@given(data=st.data())
def test_looks_add_up_in_any_order_and_any_parts(data):
    number = data.draw(st.integers(2, 5))
    which = np.array(data.draw(st.lists(st.integers(0, number - 1), min_size=60, max_size=60)))
    rows, schema = TABLE.slice(0, 60), nv.Schema.of(TABLE.schema, target="label")
    profiles = [nv.profile(rows.filter(pa.array(which == at)), target="label", schema=schema) for at in range(number)]
    whole = nv.profile(rows, target="label", schema=schema)
    for order in (profiles, profiles[::-1]):
        found = sum(order)
        assert found.counts == whole.counts
        assert (found.rows, found.complete, found.schema) == (60, True, whole.schema)


# -- counts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change", [lambda data: data[:-1], lambda data: b"", lambda data: data[:99] + b"x" + data[100:]]
)
def test_damaged_bytes_are_refused(change):
    data = nv.count(TABLE, target="label").to_bytes()
    with pytest.raises(UnreadableFile, match="the bytes of counts"):
        nv.Counts.from_bytes(change(data))
    with pytest.raises(UnreadableFile, match="the bytes of a profile"):
        nv.Profile.from_bytes(change(data))


def test_only_parts_of_one_kind_add_up():
    counts = nv.count(TABLE, target="label")
    with pytest.raises(InvalidInput, match="nothing to add up"):
        nv.add([])
    with pytest.raises(InvalidInput, match="got Counts and Profile"):
        nv.add([counts, nv.profile(TABLE, target="label")])
    with pytest.raises(InvalidInput, match=r"got NaiveBayes\. Models are added up by nv\.merge"):
        nv.add([nv.NaiveBayes()])


def test_tables_are_counted_with_the_settings_of_files():
    rows = TABLE.append_column("weight", pa.array(np.full(len(TABLE), 2.0))).append_column("id", pa.array(range(900)))
    found = nv.count(rows, target="label", weight="weight", ignore=["id"], classes=["junk", "other"])
    assert found - nv.count(TABLE, target="label") == nv.count(TABLE, target="label", classes=["junk", "other"])
    assert "other" in found.classes.labels
    with pytest.raises(InvalidInput, match=r"The table has no column 'idd'; did you mean 'id'\?"):
        nv.count(rows, target="label", ignore=["idd"])
    with pytest.raises(InvalidSetting, match="unlabelled='em' must be 'error' or 'skip'"):
        nv.count(rows, target="label", unlabelled="em")


# -- schemas -----------------------------------------------------------------------------------------------------------


REFUSED = {
    "bins": ({"x": pa.float64()}, {"x": "bins"}, r"follows from its numbers, not from its type.*nv\.profile\(rows"),
    "words": ({"x": pa.string()}, {"x": "words"}, r"follows from how long its texts are.*pairs=False"),
    "nulls": ({"x": pa.null()}, {}, r"Column 'x' has no type: all its cells are missing\. Give it a family"),
    "lists": ({"x": pa.list_(pa.int64())}, {}, r"Column 'x' holds list.*Take it apart"),
    "levels": ({"x": pa.dictionary(pa.int8(), pa.string(), ordered=True)}, {}, r"levels in an order.*Ordinal"),
    "unknown family": ({"x": pa.string()}, {"y": "words"}, r"There is no column 'y'"),
}


@pytest.mark.parametrize(("types", "families", "said"), REFUSED.values(), ids=REFUSED)
def test_what_only_rows_can_decide_is_refused(types, families, said):
    with pytest.raises(InvalidInput, match=said):
        nv.Schema.of(pa.schema(types), families)


def test_counts_and_looks_of_other_rows_are_refused():
    profile = nv.profile(TABLE, target="label")
    with pytest.raises(IncompatibleCounts, match=r"rows of class '.*' were counted, and .* were profiled"):
        nv.NaiveBayes.from_counts(nv.count(TABLE.slice(1), target="label"), profile=profile)


# -- models in other places --------------------------------------------------------------------------------------------


def test_models_are_written_to_and_read_from_open_files(one_fit):
    file = io.BytesIO()
    one_fit.save(file)
    file.seek(0)
    assert np.array_equal(nv.load(file).predict_proba(TABLE), one_fit.predict_proba(TABLE))
    with pytest.raises(UnwritableFile, match="open it in mode 'wb'"):
        one_fit.save(io.StringIO())
    with pytest.raises(UnreadableFile, match="open it in mode 'rb'"):
        nv.load(io.StringIO("text"))


def test_models_are_written_to_and_read_from_urls(one_fit, tmp_path):
    pytest.importorskip("fsspec", reason="fsspec is not installed")
    for url in ("memory://models/one.parquet", f"file://{tmp_path}/one.parquet"):
        one_fit.save(url)
        assert nv.load(url).counts_ == one_fit.counts_
    with pytest.raises(UnreadableFile, match="there is no such file"):
        nv.load("memory://models/none.parquet")
    with pytest.raises(UnreadableFile, match="Protocol not known: nowhere"):
        nv.load("nowhere://model.parquet")


# -- models added up ---------------------------------------------------------------------------------------------------

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


@pytest.mark.parametrize("weight", ["a", "0.5", None, [1], 1j, -1, np.nan, np.inf])
def test_what_is_no_weight_is_refused(weight):
    for times in (lambda: DAYS[0] * weight, lambda: weight * DAYS[0], lambda: DAYS[0].counts_ * weight):
        with pytest.raises(InvalidSetting, match=r"Rows cannot weigh .*; multiply by a finite number"):
            times()
    assert (DAYS[0] * Fraction(1, 2)).counts_ == (DAYS[0] * 0.5).counts_


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
