"""Columns of which no row of a model had a value take the type that they have in other models, or in rows that come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace

from .._types import TableLike
from ..counting.counter import TableCounter
from ..data.column import Column
from ..data.frame import Frame, frame_of
from ..data.schema import Schema
from ..data.values import ColumnValues
from ..files.file import File
from ..stats.counts import counted_as, is_without_values
from .fitted_classifier import FittedClassifier
from .live_counts import LiveCounts
from .state import FittedState
from .update import recounted


def with_types_of_others(models: Sequence[FittedClassifier]) -> list[FittedClassifier]:
    """Return models whose columns without any value have the types of other models.

    A column of missing values alone says nothing of its type: data frames call it one of numbers, or of objects.
    """
    types: dict[str, Column] = {}
    for model in models:
        for column in model.schema:
            if not is_without_values(model.counts.columns.get(column.name)):
                types.setdefault(column.name, column)
    for column in models[0].schema:
        types.setdefault(column.name, column)
    return [_with_types(model, types) for model in models]


def with_types_of_rows(fitted: FittedClassifier, X: TableLike | File) -> FittedClassifier:
    """Return a model whose empty columns have the types that they have in rows that are to be counted."""
    names = fitted.schema.empty
    if not names:
        return fitted
    if isinstance(X, File):
        schema = X.schema(apart=[name for name in X.columns() if name not in names])
        return _with_types(fitted, {column.name: column for column in schema})
    frame = frame_of(X).aligned(fitted.schema)
    some = {name: v for name in names if not (isinstance(v := frame.columns[name], ColumnValues) and v.empty)}
    schema = Frame(some, frame.rows, named=frame.named).schema()
    return _with_types(fitted, {column.name: column for column in schema})


def without_types(state: FittedState, names: Sequence[str]) -> FittedState:
    """Return the state, those of some columns empty that have no value yet."""
    counted = state.counts.counter.without_values()
    names = [name for name in names if name in counted and state.schema[name].type != "empty"]
    if not names:
        return state
    schema, counter = state.schema.without_types(names), copy(state.counts.counter)
    counter.schema = counter.schema.without_types(names)
    kept = None if state.kept is None else state.kept.read_as(state.kept.schema.without_types(names))
    return replace(state, schema=schema, counts=LiveCounts(schema, counter=counter), kept=kept)


def _with_types(model: FittedClassifier, types: Mapping[str, Column]) -> FittedClassifier:
    """Return a model with other types of columns that have no value."""
    schema, counted = model.schema, model.counts.columns
    changed = {
        column.name: types[column.name]
        for column in schema
        if column.name in types
        and (types[column.name].type, types[column.name].kind) != (column.type, column.kind)
        and is_without_values(counted.get(column.name))
    }
    if not changed:
        return model
    kept, columns = model.state.kept, tuple(changed.get(column.name, column) for column in schema)
    bare = replace(schema, columns=columns, hints=())
    if kept is not None and kept.complete:
        state = replace(model.state, kept=kept.with_columns_of(bare, changed), schema=bare)
        return FittedClassifier(model.parameters, recounted(model.parameters, state))
    return FittedClassifier(model.parameters, _counted_as(model.state, replace(schema, columns=columns), changed))


def _counted_as(state: FittedState, schema: Schema, changed: Mapping[str, Column]) -> FittedState:
    """Return the state with the same counts, some columns without any value counted as a schema has them."""
    nothing = TableCounter(Schema(tuple(changed.values()))).value().columns
    counts = LiveCounts(schema, value=counted_as(state.counts.value, nothing, schema))
    kept = None if state.kept is None else replace(state.kept, schema=state.kept.schema.typed_as(schema, changed))
    return replace(state, schema=schema, counts=counts, kept=kept)
