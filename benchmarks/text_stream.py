"""A large table of texts, streamed: the most memory that ``naively fit`` holds, and how fast it reads."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from text_sets import CLASSES, cut, sources, write_csv, write_parquet

from naively.text import TextReader, Tokens

# The columns of the hash, and the characters of a text.
WIDTH, LENGTH = 1 << 18, 3_000
# What is asked for: a peak in GiB, and how many times as long as counting alone.
MOST_MEMORY, MOST_TIME = 1.5, 1.5
WAYS: dict[str, tuple[str, ...]] = {
    "textbook": ("--model", "textbook", "--cv", "0"),
    "text book, 5 folds": ("--model", "textbook", "--cv", "5"),
    "auto": ("--cv", "0"),
    "auto, 5 folds": ("--cv", "5"),
}

# A small process starts the command: what the memory of a large one was would be taken for that of its child.
WATCHED = """
import resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run([sys.executable, "-m", "naively", *sys.argv[1:]], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / (1 << 20))
"""


class Run(NamedTuple):
    """How long a command took, how much time of all CPUs, and the most memory it held, in GiB."""

    seconds: float
    cpu: float
    peak: float


def run(*command: str) -> Run:
    """Run the command in a process of its own; refuse one that fails."""
    done = subprocess.run([sys.executable, "-c", WATCHED, *command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"naively {' '.join(command)} failed: {done.stderr}")
    return Run(*map(float, done.stdout.split()))


def in_memory(shared: Path, rows: int) -> tuple[float, float]:
    """Return the megabytes that are counted a second in memory, and those a second of CPU: the best of three."""
    texts, y = cut(sources(shared, "en"), rows, LENGTH)
    codes = np.unique(y, return_inverse=True)[1].astype(np.int32)
    import pyarrow as pa

    column: Any = pa.array(texts, pa.large_string())
    found = []
    for _ in range(3):
        start, used = time.perf_counter(), time.process_time()
        TextReader(Tokens(hash_width=WIDTH)).count(column, codes, CLASSES)
        found.append((time.perf_counter() - start, time.process_time() - used))
    wall, cpu = map(min, zip(*found, strict=True))
    return column.nbytes / 1e6 / wall, column.nbytes / 1e6 / cpu


def table(shared: Path, gigabytes: float, most: int | None = None) -> Iterator[bool]:
    """Print how the same rows are streamed in every way, or in `most` of them; tell whether targets were met."""
    rate, of_cpu = in_memory(shared, min(50_000, round(gigabytes * 1e9 / LENGTH)))
    print(f"\nIn memory {rate:.0f} MB/s are counted, {of_cpu:.0f} MB a second of CPU.\n")
    print("| naively fit, streamed | s | CPU s | MB/s | of the rate in memory | peak GiB | target |")
    print("|---|---:|---:|---:|---:|---:|---|")
    with tempfile.TemporaryDirectory() as folder:
        for kind, write in (("csv", write_csv), ("parquet", write_parquet))[:most]:
            path = Path(folder) / f"texts.{kind}"
            write(path, shared, gigabytes, LENGTH)
            for title, how in [*WAYS.items()][-most if most else 0 :]:
                told = ("--target", "label", "--text", "body", "--hash-width", str(WIDTH))
                found = run("fit", str(path), *told, "-o", str(Path(folder) / "model.parquet"), *how)
                share = gigabytes * 1000 / found.seconds / rate
                one = "folds" not in title  # folds hold a table each
                met = (found.peak < MOST_MEMORY or not one) and (share * MOST_TIME >= 1 or title != "textbook")
                asked = f"< {MOST_MEMORY:g} GiB" * one + f", ≥ 1/{MOST_TIME:g}" * (title == "textbook")
                print(
                    f"| {gigabytes:g} GB {kind}, {title} | {found.seconds:.1f} | {found.cpu:.1f} | "
                    f"{gigabytes * 1000 / found.seconds:.0f} | {share:.2f} | {found.peak:.2f} | "
                    f"{asked}{'' if met else ' ✗'} |",
                    flush=True,
                )
                yield met
