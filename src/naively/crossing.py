"""k-fold scores by subtraction: each fold is taken out of the counts, and answered from the rest."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from .counting import Rows, checked_classes, count_rows, rows_of
from .engines.tables import TableCounter
from .errors import InvalidInput, InvalidSetting, LeftOutWarning, levels_to_caller
from .estimator import NaiveBayes
from .evaluate import Scores
from .learning import FEWEST, FEWEST_IN_FOLDS, enough
from .model import Model
from .read.files import file_of
from .resample import Places, counted_apart, counts_of, folds_of, hard, of_weight, some
from .settings import check_settings, scored_by
from .statistics import Axis, Counts
from .statistics.axis import Floats
from .threads import allowed
from .tuning import Tuning

Split = tuple[Places | None, Places]
Answered = tuple[list[tuple[Places, Floats]], Sequence[Any]]


def cross_validate(
    X: Any,
    y: Any = None,
    *,
    folds: Any = 10,
    groups: Any = None,
    target: str | None = None,
    sample_weight: Any = None,
    tuning: str = "refit",
    **params: Any,
) -> Scores:
    """Return how well rows are answered by models that were not shown them.

    All rows are counted once; the rows that a model must not know are taken out of the counts. What each column is
    follows from the whole table. With ``model="auto"``, ``smoothing="auto"`` or ``temperature="auto"`` each model
    chooses for itself, from the rows that it learns from, unless that is held fixed.

    Parameters
    ----------
    X, y, target, sample_weight
        A table and the classes of its rows, as for `NaiveBayes.fit`.
    folds : int, splitter of scikit-learn, or iterable of (train, test)
        How many folds (dealt out by chance, each with its share of every class; `random_state` deals them anew), or
        which.
    groups : array, optional
        For splitters that keep groups of rows together.
    tuning : "refit" or "fixed"
        Whether each model chooses its weights, smoothing and temperature anew, or all share those of the model of all
        rows: quicker, but what was chosen has seen the rows asked about. The scores say which, as `tuning`.
    **params
        The settings of `NaiveBayes`.

    Returns
    -------
    Scores
        Of the rows that were asked about, in the order of the table; a row asked about twice stands there twice.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import naively as nv
    >>> X, y = load_iris(return_X_y=True)
    >>> round(nv.cross_validate(X, y, folds=10).accuracy, 3)
    0.967
    """
    nb = NaiveBayes(**params)
    check_settings(nb)
    if tuning not in ("refit", "fixed"):
        raise InvalidSetting(f"tuning={tuning!r} must be 'refit', anew for each fold, or 'fixed', as for all rows.")
    if file_of(X) is not None:
        raise InvalidInput(
            "cross_validate needs a table in memory; for files: naively.files.fit(nb, X, target, folds=5)."
        )
    rows = rows_of(X, y, target, sample_weight, nb.unlabelled)
    codes, threads, held = hard(rows).codes, allowed(nb.threads), None
    schema = rows.schema(nb.families, nb.model != "textbook")
    if nb._leaves_open and tuning == "fixed":
        nb.fit(X, y, sample_weight=sample_weight, target=target)
        schema, held = nb.schema_, nb.tuning_
    counter = TableCounter(schema, checked_classes(nb.classes, rows))
    splits = [(train, heavy(rows, tested)) for train, tested in folds_of(folds, rows, groups, nb.random_state)]
    answer = answer_apart if dealt_out(splits, rows) else answer_each
    many = nb.model != "textbook" and enough(of_weight(rows), len(schema.of_kind("numbers")))
    how = Models(params, held, FEWEST_IN_FOLDS if many else FEWEST)
    answered, labels = answer(how, counter, [split for split in splits if len(split[1])], rows, threads)
    if not answered:
        raise InvalidInput("No row is asked about: every fold is empty. Give other folds.")
    at, posterior = together(answered, len(codes))
    truth = Axis.declared(labels).places(rows.target.labels)[codes[at]]
    weights = None if rows.weights is None else rows.weights[at]
    return Scores(posterior, truth, labels, weights, *scored_by(nb, labels), tuning if nb._leaves_open else None)


def dealt_out(splits: Sequence[Split], rows: Rows) -> bool:
    """Tell whether every row that weighs something is asked about once, by a model of all rows of other folds."""
    n = rows.target.rows if rows.weights is None else np.count_nonzero(rows.weights)
    return all(train is None for train, _ in splits) and sum(len(test) for _, test in splits) == n


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


def together(answered: Sequence[tuple[Places, Floats]], n: int) -> tuple[Places, Floats]:
    """Return the places of the rows that were asked about, in order, and the answers; some may stand there twice."""
    asked_about = np.concatenate([test for test, _ in answered])
    order = np.full(n, -1, dtype=np.intp)
    order[asked_about] = np.arange(len(asked_about))
    if len(asked_about) != n or order.min() < 0:
        order = np.argsort(asked_about, kind="stable")
    return asked_about[order], np.concatenate([p for _, p in answered]).take(order, axis=0)


def heavy(rows: Rows, at: Any) -> Any:
    """Return those of the places whose rows weigh something: a row of no weight is no row."""
    return at if rows.weights is None else at[rows.weights[at] > 0]


class Models(NamedTuple):
    """How the models of folds are made: their settings, and what is held fixed of what they would choose.

    Folds take columns together if the table does, from fewer rows: what is scored is what would be kept.
    """

    params: dict[str, Any]
    held: Tuning | None
    fewest: int = FEWEST

    def learned(self, counts: Counts, whole: Counts, rows: Rows, train: Any, test: Any) -> NaiveBayes:
        """Return the model of these counts; what its settings leave open is chosen from the rows it learns from."""
        if not counts.rows.any():
            raise InvalidInput("A fold leaves no rows to learn from; give folds of which each leaves some.")
        nb = NaiveBayes.from_counts(counts, whole.schema, **self.params)
        if self.held is not None:
            nb._keep(self.held)
        elif nb._leaves_open:
            train = np.setdiff1d(np.arange(rows.target.rows), test) if train is None else train
            learned_from = some(rows, train)
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


def posterior_of(nb: NaiveBayes, whole: Counts, asked: Rows, threads: int) -> Floats:
    """Return P(class | row) by a model; a class that it does not know has none."""
    model = nb._table_model
    posterior: Floats = model.answer(Model.posterior, asked.source, threads)
    if model.classes.labels == whole.classes.labels:
        return posterior
    out = np.zeros((asked.target.rows, len(whole.classes)))
    out[:, whole.classes.places(model.classes.labels)] = posterior
    return out
