"""Naively on Spark: counts, the default model, answers and scores of DataFrames, on clusters and on Spark Connect.

Needs the extra ``spark``: ``pip install "naively[spark]"``. The workers of the cluster need Naively, too. Rows never
leave them: tasks count rows, counts are added in two levels, and the driver fits the model on counts and a sample.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .evaluation import evaluate
from .fitting import count, fit
from .prediction import predict

if TYPE_CHECKING:
    from .pipeline import SparkClassifier, SparkClassifierModel

__all__ = ["SparkClassifier", "SparkClassifierModel", "count", "evaluate", "fit", "predict"]

_OF_PYSPARK = ("SparkClassifier", "SparkClassifierModel")  # subclasses of its classes: made when somebody uses them


def __getattr__(name: str) -> Any:
    if name in _OF_PYSPARK:
        return getattr(import_module(".pipeline", __name__), name)
    raise AttributeError(f"module 'naively.spark' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_OF_PYSPARK])
