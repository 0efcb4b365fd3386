"""From counts to a model: priors, columns of several families, and the posterior."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naively import Bernoulli, Settings
from naively.counting import arrays as memory
from naively.errors import InvalidSetting
from naively.model.column_parts import empirical_prior, estimate, given_prior, uniform_prior
from naively.model.scorer import log_posterior, posterior
from naively.stats import Axis, CountsAccumulator, TableAccumulator

# -- priors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "imagined"),
    [
        (Settings("mle", 9.0), 0),
        (Settings("bayes", 0.0), 0),
        (Settings("bayes", 0.5), Fraction(1, 2)),
        (Settings("bayes", 1.0), 1),
        (Settings("map", 1.0), 0),
        (Settings("map", 3.0), 2),
    ],
    ids=lambda part: f"{part.estimate} λ={part.smoothing}" if isinstance(part, Settings) else "",
)
def test_the_empirical_prior_is_the_smoothed_proportion_of_the_rows(how, imagined):
    """P(class) = (n + λ') / (N + K·λ') with λ' of 0, λ - 1 or λ pseudo-counts."""
    rows = [6, 0, 11]
    expected = [float(Fraction(n + imagined, 17 + 3 * imagined)) for n in rows]
    np.testing.assert_allclose(np.exp(empirical_prior(np.array(rows, float), how)), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        ([0.5, 0.5], "Number of priors must match number of classes. Found 2 for 3 classes"),
        ([[0.5, 0.25, 0.25]], "Number of priors must match number of classes"),
        ([0.5, 0.5, 0.5], "The sum of the priors should be 1. Found 1.5; divide them by it"),
        ([1.5, -1.0, 0.5], "Priors must be non-negative. Found -1"),
        ([np.nan, 0.5, 0.5], "Priors must be non-negative. Found nan"),
        ([np.inf, 0.5, 0.5], "The sum of the priors should be 1. Found inf"),
    ],
)
def test_what_is_no_prior_is_refused(prior, words):
    with pytest.raises(InvalidSetting, match=words):
        given_prior(prior, 3)


# -- several columns --------------------------------------------------------------------------------------------------

N, CLASSES = 40, Axis.declared(["ham", "spam", "egg"])


# -- the posterior ----------------------------------------------------------------------------------------------------

score = st.one_of(st.floats(-1e6, 1e6), st.floats(-5, 5), st.just(-np.inf))


@settings(deadline=None)
@given(lines=st.lists(st.lists(score, min_size=3, max_size=3), min_size=1, max_size=5))
def test_the_posterior_sums_to_one_and_is_the_proportion_of_each_class(lines):
    """P(class | row) is exp(joint) over its sum; its logarithm is log_posterior."""
    joint, prior = np.array(lines), np.log([0.5, 0.25, 0.25])
    p, log_p = posterior(joint, prior), log_posterior(joint, prior)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    for row, line in enumerate(joint):
        ahead = line - line.max() if line.max() > -np.inf else prior
        expected = ahead - np.log(np.exp(ahead).sum())
        np.testing.assert_allclose(log_p[row], expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(p[row], np.exp(expected), rtol=1e-9, atol=1e-300)
    assert (joint == np.array(lines)).all()


def test_the_log_posterior_is_exact_where_the_posterior_is_nought():
    """Only differences between classes count."""
    joint = np.array([[0.0, -1000.0]])
    assert posterior(joint, uniform_prior(2)).tolist() == [[1.0, 0.0]]
    assert log_posterior(joint, uniform_prior(2)).tolist() == [[0.0, -1000.0]]
    joint = np.random.default_rng(0).normal(size=(20, 4))
    np.testing.assert_allclose(posterior(joint - 1e5, uniform_prior(4)), posterior(joint, uniform_prior(4)), rtol=1e-9)


def test_fifty_thousand_flags_do_not_underflow():
    """The product of 50,000 probabilities is far below the smallest number; the posterior is not."""
    columns, classes = 50_000, Axis.numbered(2)
    accumulator = CountsAccumulator(classes, {"x": TableAccumulator(classes, Axis.numbered(columns), 0.0)})
    x = np.random.default_rng(1).random((6, columns)) < 0.5
    memory.add(accumulator, {"x": x}, np.array([0, 0, 0, 1, 1, 1], np.int32))
    model = estimate(accumulator.value(), {"x": Bernoulli()}, Settings(), uniform_prior(2))
    none = np.zeros((1, columns), dtype=bool)
    joint = model.log_joint({"x": np.vstack([x, none])})
    p = posterior(joint, model.log_prior)
    assert (joint < -20_000).all()
    assert (np.exp(joint) == 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert p[:6].argmax(axis=1).tolist() == [0, 0, 0, 1, 1, 1]
    exact = [[float(Fraction(int(n) + 1, 5)) for n in line] for line in accumulator.columns["x"].n]
    for row, line in enumerate(np.vstack([x, none])):
        expected = [np.log(np.where(line, q, 1 - np.array(q))).sum() + np.log(0.5) for q in exact]
        np.testing.assert_allclose(joint[row], expected, rtol=1e-11)
