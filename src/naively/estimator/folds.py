"""k-fold scores by subtraction: each fold is taken out of the counts, and answered from the rest."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from .._threads import allowed
from .._types import Floats, Places
from ..counting.counter import TableCounter
from ..counting.rows import Rows, checked_classes, count_rows
from ..counting.weights import weighted_counts, with_class_weights
from ..data.schema import Schema
from ..errors import InvalidInput, LeftOutWarning, levels_to_caller
from ..errors.message import Setting
from ..judge.scores import Scores
from ..model.joint.fitting import FEWEST, FEWEST_IN_FOLDS, enough
from ..model.leave_one_out import counted_apart, counts_of, hard, of_weight, some
from ..model.scorer import Model
from ..model.tuning import Tuning
from ..stats import Axis, Counts
from .classifier import Classifier
from .settings import scored_by

Split = tuple[Places | None, Places]
Answered = tuple[list[tuple[Places, Floats]], Sequence[Any]]


def scores_of_folds(
    nb: Classifier, rows: Rows, schema: Schema, splits: Sequence[Split], held: Tuning | None = None
) -> Scores:
    """Return how well the rows of folds are answered by models with the settings of a classifier.

    What they leave open is chosen from the rows each learns from, unless it is held. The scores are those of the rows
    that were asked about, in the order of the table.
    """
    counter = TableCounter(schema, checked_classes(nb.classes, rows))
    splits = [(train, tested) for train, test in splits if len(tested := heavy(rows, test))]
    answer = answer_apart if dealt_out(splits, rows) else answer_each
    numbers = len(schema.of_kind("numbers")) if nb.model == "refined" else 0
    many = nb.model != "textbook" and enough(of_weight(rows), numbers)
    models = Models(nb, held, FEWEST_IN_FOLDS if many else FEWEST)
    answered, labels = answer(models, counter, splits, rows, allowed(nb.threads))
    if not answered:
        raise InvalidInput("No row is asked about: every fold is empty. Give other folds.")
    codes = hard(rows).codes
    at, posterior, fold = together(answered, len(codes))
    truth = Axis.declared(labels).places(rows.target.labels)[codes[at]]
    weights = None if rows.weights is None else rows.weights[at]
    tuning = None if not nb._leaves_open else "fixed" if held is not None else "refit"
    return Scores.of_places(posterior, truth, labels, weights, *scored_by(nb, labels), tuning, fold)


def dealt_out(splits: Sequence[Split], rows: Rows) -> bool:
    """Tell whether every row that weighs something is asked about once, by a model of all rows of other folds."""
    if not splits or any(train is not None for train, _ in splits):
        return False
    asked = np.concatenate([test for _, test in splits])
    n = rows.target.rows if rows.weights is None else np.count_nonzero(rows.weights)
    return len(asked) == n == len(np.unique(asked))


def answer_apart(models: Models, counter: TableCounter, splits: Sequence[Split], rows: Rows, threads: int) -> Answered:
    """Answer folds that were dealt out: each is counted once, and all of them together are the whole."""
    with ThreadPoolExecutor(threads) as pool:  # one thread moves rows at a fraction of the memory's speed
        asked = list(pool.map(lambda split: some(rows, split[1]), splits))
    try:
        parts = counted_apart(counter, asked, threads)
    except InvalidInput:
        count_rows(counter, rows, threads)  # the same error, which names the row of the table
        raise
    whole, answered = counter.value(), []
    for (train, test), part, fold in zip(splits, parts, asked, strict=True):
        nb = models.learned(counter.less(part), whole, rows, train, test)
        answered.append((test, posterior_of(nb, whole, fold, threads)))
    return answered, whole.classes.labels


def answer_each(models: Models, counter: TableCounter, splits: Sequence[Split], rows: Rows, threads: int) -> Answered:
    """Answer folds of any kind: from the counts of all rows less those that a model must not know."""
    count_rows(counter, rows, threads)
    whole, answered = counter.value(), []
    for train, test in splits:
        asked = some(rows, test)
        counts = counts_of(train, asked, rows, whole, threads)
        nb = models.learned(counts, whole, rows, train, test)
        answered.append((test, posterior_of(nb, whole, asked, threads)))
    return answered, whole.classes.labels


def together(answered: Sequence[tuple[Places, Floats]], n: int) -> tuple[Places, Floats, Places]:
    """Return the places of the rows asked about, in order, the answers and the folds; some may stand there twice."""
    asked_about = np.concatenate([test for test, _ in answered])
    order = np.full(n, -1, dtype=np.intp)
    order[asked_about] = np.arange(len(asked_about))
    if len(asked_about) != n or order.min() < 0:
        order = np.argsort(asked_about, kind="stable")
    fold = np.repeat(np.arange(len(answered)), [len(test) for test, _ in answered])
    return asked_about[order], np.concatenate([p for _, p in answered]).take(order, axis=0), fold[order]


def heavy(rows: Rows, at: Any) -> Any:
    """Return those of the places whose rows weigh something: a row of no weight is no row."""
    return at if rows.weights is None else at[rows.weights[at] > 0]


class Models(NamedTuple):
    """How the models of folds are made: their settings, and what is held fixed of what they would choose.

    Folds take columns together if the table does, from fewer rows: what is scored is what would be kept.
    """

    nb: Classifier
    held: Tuning | None
    fewest: int = FEWEST

    def learned(self, counts: Counts, whole: Counts, rows: Rows, train: Any, test: Any) -> Classifier:
        """Return the model of these counts; what its settings leave open is chosen from the rows it learns from."""
        if not counts.rows.any():
            if rows.target.rows == 1:
                raise InvalidInput(
                    "There is 1 row, and a fold needs some to learn from and others to ask about; give more rows, or "
                    "fit without scores: ",
                    Setting("folds", 0),
                    ".",
                )
            raise InvalidInput("A fold leaves no rows to learn from; give folds of which each leaves some.")
        counts, by_class = weighted_counts(counts, self.nb.class_weight)
        nb = type(self.nb).from_counts(counts, whole.schema, **self.nb.get_params(deep=False))
        if self.held is not None:
            nb._keep(self.held)
        elif nb._leaves_open:
            train = np.setdiff1d(np.arange(rows.target.rows), test) if train is None else train
            learned_from = with_class_weights(some(rows, train), by_class)
            nb._tune_if_asked(learned_from, fewest=self.fewest)
            if self.fewest < FEWEST and not nb._takes_together(of_weight(learned_from), self.fewest):
                warn_of_fold(learned_from)
        return nb


def warn_of_fold(rows: Rows) -> None:
    """Say that a fold is answered by another kind of model than the table would be."""
    classes = len(np.unique(hard(rows).codes))
    warnings.warn(
        f"A fold leaves {rows.target.rows} rows of {classes} classes to learn from, too few to fit weights: the "
        "textbook model answers it, not the one that all rows would get. Give fewer folds.",
        LeftOutWarning,
        stacklevel=levels_to_caller(),
    )


def posterior_of(nb: Classifier, whole: Counts, asked: Rows, threads: int) -> Floats:
    """Return P(class | row) by a model; a class that it does not know has none."""
    model = nb._table_model
    posterior: Floats = model.answer(Model.posterior, asked.source, threads)
    if model.classes.labels == whole.classes.labels:
        return posterior
    out = np.zeros((asked.target.rows, len(whole.classes)))
    out[:, whole.classes.places(model.classes.labels)] = posterior
    return out
