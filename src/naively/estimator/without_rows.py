"""Rows that were counted, each answered without it: exactly by the textbook model, in folds by the default model."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .._types import Floats
from ..counting.rows import Rows
from ..errors import InvalidInput
from ..families.family import row_weights
from ..model.joint.screening import unscreened
from ..model.leave_one_out import fold_rows, leave_one_out_posterior, truth_of
from ..stats import Counts
from .fitted_classifier import FittedClassifier
from .folds import Split, scores_of_folds
from .priors_and_costs import prior_without_row
from .refresh import bare_schema
from .settings import Parameters


class AnswersWithoutRows(NamedTuple):
    """P(class | row) of rows, each by a model that it had no part in, and how these models were made."""

    posterior: Floats
    folds: int  # 0 where each row was left out alone
    tuning: str | None  # "refit" where weights were fitted without each fold, "fixed" where they were not


def answers_without_rows(fitted: FittedClassifier, rows: Rows, heavy: Rows) -> AnswersWithoutRows:
    """Return the probabilities of rows that were counted; heavy ones have the weights that they were counted with.

    The default model holds them out in folds: the counts without a fold, and weights and coefficients fitted without it
    where the rows are as many as these were fitted on.
    """
    counts, parameters, state = fitted.counts, fitted.parameters, fitted.state
    learned = state.tuning.learned
    if fitted.weights is None or learned is None or not fitted.has_weighted_columns:
        prior = prior_without_row(parameters, fitted.all_counts)
        truth = truth_of(rows, counts)
        posterior = leave_one_out_posterior(fitted.model, counts, heavy, truth, prior, parameters.threads)
        return AnswersWithoutRows(posterior, 0, "fixed" if fitted.tuning.calibrated else None)
    size, weights = rows.target.rows, row_weights(heavy.weights, rows.target.rows)
    if size < 2:
        raise InvalidInput("There is a single row: without it nothing is left to answer from. Give more rows.")
    folds = folds_of(parameters, size)
    splits: list[Split] = [(None, test) for test in fold_rows(rows, folds, parameters.random_state)]
    if abs(float(weights.sum()) - float(counts.rows.sum())) <= 1e-9 * float(weights.sum()):  # all that were counted
        schema = unscreened(heavy.schema(bare_schema(parameters, state.schema)))
        scores = scores_of_folds(parameters, replace(rows, source=heavy.source), schema, splits)
    else:
        value = Counts(counts.classes, counts.rows, counts.columns, state.schema, counts.joint)
        held = None if size >= learned.rows else state.tuning
        scores = scores_of_folds(parameters, rows, state.schema, splits, held, whole=value)
    assert scores.posterior is not None
    out = np.zeros((size, len(counts.classes)))
    out[:, counts.classes.places(scores.classes)] = scores.posterior
    return AnswersWithoutRows(out, folds, scores.tuning)


def folds_of(parameters: Parameters, rows: int) -> int:
    """Return in how many folds so many rows are held out."""
    recipe = parameters.recipe
    return min(recipe.folds, rows)
