"""What the words of a text say: which tokens are words of the model, and what a bag of those says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .._kernels import Scorer
from .._types import Codes, Floats, Mask
from ..errors import InvalidSetting
from ..errors.message import Setting
from ..stats import Axis, WordTable
from .bernoulli import Bernoulli, Flags
from .cumulants import Cumulants
from .family import Settings
from .word_counts import WordWeights

if TYPE_CHECKING:
    from .words import Words


class Kept(Sequence[Any]):
    """The words of a model, in the order of their columns; their names are looked up when they are asked for."""

    def __init__(self, table: WordTable, numbers: npt.NDArray[np.int32]) -> None:
        self.lexicon, self.numbers, self.declared = table.lexicon, numbers, table.numbered or table.lexicon.fixed
        self.numbered, self.size = table.numbered, table.size

    @cached_property
    def columns(self) -> npt.NDArray[np.int32]:
        """The column of each number, -1 if it has none."""
        columns = np.full(self.size, -1, dtype=np.int32)
        columns[self.numbers] = np.arange(len(self), dtype=np.int32)
        return columns

    def of(self, counts: Floats) -> Floats:
        """Return the part [class, column] of counts [class, number] that is about these words."""
        return counts if len(self) == self.size else counts[:, self.numbers]

    def by_number(self, table: Floats) -> Floats:
        """Return a table [column, …] laid out by number; words that are not kept say 0."""
        if len(self) == self.size:
            return np.ascontiguousarray(table)
        out = np.zeros((self.size, *table.shape[1:]))
        out[self.numbers] = table
        return out

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def labels(self) -> list[Any]:
        """The names of the words; of the columns of a hash, their numbers."""
        return self.numbers.tolist() if self.numbered else self.lexicon.names(self.numbers)

    def __getitem__(self, column: Any) -> Any:
        """Return the name of one word."""
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
    words: Kept
    inner: WordWeights | Flags
    idf: Floats | None

    @property
    def classes(self) -> Axis:
        """The classes, in the order of the scores."""
        return self.inner.classes

    def matrix(self, x: Any) -> Any:
        """Return the words of rows as a sparse matrix of the columns of this model."""
        found = x.matrix(self.words.columns, len(self.words), self.family.scored)
        if self.idf is None:
            return found
        found = found.astype(np.float64)
        found.data *= self.idf[found.indices]
        return found

    @cached_property
    def said(self) -> tuple[Floats, Floats] | None:
        """What every class says of an empty text, and what each token adds, [number, class]; None if some rule out."""
        constant, table = self.inner.linear
        if table is None:
            return None
        return constant, self.words.by_number(table if self.idf is None else table * self.idf[:, None])

    def add_to(self, scorer: Scorer, x: Any, holes: bool = True) -> None:
        """Have what the words say added to the scores, as the texts are read."""
        if self.said is None:
            self.inner.add_to(scorer, self.matrix(x), holes)
            return
        constant, table = self.said
        if constant.any():
            scorer.constant(constant)
        scorer.given(x.scores(table, self.family.scored))

    def by_word(self, x: Any) -> tuple[npt.NDArray[np.int32], Floats]:
        """Return the numbers of the words of a single row, and what each says about each class, [word, class]."""
        row, table = self.matrix(x), self.inner.each
        return self.words.numbers[row.indices], row.data[:, None] * table[row.indices]

    def log_likelihood(self, x: Any, threads: int = 1) -> Floats:
        """Return log P(words | class) as [row, class]."""
        return self.inner.log_likelihood(self.matrix(x), threads)

    def leave_one_out(self, x: Any, y: Codes, weights: Floats | None = None, threads: int = 1) -> Floats:
        """Return the log-likelihood of each row as if it had never been counted; which words are kept stays."""
        return self.inner.leave_one_out(self.matrix(x), y, weights, threads)

    def uncertainty(self, x: Any, threads: int = 1) -> Cumulants:
        """Return how little is known of the score of the words."""
        return self.inner.uncertainty(self.matrix(x), threads)

    def log_belief(self) -> float:
        """Return the logarithm of the prior's density at what was estimated, up to a constant."""
        return self.inner.log_belief()

    def say(self, column: str) -> str:
        """Say which words speak most for each class."""
        return self.inner.say(column)


def of_texts(family: Words, statistic: WordTable, rows: Floats, classes: Axis, settings: Settings) -> TextWeights:
    """Return what the words of texts say about each class."""
    table = statistic.on(classes)
    keep = chosen(family, table, float(np.sum(rows)))
    if family.aside:
        keep &= ~table.lexicon.sequences(table.size, spaced=True)
    words = Kept(table, np.flatnonzero(keep).astype(np.int32))
    settings = settings.each(len(words), smoothing_of(family, words))
    if family.bernoulli:
        flags = Bernoulli(smoothing=family.smoothing)
        there = np.asarray(rows, float)
        inner: Any = Flags(flags, settings, classes, words, words.of(table.texts), there)  # type: ignore[arg-type]
        return TextWeights(family, words, inner, None)
    n, idf = words.of(table.times), None
    if family.idf:
        idf = np.log((1 + np.sum(rows)) / (1 + words.of(table.texts).sum(axis=0))) + 1
        n = n * idf
    inner = WordWeights(family, settings, classes, words, n)  # type: ignore[arg-type]
    return TextWeights(family, words, inner, idf)


def smoothing_of(family: Words, words: Kept) -> Any:
    """Return λ for all words, or for each in the order of its column; it is given in that of the vocabulary."""
    if family.smoothing is None or np.ndim(family.smoothing) == 0 or words.numbered:
        return family.smoothing
    if family.vocabulary is None or len(family.vocabulary) != len(family.smoothing):
        raise InvalidSetting(
            Setting("smoothing", family.smoothing),
            " is a λ for each word of a text, so it needs a vocabulary of as many words.",
        )
    each = dict(zip(family.vocabulary, family.smoothing, strict=True))
    return np.array([each[word] for word in words.labels], dtype=np.float64)


def chosen(family: Words, table: WordTable, rows: float) -> Mask:
    """Tell which tokens are words of the model: neither too rare nor too common, and of too many the commonest."""
    documents = table.texts.sum(axis=0)
    least, most = (limit(share, rows) for share in (family.min_df, family.max_df))
    least = least if least > 1 or isinstance(family.min_df, float) else 0.0  # one text is enough, whatever it weighs
    slack = 1e-9 * max(rows, 1.0)  # sums of weights are whole but for rounding
    keep = table.met & (documents >= least - slack) & (documents <= most + slack)
    if table.lexicon.fixed:
        keep = table.met.copy()
    if family.max_words is not None and np.count_nonzero(keep) > family.max_words:
        often = np.where(keep, table.times.sum(axis=0), -1.0)
        # Of words met equally often the first by name stay, as everywhere where a choice must not depend on the rows.
        best = np.lexsort((table.ranks, -often))[: family.max_words]
        keep = np.zeros(table.size, dtype=bool)
        keep[best] = True
    return np.asarray(keep)


def limit(share: float, rows: float) -> float:
    """Return a number of texts: a whole number is itself, a fraction the share of all."""
    return float(share) if isinstance(share, (int, np.integer)) else share * rows


def check_limit(name: str, value: Any) -> None:
    """Refuse what is neither a number of texts nor a share of them."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 0
    if not whole and not (isinstance(value, float) and 0.0 <= value <= 1.0):
        raise InvalidSetting(
            Setting(name, value),
            " is neither a number of texts nor a share of them; give e.g. 2, or 0.5 for half of them.",
        )
