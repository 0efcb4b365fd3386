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
from ..counting.row_hash import content_order
from ..counting.rows import Rows
from ..data.frame import Frame, frame_of
from ..data.target import Target
from ..data.values import ColumnValues
from ..model.default.joint_counts import count_jointly
from ..model.em import Expected
from ..model.leave_one_out import fold_rows, hard_labels, rows_at, rows_with_weight, training_counts, truth_of
from ..model.scorer import AdditiveModel
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
        weights = np.ones(rows.target.rows) if rows.weights is None else rows.weights
        at = np.flatnonzero((rows.target.codes < 0) & (weights > 0))
        return cls(frame_of(rows.source).take(at).coded(), weights[at]) if len(at) else None

    def filled(self) -> list[str]:
        """Return the columns that have a value in one of the rows."""
        columns = self.frame.columns.items()
        return [name for name, values in columns if not (isinstance(values, ColumnValues) and values.empty)]

    def counted_beside(self, fitted: FittedClassifier) -> FittedState:
        """Return the state of a model with the rows counted by the probabilities of their classes under it.

        Together the rows weigh a few times what the labeled rows do, at most.
        """
        parameters, counts, state = fitted.parameters, fitted.counts, fitted.state
        counter, threads = TableCounter(state.counts.schema, tuple(counts.classes.labels)), parameters.threads
        proportions: Floats = fitted.model.answer(AdditiveModel.posterior, self.frame, threads)
        codes = counter.classes.codes(fitted.model.classes.labels)
        total = float(self.weights.sum())
        weights = self.weights * min(parameters.recipe.unlabelled_weight * float(counts.rows.sum()) / total, 1.0)
        target = Target.of_proportions(list(fitted.model.classes.labels), proportions, state.label_type)
        counter.add(self.frame, target, weights, threads)
        rows = float(counts.rows.sum())
        state = replace(state, expected=Expected(counter.value(), rows, total, (), True))
        if state.tuning.learned is None:
            return state
        learned, frame = state.tuning.learned, self.frame
        each = zip(codes, proportions.T, strict=True)
        blocks = ((frame, np.full(frame.rows, k, dtype=np.int32), np.ascontiguousarray(weights * p)) for k, p in each)
        joint = learned.joint + count_jointly(counter, blocks, learned.joint.grid, threads)
        return replace(state, tuning=replace(state.tuning, learned=replace(learned, joint=joint)))


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
        with_others = unlabelled.counted_beside(fitted)
        assert with_others.expected is not None
        expected = replace(with_others.expected, labelled=rows, losses=(without, beside))
        return replace(with_others, expected=expected)
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
        beside = FittedClassifier(how, unlabelled.counted_beside(fitted))
        found.append(np.array([own_losses(one, asked, y)[known] for one in (fitted, beside)]))
    return np.hstack(found)


def own_losses(fitted: FittedClassifier, rows: Rows, y: Places) -> Floats:
    """Return minus the log of the probability of each row's class."""
    p: Floats = fitted.model.answer(AdditiveModel.posterior, rows.source, fitted.parameters.threads)
    return np.asarray(-np.log(np.maximum(p[np.arange(len(y)), y], LEAST)))
