"""Terms of the default model: each is what its formula says, in tables and for rows scored without their fold."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from naively import _kernels as kernels
from naively._threads import shared_threads
from naively.model.default.coefficients import CellLayout, Problem, State
from naively.model.default.normal import (
    COMPONENTS,
    QUADRATIC,
    RIDGE,
    SHRINKAGE,
    NormalRows,
    chosen_settings,
    cross_terms,
)
from naively.model.default.pairs import PAIRS, PairColumns, cross_pairs
from naively.model.default.rows import CrossFit, Term
from naively.model.default.values import cross_values
from naively.model.default.weights import Candidates
from naively.model.recipe import RECIPE

from .fitting_cases import cases, drawn_case, scores_by, some_rows, tables_of

SETTINGS = {RIDGE: 10.0, COMPONENTS: 3.0, SHRINKAGE: 0.3}
thorough = settings(max_examples=40, deadline=None)
RNG = np.random.default_rng


def settings_of(case):
    """Return the settings of linear and quadratic terms, as far as a table has directions."""
    sizes = case.cross.counts.features.sizes()
    return {RIDGE: 10.0} | ({COMPONENTS: float(sizes[-1]), SHRINKAGE: 0.3} if sizes else {})


def cross_fitted(case, normal=True):
    """Return all terms by counts without folds, and pairs given even probabilities, [class, row]."""
    cross, counts = case.cross, case.cross.counts
    terms = cross_values(cross, counts.layout.cells_of(case.rows))
    terms[PAIRS] = cross_pairs(cross, PairColumns.of(counts), even(case))[0]
    if normal and counts.features.size:
        cross = replace(cross, settings=settings_of(case))
        terms |= cross_terms(cross, NormalRows(counts.features, case.rows))
    return terms


def even(case):
    """Return equal probabilities of all classes, [class, row]."""
    return np.full((case.classes, len(case.rows)), 1 / case.classes)


def centered(scores):
    """Return scores [class, row] less what all classes share."""
    return scores - scores.mean(axis=0)


# -- rows without their fold -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("level")
@thorough
@given(cases())
def test_rows_are_scored_as_by_a_model_that_was_counted_without_their_fold(case):
    """Terms by the kernels of cross-fitting are those of tables that were made of the other rows alone."""
    found, by = cross_fitted(case), settings_of(case)
    for fold, counts in case.counts_without_folds():
        rows = some_rows(case.rows, fold)
        for term, values in found.items():
            expected = scores_by(tables_of(counts, {term: 1.0}, by), rows).T
            assert_allclose(centered(values[:, fold]), centered(expected), rtol=2e-6, atol=2e-5, err_msg=str(term))


@thorough
@given(cases())
def test_the_gain_of_a_pair_is_that_of_a_step_of_its_weight(case):
    """To the second order, from the probabilities so far; in any order in memory."""
    p = RNG(0).dirichlet(np.ones(case.classes), len(case.rows)).T
    cross, pairs = case.cross, PairColumns.of(case.cross.counts)
    _, gains = cross_pairs(cross, pairs, p)
    error = (np.eye(case.classes)[:, case.rows.y] - p) * cross.weights
    for place, gain in enumerate(gains):
        v = np.zeros_like(p)
        for fold, counts in case.counts_without_folds():
            ratios = pair_scores(counts, int(pairs.first[place]), int(pairs.second[place]))
            a, b = (case.rows.cells.codes[fold, column[place]] for column in (pairs.first, pairs.second))
            v[:, fold] = np.where((a >= 0) & (b >= 0), ratios[:, a, b], 0.0)
        slope, curve = (error * v).sum(), cross.weights @ ((p * v * v).sum(axis=0) - (p * v).sum(axis=0) ** 2)
        assert gain == pytest.approx(slope * abs(slope) / (2 * (curve + 1)), rel=1e-6, abs=1e-9)


def test_the_classes_of_rows_that_measure_change_no_term_no_weight_and_no_coefficient():
    """Else what is fitted to the other rows would be measured on what it has seen."""
    case = drawn_case(RNG(1), 3, (3, 4), 200, missing=0.1, test=1)
    y = case.rows.y.copy()
    y[case.test] = RNG(0).permutation(y[case.test])
    assert (y != case.rows.y).any()
    other = replace(case, rows=replace(case.rows, y=y))
    terms = [cross_fitted(one) for one in (case, other)]
    for term, values in terms[0].items():
        assert_allclose(values, terms[1][term], rtol=0, atol=1e-5)
    fits, tables = [], []
    for one, found in zip((case, other), terms, strict=True):
        del found[PAIRS]  # which candidates add themselves
        candidates = Candidates.of(one.cross, found)
        fits.append(candidates.solve(candidates.tied, 10.0).both)
        problem = Problem.of(CellLayout(one.grid), one.cross.counts, one.rows)
        state = State.start(problem, candidates.problem.scores(fits[-1]), one.cross.weights)
        tables.append(state.fitted([10.0]).table(3))
    assert_allclose(*fits, rtol=0, atol=1e-5)
    assert np.abs(tables[0]).max() > 0.01
    assert_allclose(*tables, rtol=0, atol=1e-4)


# -- values ------------------------------------------------------------------------------------------------------------


def log_ratios(n, expected, pseudo):
    """Return log (n + s) / (e + s)."""
    return np.log((n + pseudo) / (expected + pseudo))


@thorough
@given(cases())
def test_a_value_is_scored_by_how_much_more_frequent_it_is_than_by_chance(case):
    """Numbers in two widths of bins; ordinal levels by themselves and in pairs of neighbors."""
    counts, numbers, found = case.cross.counts, len(case.grid.numbers), {}
    for width in RECIPE.value_bins:
        for column, bins in enumerate(case.grid.numbers):
            fine = counts.joint.fine[:, case.grid.fine_offsets[column] : case.grid.fine_offsets[column + 1]]
            found["values", width, (column,)] = fine @ np.eye(4)[list(bins.wider) if width else range(4)]
    for column, n in enumerate(counts.tables):
        found["values", "each", (numbers + column,)] = n
        if (levels := case.ordered[column]) >= 3:
            n = np.add.reduceat(n[:, :levels], np.arange(0, levels, 2), axis=1)
            found["values", "neighbors", (numbers + column,)] = n
    layout = counts.layout
    assert set(layout.terms) == {Term(*name) for name, n in found.items() if n.shape[1] > 1}
    scores = layout.scores(counts)
    for place, term in enumerate(layout.terms):
        n = found[tuple(term)][:, : layout.offsets[place + 1] - layout.offsets[place]]  # bins that no fine one is of
        e = n.sum(axis=1, keepdims=True) * n.sum(axis=0) / max(n.sum(), 1e-300)
        own = scores[:, layout.offsets[place] : layout.offsets[place + 1]]
        assert_allclose(own, log_ratios(n, e, RECIPE.value_pseudo_count), atol=1e-12)


# -- pairs -------------------------------------------------------------------------------------------------------------


def pair_scores(counts, first, second):
    """Return log (n + s) / (e + s) of each pair of codes, e rows if columns were independent within the class."""
    n = counts.joint.products[:, counts.grid.flags(first), counts.grid.flags(second)]
    rows = np.maximum(n.sum(axis=(1, 2), keepdims=True), 1e-300)
    expected = n.sum(axis=2, keepdims=True) * n.sum(axis=1, keepdims=True) / rows
    return log_ratios(n, expected, counts.recipe.pair_pseudo_count)


@pytest.mark.usefixtures("level")
@thorough
@given(cases())
def test_pairs_are_scored_by_how_much_more_frequent_they_are_than_independent_columns(case):
    """All of them under one weight, divided by how many partners a column has; missing values contribute nothing."""
    counts = case.cross.counts
    several = [column for column in range(len(case.grid.names)) if np.diff(case.grid.offsets)[column] > 1]
    tables = tables_of(counts, {PAIRS: 0.7})
    expected = [(i, j) for i in several for j in several if i < j]
    assert list(tables.interactions.all_columns) == expected
    for place, (i, j) in enumerate(expected):
        scores = 0.7 / (len(several) - 1) * pair_scores(counts, i, j).transpose(1, 2, 0)
        assert_allclose(tables.interactions.part(place), scores, atol=1e-12)


# -- linear and quadratic ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shrinkage", [0.02, 0.3, 1.0])
@pytest.mark.parametrize("labels", [(), (3, 2)])
def test_the_quadratic_term_is_a_log_density_of_normals_with_a_shrunk_covariance_for_each_class(labels, shrinkage):
    """On the leading principal components of numbers and categories; a class of one row has the covariance of all."""
    case = drawn_case(RNG(4), 4, labels, 61)
    y = case.rows.y % 2
    y[7] = 2
    case = replace(case, rows=replace(case.rows, y=y))
    counts, n = case.cross.counts, np.bincount(y)
    z = counts.features.rows(case.rows.cells, counts.features.components[:, :3])
    means = [z[y == k].mean(axis=0) if n[k] > 1 else z.mean(axis=0) for k in range(3)]
    scatters = [np.cov(z[y == k].T, bias=True) * n[k] if n[k] > 1 else np.zeros((3, 3)) for k in range(3)]
    expected = []
    for k in range(3):
        own = shrinkage if n[k] > 1 else 1.0
        covariance = (own * sum(scatters) + RECIPE.quadratic_ridge * np.eye(3)) / len(y) + (1 - own) * scatters[k] / n[
            k
        ]
        expected.append(multivariate_normal(means[k], covariance).logpdf(z))
    found = scores_by(tables_of(counts, {QUADRATIC: 0.5}, SETTINGS | {SHRINKAGE: shrinkage}), case.rows).T
    assert_allclose(centered(found), centered(0.5 * np.array(expected)), atol=1e-9)


def test_a_covariance_that_is_not_positive_leaves_the_term_out():
    """And nothing warns."""
    case = drawn_case(RNG(7), 3, (3, 4), 200, missing=0.1)
    counts = case.cross.counts
    rows = NormalRows(counts.features, case.rows)
    vars(counts.features)["moments"] = counts.features.moments._replace(products=-counts.features.moments.products)
    cross = CrossFit(counts, case.rows, {})
    assert chosen_settings(cross, rows) == {}
    assert cross_terms(replace(cross, settings={RIDGE: 1.0}), rows) == {}


# -- arguments ---------------------------------------------------------------------------------------------------------

LABELS, W, BOUNDS = np.array([0, 1, 2, 0], np.int32), np.ones(4), np.array([0, 2, 4])
PLACES = np.array([0, 2, 5])
ROWS = {"labels": LABELS, "weights": W, "bounds": BOUNDS, "test": 0, "test_end": 2}
OF_VALUES = {"cells": np.zeros((2, 4), np.int32), "offsets": PLACES, "totals": np.ones((5, 3)), **ROWS, "pseudo": 0.5}
OF_VALUES |= {"out": np.zeros((2, 3, 4), np.float32)}
OF_PAIRS = {"codes": np.zeros((4, 2), np.int32), "products": np.ones((3, 6, 6)), "offsets": PLACES}
OF_PAIRS |= {"first": np.array([0]), "second": np.array([1]), **ROWS, "pseudo": 2.0, "p": np.ones((4, 4))}
OF_PAIRS |= {"error": np.ones((4, 4)), "effective": W, "sums": np.zeros((4, 4)), "slope": np.zeros(1)}
OF_PAIRS |= {"curve": np.zeros(1)}
OF_NORMAL = {
    "x": np.ones((4, 2)),
    "gaps": np.zeros((0, 0), np.uint8),
    "n": np.ones(3),
    "sums": np.ones((3, 2)),
    "products": np.ones((3, 2, 2)),
    **ROWS,
}
OF_NORMAL |= {"by": np.array([[0.5, 1.0]]), "folds": 2, "out": np.zeros((1, 3, 4))}
TABLE = {"products": np.ones((3, 6, 6)), "offsets": PLACES, "first": np.array([0]), "second": np.array([1])}
TABLE |= {"pseudo": 2.0, "weight": 1.0, "columns": np.array([[0, 1, -1]]), "lines": np.array([0])}
TABLE |= {"table": np.zeros((12, 4))}
SQUARES = {"numbers": np.ones((4, 2)), "codes": np.zeros((4, 1), np.int32), "offsets": np.array([0, 3])}
SQUARES |= {"of_numbers": np.ones((2, 5)), "of_codes": np.ones((3, 5)), "squares": np.zeros((2, 48))}
CALLS = {
    "values": (kernels.cross_values, OF_VALUES), "pairs": (kernels.cross_pairs, OF_PAIRS),
    "normal": (kernels.cross_normal, OF_NORMAL), "table": (kernels.add_pair_scores, TABLE),
    "quadratic": (lambda *about: kernels.Scorer(np.zeros(3)).quadratic(*about), SQUARES),
}  # fmt: skip
WRONG_ROWS = {
    "a class beyond": {"labels": LABELS + np.int32(1)},
    "a class below 0": {"labels": LABELS - np.int32(1)},
    "too few weights": {"weights": W[:3]},
    "no folds": {"bounds": np.zeros(0, int)},
    "folds of fewer rows": {"bounds": np.array([0, 2, 3])},
    "folds that fall": {"bounds": np.array([0, 5, 4])},
    "a test that ends before it begins": {"test": 2, "test_end": 0},
    "a test of half a fold": {"test_end": 1},
    "a test beyond the rows": {"test": 4, "test_end": 5},
}
WRONG = {
    "values": {
        "a cell that is not there": {"cells": OF_VALUES["cells"] + np.int32(2)},
        "cells of fewer rows": {"cells": np.zeros((2, 3), np.int32)},
        "a term without cells": {"offsets": np.array([0, 5, 5])},
        "totals of other cells": {"totals": np.ones((4, 3))},
        "no pseudo-count": {"pseudo": 0.0},
        "results of other classes": {"out": np.zeros((2, 2, 4), np.float32)},
        "results that are doubles": {"out": np.zeros((2, 3, 4))},
    },
    "pairs": {
        "codes of fewer rows": {"codes": np.zeros((3, 2), np.int32)},
        "codes of other columns": {"codes": np.zeros((4, 1), np.int32)},
        "products of other features": {"products": np.ones((3, 5, 5))},
        "products that are not square": {"products": np.ones((3, 6, 7))},
        "a column that is not there": {"second": np.array([2])},
        "no pseudo-count": {"pseudo": 0.0},
        "sums without padding": {"sums": np.zeros((4, 3))},
        "probabilities of fewer rows": {"p": np.ones((3, 4))},
        "errors without padding": {"error": np.ones((4, 3))},
        "too few weights in the fit": {"effective": W[:3]},
        "slopes of other pairs": {"slope": np.zeros(2)},
    },
    "normal": {
        "rows too few": {"x": np.ones((3, 2))},
        "sums of other classes": {"sums": np.ones((2, 2))},
        "products of other classes": {"products": np.ones((2, 2, 2))},
        "products that are not square": {"products": np.ones((3, 2, 3))},
        "a covariance for each class without products for each": {"products": np.ones((1, 2, 2))},
        "settings of three": {"by": np.ones((1, 3))},
        "more folds than there are": {"folds": 3},
        "results of other settings": {"out": np.zeros((2, 3, 4))},
    },
    "table": {
        "a pair of other columns": {"columns": np.array([[1, 0, -1]])},
        "no part for a pair": {"columns": np.zeros((0, 3), int), "lines": np.zeros(0, int)},
        "a table too short": {"table": np.zeros((11, 4))},
        "offsets that fall": {"offsets": np.array([0, 6, 5])},
    },
    "quadratic": {
        "numbers of fewer rows": {"numbers": np.ones((3, 2))},
        "numbers of other columns": {"numbers": np.ones((4, 1))},
        "codes of other columns": {"offsets": np.array([0, 4])},
        "no directions": {"of_numbers": np.ones((2, 0)), "of_codes": np.ones((3, 0))},
        "squares of other classes": {"squares": np.zeros((3, 48))},
        "squares of other components": {"squares": np.zeros((2, 47))},
    },
}  # fmt: skip
MALFORMED = [(call, name) for call, wrong in WRONG.items() for name in wrong]
MALFORMED += [(call, name) for call in ("values", "pairs", "normal") for name in WRONG_ROWS]


@pytest.mark.parametrize(("call", "name"), MALFORMED)
def test_arguments_that_do_not_fit_are_refused(call, name):
    kernel, good = CALLS[call]
    copies = partial(map, lambda a: a.copy() if isinstance(a, np.ndarray) else a)
    kernel(*copies(good.values()))
    with pytest.raises((ValueError, TypeError)):
        kernel(*copies((good | (WRONG[call] | WRONG_ROWS)[name]).values()))


def test_threads_and_levels_do_not_change_a_bit():
    case, found = drawn_case(RNG(2), 3, (3, 4), 3000, missing=0.1, test=2), []
    for name, threads in [(name, threads) for name in kernels.levels() for threads in (1, 4)]:
        kernels.use_level(name)
        with shared_threads(threads):
            found.append(cross_fitted(case))
    kernels.use_level(kernels.levels()[0])
    for one in found[1:]:
        for term, values in found[0].items():
            assert_array_equal(values, one[term], err_msg=str(term))
