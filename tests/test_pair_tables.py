"""The tables of pairs and linear terms, as kernels and a Cholesky factor make them, are those of the formulas."""

from functools import partial

import numpy as np
import pytest
from naively.model.joint.normal import Shrinkage
from naively.model.joint.pairs import CELLS_AT_ONCE, PairTermArrays, pair_tables
from naively.model.joint.tables import TermCounts
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import naively as nv
from naively import _kernels as kernels
from naively.stats.accumulators import Vocabulary

from .test_quadratic import by_counts, drawn, features, missing_in, one_hot
from .test_quadratic import counted as rows_counted

OFFSETS = np.array([0, 4, 4, 7, 9])  # four columns; the second has no codes
BINS = np.array([[0, 1, 2, 3, 0, 1, 2, 0, 1], [0, 0, 1, 1, 0, 1, 2, 0, 0]], dtype=np.int32)
FIRST, SECOND, LEVEL = np.array([0, 0, 2, 0]), np.array([2, 2, 3, 3]), np.array([0, 1, 0, 1])
LINES = np.array([0, 0, 20, 32])  # of each term in a table; the first two are of the same pair
WRONG = "must|names|lies outside|not there"


def counted(rows: int = 500, classes: int = 3) -> np.ndarray:
    """Return products of features of random rows, both halves; no row is of the last class."""
    rng = np.random.default_rng(0)
    sizes = np.diff(OFFSETS)
    codes = np.column_stack([rng.integers(-1, max(size, 1), rows) if size else np.full(rows, -1) for size in sizes])
    half = np.zeros((classes, 12, 12))
    y = rng.integers(0, classes - 1, rows).astype(np.int32)
    kernels.count_products(codes.astype(np.int32), OFFSETS, rng.normal(size=(rows, 2)), y, None, half)
    whole = np.zeros_like(half)
    kernels.mirror_products(half, np.arange(classes), whole)
    np.testing.assert_array_equal(whole, half + np.triu(half, 1).transpose(0, 2, 1))
    return whole


def pair_ratios(n: np.ndarray, pseudo: float) -> np.ndarray:
    """Return log (n + s) / (e + s) of each pair of values by class, e rows if columns were independent within it."""
    rows = np.maximum(n.sum(axis=(1, 2), keepdims=True), 1e-300)
    expected = n.sum(axis=2, keepdims=True) * n.sum(axis=1, keepdims=True) / rows
    return np.log((n + pseudo) / (expected + pseudo))


def merged(n: np.ndarray, to: np.ndarray, axis: int) -> np.ndarray:
    """Return counts with codes put together in bins."""
    return np.stack([n.take(np.flatnonzero(to == one), axis=axis).sum(axis=axis) for one in range(to.max() + 1)], axis)


def ratios(products: np.ndarray, term: int) -> np.ndarray:
    """Return the ratios of one term by NumPy, [class, bin, bin]."""
    n, axis = products, 1
    for column in (FIRST[term], SECOND[term]):
        codes = slice(1 + OFFSETS[column], 1 + OFFSETS[column + 1])
        n = n[:, codes] if axis == 1 else n[:, :, codes]
        n = merged(n, BINS[LEVEL[term], OFFSETS[column] : OFFSETS[column + 1]], axis)
        axis += 1
    return np.exp(pair_ratios(n, 2.0))


@pytest.mark.usefixtures("level")
def test_ratios_of_pairs_are_those_of_the_formula():
    products = counted()
    expected = [ratios(products, term) for term in range(len(FIRST))]
    out = np.empty(sum(part.size for part in expected))
    kernels.pair_ratios(products, OFFSETS, BINS, FIRST, SECOND, LEVEL, 2.0, out)
    np.testing.assert_allclose(out, np.concatenate([part.ravel() for part in expected]), rtol=1e-14)
    assert (out[: expected[0].size].reshape(expected[0].shape)[2] == 1).all()  # of no row, nothing is expected


@pytest.mark.usefixtures("level")
def test_scores_of_bins_are_added_for_every_pair_of_codes():
    table = np.zeros((47, 4))
    sizes = [3 * 4 * 3, 3 * 2 * 3, 3 * 3 * 2, 3 * 2 * 1]
    scores = np.random.default_rng(1).normal(size=sum(sizes))
    kernels.add_pair_scores(scores, OFFSETS, BINS, FIRST, SECOND, LEVEL, LINES, 3, table)
    parts = np.split(scores, np.cumsum(sizes)[:-1])
    first = table[:20].reshape(5, 4, 4)
    both = parts[0].reshape(3, 4, 3) + parts[1].reshape(3, 2, 3)[:, BINS[1, :4]]
    np.testing.assert_array_equal(first[:4, :3, :3], both.transpose(1, 2, 0))
    assert not first[4].any() + first[:, 3].any() + first[:, :, 3].any()  # missing values, and padding
    third = table[32:47].reshape(5, 3, 4)[:4, :2, :3]
    np.testing.assert_array_equal(third, parts[3].reshape(3, 2, 1)[:, BINS[1, :4]][:, :, [0, 0]].transpose(1, 2, 0))


def test_levels_agree_to_the_bit():
    products, found = counted(), []
    for name in kernels.levels():
        kernels.use_level(name)
        out = np.empty(3 * (12 + 6 + 6 + 2))
        kernels.pair_ratios(products, OFFSETS, BINS, FIRST, SECOND, LEVEL, 2.0, out)
        one_row = np.zeros((2, 12, 12))
        x = np.array([[0.1, 1 / 3]])
        kernels.count_products(np.array([[1, -1, 0, 1]], np.int32), OFFSETS, x, np.ones(1, np.int32), x[0, :1], one_row)
        found.append((out, one_row))
    kernels.use_level(kernels.levels()[0])
    for other in found[1:]:
        for mine, theirs in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("weighted", [False, True])
def test_single_rows_are_counted_as_many_at_once(weighted):
    rng = np.random.default_rng(2)
    offsets = np.arange(0, 41, 10)
    codes, numbers = rng.integers(-1, 11, (400, 4)).astype(np.int32), rng.integers(-4, 5, (400, 2)) / 4
    y, weights = rng.integers(0, 2, 400).astype(np.int32), rng.integers(1, 5, 400) / 2 if weighted else None
    at_once, singly = np.zeros((2, 2, 43, 43))
    kernels.count_products(codes, offsets, numbers, y, weights, at_once)
    for row in range(400):
        one = slice(row, row + 1)
        own = None if weights is None else weights[one]
        kernels.count_products(codes[one], offsets, numbers[one], y[one], own, singly)
    np.testing.assert_array_equal(singly, at_once)


def model_of_pairs():
    """Return the model of a table in which pairs of columns count."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 800)
    data = {"a": rng.integers(0, 4, 800).astype(str), "b": np.where(rng.random(800) < 0.3, "q", "r")}
    data["c"] = np.where((data["a"] == "1") ^ (y == 1), "u", "v")
    data["x"] = rng.normal(size=800) + (data["b"] == "q") * np.where(y, 2.0, -2.0)
    return nv.NaiveBayes().fit(data, y).fitted_.model


def test_tables_of_pairs_are_weighted_log_ratios(monkeypatch):
    model = model_of_pairs()
    weights = {(*t.columns, t.level): by for t, by in model.weights.items() if t.kind == "pair"}
    assert len(weights) > 2
    counts: TermCounts = model.counts
    for cells in (CELLS_AT_ONCE, 10):
        monkeypatch.setattr("naively.model.joint.pairs.CELLS_AT_ONCE", cells)
        assert len(list(PairTermArrays.of(counts, weights).in_parts())) > (cells < 100)
        found = pair_tables(counts, weights)
        for (i, j), table in zip(found.pairs, found.tables, strict=True):
            expected = np.zeros_like(table)
            for (first, second, level), by in weights.items():
                if (first, second) == (i, j):
                    to, flags = (
                        [of(at) for at in (i, j)] for of in (partial(counts.pair_bins, width=level), counts.grid.flags)
                    )
                    n = merged(merged(counts.joint.products[:, flags[0], flags[1]], to[0], 1), to[1], 2)
                    log_ratios = pair_ratios(n, counts.recipe.pair_pseudo_count)
                    expected += by * log_ratios.transpose(1, 2, 0)[np.ix_(*to)]
            np.testing.assert_allclose(table, expected, rtol=1e-13, atol=1e-14)
    assert pair_tables(counts, {}).pairs == ()


def test_linear_scores_are_those_of_discriminant_analysis():
    """As scikit-learn computes them, which has no ridge."""
    grid, cells, y = drawn(4, (), rows=120)
    counts = rows_counted(grid, cells, one_hot(y))
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(cells.level, y)
    expected = theirs.decision_function(cells.level) - np.log(theirs.priors_)
    found = by_counts(counts, cells, Shrinkage(1.0, 1e-9)).T
    np.testing.assert_allclose(found - found[:, :1], expected - expected[:, :1], atol=1e-6)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_linear_scores_are_sums_of_slopes_and_of_the_constants_of_columns(missing):
    """Those that weights are fitted to are those that tables hold."""
    grid, cells, y = drawn(3, (3, 2), missing=missing)
    counts = rows_counted(grid, cells, one_hot(y))
    parts = counts.normal.linear_parts(10.0)
    by_feature = features(grid, cells) @ counts.normal.feature_slopes(parts.slopes)
    expected = by_feature + (1 - missing_in(grid, cells)) @ parts.constants.T
    found = by_counts(counts, cells, Shrinkage(1.0, 10.0)).T
    np.testing.assert_allclose(found, expected - expected.max(axis=1, keepdims=True), atol=1e-9)


def test_slopes_are_finite_though_rounding_leaves_a_scatter_that_is_not_positive():
    normal = model_of_pairs().counts.normal
    slopes = [normal.linear_parts(1.0).slopes]
    vars(normal)["scatters"] = normal.scatters - 1e6 * np.eye(normal.size)
    slopes.append(normal.linear_parts(1.0).slopes)
    assert np.isfinite(slopes).all()


def test_labels_are_sorted_again_only_when_one_is_new():
    words = Vocabulary(["b", "a"])
    axis, places = words.sorted()
    assert (axis.labels, places.tolist()) == (("a", "b"), [1, 0])
    assert words.sorted()[0] is axis
    assert words.sorted(["a"])[0].fixed == {"a"}
    words.code("Z")
    assert words.sorted()[0].labels == ("Z", "a", "b")


MALFORMED = {
    "bins that skip one": {"bins": BINS * np.int32(2)},
    "bins that start late": {"bins": BINS + np.int32(1)},
    "bins of other codes": {"bins": BINS[:, :8].copy()},
    "offsets that fall": {"offsets": np.array([0, 4, 3, 7, 9])},
    "no offsets": {"offsets": np.zeros(0, int)},
    "a column that is not there": {"first": FIRST + 4},
    "a column below 0": {"second": SECOND - 4},
    "a column without codes": {"first": FIRST * 0 + 1},
    "a level that is not there": {"level": LEVEL + 1},
    "a term without a level": {"level": LEVEL[:3]},
}


@pytest.mark.parametrize("change", MALFORMED.values(), ids=MALFORMED.keys())
def test_terms_that_do_not_fit_are_refused(change):
    given = {"offsets": OFFSETS, "bins": BINS, "first": FIRST, "second": SECOND, "level": LEVEL} | change
    with pytest.raises(ValueError, match=WRONG):
        kernels.pair_ratios(np.zeros((3, 12, 12)), **given, pseudo_count=2.0, out=np.zeros(78))
    with pytest.raises(ValueError, match=WRONG):
        kernels.add_pair_scores(
            np.zeros(78), **given, lines=np.array([0, 0, 20, 32]), classes=3, table=np.zeros((47, 4))
        )


def test_products_and_tables_that_do_not_fit_are_refused():
    terms = (OFFSETS, BINS, FIRST, SECOND, LEVEL)
    good = np.zeros((3, 12, 12))
    kernels.pair_ratios(good, *terms, 2.0, np.zeros(78))
    for products, pseudo, size in ((good[:, :9, :9].copy(), 2.0, 78), (good, 0.0, 78), (good, 2.0, 77)):
        with pytest.raises(ValueError, match=WRONG):
            kernels.pair_ratios(products, *terms, pseudo, np.zeros(size))
    for at, classes, shape in ((LINES, 3, (46, 4)), (LINES, 3, (47, 2)), (LINES[:3], 3, (47, 4)), (LINES, 2, (47, 4))):
        with pytest.raises(ValueError, match=WRONG):
            kernels.add_pair_scores(np.zeros(78), *terms, at, classes, np.zeros(shape))
    for half, places, out in ((good, [0, 1, 3], good), (good, [0, -1], good), (good[:1], [0, 1], good)):
        with pytest.raises(ValueError, match=WRONG):
            kernels.mirror_products(half.copy(), np.array(places), out.copy())
    with pytest.raises(ValueError, match=WRONG):
        kernels.mirror_products(good, np.arange(3), np.zeros((3, 11, 12)))
