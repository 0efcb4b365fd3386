"""Joint counts are exact: the same to the last bit in any order, in any parts, with any number of threads."""

from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naively as nv
from naively import _kernels as kernels
from naively.counting.counter import TableCounter
from naively.counting.rows import count_rows, labeled_rows
from naively.counting.sampled_rows import counted_blocks
from naively.model.default.joint_counts import count_jointly

from .strategies import checked


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


def counted(laid_out, rows, sample_weight=None, threads=1):
    """Return the counts of some rows, of single columns and of columns jointly."""
    X, y, schema, grid = laid_out
    weights = None if sample_weight is None else sample_weight[rows]
    some = labeled_rows(X.iloc[rows], y[rows], None, weights, schema=schema)
    counter = TableCounter(schema)
    count_rows(counter, some, threads)
    return counter.value(), count_jointly(counter, counted_blocks(counter, some), grid, threads)


def same_bits(a, b):
    """Tell whether the joint counts are the same to the last bit."""
    return a.fine.tobytes() == b.fine.tobytes() and (a.products + 0.0).tobytes() == (b.products + 0.0).tobytes()


@checked
@given(st.lists(st.integers(0, 4), min_size=600, max_size=600), st.permutations(range(5)), st.booleans())
def test_any_order_and_grouping_of_parts_gives_the_same_counts(laid_out, parts, order, weighted):
    part, whole = np.array(parts), np.arange(600)
    how = {"sample_weight": np.random.default_rng(1).integers(1, 6, 600).astype(float)} if weighted else {}
    once = counted(laid_out, whole, **how)
    few = [counted(laid_out, whole[part == at][::-1], **how) for at in order if (part == at).any()]
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
    a, b = counted(laid_out, order[:size]), counted(laid_out, order[size:])
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


# -- why sums are exact ----------------------------------------------------------------------------------------------


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


@given(st.lists(st.floats(-10, 10) | st.just(float("nan")), max_size=30), st.lists(st.floats(-10, 10), max_size=20))
def test_the_bin_of_a_number_is_how_many_cuts_lie_below_it(numbers, cuts):
    cuts = np.unique(np.array(cuts, dtype=float))
    x = np.array(numbers, dtype=float).reshape(-1, 1)
    out = np.empty(x.shape, dtype=np.int32)
    kernels.bin_numbers(x, cuts, np.array([0, len(cuts)], dtype=np.int64), out, 1)
    assert out[:, 0].tolist() == [-1 if v != v else int((cuts < v).sum()) for v in x[:, 0]]
