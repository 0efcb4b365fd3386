"""The commands as people feel them: help, a fit on 10 MB, answers to millions of rows: ``chores.py bench commands``.

Each time is that of a whole process, the best of several (of the help, the median). Beside the answers stands what
Arrow needs to read the same file and write it again: the rest is what answering costs.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import files
import pyarrow.parquet as pq
import smoke

import naively as nv

TARGETS = {"help": 0.4, "fit": 2.0, "predict": 1_000_000}  # seconds, seconds, rows a second
ARROW = "import sys, pyarrow.parquet as pq; pq.write_table(pq.read_table(sys.argv[1]), sys.argv[2])"


def main() -> int:
    """Print the figures; the exit code says whether every target was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--fit-rows", type=int, default=35_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where to make the files; they are removed afterwards")
    options = smoke.parsed(parser, rows=1_000, fit_rows=500, repeats=1)
    folder = Path(tempfile.mkdtemp(prefix="naively-bench-", dir=options.folder))
    try:
        return 0 if run(folder, options) or options.smoke else 1
    finally:
        shutil.rmtree(folder)


def run(folder: Path, options: argparse.Namespace) -> bool:
    """Make the files, and print a line for each command."""
    rows, repeats = options.rows, options.repeats
    small, large = (files.made(folder, n) for n in (options.fit_rows, rows))
    model, out = folder / "model.parquet", folder / "out.parquet"
    naively = [sys.executable, "-m", "naively"]
    fit = [*naively, "fit", small["csv"], "--target", "label", "--model", "textbook", "-o", model, "--quiet"]
    predict = [*naively, "predict", model, large["parquet"], "-o", out, "--quiet"]

    help_ = statistics.median(seconds([*naively, "--help"]) for _ in range(1 if options.smoke else 5))
    fitted = min(seconds(fit) for _ in range(repeats))
    arrow, answered = zip(
        *((seconds([sys.executable, "-c", ARROW, large["parquet"], out]), seconds(predict)) for _ in range(repeats)),
        strict=True,
    )
    assert pq.read_metadata(out).num_rows == rows
    some = pq.read_table(large["parquet"]).slice(0, 1_000)
    answers = pq.read_table(out).slice(0, 1_000)["answer"].to_pylist()
    assert answers == nv.load(model).predict(some.drop_columns(["label"])).tolist(), "other answers than in memory"
    size = small["csv"].stat().st_size / 1e6
    rate = rows / min(answered)
    print(f"help {help_:.2f} s (target {TARGETS['help']})")
    print(f"fit on a CSV of {size:.0f} MB {fitted:.2f} s (target {TARGETS['fit']})")
    print(
        f"predict {rate:,.0f} rows/s (target {TARGETS['predict']:,}), {min(answered) / min(arrow):.2f} × Arrow's copy"
    )
    return help_ <= TARGETS["help"] and fitted <= TARGETS["fit"] and rate >= TARGETS["predict"]


def seconds(command: list[object]) -> float:
    """Return how long a process takes."""
    start = time.perf_counter()
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
