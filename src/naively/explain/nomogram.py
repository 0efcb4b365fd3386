"""The axes of a nomogram: the log-odds of one row if a single cell were another, all others held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import copysign, inf, log
from typing import Protocol

import numpy as np

from .._types import Label, TableLike
from ..data.column import Column
from ..data.dict_rows import is_one_row
from ..errors import InvalidInput
from ..families import Bins
from ..markup.numbers import number_text
from ..model.protocols import FittedModel
from ..stats import Counts
from ..stats.arithmetic import commonest
from .column_distributions import BinnedDistribution, NormalDistribution, ValueDistribution, column_distribution
from .evidence import Evidence

# Values of labels and of numbers that have a mark on their axis.
MARKED_LABELS, MARKED_NUMBERS = 12, 9


class FittedPart(Protocol):
    """The `fitted_` of a classifier."""

    @property
    def model(self) -> FittedModel:
        """The model."""

    @property
    def all_counts(self) -> Counts:
        """What it was estimated from."""


class ExplainsRows(Protocol):
    """A fitted `NaiveBayes`."""

    @property
    def fitted_(self) -> FittedPart:
        """Settings and state as one value."""

    def explain(self, X: TableLike, against: Label | None = None) -> Evidence:
        """Return the contributions of columns to rows."""


@dataclass(frozen=True)
class NomogramMark:
    """A value on an axis: how it is written, the log-odds with it, and whether it is the row's own."""

    column: str
    value: str
    log_odds: float
    own: bool


@dataclass(frozen=True)
class NomogramAxes:
    """The classes that are compared, the row's own log-odds, and the marks of all axes, the widest axis first."""

    label: Label
    against: Label
    log_odds: float
    marks: list[NomogramMark]
    classes: int
    floor: tuple[float, float]  # the least probability of the class, and the sum of those of all classes

    def log_odds_of(self, probability: float) -> float:
        """Return the log-odds at which the class has a probability, where there are two; infinite beyond the floor."""
        own, every = self.floor
        share = (probability - own) / (1 - every)
        return copysign(inf, share - 0.5) if not 0 < share < 1 else log(share / (1 - share))


def nomogram_axes(nb: ExplainsRows, row: TableLike, label: Label, against: Label) -> NomogramAxes:
    """Return the axes of one row, which is a dict of its cells.

    Every mark is the answer of the model itself, pairs of columns and all, so that it holds for any model.
    """
    if not (isinstance(row, Mapping) and is_one_row(row)):
        raise InvalidInput("Give one row as a dict such as {'age': 28, 'sex': 'male'}.")
    first = nb.explain(row, against)
    k = int(first.answer[0]) if label is None else _place(first, label)
    other = int(first.against[0]) if against is None else _place(first, against)
    if k == other:
        other = int(np.argmax(np.where(np.arange(len(first.classes)) == k, -np.inf, first.probabilities[0])))
    cells = _cells_to_try(nb, row)
    tried = nb.explain([{**row, name: value} for name, value, _ in cells]) if cells else None
    joint = np.zeros((0, len(first.classes))) if tried is None else tried.log_joint
    odds = joint[:, k] - joint[:, other]
    total = float(first.log_joint[0, k] - first.log_joint[0, other])
    held = {name: first.texts(name)[0] for name, _, _ in cells}
    own = [NomogramMark(name, shown, total, True) for name, shown in held.items()]
    marks = [
        NomogramMark(name, shown, float(lead), False)
        for (name, _, shown), lead in zip(cells, odds.tolist(), strict=True)
        if np.isfinite(lead) and shown != held[name]
    ]
    widest = _by_width([*marks, *own])
    floor = (0.0, 0.0) if first.floor is None else (float(first.floor[k]), float(first.floor.sum()))
    return NomogramAxes(first.classes[k], first.classes[other], total, widest, len(first.classes), floor)


def _place(evidence: Evidence, label: Label) -> int:
    if label not in evidence.classes:
        raise InvalidInput(
            f"{label!r} is no class; the classes are {list(evidence.classes)}.", classes=list(evidence.classes)
        )
    return evidence.classes.index(label)


def _cells_to_try(nb: ExplainsRows, row: Mapping[str, Label]) -> list[tuple[str, Label, str]]:
    """Return column, value and its text for each mark: the commonest labels, and round numbers over the range."""
    model, counts = nb.fitted_.model, nb.fitted_.all_counts
    cells: list[tuple[str, Label, str]] = []
    for column in model.schema:
        name = column.name
        if name in model.label_tables and column.kind == "labels" and not isinstance(column.family, Bins):
            table = model.label_tables[name]
            labels = [table.values.labels[at] for at in commonest(table.n.sum(axis=0), MARKED_LABELS).tolist()]
            cells += [(name, value, str(value)) for value in labels if value is not None]
        elif column.type != "time" and name in row:
            numbers = round_numbers(*_range_of(model, counts, column))
            whole = column.type == "whole"
            cells += [(name, x, number_text(x)) for x in numbers if x.is_integer() or not whole]
    return cells


def _range_of(model: FittedModel, counts: Counts, column: Column) -> tuple[float, float]:
    """Return where the numbers of a column lie; an empty range for vectors and texts."""
    if isinstance(column.family, Bins):
        cuts = column.family.cuts or ()
        return (2 * cuts[0] - cuts[1], 2 * cuts[-1] - cuts[-2]) if len(cuts) > 1 else (0.0, 0.0)
    found = column_distribution(model, counts, column.name)
    if isinstance(found, BinnedDistribution):
        return found.low, found.high
    if isinstance(found, ValueDistribution) and found.numbers:
        return found.numbers[0], found.numbers[-1]
    return (found.points[0], found.points[-1]) if isinstance(found, NormalDistribution) else (0.0, 0.0)


def round_numbers(low: float, high: float) -> list[float]:
    """Return some round numbers between two; none if the range is empty.

    >>> round_numbers(17.2, 58.0)
    [20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0, 55.0]
    """
    if not high > low:
        return []
    rough = (high - low) / MARKED_NUMBERS
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= rough * (1 - 1e-9))
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    return [float(f"{at * step:.10g}") + 0.0 for at in np.arange(first, last + 1)]


def _by_width(marks: list[NomogramMark]) -> list[NomogramMark]:
    """Return the marks, those of the widest axis first."""
    odds: dict[str, list[float]] = {}
    for mark in marks:
        odds.setdefault(mark.column, []).append(mark.log_odds)
    order = sorted(odds, key=lambda name: min(odds[name]) - max(odds[name]))
    return sorted(marks, key=lambda mark: order.index(mark.column))
