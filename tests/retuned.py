"""Classifiers with another tuning than `fit` chose."""

from naively.estimator.fitted_classifier import FittedClassifier


def retune(nb, tuning):
    """Give a fitted classifier this tuning, under its settings as they are."""
    state = nb.fitted_.state
    nb.fitted_ = FittedClassifier(nb.parameters, state.tuned(tuning, nb.parameters))
    return nb
