"""What columns taken together cost: `NaiveBayes()` beside LightGBM, ``python3 chores.py bench together``.

Both get the same pandas frame with categories as they are, with their default threads. Each answer is checked first:
on rows of its own our log-loss may not be above LightGBM's by more than a tenth. Times are the best of several.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import smoke
from accuracy import SHARED
from protocol import load, sets
from run import peak_of

import naively as nv
from naively import _kernels

try:
    import lightgbm
except ImportError:
    lightgbm = None

TARGETS = {"adult: fit": 2.0, "rows: fit": 0.7, "rows: predict": 0.5}  # our time at most so many times LightGBM's
PAIR_CELLS = 50e6  # a second and core, at least
MOST_MEMORY = 256 + 256  # MiB beyond the table: the budget of pairs, and as much again


def main() -> int:
    """Print a line for each measure; the exit code says whether every target was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--shared", type=Path, default=SHARED, help="the folder with the table `adult`")
    options = smoke.parsed(parser, shared=smoke.shared, rows=1_000, repeats=1)
    if lightgbm is None:
        print("LightGBM is not installed, and left out")
    met = []
    if (options.shared / "data" / "datasets.json").exists():
        met += measured("adult", *adult(options.shared), options.repeats)
    else:
        print(f"adult: skipped, {options.shared} does not hold it")
    met += measured("rows", *mixed(options.rows, options.rows // 10), options.repeats)
    met += [memory(options.rows), counting(*((1 << 10, 2) if options.smoke else (1 << 15, 20)))]
    return 0 if all(met) or options.smoke else 1


def adult(shared: Path) -> tuple[Any, Any, Any, Any]:
    """Return the table `adult`, as its authors have split it."""
    X, y, part, facts = load(shared / "data", sets(shared, "adult", "tabular")["adult"])
    X = X.astype({name: "category" for name, kind in facts.kinds.items() if kind == "cat"})
    train = np.asarray(part) == "train"
    return X[train].reset_index(drop=True), y[train], X[~train].reset_index(drop=True), y[~train]


def mixed(rows: int, fresh: int) -> tuple[Any, Any, Any, Any]:
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
    ours = nv.NaiveBayes().fit(X, y)
    loss = loss_of(ours, fresh, truth)
    print(f"{name}: {len(X):,} rows, log-loss of {len(fresh):,} others {loss:.4f}")
    calls: dict[str, Callable[[], Any]] = {
        "fit": lambda: nv.NaiveBayes().fit(X, y).predict(X[:1]),
        "predict": lambda: ours.predict_proba(X),
    }
    if lightgbm is None:
        prior = np.bincount(y) / len(y)
        assert loss < -np.log(prior[truth]).mean(), f"{name}: the predictions are no better than the prior"
        for what, mine in calls.items():
            print(f"{name}: {what} {best(mine, repeats):.3f} s", flush=True)
        return []
    theirs = lightgbm.LGBMClassifier(verbose=-1).fit(X, y)
    other_loss = loss_of(theirs, fresh, truth)
    print(f"{name}: log-loss of LightGBM {other_loss:.4f}")
    if loss > 1.1 * other_loss:
        raise SystemExit(f"{name}: the answers are too bad to be timed.")
    others = (lambda: lightgbm.LGBMClassifier(verbose=-1).fit(X, y), lambda: theirs.predict_proba(X))
    met = []
    for (what, mine), other in zip(calls.items(), others, strict=True):
        a, b = best(mine, repeats), best(other, repeats)
        target = TARGETS.get(f"{name}: {what}")
        met.append(target is None or a <= target * b)
        wanted = "" if target is None else f" (target {target}{'' if met[-1] else ' ✗'})"
        print(f"{name}: {what} {a:.3f} s, LightGBM {b:.3f} s: {a / b:.2f} of its time{wanted}", flush=True)
    return met


def loss_of(model: Any, fresh: Any, truth: Any) -> float:
    """Return the log loss of a model on other rows."""
    return float(nv.Scores(model.predict_proba(fresh), truth, model.classes_).log_loss)


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


def counting(rows: int, repeats: int, columns: int = 20, size: int = 16) -> bool:
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
    rate = rows * columns * (columns - 1) / 2 / best(count, repeats)
    print(f"counting: {rate / 1e6:.0f} M pair-cells a second and core (target {PAIR_CELLS / 1e6:.0f})")
    return rate >= PAIR_CELLS


if __name__ == "__main__":
    sys.exit(main())
