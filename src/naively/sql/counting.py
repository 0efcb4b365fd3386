"""Counts of a table in a database, and a classifier of it, which is counted there if it is textbook, else streamed.

One query counts the classes, one all columns of numbers, one each column of labels.

Numbers are summed as their distance from the mean of their class, and its square. Sums of x and of x² would lose all
digits where the mean is large, and the variances of databases lose some.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .._types import Floats, Label
from ..counting import reading as memory
from ..counting.files import MOST_LABELS, set_aside_hint
from ..counting.reading import warn_of_scale, weighted_counts
from ..counting.rows import uncut_columns
from ..data.column import Column, FamilySettings
from ..data.schema import Schema
from ..data.target import Target, check_kinds, target_of, type_for
from ..errors import InvalidInput, InvalidSetting, NumberTooLarge
from ..errors.message import Setting
from ..estimator.fit import warn_of_target
from ..estimator.fitted_classifier import FittedClassifier
from ..estimator.naive_bayes import NaiveBayes
from ..estimator.settings import check_no_em
from ..estimator.state import state_of_counts
from ..families import Bernoulli, Bins, Poisson, Words
from ..families.poisson import NEVER_NEGATIVE
from ..stats import Axis, Counts, Moments, Table
from ..stats.arithmetic import WANTED, divide
from .database_rows import CLASS, COUNT, WEIGHT, DatabaseRows, IbisTable, IbisValue, exact_literal, fetched, ibis_module

# Columns of numbers in one query: databases have limits of some 1,600 expressions for each.
COLUMNS = 100
# Rows whose mean numbers are summed from.
FIRST_ROWS = 4_096
# A class is far from that mean if the square of its distance is more than this many variances.
FAR = 16.0
# The smallest number whose square is no subnormal number.
ROOT = 1.5e-154


def count(
    table: IbisTable,
    target: str,
    *,
    schema: FamilySettings | Schema | None = None,
    sample_weight: str | None = None,
    ignore: Sequence[str] = (),
    unlabelled: str = "error",
    classes: Iterable[Label] = (),
) -> Counts:
    """Count a table inside its database: only counts leave it.

    The counts are those of `naively.count` of the same rows. Labels are counted by GROUP BY; numbers by sums of their
    differences from the mean of their class, so that no digits are lost.

    Parameters
    ----------
    table : ibis.Table
        A table, a view or a query of Ibis, such as ``ibis.duckdb.connect(path).table("orders")``.
    target : str
        The column of the classes.
    schema : Schema or dict, optional
        The columns, or the families of some columns by name. By default they follow from the types that the database
        declares: texts stay texts, even where all of them are numbers.
    sample_weight : str, optional
        The column of the row weights.
    ignore : sequence of str, default=()
        Columns that are not counted.
    unlabelled : {"error", "skip"}, default="error"
        What to do with rows whose class is NULL: refuse them, or skip them.
    classes : iterable of labels, default=()
        Classes that are known beforehand, whether or not a row has them.

    Returns
    -------
    counts : Counts
        The counts of all rows.

    Raises
    ------
    InvalidInput
        If the table has no rows, or cells that cannot be counted.
    NotInstalled
        If Ibis is not installed.

    Examples
    --------
    >>> import ibis
    >>> import naively as nv
    >>> con = ibis.duckdb.connect()
    >>> _ = con.raw_sql("create table days as from (values ('rain', 12.5, 'in'), ('sun', 21, 'out')) d(sky, heat, go)")
    >>> nv.sql.count(con.table("days"), target="go")
    Counts: 2 rows (in: 1, out: 1), 2 columns
    """
    rows = DatabaseRows.of(table, target, schema, sample_weight, ignore)
    return counted(rows, unlabelled, list(classes), schema or ())[0]


def counted(
    rows: DatabaseRows, unlabelled: str, declared: Sequence[Label], named: Container[str]
) -> tuple[Counts, int]:
    """Return the counts, and the number of rows; texts with too many values are left out, unless they are named."""
    if unlabelled not in ("error", "skip"):
        raise InvalidSetting(Setting("unlabelled", unlabelled), " is unknown; use 'error' or 'skip'.")
    for column in rows.schema:
        check_countable(column)
    classes, weights, total = class_counts(rows, unlabelled, declared)
    numbers = rows.schema.of_kind("numbers")
    columns: dict[str, Moments | Table] = {}
    for begin in range(0, len(numbers), COLUMNS):
        columns |= number_moments(rows, numbers[begin : begin + COLUMNS], classes)
    for column in rows.schema.of_kind("labels"):
        query, may_go = label_query(rows, column), column.type == "text" and column.name not in named
        answer = fetched(query.limit(MOST_LABELS * len(classes) + 1) if may_go else query)
        if not (may_go and pc.count_distinct(answer.column("v")).as_py() > MOST_LABELS):
            columns[column.name] = label_table(rows, column, answer, declared)
    kept = tuple(column for column in rows.schema if column.name in columns)
    hints = tuple(set_aside_hint(name) for name in rows.schema.names if name not in columns)
    schema = replace(rows.schema, columns=kept, hints=hints)
    return Counts(classes, weights, {name: columns[name] for name in schema.names}, schema), total


def check_countable(column: Column) -> None:
    """Refuse what no GROUP BY can count: words of texts, and bins whose cuts follow from rows."""
    if isinstance(column.family, Words):
        raise InvalidSetting(
            f"Column {column.name!r} has the family 'words', and a database cannot count words by GROUP BY. Stream the "
            "rows instead: nv.sql.fit(table, …) or nv.count(table, target=…); or leave the column out: ",
            Setting("ignore", [column.name]),
            ".",
            column=column.name,
        )
    if isinstance(column.family, Bins) and column.family.cuts is None:
        raise InvalidSetting(
            f"Column {column.name!r} has bins without cuts, which follow from rows; give them: ",
            Setting("schema"),
            f"={{{column.name!r}: nv.Bins(cuts=[…])}}, or stream the rows: nv.sql.fit(table, …).",
            column=column.name,
        )


# -- classes ---------------------------------------------------------------------------------------------------------


def class_counts(rows: DatabaseRows, unlabelled: str, declared: Sequence[Label]) -> tuple[Axis, Floats, int]:
    """Return the classes, the weight of the rows of each, and the number of rows that have a class."""
    table = rows.table.select(**rows.class_and_weight())
    result = {"rows": table.count(), COUNT: rows.count_of(table)}
    if rows.weight is not None:
        result["weighed"] = table[WEIGHT].count()
    answer = fetched(table.group_by(CLASS).aggregate(**result))
    target, met = target_of_answer(rows, answer), floats(answer, "rows")
    total, labelled = int(met.sum()), target.codes >= 0
    if not total:
        raise InvalidInput("The table has no rows: there is nothing to count.")
    if rows.weight is not None and (wrong := total - int(floats(answer, "weighed").sum())):
        raise InvalidInput(
            f"{wrong:,} of {total:,} rows have a weight in column {rows.weight!r} that no row can have; {WANTED}",
            column=rows.weight,
        )
    if unlabelled != "skip" and not labelled.all():
        raise InvalidInput(
            f"{int(met[~labelled].sum()):,} of {total:,} rows have no label: column {rows.target!r} is NULL there. "
            "Leave these rows out, or set ",
            Setting("unlabelled", "skip"),
            ".",
            column=rows.target,
        )
    if not labelled.any():
        raise InvalidInput("No row has a label: there is nothing to learn from.", column=rows.target)
    check_kinds([*declared, *target.labels] if declared else [])
    classes = Axis(target.labels, declared)
    places = classes.places(target.labels)[target.codes[labelled]]
    weights = np.bincount(places, floats(answer, COUNT)[labelled], len(classes)).astype(np.float64)
    if not weights.any():
        raise InvalidInput("Sample weights must contain at least one non-zero number.", column=rows.weight)
    return classes, weights, int(met[labelled].sum())


def target_of_answer(rows: DatabaseRows, answer: pa.Table) -> Target:
    """Return the classes in the result of a query; code -1 where there is none."""
    return target_of(rows.exact_answer(answer.column(CLASS), rows.target))


def floats(answer: pa.Table, name: str) -> Floats:
    """Return sums in the result of a query; a sum of no rows is 0."""
    column = answer.column(name).cast(pa.float64()).fill_null(0.0)
    return np.asarray(column.to_numpy(), dtype=np.float64)


# -- labels ----------------------------------------------------------------------------------------------------------


def label_query(rows: DatabaseRows, column: Column) -> IbisTable:
    """Return the query for the number of rows of each class and each label; a bin is shown by a number within it."""
    label = rows.label(column)
    if not isinstance(column.family, Bins):
        table = rows.selected({"v": label})
        return table.group_by(CLASS, "v").aggregate(**{COUNT: rows.count_of(table)})
    cell, number = rows.table[column.name], rows.number(column.name)
    table = rows.selected({"b": label, "x": number, "refused": cell.notnull() & number.isnull()})
    result = {COUNT: rows.count_of(table), "v": table["x"].max(), "refused": table["refused"].sum()}
    return table.group_by(CLASS, "b").aggregate(**result)


def label_table(rows: DatabaseRows, column: Column, answer: pa.Table, declared: Sequence[Label]) -> Table:
    """Return the table of a column: the rows of an answer are counted by their weights, like those of any table."""
    if "refused" in answer.column_names and floats(answer, "refused").any():
        refuse_numbers(rows, column)
    cells = rows.exact_answer(answer.column("v"), column.name)
    if isinstance(column.family, Bins | Bernoulli) and column.type == "time":
        column = replace(column, type="number")  # seconds
    counts = memory.count(
        pa.table({column.name: cells}),
        rows.exact_answer(answer.column(CLASS), rows.target),
        schema=Schema((column,)),
        sample_weight=floats(answer, COUNT),
        classes=declared,
        n_jobs=1,
    )
    table: Table = counts.columns[column.name]
    return table


# -- numbers ---------------------------------------------------------------------------------------------------------


def number_moments(rows: DatabaseRows, columns: Sequence[Column], classes: Axis) -> dict[str, Moments]:
    """Return the moments of some columns: summed from their mean in some rows, or if that is far, in each class."""
    first = rows.table.select(**{column.name: rows.number(column.name) for column in columns}).limit(FIRST_ROWS)
    means = fetched(first.aggregate(**{name: first[name].mean() for name in first.columns}))
    result = moments(rows, columns, classes, {name: floats(means, name)[0] for name in means.column_names})
    far = [column for column in columns if is_far(result[column.name])]
    return result | moments(rows, far, classes, None) if far else result


def is_far(found: Moments) -> bool:
    """Tell whether a class lies so far from what it was summed from that its variance lost digits."""
    gap = divide(found.total, found.n)
    return bool(np.any((gap != 0) & (gap * gap > FAR * found.variance)))


def moments(
    rows: DatabaseRows, columns: Sequence[Column], classes: Axis, shifts: Mapping[str, float] | None
) -> dict[str, Moments]:
    """Return the moments of some columns, summed from a shift for each, or from the mean of each class."""
    answer = fetched(sums_query(rows, columns, shifts))
    target, result = target_of_answer(rows, answer), {}
    places = classes.places(target.labels)[target.codes]
    for index, column in enumerate(columns):
        if floats(answer, f"refused{index}").any():
            refuse_numbers(rows, column)
        if isinstance(column.family, Poisson) and (least := floats(answer, f"least{index}").min()) < 0:
            raise InvalidInput(
                f"Column {column.name!r} holds {least:g}; ", NEVER_NEGATIVE, column=column.name, value=float(least)
            )
        parts = np.zeros((4, len(classes), 1))
        for part, name in zip(parts, ("n", "shift", "total", "squares"), strict=True):
            part[places, 0] = floats(answer, f"{name}{index}")
        result[column.name] = Moments(classes, Axis.declared([column.name]), *parts)
    return result


def sums_query(rows: DatabaseRows, columns: Sequence[Column], shifts: Mapping[str, float] | None) -> IbisTable:
    """Return the query for the sums of some columns within each class, and the number of cells that are no numbers."""
    places = range(len(columns))
    numbers = {f"x{index}": rows.number(columns[index].name) for index in places}
    values = numbers | {f"c{index}": rows.table[columns[index].name] for index in places}
    if shifts is None:
        means = rows.selected(numbers)
        means = means.group_by(k=CLASS).aggregate(**{f"s{index}": means[f"x{index}"].mean() for index in places})
        table = rows.selected(values)
        table = table.join(means, table[CLASS] == means["k"])
    else:
        table = rows.selected(values | {f"s{index}": exact_literal(shifts[columns[index].name]) for index in places})
    sums: dict[str, IbisValue] = {}
    for index, column in enumerate(columns):
        number, shift = table[f"x{index}"], table[f"s{index}"]
        gap, n = number - shift, number.count()
        sums |= {f"refused{index}": table[f"c{index}"].count() - n, f"shift{index}": shift.max()}
        # PostgreSQL refuses to square smaller numbers, whose squares are 0 elsewhere.
        root = ibis_module().ifelse(gap.abs() < ROOT, 0.0, gap) if rows.engine == "postgres" else gap
        if rows.weight is None:
            sums |= {f"n{index}": n, f"total{index}": gap.sum(), f"squares{index}": (root * root).sum()}
        else:
            weight = ibis_module().ifelse(number.isnull(), None, table[WEIGHT])
            total, squares = (weight * gap).sum(), (weight * (root * root)).sum()
            sums |= {f"n{index}": weight.sum(), f"total{index}": total, f"squares{index}": squares}
        if isinstance(column.family, Poisson):
            sums[f"least{index}"] = number.min()
    return table.group_by(CLASS).aggregate(**sums)


def refuse_numbers(rows: DatabaseRows, column: Column) -> None:
    """Say which cell of a column cannot be counted, unless all such cells are NaN, which is a missing value."""
    cell, number = rows.table[column.name], rows.number(column.name)
    table = rows.table.select(cell=cell.cast("string"), refused=cell.notnull() & number.isnull())
    cells = table.filter(table["refused"]).select("cell").distinct().limit(2)
    for text in fetched(cells).column("cell").to_pylist():
        try:
            value = float(text)
        except ValueError:
            what = "time" if column.type == "time" else "number"
            raise InvalidInput(
                f"Column {column.name!r} holds {text!r}, which is not a {what} that can be counted. Correct the cell, "
                "or set it to NULL if it is unknown.",
                column=column.name,
                value=text,
            ) from None
        if np.isinf(value):
            raise InvalidInput(
                f"Column {column.name!r} holds infinity; give a finite number, or NULL if it is unknown.",
                column=column.name,
                value=value,
            )
        if not np.isnan(value):
            raise NumberTooLarge(column.name, value)


def fit(
    table: IbisTable, target: str, *, sample_weight: str | None = None, ignore: Sequence[str] = (), **settings: Any
) -> NaiveBayes:
    """Fit a classifier to a table in a database.

    The textbook model is counted inside the database, and no row is fetched. For any other model the rows are
    streamed, as `NaiveBayes.fit` streams a table of Ibis; so they are where words of texts are counted, or numbers in
    bins that have no cuts yet.

    Parameters
    ----------
    table : ibis.Table
        A table, a view or a query of Ibis, such as ``ibis.duckdb.connect(path).table("orders")``.
    target : str
        The column of the classes.
    sample_weight : str, optional
        The column of the row weights.
    ignore : sequence of str, default=()
        Columns that are not used.
    **settings
        The settings of `NaiveBayes`.

    Returns
    -------
    NaiveBayes
        A fitted classifier.

    Raises
    ------
    InvalidInput
        If the table or the settings cannot be used.
    NotInstalled
        If Ibis is not installed.

    Examples
    --------
    >>> import ibis
    >>> import naively as nv
    >>> con = ibis.duckdb.connect()
    >>> _ = con.raw_sql("create table days as from (values ('rain', 'in'), ('sun', 'out')) t(sky, go)")
    >>> nb = nv.sql.fit(con.table("days"), target="go")
    >>> nb.predict({"sky": "sun"})
    array(['out'], dtype=object)
    """
    nb = NaiveBayes(**settings)
    parameters = nb.parameters
    parameters.check()
    check_no_em(parameters)
    rows = DatabaseRows.of(table, target, parameters.families, sample_weight, ignore)
    if parameters.leaves_choices or uncut_columns(rows.schema) or rows.schema.of_kind("vectors"):
        return nb.fit(rows.stream(), target=target, sample_weight=sample_weight)
    declared = [] if parameters.classes is None else list(parameters.classes)
    counts, total = counted(rows, parameters.unlabelled, declared, parameters.families or ())
    if sample_weight is not None:
        warn_of_scale(total, float(counts.rows.sum()), "w * len(w) / w.sum()")
    weighted, by_class = weighted_counts(counts, parameters.class_weight)
    state = state_of_counts(parameters, weighted, weighted.schema)
    label_type = type_for(list(counts.classes.labels), np.dtype(object))
    nb.fitted_ = FittedClassifier(parameters, replace(state, class_weights=by_class, label_type=label_type))
    warn_of_target(weighted)
    return nb
