"""Naively on Spark compared with MLlib's NaiveBayes, in one session, on the same rows: ``chores.py bench spark``.

Measured is the CPU time of the whole tree of processes: driver, JVM and Python workers. Results are checked before they
are timed. ``--memory`` counts 20 million rows instead, and prints the peak memory of the Python workers. It needs
PySpark and Java, and reads ``/proc``, so it runs on Linux.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import smoke
import workloads
from process_tree import TreeClock, descendants, processes
from pyspark.ml import Pipeline
from pyspark.ml.classification import NaiveBayes as MLlibNaiveBayes
from pyspark.ml.feature import Imputer, OneHotEncoder, StringIndexer, VectorAssembler
from pyspark.sql import DataFrame, SparkSession

import naively as nv
from naively import spark as nv_spark

TEXTS, NUMBERS = [f"s{j}" for j in range(10)], [f"x{j}" for j in range(10)]
FILES, GROUP = 8, 62_500
PIECE = 500_000  # rows that are made at once
MOST_MEMORY = 2 << 20  # KiB of all Python workers together


class Cost(NamedTuple):
    """What a call took: seconds on the clock, and CPU seconds of all processes."""

    wall: float
    cpu: float


def main() -> int:
    """Print the table; the exit code says whether every target was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, help="how many rows: 2 million, or 20 million for the memory")
    parser.add_argument("--repeats", type=int, default=2, help="runs of each call; the least CPU time counts")
    parser.add_argument("--one-hot", action="store_true", help="time MLlib on one-hot vectors, too")
    parser.add_argument("--memory", action="store_true", help="measure the memory of a large fit instead")
    parser.add_argument("--folder", type=Path, help="where to make the files; they are removed afterwards")
    options = smoke.parsed(parser, rows=800, repeats=0)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    folder = Path(tempfile.mkdtemp(prefix="naively-bench-", dir=options.folder))
    rows = options.rows or (20_000_000 if options.memory else 2_000_000)
    try:
        make_files(folder, rows)
        session = SparkSession.builder.master("local[2]").config("spark.driver.memory", "4g")
        spark = session.config("spark.ui.enabled", "false").getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
        good = memory(spark, folder, rows) if options.memory else compare(spark, folder, options)
        spark.stop()
        return 0 if good or options.smoke else 1
    finally:
        shutil.rmtree(folder)


def make_files(folder: Path, rows: int) -> None:
    """Write Parquet files of ten columns of texts, ten of numbers, 5 % missing values, and one of three labels."""
    for number in range(FILES):
        with_rows = rows // FILES
        table, y = workloads.mixed(min(with_rows, PIECE), classes=3, most=400)
        table = table.append_column("label", pa.array(["alpha", "beta", "gamma"]).take(pa.array(y)))
        with pq.ParquetWriter(folder / f"part-{number}.parquet", table.schema) as writer:
            for begin in range(0, with_rows, PIECE):
                writer.write_table(table.slice(0, min(PIECE, with_rows - begin)), row_group_size=GROUP)


# -- the comparison --------------------------------------------------------------------------------------------------


def compare(spark: SparkSession, folder: Path, options: argparse.Namespace) -> bool:
    """Print a line for each call, ours and MLlib's, and whether the targets are met."""
    plain = spark.read.parquet(str(folder))
    computed = plain.filter("x0 is null or x0 > -1e9")  # no longer a plain read of files
    check(folder, plain, computed)
    codes, one_hot = mllib(one_hot=False), mllib(one_hot=True)
    fits: dict[str, Callable[[], Any]] = {
        "MLlib, codes": lambda: codes.fit(plain),
        "MLlib, one-hot": lambda: one_hot.fit(plain),
        "textbook, files": lambda: nv_spark.fit(plain, target="label", model="textbook"),
        "textbook, rows of Spark": lambda: nv_spark.fit(computed, target="label", model="textbook"),
        "default, files": lambda: nv_spark.fit(plain, target="label"),
        "default, rows of Spark": lambda: nv_spark.fit(computed, target="label"),
    }
    if not options.one_hot:
        del fits["MLlib, one-hot"]
    print("| fit | wall s | CPU s | MLlib (codes) / this |\n|---|---:|---:|---:|")
    models, fitted = {}, {}
    for name, call in fits.items():
        models[name], fitted[name] = best(call, options.repeats)
        print_line(name, fitted[name], fitted["MLlib, codes"])
    predictions: dict[str, Callable[[], Any]] = {
        "MLlib, codes": lambda: drain(models["MLlib, codes"].transform(plain)),
        "MLlib, one-hot": lambda: drain(models["MLlib, one-hot"].transform(plain)),
        "textbook, files": lambda: drain(predicted_rows(models["textbook, files"], plain)),
        "textbook, rows of Spark": lambda: drain(predicted_rows(models["textbook, files"], computed)),
        "default, files": lambda: drain(predicted_rows(models["default, files"], plain)),
        "default, rows of Spark": lambda: drain(predicted_rows(models["default, files"], computed)),
    }
    print("\n| predict | wall s | CPU s | MLlib (codes) / this |\n|---|---:|---:|---:|")
    predicted = {}
    for name, call in predictions.items():
        if name not in models:
            continue
        predicted[name] = best(call, options.repeats)[1]
        print_line(name, predicted[name], predicted["MLlib, codes"])
    return all(
        [
            target("textbook fit", fitted["MLlib, codes"], fitted["textbook, files"], 3),
            target("textbook predict", predicted["MLlib, codes"], predicted["textbook, files"], 2),
            target("default fit", fitted["MLlib, codes"], fitted["default, files"], 1),
        ]
    )


def check(folder: Path, plain: DataFrame, computed: DataFrame) -> None:
    """Refuse to time wrong results: counts and predictions must be those of one process."""
    table = pq.read_table(folder)
    alone = nv.NaiveBayes(model="textbook").fit(table, target="label")
    for frame in (plain, computed):
        found = nv_spark.fit(frame, target="label", model="textbook")
        assert found.counts_ == alone.counts_, "the counts differ"
        rows = predicted_rows(found, frame).groupBy("answer").count().collect()
        own = dict(zip(*np.unique(alone.predict(table), return_counts=True), strict=True))
        assert {row["answer"]: row["count"] for row in rows} == own, "the predictions differ"


def mllib(*, one_hot: bool) -> Pipeline:
    """Return MLlib's pipeline: missing numbers imputed, texts indexed, maybe one-hot, a normal density for each."""
    imputed, coded, hot = (
        [f"{name}_{end}" for name in names] for names, end in ((NUMBERS, "i"), (TEXTS, "c"), (TEXTS, "h"))
    )
    stages: list[Any] = [
        Imputer(inputCols=NUMBERS, outputCols=imputed),
        StringIndexer(inputCols=TEXTS, outputCols=coded, handleInvalid="keep"),
        StringIndexer(inputCol="label", outputCol="class"),
    ]
    if one_hot:
        stages.append(OneHotEncoder(inputCols=coded, outputCols=hot))
    stages.append(VectorAssembler(inputCols=[*imputed, *(hot if one_hot else coded)], outputCol="features"))
    return Pipeline(stages=[*stages, MLlibNaiveBayes(modelType="gaussian", labelCol="class")])


def predicted_rows(model: nv.NaiveBayes, frame: DataFrame) -> DataFrame:
    """Return rows with predictions and the probability of each class."""
    return nv_spark.predict(model, frame, probabilities=True)


def drain(frame: DataFrame) -> None:
    """Make all rows of a DataFrame, and keep none."""
    frame.write.format("noop").mode("overwrite").save()


# -- memory ----------------------------------------------------------------------------------------------------------


def memory(spark: SparkSession, folder: Path, rows: int) -> bool:
    """Fit many rows, as files and as rows of Spark; print the peak memory of the Python workers."""
    plain = spark.read.parquet(str(folder))
    met = []
    for name, frame in (("files", plain), ("rows of Spark", plain.filter("x0 is null or x0 > -1e9"))):
        cost, nb = timed(lambda frame=frame: nv_spark.fit(frame, target="label"))
        assert nb.counts_.rows.sum() == FILES * (rows // FILES), "rows are missing"
        peaks = worker_peaks()
        total = sum(peaks)
        met.append(total <= MOST_MEMORY)
        print(
            f"default fit of {rows:,} rows, {name}: {cost.wall:.1f} s, {cost.cpu:.1f} CPU s; {len(peaks)} workers, "
            f"peaks {', '.join(f'{peak / 1024:.0f}' for peak in peaks)} MiB, {total / 1024:.0f} MiB in all"
            f"{'' if met[-1] else ' ✗'}",
            flush=True,
        )
    return all(met)


def worker_peaks() -> list[int]:
    """Return the peak resident memory of each Python worker of Spark, in KiB."""
    found = []
    for pid in descendants(processes(), os.getpid()):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        if b"pyspark" in command and b"java" not in command.split(b"\0")[0]:
            found += [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")]
    return sorted(found, reverse=True)


# -- measuring -------------------------------------------------------------------------------------------------------


def best(call: Callable[[], Any], repeats: int) -> tuple[Any, Cost]:
    """Return a result, and the costs of the run that took the least CPU time; the first run warms up."""
    runs = [timed(call) for _ in range(repeats + 1)]
    return runs[-1][1], min((cost for cost, _ in runs[1:] or runs), key=lambda cost: cost.cpu)


def timed(call: Callable[[], Any]) -> tuple[Cost, Any]:
    """Return what a call took, and its result."""
    wall, cpu = time.perf_counter(), CLOCK.seconds()
    result = call()
    return Cost(time.perf_counter() - wall, CLOCK.seconds() - cpu), result


def print_line(name: str, cost: Cost, other: Cost) -> None:
    """Print one line of the table."""
    print(f"| {name} | {cost.wall:.2f} | {cost.cpu:.2f} | {other.cpu / cost.cpu:.2f} |", flush=True)


def target(name: str, theirs: Cost, ours: Cost, least: float) -> bool:
    """Print whether we are so many times faster."""
    ratio = theirs.cpu / ours.cpu
    print(f"{name}: {ratio:.2f} times as fast as MLlib; target {least:g}{'' if ratio >= least else ' ✗'}", flush=True)
    return ratio >= least


CLOCK = TreeClock()

if __name__ == "__main__":
    sys.exit(main())
