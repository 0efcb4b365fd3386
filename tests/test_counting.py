"""Counts are exact, however many rows there are and however they come: of columns alone and jointly."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import naively as nv
from naively import _kernels as kernels
from naively.counting import arrays as memory
from naively.counting.counter import TableCounter
from naively.counting.reading import labeled_rows
from naively.errors import InvalidInput, NaivelyError
from naively.model.default.joint_counts import count_jointly
from naively.stats import Axis, CodesAccumulator, CountsAccumulator, MomentsAccumulator, TableAccumulator

from .strategies import checked, state_of

CLASSES = Axis(["ham", "spam", "egg"])
WORDS = 6


@dataclass(frozen=True)
class Way:
    """A way of counting: what is filled, and by which rows."""

    name: str
    start: Callable[[], Any]
    rows: Callable[[np.random.Generator, int], Any]
    exact: bool = True


def words(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Return how often each word stands in each text."""
    return rng.poisson(0.5, (rows, WORDS))


def sparse_words(rng: np.random.Generator, rows: int) -> Any:
    """Return the same, leaving out the words that are not there."""
    return sparse.csr_array(words(rng, rows))


def codes(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Return two columns of codes, some of them missing."""
    return rng.integers(-1, [2, 5], (rows, 2))


def numbers(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Return two columns of numbers."""
    return rng.normal(9, 1, (rows, 2))


WAYS = {
    way.name: way
    for way in (
        Way("words", lambda: TableAccumulator(CLASSES, Axis.numbered(WORDS)), words),
        Way("sparse words", lambda: TableAccumulator(CLASSES, Axis.numbered(WORDS)), sparse_words),
        Way("flags", lambda: TableAccumulator(CLASSES, Axis.numbered(WORDS), threshold=0.5), words),
        Way("codes", lambda: CodesAccumulator(CLASSES, [2, 5]), codes),
        Way("numbers", lambda: MomentsAccumulator(CLASSES, Axis.numbered(2)), numbers, exact=False),
    )
}


def counted(way: Way, x: Any, y: np.ndarray, weights: Any = None, threads: int = 1, size: int | None = None) -> Any:
    """Return the counts of rows, batch by batch, together with the rows of each class."""
    accumulator = CountsAccumulator(CLASSES, {"x": way.start()})
    for start in range(0, len(y), size or max(len(y), 1)):
        batch = slice(start, start + (size or len(y)))
        memory.add(accumulator, {"x": x[batch]}, y[batch], None if weights is None else weights[batch], threads)
    return accumulator.value()


def rows_of(way: Way, rows: int, seed: int = 0) -> tuple[Any, np.ndarray]:
    """Return rows for this way of counting, and their classes."""
    rng = np.random.default_rng(seed)
    return way.rows(rng, rows), rng.integers(0, 3, rows).astype(np.int32)


# -- codes --------------------------------------------------------------------------------------------------------


@checked
@given(
    seeds=st.lists(st.integers(0, 1000), min_size=1, max_size=5),
    sizes=st.lists(st.tuples(st.integers(1, 7), st.integers(1, 7)), min_size=5, max_size=5),
)
def test_columns_grow_when_higher_codes_come(seeds: list[int], sizes: list[tuple[int, int]]):
    """Room made on the way, as parts need it, changes nothing: the value is the sum of the parts."""
    accumulator, parts = CodesAccumulator(CLASSES, [0, 0]), []
    for seed, size in zip(seeds, sizes, strict=False):
        rng = np.random.default_rng(seed)
        x, y = rng.integers(0, size, (9, 2)), rng.integers(0, 3, 9).astype(np.int32)
        accumulator = accumulator.grown(np.array(size))
        accumulator.add(x, y, None, 1)
        part = CodesAccumulator(CLASSES, size)
        part.add(x, y, None, 1)
        parts.append(part.value())

    largest = np.max(sizes[: len(seeds)], axis=0)
    assert accumulator.sizes.tolist() == largest.tolist()
    assert accumulator.value() == sum(parts)
    assert [len(table.values) for table in accumulator.value().tables] == largest.tolist()


@pytest.mark.parametrize(("code", "holes"), [(2, True), (2**40, True), (-1, False)])
def test_codes_without_room_refuse_their_row(code: int, holes: bool):
    """A code beyond the room of its column is refused, naming the cell; so is a missing one where none is allowed."""
    accumulator = CodesAccumulator(Axis(["a"]), [2, 2], allow_missing=holes)

    with pytest.raises(InvalidInput, match=f"Row 1, column 0 holds {code}; its codes are 0 … 1"):
        memory.add_column(accumulator, np.array([[1, 1], [code, 1]]), np.zeros(2, np.int32), None, 1)
    assert accumulator.n.sum() == 0


# -- a failed batch -----------------------------------------------------------------------------------------------


def several_columns() -> CountsAccumulator:
    """Return counts of five columns, all of which hold something."""
    counts = CountsAccumulator(CLASSES, {name: way.start() for name, way in WAYS.items()})
    memory.add(counts, *good_batch())
    return counts


def good_batch() -> tuple[dict[str, Any], np.ndarray]:
    """Return ten rows that fit."""
    return {name: rows_of(way, 10)[0] for name, way in WAYS.items()}, np.arange(10, dtype=np.int32) % 3


Y = good_batch()[1]
BAD_BATCHES = {
    "a class beyond the last": ({}, Y + 1, None, "Class codes must lie in 0 … 2; found 1 to 3"),
    "a class below the first": ({}, Y - 1, None, "Class codes must lie in 0 … 2; found -1 to 1"),
    "a class that wraps around": ({}, Y.astype(np.int64) + 2**32, None, "Class codes must lie in 0 … 2"),
    "classes that are no whole numbers": ({}, Y + 0.5, None, "one whole number for each row; found float64"),
    "classes in two dimensions": ({}, Y[:, None], None, "one whole number for each row"),
    "a class too few": ({}, Y[1:], None, "needs shape (9, 6); found shape (10, 6)"),
    "a weight too few": ({}, Y, np.ones(9), "Weights of shape (9,) do not fit 10 rows"),
    "a column too many": ({"numbers": np.ones((10, 3))}, Y, None, "'numbers' needs shape (10, 2); found shape (10, 3)"),
    "a row too few": ({"codes": np.ones((9, 2), int)}, Y, None, "'codes' needs shape (10, 2); found shape (9, 2)"),
    "no such column": ({"codes": None}, Y, None, "'codes' needs shape (10, 2); found nothing"),
    "codes that are no whole numbers": ({"codes": np.ones((10, 2))}, Y, None, "its codes must be whole numbers"),
    "texts": ({"numbers": np.full((10, 2), "x")}, Y, None, "'numbers' holds <U1; convert it to numbers first"),
    "things": ({"words": np.full((10, WORDS), None)}, Y, None, "'words' holds object; convert it to numbers first"),
    "sparse numbers": ({"numbers": sparse.csr_array(np.ones((10, 2)))}, Y, None, "'numbers' is sparse"),
    "a number too large": ({"numbers": np.full((10, 2), 1e160)}, Y, None, "Column 0 holds 1e+160"),
}


@pytest.mark.parametrize(("changes", "y", "weights", "words"), BAD_BATCHES.values(), ids=BAD_BATCHES.keys())
def test_a_failed_batch_changes_nothing(changes: dict[str, Any], y: np.ndarray, weights: Any, words: str):
    """Everything is checked before anything is counted, and the error says what does not fit."""
    counts = several_columns()
    before = state_of(counts.value())
    batch = {name: x for name, x in (good_batch()[0] | changes).items() if x is not None}

    with pytest.raises(InvalidInput) as caught:
        memory.add(counts, batch, y, weights)

    assert isinstance(caught.value, NaivelyError)
    assert words in str(caught.value)
    assert state_of(counts.value()) == before


# -- the cost of a row --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_adding_one_row_does_not_copy_the_model(form: str):
    """A row is counted in place: the array stays the same one, and hardly anything is allocated."""
    words, classes = 100_000, 20
    accumulator = TableAccumulator(Axis.numbered(classes), Axis.numbered(words))
    row = np.zeros((1, words), np.uint8)
    row[0, ::1000] = 1
    row = sparse.csr_array(row) if form == "sparse" else row
    counts = CountsAccumulator(accumulator.classes, {"x": accumulator})
    y, table = np.array([7], np.int32), accumulator.n
    memory.add(counts, {"x": row}, y)
    tracemalloc.start()
    for _ in range(5):
        memory.add(counts, {"x": row}, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert accumulator.n is table
    assert table[7].sum() == table.sum() == 600
    assert peak < 100_000  # the table takes 16 million bytes


# -- joint counts are exact --------------------------------------------------------------------------------------------


def table_of(rows, seed, missing=0.1):
    """Return a table of numbers and labels, some missing, and its classes."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["no", "yes", "perhaps"], rows)
    x = pd.DataFrame(rng.normal(size=(rows, 3)) * [1, 1e-7, 1e9] + [0, 5, -1e12]).add_prefix("n")
    x["n3"] = rng.exponential(size=rows) ** 3
    x["l0"], x["l1"] = rng.choice(["a", "b", "c"], rows), rng.choice(["u", "v"], rows)
    return x.mask(rng.random(x.shape) < missing), y


@pytest.fixture(scope="module")
def laid_out():
    """Return a table, its classes, its schema and a grid."""
    X, y = table_of(600, 0)
    X["n0"] += 2 * (y == "yes")
    nb = nv.NaiveBayes().fit(X, y)
    return X, y, nb.schema_, nb.tuning_.learned.joint.grid


def counted_jointly(laid_out, rows, sample_weight=None, threads=1):
    """Return the counts of some rows, of single columns and of columns jointly."""
    X, y, schema, grid = laid_out
    weights = None if sample_weight is None else sample_weight[rows]
    some = labeled_rows(X.iloc[rows], y[rows], None, weights, schema=schema)
    counter = TableCounter(schema)
    some.count(counter, threads)
    return counter.value(), count_jointly(counter, some.blocks(counter), grid, threads)


def same_bits(a, b):
    """Tell whether the joint counts are the same to the last bit."""
    return a.fine.tobytes() == b.fine.tobytes() and (a.products + 0.0).tobytes() == (b.products + 0.0).tobytes()


@checked
@given(st.lists(st.integers(0, 4), min_size=600, max_size=600), st.permutations(range(5)), st.booleans())
def test_any_order_and_grouping_of_parts_gives_the_same_counts(laid_out, parts, order, weighted):
    part, whole = np.array(parts), np.arange(600)
    how = {"sample_weight": np.random.default_rng(1).integers(1, 6, 600).astype(float)} if weighted else {}
    once = counted_jointly(laid_out, whole, **how)
    few = [counted_jointly(laid_out, whole[part == at][::-1], **how) for at in order if (part == at).any()]
    counts, joint = zip(*few, strict=True)
    assert reduce(add, counts) == reduce(add, counts[::-1]) == once[0]
    left, right = reduce(add, joint), reduce(add, joint[::-1])
    assert same_bits(left, right)
    assert same_bits(left, once[1])


@checked
@given(st.integers(0, 2**32 - 1), st.integers(1, 599))
def test_subtraction_gives_back_the_rest_to_the_bit(laid_out, seed, size):
    """Of joint counts and labels; moments keep 1e-12 of the squares of the whole."""
    order = np.random.default_rng(seed).permutation(600)
    a, b = counted_jointly(laid_out, order[:size]), counted_jointly(laid_out, order[size:])
    for part, other in ((a, b), (b, a)):
        rest, whole = (a[0] + b[0]) - other[0], a[0] + b[0]
        nothing = replace(part[1], fine=0 * part[1].fine, products=0 * part[1].products)
        left = (a[1] + b[1]).without(other[1]).on(part[1].classes)
        assert same_bits(left, part[1].without(nothing))  # labels that no row has are gone from both
        assert np.array_equal(rest.rows, part[0].rows)
        for name, found in rest.columns.items():
            if name.startswith("l"):
                assert found == part[0].columns[name]
            else:
                assert np.array_equal(found.n, part[0].columns[name].n)
                squares = whole.columns[name].on(found.classes).squares
                assert (np.abs(found.ssd - part[0].columns[name].ssd) <= 1e-12 * squares).all()


# -- the kernels -----------------------------------------------------------------------------------------------------


def features(codes, sizes, numbers):
    """Return the features of rows, as the plain definition has them."""
    out = [np.ones((len(codes), 1))]
    out += [(codes[:, [j]] == np.arange(size)).astype(float) for j, size in enumerate(sizes)]
    return np.hstack([*out, numbers])


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_products_are_those_of_the_features(data):
    seed = data.draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    rows, classes, width = (data.draw(st.integers(low, 5)) for low in (0, 1, 0))
    rows *= data.draw(st.sampled_from([1, 40]))
    sizes = data.draw(st.lists(st.integers(0, 6), max_size=4))
    codes = np.column_stack([rng.integers(-1, size + 1, rows) for size in sizes] or [np.empty((rows, 0))]).astype(
        np.int32
    )
    numbers, y = rng.normal(size=(rows, width)), rng.integers(0, classes, rows).astype(np.int32)
    weights = data.draw(st.sampled_from([None, rng.random(rows)]))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    x = features(codes, sizes, numbers)
    out = np.zeros((classes, x.shape[1], x.shape[1]))
    kernels.count_products(codes, offsets, numbers, y, weights, out, 2)
    whole = np.zeros_like(out)
    kernels.mirror_products(out, np.arange(classes), whole)
    assert np.array_equal(whole, out + np.triu(out, 1).transpose(0, 2, 1))
    w = np.ones(rows) if weights is None else weights
    for k in range(classes):
        here = y == k
        assert np.allclose(out[k], np.triu((x[here] * w[here, None]).T @ x[here]), atol=1e-12)
