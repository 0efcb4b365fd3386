"""Naively: naive Bayes for real data. A model is a table of counts; everything else is arithmetic on it.

Names load when they are first used: ``import naively`` costs little and imports neither scikit-learn nor pandas.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import export, sql
    from .counting.profile import Profile, profile
    from .counting.reading import count
    from .data.column import Column
    from .data.schema import Schema
    from .errors import LargestFitWarning, StaleWarning, TargetWarning, TextbookFallbackWarning, WeightWarning
    from .estimator.cross_validation import cross_validate
    from .estimator.fit_files import FileFit, fit_files
    from .estimator.html_report import Report
    from .estimator.load import load
    from .estimator.merge import merge
    from .estimator.naive_bayes import NaiveBayes
    from .explain import plots
    from .explain.changes import compare
    from .explain.evidence import Evidence
    from .families import Bernoulli, Bins, Categorical, Gaussian, Ordinal, Poisson, Settings, Words
    from .files.file import File
    from .flat.flat_model import FlatModel
    from .judge.decision import decide, expected_cost
    from .judge.scores import Scores
    from .model.em import Expected
    from .stats import Counts, Moments, Table
    from .stats.counts import add

__version__ = "0.1.0"

_HOMES = {
    "NaiveBayes": "estimator.naive_bayes",
    "load": "estimator.load",
    "Profile": "counting.profile",
    "profile": "counting.profile",
    "add": "stats.counts",
    "compare": "explain.changes",
    "count": "counting.reading",
    "cross_validate": "estimator.cross_validation",
    "Evidence": "explain.evidence",
    "Expected": "model.em",
    "FileFit": "estimator.fit_files",
    "fit_files": "estimator.fit_files",
    "File": "files.file",
    "FlatModel": "flat.flat_model",
    "merge": "estimator.merge",
    "Report": "estimator.html_report",
    "Scores": "judge.scores",
    "TextbookFallbackWarning": "errors",
    "LargestFitWarning": "errors",
    "StaleWarning": "errors",
    "TargetWarning": "errors",
    "WeightWarning": "errors",
    "Column": "data.column",
    "Schema": "data.schema",
    "decide": "judge.decision",
    "expected_cost": "judge.decision",
    "Bernoulli": "families",
    "Bins": "families",
    "Categorical": "families",
    "Gaussian": "families",
    "Ordinal": "families",
    "Poisson": "families",
    "Settings": "families",
    "Words": "families",
    "Counts": "stats",
    "Moments": "stats",
    "Table": "stats",
}

# Modules with functions of their own.
_MODULES = {"export": ".export", "plots": ".explain.plots", "sql": ".sql"}

__all__ = [
    "Bernoulli",
    "Bins",
    "Categorical",
    "Column",
    "Counts",
    "Evidence",
    "Expected",
    "File",
    "FileFit",
    "FlatModel",
    "Gaussian",
    "LargestFitWarning",
    "Moments",
    "NaiveBayes",
    "Ordinal",
    "Poisson",
    "Profile",
    "Report",
    "Schema",
    "Scores",
    "Settings",
    "StaleWarning",
    "Table",
    "TargetWarning",
    "TextbookFallbackWarning",
    "WeightWarning",
    "Words",
    "add",
    "compare",
    "count",
    "cross_validate",
    "decide",
    "expected_cost",
    "export",
    "fit_files",
    "load",
    "merge",
    "plots",
    "profile",
    "sql",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name], __name__)
    if name not in _HOMES:
        raise AttributeError(f"module 'naively' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, *_MODULES])
