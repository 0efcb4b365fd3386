"""Columns without any value in one model have the type that they have in another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..data.column import Column, same_kind
from ..stats import Moments, Table
from ..stats.counts import ColumnStatistic
from .fitted_classifier import FittedClassifier
from .refresh import recounted


def with_types_of_others(models: Sequence[FittedClassifier]) -> list[FittedClassifier]:
    """Return models whose columns without any value have the types of other models, where all their rows are kept.

    A column of missing values alone says nothing of its type: data frames call it one of numbers, or of objects.
    """
    types: dict[str, Column] = {}
    for model in models:
        for column in model.schema:
            if not is_without_values(model.counts.columns.get(column.name)):
                types.setdefault(column.name, column)
    return [_with_types(model, types) for model in models]


def is_without_values(statistic: ColumnStatistic) -> bool:
    """Tell whether a column was counted in which every cell is missing."""
    if isinstance(statistic, Moments):
        return not statistic.n.any()
    return isinstance(statistic, Table) and all(label is None for label in statistic.values.labels)


def _with_types(model: FittedClassifier, types: dict[str, Column]) -> FittedClassifier:
    """Return a model with other types of columns that have no value, if all its rows are kept."""
    kept, schema, counted = model.state.all_kept, model.schema, model.counts.columns
    changed = {
        column.name: types[column.name]
        for column in schema
        if column.name in types
        and not same_kind(types[column.name].type, column.type)
        and is_without_values(counted.get(column.name))
    }
    if not changed or kept is None or not kept.complete:
        return model
    columns = tuple(changed.get(column.name, column) for column in schema)
    bare = replace(schema, columns=columns, grid=None, hints=())
    state = replace(model.state, kept=kept.with_columns_of(bare, changed), schema=bare)
    return FittedClassifier(model.parameters, recounted(model.parameters, state))
