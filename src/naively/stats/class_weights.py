"""Counts weighed by class: as if every row of a class had been counted with the weight of its class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import singledispatch

import numpy as np

from .._types import Floats
from .arithmetic import on_axes
from .axis import Axis
from .counts import ColumnStatistic, Counts
from .moments import Moments
from .pairs import JointCounts
from .table import Table, Tables
from .word_table import WordTable

ClassWeights = Callable[[Axis], Floats]  # the weight of each class of an axis


def times_class_weights(counts: Counts, weights: Floats) -> Counts:
    """Return the counts with the rows of each class multiplied by its weight, given in the order of the classes."""

    def of(classes: Axis) -> Floats:
        return on_axes(weights, (counts.classes,), (classes,))

    columns = {name: times_weights(column, of) for name, column in counts.columns.items()}
    joint = None if counts.joint is None else times_weights(counts.joint, of)
    return Counts(counts.classes, counts.rows * weights, columns, counts.schema, joint)


@singledispatch
def times_weights(statistic: ColumnStatistic, of: ClassWeights) -> ColumnStatistic:
    """Return a statistic times the weight of each class; of gives the weights of an axis."""
    raise TypeError(f"Counts of the kind {type(statistic).__name__} cannot be weighed by class.")


@times_weights.register
def _(statistic: Table, of: ClassWeights) -> Table:
    return Table(statistic.classes, statistic.values, statistic.n * of(statistic.classes)[:, None])


@times_weights.register
def _(statistic: Tables, of: ClassWeights) -> Tables:
    return Tables(tuple(times_weights(table, of) for table in statistic.tables))


@times_weights.register
def _(statistic: WordTable, of: ClassWeights) -> WordTable:
    w = of(statistic.classes)[:, None]
    return WordTable(statistic.classes, statistic.lexicon, statistic.times * w, statistic.texts * w)


@times_weights.register
def _(statistic: Moments, of: ClassWeights) -> Moments:
    w = of(statistic.classes)[:, None]
    shift = np.where(w > 0, statistic.shift, 0.0)
    return Moments(
        statistic.classes, statistic.columns, statistic.n * w, shift, statistic.total * w, statistic.squares * w
    )


@times_weights.register
def _(statistic: JointCounts, of: ClassWeights) -> JointCounts:
    w = of(statistic.classes)
    return replace(statistic, fine=statistic.fine * w[:, None], products=statistic.products * w[:, None, None])
