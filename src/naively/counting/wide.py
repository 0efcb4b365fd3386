"""Wide columns while they are counted: vectors of numbers, of flags or of words, and texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypedDict
from weakref import WeakValueDictionary

import numpy as np

from .. import _kernels
from .._types import Codes, Floats, Label, Matrix
from ..data.column import Column
from ..data.encoding import block_vectors
from ..data.frame import Frame
from ..data.values import ColumnValues
from ..errors import InvalidInput, NumberTooLarge, RowRefused
from ..families import Bernoulli, Words
from ..families.family import row_blocks
from ..families.numbers import DENSE
from ..stats import Axis, Moments, Table, WordTable
from ..stats.accumulators import MomentsAccumulator, TableAccumulator
from ..stats.counts import ColumnStatistic
from ..stats.word_table import WordCells
from ..text import TextReader, TextRows, Tokens
from . import arrays

# Some rows of a wide column: a matrix, or texts beside their reader, which are indexed as a matrix is.
WideCells: TypeAlias = Matrix

# Texts that somebody holds, by their column, reader and rows: who asks for the same ones finds them tokenized.
READ_TEXTS: WeakValueDictionary[tuple[int, ...], TextRows] = WeakValueDictionary()


class GrowingWordsState(TypedDict):
    """What it is pickled as."""

    reader: TextReader
    times: str
    classes: int
    tables: tuple[Floats, Floats]


class GrowingWords:
    """Fills a WordTable: the words of texts, by a reader that others may share."""

    def __init__(self, reader: TextReader, times: str) -> None:
        self.reader, self.times, self.classes, self.sums = reader, times, 0, _kernels.ClassWords()

    @property
    def width(self) -> int:
        """How many words are known."""
        return len(self.reader)

    def make_room(self, classes: int) -> None:
        """Make room for so many classes."""
        self.classes = max(self.classes, classes)

    def add(self, x: TextRows, y: Codes, weights: Floats | None) -> None:
        """Count the words of some texts."""
        x.count(y, self.classes, weights, self.times, self.sums)

    def value(self, axis: Axis, classes: Sequence[Label]) -> WordTable:
        """Return the counts of all rows so far, the classes sorted."""
        place = axis.places(classes).tolist()
        return WordTable.of_cells(axis, self.reader, WordCells(*self.sums.cells(len(axis), len(self.reader), place)))

    def take(self, table: WordTable, classes: Sequence[Label]) -> None:
        """Hold these counts from now on, the classes by their codes; the words are those of the table's lexicon."""
        assert isinstance(table.lexicon, TextReader)
        self.reader, self.sums = table.lexicon, _kernels.ClassWords()
        self.make_room(len(classes))
        laid = table.on(Axis.declared(classes))
        order = laid.classes.places(classes)
        self.sums.add(*(np.ascontiguousarray(part[order]) for part in (laid.times, laid.texts)))

    def absorb(self, other: GrowingWords, classes: int) -> None:
        """Take in what another one of the same reader has counted."""
        self.sums.add(*other.sums.tables(classes, len(self.reader)))

    def __getstate__(self) -> GrowingWordsState:
        tables = self.sums.tables(self.classes, len(self.reader))
        return {"reader": self.reader, "times": self.times, "classes": self.classes, "tables": tables}

    def __setstate__(self, state: GrowingWordsState) -> None:
        self.reader, self.times, self.classes = state["reader"], state["times"], state["classes"]
        self.sums = _kernels.ClassWords()
        self.sums.add(*state["tables"])


class GrowingWordCounts:
    """Fills a WordTable of a matrix of counts: its columns are the words, and its rows the texts."""

    def __init__(self, width: int) -> None:
        self.width, self.times, self.texts = width, empty_table(width, None), empty_table(width, 0.0)

    def make_room(self, classes: int) -> None:
        """Make room for so many classes."""
        self.times.make_room(classes)
        self.texts.make_room(classes)

    def value(self, axis: Axis, classes: Sequence[Label]) -> WordTable:
        """Return the counts of all rows so far, the classes sorted."""
        times, texts = (part.value(axis, classes).on(axis) for part in (self.times, self.texts))
        return WordTable(axis, matrix_columns(self.width), times, texts)

    def take(self, table: WordTable | Table, classes: Sequence[Label]) -> None:
        """Hold these counts from now on, the classes by their codes; of a plain table, each count is a row."""
        self.make_room(len(classes))
        times, texts = (table.n, table.n) if isinstance(table, Table) else (table.times, table.texts)
        for part, n in ((self.times, times), (self.texts, texts)):
            part.take(Table(table.classes, part.values, n), classes)


WideAccumulator = GrowingWords | GrowingWordCounts | MomentsAccumulator | TableAccumulator


def empty_table(width: int, threshold: float | None) -> TableAccumulator:
    """Return an accumulator of a table with this many columns, and room for one class."""
    return TableAccumulator(Axis.numbered(1), Axis.numbered(width), threshold)


def matrix_columns(width: int) -> TextReader:
    """Return the columns of a matrix as words: like those of a hash they have numbers and no names."""
    return TextReader(Tokens(hash_width=width), fixed=True)


def text_reader(column: Column) -> TextReader:
    """Return what tokenizes the texts of a column; it knows no word yet but those that are declared."""
    family = column.family
    assert isinstance(family, Words)
    return TextReader(family.tokens, family.vocabulary or (), fixed=family.vocabulary is not None)


def counts_words(column: Column) -> bool:
    """Return whether a column holds texts that are tokenized."""
    return column.type == "text" and isinstance(column.family, Words)


def wide_cells(
    frame: Frame, column: Column, reader: TextReader | None, begin: int, end: int, threads: int
) -> WideCells:
    """Return some rows of a wide column: texts beside their reader, or a matrix."""
    values = frame.columns[column.name]
    if reader is not None and isinstance(values, ColumnValues):
        key = (id(values), id(reader), len(reader), begin, end, threads)
        found = READ_TEXTS.get(key)
        if found is None or found.source is not values:
            found = TextRows(reader, values.prose(column, begin, end), begin, threads, source=values)
            READ_TEXTS[key] = found
        return found
    return arrays.kernel_matrix(arrays.distinct_cells(block_vectors(frame, column, begin, end)))


def empty_accumulator(column: Column, width: int, reader: TextReader | None = None) -> WideAccumulator:
    """Return an empty accumulator for vectors of this width, or for the words of texts."""
    if reader is not None:
        assert isinstance(column.family, Words)
        return GrowingWords(reader, column.family.times)
    if column.family.statistic is Moments:
        return MomentsAccumulator(Axis.numbered(1), Axis.numbered(width))
    if isinstance(column.family, Words):
        return GrowingWordCounts(width)
    return empty_table(width, column.family.threshold if isinstance(column.family, Bernoulli) else None)


def accumulated_statistic(wide: WideAccumulator, classes: Sequence[Label], axis: Axis) -> ColumnStatistic:
    """Return what was counted of a wide column; the classes in the order of their codes, and as they are sorted."""
    return wide.value(axis, classes)


def absorb_accumulator(mine: WideAccumulator, theirs: WideAccumulator, classes: int) -> None:
    """Take in what another accumulator of the same column has counted."""
    mine.make_room(classes)
    if isinstance(mine, GrowingWords) and isinstance(theirs, GrowingWords):
        mine.absorb(theirs, classes)
    elif isinstance(mine, GrowingWordCounts) and isinstance(theirs, GrowingWordCounts):
        for own, other in ((mine.times, theirs.times), (mine.texts, theirs.texts)):
            own.n[:classes] += other.n[:classes]
    elif isinstance(mine, TableAccumulator) and isinstance(theirs, TableAccumulator):
        mine.n[:classes] += theirs.n[:classes]
    elif isinstance(mine, MomentsAccumulator) and isinstance(theirs, MomentsAccumulator):
        axis = Axis.numbered(classes)
        mine.take(mine.value(axis, axis.labels) + theirs.value(axis, axis.labels), axis.labels)


def add_wide(
    accumulator: WideAccumulator, name: str, x: WideCells, y: Codes, weights: Floats | None, threads: int
) -> None:
    """Count a wide column; an error names the column."""
    if isinstance(accumulator, GrowingWords):
        accumulator.add(x, y, weights)
        return
    if isinstance(accumulator, MomentsAccumulator) and arrays.is_sparse(x):
        add_sparse(accumulator, name, x, y, weights, threads)
        return
    if isinstance(accumulator, GrowingWordCounts):
        add_wide(accumulator.times, name, x, y, weights, threads)  # first: it refuses what cannot be counted
        add_wide(accumulator.texts, name, x, y, weights, threads)
        return
    try:
        arrays.add_column(accumulator, x, y, weights, threads, name)
    except NumberTooLarge as error:
        at = error.column
        row = int(np.argmax(~(np.abs(x[:, at]) <= arrays.LARGEST)))
        needed = "only finite numbers up to ±1e150 can be counted."
        raise RowRefused(row, f"{name}[{at}]", f"{error.value:g}", needed) from None
    except RowRefused as error:
        raise error.in_column(f"{name}[{error.column}]") from None


def add_sparse(
    accumulator: MomentsAccumulator, name: str, x: Matrix, y: Codes, weights: Floats | None, threads: int
) -> None:
    """Count the numbers of a sparse matrix, whose empty cells are zeros, some rows at a time."""
    large = np.flatnonzero(np.abs(x.data) > arrays.LARGEST)
    if len(large):  # before anything is counted
        row = int(np.searchsorted(x.indptr, large[0], side="right")) - 1
        needed = "only finite numbers up to ±1e150 can be counted."
        raise RowRefused(row, f"{name}[{x.indices[large[0]]}]", f"{x.data[large[0]]:g}", needed)
    for rows in row_blocks(x.shape[0], x.shape[1], DENSE):
        own = None if weights is None else weights[rows]
        arrays.add_column(accumulator, arrays.kernel_matrix(x[rows].toarray()), y[rows], own, threads, name)


def check_vector_width(column: Column, width: int, known: int) -> None:
    """Refuse vectors of another length than those that were counted."""
    if width != known:
        raise InvalidInput(
            f"Column {column.name!r} has vectors of {width} features, but NaiveBayes is expecting {known} "
            "features as input.",
            column=column.name,
        )


def counted_width(statistic: ColumnStatistic) -> int:
    """Return how many columns a wide column was counted with."""
    if isinstance(statistic, WordTable):
        return statistic.size
    return len(statistic.columns if isinstance(statistic, Moments) else statistic.values)
