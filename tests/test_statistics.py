"""The laws of everything that adds up, once for all statistics; mean and variance keep their digits."""

from __future__ import annotations

import contextlib
import copy
import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naively.counting import arrays as memory
from naively.errors import IncompatibleCounts, InvalidSetting, NotASubset, NumberTooLarge
from naively.stats import Axis, Counts, CountsAccumulator, Moments, MomentsAccumulator, Table, Tables, WordTable
from naively.text import TextReader, Tokens

from .strategies import (
    IN_PAIRS,
    KINDS,
    Kind,
    arrays_of,
    axes_of,
    cells_of,
    checked,
    scale_of,
    state_of,
)

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
weighing = pytest.mark.parametrize("weighted", [False, True], ids=["whole", "weighted"])


def assert_within(found: Any, expected: Any, whole: Any, *parts: Any, tolerance: float = 1e-12) -> None:
    """Check that every cell is as expected, up to rounding of the sums that were added and taken away."""
    scales = [scale_of(statistic) for statistic in (found, expected, whole, *parts)]
    found, expected = cells_of(found, whole), cells_of(expected, whole)
    for cell in found.keys() | expected.keys():
        scale = np.max([scale[cell] for scale in scales], axis=0)
        assert np.all(np.abs(found[cell] - expected[cell]) <= tolerance * scale), cell


# -- addition and subtraction -------------------------------------------------------------------------------------


@every_kind
@weighing
@checked
@given(data=st.data())
def test_parts_add_up_in_any_order_and_grouping(kind: Kind, weighted: bool, data: Any):
    """Labels are found by name, zero is neutral on both sides, and operands do not change."""
    a, b, c = data.draw(kind.parts(3, weighted))
    before, whole = [state_of(part) for part in (a, b, c)], a + b
    assert state_of(whole) == state_of(b + a)
    assert whole == b + a
    assert sum([a, b, c]) == whole + c
    assert sum([a]) == a
    assert axes_of(whole + c) == axes_of(a + (b + c))
    assert_within(whole + c, a + (b + c), whole + c, a, b, c, tolerance=0.0 if kind.exact and not weighted else 1e-12)
    of_a, of_b, of_both = (cells_of(statistic, whole) for statistic in (a, b, whole))
    scales = [scale_of(statistic) for statistic in (a, b, whole)]
    assert of_both.keys() == of_a.keys() | of_b.keys()
    for cell, found in of_both.items():
        scale = np.max([scale[cell] for scale in scales], axis=0)
        assert np.all(np.abs(found - (of_a[cell] + of_b[cell])) <= 1e-12 * scale)
    for zero in (kind.zero, a * 0):
        assert a + zero == zero + a == a - zero == a
    assert all((array == 0).all() for array in arrays_of(a * 0))
    assert a - a == a * 0
    for value in (a, b, whole, whole - b, a * 0.5, sum([a, b])):
        assert not any(array.flags.writeable for array in arrays_of(value))
        assert all(array.dtype == np.float64 and array.flags.c_contiguous for array in arrays_of(value))
    assert [state_of(part) for part in (a, b, c)] == before


@every_kind
@weighing
@checked
@given(data=st.data())
def test_rows_taken_away_were_never_there(kind: Kind, weighted: bool, data: Any):
    """Whole rows to the bit, weighted ones within 1e-12 of the sums before; less than nothing is an error."""
    a, b, c = data.draw(kind.parts(3, weighted))
    before, rest = (state_of(a), state_of(b)), (a + b) - b
    assert_within(rest, a, a + b, b, tolerance=0.0 if kind.exact and not weighted else 1e-12)
    if not weighted:
        assert axes_of(rest) == axes_of(a)
        assert state_of(rest) == state_of(a) or not kind.exact
    first, second, third = data.draw(st.permutations([a, b, c]))
    nothing = (a + b + c) - (first + (second + third))  # what rounding leaves is nothing
    assert axes_of(nothing) == axes_of((a + b + c) * 0)
    assert all((array == 0).all() for array in arrays_of(nothing))
    with contextlib.suppress(NotASubset):
        rest = a - b
        assert all(n >= 0 and squares >= 0 for n, _, squares in cells_of(rest, rest).values())
    assert (state_of(a), state_of(b)) == before


TABLE = Table(["ham", "spam"], ["cheap", "hello", None], [[1, 4, 0], [3, 0, 2]])
SIZES = Moments.of(["ham", "spam"], ["size"], n=[[2], [3]], mean=[[5.0], [7.0]], variance=[[1.0], [4.0]])
MAILS = WordTable(
    Axis(["ham", "spam"]),
    TextReader(Tokens(), ["win", "cheap"]),
    np.array([[1.0, 4], [3, 0]]),
    np.array([[1.0, 2], [3, 0]]),
)
LETTERS = WordTable(
    Axis(["spam"]), TextReader(Tokens(), ["cheap", "egg", "win"]), np.array([[0.0, 2, 3]]), np.array([[0.0, 1, 3]])
)
HASHED = WordTable(Axis(["ham"]), TextReader(Tokens(hash_width=2)), np.array([[1.0, 2]]), np.array([[1.0, 1]]))
TOO_MUCH = {
    "WordTable": (MAILS, MAILS * 2, (None, "ham", "cheap", 4, 8), "class 'ham', value 'cheap' the count is 4"),
    "WordTable, a word never met": (MAILS, LETTERS, (None, "spam", "egg", 0, 2), "value 'egg' the count is 0"),
    "WordTable, numbers of texts": (
        MAILS,
        WordTable(Axis(["ham"]), MAILS.lexicon, np.array([[0.0, 4]]), np.array([[0.0, 3]])),
        (None, "ham", "cheap", 2, 3),
        "value 'cheap' the number of texts is 2",
    ),
    "WordTable, a hash": (HASHED, HASHED * 2, (None, "ham", 1, 2, 4), "class 'ham', value 1 the count is 2"),
    "Counts, words": (
        Counts(["spam"], [5], {"body": MAILS}),
        Counts(["spam"], [5], {"body": LETTERS}),
        ("body", "spam", "egg", 0, 2),
        "column 'body', class 'spam', value 'egg' the count is 0, and 2 would be subtracted",
    ),
    "Table": (TABLE, Table(["spam"], ["cheap"], [[5]]), (None, "spam", "cheap", 3, 5), "class 'spam', value 'cheap'"),
    "Table, a label never met": (TABLE, Table(["egg"], ["win"], [[1]]), (None, "egg", "win", 0, 1), "value 'win'"),
    "Table, missing cells": (
        TABLE,
        Table(["spam"], [None], [[3]]),
        (None, "spam", None, 2, 3),
        "count of missing cells",
    ),
    "Tables": (Tables((TABLE, TABLE)), Tables((TABLE, TABLE * 2)), (1, "ham", "hello", 4, 8), "column 1, class 'ham'"),
    "Moments": (SIZES, SIZES * 2, ("size", "ham", None, 2, 4), "column 'size', class 'ham' the count is 2"),
    "Counts": (
        Counts(["ham", "spam"], [5, 5], {"word": TABLE, "size": SIZES}),
        Counts(["ham", "spam"], [5, 5], {"word": TABLE * 1.5, "size": SIZES}),
        ("word", "ham", "hello", 4, 6),
        "column 'word', class 'ham', value 'hello' the count is 4, and 6 would be subtracted",
    ),
    "Counts, numbers": (
        Counts(["ham", "spam"], [5, 5], {"word": TABLE, "size": SIZES}),
        Counts(["ham", "spam"], [5, 5], {"word": TABLE, "size": SIZES + SIZES * 0.5}),
        ("size", "ham", None, 2, 3),
        "column 'size', class 'ham' the count is 2, and 3 would be subtracted",
    ),
    "Counts, rows": (
        Counts(["ham", "spam"], [5, 5], {"word": TABLE}),
        Counts(["ham", "spam"], [5, 6], {"word": TABLE}),
        (None, "spam", None, 5, 6),
        "class 'spam' the number of rows is 5, and 6 would be subtracted",
    ),
}


@pytest.mark.parametrize(("whole", "part", "facts", "words"), TOO_MUCH.values(), ids=TOO_MUCH.keys())
def test_rows_never_counted_cannot_be_taken_away(whole: Any, part: Any, facts: tuple[Any, ...], words: str):
    before = state_of(whole), state_of(part)
    with pytest.raises(NotASubset) as caught:
        whole - part
    error = caught.value
    assert (error.column, error.label, error.value, error.counted, error.taken) == facts
    assert words in str(error)
    assert f"is {facts[3]}, and {facts[4]} would be subtracted. Nothing was changed" in str(error)
    assert (state_of(whole), state_of(part)) == before


# -- weights ------------------------------------------------------------------------------------------------------


@every_kind
@weighing
@checked
@given(data=st.data(), weight=st.floats(1e-3, 1e3))
def test_weights_distribute_over_sums(kind: Kind, weighted: bool, data: Any, weight: float):
    """Two rows of half the weight are one row, and weight 2 is the row twice."""
    a, b = data.draw(kind.parts(2, weighted))
    assert a * weight == weight * a == np.float64(weight) * a
    assert_within((a + b) * weight, a * weight + b * weight, (a + b) * weight, a * weight, b * weight)
    assert axes_of((a + b) * weight) == axes_of(a * weight + b * weight)
    if not weighted:
        assert 0.5 * a + 0.5 * a == a * 1 == a
        assert a * 2 == a + a


@every_kind
@pytest.mark.parametrize("weight", [-1, -1e-300, np.nan, np.inf, -np.inf])
def test_rows_cannot_weigh_less_than_nothing(kind: Kind, weight: float):
    with pytest.raises(InvalidSetting, match=r"Rows cannot weigh .*; multiply by a finite number that is not negative"):
        kind.zero * weight


# -- what does not fit --------------------------------------------------------------------------------------------

UNLIKE = {
    "words of texts that were split otherwise": (
        MAILS,
        WordTable(Axis(), TextReader(Tokens(lowercase=False)), np.zeros((0, 0)), np.zeros((0, 0))),
        "Texts were split in two ways",
    ),
    "words and columns of a hash": (MAILS, HASHED, "Texts were split in two ways"),
    "a vocabulary and all words": (
        KINDS["WordTable, a vocabulary"].zero,
        KINDS["WordTable"].zero,
        "give both the same",
    ),
    "two vocabularies": (
        KINDS["WordTable, a vocabulary"].zero,
        WordTable(Axis(), TextReader(IN_PAIRS, ["win"], fixed=True), np.zeros((0, 1)), np.zeros((0, 1))),
        "counted by two vocabularies",
    ),
    "columns of moments": (SIZES, Moments(["ham"], ["width"], *np.ones((4, 1, 1))), "['size']) and Axis(['width'])"),
    "numbers of tables": (Tables((TABLE,)), Tables((TABLE, TABLE)), "Counts of 1 and of 2 columns cannot be combined"),
    "columns of counts": (
        Counts(["ham"], [1], {"size": SIZES, "word": TABLE}),
        Counts(["ham"], [1], {"size": SIZES}),
        "Column 'word' is counted on one side only",
    ),
    "kinds of a column": (
        Counts(["ham"], [1], {"size": SIZES}),
        Counts(["ham"], [1], {"size": TABLE}),
        "Column 'size' is counted in two ways, Moments and Table; give it the same family",
    ),
}


@pytest.mark.parametrize(("a", "b", "words"), UNLIKE.values(), ids=UNLIKE.keys())
def test_statistics_that_do_not_fit_say_why(a: Any, b: Any, words: str):
    for left, right in ((a, b), (b, a)):
        with pytest.raises(IncompatibleCounts):
            left + right
        with pytest.raises(IncompatibleCounts):
            left - right
    with pytest.raises(IncompatibleCounts) as caught:
        a + b
    assert words in str(caught.value)


@pytest.mark.parametrize("b", KINDS.values(), ids=KINDS.keys())
@every_kind
def test_kinds_do_not_mix(kind: Kind, b: Kind):
    if kind is b:
        assert kind.zero == b.zero
        return
    assert kind.zero != b.zero
    if kind.name == b.name:
        with pytest.raises(IncompatibleCounts):
            kind.zero + b.zero
        return
    for operation in (lambda: kind.zero + b.zero, lambda: kind.zero - b.zero):
        with pytest.raises(TypeError, match=f"'{kind.name}' and '{b.name}'"):
            operation()


MISSHAPEN = {
    "words": lambda: WordTable(Axis(["a"]), TextReader(Tokens(), ["x"]), np.ones((1, 2)), np.ones((1, 2))),
    "words and texts": lambda: WordTable(Axis(["a"]), TextReader(Tokens(), ["x"]), np.ones((1, 1)), np.ones((2, 1))),
    "table": lambda: Table(["a"], ["x", "y"], [[1]]),
    "moments": lambda: Moments(["a"], ["x"], [[1, 2]]),
    "counts": lambda: Counts(["a"], [1, 2], {}),
    "counts of an axis": lambda: Counts(Axis(["a", "b"]), [1], {}),
    "twice the same label": lambda: Table(["a", "a"], ["x"], [[1], [2]]),
}


@pytest.mark.parametrize("make", MISSHAPEN.values(), ids=MISSHAPEN.keys())
def test_counts_must_fit_their_labels(make: Any):
    with pytest.raises(IncompatibleCounts, match=r"fit|may stand once"):
        make()


# -- values -------------------------------------------------------------------------------------------------------


@every_kind
@checked
@given(data=st.data())
def test_equal_means_same_labels_and_same_counts(kind: Kind, data: Any):
    a, b = data.draw(kind.parts(2))
    assert a == copy.deepcopy(a)
    assert a.agrees(copy.deepcopy(a))
    assert (a + b == a) == all((array == 0).all() for array in arrays_of(b) if array is not None)
    assert a != "a"
    with pytest.raises(TypeError, match="unhashable"):
        hash(a)


REPR = {
    "WordTable": (
        MAILS,
        "WordTable: 8 words counted\n          cheap    win\n    ham       4      1\n    spam      0      3",
    ),
    "Table": (
        TABLE,
        (
            "Table: 10 counted\n          cheap  hello   None\n"
            "    ham       1      4      0\n    spam      3      0      2"
        ),
    ),
    "Tables": (
        Tables((Table(["ham"], [0, 1], [[1, 2.5]]), Table(["ham"], ["x"], [[3]]))),
        "[0] Table: 3.5 counted\n           0    1\n    ham    1  2.5\n[1] Table: 3 counted\n         x\n    ham  3",
    ),
    "Moments": (
        SIZES,
        (
            "Moments: 3 numbers at most\n  mean\n          size\n    ham      5\n    spam     7\n"
            "  variance\n          size\n    ham      1\n    spam     4"
        ),
    ),
    "Counts": (
        Counts(["ham", "spam"], [5, 2.5], {"word": TABLE, "size": SIZES}),
        "Counts: 7.5 rows (ham: 5, spam: 2.5), 2 columns",
    ),
    "a zero": (Table(), "Table: 0 counted\n    "),
    "an axis": (Axis(["b", "a"]), "Axis(['a', 'b'])"),
    "a numbered axis": (Axis.numbered(100_000), "Axis.numbered(100000)"),
}


@pytest.mark.parametrize(("value", "text"), REPR.values(), ids=REPR.keys())
def test_a_value_can_be_read(value: Any, text: str):
    assert repr(value) == text


# -- mean and variance keep their digits, however the rows come --------------------------------------------------------

ROWS = 200_000
CLASSES = Axis(["a", "b", "c"])
MEANS = {"one mean": (1e8, 1e8, 1e8), "means far apart": (0.0, 1e4, 1e8)}

far_and_apart = pytest.mark.parametrize("means", MEANS.values(), ids=MEANS.keys())


@functools.cache
def rows_around(means: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of three classes, one column of variance 1 around the mean of the class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, ROWS).astype(np.int32)
    return rng.normal(np.array(means)[y], 1.0)[:, None], y


def in_batches(x: np.ndarray, y: np.ndarray, weights: Any, size: int) -> Moments:
    """Return the moments of rows counted in batches of this size."""
    accumulator = MomentsAccumulator(CLASSES, Axis.numbered(x.shape[1]))
    for start in range(0, len(x), size):
        batch = slice(start, start + size)
        accumulator.add(x[batch], y[batch], None if weights is None else weights[batch], 1)
    return accumulator.value()


def error_of(found: Moments, x: np.ndarray, y: np.ndarray) -> float:
    """Return the largest relative error of a variance, against two passes in extended precision."""
    errors = []
    for k, label in enumerate(CLASSES.labels):
        numbers = x[y == k].astype(np.longdouble)
        assert found.n[found.classes.place(label)].tolist() == (~np.isnan(numbers)).sum(axis=0).tolist()
        variance = np.nanmean((numbers - np.nanmean(numbers, axis=0)) ** 2, axis=0)
        errors.append(np.abs(found.variance[found.classes.place(label)] - variance) / variance)
    return float(np.max(errors))


# -- exact --------------------------------------------------------------------------------------------------------


@far_and_apart
@pytest.mark.parametrize("size", [ROWS, ROWS // 1000], ids=["one pass", "1,000 batches"])
def test_the_variance_keeps_its_digits(means: tuple[float, ...], size: int):
    """At mean 1e8 and variance 1, and where class means lie far apart, twelve digits are right."""
    x, y = rows_around(means)

    assert error_of(in_batches(x, y, None, size), x, y) <= 1e-12


# -- the same, however the rows come ------------------------------------------------------------------------------


@settings(checked, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(1, 300),
    size=st.integers(1, 300),
    means=st.sampled_from([(0.0, 0.0, 0.0), *MEANS.values()]),
    weighted=st.booleans(),
    parts=st.integers(1, 8),
)
def test_order_and_batches_do_not_matter(
    seed: int, rows: int, size: int, means: tuple[float, ...], weighted: bool, parts: int
):
    """Rows in any order, in batches of any size, counted together or apart: the same to twelve digits."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows).astype(np.int32)
    x = rng.normal(np.array(means)[y], 1.0)[:, None]
    weights = rng.uniform(0.5, 2, rows) if weighted else None
    whole, order = in_batches(x, y, weights, rows), rng.permutation(rows)
    shuffled = x[order], y[order], None if weights is None else weights[order]
    apart = [in_batches(*(None if part is None else part[at::parts] for part in shuffled), size) for at in range(parts)]

    for found in (in_batches(*shuffled, size), sum(apart)):
        assert found.agrees(whole)
        assert found.classes == whole.classes
        assert np.allclose(found.variance, whole.variance, rtol=1e-12, atol=0)
        assert np.allclose(found.mean, whole.mean, rtol=1e-14, atol=1e-12)


# -- too large ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [1.1e150, -1e200, 1.7e308, np.inf, -np.inf, np.float32("inf")])
def test_numbers_beyond_1e150_are_refused(number: Any):
    """Their squares could not be summed: the error names the column, and nothing was counted."""
    columns = Axis(["age", "mass"])
    accumulator = CountsAccumulator(CLASSES, {"x": MomentsAccumulator(CLASSES, columns)})
    y = np.array([0, 1], np.int32)
    memory.add(accumulator, {"x": np.array([[1.0, 2.0], [3.0, np.nan]])}, y)
    before = state_of(accumulator.value())
    bad = np.array([[1, number], [2, np.nan]], np.asarray(number).dtype)

    with pytest.raises(NumberTooLarge, match=r"Column 'mass' holds .*; numbers beyond ±1e150 cannot be") as caught:
        memory.add(accumulator, {"x": bad}, y)

    assert (caught.value.column, caught.value.value) == ("mass", number)
    assert state_of(accumulator.value()) == before
