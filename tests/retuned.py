"""Classifiers with another tuning than `fit` chose."""

from naively.estimator.fitted_model import FittedModel


def retune(nb, tuning):
    """Give a fitted classifier this tuning, under its settings as they are."""
    state = nb.fitted_.state
    nb.fitted_ = FittedModel(nb.parameters, state.tuned(tuning, nb.parameters))
    return nb
