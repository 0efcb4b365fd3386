"""From counts to a model: priors, columns of several families, and the posterior."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from naively import Bernoulli, Categorical, Counts, Gaussian, Poisson, Settings, Words
from naively.counting import arrays as memory
from naively.errors import InvalidSetting, RowRefused
from naively.model.column_parts import empirical_prior, estimate, given_prior, uniform_prior
from naively.model.scorer import NaiveModel, log_posterior, posterior
from naively.stats import Axis, CodesAccumulator, CountsAccumulator, MomentsAccumulator, TableAccumulator

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


def test_priors_without_rows_of_weighted_rows_and_as_given():
    """Sums of given priors that differ from 1 by rounding are mended."""
    np.testing.assert_allclose(empirical_prior(np.zeros(4), Settings("mle")), uniform_prior(4))
    np.testing.assert_allclose(np.exp(uniform_prior(4)), 0.25)
    np.testing.assert_allclose(np.exp(empirical_prior(np.array([0.5, 1.5]), Settings("mle"))), [0.25, 0.75])
    assert given_prior([0.25, 0.75], 2).tolist() == np.log([0.25, 0.75]).tolist()
    assert given_prior([0.0, 1.0], 2).tolist() == [-np.inf, 0.0]
    assert np.exp(given_prior([0.333333, 0.333333, 0.333334 + 1e-9], 3)).sum() == pytest.approx(1, abs=1e-15)


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


def test_the_prior_takes_a_single_lambda():
    """An array of λ belongs to a wide column."""
    with pytest.raises(InvalidSetting, match="smoothing holds 2 numbers, but this column takes a single λ"):
        empirical_prior(np.ones(2), Settings(smoothing=[1.0, 2.0]))


# -- several columns --------------------------------------------------------------------------------------------------

N, CLASSES = 40, Axis.declared(["ham", "spam", "egg"])
rng = np.random.default_rng(5)
Y = rng.integers(0, 3, N).astype(np.int32)
COLUMNS = {
    "colour": rng.integers(0, 3, (N, 2)),
    "flags": (rng.random((N, 4)) < 0.3).astype(float),
    "words": sparse.csr_array(rng.poisson(0.5, (N, 6)).astype(float)),
    "size": rng.normal(3, 2, (N, 2)),
    "calls": rng.poisson(2, (N, 1)).astype(float),
}
FAMILIES = {"colour": Categorical(), "flags": Bernoulli(), "words": Words(), "size": Gaussian(), "calls": Poisson()}


def counted() -> Counts:
    accumulator = CountsAccumulator(
        CLASSES,
        {
            "colour": CodesAccumulator(CLASSES, [3, 3]),
            "flags": TableAccumulator(CLASSES, Axis.numbered(4), 0.0),
            "words": TableAccumulator(CLASSES, Axis.numbered(6)),
            "size": MomentsAccumulator(CLASSES, Axis.numbered(2)),
            "calls": MomentsAccumulator(CLASSES, Axis.numbered(1)),
        },
    )
    memory.add(accumulator, COLUMNS, Y)
    return accumulator.value()


@pytest.mark.parametrize("how", [Settings("mle"), Settings("map", 2.0), Settings("bayes")], ids=lambda h: h.estimate)
def test_columns_of_different_families_add_up(how):
    model = estimate(counted(), FAMILIES, how, uniform_prior(3))
    joint = model.log_joint(COLUMNS)
    expected = np.tile(model.log_prior, (N, 1))
    for name, likelihood in model.terms.items():
        expected += likelihood.log_likelihood(COLUMNS[name])
    assert (np.isfinite(joint) == np.isfinite(expected)).all()
    assert np.isfinite(joint).any(axis=1).all()
    # The multinomial coefficient is the same for all classes, and left out of the joint.
    np.testing.assert_allclose(
        log_posterior(joint, model.log_prior), log_posterior(expected, model.log_prior), atol=1e-9
    )


def test_a_model_is_made_from_counts_alone():
    """Smoothing changes after counting, threads change no bit, and without columns the prior remains."""
    counts = counted()
    half = counts * 0.5
    strong, weak = (estimate(counts, FAMILIES, Settings(smoothing=s), uniform_prior(3)) for s in (50.0, 1.0))
    again = estimate(half + half, FAMILIES, Settings(), uniform_prior(3))
    assert not np.allclose(strong.log_joint(COLUMNS), weak.log_joint(COLUMNS))
    np.testing.assert_allclose(again.log_joint(COLUMNS), weak.log_joint(COLUMNS), rtol=1e-12)
    assert (weak.log_joint(COLUMNS, 2) == weak.log_joint(COLUMNS)).all()
    for name, likelihood in weak.terms.items():
        assert likelihood.describe(name).startswith(name)
        assert likelihood.describe(name).endswith(".")
    assert weak.terms["colour"].describe("colour").count("\n") == 1
    model = NaiveModel(CLASSES, np.log([0.5, 0.25, 0.25]), {})
    assert posterior(model.log_joint({"size": COLUMNS["size"]}), model.log_prior)[0].tolist() == [0.5, 0.25, 0.25]


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


@pytest.mark.parametrize("made", [posterior, log_posterior])
def test_a_log_joint_that_is_no_number_is_refused(made):
    with pytest.raises(RowRefused, match="Row 1 holds infinity or no number; only finite numbers can be scored"):
        made(np.array([[0.0, -1.0], [np.nan, 0.0]]), np.log([0.5, 0.5]))
