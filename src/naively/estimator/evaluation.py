"""How good predictions are: scores of counted rows, each by a model without it, and the score of any rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import pyarrow as pa

from .._types import AnyArray, ColumnLike, Floats, TableLike
from ..counting.files import FileRows, each_block
from ..counting.rows import Rows, check_widths, labeled_rows, rows_of_file
from ..counting.weights import with_class_weights
from ..data.frame import Frame
from ..errors import InvalidInput
from ..errors.message import Setting
from ..files.file import file_of
from ..judge.score_inputs import matching_label
from ..judge.scores import Scores, joined_scores
from ..model.leave_one_out import hard_labels, rows_with_weight
from .answers import decisions_of
from .fitted_classifier import FittedClassifier
from .priors_and_costs import costs_of_scores
from .without_rows import answers_without_rows

Part = TypeVar("Part")


def scores_by_leave_one_out(
    fitted: FittedClassifier, X: TableLike, y: ColumnLike, sample_weight: ColumnLike, target: str | None
) -> Scores:
    """Return how well each of the rows is predicted by a model without it."""
    state, parameters = fitted.state, fitted.parameters
    if state.expected is not None:
        raise InvalidInput(
            "Leave-one-out is not defined after expectation-maximization: each row's own label took part in it. "
            "Hold some labelled rows out and use `predict_proba` on them, or fit with ",
            Setting("unlabelled", "skip"),
            ".",
        )
    file = file_of(X)
    if file is not None:
        read = rows_of_file(file, y, target, sample_weight)
        parts = parts_of_file(
            fitted, read, lambda table, w: scores_by_leave_one_out(fitted, table, None, w, read.of_target)
        )
        return joined_scores(parts)
    rows = rows_with_weight(labeled_rows(X, y, target, sample_weight, parameters.unlabelled, state.schema))
    model, counts = fitted.model, fitted.counts
    if isinstance(rows.source, Frame):
        check_widths(rows.source, model.schema, counts)
    found = answers_without_rows(fitted, rows, with_class_weights(rows, state.class_weights))
    classes = counts.classes.labels
    how = (*costs_of_scores(parameters, classes), found.tuning, found.folds)
    return Scores.from_indices(found.posterior, found.truth, classes, rows.weights, *how)


def score_of(
    fitted: FittedClassifier, X: TableLike, y: ColumnLike, sample_weight: ColumnLike, target: str | None
) -> float:
    """Return the accuracy of the predictions, or their skill where costs are of numbers."""
    file, parameters = file_of(X), fitted.parameters

    def predicted(X: TableLike, y: ColumnLike, weight: ColumnLike, target: str | None) -> list[AnyArray]:
        """Return the true labels of rows, the predictions, and the weights if there are some."""
        rows: Rows = labeled_rows(X, y, target, weight, parameters.unlabelled, fitted.schema)
        truth, known = hard_labels(rows), fitted.classes.tolist()
        labels = [matching_label(label, known) for label in truth.labels]
        columns = [labels[code] for code in truth.codes.tolist()], decisions_of(fitted, rows.source).tolist()
        return [
            *(np.asarray(column, dtype=object) for column in columns),
            *([] if rows.weights is None else [rows.weights]),
        ]

    if file is None:
        parts = [predicted(X, y, sample_weight, target)]
    else:
        rows = rows_of_file(file, y, target, sample_weight)
        parts = parts_of_file(fitted, rows, lambda table, w: predicted(table, None, w, rows.of_target))
    labels, answers, *weights = (np.concatenate(column) for column in zip(*parts, strict=True))
    how = (parameters.cost, parameters.reject) if isinstance(parameters.cost, str) else ()
    scores = Scores.from_labels(labels, answers, None, weights[0] if weights else None, *how)
    return scores.skill if how else scores._accuracy_of_all


def parts_of_file(
    fitted: FittedClassifier, rows: FileRows, ask: Callable[[pa.Table, Floats | None], Part]
) -> list[Part]:
    """Return what is asked of the rows of files, read a block at a time, with their classes and weights."""

    def ask_block(table: pa.Table) -> Part:
        return ask(table, None if rows.weight is None else table[rows.weight].to_numpy())

    more = [name for name in (rows.of_target, rows.weight) if name is not None]
    return each_block(rows.source, fitted.schema, ask_block, fitted.parameters.n_jobs, more)
