"""What is asked of Ibis and of the database behind a table: functions that Ibis has no name for, and results."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter, Signature
from typing import Any, TypeAlias

import pyarrow as pa

from ..errors import InvalidInput, NotInstalled

# Tables, columns and types of Ibis, which is imported when somebody counts in a database.
IbisTable: TypeAlias = Any
IbisValue: TypeAlias = Any
IbisType: TypeAlias = Any


def ibis_module() -> Any:
    """Return the module ibis, or say how to install it."""
    try:
        import ibis
    except ImportError:
        raise NotInstalled("Counting inside a database needs Ibis", "sql") from None
    return ibis


def checked_table(table: IbisTable) -> IbisTable:
    """Return a table of Ibis that belongs to a database; refuse everything else."""
    if not isinstance(table, ibis_module().Table):
        raise InvalidInput(
            f"Expected a table of Ibis, such as ibis.duckdb.connect(path).table('name'); got {type(table).__name__}. "
            "For a table in memory use nv.count or NaiveBayes.fit."
        )
    return table


def engine_name(table: IbisTable) -> str:
    """Return which database a table lies in, such as "duckdb", "postgres" or "sqlite"."""
    return str(table.get_backend().name)


def call_builtin(name: str, arguments: Sequence[IbisValue], returns: str) -> IbisValue:
    """Return a call of a function of the database that Ibis has no name for."""

    def function(*_: object) -> None: ...

    function.__name__ = name
    places = [Parameter(f"argument{at}", Parameter.POSITIONAL_OR_KEYWORD) for at in range(len(arguments))]
    function.__signature__ = Signature(places)  # type: ignore[attr-defined]  # what Ibis looks at
    types = tuple(argument.type() for argument in arguments)
    return ibis_module().udf.scalar.builtin(function, name=name, signature=(types, returns))(*arguments)


def fetched(expression: IbisTable) -> pa.Table:
    """Return the rows that a query answers."""
    table: pa.Table = expression.to_pyarrow()
    return table.combine_chunks()


# More rows than any table has.
ALL_ROWS = 1 << 62


def evaluated_once(table: IbisTable) -> IbisTable:
    """Return a table whose values are computed once for each row, however often a query uses them.

    PostgreSQL and SQLite put the expressions of an inner query into the outer one, unless it has a limit.
    """
    return table.limit(ALL_ROWS) if engine_name(table) in ("postgres", "sqlite") else table
