"""Joint counts moved to another grid: what is preserved, what is exact, and a grid pooled from counts alone."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naively.model.default.merging import pooled_grid
from naively.model.default.moved_counts import moved_counts, original_middles

import naively as nv
from naively.errors import IncompatibleCounts
from naively.model.default.bins import Categories, grid_of, with_middles_of
from naively.model.default.grid import Grid, LabelValues
from naively.model.recipe import RECIPE
from naively.stats import Counts

from .strategies import checked

NUMBERS, LABELS = ("n0", "n1", "n2", "n3", "n4"), ("l0", "l1", "l2")


def table_of(rows, seed):
    """Return numbers and labels, related and with missing values, a nearly constant one among them, and classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    x = rng.normal(size=(rows, 5)) + 0.8 * y[:, None]
    x[:, 1] = np.exp(x[:, 1]).round(1)
    x[:, 2] = x[:, 0] + 0.3 * x[:, 2]
    x[:, 3] = rng.integers(0, 6, rows) + y
    x[:, 4] = np.where(rng.random(rows) < 0.004, 3.0, 5.0)
    table = pd.DataFrame(x, columns=NUMBERS)
    table["l0"] = rng.choice(list("abcd"), rows, p=[0.6, 0.3, 0.08, 0.02])
    table["l1"] = np.where(y == 1, "x", rng.choice(["x", "y"], rows))
    table["l2"] = np.where(x[:, 0] > 1, "high", "low")
    gone = rng.random(table.shape) < 0.05
    gone[:, [1, 7]] = False
    return table.mask(gone), np.array(["no", "yes", "perhaps"])[y]


def grid_on(table, some=slice(None), numbers=NUMBERS, labels=LABELS):
    """Return the grid that some rows lead to."""
    categories = [Categories(name, sorted(table[name][some].dropna().unique())) for name in labels]
    x = table[list(numbers)].to_numpy(float)[some]
    columns = [(column, np.ones(len(x))) for column in x.T]
    return grid_of(list(numbers), columns, float(len(x)), categories, 3, RECIPE)[0]


def counted(table, y, grid):
    """Return the counts of rows on a grid."""
    return nv.count(table, y, schema=replace(nv.count(table, y).schema, grid=grid))


TABLE, Y = table_of(1200, 0)


def check_sums(moved, counts, grid):
    """Check what moving preserves."""
    joint, last = counts.joint, grid.features - len(grid.numbers)
    products = moved.products
    assert np.array_equal(products[:, 0, 0], joint.products[:, 0, 0])
    assert np.array_equal(products, products.transpose(0, 2, 1))
    assert (products[:, :last, :last] >= 0).all()
    assert (moved.fine >= 0).all()
    for at, column in enumerate(grid.columns):
        flags = grid.flags(at)
        n = products[:, 0, flags]
        assert np.array_equal(products[:, flags, flags], n[:, :, None] * np.eye(column.size))
        statistic = counts.columns[column.name]
        if at < len(grid.numbers):
            begin, end = grid.fine_offsets[at : at + 2]
            met = statistic.on(joint.classes).n[:, 0]
            np.testing.assert_allclose(moved.fine[:, begin:end].sum(axis=1), met, rtol=1e-9)
            if column.size:
                np.testing.assert_allclose(n.sum(axis=1), met, rtol=1e-9)
                level = products[:, flags, last + at].sum(axis=1)
                np.testing.assert_allclose(level, products[:, 0, last + at], atol=1e-6)
        else:
            places = statistic.values.places(column.labels)
            expected = np.where(places >= 0, statistic.on(joint.classes)[:, places], 0.0)
            np.testing.assert_allclose(n, expected, rtol=1e-9)


@checked
@given(st.integers(0, 1000), st.integers(40, 600), st.integers(40, 600))
def test_rows_and_single_values_are_preserved(seed, rows, other):
    rng = np.random.default_rng(seed)
    here, there = rng.permutation(1200)[:rows], rng.permutation(1200)[:other]
    counts = counted(TABLE.iloc[here], Y[here], grid_on(TABLE, here))
    grid = grid_on(TABLE, there)
    check_sums(moved_counts(counts, grid), counts, grid)


def test_the_same_grid_changes_no_bit():
    grid = grid_on(TABLE)
    counts = counted(TABLE, Y, grid)
    assert moved_counts(counts, grid) is counts.joint


def test_the_same_columns_in_another_order_change_no_bit():
    grid = grid_on(TABLE)
    turned = Grid(grid.numbers[::-1], tuple(LabelValues(v.name, v.labels[::-1]) for v in grid.labels[::-1]))
    counts, other = counted(TABLE, Y, grid), counted(TABLE, Y, grid_on(TABLE, numbers=NUMBERS[::-1]))
    moved = moved_counts(counts, turned)
    assert other.joint.grid != turned
    exact = counted(TABLE[[*NUMBERS[::-1], *LABELS[::-1]]], Y, turned)
    assert np.array_equal(moved.fine, exact.joint.fine)
    assert np.array_equal(moved.products, exact.joint.products)
    assert moved_counts(replace_joint(counts, moved), grid) == counts.joint


def replace_joint(counts, joint):
    """Return counts with other joint counts."""
    return Counts(counts.classes, counts.rows, counts.columns, replace(counts.schema, grid=joint.grid), joint)


def test_some_of_the_columns_are_those_of_the_whole():
    grid = grid_on(TABLE)
    counts = counted(TABLE, Y, grid)
    few = counts.joint.only(["n0", "n2", "l1"])
    assert moved_counts(counts, few.grid) == few


def test_moved_counts_are_near_those_of_the_rows():
    """Bins of other rows of the same kind: pairs differ by a few percent, means and products of numbers by less."""
    grid, other = grid_on(TABLE, slice(0, 800)), grid_on(TABLE, slice(400, 1200))
    moved, exact = moved_counts(counted(TABLE, Y, grid), other), counted(TABLE, Y, other).joint
    last = other.features - len(other.numbers)

    def gap(part):
        return np.abs(moved.products - exact.products)[part].sum() / np.abs(exact.products[part]).sum()

    assert gap(np.s_[:, 0, 1:last]) < 0.04
    assert gap(np.s_[:, 1:last, 1:last]) < 0.08
    assert gap(np.s_[:, last : last + 4, last : last + 4]) < 0.01


# -- what the part did not distinguish --------------------------------------------------------------------------------


def test_a_part_with_a_single_label_keeps_it():
    """Its grid has no flags of that column, so that all its rows hold the label: exact on any grid."""
    rows = np.flatnonzero((TABLE["l1"] == "x").to_numpy())
    part = counted(TABLE.iloc[rows], Y[rows], grid_on(TABLE, rows))
    assert not next(values for values in part.joint.grid.labels if values.name == "l1").labels
    grid = grid_on(TABLE, rows)
    wider = Grid(grid.numbers, tuple(LabelValues(v.name, v.labels or ("x", "y")) for v in grid.labels))
    moved, exact = moved_counts(part, wider), counted(TABLE.iloc[rows], Y[rows], wider).joint
    np.testing.assert_allclose(moved.products, exact.products, atol=1e-9)


def test_a_part_with_a_single_number_keeps_it():
    rows = np.flatnonzero((TABLE["n3"] == 2).to_numpy())
    part = counted(TABLE.iloc[rows], Y[rows], grid_on(TABLE, rows))
    at = NUMBERS.index("n3")
    assert not part.joint.grid.numbers[at].size
    own = grid_on(TABLE, rows)
    wider = Grid((*own.numbers[:at], grid_on(TABLE).numbers[at], *own.numbers[at + 1 :]), own.labels)
    moved, exact = moved_counts(part, wider), counted(TABLE.iloc[rows], Y[rows], wider).joint
    np.testing.assert_allclose(moved.products, exact.products, atol=2e-4 * len(rows))  # levels are rounded to steps
    np.testing.assert_array_equal(moved.fine, exact.fine)


def test_labels_that_were_not_distinguished_move_by_their_counts():
    grid = grid_on(TABLE)
    fewer = Grid(grid.numbers, (LabelValues("l0", ("a", "b")), *grid.labels[1:]))
    counts = counted(TABLE, Y, fewer)
    moved = moved_counts(counts, grid)
    check_sums(moved, counts, grid)
    exact = counted(TABLE, Y, grid).joint
    assert np.abs(moved.products - exact.products).sum() < 0.005 * np.abs(exact.products).sum()


def test_columns_that_were_not_counted_jointly_move_as_independent_ones():
    grid = grid_on(TABLE)
    counts = counted(TABLE, Y, grid_on(TABLE, numbers=("n0", "n1"), labels=("l2",)))
    moved = moved_counts(counts, grid)
    check_sums(moved, counts, grid)
    exact, at = counted(TABLE, Y, grid).joint, grid.flags(2)
    assert np.abs(moved.products - exact.products)[:, 0, at].sum() < 0.2 * exact.products[:, 0, at].sum()
    single = nv.count(TABLE, Y)
    assert single.joint is None
    check_sums(moved_counts(counted_without(counts), grid), counts, grid)


def counted_without(counts):
    """Return counts of single columns alone."""
    return Counts(counts.classes, counts.rows, counts.columns, replace(counts.schema, grid=None))


def test_a_column_that_was_never_counted_is_named():
    grid = grid_on(TABLE)
    with pytest.raises(IncompatibleCounts, match="'n0' was not counted as numbers; count the same columns"):
        moved_counts(nv.count(TABLE[["n1", "l0"]], Y), grid)
    with pytest.raises(IncompatibleCounts, match="'l0' was not counted as labels; count the same columns"):
        moved_counts(nv.count(TABLE[list(NUMBERS)], Y), grid)


# -- a grid from counts alone -----------------------------------------------------------------------------------------


def test_a_pooled_grid_is_near_that_of_all_rows():
    order = np.random.default_rng(1).permutation(1200)
    parts = [counted(TABLE.iloc[at], Y[at], grid_on(TABLE, at)) for at in np.array_split(order, 4)]
    (grid, remark), whole = pooled_grid(parts), grid_on(TABLE)
    assert remark is None
    assert grid.names == whole.names
    for found, exact in zip(grid.numbers, whole.numbers, strict=True):
        assert abs(len(found.cuts) - len(exact.cuts)) <= 12
        if exact.scale:
            assert abs(found.center - exact.center) < 0.03 / exact.scale
            assert abs(found.scale / exact.scale - 1) < 0.05
        else:
            assert (found.scale, found.center) == (0.0, exact.center)
    assert [set(v.labels) for v in grid.labels] == [set(v.labels) for v in whole.labels]
    discrete, exact = (next(b for b in g.numbers if b.name == "n3") for g in (grid, whole))
    assert np.array_equal(np.searchsorted(discrete.cuts, range(9)), np.searchsorted(exact.cuts, range(9)))


def test_numbers_that_parts_share_are_one_number():
    """Brought to the scale of each part and back, they differ by rounding; no cut comes between."""
    x = np.round(np.random.default_rng(0).normal(size=400) * 3) / 10
    table = TABLE.iloc[:400].assign(n0=x)
    halves = [counted(table.iloc[at], Y[at], grid_on(table.iloc[at])) for at in (np.arange(200), np.arange(200, 400))]
    grid, _ = pooled_grid(halves)
    bins = grid.numbers[0]
    assert len(bins.cuts) <= len(np.unique(x)) - 1
    assert np.diff(bins.cuts).min() > 0.05


# -- middles of bins ---------------------------------------------------------------------------------------------------


def test_middles_from_other_rows_hold_nothing_of_those_before():
    grid = grid_on(TABLE)
    x = TABLE[list(NUMBERS)].to_numpy(float)
    same = with_middles_of(grid, x, np.ones(len(x)))
    assert same == grid
    kept = with_middles_of(grid, x[::2], np.ones(600))
    for bins, before in zip(kept.numbers, grid.numbers, strict=True):
        assert replace(bins, middles=before.middles) == before
    lonely = np.setdiff1d(x[:, 0], x[::2, 0])
    found = original_middles(kept.numbers[0])
    assert not np.isclose(found[:, None], lonely[~np.isnan(lonely)][None, :], rtol=0, atol=1e-12).any()
    counts = counted(TABLE, Y, grid)
    assert replace(counts.joint, grid=kept).grid == kept


def test_the_number_that_nearly_all_rows_shared_is_forgotten():
    grid = grid_on(TABLE)
    x = TABLE[list(NUMBERS)].assign(n4=8.0).to_numpy(float)
    bins = with_middles_of(grid, x, np.ones(len(x))).numbers[4]
    assert (bins.low, bins.high, bins.center, bins.scale) == (8.0, 8.0, 8.0, 0.0)


def test_moved_products_are_those_of_some_rows():
    """No direction of the features has a negative sum of squares, from which linear terms would make large scores."""
    rows = np.arange(300)
    counts = counted(TABLE.iloc[rows], Y[rows], grid_on(TABLE, rows))
    for other in (slice(0, 1200), slice(600, 1200), slice(1000, 1200)):
        for products in moved_counts(counts, grid_on(TABLE, other)).products:
            width = np.linalg.eigvalsh(products)
            assert width[0] > -1e-3 * width[-1]
