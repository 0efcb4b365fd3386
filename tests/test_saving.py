"""A model that is saved and loaded is the same model: counts, schema, settings, answers and what it learns later."""

import enum
import threading

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError

import naively as nv
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


SETTINGS = {
    "estimate": "map",
    "smoothing": np.float64(2.5),
    "prior": {"yes": 0.25, "no": 0.75},
    "prior_smoothing": 2,
    "classes": ["yes", "no"],
    "columns": ["colour", "size"],
    "missing": "value",
    "unseen": "smooth",
    "max_categories": 2,
    "cost": {("yes", "no"): 7},
    "reject": 0.25,
    "unlabelled": "skip",
    "n_jobs": 1,
    "random_state": 3,
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_come_back(name, tmp_path):
    """Each of them, and so the answers."""
    nb = book(**{name: SETTINGS[name]}).fit(TABLE, LABELS)
    back = again(nb, tmp_path)

    assert back.get_params()[name] == SETTINGS[name]
    assert_array_equal(back.predict(TABLE), nb.predict(TABLE))
    assert_array_equal(back.predict_proba(TABLE), nb.predict_proba(TABLE))


LABELLED = {
    "texts": LABELS,
    "integers": [int(label == "yes") for label in LABELS],
    "small integers": np.array([label == "yes" for label in LABELS], np.int8),
    "booleans": [label == "yes" for label in LABELS],
    "whole floats": [float(label == "yes") for label in LABELS],
    "objects": np.array(LABELS, dtype=object),
}


@pytest.mark.parametrize("kind", LABELLED)
def test_labels_come_back_with_their_own_type(kind, tmp_path):
    """The loaded model answers in the type that was learned."""
    nb = book().fit(TABLE, LABELLED[kind])
    back = again(nb, tmp_path)

    assert back.classes_.dtype == nb.classes_.dtype
    assert [type(label) for label in back.predict(TABLE).tolist()] == [type(k) for k in nb.predict(TABLE).tolist()]


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
