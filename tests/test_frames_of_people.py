"""Frames as people have them: whatever type a column has, it is counted as its plain equivalent."""

import datetime as dt
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import naively as nv
from naively.errors import InvalidInput

from .tables import book

ROWS = 48
_rng = np.random.default_rng(3)
X = np.round(_rng.normal(size=ROWS), 3)
CODES = _rng.integers(0, 4, ROWS)
THERE = X > -1.2  # elsewhere a cell is missing
WORDS = np.array(["u", "v", "w", "z"])[CODES]
Y = np.where(X + _rng.normal(size=ROWS) > 0, "yes", "no")
DAYS = [dt.date(2024, 1, 1 + int(code)) for code in CODES]
DAYS_OF_MONTHS = np.datetime64("2024-01") + CODES  # in a unit that Arrow does not have
CUT = pd.cut(pd.Series(X), [-4, -1, 0, 1, 4])


def holed(values):
    """Return a list with None where a value is missing."""
    return [value if there else None for value, there in zip(values, THERE, strict=True)]


# What people have, and its plain equivalent.
EQUIVALENTS = {
    "sparse numbers": (pd.Series(pd.arrays.SparseArray(np.where(X > 0, X, 0.0))), np.where(X > 0, X, 0.0)),
    "sparse with NaN": (pd.Series(pd.arrays.SparseArray(np.where(THERE, X, np.nan))), np.where(THERE, X, np.nan)),
    "sparse booleans": (pd.Series(pd.arrays.SparseArray(X > 0)), X > 0),
    "sparse whole numbers": (pd.Series(pd.arrays.SparseArray(CODES)), CODES),
    "periods": (
        pd.Series(pd.PeriodIndex([str(day) for day in DAYS], freq="D")),
        np.array(DAYS, dtype="datetime64[us]"),
    ),
    "months, some missing": (
        pd.Series(pd.PeriodIndex([f"2024-0{code + 1}" for code in CODES], freq="M")).where(THERE),
        np.where(THERE, np.datetime64("2024-01") + CODES, np.datetime64("NaT")).astype("datetime64[us]"),
    ),
    "objects of periods": (
        pd.Series([pd.Period(str(day), freq="D") for day in DAYS], dtype=object),
        np.array(DAYS, dtype="datetime64[us]"),
    ),
    "Int64": (pd.Series(CODES, dtype="Int64").where(THERE), holed(CODES.tolist())),
    "Float64": (pd.Series(X, dtype="Float64").where(THERE), np.where(THERE, X, np.nan)),
    "boolean": (pd.Series(X > 0, dtype="boolean").where(THERE), holed((X > 0).tolist())),
    "string": (pd.Series(WORDS, dtype="string").where(THERE), holed(WORDS.tolist())),
    "int64 of Arrow": (pd.Series(CODES, dtype="int64[pyarrow]").where(THERE), holed(CODES.tolist())),
    "double of Arrow": (pd.Series(X, dtype="double[pyarrow]").where(THERE), np.where(THERE, X, np.nan)),
    "bool of Arrow": (pd.Series(X > 0, dtype="bool[pyarrow]"), X > 0),
    "texts of Arrow": (pd.Series(WORDS, dtype="string[pyarrow]"), WORDS.tolist()),
    "dates of Arrow": (pd.Series(DAYS, dtype=pd.ArrowDtype(pa.date32())), np.array(DAYS, dtype="datetime64[us]")),
    "decimals of Arrow": (
        pd.Series([Decimal(str(x)) for x in X], dtype=pd.ArrowDtype(pa.decimal128(8, 3))),
        X,
    ),
    "durations": (pd.Series(pd.to_timedelta(CODES, unit="h")), [dt.timedelta(hours=int(code)) for code in CODES]),
    "objects of Timedelta": (
        pd.Series([pd.Timedelta(hours=int(code)) for code in CODES], dtype=object),
        [dt.timedelta(hours=int(code)) for code in CODES],
    ),
    "months of NumPy": (pd.Series(DAYS_OF_MONTHS.astype("datetime64[s]")), DAYS_OF_MONTHS),
    "decimals": (pd.Series([Decimal(str(x)) for x in X]), X),
    "NA among objects": (pd.Series([pd.NA if x is None else x for x in holed(CODES.tolist())]), holed(CODES.tolist())),
    "NaT among dates": (pd.Series([pd.NaT if x is None else x for x in holed(DAYS)]), holed(DAYS)),
    "None among booleans": (pd.Series(holed((X > 0).tolist()), dtype=object), holed((X > 0).tolist())),
    "texts of NumPy": (pd.Series([np.str_(word) for word in WORDS], dtype=object), WORDS.tolist()),
    "float16": (pd.Series(np.float16(np.round(X, 1))), np.float16(np.round(X, 1)).astype(float)),
}  # fmt: skip


def one_by_one(nb, frame):
    """Return what a model says of each row, given alone: as a dict, as a row of the frame, as a small frame."""
    for at in range(0, len(frame), 7):
        row = {"c": frame["c"].iloc[at], "x": frame["x"].iloc[at]}
        yield at, [nb.predict_proba(form) for form in (row, frame.iloc[at], frame.iloc[[at]])]


# pandas 2.2 warns of itself where a row is taken from sparse booleans.
@pytest.mark.filterwarnings("ignore:Allowing arbitrary scalar fill_value:FutureWarning")
@pytest.mark.parametrize("kind", EQUIVALENTS)
def test_a_column_is_counted_and_answered_as_its_plain_equivalent(kind):
    given, plain = EQUIVALENTS[kind]
    frame, same = pd.DataFrame({"c": given, "x": X}), {"c": plain, "x": X}

    nb, other = book().fit(frame, Y), book().fit(same, Y)

    assert nb.schema_["c"].type == other.schema_["c"].type
    assert nb.counts_ == other.counts_
    p = other.predict_proba(same)
    assert_allclose(nb.predict_proba(frame), p, rtol=1e-12)
    for at, answers in one_by_one(nb, frame):
        for answer in answers:
            assert_allclose(answer, p[[at]], rtol=1e-9)


INTERVALS = {
    "pd.cut": CUT,
    "IntervalDtype": pd.Series(pd.arrays.IntervalArray(CUT.to_numpy())),
    "objects": pd.Series(list(CUT), dtype=object),
}


@pytest.mark.parametrize("kind", INTERVALS)
@pytest.mark.parametrize("model", ["textbook", "auto"])
def test_intervals_are_levels_in_their_order_and_texts_in_a_file(kind, model, tmp_path):
    frame = pd.DataFrame({"c": INTERVALS[kind], "x": X})
    nb = nv.NaiveBayes(model=model).fit(frame, Y)

    levels = ("(-4, -1]", "(-1, 0]", "(0, 1]", "(1, 4]")
    assert nb.schema_["c"].family == nv.Ordinal(levels=levels)
    texts = frame.assign(c=[str(cell) for cell in INTERVALS[kind]])
    same = nv.NaiveBayes(model=model, families={"c": nv.Ordinal(levels=levels)}).fit(texts, Y)
    assert nb.counts_.columns == same.counts_.columns
    assert_array_equal(nb.counts_.rows, same.counts_.rows)
    p = nb.predict_proba(frame)
    assert_allclose(p, same.predict_proba(texts))
    for at, answers in one_by_one(nb, frame):
        for answer in answers:
            assert_allclose(answer, p[[at]], rtol=1e-9)
    nb.save(tmp_path / "model.parquet")
    assert_array_equal(nv.load(tmp_path / "model.parquet").predict_proba(frame), p)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (X + 1j, r"'c' holds objects of type complex.*row 0 holds .*\. Give the two parts .*np\.real.*np\.imag"),
        ([*WORDS[:5], [1, 2], *WORDS[6:]], r"objects of type list.*row 5 holds \[1, 2\]\. Take them apart"),
        ([*WORDS[:5], {"a": 1}, *WORDS[6:]], r"objects of type dict.*row 5 holds \{'a': 1\}\. Take them apart"),
        ([word.encode() for word in WORDS], r"type bytes.*row 0 holds b'.'\. Decode them first.*utf-8"),
    ],
    ids=["complex", "a list", "a dict", "bytes"],
)
def test_cells_that_are_no_values_are_named_with_row_and_column(cells, words):
    with pytest.raises(InvalidInput, match=words):
        nv.NaiveBayes().fit(pd.DataFrame({"c": pd.Series(cells), "x": X}), Y)


@pytest.mark.parametrize("kind", [pd.Timestamp, lambda day: pd.Period(str(day), freq="D")], ids=["times", "periods"])
def test_categories_that_are_times_are_labels_in_every_form(kind, tmp_path):
    frame = pd.DataFrame({"c": pd.Series([kind(day) for day in DAYS]).astype("category"), "x": X})
    nb = book().fit(frame, Y)

    assert (nb.schema_["c"].type, nb.schema_["c"].family) == ("time", nv.Categorical())
    p = nb.predict_proba(frame)
    for at, answers in one_by_one(nb, frame):
        for answer in answers:
            assert_allclose(answer, p[[at]], rtol=1e-9)
    nb.save(tmp_path / "model.parquet")
    assert_array_equal(nv.load(tmp_path / "model.parquet").predict_proba(frame), p)


# -- classes of any type ----------------------------------------------------------------------------------------------

SIDE = (X > 0).astype(int)
CLASSES = {
    "whole numbers": SIDE,
    "int8": SIDE.astype("int8"),
    "whole numbers as floats": SIDE.astype(float),
    "booleans": X > 0,
    "Int64": pd.Series(SIDE, dtype="Int64"),
    "boolean": pd.Series(X > 0, dtype="boolean"),
    "categories of numbers": pd.Series(SIDE).astype("category"),
    "booleans of Polars": pl.Series(X > 0),
    "dates": [DAYS[0] + dt.timedelta(days=int(side)) for side in SIDE],
    "pd.cut": pd.cut(X, 3),
    "pd.cut of whole numbers": pd.cut(CODES, [0, 2, 4], right=False),
    "IntervalDtype": pd.Series(pd.arrays.IntervalArray(CUT.to_numpy())),
    "periods": pd.Series(pd.PeriodIndex(["2024-01", "2024-02"], freq="M")[SIDE]),
    "an index of periods": pd.PeriodIndex(["2024-Q1", "2024-Q2"], freq="Q")[SIDE],
}


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("model", ["textbook", "auto"])
def test_answers_have_the_type_of_the_classes_from_a_file_too(kind, model, tmp_path):
    y = CLASSES[kind]
    frame = pd.DataFrame({"c": WORDS, "x": X})
    nb = nv.NaiveBayes(model=model).fit(frame, y)

    assert set(nb.classes_.tolist()) == {getattr(label, "item", lambda label=label: label)() for label in y}
    assert list(nb.classes_) == sorted(nb.classes_)
    nb.save(tmp_path / "model.parquet")
    same = nv.load(tmp_path / "model.parquet")
    for model in (nb, same):
        answers = model.predict(frame)
        assert type(answers[0]) is type(nb.classes_[0])
        assert answers.dtype == nb.classes_.dtype
        assert {hash(label) for label in answers} <= {hash(label) for label in y}
    assert_array_equal(nb.predict(frame), same.predict(frame))
    assert np.mean(nb.leave_one_out(frame, y).truth == nb.leave_one_out(frame, y).posterior.argmax(axis=1)) > 0.5
    assert json.loads(json.dumps(nb.schema_.to_json()))


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (
            pd.Series(pd.to_datetime(DAYS)),
            r"found times; write them as texts .*, or as dates: y\.astype\(str\) or y\.dt\.date",
        ),
        (pd.Series(pd.to_timedelta(CODES, unit="h")), "found times; write them as texts"),
        (
            [*[DAYS[0]] * 9, *["a"] * (ROWS - 9)],
            "labels must be all numbers or all texts; found objects of type date, str",
        ),
    ],
    ids=["times", "durations", "dates and texts"],
)
def test_labels_that_cannot_be_classes_are_refused_in_one_sentence(y, words):
    with pytest.raises(InvalidInput, match=words):
        nv.NaiveBayes().fit({"x": X}, y)
