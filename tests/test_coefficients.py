"""Coefficients of values and pairs: a fit ends at the optimum, they are used where they gain, and files keep them."""

from __future__ import annotations

import pickle
from base64 import b64decode, b64encode
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naively.data.grid import Cells, Grid, LabelValues, NumberBins
from naively.model.joint.coefficients import COEFFICIENTS, NO_CLASS, CellLayout, CoefficientRows, Coefficients
from naively.model.joint.sample import FittingRows, SoftRows, deal_out
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_softmax, softmax

import naively as nv
from naively import _kernels as kernels
from naively.errors import UnreadableFile
from naively.families.family import padded
from naively.model.recipe import RECIPE

from .test_store import reforged

# -- the kernels -------------------------------------------------------------------------------------------------------


class Problem:
    """A small problem, and its loss by NumPy: numbers with runs of bins, labels, a bias, and cells that are missing."""

    def __init__(self, rows=60, classes=3, runs=(4, 3), labels=(3,), seed=0):
        rng = np.random.default_rng(seed)
        sizes = [*runs, *labels, 1]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        self.classes, self.size = classes, int(starts[-1])
        cells = np.stack([start + rng.integers(0, size, rows) for start, size in zip(starts, sizes, strict=False)], 1)
        cells[rng.random(cells.shape) < 0.05] = self.size
        self.cells = cells.astype(np.int32)
        self.scores = padded(rng.normal(size=(rows, classes)))
        self.scores[:, classes:] = NO_CLASS
        truth = np.eye(classes)[rng.integers(0, classes, rows)]
        truth[::7] = rng.dirichlet(np.ones(classes), len(truth[::7]))
        self.truth, self.weights = padded(truth), rng.random(rows) * 2
        self.ends = np.array([(starts[at], starts[at + 1]) for at in range(len(runs))], dtype=np.int64).reshape(-1, 2)
        self.near, self.positions = np.zeros(self.size), np.zeros(self.size)
        for begin, end in self.ends:
            self.near[begin : end - 1] = 0.5
            self.positions[begin:end] = np.linspace(-1.5, 1.5, end - begin)
        self.pulls = 0.05 + rng.random(self.size + len(runs))
        self.shape = len(self.pulls), self.scores.shape[1]

    @property
    def rows(self):
        """The rows as the kernels take them."""
        return self.cells, self.scores, self.truth, self.weights

    def table(self, v):
        """Return the offsets of parameters, and after the last a line of zeros."""
        out = np.vstack([v[: self.size], np.zeros((1, v.shape[1]))])
        for slope, (begin, end) in zip(v[self.size :], self.ends, strict=True):
            out[begin:end] += self.positions[begin:end, None] * slope
        return out

    def loss(self, table):
        """Return the log loss of the rows."""
        logs = log_softmax((self.scores + table[self.cells].sum(axis=1))[:, : self.classes], axis=1)
        return -float(self.weights @ (self.truth[:, : self.classes] * logs).sum(axis=1))

    def penalized(self, flat):
        """Return the loss with its penalty, and its slope in each parameter, of classes alone."""
        v = np.zeros(self.shape)
        v[:, : self.classes] = flat.reshape(-1, self.classes)
        table = self.table(v)
        p = softmax(self.scores + table[self.cells].sum(axis=1), axis=1)
        error, of_cells = (p - self.truth) * self.weights[:, None], np.zeros((self.size + 1, self.shape[1]))
        for column in self.cells.T:
            np.add.at(of_cells, column, error)
        slope = self.pulls[:, None] * v
        slope[: self.size] += of_cells[:-1]
        for at, (begin, end) in enumerate(self.ends, self.size):
            slope[at] += self.positions[begin:end] @ of_cells[begin:end]
        apart = np.diff(v[: self.size], axis=0) * self.near[:-1, None]
        slope[1 : self.size] += apart
        slope[: self.size - 1] -= apart
        pull = self.pulls @ (v**2).sum(axis=1) + (apart * np.diff(v[: self.size], axis=0)).sum()
        return self.loss(table) + 0.5 * pull, slope[:, : self.classes].ravel()

    def fitted(self, evaluations=2000, tolerance=1e-14, threads=1):
        """Return the parameters that the kernel finds."""
        v, steps = np.zeros(self.shape), np.full(self.shape, 0.1)
        about = self.pulls, self.near, self.ends, self.positions, steps, evaluations, tolerance, 10
        kernels.fit_offsets(*self.rows, *about, v, threads)
        return v


SMALL = {
    "numbers and labels": {},
    "two classes": {"classes": 2, "seed": 1},
    "nine classes": {"classes": 9, "seed": 2},
    "no numbers": {"runs": (), "labels": (2, 5), "seed": 3},
    "one number": {"runs": (12,), "labels": (), "seed": 4},
    "one row": {"rows": 1, "seed": 5},
    "many rows": {"rows": 3000, "runs": (20, 9), "labels": (6, 2), "seed": 6},
}
problems = pytest.mark.parametrize("name", SMALL)


@problems
def test_the_loss_is_that_of_numpy(name, level):
    problem = Problem(**SMALL[name])
    table = padded(np.random.default_rng(0).normal(size=(problem.size + 1, problem.classes)))
    assert kernels.offset_loss(*problem.rows, table, None) == pytest.approx(problem.loss(table), rel=1e-12)


@problems
def test_the_slope_is_a_numeric_gradient(name, level):
    problem = Problem(**SMALL[name] | {"rows": min(SMALL[name].get("rows", 30), 30)})
    classes, size = problem.classes, problem.size + 1
    at = np.random.default_rng(1).normal(size=(size, classes))
    slope = np.zeros((size, problem.shape[1]))
    kernels.offset_loss(*problem.rows, padded(at), slope)

    def loss(flat):
        return problem.loss(padded(flat.reshape(size, classes)))

    h = 1e-5
    steps = h * np.eye(at.size)
    numeric = [(loss(at.ravel() + step) - loss(at.ravel() - step)) / (2 * h) for step in steps]
    assert_allclose(slope[:, :classes].ravel(), numeric, rtol=0, atol=1e-7)
    assert not slope[:, classes:].any()


def test_the_slope_is_added():
    problem = Problem()
    table = np.zeros((problem.size + 1, problem.shape[1]))
    once, twice = np.zeros_like(table), np.ones_like(table)
    kernels.offset_loss(*problem.rows, table, once)
    kernels.offset_loss(*problem.rows, table, twice)
    assert_allclose(twice - 1, once, rtol=0, atol=1e-12)


def test_the_reference_has_the_slope_of_its_loss():
    """What the kernel is compared with below is right itself."""
    problem = Problem(rows=20)
    at = np.random.default_rng(0).normal(size=problem.shape[0] * problem.classes)
    numeric = approx_fprime(at, lambda flat: problem.penalized(flat)[0], 1e-7)
    assert_allclose(problem.penalized(at)[1], numeric, rtol=0, atol=1e-4)


@problems
def test_a_fit_ends_where_scipy_ends(name, level):
    problem = Problem(**SMALL[name])
    v = problem.fitted()
    start = np.zeros(problem.shape[0] * problem.classes)
    best = minimize(problem.penalized, start, jac=True, method="L-BFGS-B", options={"maxiter": 5000, "gtol": 1e-9})
    found, slope = problem.penalized(v[:, : problem.classes].ravel())
    assert found == pytest.approx(best.fun, rel=1e-6)
    assert np.abs(slope).max() < 1e-3
    assert not v[:, problem.classes :].any()  # lines are filled up with classes that are not there


def test_a_fit_from_its_end_stays_there():
    problem = Problem()
    v = problem.fitted()
    again, steps = v.copy(), np.full(problem.shape, 0.1)
    about = problem.pulls, problem.near, problem.ends, problem.positions, steps, 100, 1e-9, 10
    kernels.fit_offsets(*problem.rows, *about, again)
    assert_allclose(again, v, rtol=0, atol=1e-5)


def test_evaluations_are_limited():
    problem = Problem()
    assert not problem.fitted(evaluations=1).any()
    losses = [problem.penalized(problem.fitted(n)[:, :3].ravel())[0] for n in (1, 3, 6, 2000)]
    assert losses == sorted(losses, reverse=True)


def test_threads_do_not_change_a_bit(level):
    problem = Problem(rows=40_000, runs=(30, 10), labels=(7, 7), seed=7)
    assert problem.cells.size * 4 > 8 * (1 << 16)  # enough for several threads
    one, three = (problem.fitted(20, threads=threads) for threads in (1, 3))
    assert one.any()
    assert_array_equal(one, three)
    slopes = [np.zeros((problem.size + 1, 4)) for _ in range(2)]
    table = padded(np.random.default_rng(0).normal(size=(problem.size + 1, 3)))
    losses = [kernels.offset_loss(*problem.rows, table, s, n) for s, n in zip(slopes, (1, 3), strict=True)]
    assert losses[0] == losses[1]
    assert_array_equal(*slopes)


WRONG = {
    "a cell beyond": ("cells", lambda p: np.full_like(p.cells, p.size + 1), "A cell has no offset"),
    "a negative cell": ("cells", lambda p: np.full_like(p.cells, -1), "A cell has no offset"),
    "cells of fewer rows": ("cells", lambda p: p.cells[1:], "Scores and truth must be"),
    "scores that are not padded": ("scores", lambda p: np.ascontiguousarray(p.scores[:, :3]), "multiple of four"),
    "scores of fewer rows": ("scores", lambda p: p.scores[1:], "Scores and truth must be"),
    "truth of other classes": ("truth", lambda p: np.zeros((len(p.cells), 8)), "Scores and truth must be"),
    "too few weights": ("weights", lambda p: p.weights[1:], "a weight for each row"),
}
WRONG_FITS = {
    "too few pulls": ("pulls", lambda p: p.pulls[1:], "a pull for each offset"),
    "too few neighbors": ("near", lambda p: p.near[1:], "a pull for each offset"),
    "a run beyond": ("ends", lambda p: p.ends + p.size, "A run lies outside"),
    "a run backwards": ("ends", lambda p: np.ascontiguousarray(p.ends[:, ::-1]), "A run lies outside"),
    "a run before the first": ("ends", lambda p: p.ends - 1, "A run lies outside"),
    "runs of one end": ("ends", lambda p: np.ascontiguousarray(p.ends[:, :1]), "a pull for each offset"),
    "parameters of other classes": ("start", lambda p: np.zeros((p.shape[0], 8)), "Parameters and steps"),
    "too few parameters": ("start", lambda p: np.zeros((p.shape[0] - 1, p.shape[1])), "Parameters and steps"),
    "steps of other classes": ("steps", lambda p: np.zeros((p.shape[0], 8)), "Parameters and steps"),
    "no evaluation": ("evaluations", lambda _: 0, "There must be an evaluation"),
    "nothing to remember": ("memory", lambda _: 0, "a step to remember"),
}


@pytest.mark.parametrize("name", [*WRONG, *WRONG_FITS])
def test_the_kernels_refuse_wrong_shapes(name):
    problem = Problem()
    given = {"cells": problem.cells, "scores": problem.scores, "truth": problem.truth, "weights": problem.weights}
    about = {"pulls": problem.pulls, "near": problem.near, "ends": problem.ends, "positions": problem.positions}
    about |= {"steps": np.ones(problem.shape), "evaluations": 5, "tolerance": 1e-9, "memory": 5}
    about |= {"start": np.zeros(problem.shape)}
    key, change, words = (WRONG | WRONG_FITS)[name]
    kernels.fit_offsets(*given.values(), *about.values())
    parts = [part | ({key: change(problem)} if key in part else {}) for part in (given, about)]
    with pytest.raises(ValueError, match=words):
        kernels.fit_offsets(*parts[0].values(), *parts[1].values())
    if name in WRONG:
        with pytest.raises(ValueError, match=words):
            kernels.offset_loss(*parts[0].values(), np.zeros((problem.size + 1, problem.shape[1])), None)


@pytest.mark.parametrize("shape", [(0, 4), (8, 8), (12, 4)])
def test_a_slope_of_another_shape_is_refused(shape):
    problem = Problem()
    table = np.zeros((problem.size + 1, problem.shape[1]))
    with pytest.raises(ValueError, match="slope"):
        kernels.offset_loss(*problem.rows, table, np.zeros((problem.size + shape[0] - 8, shape[1])))


# -- cells and counts --------------------------------------------------------------------------------------------------

BINS = {"cuts": (-1.0, 0.0, 1.0), "coarse": (0, 0, 1, 2), "wider": (0, 1, 1, 2), "rough": (0, 0, 1)}
BINS |= {"middles": (-2.0, -0.5, 0.5, 2.0), "low": -9.0, "high": 9.0, "center": 0.0, "scale": 1.0}


@st.composite
def samples(draw):
    """Draw rows on a grid, and the proportions of the classes of each."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    numbers, labels = draw(st.integers(0, 3)), draw(st.lists(st.integers(1, 4), max_size=3))
    rows, classes = draw(st.integers(1, 40)), draw(st.integers(2, 4))
    grid = Grid(
        tuple(NumberBins(f"n{at}", **BINS) for at in range(numbers)),
        tuple(LabelValues(f"l{at}", tuple(range(size))) for at, size in enumerate(labels)),
    )
    x = rng.normal(size=(rows, numbers)) * 1.5
    codes = np.array([rng.integers(0, size, rows) for size in labels], dtype=np.int32).reshape(len(labels), rows).T
    if draw(st.booleans()):
        x[rng.random(x.shape) < 0.2] = np.nan
        codes = np.where(rng.random(codes.shape) < 0.2, np.int32(-1), codes)
    found = grid.encode(x, np.ascontiguousarray(codes))
    cells = Cells(found.fine, found.codes, found.level.reshape(rows, numbers))
    truth = np.eye(classes)[rng.integers(0, classes, rows)]
    if draw(st.booleans()):
        truth[::3] = rng.dirichlet(np.ones(classes), len(truth[::3]))
    weights = rng.random(rows) * 3 if draw(st.booleans()) else rng.integers(1, 4, rows).astype(float)
    y, soft = truth.argmax(axis=1).astype(np.int32), SoftRows.of(np.ascontiguousarray(truth.T))
    sample = FittingRows(np.ascontiguousarray(codes), cells, y, weights, {}, soft=soft)
    return grid, sample, truth


@settings(max_examples=20, deadline=None)
@given(samples())
def test_a_row_has_the_coefficients_of_its_values_and_of_its_pairs_of_values(drawn):
    """Each is read from the table of its column, or pair, by code; a missing value has none."""
    grid, sample, truth = drawn
    columns, numbers, cells, classes = len(grid.names), len(grid.numbers), sample.cells, truth.shape[1]
    pairs = tuple((i, j) for i in range(columns) for j in range(i + 1, columns))[:3]
    layout = CellLayout(grid, pairs)
    found = Coefficients(pairs, np.random.default_rng(0).normal(size=(layout.size, classes)), 1.0)
    assert found.fits(grid)
    expected = np.tile(found.bias(), (len(cells), 1))
    for at, table in found.columns(grid):
        codes = cells.fine[:, at] if at < numbers else cells.codes[:, at]
        expected += np.vstack([table, np.zeros((1, classes))])[codes]  # -1 finds the last
    for (i, j), table in found.of_pairs(grid):
        there = (cells.codes[:, i] >= 0) & (cells.codes[:, j] >= 0)
        expected[there] += table[cells.codes[there, i], cells.codes[there, j]]
    losses = -(truth * log_softmax(expected, axis=1)).sum(axis=1)
    rows = CoefficientRows.of(layout.places(cells), np.zeros((classes, len(cells))), truth, sample.weights)
    assert_allclose(rows.losses(found.table), losses, atol=1e-9)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.integers(2, 12))
def test_every_fold_has_its_share_of_rows_and_of_every_class(classes, number):
    y = np.array(classes, dtype=np.int32)
    order, folds = deal_out(y, number)
    assert sorted(order.tolist()) == list(range(len(y)))
    assert [fold.start for fold in folds] == [0, *(fold.stop for fold in folds[:-1])]
    assert folds[-1].stop == len(y)
    for label in range(4):
        sizes = [int((y[order[fold]] == label).sum()) for fold in folds]
        assert max(sizes) - min(sizes) <= 1
    assert max(f.stop - f.start for f in folds) - min(f.stop - f.start for f in folds) <= 1


@settings(max_examples=20, deadline=None)
@given(samples())
def test_coefficients_in_json_are_the_same(drawn):
    table = np.random.default_rng(0).normal(size=(CellLayout(drawn[0], ()).size, 3)).astype(np.float32)
    twin = Coefficients.from_json(Coefficients((), table.astype(np.float64), 0.1).to_json(), 3)
    assert_array_equal(twin.table, table)
    assert (twin.pairs, twin.ridge) == ((), 0.1)


# -- whole numbers -----------------------------------------------------------------------------------------------------


def frame(x):
    return pd.DataFrame(x, columns=list("abcde")[: x.shape[1]])


def balance():
    """Return all 625 balance scales, and on which side they fall."""
    x = np.array(np.meshgrid(*[np.arange(1, 6)] * 4)).reshape(4, -1).T
    return frame(x), np.sign(x[:, 0] * x[:, 1] - x[:, 2] * x[:, 3])


def sums(rows, rng):
    x = rng.integers(0, 10, (rows, 5))
    return frame(x), (x.sum(axis=1) > 22).astype(int)


def weighted_sums(rows, rng):
    x = rng.integers(0, 10, (rows, 5))
    total = x @ np.array([1, 2, 3, 4, 5])
    return frame(x), (total > 55).astype(int) + (total > 80)


def sums_of_logs(rows, rng):
    x = rng.integers(1, 11, (rows, 4))
    logs = np.log(x)
    return frame(x), (logs[:, 0] + logs[:, 1] > logs[:, 2] + logs[:, 3]).astype(int)


def labels_and_numbers(rows, rng):
    """Return the same with two columns of labels."""
    x = rng.integers(0, 10, (rows, 5))
    X = frame(x).assign(a=[f"a{v}" for v in x[:, 0]], b=[f"b{v}" for v in x[:, 1]])
    return X, (x @ np.array([5, 4, 3, 2, 1]) > 68).astype(int)


def agreements(rows, rng):
    """Return labels of which two of three pairs must be equal."""
    x = rng.integers(0, 3, (rows, 6))
    same = x[:, ::2] == x[:, 1::2]
    return pd.DataFrame(x).add_prefix("c").astype(str), (same @ np.array([2, 2, 1]) > 2).astype(int)


MADE = {
    "a sum, 300 rows": (sums, 300),
    "a sum, 1,000 rows": (sums, 1000),
    "a weighted sum": (weighted_sums, 1000),
    "sums of logs": (sums_of_logs, 1000),
    "labels": (labels_and_numbers, 1000),
    "pairs that agree": (agreements, 600),
}
WithoutCoefficients = type(
    "WithoutCoefficients", (nv.NaiveBayes,), {"_recipe": replace(RECIPE, left_out=(COEFFICIENTS,))}
)


def drawn_rows(name, seed=0, new=2000):
    """Return rows to fit, and new ones."""
    draw, rows = MADE[name]
    rng = np.random.default_rng(seed)
    return draw(rows, rng), draw(new, rng)


def coefficients_of(nb):
    """Return the coefficients that a model uses; None if there are none."""
    learned = nb.tuning_.learned
    return None if learned is None else learned.coefficients


def log_loss(nb, X, y):
    """Return the mean log loss of rows; the classes are their own places."""
    return -nb.predict_log_proba(X)[np.arange(len(y)), y].mean()


@pytest.fixture(scope="module", params=MADE)
def made(request):
    """Return a model with coefficients, its rows, and new ones."""
    (X, y), new = drawn_rows(request.param)
    nb = nv.NaiveBayes().fit(X, y)
    assert coefficients_of(nb) is not None
    return nb, (X, y), new


def test_comparisons_of_sums_are_learned(made):
    """At least 97 % of new rows are right, fewer without coefficients; 98.0 to 100 % and 96.0 to 99.5 % were seen."""
    nb, rows, (X, y) = made
    accuracy = (nb.predict(X) == y).mean()
    without = WithoutCoefficients().fit(*rows)
    assert coefficients_of(without) is None
    assert accuracy >= 0.97
    assert accuracy > (without.predict(X) == y).mean()
    assert log_loss(nb, X, y) < log_loss(without, X, y)


def test_compared_products_are_learned():
    """Balance scales in five folds: at least 97 % right, less without coefficients; 97.9 % and 90.2 % were seen."""
    X, y = balance()
    fold = np.random.default_rng(0).permutation(len(y)) % 5
    right = {}
    for kind in (nv.NaiveBayes, WithoutCoefficients):
        found = [kind().fit(X[fold != k], y[fold != k]).predict(X[fold == k]) == y[fold == k] for k in range(5)]
        right[kind] = np.concatenate(found).mean()
    assert right[nv.NaiveBayes] >= 0.97
    assert right[WithoutCoefficients] < 0.95


# -- the gate ----------------------------------------------------------------------------------------------------------


def chance(rows, rng):
    return rng.integers(0, 8, (rows, 5)), rng.integers(0, 3, rows)


def naive_numbers(rows, rng):
    y = rng.integers(0, 2, rows)
    return rng.binomial(9, np.where(y == 1, 0.6, 0.4)[:, None], (rows, 5)), y


def naive_labels(rows, rng):
    y = rng.integers(0, 2, rows)
    x = np.where(rng.random((rows, 4)) < 0.6, 2 * y[:, None], rng.integers(0, 4, (rows, 4)))
    return frame(x).astype(str), y


@pytest.mark.parametrize("rows", [200, 600, 1500])
@pytest.mark.parametrize("draw", [chance, naive_numbers, naive_labels])
def test_hardly_any_coefficients_are_used_where_there_is_nothing_to_gain(draw, rows):
    """Where classes are drawn at random, and where columns are independent within a class.

    A fall of the loss of more than one nat and one standard error happens by chance: in 3 of 90 such fits of 200 and
    600 rows, which raised the loss of new rows by 0.009 to 0.023.
    """
    used = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = draw(rows, rng)
        nb = nv.NaiveBayes().fit(X, y)
        assert ("coefficients" in nb.summary()) == (coefficients_of(nb) is not None)
        if coefficients_of(nb) is not None:
            used += 1
            new, truth = draw(4000, rng)
            assert log_loss(nb, new, truth) < log_loss(WithoutCoefficients().fit(X, y), new, truth) + 0.03
    assert used <= 1


def test_the_summary_names_coefficients_and_the_loss_with_them(made):
    nb, _, _ = made
    assert f"coefficients: of values{' and' if coefficients_of(nb).pairs else ' ('}" in nb.summary()
    line = next(line for line in nb.summary().splitlines() if "log loss of held-out rows" in line)
    assert line.endswith(("with coefficients of values", "with coefficients of pairs"))
    losses = list(nb.tuning_.learned.loss.values())
    assert losses[-1] < losses[-2]


# -- explanations ------------------------------------------------------------------------------------------------------


def test_contributions_add_up_to_the_score(made):
    nb, _, (X, _) = made
    evidence = nb.explain(X[:200])
    assert_allclose(evidence.log_joint, nb.predict_joint_log_proba(X[:200]), rtol=0, atol=1e-9)
    lines = evidence.frame().groupby("row")[[f"score of {label}" for label in nb.classes_]].sum().to_numpy()
    assert_allclose(lines, evidence.log_joint, rtol=0, atol=1e-9)


def test_pairs_with_coefficients_are_among_the_contributions():
    (X, y), (new, _) = drawn_rows("pairs that agree")
    nb = nv.NaiveBayes().fit(X, y)
    assert coefficients_of(nb).pairs == ((0, 1), (2, 3), (4, 5))
    assert {"c0 × c1", "c2 × c3", "c4 × c5"} <= set(nb.explain(new[:5]).columns)


def test_a_missing_value_contributes_nothing(made):
    nb, _, (X, _) = made
    X, first, third = X[:50].copy(), X.columns[0], X.columns[2]
    X[third] = np.nan
    X[first] = None
    evidence = nb.explain(X)
    gone = [at for at, name in enumerate(evidence.columns) if {first, third} & set(name.split(" × "))]
    assert len(gone) >= 2
    assert not evidence.scores[:, gone].any()
    assert_allclose(evidence.log_joint, nb.predict_joint_log_proba(X), rtol=0, atol=1e-9)


def test_one_row_is_answered_as_among_many(made):
    nb, _, (X, _) = made
    many = nb.predict_proba(X[:20])
    for at in range(20):
        assert_allclose(nb.predict_proba(X.iloc[at].to_dict())[0], many[at], rtol=0, atol=1e-12)


# -- files -------------------------------------------------------------------------------------------------------------


def test_a_saved_model_answers_the_same_bits(made, tmp_path):
    nb, _, (X, _) = made
    nb.save(tmp_path / "model.parquet")
    twin = nv.load(tmp_path / "model.parquet")
    assert_array_equal(twin.predict_proba(X), nb.predict_proba(X))
    assert_array_equal(coefficients_of(twin).table, coefficients_of(nb).table)


def test_a_pickle_answers_the_same_bits(made):
    nb, _, (X, _) = made
    assert_array_equal(pickle.loads(pickle.dumps(nb)).predict_proba(X), nb.predict_proba(X))


def change_table(coefficients, change):
    """Put another table in the place of that of a file."""
    table = np.frombuffer(b64decode(coefficients["table"]), dtype="<f4").reshape(-1, 2)
    coefficients["table"] = b64encode(change(table.copy()).astype("<f4").tobytes()).decode()


def with_nan(table):
    table[0, 0] = np.nan
    return table


DAMAGE = {
    "a cell too few": lambda found: change_table(found, lambda table: table[1:]),
    "a cell too many": lambda found: change_table(found, lambda table: np.concatenate([table, table[:1]])),
    "half a cell": lambda found: change_table(found, lambda table: table.ravel()[1:]),
    "no cell": lambda found: change_table(found, lambda table: table[:0]),
    "no number": lambda found: change_table(found, with_nan),
    "a pair too many": lambda found: found["pairs"].append([0, 2]),
    "a pair of no columns": lambda found: found["pairs"].append([0, 99]),
    "a pair of three": lambda found: found["pairs"].append([0, 1, 2]),
    "no text of base 64": lambda found: found.update(table="!"),
    "no table": lambda found: found.pop("table"),
    "no ridge": lambda found: found.pop("ridge"),
}


@pytest.fixture(scope="module")
def in_a_file(tmp_path_factory):
    """Return the bytes of a model with coefficients of values and of pairs, and what it answers."""
    path = tmp_path_factory.mktemp("coefficients") / "model.parquet"
    (X, y), (new, _) = drawn_rows("pairs that agree")
    nb = nv.NaiveBayes().fit(X, y)
    nb.save(path)
    return path.read_bytes(), new, nb.predict_proba(new)


@pytest.mark.parametrize("name", DAMAGE)
def test_a_file_whose_coefficients_are_damaged_is_refused(in_a_file, tmp_path, name):
    path = tmp_path / "model.parquet"
    path.write_bytes(in_a_file[0])
    reforged(path, said=lambda said: DAMAGE[name](said["about"]["tuning"]["learned"]["coefficients"]))
    with pytest.raises(UnreadableFile, match="fit the model again"):
        nv.load(path)


def test_a_file_that_is_written_anew_with_its_coefficients_is_read(in_a_file, tmp_path):
    data, new, answers = in_a_file
    path = tmp_path / "model.parquet"
    path.write_bytes(data)
    reforged(path, said=lambda said: change_table(said["about"]["tuning"]["learned"]["coefficients"], np.copy))
    assert_array_equal(nv.load(path).predict_proba(new), answers)


# -- what is promised --------------------------------------------------------------------------------------------------


def test_the_stated_loss_is_near_that_of_new_rows():
    """Coefficients without a fold are fitted to fewer rows, so that it is rather too large."""
    found = []
    for seed in range(3):
        (X, y), (new, truth) = drawn_rows("a weighted sum", seed)
        nb = nv.NaiveBayes().fit(X, y)
        assert coefficients_of(nb) is not None
        found.append((nb.tuning_.loss_after, log_loss(nb, new, truth)))
    held, fresh = np.sum(found, axis=0)
    assert 0.8 < held / fresh < 1.6


# -- rows that come and go ---------------------------------------------------------------------------------------------


def test_batches_are_one_fit(made):
    nb, (X, y), (new, _) = made
    part = nv.NaiveBayes().fit(X[: len(X) // 2], y[: len(y) // 2])
    for begin in range(len(X) // 2, len(X), len(X) // 4):
        part.partial_fit(X[begin : begin + len(X) // 4], y[begin : begin + len(X) // 4])
    assert_allclose(part.predict_proba(new), nb.predict_proba(new), rtol=0, atol=1e-9)
    assert coefficients_of(part) is not None


def test_merged_halves_are_one_fit(made):
    nb, (X, y), (new, _) = made
    halves = [nv.NaiveBayes().fit(X[at::2], y[at::2]) for at in range(2)]
    assert_allclose(nv.merge(halves).predict_proba(new), nb.predict_proba(new), rtol=0, atol=1e-9)


def test_to_forget_rows_is_a_fit_of_the_rest(made):
    _, (X, y), (new, _) = made
    gone = np.arange(len(X)) % 4 == 0
    rest = nv.NaiveBayes().fit(X[~gone], y[~gone])
    assert coefficients_of(rest) is not None
    nb = nv.NaiveBayes().fit(X, y).forget(X[gone], y[gone])
    assert_allclose(nb.predict_proba(new), rest.predict_proba(new), rtol=0, atol=1e-9)


def test_the_order_of_rows_is_of_no_account(made):
    """Not by a bit: a fit that has not converged would let the rounding of sums grow."""
    nb, (X, y), (new, _) = made
    order = np.random.default_rng(5).permutation(len(X))
    other = nv.NaiveBayes().fit(X.iloc[order], y[order])
    assert_array_equal(other.predict_proba(new), nb.predict_proba(new))


@pytest.mark.filterwarnings("ignore::naively.StaleWarning")
def test_coefficients_of_labels_that_were_forgotten_without_the_rows_are_dropped(tmp_path):
    """The coefficients of other labels must not be read in their place: what is left predicts as weights alone do."""
    (X, y), (new, truth) = drawn_rows("labels")
    nb = nv.NaiveBayes().fit(X, y)
    nb.save(tmp_path / "model.parquet")
    alone, gone = nv.load(tmp_path / "model.parquet"), (X["a"] == "a3").to_numpy()
    alone.forget(X[gone], y[gone])
    assert coefficients_of(alone) is None
    assert "coefficients" not in alone.summary()
    without = WithoutCoefficients().fit(X, y)
    without.save(tmp_path / "without.parquet")
    weights = nv.load(tmp_path / "without.parquet").forget(X[gone], y[gone])
    assert_allclose(alone.predict_proba(new), weights.predict_proba(new), rtol=0, atol=1e-12)
    kept = nv.load(tmp_path / "model.parquet").forget(X[:5], y[:5])  # no label goes with them
    assert coefficients_of(kept) is not None
    assert (kept.predict(new) == truth).mean() > 0.97


@pytest.mark.filterwarnings("ignore::naively.CombinedWeightsWarning")
def test_models_merged_without_rows_report_the_loss_of_their_weights(tmp_path):
    """Coefficients are of no use beside other rows: neither they nor the loss with them go into the whole."""
    X, y = drawn_rows("labels")[1]
    parts = []
    for at, name in enumerate(["first", "second"]):
        half = nv.NaiveBayes().fit(X[at::2], y[at::2])
        assert coefficients_of(half) is not None
        half.save(tmp_path / f"{name}.parquet")
        parts.append(nv.load(tmp_path / f"{name}.parquet"))
    losses = [list(part.tuning_.learned.loss.values())[-2] for part in parts]
    whole = nv.merge(parts)
    assert coefficients_of(whole) is None
    assert whole.tuning_.learned.loss["the weights of each part"] == pytest.approx(np.mean(losses), rel=1e-6)
