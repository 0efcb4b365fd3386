"""Wide columns of the refined model: texts, words and flags with offsets, and other vectors without."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from scipy import sparse

from ..._kernels import Scorer
from ..._types import Codes, Floats, Matrices, Matrix, SparseMatrix
from ...families import Likelihood
from ...families.family import ScoreTerm, TextTerm, padded
from ...families.texts import ModelWords, TextWeights
from ...families.wide import add_products, presence
from ...families.word_counts import WordWeights
from ...stats import Axis, Table, WordTable
from ..joint.associations import HeldOutRows
from ..joint.weighted_terms import TermSum, WeightedTerm, WeightedTextTerm
from ..joint.word_terms import WordAssociations
from ..recipe import Recipe
from .features import OffsetColumn, scaled_words, value_places
from .scaled_likelihood import scaled_words_left_out


class ColumnTerms(NamedTuple):
    """A column as terms of the score, by the matrix that each reads; and as a sum over words, if it is of texts."""

    terms: dict[str, ScoreTerm]
    text: TextTerm | None = None


class RefinedColumn(Protocol):
    """A column of vectors or texts in the refined model."""

    @property
    def name(self) -> str:
        """The name of the column."""

    @property
    def matrices(self) -> tuple[str, ...]:
        """The matrices that its terms may read."""

    @property
    def kinds(self) -> list[str]:
        """The terms of naive Bayes, each with a weight."""

    @property
    def offset_column(self) -> OffsetColumn | None:
        """The values that have offsets; None if there are none."""

    def cells(self, columns: Matrices) -> Matrices:
        """Return matrices that its terms need beside those of naive Bayes."""

    def features(self, columns: Matrices) -> SparseMatrix:
        """Return the values of rows as features, [row, value]."""

    def leave_one_out(self, columns: Matrices, y: Codes, w: Floats, threads: int) -> list[Floats]:
        """Return the terms of naive Bayes for rows, each left out, [row, class]."""

    def score_terms(self, weights: Mapping[str, float], offsets: Floats) -> ColumnTerms:
        """Return the column as terms of the score, given the weights of naive Bayes and offsets [value, class]."""


def scaled_name(name: str) -> str:
    """Return the name of the matrix of scaled words of a column."""
    return f"{name} (words)"


def word_offsets(name: str, words: ModelWords, table: WordTable) -> OffsetColumn:
    """Return words with offsets, by the number of texts that they are in."""
    met = table.texts[:, words.numbers].sum(axis=0)
    return OffsetColumn(name, words, met, np.zeros(len(words), dtype=bool), words.places)


def vector_offsets(name: str, table: Table) -> OffsetColumn:
    """Return columns of a matrix with offsets."""
    labels = table.values.labels
    return OffsetColumn(name, labels, table.n.sum(axis=0), np.zeros(len(labels), dtype=bool), value_places(labels))


@dataclass(frozen=True)
class TextOffsets:
    """A column of texts with terms of its words."""

    words: WordAssociations
    table: WordTable
    recipe: Recipe

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.words.name

    @property
    def matrices(self) -> tuple[str, ...]:
        """The matrix of the texts."""
        return (self.words.name,)

    @property
    def kinds(self) -> list[str]:
        """The terms of words."""
        return [f"{term} of {self.words.name}" for term in self.words.terms]

    @cached_property
    def offset_column(self) -> OffsetColumn | None:
        """The words."""
        return word_offsets(self.words.name, self.words.words, self.table)

    def cells(self, columns: Matrices) -> Matrices:
        """Return no matrix: words are read from the texts."""
        return {}

    def features(self, columns: Matrices) -> SparseMatrix:
        """Return the words of rows, divided by the root of their number."""
        return self.words.flags(columns[self.words.name])

    def leave_one_out(self, columns: Matrices, y: Codes, w: Floats, threads: int) -> list[Floats]:
        """Return the terms of words for rows, each left out, [row, class]."""
        found = self.words.leave_one_out(columns[self.words.name], HeldOutRows(y, w), self.recipe.word_pseudo_count)
        return [part.T.astype(np.float64) for part in found.values()]

    def score_terms(self, weights: Mapping[str, float], offsets: Floats) -> ColumnTerms:
        """Return the contribution of each word."""
        mix = {term: weights[f"{term} of {self.words.name}"] for term in self.words.terms}
        scores = self.words.scores(mix, self.recipe.word_pseudo_count, offsets)
        return ColumnTerms({self.words.name: scores}, scores)


@dataclass(frozen=True)
class VectorTerm:
    """A column of other vectors, without offsets."""

    name: str
    likelihood: Likelihood
    offset_column: OffsetColumn | None = field(default=None, init=False)

    @property
    def matrices(self) -> tuple[str, ...]:
        """The matrix of the column."""
        return (self.name,)

    @property
    def kinds(self) -> list[str]:
        """The column itself."""
        return [self.name]

    def cells(self, columns: Matrices) -> Matrices:
        """Return no matrix."""
        return {}

    def features(self, columns: Matrices) -> SparseMatrix:
        """Return no feature."""
        return sparse.csr_array((columns[self.name].shape[0], 0))

    def leave_one_out(self, columns: Matrices, y: Codes, w: Floats, threads: int) -> list[Floats]:
        """Return the log-likelihood of rows, each left out, [row, class]."""
        return [self.likelihood.leave_one_out(columns[self.name], y, w, threads)]

    def score_terms(self, weights: Mapping[str, float], offsets: Floats) -> ColumnTerms:
        """Return the log-likelihood times its weight."""
        return ColumnTerms({self.name: WeightedTerm(self.likelihood, weights[self.name])})


@dataclass(frozen=True)
class FlagOffsets:
    """A column of flags with offsets."""

    name: str
    likelihood: Likelihood
    table: Table
    threshold: float | None

    @property
    def matrices(self) -> tuple[str, ...]:
        """The matrix of the column."""
        return (self.name,)

    @property
    def kinds(self) -> list[str]:
        """The column itself."""
        return [self.name]

    @cached_property
    def offset_column(self) -> OffsetColumn | None:
        """The flags."""
        return vector_offsets(self.name, self.table)

    def cells(self, columns: Matrices) -> Matrices:
        """Return no matrix: flags are those of naive Bayes."""
        return {}

    def features(self, columns: Matrices) -> SparseMatrix:
        """Return the flags of rows."""
        return sparse.csr_array(presence(columns[self.name], self.threshold), dtype=np.float64)

    def leave_one_out(self, columns: Matrices, y: Codes, w: Floats, threads: int) -> list[Floats]:
        """Return the log-likelihood of rows, each left out, [row, class]."""
        return [self.likelihood.leave_one_out(columns[self.name], y, w, threads)]

    def score_terms(self, weights: Mapping[str, float], offsets: Floats) -> ColumnTerms:
        """Return the weighted log-likelihood and the offsets of the flags."""
        table = SparseTable(self.likelihood.classes, offsets, self.threshold)
        return ColumnTerms({self.name: TermSum(WeightedTerm(self.likelihood, weights[self.name]), table)})


@dataclass(frozen=True)
class WordOffsets:
    """A column of word counts, or of texts in another form, with offsets of scaled words.

    Where the likelihood is of the words' own class and of their presence alone, it is scaled like the offsets; else
    both are terms of their own.
    """

    name: str
    likelihood: Likelihood
    bag: WordWeights | None  # the likelihood, where it is scaled like the offsets
    text: TextWeights | None  # the likelihood, if the column is one of texts
    column: OffsetColumn
    recipe: Recipe

    @property
    def matrices(self) -> tuple[str, ...]:
        """The matrix of the column, and that of scaled words."""
        return self.name, scaled_name(self.name)

    @property
    def kinds(self) -> list[str]:
        """The column itself."""
        return [self.name]

    @property
    def offset_column(self) -> OffsetColumn | None:
        """The words."""
        return self.column

    def _words(self, columns: Matrices) -> Matrix:
        """Return the words of rows as a matrix."""
        return columns[self.name] if self.text is None else self.text.matrix(columns[self.name])

    def cells(self, columns: Matrices) -> Matrices:
        """Return the scaled words."""
        return {scaled_name(self.name): scaled_words(self._words(columns))}

    def features(self, columns: Matrices) -> SparseMatrix:
        """Return the scaled words of rows."""
        return columns[scaled_name(self.name)]

    def leave_one_out(self, columns: Matrices, y: Codes, w: Floats, threads: int) -> list[Floats]:
        """Return the log-likelihood of rows, each left out, [row, class]."""
        if self.bag is None:
            return [self.likelihood.leave_one_out(columns[self.name], y, w, threads)]
        scaled = columns[scaled_name(self.name)]
        return [scaled_words_left_out(self.bag, self._words(columns), scaled, y, w, threads)]

    def score_terms(self, weights: Mapping[str, float], offsets: Floats) -> ColumnTerms:
        """Return the weighted log-likelihood and the offsets of the words."""
        weight, key, classes = weights[self.name], scaled_name(self.name), self.likelihood.classes
        if self.bag is not None:
            table = SparseTable(
                classes, weight * bounded_below(self.bag.log_p.T, self.recipe.strongest_value) + offsets
            )
            return ColumnTerms({key: table}, None if self.text is None else ScaledWordTerm(self.text, table))
        table = SparseTable(classes, offsets)
        if self.text is None:
            return ColumnTerms({self.name: WeightedTerm(self.likelihood, weight), key: table})
        plain = WeightedTextTerm(self.text, weight)
        return ColumnTerms({self.name: plain, key: table}, ScaledWordTerm(self.text, table, plain))


@dataclass(frozen=True)
class SparseTable:
    """The contribution of each value of a wide column, times how much of it there is."""

    classes: Axis
    table: Floats  # [value, class]
    threshold: float | None = None

    @cached_property
    def _laid(self) -> Floats:
        return padded(self.table)

    def add_to(self, scorer: Scorer, x: Matrix, missing: bool = True) -> None:
        """Have the contributions of the values added to the scores."""
        add_products(scorer, x, self._laid, self.threshold)


@dataclass(frozen=True)
class ScaledWordTerm:
    """The scaled words of texts one by one, beside the weighted likelihood of plain words, if there is one."""

    bag: TextWeights
    scaled: SparseTable
    plain: WeightedTextTerm | None = None

    @property
    def classes(self) -> Axis:
        """The classes, in the order of the scores."""
        return self.scaled.classes

    @property
    def words(self) -> ModelWords:
        """The words, in the order of their columns."""
        return self.bag.words

    @property
    def word_scores(self) -> Floats:
        """The largest contribution of one occurrence of each word, [word, class]."""
        plain = 0.0 if self.plain is None else self.plain.word_scores
        return np.asarray(self.scaled.table + plain)

    def add_to(self, scorer: Scorer, x: Matrix, missing: bool = True) -> None:
        """Have the contributions of the words of texts added to the scores."""
        self.scaled.add_to(scorer, scaled_words(self.bag.matrix(x)), missing)
        if self.plain is not None:
            self.plain.add_to(scorer, x, missing)

    def by_word(self, x: Matrix) -> tuple[Codes, Floats]:
        """Return the numbers of the words of a single row, and the contribution of each, [word, class]."""
        row = scaled_words(self.bag.matrix(x))
        scores = row.data[:, None] * self.scaled.table[row.indices]
        plain = 0.0 if self.plain is None else self.plain.by_word(x)[1]
        return self.words.numbers[row.indices], scores + plain


def bounded_below(logs: Floats, most: float) -> Floats:
    """Return logarithms [value, class] at most so far below the best: none of them rules out a class."""
    best = np.where(np.isneginf(logs).all(axis=1), 0.0, logs.max(axis=1, initial=-np.inf))
    return np.asarray(np.maximum(logs, best[:, None] - most))
