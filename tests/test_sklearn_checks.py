"""scikit-learn's estimator checks: what every tool of its ecosystem expects of a classifier."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import sklearn
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from naively.sklearn import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

CLASSIFIERS = [GaussianNB(), MultinomialNB(), ComplementNB(), BernoulliNB(), CategoricalNB()]


def known_faults(estimator):
    """Return the checks that are themselves at fault, each with its reason."""
    if isinstance(estimator, CategoricalNB) and parse_version(sklearn.__version__) < parse_version("1.7"):
        return {"check_positive_only_tag_during_fit": "scikit-learn 1.6 takes a fraction from whole codes in place"}
    return {}


CHECKS = parametrize_with_checks(CLASSIFIERS, expected_failed_checks=known_faults).mark


@pytest.mark.parametrize(CHECKS.args[0], list(CHECKS.args[1]), **CHECKS.kwargs)  # pytest wants a list
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
