"""From a file to a fitted model, beside DuckDB's own aggregates and Polars + scikit-learn: ``chores.py bench files``.

The answer is checked before it is timed. Times are the best of several, ours and theirs in turn; what counts is the
ratio. Polars and scikit-learn get a tenth of the rows, and so do we beside them: at full size they need 13 GB.
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
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import smoke
import workloads
from sklearn.impute import SimpleImputer
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.preprocessing import OrdinalEncoder

import naively as nv

TEXTS, NUMBERS = [f"s{j}" for j in range(10)], [f"x{j}" for j in range(10)]
FORMATS = ("csv", "parquet")
PIECE = 500_000  # rows that are made at once
AGAINST = {"csv": (1.25, 8), "parquet": (2.0, 20)}  # at most so many times DuckDB's time; at least so much faster
PEAK = 1 << 20  # KiB that counting may take, whatever the size of the file

# The peak is that of the program itself: what getrusage returns includes the process that started it.
MEMORY = """
import sys
import naively as nv
counts = nv.count(sys.argv[1], target="label")
print(counts.rows.sum(), next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""

FIT_PEAK = 512  # MiB that a fit with cross-validation may take, whatever the size of the file
FIT_MEMORY = """
import json, sys
import naively as nv
nb = nv.NaiveBayes(model=sys.argv[2])
done = nv.fit_files(nb, sys.argv[1], "label", cv=5)
[scores.to_dict() for scores in (done.scores, done.textbook_scores) if scores is not None]
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([done.rows, done.scores.accuracy, nb.counts_.columns["city"].n.sum(axis=0).tolist(), peak]))
"""


def main() -> int:
    """Print the table; the exit code says whether every target was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="multiply the number of rows, 10 million")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where to make the files; they are removed afterwards")
    options = smoke.parsed(parser, scale=2e-4, repeats=1)
    folder = Path(tempfile.mkdtemp(prefix="naively-bench-", dir=options.folder))
    try:
        return 0 if run(folder, int(10_000_000 * options.scale), options) or options.smoke else 1
    finally:
        shutil.rmtree(folder)


def run(folder: Path, rows: int, options: argparse.Namespace) -> bool:
    """Make the files, and print a line for each comparison."""
    sizes, models = ([rows], ["auto"]) if options.smoke else ([rows // 2, 2 * rows], ["auto", "textbook"])
    large, small = (made(folder, n) for n in (rows, rows // 10))
    print("| file | peer | peer s | naively s | naively / peer | target |")
    print("|---|---|---:|---:|---:|---:|")
    met = [peak(large["csv"], rows)]
    met += [fit_peak(folder, size, model) for size in sizes for model in models]
    for kind in FORMATS:
        most, least = AGAINST[kind]
        check(large[kind], rows)
        slow, fast = in_turn(lambda k=kind: aggregated(large[k]), lambda k=kind: fitted(large[k]), options.repeats)
        met.append(line(f"{kind}, {rows:,}×20", "DuckDB aggregates", slow, fast, f"≤ {most}", fast <= most * slow))
        slow, fast = in_turn(lambda k=kind: peer(small[k]), lambda k=kind: fitted(small[k]), 2)
        good = slow >= least * fast
        met.append(line(f"{kind}, {rows // 10:,}×20", "Polars + scikit-learn", slow, fast, f"≤ 1/{least}", good))
    return all(met)


def line(file: str, name: str, slow: float, fast: float, target: str, good: bool) -> bool:
    """Print one line of the table."""
    print(
        f"| {file} | {name} | {slow:.3g} | {fast:.3g} | {fast / slow:.3g}{'' if good else ' ✗'} | {target} |",
        flush=True,
    )
    return good


def made(folder: Path, rows: int) -> dict[str, Path]:
    """Return a CSV and a Parquet file of ten columns of texts, ten of numbers, missing values, and a label."""
    paths = {kind: folder / f"{rows}.{kind}" for kind in FORMATS}
    table, y = workloads.mixed(min(rows, PIECE))
    table = table.append_column("label", pa.array([f"class{k}" for k in range(5)]).take(pa.array(y)))
    options = pyarrow.csv.WriteOptions(quoting_style="needed")
    with (
        pyarrow.csv.CSVWriter(paths["csv"], table.schema, write_options=options) as text,
        pq.ParquetWriter(paths["parquet"], table.schema) as columns,
    ):
        for begin in range(0, rows, PIECE):
            part = table.slice(0, min(PIECE, rows - begin))
            text.write_table(part)
            columns.write_table(part)
    return paths


def in_turn(theirs: Callable[[], Any], ours: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Return the best seconds of both, measured in turn."""
    best = [float("inf")] * 2
    for _ in range(repeats):
        for at, call in enumerate((theirs, ours)):
            start = time.perf_counter()
            call()
            best[at] = min(best[at], time.perf_counter() - start)
    return best[0], best[1]


def aggregated(path: Path) -> list[Any]:
    """Return what DuckDB finds in one query: rows, and the mean or the ends of each column, class by class."""
    texts = ", ".join(f"min({name}), max({name})" for name in TEXTS)
    numbers = ", ".join(f"avg({name}), min({name}), max({name})" for name in NUMBERS)
    con = duckdb.connect()
    con.execute("set enable_progress_bar = false")
    query = f"select label, count(*), {texts}, {numbers} from '{path}' group by label order by label"
    found: list[Any] = con.sql(query).fetchall()
    return found


def fitted(path: Path) -> Any:
    """Return a classifier that has answered once."""
    nb = nv.NaiveBayes(model="textbook").fit(path, target="label")
    nb.predict([dict.fromkeys([*TEXTS, *NUMBERS])])
    return nb


def check(path: Path, rows: int) -> None:
    """Refuse to time other counts and means than DuckDB's."""
    counts = nv.count(path, target="label")
    assert counts.rows.sum() == rows
    for at, (label, n, *rest) in enumerate(aggregated(path)):
        assert (counts.classes.labels[at], counts.rows[at]) == (label, n)
        means = [counts.columns[name].mean[at, 0] for name in NUMBERS]
        np.testing.assert_allclose(means, rest[2 * len(TEXTS) :: 3], rtol=1e-9)


def peer(path: Path) -> None:
    """Read by Polars, encode, impute, and fit the two models whose log joint a user adds by hand."""
    frame = (pl.read_csv if path.suffix == ".csv" else pl.read_parquet)(path).to_pandas()
    y = frame["label"].to_numpy()
    codes = OrdinalEncoder(encoded_missing_value=-1, dtype="float64").fit_transform(frame[TEXTS]).astype("int32") + 1
    CategoricalNB().fit(codes, y)
    GaussianNB().fit(SimpleImputer().fit_transform(frame[NUMBERS]), y)


def peak(path: Path, rows: int) -> bool:
    """Print how much memory a process of its own takes at most to count the file."""
    command = [sys.executable, "-c", MEMORY, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert float(done[0]) == rows
    mib, size = int(done[1]) / 1024, path.stat().st_size / 2**20
    print(f"| csv, {size:,.0f} MiB | peak of memory | – | {mib:,.0f} MiB | – | < 1,024 MiB |", flush=True)
    return int(done[1]) < PEAK


def fit_peak(folder: Path, rows: int, model: str) -> bool:
    """Print how much memory a process of its own takes at most to fit and cross-validate a file of four columns."""
    path, cities, best = labelled(folder, rows)
    command = [sys.executable, "-c", FIT_MEMORY, str(path), model]
    done, accuracy, found, kib = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert (done, found) == (rows, [count for count in cities if count])
    assert abs(accuracy - best) < 0.01 + 1 / rows**0.5, (accuracy, best)  # and what chance adds on few rows
    mib = kib / 1024
    print(f"| csv, {rows:,}×4, {model} | peak of fit | – | {mib:,.0f} MiB | – | ≤ {FIT_PEAK} MiB |", flush=True)
    return bool(mib <= FIT_PEAK)


def labelled(folder: Path, rows: int) -> tuple[Path, list[float], float]:
    """Return a CSV file of a column of 2,000 labels, two of numbers and a class; and what its fit must find.

    These are how often each label is there, and the accuracy of the distribution that the rows are drawn from: the
    class follows from one of the numbers.
    """
    path, rng = folder / f"labels {rows}.csv", np.random.default_rng(0)
    cities, names, correct = np.zeros(2000), np.sort([f"c{k}" for k in range(2000)]), 0
    path.unlink(missing_ok=True)
    for begin in range(0, rows, PIECE):
        size = min(PIECE, rows - begin)
        y, city = rng.integers(0, 3, size), rng.integers(0, 2000, size)
        x = np.round(rng.normal(y, 1.5), 3)
        columns = {
            "city": names[city],
            "x": x,
            "age": rng.integers(18, 90, size),
            "label": np.array(["a", "b", "c"])[y],
        }
        with path.open("ab") as file:
            header = pyarrow.csv.WriteOptions(include_header=not begin, quoting_style="needed")
            pyarrow.csv.write_csv(pa.table(columns), file, header)
        cities += np.bincount(city, minlength=2000)
        correct += int((np.clip(np.rint(x), 0, 2) == y).sum())
    return path, cities.tolist(), correct / rows


if __name__ == "__main__":
    sys.exit(main())
