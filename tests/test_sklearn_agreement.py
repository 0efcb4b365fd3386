"""The drop-in classifiers give scikit-learn's numbers wherever those are right, and live in its tools."""

import copy
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import naive_bayes as theirs
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

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
        one, other = getattr(a, attribute), getattr(b, attribute)
        for x, y in zip(one, other, strict=True) if isinstance(other, list) else [(one, other)]:
            assert_allclose(x, y, rtol=rtol, atol=1e-12, err_msg=attribute)


def assert_same_answers(a, b, X, rtol=1e-10):
    """Joint log probabilities, probabilities and predictions are equal, where classes are no tie."""
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
    assert_same_answers(a, b, X, rtol)


# -- random data -------------------------------------------------------------------------------------------------------

sizes = {"n": st.integers(12, 80), "columns": st.integers(1, 12), "classes": st.integers(1, 4)}


@each_classifier
@given(seed=st.integers(0, 2**32 - 1), **sizes)
@settings(max_examples=20, deadline=None)
def test_fit_agrees_on_random_rows(name, seed, n, columns, classes):
    """All attributes and answers are scikit-learn's."""
    X, y = rows(name, seed, n, columns, classes)
    a, b = both(name)

    assert_same(a.fit(X, y), b.fit(X, y), X)


@pytest.mark.parametrize("name", DISCRETE)
@given(
    seed=st.integers(0, 2**32 - 1),
    alpha=st.sampled_from([1e-3, 0.5, 1, 7.25]),
    fit_prior=st.booleans(),
    given_prior=st.booleans(),
)
@settings(max_examples=20, deadline=None)
def test_parameters_of_discrete_classifiers_agree(name, seed, alpha, fit_prior, given_prior):
    """Smoothing and priors mean what they mean in scikit-learn; only ComplementNB honours a prior more than there."""
    X, y = rows(name, seed)
    prior = [0.2, 0.3, 0.5] if given_prior and name != "ComplementNB" else None
    a, b = both(name, alpha=alpha, fit_prior=fit_prior, class_prior=prior)

    assert_same(a.fit(X, y), b.fit(X, y), X)


@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB"])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_an_alpha_for_each_word_agrees(name, seed):
    """An array of α, one for each column, gives scikit-learn's weights."""
    X, y = rows(name, seed)
    a, b = both(name, alpha=np.random.default_rng(seed).uniform(0.01, 3, X.shape[1]))

    assert_same(a.fit(X, y), b.fit(X, y), X)


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("classes", [1, 2, 3])
def test_complement_agrees_with_and_without_norm(norm, classes):
    """The weights of ComplementNB agree, normalised or not, and for a single class."""
    X, y = rows("ComplementNB", 1, classes=classes)
    a, b = both("ComplementNB", norm=norm)

    assert_same(a.fit(X, y), b.fit(X, y), X)


@pytest.mark.parametrize("binarize", [0.0, 0.5, 1, 2.0])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_bernoulli_agrees_on_what_is_there(binarize, kind):
    """A cell above the threshold is a flag, in dense and sparse rows."""
    X, y = rows("BernoulliNB", 2)
    a, b = both("BernoulliNB", binarize=binarize)

    assert_same(a.fit(kind(X), y), b.fit(kind(X), y), kind(X))


def test_bernoulli_agrees_on_flags_and_on_parts_of_flags():
    """With binarize=None, cells between 0 and 1 count for what they hold."""
    X, y = np.random.default_rng(3).uniform(size=(40, 5)), np.arange(40) % 3
    a, b = both("BernoulliNB", binarize=None)

    assert_same(a.fit(X, y), b.fit(X, y), X)


@pytest.mark.parametrize("least", [7, [9, 4, 4, 4, 6]])
def test_categorical_agrees_on_min_categories(least):
    """Codes that may come although they did not are counted in, as in scikit-learn."""
    X, y = np.minimum(rows("CategoricalNB", 4)[0], 3), rows("CategoricalNB", 4)[1]
    a, b = both("CategoricalNB", min_categories=least)

    assert_same(a.fit(X, y), b.fit(X, y), X)


@pytest.mark.parametrize("var_smoothing", [0.0, 1e-9, 1e-3, 10.0])
@pytest.mark.parametrize("priors", [None, [0.1, 0.2, 0.7]])
def test_parameters_of_gaussian_agree(var_smoothing, priors):
    """var_smoothing and priors mean what they mean in scikit-learn."""
    X, y = rows("GaussianNB", 5)
    a, b = both("GaussianNB", var_smoothing=var_smoothing, priors=priors)

    assert_same(a.fit(X, y), b.fit(X, y), X)
    if priors:
        assert_array_equal(a.class_prior_, priors)


@each_classifier
@given(seed=st.integers(0, 2**32 - 1), whole=st.booleans())
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
def test_a_weight_of_two_is_two_rows(name):
    """Whole weights are repeated rows, and no weight is no row, in every attribute."""
    X, y = rows(name, 6)
    times = np.random.default_rng(6).integers(0, 4, len(y))
    weighted, repeated = (getattr(ours, name)() for _ in range(2))

    weighted.fit(X, y, times)
    repeated.fit(np.repeat(X, times, axis=0), np.repeat(y, times))

    assert_same_attributes(weighted, repeated, ATTRIBUTES[name], rtol=1e-11)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-9, atol=1e-300)


@each_classifier
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 41))
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
    """On four data sets of scikit-learn all attributes and answers are the same."""
    X, y = DATA[data](return_X_y=True)
    if name == "CategoricalNB":
        X = X.astype(int)
    a, b = both(name)

    # On digits, columns that are constant in a class have the variance ε alone, and rounding is seen through it.
    assert_same(a.fit(X, y), b.fit(X, y), X, rtol=1e-8 if (name, data) == ("GaussianNB", "digits") else 1e-10)


# -- types -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_])
def test_sparse_rows_are_dense_rows(name, dtype):
    """A sparse matrix gives what its dense form gives, bit by bit in the counts."""
    X, y = rows(name, 8)
    X = X.astype(dtype)
    a, b = getattr(ours, name)().fit(X, y), getattr(ours, name)().fit(sparse.csr_array(X), y)

    assert_array_equal(a.feature_count_, b.feature_count_)
    assert_allclose(b.predict_joint_log_proba(sparse.csr_array(X)), a.predict_joint_log_proba(X), rtol=1e-12)
    assert_allclose(b.predict_joint_log_proba(X), a.predict_joint_log_proba(sparse.csr_array(X)), rtol=1e-12)


@each_classifier
def test_float32_rows_agree(name):
    """Rows in float32 give what scikit-learn gives for the same numbers in float64, to the digits of float32."""
    X, y = rows(name, 9)
    X = X.astype(np.float32)
    a, b = both(name)

    a.fit(X, y), b.fit(X.astype(np.float64), y)

    assert_same(a, b, X, rtol=2e-5 if name == "GaussianNB" else 1e-10)


def test_gaussian_answers_in_the_type_of_the_rows():
    """Float32 rows give float32 attributes and answers, float64 rows give float64; counts are float64 always."""
    X, y = rows("GaussianNB", 10)
    for dtype in (np.float32, np.float64):
        nb = ours.GaussianNB().fit(X.astype(dtype), y)
        kinds = {nb.theta_.dtype, nb.var_.dtype, nb.class_prior_.dtype, nb.predict_proba(X.astype(dtype)).dtype}
        assert kinds == {np.dtype(dtype)}
        assert nb.class_count_.dtype == np.float64


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


@each_classifier
def test_frames_agree_and_keep_their_names(name):
    """A data frame's column names are kept, and checked when predicting."""
    X, y = rows(name, 12)
    frame, labels = pd.DataFrame(X, columns=list("vwxyz")), pd.Series(y, name="class")
    a, b = both(name)

    assert_same(a.fit(frame, labels), b.fit(frame, labels), frame)
    assert_array_equal(a.feature_names_in_, list("vwxyz"))
    with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
        a.predict(frame.rename(columns={"v": "u"}))
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        a.predict(frame[list("wvxyz")])
    with pytest.raises(ValueError, match="feature names should match"):
        a.partial_fit(frame.rename(columns={"v": "u"}), labels)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        a.predict(X)


# -- exactness ---------------------------------------------------------------------------------------------------------


@each_classifier
def test_probabilities_are_exact_where_they_are_tiny(name):
    """Log probabilities go on where the probability itself is 0, and those of certain classes are close to 0."""
    X, y = rows(name, 13, columns=3, classes=2)
    X = np.vstack([X, X[:1]])
    nb = getattr(ours, name)().fit(X, np.append(y, 0))
    far = X[:3] * 400 if name in ("MultinomialNB", "ComplementNB", "GaussianNB") else X[:3]

    joint, logs = nb.predict_joint_log_proba(far), nb.predict_log_proba(far)

    best = joint.max(axis=1, keepdims=True)
    expected = joint - best - np.log1p(np.exp(joint.min(axis=1, keepdims=True) - best))
    assert_allclose(logs, expected, rtol=1e-12, atol=1e-15)
    assert_allclose(nb.predict_proba(far), np.exp(expected), rtol=1e-12, atol=1e-300)


# -- tools -------------------------------------------------------------------------------------------------------------


def test_a_pipeline_on_text_agrees():
    """CountVectorizer and MultinomialNB classify texts as scikit-learn's do."""
    texts = ["cheap pills now", "meeting at noon", "cheap meeting", "win pills", "lunch at noon", "win now now"]
    y = ["spam", "ham", "ham", "spam", "ham", "spam"]
    a, b = (make_pipeline(CountVectorizer(), nb).fit(texts, y) for nb in both("MultinomialNB"))

    assert_allclose(a.predict_proba(texts), b.predict_proba(texts), rtol=1e-12)


@each_classifier
def test_a_search_agrees(name):
    """GridSearchCV over a pipeline finds the same scores and the same best parameters."""
    X, y = load_iris(return_X_y=True)
    key, grid = ("var_smoothing", [1e-9, 1e-2, 1.0]) if name == "GaussianNB" else ("alpha", [0.01, 1.0, 50.0])
    if name == "CategoricalNB":
        X = X.astype(int)
    scaler = StandardScaler() if name == "GaussianNB" else MinMaxScaler((0, 5))
    steps = [] if name == "CategoricalNB" else [scaler]
    searches = []
    for nb in both(name, **({"min_categories": 9} if name == "CategoricalNB" else {})):
        pipeline = make_pipeline(*steps, nb)
        searches.append(GridSearchCV(pipeline, {f"{name.lower()}__{key}": grid}, cv=4).fit(X, y))

    a, b = searches
    assert a.best_params_ == b.best_params_
    assert_allclose(a.cv_results_["mean_test_score"], b.cv_results_["mean_test_score"], rtol=1e-12)


@each_classifier
def test_calibration_agrees(name):
    """CalibratedClassifierCV gives the same probabilities on top of ours."""
    X, y = rows(name, 14, n=90)
    X = np.minimum(X, 4) if name == "CategoricalNB" else X
    parameters = {"min_categories": 5} if name == "CategoricalNB" else {}
    a, b = (CalibratedClassifierCV(nb, cv=3).fit(X, y) for nb in both(name, **parameters))

    assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-5, atol=1e-8)


@each_classifier
def test_copies_are_the_same_and_apart(name):
    """A pickle or deep copy answers alike and goes on learning by itself; a clone has learned nothing."""
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
def test_sample_weights_are_routed(name):
    """With metadata routing, cross-validation passes weights on to fit where it is asked to, and refuses otherwise."""
    X, y = rows(name, 16)
    weights = np.random.default_rng(16).uniform(0.1, 5, len(y))
    parameters = {"min_categories": 20} if name == "CategoricalNB" else {}
    with sklearn.config_context(enable_metadata_routing=True):
        nb = getattr(ours, name)(**parameters)
        with pytest.raises(ValueError, match="sample_weight"):
            cross_validate(nb, X, y, params={"sample_weight": weights}, cv=3)
        nb.set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        done = cross_validate(nb, X, y, params={"sample_weight": weights}, cv=3, return_estimator=True)
    assert sum(fitted.class_count_.sum() for fitted in done["estimator"]) == pytest.approx(2 * weights.sum())


@each_classifier
def test_threads_can_share_a_classifier(name):
    """Several threads may ask the same fitted classifier at once."""
    X, y = rows(name, 17, n=200)
    nb = getattr(ours, name)().fit(X, y)
    expected = getattr(ours, name)().fit(X, y).predict_proba(X)

    answers = joblib.Parallel(n_jobs=4, backend="threading")(joblib.delayed(nb.predict_proba)(X) for _ in range(16))

    for answer in answers:
        assert_array_equal(answer, expected)


@pytest.mark.slow
def test_processes_can_share_the_work():
    """Cross-validation in worker processes gives what it gives in one."""
    X, y = load_digits(return_X_y=True)
    alone, together = (cross_val_predict(ours.GaussianNB(), X, y, cv=4, n_jobs=jobs) for jobs in (1, 2))

    assert_array_equal(alone, together)


@each_classifier
def test_classifiers_say_their_parameters(name):
    """Names and defaults of the parameters are scikit-learn's, and one more, the number of threads."""
    a, b = both(name)
    ours, theirs = sorted((a, b), key=lambda nb: not type(nb).__module__.startswith("naively"))

    assert ours.get_params() == {**theirs.get_params(), "n_jobs": None}
    assert repr(a) == repr(b)
