"""k-fold scores by subtraction: each fold is taken out of the counts, and answered from the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from .classifier import NaiveBayes
from .counting import Rows, checked_classes, count_rows, rows_of
from .engines.tables import TableCounter
from .errors import InvalidInput
from .evaluate import Scores
from .model import Model
from .read.files import file_of
from .resample import counts_of, folds_of, hard, in_order, some
from .settings import check_settings, scored_by
from .statistics import Counts
from .statistics.axis import Floats
from .threads import allowed


def cross_validate(
    X: Any,
    y: Any = None,
    *,
    folds: Any = 10,
    groups: Any = None,
    target: str | None = None,
    sample_weight: Any = None,
    **params: Any,
) -> Scores:
    """Return how well rows are answered by models that were not shown them.

    All rows are counted once; the rows that a model must not know are taken out of the counts. What each column is
    follows from the whole table.

    Parameters
    ----------
    X, y, target, sample_weight
        A table and the classes of its rows, as for `NaiveBayes.fit`.
    folds : int, splitter of scikit-learn, or iterable of (train, test)
        How many folds (dealt out by chance, each with its share of every class; `random_state` deals them anew), or
        which.
    groups : array, optional
        For splitters that keep groups of rows together.
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
    0.953
    """
    nb = NaiveBayes(**params)
    check_settings(nb)
    if file_of(X) is not None:
        raise InvalidInput(
            "cross_validate needs a table in memory; for files: naively.files.fit(nb, X, target, folds=5)."
        )
    rows = rows_of(X, y, target, sample_weight, nb.unlabelled)
    codes, threads = hard(rows).codes, allowed(nb.threads)
    counter = TableCounter(rows.schema(nb.families), checked_classes(nb.classes, rows))
    count_rows(counter, rows, threads)
    whole = counter.value()
    answered = []
    for train, tested in folds_of(folds, rows, groups, nb.random_state):
        if len(test := heavy(rows, tested)):
            asked = some(rows, test)
            counts = counts_of(train, test, asked, rows, whole, threads)
            answered.append((test, posterior_of(params, counts, whole, asked, threads)))
    if not answered:
        raise InvalidInput("No row is asked about: every fold is empty. Give other folds.")
    asked_about = np.concatenate([test for test, _ in answered])
    order = in_order(asked_about, len(codes))
    at, posterior = asked_about[order], np.concatenate([p for _, p in answered]).take(order, axis=0)
    truth = whole.classes.places(rows.target.labels)[codes[at]]
    weights = None if rows.weights is None else rows.weights[at]
    return Scores(posterior, truth, whole.classes.labels, weights, *scored_by(nb, whole.classes.labels))


def heavy(rows: Rows, at: Any) -> Any:
    """Return those of the places whose rows weigh something: a row of no weight is no row."""
    return at if rows.weights is None else at[rows.weights[at] > 0]


def posterior_of(params: Any, counts: Counts, whole: Counts, asked: Rows, threads: int) -> Floats:
    """Return P(class | row) by the model of these counts; a class that it does not know has none."""
    if not counts.rows.any():
        raise InvalidInput("A fold leaves no rows to learn from; give folds of which each leaves some.")
    model = NaiveBayes.from_counts(counts, whole.schema, **params)._table_model
    out = np.zeros((asked.target.rows, len(whole.classes)))
    out[:, whole.classes.places(model.classes.labels)] = model.answer(Model.posterior, asked.source, threads)
    return out
