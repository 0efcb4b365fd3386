"""k-fold scores by subtraction: each fold is taken out of the counts, and answered from the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from .classifier import NaiveBayes
from .counting import count_rows, rows_of
from .decision import labelled_cost
from .engines.tables import TableCounter
from .evaluate import Scores
from .model import Model
from .resample import fold_counts, folds_of, some, truth_of
from .settings import check_settings
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

    Parameters
    ----------
    X, y, target, sample_weight
        A table and the classes of its rows, as for `NaiveBayes.fit`.
    folds : int, splitter of scikit-learn, or iterable of (train, test)
        How many folds (shuffled, each class spread evenly), or which.
    groups : array, optional
        For splitters that keep groups of rows together.
    **params
        The settings of `NaiveBayes`.

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
    rows = rows_of(X, y, target, sample_weight, nb.unlabelled)
    schema, threads = rows.schema(nb.families), allowed(nb.threads)
    declared = list(nb.classes) if nb.classes is not None else []
    tests = folds_of(folds, rows, groups)
    total = TableCounter(schema, declared)
    count_rows(total, rows, threads)
    whole = total.value()
    parts = fold_counts(schema, declared, rows, tests, threads)
    truth, posterior = truth_of(rows, whole), np.zeros((rows.target.rows, len(whole.classes)))
    scored = np.zeros(len(truth), dtype=bool)
    for test, part in zip(tests, parts, strict=True):
        model = NaiveBayes.from_counts(whole - part, schema, **params)._table_model
        columns = whole.classes.places(model.classes.labels)
        posterior[np.ix_(test, columns)] = model.answer(Model.posterior, some(rows, test).source, threads)
        scored[test] = True
    weights = None if rows.weights is None else rows.weights[scored]
    labels = tuple(whole.classes.labels)
    cost, _ = labelled_cost(nb.cost, np.array(labels, dtype=object))
    return Scores(posterior[scored], truth[scored], labels, weights, cost)
