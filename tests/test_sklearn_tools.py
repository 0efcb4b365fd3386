"""scikit-learn's estimator checks, and NaiveBayes among its tools: pipelines, searches, calibration, copies."""

import copy
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

import naively as nv
from naively import NaiveBayes
from naively.sklearn import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

# The checks that NaiveBayes does not pass, each with its reason: there are none.
EXPECTED_FAILURES: dict[str, str] = {}

MODELS = [NaiveBayes(model=model) for model in ("textbook", "auto")]
with warnings.catch_warnings():
    warnings.filterwarnings("ignore", ".*does not inherit from `sklearn.base.BaseEstimator`", UserWarning)
    CHECKS = parametrize_with_checks(MODELS, expected_failed_checks=lambda _: EXPECTED_FAILURES).mark
    CASES = list(CHECKS.args[1])  # pytest wants a list


@pytest.mark.parametrize(CHECKS.args[0], CASES, **CHECKS.kwargs)
def test_it_does_what_scikit_learn_expects(estimator, check):
    """Each check passes, save those named above."""
    check(estimator)


# -- tables that are not only numbers ----------------------------------------------------------------------------------

SIZE = 240
RNG = np.random.default_rng(3)
Y = np.array(["in", "out"])[RNG.integers(0, 2, SIZE)]
OUT = Y == "out"
FRAME = pd.DataFrame(
    {
        "sky": np.where(RNG.random(SIZE) < 0.7, np.where(OUT, "sun", "rain"), "cloud"),
        "wind": RNG.normal(np.where(OUT, 3.0, 6.0), 2.0),
        "guests": RNG.poisson(np.where(OUT, 4.0, 2.0)),
        "weekend": RNG.random(SIZE) < np.where(OUT, 0.7, 0.3),
        "day": pd.date_range("2026-01-01", periods=SIZE, tz="Europe/Berlin"),
    }
)
FRAME.loc[::9, "sky"] = None
FRAME.loc[::7, "wind"] = np.nan
FAMILIES = {"guests": nv.Poisson()}
SETTINGS = {"families": FAMILIES, "smoothing": 0.5, "cost": {("in", "out"): 2.0}, "prior": {"in": 0.4, "out": 0.6}}


def fitted(**parameters):
    return NaiveBayes(**parameters).fit(FRAME, Y)


@pytest.mark.parametrize("parameters", [{}, SETTINGS, {"missing": "value", "unseen": "smooth", "max_categories": 2}])
@pytest.mark.parametrize("way", [copy.deepcopy, lambda nb: pickle.loads(pickle.dumps(nb)), copy.copy])
@pytest.mark.parametrize("asked", [False, True], ids=["as fitted", "after answering"])
@pytest.mark.filterwarnings("ignore::naively.StaleWarning")
def test_copies_answer_alike_and_go_their_own_way(parameters, way, asked):
    """A copy has the settings, counts and answers of the original; what it learns later is its own."""
    nb = fitted(**parameters)
    if asked:
        nb.predict(FRAME)
    again = way(nb)

    assert again.get_params() == nb.get_params()
    assert again.counts_ == nb.counts_
    assert again.schema_ == nb.schema_
    assert again.schema_.hints == nb.schema_.hints
    assert_array_equal(again.predict_proba(FRAME), nb.predict_proba(FRAME))
    assert_array_equal(again.predict(FRAME), nb.predict(FRAME))
    before = nb.counts_
    again.partial_fit(FRAME[:9], ["in"] * 9).forget(FRAME[:9], ["in"] * 9).partial_fit(FRAME[:5], Y[:5])
    if way is not copy.copy:  # which shares what it holds
        assert nb.partial_fit(FRAME[:1], Y[:1]).counts_.agrees(before + nv.count(FRAME[:1], Y[:1], schema=nb.schema_))
    assert again.counts_.rows.sum() == SIZE + 5


# -- the tools of scikit-learn -----------------------------------------------------------------------------------------


def test_it_ends_a_pipeline():
    """After steps that make arrays, and after steps that make frames."""
    numbers = FRAME[["wind", "guests"]]
    arrays = make_pipeline(SimpleImputer(), StandardScaler(), NaiveBayes()).fit(numbers, Y)
    later = make_pipeline(FunctionTransformer(lambda X: X.drop(columns="day")), NaiveBayes()).fit(FRAME, Y)

    assert arrays.score(numbers, Y) > 0.7
    assert_array_equal(later.predict(FRAME), NaiveBayes().fit(FRAME.drop(columns="day"), Y).predict(FRAME))
    assert later[-1].feature_names_in_.tolist() == ["sky", "wind", "guests", "weekend"]


def test_it_may_be_searched():
    """A grid over its settings, on a frame as it is."""
    grid = {"smoothing": [0.1, 1.0, 10.0], "missing": ["skip", "value"], "columns": [None, ["sky"]]}
    search = GridSearchCV(NaiveBayes(families=FAMILIES), grid, cv=3, scoring="neg_log_loss").fit(FRAME, Y)

    assert search.best_params_["columns"] is None
    assert search.best_score_ > -0.6
    assert_array_equal(search.predict(FRAME), search.best_estimator_.predict(FRAME))


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_it_may_be_cross_validated(jobs):
    """Folds of a frame, in this process or in others."""
    scores = cross_val_score(NaiveBayes(families=FAMILIES), FRAME, Y, cv=4, n_jobs=jobs)
    p = cross_val_predict(NaiveBayes(families=FAMILIES), FRAME, Y, cv=4, method="predict_proba", n_jobs=jobs)

    assert scores.mean() > 0.7
    assert np.mean(np.array(["in", "out"])[p.argmax(axis=1)] == Y) == pytest.approx(scores.mean())


def test_it_may_be_one_of_several():
    """Voting and bagging take it as it is; sample weights are passed on."""
    frame = FRAME[["wind", "guests"]].fillna(0.0)
    voting = VotingClassifier([("a", NaiveBayes()), ("b", NaiveBayes(estimate="mle"))], voting="soft").fit(frame, Y)
    bagging = BaggingClassifier(NaiveBayes(), n_estimators=3, random_state=0).fit(frame, Y)

    assert voting.score(frame, Y) > 0.7
    assert bagging.score(frame, Y) > 0.7


# -- scikit-learn's estimator checks -----------------------------------------------------------------------------------

CLASSIFIERS = [GaussianNB(), MultinomialNB(), ComplementNB(), BernoulliNB(), CategoricalNB()]


def known_faults(estimator):
    """Return the checks that are themselves at fault, each with its reason."""
    if isinstance(estimator, CategoricalNB) and parse_version(sklearn.__version__) < parse_version("1.7"):
        return {"check_positive_only_tag_during_fit": "scikit-learn 1.6 takes a fraction from whole codes in place"}
    return {}


CHECKS_OF_CLASSES = parametrize_with_checks(CLASSIFIERS, expected_failed_checks=known_faults).mark


@pytest.mark.parametrize(
    CHECKS_OF_CLASSES.args[0], list(CHECKS_OF_CLASSES.args[1]), **CHECKS_OF_CLASSES.kwargs
)  # pytest wants a list
def test_classifiers_do_what_scikit_learn_expects(estimator, check):
    """Each of the five passes each check of scikit-learn."""
    check(estimator)


@pytest.mark.slow
def test_gaussian_answers_arrays_of_other_libraries_in_kind():
    """With SCIPY_ARRAY_API, which must be set before SciPy is imported, the checks with foreign arrays pass too."""
    pytest.importorskip("array_api_strict")
    if parse_version(sklearn.__version__) < parse_version("1.7"):
        pytest.importorskip("array_api_compat")  # a copy of it comes with later versions of scikit-learn
    pytest_ = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = subprocess.run(
        [*pytest_, __file__, "-k", "GaussianNB and array_api", "-W", "default"],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout
