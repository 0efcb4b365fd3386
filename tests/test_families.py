"""Each family is the distribution its name says, under each of its three estimates; priors and posteriors."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad
from scipy.special import gammaln

from naively import Bernoulli, Categorical, Gaussian, Moments, Poisson, Settings, Table, Words
from naively.counting import arrays as memory
from naively.errors import InvalidInput, InvalidSetting
from naively.model.column_parts import empirical_prior, estimate, given_prior, uniform_prior
from naively.model.scorer import log_posterior, posterior
from naively.stats import Axis, CountsAccumulator, MomentsAccumulator, TableAccumulator

from .family_cases import CASES, Case, codes_of

ESTIMATES = [Settings(*how) for how in (("mle",), ("map", 1.0), ("map", 3.0), ("bayes", 0.3), ("bayes", 1.0))]
each_estimate = pytest.mark.parametrize("how", ESTIMATES, ids=lambda how: f"{how.estimate} λ={how.smoothing}")


def cases_of(*names):
    return pytest.mark.parametrize("case", [case for case in CASES if case.family.name in names], ids=str)


def learned(family, x, y, how=Settings(), classes=2):  # noqa: B008  # settings are values
    """Return the likelihood of a family of numbers, estimated from these rows."""
    accumulator = MomentsAccumulator(Axis.numbered(classes), Axis.numbered(np.shape(x)[1]))
    memory.add_column(accumulator, np.asarray(x, float), np.asarray(y, np.int32), None, 1)
    rows = np.bincount(y, minlength=classes).astype(float)
    return family.estimate(accumulator.value(), rows, Axis.numbered(classes), how)


def estimated(family, values, n, rows=2.0, **how):
    """Return the likelihood of counts [class, value] of the classes a and b."""
    table = Table(Axis.declared("ab"), values, n)
    return family.estimate(table, np.full(2, rows), table.classes, Settings(**how))


# -- probabilities sum to 1 -------------------------------------------------------------------------------------------


@pytest.mark.pairwise
@cases_of("categorical")
def test_probabilities_of_all_values_sum_to_one(case):
    (table,) = case.learn(case.rows()).tables
    lines = table.lines if case.settings.unseen == "smooth" else table.lines[:-1]
    np.testing.assert_allclose(np.exp(lines).sum(axis=0), 1.0, rtol=1e-12)


@cases_of("words")
def test_probabilities_of_all_texts_of_a_length_sum_to_one(case):
    likelihood = case.learn(case.rows())
    np.testing.assert_allclose(np.exp(likelihood.log_p).sum(axis=1), 1.0, rtol=1e-12)
    if not case.family.complement:
        texts = [text for text in product(range(4), repeat=len(likelihood.features)) if sum(text) == 3]
        total = np.exp(likelihood.log_likelihood(case.matrix(np.array(texts, float)))).sum(axis=0)
        np.testing.assert_allclose(total, 1.0, rtol=1e-12)


@each_estimate
@pytest.mark.parametrize("epsilon", [0.0, 0.7])
def test_densities_integrate_to_one(how, epsilon):
    x, y = [[1.0], [2.5], [2.0], [9.0], [8.0], [8.5], [20.0]], [0, 0, 0, 1, 1, 1, 2]
    bells = learned(Gaussian(epsilon=epsilon), x, y, how, classes=4)
    for k in range(4):
        centre, width = bells.density.centre[0, k], bells.density.precision[0, k] ** -0.5

        def density(t, k=k, centre=centre, width=width):
            return math.exp(bells.log_likelihood(np.array([[centre + t * width]]))[0, k]) * width

        assert quad(density, -np.inf, np.inf, epsabs=1e-11, limit=200)[0] == pytest.approx(1.0, abs=1e-7)


# -- numbers: Normal-inverse-gamma ------------------------------------------------------------------------------------


def prior_and_data():
    """Return a small column and its prior as the books write it: m, κ, a, b of the normal-inverse-gamma density."""
    x, y = np.array([1.0, 2.5, 2.0, 6.0, 7.0]), np.array([0, 0, 0, 1, 1])
    means = np.array([x[y == k].mean() for k in (0, 1)])
    within = sum(((x[y == k] - means[k]) ** 2).sum() for k in (0, 1)) / len(x)
    between = ((means - means.mean()) ** 2).mean()
    smoothing = 1.7
    kappa = smoothing * within / (within + between)
    return x, y, smoothing, (means.mean(), kappa, smoothing / 2, smoothing * within / 2)


def log_joint_density(mean, variance, own, prior):
    """Log of likelihood times normal-inverse-gamma density, up to a constant."""
    m, kappa, a, b = prior
    inverse_gamma = -(a + 1) * np.log(variance) - b / variance
    normal = -0.5 * np.log(variance / kappa) - kappa * (mean - m) ** 2 / (2 * variance)
    return inverse_gamma + normal + sum(stats.norm.logpdf(x, mean, np.sqrt(variance)) for x in own)


def test_student_t_is_the_integral_over_mean_and_variance():
    x, y, smoothing, prior = prior_and_data()
    bells = learned(Gaussian(), x[:, None], y, Settings("bayes", smoothing))
    own, new = x[y == 0], 4.0
    log_variance = np.linspace(-8, 25, 1201)[:, None]
    variance = np.exp(log_variance)
    mean = own.mean() + np.linspace(-14, 14, 1201) * np.sqrt(variance)  # a grid as wide as each variance asks for
    cell = log_joint_density(mean, variance, own, prior) + 1.5 * log_variance
    weight = np.exp(cell - cell.max())
    expected = (weight * stats.norm.pdf(new, mean, np.sqrt(variance))).sum() / weight.sum()
    assert math.exp(bells.log_likelihood(np.array([[new]]))[0, 0]) == pytest.approx(expected, rel=1e-9)


def test_student_t_agrees_with_scipy():
    x, y, smoothing, (m, kappa, a, b) = prior_and_data()
    bells = learned(Gaussian(), x[:, None], y, Settings("bayes", smoothing))
    grid = np.linspace(-20, 30, 41)
    for k in (0, 1):
        own = x[y == k]
        n, mean = len(own), own.mean()
        kn, an = kappa + n, a + n / 2
        bn = b + ((own - mean) ** 2).sum() / 2 + kappa * n * (mean - m) ** 2 / (2 * kn)
        expected = stats.t.logpdf(grid, 2 * an, (kappa * m + n * mean) / kn, math.sqrt(bn / an * (1 + 1 / kn)))
        np.testing.assert_allclose(bells.log_likelihood(grid[:, None])[:, k], expected, rtol=1e-11)


# -- numbers of events ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("smoothing", [0.1, 1.0, 7.0])
def test_events_follow_poisson_and_the_negative_binomial(smoothing):
    """The rate is the mean under `mle`, (a - 1) / b of the gamma posterior under `map`, averaged under `bayes`."""
    x, y = np.array([[3.0], [5.0], [4.0], [1.0], [2.0]]), np.array([0, 0, 0, 1, 1])
    grid, overall = np.arange(60.0), (15 + 0.5) / (5 + 1)
    how = Settings("mle"), Settings("map", smoothing + 1), Settings("bayes", smoothing)
    mle, mode, bayes = (learned(Poisson(), x, y, one, classes=3).log_likelihood(grid[:, None]) for one in how)
    for k, (events, rows) in enumerate([(12, 3), (3, 2), (0, 0)]):
        a, b = events + smoothing * overall, rows + smoothing
        np.testing.assert_allclose(bayes[:, k], stats.nbinom.logpmf(grid, a, b / (b + 1)), rtol=1e-10)
        if rows:
            np.testing.assert_allclose(mle[:, k], stats.poisson.logpmf(grid, events / rows), rtol=1e-12)
            np.testing.assert_allclose(mode[:, k], stats.poisson.logpmf(grid, (a + overall - 1) / (b + 1)), rtol=1e-12)


def test_negative_numbers_of_events_are_refused():
    rates = learned(Poisson(), [[3.0], [5.0]], [0, 1])
    with pytest.raises(InvalidInput, match=r"Row 1, column 0 holds -2; .*cannot be negative.*'gaussian'"):
        rates.log_likelihood(np.array([[1.0], [-2.0]]))
    with pytest.raises(InvalidInput, match=r"Row 0, column 0 holds -1"):
        rates.leave_one_out(np.array([[-1.0]]), np.array([0]))
    with pytest.raises(InvalidInput, match=r"Class 1 has a mean of -4 in column 0; .*'gaussian'"):
        learned(Poisson(), [[3.0], [-4.0]], [0, 1])


# -- others' numbers --------------------------------------------------------------------------------------------------

rng = np.random.default_rng(11)
X, Y = rng.poisson(0.7, (60, 7)), rng.integers(0, 3, 60)
X[:, 6] = 0


# -- settings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("smoothing", [0.0, 0.5, 2.0])
def test_overall_spread_is_the_m_estimate(smoothing):
    """P(value | class) = (n + m·p) / (N + m), with p the value's proportion of all rows."""
    n = np.array([[3.0, 1.0, 0.0], [1.0, 0.0, 5.0]])
    (table,) = estimated(Categorical(spread="overall"), Axis.declared("xyz"), n, smoothing=smoothing).tables
    expected = (n + smoothing * n.sum(axis=0) / n.sum()) / (n.sum(axis=1, keepdims=True) + smoothing)
    np.testing.assert_allclose(np.exp(table.log_p), expected, rtol=1e-12)
    # A declared value that nobody showed counts as met once overall: it must not rule every class out.
    (table,) = estimated(Categorical(spread="overall"), Axis.declared("xyz"), [[3, 1, 0], [2, 2, 0]]).tables
    np.testing.assert_allclose(np.exp(table.log_p[:, 2]), (1 / 9) / (4 + 1), rtol=1e-12)
    np.testing.assert_allclose(np.exp(table.log_p).sum(axis=1), 1.0, rtol=1e-12)


def test_missing_and_unseen_labels():
    """Skipped, they change no probability; a missing one may be a value, one never seen a place of its own or an error.

    With missing='value' a missing value that was never seen is judged like any other new label.
    """
    for labels, n, missing, expected in [
        (["x", "y", None], [[3, 1, 4], [2, 2, 0]], "skip", [[4 / 6, 2 / 6], [3 / 6, 3 / 6]]),
        (["x", "y", None], [[3, 1, 4], [2, 2, 0]], "value", [[4 / 11, 2 / 11, 5 / 11], [3 / 7, 3 / 7, 1 / 7]]),
    ]:
        (table,) = estimated(Categorical(), Axis(labels), n, missing=missing).tables
        np.testing.assert_allclose(np.exp(table.log_p), expected)

    def scores(*labels, **how):
        likelihood = estimated(Categorical(), Axis(["x", "y"]), [[3, 1], [2, 2]], **how)
        return np.exp(likelihood.log_likelihood(codes_of(likelihood, list(labels))))

    np.testing.assert_allclose(scores("new", None), 1.0)
    np.testing.assert_allclose(scores(None, unseen="smooth"), 1.0)
    np.testing.assert_allclose(scores("new", unseen="smooth"), 1 / 7)
    np.testing.assert_allclose(scores("new", None, missing="value"), 1.0)
    np.testing.assert_allclose(scores("new", None, missing="value", unseen="smooth"), 1 / 7)
    with pytest.raises(InvalidInput, match="Row 0 holds a value that was not seen in training"):
        scores(None, missing="value", unseen="error")
    with pytest.raises(InvalidInput, match=r"Row 1 holds a value that was not seen.*unseen='skip'.*'smooth'"):
        scores("x", "new", unseen="error")


def of_case(family, **how):
    """Return what learns a family from its rows under settings."""
    case = Case(family, Settings(**how))
    return lambda: case.learn(case.rows())


def of_two_lambdas(family):
    """Return what learns a family with λ for two values."""
    case, settings = Case(family, Settings()), Settings(smoothing=[1.0, 2.0])
    return lambda: family.estimate(case.count(case.rows()), np.ones(4), Axis.declared("abcd"), settings)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Settings(estimate="laplace"), "estimate='laplace' is unknown; use one of .*'bayes', 'map', 'mle'"),
        (lambda: Settings(missing="drop"), "missing='drop' is unknown; use one of .*'skip', 'value'"),
        (lambda: Settings(unseen="ignore"), "unseen='ignore' is unknown; use one of .*'skip', 'smooth', 'error'"),
        (lambda: Settings(smoothing=-1), "smoothing=-1 must be finite and not negative"),
        (lambda: Settings(smoothing=float("nan")), "must be finite and not negative"),
        (lambda: Settings(smoothing=[1.0, float("inf")]), "must be finite and not negative"),
        (lambda: Settings(smoothing="much"), "smoothing='much' is not a number; give a λ such as 1.0"),
        (lambda: Settings("map", 0.5), r"needs smoothing of 1 or more, found 0.5.*'map' with λ \+ 1"),
        (lambda: Categorical(spread="wide"), "spread='wide' is unknown; use 'even' or 'overall'"),
        (lambda: Gaussian(epsilon=-1.0), "epsilon=-1.0 must be finite and not negative: it is added to variances"),
        (lambda: Gaussian(epsilon=float("inf")), "epsilon=inf must be finite"),
        (lambda: Bernoulli(threshold=-0.5), "threshold=-0.5 must be 0 or more"),
        *(
            (of_case(family(smoothing=0.5), estimate="map", smoothing=2.0), r"Laplace's rule with λ is .*λ \+ 1")
            for family in (Categorical, Bernoulli, Words, Gaussian, Poisson)
        ),
        (of_case(Categorical(spread="overall"), estimate="map", smoothing=2.0), "gives rare values a λ below 1"),
        *(
            (of_two_lambdas(family), "smoothing holds 2 numbers, but this column takes a single λ")
            for family in (Categorical(), Gaussian(), Poisson())
        ),
        (of_two_lambdas(Words()), "smoothing holds 2 numbers for 6 values; give one, or one each"),
        (of_two_lambdas(Bernoulli()), "smoothing holds 2 numbers for 5 values; give one, or one each"),
    ],
)
def test_invalid_settings_say_what_is_valid(make, words):
    with pytest.raises(InvalidSetting, match=words):
        make()


# -- words ------------------------------------------------------------------------------------------------------------

COLOURS = Table(["ham", "spam"], ["blue", "red"], [[3, 1], [0, 4]])
MAIL = Table(["ham", "spam"], ["cheap", "hello", "today", "win"], [[0, 4, 2, 0], [3, 0, 2, 1]])
SIZES = Moments.of(["ham", "spam"], ["size"], n=[[3], [4]], mean=[[5.0], [2.0]], variance=[[1.0], [0.25]])
MANY = Moments.of(list("abcde"), ["size"], n=[[2]] * 5, mean=[[1.0]] * 5, variance=[[0.0]] * 5)
PETALS = Moments.of(["a"], ["length", "width"], n=[[2, 0]], mean=[[3.0, 0.0]], variance=[[4.0, 0.0]])


@pytest.mark.parametrize(
    ("family", "statistic", "said"),
    [
        (Categorical(), COLOURS, "x: most frequent is blue for ham (3 of 4), red for spam (4 of 4)."),
        (Bernoulli(), MAIL, "x: ham has hello in 83% of its rows, spam has cheap in 67% of its rows."),
        (Words(), MAIL, "x: most indicative are hello for ham; cheap, win for spam."),
        (Words(complement=True), MAIL, "x: most indicative are hello for ham; cheap, win for spam."),
        (Gaussian(), SIZES, "x: 5 ± 1 for ham, 2 ± 0.5 for spam."),
        (Poisson(), SIZES, "x: 4.484 a row for ham, 2.188 a row for spam."),
        (Gaussian(), MANY, "x: 1 ± 0 for a, 1 ± 0 for b, 1 ± 0 for c and so on for 2 more."),
        (Gaussian(), PETALS, "x[length]: 3 ± 2 for a.\nx[width]: no numbers."),
        (Categorical(), Table(), "x: nothing was counted."),
        (Bernoulli(), Table(), "x: nothing was counted."),
        (Words(), Table(), "x: all classes are equal."),
        (Gaussian(), Moments([], ["x"]), "x: no numbers."),
    ],
    ids=lambda part: getattr(part, "name", ""),
)
def test_a_family_says_in_a_sentence_what_it_learned(family, statistic, said):
    classes = statistic.classes if len(statistic.classes) else Axis.declared("a")
    likelihood = family.estimate(statistic, np.full(len(classes), 4.0), classes, Settings())
    assert getattr(likelihood, "tables", [likelihood])[0].describe("x") == said


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


def test_fractions_of_words_extend_the_factorial():
    x = np.array([[0.5, 1.25, 0.0]])
    words = estimated(Words(), Axis.numbered(3), [[1.5, 2.0, 0.25], [0.0, 1.0, 3.0]])
    expected = gammaln(2.75) - gammaln(1.5) - gammaln(2.25) + words.log_p @ x[0]
    np.testing.assert_allclose(words.log_likelihood(x)[0], expected, rtol=1e-12)
