"""Textbook naive Bayes, which most tests are about; `test_default_model*` are about the default model."""

from __future__ import annotations

from typing import Any

import naively as nv


def book(**settings: Any) -> nv.NaiveBayes:
    """Return a classifier that takes no columns together."""
    return nv.NaiveBayes(**{"model": "textbook", **settings})


def crossed(*rows: Any, **settings: Any) -> nv.Scores:
    """Return how well models that take no columns together answer rows that they were not shown."""
    return nv.cross_validate(*rows, **{"model": "textbook", **settings})
