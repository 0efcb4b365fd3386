"""The speed of the five classes against scikit-learn's, in one process: ``python3 chores.py bench``.

Every answer is checked before it is timed: labels equal, log joints to 1e-10, counts identical. Times are medians;
what counts is the ratio, taken side by side on the same machine. The floor is the time to read the input once with as
many threads.
"""

from __future__ import annotations

import argparse
import gc
import pickle
import platform
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
import sklearn.naive_bayes as peer
import smoke
import workloads
from scipy import sparse

import naively.sklearn as ours
from naively._threads import allowed

OPERATIONS = ("fit", "predict", "predict_proba")


@dataclass(frozen=True)
class Case:
    """One line of the table: a classifier, its data and the ratios it must reach."""

    title: str
    name: str
    make: Callable[[float], tuple[Any, Any]]
    targets: tuple[float, float, float]


CASES = (
    Case(
        "Gaussian f64 500,000×50, 10 classes", "GaussianNB", lambda s: workloads.bells(int(500_000 * s)), (20, 40, 25)
    ),
    Case(
        "Gaussian f32 500,000×50, 10 classes",
        "GaussianNB",
        lambda s: workloads.bells(int(500_000 * s), dtype=np.float32),
        (15, 35, 20),
    ),
    Case(
        "Gaussian f64 100,000×50, 200 classes",
        "GaussianNB",
        lambda s: workloads.bells(int(100_000 * s), classes=200),
        (20, 80, 60),
    ),
    Case(
        "categorical 2,000,000×20, 5 classes",
        "CategoricalNB",
        lambda s: workloads.codes(int(2_000_000 * s)),
        (60, 30, 25),
    ),
    *(
        Case(
            f"sparse 200,000×100,000, 20 classes: {name[:-2].lower()}",
            name,
            lambda s: workloads.bags(int(200_000 * s), entries=int(24_000_000 * s)),
            (4, 3, 3),
        )
        for name in ("MultinomialNB", "ComplementNB", "BernoulliNB")
    ),
)


def main() -> int:
    """Print the table; the exit code says whether every target was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="multiply the number of rows")
    parser.add_argument("--only", default="", help="run the lines whose title contains this")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--memory", type=int, help="measure the memory of this case alone")
    options = smoke.parsed(parser, scale=0.01, repeats=1)
    if options.memory is not None:
        return measure_memory(CASES[options.memory], options.scale)
    print(
        f"{platform.machine()}, {allowed()} threads, Python {platform.python_version()}, "
        f"scikit-learn {sklearn.__version__}, NumPy {np.__version__}\n"
    )
    print("| workload | operation | scikit-learn ms | naively ms | ratio | target | floor ms | of floor |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    met = [run(case, options) for case in CASES if options.only in case.title]
    met += [one(options) for one in (run_large, run_one_row, run_stream) if options.only in (one.__doc__ or "")]
    if not options.only:
        met.append(run_memory(options))
    return 0 if all(met) or options.smoke else 1


def run(case: Case, options: argparse.Namespace) -> bool:
    """Time the three operations of one case."""
    X, y = data_of(case, options.scale)
    models = [getattr(module, case.name)() for module in (peer, ours)]
    check(*models, X, y)
    floor, met = read_time(X), True
    for operation, target in zip(OPERATIONS, case.targets, strict=True):
        slow, fast = (
            timed(model, operation, X, y, repeats)
            for model, repeats in zip(models, (min(3, options.repeats), options.repeats), strict=True)
        )
        met &= line(case.title, operation, slow, fast, target, floor)
    return met


def data_of(case: Case, scale: float, made: dict[Any, Any] = {}) -> tuple[Any, Any]:  # noqa: B006  # the last data set, kept
    """Return the data of a case, made once for neighbouring cases that share it."""
    key = case.title.split(":")[0], scale
    if key not in made:
        made.clear()
        gc.collect()
        made[key] = case.make(scale)
    return made[key]  # type: ignore[no-any-return]


def check(theirs: Any, mine: Any, X: Any, y: Any) -> None:
    """Refuse to time wrong answers."""
    theirs.fit(X, y)
    mine.fit(X, y)
    some = X[:20_000]
    a, b = theirs.predict_joint_log_proba(some), mine.predict_joint_log_proba(some)
    exact = X.dtype == np.float32  # then scikit-learn's own rounding is larger
    np.testing.assert_allclose(b, a, rtol=1e-3 if exact else 1e-10, err_msg="log joint")
    np.testing.assert_allclose(mine.predict_proba(some).sum(axis=1), 1.0, rtol=1e-5 if exact else 1e-12)
    agree = np.mean(theirs.predict(some) == mine.predict(some))
    assert agree == 1.0 or (exact and agree > 0.999), f"labels agree on {agree:.4%} only"
    np.testing.assert_array_equal(np.asarray(mine.class_count_), np.unique(y, return_counts=True)[1].astype(float))


def timed(model: Any, operation: str, X: Any, y: Any, repeats: int) -> float:
    """Return the median of the seconds that the operation takes."""
    call = (lambda: model.fit(X, y)) if operation == "fit" else (lambda: getattr(model, operation)(X))
    call()
    return median_time(call, repeats)


def median_time(call: Callable[[], Any], repeats: int) -> float:
    """Return the median of the seconds that a call takes."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def read_time(X: Any) -> float:
    """Return the seconds it takes to read the input once, with as many threads as the library uses."""
    arrays = [X.data, X.indices] if sparse.issparse(X) else [X]
    flat = [array.reshape(-1).view(np.uint64) for array in arrays]
    parts = [piece for array in flat for piece in np.array_split(array, allowed())]

    def read() -> None:
        workers = [threading.Thread(target=np.bitwise_or.reduce, args=(part,)) for part in parts]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    return median_time(read, 5)


def line(title: str, operation: str, slow: float, fast: float, target: float, floor: float | None) -> bool:
    """Print one line of the table and tell whether its target was met."""
    ratio = slow / fast
    share = f"{floor * 1e3:.1f} | {floor / fast:.0%}" if floor else "– | –"
    mark = "" if ratio >= target else " ✗"
    print(
        f"| {title} | {operation} | {slow * 1e3:.4g} | {fast * 1e3:.4g} | {ratio:.1f}×{mark} "
        f"| ≥ {target:g}× | {share} |",
        flush=True,
    )
    return ratio >= target


def run_large(options: argparse.Namespace) -> bool:
    """Fit Gaussian numbers of 800 MB, beside the time to read them."""
    X, y = workloads.bells(int(2_000_000 * options.scale))
    model = ours.GaussianNB()
    fast, floor = timed(model, "fit", X, y, options.repeats), read_time(X)
    assert np.array_equal(model.class_count_, np.bincount(y))
    print(
        f"| Gaussian f64 2,000,000×50 (800 MB) | fit | – | {fast * 1e3:.4g} | – | ≥ 55 % of floor "
        f"| {floor * 1e3:.1f} | "
        f"{floor / fast:.0%}{'' if floor / fast >= 0.55 else ' ✗'} |",
        flush=True,
    )
    return floor / fast >= 0.55


def run_one_row(options: argparse.Namespace) -> bool:
    """Ask about one row of 50 columns, through predict and predict_proba."""
    X, y = workloads.bells(2_000)
    met, row = True, X[:1]
    models = [module.GaussianNB().fit(X, y) for module in (peer, ours)]
    for operation in OPERATIONS[1:]:
        slow, fast = (latency(getattr(model, operation), row, 20 if options.smoke else 500) for model in models)
        assert np.allclose(models[0].predict_proba(row), models[1].predict_proba(row))
        met &= line("one row of 50 columns", operation, slow, fast, 10, None)
    return met


def latency(call: Callable[[Any], Any], row: Any, times: int) -> float:
    """Return the median of the seconds that one call takes, in the middle of many."""
    for _ in range(times // 10):
        call(row)
    return median_time(lambda: call(row), times)


def run_stream(options: argparse.Namespace) -> bool:
    """Learn one row at a time, 50 columns, by partial_fit."""
    X, y = workloads.bells(2_000)
    classes = np.arange(10)

    def learn(make: Any, rows: int) -> float:
        model = make().partial_fit(X[:1], y[:1], classes=classes)
        start = time.perf_counter()
        for row in range(1, rows):
            model.partial_fit(X[row : row + 1], y[row : row + 1])
        assert model.class_count_.sum() == rows
        return (time.perf_counter() - start) / (rows - 1)

    slow, fast = learn(peer.GaussianNB, 50 if options.smoke else 500), learn(ours.GaussianNB, 2_000)
    met = line("one row at a time, 50 columns", "partial_fit", slow, fast, 20, None)
    return river(X, y, fast) and met


def run_memory(options: argparse.Namespace) -> bool:
    """Print the peak memory of fit and predict beyond input, output and model, each case in a process of its own."""
    print("\n| workload | model MiB | fit MiB | predict MiB | target |\n|---|---:|---:|---:|---:|", flush=True)
    if options.smoke:
        return measure_memory(CASES[0], options.scale) == 0
    command = [sys.executable, __file__, "--scale", str(options.scale), "--memory"]
    codes = [subprocess.run([*command, str(number)], check=False).returncode for number in range(len(CASES))]
    return not any(codes)


def measure_memory(case: Case, scale: float) -> int:
    """Print the line of one case; the exit code says whether its target was met."""
    X, y = case.make(scale)
    model = getattr(ours, case.name)()
    fit = peak_of(lambda: model.fit(X, y))
    predict = max(peak_of(lambda: model.predict(X)) - 8 * len(y), 0)
    held = model_bytes(model)
    most = (64 << 20) + held
    mark = "" if max(fit, predict) <= most else " ✗"
    sizes = " | ".join(f"{size / 2**20:.1f}" for size in (held, fit, predict))
    print(f"| {case.title} | {sizes} | ≤ 64 + model{mark} |", flush=True)
    return 1 if mark else 0


def model_bytes(model: Any) -> int:
    """Return what a fitted classifier holds: its counts, and the tables estimated from them."""
    return len(pickle.dumps(model))


def peak_of(call: Callable[[], Any]) -> int:
    """Return by how many bytes the resident memory rose at most during a call (Linux)."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is measured from now on
    before = status("VmRSS")
    kept = call()
    del kept
    return status("VmHWM") - before


def status(name: str) -> int:
    """Return a figure of /proc/self/status in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def river(X: Any, y: Any, fast: float) -> bool:
    """Print River's time for the same stream, where it is installed."""
    try:
        from river import naive_bayes
    except ImportError:
        print("| one row at a time, 50 columns | River is not installed | – | – | – | ≥ 1× | – | – |")
        return True
    rows = [dict(enumerate(map(float, row))) for row in X[:1_000]]
    model = naive_bayes.GaussianNB()
    start = time.perf_counter()
    for row, label in zip(rows, y.tolist(), strict=False):
        model.learn_one(row, label)
    return line(
        "one row at a time, 50 columns (River)", "learn_one", (time.perf_counter() - start) / len(rows), fast, 1, None
    )


if __name__ == "__main__":
    sys.exit(main())
