"""Whatever table comes in, there is a right answer or one clear error, and a fitted NaiveBayes survives it."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError

import naively as nv
from naively import NaiveBayes
from naively.errors import InvalidInput

from .tables import LABELS, TABLE

Y = ["a", "b", "a", "b"]
NUMBERS = {"x": [1.0, 2.0, 3.0, 4.0]}
TEXTS = {"x": ["red", "blue", "red", "blue"]}
TIMES = {"x": pd.date_range("2026-01-01", periods=4)}
WORDS = {"x": sparse.csr_array(np.eye(4)), "z": [1.0, 2.0, 3.0, 4.0]}


def refused(words, error=InvalidInput):
    """Expect an error of ours that says this."""
    return pytest.raises(error, match=words)


def one(values, **parameters):
    """Learn one column."""
    return NaiveBayes(**parameters).fit({"x": values}, Y)


def survives(nb, ask, words, error=InvalidInput):
    """Ask what is refused, and see that nothing changed."""
    before, classes = nb.counts_, nb.classes_
    with refused(words, error):
        ask(nb)
    assert nb.counts_ == before
    assert_array_equal(nb.classes_, classes)


# -- what is no table -------------------------------------------------------------------------------------------------

NO_TABLES = {
    "nothing": (None, "Expected a table: .*got NoneType"),
    "a number": (3.0, "Expected a table: .*got float"),
    "a text": ("abcd", "The classes of rows in a file are a column of the file"),
    "a set": ({1, 2, 3, 4}, "Expected a table: .*got set"),
    "a generator": ((row for row in range(4)), "item 0 of the stream is a int, which cannot be read"),
    "numbers in a row": ([1, 2, 3, 4], "Expected 2D array, got 1D array instead"),
    "a vector": (np.arange(4), "Expected 2D array, got 1D array instead"),
    "a cube": (np.zeros((4, 2, 2)), "Expected 2D array, got 3D array instead"),
    "a series of pandas": (pd.Series([1, 2, 3, 4]), "Expected 2D array, got 1D array instead"),
    "a series of Polars": (pl.Series([1, 2, 3, 4]), "Expected 2D array, got 1D array instead"),
    "texts beside numbers": (["a", "b", "c", 4], "Row 3 holds 4 of type int, which is no text, as others are"),
    "bytes": ([b"a", b"b", b"c", b"d"], r"Row 0 holds b'a' of type bytes, .* by bytes.decode\('utf-8'\)"),
    "rows of different length": ([[1, 2], [3], [4], [5]], "rows have different lengths"),
    "dicts beside lists": ([{"x": 1}, [1], {"x": 2}, {"x": 3}], "rows have different lengths|mixes dicts"),
    "a cell among columns": ({"x": [1, 2, 3, 4], "z": 3}, "Column 'z' is a single int among columns"),
    "columns of different length": ({"x": [1, 2, 3], "z": [1, 2, 3, 4]}, r"different lengths: \{'x': 3, 'z': 4\}"),
    "too few rows": ({"x": [1, 2, 3]}, "inconsistent numbers of samples: 3 rows and 4 labels"),
}


@pytest.mark.parametrize("kind", NO_TABLES)
def test_what_is_no_table_is_refused(kind):
    """The error says what was found and what was expected; a classifier that learned nothing stays so."""
    X, words = NO_TABLES[kind]
    nb = NaiveBayes()

    with refused(words):
        nb.fit(X, Y)
    assert vars(nb) == vars(NaiveBayes())


EMPTY = {
    "a frame of pandas": (pd.DataFrame(), 0),
    "a frame of pandas with columns": (pd.DataFrame({"x": [], "z": []}), 0),
    "a frame of pandas without columns": (pd.DataFrame(index=range(4)), 4),
    "a frame of Polars": (pl.DataFrame(), 0),
    "a frame of Polars with columns": (pl.DataFrame({"x": []}), 0),
    "a table of Arrow": (pa.table({"x": pa.array([], pa.string())}), 0),
    "an array": (np.empty((0, 3)), 0),
    "an array without columns": (np.empty((4, 0)), 4),
    "a dict": ({}, 0),
    "a dict of columns": ({"x": []}, 0),
    "a list": ([], 0),
    "a sparse matrix": (sparse.csr_array((0, 3)), 0),
}


@pytest.mark.parametrize("kind", EMPTY)
def test_empty_tables_are_refused(kind):
    """Without rows, or without columns, there is nothing to learn and nothing to answer."""
    X, rows = EMPTY[kind]
    nothing = r"0 (sample|feature)\(s\)"

    with refused(nothing):
        NaiveBayes().fit(X, ["a"] * rows)
    other = f"{nothing}|no column 'x'|is expecting 1|inconsistent numbers of samples"
    survives(one([1, 2, 3, 4]), lambda nb: nb.partial_fit(X, ["a"] * rows), other)
    survives(one([1, 2, 3, 4]), lambda nb: nb.predict(X), other)


# -- names ------------------------------------------------------------------------------------------------------------

TWICE = {
    "pandas": pd.DataFrame([[1, 2]] * 4, columns=["x", "x"]),
    "Arrow": pa.table([[1, 2, 3, 4]] * 2, names=["x", "x"]),
    "numbers and texts in pandas": pd.DataFrame([[1, 2]] * 4, columns=[1, "1"]),
    "numbers and texts in a dict": {1: [1, 2, 3, 4], "1": [1, 2, 3, 4]},
    "numbers and texts in rows": [{1: 1, "1": 2}] * 4,
}


@pytest.mark.parametrize("kind", TWICE)
def test_two_columns_of_the_same_name_are_refused(kind):
    """Which of them is meant cannot be known; a number and its text are the same name."""
    with refused("Two columns are called '(x|1)'"):
        NaiveBayes().fit(TWICE[kind], Y)


@pytest.mark.parametrize(
    "names", [["", " "], ["a.b", "a b"], ["类", "naïve"], ["class", "(class)"], ["X", "y"], [0, 1]]
)
def test_columns_may_have_odd_names(names):
    """Any text is a name, and a number is its text."""
    X = pd.DataFrame([[1.0, "u"], [2.0, "v"], [3.0, "u"], [4.0, "v"]], columns=names)
    nb = NaiveBayes().fit(X, Y)

    assert nb.schema_.names == tuple(map(str, names))
    assert_array_equal(nb.predict_proba(X[names[::-1]]), nb.predict_proba(X))
    assert str(names[0]) in nb.summary()


# -- columns without anything -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["skip", "value"])
@pytest.mark.parametrize("estimate", ["bayes", "mle"])
def test_a_row_without_any_value_has_the_prior(missing, estimate):
    """Under skip nothing speaks; under value a row may say by its missing values what it likes, but sums to 1."""
    nb = NaiveBayes(missing=missing, estimate=estimate).fit(pd.DataFrame(TABLE), LABELS)
    nothing = dict.fromkeys(TABLE)
    answer = nb.predict_proba(nothing)

    assert answer.sum() == pytest.approx(1.0)
    if missing == "skip":
        assert_allclose(answer, 0.5, rtol=1e-12)


# -- cells of odd types -----------------------------------------------------------------------------------------------

REFUSED_CELLS = {
    "numbers and texts": ([1, "red", 2.0, None], "Column 'x' mixes values of different types \\(float, int, str\\)"),
    "dates and texts": ([dt.date(2026, 1, 1), "red", None, None], "mixes values of different types \\(date, str\\)"),
    "booleans and texts": ([True, "red", None, None], "mixes values of different types \\(bool, str\\)"),
    "lists": ([[1], [2], [3], [4]], "Column 'x' holds objects of type list"),
    "lists of different length": ([[1], [2, 3], [3], [4]], "Column 'x' holds objects of type list"),
    "tuples": ([(1, 2), (3,), (4,), (5,)], "Column 'x' holds objects of type tuple"),
    "dicts": ([{"u": 1}] * 4, "Column 'x' holds objects of type dict"),
    "sets": ([{1}] * 4, "Column 'x' holds objects of type set"),
    "objects": ([object()] * 4, "Column 'x' holds objects of type object"),
    "lists of Arrow": (pa.array([[1]] * 4), "Column 'x' holds list<.*int64>, which is neither text nor a number"),
    "structs of Arrow": (pa.array([{"u": 1}] * 4), "Column 'x' holds struct<u: int64>"),
    "lists of Polars": (pl.Series([[1]] * 4), "Column 'x' holds large_list<"),
    "structs of Polars": (pl.Series([{"u": 1}] * 4), "Column 'x' holds struct<u: int64>"),
    "bytes": ([b"u", b"v", b"u", b"v"], "Column 'x' holds objects of type bytes"),
    "bytes of NumPy": (np.array([b"u", b"v"] * 2), "Column 'x' holds .*bytes"),
    "bytes of Polars": (pl.Series([b"u", b"v"] * 2), "Column 'x' holds large_binary"),
    "complex numbers": ([1j, 2j, 3j, 4j], "Column 'x' holds objects of type complex"),
    "complex numbers of NumPy": (np.ones(4) * 1j, "Column 'x' holds .*complex"),
    "fractions": ([Fraction(1, 2)] * 4, "Column 'x' holds objects of type Fraction"),
    "infinity": ([1.0, 2.0, np.inf, 4.0], "Row 2, column 'x' holds infinity; give a finite number"),
    "minus infinity": (np.array([1.0, -np.inf, 3.0, 4.0]), "Row 1, column 'x' holds infinity"),
    "infinity of Arrow": (pa.array([1.0, 2.0, np.inf, 4.0]), "Row 2, column 'x' holds infinity"),
    "too large": ([1.0, 2.0, 1e151, 4.0], r"Column 'x' holds 1e\+151; numbers beyond ±1e150"),
    "texts in a matrix": (np.full((4, 2), "red"), "Column 'x' holds .*vectors of .*numbers"),
    "objects in a matrix": (np.full((4, 2), "red", dtype=object), "Column 'x' holds .*vectors of .*numbers"),
    "complex numbers in a matrix": (np.ones((4, 2)) * 1j, "Column 'x' holds .*vectors of .*numbers"),
    "complex numbers in a sparse matrix": (sparse.csr_array(np.eye(4) * 1j), "Column 'x' holds .*vectors of .*numbers"),
    "a cube": (np.zeros((4, 2, 2)), "Column 'x' .*3 dimensions"),
    "negative words": (sparse.csr_array(-np.eye(4)), "holds -1.0; counts must be finite .* not negative"),
    "infinite words": (sparse.csr_array(np.diag([1, np.inf, 1, 1])), "holds inf; counts must be finite"),
    "missing words": (sparse.csr_array(np.diag([1, np.nan, 1, 1])), "holds nan; counts must be finite"),
}
BROKEN = {
    "dates and durations": ([dt.date(2026, 1, 1), dt.timedelta(3), None, None], "mixes|times"),
    "dates and times of day": ([dt.date(2026, 1, 1), dt.time(3), None, None], "mixes|times"),
    "infinite Decimal": ([Decimal("Infinity"), Decimal(1), Decimal(2), None], "infinity"),
    "a number of 400 digits": ([10**400, 1, 2, 3], "too large|1e150|infinity"),
}


@pytest.mark.parametrize("kind", REFUSED_CELLS)
def test_cells_that_cannot_be_counted_are_refused(kind):
    """The error names the column and what was found, and says what to do."""
    values, words = REFUSED_CELLS[kind]
    nb = NaiveBayes()

    with refused(words):
        nb.fit({"x": values, "z": [1.0, 2.0, 3.0, 4.0]}, Y)
    assert vars(nb) == vars(NaiveBayes())


@pytest.mark.parametrize("kind", BROKEN)
def test_cells_that_python_cannot_convert_are_refused(kind):
    """Whatever Python says about them, the error is ours and names the column."""
    values, words = BROKEN[kind]
    with refused(f"'x'.*({words})"):
        one(values)


def test_infinity_in_a_column_of_vectors_is_refused():
    """The error names the column of vectors that holds it."""
    with refused("Row 1.* 'x\\[1\\]'.*inf"):
        NaiveBayes().fit({"x": np.array([[1.0, 2], [3, np.inf], [5, 6], [7, 8]]), "z": [1.0, 2.0, 3.0, 4.0]}, Y)


@pytest.mark.parametrize("kind", ["pandas", "Polars", "Arrow", "an array"])
def test_complex_numbers_and_bytes_in_whole_tables_are_refused(kind):
    """Also where a library holds them in a type of its own."""
    make = {
        "pandas": lambda cells: pd.DataFrame({"x": cells}),
        "Polars": lambda cells: pl.DataFrame({"x": cells}),
        "Arrow": lambda cells: pa.table({"x": cells}),
        "an array": lambda cells: np.array(cells)[:, None],
    }[kind]
    with refused("bytes|binary|type .S1"):
        NaiveBayes().fit(make([b"u", b"v", b"u", b"v"]), Y)
    if kind in ("pandas", "an array"):
        with refused("[Cc]omplex"):
            NaiveBayes().fit(make([1j, 2j, 3j, 4j]), Y)


CELLS_AT_PREDICT = {
    "a text for a number": (NUMBERS, "red", "held numbers .* now holds 'red'|now holds text"),
    "a digit as text": (NUMBERS, "1", "held numbers .* now holds '1'|now holds text"),
    "a number for a text": (TEXTS, 1, "held text .* now holds"),
    "a boolean for a text": (TEXTS, True, "held text .* now holds"),
    "a date for a text": (TEXTS, dt.date(2026, 1, 1), "held text .* now holds"),
    "a date for a number": (NUMBERS, dt.date(2026, 1, 1), "held numbers .* now holds"),
    "a number for a date": (TIMES, 1, "held times .* now holds"),
    "a text for a date": (TIMES, "2026-01-01", "held times .* now holds"),
    "bytes for a text": (TEXTS, b"red", "held text .* now holds b'red'|holds objects of type bytes"),
    "a complex number": (NUMBERS, 1j, "held numbers .* now holds 1j|holds objects of type complex"),
    "a list": (NUMBERS, [1.0], "held numbers .* now holds|holds objects of type list|rows and columns"),
    "a dict": (TEXTS, {"u": 1}, "held text .* now holds|holds objects of type dict"),
    "infinity": (NUMBERS, np.inf, "Row 0, column 'x' holds infinity"),
}


@pytest.mark.parametrize("kind", CELLS_AT_PREDICT)
@pytest.mark.parametrize("form", ["a dict", "a list of dicts", "a small frame", "a frame", "a list of many"])
def test_cells_of_another_type_than_learned_are_refused(kind, form):
    """Categories in training and numbers when asking, and the reverse: in whatever form the rows come."""
    learned, cell, words = CELLS_AT_PREDICT[kind]
    nb = NaiveBayes().fit(learned, Y)
    if form == "a dict" and isinstance(cell, list):
        pytest.skip("a dict of lists is a dict of columns")
    asked = {
        "a dict": lambda: {"x": cell},
        "a list of dicts": lambda: [{"x": cell}] * 2,
        "a small frame": lambda: pd.DataFrame({"x": [cell] * 3}),
        "a frame": lambda: pd.DataFrame({"x": [cell] * 40}),
        "a list of many": lambda: [{"x": cell}] * 40,
    }[form]()

    survives(nb, lambda nb: nb.predict_proba(asked), words)
    survives(nb, lambda nb: nb.partial_fit(asked, ["a"] if isinstance(asked, dict) else ["a"] * len(asked)), words)


def test_vectors_and_single_values_are_not_mistaken_for_each_other():
    """A column of vectors stays one, and its vectors keep their length."""
    words, numbers = NaiveBayes().fit(WORDS, Y), NaiveBayes().fit({"x": [1.0] * 4, "z": [1.0] * 4}, Y)
    texts = NaiveBayes().fit(TEXTS | {"z": [1.0] * 4}, Y)

    survives(words, lambda nb: nb.predict({"x": [1.0] * 4, "z": [1.0] * 4}), "Column 'x' held vectors")
    survives(words, lambda nb: nb.predict({"x": 1.0, "z": 1.0}), "Column 'x' held vectors")
    survives(words, lambda nb: nb.partial_fit({"x": 1.0, "z": 1.0}, "a"), "Column 'x' held vectors")
    survives(numbers, lambda nb: nb.predict(WORDS), "Column 'x' held numbers .* now holds vectors")
    survives(texts, lambda nb: nb.predict(WORDS), "Column 'x' held text .* now holds vectors")
    wider = {"x": sparse.csr_array(np.ones((4, 9))), "z": [1.0] * 4}
    survives(words, lambda nb: nb.predict(wider), "Column 'x' has vectors of 9 features, .* expecting 4 features")
    survives(words, lambda nb: nb.partial_fit(wider, Y), "Column 'x' has vectors of 9 features, .* 4 features")
    survives(words, lambda nb: nb.forget(wider, Y), "Column 'x' has vectors of 9 features")


# -- times, Decimals, large numbers: right answers ---------------------------------------------------------------------

MIDNIGHT = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
HOURS = [MIDNIGHT + dt.timedelta(hours=hours) for hours in (0, 5, 1, 6)]
EAST = dt.timezone(dt.timedelta(hours=8))

SAME_MOMENTS = {
    "Python": HOURS,
    "Python, in the east": [moment.astimezone(EAST) for moment in HOURS],
    "pandas": pd.Series(pd.DatetimeIndex(HOURS)),
    "pandas, in the east": pd.Series(pd.DatetimeIndex(HOURS).tz_convert("Asia/Shanghai")),
    "pandas, in milliseconds": pd.Series(pd.DatetimeIndex(HOURS).as_unit("ms")),
    "Polars": pl.Series(HOURS),
    "Polars, in the east": pl.Series(HOURS).dt.convert_time_zone("Asia/Shanghai"),
    "Arrow": pa.array(HOURS),
    "Arrow, in seconds": pa.array(HOURS, pa.timestamp("s", "UTC")),
    "without a zone, in UTC": [moment.replace(tzinfo=None) for moment in HOURS],
    "NumPy": np.array([moment.replace(tzinfo=None) for moment in HOURS], "M8[us]"),
}


@pytest.mark.parametrize("kind", SAME_MOMENTS)
def test_the_same_moments_are_the_same_numbers(kind):
    """Time zones, units and libraries do not matter: a moment is its seconds since 1970 in UTC."""
    nb = one(SAME_MOMENTS[kind])
    moments = nb.counts_.columns["x"]

    assert nb.schema_["x"].type == "time"
    assert_array_equal(moments.mean[:, 0], [MIDNIGHT.timestamp() + 1800, MIDNIGHT.timestamp() + 5.5 * 3600])
    assert_array_equal(nb.predict_proba({"x": HOURS}), one(HOURS).predict_proba({"x": HOURS}))
    assert_array_equal(nb.predict_proba({"x": HOURS[1]}), nb.predict_proba({"x": HOURS})[1:2])
    assert list(nb.predict({"x": [MIDNIGHT.astimezone(EAST), HOURS[3]]})) == ["a", "b"]


@pytest.mark.parametrize(
    ("values", "seconds"),
    [
        ([dt.date(1970, 1, 2), dt.date(1970, 1, 3), None, dt.date(1970, 1, 5)], [86400.0, 3 * 86400.0]),
        ([dt.timedelta(seconds=90), dt.timedelta(0), None, dt.timedelta(hours=1)], [90.0, 1800.0]),
        ([dt.time(0, 0, 30), dt.time(1), None, dt.time(3)], [30.0, 7200.0]),
    ],
    ids=["dates", "durations", "times of day"],
)
@pytest.mark.parametrize("make", [list, pd.Series, pl.Series, pa.array], ids=["list", "pandas", "Polars", "Arrow"])
def test_dates_durations_and_times_of_day_are_seconds(values, seconds, make):
    """Since 1970, of the duration, since midnight; a missing one contributes nothing."""
    nb = one(make(values))

    assert nb.schema_["x"].type == "time"
    assert_array_equal(nb.counts_.columns["x"].mean[:, 0], seconds)
    assert_array_equal(nb.predict_proba({"x": values[1]}), nb.predict_proba({"x": [values[1]]}))


# -- labels -----------------------------------------------------------------------------------------------------------

REFUSED_LABELS = {
    "none": (None, "requires y to be passed, but the target y is None"),
    "a text": ("abab", "y should be a 1d array, got 'abab' instead"),
    "a number": (3, "y should be a 1d array, got 3 instead"),
    "a cell": (np.array("a"), r"y should be a 1d array, got an array of shape \(\)"),
    "a matrix": (np.ones((4, 2)), r"y should be a 1d array, got an array of shape \(4, 2\)"),
    "too few": (["a", "b"], "inconsistent numbers of samples: 4 rows and 2 labels"),
    "texts and numbers": (["a", 1, "b", 2], "labels must be all numbers or all texts; found objects of type int, str"),
    "measurements": ([0.5, 1.0, 2.0, 3.0], "Unknown label type: continuous. The label .*0.5.* is no whole number"),
    "measurements of Arrow": (pa.array([0.5, 1, 2, 3]), "Unknown label type: continuous"),
    "infinity": ([np.inf, 1.0, 2.0, 3.0], "Unknown label type: continuous"),
    "times": ([dt.datetime(2026, 1, 1, tzinfo=dt.UTC)] * 4, "Unknown label type"),
    "dates of pandas": (pd.Series(pd.date_range("2026", periods=4)), "Unknown label type"),
    "dates of NumPy": (np.full(4, "2026", "M8[D]"), "Unknown label type"),
    "times of Polars": (pl.Series([dt.datetime(2026, 1, 1, tzinfo=dt.UTC)] * 4), "Unknown label type"),
    "bytes": ([b"a"] * 4, "Unknown label type"),
    "complex numbers": ([1j] * 4, "Unknown label type"),
    "dicts": ([{}] * 4, "Unknown label type"),
    "lists of different length": ([[1], [2, 3], [1], [2]], "Unknown label type"),
    "lists of Arrow": (pa.array([[1]] * 4), "neither text nor a number"),
    "a missing one": (["a", None, "b", "b"], "Row 1 has no label: y contains NaN or None in 1 of 4"),
    "a missing number": ([1.0, np.nan, 2.0, np.nan], "Row 1 has no label: y contains NaN or None in 2 of 4"),
    "a missing one of pandas": (pd.Series([1, 2, pd.NA, 2], dtype="Int64"), "Row 2 has no label"),
    "a missing one of Polars": (pl.Series(["a", None, "b", "b"]), "Row 1 has no label"),
    "a missing category": (pd.Categorical(["a", None, "b", "b"]), "Row 1 has no label"),
    "shares below zero": (
        pd.DataFrame({"a": [0.5, -1, 1, 1], "b": [0.5, 1, 0, 0]}),
        "Row 1 of y holds the soft labels",
    ),
    "missing shares": (pd.DataFrame({"a": [0.5, None, 1, 1], "b": [0.5, 1, 0, 0]}), "Row 1 of y holds the soft labels"),
}


@pytest.mark.parametrize("kind", REFUSED_LABELS)
def test_labels_that_are_no_classes_are_refused(kind):
    """The error says what was found, where, and what a class is."""
    y, words = REFUSED_LABELS[kind]
    with refused(words):
        NaiveBayes().fit(NUMBERS, y)
    if y is not None:
        survives(one([1.0, 2, 3, 4]), lambda nb: nb.partial_fit(NUMBERS, y), words)
        survives(one([1.0, 2, 3, 4]), lambda nb: nb.forget(NUMBERS, y), words)


def test_a_target_that_is_no_column_is_refused():
    """The error names the likely one; y and target together are an error, too."""
    frame = pd.DataFrame(TABLE | {"answer": LABELS})

    with refused("no column 'anwser'; did you mean 'answer'"):
        NaiveBayes().fit(frame, target="anwser")
    with refused("not both"):
        NaiveBayes().fit(frame, LABELS, target="answer")
    with refused(r"0 feature\(s\)"):
        NaiveBayes().fit(frame[["answer"]], target="answer")
    with refused("target y is None"):
        NaiveBayes().fit(frame)


# -- weights and settings ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1, 2], r"sample_weight.shape == \(2,\), expected \(4,\)"),
        ([1, -1, 1, 1], r"sample_weight\[1\] is -1"),
        ([1, np.nan, 1, 1], r"sample_weight\[1\] is nan"),
        ([1, np.inf, 1, 1], r"sample_weight\[1\] is inf"),
        ([0, 0, 0, 0], "at least one non-zero"),
        (np.ones((4, 2)), "must be 1D array or scalar"),
        (["a"] * 4, "must be a number for each row"),
    ],
)
def test_weights_that_rows_cannot_have_are_refused(weights, words):
    """Each error names the place."""
    nb = one([1.0, 2, 3, 4])

    with refused(words):
        NaiveBayes().fit(NUMBERS, Y, sample_weight=weights)
    survives(nb, lambda nb: nb.partial_fit(NUMBERS, Y, sample_weight=weights), words)
    survives(nb, lambda nb: nb.forget(NUMBERS, Y, sample_weight=weights), words)


WRONG_SETTINGS = {
    "estimate": ["guess", None, 3, ["bayes"]],
    "smoothing": [-1.0, np.nan, np.inf, "much", None, [1.0, 2.0]],
    "prior_smoothing": [-1.0, np.nan, "much", None, [1.0, 2.0]],
    "prior": ["even", [0.5], [0.5, 0.6], [-0.5, 1.5], {"a": 1.0}, {"a": 0.5, "c": 0.5}, 3, None, {"a": "x", "b": 1}],
    "missing": ["impute", None, 1],
    "unseen": ["ignore", None, 1],
    "max_categories": [0, -1, np.nan, "few", 2.5],
    "columns": [["x", "y"], "y", [3], 5],
    "model": ["modern", None],
    "unlabelled": ["ignore", None],
    "families": [{"y": "gaussian"}, {"x": "normal"}, {"x": 3}, {"x": nv.NaiveBayes}, {"x": "words"}, "gaussian", 3],
    "n_jobs": ["many", 1.5, 0],
    "cost": [[[0, 1]], [[0, 1], [1, np.nan]], "cubed", {("a", "c"): 3}, {"a": 3}, 7, [["x", "y"], ["z", "w"]]],
    "reject": [-1.0, np.nan, "never"],
    "classes": ["ab", 3, [[1], [2]], [1, 2]],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG_SETTINGS.items() for value in values]
)
def test_settings_that_mean_nothing_are_refused(name, value):
    """From the start, and on a fitted model; the error names the setting."""
    words = {"families": "famil|column", "columns": "column", "classes": "class|label", "cost": "cost|number"}
    said = words.get(name, name.removesuffix("s"))

    with refused(f"(?i){said}"):
        NaiveBayes(**{name: value}).fit({"x": [1.0, 2.0, 3.0, 4.0], "u": list("rgrg")}, Y).predict(NUMBERS | {"u": Y})
    if name not in ("families", "classes", "model", "unlabelled"):  # those of counting act at the next fit
        fitted = NaiveBayes().fit({"x": [1.0, 2.0, 3.0, 4.0], "u": list("rgrg")}, Y).set_params(**{name: value})
        with refused(f"(?i){said}"):
            fitted.predict(NUMBERS | {"u": Y})
        assert list(fitted.set_params(**{name: NaiveBayes().get_params()[name]}).predict({"x": 1.0, "u": "r"})) == ["a"]


def test_nothing_can_be_asked_before_fitting():
    """Answers and attributes of a classifier that has learned nothing are a NotFittedError."""
    nb = NaiveBayes()
    asked = ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "score_samples")

    for ask in (*asked, "expected_cost"):
        with refused("This NaiveBayes instance is not fitted yet", NotFittedError):
            getattr(nb, ask)(NUMBERS)
    for ask in (nb.importance, nb.summary, lambda: nb.probabilities("x"), lambda: nb.save("nowhere.parquet")):
        with refused("not fitted yet", NotFittedError):
            ask()
    for name in ("counts_", "schema_", "classes_"):
        assert not hasattr(nb, name)
    with refused("not fitted yet", NotFittedError):
        nb.forget(NUMBERS, Y)


def test_half_a_pair_of_surrogates_is_a_label_like_any_other_in_a_dict_and_refused_in_a_column():
    """Python lets such a text be, Arrow cannot hold it; neither way breaks what was learned."""
    nb = NaiveBayes().fit({"x": ["a", "b", "文"]}, ["p", "q", "p"]).partial_fit({"x": "\ud800"}, "p")

    nb.partial_fit({"x": ["c"] * 20}, ["p"] * 20)
    assert nb.counts_.columns["x"].n.sum() == 24
    with refused("'x' holds 'z\\\\ud801😀'.*no valid text"):
        nb.predict({"x": ["a"] * 20 + ["z\ud801😀"]})
