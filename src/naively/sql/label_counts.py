"""Counts of labels by GROUP BY: what a query answers are rows with weights, counted as those of any table.

Several columns with few values share a query: it groups rows by all of them, which is one pass over the table in place
of several.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import pyarrow as pa

from .._types import Label
from ..counting.counter import TableCounter
from ..counting.files import MOST_LABELS
from ..data.column import Column
from ..data.frame import frame_of
from ..data.schema import Schema
from ..families import Bernoulli, Bins
from ..stats import Axis, Table
from .column_blocks import grouped_columns
from .database_rows import CLASS, COUNT, DatabaseRows, column_of, places_of
from .engine import IbisTable, fetched
from .number_sums import COLUMNS, FIRST_ROWS, in_parts

# Lines that an answer for several columns may have; of more, each column has a query of its own.
LINES = 1 << 12


def counted_labels(
    rows: DatabaseRows, axis: Axis, declared: Sequence[Label], named: Collection[str]
) -> tuple[dict[str, Table], list[str]]:
    """Return the table of each column of labels, and columns that have too many values to be counted.

    Columns that the user named are counted in any case.
    """
    columns = list(rows.schema.of_kind("labels"))
    found: dict[str, Table] = {}
    aside: list[str] = []
    for block in grouped_columns(_first_sizes(rows, columns), LINES // max(len(axis), 1)):
        several = [rows.schema[name] for name in block]
        answer = fetched(_labels_query(rows, several).limit(LINES + 1)) if len(block) > 1 else None
        if answer is not None and answer.num_rows <= LINES:
            found |= _tables_of(rows, several, answer, axis, declared)
            continue
        for column in several:
            if column.type == "text" and column.name not in named and _has_too_many(rows, column):
                aside.append(column.name)
            else:
                found |= _tables_of(rows, [column], fetched(_labels_query(rows, [column])), axis, declared)
    return found, aside


def _first_sizes(rows: DatabaseRows, columns: Sequence[Column]) -> dict[str, int]:
    """Return how many values each column has in the first rows, a missing one included."""
    found: dict[str, int] = {}
    for part in in_parts(columns, COLUMNS):
        values = {f"v{at}": rows.label(column) for at, column in enumerate(part)}
        first = rows.table.select(**values).limit(FIRST_ROWS)
        answer = fetched(first.aggregate(**{name: first[name].nunique() for name in values})).to_pylist()[0]
        found |= {column.name: int(answer[f"v{at}"]) + 1 for at, column in enumerate(part)}
    return found


def _labels_query(rows: DatabaseRows, columns: Sequence[Column]) -> IbisTable:
    """Return the query for how many rows there are of each class and each combination of labels."""
    aliases = {f"v{at}": rows.label(column) for at, column in enumerate(columns)}
    table = rows.selected(aliases)
    return table.group_by(CLASS, *aliases).aggregate(**{COUNT: rows.count_of(table)})


def _has_too_many(rows: DatabaseRows, column: Column) -> bool:
    """Return whether a column has too many values to be counted; they are looked for no further than that."""
    values = rows.selected({"v": rows.label(column)}).select("v").distinct().limit(MOST_LABELS + 1)
    return int(values.count().to_pyarrow().as_py()) > MOST_LABELS


def _tables_of(
    rows: DatabaseRows, columns: Sequence[Column], answer: pa.Table, axis: Axis, declared: Sequence[Label]
) -> dict[str, Table]:
    """Return the tables of some columns, given how many rows there are of each combination of their labels."""
    cells = {column.name: rows.labels_of(answer, f"v{at}", column) for at, column in enumerate(columns)}
    schema = Schema(tuple(as_answered(column) for column in columns))
    counter = TableCounter(schema, declared)
    codes = counter.classes.codes(axis.labels)
    y = codes[places_of(rows, answer, axis)]
    counter.add(frame_of(pa.table(cells)).on(schema), y, column_of(answer, COUNT), 1)
    return dict(counter.value().columns)


def as_answered(column: Column) -> Column:
    """Return a column as an answer holds it: times that are compared by their size come as numbers."""
    by_size = isinstance(column.family, Bins | Bernoulli) and column.type == "time"
    return replace(column, type="number") if by_size else column
