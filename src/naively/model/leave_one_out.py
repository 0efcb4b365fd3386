"""How good a model is, without fitting it again: rows and folds are taken out of the counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._types import AnyArray, Codes, Floats, Places
from ..counting.counter import TableCounter
from ..counting.rows import Rows, count_rows
from ..data.target import SoftLabels
from ..errors import InvalidInput
from ..errors.message import RowNumber, Setting
from ..families import Settings
from ..families import proportions as shares
from ..families.family import row_weights
from ..judge.fold_assignment import Dealer
from ..stats import Counts
from ..stats.arithmetic import take_away
from .joint.model import TogetherModel
from .refined.model import RefinedModel
from .scorer import posterior
from .table_model import LABELS, TableModel

GIVE = "Give the rows that the model was fitted with."


class Left(NamedTuple):
    """How many rows each class has without each of some rows, [row, class], and which classes are still known then."""

    rows: Floats
    known: npt.NDArray[np.bool_]


PriorWithout = Callable[[Left], Floats]  # the log prior of the classes without each row


# -- one row at a time -----------------------------------------------------------------------------------------------


def left_out(model: TableModel, counts: Counts, rows: Rows, y: Codes, prior: PriorWithout, threads: int) -> Floats:
    """Return P(class | row) of each row as if it had never been counted."""
    joint = model.model.temper(left_joint(model, counts, rows, y, prior, threads))
    return posterior(joint, np.zeros(joint.shape[1]), threads)


def left_joint(model: TableModel, counts: Counts, rows: Rows, y: Codes, prior: PriorWithout, threads: int) -> Floats:
    """Return the log joint [row, class] of each row as if it had never been counted."""
    joint = np.empty((len(y), len(counts.classes)))

    def ask(at: slice, columns: dict[str, Any]) -> None:
        w, here = None if rows.weights is None else rows.weights[at], joint[at]
        if isinstance(model, (RefinedModel, TogetherModel)):
            here[:] = model.left(columns, y[at], row_weights(w, len(here)))
            return
        before, which = prior_of(counts, y[at], w, prior, at.start)
        before.take(which, axis=0, out=here)
        try:
            for name, likelihood in model.model.likelihoods.items():
                here += likelihood.leave_one_out(columns[name], y[at], w, threads)
        except InvalidInput:
            check_counted(model, columns, y[at], row_weights(w, len(here)), at.start)
            raise
        ruled_out = np.flatnonzero(here[:, 0] == -np.inf)
        ruled_out = ruled_out[np.isneginf(here[ruled_out]).all(axis=1)]
        here[ruled_out] = before[which[ruled_out]]  # every class is ruled out: the prior speaks alone

    model.each_block(ask, rows.source, threads)
    return joint


def prior_of(
    counts: Counts, y: Codes, w: Floats | None, prior: PriorWithout, begin: int
) -> tuple[Floats, npt.NDArray[np.intp]]:
    """Return the log priors that rows leave behind, and which of them each row does: rows alike leave the same."""
    check_weights(counts, y, row_weights(w, len(y)), begin)
    if w is not None:
        return prior(left(counts, y, w)), np.arange(len(y))
    met = np.bincount(y) > 0
    classes = np.flatnonzero(met)
    return prior(left(counts, classes, np.ones(len(classes)))), (np.cumsum(met) - 1)[y]


def check_weights(counts: Counts, y: Codes, w: Floats, begin: int) -> None:
    """Refuse rows that weigh more than all rows of their class together."""
    never = np.flatnonzero(take_away(counts.rows[y], w) < 0)
    if len(never):
        row, label = never[0], counts.classes.labels[y[never[0]]]
        raise InvalidInput(
            RowNumber(begin + row),
            f" was never counted: it weighs {w[row]:g}, and all rows of {label!r} together only "
            f"{counts.rows[y[row]]:g}. {GIVE}",
        )


def check_no_more(counts: Counts, y: Codes, w: Floats | None) -> None:
    """Refuse more rows of a class than were counted."""
    given = np.bincount(y, w, len(counts.rows))
    more = np.flatnonzero(given > counts.rows * (1 + 1e-9) + 1e-9)
    if len(more):
        k = int(more[0])
        raise InvalidInput(
            f"{given[k]:.10g} rows of {counts.classes.labels[k]!r} were given, and only {counts.rows[k]:.10g} were "
            f"counted. {GIVE}"
        )


def left(counts: Counts, y: npt.NDArray[np.integer[Any]], w: Floats) -> Left:
    """Return what is left of each class without each of some rows, given its class and weight."""
    rows, at = np.tile(counts.rows, (len(y), 1)), np.arange(len(y))
    rows[at, y] = take_away(rows[at, y], w)
    known = (rows > 0) | counts.classes.kept(np.zeros(len(counts.classes), dtype=bool))
    if not known.any(axis=1).all():
        raise InvalidInput("There is a single row: without it nothing is left to answer from. Give more rows.")
    return Left(rows, known)


def check_counted(model: TableModel, columns: dict[str, Any], y: Codes, w: Floats, begin: int) -> None:
    """Refuse rows that cannot have been counted, and values that are an error once their only row is left out."""
    for at, label in enumerate(model.labels):
        table, code = label.table, columns[LABELS][:, at]
        n = table.left.n  # the last line is that of values never met
        never = np.flatnonzero((take_away(n[code, y], w) < 0) & (code >= 0))
        if len(never):
            raise InvalidInput(
                RowNumber(begin + never[0]),
                f" was never counted: its value in column {label.column.name!r} was not counted as often with its "
                f"class, {table.classes.labels[y[never[0]]]!r}. {GIVE}",
                column=label.column.name,
            )
        alone = np.flatnonzero((take_away(table.left.met[code], w) == 0) & (code >= 0))
        if label.settings.unseen == "error" and len(alone) and not table.values.fixed:
            raise InvalidInput(
                RowNumber(begin + alone[0]),
                f" is the only one with its value in column {label.column.name!r}: without it, the value was not "
                "seen. Set ",
                Setting("unseen", "skip"),
                " to ignore such values, or ",
                Setting("unseen", "smooth"),
                " to smooth them.",
                column=label.column.name,
            )
    for key, (_, numbers) in model.numbers.items():
        if np.isinf(columns[key]).any():
            row, at = (int(i) for i in np.argwhere(np.isinf(columns[key]))[0])
            name = numbers[at].name
            raise InvalidInput(RowNumber(begin + row), f" was never counted: {name!r} is infinite. {GIVE}", column=name)


def empirical_without(settings: Settings) -> PriorWithout:
    """Return what gives the log prior (n - w + λ) / (N - w + K·λ); a class that vanished with its last row has none."""
    imagined = float(shares.IMAGINED[settings.estimate](settings.alone().smoothing))

    def prior(left: Left) -> Floats:
        size = left.known.sum(axis=1, keepdims=True)
        log = shares.log_share(left.rows + imagined, left.rows.sum(axis=1, keepdims=True) + size * imagined, size)
        return np.where(left.known, log, -np.inf)

    return prior


def given_without(log_prior: Floats) -> PriorWithout:
    """Return what gives a log prior that does not depend on the counts, shared by the classes still known."""

    def prior(left: Left) -> Floats:
        p = np.where(left.known, np.exp(log_prior), 0.0)
        p = np.where(p.any(axis=1, keepdims=True), p, left.known)  # those left have no chance: all are alike
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(p / p.sum(axis=1, keepdims=True)))

    return prior


def truth_of(rows: Rows, counts: Counts) -> Codes:
    """Return the place of each row's class among those counted."""
    target = hard(rows)
    places = counts.classes.places(target.labels).astype(np.int32)
    truth: Codes = places[target.codes]
    if np.any(truth < 0):
        label = target.labels[target.codes[int(np.argmin(truth))]]
        raise InvalidInput(f"The label {label!r} was never counted. {GIVE}")
    return truth


def hard(rows: Rows) -> Any:
    """Return the labels of rows that have one each."""
    if isinstance(rows.target, SoftLabels):
        raise InvalidInput("Soft labels have no single true class to score against; give one label for each row.")
    return rows.target


def of_weight(rows: Rows) -> Rows:
    """Return the rows that weigh something: a row of no weight is no row."""
    if rows.weights is None or rows.weights.all():
        return rows
    return some(rows, np.flatnonzero(rows.weights))


def some(rows: Rows, at: Places) -> Rows:
    """Return some of the rows, in this order."""
    hard(rows)  # refuses soft labels
    return rows.take(at)


# -- folds -------------------------------------------------------------------------------------------------------------


def folds_of(folds: Any, rows: Rows, groups: Any, seed: Any) -> Iterator[tuple[Places | None, Places]]:
    """Give the rows to learn from (None: all others) and the rows to ask about: dealt out, of a splitter, or given."""
    n, codes = rows.target.rows, hard(rows).codes
    if isinstance(folds, (int, np.integer)) and not isinstance(folds, bool):
        if not 2 <= folds <= n:
            raise InvalidInput(Setting("folds", folds), f" must lie between 2 and the number of rows, {n}.")
        yield from ((None, test) for test in dealt_rows(rows, int(folds), seed))
        return
    if hasattr(folds, "split") and not isinstance(folds, str):
        folds = folds.split(np.zeros((n, 1)), codes, groups)
    elif not isinstance(folds, Iterable) or isinstance(folds, str):
        raise InvalidInput(
            Setting("folds", folds),
            " means nothing here; give a number, a splitter of scikit-learn, or pairs (train, test).",
        )
    for pair in folds:
        train, test = (
            places(part, n) for part in (pair if isinstance(pair, (tuple, list)) and len(pair) == 2 else (None, None))
        )
        yield rest_of(train, test, n), test


def rest_of(train: Places, test: Places, n: int) -> Places | None:
    """Return the rows to learn from; None if they are all but those asked about, each once."""
    times = np.bincount(train, minlength=n)
    times[test] += 1
    return None if len(train) + len(np.unique(test)) == n and (times == 1).all() else train


def dealt_rows(rows: Rows, folds: int, seed: Any) -> list[Places]:
    """Return the rows of each fold: each has its share of every class, and rows of no weight are in none."""
    target = hard(rows)
    dealt = Dealer(folds, seed).deal(target.labels, target.codes, rows.weights)
    dealt = np.where(dealt < 0, folds, dealt).astype(np.int32)
    order = np.argsort(narrow(dealt), kind="stable")
    return np.split(order, np.cumsum(np.bincount(dealt, minlength=folds + 1))[:-1])[:folds]


def narrow(codes: Codes) -> AnyArray:
    """Return codes in the smallest type that holds them: fewer bytes are sorted quicker."""
    return codes.astype(np.min_scalar_type(int(codes.max())))


def places(which: Any, n: int) -> Places:
    """Return the places of some of n rows, which may be said by a mask."""
    at = np.asarray(which)
    if at.dtype == bool and at.shape == (n,):
        return np.flatnonzero(at)
    if at.ndim != 1 or (at.size and (at.dtype.kind not in "iu" or at.min() < -n or at.max() >= n)):
        raise InvalidInput(f"folds must hold pairs (train, test) of places among the {n} rows; found {which!r}.")
    at = at.astype(np.intp, copy=False)
    return np.where(at < 0, at + n, at) if at.size and at.min() < 0 else at


def counted_apart(whole: TableCounter, folds: Sequence[Rows], threads: int) -> list[TableCounter]:
    """Count each fold apart, and all of them into the whole: no row is counted twice."""
    parts = []
    for rows in folds:
        part = whole.fresh()
        count_rows(part, rows, threads)
        whole.absorb(part)
        parts.append(part)
    return parts


def counts_of(train: Places | None, asked: Rows, rows: Rows, whole: Counts, threads: int) -> Counts:
    """Return the counts of the rows to learn from: all others taken away, or those counted, whichever are fewer."""
    if train is None:
        return whole - counted(asked, whole, threads)
    times = np.bincount(train, minlength=rows.target.rows)
    others = np.flatnonzero(times == 0)
    if times.max(initial=0) > 1 or len(others) > len(train):
        return counted(some(rows, train), whole, threads)
    return whole - counted(some(rows, others), whole, threads)


def counted(rows: Rows, whole: Counts, threads: int) -> Counts:
    """Return the counts of some of the rows."""
    counter = TableCounter(whole.schema, tuple(whole.classes.fixed))
    count_rows(counter, rows, threads)
    return counter.value()
