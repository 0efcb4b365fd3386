"""The drop-in classifiers give scikit-learn's numbers wherever those are right."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import naive_bayes as theirs
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from naively import sklearn as ours

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


LABELS = {
    "text": np.array(["no", "yes", "maybe"]),
    "objects": np.array(["no", "yes", "maybe"], dtype=object),
    "numbers": np.array([7, -3, 12]),
    "whole floats": np.array([1.0, 2.0, 0.0]),
    "flags": np.array([True, False, True]),
    "small": np.array([1, 0, 2], dtype=np.int8),
}


@each_classifier
@pytest.mark.parametrize("labels", LABELS)
def test_labels_of_every_kind_agree(name, labels):
    """Texts, numbers and flags come back as they went in, in scikit-learn's order."""
    X, y = rows(name, 11)
    y = LABELS[labels][y]
    a, b = both(name)

    a.fit(X, y), b.fit(X, y)

    assert a.classes_.dtype == b.classes_.dtype
    assert a.predict(X).dtype == b.predict(X).dtype
    assert_same(a, b, X)


# -- exactness ---------------------------------------------------------------------------------------------------------


# -- as estimators ----------------------------------------------------------------------------------------------------


@each_classifier
def test_copies_are_the_same_and_apart(name):
    """A pickle or deep copy predicts alike and goes on learning by itself; a clone has learned nothing."""
    X, y = rows(name, 15)
    nb = getattr(ours, name)().fit(X, y)
    before = nb.predict_joint_log_proba(X)

    for twin in (pickle.loads(pickle.dumps(nb)), copy.deepcopy(nb)):
        assert_array_equal(twin.predict_joint_log_proba(X), before)
        twin.partial_fit(X[:7], y[:7])
        assert twin.class_count_.sum() == len(y) + 7
        assert_array_equal(nb.predict_joint_log_proba(X), before)
    assert not hasattr(clone(nb), "classes_")
    assert not hasattr(clone(nb), "class_count_")
    assert clone(nb).get_params() == nb.get_params()


@each_classifier
def test_classifiers_say_their_parameters(name):
    """Names and defaults of the parameters are scikit-learn's, and one more, the number of threads."""
    a, b = both(name)
    ours, theirs = sorted((a, b), key=lambda nb: not type(nb).__module__.startswith("naively"))

    assert ours.get_params() == {**theirs.get_params(), "n_jobs": None}
    assert repr(a) == repr(b)
