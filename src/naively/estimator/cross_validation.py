"""`cross_validate`: how well rows are answered by models that were not shown them, in memory or in files."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..counting.files import FileRows
from ..counting.rows import checked_classes, labeled_rows, rows_of_file
from ..counting.weights import check_scale, check_scale_of_file, class_weights_of, set_file_weights, with_class_weights
from ..data.files import file_of
from ..errors import InvalidInput, InvalidSetting
from ..errors.message import Setting
from ..judge.scores import Scores
from ..model.joint.screening import anew
from ..model.leave_one_out import folds_of
from .file_folds import fit_folds
from .folds import scores_of_folds
from .settings import check_from_file, check_settings


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
        A table and the classes of its rows, as for `NaiveBayes.fit`; or a path, with the names of two of its columns.
    folds : int, splitter of scikit-learn, or iterable of (train, test)
        How many folds, or which; of a file, how many. Each has its share of every class to within one row, all are of
        nearly the same size, and a file is split as the same table in memory is; `random_state` splits anew.
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
    from .naive_bayes import NaiveBayes

    nb = NaiveBayes(**params)
    check_settings(nb)
    if tuning not in ("refit", "fixed"):
        raise InvalidSetting(
            Setting("tuning", tuning), " must be 'refit', anew for each fold, or 'fixed', as for all rows."
        )
    if (file := file_of(X)) is not None:
        return of_file(nb, rows_of_file(file, y, target, sample_weight, nb.unlabelled), folds, groups, tuning)
    rows, held = labeled_rows(X, y, target, sample_weight, nb.unlabelled), None
    check_scale(rows.weights)
    splits = list(folds_of(folds, rows, groups, nb.random_state))
    heavy = with_class_weights(rows, class_weights_of(nb.class_weight, rows, checked_classes(nb.classes, rows)))
    schema = anew(heavy.schema(nb.families, nb.model != "textbook"))
    rows.source = heavy.source
    if nb._leaves_open and tuning == "fixed":
        nb.fit(X, y, sample_weight=sample_weight, target=target)
        schema, held = nb.schema_, nb.tuning_
    return scores_of_folds(nb, rows, schema, splits, held)


def of_file(nb: Any, rows: FileRows, folds: Any, groups: Any, tuning: str) -> Scores:
    """Return the scores of the rows of files, which are split as the same rows in memory would be."""
    if groups is not None or not isinstance(folds, (int, np.integer)) or isinstance(folds, bool) or folds < 2:
        raise InvalidInput(
            Setting("folds", folds),
            ": rows of a file are split into a number of folds, 2 or more; for a splitter, groups or pairs "
            "(train, test) read the table into memory first.",
        )
    check_from_file(nb)
    rows.sampling = nb._leaves_open
    set_file_weights(rows, nb.class_weight, nb.classes or ())
    scores, _ = fit_folds(nb, rows, int(folds), tuning)
    check_scale_of_file(rows)
    if len(scores.truth) < folds:
        raise InvalidInput(Setting("folds", folds), f" must lie between 2 and the number of rows, {len(scores.truth)}.")
    return scores
