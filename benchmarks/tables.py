"""The speed of NaiveBayes on tables against what one would take instead: ``python3 chores.py bench tables``.

Every answer is checked before it is timed. Times are medians; what counts is the ratio, taken in one process. The
peers get pandas frames as they are; beside Polars and Arrow they get what they take fastest: strings as objects.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import gc
import platform
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import peers
import polars as pl
import pyarrow as pa
import sklearn
import smoke
import workloads
from run import latency, median_time, model_bytes, peak_of
from sklearn.model_selection import cross_validate

import naively as nv
from naively import NaiveBayes
from naively._threads import allowed
from naively.sklearn import GaussianNB

TEXTS, NUMBERS = [f"s{j}" for j in range(10)], [f"x{j}" for j in range(10)]  # the columns of a mixed table
FORMS: dict[str, Callable[[Any], Any]] = {
    "pandas": lambda table: table.to_pandas(),
    "Polars": pl.from_arrow,
    "Arrow": lambda table: table,
}
CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "fit": lambda model, X, y: model.fit(X, y).predict(X[:1]),  # whatever is put off until the first question counts
    "predict": lambda model, X, y: model.predict(X),
}


def main() -> int:
    """Print the table; the exit code says whether every target was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="multiply the number of rows")
    parser.add_argument("--only", choices=sorted(PARTS), help="run this part alone")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--form", choices=sorted(FORMS), help="measure the memory of this form alone")
    options = smoke.parsed(parser, scale=0.002, repeats=1)
    if options.form:
        return measure_memory(options)
    print(
        f"{platform.machine()}, {allowed()} threads, Python {platform.python_version()}, scikit-learn "
        f"{sklearn.__version__}, pandas {pd.__version__}, Polars {pl.__version__}, PyArrow {pa.__version__}\n"
    )
    print("| workload | operation | peer | peer ms | naively ms | ratio | target |")
    print("|---|---|---|---:|---:|---:|---:|")
    met = [part(options) for name, part in PARTS.items() if options.only in (None, name)]
    return 0 if all(met) or options.smoke else 1


def line(title: str, operation: str, peer: str, slow: float | None, fast: float, target: str, good: bool) -> bool:
    """Print one line of the table; a time above another has the ratio of both."""
    ratio = f"{slow * 1e3:.4g} | {fast * 1e3:.4g} | {slow / fast:.1f}×" if slow else f"– | {fast * 1e3:.4g} | –"
    print(f"| {title} | {operation} | {peer} | {ratio}{'' if good else ' ✗'} | {target} |", flush=True)
    return good


# --- whole tables -----------------------------------------------------------------------------------------------------


def run_strings(options: argparse.Namespace) -> bool:
    """Fit and ask about twenty columns of strings."""
    table, y = workloads.strings(int(400_000 * options.scale))
    titles = f"strings {len(y):,}×20", "OrdinalEncoder + CategoricalNB"
    ours = functools.partial(NaiveBayes, model="textbook", prior_smoothing=0)  # scikit-learn does not smooth the prior
    return compare(titles, table, y, peers.encoded_strings, ours, check_equal, (8, 10), options)


def run_mixed(options: argparse.Namespace) -> bool:
    """Fit and ask about ten columns of strings and ten of numbers, one cell in twenty missing."""
    table, y = workloads.mixed(int(1_000_000 * options.scale))
    titles = f"mixed {len(y):,}×20", "sk-gauss+cat"
    theirs = functools.partial(peers.GaussAndCategories, TEXTS, NUMBERS)
    textbook = functools.partial(NaiveBayes, model="textbook")
    met = compare(titles, table, y, theirs, textbook, check_alike, (10, 10), options)
    for name, make in peers.packages():
        run_package(name, make, table.slice(0, 20_000).to_pandas(), y[:20_000])
    return met


def compare(
    titles: tuple[str, str], table: Any, y: Any, theirs: Any, ours: Any, check: Any, targets: Any, options: Any
) -> bool:
    """Time fit and predict of each form of a table beside those of the peer."""
    frame = table.to_pandas()
    peer, met = theirs().fit(frame, y), True
    times = {form: peer_times(theirs(), X, y) for form, X in (("pandas", frame), ("", frame.astype(objects(frame))))}
    for form, convert in FORMS.items():
        X, model = convert(table), ours()
        check(peer, model.fit(X, y), frame[:20_000], X[:20_000], y[:20_000])
        for name, target, slow in zip(CALLS, targets, times.get(form, times[""]), strict=True):
            fast = median_time(functools.partial(CALLS[name], model, X, y), options.repeats)
            met &= line(f"{titles[0]}, {form}", name, titles[1], slow, fast, f"≥ {target}×", slow >= target * fast)
    return met


def objects(frame: Any) -> dict[str, type]:
    """Return the types that make a frame quickest for scikit-learn's encoder."""
    return {name: object for name in frame if frame[name].dtype.kind != "f"}


def peer_times(peer: Any, X: Any, y: Any) -> tuple[float, float]:
    """Return the median seconds of three fits and three predictions."""
    return median_time(lambda: peer.fit(X, y), 3), median_time(lambda: peer.predict(X), 3)


def check_equal(peer: Any, model: Any, frame: Any, X: Any, y: Any) -> None:
    """Refuse to time other probabilities than scikit-learn's."""
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(frame), atol=1e-9, err_msg="probabilities")
    np.testing.assert_array_equal(model.predict(X), peer.predict(frame))


def check_alike(peer: Any, model: Any, frame: Any, X: Any, y: Any) -> None:
    """Refuse to time labels that differ from the peer's in more than 1 % of rows, or are right less often."""
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-12)
    mine, theirs = np.asarray(model.predict(X)), peer.predict(frame)
    agree, right, expected = np.mean(mine == theirs), np.mean(mine == y), np.mean(theirs == y)
    assert agree > 0.99, f"labels agree on {agree:.2%} only"
    assert right > expected - 0.001, f"{right:.2%} of the labels are right, and {expected:.2%} of the peer's"


def run_package(name: str, make: Any, frame: Any, y: Any) -> None:
    """Print the times of a package that is no target, on few rows: predicting with wnb takes 0.4 ms for each."""
    title = f"mixed {len(y):,}×20, pandas"
    if make is None:
        print(f"| {title} | not installed | {name} | – | – | – | – |")
        return
    peer, model = peers.OneArray(TEXTS, NUMBERS, make), NaiveBayes(model="textbook").fit(frame, y)
    with warnings.catch_warnings(action="ignore"):
        try:
            slow = [median_time(lambda: peer.fit(frame, y), 1), median_time(lambda: peer.predict(frame), 1)]
        except Exception as error:  # whatever it is, it is theirs
            print(f"| {title} | fails: {type(error).__name__} | {name} | – | – | – | – |")
            return
    for operation, theirs in zip(CALLS, slow, strict=True):
        mine = median_time(functools.partial(CALLS[operation], model, frame, y), 5)
        line(title, operation, name, theirs, mine, "–", True)


# --- single rows ------------------------------------------------------------------------------------------------------


def run_row(options: argparse.Namespace) -> bool:
    """Ask about one row of a mixed table, as a dict and as a frame."""
    rows, times = (2_000, 20) if options.smoke else (20_000, 500)
    table, y = workloads.mixed(rows)
    frame, row = table.to_pandas(), table.slice(7, 1).to_pylist()[0]
    model, peer = NaiveBayes(model="textbook").fit(frame, y), peers.GaussAndCategories(TEXTS, NUMBERS).fit(frame, y)
    one, title = frame.iloc[[7]], "one row of 20 mixed columns"
    same = model.predict_proba(row), model.predict_proba(one)
    np.testing.assert_allclose(np.ravel(same[0]), np.ravel(same[1]), rtol=1e-12)
    assert np.argmax(same[0]) == np.argmax(peer.predict_proba(one))
    slow = latency(peer.predict_proba, one, times // 5)
    fast = latency(model.predict_proba, row, times)
    met = line(f"{title}, dict", "predict_proba", "sk-gauss+cat", slow, fast, "< 0.1 ms", fast < 1e-4)
    fast = latency(model.predict_proba, one, times)
    good = fast < 1e-3 and slow >= 3 * fast
    met &= line(f"{title}, pandas", "predict_proba", "sk-gauss+cat", slow, fast, "< 1 ms, ≥ 3×", good)
    return default_rows(rows, times) and met


def default_rows(rows: int, times: int) -> bool:
    """Ask the default model about one dict of 14 columns and about one text; a table of all rows answers the same."""
    table, y = workloads.mixed(rows)
    table = table.select([*TEXTS[:7], *NUMBERS[:5]])
    for name in (TEXTS[0], NUMBERS[0]):  # columns that say the same twice, so that the default model is used
        table = table.append_column(f"{name} again", table[name])
    words = np.array([f"word{k}" for k in range(500)])
    drawn = np.random.default_rng(1).integers(0, 400, (2_000, 20)) + 100 * (y[:2_000, None] % 2)
    texts = [" ".join(line) for line in words[drawn]]
    cases = [
        ("dict of 14 columns", NaiveBayes().fit(table, y), table, table.slice(7, 1).to_pylist()[0], 80e-6),
        ("text of 20 words", NaiveBayes().fit(texts, y[:2_000] % 2), texts, [texts[7]], 60e-6),
    ]
    met = True
    for title, model, every, row, most in cases:
        assert model.fitted_.weights is not None, "the textbook model answers"
        np.testing.assert_array_equal(model.predict_proba(row)[0], model.predict_proba(every)[7])
        for call in (model.predict_proba, model.predict, model.explain):
            name, fast = call.__name__, latency(call, row, times)
            target = f"≤ {most * 1e6:.0f} µs" if name == "predict_proba" else "–"
            met &= line(f"default model, one {title}", name, "–", None, fast, target, target == "–" or fast <= most)
    return met


def run_stream(options: argparse.Namespace) -> bool:
    """Learn dicts one at a time, beside River, and into a model that has met many values."""
    table, y = workloads.mixed(4_000)
    met = beside_river("20 mixed columns", "River GaussianNB + BernoulliNB", table, y)
    met &= beside_river("10 numbers", "River GaussianNB", table.select(NUMBERS), y)
    few, many = (seconds_in_model(values, options.scale) for values in (10, 100_000))
    title = "one dict at a time, a column of {} values"
    line(title.format("10"), "partial_fit", "–", None, few, "–", True)
    good = many < 2 * few
    return line(title.format("100,000"), "partial_fit", "naively, 10 values", few, many, "≥ 0.5×", good) and met


def beside_river(what: str, name: str, table: Any, y: Any) -> bool:
    """Learn a quarter of the rows at once, then the others one by one."""
    rows, labels, title = table.to_pylist(), y.tolist(), f"one dict at a time, {what}"
    start = len(rows) // 4
    model = NaiveBayes(model="textbook").fit(table.slice(0, start).to_pandas(), y[:start])
    fast = seconds_each(model.partial_fit, rows[start:], [[label] for label in labels[start:]])
    batch = NaiveBayes(model="textbook").fit(table.to_pandas(), y)
    np.testing.assert_allclose(model.predict_proba(table), batch.predict_proba(table), atol=1e-9)
    try:
        river = peers.River()
    except ImportError:
        return line(title, "partial_fit", f"{name}: not installed", None, fast, "≥ 1×", True)
    slow = seconds_each(river.learn_one, rows, labels)
    return line(title, "partial_fit", name, slow, fast, "≥ 1×", fast <= slow)


def seconds_in_model(values: int, scale: float) -> float:
    """Return the seconds that one more dict takes a model that has met so many values in one column."""
    rows = int(200_000 * scale)
    table, y = workloads.crowded(rows, min(values, rows))
    model = NaiveBayes(model="textbook").fit(table.to_pandas(), y)
    return seconds_each(model.partial_fit, table.slice(0, 2_000).to_pylist(), [[label] for label in y[:2_000].tolist()])


def seconds_each(learn: Callable[[Any, Any], Any], rows: list[Any], labels: list[Any]) -> float:
    """Return the seconds that learning a row takes, the median of batches of 200."""
    seconds = []
    for first in range(0, len(rows), 200):
        batch = list(zip(rows, labels, strict=True))[first : first + 200]
        start = time.perf_counter()
        for row, label in batch:
            learn(row, label)
        seconds.append((time.perf_counter() - start) / len(batch))
    return statistics.median(seconds)


# --- folds ------------------------------------------------------------------------------------------------------------


def run_folds(options: argparse.Namespace) -> bool:
    """Score ten folds of numbers, and of strings, beside scikit-learn's cross_validate."""
    X, y = workloads.bells(int(1_000_000 * options.scale), 20, 2)
    met = folds_beside(f"numbers {len(y):,}×20", X, y, GaussianNB(), "naively.sklearn.GaussianNB", options)
    table, y = workloads.strings(int(1_000_000 * options.scale), 2)
    return (
        folds_beside(
            f"strings {len(y):,}×20", table.to_pandas(), y, NaiveBayes(model="textbook"), "NaiveBayes", options
        )
        and met
    )


def folds_beside(title: str, X: Any, y: Any, model: Any, name: str, options: argparse.Namespace) -> bool:
    """Score ten folds, once by subtraction and once by fitting the model ten times."""
    ours = functools.partial(nv.cross_validate, X, y, cv=10, model="textbook")
    theirs = functools.partial(cross_validate, model, X, y, cv=10)
    accuracy, expected = ours().accuracy, theirs()["test_score"].mean()
    assert abs(accuracy - expected) < 1e-3 + 10 / len(y), f"{accuracy:.2%} are right, and {expected:.2%} of the peer's"
    slow, fast = median_time(theirs, 3), median_time(lambda: ours().accuracy, options.repeats)
    peer = f"scikit-learn's cross_validate, {name}"
    return line(title, "cross_validate, 10 folds", peer, slow, fast, "≥ 3×", slow >= 3 * fast)


# --- one row at a time ------------------------------------------------------------------------------------------------


def run_left(options: argparse.Namespace) -> bool:
    """Leave each row out, beside answering all of them, and beside taking rows from the counts one by one."""
    X, y = workloads.bells(int(1_000_000 * options.scale), 20, 2)
    rng = np.random.default_rng(7)
    met = left_beside("numbers, 2 classes", X, y, None, 4, options)
    met &= left_beside("numbers, weights", X, y, rng.uniform(0.5, 2.0, len(y)), 6, options)
    X[rng.random(X.shape) < 0.05] = np.nan
    met &= left_beside("numbers, 5 % missing", X, y, None, 4, options)
    table, y = workloads.strings(int(1_000_000 * options.scale), 2)
    table = table.to_pandas().astype("category")
    met &= left_beside("categories, 2 classes", table, y, None, 4, options)
    met &= left_beside("categories, weights", table, y, rng.uniform(0.5, 2.0, len(y)), 6, options)
    X, y = workloads.bells(max(int(100_000 * options.scale), 2_000), 20, 200)  # of a class several rows
    met &= left_beside("numbers, 200 classes", X, y, None, 4, options)
    rows = int(100_000 * options.scale)
    X, y = workloads.bags(rows, 50_000, 10, 60 * rows)
    return left_beside("words, 10 classes", X, y, None, 15, options) and met


def left_beside(what: str, X: Any, y: Any, weights: Any, most: float, options: argparse.Namespace) -> bool:
    """Print how many times predict_proba it takes to leave each row out, and what one row at a time would take."""
    title, model = (
        f"{what}, {X.shape[0]:,}×{X.shape[1]:,}",
        NaiveBayes(model="textbook").fit(X, y, sample_weight=weights),
    )
    asked = median_time(lambda: model.predict_proba(X), options.repeats)
    left = median_time(lambda: model.leave_one_out(X, y, weights), options.repeats)
    good = left <= most * asked
    line(title, "leave_one_out", "naively, predict_proba", asked, left, f"≥ {1 / most:.2g}×", good)
    posterior, some = (
        model.leave_one_out(X, y, weights).posterior,
        range(0, X.shape[0], X.shape[0] // (3 if options.smoke else 10)),
    )
    begin = time.perf_counter()
    one_by_one = [without_row(model, X, y, weights, row) for row in some]
    slow = (time.perf_counter() - begin) / len(some) * X.shape[0]
    np.testing.assert_allclose(posterior[list(some)], one_by_one, rtol=1e-9, atol=1e-9)
    peer = f"taken from the counts one by one: {len(some)} rows timed, taken for all"
    return line(title, "leave_one_out", peer, slow, left, "≥ 10×", slow >= 10 * left) and good


def without_row(model: Any, X: Any, y: Any, weights: Any, row: int) -> Any:
    """Return P(class | row) by the model of all other rows."""
    one = X.iloc[[row]] if hasattr(X, "iloc") else X[[row]]
    taken = nv.count(one, y[[row]], schema=model.schema_, sample_weight=None if weights is None else weights[[row]])
    return NaiveBayes.from_counts(model.counts_ - taken, model.schema_).predict_proba(one)[0]


# --- memory -----------------------------------------------------------------------------------------------------------


def run_memory(options: argparse.Namespace) -> bool:
    """Print the peak memory of fitting each form of the mixed table beyond the table, in processes of their own."""
    print("\n| workload | table MiB | model MiB | fit MiB | target |\n|---|---:|---:|---:|---:|", flush=True)
    if options.smoke:
        options.form = "Arrow"
        return measure_memory(options) == 0
    command = [sys.executable, __file__, "--scale", str(options.scale), "--form"]
    codes = [subprocess.run([*command, form], check=False).returncode for form in FORMS]
    return not any(codes)


def measure_memory(options: argparse.Namespace) -> int:
    """Print the line of one form; the exit code says whether its target was met."""
    NaiveBayes(model="textbook").fit(*mixed_as(options.form, 1_000))  # whatever is loaded once is no part of it
    X, y = mixed_as(options.form, int(1_000_000 * options.scale))
    settle()
    model = NaiveBayes(model="textbook")
    fit = peak_of(lambda: CALLS["fit"](model, X, y))
    size, held = (X.memory_usage(deep=True).sum() if options.form == "pandas" else bytes_of(X)), model_bytes(model)
    mark = "" if fit <= (64 << 20) + held + size / 4 else " ✗"
    sizes = " | ".join(f"{part / 2**20:.1f}" for part in (size, held, fit))
    print(f"| mixed {len(y):,}×20, {options.form} | {sizes} | ≤ 64 + model + ¼ table{mark} |", flush=True)
    return 1 if mark else 0


def mixed_as(form: str, rows: int) -> tuple[Any, Any]:
    """Return a mixed table in one form, and nothing of how it was made."""
    table, y = workloads.mixed(rows)
    return FORMS[form](table), y


def bytes_of(X: Any) -> int:
    """Return the size of a Polars frame or an Arrow table."""
    return int(X.estimated_size() if isinstance(X, pl.DataFrame) else X.nbytes)


def settle() -> None:
    """Give memory that was freed back to the system, lest fit finds it there and seems to need none (Linux)."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)


PARTS: dict[str, Callable[[argparse.Namespace], bool]] = {
    "strings": run_strings,
    "mixed": run_mixed,
    "row": run_row,
    "stream": run_stream,
    "folds": run_folds,
    "left": run_left,
    "memory": run_memory,
}


if __name__ == "__main__":
    sys.exit(main())
