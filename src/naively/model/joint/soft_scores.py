"""Leave-one-out scores of the textbook model for rows with soft labels."""

from __future__ import annotations

import numpy as np

from ..._linear_algebra import dot
from ..._types import Floats
from ...counting.rows import Rows
from ...stats import Counts
from ..leave_one_out import PriorWithout, leave_one_out_log_joint, rows_at
from ..protocols import FittedModel
from .associations import HeldOutRows
from .linear import log_loss
from .soft_rows import RowClasses


def soft_scores(
    model: FittedModel,
    counts: Counts,
    rows: Rows,
    held: HeldOutRows,
    prior: PriorWithout,
    weights: Floats,
    threads: int,
) -> tuple[float, float]:
    """Return the mean cross-entropy of rows, each left out of its classes in turn, and the accuracy."""
    mixed, y = held.mixed(), held.y
    assert mixed is not None, "some row has several classes"
    own = held.weights.copy()
    own[mixed.at] = mixed.parts[y[mixed.at], np.arange(len(mixed.at))]
    joint = leave_one_out_log_joint(model, counts, Rows(rows.source, rows.target, own), y, prior, threads)
    for k, part in enumerate(mixed.parts):
        others = np.flatnonzero((part > 0) & (y[mixed.at] != k))
        at = mixed.at[others]
        if len(at):
            some = Rows(rows_at(rows, at).source, rows_at(rows, at).target, np.ascontiguousarray(part[others]))
            place = np.full(len(at), k, dtype=np.int32)
            joint[at, k] = leave_one_out_log_joint(model, counts, some, place, prior, threads)[:, k]
    scores, truth = joint.T, RowClasses(y, held.soft)
    accuracy = dot(weights, truth.agreement(scores.argmax(axis=0))) / float(weights.sum())
    return log_loss(np.maximum(scores, scores.max(axis=0) - 700), truth, weights), accuracy
