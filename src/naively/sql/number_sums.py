"""Moments of numbers by sums in the database: of x - s and of its square, for a literal s near the mean.

Sums of x and of x² would lose all digits where the mean is large, and the variances of databases lose some. The shift s
is the mean of a few rows. Where the numbers of a class turn out to lie far from it, they are summed once more, from the
mean of that class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import compress
from typing import TypeVar

import numpy as np
import pyarrow as pa

from .._types import Floats, Label, Mask
from ..data.column import Column
from ..errors import InvalidInput, NumberTooLarge
from ..families import Bins, Poisson
from ..families.poisson import NEVER_NEGATIVE
from ..stats import Axis, Moments
from ..stats.arithmetic import divide
from .database_rows import CLASS, COUNT, WEIGHT, ClassRows, DatabaseRows, checked_class_rows, column_of, places_of
from .engine import IbisTable, IbisValue, fetched, ibis_module
from .expressions import exact_literal

Item = TypeVar("Item")

# Columns of numbers in one query: databases have limits of some 1,600 expressions for each.
COLUMNS = 100
# The same where classes are distinguished by name, and how many of those.
FAR_COLUMNS, FAR_CLASSES = 20, 50
# Rows that shifts are found from.
FIRST_ROWS = 4_096
# Sums of a class are made anew where its mean lies so far from the shift that the variance would lose digits: where the
# square of that distance is more than so many variances. Of many numbers the sums themselves lose some more, so that
# the second constant, divided by the root of their number, is added.
FAR, FAR_OF_FEW = 16.0, 1000.0


def first_shifts(rows: DatabaseRows, columns: Sequence[Column]) -> dict[str, float]:
    """Return the mean of the first rows of each column of numbers; 0 where they hold none."""
    found: dict[str, float] = {}
    for part in in_parts(columns, COLUMNS):
        values = {f"x{at}": rows.number(column.name) for at, column in enumerate(part)}
        first = rows.table.select(**values).limit(FIRST_ROWS)
        answer = fetched(first.aggregate(**{name: first[name].mean() for name in values})).to_pylist()[0]
        found |= {column.name: float(answer[f"x{at}"] or 0.0) for at, column in enumerate(part)}
    return found


def summed_numbers(
    rows: DatabaseRows, unlabelled: str, declared: Sequence[Label]
) -> tuple[ClassRows, dict[str, Moments]]:
    """Return the rows of each class, and the moments of all columns of numbers."""
    columns = list(rows.schema.of_kind("numbers"))
    binned = [column for column in rows.schema if isinstance(column.family, Bins)]
    shifts = first_shifts(rows, columns)
    parts = in_parts([*columns, *binned], COLUMNS) or [[]]
    answers = [_answered_sums(rows, part, shifts) for part in parts]
    classes = checked_class_rows(rows, answers[0], unlabelled, declared)
    moments: dict[str, Moments] = {}
    for part, answer in zip(parts, answers, strict=True):
        _check_events(answer, part)
        moments |= _moments_of(
            rows, answer, [column for column in part if column.kind == "numbers"], shifts, classes.axis
        )
    return classes, moments | _far_moments(rows, columns, moments)


def class_rows_query(rows: DatabaseRows) -> IbisTable:
    """Return the query for the rows of each class alone."""
    return _sums_query(rows, (), {}, ())


def _answered_sums(rows: DatabaseRows, part: Sequence[Column], shifts: Mapping[str, float]) -> pa.Table:
    """Return the rows of each class, and the sums of some columns, if all their numbers can be counted.

    To look at each number before it is summed takes as long as to sum it, so that is done if a sum is not finite.
    """
    columns = [column for column in part if column.kind == "numbers"]
    looked_at = [column for column in part if column.kind != "numbers" or column.type == "time"]
    answer = None
    with suppress(Exception):  # such as an overflow, of which every database has its own
        answer = fetched(_sums_query(rows, columns, shifts, looked_at))
    if answer is not None and _is_countable(answer):
        return _with_checked_numbers(rows, answer, looked_at)
    return _with_checked_numbers(rows, fetched(_sums_query(rows, columns, shifts, part)), part)


def _sums_query(
    rows: DatabaseRows, columns: Sequence[Column], shifts: Mapping[str, float], looked_at: Sequence[Column]
) -> IbisTable:
    """Return the query for the rows of each class, and the sums of some columns.

    Of columns that are looked at, numbers that cannot be summed are left out and counted.
    """
    weight = {} if rows.weight is None else {WEIGHT: rows.weight_cell}
    summed = {f"x{at}": rows.table[column.name] for at, column in enumerate(columns)}
    cells = {f"c{at}": rows.table[column.name] for at, column in enumerate(looked_at)}
    numbers = {f"f{at}": rows.number(column.name) for at, column in enumerate(looked_at)}
    table = rows.table.select(**{CLASS: rows.class_cell}, **weight, **summed, **cells, **numbers)
    found = {"rows": table.count(), COUNT: rows.count_of(table)}
    if rows.weight is not None:
        found["weighed_wrongly"] = table.count() - table[WEIGHT].count()
    for at in range(len(looked_at)):
        found[f"refused{at}"] = table[f"c{at}"].count() - table[f"f{at}"].count()
    for at, column in enumerate(columns):
        if column in looked_at:
            number = table[f"f{looked_at.index(column)}"]
        else:
            number = table[f"x{at}"].cast("float64")
            if rows.engine == "sqlite":  # where any column may hold texts
                found[f"texts{at}"] = table[f"x{at}"].typeof().isin(["text", "blob"]).sum()
        if isinstance(column.family, Poisson):
            found[f"least{at}"] = number.min()
        found |= _sums(rows, table, number - exact_literal(shifts[column.name]), at)
    return table.group_by(CLASS).aggregate(**found)


def _is_countable(answer: pa.Table) -> bool:
    """Return whether all sums of an answer are finite, and none is of texts."""
    sums = [field.name for field in answer.schema if field.name != CLASS and pa.types.is_floating(field.type)]
    texts = [name for name in answer.column_names if name.startswith("texts")]
    finite = all(np.isfinite(column_of(answer, name)).all() for name in sums)
    return finite and not any(column_of(answer, name).any() for name in texts)


def _sums(rows: DatabaseRows, table: IbisTable, gap: IbisValue, at: int) -> dict[str, IbisValue]:
    """Return what is summed of a column, given how far its numbers lie from the shift."""
    if rows.weight is None:
        return {f"n{at}": gap.count(), f"total{at}": gap.sum(), f"squares{at}": (gap * gap).sum()}
    weight = table[WEIGHT]
    known = ibis_module().ifelse(gap.isnull(), None, weight)
    return {f"n{at}": known.sum(), f"total{at}": (weight * gap).sum(), f"squares{at}": (weight * gap * gap).sum()}


def _moments_of(
    rows: DatabaseRows, answer: pa.Table, columns: Sequence[Column], shifts: Mapping[str, float], axis: Axis
) -> dict[str, Moments]:
    """Return the moments of some columns, given their sums in each class."""
    place, found = places_of(rows, answer, axis), {}
    there = place >= 0
    for at, column in enumerate(columns):
        n, total, squares = sums = np.zeros((3, len(axis)))
        for line, name in zip(sums, (f"n{at}", f"total{at}", f"squares{at}"), strict=True):
            line[place[there]] = column_of(answer, name)[there]
        shift = np.where(n > 0, shifts[column.name], 0.0)
        if rows.weight is None:  # a single number is its own mean
            shift, total, squares = (
                np.where(n == 1, a, b) for a, b in ((shift + total, shift), (0, total), (0, squares))
            )
        found[column.name] = _moments(column.name, axis, n, shift, total, squares)
    return found


def _moments(name: str, axis: Axis, *parts: Floats) -> Moments:
    """Return the moments of one column."""
    return Moments(axis, Axis.declared([name]), *(part[:, None] for part in parts))


# -- classes far from the shift --------------------------------------------------------------------------------------


def _far_moments(rows: DatabaseRows, columns: Sequence[Column], moments: Mapping[str, Moments]) -> dict[str, Moments]:
    """Return the moments of columns that lie far from their shift in some classes, summed anew there."""
    found: dict[str, Moments] = {}
    for part in in_parts([column for column in columns if _is_far(moments[column.name]).any()], FAR_COLUMNS):
        known = {column.name: moments[column.name] for column in part}
        labels = dict.fromkeys(label for one in known.values() for label in _far_means(one))
        for some in in_parts(list(labels), FAR_CLASSES):
            answer = fetched(_far_query(rows, known, some))
            known = {name: _with_far_sums(rows, answer, at, one) for at, (name, one) in enumerate(known.items())}
        found |= known
    return found


def _is_far(moments: Moments) -> Mask:
    """Return the classes whose mean lies far from the shift, as their numbers are spread."""
    gap = divide(moments.total, moments.n)
    most = FAR + FAR_OF_FEW / np.sqrt(np.maximum(moments.n, 1.0))
    return np.asarray((moments.n > 0) & (gap != 0) & (gap * gap > most * moments.variance))[:, 0]


def _far_means(moments: Moments) -> dict[Label, float]:
    """Return the means of the classes that lie far from the shift."""
    means = zip(moments.classes.labels, moments.mean[:, 0].tolist(), strict=True)
    return dict(compress(means, _is_far(moments).tolist()))


def _far_query(rows: DatabaseRows, moments: Mapping[str, Moments], labels: Sequence[Label]) -> IbisTable:
    """Return the query for the sums of some columns in some classes, from the mean of each class."""
    table = rows.selected({f"x{at}": rows.number(name) for at, name in enumerate(moments)})
    known = {label: rows.class_literal(label) for label in labels}
    table = table.filter(table[CLASS].isin(list(known.values())))
    found: dict[str, IbisValue] = {}
    for at, one in enumerate(moments.values()):
        means = {label: exact_literal(mean) for label, mean in _far_means(one).items() if label in known}
        if means:
            shift = table[CLASS].cases(*((known[label], mean) for label, mean in means.items()))
            found |= _sums(rows, table, table[f"x{at}"] - shift, at)
    return table.group_by(CLASS).aggregate(**found)


def _with_far_sums(rows: DatabaseRows, answer: pa.Table, at: int, moments: Moments) -> Moments:
    """Return moments with the sums of an answer, measured from the mean of each class, where it lay far away."""
    if f"total{at}" not in answer.column_names:
        return moments
    place = places_of(rows, answer, moments.classes)
    there = np.flatnonzero(place >= 0)
    there = there[_is_far(moments)[place[there]]]
    shift, total, squares = (part[:, 0].copy() for part in (moments.mean, moments.total, moments.squares))
    shift = np.where(np.isin(np.arange(len(shift)), place[there]), shift, moments.shift[:, 0])
    for line, name in ((total, f"total{at}"), (squares, f"squares{at}")):
        line[place[there]] = column_of(answer, name)[there]
    return _moments(str(moments.columns.labels[0]), moments.classes, moments.n[:, 0], shift, total, squares)


# -- numbers that cannot be counted ----------------------------------------------------------------------------------


def _with_checked_numbers(rows: DatabaseRows, answer: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """Return an answer if it leaves out no infinite or too large numbers, nor texts; NaN is a missing value."""
    for at, column in enumerate(columns):
        if column_of(answer, f"refused{at}").any():
            _refuse_numbers(rows, column)
    return answer


def _check_events(answer: pa.Table, columns: Sequence[Column]) -> None:
    """Refuse numbers of events below zero."""
    for at, column in enumerate(columns):
        least = float(column_of(answer, f"least{at}").min()) if isinstance(column.family, Poisson) else 0.0
        if least < 0:
            raise InvalidInput(
                f"Column {column.name!r} holds {least:g}; ", NEVER_NEGATIVE, column=column.name, value=least
            )


def _refuse_numbers(rows: DatabaseRows, column: Column) -> None:
    """Say which cell of a column cannot be counted, unless all of them are NaN."""
    cell, number = rows.table[column.name], rows.number(column.name)
    table = rows.table.select(cell=cell.cast("string"), there=cell.notnull(), number=number)
    table = table.filter(table["there"] & table["number"].isnull())
    wrong = fetched(table.group_by("cell").aggregate(n=table.count()).limit(2)).column("cell").to_pylist()
    for text in wrong:
        value = as_number(text)
        if value is None:
            what = "time" if column.type == "time" else "number"
            raise InvalidInput(
                f"Column {column.name!r} holds {text!r}, which is no {what} that can be counted. Correct the cell, or "
                "set it to NULL if it is unknown.",
                column=column.name,
                value=text,
            )
        if np.isinf(value):
            raise InvalidInput(
                f"Column {column.name!r} holds infinity; give a finite number, or NULL if it is unknown.",
                column=column.name,
                value=value,
            )
        if not np.isnan(value):
            raise NumberTooLarge(column.name, value)


def as_number(text: str) -> float | None:
    """Return the number that a cell of a database is written as; None if it is none."""
    try:
        return float(text)
    except ValueError:
        return None


def in_parts(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    """Return items in parts of at most such a size."""
    return [items[begin : begin + size] for begin in range(0, len(items), size)]
