"""How good a fitted model is on rows that had no part in the answer, as counts that a model file can keep.

They come from the folds of a cross-validation at fit, from rows that the model keeps, each left out of the counts, or
from rows that are given.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._types import ColumnLike, Floats, Places, TableLike
from ..counting.counter import TableCounter
from ..counting.rows import Rows, check_widths, count_rows, labeled_rows
from ..counting.weights import are_copies, left_out_weights, with_class_weights
from ..data.frame import Frame
from ..data.target import SoftLabels
from ..errors import InvalidInput, NaivelyError
from ..judge.quality_counts import QualityCounts, QualitySource, quality_of_scores
from ..judge.score_inputs import matching_label
from ..judge.scores import Scores
from ..model.leave_one_out import hard_labels, leave_one_out_posterior, rows_with_weight, truth_of
from ..model.scorer import AdditiveModel
from .fitted_classifier import MODELLING, FittedClassifier
from .priors_and_costs import prior_without_row
from .settings import Parameters
from .state import FittedState

# -- what a state keeps ------------------------------------------------------------------------------------------------


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

    That is what a cross-validation at fit measured. Without one, the rows that the model keeps are answered by
    leave-one-out, and the result is kept until rows come or go.
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


# -- rows that are given -----------------------------------------------------------------------------------------------


def quality_of_rows(
    fitted: FittedClassifier,
    X: TableLike,
    y: ColumnLike = None,
    sample_weight: ColumnLike = None,
    target: str | None = None,
) -> QualityCounts:
    """Return how good the model is on rows of a table of known classes.

    If these are exactly the rows that were counted, each is left out of the counts, so that figures do not flatter.
    Otherwise they are answered as they are: nobody can tell whether some of them were counted.
    """
    rows = rows_with_weight(labeled_rows(X, y, target, sample_weight, fitted.parameters.unlabelled, fitted.schema))
    fitted = fitted.without_lag()
    if isinstance(rows.source, Frame):
        check_widths(rows.source, fitted.model.schema, fitted.counts)
    if fitted.state.expected is None and is_what_was_counted(fitted, rows):
        return _quality_without_row(fitted, rows, 0.0)
    return _quality_as_they_are(fitted, rows)


def is_what_was_counted(fitted: FittedClassifier, rows: Rows) -> bool:
    """Tell whether rows have the very counts of the model: then they are those that it was fitted on."""
    counts, schema = fitted.counts, fitted.state.schema
    heavy = with_class_weights(rows, fitted.state.class_weights)
    if isinstance(rows.target, SoftLabels) or not np.isclose(float(counts.rows.sum()), _total(heavy), rtol=1e-9):
        return False
    counter = TableCounter(schema, tuple(counts.classes.fixed))
    try:
        count_rows(counter, heavy, fitted.parameters.threads)
        found = counter.value()
        same = tuple(found.classes.labels) == tuple(counts.classes.labels)
        return same and all(counts.columns[name].agrees(found.columns[name]) for name in schema.names)
    except NaivelyError:  # such rows cannot have been counted
        return False


def _total(rows: Rows) -> float:
    """Return the weight of all rows."""
    return float(rows.target.rows if rows.weights is None else rows.weights.sum())


def _quality_without_row(fitted: FittedClassifier, rows: Rows, of: float) -> QualityCounts:
    """Return the quality of rows that were counted, each answered by a model without it."""
    rows = rows_with_weight(rows)
    counts, heavy = fitted.counts, with_class_weights(rows, fitted.state.class_weights)
    truth = truth_of(rows, counts)
    if heavy.weights is not None:  # of several copies of a row, one is left out
        heavy = replace(heavy, weights=left_out_weights(heavy.weights, are_copies(heavy.weights, truth)))
    prior, threads = prior_without_row(fitted.parameters, fitted.all_counts), fitted.parameters.threads
    posterior = leave_one_out_posterior(fitted.model, counts, heavy, truth, prior, threads)
    return _quality(fitted, posterior, truth.astype(np.intp), rows.weights, QualitySource("leave_one_out", 0, of))


def _quality_as_they_are(fitted: FittedClassifier, rows: Rows) -> QualityCounts:
    """Return the quality of rows that are answered by the model as it is."""
    classes, target = fitted.all_counts.classes, hard_labels(rows)
    places = classes.places([matching_label(label, classes.labels) for label in target.labels])
    truth = places[target.codes]
    if (truth < 0).all():
        raise InvalidInput(
            f"None of the rows is of a class that the model knows: {list(classes.labels)[:5]}. The rows have "
            f"{list(target.labels)[:5]}; check which column is the target."
        )
    posterior: Floats = fitted.model.answer(AdditiveModel.posterior, rows.source, fitted.parameters.threads)
    some = np.flatnonzero(truth >= 0)
    weights = None if rows.weights is None else rows.weights[some]
    return _quality(fitted, posterior[some], truth[some], weights, QualitySource("given"))


def _quality(
    fitted: FittedClassifier, posterior: Floats, truth: Places, weights: Floats | None, source: QualitySource
) -> QualityCounts:
    """Return the quality of answers."""
    labels = fitted.all_counts.classes.labels
    return quality_of_scores(Scores.from_indices(posterior, truth, labels, weights), source)
