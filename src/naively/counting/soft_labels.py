"""Rows with soft labels as rows of one class each: the most probable one, and beside it the proportions of all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from .._types import Codes, Floats
from ..data.frame import Frame, frame_of
from ..data.target import SoftLabels, Target
from .counter import TableCounter
from .rows import Rows
from .sampled_rows import hashes_of_rows

# The proportions of a row sum to 1 up to rounding; its weight is a whole number then.
ROUNDING = 1e-9


def most_probable(rows: Rows, counter: TableCounter, threads: int) -> Rows:
    """Return rows with the most probable class as label, and what all their classes weigh as weight.

    Rows that have one label each are returned as they are. Samples are the same, whichever of both they are drawn from.
    """
    target = rows.target
    if not isinstance(target, SoftLabels):
        return rows
    total = target.proportions.sum(axis=1)
    weights = total if rows.weights is None else total * rows.weights
    whole = np.rint(weights)
    weights = np.where(np.abs(weights - whole) <= ROUNDING * whole, whole, weights)
    codes = target.proportions.argmax(axis=1).astype(np.int32)
    hashes = hashes_of_rows(rows, counter.schema, threads)
    plain = None if rows.weights is None and (weights == 1).all() else weights
    return replace(rows, target=Target(target.labels, codes, target.dtype), weights=plain, hashes=hashes)


def counted_blocks(counter: TableCounter, rows: Rows) -> Iterator[tuple[Frame, Codes, Floats | None]]:
    """Give rows in memory with the codes of their classes: soft labels for each class, weighted by its proportions."""
    frame, target = frame_of(rows.source), rows.target
    if not isinstance(target, SoftLabels):
        yield frame, counter.classes.codes(target.labels)[target.codes], rows.weights
        return
    for code, part in zip(counter.classes.codes(target.labels), target.proportions.T, strict=True):
        weights = part if rows.weights is None else part * rows.weights
        at = np.flatnonzero(weights)
        if len(at):
            some = frame if len(at) == frame.rows else frame.take(at)
            yield some, np.full(len(at), code, dtype=np.int32), np.ascontiguousarray(weights[at])
