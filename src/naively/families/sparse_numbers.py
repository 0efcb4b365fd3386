"""Numbers of a sparse matrix, such as tf-idf: zeros are numbers as well, so rows are made dense, some at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .._kernels import Scorer
from .._types import AnyArray, Codes, Floats, Matrix
from ..stats import Axis
from .cumulants import Cumulants
from .family import Likelihood, row_blocks, row_weights, scores_of

# Cells of rows that are made dense at once.
DENSE = 1 << 22


@dataclass(frozen=True)
class SparseNumbers:
    """A likelihood of numbers that takes sparse matrices, too."""

    inner: Likelihood

    @property
    def classes(self) -> Axis:
        """The classes, in the order of the scores."""
        return self.inner.classes

    def log_prior_density(self) -> float:
        """Return the logarithm of the prior's density at the estimate, up to a constant."""
        return self.inner.log_prior_density()

    def describe(self, column: str) -> str:
        """Return a sentence on where the numbers of each class lie."""
        return self.inner.describe(column)

    def table(self, labels: Sequence[str]) -> Mapping[str, object]:
        """Return the mean of each class as columns of a frame."""
        return self.inner.table(labels)

    def add_to(self, scorer: Scorer, x: Matrix, missing: bool = True) -> None:
        """Have the log-likelihood of the numbers added to the scores."""
        if not sparse.issparse(x):
            self.inner.add_to(scorer, x, missing)
            return
        parts = [scores_of(self.inner, filled) for _, filled in dense_blocks(x)]
        scorer.given(np.ascontiguousarray(np.concatenate([np.zeros((0, len(self.classes))), *parts])))

    def log_likelihood(self, x: Matrix, threads: int = 1) -> Floats:
        """Return log P(numbers | class) as [row, class]."""
        return stacked_rows([self.inner.log_likelihood(filled, threads) for _, filled in dense_blocks(x)])

    def leave_one_out(self, x: Matrix, y: Codes, weights: Floats | None = None, threads: int = 1) -> Floats:
        """Return the same of each row as if it had never been counted."""
        y, w = np.asarray(y), row_weights(weights, x.shape[0])
        return stacked_rows(
            [self.inner.leave_one_out(part, y[rows], w[rows], threads) for rows, part in dense_blocks(x)]
        )

    def uncertainty(self, x: Matrix, threads: int = 1) -> Cumulants:
        """Return the cumulants of log P(numbers | class)."""
        found = [self.inner.uncertainty(filled, threads) for _, filled in dense_blocks(x)]
        return Cumulants(*(stacked_rows(list(figure)) for figure in zip(*found, strict=True)))


def dense_blocks(x: Matrix) -> Iterator[tuple[slice, AnyArray]]:
    """Give dense blocks of rows, and which rows they are."""
    if not sparse.issparse(x):
        yield slice(0, x.shape[0]), x
        return
    for rows in row_blocks(x.shape[0], x.shape[1], DENSE):
        yield rows, np.asarray(x[rows].toarray())


def stacked_rows(parts: list[Floats]) -> Floats:
    """Return rows one after the other."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
