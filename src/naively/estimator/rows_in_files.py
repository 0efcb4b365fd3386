"""Rows that a model keeps, as a file holds them, and back; and how many they are, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from .._types import Label
from ..counting.rows import Rows, check_widths
from ..counting.sample import Sample
from ..data.model_file import StoredRows, rows_of_bytes
from ..data.schema import Schema
from ..data.values import ColumnValues
from ..errors import InvalidSetting
from ..errors.message import Setting
from ..stats import Counts
from .fitted_classifier import FittedClassifier
from .settings import Parameters
from .state import NumberInformation


@dataclass(frozen=True)
class KeptRowCount:
    """How many rows a model keeps beside its counts, to fit anew what was chosen on top of them.

    Parameters
    ----------
    rows : int
        Rows that are kept; those of the same content count one by one.
    complete : bool
        Whether these are all rows that were counted.
    nbytes : int
        How many bytes of memory their cells take.
    counted : float or None
        How many rows were counted; None if they have weights, so that their number is not known.
    """

    rows: int
    complete: bool
    nbytes: int
    counted: float | None

    def __str__(self) -> str:
        if not self.rows:
            return "no row"
        if self.complete:
            return "1 row, as it is" if self.rows == 1 else f"all {self.rows:,} rows, as they are"
        if self.counted is None:
            return f"{self.rows:,} of the rows, as they are"
        return f"{self.rows:,} of {self.counted:,.0f} rows, as they are"


def kept_row_count(fitted: FittedClassifier) -> KeptRowCount:
    """Return how many rows a model keeps."""
    state, kept = fitted.state, fitted.state.kept
    faded = kept is not None and kept.held is not None and kept.held.weights is not None
    weighted = faded or state.row_weights is not None or state.class_weights is not None
    counted = None if weighted else float(fitted.counts.rows.sum())
    if kept is None:
        return KeptRowCount(0, False, 0, counted)
    return KeptRowCount(kept.total, kept.complete, kept.nbytes, counted)


def without_kept_rows(fitted: FittedClassifier) -> FittedClassifier:
    """Return the model without the rows that it keeps: counts and weights stay."""
    state = fitted.state
    measured = None if state.information is None else NumberInformation(measured=state.information.measured)
    return FittedClassifier(fitted.parameters, replace(state, kept=None, information=measured))


def refuse_without_rows(fitted: FittedClassifier) -> None:
    """Refuse to write rows of a model that keeps none."""
    refuse_rows_of_textbook(fitted.parameters)
    if fitted.state.kept is None:
        raise InvalidSetting(
            Setting("rows", True),
            ": the model keeps no row, or some of its rows were not kept. It was read from a file without rows, made "
            "of counts, or its rows were dropped; leave it out, or fit the model anew to all rows.",
        )


def refuse_rows_of_textbook(parameters: Parameters) -> None:
    """Refuse to write rows of a model that needs none."""
    if not parameters.leaves_choices:
        raise InvalidSetting(
            Setting("rows", True),
            ": the textbook model needs no row, because its counts alone merge and forget exactly; leave it out.",
        )


# -- to a file and back ------------------------------------------------------------------------------------------------


def rows_for_file(kept: Sample) -> StoredRows | None:
    """Return what is kept as a file holds it; None if nothing is."""
    kept = kept.together()
    held = kept.held
    if held is None:
        return None
    hashes = held.hashes if kept.ordered else None
    if hashes is not None and np.array_equal(hashes, replace(held, hashes=None).hashed(kept.schema, 1)):
        hashes = None  # they follow from the rows
    return StoredRows(held.source, held.target, held.weights, held.called, kept.copies, hashes, kept.limit)


def rows_of_part(data: bytes, schema: Schema, counts: Counts, class_weights: Mapping[Label, float] | None) -> Sample:
    """Return the rows that a file holds, if they can be rows of these counts."""
    stored = rows_of_bytes(data)
    bare = replace(schema, hints=())
    if stored.frame.names != bare.names:
        raise ValueError("rows have other columns than were counted")
    frame = stored.frame.on(bare)
    for column in bare:
        if isinstance(values := frame.columns[column.name], ColumnValues):
            values.check(column)
    check_widths(frame, bare, counts)
    held = Rows(frame, stored.target, stored.weights, stored.called, hashes=stored.hashes)
    _check_totals(stored, counts, class_weights)
    kept = Sample(bare, held, stored.copies, stored.limit, ordered=stored.hashes is not None)
    if stored.limit is None and stored.hashes is None:
        return kept
    kept = kept.in_order()
    assert kept.held is not None
    hashes = kept.held.hashed(bare, 1)
    if kept.limit is not None and len(hashes) and hashes[-1] > kept.limit:
        raise ValueError("a row is kept that was to be dropped")
    falls, stands = hashes[1:] < hashes[:-1], hashes[1:] == hashes[:-1]
    if falls.any() or (kept.limit is not None and (kept.copies is None or stands.any())):
        raise ValueError("rows that are kept stand twice, or not in their order")
    return kept


def _check_totals(stored: StoredRows, counts: Counts, class_weights: Mapping[Label, float] | None) -> None:
    """Refuse rows that are more than were counted, or, if all are kept, fewer."""
    target, labels = stored.target, stored.target.labels
    weights = np.ones(stored.frame.rows) if stored.weights is None else stored.weights
    weights = weights if stored.copies is None else weights * stored.copies
    totals = target.totals(weights)
    if class_weights is not None:
        totals = totals * np.array([class_weights.get(label, 1.0) for label in labels])
    counted = dict(zip(counts.classes.labels, counts.rows.tolist(), strict=True))
    known = np.array([counted.get(label, 0.0) for label in labels])
    near = 1e-6 * np.maximum(known, 1.0)
    if (totals > known + near).any() or (stored.limit is None and abs(totals.sum() - counts.rows.sum()) > near.sum()):
        raise ValueError("rows are not those that were counted")
