"""Tables for the tests on Spark, and a program that they run as a process of its own."""

import decimal

import numpy as np
import pyarrow as pa

LABEL = "label"


def mixed_table(rows, seed=0):
    """Return rows of every type that Spark has and that can be counted, with missing values and a label."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, rows, p=[0.5, 0.3, 0.2])
    missing = rng.random((rows, 4)) < 0.05
    days = np.datetime64("2024-01-01") + rng.integers(0, 200, rows) + 30 * y
    cents = [decimal.Decimal(int(n)) / 100 for n in rng.integers(0, 10_000, rows) + 900 * y]
    colours = (rng.integers(0, 4, rows) + (rng.random(rows) < 0.4) * y) % 4
    return pa.table(
        {
            "x": pa.array(rng.normal(y, 1.5), mask=missing[:, 0]),
            "visits": pa.array(rng.poisson(2 + 2 * y), mask=missing[:, 1]),
            "colour": pa.array(["red", "green", "blue", "grey"]).take(pa.array(colours, mask=missing[:, 2])),
            "member": pa.array(rng.random(rows) < 0.2 + 0.3 * y, mask=missing[:, 3]),
            "day": pa.array(days.astype("datetime64[D]")),
            "price": pa.array(cents, pa.decimal128(10, 2)),
            LABEL: pa.array(["low", "middle", "high"]).take(pa.array(y)),
        }
    )


def text_table(rows, classes):
    """Return texts, a category, a weight and one of many classes; some rows have no label."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, classes, rows)
    return pa.table(
        {
            "note": [" ".join(f"w{(k * n) % 97}" for n in rng.integers(1, 40, 6)) for k in y],
            "shop": [f"shop {k}" for k in (y + rng.integers(0, 3, rows)) % 11],
            "times": rng.integers(1, 4, rows),
            LABEL: pa.array([f"class {k:02}" for k in y], mask=rng.random(rows) < 0.03),
        }
    )


# Fits on Spark Connect, a client without a JVM of its own: prints whether everything is as in one process.
CONNECTED = """
import sys, warnings
warnings.filterwarnings("ignore")
import numpy as np, pyarrow.parquet as pq
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
assert nv_spark.predict(nb, frame, contributions=1).toArrow().num_rows == table.num_rows
assert nv_spark.evaluate(nb, frame, target="label").rows == table.num_rows
model = nv_spark.SparkClassifier(target="label", model="textbook").fit(frame)
assert model.classifier.counts_ == alone.counts_
model.write().save(sys.argv[2])
assert nv_spark.SparkClassifierModel.load(sys.argv[2]).transform(frame).count() == table.num_rows
print("connected", session.version)
session.stop()
"""
