"""ONNX models predict as the models they were made of."""

from __future__ import annotations

import datetime
import json
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

import naively as nv
from naively.errors import InvalidInput, NotInstalled, UnwritableFile

from .flat_cases import FAMILIES, MODELS, asked, fitted, letters, table_of
from .onnx_cases import answers, assert_same_answers, facts_of, props_of, spoiled
from .tables import SHARED, shared_table

pytestmark = [pytest.mark.filterwarnings("error::naively.StaleWarning")]
LIST = None if SHARED is None else SHARED / "datasets.json"
SETS = json.loads(LIST.read_text("utf-8")) if LIST is not None and LIST.exists() else {}
TABLES = [name for name, about in SETS.items() if about["task"] == "tabular"]
# Tables that have each kind of column, many classes and missing values; the others are for the night.
BY_DAY = {"votes", "glass", "hepatitis", "zoo"}


# -- the same predictions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [name if name in BY_DAY else pytest.param(name, marks=pytest.mark.slow) for name in TABLES] or ["votes"]
)
def test_every_shared_table_gets_the_same_predictions_from_every_model(name):
    if not TABLES:
        pytest.skip("needs the data sets of ../shared/data beside the repository")
    about = SETS[name]
    table = shared_table(about["file"], na_values=[about.get("missing", "?")], nrows=40_000)
    table = table.sample(min(len(table), 500), random_state=0, ignore_index=True)
    X = table.drop(columns=about["target"])
    codes = [column for column, kind in about["kinds"].items() if kind == "cat" and column in X.select_dtypes("number")]
    rows = pd.concat([X[:150], spoiled(X[:150], 1)], ignore_index=True)
    for model in MODELS:
        nb = nv.NaiveBayes(model=model, families=dict.fromkeys(codes, "categorical") or None)
        assert_same_answers(nb.fit(table[:500], target=about["target"]), rows)


@pytest.mark.parametrize("families", FAMILIES)
def test_every_estimate_of_every_family_is_in_the_onnx_model(families):
    for model, estimate in (("textbook", "map"), ("textbook", "mle"), ("auto", "bayes")):
        if (families, estimate) != ("common values", "map"):  # which spread='overall' cannot use
            assert_same_answers(fitted(table_of(2), model, FAMILIES[families], estimate=estimate), asked(table_of(2)))


cells = st.one_of(st.none(), st.integers(-3, 3).map(float), st.floats(-1e6, 1e6))
labels = st.one_of(st.none(), st.sampled_from(["a", "b", "c", "ä", "", "nan"]))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), model=st.sampled_from(MODELS), missing=st.sampled_from(["skip", "value"]))
def test_random_tables_get_the_same_predictions(data, model, missing):
    size = data.draw(st.integers(4, 40))
    columns = {"x": (cells, float), "y": (cells, float), "label": (labels, object), "probabilities": (labels, object)}
    frame = pd.DataFrame(
        {
            name: pd.Series(data.draw(st.lists(c, min_size=size, max_size=size)), dtype=t)
            for name, (c, t) in columns.items()
        }
    )
    classes = data.draw(st.lists(st.sampled_from("pqrs"), min_size=size, max_size=size))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a single class, columns without values
        nb = nv.NaiveBayes(model=model, missing=missing).fit(frame, classes)
    assert_same_answers(nb, frame)


# -- cells ------------------------------------------------------------------------------------------------------------


def test_an_empty_text_is_missing_unless_it_is_a_category():
    seen = pd.DataFrame({"x": pd.Categorical(["", "a", None, "<missing>"] * 10)})
    nb = nv.NaiveBayes(model="textbook", missing="value").fit(seen, ["k", "l", "l", "k"] * 10)
    model = assert_same_answers(nb, [{"x": ""}, {"x": "a"}, {"x": None}, {"x": "<missing>"}])
    assert facts_of(model)["x"]["missing"] == "<<missing>>"


# -- classes and names ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("classes", "dtype"),
    [([False, True], np.bool_), ([10, -3], np.int64), ([datetime.date(2024, 1, 1), datetime.date(2024, 6, 1)], object)],
    ids=str,
)
def test_labels_have_the_type_of_the_classes(classes, dtype):
    nb = nv.NaiveBayes(model="textbook").fit({"x": [1.0, 5.0, 1.1, 5.2] * 5}, pd.Series(classes * 10))
    label, _ = answers(nv.export.onnx(nb), [{"x": 1.0}, {"x": 5.0}])
    assert label.dtype == dtype
    assert sorted(map(str, label)) == sorted(map(str, nb.flat().content["classes"]))


def test_columns_that_contribute_nothing_give_the_prior_and_a_single_class_is_certain():
    nb = nv.NaiveBayes().fit({"x": [1.0] * 8, "z": ["a"] * 8}, ["p"] * 6 + ["q"] * 2)
    model = assert_same_answers(nb, [{"x": 1.0, "z": "a"}, {"x": 9.0, "z": None}])
    assert [one.name for one in model.graph.input] == ["x", "z"]
    nb = nv.NaiveBayes().fit({"x": [1.0, 2.0, 3.0], "z": ["a", "b", "a"]}, ["p"] * 3)
    assert_same_answers(nb, [{"x": 1.0, "z": "c"}])


# -- what a model says of itself, and its file ------------------------------------------------------------------------


def test_metadata_say_what_the_model_is_and_how_cells_are_given():
    from onnx import TensorProto

    nb = nv.NaiveBayes().fit("examples/penguins.csv", target="species")
    model = nv.export.onnx(nb)
    assert (model.producer_name, model.producer_version, model.domain) == ("naively", nv.__version__, "naively")
    assert (model.model_version, model.graph.name) == (1, "species")
    assert nv.export.onnx(nb, name="birds").graph.name == "birds"
    assert "3 classes of 'species', from 7 columns" in model.doc_string
    props, columns = props_of(model), facts_of(model)
    assert json.loads(props["classes"]) == ["Adelie", "Chinstrap", "Gentoo"]
    assert (props["target"], props["model"], props["naively_version"]) == ("species", "default", nv.__version__)
    assert "NaN" in props["missing"]
    assert columns["island"] == {"name": "island", "kind": "label", "input": "string", "missing": ""}
    assert columns["bill_length_mm"]["missing"] == "NaN"
    notes = {one.name: one.doc_string for one in model.graph.input}
    assert notes["island"] == "A category as text; '' if it is missing."
    assert notes["bill_length_mm"] == "A number; NaN if it is missing."
    shapes = [[dim.dim_param or dim.dim_value for dim in one.type.tensor_type.shape.dim] for one in model.graph.output]
    assert shapes == [["rows"], ["rows", 3]]
    assert {(one.domain, one.version) for one in model.opset_import} == {("", 17), ("ai.onnx.ml", 3)}
    kinds = {constant.data_type for constant in model.graph.initializer}
    assert TensorProto.DOUBLE in kinds
    assert not kinds & {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16}


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    import onnx

    nb = letters(3)[0]
    path = tmp_path / "model.onnx"
    made = nv.export.onnx(nb, path)
    assert onnx.load(path) == made == nv.export.onnx(nb.flat())
    with pytest.raises(UnwritableFile, match="its folder does not exist"):
        nv.export.onnx(nb, tmp_path / "nowhere" / "model.onnx")
    with pytest.raises(InvalidInput):
        nv.export.onnx(nv.NaiveBayes(families={"t": "words"}).fit({"t": ["good day", "bad"] * 5}, ["p", "n"] * 5), path)
    assert onnx.load(path) == made
    assert [one.name for one in tmp_path.iterdir()] == ["model.onnx"]


# -- what is refused --------------------------------------------------------------------------------------------------


def test_what_cannot_be_exported_is_said_with_what_can(monkeypatch):
    texts = nv.NaiveBayes(families={"t": "words"}).fit({"t": ["good day", "bad day"] * 5}, ["p", "n"] * 5)
    with pytest.raises(
        InvalidInput, match=r"^Column 't' holds texts.*as JavaScript or JSON, or fit it without"
    ) as error:
        nv.export.onnx(texts)
    assert error.value.column == "t"
    vectors = nv.NaiveBayes().fit(sparse.csr_array(np.eye(4)), ["a", "a", "b", "b"])
    with pytest.raises(InvalidInput, match="holds vectors"):
        nv.export.onnx(vectors)
    with pytest.raises(InvalidInput, match="Expected a fitted NaiveBayes or a FlatModel to export, and found dict"):
        nv.export.onnx({})
    content = letters(2)[0].flat().content
    for change, words in (
        ({"columns": [], "terms": []}, "uses no column"),
        ({"columns": [content["columns"][0] | {"name": ""}]}, "A column has no name"),
        ({"terms": [content["terms"][0] | {"kind": "spline"}]}, "term of kind 'spline'"),
    ):
        with pytest.raises(InvalidInput, match=words):
            nv.export.onnx(nv.FlatModel(content | change))
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(NotInstalled, match=r'needs the library onnx, .*pip install "naively\[onnx\]"'):
        nv.export.onnx(letters(2)[0])
