"""Rows scored by counts without their fold: the kernels give what tables counted again without the fold give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naively.model.joint.coefficient_fitting import CoefficientFitting
from naively.model.joint.coefficients import CellLayout
from naively.model.joint.cross_fit import CrossFit, chosen_ridges, first_clear, measured_parts
from naively.model.joint.joint_fit import JointFit
from naively.model.joint.normal import NormalScores, Shrinkage, cross_normal
from naively.model.joint.pairs import PairScores, pair_terms
from naively.model.joint.sample import FittingRows, SoftRows, deal_out
from naively.model.joint.tables import TermCounts
from naively.model.joint.values import ValueTerms
from naively.model.joint.weights import Candidates
from naively.stats.pairs import JointCounts
from numpy.testing import assert_allclose, assert_array_equal

import naively as nv
from naively import _kernels as kernels
from naively._threads import shared_threads
from naively.model.default.fitting import fit_joint
from naively.model.recipe import RECIPE
from naively.stats import Axis

from .flat_cases import table_of
from .test_coefficients import samples
from .test_pair_tables import merged, pair_ratios
from .test_quadratic import drawn as normal_rows
from .test_quadratic import features

SETTINGS = [Shrinkage(1.0, 10.0), Shrinkage(0.3, 1.0), Shrinkage(0.02, 30.0)]
OWN_RIDGE = 10.0


def counted(grid, sample, truth, weights, ordered=(), recipe=RECIPE):
    """Count rows by the plain definition, given the proportions of classes [row, class]."""
    parts, x = truth.T * weights, features(grid, sample.cells)
    products = np.array([(x * part[:, None]).T @ x for part in parts])
    fine, starts = np.zeros((len(parts), grid.fine_bins)), grid.fine_offsets
    tables = [np.zeros((len(parts), values.size)) for values in grid.labels]
    for k, part in enumerate(parts):
        for at in range(len(grid.numbers)):
            there = sample.cells.fine[:, at] >= 0
            np.add.at(fine[k], starts[at] + sample.cells.fine[there, at], part[there])
        for at, table in enumerate(tables):
            there = sample.labels[:, at] >= 0
            np.add.at(table[k], sample.labels[there, at], part[there])
    return TermCounts(JointCounts(Axis(tuple(range(len(parts)))), grid, fine, products), tables, ordered, recipe)


class Case:
    """Rows in folds, some of which may measure; and what is left of the rows when those of a fold are gone."""

    def __init__(self, grid, sample, truth, folds, test, ordered=(), recipe=RECIPE):
        self.grid, self.truth, self.ordered, self.recipe = grid, truth, ordered, recipe
        self.rows = replace(sample, folds=folds)
        self.cross = CrossFit(self.counts(np.ones(len(truth), bool)), self.rows, {}, test)

    def counts(self, kept):
        """Count the rows of a mask again."""
        weights = np.where(kept, self.rows.weights, 0.0)
        return counted(self.grid, self.rows, self.truth, weights, self.ordered, self.recipe)

    def left(self):
        """Give each fold, and which rows are left without it and without those that measure."""
        for fold in self.rows.folds:
            kept = np.ones(len(self.rows), bool)
            kept[fold] = False
            if self.cross.test is not None:
                kept[self.cross.test] = False
            yield fold, kept

    def by_fold(self, scores):
        """Return the scores of all rows, [..., class, row], given those of rows under some counts, by fold."""
        return np.concatenate([scores(fold, kept) for fold, kept in self.left()], axis=-1)


@st.composite
def cases(draw):
    """Draw rows of two to four classes, some soft or of fractional weight, with missing values, in folds."""
    grid, sample, truth = draw(samples())
    rows = len(truth)
    number = min(draw(st.integers(1, 5)), rows)
    order, folds = deal_out(sample.y, number)
    taken = sample.take(order)
    test = draw(st.sampled_from([None, *folds]))
    ordered = tuple(draw(st.integers(0, values.size)) for values in grid.labels)
    soft = SoftRows.of(np.ascontiguousarray(truth[order].T))
    fresh = FittingRows(taken.labels, taken.cells, taken.y, taken.weights, {}, soft=soft)
    return Case(grid, fresh, truth[order], folds, test, ordered)


# -- values ------------------------------------------------------------------------------------------------------------


def log_ratios(n, pseudo):
    """Return log (n + s) / (e + s) of each value by class, e rows if the class had its share of all of them."""
    expected = n.sum(axis=1, keepdims=True) * n.sum(axis=0) / max(n.sum(), 1e-300)
    return np.log((n + pseudo) / (expected + pseudo))


def cells_of_values(case):
    """Return the cell of each row in each term of values, by name; one after the other, -1 for missing values."""
    out = {}
    numbers = len(case.grid.numbers)
    for width in case.recipe.value_bins:
        for at, bins in enumerate(case.grid.numbers):
            codes, to = case.rows.cells.fine[:, at], np.array([*(bins.wider if width else range(len(bins.wider))), -1])
            out["value", width, (at,)] = to[codes]
    for at, values in enumerate(case.grid.labels):
        codes, levels = case.rows.labels[:, at], case.ordered[at] if case.ordered else 0
        if values.size > 1:
            out["value", "each", (numbers + at,)] = codes
        if levels >= case.recipe.fewest_levels:
            out["value", "neighbours", (numbers + at,)] = np.where((codes >= 0) & (codes < levels), codes // 2, -1)
    return out


@pytest.mark.usefixtures("level")
@settings(max_examples=60, deadline=None)
@given(cases())
def test_values_are_log_ratios_of_the_counts_without_the_fold(case):
    found = dict(ValueTerms().values(case.cross))
    cells = cells_of_values(case)
    assert {tuple(term) for term in found} == cells.keys()
    for term, values in found.items():
        codes = cells[tuple(term)]
        size = max(codes.max(initial=0) + 1, 1)

        def scores(fold, kept, codes=codes, size=size):
            n = np.zeros((case.truth.shape[1], size))
            known = kept & (codes >= 0)
            np.add.at(n.T, codes[known], (case.truth * case.rows.weights[:, None])[known])
            table = np.column_stack([log_ratios(n, case.recipe.value_pseudo_count), np.zeros(len(n))])
            return table[:, codes[fold]]

        assert_allclose(values, case.by_fold(scores), rtol=0, atol=2e-6)


# -- pairs -------------------------------------------------------------------------------------------------------------


def pair_values(case, term, fold, kept):
    """Return the values of a term of pairs by counts of some rows, [class, row of the fold]."""
    counts, codes, place = case.counts(kept), case.rows.cells.codes, []
    n = counts.joint.products
    for axis, at in enumerate(term.columns, 1):
        flags = case.grid.flags(at)
        n = n.take(np.arange(flags.start, flags.stop), axis=axis)
        to = np.arange(flags.stop - flags.start)
        if term.level and at < len(case.grid.numbers):
            to = np.array(case.grid.numbers[at].rough)
        n = merged(n, to, axis)
        place.append(np.append(to, -1)[codes[fold, at]])
    known = (place[0] >= 0) & (place[1] >= 0)
    return np.where(known, pair_ratios(n, case.recipe.pair_pseudo_count)[:, place[0], place[1]], 0.0)


@pytest.mark.usefixtures("level")
@settings(max_examples=60, deadline=None)
@given(cases())
def test_pairs_are_log_ratios_of_the_counts_without_the_fold(case):
    """Their values, their sums by level, and what each would gain, to the second order."""
    cross, classes = case.cross, case.truth.shape[1]
    terms = [term for level in case.recipe.pair_bins for term in pair_terms(cross.counts, level)]
    if not terms:
        return
    pairs = PairScores(cross, terms)
    found = pairs.values()
    assert list(found) == terms
    expected = {term: case.by_fold(lambda fold, kept, term=term: pair_values(case, term, fold, kept)) for term in terms}
    for term in terms:
        assert_allclose(found[term], expected[term], rtol=0, atol=2e-6)
    p = np.random.default_rng(0).dirichlet(np.ones(classes), len(case.truth)).T  # in either order in memory
    sums, gains = pairs.sums_and_gains(p)
    for block, values in sums.items():
        assert_allclose(values, sum(expected[term] for term in terms if term.block == block), rtol=0, atol=1e-5)
    error, weights = (case.truth.T - p) * cross.weights, cross.weights
    for term, gain in zip(terms, gains, strict=True):
        v = expected[term]
        slope, curve = (error * v).sum(), weights @ ((p * v * v).sum(axis=0) - (p * v).sum(axis=0) ** 2)
        assert gain == pytest.approx(slope * abs(slope) / (2 * (curve + 1)), rel=1e-7, abs=1e-9)


# -- linear and quadratic ----------------------------------------------------------------------------------------------


def normal_values(case, by, fold, kept):
    """Return normal log-densities by counts of some rows, up to what all classes share, [class, row of the fold]."""
    normal, whole = case.counts(kept).normal, case.cross.counts.normal
    vars(normal)["directions"] = whole.directions  # what a missing value counts as is the same in all folds
    x, missing = whole.rows(case.rows.cells)
    x, parts = x[fold], normal.parts(by) if by.alpha < 1 else normal.linear_parts(by.ridge)
    scores = parts.slopes @ x.T
    if parts.squares is not None:
        scores += np.einsum("kde,rd,re->kr", parts.squares, x, x)
    there = np.ones((len(x), len(case.grid.names)))
    if missing is not None:  # of columns of labels, then of numbers
        there -= np.roll(missing[fold], len(case.grid.numbers), axis=1)
    scores += parts.constants @ there.T
    return scores - scores.max(axis=0)


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("by_class", [True, False])
@settings(max_examples=60, deadline=None)
@given(case=cases())
def test_normal_scores_are_those_of_moments_without_the_fold(case, by_class):
    given = SETTINGS if by_class else SETTINGS[:1]
    if not by_class:  # the scatter within all classes alone
        recipe = replace(RECIPE, quadratic_features=0)
        case = Case(case.grid, case.rows, case.truth, case.rows.folds, case.cross.test, case.ordered, recipe)
    normal: NormalScores = case.cross.counts.normal
    if not normal.size:
        return
    assert normal.by_class == by_class
    found = cross_normal(case.cross, list(given), len(case.rows.folds))
    assert found is not None
    for by, values in zip(given, found, strict=True):
        expected = case.by_fold(lambda fold, kept, by=by: normal_values(case, by, fold, kept))
        assert_allclose(values, expected, rtol=1e-6, atol=1e-6)


def test_the_first_folds_are_scored_as_all_are():
    case = normal_case()
    some, every = (cross_normal(case.cross, SETTINGS, folds) for folds in (2, 5))
    assert_array_equal(some[..., : case.rows.folds[1].stop], every[..., : case.rows.folds[1].stop])


def normal_case(rows=200, missing=0.1, test=None, recipe=RECIPE, truth=None):
    """Return rows of numbers and labels whose classes differ in how they vary."""
    grid, cells, y = normal_rows(3, (3, 4), rows=rows, missing=missing)
    truth = np.eye(3)[y] if truth is None else truth
    _, folds = deal_out(y, 5)
    labels = np.ascontiguousarray(cells.codes[:, 3:])
    sample = FittingRows(labels, cells, truth.argmax(axis=1).astype(np.int32), np.ones(rows), {})
    return Case(grid, sample, truth, folds, None if test is None else folds[test], recipe=recipe)


def test_a_covariance_that_is_not_positive_is_told():
    """The term is left out then, and nothing warns."""
    case = normal_case()
    counts = case.cross.counts
    products = counts.joint.products.copy()
    products[:, 1:, 1:] *= np.where(np.eye(counts.grid.features - 1), -1.0, 1.0)
    broken = replace(counts.joint, products=products)
    cross = CrossFit(replace(counts, joint=broken), case.rows, {})
    assert cross_normal(cross, SETTINGS, 5) is None
    assert chosen_ridges(cross) == {}


def test_a_penalty_too_weak_for_a_loss_ends_the_choice():
    losses, weights = [np.ones(9), np.full(9, 0.5), np.full(9, np.inf), np.zeros(9)], np.ones(9)
    assert first_clear(losses, weights) == 1
    assert first_clear([np.full(9, np.inf)] * 2, weights) == 0


def test_a_setting_alone_may_be_compared():
    """One shrinkage, or one ridge, leaves nothing to choose."""
    recipe = replace(RECIPE, quadratic_alphas=(0.3,), quadratic_ridges=(1.0,), linear_ridges=(10.0,))
    assert chosen_ridges(normal_case(recipe=recipe).cross) == {
        "linear ridge": 10.0, "quadratic shrinkage": 0.3, "quadratic ridge": 1.0,
    }  # fmt: skip


# -- what measures has no part in what is measured ---------------------------------------------------------------------


def shuffled_test(case, seed=0):
    """Return the same rows with the classes of those that measure in another order."""
    truth, test = case.truth.copy(), case.cross.test
    truth[test] = np.random.default_rng(seed).permutation(truth[test])
    assert (truth != case.truth).any()
    rows = replace(case.rows, y=truth.argmax(axis=1).astype(np.int32))
    return Case(case.grid, rows, truth, case.rows.folds, test, case.ordered, case.recipe)


def test_classes_of_rows_that_measure_change_no_term_no_weight_and_no_coefficient():
    """Else what is fitted to the other rows would be measured on what it has seen."""
    cases = normal_case(test=1), shuffled_test(normal_case(test=1))
    for case in cases:
        case.cross.ridges |= {"linear ridge": 10.0, "quadratic shrinkage": 0.3, "quadratic ridge": 1.0}
    for term, values in cases[0].cross.terms().items():
        assert_allclose(values, cases[1].cross.terms()[term], rtol=0, atol=1e-6)
    found = [Candidates.of(case.cross) for case in cases]
    assert found[0].terms == found[1].terms
    fits = [one.solve(one.tied(), OWN_RIDGE) for one in found]
    assert fits[0].both[: len(found[0].terms)].any()
    assert_allclose(fits[0].both, fits[1].both, rtol=0, atol=1e-5)
    tables = []
    for case, one, fit in zip(cases, found, fits, strict=True):
        scores = one.problem.scores(fit.both)
        about = CoefficientFitting(case.cross.counts, case.rows, JointFit({}, {}, fit.both, {}, 200), scores, ())
        rest = np.setdiff1d(np.arange(200), np.arange(200)[case.cross.test])
        problem = about.problem(CellLayout(case.grid, ()), scores, rest)
        tables.append(problem.coefficients(problem.follow(24.0)))
    assert np.abs(tables[0]).max() > 0.01
    assert_allclose(*tables, rtol=0, atol=1e-4)


@pytest.mark.parametrize(("rows", "expected"), [(200, 3), (1000, 3), (2000, 2), (4000, 1)])
def test_few_folds_measure_where_rows_are_many(rows, expected):
    """As many as hold 500 rows, and no more than three."""
    parts = measured_parts(normal_case(rows).cross)
    assert [part.test for part in parts] == list(deal_out(np.arange(rows, dtype=np.int32) % 3, 5)[1][:expected])


# -- threads -----------------------------------------------------------------------------------------------------------


def test_threads_do_not_change_a_bit(level):
    case, found = normal_case(3000, test=2), []
    for threads in (1, 3):
        with shared_threads(threads):
            pairs = PairScores(case.cross, pair_terms(case.cross.counts, 0))
            sums, gains = pairs.sums_and_gains(np.full((3, 3000), 1 / 3))
            values = [*pairs.values().values(), *sums.values(), *(v for _, v in ValueTerms().values(case.cross))]
            found.append([gains, *values, cross_normal(case.cross, SETTINGS, 5)])
    for one, other in zip(*found, strict=True):
        assert_array_equal(one, other)


# -- the whole model ---------------------------------------------------------------------------------------------------


def test_counts_are_of_rows_as_they_are_read(monkeypatch):
    """Rare categories are one, which has no pairs: rows without their fold are those that were counted."""
    seen = []

    def spy(model, rows, y, weights, threads, folds, screening=None, soft=None):
        columns = model.read(rows.source.on(model.schema), 0, len(y), threads)
        sample = model.fitting_rows(columns, y, weights, folds, soft)
        seen.append((model.counts, sample))
        return fit_joint(model, rows, y, weights, threads, folds, screening, soft)

    monkeypatch.setattr("naively.estimator.tuner.fit_joint", spy)
    nv.NaiveBayes(max_categories=4).fit(table_of(10), target="class")
    ((counts, sample),) = seen
    assert len(counts.grid.labels[-1].labels) == 30
    assert (sample.cells.codes[:, -1] < 0).sum() > 90  # all but the three most frequent
    x = features(counts.grid, sample.cells)
    for k in range(3):
        own = x[sample.y == k]
        assert_allclose(counts.joint.products[k], own.T @ own, atol=1e-9)


# -- arguments ---------------------------------------------------------------------------------------------------------

ENTRIES, LABELS, W, BOUNDS = np.arange(5), np.array([0, 1, 2, 0], np.int32), np.ones(4), np.array([0, 2, 4])
CELLS, TOTALS, OUT = np.zeros((2, 4), np.int32), np.ones((5, 3)), np.zeros((2, 3, 4), np.float32)
CODES, PRODUCTS, BINS = np.zeros((4, 2), np.int32), np.ones((3, 6, 6)), np.array([[0, 1, 0, 1, 2]], np.int32)
P = np.ones((4, 4))


def folded(entries=ENTRIES, labels=LABELS, weights=W, bounds=BOUNDS, test=0, test_end=2):
    return entries, labels, weights, bounds, test, test_end


def of_values(cells=CELLS, offsets=None, totals=TOTALS, pseudo=0.5, out=OUT, **rows):
    offsets = np.array([0, 2, 5]) if offsets is None else offsets
    kernels.cross_values(cells, offsets, totals, *folded(**rows), pseudo, out)


def of_pairs(codes=CODES, products=PRODUCTS, bins=BINS, second=1, pseudo=2.0, rows=None, **request):
    about = np.array([0, 2, 5]), bins, np.array([0]), np.array([second]), np.array([0])
    kernels.cross_pairs(codes, products, *about, *folded(**(rows or {})), pseudo, **request)


def gains(**changed):
    request = {"p": P, "error": P, "effective": W, "slope": np.zeros(1), "curve": np.zeros(1)} | changed
    of_pairs(**{key: value for key, value in request.items() if value is not None})


NORMAL = {"x": np.ones((4, 2)), "missing": None, "columns": np.array([0, 2]), "n": np.ones(3)}
NORMAL |= {"sums": np.ones((3, 2)), "products": np.ones((3, 2, 2))}


def of_normal(by=(0.5, 1.0), folds=2, out=(1, 3, 4), **changed):
    moments = NORMAL | {name: value for name, value in changed.items() if name in NORMAL}
    rows = folded(**{name: value for name, value in changed.items() if name not in NORMAL})
    kernels.cross_normal(*moments.values(), *rows, np.array([by]), folds, np.zeros(out))


def test_arguments_that_fit_are_taken():
    of_values()
    of_pairs(values=np.zeros((1, 3, 4), np.float32), sums=np.zeros((1, 4, 4)))
    gains()
    of_normal()
    of_normal(products=np.ones((1, 2, 2)), by=(1.0, 1.0), missing=np.zeros((4, 1), np.uint8))


WRONG_ROWS = {
    "entries that do not begin": {"entries": np.zeros(0, int)},
    "entries of fewer labels": {"entries": np.array([0, 1, 2, 3, 3])},
    "entries that fall": {"entries": np.array([0, 3, 2, 3, 4])},
    "a class beyond": {"labels": LABELS + np.int32(1)},
    "a class below 0": {"labels": LABELS - np.int32(1)},
    "too few weights": {"weights": W[:3]},
    "no folds": {"bounds": np.zeros(0, int)},
    "folds of fewer rows": {"bounds": np.array([0, 2, 3])},
    "folds that fall": {"bounds": np.array([0, 5, 4])},
    "a test that ends before it begins": {"test": 2, "test_end": 1},
    "a test beyond the rows": {"test": 4, "test_end": 5},
    "a test of half a fold": {"test": 0, "test_end": 1},
    "a test that begins within a fold": {"test": 1, "test_end": 4},
}
MALFORMED = {
    **{f"values: {name}": lambda rows=rows: of_values(**rows) for name, rows in WRONG_ROWS.items()},
    **{f"pairs: {name}": lambda rows=rows: of_pairs(rows=rows) for name, rows in WRONG_ROWS.items()},
    **{f"normal: {name}": lambda rows=rows: of_normal(**rows) for name, rows in WRONG_ROWS.items()},
    "values: a cell that is not there": lambda: of_values(cells=CELLS + np.int32(2)),
    "values: cells of fewer rows": lambda: of_values(cells=CELLS[:, :3].copy()),
    "values: a term without cells": lambda: of_values(offsets=np.array([0, 5, 5])),
    "values: totals of other cells": lambda: of_values(totals=TOTALS[:4]),
    "values: no pseudo-count": lambda: of_values(pseudo=0.0),
    "values: results of other classes": lambda: of_values(out=np.zeros((2, 2, 4), np.float32)),
    "values: results of other rows": lambda: of_values(out=np.zeros((2, 3, 3), np.float32)),
    "values: results that are doubles": lambda: of_values(out=np.zeros((2, 3, 4))),
    "pairs: codes of fewer rows": lambda: of_pairs(codes=CODES[:3]),
    "pairs: codes of other columns": lambda: of_pairs(codes=CODES[:, :1].copy()),
    "pairs: products of other features": lambda: of_pairs(products=np.ones((3, 5, 5))),
    "pairs: products that are not square": lambda: of_pairs(products=np.ones((3, 6, 7))),
    "pairs: a column that is not there": lambda: of_pairs(second=2),
    "pairs: bins that skip one": lambda: of_pairs(bins=BINS * np.int32(2)),
    "pairs: no pseudo-count": lambda: of_pairs(pseudo=0.0),
    "pairs: sums without padding": lambda: of_pairs(sums=np.zeros((1, 4, 3))),
    "pairs: sums of too few levels": lambda: of_pairs(sums=np.zeros((0, 4, 4))),
    "pairs: values of other terms": lambda: of_pairs(values=np.zeros((2, 3, 4), np.float32)),
    "pairs: a slope without a curve": lambda: gains(curve=None),
    "pairs: gains without probabilities": lambda: gains(p=None),
    "pairs: gains without weights": lambda: gains(effective=None),
    "pairs: gains of fewer rows": lambda: gains(p=P[:3]),
    "pairs: errors without padding": lambda: gains(error=np.ones((4, 3))),
    "pairs: slopes of other terms": lambda: gains(slope=np.zeros(2)),
    "normal: rows too few": lambda: of_normal(x=np.ones((3, 2))),
    "normal: flags of other columns": lambda: of_normal(missing=np.zeros((4, 2), np.uint8)),
    "normal: columns of other numbers": lambda: of_normal(columns=np.array([0, 3])),
    "normal: no columns": lambda: of_normal(columns=np.zeros(0, int)),
    "normal: sums of other classes": lambda: of_normal(sums=np.ones((2, 2))),
    "normal: products of other classes": lambda: of_normal(products=np.ones((2, 2, 2))),
    "normal: products of other numbers": lambda: of_normal(products=np.ones((3, 2, 3))),
    "normal: a covariance for each class without products for each": lambda: of_normal(products=np.ones((1, 2, 2))),
    "normal: settings of three": lambda: of_normal(by=(0.5, 1.0, 1.0)),
    "normal: more folds than there are": lambda: of_normal(folds=3),
    "normal: results of other settings": lambda: of_normal(out=(2, 3, 4)),
}


@pytest.mark.parametrize("call", MALFORMED.values(), ids=MALFORMED.keys())
def test_arguments_that_do_not_fit_are_refused(call):
    with pytest.raises((ValueError, TypeError)):
        call()
