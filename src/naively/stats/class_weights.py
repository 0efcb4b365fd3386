"""Counts weighed by class: as if every row of a class had been counted with the weight of its class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import singledispatch

import numpy as np

from .._types import Floats
from .arithmetic import spread
from .axis import Axis
from .counts import ColumnStatistic, Counts
from .moments import Moments
from .pairs import Joint
from .table import Table, Tables
from .word_table import WordTable

ClassWeights = Callable[[Axis], Floats]  # the weight of each class of an axis


def by_class(counts: Counts, weights: Floats) -> Counts:
    """Return the counts with the rows of each class multiplied by its weight, given in the order of the classes."""

    def of(classes: Axis) -> Floats:
        return spread(weights, (counts.classes,), (classes,))

    columns = {name: scaled(column, of) for name, column in counts.columns.items()}
    joint = None if counts.joint is None else scaled(counts.joint, of)
    return Counts(counts.classes, counts.rows * weights, columns, counts.schema, joint)


@singledispatch
def scaled(statistic: ColumnStatistic, of: ClassWeights) -> ColumnStatistic:
    """Return a statistic times the weight of each class; of gives the weights of an axis."""
    raise TypeError(f"Counts of the kind {type(statistic).__name__} cannot be weighed by class.")


@scaled.register
def _(statistic: Table, of: ClassWeights) -> Table:
    return Table(statistic.classes, statistic.values, statistic.n * of(statistic.classes)[:, None])


@scaled.register
def _(statistic: Tables, of: ClassWeights) -> Tables:
    return Tables(tuple(scaled(table, of) for table in statistic.tables))


@scaled.register
def _(statistic: WordTable, of: ClassWeights) -> WordTable:
    w = of(statistic.classes)[:, None]
    return WordTable(statistic.classes, statistic.lexicon, statistic.times * w, statistic.texts * w)


@scaled.register
def _(statistic: Moments, of: ClassWeights) -> Moments:
    w = of(statistic.classes)[:, None]
    shift = np.where(w > 0, statistic.shift, 0.0)
    return Moments(
        statistic.classes, statistic.columns, statistic.n * w, shift, statistic.total * w, statistic.squares * w
    )


@scaled.register
def _(statistic: Joint, of: ClassWeights) -> Joint:
    w = of(statistic.classes)
    return replace(statistic, fine=statistic.fine * w[:, None], products=statistic.products * w[:, None, None])
