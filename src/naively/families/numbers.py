"""The likelihood of columns of numbers, and what it is estimated from: number, mean and squares of each class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from scipy import sparse

from .._kernels import MEAN_ROUNDING, SUM_ROUNDING, Scorer
from .._types import AnyArray, Codes, Floats, Matrix
from ..errors import RowRefused
from ..stats import Axis, Moments
from ..stats.arithmetic import subtract
from .family import ColumnLikelihoods, Cumulants, Settings, listed_parts, row_blocks, row_weights
from .wide import Split

# A prior worth less than this many rows is taken for this: it would make classes without rows infinitely flat.
LIGHTEST = 1e-9
# Cells of rows of a sparse matrix that are made dense at once.
DENSE = 1 << 22

T = TypeVar("T")


class Summary(NamedTuple):
    """Moments with the class as the last axis, [..., column, class]: the form in which they are estimated from."""

    n: Floats
    mean: Floats
    ssd: Floats
    grain: Floats  # how much of the mean may be rounding

    @classmethod
    def of(cls, moments: Moments) -> Summary:
        """Return the summary [column, class] of these moments."""
        grain = MEAN_ROUNDING * np.maximum(np.abs(moments.mean), np.abs(moments.shift))
        ssd = np.where(moments.ssd > MEAN_ROUNDING * moments.squares, moments.ssd, 0.0)  # a far shift costs digits
        parts = (moments.n, moments.mean, ssd, grain)
        return cls(*(np.ascontiguousarray(part.T) for part in parts)).without_rounding()

    def without_rounding(self) -> Summary:
        """Return the same with 0 for means and squares that rounding alone has left: constants have no variance."""
        mean = np.where(np.abs(self.mean) > self.grain, self.mean, 0.0)
        ssd = np.where(self.ssd > self.n * self.grain**2, self.ssd, 0.0)
        return Summary(self.n, mean, ssd, self.grain)

    def gap(self, centre: Floats) -> Floats:
        """Return how far each mean lies from a centre; 0 where rounding may explain it, or nothing was counted."""
        gap = self.mean - centre
        return np.where((self.n > 0) & (np.abs(gap) > self.grain), gap, 0.0)

    def without(self, x: Floats, y: Codes, w: Floats) -> Summary:
        """Return the summary [row, column, class] for each row of x, that row taken out of its class."""
        own = np.zeros((len(x), 1, self.n.shape[-1]), dtype=bool)
        own[np.arange(len(x)), 0, y] = True
        there = own & ~np.isnan(x)[..., None]
        taken = np.where(there, w[:, None, None], 0.0)
        gap = np.where(there, x[..., None] - self.mean, 0.0)
        n = subtract(self.n, taken)
        left = np.where(n > 0, n, 1.0)
        mean = np.where(n > 0, self.mean - taken * gap / left, 0.0)
        more = taken * (self.n / left)
        ssd = self.ssd - more * gap * gap
        rounding = SUM_ROUNDING * self.ssd + 2 * more * np.abs(gap) * self.grain
        ssd = np.where((n > 0) & (ssd > rounding), ssd, 0.0)
        grain = np.where(n > 0, np.maximum(self.grain, MEAN_ROUNDING * np.abs(mean)), 0.0)
        return Summary(n, mean, ssd, grain).without_rounding()


@dataclass(frozen=True)
class NumberLikelihood(ColumnLikelihoods):
    """The likelihood of a matrix of numbers, dense or sparse; NaN is a missing value.

    The families say how dense blocks of rows are scored. Zeros are numbers like others, so a sparse matrix is made
    dense, some rows at a time.
    """

    family: Any
    settings: Settings
    classes: Axis
    columns: Axis
    summary: Summary

    @abstractmethod
    def _scores(self, x: AnyArray, threads: int) -> Floats:
        """Return log P(x | class) of dense rows as [row, class], summed over the columns."""

    @abstractmethod
    def _scores_without(self, x: AnyArray, y: Codes, w: Floats, threads: int) -> Floats:
        """Return the same of each row as if it had never been counted."""

    @abstractmethod
    def _cumulants(self, x: AnyArray) -> Cumulants:
        """Return the cumulants of log P(x | class) of dense rows."""

    @abstractmethod
    def _described(self, column: int) -> list[str]:
        """Return what was estimated of a column in each class."""

    @property
    def how(self) -> str:
        """The estimate: without pseudo-counts, all three are ``mle``."""
        return self.settings.estimate if self.settings.column_smoothing > 0 else "mle"

    def column(self, place: int) -> Self:
        """Return the likelihood of one of the columns."""
        summary = Summary(*(part[place : place + 1] for part in self.summary))
        return replace(self, columns=Axis.numbered(1), summary=summary)

    def add_to(self, scorer: Scorer, x: Matrix, missing: bool = True) -> None:
        """Have log P(x | class), summed over the columns, added to the scores."""
        split = Split.of(self.log_likelihood(x))
        scorer.given(split.finite)
        if split.ruled_out.any():
            scorer.given(split.ruled_out, against=True)

    def log_likelihood(self, x: Matrix, threads: int = 1) -> Floats:
        """Return log P(x | class) as [row, class], summed over the columns."""
        return stacked(in_dense_blocks(x, lambda _, part: self._scores(part, threads)))

    def leave_one_out(self, x: Matrix, y: Codes, weights: Floats | None = None, threads: int = 1) -> Floats:
        """Return log P(x | class) of each row as if it had never been counted: priors of all classes change too."""
        y, w = np.asarray(y), row_weights(weights, x.shape[0])
        return stacked(in_dense_blocks(x, lambda rows, part: self._scores_without(part, y[rows], w[rows], threads)))

    def uncertainty(self, x: Matrix, threads: int = 1) -> Cumulants:
        """Return the cumulants of log P(x | class); missing values add nothing."""
        parts = in_dense_blocks(x, lambda _, part: self._cumulants(part))
        return Cumulants(*(stacked(list(figure)) for figure in zip(*parts, strict=True)))

    def table(self, labels: Sequence[str]) -> Mapping[str, object]:
        """Return the mean of each class as columns of a frame, a line for each column of the matrix."""
        return {"feature": np.arange(len(self.columns)), **dict(zip(labels, self.summary.mean.T, strict=True))}

    def describe(self, column: str) -> str:
        """Return a sentence for each column on the numbers of each class."""
        lines = []
        for place, name in enumerate(self.columns.labels):
            title = column if len(self.columns) == 1 else f"{column}[{name}]"
            parts = self._described(place)
            lines.append(f"{title}: {listed_parts(parts)}." if parts else f"{title}: no numbers.")
        return "\n".join(lines)


def in_dense_blocks(x: Matrix, ask: Callable[[slice, AnyArray], T]) -> list[T]:
    """Return what a function returns for dense blocks of rows, given which rows they are; errors name the row."""
    if not sparse.issparse(x):
        return [ask(slice(0, x.shape[0]), np.asarray(x))]
    result = []
    for rows in list(row_blocks(x.shape[0], x.shape[1], DENSE)) or [slice(0, 0)]:
        try:
            result.append(ask(rows, x[rows].toarray()))
        except RowRefused as error:
            raise error.with_place(rows.start) from None
    return result


def stacked(parts: list[Floats]) -> Floats:
    """Return blocks of rows as one array."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
