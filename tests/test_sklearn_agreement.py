"""The drop-in classifiers give scikit-learn's numbers where those are right, and have none of its known defects."""

import json
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import naive_bayes as theirs
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from naively import sklearn as ours
from naively.families import Gaussian, Settings
from naively.model.scorer import posterior
from naively.sklearn import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from naively.stats import Axis, Moments

NAMES = [name for name in ours.__all__ if name.endswith("NB")]
WIDE = ["BernoulliNB", "ComplementNB", "MultinomialNB"]  # those that take sparse matrices
DISCRETE = [*WIDE, "CategoricalNB"]
ATTRIBUTES = {
    "GaussianNB": ["class_count_", "class_prior_", "theta_", "var_", "epsilon_"],
    "BernoulliNB": ["class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_"],
    "MultinomialNB": ["class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_"],
    "ComplementNB": ["class_count_", "class_log_prior_", "feature_count_", "feature_log_prob_", "feature_all_"],
    "CategoricalNB": ["class_count_", "class_log_prior_", "category_count_", "feature_log_prob_", "n_categories_"],
}
DATA = {"iris": load_iris, "wine": load_wine, "digits": load_digits, "breast_cancer": load_breast_cancer}

each_classifier = pytest.mark.parametrize("name", NAMES)


def both(name, **parameters):
    """Return our classifier and scikit-learn's, with the same parameters."""
    return getattr(ours, name)(**parameters), getattr(theirs, name)(**parameters)


def rows(name, seed, n=40, columns=5, classes=3):
    """Return rows that suit the classifier, and their classes; every class has several."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % classes)
    if name == "GaussianNB":
        return rng.normal(size=(n, columns)) * rng.uniform(0.1, 10, columns) + y[:, None] * rng.normal(size=columns), y
    return rng.poisson(rng.uniform(0.2, 2.0, (classes, columns))[y]), y


def assert_same_attributes(a, b, names, rtol=1e-10):
    for attribute in names:
        values = [getattr(nb, attribute) for nb in (a, b)]
        for x, y in zip(*values, strict=True) if isinstance(values[1], list) else [values]:
            assert_allclose(x, y, rtol=rtol, atol=1e-12, err_msg=attribute)


def assert_same_predictions(a, b, X, rtol=1e-10):
    """Joint log probabilities, probabilities and predictions are equal, where classes are not tied."""
    joint = b.predict_joint_log_proba(X)
    assert_allclose(a.predict_joint_log_proba(X), joint, rtol=rtol, atol=rtol)
    assert_allclose(a.predict_log_proba(X), b.predict_log_proba(X), rtol=rtol, atol=rtol * np.abs(joint).max() + 1e-12)
    assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-7, atol=1e-12)
    best = np.sort(joint, axis=1)
    clear = np.ones(len(joint), bool) if joint.shape[1] == 1 else best[:, -1] - best[:, -2] > 1e-8
    assert_array_equal(a.predict(X)[clear], b.predict(X)[clear])


def assert_same(a, b, X, rtol=1e-10):
    assert_array_equal(a.classes_, b.classes_)
    assert_same_attributes(a, b, ATTRIBUTES[type(b).__name__], rtol)
    assert_same_predictions(a, b, X, rtol)


# -- random data -------------------------------------------------------------------------------------------------------

seeds = st.integers(0, 2**32 - 1)
PRIOR = [0.2, 0.3, 0.5]
ALPHAS = np.linspace(0.01, 3, 5)
CASES = [
    *(("GaussianNB", {"var_smoothing": portion}) for portion in (0.0, 1e-3, 10.0)),
    ("GaussianNB", {"priors": PRIOR}),
    *((name, {"alpha": alpha, "fit_prior": alpha > 1}) for name in DISCRETE for alpha in (1e-3, 7.25)),
    # ComplementNB uses a prior here, and does not there; an array of alphas is another thing for a flag.
    *((name, {"class_prior": PRIOR}) for name in DISCRETE if name != "ComplementNB"),
    *((name, {"alpha": ALPHAS}) for name in ("MultinomialNB", "ComplementNB")),
    ("ComplementNB", {"norm": True}),
    *(("BernoulliNB", {"binarize": threshold}) for threshold in (None, 0.5, 1, 2.0)),
    *(("CategoricalNB", {"min_categories": least}) for least in (7, [9, 4, 4, 4, 6])),
]


@each_classifier
@given(seed=seeds, n=st.integers(12, 80), columns=st.integers(1, 12), classes=st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_fit_agrees_on_random_rows(name, seed, n, columns, classes):
    """All attributes and predictions are scikit-learn's."""
    X, y = rows(name, seed, n, columns, classes)
    a, b = both(name)

    assert_same(a.fit(X, y), b.fit(X, y), X)


@pytest.mark.parametrize(("name", "parameters"), CASES, ids=str)
@given(seed=seeds)
@settings(max_examples=8, deadline=None)
def test_parameters_mean_what_they_mean_in_scikit_learn(name, parameters, seed):
    X, y = rows(name, seed)
    if name == "CategoricalNB":
        X = np.minimum(X, 3)
    elif parameters.get("binarize", 0) is None:
        X = np.random.default_rng(seed).uniform(size=X.shape)  # parts of flags
    a, b = both(name, **parameters)

    assert_same(a.fit(X, y), b.fit(X, y), X)


@each_classifier
@given(seed=seeds, whole=st.booleans())
@settings(max_examples=30, deadline=None)
def test_sample_weights_agree(name, seed, whole):
    """Weights count as in scikit-learn, whose ε alone ignores them."""
    X, y = rows(name, seed)
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 4, len(y)) + (y == rng.integers(3)) if whole else rng.uniform(0.1, 3, len(y))
    weights[[np.argmax(y == k) for k in range(3)]] = 1  # every class keeps a row
    a, b = both(name, **({"var_smoothing": 0.0} if name == "GaussianNB" else {}))
    if name == "GaussianNB":
        weights = weights + 0.5  # a class of one row has no variance
    if name == "CategoricalNB":
        weights = np.maximum(weights, 1e-3)  # the codes of rows of no weight do not exist here

    assert_same(a.fit(X, y, weights), b.fit(X, y, weights), X, rtol=1e-9)


@each_classifier
@given(seed=seeds, size=st.integers(1, 41))
@settings(max_examples=25, deadline=None)
def test_batches_agree(name, seed, size):
    """Rows that come in batches give what scikit-learn gives for all of them at once."""
    X, y = rows(name, seed)
    a, b = both(name)
    for start in range(0, len(X), size):
        a.partial_fit(X[start : start + size], y[start : start + size], classes=[0, 1, 2])

    assert_same(a, b.fit(X, y), X)


@pytest.mark.parametrize("name", DISCRETE)
def test_batches_agree_with_scikit_learns_own_batches(name):
    """Weighted batches, some without a class, agree after each of them."""
    X, y = rows(name, 7)
    # scikit-learn cannot be asked about codes that have not come yet, and its n_categories_ is that of the last batch.
    a, b = both(name, **({"min_categories": 12} if name == "CategoricalNB" else {}))
    for start in range(0, len(X), 9):
        batch = slice(start, start + 9)
        weights = np.linspace(0.5, 2, len(y[batch]))
        for nb in (a, b):
            nb.partial_fit(X[batch], y[batch], classes=[0, 1, 2], sample_weight=weights)
        assert_same(a, b, X)


# -- real data ---------------------------------------------------------------------------------------------------------


@each_classifier
@pytest.mark.parametrize("data", DATA)
def test_real_data_agree(name, data):
    """On four data sets of scikit-learn all attributes and predictions are the same."""
    X, y = DATA[data](return_X_y=True)
    if name == "CategoricalNB":
        X = X.astype(int)
    a, b = both(name)

    # On digits, columns that are constant in a class have the variance ε alone, and rounding is seen through it.
    assert_same(a.fit(X, y), b.fit(X, y), X, rtol=1e-8 if (name, data) == ("GaussianNB", "digits") else 1e-10)


# -- types -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "parameters"), [*((name, {}) for name in WIDE), ("BernoulliNB", {"binarize": 1})])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_])
def test_sparse_rows_are_dense_rows(name, parameters, dtype):
    """A sparse matrix gives what its dense form gives, bit by bit in the counts."""
    X, y = rows(name, 8)
    X = X.astype(dtype)
    kinds = {"dense": X, "sparse": sparse.csr_array(X)}
    a, b = (getattr(ours, name)(**parameters).fit(kind, y) for kind in kinds.values())

    assert_array_equal(a.feature_count_, b.feature_count_)
    for kind in kinds.values():
        assert_allclose(b.predict_joint_log_proba(kind), a.predict_joint_log_proba(X), rtol=1e-12)


# -- as estimators ----------------------------------------------------------------------------------------------------


@each_classifier
def test_classifiers_say_their_parameters(name):
    """Names and defaults of the parameters are scikit-learn's, and one more, the number of threads."""
    a, b = both(name)
    ours, theirs = sorted((a, b), key=lambda nb: not type(nb).__module__.startswith("naively"))

    assert ours.get_params() == {**theirs.get_params(), "n_jobs": None}
    assert repr(a) == repr(b)


# -- known defects of scikit-learn's naive bayes, each shown to be absent here; docs/guide/scikit-learn.md lists them --

ON_CODES = [MultinomialNB, ComplementNB, BernoulliNB, CategoricalNB]


def wine():
    return load_wine(return_X_y=True)


def in_batches(classifier, X, y, size):
    for start in range(0, len(X), size):
        rows = slice(start, start + size)
        classifier.partial_fit(X[rows], y[rows], classes=np.unique(y))
    return classifier


# -- 1: a category never seen (scikit-learn #16028, #16708, #20034: IndexError) ----------------------------------------


def test_a_category_never_seen_contributes_nothing():
    """A row with an unknown code gets the answer of its other columns."""
    codes, y = np.array([[0, 1], [0, 0], [1, 1], [2, 1]]), [0, 0, 1, 1]
    both, second = CategoricalNB().fit(codes, y), CategoricalNB().fit(codes[:, 1:], y)

    assert_allclose(both.predict_proba([[99, 1], [99, 0]]), second.predict_proba([[1], [0]]), rtol=1e-12)


def test_categories_stay_known_when_a_batch_lacks_them():
    """Codes met in an earlier batch stay counted in `n_categories_`."""
    nb = CategoricalNB().partial_fit([[0], [4]], [0, 1], classes=[0, 1]).partial_fit([[1]], [0])

    assert_array_equal(nb.n_categories_, [5])
    assert [table.shape for table in nb.category_count_] == [(2, 5)]


# -- 6, 17: what var_smoothing adds (#14054, #24732, #5314) ------------------------------------------------------------


def test_var_smoothing_is_a_fraction_of_the_largest_variance_of_all_rows():
    """`epsilon_` is documented: var_smoothing times the largest column variance, added to every variance."""
    X, y = wine()
    plain, smooth = GaussianNB(var_smoothing=0.0).fit(X, y), GaussianNB(var_smoothing=0.1).fit(X, y)

    assert smooth.epsilon_ == pytest.approx(0.1 * X.var(axis=0).max(), rel=1e-12)
    assert_allclose(smooth.var_, plain.var_ + smooth.epsilon_, rtol=1e-12)


@pytest.mark.parametrize("estimate", ["bayes", "map", "mle"])
def test_the_family_does_not_mix_units_of_different_columns(estimate):
    """Naively's Gaussian family answers the same when one column alone changes its unit."""
    X, y = wine()
    scale = np.ones(X.shape[1])
    scale[0] = 1e6

    def answers(X):
        classes, columns = Axis.numbered(3), Axis.numbered(X.shape[1])
        parts = [X[y == k] for k in range(3)]
        n = np.array([np.full(X.shape[1], float(len(part))) for part in parts])
        mean, variance = (np.array([f(part, axis=0) for part in parts]) for f in (np.mean, np.var))
        moments = Moments.of(classes, columns, n=n, mean=mean, variance=variance)
        bells = Gaussian().estimate(moments, n[:, 0], classes, Settings(estimate=estimate))
        return posterior(bells.log_likelihood(X), np.log(np.full(3, 1 / 3)))

    assert_allclose(answers(X * scale), answers(X), rtol=1e-9, atol=1e-300)


# -- 7: partial_fit is not fit (found in the survey; NaN row by row) ---------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 7, 100])
@pytest.mark.parametrize("var_smoothing", [1e-9, 0.1])
def test_rows_in_batches_give_what_all_rows_at_once_give(size, var_smoothing):
    """The variance added is that of all rows so far, never of the last batch."""
    X, y = wine()
    whole, parts = GaussianNB(var_smoothing=var_smoothing).fit(X, y), GaussianNB(var_smoothing=var_smoothing)

    in_batches(parts, X, y, size)

    assert parts.epsilon_ == pytest.approx(whole.epsilon_, rel=1e-12)
    assert_allclose(parts.var_, whole.var_, rtol=1e-11)
    assert_allclose(parts.predict_joint_log_proba(X), whole.predict_joint_log_proba(X), rtol=1e-10)


# -- 9: BernoulliNB with an alpha for each feature (cuML #8666: an error, or P = 1.667) --------------------------------


def test_an_alpha_for_each_flag_gives_probabilities():
    """P(flag | class) is (n + α) / (N + 2α) with the flag's own α, for as many classes as flags too."""
    has, y, alpha = np.array([[1, 0], [1, 1], [0, 1]]), [0, 0, 1], np.array([0.5, 3.0])

    nb = BernoulliNB(alpha=alpha).fit(has, y)

    expected = np.array([[2 + 0.5, 1 + 3.0], [0 + 0.5, 1 + 3.0]]) / (np.array([[2.0], [1.0]]) + 2 * alpha)
    assert_allclose(np.exp(nb.feature_log_prob_), expected, rtol=1e-12)
    assert_allclose(nb.predict_proba(has).sum(axis=1), 1.0, rtol=1e-12)


def test_tiny_alphas_keep_their_digits():
    """P(no flag) is estimated as such, (N - n + α) / (N + 2α), where 1 - P(flag) would cancel."""
    nb = BernoulliNB(alpha=1e-10).fit([[1], [1], [1], [0]], [0, 0, 0, 1])

    absent = nb.predict_joint_log_proba([[0]])[0, 0] - nb.class_log_prior_[0]

    assert absent == pytest.approx(np.log(1e-10) - np.log(3 + 2e-10), rel=1e-14)


# -- 10: float32 stops counting (found in the survey: at 16,777,216) ---------------------------------------------------


@pytest.mark.parametrize("classifier", [GaussianNB, *ON_CODES])
def test_counts_of_float32_rows_go_on_beyond_16_777_216(classifier):
    """Counts are float64 whatever the rows are: one more row is always one more."""
    X, y = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32), [0, 1]
    nb = classifier().partial_fit(X, y, classes=[0, 1], sample_weight=[2**24, 2**24])

    nb.partial_fit(X, y)

    assert nb.class_count_.dtype == np.float64
    assert_array_equal(nb.class_count_, [2**24 + 1, 2**24 + 1])


# -- 11: a class declared but not met (#13232) -------------------------------------------------------------------------


@pytest.mark.parametrize("classifier", [MultinomialNB, BernoulliNB, CategoricalNB])
def test_a_declared_class_without_rows_is_impossible_in_the_drop_in(classifier):
    """As in scikit-learn, the prior of a class without rows is 0, and so is its probability."""
    nb = classifier().partial_fit([[0, 1], [1, 0]], [0, 1], classes=[0, 1, 2])

    assert_allclose(nb.class_log_prior_, [np.log(0.5), np.log(0.5), -np.inf], rtol=1e-12)
    assert_array_equal(nb.predict_proba([[0, 1]])[:, 2], [0.0])


# -- 12: memory with many classes (PR #5123: 1.68 GB for 40 MB of counts) ----------------------------------------------

MANY_CLASSES = """
import json, numpy as np
from pathlib import Path
from naively.sklearn import MultinomialNB

def status(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key + ":")) / 1024

rng = np.random.default_rng(0)
X = rng.integers(0, 3, (20_000, 1_000), dtype=np.uint8).astype(np.float64)
y = np.arange(20_000) % 5_000
MultinomialNB().fit(X[:10], y[:10])  # what is loaded at first use is no cost of the classes
before = status("VmRSS")
nb = MultinomialNB().fit(X, y)
print(json.dumps({"above": status("VmHWM") - before, "counted": nb.class_count_.sum()}))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc/self/status")
def test_many_classes_cost_their_counts_and_little_more():
    """Fitting 20,000 rows of 5,000 classes and 1,000 words (40 MB of counts) peaks below 200 MiB."""
    done = subprocess.run([sys.executable, "-c", MANY_CLASSES], capture_output=True, text=True, check=True)
    measured = json.loads(done.stdout)

    assert measured["counted"] == 20_000
    assert measured["above"] < 200


# -- 13: ComplementNB ignores class_prior (#14444) ---------------------------------------------------------------------


def test_complement_honours_a_prior():
    """An explicit prior adds its logarithm to the scores; without one there is none, as in the paper."""
    X, y = np.array([[2, 0, 1], [1, 0, 0], [0, 3, 1], [0, 1, 1]]), [0, 0, 1, 1]
    plain, asked = ComplementNB().fit(X, y), ComplementNB(class_prior=[0.999, 0.001]).fit(X, y)

    change = asked.predict_joint_log_proba(X) - plain.predict_joint_log_proba(X)

    assert_allclose(change, np.tile(np.log([0.999, 0.001]), (4, 1)), rtol=1e-12)
    assert asked.predict_proba([[0, 0, 0]])[0, 0] == pytest.approx(0.999)


# -- 15: alpha=0 (#5814, #10772) ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("classifier", ON_CODES)
def test_no_smoothing_gives_no_nan(classifier):
    """Without smoothing, a row that rules out every class gets the prior; nothing is NaN and nothing warns."""
    X = np.array([[0, 1, 0], [1, 1, 0], [1, 0, 0], [2, 0, 0]])
    y = np.array([0, 0, 1, 1])
    new = np.array([[0, 0, 0], [1, 1, 1], [2, 2, 2], [0, 1, 0], [0, 0, 2]])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nb = classifier(alpha=0.0, force_alpha=True).fit(X, y)
        answers = nb.predict_proba(new)

    assert not np.isnan(nb.predict_joint_log_proba(new)).any()
    assert_allclose(answers.sum(axis=1), 1.0, rtol=1e-12)
    assert_array_equal(nb.predict(new), answers.argmax(axis=1))
    assert not any(np.isnan(table).any() for table in nb.feature_log_prob_)
