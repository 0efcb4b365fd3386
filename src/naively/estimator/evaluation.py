"""How good predictions are: scores of counted rows, each by a model without it, and the score of any rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from .._types import AnyArray, Codes, ColumnLike, Floats, Longs, Places, TableLike
from ..counting.counter import TableCounter
from ..counting.files import each_block
from ..counting.row_hash import content_order
from ..counting.rows import Rows, check_widths, count_rows, labeled_rows, rows_of_file
from ..counting.weights import are_copies, with_class_weights
from ..data.frame import Frame, frame_of
from ..errors import InvalidInput, NotASubset
from ..errors.message import RowNumber, Setting
from ..families.family import row_weights
from ..files.file import file_of
from ..judge.score_inputs import matching_label
from ..judge.scores import Scores, joined_scores
from ..model.default.fitting import enough
from ..model.leave_one_out import check_not_more_rows, hard_labels, leave_one_out_posterior, rows_with_weight, truth_of
from ..model.table_model import GIVE
from ..stats import Counts
from .answers import decisions_of
from .fitted_classifier import FittedClassifier, costs_of_scores, prior_without_row
from .folds import Split, scores_of_folds
from .update import bare_schema

Part = TypeVar("Part")


def each_labelled_block(
    fitted: FittedClassifier,
    X: TableLike,
    y: ColumnLike,
    sample_weight: ColumnLike,
    target: str | None,
    ask: Callable[[Rows], Part],
) -> list[Part]:
    """Return what is asked of rows with their classes and weights: a table is one block, files are many."""
    file, how = file_of(X), (fitted.parameters.unlabelled, fitted.schema)
    if file is None:
        return [ask(labeled_rows(X, y, target, sample_weight, *how))]
    rows = rows_of_file(file, y, target, sample_weight)

    def ask_block(table: pa.Table) -> Part:
        weights = None if rows.weight is None else table[rows.weight].to_numpy()
        return ask(labeled_rows(table, None, rows.of_target, weights, *how))

    more = [name for name in (rows.of_target, rows.weight) if name is not None]
    return each_block(file, fitted.schema, ask_block, fitted.parameters.n_jobs, more)


def scores_by_leave_one_out(
    fitted: FittedClassifier, X: TableLike, y: ColumnLike, sample_weight: ColumnLike, target: str | None
) -> Scores:
    """Return how well each of the rows is predicted by a model without it."""
    if fitted.state.expected is not None:
        raise InvalidInput(
            "Leave-one-out is not defined after expectation-maximization: each row's own label took part in it. "
            "Hold some labelled rows out and use `predict_proba` on them, or fit with ",
            Setting("unlabelled", "skip"),
            ".",
        )

    def scores(given: Rows) -> Scores:
        rows, counts = rows_with_weight(given), fitted.counts
        if isinstance(rows.source, Frame):
            check_widths(rows.source, fitted.model.schema, counts)
        found = answers_without_rows(fitted, rows, with_class_weights(rows, fitted.state.class_weights))
        classes = counts.classes.labels
        how = (*costs_of_scores(fitted.parameters, classes), found.tuning, found.folds)
        return Scores.from_indices(found.posterior, found.truth, classes, rows.weights, *how)

    return joined_scores(each_labelled_block(fitted, X, y, sample_weight, target, scores))


def score_of(
    fitted: FittedClassifier, X: TableLike, y: ColumnLike, sample_weight: ColumnLike, target: str | None
) -> float:
    """Return the accuracy of the predictions, or their skill where costs are of numbers."""

    def predicted(rows: Rows) -> list[AnyArray]:
        """Return the true labels of rows, the predictions, and the weights if there are some."""
        truth, known = hard_labels(rows), fitted.classes.tolist()
        labels = [matching_label(label, known) for label in truth.labels]
        columns = [labels[code] for code in truth.codes.tolist()], decisions_of(fitted, rows.source).tolist()
        weights = [] if rows.weights is None else [rows.weights]
        return [*(np.asarray(column, dtype=object) for column in columns), *weights]

    parts = each_labelled_block(fitted, X, y, sample_weight, target, predicted)
    labels, answers, *weights = (np.concatenate(column) for column in zip(*parts, strict=True))
    cost = fitted.parameters.cost
    how = (cost, fitted.parameters.reject) if isinstance(cost, str) else ()
    scores = Scores.from_labels(labels, answers, None, weights[0] if weights else None, *how)
    return scores.skill if how else scores._accuracy_of_all


# -- rows that were counted, by models without them --------------------------------------------------------------------


class AnswersWithoutRows(NamedTuple):
    """P(class | row) of rows, each by a model that it had no part in, and how these models were made.

    A row that stands for copies comes once for each fold that has some of them.
    """

    posterior: Floats
    rows: Rows  # with the weights that they were given
    truth: Codes
    folds: Longs | None  # the fold of each row; None where each row was left out alone
    tuning: str | None  # "refit" where weights were fitted without each fold, "fixed" where they were not


def is_held_out_in_folds(fitted: FittedClassifier) -> bool:
    """Tell whether rows are held out in folds: those of the default model, if weights were fitted."""
    return fitted.weights is not None and fitted.state.tuning.learned is not None and fitted.has_weighted_columns


def answers_without_rows(
    fitted: FittedClassifier, rows: Rows, heavy: Rows, *, copy_by_copy: bool = False, kept: bool = False
) -> AnswersWithoutRows:
    """Return the probabilities of rows that were counted; heavy ones have the weights that they were counted with.

    The default model holds them out in folds: the counts without a fold, and weights and coefficients fitted without
    it. A row is held out with all its weight, or, where weights count copies, copy by copy. Of fewer rows than weights
    were fitted on, the weights stay as they are, unless these are the rows that the model has kept.
    """
    counts, parameters, state = fitted.counts, fitted.parameters, fitted.state
    truth = truth_of(rows, counts)
    if not is_held_out_in_folds(fitted):
        prior = prior_without_row(parameters, fitted.all_counts)
        posterior = leave_one_out_posterior(fitted.model, counts, heavy, truth, prior, parameters.threads)
        return AnswersWithoutRows(posterior, rows, truth, None, "fixed" if fitted.tuning.calibrated else None)
    check_not_more_rows(counts, truth, heavy.weights)
    refuse_uncounted(fitted, rows, heavy)
    weights, given = row_weights(heavy.weights, len(truth)), row_weights(rows.weights, len(truth))
    times = weights.astype(np.int64) if copy_by_copy and are_copies(heavy.weights, truth) else None
    part = dealt_out(order_by_class(fitted, rows, truth), times, parameters.recipe.folds)
    at, share = part.rows, part.copies if times is None else part.copies / weights[part.rows]
    held_out, learned = replace(rows.take(at), weights=given[at] * share), state.tuning.learned
    heavy = replace(heavy.take(at), weights=weights[at] * share, own=None, by_class=None, hashes=None)
    if rows.weights is None and (share == 1).all():
        held_out = replace(held_out, weights=None)
    if heavy.weights is not None and (heavy.weights == 1).all():
        heavy = replace(heavy, weights=None)
    splits: list[Split] = [(None, np.flatnonzero(part.folds == fold)) for fold in range(int(part.folds.max()) + 1)]
    plain = replace(parameters, class_weight=None)  # rows have the weights that their classes had in this model
    if abs(float(weights.sum()) - float(counts.rows.sum())) <= 1e-9 * float(weights.sum()):  # all that were counted
        schema = heavy.schema(bare_schema(parameters, state.schema))
        scores = scores_of_folds(plain, heavy, schema, splits)
    else:
        value = Counts(counts.classes, counts.rows, counts.columns, state.schema)
        refit = (kept and enough(rows)) or learned is None or len(truth) >= learned.rows
        scores = scores_of_folds(plain, heavy, state.schema, splits, None if refit else state.tuning, value)
    assert scores.posterior is not None
    out = np.zeros((len(at), len(counts.classes)))
    out[:, counts.classes.places(scores.classes)] = scores.posterior
    return AnswersWithoutRows(out, held_out, truth[at], part.folds, scores.tuning)


def refuse_uncounted(fitted: FittedClassifier, rows: Rows, heavy: Rows) -> None:
    """Refuse rows that were never counted, as far as the rows that are kept and the counts of columns tell."""
    state, threads = fitted.state, fitted.parameters.threads
    if state.kept is not None and rows.weights is None and state.row_weights is None:
        first = state.kept.first_unknown(rows, threads)
        if first is not None:
            raise InvalidInput(RowNumber(first), f" was never counted. {GIVE}")
    counts = state.counts.value
    part = TableCounter(state.schema, tuple(counts.classes.fixed))
    count_rows(part, heavy, threads)
    try:
        Counts(counts.classes, counts.rows, counts.columns, state.schema) - part.value()
    except NotASubset as error:
        raise InvalidInput(
            "Some of these rows were never counted. ", error.message, f" {GIVE}", column=error.column
        ) from None


# -- folds -------------------------------------------------------------------------------------------------------------


class DealtRows(NamedTuple):
    """Which rows lie in folds, how many copies of each, and in which one; in the order of the rows."""

    rows: Places
    copies: Floats
    folds: Longs


def order_by_class(fitted: FittedClassifier, rows: Rows, truth: Codes) -> Places:
    """Return an order of rows by class that follows from their content, without their weights."""
    state, frame = fitted.state, frame_of(rows.source)
    order = content_order(state.counts.counter, frame.on(state.schema), truth, fitted.parameters.threads)
    return order[np.argsort(truth[order], kind="stable")]


def dealt_out(order: Places, times: Longs | None, folds: int) -> DealtRows:
    """Deal rows out to folds, one after the other, or the copies of each, given how many there are.

    >>> dealt_out(np.array([1, 0]), np.array([3, 1]), 3)
    DealtRows(rows=array([0, 0, 0, 1]), copies=array([1., 1., 1., 1.]), folds=array([0, 1, 2, 0]))
    """
    each = np.ones(len(order), dtype=np.int64) if times is None else times[order]
    ends = np.cumsum(each)
    folds = min(folds, int(ends[-1]))
    # Copy n lies in fold n modulo their number: so many of the numbers below a bound are of each fold.
    below = (np.stack([ends - each, ends])[..., None] + (folds - 1 - np.arange(folds))) // folds
    copies = np.empty((len(order), folds))
    copies[order] = below[1] - below[0]
    rows, fold = np.nonzero(copies)
    return DealtRows(rows, copies[rows, fold], fold)
