"""A model: what each column says about the classes, and what was believed before. Scores rows, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from .._kernels import Scorer
from .._types import Floats
from ..families import Likelihood
from ..families.family import check_scored
from ..families.wide import Split
from ..stats import Axis


@dataclass(frozen=True)
class Model:
    """The log prior of each class and the likelihood of each column.

    A row that rules out every class gets the fallback, which is the prior unless said otherwise. Every answer is made
    of bias + scale · log joint; a scale below 1 makes a model less sure of itself.
    """

    classes: Axis
    log_prior: Floats
    likelihoods: Mapping[str, Likelihood]
    fallback: Floats | None = None
    scale: float = 1.0
    bias: Floats | None = None

    def log_joint(
        self, columns: Mapping[str, Any], threads: int = 1, *, holes: bool = True, dtype: Any = float
    ) -> Floats:
        """Return log P(class) + Σ log P(column | class) as [row, class], up to terms that all classes share."""
        scorer, out = self._scorer(columns, holes), self._answers(columns, dtype)
        check_scored(scorer.log_joint(out, threads))
        return out

    def posterior(
        self, columns: Mapping[str, Any], threads: int = 1, *, holes: bool = True, dtype: Any = float
    ) -> Floats:
        """Return P(class | row) as [row, class]."""
        scorer, out = self._scorer(columns, holes), self._answers(columns, dtype)
        check_scored(scorer.posterior(self._fallback, out, threads))
        return out

    def log_posterior(
        self, columns: Mapping[str, Any], threads: int = 1, *, holes: bool = True, dtype: Any = float
    ) -> Floats:
        """Return log P(class | row), exact where the probability itself would be 0."""
        scorer, out = self._scorer(columns, holes), self._answers(columns, dtype)
        check_scored(scorer.log_posterior(self._fallback, out, threads))
        return out

    def most_probable(
        self,
        columns: Mapping[str, Any],
        threads: int = 1,
        *,
        holes: bool = True,
        labels: npt.NDArray[np.int64] | None = None,
    ) -> npt.NDArray[np.int64]:
        """Return the most probable class of each row, the choice under 0/1 cost: its code, or its label if given."""
        scorer, out = self._scorer(columns, holes), np.empty(rows_of(columns), dtype=np.int64)
        check_scored(scorer.choice(self._fallback, out, threads, labels))
        return out

    def log_density(self, columns: Mapping[str, Any], threads: int = 1, *, dtype: Any = float) -> Floats:
        """Return log P(row), whatever its class: the log joint whole, summed over the classes; scale 1, no bias."""
        joint = np.tile(self.log_prior, (rows_of(columns), 1))
        for name, likelihood in self.likelihoods.items():
            joint += likelihood.log_likelihood(columns[name], threads)
        return np.asarray(logsumexp(joint, axis=1), dtype=dtype)

    @property
    def tempered(self) -> bool:
        """Whether there is a scale other than 1, or a bias."""
        return self.scale != 1.0 or self.bias is not None

    def temper(self, log_joint: Floats) -> Floats:
        """Return log joints under the scale and the biases."""
        if not self.tempered:
            return log_joint
        return self.scale * log_joint + (0.0 if self.bias is None else self.bias)

    @cached_property
    def _fallback(self) -> Floats:
        fallback = self.log_prior if self.fallback is None else self.fallback
        if not self.tempered:
            return fallback
        fallback = self.temper(fallback)
        return np.asarray(fallback - logsumexp(fallback))

    def _scorer(self, columns: Mapping[str, Any], holes: bool) -> Scorer:
        scorer = Scorer(self.log_prior)
        for name, likelihood in self.likelihoods.items():
            likelihood.add_to(scorer, columns[name], holes)
        if self.tempered:
            scorer.temper(self.scale, self.bias)
        return scorer

    def _answers(self, columns: Mapping[str, Any], dtype: Any) -> Floats:
        return np.empty((rows_of(columns), len(self.classes)), dtype=dtype)


def rows_of(columns: Mapping[str, Any]) -> int:
    """Return how many rows the columns have."""
    return int(next(iter(columns.values())).shape[0])


def posterior(log_joint: Floats, fallback: Floats, threads: int = 1) -> Floats:
    """Return P(class | row) from the log joint; a row that rules out every class gets the fallback (logarithms)."""
    scorer, out = given(log_joint), np.empty(log_joint.shape)
    check_scored(scorer.posterior(fallback, out, threads))
    return out


def log_posterior(log_joint: Floats, fallback: Floats, threads: int = 1) -> Floats:
    """Return log P(class | row) from the log joint."""
    scorer, out = given(log_joint), np.empty(log_joint.shape)
    check_scored(scorer.log_posterior(fallback, out, threads))
    return out


def given(log_joint: Floats) -> Scorer:
    """Return a scorer of these log joints."""
    scorer, split = Scorer(np.zeros(log_joint.shape[1])), Split.of(np.ascontiguousarray(log_joint))
    scorer.given(split.finite)
    scorer.given(split.ruled_out, against=True)
    return scorer


def softened(scale: float) -> str:
    """Say what a scale does to probabilities."""
    return f"softened by {1 / scale:.3g}" if scale <= 1 else f"sharpened by {scale:.3g}"
