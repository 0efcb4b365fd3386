"""Columns with one term: vectors, and all columns that are not on the grid, by textbook naive Bayes.

A column of vectors has a weight on its log-likelihood. Of very many columns those that are not kept share one weight on
the sum of theirs: each tells little, yet all of them together may predict the class well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._kernels import Scorer
from ..._types import Codes, Floats, Matrices, Matrix, Places
from ...counting import arrays
from ...counting.arrays import add_wide, counted_width, empty_accumulator, joined_moments
from ...data.column import Column
from ...families import Settings
from ...families.categorical import LogTables
from ...families.family import ScoreTerm, TextTerm, scores_of
from ...families.words import ModelWords
from ...stats import Axis, Counts, Moments, Table, Tables
from ...stats.accumulators import MomentsAccumulator
from ..column_parts import INSIDE, LABELS, LabelColumn, label_likelihood, likelihood, number_likelihoods
from ..table_model import TableModel, missing_table
from .rows import Term, TermValues

if TYPE_CHECKING:
    from .rows import CrossFit

VECTORS, COUNTS = "vectors", "counts"  # the log-likelihood of vectors, and of counts whose words have terms, too
REST = Term("rest")


@dataclass(frozen=True)
class LikelihoodTerm:
    """The log-likelihood of one matrix: what was counted of it, how rows are counted, and what is estimated."""

    term: Term
    key: str  # of the matrix that it reads
    names: tuple[str, ...]  # its columns
    counts: Counts  # the rows of each class
    statistic: Any  # adds and subtracts
    count: Callable[[Matrix, Codes, Floats], Any]  # of some rows
    estimate: Callable[[Any, Counts], Any]
    places: Places | None = None  # of its columns in the matrix; None for all
    of_texts: bool = False

    def matrix(self, columns: Matrices) -> Matrix:
        """Return the matrix of these columns alone."""
        x = columns[self.key]
        return x if self.places is None else np.asfortranarray(x[:, self.places])

    def likelihood(self) -> Any:
        """Return the likelihood by all rows."""
        return self.estimate(self.statistic, self.counts)

    def cross(self, cross: CrossFit) -> TermValues:
        """Return the log-likelihood of rows by the counts without their fold, [class, row]."""
        rows, x = cross.rows, self.matrix(cross.rows.columns)
        classes = Axis.declared(self.counts.classes.labels)  # one may have no row left
        out = np.empty((len(self.counts.classes), len(rows)))
        for fold in rows.folds:
            without = np.zeros(len(rows), dtype=np.bool_)
            without[fold] = True
            if cross.test is not None:
                without[cross.test] = True
            places = np.flatnonzero(without)
            part = self.count(x[places], rows.y[places], rows.weights[places])
            left = self.counts.rows - np.bincount(rows.y[places], rows.weights[places], len(self.counts.rows))
            counts = Counts(classes, np.maximum(left, 0.0), {})
            out[:, fold] = scores_of(self.estimate(self.statistic - part, counts), x[fold]).T
        return out

    def score_term(self, weight: float) -> ScoreTerm:
        """Return the log-likelihood times a weight."""
        made = self.likelihood()
        return WeightedTextTerm(made, weight) if self.of_texts else WeightedTerm(made, weight)

    def contributions(self, columns: Matrices, weight: float) -> Iterator[tuple[str, Floats]]:
        """Give the weighted log-likelihood of each column, [row, class], by its name."""
        whole, x = self.likelihood(), self.matrix(columns)
        if self.places is None:
            yield self.names[0], weight * scores_of(whole, x)
            return
        for place, name in enumerate(self.names):
            yield name, weight * scores_of(whole.column(place), np.ascontiguousarray(x[:, place : place + 1]))


def vector_term(book: TableModel, column: Column, counts: Counts, settings: Settings, kind: str) -> LikelihoodTerm:
    """Return the term of a column of vectors, or of texts that are not counted as plain words."""
    statistic, classes = counts.columns[column.name], counts.classes

    def count(x: Matrix, y: Codes, weights: Floats) -> Any:
        part = empty_accumulator(column, counted_width(statistic), book.readers.get(column.name))
        part.make_room(len(classes))
        add_wide(part, column.name, x, y, np.ascontiguousarray(weights), 1)
        return part.value(classes, classes.labels)

    def estimate(statistic: Any, left: Counts) -> Any:
        return likelihood(column.family, statistic, left, settings)

    about = (column.name, (column.name,), counts, statistic, count, estimate)
    return LikelihoodTerm(Term(kind, column.name), *about, of_texts=column.name in book.readers)


def other_terms(book: TableModel, counts: Counts, used: set[str], most: int | None) -> Mapping[str, LikelihoodTerm]:
    """Return textbook naive Bayes for the columns that are not used, under default settings, by matrix.

    Where missing values count, so does whether a number is missing: among the categories, under its name.
    """
    settings = Settings(missing="value" if book.missing_flags else "skip")
    terms: dict[str, LikelihoodTerm] = {}
    for key, (family, columns) in book.numbers.items():
        places = np.array([place for place, column in enumerate(columns) if column.name not in used], dtype=np.intp)
        if len(places):
            names = tuple(columns[place].name for place in places)
            moments = joined_moments([counts.columns[name] for name in names], counts.classes)

            def count(x: Matrix, y: Codes, weights: Floats, width: int = len(names)) -> Moments:
                part = MomentsAccumulator(counts.classes, Axis.numbered(width))
                arrays.add_column(part, np.ascontiguousarray(x), y, np.ascontiguousarray(weights), 1)
                return part.value()

            def estimate(moments: Moments, left: Counts, family: Any = family) -> Any:
                return number_likelihoods(family, moments, left, settings)

            about = (key, names, counts, moments, count, estimate, places)
            terms[matrix_name(key)] = LikelihoodTerm(REST, *about)
    categories = category_term(book, counts, used, most, settings)
    return terms if categories is None else terms | {matrix_name(LABELS): categories}


def category_term(
    book: TableModel, counts: Counts, used: set[str], most: int | None, settings: Settings
) -> LikelihoodTerm | None:
    """Return the same for columns of categories; None if there are none."""
    numbers = book.schema.of_kind("numbers")
    flags = [(place, numbers[number]) for place, (number, _) in enumerate(book.missing_flags, len(book.labels))]
    own = [(place, one.column) for place, one in enumerate(book.labels) if one.column.name not in used]
    flags = [(place, column) for place, column in flags if column.name not in used]
    if not own and not flags:
        return None
    read = [LabelColumn(column, counts.columns[column.name], counts, settings, most).table for _, column in own]
    read += [missing_table(counts, column, settings) for _, column in flags]
    # Declared values stay when no row of them is left.
    tables = Tables(tuple(Table(table.classes, Axis.declared(table.values.labels), table.n) for table in read))

    def count(x: Matrix, y: Codes, weights: Floats) -> Tables:
        parts = []
        for table, codes in zip(tables.tables, np.asarray(x).T, strict=True):
            size = len(table.values)
            there = (codes >= 0) & (codes < size)
            n = np.bincount(y[there] * size + codes[there], weights[there], len(counts.classes) * size)
            parts.append(Table(counts.classes, table.values, n.reshape(len(counts.classes), size)))
        return Tables(tuple(parts))

    def estimate(statistic: Tables, left: Counts) -> LogTables:
        made = [table.family for table in read]
        pairs = zip(made, statistic.tables, strict=True)
        return LogTables(
            left.classes, tuple(label_likelihood(family, table, left, settings) for family, table in pairs)
        )

    places, columns = zip(*(*own, *flags), strict=True)
    names = tuple(column.name for column in columns)
    about = (LABELS, names, counts, tables, count, estimate, np.array(places, dtype=np.intp))
    return LikelihoodTerm(REST, *about)


def matrix_name(key: str) -> str:
    """Return the name of the matrix of the other columns among those of a matrix."""
    return f"{INSIDE}rest {key}"


# -- likelihoods times a weight ----------------------------------------------------------------------------------------


# A class that a likelihood rules out keeps a finite score under a weight: the least that all terms together can hold.
LEAST_SCORE = -1e290


@dataclass(frozen=True)
class WeightedTerm:
    """A term times a weight."""

    term: ScoreTerm
    weight: float

    @property
    def classes(self) -> Axis:
        """The classes, in the order of the scores."""
        return self.term.classes

    def add_to(self, scorer: Scorer, x: Matrix, missing: bool = True) -> None:
        """Have weight · log P(x | class) added to the scores."""
        own = Scorer(np.zeros(len(self.term.classes)))
        self.term.add_to(own, x, missing)
        out = np.empty((x.shape[0], len(self.term.classes)))
        own.log_joint(out, 1)
        scorer.given(np.ascontiguousarray(self.weight * np.maximum(out, LEAST_SCORE)))


@dataclass(frozen=True)
class WeightedTextTerm(WeightedTerm):
    """A term of texts times a weight."""

    term: TextTerm

    @property
    def words(self) -> ModelWords:
        """The words, in the order of their columns."""
        return self.term.words

    @property
    def word_scores(self) -> Floats:
        """The contribution of one occurrence of each word, [word, class]."""
        return np.asarray(self.weight * self.term.word_scores)

    def by_word(self, x: Matrix) -> tuple[Codes, Floats]:
        """Return the numbers of the words of a single row, and the contribution of each, [word, class]."""
        numbers, scores = self.term.by_word(x)
        return numbers, self.weight * scores
