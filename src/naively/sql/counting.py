"""`naively.sql.count`: the counts of a table in a database."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .._types import Label
from ..counting.files import set_aside_hint
from ..data.column import FamilySettings
from ..data.grid import Grid
from ..data.schema import Schema
from ..errors import InvalidSetting
from ..errors.message import Setting
from ..stats import Counts
from .database_rows import DatabaseRows
from .database_schema import check_cuts, without_columns
from .engine import IbisTable
from .label_counts import counted_labels
from .number_sums import summed_numbers
from .pair_counts import counted_pairs


def count(
    table: IbisTable,
    target: str,
    *,
    schema: FamilySettings | Schema | None = None,
    sample_weight: str | None = None,
    ignore: Sequence[str] = (),
    unlabelled: str = "error",
    classes: Iterable[Label] = (),
    pairs: bool | Grid = False,
) -> Counts:
    """Count a table inside its database: only counts leave it.

    The counts are those of `naively.count` of the same rows. Labels are counted by GROUP BY; numbers by sums of their
    differences from a number near their mean, so that no digits are lost.

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
        What becomes of rows whose class is NULL.
    classes : iterable of labels, default=()
        Classes that are known beforehand, whether or not a row has them.
    pairs : bool or Grid, default=False
        Whether pairs of columns are counted, too: on the grid of the schema, such as ``nb.schema_`` of a fitted model
        has one, or on this one.

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
    check_choices(unlabelled, sample_weight)
    rows = DatabaseRows.of(table, target, schema, sample_weight, ignore)
    grid = _grid_to_count(pairs, schema)
    check_cuts(rows.schema)
    named = () if schema is None else list(schema.names if isinstance(schema, Schema) else schema)
    counts = counted_columns(rows, unlabelled, list(classes), named)
    if grid is None:
        return counts
    joint = counted_pairs(rows, counts, grid)
    return Counts(counts.classes, counts.rows, counts.columns, replace(counts.schema, grid=grid), joint)


def counted_columns(rows: DatabaseRows, unlabelled: str, declared: Sequence[Label], named: Sequence[str]) -> Counts:
    """Return the counts of single columns; texts with too many values are set aside, unless they are named."""
    (axis, met), moments = summed_numbers(rows, unlabelled, declared)
    tables, aside = counted_labels(rows, axis, declared, named)
    found = {**moments, **tables}
    schema = replace(without_columns(rows.schema, aside), hints=tuple(map(set_aside_hint, aside)))
    return Counts(axis, met, {name: found[name] for name in schema.names}, schema)


def check_choices(unlabelled: str, weight: str | None) -> None:
    """Refuse settings that are none."""
    if unlabelled not in ("error", "skip"):
        raise InvalidSetting(Setting("unlabelled", unlabelled), " is unknown; use 'error' or 'skip'.")
    if not (weight is None or isinstance(weight, str)):
        raise InvalidSetting(
            Setting("sample_weight"),
            " is the name of a column: weights in memory cannot be put beside rows in a database.",
        )


def _grid_to_count(pairs: bool | Grid, schema: FamilySettings | Schema | None) -> Grid | None:
    """Return the grid that pairs are counted on; None if they are not."""
    if isinstance(pairs, Grid):
        return pairs
    grid = schema.grid if isinstance(schema, Schema) else None
    if pairs and grid is None:
        raise InvalidSetting(
            Setting("pairs", True),
            " needs a schema with a grid, which says where numbers are cut into bins, such as nb.schema_ of a model "
            "that was fitted to some of the rows; or use nv.sql.fit, which finds one.",
        )
    return grid if pairs else None
