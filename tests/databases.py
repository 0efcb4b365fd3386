"""The three databases that tests count in, each with tables put there from Arrow: DuckDB, PostgreSQL, SQLite."""

import datetime
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

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


# -- a postgresql server of our own for a while ------------------------------------------------------------------------

USER = "naively"  # the superuser of the server
# What makes a server that lives for a minute quick: nothing has to outlive it.
SETTINGS = ("listen_addresses=''", "fsync=off", "synchronous_commit=off", "full_page_writes=off")


@contextmanager
def running_postgres():
    """Start a server, yield what psycopg connects to it by, and stop it; skip the test where there is none."""
    pytest.importorskip("psycopg", reason="needs psycopg, to speak to PostgreSQL")
    programs, as_user = folder_of_programs(), []
    if os.geteuid() == 0:  # the server refuses to run as root
        if shutil.which("runuser") is None:
            pytest.skip("PostgreSQL does not run as root, and there is no runuser")
        as_user = ["runuser", "-u", "postgres", "--"]
    folder = Path(
        tempfile.mkdtemp(prefix="naively-pg-")
    )  # the name of a socket may have 107 bytes: no folder of pytest
    if as_user:
        shutil.chown(folder, "postgres")
    folder.chmod(0o700)
    data = folder / "data"
    try:
        initdb = [programs / "initdb", "-D", data, "-U", USER, "--auth=trust", "--encoding=UTF8", "--locale=C"]
        run([*as_user, *initdb, "--no-sync"])
        how = " ".join(f"-c {setting}" for setting in (*SETTINGS, f"unix_socket_directories={folder}"))
        control = [*as_user, programs / "pg_ctl", "-D", data, "-w", "-l", folder / "log"]
        run([*control, "-o", how, "start"])
        try:
            yield f"host={folder} user={USER} dbname=postgres"
        finally:
            run([*control, "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def folder_of_programs():
    """Return the folder of the server's programs, of the newest version that is installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    path = os.fspath(found[-1]) if found else shutil.which("initdb")
    if path is None:
        pytest.skip("needs PostgreSQL (on Debian the package postgresql), and found no initdb")
    return Path(path).parent


def run(command):
    """Run a program in a folder that any user may enter; its output is shown if it fails."""
    with (
        tempfile.TemporaryFile() as output
    ):  # the server inherits it: a pipe would stay open as long as the server runs
        done = subprocess.run(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, cwd="/", check=False)
        output.seek(0)
        assert done.returncode == 0, output.read().decode(errors="replace")
