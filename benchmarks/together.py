"""What columns taken together cost: `NaiveBayes()` beside LightGBM, ``python3 chores.py bench together``.

Both get the same pandas frame with categories as they are, with their default threads. Each answer is checked first:
on rows of its own our log-loss may not be above LightGBM's by more than a tenth. Times are the best of several.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
from accuracy import SHARED, protocol
from run import peak_of

import naively as nv
from naively import _kernels

TARGETS = {"adult: fit": 2.0, "rows: fit": 0.7, "rows: predict": 0.5}  # our time at most so many times LightGBM's
PAIR_CELLS = 50e6  # a second and core, at least
MOST_MEMORY = 256 + 256  # MiB beyond the table: the budget of pairs, and as much again


def main() -> int:
    """Print a line for each measure; the exit code says whether every target was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--shared", type=Path, default=SHARED, help="the folder with the table `adult`")
    options = parser.parse_args()
    met = []
    if (options.shared / "bench" / "accuracy.py").exists():
        met += measured("adult", *adult(options.shared), options.repeats)
    else:
        print(f"adult: skipped, {options.shared} does not hold it")
    met += measured("rows", *mixed(options.rows), options.repeats)
    met += [memory(options.rows), counting()]
    return 0 if all(met) else 1


def adult(shared: Path) -> tuple[Any, Any, Any, Any]:
    """Return the table `adult`, as its authors have split it."""
    bench = protocol(shared)
    spec = json.loads((shared / "data" / "datasets.json").read_text(encoding="utf-8"))["adult"]
    X, y, part, info = bench.load(str(shared / "data"), "adult", spec)
    for name in bench.split_kinds(info)[1]:
        X[name] = X[name].astype("category")
    train = np.asarray(part) == "train"
    return X[train].reset_index(drop=True), y[train], X[~train].reset_index(drop=True), y[~train]


def mixed(rows: int, fresh: int = 100_000) -> tuple[Any, Any, Any, Any]:
    """Return rows of ten numbers and ten labels, some of which go together; and fresh ones."""
    rng, n = np.random.default_rng(0), rows + fresh
    y = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    shared = rng.normal(size=(n, 3)) + 0.5 * y[:, None]
    numbers = shared[:, rng.integers(0, 3, 10)] + rng.normal(size=(n, 10)) * rng.uniform(0.5, 2, 10)
    codes = np.floor(np.abs(shared[:, rng.integers(0, 3, 10)] + rng.normal(size=(n, 10))) * rng.uniform(1, 6, 10))
    X = pd.DataFrame(numbers).add_prefix("x")
    for j in range(10):
        X[f"s{j}"] = pd.Categorical.from_codes(codes[:, j].astype(int).clip(max=29), [f"v{v}" for v in range(30)])
    return X[:rows], y[:rows], X[rows:].reset_index(drop=True), y[rows:]


def measured(name: str, X: Any, y: Any, fresh: Any, truth: Any, repeats: int) -> list[bool]:
    """Print how long both take to learn and to answer; tell whether the targets were met."""
    ours, theirs = nv.NaiveBayes().fit(X, y), lightgbm.LGBMClassifier(verbose=-1).fit(X, y)
    losses = [nv.Scores(model.predict_proba(fresh), truth, model.classes_).log_loss for model in (ours, theirs)]
    print(f"{name}: {len(X):,} rows, log-loss of {len(fresh):,} others {losses[0]:.4f}, LightGBM {losses[1]:.4f}")
    if losses[0] > 1.1 * losses[1]:
        raise SystemExit(f"{name}: the answers are too bad to be timed.")
    met = []
    for what, mine, other in (
        (
            "fit",
            lambda: nv.NaiveBayes().fit(X, y).predict(X[:1]),
            lambda: lightgbm.LGBMClassifier(verbose=-1).fit(X, y),
        ),
        ("predict", lambda: ours.predict_proba(X), lambda: theirs.predict_proba(X)),
    ):
        a, b = best(mine, repeats), best(other, repeats)
        target = TARGETS.get(f"{name}: {what}")
        met.append(target is None or a <= target * b)
        wanted = "" if target is None else f" (target {target}{'' if met[-1] else ' ✗'})"
        print(f"{name}: {what} {a:.3f} s, LightGBM {b:.3f} s: {a / b:.2f} of its time{wanted}", flush=True)
    return met


def best(call: Callable[[], Any], repeats: int) -> float:
    """Return the shortest of several times."""
    times = []
    for _ in range(repeats):
        gc.collect()
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def memory(rows: int) -> bool:
    """Print the peak of a fit beyond its table."""
    X, y, _, _ = mixed(rows, 100)
    nv.NaiveBayes().fit(X[:1000], y[:1000])  # what is imported counts once
    peak = peak_of(lambda: nv.NaiveBayes().fit(X, y)) / 2**20
    met = peak <= MOST_MEMORY
    print(f"rows: peak of fit {peak:.0f} MiB beyond the table (target {MOST_MEMORY}{'' if met else ' ✗'})")
    return met


def counting(rows: int = 1 << 15, columns: int = 20, size: int = 16) -> bool:
    """Print how many cells of pairs are counted in a second by one thread, after checking them."""
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, size, (rows, columns), dtype=np.int32), rng.integers(0, 2, rows, dtype=np.int32)
    offsets, features = np.arange(columns + 1, dtype=np.int64) * size, 1 + columns * size
    out = np.zeros((2, features, features))

    def count() -> None:
        _kernels.count_products(codes, offsets, np.empty((rows, 0)), y, None, out, 1)

    count()
    flags = np.zeros((rows, features))
    flags[:, 0] = 1
    flags[np.arange(rows)[:, None], 1 + offsets[:-1] + codes] = 1
    wanted = np.triu(flags[y == 1].T @ flags[y == 1])
    if not np.array_equal(np.triu(out[1]), wanted):
        raise SystemExit("counting: the pairs are not those that a product of matrices has.")
    rate = rows * columns * (columns - 1) / 2 / best(count, 20)
    print(f"counting: {rate / 1e6:.0f} M pair-cells a second and core (target {PAIR_CELLS / 1e6:.0f})")
    return rate >= PAIR_CELLS


if __name__ == "__main__":
    sys.exit(main())
