"""A model: what each column says about the classes, and what was believed before. Scores rows, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _kernels
from .families import Likelihood
from .statistics import Axis
from .statistics.axis import Floats


@dataclass(frozen=True)
class Model:
    """The log prior of each class and the likelihood of each column."""

    classes: Axis
    log_prior: Floats
    likelihoods: Mapping[str, Likelihood]

    def log_joint(self, columns: Mapping[str, Any], threads: int = 1) -> Floats:
        """Return log P(class) + Σ log P(column | class) as [row, class], up to terms that all classes share."""
        rows = next(iter(columns.values())).shape[0]
        scores = np.tile(self.log_prior, (rows, 1))
        for name, likelihood in self.likelihoods.items():
            likelihood.add_to(scores, columns[name], threads)
        return scores


def posterior(log_joint: Floats, fallback: Floats, threads: int = 1) -> Floats:
    """Return P(class | row) from the log joint; a row that rules out every class gets the fallback, the prior."""
    return _normalised(log_joint, fallback, exponential=True, threads=threads)


def log_posterior(log_joint: Floats, fallback: Floats, threads: int = 1) -> Floats:
    """Return log P(class | row), exact where the probability itself would be 0."""
    return _normalised(log_joint, fallback, exponential=False, threads=threads)


def _normalised(log_joint: Floats, fallback: Floats, *, exponential: bool, threads: int) -> Floats:
    scores = np.array(log_joint, dtype=np.float64, order="C")
    _kernels.normalise(scores, fallback, exponential, np.empty(len(scores)), threads)
    return scores
