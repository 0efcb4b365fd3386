"""NaiveBayes among the tools of scikit-learn: its estimator checks, pipelines, searches, calibration, copies."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import naively as nv
from naively import NaiveBayes

# The checks that NaiveBayes does not pass, each with its reason.
EXPECTED_FAILURES = {}

CHECKS = parametrize_with_checks([NaiveBayes()], expected_failed_checks=lambda _: EXPECTED_FAILURES).mark


@pytest.mark.parametrize(CHECKS.args[0], list(CHECKS.args[1]), **CHECKS.kwargs)  # pytest wants a list
def test_it_does_what_scikit_learn_expects(estimator, check):
    """Each check passes, save those named above."""
    check(estimator)
