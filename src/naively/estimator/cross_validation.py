"""`cross_validate`: how well held-out rows are answered, in memory or in files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from .._types import ColumnLike, Places, TableLike
from ..counting.files import FileRows
from ..counting.rows import checked_classes, labeled_rows, rows_of_file
from ..counting.weights import check_scale, check_scale_of_file, class_weights_of, with_class_weights
from ..errors import InvalidInput, InvalidSetting
from ..errors.message import Setting
from ..files.file import file_of
from ..judge.scores import Scores
from ..model.leave_one_out import folds_of
from .file_folds import fit_folds
from .fit import fit_rows, prepare_file
from .folds import scores_of_folds
from .settings import Parameters
from .update import rows_to_count

# A number of folds, a splitter of scikit-learn, or pairs (train, test) of row numbers.
SplitsLike: TypeAlias = "int | Iterable[tuple[Places, Places]] | object"


def cross_validate(
    X: TableLike,
    y: ColumnLike = None,
    *,
    cv: SplitsLike = 10,
    groups: ColumnLike = None,
    target: str | None = None,
    sample_weight: ColumnLike = None,
    tuning: str = "refit",
    **params: Any,
) -> Scores:
    """Return how well held-out rows are answered by models that were fitted to the others.

    All rows are counted once; the held-out rows of each fold are subtracted from the counts. What each column is
    follows from the whole table. With ``model="auto"``, ``smoothing="auto"`` or ``temperature="auto"`` each model is
    tuned on the rows that it is fitted to, unless ``tuning="fixed"``.

    Parameters
    ----------
    X : data frame, array, dict of columns, list of dicts, path or File
        The rows, as for `NaiveBayes.fit`.
    y : array of labels, optional
        The class of each row; left out if `target` names a column.
    cv : int, splitter of scikit-learn, or iterable of (train, test), default=10
        How many folds, or which; of a file, how many. Folds are stratified to within one row, all are of nearly the
        same size, and a file is split as the same table in memory is; `random_state` splits anew.
    groups : array, optional
        For splitters that keep groups of rows together.
    target : str, optional
        The column of X that holds the classes.
    sample_weight : array or str, optional
        How many rows each row stands for, or the name of the column that says so.
    tuning : {"refit", "fixed"}, default="refit"
        Whether each model is tuned anew, or all share the tuning of the model of all rows: quicker, but that has seen
        the held-out rows. `Scores.tuning` says which.
    **params : dict
        The settings of `NaiveBayes`.

    Returns
    -------
    Scores
        Of the held-out rows, in the order of the table; a row that is held out twice occurs twice.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import naively as nv
    >>> X, y = load_iris(return_X_y=True)
    >>> round(nv.cross_validate(X, y, cv=10).accuracy, 3)
    0.973
    """
    from .naive_bayes import NaiveBayes

    parameters = NaiveBayes(**params).parameters
    parameters.check()
    if tuning not in ("refit", "fixed"):
        raise InvalidSetting(
            Setting("tuning", tuning), " must be 'refit', anew for each fold, or 'fixed', as for all rows."
        )
    if (file := file_of(X)) is not None:
        rows_in_file = rows_of_file(file, y, target, sample_weight, parameters.unlabelled)
        return _scores_of_file(parameters, rows_in_file, cv, groups, tuning)
    rows, held = labeled_rows(X, y, target, sample_weight, parameters.unlabelled), None
    check_scale(rows.weights)
    splits = list(folds_of(cv, rows, groups, parameters.random_state))
    declared = checked_classes(parameters.classes, rows)
    heavy = with_class_weights(rows, class_weights_of(parameters.class_weight, rows, declared))
    schema = heavy.schema(parameters.families, parameters.model != "textbook")
    rows.source = heavy.source
    if parameters.leaves_choices and tuning == "fixed":
        state = fit_rows(parameters, rows_to_count(parameters, X, y, target, sample_weight))
        schema, held = state.schema, state.tuning
    return scores_of_folds(parameters, rows, schema, splits, held)


def _scores_of_file(parameters: Parameters, rows: FileRows, cv: SplitsLike, groups: ColumnLike, tuning: str) -> Scores:
    """Return the scores of the rows of files, which are split as the same rows in memory would be."""
    if groups is not None or not isinstance(cv, (int, np.integer)) or isinstance(cv, bool) or cv < 2:
        raise InvalidInput(
            Setting("cv", cv),
            ": rows of a file are split into a number of folds, 2 or more; for a splitter, groups or pairs "
            "(train, test) read the table into memory first.",
        )
    prepare_file(parameters, rows)
    _, scores, _ = fit_folds(parameters, rows, int(cv), tuning)
    check_scale_of_file(rows)
    if len(scores.truth) < cv:
        raise InvalidInput(Setting("cv", cv), f" must lie between 2 and the number of rows, {len(scores.truth)}.")
    return scores
