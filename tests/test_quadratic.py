"""The quadratic term: log-densities of normal distributions, which split into columns and pairs; counts suffice."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from naively.data.grid import Cells, Grid, LabelValues, NumberBins
from naively.model.joint.cross_fit import CrossFit
from naively.model.joint.normal import ALPHA, QUADRATIC, RIDGE, NormalScores, Shrinkage, contrasts, cross_normal
from naively.model.joint.quadratic_tables import QuadraticTable
from naively.model.joint.sample import FittingRows
from naively.model.joint.tables import TermCounts
from naively.model.joint.terms import CELLS
from naively.stats.pairs import JointCounts
from scipy.stats import multivariate_normal

import naively as nv
from naively import _kernels as kernels
from naively.data.frame import frame_of
from naively.model.recipe import RECIPE
from naively.stats import Axis

SHRINKAGES = [Shrinkage(0.02, 1.0), Shrinkage(0.3, 30.0)]
SHAPES = [(4, ()), (0, (3, 2, 4)), (3, (3, 1, 2)), (2, (1,))]  # numbers, and how many labels each column has


def features(grid, cells):
    """Return the features of rows, [row, feature]: 1, a flag for each code, the numbers."""
    out = np.zeros((len(cells), grid.features))
    out[:, 0] = 1.0
    for at in range(len(grid.names)):
        known = np.flatnonzero(cells.codes[:, at] >= 0)
        out[known, grid.flags(at).start + cells.codes[known, at]] = 1.0
    out[:, grid.features - len(grid.numbers) :] = cells.level
    return out


def drawn(numbers: int, labels: tuple[int, ...], rows: int = 60, classes: int = 3, missing: float = 0.0, seed: int = 0):
    """Draw rows on a grid, and their classes, which differ in how numbers and labels vary."""
    rng = np.random.default_rng(seed)
    bins = [NumberBins(f"n{i}", (0.0,), (0, 1), (0, 1), (0, 1), (-1.0, 1.0), -9, 9, 0.0, 1.0) for i in range(numbers)]
    grid = Grid(tuple(bins), tuple(LabelValues(f"l{i}", tuple(range(size))) for i, size in enumerate(labels)))
    y = np.arange(rows, dtype=np.int32) % classes
    x = rng.normal(size=(rows, numbers)) * (1 + 0.5 * y[:, None]) + 0.4 * y[:, None]
    codes = np.array([rng.integers(0, size, rows) for size in labels], dtype=np.int32).reshape(len(labels), rows).T
    codes[y == 1] //= 2
    x[rng.random(x.shape) < missing] = np.nan
    codes = np.where(rng.random(codes.shape) < missing, np.int32(-1), codes)
    cells = grid.encode(x, codes)
    return grid, Cells(cells.fine, cells.codes, cells.level.reshape(rows, numbers)), y


def counted(grid: Grid, cells: Cells, parts: np.ndarray) -> TermCounts:
    """Count rows, given how much of each is of each class, [class, row]."""
    x = features(grid, cells)
    products = np.array([(x * part[:, None]).T @ x for part in parts])
    return TermCounts(
        JointCounts(Axis(tuple(range(len(parts)))), grid, np.zeros((len(parts), grid.fine_bins)), products), []
    )


def by_counts(counts: TermCounts, cells: Cells, by: Shrinkage) -> np.ndarray:
    """Return the scores of rows by counts, as weights are fitted to them, [class, row]; no row is left out of them."""
    y, w, rows = np.zeros(len(cells), np.int32), np.zeros(len(cells)), slice(0, len(cells))
    labels = np.ascontiguousarray(cells.codes[:, len(counts.grid.numbers) :])
    found = cross_normal(CrossFit(counts, FittingRows(labels, cells, y, w, {}, (rows,)), {}), [by], 1)
    assert found is not None
    return found[0]


def missing_in(grid: Grid, cells: Cells) -> np.ndarray:
    return np.hstack([cells.fine < 0, cells.codes[:, len(grid.numbers) :] < 0]).astype(float)


def one_hot(y: np.ndarray, classes: int = 3) -> np.ndarray:
    return (y == np.arange(classes)[:, None]).astype(np.float64)


def scored(counts: TermCounts, cells: Cells, by: Shrinkage) -> np.ndarray:
    """Return the scores of rows by the parts of the term, [class, row]; missing columns count for nothing."""
    parts, x = counts.normal.parts(by), counts.normal.rows(cells)[0]
    known = 1 - missing_in(counts.grid, cells)
    scores = np.einsum("kde,rd,re->kr", parts.squares, x, x) + parts.slopes @ x.T + parts.constants @ known.T
    return scores - scores.max(axis=0)


def of_products(table: QuadraticTable, cells: Cells, threads: int = 1) -> np.ndarray:
    """Return what products with numbers add to the scores, [row, class]."""
    scorer, out = kernels.Scorer(np.zeros(len(table.classes))), np.empty((len(cells), len(table.classes)))
    table.add_to(scorer, cells)
    assert scorer.log_joint(out, threads) == -1
    return out


# -- the formula -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", SHRINKAGES)
def test_scores_are_log_densities_of_normals_with_a_shrunk_covariance_for_each_class(by):
    grid, cells, y = drawn(4, ())
    x, expected = cells.level, np.empty((3, len(y)))
    scatters = [np.cov(x[y == k].T, bias=True) * (y == k).sum() for k in range(3)]
    pooled = (by.alpha * sum(scatters) + by.ridge * np.eye(4)) / len(y)
    for k, scatter in enumerate(scatters):
        covariance = (1 - by.alpha) * scatter / (y == k).sum() + pooled
        expected[k] = multivariate_normal(x[y == k].mean(axis=0), covariance).logpdf(x)
    found = by_counts(counted(grid, cells, one_hot(y)), cells, by)
    np.testing.assert_allclose(found - found[0], expected - expected[0], atol=1e-9)


@pytest.mark.parametrize("by", SHRINKAGES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_scores_are_the_sum_of_the_parts(shape, by, missing):
    """Those that weights are fitted to are those that tables hold."""
    grid, cells, y = drawn(*shape, missing=missing)
    counts = counted(grid, cells, one_hot(y))
    np.testing.assert_allclose(by_counts(counts, cells, by), scored(counts, cells, by), atol=1e-9)


def test_a_class_of_one_row_has_the_covariance_within_all_classes():
    grid, cells, y = drawn(3, (2,))
    y = np.where(np.arange(len(y)) == 0, 2, y % 2).astype(np.int32)
    counts = counted(grid, cells, one_hot(y))
    scatters, rows = counts.normal.scatters, np.bincount(y)
    assert rows[2] == 1
    precisions = []
    for scatter, size in zip(scatters, rows.tolist(), strict=True):
        alpha = SHRINKAGES[0].alpha if size > 1 else 1.0
        pooled = (alpha * scatters.sum(axis=0) + SHRINKAGES[0].ridge * np.eye(4)) / len(y)
        precisions.append(np.linalg.inv(pooled + (1 - alpha) * scatter / size))
    expected = -0.5 * (np.array(precisions) - np.mean(precisions, axis=0))
    np.testing.assert_allclose(counts.normal.parts(SHRINKAGES[0]).squares, expected, atol=1e-9)
    assert np.isfinite(by_counts(counts, cells, SHRINKAGES[0])).all()
    assert np.isfinite(scored(counts, cells, SHRINKAGES[0])).all()


# -- what is counted ---------------------------------------------------------------------------------------------------


def mixed_table(rows: int = 600, seed: int = 0, missing: float = 0.0):
    """Return numbers and labels whose classes differ in how columns vary together, and the classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    turn = np.random.default_rng(7).normal(size=(3, 3, 3))
    x = np.einsum("nij,nj->ni", turn[y], rng.normal(size=(rows, 3)))
    a = rng.integers(0, 3, rows)
    b = np.where(rng.random(rows) < 0.8, (a + y) % 3, rng.integers(0, 3, rows))
    X = pd.DataFrame(x, columns=["u", "v", "w"]).assign(a=np.array(list("pqr"))[a], b=np.array(list("stu"))[b])
    X["w"] += 2 * (a == 1) * (y - 1)
    return X.mask(rng.random(X.shape) < missing), np.array(["x", "y", "z"])[y]


def test_counts_of_pairs_hold_the_scatter_of_each_class():
    """Products of numbers with numbers and with flags are counted by class: nothing else is needed."""
    X, y = mixed_table()
    nb = nv.NaiveBayes().fit(X, y)
    model = model_of(nb)
    columns = matrices(nb, X)
    normal: NormalScores = model.counts.normal
    x, missing = normal.rows(columns[CELLS])
    assert missing is None
    for k, label in enumerate(model.classes.labels):
        own = x[y == label]
        np.testing.assert_allclose(normal.means[k], own.mean(axis=0), atol=1e-12)
        expected = np.cov(own.T, bias=True) * len(own)
        np.testing.assert_allclose(normal.scatters[k], expected, atol=1e-9 * len(X))


def test_scatters_add_and_subtract_as_counts_do():
    grid, cells, y = drawn(3, (3, 2))
    parts = one_hot(y)
    some = np.arange(len(y)) < 25
    whole, first, rest = (
        counted(grid, cells.take(rows), parts[:, rows]).joint for rows in (np.ones(len(y), bool), some, ~some)
    )
    for joint, expected in ((first + rest, whole), (whole - first, rest)):
        scatters = [TermCounts(one, []).normal.scatters for one in (joint, expected)]
        np.testing.assert_allclose(*scatters, atol=1e-9)


def test_files_and_tables_give_the_same_scatters(tmp_path):
    X, y = mixed_table()
    X.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    models = [nv.NaiveBayes().fit(X, y), nv.NaiveBayes().fit(tmp_path / "t.csv", target="y")]
    of_table, of_file = (model_of(nb).counts.normal.scatters for nb in models)
    np.testing.assert_array_equal(of_table, of_file)


# -- scores ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_tables_hold_what_the_parts_add_up_to(shape, missing):
    """Slopes, constants, products of flags and products with numbers are all of the score."""
    grid, cells, y = drawn(*shape, missing=missing)
    counts = counted(grid, cells, one_hot(y))
    table = QuadraticTable.of(counts, SHRINKAGES[1], 1.0)
    x, first = features(grid, cells), grid.features - table.products.shape[1]
    known = 1 - missing_in(grid, cells)
    scores = x @ table.feature_slopes + known @ table.constants
    flags = x.copy()
    flags[:, grid.features - len(grid.numbers) :] = 0.0
    crossed = np.einsum("rf,kfg,rg->rk", flags[:, first:], table.products, flags[:, first:])
    scores += crossed - flags[:, first:] @ np.einsum("kff->fk", table.products)  # a flag is its own square
    if grid.numbers:
        scores += of_products(table, cells)
    scores -= scores.max(axis=1, keepdims=True)
    np.testing.assert_allclose(scores.T, scored(counts, cells, SHRINKAGES[1]), atol=1e-9)


def test_the_order_of_columns_and_labels_changes_nothing():
    """Not even where values are missing, whose constants are left out."""
    grid, cells, y = drawn(3, (3, 4), missing=0.2)
    turned = Grid(grid.numbers[::-1], tuple(replace(v, labels=v.labels[::-1]) for v in grid.labels[::-1]))
    sizes = np.array([3, 4])
    labels = np.where(cells.codes[:, 3:] >= 0, sizes - 1 - cells.codes[:, 3:], np.int32(-1)).astype(np.int32)
    numbers = np.where(cells.fine < 0, np.nan, cells.level)
    other = turned.encode(numbers[:, ::-1], np.asfortranarray(labels[:, ::-1]))
    ours, theirs = (scored(counted(g, c, one_hot(y)), c, SHRINKAGES[0]) for g, c in ((grid, cells), (turned, other)))
    np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_contrasts_are_at_right_angles_and_add_up_to_0():
    for size in range(5):
        found = contrasts(size)
        np.testing.assert_allclose(found.T @ found, np.eye(max(size - 1, 0)), atol=1e-12)
        np.testing.assert_allclose(found.sum(axis=0), 0.0, atol=1e-12)


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize(("numbers", "classes", "labels"), [(1, 2, ()), (5, 3, (3, 2)), (16, 26, ()), (9, 4, (2, 5))])
def test_a_row_has_the_same_bits_alone_and_among_many(numbers, classes, labels):
    """And the bits are those of the formula, to rounding."""
    grid, cells, y = drawn(numbers, labels, rows=1000, classes=classes, missing=0.1)
    table = QuadraticTable.of(counted(grid, cells, one_hot(y, classes)), SHRINKAGES[0], 0.5)
    found = of_products(table, cells)
    x = features(grid, cells)[:, grid.features - table.products.shape[1] :]
    flags = x.copy()
    flags[:, x.shape[1] - numbers :] = 0.0
    expected = [np.einsum("rf,kfg,rg->rk", part, table.products, part) for part in (x, flags)]
    np.testing.assert_allclose(found, expected[0] - expected[1], atol=1e-9)
    for begin, end in ((0, 1), (3, 4), (7, 12), (100, 117), (991, 1000)):
        np.testing.assert_array_equal(of_products(table, cells.take(slice(begin, end))), found[begin:end])
    np.testing.assert_array_equal(of_products(table, cells, threads=3), found)


def test_products_that_do_not_fit_are_refused():
    numbers, codes, offsets = np.ones((4, 2)), np.zeros((4, 1), np.int32), np.array([0, 3])
    squares, table = np.zeros((2, 16)), np.zeros((3, 8))

    def add(numbers=numbers, codes=codes, offsets=offsets, squares=squares, table=table):
        kernels.Scorer(np.zeros(3)).quadratic(numbers, codes, offsets, squares, table)

    add()
    wrong = [
        {"numbers": np.ones((3, 2))}, {"numbers": np.ones((4, 0))}, {"offsets": np.array([0, 4])},
        {"squares": np.zeros((3, 16))}, {"squares": np.zeros((2, 15))}, {"table": np.zeros((3, 4))},
        {"codes": np.zeros((5, 1), np.int32)},
    ]  # fmt: skip
    for one in wrong:
        with pytest.raises(ValueError, match="must"):
            add(**one)


# -- the whole model ---------------------------------------------------------------------------------------------------


def model_of(nb):
    return nb.fitted_.model


def matrices(nb, X):
    return model_of(nb).read(frame_of(X).on(model_of(nb).schema), 0, len(X), 1)


def log_loss(nb, X, y):
    p = nb.predict_proba(X)
    return -np.log(p[np.arange(len(y)), np.searchsorted(nb.classes_, y)]).mean()


def by_recipe(**changed):
    return type("Variant", (nv.NaiveBayes,), {"_recipe": replace(RECIPE, **changed)})()


@pytest.fixture(scope="module")
def fitted():
    X, y = mixed_table(missing=0.1)
    return X, y, nv.NaiveBayes().fit(X, y)


def test_classes_that_differ_in_covariance_are_told_apart(fitted):
    X, y, nb = fitted
    T, t = mixed_table(4000, seed=1, missing=0.1)
    without = by_recipe(left_out=("normal",)).fit(X, y)
    ours, theirs = (log_loss(one, T, t) for one in (nb, without))
    assert model_of(nb).weights[QUADRATIC] > 0
    assert QUADRATIC not in model_of(without).weights
    assert ours < theirs - 0.03
    assert "all columns at once, with a covariance for each class" in nb.summary()


def test_contributions_add_up_to_the_score(fitted):
    X, _, nb = fitted
    evidence = nb.explain(X.iloc[:50])
    scores = evidence.prior + evidence.scores.sum(axis=1)
    np.testing.assert_allclose(scores, evidence.log_joint, atol=1e-9)
    np.testing.assert_allclose(scores, nb.predict_joint_log_proba(X.iloc[:50]), atol=1e-9)
    assert {"u × v", "u × w", "v × w", "u × a", "a × b"} <= set(evidence.columns)


def test_the_product_of_two_numbers_stands_under_their_pair(fitted):
    """It changes in proportion to either number, beside what the bins of both contribute."""
    _, _, nb = fitted
    table = model_of(nb).tables.quadratic
    place = table.products.shape[1] - 3
    row = pd.DataFrame({"u": [0.7], "v": [-0.4], "w": [np.nan], "a": [None], "b": [None]})
    cells = matrices(nb, row)[CELLS]
    found = dict(table.contributions(cells))
    level = cells.level[0]
    np.testing.assert_allclose(found[0, 1][0], 2 * table.products[:, place, place + 1] * level[0] * level[1])
    np.testing.assert_allclose(found[1, 1][0], table.products[:, place + 1, place + 1] * level[1] ** 2)
    assert not found[0, 2].any()


def test_a_row_without_values_gets_the_prior(fitted):
    _, _, nb = fitted
    empty = pd.DataFrame({"u": [np.nan], "v": [np.nan], "w": [np.nan], "a": [None], "b": [None]})
    evidence = nb.explain(empty)
    assert not evidence.scores.any()


def test_a_missing_value_contributes_nothing(fitted):
    X, _, nb = fitted
    evidence = nb.explain(X.iloc[:80].assign(u=np.nan))
    of = [at for at, name in enumerate(evidence.columns) if name == "u" or "u ×" in name]
    assert len(of) == 5
    assert not evidence.scores[:, of].any()


def test_the_term_is_saved_and_loaded(fitted, tmp_path):
    X, _, nb = fitted
    nb.save(tmp_path / "m.parquet")
    again = nv.load(tmp_path / "m.parquet")
    fit = model_of(again).fit
    assert fit.ridges[ALPHA] in RECIPE.quadratic_alphas
    assert fit.ridges[RIDGE] in RECIPE.quadratic_ridges
    np.testing.assert_array_equal(again.predict_proba(X), nb.predict_proba(X))


def test_a_term_without_weight_costs_nothing():
    """Where all columns are noise, nothing is computed or held for the term."""
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("uvw")), rng.integers(0, 2, 300)
    model = model_of(nv.NaiveBayes().fit(X, y))
    assert QUADRATIC not in model.weights
    assert model.tables.quadratic is None
    assert CELLS not in model.scorer.terms


def test_beyond_a_limit_there_is_no_term():
    grid, cells, y = drawn(3, (3, 2))
    counts = counted(grid, cells, one_hot(y))
    assert counts.normal.by_class  # 6 directions, 3 classes
    for limit in ({"quadratic_features": 5}, {"quadratic_cells": 107}):
        less = replace(counts, recipe=replace(RECIPE, **limit)).normal
        assert not less.by_class
        # The linear scores are the same: they need the scatter within all classes alone.
        for one, other in zip(counts.normal.linear_parts(1.0), less.linear_parts(1.0), strict=True):
            np.testing.assert_allclose(*((0.0, 0.0) if one is None else (one, other)), atol=1e-9)
    X, t = mixed_table()
    model = model_of(by_recipe(quadratic_features=6).fit(X, t))  # 3 numbers, and 2 labels twice
    assert QUADRATIC not in model.weights
    assert ALPHA not in model.fit.ridges


def test_rows_answered_in_folds_are_near_the_answers_for_other_rows(fitted):
    """Of the rows themselves the model would promise more."""
    X, y, nb = fitted
    T, t = mixed_table(4000, seed=1, missing=0.1)
    left = nb.leave_one_out(X, y)
    fresh, own = (log_loss(nb, a, b) for a, b in ((T, t), (X, y)))
    assert abs(left.log_loss - fresh) < 0.06
    assert own < left.log_loss


def test_models_without_rows_merge_with_the_term(fitted, tmp_path):
    X, y, nb = fitted
    for half in (0, 1):
        nv.NaiveBayes().fit(X[half::2], y[half::2]).save(tmp_path / f"{half}.parquet")
    with pytest.warns(nv.errors.CombinedWeightsWarning):
        whole = nv.merge([nv.load(tmp_path / f"{half}.parquet") for half in (0, 1)])
    assert model_of(whole).weights[QUADRATIC] > 0
    T, t = mixed_table(4000, seed=1, missing=0.1)
    assert log_loss(whole, T, t) < log_loss(nb, T, t) + 0.05
