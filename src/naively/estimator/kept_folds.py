"""Scores of the rows that a model keeps, by cross-validation: of all rows, or of a sample of more."""

from __future__ import annotations

from dataclasses import replace

from ..counting.weights import with_class_weights
from ..judge.scores import Scores
from ..model.leave_one_out import folds_of
from ..stats import Counts
from .folds import scores_of_folds
from .settings import Parameters
from .state import FittedState
from .update import bare_schema


def scores_of_kept_rows(parameters: Parameters, state: FittedState, cv: int) -> tuple[Scores, Scores | None]:
    """Return the scores of the rows that a state keeps, and those of the textbook model if another one was fitted.

    Where all rows are kept, they are the scores of `cross_validate`. Otherwise the held-out rows of each fold are
    subtracted from the counts of all rows, and weights are fitted on the other rows that are kept.
    """
    assert state.kept is not None, "rows are kept"
    rows = state.kept.rows()
    splits = list(folds_of(cv, rows, None, parameters.random_state))
    if state.kept.complete:
        heavy = with_class_weights(rows, state.class_weights)
        schema, whole = heavy.schema(bare_schema(parameters, state.schema)), None
        rows.source = heavy.source
    else:
        schema, counts = state.schema, state.counts.value
        whole = Counts(counts.classes, counts.rows, counts.columns, schema)
    scores = scores_of_folds(parameters, rows, schema, splits, whole=whole)
    if state.tuning.learned is None:
        return scores, None
    textbook = replace(parameters, model="textbook")
    return scores, scores_of_folds(textbook, rows, schema, splits, whole=whole)
