"""The rows that weights and coefficients are fitted on, dealt out to folds, and the classes of each.

A row with a soft label is one observation. It is left out of the counts of all its classes at once, and its loss is the
cross-entropy with its proportions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..._types import Bytes, Codes, Floats, Longs, Mask, Places, Singles
from ...data.grid import Cells
from ...stats.accumulators import offsets_of

if TYPE_CHECKING:
    from .normal import NormalScores
    from .terms import Term
    from .values import ValueLayout


@dataclass(frozen=True, eq=False)
class SoftRows:
    """Those of some rows that belong to several classes: which they are, and their proportions, [class, row]."""

    at: Places
    proportions: Floats

    @classmethod
    def of(cls, proportions: Floats) -> SoftRows | None:
        """Return the rows of several classes, given the proportions [class, row] of all; None if there are none."""
        at = np.flatnonzero((proportions > 0).sum(axis=0) > 1)
        return cls(at, np.ascontiguousarray(proportions[:, at])) if len(at) else None

    def some(self, rows: Places, total: int) -> SoftRows | None:
        """Return those among some of all rows, which are so many."""
        place = np.full(total, -1, dtype=np.intp)
        place[self.at] = np.arange(len(self.at))
        found = place[rows]
        at = np.flatnonzero(found >= 0)
        return SoftRows(at, self.proportions[:, found[at]]) if len(at) else None

    def known(self, mask: Mask) -> SoftRows:
        """Return those of which a mask over all rows is true."""
        there = mask[self.at]
        return self if there.all() else SoftRows(self.at[there], self.proportions[:, there])

    def of_all(self, y: Codes) -> Floats:
        """Return the proportions of all rows, [row, class], given the class of those that have one."""
        out = np.zeros((len(y), len(self.proportions)))
        out[np.arange(len(y)), y] = 1.0
        out[self.at] = self.proportions.T
        return out


@dataclass(frozen=True, eq=False)
class RowClasses:
    """What rows are compared with: the class of each, and the proportions of those that have several."""

    y: Codes
    soft: SoftRows | None = None

    @cached_property
    def own(self) -> Places:
        """Where the class of each row lies in an array [class, row], flattened."""
        return self.y * np.intp(len(self.y)) + np.arange(len(self.y))

    def mean_of(self, values: Floats) -> Floats:
        """Return the value [class, row] of each row's class; of a soft label, the mean by its proportions."""
        found = values.reshape(-1).take(self.own)
        if self.soft is not None:
            found[self.soft.at] = (self.soft.proportions * values[:, self.soft.at]).sum(axis=0)
        return found

    def add_to(self, values: Floats | Singles, weights: Floats | Singles) -> None:
        """Add the weight of each row to the value [class, row] of its class, or to all of them by proportion."""
        alone = weights
        if self.soft is not None:
            alone = weights.copy()
            alone[self.soft.at] = 0.0
            values[:, self.soft.at] += (self.soft.proportions * weights[self.soft.at]).astype(values.dtype)
        values[self.y, np.arange(len(self.y))] += alone

    def agreement(self, predicted: Places) -> Floats:
        """Return 1 where the predicted class is that of the row, else 0; of a soft label, its proportion."""
        found = np.asarray(predicted == self.y, dtype=np.float64)
        if self.soft is not None:
            found[self.soft.at] = self.soft.proportions[predicted[self.soft.at], np.arange(len(self.soft.at))]
        return found


@dataclass(frozen=True, eq=False)
class FittingRows:
    """Rows that were counted, as they are scored; the rows of each fold lie next to each other."""

    labels: Codes  # [row, column of labels]: places among all labels of the column, -1 if missing
    cells: Cells
    y: Codes
    weights: Floats  # as the rows were counted
    wide: Mapping[Term, Floats]  # terms of texts and vectors, each row left out of the counts, [class, row]
    folds: tuple[slice, ...] = ()
    soft: SoftRows | None = None  # the rows of several classes, if there are some
    copies: bool = True  # whether a weight of 2 stands for two rows
    idle: Mask | None = None  # rows on which nothing is fitted

    def __len__(self) -> int:
        return len(self.y)

    @cached_property
    def truth(self) -> RowClasses:
        """The classes that scores are compared with."""
        return RowClasses(self.y, self.soft)

    @cached_property
    def effective(self) -> Floats:
        """What each row weighs while weights of terms are fitted."""
        found = effective_weights(self.weights, self.copies)
        return found if self.idle is None else np.where(self.idle, 0.0, found)

    @cached_property
    def entries(self) -> tuple[Longs, Codes, Floats]:
        """Where the classes begin that each row was counted in, these classes, and the weight in each."""
        if self.soft is None:
            return np.arange(len(self) + 1), np.ascontiguousarray(self.y), np.ascontiguousarray(self.weights)
        proportions = self.soft.of_all(self.y)
        rows, classes = np.nonzero(proportions)
        starts = offsets_of(np.bincount(rows, minlength=len(self)))
        return starts, classes.astype(np.int32), self.weights[rows] * proportions[rows, classes]

    def along(self, scores: NormalScores) -> tuple[Floats, Bytes | None]:
        """Return the rows as the linear and the quadratic term read them; they are laid out once."""
        if (found := self._along.get("along")) is None:
            found = self._along["along"] = scores.rows(self.cells)
        return found

    def value_cells(self, layout: ValueLayout) -> Codes:
        """Return the cells of the rows in the terms of values, [term, row]; they are laid out once."""
        if (found := self._value_cells.get("cells")) is None:
            found = self._value_cells["cells"] = layout.cells_of(self)
        return found

    @cached_property
    def _along(self) -> dict[str, tuple[Floats, Bytes | None]]:
        return {}

    @cached_property
    def _value_cells(self) -> dict[str, Codes]:
        return {}

    def take(self, rows: slice | Places) -> FittingRows:
        """Return some of the rows, without their folds."""
        places = np.arange(len(self))[rows] if isinstance(rows, slice) else rows
        some = FittingRows(
            self.labels[rows],
            self.cells.take(rows),
            self.y[rows],
            self.weights[rows],
            {term: values[:, rows] for term, values in self.wide.items()},
            soft=None if self.soft is None else self.soft.some(places, len(self)),
            copies=self.copies,
        )
        vars(some)["effective"] = self.effective[rows]  # what they weigh among all, not among themselves
        return some


def effective_weights(weights: Floats, copies: bool = True) -> Floats:
    """Return the weights of rows while weights of terms are fitted: copies of a row count no less than the rows.

    The ridges are measured in rows. Rows whose weights sum to 1 would leave the weights of terms where they started;
    rows whose weights differ are worth as many as their effective number, (Σw)² / Σw².
    """
    by = max(1.0, len(weights) / weights.sum()) if copies else weights.sum() / float((weights * weights).sum())
    return np.asarray(weights * by)


def deal_out(y: Codes, folds: int) -> tuple[Places, tuple[slice, ...]]:
    """Return an order of rows in which each fold is one slice, with its share of every class."""
    rank = np.empty(len(y), dtype=np.int64)
    rank[np.argsort(y, kind="stable")] = np.arange(len(y))
    fold = rank % min(folds, len(y))
    starts: Longs = offsets_of(np.bincount(fold))
    bounds = zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    return np.argsort(fold, kind="stable"), tuple(slice(begin, end) for begin, end in bounds)
