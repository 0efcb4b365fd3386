"""Naively on Spark: a DataFrame or Parquet files come in; counts, a model, predictions or scores go out.

Tasks count and predict the rows where they are, and the driver fits the model on the sum of their counts and a sample.
The package may import the estimator and the packages below it; PySpark is imported when it is first needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..judge.histograms import ScoreSums
from .fitting import count, fit
from .prediction import evaluate, predict
from .rows import import_pyspark

if TYPE_CHECKING:
    from .pipeline import SparkClassifier, SparkClassifierModel

__all__ = ["ScoreSums", "SparkClassifier", "SparkClassifierModel", "count", "evaluate", "fit", "predict"]

STAGES = ("SparkClassifier", "SparkClassifierModel")  # of pipelines: subclasses of PySpark's classes


def __getattr__(name: str) -> Any:
    if name not in STAGES:
        raise AttributeError(f"module 'naively.spark' has no attribute {name!r}")
    import_pyspark("pyspark.ml")  # or it says how to install it
    return getattr(import_module("naively.spark.pipeline"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *STAGES])
