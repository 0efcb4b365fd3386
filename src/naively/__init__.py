"""Naively: naive Bayes for real data. A model is a table of counts; everything else is arithmetic on it.

Names load when they are first used: ``import naively`` costs little and imports neither scikit-learn nor pandas.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import plots
    from .counting import count
    from .crossing import cross_validate
    from .decision import decide, expected_cost
    from .errors import LeftOutWarning, StaleWarning, TargetWarning, WeightWarning
    from .estimator import NaiveBayes
    from .evaluate import Scores
    from .evidence import Evidence
    from .families import Bernoulli, Bins, Categorical, Gaussian, Ordinal, Poisson, Settings, Words
    from .loading import load
    from .merging import merge
    from .read.files import File
    from .report import compare
    from .schema import Column, Schema
    from .statistics import Counts, Moments, Table
    from .unlabelled import Expected

__version__ = "0.1.0"

_HOMES = {
    "NaiveBayes": "estimator",
    "load": "loading",
    "compare": "report",
    "count": "counting",
    "cross_validate": "crossing",
    "Evidence": "evidence",
    "Expected": "unlabelled",
    "File": "read.files",
    "merge": "merging",
    "Scores": "evaluate",
    "LeftOutWarning": "errors",
    "StaleWarning": "errors",
    "TargetWarning": "errors",
    "WeightWarning": "errors",
    "Column": "schema",
    "Schema": "schema",
    "decide": "decision",
    "expected_cost": "decision",
    "Bernoulli": "families",
    "Bins": "families",
    "Categorical": "families",
    "Gaussian": "families",
    "Ordinal": "families",
    "Poisson": "families",
    "Settings": "families",
    "Words": "families",
    "Counts": "statistics",
    "Moments": "statistics",
    "Table": "statistics",
}

__all__ = [
    "Bernoulli",
    "Bins",
    "Categorical",
    "Column",
    "Counts",
    "Evidence",
    "Expected",
    "File",
    "Gaussian",
    "LeftOutWarning",
    "Moments",
    "NaiveBayes",
    "Ordinal",
    "Poisson",
    "Schema",
    "Scores",
    "Settings",
    "StaleWarning",
    "Table",
    "TargetWarning",
    "WeightWarning",
    "Words",
    "compare",
    "count",
    "cross_validate",
    "decide",
    "expected_cost",
    "load",
    "merge",
    "plots",
]


def __getattr__(name: str) -> Any:
    if name == "plots":
        return import_module(".plots", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module 'naively' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, "plots"])
