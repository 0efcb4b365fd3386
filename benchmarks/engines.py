"""The same rows from every engine that streams Arrow: ``python3 chores.py bench engines``.

Two million rows of ten texts and ten numbers, in eight Parquet files, are counted for the textbook model and fitted
with the default model, from memory, from the files, and from the lazy frames of Polars, DuckDB, Dask, Daft and Ray.
Counts must be equal to those of the plain files, and the predictions of the default model nearly so. Measured is the
CPU time of the whole tree of processes; each engine runs in a process of its own. It reads ``/proc``: it needs Linux.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import smoke
import workloads
from process_tree import TreeClock

import naively as nv

FILES, GROUP = 8, 62_500
NEAR = 1e-9  # the largest difference of a probability
CLOCK = TreeClock()


def main() -> int:
    """Print the table; the exit code says whether all results agree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--engines", nargs="*", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--worker", nargs=2, metavar=("ENGINE", "FOLDER"), help=argparse.SUPPRESS)
    options = smoke.parsed(parser, rows=500)
    if options.worker:
        print(json.dumps(work(options.worker[0], Path(options.worker[1]))))
        return 0
    folder = Path(tempfile.mkdtemp(prefix="naively-bench-"))
    try:
        make_files(folder, options.rows)
        measured = work if options.smoke else measured_apart
        known = measured("files", folder)
        print("| engine | count, textbook: s / CPU s | fit, default: s / CPU s | counts | largest difference |")
        print("|---|---|---|---|---|")
        good = True
        for engine in options.engines:
            if find_spec(NEEDS.get(engine, "pyarrow")) is None:
                print(f"| {engine} | not installed | | | |")
                continue
            good &= print_line(engine, known if engine == "files" else measured(engine, folder), known)
        return 0 if good else 1
    finally:
        shutil.rmtree(folder)


def make_files(folder: Path, rows: int) -> None:
    """Write Parquet files of ten columns of texts, ten of numbers, 5 % missing values, and one of three labels."""
    table, y = workloads.mixed(rows, classes=3, most=400)
    table = table.append_column("label", pa.array(["alpha", "beta", "gamma"]).take(pa.array(y)))
    each = -(-rows // FILES)
    for number in range(FILES):
        pq.write_table(table.slice(number * each, each), folder / f"part-{number}.parquet", row_group_size=GROUP)


def measured_apart(engine: str, folder: Path) -> dict[str, Any]:
    """Return what a process of its own measured for an engine."""
    command = [sys.executable, __file__, "--worker", engine, str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def work(engine: str, folder: Path) -> dict[str, Any]:
    """Count and fit the rows of an engine, and return times, a digest of the counts and some predictions."""
    rows, some = ENGINES[engine], pq.read_table(folder / "part-0.parquet").slice(0, 2_000)
    rows(folder)  # imports, and whatever the engine starts
    count = timed(lambda: nv.count(rows(folder), target="label"))
    fit = timed(lambda: nv.NaiveBayes().fit(rows(folder), target="label"))
    return {
        "count": count[:2],
        "fit": fit[:2],
        "counts": digest(count[2]),
        "counts of the fit": digest(fit[2].counts_),
        "predictions": fit[2].predict_proba(some).ravel().tolist(),
    }


def timed(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return the seconds on the clock, the CPU seconds of all processes, and the result of a call."""
    wall, cpu = time.perf_counter(), CLOCK.seconds()
    result = call()
    return time.perf_counter() - wall, CLOCK.seconds() - cpu, result


def digest(counts: nv.Counts) -> list[float]:
    """Return numbers that two equal counts share: all counts of labels, and moments rounded to ten digits."""
    found = [*counts.rows.tolist()]
    for name in sorted(counts.columns):
        statistic = counts.columns[name]
        parts = (statistic.n, statistic.mean) if isinstance(statistic, nv.Moments) else (statistic.n,)
        found += [float(f"{number:.10g}") for part in parts for number in np.ravel(part)]
    return found


def print_line(engine: str, found: dict[str, Any], known: dict[str, Any]) -> bool:
    """Print a line of the table and return whether the results agree."""
    equal = found["counts"] == known["counts"] and found["counts of the fit"] == known["counts of the fit"]
    gap = float(np.abs(np.subtract(found["predictions"], known["predictions"])).max())
    times = " | ".join(f"{found[name][0]:.2f} / {found[name][1]:.2f}" for name in ("count", "fit"))
    print(f"| {engine} | {times} | {'equal' if equal else 'DIFFERENT'} | {gap:.1e} |", flush=True)
    return equal and gap <= NEAR


# -- the engines -------------------------------------------------------------------------------------------------------


def of_memory(folder: Path) -> Any:
    return pq.read_table(folder)


def of_files(folder: Path) -> Any:
    return folder


def of_dataset(folder: Path) -> Any:
    import pyarrow.dataset as ds

    return ds.dataset(folder)


def of_polars(folder: Path) -> Any:
    import polars as pl

    return pl.scan_parquet(folder / "*.parquet")


def of_duckdb(folder: Path) -> Any:
    import duckdb

    return duckdb.read_parquet(f"{folder}/*.parquet")


def of_dask(folder: Path) -> Any:
    import dask.dataframe as dd

    return dd.read_parquet(folder)


def of_daft(folder: Path) -> Any:
    import daft

    return daft.read_parquet(f"{folder}/*.parquet")


def of_ray(folder: Path) -> Any:
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, ignore_reinit_error=True, logging_level="error")
    return ray.data.read_parquet(str(folder))


ENGINES: dict[str, Callable[[Path], Any]] = {
    "memory": of_memory,
    "files": of_files,
    "PyArrow dataset": of_dataset,
    "Polars": of_polars,
    "DuckDB": of_duckdb,
    "Dask": of_dask,
    "Daft": of_daft,
    "Ray": of_ray,
}

NEEDS = {"Polars": "polars", "Dask": "dask", "Daft": "daft", "Ray": "ray"}

if __name__ == "__main__":
    sys.exit(main())
