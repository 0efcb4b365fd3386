"""k-fold scores by subtraction: each fold is taken out of the counts, and answered from the rest."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from .._types import Floats, Label, Places
from ..counting.counter import TableCounter
from ..counting.reading import checked_classes, weighted_counts, with_class_weights
from ..counting.rows import Rows
from ..data.schema import Schema
from ..errors import InvalidInput, TextbookFallbackWarning, levels_to_caller
from ..errors.message import Setting
from ..judge.scores import Scores
from ..model.default.fitting import enough
from ..model.leave_one_out import counted_apart, hard_labels, rows_at, rows_with_weight, training_counts
from ..model.recipe import RECIPE
from ..model.scorer import AdditiveModel
from ..model.tuning import Tuning
from ..stats import Axis, Counts
from .fitted_classifier import FittedClassifier, costs_of_scores
from .settings import Parameters
from .state import state_of_counts
from .tuner import tuned_to_rows

Split = tuple[Places | None, Places]  # rows to learn from, None for all others, and held-out rows
Answered = tuple[list[tuple[Places, Floats]], Sequence[Label]]


def scores_of_folds(
    parameters: Parameters,
    rows: Rows,
    schema: Schema,
    splits: Sequence[Split],
    held: Tuning | None = None,
    whole: Counts | None = None,
) -> Scores:
    """Return how well held-out rows are answered by models with these settings.

    What the settings leave open is tuned on the rows that each model is fitted to, unless it is held. The scores are
    those of the held-out rows, in the order of the table. If the rows are some of those of given counts, each model
    has the counts of all but the held-out rows.
    """
    counter = TableCounter(schema, checked_classes(parameters.classes, rows))
    splits = [(train, tested) for train, test in splits if len(tested := _with_weight(rows, test))]
    by_parts = whole is None and _is_partition(splits, rows)
    many = parameters.model != "textbook" and enough(rows_with_weight(rows))
    models = FoldModels(parameters, held, RECIPE.fewest_rows_in_folds if many else RECIPE.fewest_rows)
    if by_parts:
        answered, labels = _answer_folds(models, counter, splits, rows, parameters.threads)
    else:
        answered, labels = _answer_splits(models, counter, splits, rows, parameters.threads, whole)
    if not answered:
        raise InvalidInput("No row is held out: every fold is empty. Give other folds.")
    codes = hard_labels(rows).codes
    at, posterior, fold = _in_order(answered, len(codes))
    truth = Axis.declared(labels).places(rows.target.labels)[codes[at]]
    weights = None if rows.weights is None else rows.weights[at]
    tuning = None if not parameters.leaves_choices else "fixed" if held is not None else "refit"
    return Scores.from_indices(posterior, truth, labels, weights, *costs_of_scores(parameters, labels), tuning, fold)


def _is_partition(splits: Sequence[Split], rows: Rows) -> bool:
    """Tell whether every row that weighs something is held out once, and learned from in all other folds."""
    if not splits or any(train is not None for train, _ in splits):
        return False
    held_out = np.concatenate([test for _, test in splits])
    n = rows.target.rows if rows.weights is None else np.count_nonzero(rows.weights)
    return len(held_out) == n == len(np.unique(held_out))


class FoldModels(NamedTuple):
    """How the models of folds are made: their settings, and what is held fixed of their tuning.

    Folds get weights if the table does, from fewer rows on: what is scored is what would be kept.
    """

    parameters: Parameters
    held: Tuning | None
    fewest: int = RECIPE.fewest_rows

    def fitted(self, counts: Counts, whole: Counts, rows: Rows, train: Places | None, test: Places) -> FittedClassifier:
        """Return the model of these counts; what its settings leave open is tuned on the rows of the counts."""
        if not counts.rows.any():
            if rows.target.rows == 1:
                raise InvalidInput(
                    "There is 1 row, and a fold needs some to learn from and others to hold out; give more rows, or "
                    "fit without scores: ",
                    Setting("cv", 0),
                    ".",
                )
            raise InvalidInput("A fold leaves no rows to learn from; give folds of which each leaves rows.")
        counts, class_weights = weighted_counts(counts, self.parameters.class_weight)
        state = state_of_counts(self.parameters, counts, whole.schema)
        if self.held is not None:
            state = state.tuned(self.held, self.parameters)
        elif self.parameters.leaves_choices:
            train = np.setdiff1d(np.arange(rows.target.rows), test) if train is None else train
            learned_from = with_class_weights(rows_at(rows, train), class_weights)
            state = tuned_to_rows(self.parameters, state, learned_from, self.fewest)
            if self.fewest < RECIPE.fewest_rows and state.tuning.learned is None:
                _warn_of_fold(learned_from)
        return FittedClassifier(self.parameters, state)


def _answer_folds(
    models: FoldModels, counter: TableCounter, splits: Sequence[Split], rows: Rows, threads: int
) -> Answered:
    """Answer folds that are a partition: each is counted once, and their sum is the whole."""
    with ThreadPoolExecutor(threads) as pool:  # one thread moves rows at a fraction of the memory's speed
        held_out = list(pool.map(lambda split: rows_at(rows, split[1]), splits))
    try:
        parts = counted_apart(counter, held_out, threads)
    except InvalidInput:
        rows.count(counter, threads)  # the same error, which names the row of the table
        raise
    whole, answered = counter.value(), []
    for (train, test), part, fold in zip(splits, parts, held_out, strict=True):
        fitted = models.fitted(counter.less(part), whole, rows, train, test)
        answered.append((test, _posterior_of(fitted, whole, fold, threads)))
    return answered, whole.classes.labels


def _answer_splits(
    models: FoldModels,
    counter: TableCounter,
    splits: Sequence[Split],
    rows: Rows,
    threads: int,
    whole: Counts | None = None,
) -> Answered:
    """Answer folds of any kind: from the counts of all rows less those that a model must not know."""
    if whole is None:
        rows.count(counter, threads)
        whole = counter.value()
    answered = []
    for train, test in splits:
        held_out = rows_at(rows, test)
        counts = training_counts(train, held_out, rows, whole, threads)
        fitted = models.fitted(counts, whole, rows, train, test)
        answered.append((test, _posterior_of(fitted, whole, held_out, threads)))
    return answered, whole.classes.labels


def _in_order(answered: Sequence[tuple[Places, Floats]], n: int) -> tuple[Places, Floats, Places]:
    """Return the places of the held-out rows, in order, the answers and the folds; some may occur twice."""
    held_out = np.concatenate([test for test, _ in answered])
    order = np.full(n, -1, dtype=np.intp)
    order[held_out] = np.arange(len(held_out))
    if len(held_out) != n or order.min() < 0:
        order = np.argsort(held_out, kind="stable")
    fold = np.repeat(np.arange(len(answered)), [len(test) for test, _ in answered])
    return held_out[order], np.concatenate([p for _, p in answered]).take(order, axis=0), fold[order]


def _with_weight(rows: Rows, at: Places) -> Places:
    """Return those of the places whose rows weigh something: a row of no weight is no row."""
    return at if rows.weights is None else at[rows.weights[at] > 0]


def _warn_of_fold(rows: Rows) -> None:
    """Warn that a fold is answered by another kind of model than the table would be."""
    classes = len(np.unique(hard_labels(rows).codes))
    warnings.warn(
        f"A fold leaves {rows.target.rows} rows of {classes} classes to learn from, too few to fit weights: the "
        "textbook model answers it, not the one that all rows would get. Give fewer folds.",
        TextbookFallbackWarning,
        stacklevel=levels_to_caller(),
    )


def _posterior_of(fitted: FittedClassifier, whole: Counts, rows: Rows, threads: int) -> Floats:
    """Return P(class | row) by a model; a class that it does not know has none."""
    model = fitted.model
    posterior: Floats = model.answer(AdditiveModel.posterior, rows.source, threads)
    if model.classes.labels == whole.classes.labels:
        return posterior
    out = np.zeros((rows.target.rows, len(whole.classes)))
    out[:, whole.classes.places(model.classes.labels)] = posterior
    return out
