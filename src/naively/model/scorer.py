"""The score of rows: the log prior of each class plus a sum of terms. It scores rows, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from .._kernels import Scorer
from .._types import Floats, Longs, Matrix
from ..families import Likelihood
from ..families.family import ScoreTerm, check_scored
from ..families.wide import Split
from ..stats import Axis

TermT_co = TypeVar("TermT_co", bound=ScoreTerm, covariant=True)


@dataclass(frozen=True)
class AdditiveModel(Generic[TermT_co]):
    """The log prior of each class and the terms of the score, by the matrix that each reads.

    A row that rules out every class gets the fallback, which is the prior unless another is given. Every answer is made
    of bias + scale · log joint; a scale below 1 softens the probabilities. Floors ε · P(class) make them
    (1 - ε) · softmax + ε · P(class): a model of few rows is never surer than these rows can make it.
    """

    classes: Axis
    log_prior: Floats
    terms: Mapping[str, TermT_co]
    fallback: Floats | None = None
    scale: float = 1.0
    bias: Floats | None = None
    floor: Floats | None = None

    def log_joint(
        self, columns: Mapping[str, Matrix], threads: int = 1, *, missing: bool = True, dtype: npt.DTypeLike = float
    ) -> Floats:
        """Return log P(class) + Σ log P(column | class) as [row, class], up to terms that all classes share."""
        scorer, rows = self._scorer(columns, missing)
        out = np.empty((rows, len(self.log_prior)), dtype=dtype)
        check_scored(scorer.log_joint(out, threads))
        return out

    def posterior(
        self, columns: Mapping[str, Matrix], threads: int = 1, *, missing: bool = True, dtype: npt.DTypeLike = float
    ) -> Floats:
        """Return P(class | row) as [row, class]."""
        scorer, rows = self._scorer(columns, missing)
        out = np.empty((rows, len(self.log_prior)), dtype=dtype)
        check_scored(scorer.posterior(self._fallback, out, threads))
        return out

    def log_posterior(
        self, columns: Mapping[str, Matrix], threads: int = 1, *, missing: bool = True, dtype: npt.DTypeLike = float
    ) -> Floats:
        """Return log P(class | row), exact where the probability itself would be 0."""
        scorer, rows = self._scorer(columns, missing)
        out = np.empty((rows, len(self.log_prior)), dtype=dtype)
        check_scored(scorer.log_posterior(self._fallback, out, threads))
        return out

    def most_probable(
        self,
        columns: Mapping[str, Matrix],
        threads: int = 1,
        *,
        missing: bool = True,
        labels: Longs | None = None,
    ) -> Longs:
        """Return the most probable class of each row, the choice under 0/1 cost: its code, or its label if given."""
        scorer, rows = self._scorer(columns, missing)
        out = np.empty(rows, dtype=np.int64)
        check_scored(scorer.choice(self._fallback, out, threads, labels))
        return out

    @cached_property
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

    def _scorer(self, columns: Mapping[str, Matrix], missing: bool) -> tuple[Scorer, int]:
        """Return what scores these rows, and how many they are."""
        scorer = Scorer(self.log_prior)
        for name, term in self.terms.items():
            term.add_to(scorer, columns[name], missing)
        if self.tempered:
            scorer.temper(self.scale, self.bias)
        if self.floor is not None:
            scorer.floor(self.floor)
        return scorer, next(iter(columns.values())).shape[0]


class NaiveModel(AdditiveModel[Likelihood]):
    """Textbook naive Bayes: every term is the log-likelihood of its columns given the class."""

    def log_density(self, columns: Mapping[str, Matrix], threads: int = 1, *, dtype: npt.DTypeLike = float) -> Floats:
        """Return log P(row), the log marginal density: the log joint summed over the classes; scale 1, no bias."""
        joint = np.tile(self.log_prior, (next(iter(columns.values())).shape[0], 1))
        for name, likelihood in self.terms.items():
            joint += likelihood.log_likelihood(columns[name], threads)
        return np.asarray(logsumexp(joint, axis=1), dtype=dtype)


def posterior(log_joint: Floats, fallback: Floats, threads: int = 1, floor: Floats | None = None) -> Floats:
    """Return P(class | row) from the log joint; a row that rules out every class gets the fallback (logarithms)."""
    scorer, out = _scorer_of(log_joint, floor), np.empty(log_joint.shape)
    check_scored(scorer.posterior(fallback, out, threads))
    return out


def log_posterior(log_joint: Floats, fallback: Floats, threads: int = 1, floor: Floats | None = None) -> Floats:
    """Return log P(class | row) from the log joint."""
    scorer, out = _scorer_of(log_joint, floor), np.empty(log_joint.shape)
    check_scored(scorer.log_posterior(fallback, out, threads))
    return out


def _scorer_of(log_joint: Floats, floor: Floats | None) -> Scorer:
    """Return a scorer of these log joints."""
    scorer, split = Scorer(np.zeros(log_joint.shape[1])), Split.of(np.ascontiguousarray(log_joint))
    scorer.given(split.finite)
    scorer.given(split.ruled_out, against=True)
    if floor is not None:
        scorer.floor(floor)
    return scorer


def softened(scale: float) -> str:
    """Return what a scale does to probabilities, in words."""
    return f"softened by {1 / scale:.3g}" if scale <= 1 else f"sharpened by {scale:.3g}"
