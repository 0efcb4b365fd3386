"""Counting inside a database against streaming its rows: CPU seconds of all processes, answers checked.

python3 chores.py bench sql [--rows N] [--only duckdb,postgres,sqlite] [--fit]
"""

from __future__ import annotations

import argparse
import resource
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


def measured(db: Database, what: str, call: Callable[[], object]) -> object:
    """Return what a call returns, and print what it took."""
    start, before = time.perf_counter(), server_seconds(db)
    own = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    found = call()
    own = sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) - own
    cpu = own + server_seconds(db) - before
    print(f"{db.name:8} {what:32} {time.perf_counter() - start:7.2f} s, {cpu:7.2f} CPU s", flush=True)
    return found


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


def compare(db: Database, table: pa.Table, fits: bool) -> None:
    """Print what counting, and perhaps fitting, takes in a database and outside of it."""
    put = fill_server(db, table)
    nv.sql.count(put.limit(100), "y")  # imports
    pushed = measured(db, "textbook, in the database", lambda: nv.sql.count(put, "y"))
    streamed = measured(db, "textbook, streamed", lambda: nv.count(put.to_pyarrow(), target="y"))
    assert isinstance(pushed, nv.Counts)
    assert pushed.agrees(streamed, 1e-12)
    if fits:
        inside = measured(db, "default, in the database", lambda: nv.sql.fit(put, "y"))
        outside = measured(db, "default, streamed", lambda: nv.NaiveBayes().fit(put.to_pyarrow(), target="y"))
        losses = [log_loss(nb, table.slice(0, 50_000)) for nb in (inside, outside)]
        print(f"{db.name:8} log loss {losses[0]:.4f} and {losses[1]:.4f}", flush=True)
        assert abs(losses[0] - losses[1]) < 0.002


def log_loss(nb: nv.NaiveBayes, table: pa.Table) -> float:
    """Return the log loss of a model on some rows."""
    truth = np.searchsorted(nb.classes_, table["y"].to_pylist())
    return float(-np.log(nb.predict_proba(table)[np.arange(len(truth)), truth]).mean())


def main() -> int:
    """Compare in all databases, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--only", default=",".join(ENGINES), help="these databases alone, with commas")
    parser.add_argument("--fit", action="store_true", help="compare the default model, too")
    options = smoke.parsed(parser, rows=500, fit=True)
    table = made_table(options.rows)
    for name in options.only.split(","):
        try:
            with database(name) as db:
                compare(db, table, options.fit)
        except pytest.skip.Exception as reason:  # what tests are skipped by, where a database cannot run
            print(f"{name}: left out: {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
