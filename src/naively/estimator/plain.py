"""The classifier alone: scikit-learn takes longer to import than most commands take to answer."""

from __future__ import annotations

import inspect
from typing import Any, Self

from .classifier import Classifier


class PlainClassifier(Classifier):
    """`NaiveBayes` without being an estimator of scikit-learn; the same settings, counts and answers."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name."""
        names = inspect.signature(Classifier.__init__).parameters
        return {name: getattr(self, name) for name in names if name != "self"}

    def set_params(self, **params: Any) -> Self:
        """Change some settings."""
        for name, value in params.items():
            setattr(self, name, value)
        return self
