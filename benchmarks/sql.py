"""Counting inside a database against streaming its rows: CPU seconds of all processes, counts compared.

python3 chores.py bench sql [--rows N] [--only duckdb,postgres,sqlite]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import ibis
import numpy as np
import pyarrow as pa
import pytest
import smoke

import naively as nv

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.databases import ENGINES, Database, database


def made_table(rows: int) -> pa.Table:
    """Return a table of ten numbers, ten texts and three classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, rows)
    numbers = {f"x{at}": rng.normal(y * 0.3, 1 + at) for at in range(10)}
    words = np.array([f"value {at}" for at in range(12)])
    texts = {f"k{at}": words[np.minimum(rng.geometric(0.3 + 0.02 * y) - 1, 11)] for at in range(10)}
    return pa.table(numbers | texts | {"y": np.array(["a", "b", "c"])[y]})


def server_seconds(db: Database) -> float:
    """Return the CPU seconds of the process that serves the connection; of a database within this one, 0."""
    if db.name != "postgres":
        return 0.0
    process = db.con.con.info.backend_pid
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def measured(db: Database, what: str, call: Callable[[], nv.Counts]) -> nv.Counts:
    """Return what a call returns, and print what it took."""
    start, cpu = time.perf_counter(), time.process_time() + server_seconds(db)
    counts = call()
    cpu = time.process_time() + server_seconds(db) - cpu
    print(f"{db.name:8} {what:16} {time.perf_counter() - start:7.2f} s, {cpu:7.2f} CPU s", flush=True)
    return counts


def fill_server(db: Database, table: pa.Table) -> ibis.Table:
    """Return the table in a database, put there in the quickest way."""
    if db.name != "postgres":
        return db.put(table)
    put = db.put(table.slice(0, 0))
    lines = table.to_pandas().to_csv(index=False, header=False)
    cursor = db.con.con.cursor()
    cursor.execute("set max_parallel_workers_per_gather = 0")  # so that one process does the work
    with cursor.copy(f'copy "table {db.tables}" from stdin csv') as copy:
        copy.write(lines)
    db.con.con.commit()
    return put


def compare(db: Database, table: pa.Table) -> None:
    """Print what counting takes in a database and outside of it."""
    put = fill_server(db, table)
    nv.sql.count(put.limit(100), "y")  # imports
    inside = measured(db, "in the database", lambda: nv.sql.count(put, "y"))
    streamed = measured(db, "streamed", lambda: nv.count(put, target="y"))
    assert inside.agrees(streamed, 1e-12), "the counts differ"


def main() -> int:
    """Compare in all databases, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--only", default=",".join(ENGINES), help="these databases alone, with commas")
    options = smoke.parsed(parser, rows=500)
    table = made_table(options.rows)
    for name in options.only.split(","):
        try:
            with database(name) as db:
                compare(db, table)
        except pytest.skip.Exception as reason:  # what tests are skipped by, where a database cannot run
            print(f"{name}: skipped: {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
