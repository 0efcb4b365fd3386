"""Rows without a label in the default model: their expected labels are counted if held-out rows gain by it.

The default is fitted to the rows that have a label. It gives the probabilities of the classes of each row without one,
and these are counted as soft labels are, beside what was counted. The weights stay as they are: they
cannot be fitted again, because the label of each row took part in the expected labels of others. For the same reason
folds of labeled rows decide whether the expected counts are used: a held-out row has no part in its prediction.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .._types import Floats, Places
from ..counting.counter import TableCounter
from ..counting.row_order import content_order
from ..counting.rows import Rows
from ..data.frame import Frame, frame_of
from ..data.target import SoftLabels
from ..data.values import ColumnValues
from ..model.em import Expected
from ..model.leave_one_out import fold_rows, hard_labels, rows_at, rows_with_weight, training_counts, truth_of
from ..model.scorer import AdditiveModel
from ..stats import Counts
from .fitted_classifier import FittedClassifier
from .folds import FoldModels
from .settings import Parameters
from .state import FittedState

# Probabilities of 0 would make the mean log loss infinite.
LEAST = 1e-15


class UnlabeledRows(NamedTuple):
    """Rows without a label, and how much each weighs."""

    frame: Frame
    weights: Floats

    @classmethod
    def of(cls, rows: Rows) -> UnlabeledRows | None:
        """Return the rows without a label; None if every row that weighs something has one."""
        if isinstance(rows.target, SoftLabels):  # soft labels are labels, too
            return None
        weights = np.ones(rows.target.rows) if rows.weights is None else rows.weights
        at = np.flatnonzero((rows.target.codes < 0) & (weights > 0))
        return cls(frame_of(rows.source).take(at).coded(), weights[at]) if len(at) else None

    def filled(self) -> list[str]:
        """Return the columns that have a value in one of the rows."""
        columns = self.frame.columns.items()
        return [name for name, values in columns if not (isinstance(values, ColumnValues) and values.empty)]

    def expected(self, fitted: FittedClassifier) -> Counts:
        """Return the counts of the rows by the probabilities of their classes under a model, which weigh in all.

        Together the rows weigh a few times what the labeled rows do, at most.
        """
        parameters, counts = fitted.parameters, fitted.counts
        counter = TableCounter(fitted.state.counts.schema, tuple(counts.classes.labels))
        proportions: Floats = fitted.model.answer(AdditiveModel.posterior, self.frame, parameters.threads)
        codes = counter.classes.codes(fitted.model.classes.labels)
        most = parameters.recipe.unlabelled_weight * float(counts.rows.sum()) / float(self.weights.sum())
        counter.add_soft_labels(self.frame, codes, proportions, self.weights * min(most, 1.0), parameters.threads)
        return counter.value()


def with_unlabelled_rows(
    parameters: Parameters, state: FittedState, labelled: Rows, unlabelled: UnlabeledRows, counter: TableCounter
) -> FittedState:
    """Return the state of labeled rows with the expected counts of others, or with a remark why they are not used.

    The counter has counted the labeled rows, without pairs of columns.
    """
    fitted, known = FittedClassifier(parameters, state), rows_with_weight(labelled)
    losses = losses_of_folds(parameters, known, unlabelled, counter)
    without, gain, error = float(losses[0].mean()), losses[0] - losses[1], 0.0
    if len(gain) > 1:
        error = float(gain.std(ddof=1)) / len(gain) ** 0.5
    rows = float(known.target.rows if known.weights is None else known.weights.sum())
    others, beside = float(unlabelled.weights.sum()), float(losses[1].mean())
    if float(gain.mean()) > error:
        counts = unlabelled.expected(fitted)
        return replace(state, expected=Expected(counts, rows, others, (), True, losses=(without, beside)))
    remark = (
        f"{others:.10g} rows have no label and are not used. With their expected labels the log loss of held-out "
        f"labelled rows is {beside:.3g}, without them {without:.3g}; it has to be lower by a standard error."
    )
    return replace(state, schema=replace(state.schema, hints=(*state.schema.hints, remark)))


def losses_of_folds(parameters: Parameters, rows: Rows, unlabelled: UnlabeledRows, counter: TableCounter) -> Floats:
    """Return the log loss of each held-out row, first without and then with the expected counts, [2, row].

    Rows whose class no other row has are left out: no model knows it.
    """
    recipe, threads, whole = parameters.recipe, parameters.threads, counter.value()
    how = replace(parameters, unlabelled="error", class_weight=None)  # rows weigh what their classes do already
    order = content_order(counter, frame_of(rows.source), truth_of(rows, whole), threads)
    rows = rows_at(rows, order)
    models, found = FoldModels(how, None, recipe.fewest_rows_in_folds), []
    for test in fold_rows(rows, recipe.unlabelled_folds, 0):
        asked = rows_at(rows, test)
        counts = training_counts(None, asked, rows, whole, threads)
        fitted = models.fitted(counts, whole, rows, None, test)
        target = hard_labels(asked)
        y = fitted.counts.classes.places(target.labels)[target.codes]
        known = np.flatnonzero((y >= 0) & (fitted.counts.rows[y] > 0))
        expected = Expected(unlabelled.expected(fitted), 0.0, 0.0, (), True)
        beside = FittedClassifier(how, replace(fitted.state, expected=expected))
        found.append(np.array([own_losses(one, asked, y)[known] for one in (fitted, beside)]))
    return np.hstack(found)


def own_losses(fitted: FittedClassifier, rows: Rows, y: Places) -> Floats:
    """Return minus the log of the probability of each row's class."""
    p: Floats = fitted.model.answer(AdditiveModel.posterior, rows.source, fitted.parameters.threads)
    return np.asarray(-np.log(np.maximum(p[np.arange(len(y)), y], LEAST)))
