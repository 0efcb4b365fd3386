"""How good a fitted model is on rows that had no part in the answer, as counts that a model file can keep.

They come from the folds of a cross-validation at fit, or from rows that the model keeps, each by a model without it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..counting.rows import Rows
from ..counting.weights import are_copies, left_out_weights, with_class_weights
from ..data.target import SoftLabels
from ..judge.histograms import QualityCounts, QualitySource, quality_of_scores
from ..judge.scores import Scores
from ..model.leave_one_out import rows_with_weight, truth_of
from .fitted_classifier import MODELLING, FittedClassifier
from .settings import Parameters
from .state import FittedState
from .without_rows import answers_without_rows, is_held_out_in_folds


def keep_quality_of_folds(parameters: Parameters, state: FittedState, scores: Scores | None) -> None:
    """Keep the quality that a cross-validation at fit measured, beside the counts that it is of."""
    counts = state.counts.value
    if scores is None or scores.posterior is None or tuple(scores.classes) != tuple(counts.classes.labels):
        return
    folds = 0 if scores.folds is None else len(np.unique(scores.folds))
    total = float(counts.rows.sum())
    of = 0.0 if state.class_weights is not None or scores.rows >= total * (1 - 1e-9) else total
    quality = quality_of_scores(scores, QualitySource("folds", folds, of))
    state.held_out.keep_quality(quality, parameters, total)


def quality_at_hand(fitted: FittedClassifier) -> QualityCounts | None:
    """Return the quality that was measured of these counts under the settings as they are now, if it was."""
    known, rows = fitted.state.held_out, float(fitted.counts.rows.sum())
    if known.quality is None or known.quality_with is None or known.quality_of != rows:
        return None
    if tuple(known.quality.classes) != tuple(fitted.all_counts.classes.labels):
        return None
    return known.quality if known.quality_with.is_same(fitted.parameters, MODELLING) else None


def held_out_quality(fitted: FittedClassifier) -> QualityCounts | None:
    """Return how good the model is on rows that had no part in the answer; None if there are no such rows.

    That is what a cross-validation at fit measured. Without one, the rows that the model keeps are answered
    without themselves, and the result is kept until rows come or go.
    """
    found, state = quality_at_hand(fitted), fitted.state
    if found is not None or state.kept is None or state.expected is not None or state.kept.total < 2:
        return found
    rows = state.kept.labelled().rows()
    if isinstance(rows.target, SoftLabels):
        return None
    fitted, total = fitted.without_lag(), float(fitted.counts.rows.sum())
    of = 0.0 if state.kept.complete and state.unkept is None else total
    found = _quality_without_row(fitted, rows, of)
    state.held_out.keep_quality(found, fitted.parameters, total)
    return found


def _quality_without_row(fitted: FittedClassifier, rows: Rows, of: float) -> QualityCounts:
    """Return the quality of rows that were counted, each answered by a model without it."""
    rows = rows_with_weight(rows)
    heavy, labels = with_class_weights(rows, fitted.state.class_weights), fitted.all_counts.classes.labels
    if not is_held_out_in_folds(fitted) and heavy.weights is not None:  # of several copies of a row, one is left out
        copies = are_copies(heavy.weights, truth_of(rows, fitted.counts))
        heavy = replace(heavy, weights=left_out_weights(heavy.weights, copies))
    found = answers_without_rows(fitted, rows, heavy, copy_by_copy=True, kept=True)
    scores = Scores.from_indices(
        found.posterior, found.truth.astype(np.intp), labels, found.rows.weights, folds=found.folds
    )
    if found.folds is None:
        return quality_of_scores(scores, QualitySource("leave_one_out", 0, of))
    return quality_of_scores(scores, QualitySource("folds", len(np.unique(found.folds)), of))
