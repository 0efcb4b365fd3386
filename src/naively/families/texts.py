"""Columns of texts: which tokens are words of the model, and the likelihood of a bag of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from .._kernels import Scorer
from .._types import Codes, Floats, Mask, Matrix, SparseMatrix
from ..errors import InvalidSetting
from ..errors.message import Setting
from ..stats import Axis, WordTable
from .bernoulli import Bernoulli, FlagLikelihood
from .cumulants import Cumulants
from .family import Settings, Smoothing
from .word_counts import WordWeights

if TYPE_CHECKING:
    from .words import Words

Number = TypeVar("Number", np.float32, np.float64)


class ModelWords(Sequence[Any]):
    """The words of a model, in the order of their columns; their names are looked up when they are needed.

    A name is a text or, for the columns of a hash, a number.
    """

    def __init__(self, table: WordTable, numbers: npt.NDArray[np.int32]) -> None:
        self.lexicon, self.numbers, self.declared = table.lexicon, numbers, table.numbered or table.lexicon.fixed
        self.numbered, self.size = table.numbered, table.size

    @cached_property
    def columns(self) -> npt.NDArray[np.int32]:
        """The column of each number, -1 if it has none."""
        columns = np.full(self.size, -1, dtype=np.int32)
        columns[self.numbers] = np.arange(len(self), dtype=np.int32)
        return columns

    def by_number(self, table: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """Return a table [column, …] laid out by number; words that are not kept have 0."""
        if len(self) == self.size:
            return np.ascontiguousarray(table)
        out = np.zeros((self.size, *table.shape[1:]), dtype=table.dtype)
        out[self.numbers] = table
        return out

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def labels(self) -> list[Any]:
        """The names of the words; of the columns of a hash, their numbers."""
        return self.numbers.tolist() if self.numbered else self.lexicon.names(self.numbers)

    @overload
    def __getitem__(self, column: int) -> Any: ...
    @overload
    def __getitem__(self, column: slice) -> list[Any]: ...
    def __getitem__(self, column: int | slice) -> Any:
        """Return the name of one word, or of several."""
        if isinstance(column, slice):
            return self.labels[column]
        number = self.numbers[column]
        return int(number) if self.numbered else self.lexicon.names(np.array([number], dtype=np.int32))[0]

    def places(self, labels: Sequence[Any]) -> npt.NDArray[np.intp]:
        """Return the column of each of these words, -1 for those that are not kept."""
        found = np.array(labels, dtype=np.int64) if self.numbered else self.lexicon.numbers(labels)
        columns = np.searchsorted(self.numbers, found)
        there = (columns < len(self.numbers)) & (found >= 0)
        there[there] = self.numbers[columns[there]] == found[there]
        return np.where(there, columns, -1)

    def kept(self, counted: Mask) -> Mask:
        """Tell which words stay when only some of them are counted."""
        return np.ones(len(self), dtype=bool) if self.declared else counted


@dataclass(frozen=True)
class TextWeights:
    """The likelihood of a column of texts: that of a matrix of its words, which is made only where that is needed."""

    family: Words
    words: ModelWords
    inner: WordWeights | FlagLikelihood
    idf: Floats | None

    @property
    def classes(self) -> Axis:
        """The classes, in the order of the scores."""
        return self.inner.classes

    def matrix(self, x: Matrix) -> SparseMatrix:
        """Return the words of rows as a sparse matrix of the columns of this model."""
        found = x.matrix(self.words.columns, len(self.words), self.family.scored)
        if self.idf is None:
            return found
        found = found.astype(np.float64)
        found.data *= self.idf[found.indices]
        return found

    @cached_property
    def linear(self) -> tuple[Floats, Floats] | None:
        """The score of an empty text, and what each token adds, [number, class]; None if some rule a class out."""
        constant, table = self.inner.linear
        if table is None:
            return None
        return constant, self.words.by_number(table if self.idf is None else table * self.idf[:, None])

    def add_to(self, scorer: Scorer, x: Matrix, missing: bool = True) -> None:
        """Have the log-likelihood of the words added to the scores, as the texts are read."""
        if self.linear is None:
            self.inner.add_to(scorer, self.matrix(x), missing)
            return
        constant, table = self.linear
        if constant.any():
            scorer.constant(constant)
        scorer.given(x.scores(table, self.family.scored))

    def by_word(self, x: Matrix) -> tuple[npt.NDArray[np.int32], Floats]:
        """Return the numbers of the words of a single row, and the contribution of each, [word, class]."""
        row, table = self.matrix(x), self.inner.each
        return self.words.numbers[row.indices], row.data[:, None] * table[row.indices]

    def log_likelihood(self, x: Matrix, threads: int = 1) -> Floats:
        """Return log P(words | class) as [row, class]."""
        return self.inner.log_likelihood(self.matrix(x), threads)

    def leave_one_out(self, x: Matrix, y: Codes, weights: Floats | None = None, threads: int = 1) -> Floats:
        """Return the log-likelihood of each row as if it had never been counted; which words are kept stays."""
        return self.inner.leave_one_out(self.matrix(x), y, weights, threads)

    def uncertainty(self, x: Matrix, threads: int = 1) -> Cumulants:
        """Return the cumulants of the score of the words."""
        return self.inner.uncertainty(self.matrix(x), threads)

    def log_prior_density(self) -> float:
        """Return the logarithm of the prior's density at what was estimated, up to a constant."""
        return self.inner.log_prior_density()

    def table(self, labels: Sequence[str]) -> Mapping[str, object]:
        """Return the weight of each word as columns of a frame, in the order of the words."""
        words = self.words.labels
        order = sorted(range(len(words)), key=words.__getitem__)
        weights = self.inner.table(labels)
        return {"word": [words[at] for at in order], **{label: np.asarray(weights[label])[order] for label in labels}}

    @property
    def word_scores(self) -> Floats:
        """The contribution of one occurrence of each word, [word, class]."""
        return self.inner.each

    def describe(self, column: str) -> str:
        """Return a sentence on the words with the largest contribution to each class."""
        return self.inner.describe(column)


def text_likelihood(
    family: Words, statistic: WordTable, rows: Floats, classes: Axis, settings: Settings
) -> TextWeights:
    """Return the likelihood of the words of texts."""
    table = statistic.on(classes)
    keep = kept_tokens(family, table, float(np.sum(rows)))
    if family.aside:
        keep &= ~table.lexicon.sequences(table.size, spaced=True)
    words = ModelWords(table, np.flatnonzero(keep).astype(np.int32))
    settings = settings.each(len(words), word_smoothing(family, words))
    if family.bernoulli:
        flags = Bernoulli(smoothing=family.smoothing)
        there = np.asarray(rows, float)
        inner: WordWeights | FlagLikelihood = FlagLikelihood(
            flags, settings, classes, words, table.texts_of(words.numbers), there
        )
        return TextWeights(family, words, inner, None)
    n, idf = table.times_of(words.numbers), None
    if family.idf:
        idf = np.log((1 + np.sum(rows)) / (1 + table.documents[words.numbers])) + 1
        n = n * idf
    inner = WordWeights(family, settings, classes, words, n)
    return TextWeights(family, words, inner, idf)


def word_smoothing(family: Words, words: ModelWords) -> Smoothing | None:
    """Return λ for all words, or for each in the order of its column; it is given in that of the vocabulary."""
    if family.smoothing is None or isinstance(family.smoothing, (float, int)) or words.numbered:
        return family.smoothing
    if np.ndim(family.smoothing) == 0:
        return family.smoothing
    if family.vocabulary is None or len(family.vocabulary) != len(family.smoothing):
        raise InvalidSetting(
            Setting("smoothing", family.smoothing),
            " is a λ for each word of a text, so it needs a vocabulary of as many words.",
        )
    each = dict(zip(family.vocabulary, family.smoothing, strict=True))
    return np.array([each[word] for word in words.labels], dtype=np.float64)


def kept_tokens(family: Words, table: WordTable, rows: float) -> Mask:
    """Tell which tokens are words of the model: neither too rare nor too common, and of too many the most frequent."""
    documents = table.documents
    least, most = (document_limit(share, rows) for share in (family.min_df, family.max_df))
    least = least if least > 1 or isinstance(family.min_df, float) else 0.0  # one text is enough, whatever it weighs
    slack = 1e-9 * max(rows, 1.0)  # sums of weights are whole but for rounding
    keep = table.seen & (documents >= least - slack) & (documents <= most + slack)
    if table.lexicon.fixed:
        keep = table.seen.copy()
    if family.max_words is not None and np.count_nonzero(keep) > family.max_words:
        often = np.where(keep, table.times.sum(axis=0), -1.0)
        # Of equally frequent words the first by name stay, as everywhere where a choice must not depend on the rows.
        best = np.lexsort((table.ranks, -often))[: family.max_words]
        keep = np.zeros(table.size, dtype=bool)
        keep[best] = True
    return np.asarray(keep)


def document_limit(share: float, rows: float) -> float:
    """Return a number of texts: a whole number is itself, a fraction the share of all."""
    return float(share) if isinstance(share, (int, np.integer)) else share * rows


def check_document_limit(name: str, value: float) -> None:
    """Refuse what is neither a number of texts nor a share of them."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 0
    if not whole and not (isinstance(value, float) and 0.0 <= value <= 1.0):
        raise InvalidSetting(
            Setting(name, value),
            " is neither a number of texts nor a proportion of them; give e.g. 2, or 0.5 for half of them.",
        )
