"""A model that is saved and loaded is the same model, with its rows or without: also in what it learns later."""

from __future__ import annotations

import decimal
import enum
import threading
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError

import naively as nv
from naively.data import model_file
from naively.errors import InvalidInput

from .strategies import checked, state_of
from .tables import LABELS, TABLE, book, part
from .test_counts_of_tables import FAMILIES, fitted, tables


def again(nb, folder):
    """Save and load."""
    nb.save(folder / "model.parquet")
    return nv.load(folder / "model.parquet")


@pytest.mark.parametrize("family", FAMILIES)
@checked
@given(data=st.data())
def test_a_model_comes_back_to_the_last_bit(family, data, tmp_path_factory):
    """Of every family, with missing values and weights; and it goes on learning and forgetting like the other."""
    table = data.draw(tables(family))
    nb = fitted(table, family)
    back = again(nb, tmp_path_factory.mktemp("models"))

    assert state_of(back.counts_) == state_of(nb.counts_)
    assert back.schema_ == nb.schema_
    assert_array_equal(back.classes_, nb.classes_)
    assert_array_equal(back.predict_proba(table.frame()), nb.predict_proba(table.frame()))
    for model in (nb, back):
        model.partial_fit(table.frame(), table.y, sample_weight=table.weights)
    assert state_of(back.counts_) == state_of(nb.counts_)
    for model in (nb, back):
        model.forget(table.frame(), table.y, sample_weight=table.weights)
    assert state_of(back.counts_) == state_of(nb.counts_)


class Answer(enum.Enum):
    """An answer."""

    YES = "yes"
    NO = "no"


def test_labels_that_no_file_can_hold_are_refused(tmp_path):
    """A member of an enumeration is code; the error says so, and no file is left."""
    nb = book().fit(TABLE, [Answer(label) for label in LABELS])

    with pytest.raises(InvalidInput, match="Answer"):
        nb.save(tmp_path / "model.parquet")
    assert list(tmp_path.iterdir()) == []


def test_settings_that_no_file_can_hold_are_refused(tmp_path):
    """The error names the setting, and an old file stays."""
    nb = book().fit(TABLE, LABELS)
    nb.save(tmp_path / "model.parquet")
    before = (tmp_path / "model.parquet").read_bytes()

    with pytest.raises(InvalidInput, match="random_state"):
        nb.set_params(random_state=np.random.default_rng(0)).save(tmp_path / "model.parquet")
    assert (tmp_path / "model.parquet").read_bytes() == before


def test_columns_of_every_type_come_back(tmp_path):
    """Texts, declared levels, codes, booleans, flags, dates, durations, vectors."""
    X = {
        "text": ["a", "b", None, "a"],
        "level": pd.Series(["low", "low", None, "high"], dtype=pd.CategoricalDtype(["low", "high", "top"])),
        "code": [1, 2, None, 2**53 + 1],
        "share": [0.1, 0.2, None, 0.1],
        "boolean": [True, None, False, True],
        "flag": [0, 3, 1, 0],
        "day": pd.date_range("2026-01-01", periods=4, tz="Asia/Shanghai"),
        "coded day": pd.date_range("2026-01-01", periods=4),
        "lasted": pd.to_timedelta([1, 2, 3, 4], unit="h"),
        "words": sparse.csr_array(np.eye(4)),
        "vector": np.eye(4),
    }
    families = {"code": "categorical", "share": "categorical", "flag": "bernoulli", "coded day": "categorical"}
    nb = book(families=families).fit(X, [1, 2, 1, 2])
    back = again(nb, tmp_path)

    assert back.counts_ == nb.counts_
    assert back.schema_ == nb.schema_
    assert_array_equal(back.predict_proba(X), nb.predict_proba(X))


def test_the_same_model_makes_the_same_file(tmp_path):
    """However its rows were grouped and ordered."""
    one, two = book().fit(TABLE, LABELS), book()
    one.counts_  # noqa: B018
    schema = one.schema_
    two = book(families=schema)
    for row in (5, 3, 0, 1, 7, 6, 4, 2):
        two.partial_fit(part({"colour": TABLE["colour"]} | TABLE, [row]), [LABELS[row]])
    for at, nb in enumerate((one, two)):
        nb.set_params(families=None).save(tmp_path / f"{at}.parquet")

    a, b = (nv.load(tmp_path / f"{at}.parquet") for at in (0, 1))
    assert a.counts_.agrees(b.counts_)
    assert a.counts_.columns["colour"] == b.counts_.columns["colour"]


def test_what_is_no_model_is_refused(tmp_path):
    """A missing file, a foreign one, and a model that learned nothing."""
    (tmp_path / "foreign.parquet").write_bytes(b"PAR1 nothing PAR1")
    pd.DataFrame(TABLE).to_parquet(tmp_path / "table.parquet")

    with pytest.raises((InvalidInput, FileNotFoundError), match=r"missing\.parquet"):
        nv.load(tmp_path / "missing.parquet")
    for name in ("foreign.parquet", "table.parquet"):
        with pytest.raises(InvalidInput, match=name):
            nv.load(tmp_path / name)
    with pytest.raises(NotFittedError):
        book().save(tmp_path / "nothing.parquet")


def test_readers_never_see_half_a_file(tmp_path):
    """While one thread saves again and again, others load whole models."""
    path = tmp_path / "model.parquet"
    models = [book().fit(TABLE, LABELS), book().fit(part(TABLE, range(4)), LABELS[:4])]
    models[0].save(path)
    done = threading.Event()

    def write():
        for at in range(30):
            models[at % 2].save(path)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    found = set()
    while not done.is_set():
        found.add(nv.load(path).counts_.rows.sum())
    writer.join()
    assert found <= {4.0, 8.0}


# -- a model file with rows --------------------------------------------------------------------------------------------

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

LABELS_OF_TYPES = {
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


@pytest.mark.parametrize("name", LABELS_OF_TYPES)
def test_labels_of_every_type_go_on_exactly(name, tmp_path):
    X = {"size": RNG.normal(size=N) + (Y == "yes"), "colour": ["red", "blue"] * (N // 2)}
    goes_on(nv.NaiveBayes().fit(X, LABELS_OF_TYPES[name]), tmp_path, X, LABELS_OF_TYPES[name])


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
