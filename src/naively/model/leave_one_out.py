"""Leave-one-out and folds without fitting again: rows are subtracted from the counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._types import AnyArray, Codes, ColumnLike, Floats, Mask, Matrices, Places
from ..counting.counter import TableCounter
from ..counting.rows import Rows
from ..data.target import Target
from ..errors import InvalidInput
from ..errors.message import RowNumber, Setting
from ..families import Settings
from ..families.family import log_proportion, row_weights
from ..judge.stratified_folds import RandomSeed, StratifiedFolds
from ..stats import Counts
from ..stats.arithmetic import subtract
from .scorer import posterior
from .table_model import GIVE, CountedRows, TableModel


class RemainingRows(NamedTuple):
    """How many rows each class has without each of some rows, [row, class], and which classes are still known then."""

    rows: Floats
    known: Mask


PriorWithout = Callable[[RemainingRows], Floats]  # the log prior of the classes without each row


# -- one row at a time -----------------------------------------------------------------------------------------------


def leave_one_out_posterior(
    model: TableModel, counts: Counts, rows: Rows, y: Codes, prior: PriorWithout, threads: int
) -> Floats:
    """Return P(class | row) of each row as if it had never been counted."""
    joint = model.scorer.temper(leave_one_out_log_joint(model, counts, rows, y, prior, threads))
    return posterior(joint, np.zeros(joint.shape[1]), threads, model.scorer.floor)


def leave_one_out_log_joint(
    model: TableModel, counts: Counts, rows: Rows, y: Codes, prior: PriorWithout, threads: int
) -> Floats:
    """Return the log joint [row, class] of each row as if it had never been counted."""
    joint = np.empty((len(y), len(counts.classes)))

    def ask(at: slice, columns: Matrices) -> None:
        w, own = None if rows.weights is None else rows.weights[at], y[at]
        priors = partial(remaining_priors, counts, own, w, prior, at.start)
        joint[at] = model.leave_one_out(CountedRows(columns, own, w, at.start, priors, threads))

    model.each_block(ask, rows.source, threads)
    return joint


def remaining_priors(
    counts: Counts, y: Codes, w: Floats | None, prior: PriorWithout, begin: int
) -> tuple[Floats, Places]:
    """Return the log priors that rows leave behind, and which of them each row does: rows alike leave the same."""
    check_row_weights(counts, y, row_weights(w, len(y)), begin)
    if w is not None:
        return prior(remaining_rows(counts, y, w)), np.arange(len(y))
    met = np.bincount(y) > 0
    classes = np.flatnonzero(met)
    return prior(remaining_rows(counts, classes, np.ones(len(classes)))), (np.cumsum(met) - 1)[y]


def check_row_weights(counts: Counts, y: Codes, w: Floats, begin: int) -> None:
    """Refuse rows that weigh more than all rows of their class together."""
    never = np.flatnonzero(subtract(counts.rows[y], w) < 0)
    if len(never):
        row, label = never[0], counts.classes.labels[y[never[0]]]
        raise InvalidInput(
            RowNumber(begin + row),
            f" was never counted: it weighs {w[row]:g}, and all rows of {label!r} together only "
            f"{counts.rows[y[row]]:g}. {GIVE}",
        )


def check_not_more_rows(counts: Counts, y: Codes, w: Floats | None) -> None:
    """Refuse more rows of a class than were counted."""
    given = np.bincount(y, w, len(counts.rows))
    more = np.flatnonzero(given > counts.rows * (1 + 1e-9) + 1e-9)
    if len(more):
        k = int(more[0])
        raise InvalidInput(
            f"{given[k]:.10g} rows of {counts.classes.labels[k]!r} were given, and only {counts.rows[k]:.10g} were "
            f"counted. {GIVE}"
        )


def remaining_rows(counts: Counts, y: Codes | Places, w: Floats) -> RemainingRows:
    """Return what is left of each class without each of some rows, given its class and weight."""
    rows, at = np.tile(counts.rows, (len(y), 1)), np.arange(len(y))
    rows[at, y] = subtract(rows[at, y], w)
    known = (rows > 0) | counts.classes.kept(np.zeros(len(counts.classes), dtype=bool))
    if not known.any(axis=1).all():
        raise InvalidInput("There is a single row: without it nothing is left to answer from. Give more rows.")
    return RemainingRows(rows, known)


def empirical_without(settings: Settings) -> PriorWithout:
    """Return what gives the log prior (n - w + λ) / (N - w + K·λ); a class that vanished with its last row has none."""
    pseudo_counts = float(settings.alone().pseudo_counts)

    def prior(left: RemainingRows) -> Floats:
        size = left.known.sum(axis=1, keepdims=True)
        log = log_proportion(
            left.rows + pseudo_counts, left.rows.sum(axis=1, keepdims=True) + size * pseudo_counts, size
        )
        return np.where(left.known, log, -np.inf)

    return prior


def given_without(log_prior: Floats) -> PriorWithout:
    """Return what gives a log prior that does not depend on the counts, shared by the classes still known."""

    def prior(left: RemainingRows) -> Floats:
        p = np.where(left.known, np.exp(log_prior), 0.0)
        p = np.where(p.any(axis=1, keepdims=True), p, left.known)  # those left have no chance: all are alike
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(p / p.sum(axis=1, keepdims=True)))

    return prior


def truth_of(rows: Rows, counts: Counts) -> Codes:
    """Return the place of each row's class among those counted."""
    target = hard_labels(rows)
    place = counts.classes.places(target.labels).astype(np.int32)
    truth: Codes = place[target.codes]
    if np.any(truth < 0):
        label = target.labels[target.codes[int(np.argmin(truth))]]
        raise InvalidInput(f"The label {label!r} was never counted. {GIVE}")
    return truth


def soft_truth(rows: Rows, counts: Counts) -> Floats | None:
    """Return the proportions of the classes that were counted in each row, [class, row]; None without soft labels."""
    proportions = rows.target.proportions
    if proportions is None:
        return None
    out = np.zeros((len(counts.classes), len(proportions)))
    place = counts.classes.places(rows.target.labels)
    if (never := (place < 0) & proportions.any(axis=0)).any():
        raise InvalidInput(f"The label {rows.target.labels[int(np.argmax(never))]!r} was never counted. {GIVE}")
    out[place[place >= 0]] = (proportions / proportions.sum(axis=1, keepdims=True)).T[place >= 0]
    return out


def hard_labels(rows: Rows) -> Target:
    """Return the labels of rows that have one each."""
    if rows.target.soft:
        raise InvalidInput("Soft labels have no single true class to score against; give one label for each row.")
    return rows.target


def rows_with_weight(rows: Rows) -> Rows:
    """Return the rows that weigh something: a row of no weight is no row."""
    there = np.ones(rows.target.rows, dtype=np.bool_) if rows.weights is None else rows.weights > 0
    if rows.target.proportions is not None:
        there &= rows.target.proportions.any(axis=1)
    return rows if there.all() else rows.take(np.flatnonzero(there))


def rows_at(rows: Rows, at: Places) -> Rows:
    """Return some of the rows, in this order."""
    hard_labels(rows)  # refuses soft labels
    return rows.take(at)


# -- folds -------------------------------------------------------------------------------------------------------------


def folds_of(folds: Any, rows: Rows, groups: ColumnLike, seed: RandomSeed) -> Iterator[tuple[Places | None, Places]]:
    """Give training rows (None: all others) and test rows: of so many folds, of a splitter, or as given."""
    n, codes = rows.target.rows, hard_labels(rows).codes
    if isinstance(folds, (int, np.integer)) and not isinstance(folds, bool):
        if not 2 <= folds <= n:
            raise InvalidInput(Setting("cv", folds), f" must lie between 2 and the number of rows, {n}.")
        yield from ((None, test) for test in fold_rows(rows, int(folds), seed))
        return
    if hasattr(folds, "split") and not isinstance(folds, str):  # a splitter of scikit-learn
        folds = folds.split(np.zeros((n, 1)), codes, groups)
    elif not isinstance(folds, Iterable) or isinstance(folds, str):
        raise InvalidInput(
            Setting("cv", folds),
            " means nothing here; give a number, a splitter of scikit-learn, or pairs (train, test).",
        )
    for pair in folds:
        train, test = (
            row_places(part, n)
            for part in (pair if isinstance(pair, (tuple, list)) and len(pair) == 2 else (None, None))
        )
        yield training_rows(train, test, n), test


def training_rows(train: Places, test: Places, n: int) -> Places | None:
    """Return the rows to learn from; None if they are all but those asked about, each once."""
    times = np.bincount(train, minlength=n)
    times[test] += 1
    return None if len(train) + len(np.unique(test)) == n and (times == 1).all() else train


def fold_rows(rows: Rows, folds: int, seed: RandomSeed) -> list[Places]:
    """Return the rows of each fold: each has its proportion of every class, and rows of no weight are in none."""
    target = hard_labels(rows)
    fold = StratifiedFolds(folds, seed).assign(target.labels, target.codes, rows.weights)
    fold = np.where(fold < 0, folds, fold).astype(np.int32)
    order = np.argsort(narrowest_codes(fold), kind="stable")
    return np.split(order, np.cumsum(np.bincount(fold, minlength=folds + 1))[:-1])[:folds]


def narrowest_codes(codes: Codes) -> AnyArray:
    """Return codes in the smallest type that holds them: fewer bytes are sorted quicker."""
    return codes.astype(np.min_scalar_type(int(codes.max())))


def row_places(which: ColumnLike, n: int) -> Places:
    """Return the places of some of n rows, which may be given by a mask."""
    at = np.asarray(which)
    if at.dtype == bool and at.shape == (n,):
        return np.flatnonzero(at)
    if at.ndim != 1 or (at.size and (at.dtype.kind not in "iu" or at.min() < -n or at.max() >= n)):
        raise InvalidInput(f"cv must hold pairs (train, test) of places among the {n} rows; found {which!r}.")
    at = at.astype(np.intp, copy=False)
    return np.where(at < 0, at + n, at) if at.size and at.min() < 0 else at


def counted_apart(whole: TableCounter, folds: Sequence[Rows], threads: int) -> list[TableCounter]:
    """Count each fold apart, and all of them into the whole: no row is counted twice."""
    parts = []
    for rows in folds:
        part = whole.empty_like()
        rows.count(part, threads)
        whole.absorb(part)
        parts.append(part)
    return parts


def training_counts(train: Places | None, asked: Rows, rows: Rows, whole: Counts, threads: int) -> Counts:
    """Return the counts of the rows to learn from: all others taken away, or those counted, whichever are fewer."""
    if train is None:
        return whole - counts_of_rows(asked, whole, threads)
    times = np.bincount(train, minlength=rows.target.rows)
    others = np.flatnonzero(times == 0)
    if times.max(initial=0) > 1 or len(others) > len(train):
        return counts_of_rows(rows_at(rows, train), whole, threads)
    return whole - counts_of_rows(rows_at(rows, others), whole, threads)


def counts_of_rows(rows: Rows, whole: Counts, threads: int) -> Counts:
    """Return the counts of some of the rows."""
    counter = TableCounter(whole.schema, tuple(whole.classes.fixed))
    rows.count(counter, threads)
    return counter.value()
