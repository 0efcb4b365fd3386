"""Mean and variance keep their digits, however the rows come."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naively.counting import arrays as memory
from naively.errors import NumberTooLarge
from naively.stats import Axis, CountsAccumulator, Moments, MomentsAccumulator

from .strategies import checked, state_of

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


def test_one_outlier_that_comes_alone_spoils_nothing():
    """The same when the outlier was the only row of its batch."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(0, 1, (30_000, 1)), np.zeros(30_000, np.int32)
    x[0] = 1e8
    accumulator = MomentsAccumulator(Axis(["a"]), Axis.numbered(1))
    accumulator.add(x[:1], y[:1], None, 1)
    accumulator.add(x[1:], y[1:], None, 1)
    variance = x.astype(np.longdouble).var()

    assert abs(accumulator.value().variance[0, 0] - variance) <= 1e-12 * variance


# -- missing values and weights ----------------------------------------------------------------------------------------


def test_nan_is_a_missing_value():
    """A cell that is not there counts for nothing, and the rest of its row for what it holds."""
    x, y = rows_around(MEANS["one mean"])
    x, y = np.column_stack([x[:5000], x[5000:10_000]]), y[:5000]
    holes = np.random.default_rng(1).random(x.shape) < 0.3
    holes[0], holes[:, 0] = True, holes[:, 0] & (y != 2)
    gappy = np.where(holes, np.nan, x)

    for size in (5000, 100, 1):
        found = in_batches(gappy, y, None, size)
        assert error_of(found, gappy, y) <= 1e-12
    for column in range(2):
        there = ~holes[:, column]
        alone = in_batches(x[there][:, [column]], y[there], None, ROWS)
        assert np.array_equal(alone.n[:, 0], found.n[:, column])
        assert np.allclose(alone.mean[:, 0], found.mean[:, column], rtol=1e-14, atol=0)


@pytest.mark.parametrize("size", [1000, 7])
def test_a_weight_is_a_number_of_rows(size: int):
    """Weight 3 is three rows, weight 0 is none: also where the numbers are far from the others or are no numbers."""
    rng = np.random.default_rng(2)
    x, y = rows_around(MEANS["means far apart"])
    x, y, weights = x[:1000].copy(), y[:1000], rng.integers(0, 4, 1000).astype(float)
    x[:50], weights[:50] = 1e12, 0.0
    x[50:60], weights[50:60] = np.nan, 0.0
    repeated = np.repeat(np.arange(1000), weights.astype(int))
    found, expected = in_batches(x, y, weights, size), in_batches(x[repeated], y[repeated], None, ROWS)

    assert found == expected
    assert error_of(found, x[repeated], y[repeated]) <= 1e-12
    assert in_batches(x, y, weights * 0.25, size).agrees(expected * 0.25)


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
