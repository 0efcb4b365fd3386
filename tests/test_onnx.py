"""ONNX models, by export or by skl2onnx, predict as the models they were made of."""

from __future__ import annotations

import datetime
import json
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

import naively as nv
from naively.errors import InvalidInput, NotInstalled, UnwritableFile
from naively.sklearn import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    register_onnx_converters,
)

from .flat_cases import FAMILIES, MODELS, asked, fitted, letters, table_of
from .onnx_cases import answers, assert_same_answers, facts_of, props_of, session_of, spoiled
from .tables import SHARED, shared_table

pytestmark = pytest.mark.alone
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


# -- classifiers that skl2onnx converts predict as they do in python ---------------------------------------------------

skl2onnx = pytest.importorskip("skl2onnx", reason="needs skl2onnx: pip install 'naively[onnx]'")


RANDOM = np.random.default_rng(0)
Y = RANDOM.integers(0, 3, 200)
NUMBERS = RANDOM.normal(Y[:, None], 1.0, (200, 4))
COUNTS = RANDOM.poisson(1.0 + Y[:, None], (200, 5)).astype(float)
# Some classes lack some values: without smoothing they are ruled out.
SPARSE = COUNTS.copy()
SPARSE[Y == 1, 0], SPARSE[Y == 0, 1], SPARSE[:, 4] = 0.0, 3.0, Y == 2
CLASSIFIERS: dict[str, tuple[Any, np.ndarray]] = {
    "GaussianNB": (GaussianNB(), NUMBERS),
    "GaussianNB with priors": (GaussianNB(priors=[0.2, 0.3, 0.5], var_smoothing=0.1), NUMBERS),
    "MultinomialNB": (MultinomialNB(), COUNTS),
    "MultinomialNB, unsmoothed": (MultinomialNB(alpha=0.0), SPARSE),
    "ComplementNB": (ComplementNB(), COUNTS),
    "ComplementNB, unsmoothed": (ComplementNB(alpha=0.0), SPARSE),
    "ComplementNB with norm and prior": (ComplementNB(norm=True, class_prior=[0.2, 0.3, 0.5]), COUNTS),
    "BernoulliNB": (BernoulliNB(binarize=1.0), COUNTS),
    "BernoulliNB, unsmoothed": (BernoulliNB(alpha=0.0), SPARSE),
    "BernoulliNB of proportions": (BernoulliNB(binarize=None), (COUNTS > 1) * 0.5),
    "CategoricalNB": (CategoricalNB(), COUNTS),
    "CategoricalNB, unsmoothed": (CategoricalNB(alpha=0.0, min_categories=20), SPARSE),
}


@pytest.fixture(autouse=True, scope="module")
def registered():
    register_onnx_converters()


def converted(classifier: Any, X: Any, **options: Any) -> Any:
    """Return what runs a converted classifier, probabilities as a matrix."""
    return session_of(skl2onnx.to_onnx(classifier, X[:1], options={"zipmap": False}, **options))


def assert_converted(classifier: Any, X: np.ndarray, rows: np.ndarray | None = None, **options: Any) -> None:
    """Check that a converted classifier gives the same answers."""
    rows = X if rows is None else rows
    label, found = converted(classifier, X, **options).run(None, {"X": rows})
    expected = classifier.predict_proba(rows)
    assert np.abs(found - expected).max() < (1e-9 if found.dtype == np.float64 else 1e-7)
    assert (label == classifier.predict(rows)).all()
    assert found.dtype == (np.float64 if X.dtype == np.float64 else np.float32)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_give_the_same_predictions(name):
    classifier, X = CLASSIFIERS[name]
    rows = np.vstack([X, np.roll(X, 1, axis=1), np.zeros((1, X.shape[1]))])
    for y in (Y, np.array(["a", "b", "c"])[Y]):
        assert_converted(classifier.fit(X, y), X, rows)
    for opset in (13, 15, 18, 21):
        assert_converted(classifier, X[:20], target_opset=opset)


@pytest.mark.parametrize("y", [Y == 1, Y.astype(np.int32) * 10 - 3, np.array(["x", "ü", ""], dtype=object)[Y]])
def test_classes_of_any_type_are_answered(y):
    nb = GaussianNB().fit(NUMBERS, y)
    label, _ = converted(nb, NUMBERS).run(None, {"X": NUMBERS})
    assert (label == nb.predict(NUMBERS)).all()
    assert label.dtype == (object if y.dtype == object else np.int64)


def test_the_options_of_classifiers_apply():
    nb = GaussianNB().fit(NUMBERS.astype(np.float32), np.array(["a", "b", "c"])[Y])
    X = NUMBERS.astype(np.float32)
    _, maps = session_of(skl2onnx.to_onnx(nb, X[:1])).run(None, {"X": X[:2]})
    assert np.allclose([maps[0][name] for name in "abc"], nb.predict_proba(X[:1])[0], atol=1e-6)
    columns = session_of(skl2onnx.to_onnx(nb, X[:1], options={"zipmap": "columns"}))
    assert len(columns.run(None, {"X": X[:2]})) == 4
    codes = session_of(skl2onnx.to_onnx(nb, X[:1], options={"zipmap": False, "nocl": True}))
    assert (np.array(["a", "b", "c"])[codes.run(None, {"X": X})[0]] == nb.predict(X)).all()


def test_pipelines_of_scikit_learn_convert():
    register_onnx_converters()  # once more
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=99)
    columns = ColumnTransformer([("scaled", StandardScaler(), [0, 1]), ("kept", "passthrough", [2, 3])])
    for pipeline, X in (
        (make_pipeline(FunctionTransformer(), GaussianNB()), NUMBERS),
        (make_pipeline(columns, GaussianNB()), NUMBERS),
        (make_pipeline(codes, CategoricalNB()), COUNTS),
        (make_pipeline(OneHotEncoder(handle_unknown="ignore"), BernoulliNB()), COUNTS),
        (make_pipeline(StandardScaler(), nv.NaiveBayes()), NUMBERS),
    ):
        assert_converted(pipeline.fit(X, Y), X)


@pytest.mark.parametrize("model", ["auto", "textbook"])
def test_naive_bayes_of_numbers_converts(model):
    X = NUMBERS.copy()
    X[::7, 1] = np.nan
    for y in (Y, np.array(["a", "b", "c"])[Y]):
        assert_converted(nv.NaiveBayes(model=model).fit(X, y), X)
    named = pd.DataFrame(X, columns=["d", "c", "b", "a"])
    nb = nv.NaiveBayes(model=model, columns=["a", "c"]).fit(named, Y)
    label, found = converted(nb, X).run(None, {"X": X})
    assert np.abs(found - nb.predict_proba(named)).max() < 1e-9
    assert (label == nb.predict(named)).all()


def test_naive_bayes_of_categories_refers_to_the_export_of_columns():
    table = pd.DataFrame({"sky": ["rain", "sun"] * 10, "wind": [1.0, 2.0] * 10})
    nb = nv.NaiveBayes().fit(table, ["in", "out"] * 10)
    with pytest.raises(InvalidInput, match=r"Column 'sky' holds categories.*by naively\.export\.onnx"):
        skl2onnx.to_onnx(nb, np.zeros((1, 2)))


def test_without_the_library_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(NotInstalled, match=r'needs the library skl2onnx, .*pip install "naively\[onnx\]"'):
        register_onnx_converters()
