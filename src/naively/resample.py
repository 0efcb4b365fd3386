"""How good a model is, without fitting it again: rows or folds are taken out of the counts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from .counting import Rows, count_rows
from .engines.tables import TableCounter
from .errors import InvalidInput
from .families import Settings, shares
from .mixed import TableModel
from .model import posterior
from .read.target import Shares
from .statistics import Counts
from .statistics.arithmetic import take_away
from .statistics.axis import Floats


def left_out(
    model: TableModel,
    counts: Counts,
    columns: dict[str, Any],
    y: npt.NDArray[np.int32],
    weights: Floats | None,
    prior: Any,
) -> Floats:
    """Return P(class | row) of each row as if it had never been counted; prior is what log_prior_without gives."""
    joint = prior(counts, y, np.ones(len(y)) if weights is None else weights)
    for name, likelihood in model.model.likelihoods.items():
        joint += likelihood.leave_one_out(columns[name], y, weights)
    gone = np.isneginf(joint).all(axis=1)
    fallback = np.where(gone[:, None], prior(counts, y, np.ones(len(y)) if weights is None else weights), 0.0)
    out = posterior(joint, np.full(joint.shape[1], -np.log(joint.shape[1])))
    if gone.any():  # every class is ruled out: the prior speaks alone
        alone = np.exp(fallback[gone])
        out[gone] = alone / alone.sum(axis=1, keepdims=True)
    return out


def truth_of(rows: Rows, counts: Counts) -> npt.NDArray[np.int32]:
    """Return the place of each row's class among those counted."""
    if isinstance(rows.target, Shares):
        raise InvalidInput("Shares of classes have no single true class to score against; give one label for each row.")
    places = counts.classes.places(rows.target.labels)
    if np.any(places < 0):
        label = rows.target.labels[int(np.argmin(places))]
        raise InvalidInput(f"The label {label!r} was never counted; give the rows that the model was fitted with.")
    return places.astype(np.int32)[rows.target.codes]


def empirical_without(settings: Settings) -> Any:
    """Return what gives the log prior of each row's classes without that row: (n - w + λ) / (N - w + K·λ)."""
    imagined = float(shares.IMAGINED[settings.estimate](settings.smoothing))

    def prior(counts: Counts, y: npt.NDArray[np.int32], w: Floats) -> Floats:
        rows, stay = without(counts, y, w)
        classes = stay.sum(axis=1, keepdims=True)
        log = shares.log_share(rows + imagined, rows.sum(axis=1, keepdims=True) + classes * imagined, classes)
        return np.where(stay, log, -np.inf)

    return prior


def given_without(log_prior: Floats) -> Any:
    """Return what gives a prior that does not depend on the counts; a class that vanishes with its last row has none."""

    def prior(counts: Counts, y: npt.NDArray[np.int32], w: Floats) -> Floats:
        _, stay = without(counts, y, w)
        log = np.where(stay, log_prior, -np.inf)
        with np.errstate(divide="ignore"):
            return np.asarray(log - np.log(np.exp(log).sum(axis=1, keepdims=True)))

    return prior


def without(counts: Counts, y: npt.NDArray[np.int32], w: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return the rows of each class without each row, [row, class], and which classes are still known then."""
    rows = np.tile(counts.rows, (len(y), 1))
    at = np.arange(len(y))
    rows[at, y] = take_away(rows[at, y], w)
    if np.any(rows < 0):
        row = int(np.argmax((rows < 0).any(axis=1)))
        raise InvalidInput(
            f"Row {row} weighs {w[row]:g}, but its class has only {counts.rows[y[row]]:g} rows: it was never counted. Give the "
            "rows that the model was fitted with."
        )
    return rows, (rows > 0) | counts.classes.kept(np.zeros(len(counts.classes), dtype=bool))


def folds_of(folds: Any, rows: Rows, groups: Any = None) -> list[npt.NDArray[np.intp]]:
    """Return the rows of each fold: of a number of folds, shuffled within each class; of a splitter; or given."""
    n = rows.target.rows
    if isinstance(folds, (int, np.integer)) and not isinstance(folds, bool):
        if not 2 <= folds <= n:
            raise InvalidInput(f"folds={folds} must lie between 2 and the {n} rows.")
        from sklearn.model_selection import KFold, StratifiedKFold

        hard = not isinstance(rows.target, Shares) and np.bincount(rows.target.codes).max() >= folds
        folds = (StratifiedKFold if hard else KFold)(int(folds), shuffle=True, random_state=0)
    if hasattr(folds, "split"):
        y = rows.target.codes if not isinstance(rows.target, Shares) else rows.target.shares.argmax(axis=1)
        return [np.asarray(test) for _, test in folds.split(np.zeros((n, 1)), y, groups)]
    if isinstance(folds, Iterable):
        return [np.asarray(test) for _, test in folds]
    raise InvalidInput(f"folds={folds!r} is neither a number of folds nor a splitter of scikit-learn.")


def fold_counts(schema: Any, classes: Any, rows: Rows, tests: list[npt.NDArray[np.intp]], threads: int) -> list[Counts]:
    """Return the counts of each fold."""
    found = []
    for test in tests:
        part = TableCounter(schema, classes)
        count_rows(part, some(rows, test), threads)
        found.append(part.value())
    return found


def some(rows: Rows, at: npt.NDArray[np.intp]) -> Rows:
    """Return some of the rows."""
    if isinstance(rows.target, Shares):
        raise InvalidInput("Shares of classes have no single true class to score against; give one label for each row.")
    target = rows.target._replace(codes=np.ascontiguousarray(rows.target.codes[at]))
    return Rows(rows.source.take(at), target, None if rows.weights is None else rows.weights[at])
