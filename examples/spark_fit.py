"""Fits the default model to Parquet files on Spark, scores it on other files, and writes predictions.

    spark-submit examples/spark_fit.py TRAIN TEST OUT --target species

TRAIN, TEST and OUT are paths that the cluster can read and write, such as ``s3a://bucket/train``. OUT gets the folder
``answers``; the model file is written by the driver, to MODEL.
"""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession

from naively import spark as nv_spark


def main() -> None:
    """Fit, score, predict."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("out")
    parser.add_argument("--target", required=True, help="the column of the classes")
    parser.add_argument("--ignore", nargs="*", default=[], help="columns that are not used, such as record numbers")
    parser.add_argument("--model", default="model.parquet", help="the model file")
    options = parser.parse_args()
    session = SparkSession.builder.appName("naively").getOrCreate()

    nb = nv_spark.fit(session.read.parquet(options.train), target=options.target, ignore=options.ignore)
    nb.save(options.model)
    print(nb.summary())

    test = session.read.parquet(options.test)
    print(nv_spark.evaluate(nb, test, target=options.target))
    answers = nv_spark.predict(nb, test, probabilities=True, contributions=3)
    answers.write.mode("overwrite").parquet(f"{options.out}/answers")


if __name__ == "__main__":
    main()
