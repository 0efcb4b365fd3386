"""Weights of terms: the fit ends at the minimum, by kernels on all levels, whatever the threads."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_softmax

from naively import _kernels as kernels
from naively.model.default.weights import WeightFit, WeightProblem
from naively.model.recipe import RECIPE


class Small:
    """Rows with terms, some of which say nothing or the contrary of what is true, and the loss by NumPy."""

    def __init__(self, rows=150, classes=3, terms=5, seed=0):
        rng = np.random.default_rng(seed)
        self.y = rng.integers(0, classes, rows).astype(np.int32)
        truth = np.eye(classes)[self.y]
        by = np.where(np.arange(terms) % 3 == 2, -0.4, 0.5)  # every third is turned around: its weight is 0
        self.terms = [(b * truth.T + rng.normal(size=(classes, rows)) * 0.7).astype(np.float32) for b in by]
        self.truth, self.weights = truth, rng.random(rows) * 2
        self.prior = np.log(np.bincount(self.y, minlength=classes) + 1.0)
        self.towards = rng.random(terms)
        self.classes = classes

    def problem(self):
        """Return the problem as it is fitted."""
        return WeightProblem(self.terms, self.y, self.weights, self.prior, RECIPE)

    @property
    def x(self):
        """The terms, [term, class, row]."""
        return np.array(self.terms, dtype=np.float64).reshape(len(self.terms), self.classes, len(self.y))

    def losses(self, v):
        """Return the log loss of each row."""
        by, bias = v[: len(self.terms)], v[len(self.terms) :]
        z = np.einsum("t,tkr->rk", by, self.x) + bias
        return -(self.truth * log_softmax(z, axis=1)).sum(axis=1)

    def penalized(self, v, ridge, rows=slice(None)):
        """Return the log loss of some rows with the penalty."""
        by, bias = v[: len(self.terms)], v[len(self.terms) :]
        pull = ridge * ((by - self.towards) ** 2).sum() + RECIPE.bias_ridge * ((bias - self.prior) ** 2).sum()
        return self.weights[rows] @ self.losses(v)[rows] + 0.5 * pull

    def best(self, ridge, rows=slice(None)):
        """Return what SciPy finds: no weight below 0."""
        bounds = [(0, None)] * len(self.terms) + [(None, None)] * self.classes

        def loss(v):
            return self.penalized(v, ridge, rows)

        found = minimize(loss, self.start().both, bounds=bounds, options={"maxiter": 5000, "ftol": 1e-14, "gtol": 1e-7})
        return found.x

    def start(self):
        """Return where a fit begins."""
        return WeightFit(np.concatenate([self.towards, self.prior]))


SMALL = {
    "three classes": {},
    "two classes": {"classes": 2, "seed": 2},
    "seven classes": {"classes": 7, "rows": 300, "seed": 4},
    "one term": {"terms": 1, "seed": 5},
    "no term": {"terms": 0, "seed": 6},
    "twenty terms": {"terms": 20, "rows": 400, "seed": 7},
    "more terms than rows": {"terms": 30, "rows": 20, "seed": 8},
}
problems = pytest.mark.parametrize("name", SMALL)


@problems
@pytest.mark.parametrize("ridge", [0.1, 30.0])
def test_a_fit_ends_where_scipy_ends(name, ridge, level):
    small = Small(**SMALL[name])
    found, best = small.problem().solve(small.start(), small.towards, ridge).both, small.best(ridge)
    assert small.penalized(found, ridge) <= small.penalized(best, ridge) + 1e-5
    assert_allclose(found, best, rtol=0, atol=5e-3)
    by = found[: len(small.terms)]
    assert (by >= 0).all()
    if name == "twenty terms" and ridge < 1:
        assert (by == 0).any()
    slope = approx_fprime(found, lambda v: small.penalized(v, ridge), 1e-6)
    assert (np.abs(slope) < 0.02)[[*(by > 0), *[True] * small.classes]].all()
    assert (slope[: len(by)][by == 0] > -0.02).all()  # none that is held at 0 would rise


@problems
def test_scores_are_those_of_the_formula(name, level):
    """Less those of the highest class of each row."""
    small = Small(**SMALL[name])
    v = np.random.default_rng(0).normal(size=len(small.terms) + small.classes)
    problem = small.problem()
    z = np.einsum("t,tkr->kr", v[: len(small.terms)], small.x)
    z += v[len(small.terms) :, None]
    assert_allclose(problem.scores(v), z - z.max(axis=0), rtol=0, atol=1e-5)
    assert_allclose(problem.losses(WeightFit(v)), small.losses(v), rtol=0, atol=1e-5)
    p = problem.probabilities(v)
    assert_allclose(p.sum(axis=0), 1.0, atol=1e-12)
    assert_allclose(np.log(p), log_softmax(z, axis=0), rtol=0, atol=1e-5)


# -- arguments ---------------------------------------------------------------------------------------------------------

X, TRUTH, W = np.ones((2, 3, 5), np.float32), np.full((3, 5), 1 / 3), np.ones(5)
FIT = {"x": X, "truth": TRUTH, "weights": W, "pulls": np.ones(6), "towards": np.zeros(6)}
FIT |= {"enough": 0.0, "curve_is_known": False, "curve": np.zeros((6, 6)), "parameters": np.zeros(6)}
SCORES = {"x": X, "truth": TRUTH, "weights": W, "parameters": np.zeros(6), "out": np.zeros((3, 5))}
WRONG = {
    "terms of other classes": {"x": X[:1]},
    "terms of other rows": {"x": X[..., :4].copy()},
    "terms that are doubles": {"x": X.astype(np.float64)},
    "truth of other rows": {"truth": TRUTH[:, :4].copy()},
    "truth of other classes": {"truth": TRUTH[:2]},
    "too few weights": {"weights": W[:4]},
    "parameters of other terms": {"parameters": np.zeros(5)},
}
WRONG_FITS = {
    "too few pulls": {"pulls": np.ones(5)},
    "pulls towards too few": {"towards": np.zeros(5)},
    "a curvature of other terms": {"curve": np.zeros((5, 5))},
    "a curvature that is not square": {"curve": np.zeros((6, 5))},
}
WRONG_SCORES = {"scores of other rows": {"out": np.zeros((3, 4))}, "scores of other classes": {"out": np.zeros((2, 5))}}


def called(kernel, arguments):
    """Call a kernel with copies of arguments, by place."""
    kernel(*(a.copy() if isinstance(a, np.ndarray) else a for a in arguments.values()))


@pytest.mark.parametrize("change", [*WRONG.values(), *WRONG_FITS.values()], ids=[*WRONG, *WRONG_FITS])
def test_fits_that_do_not_fit_are_refused(change):
    called(kernels.fit_term_weights, FIT)
    with pytest.raises((ValueError, TypeError)):
        called(kernels.fit_term_weights, FIT | change)


@pytest.mark.parametrize("change", [*WRONG.values(), *WRONG_SCORES.values()], ids=[*WRONG, *WRONG_SCORES])
def test_scores_that_do_not_fit_are_refused(change):
    called(kernels.term_scores, SCORES)
    with pytest.raises((ValueError, TypeError)):
        called(kernels.term_scores, SCORES | change)
