"""How good predictions of known rows are: scores of rows that were counted, each without it; the score of any rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from .._types import AnyArray, ColumnLike, Floats, Label, TableLike
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
    found, labels = (
        answers_without_rows(fitted, rows, with_class_weights(rows, state.class_weights)),
        counts.classes.labels,
    )
    costs = costs_of_scores(parameters, labels)
    return Scores.from_indices(found.posterior, found.truth, labels, rows.weights, *costs, found.tuning, found.folds)


class Judged(NamedTuple):
    """The true label of each row, the answer to it, and its weight."""

    labels: list[Label]
    answers: list[Label | None]
    weights: Floats | None


def score_of(
    fitted: FittedClassifier, X: TableLike, y: ColumnLike, sample_weight: ColumnLike, target: str | None
) -> float:
    """Return the accuracy of the answers, or their skill where costs are of numbers."""
    file, parameters = file_of(X), fitted.parameters
    if file is None:
        parts = [_judged(fitted, X, y, sample_weight, target)]
    else:
        rows = rows_of_file(file, y, target, sample_weight)
        parts = parts_of_file(fitted, rows, lambda table, w: _judged(fitted, table, None, w, rows.of_target))
    labels, answers = _joined([part.labels for part in parts]), _joined([part.answers for part in parts])
    weights = [part.weights for part in parts if part.weights is not None]
    heavy = None if sample_weight is None else np.concatenate(weights)
    if isinstance(parameters.cost, str):
        return Scores.from_labels(labels, answers, None, heavy, parameters.cost, parameters.reject).skill
    return Scores.from_labels(labels, answers, None, heavy)._accuracy_of_all


def _judged(
    fitted: FittedClassifier, X: TableLike, y: ColumnLike, sample_weight: ColumnLike, target: str | None
) -> Judged:
    """Return the true labels of rows with the answers to them."""
    rows: Rows = labeled_rows(X, y, target, sample_weight, fitted.parameters.unlabelled, fitted.schema)
    known, own = hard_labels(rows), fitted.classes.tolist()
    labels = [matching_label(label, own) for label in known.labels]
    answers = decisions_of(fitted, rows.source).tolist()
    return Judged([labels[code] for code in known.codes.tolist()], answers, rows.weights)


def _joined(parts: list[list[Label]] | list[list[Label | None]]) -> AnyArray:
    """Return the labels of all parts in one array."""
    return np.concatenate([np.asarray(part, dtype=object) for part in parts])


def parts_of_file(
    fitted: FittedClassifier, rows: FileRows, ask: Callable[[pa.Table, Floats | None], Part]
) -> list[Part]:
    """Return what is asked of the rows of files, read a block at a time, with their classes and weights."""

    def ask_block(table: pa.Table) -> Part:
        return ask(table, None if rows.weight is None else table[rows.weight].to_numpy())

    beside = [name for name in (rows.of_target, rows.weight) if name is not None]
    return each_block(rows.source, fitted.schema, ask_block, fitted.parameters.n_jobs, beside)
