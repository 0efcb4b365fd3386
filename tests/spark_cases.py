"""Tables for the tests on Spark, and the programs that they run as processes of their own."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pyarrow as pa


def mixed_table(rows: int, seed: int = 0) -> pa.Table:
    """Return rows of every type that Spark has and that can be counted, with missing values and a label."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, rows, p=[0.5, 0.3, 0.2])
    missing = rng.random((rows, 4)) < 0.05
    day = datetime.date(2024, 1, 1)
    days = np.datetime64(day) + rng.integers(0, 200, rows) + 30 * y
    cents = [decimal.Decimal(int(n)) / 100 for n in rng.integers(0, 10_000, rows) + 900 * y]
    return pa.table(
        {
            "x": pa.array(rng.normal(y, 1.5), mask=missing[:, 0]),
            "visits": pa.array(rng.poisson(2 + 2 * y), mask=missing[:, 1]),
            "colour": pa.array(["red", "green", "blue", "grey"]).take(
                pa.array((rng.integers(0, 4, rows) + (rng.random(rows) < 0.4) * y) % 4, mask=missing[:, 2])
            ),
            "member": pa.array(rng.random(rows) < 0.2 + 0.3 * y, mask=missing[:, 3]),
            "day": pa.array(days.astype("datetime64[D]")),
            "price": pa.array(cents, pa.decimal128(10, 2)),
            "label": pa.array(["low", "middle", "high"]).take(pa.array(y)),
        }
    )


def text_table(rows: int, classes: int) -> pa.Table:
    """Return texts, a category, a weight and one of many classes; some rows have no label."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, classes, rows)
    words = [" ".join(f"w{(k * n) % 97}" for n in rng.integers(1, 40, 6)) for k in y]
    labels = pa.array([f"class {k:02}" for k in range(classes)]).take(pa.array(y, mask=rng.random(rows) < 0.03))
    shop = pa.array([f"shop {k}" for k in (y + rng.integers(0, 3, rows)) % 11])
    return pa.table(
        {"note": words, "shop": shop, "times": pa.array(rng.integers(1, 4, rows), pa.int64()), "label": labels}
    )


# Fits on Spark Connect, a client without a JVM of its own: prints whether everything is as in one process.
CONNECTED = """
import sys, warnings
warnings.filterwarnings("ignore")
import numpy as np, pyarrow.parquet as pq
from pyspark.ml import Pipeline
from pyspark.sql import SparkSession
import naively as nv
from naively import spark as nv_spark

session = SparkSession.builder.remote("local[2]").getOrCreate()
assert ".connect." in type(session).__module__
frame, table = session.read.parquet(sys.argv[1]), pq.read_table(sys.argv[1])
alone = nv.NaiveBayes(model="textbook").fit(table, target="label")
for rows in (frame, frame.filter("x is null or x > -1e9")):
    assert nv_spark.count(rows, target="label") == alone.counts_
nb = nv_spark.fit(frame.repartition(3), target="label")
one = nv.NaiveBayes().fit(table, target="label")
assert np.abs(nb.predict_proba(table) - one.predict_proba(table)).max() <= 1e-9
answers = nv_spark.predict(nb, frame, contributions=1).toArrow()
assert answers.num_rows == table.num_rows
scores = nv_spark.evaluate(nb, frame, target="label")
assert scores.rows == table.num_rows
model = nv_spark.SparkClassifier(target="label", model="textbook").fit(frame)
assert model.classifier.counts_ == alone.counts_
model.write().save(sys.argv[2])
again = nv_spark.SparkClassifierModel.load(sys.argv[2])
assert again.transform(frame).count() == table.num_rows
print("connected", session.version)
session.stop()
"""

# Counts on two executors, one of which is killed while it counts: prints whether the counts are those of one process.
KILLED = """
import os, signal, sys, threading, time, warnings
warnings.filterwarnings("ignore")
from pathlib import Path
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
import naively as nv
from naively import spark as nv_spark

MARK = f"-Dnaively.test={os.getpid()}"

def executors():
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if b"CoarseGrainedExecutorBackend" in command and MARK.encode() in command:
            found.append(int(process.name))
    return found

builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.executor.memory", "512m")
builder = builder.config("spark.executor.extraJavaOptions", MARK).config("spark.ui.enabled", "false")
session = builder.config("spark.executorEnv.PYTHONPATH", os.environ.get("PYTHONPATH", "")).getOrCreate()
session.sparkContext.setLogLevel("OFF")
table, begun = pq.read_table(sys.argv[1]), Path(sys.argv[2])
begun.mkdir()

def slowly(batches, begun=str(begun)):
    import os, pathlib, time
    for batch in batches:
        pathlib.Path(begun, str(os.getppid())).touch()  # the daemon of an executor
        time.sleep(1)
        yield batch

frame = session.createDataFrame(table).repartition(6)
frame = frame.mapInArrow(slowly, frame.schema)
killed = []

def kill_one():
    while len(list(begun.iterdir())) < 2:  # until tasks run on both
        time.sleep(0.05)
    killed.append(executors()[0])
    os.kill(killed[0], signal.SIGKILL)

thread = threading.Thread(target=kill_one, daemon=True)
thread.start()
counts = nv_spark.count(frame, target="label")
assert killed and killed[0] not in executors()
assert counts == nv.count(table, target="label")
assert len(list(begun.iterdir())) > 2, "a new executor took over"
print("same counts after a kill")
session.stop()
"""
