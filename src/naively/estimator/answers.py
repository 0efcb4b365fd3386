"""Answers to rows: probabilities, decisions, intervals and explanations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from .._threads import allowed
from .._types import AnyArray, Floats, Label, TableLike
from ..counting.files import each_block
from ..counting.rows import check_widths
from ..data.dict_rows import few_rows
from ..data.frame import Frame, frame_of
from ..errors import InvalidInput, UnreadableRows
from ..explain.evidence import Evidence, explained
from ..explain.interval import interval, prior_cumulants
from ..files.file import File, file_of
from ..files.formats import paths_of
from ..judge.decision import cost_and_choices, decide
from ..model.scorer import AdditiveModel
from ..model.table_model import TableModel
from .fitted_classifier import FittedClassifier, numeric_classes, prior_pseudo_counts

# Rows as a model reads them: a frame, or a few dicts.
Source: TypeAlias = Frame | Sequence[Mapping[str, object]]


def predict_rows(fitted: FittedClassifier, X: TableLike, figures: Callable[..., AnyArray]) -> AnyArray:
    """Return figures of all rows, by a method of `AdditiveModel`; rows of files are read a block at a time."""
    model = fitted.model
    file = None if type(X) is dict else _file_of_rows(X, model)  # single rows are the quickest questions
    if file is not None:
        blocks = each_block(
            file, model.schema, lambda table: predict_rows(fitted, table, figures), fitted.parameters.n_jobs
        )
        return np.concatenate(blocks)
    few = few_rows(X, model.schema) if model.single else None
    return model.answer(figures, *(_frame_of_rows(fitted, X) if few is None else (few, 1)))


def probabilities_of(fitted: FittedClassifier, X: TableLike) -> Floats:
    """Return P(class | row) of each row and class."""
    return predict_rows(fitted, X, AdditiveModel.posterior)


def log_marginal_density(fitted: FittedClassifier, X: TableLike) -> Floats:
    """Return log P(row), whatever the class of the row."""
    model = fitted.model
    file = _file_of_rows(X, model)
    if file is None:
        return model.log_density(*source_of(fitted, X))
    return np.concatenate(
        each_block(file, model.schema, lambda table: log_marginal_density(fitted, table), fitted.parameters.n_jobs)
    )


def decisions_of(fitted: FittedClassifier, X: TableLike) -> AnyArray:
    """Return the choice of least expected cost for each row."""
    cost, reject = fitted.parameters.cost, fitted.parameters.reject
    if cost is None and reject is None:
        return np.asarray(fitted.classes[predict_rows(fitted, X, AdditiveModel.most_probable)])
    probabilities = probabilities_of(fitted, X)
    if isinstance(cost, str):
        return decide(probabilities, cost, reject, numeric_classes(fitted.classes))
    matrix, choices = cost_and_choices(cost, fitted.classes)
    chosen = decide(probabilities, matrix, reject)
    if reject is None:
        return np.asarray(choices[chosen])
    return np.asarray(np.array([*choices.tolist(), None], dtype=object)[chosen])


def posterior_interval(fitted: FittedClassifier, X: TableLike, level: float) -> tuple[Floats, Floats]:
    """Return the credible interval of P(class | row), if the model has one: (low, high), each [row, class]."""
    model, parameters = fitted.model, fitted.parameters
    source, threads = source_of(fitted, X)
    smoothing = None if prior_pseudo_counts(parameters) is None else parameters.prior_smoothing
    return interval(model, source, threads, prior_cumulants(model.textbook, fitted.all_counts.rows, smoothing), level)


def evidence_of(fitted: FittedClassifier, X: TableLike, against: Label | None = None) -> Evidence:
    """Return the contribution of each column to each class."""
    model = fitted.model
    file = _file_of_rows(X, model)
    if file is not None:
        X = pa.concat_tables(each_block(file, model.schema, lambda table: table, fitted.parameters.n_jobs))
    source, threads = source_of(fitted, X)
    pseudo_counts = prior_pseudo_counts(fitted.parameters)
    return explained(model, fitted.all_counts.rows, source, threads, against, pseudo_counts)


def source_of(fitted: FittedClassifier, X: TableLike) -> tuple[Source, int]:
    """Return the rows, a few as dicts and more as a frame, and how many threads they are worth."""
    model = fitted.model
    few = few_rows(X, model.schema) if model.single else None
    return _frame_of_rows(fitted, X) if few is None else (few, 1)


def _frame_of_rows(fitted: FittedClassifier, X: TableLike) -> tuple[Frame, int]:
    """Return the columns of a table that the model uses, and how many threads they are worth."""
    frame, model = frame_of(X), fitted.model
    frame = frame.on(model.schema if frame.named and fitted.state.has_names else fitted.schema)
    check_widths(frame, model.schema, fitted.counts)
    if not frame.rows:
        raise InvalidInput("Found array with 0 sample(s) while a minimum of 1 is required by NaiveBayes.")
    return frame, allowed(fitted.parameters.n_jobs, frame.rows * len(model.schema) * len(model.classes))


def _file_of_rows(X: TableLike, model: TableModel) -> File | None:
    """Return what is given as a file, if it is one; of a model of texts, say how to give a single text."""
    if type(X) is str and model.words:
        try:
            next(paths_of(X or "\0"))  # nothing is no folder, and no name holds this character
        except (UnreadableRows, OSError, ValueError):
            raise InvalidInput(
                f"{X[:40]!r} is neither a file nor a table. If it is a text, put it into a list: predict([text])."
            ) from None
    return file_of(X)
