"""Held-out rows: scores of rows by models without them, prediction sets and intervals, and how good a model is.

Each row that was counted is predicted by a model without it, or rows that were never counted as they are. Only tables
of counts by class and probability are kept of them, which a model file can hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from .._linear_algebra import dot
from .._types import AnyArray, Codes, ColumnLike, Floats, Longs, Mask, Places, TableLike
from ..counting.counter import TableCounter
from ..counting.files import each_block
from ..counting.reading import labeled_rows, left_out_weights, rows_of_file, with_class_weights
from ..counting.row_hash import content_order
from ..counting.rows import Rows, are_copies, check_widths
from ..data.frame import frame_of
from ..errors import InvalidInput, NotASubset
from ..errors.message import RowNumber, Setting
from ..families.family import row_weights
from ..files.file import File, file_of
from ..judge.held_out_scores import HeldOutScores, class_scores
from ..judge.histograms import QualityCounts, QualitySource, quality_of_scores
from ..judge.score_inputs import matching_label
from ..judge.scores import Scores
from ..model.default.fitting import enough
from ..model.leave_one_out import check_not_more_rows, hard_labels, leave_one_out_posterior, rows_with_weight, truth_of
from ..model.scorer import AdditiveModel
from ..model.table_model import GIVE
from ..stats import Axis, Counts
from .answers import decisions_of, posterior_interval, predict_rows, probabilities_of
from .fitted_classifier import MODELLING, FittedClassifier, costs_of_scores, prior_without_row
from .folds import Split, scores_of_folds
from .settings import Parameters
from .state import FittedState, HeldOutCache
from .update import bare_schema

Part = TypeVar("Part")


HOW = (
    "Call conformalize(X, y) with rows that were counted, or conformalize(X, y, held_out=True) with others; a saved "
    "model keeps the scores. At the command line: naively fit --conformalize."
)


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
        check_widths(rows.source, fitted.model.schema, counts)
        result = answers_without_rows(fitted, rows, with_class_weights(rows, fitted.state.class_weights))
        classes = counts.classes.labels
        how = (*costs_of_scores(fitted.parameters, classes), result.tuning, result.folds)
        return Scores.from_indices(result.posterior, result.truth, classes, rows.weights, *how)

    parts = each_labelled_block(fitted, X, y, sample_weight, target, scores)

    def joined(name: str) -> AnyArray | None:
        given = [getattr(part, name) for part in parts]
        return None if given[0] is None else np.concatenate(given)

    return parts[0]._with(**{name: joined(name) for name in ("posterior", "truth", "weights", "folds", "decided")})


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
    heavy.count(part, threads)
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


# -- sets and intervals ------------------------------------------------------------------------------------------------


def prediction_sets(fitted: FittedClassifier, X: TableLike, level: float, *, by_class: bool = False) -> Mask:
    """Return which classes cannot be ruled out at a level, [row, class]."""
    scores = scores_in_use(fitted)
    return scores.sets(predict_rows(fitted, X, AdditiveModel.log_posterior), level, by_class=by_class)


def probability_interval(fitted: FittedClassifier, X: TableLike, level: float | None) -> tuple[Floats, Floats]:
    """Return an interval of P(class | row), (low, high), each [row, class].

    With a level it is a credible interval if the model has one, or a confidence interval by held-out scores, widened to
    contain the probability itself. Without a level it is a Venn–Abers interval.
    """
    if level is not None and fitted.model.has_credible_interval:
        return posterior_interval(fitted, X, level)
    scores, log_p = scores_in_use(fitted), predict_rows(fitted, X, AdditiveModel.log_posterior)
    if level is None:
        return scores.venn_abers(log_p)
    (low, high), p = scores.confidence(log_p, level), probabilities_of(fitted, X)
    return np.minimum(low, p), np.maximum(high, p)


# -- scores ------------------------------------------------------------------------------------------------------------


def scores_in_use(fitted: FittedClassifier) -> HeldOutScores:
    """Return the held-out scores of the model under the settings as they are now; they are made if rows are kept."""
    state, result = fitted.state, scores_at_hand(fitted)
    if result is None and state.kept is not None and state.kept.total > 1 and state.expected is None:
        result = held_out_scores(fitted, state.kept.labeled().rows(), kept=True)
        state.held_out.keep(result, fitted.parameters)
    if result is not None:
        return result.of_classes(fitted.all_counts.classes.labels)
    if state.held_out.scores is not None:
        raise InvalidInput(
            "The held-out scores of the model were made under other settings of estimating, and it has no rows to make "
            f"them again. {HOW}"
        )
    raise InvalidInput(f"The model has no held-out scores, which sets and intervals of it follow from. {HOW}")


def scores_at_hand(fitted: FittedClassifier) -> HeldOutScores | None:
    """Return held-out scores that were made under the settings as they are now, if there are any."""
    known = fitted.state.held_out
    if known.scores is None or known.parameters is None:
        return None
    return known.scores if known.parameters.is_same(fitted.parameters, MODELLING) else None


def merged_scores(models: Sequence[FittedClassifier], parameters: Parameters) -> HeldOutCache:
    """Return the held-out scores of all models added up; none if one of them has none under these settings."""
    tables = [scores_at_hand(fitted) for fitted in models]
    known = [table for table in tables if table is not None]
    same = all(fitted.parameters.is_same(parameters, MODELLING) for fitted in models)
    if not same or len(known) < len(models):
        return HeldOutCache()
    return HeldOutCache(reduce(add, known), parameters.snapshot())


def conformalized_state(
    fitted: FittedClassifier,
    X: TableLike,
    y: ColumnLike,
    sample_weight: ColumnLike,
    target: str | None,
    *,
    held_out: bool,
) -> FittedState:
    """Return the state with the held-out scores of these rows; `NaiveBayes.conformalize` says how."""

    def scores_of(rows: Rows) -> HeldOutScores:
        if not held_out:
            _refuse_uncounted(fitted, rows)
        return held_out_scores(fitted, rows, held_out=held_out)

    scores = reduce(add, each_labelled_block(fitted, X, y, sample_weight, target, scores_of))
    held = replace(fitted.state.held_out, scores=scores, parameters=fitted.parameters.snapshot())
    return replace(fitted.state, held_out=held)


def with_scores_of_files(
    fitted: FittedClassifier, file: File, target: str, weight: str | None = None
) -> FittedClassifier:
    """Return a model of files with its held-out scores; the files are read once more if no row of them was kept."""
    if fitted.state.kept is not None:
        scores_in_use(fitted)
        return fitted
    state = conformalized_state(fitted, file, None, weight, target, held_out=False)
    return FittedClassifier(fitted.parameters, state)


def _refuse_uncounted(fitted: FittedClassifier, rows: Rows) -> None:
    """Refuse rows that were never counted, as far as the kept rows tell: others would be subtracted."""
    kept = fitted.state.kept
    if kept is None or rows.weights is not None or fitted.state.row_weights is not None:
        return
    first = kept.first_unknown(rows, fitted.parameters.threads)
    if first is not None:
        raise InvalidInput(
            RowNumber(first),
            " was never counted, and rows are scored by subtracting them from the counts. For rows that were held out: "
            "conformalize(X, y, held_out=True).",
        )


def held_out_scores(
    fitted: FittedClassifier, rows: Rows, *, held_out: bool = False, kept: bool = False
) -> HeldOutScores:
    """Return the scores of rows that were counted, each by a model without it, or of rows that were not, as a table.

    A row of weight w counts as w rows; class weights change predictions and do not count here. Kept rows are all that
    the model has.
    """
    check_widths(rows.source, fitted.model.schema, fitted.counts)
    if held_out:
        return _scores_as_they_are(fitted, rows)
    if fitted.state.expected is not None:
        raise InvalidInput(
            "Leave-one-out is not defined after expectation-maximization: each row's own label took part in it. Hold "
            "some labelled rows out and give them: conformalize(X, y, held_out=True)."
        )
    if rows.target.soft:
        raise InvalidInput(
            "Rows with soft labels cannot be left out one at a time. Hold some rows out, whose labels may be soft, and "
            "give them: conformalize(X, y, held_out=True)."
        )
    rows = rows_with_weight(rows)
    squares = _squares(rows, truth_of(rows, fitted.counts))
    result = _answers_without_rows(fitted, rows, kept)
    with np.errstate(divide="ignore"):
        without = np.log(result.posterior)
    counted, truth = _log_probabilities(fitted, result.rows), result.truth.astype(np.intp)
    return _table_of(without, counted, truth, fitted.counts.classes, result.rows, squares)


def _answers_without_rows(fitted: FittedClassifier, rows: Rows, kept: bool) -> AnswersWithoutRows:
    """Return the probabilities of rows that were counted, each without it; of several copies of a row, without one."""
    heavy, truth = with_class_weights(rows, fitted.state.class_weights), truth_of(rows, fitted.counts)
    check_not_more_rows(fitted.counts, truth, heavy.weights)
    if not is_held_out_in_folds(fitted) and heavy.weights is not None:
        heavy = replace(heavy, weights=left_out_weights(heavy.weights, are_copies(heavy.weights, truth)))
    return answers_without_rows(fitted, rows, heavy, copy_by_copy=True, kept=kept)


def _log_probabilities(fitted: FittedClassifier, rows: Rows) -> Floats:
    """Return log P(class | row) of rows by the model as it is."""
    return fitted.model.answer(AdditiveModel.log_posterior, rows.source, fitted.parameters.threads)


def _scores_as_they_are(fitted: FittedClassifier, rows: Rows) -> HeldOutScores:
    """Return the scores of rows that were never counted; their labels may be soft."""
    classes, target = fitted.all_counts.classes, rows.target
    places = classes.places([matching_label(label, classes.labels) for label in target.labels])
    if (places < 0).any():
        label = target.labels[int(np.argmin(places))]
        raise InvalidInput(
            f"The model does not know the label {label!r}. Leave such rows out, or fit with ",
            Setting("classes", [label]),
            " to declare it.",
        )
    if target.proportions is not None:
        proportions = np.zeros((target.rows, len(classes)))
        proportions[:, places] = target.proportions
        sums = proportions.sum(axis=1)
        some = np.flatnonzero(sums > 0)
        rows, members = rows.take(some), proportions[some] / sums[some, None]
    else:
        rows = rows_with_weight(rows)
        members = places[hard_labels(rows).codes]
    log_p, truth = _log_probabilities(fitted, rows), members.astype(np.int32) if members.ndim == 1 else None
    return _table_of(log_p, log_p, members, classes, rows, _squares(rows, truth))


def _table_of(
    held_out: Floats, counted: Floats, members: Places | Floats, classes: Axis, rows: Rows, squares: float
) -> HeldOutScores:
    """Return the table of the scores of rows; a row weighs what it was given to weigh."""
    weights = row_weights(rows.weights, len(held_out))
    one, other = (class_scores(log_p, members, weights) for log_p in (held_out, counted))
    return HeldOutScores(classes, one, other, squares)


def _squares(rows: Rows, truth: Codes | None) -> float:
    """Return the sum of the weight of each row times what of it is left out at once; soft labels have no classes."""
    weights = row_weights(rows.weights, rows.target.rows)
    return dot(weights, left_out_weights(weights, truth is not None and are_copies(rows.weights, truth)))


# -- quality -----------------------------------------------------------------------------------------------------------


def keep_quality_of_folds(parameters: Parameters, state: FittedState, scores: Scores | None) -> None:
    """Keep the quality that a cross-validation at fit measured."""
    counts = state.counts.value
    if scores is None or scores.posterior is None or tuple(scores.classes) != tuple(counts.classes.labels):
        return
    folds = 0 if scores.folds is None else len(np.unique(scores.folds))
    total = float(counts.rows.sum())
    of = 0.0 if state.class_weights is not None or scores.rows >= total * (1 - 1e-9) else total
    quality = quality_of_scores(scores, QualitySource("folds", folds, of))
    state.held_out.keep_quality(quality, parameters, total)


def quality_at_hand(fitted: FittedClassifier) -> QualityCounts | None:
    """Return the quality that was measured of these counts under the settings as they are now, if it was."""
    known, rows = fitted.state.held_out, float(fitted.counts.rows.sum())
    if known.quality is None or known.quality_with is None or known.quality_of != rows:
        return None
    if tuple(known.quality.classes) != tuple(fitted.all_counts.classes.labels):
        return None
    return known.quality if known.quality_with.is_same(fitted.parameters, MODELLING) else None


def held_out_quality(fitted: FittedClassifier) -> QualityCounts | None:
    """Return how good the model is on held-out rows; None if there are no such rows.

    That is what a cross-validation at fit measured. Without one, each row that the model keeps is predicted by a model
    without it, and the result is kept until rows come or go.
    """
    result, state = quality_at_hand(fitted), fitted.state
    if result is not None or state.kept is None or state.expected is not None or state.kept.total < 2:
        return result
    rows = state.kept.labeled().rows()
    if rows.target.soft:
        return None
    total = float(fitted.counts.rows.sum())
    without, labels = _answers_without_rows(fitted, rows_with_weight(rows), kept=True), fitted.all_counts.classes.labels
    weights, folds = without.rows.weights, without.folds
    scores = Scores.from_indices(without.posterior, without.truth.astype(np.intp), labels, weights, folds=folds)
    of = 0.0 if state.kept.complete else total
    source = QualitySource("leave_one_out", 0, of) if folds is None else QualitySource("folds", len(set(folds)), of)
    result = quality_of_scores(scores, source)
    state.held_out.keep_quality(result, fitted.parameters, total)
    return result
