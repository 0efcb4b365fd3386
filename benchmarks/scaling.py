"""How fits and predictions scale with the cores: ``python3 chores.py bench scaling``.

Every job runs at 1, 2, 4, … cores, each number of them in a process of its own that is bound to so many CPUs. Times are
the best of several. Answers and counts must have the same bits for any number of cores, or the script fails.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import smoke
import workloads

from naively import NaiveBayes

CLASSES, GROUP = 3, 250_000  # classes of the tables; rows of a row group of the file
ROW = "label"
ALL_CPUS = os.sched_getaffinity(0)
# Of each job, how many times faster it must be at 2 and at 16 cores than at one; of files there is no target.
TARGETS = {"default fit": (1.7, 6.0), "default predict_proba": (1.7, 8.0), "textbook fit": (1.7, 6.0)}
JOBS = (*TARGETS, "textbook predict_proba", "default fit of a Parquet file", "textbook fit of a Parquet file")


def main() -> int:
    """Print the table; the exit code says whether every target was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the table in memory")
    parser.add_argument("--file-rows", type=int, default=4_000_000, help="rows of the Parquet file; 0: no file")
    parser.add_argument("--form", choices=("pandas", "Arrow"), default="pandas", help="the library of the table")
    parser.add_argument("--cores", help="numbers of cores, such as 1,2,4")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where to make the files; they are removed afterwards")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = smoke.parsed(parser, rows=500, file_rows=500, cores="1,2", repeats=1)
    if options.worker:
        return work(options)
    folder = Path(tempfile.mkdtemp(prefix="naively-scaling-", dir=options.folder))
    try:
        make(folder, options.rows, options.file_rows)
        found = {cores: measured(folder, cores, options) for cores in wanted(options.cores)}
    finally:
        shutil.rmtree(folder)
    return report(found, options)


def wanted(text: str | None) -> list[int]:
    """Return the numbers of cores: 1, 2, 4, … up to those there are, unless they are given."""
    there = len(ALL_CPUS)
    if text is not None:
        return [int(part) for part in text.split(",")]
    return sorted({*(n for n in (1, 2, 4, 8, 16) if n < there), min(there, 16)})


# -- tables ------------------------------------------------------------------------------------------------------------


def make(folder: Path, rows: int, file_rows: int) -> None:
    """Write the table, to be mapped into memory by each process, and the Parquet file."""
    table = labelled(rows)
    folder.mkdir(exist_ok=True)
    with pa.OSFile(str(folder / "table.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    if file_rows:
        with pq.ParquetWriter(folder / "file.parquet", table.schema) as out:
            for begin in range(0, file_rows, rows):
                out.write_table(table.slice(0, min(rows, file_rows - begin)), row_group_size=GROUP)


def labelled(rows: int) -> pa.Table:
    """Return ten columns of strings and ten of numbers, 5 % of them missing, and the classes."""
    table, y = workloads.mixed(rows, CLASSES)
    return table.append_column(ROW, pa.array(y).cast(pa.string()))


# -- one number of cores -----------------------------------------------------------------------------------------------


def measured(folder: Path, cores: int, options: argparse.Namespace) -> dict[str, Any]:
    """Return the times and the digests of all jobs, in a process of its own that may use so many CPUs."""
    command = [sys.executable, __file__, "--worker", "--folder", str(folder), "--form", options.form]
    command += ["--repeats", str(options.repeats), "--file-rows", str(options.file_rows)]
    set_by_hand = ("NAIVELY_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    surroundings = {name: value for name, value in os.environ.items() if name not in set_by_hand}
    cpus = sorted(ALL_CPUS)[:cores]
    os.sched_setaffinity(0, cpus)  # the process inherits it: libraries look how many CPUs there are when they load
    try:
        done = subprocess.run(command, env=surroundings, capture_output=True, text=True)
    finally:
        os.sched_setaffinity(0, ALL_CPUS)
    if done.returncode:
        raise SystemExit(f"{cores} cores: {done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    for job, one in found.items():
        print(
            f"{cores:3} cores  {job:32} {one['wall']:7.3f} s  {one['cpu']:7.3f} s of CPU", file=sys.stderr, flush=True
        )
    return found


def work(options: argparse.Namespace) -> int:
    """Run all jobs, and print what they took and what came out."""
    table = pa.ipc.open_file(pa.memory_map(str(options.folder / "table.arrow"))).read_all()
    y = table.column(ROW).cast(pa.int64()).to_numpy()
    X = table.drop_columns([ROW])
    X = X.to_pandas() if options.form == "pandas" else X
    path, models = options.folder / "file.parquet", dict[str, Any]()

    def fit(kind: str) -> str:
        models[kind] = NaiveBayes(model=kind).fit(X, y)
        models[kind].predict_proba(X[:1])  # whatever is put off until the first question counts
        return digest_of_model(models[kind])

    def fit_file(kind: str) -> str:
        return digest_of_model(NaiveBayes(model=kind).fit(path, target=ROW))

    jobs: dict[str, Callable[[], str]] = {
        "default fit": lambda: fit("auto"),
        "default predict_proba": lambda: digest(models["auto"].predict_proba(X)),
        "textbook fit": lambda: fit("textbook"),
        "textbook predict_proba": lambda: digest(models["textbook"].predict_proba(X)),
    }
    if path.exists():
        jobs["default fit of a Parquet file"] = lambda: fit_file("auto")
        jobs["textbook fit of a Parquet file"] = lambda: fit_file("textbook")
    NaiveBayes().fit(X[:2000], y[:2000]).predict_proba(X[:10])  # so that nothing is imported while the clock runs
    repeats = {job: min(options.repeats, 2) if "file" in job else options.repeats for job in jobs}
    print(json.dumps({job: timed(run, repeats[job]) for job, run in jobs.items()}))
    return 0


def timed(run: Callable[[], str], repeats: int) -> dict[str, Any]:
    """Return the least time of several runs, the CPU time of that one, and the digest, which all of them share."""
    times, digests = [], set()
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        digests.add(run())
        times.append((time.perf_counter() - wall, time.process_time() - cpu))
    assert len(digests) == 1, "two runs differ"
    return {"wall": min(times)[0], "cpu": min(times)[1], "digest": digests.pop()}


def digest_of_model(model: Any) -> str:
    """Return a digest of what was counted and fitted."""
    counts = model.counts_
    parts = [counts.rows, *(part for _, one in sorted(counts.columns.items()) for part in arrays_in(one))]
    learned = model.tuning_.learned
    parts += [] if learned is None else [learned.joint.fine, learned.joint.products]
    return digest(*parts) + str(model.tuning_.to_json(counts.classes))


def arrays_in(statistic: Any) -> list[Any]:
    """Return the arrays of a statistic."""
    names = ("n", "shift", "total", "squares")
    return [getattr(statistic, name) for name in names if hasattr(statistic, name)]


def digest(*arrays: Any) -> str:
    """Return a digest of the bits of arrays."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(array.tobytes())
    return found.hexdigest()


# -- the table ---------------------------------------------------------------------------------------------------------


def report(found: dict[int, dict[str, Any]], options: argparse.Namespace) -> int:
    """Print the table, and return whether answers are the same and targets met: 0 if so."""
    first, last, ok = min(found), max(found), True
    print(f"| job | {' | '.join(f'{n} cores' for n in found)} | {last} over {first} | target |")
    print(f"|---|{'---:|' * (len(found) + 2)}")
    for job in (job for job in JOBS if job in found[first]):
        times = {cores: one[job]["wall"] for cores, one in found.items()}
        if len({one[job]["digest"] for one in found.values()}) > 1:
            print(f"{job}: the answers differ with the number of cores", file=sys.stderr)
            ok = False
        target = dict(zip((2, 16), TARGETS.get(job, ()), strict=False)).get(last)
        gain = times[first] / times[last]
        missed = target is not None and gain < target
        ok &= options.smoke or not missed
        rows = options.file_rows if "file" in job else options.rows
        shown = " | ".join(f"{seconds:.3g} s" for seconds in times.values())
        name = f"{job}, {rows:,} × 20"
        print(f"| {name} | {shown} | {gain:.1f}×{' ✗' * missed} | {f'≥ {target:g}×' if target else '–'} |")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
