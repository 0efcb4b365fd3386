"""A fit beside other work on two cores: ``python3 chores.py bench busy``.

A default fit of the waveform table (5,000 × 40) is timed alone, beside a process that keeps one core busy, and four at
a time. Threads that wait for each other in a loop would make it many times slower. All answers must be the same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import smoke

from naively import NaiveBayes

CORES = sorted(os.sched_getaffinity(0))[:2]
TARGETS = {"alone": None, "beside a busy process": 3.0, "four side by side": 5.0}
BUSY = "while True: pass"


def main() -> int:
    """Print the table; the exit code says whether every target was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="where waveform.csv.gz is")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = smoke.parsed(parser, data=Path("nowhere"), rows=300, repeats=1)
    if options.worker:
        return work(options)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, CORES)  # the processes inherit it: libraries look how many CPUs there are when they load
    try:
        return report(measured(options), options.smoke)
    finally:
        os.sched_setaffinity(0, before)


def measured(options: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    """Return the times and answers of fits alone and beside others."""
    if options.smoke:
        two = side_by_side(2, options)
        return {"alone": two[:1], "four side by side": two}
    found = {"alone": side_by_side(1, options)}
    busy = subprocess.Popen([sys.executable, "-c", BUSY])
    try:
        found["beside a busy process"] = side_by_side(1, options)
    finally:
        busy.kill()
        busy.wait()
    found["four side by side"] = side_by_side(4, options)
    return found


def side_by_side(number: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return what so many processes measured that fit at the same time."""
    command = [sys.executable, __file__, "--worker", "--data", options.data, "--repeats", options.repeats]
    command = [str(part) for part in (*command, "--rows", options.rows)]
    set_by_hand = ("NAIVELY_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    surroundings = {name: value for name, value in os.environ.items() if name not in set_by_hand}
    workers = [
        subprocess.Popen(command, env=surroundings, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(number)
    ]
    for worker in workers:
        assert worker.stdout is not None
        worker.stdout.readline()  # it is ready
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    return [json.loads(worker.communicate()[0]) for worker in workers]


def work(options: argparse.Namespace) -> int:
    """Fit several times, once told to, and print the times and a digest of the answers."""
    X, y = (part[: options.rows] for part in waveform(options.data))
    NaiveBayes().fit(X[:500], y[:500]).predict_proba(X[:10])  # so that nothing is imported while the clock runs
    print("ready", flush=True)
    sys.stdin.readline()
    times, answers = [], set()
    for _ in range(options.repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        model = NaiveBayes().fit(X, y)
        times.append((time.perf_counter() - wall, time.process_time() - cpu))
        answers.add(hashlib.sha256(model.predict_proba(X).tobytes()).hexdigest())
    print(json.dumps({"times": times, "answers": sorted(answers)}))
    return 0


def waveform(folder: Path) -> tuple[Any, Any]:
    """Return the waveform table; where the file is not there, one that is made up the same way."""
    path = folder / "waveform.csv.gz"
    if path.exists():
        import pandas as pd

        table = pd.read_csv(path)
        return table.iloc[:, :-1], table.iloc[:, -1].to_numpy()
    rng, steps = np.random.default_rng(1), np.arange(21)
    waves = np.maximum(6 - np.abs(steps - np.array([[6], [10], [14]])), 0)
    y, by = rng.integers(3, size=5000), rng.random((5000, 1))
    X = by * waves[y] + (1 - by) * waves[(y + 1) % 3] + rng.normal(size=(5000, 21))
    return np.hstack([X, rng.normal(size=(5000, 19))]), y


def report(found: dict[str, list[dict[str, Any]]], tiny: bool) -> int:
    """Print the table, and return whether answers are the same and, unless the table is tiny, targets met: 0 if so."""
    answers = {answer for parts in found.values() for part in parts for answer in part["answers"]}
    quiet = np.median([wall for wall, _ in found["alone"][0]["times"]])
    print("| default fit, 5,000 × 40, on two cores | seconds | CPU seconds | of quiet time | target |")
    print("|---|---:|---:|---:|---:|")
    ok = len(answers) == 1
    for name, target in ((name, TARGETS[name]) for name in found):
        times = [time_of for part in found[name] for time_of in part["times"]]
        wall, cpu = (float(np.median([one[at] for one in times])) for at in range(2))
        missed = target is not None and wall > target * float(quiet)
        ok &= tiny or not missed
        mark, bound = " ✗" * missed, "–" if target is None else f"≤ {target:g}×"
        print(f"| {name} | {wall:.2f} | {cpu:.2f} | {wall / quiet:.1f}×{mark} | {bound} |")
    if len(answers) > 1:
        print("The answers differ.", file=sys.stderr)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
