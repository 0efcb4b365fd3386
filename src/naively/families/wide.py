"""A matrix as one column: the arithmetic that words and flags share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from .._kernels import Scorer
from .._types import Codes, Floats, Mask, Matrix, Places
from ..stats import Axis
from ..stats.arithmetic import subtract
from .family import Features, Likelihood, Settings, check_scored, padded, row_blocks, row_weights

if TYPE_CHECKING:
    from .words import ModelWords


class Split(NamedTuple):
    """Logarithms in two parts, the finite one and how often log 0 was added.

    Sums of infinities could meet one of the other sign; kept apart, what was added can be taken away again.
    """

    finite: Floats
    ruled_out: Floats

    @classmethod
    def of(cls, logs: Floats) -> Split:
        """Split a table of logarithms."""
        ruled_out = np.isneginf(logs)
        return cls(np.where(ruled_out, 0.0, logs), ruled_out.astype(np.float64))

    def whole(self) -> Floats:
        """Return the logarithms in one part again."""
        return np.where(self.ruled_out > 0.5, -np.inf, self.finite)

    def __add__(self, other: Split) -> Split:  # type: ignore[override]  # a sum of logarithms, no longer tuple
        return Split(self.finite + other.finite, self.ruled_out + other.ruled_out)

    def __sub__(self, other: Split) -> Split:
        return Split(self.finite - other.finite, self.ruled_out - other.ruled_out)

    def __mul__(self, times: Floats) -> Split:  # type: ignore[override]  # a product with numbers, as of arrays
        return Split(self.finite * times, self.ruled_out * (times > 0))

    def sum(self, axis: int) -> Split:
        """Return the sums along an axis."""
        return Split(self.finite.sum(axis=axis), self.ruled_out.sum(axis=axis))

    def row_sums(self, rows: Places, n_rows: int) -> Split:
        """Return the sums of the entries of each row."""
        return Split(row_sums(rows, self.finite, n_rows), row_sums(rows, self.ruled_out, n_rows))


@dataclass(frozen=True)
class WideLikelihood(Likelihood):
    """The likelihood of a matrix of words or flags, dense or sparse, or of texts by the words in them."""

    family: Any
    settings: Settings
    classes: Axis
    features: Features
    n: Floats  # [class, feature]
    times: str = field(default="all", kw_only=True)  # what counts of a word that occurs several times in a text
    idf: Floats | None = field(default=None, kw_only=True)  # of texts, the weight of each word

    # -- what texts are to a model --------------------------------------------------------------------------------

    @property
    def words(self) -> ModelWords:
        """The words of texts, in the order of their columns."""
        assert not isinstance(self.features, Axis), "the columns of a matrix have no words"
        return self.features

    def matrix(self, x: Matrix) -> Matrix:
        """Return rows as a matrix of the features; it is made of texts only where that is needed."""
        if isinstance(self.features, Axis):
            return x
        result = x.matrix(self.words.columns, len(self.words), self.times)
        if self.idf is None:
            return result
        result = result.astype(np.float64)
        result.data *= self.idf[result.indices]
        return result

    @cached_property
    def _by_number(self) -> tuple[Floats, Floats] | None:
        """The score of an empty text, and what each token adds, [number, class]; None if some rule a class out."""
        constant, table = self.linear
        if table is None:
            return None
        return constant, self.words.by_number(table if self.idf is None else table * self.idf[:, None])

    @property
    def word_scores(self) -> Floats:
        """The contribution of one occurrence of each word, [word, class]."""
        return self.each

    def by_word(self, x: Matrix) -> tuple[Codes, Floats]:
        """Return the numbers of the words of a single row, and the contribution of each, [word, class]."""
        row = self.matrix(x)
        return self.words.numbers[row.indices], row.data[:, None] * self.each[row.indices]

    # -- scores -----------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def each(self) -> Floats:
        """What one occurrence of each feature adds to the scores, [feature, class]; -∞ where it rules a class out."""

    @property
    @abstractmethod
    def linear(self) -> tuple[Floats, Floats | None]:
        """The score of an empty row, and what each feature adds, [feature, class]; None if some rule classes out."""

    @abstractmethod
    def _add_matrix(self, scorer: Scorer, x: Matrix) -> None:
        """Have the score of a matrix added."""

    @abstractmethod
    def _without_rows(self, x: Matrix, y: Codes, w: Floats, threads: int) -> Floats:
        """Return the log-likelihood of a block of rows, each as if it had never been counted."""

    def add_to(self, scorer: Scorer, x: Matrix, missing: bool = True) -> None:
        """Have the log-likelihood added to the scores; texts are read once, while they are scored."""
        if isinstance(self.features, Axis) or self._by_number is None:
            self._add_matrix(scorer, self.matrix(x))
            return
        constant, table = self._by_number
        if constant.any():
            scorer.constant(constant)
        scorer.given(x.scores(table, self.times))

    def log_likelihood(self, x: Matrix, threads: int = 1) -> Floats:
        """Return the log-likelihood as [row, class]."""
        return self.matrix_scores(self.matrix(x), threads)

    def matrix_scores(self, x: Matrix, threads: int) -> Floats:
        """Return the scores of a matrix, [row, class]."""
        scorer, out = Scorer(np.zeros(len(self.classes))), np.empty((x.shape[0], len(self.classes)))
        self._add_matrix(scorer, x)
        check_scored(scorer.log_joint(out, threads))
        return out

    def leave_one_out(self, x: Matrix, y: Codes, weights: Floats | None = None, threads: int = 1) -> Floats:
        """Return the log-likelihood of each row as if it had never been counted; which words are used stays."""
        x = self.matrix(x)
        y, w, out = np.asarray(y), row_weights(weights, x.shape[0]), np.empty((x.shape[0], len(self.classes)))
        cells = int(x.nnz if sparse.issparse(x) else x.size) // max(x.shape[0], 1) + 1
        for rows in row_blocks(x.shape[0], cells * len(self.classes)):
            out[rows] = self._without_rows(x[rows], y[rows], w[rows], threads)
        return out

    def known_by_row_alone(self, columns: Places, taken: Floats) -> Mask:
        """Tell which entries are of features that no other row has and nobody declared: unknown without this row."""
        used, stays = self._used
        # Few can be: what is more frequent than any entry stays.
        maybe = np.flatnonzero(((used <= taken.max(initial=0.0) * (1 + 1e-9)) & ~stays)[columns])
        gone = np.zeros(len(columns), dtype=bool)
        gone[maybe] = subtract(used[columns[maybe]], taken[maybe]) == 0
        return gone

    @cached_property
    def _used(self) -> tuple[Floats, Mask]:
        """How often each feature was counted, and whether it stays known if it was not."""
        return np.asarray(self.n.sum(axis=0)), self.features.stays

    def feature_table(self, labels: Sequence[str], numbers: Floats) -> Mapping[str, object]:
        """Return numbers [class, feature] as columns of a frame, a line for each feature; words by name."""
        if isinstance(self.features, Axis):
            return {"feature": np.arange(len(self.features)), **dict(zip(labels, numbers, strict=True))}
        words = self.words.labels
        order = sorted(range(len(words)), key=words.__getitem__)
        return {"word": [words[place] for place in order], **dict(zip(labels, numbers[:, order], strict=True))}


def add_products(scorer: Scorer, x: Matrix, table: Floats, threshold: float | None, against: bool = False) -> None:
    """Have the sum over the cells of each row of value (or presence) times table [value, class] added to the scores."""
    if sparse.issparse(x):
        scorer.sparse(x.indptr, x.indices, x.data, threshold, table, against)
    else:
        scorer.dense(x, threshold, table, against)


def product_sums(x: Matrix, table: Floats, threshold: float | None, threads: int) -> Floats:
    """Return these sums as [row, class]."""
    scorer, out = Scorer(np.zeros(table.shape[1])), np.empty((x.shape[0], table.shape[1]))
    add_products(scorer, x, padded(table), threshold)
    check_scored(scorer.log_joint(out, threads))
    return out


def entries(x: Matrix, threshold: float | None = None) -> tuple[Places, Places, Floats]:
    """Return row, column and value of each cell that is not 0, or of each cell above the threshold."""
    if sparse.issparse(x):
        x = x.tocsr()
        rows, columns = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr)), x.indices.astype(np.intp)
        values = x.data[: len(columns)].astype(np.float64)
    else:
        rows, columns = np.nonzero(x)
        values = np.asarray(x)[rows, columns].astype(np.float64)
    if threshold is not None:
        values = (values > threshold).astype(np.float64)
    counts = values != 0
    return (rows, columns, values) if counts.all() else (rows[counts], columns[counts], values[counts])


def row_sums(rows: Places, terms: Floats, n_rows: int) -> Floats:
    """Return the sum of the terms [entry] or [entry, class] of each row; the entries stand in the order of the rows."""
    if terms.ndim == 1:
        return np.asarray(np.bincount(rows, weights=terms, minlength=n_rows), dtype=np.float64)
    starts = np.searchsorted(rows, np.arange(n_rows + 1))
    ones = (np.ones(len(rows)), np.arange(len(rows)), starts)
    return np.asarray(sparse.csr_array(ones, shape=(n_rows, len(rows))) @ terms)


def with_cells(x: Matrix, cells: Floats) -> Matrix:
    """Return a matrix with other numbers in its cells; in a sparse one, in those that are stored."""
    return sparse.csr_array((cells, x.indices, x.indptr), shape=x.shape) if sparse.issparse(x) else cells


def cells_of(x: Matrix) -> Floats:
    """Return the cells of a matrix as floats; of a sparse one, those that are stored."""
    return np.asarray(x.data if sparse.issparse(x) else x, dtype=np.float64)
