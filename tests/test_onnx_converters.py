"""Classifiers that skl2onnx converts predict as they do in Python."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

import naively as nv
from naively.errors import InvalidInput, NotInstalled
from naively.sklearn import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    register_onnx_converters,
)

from .export_cases import session_of

skl2onnx = pytest.importorskip("skl2onnx", reason="needs skl2onnx: pip install 'naively[onnx]'")

# What concerns skl2onnx needs its newest version: older ones do not go with newer versions of scikit-learn.
pytestmark = pytest.mark.alone

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


def test_an_unseen_code_contributes_nothing():
    nb, rows = CategoricalNB().fit(COUNTS, Y), COUNTS.copy()
    rows[::3, 1], rows[::4, 2] = 1e6, 1e18
    assert_converted(nb, COUNTS, rows)
    session, expected = converted(nb, COUNTS), nb.predict_proba([[1e6, 1, 1, 1, 1]])
    for odd in (-1.0, np.nan, np.inf, -np.inf):  # predict refuses them
        with pytest.raises(ValueError, match=r"Negative|NaN|infinity|large"):
            nb.predict_proba([[odd, 1, 1, 1, 1]])
        assert np.abs(session.run(None, {"X": np.array([[odd, 1, 1, 1, 1]])})[1] - expected).max() < 1e-9


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


def test_texts_that_scikit_learn_counts_are_classified():
    texts = np.array(["good day", "bad day", "good good night", "bad luck", "new day"] * 4)
    y = ["p", "n", "p", "n", "p"] * 4
    for classifier in (MultinomialNB(), ComplementNB()):
        pipeline = make_pipeline(CountVectorizer(lowercase=False), classifier).fit(texts, y)
        kind = [("texts", skl2onnx.common.data_types.StringTensorType([None, 1]))]
        model = skl2onnx.to_onnx(pipeline, initial_types=kind, options={"zipmap": False})
        label, found = session_of(model).run(None, {"texts": texts.astype(object).reshape(-1, 1)})
        assert (label == pipeline.predict(texts)).all()
        assert np.abs(found - pipeline.predict_proba(texts)).max() < 1e-6  # single precision


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
