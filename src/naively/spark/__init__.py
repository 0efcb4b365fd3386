"""Naively on Spark: counts, the default model, answers and scores of DataFrames, on clusters and on Spark Connect.

Needs the extra ``spark``: ``pip install "naively[spark]"``. The executors need Naively, too. Rows are counted where
they lie: tasks count them, counts are added in two levels, and the driver fits the model on counts and a sample.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..judge.histograms import ScoreSums
    from .evaluation import evaluate
    from .fitting import count, fit
    from .pipeline import SparkClassifier, SparkClassifierModel
    from .prediction import predict

__all__ = ["ScoreSums", "SparkClassifier", "SparkClassifierModel", "count", "evaluate", "fit", "predict"]

STAGES = ("SparkClassifier", "SparkClassifierModel")  # of pipelines: subclasses of PySpark's classes
# Names load when they are first used: workers import no more than they need, and nobody else needs PySpark.
_HOMES = {
    "ScoreSums": "naively.judge.histograms",
    **dict.fromkeys(STAGES, "naively.spark.pipeline"),
    "count": "naively.spark.fitting",
    "evaluate": "naively.spark.evaluation",
    "fit": "naively.spark.fitting",
    "predict": "naively.spark.prediction",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'naively.spark' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
