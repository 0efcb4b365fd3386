"""The three databases that tests count in, each with tables put there from Arrow: DuckDB, PostgreSQL, SQLite."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from .postgres import running_postgres

ENGINES = ("duckdb", "postgres", "sqlite")
# Ibis uses options of pandas that are deprecated, which tests cannot change.
FOREIGN_WARNINGS = pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")


def quoted(name: str) -> str:
    """Return a name as SQL writes it."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def declared(kind: pa.DataType) -> str:
    """Return the type of SQL for an Arrow type."""
    known = {
        pa.bool_(): "boolean",
        pa.int32(): "integer",
        pa.int64(): "bigint",
        pa.float32(): "real",
        pa.float64(): "double precision",
        pa.string(): "text",
        pa.date32(): "date",
        pa.time64("us"): "time",
        pa.timestamp("us"): "timestamp",
        pa.timestamp("us", "UTC"): "timestamptz",
    }
    return f"numeric({kind.precision}, {kind.scale})" if pa.types.is_decimal(kind) else known[kind]


class Database:
    """A connection of Ibis, and a way to put tables behind it."""

    def __init__(self, name: str, con: Any) -> None:
        self.name, self.con, self.tables = name, con, 0

    def put(self, table: pa.Table, name: str | None = None) -> Any:
        """Return a new table of Ibis with these rows."""
        self.tables += 1
        name = f"table {self.tables}" if name is None else name
        columns = [f"{quoted(field.name)} {declared(field.type)}" for field in table.schema]
        cursor = self.con.con.cursor()
        cursor.execute(f"create table {quoted(name)} ({', '.join(columns)})")
        if self.name == "duckdb":
            cursor.register("given", table)
            cursor.execute(f"insert into {quoted(name)} select * from given")
        elif table.num_rows:
            place = "%s" if self.name == "postgres" else "?"
            rows = zip(*(map(self.cell, column.to_pylist()) for column in table.columns), strict=True)
            places = ", ".join([place] * table.num_columns)
            cursor.executemany(f"insert into {quoted(name)} values ({places})", list(rows))
            self.con.con.commit()
        return self.con.table(name)

    def cell(self, value: Any) -> Any:
        """Return a value as the database takes it; SQLite writes times as texts."""
        if self.name != "sqlite":
            return value
        if isinstance(value, (datetime.date, datetime.time)):
            return value.isoformat(*([" "] if isinstance(value, datetime.datetime) else []))
        return float(value) if isinstance(value, Decimal) else value


@contextmanager
def database(name: str) -> Iterator[Database]:
    """Return a database for a while; the test is skipped where it cannot run."""
    ibis = pytest.importorskip("ibis", reason="needs Ibis, to ask databases")
    if name == "postgres":
        with running_postgres() as server:
            found = dict(part.split("=", 1) for part in server.split())
            con = ibis.postgres.connect(host=found["host"], user=found["user"], database=found["dbname"])
            yield Database(name, con)
            con.disconnect()
        return
    con = ibis.duckdb.connect() if name == "duckdb" else ibis.sqlite.connect()
    yield Database(name, con)
    con.disconnect()
