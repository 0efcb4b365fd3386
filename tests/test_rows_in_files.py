"""A model file with rows: learning, forgetting and merging go on exactly as if it had never been saved."""

from __future__ import annotations

import decimal
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import naively as nv
from naively.counting import kept_rows
from naively.data import model_file
from naively.errors import InvalidSetting
from naively.estimator.rows_in_files import rows_for_file, rows_of_part

N = 160
RNG = np.random.default_rng(0)
Y = np.array(["no", "yes"])[(np.arange(N) * 7 % 10 > 4).astype(int)]


def with_gaps(values):
    """Return a list with some missing values."""
    return [None if at % 11 == 3 else value for at, value in enumerate(values)]


COLUMNS = {
    "texts": with_gaps(["a", "b", "字", ""] * (N // 4)),
    "many texts": with_gaps([f"v{at}" for at in range(N)]),
    "numbers": with_gaps((np.arange(N) * 0.37 % 5).tolist()),
    "halves": (np.arange(N) % 9).astype(np.float16),
    "floats": (np.arange(N) / 3 % 9).astype(np.float32),
    "extremes": [5e-324, -0.0, 1e140, float("nan")] * (N // 4),
    "whole": np.arange(N, dtype=np.int16) % 13,
    "large": [2**62 + at for at in range(N)],
    "unsigned": np.arange(N, dtype=np.uint64) + np.uint64(2**63),
    "booleans": with_gaps([True, False] * (N // 2)),
    "dates": pd.date_range("2026-01-01", periods=N).date,
    "times": pd.date_range("2026-01-01", periods=N, freq="h"),
    "fine times": pd.date_range("2026-01-01", periods=N, freq="37ns"),
    "zoned": pd.date_range("2026-01-01", periods=N, freq="h", tz="Asia/Shanghai"),
    "durations": pd.to_timedelta(np.arange(N) % 17, unit="min"),
    "decimals": [decimal.Decimal(at % 7) / 4 for at in range(N)],
    "levels": pd.Categorical(with_gaps(["low", "high"] * (N // 2)), ["low", "mid", "high"], ordered=True),
    "categories": pd.Categorical([3, 1, 2, 1] * (N // 4)),
    "arrow codes": pa.array(["x", None, "y", "x"] * (N // 4)).dictionary_encode(),
    "written numbers": [f"${at % 7}.50" for at in range(N)],
    "nothing": [None] * N,
    "dense": (np.arange(4 * N).reshape(N, 4) % 5).astype(np.int8),
    "large vectors": np.arange(2 * N).reshape(N, 2) + 2**60,
    "sparse": sparse.csr_array(np.where(np.arange(3 * N).reshape(N, 3) % 4 == 0, 2, 0)),
}
WORDS = ["cheap pills \U0001f600", "see you soon", "", "win cheap \ud83d now"] * (N // 4)

LABELS = {
    "texts": Y,
    "whole": (Y == "yes").astype(int),
    "small": (Y == "yes").astype(np.int8),
    "booleans": Y == "yes",
    "floats": (Y == "yes") + 1.0,
    "objects": Y.astype(object),
}


def saved(nb, tmp_path, rows=True):
    """Return the model, saved and loaded."""
    nb.save(tmp_path / "m.parquet", rows=rows)
    return nv.load(tmp_path / "m.parquet")


def taken(X, at):
    """Return some rows of a dict of columns or of an array."""
    at = np.asarray(at)
    if not isinstance(X, dict):
        return X[at]
    some = {name: [values[i] for i in at] for name, values in X.items() if isinstance(values, list)}
    arrow = {name: values.take(pa.array(at)) for name, values in X.items() if isinstance(values, pa.Array)}
    return {name: values[at] for name, values in X.items() if name not in some | arrow} | some | arrow


def same(one, other, X):
    """Compare two models to the last bit."""
    assert_array_equal(one.classes_, other.classes_)
    assert one.classes_.dtype == other.classes_.dtype
    assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    assert one.counts_ == other.counts_
    assert one.schema_ == other.schema_
    assert one.schema_.hints == other.schema_.hints


def goes_on(nb, tmp_path, X, y, weights=None):
    """Check that a model and its copy from a file learn and forget alike, to the last bit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        back = saved(nb, tmp_path)
        assert back.kept_rows_.complete == nb.kept_rows_.complete
        assert back.kept_rows_.rows == nb.kept_rows_.rows > 0
        same(back, nb, X)
        for at, step in ((np.arange(0, N, 3), "forget"), (np.arange(5, N, 2), "partial_fit")):
            own = None if weights is None else weights[at]
            for model in (nb, back):
                getattr(model, step)(taken(X, at), y[at] if hasattr(y, "dtype") else y.iloc[at], sample_weight=own)
            same(back, nb, X)
        again = saved(back, tmp_path)
        same(again, nb, X)


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_of_every_type_go_on_exactly(name, tmp_path):
    X = {"size": RNG.normal(size=N) + (Y == "yes"), name: COLUMNS[name]}
    goes_on(nv.NaiveBayes().fit(X, Y), tmp_path, X, Y)


def test_texts_go_on_exactly_even_where_arrow_cannot_hold_them(tmp_path):
    X = {"body": WORDS, "size": np.arange(N) % 7.0}
    goes_on(nv.NaiveBayes(families={"body": "words"}).fit(X, Y), tmp_path, X, Y)


@pytest.mark.parametrize("name", LABELS)
def test_labels_of_every_type_go_on_exactly(name, tmp_path):
    X = {"size": RNG.normal(size=N) + (Y == "yes"), "colour": ["red", "blue"] * (N // 2)}
    goes_on(nv.NaiveBayes().fit(X, LABELS[name]), tmp_path, X, LABELS[name])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.int64])
def test_columns_without_names_go_on_exactly(dtype, tmp_path):
    X = (RNG.normal(size=(N, 3)) * 10 + 3 * (Y == "yes")[:, None]).astype(dtype)
    nb = nv.NaiveBayes().fit(X, Y)
    goes_on(nb, tmp_path, X, Y)
    assert saved(nb, tmp_path).fitted_.state.kept.held.source.matrix.dtype == dtype


@pytest.mark.parametrize("copies", [1, 3])
def test_a_part_of_the_rows_goes_on_exactly(copies, tmp_path, keep):
    """Beyond what is kept: the same rows, their copies and the largest hash come back."""
    keep(40)
    size = np.tile(RNG.normal(size=N // 2), copies)
    y = np.where(size + np.sin(np.arange(len(size)) % 80) > 0, "yes", "no")
    X = {"size": size, "sky": np.tile(np.array(["a", "b", None, "d"], dtype=object), len(size) // 4)}
    nb = nv.NaiveBayes().fit(X, y)
    back = saved(nb, tmp_path)
    one, other = (model.fitted_.state.kept for model in (nb, back))
    assert not other.complete
    assert one.limit == other.limit
    assert_array_equal(one.in_order().hashes, other.hashes)
    assert_array_equal(one.copies, other.copies)
    for at, step in ((np.arange(0, 80, 3), "forget"), (np.arange(5, 80, 2), "partial_fit")):
        for model in (nb, back):
            getattr(model, step)(taken(X, at), y[at])
        same(back, nb, X)


# -- what a file holds -------------------------------------------------------------------------------------------------


def test_a_file_holds_no_row_unless_asked(tmp_path):
    nb = nv.NaiveBayes().fit({"name": [f"secret-{at}" for at in range(N)], "size": np.arange(N) % 5.0}, Y)
    back = saved(nb, tmp_path, rows=False)
    assert list(model_file.read_model(tmp_path / "m.parquet").parts) == ["joint"]
    assert b"secret-7" not in (tmp_path / "m.parquet").read_bytes()
    assert back.fitted_.state.kept is None
    assert str(back.kept_rows_) == "no row"
    assert str(saved(nb, tmp_path).kept_rows_) == f"all {N} rows, as they are"
    assert list(model_file.read_model(tmp_path / "m.parquet").parts) == ["joint", "rows"]


def test_a_model_from_a_file_without_rows_says_so(tmp_path):
    X = {"size": RNG.normal(size=N) + 2 * (Y == "yes")}
    back = saved(nv.NaiveBayes().fit(X, Y), tmp_path, rows=False)
    with pytest.warns(nv.StaleWarning, match=r"holds no row.* save\(path, rows=True\)"):
        back.forget(taken(X, [0]), Y[:1])
    again = saved(nv.NaiveBayes().fit(X, Y), tmp_path, rows=False)
    with pytest.warns(nv.StaleWarning, match="holds no row"):
        again.partial_fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once is enough
        again.partial_fit(X, Y).predict(X)
    assert again.counts_.rows.sum() == 3 * N
    assert again.kept_rows_.rows == 0


@pytest.mark.parametrize("how", [{}, {"model": "textbook"}])
def test_rows_that_are_not_there_are_not_written(how, tmp_path):
    X = {"size": RNG.normal(size=N)}
    nb = nv.NaiveBayes(**how).fit(X, Y).drop_rows()
    with pytest.raises(InvalidSetting, match="textbook model needs no row" if how else "keeps no row"):
        nb.save(tmp_path / "m.parquet", rows=True)
    assert not list(tmp_path.iterdir())


def test_hashes_that_do_not_follow_from_rows_come_back(keep):
    """Rows that count less, as they grow old, keep the hashes that they were chosen by."""
    keep(N // 2)
    X = {"size": RNG.normal(size=N)}
    kept = nv.NaiveBayes().fit(X, Y).fitted_.state.kept.in_order() * 0.5
    nb = nv.NaiveBayes().fit(X, Y, sample_weight=np.full(N, 0.5))
    stored = rows_for_file(kept)
    back = rows_of_part(model_file.rows_to_bytes(stored), nb.schema_, nb.counts_, None)
    assert isinstance(back, kept_rows.KeptRows)
    assert stored.hashes is not None
    assert_array_equal(back.hashes, kept.hashes)
    assert_array_equal(back.held.weights, kept.held.weights)
