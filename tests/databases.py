"""The three databases that tests count in, each with tables put there from Arrow: DuckDB, PostgreSQL, SQLite."""

import datetime
from contextlib import contextmanager
from decimal import Decimal

import pyarrow as pa
import pytest

from .postgres import running_postgres

ENGINES = ("duckdb", "postgres", "sqlite")
# Ibis uses options of pandas that are deprecated, which tests cannot change.
FOREIGN_WARNINGS = pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")
SQL_TYPES = {
    pa.bool_(): "boolean",
    pa.int64(): "bigint",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.string(): "text",
    pa.date32(): "date",
    pa.time64("us"): "time",
    pa.timestamp("us"): "timestamp",
    pa.timestamp("us", "UTC"): "timestamptz",
}


class Database:
    """A connection of Ibis, and a way to put tables behind it."""

    def __init__(self, name, con):
        self.name, self.con, self.tables = name, con, 0

    def put(self, table, name=None):
        """Return a new table of Ibis with these rows."""
        self.tables += 1
        name = f"table {self.tables}" if name is None else name
        quoted = lambda name: '"' + name.replace('"', '""') + '"'  # noqa: E731
        columns = (f"{quoted(field.name)} {sql_type(field.type)}" for field in table.schema)
        cursor = self.con.con.cursor()
        cursor.execute(f"create table {quoted(name)} ({', '.join(columns)})")
        if self.name == "duckdb":
            cursor.register("given", table)
            cursor.execute(f"insert into {quoted(name)} select * from given")
        elif table.num_rows:
            cells = (column.to_pylist() for column in table.columns)
            cells = (map(sqlite_cell, column) for column in cells) if self.name == "sqlite" else cells
            places = ", ".join(["%s" if self.name == "postgres" else "?"] * table.num_columns)
            cursor.executemany(f"insert into {quoted(name)} values ({places})", list(zip(*cells, strict=True)))
            self.con.con.commit()
        return self.con.table(name)


def sql_type(kind):
    return f"numeric({kind.precision}, {kind.scale})" if pa.types.is_decimal(kind) else SQL_TYPES[kind]


def sqlite_cell(value):
    """Return a value as SQLite takes it, which writes times as texts."""
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ")
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value


@contextmanager
def database(name):
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
