"""Counts tables with columns of any kind, in memory: blocks of rows through the compiled kernels."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .. import _kernels
from .._types import AnyArray, CellLike, Codes, Floats, Label, Places
from ..data.column import Column
from ..data.dict_rows import Reader, cells_of, label_reader, number_reader, texts_of_rows
from ..data.encoding import ROWS, Coder, block_codes, block_numbers
from ..data.frame import EncodedCells, Frame, columnwise
from ..data.schema import Schema
from ..data.target import Target
from ..errors import InvalidInput, NumberTooLarge, RowRefused, infinite_cell
from ..families import Bernoulli, Bins, Ordinal
from ..stats import Axis, Counts
from ..stats.accumulators import CodesAccumulator, MomentsAccumulator, Vocabulary
from ..stats.arithmetic import subtract
from ..stats.counts import ColumnStatistic
from ..text import TextRows
from . import arrays
from .arrays import (
    WideAccumulator,
    WideCells,
    absorb_accumulator,
    add_wide,
    check_vector_width,
    counted_width,
    counts_words,
    empty_accumulator,
    joined_moments,
    kernel_matrix,
    moments_of_column,
    text_reader,
    wide_cells,
)

# Up to so many cells that were encoded stay with their frame. A limit of memory.
NOTED = 1 << 25


class EncodedRows(NamedTuple):
    """Some rows as the kernels read them: codes of labels, numbers, vectors."""

    codes: Codes | None
    numbers: AnyArray | None
    vectors: dict[str, WideCells]

    @property
    def rows(self) -> int:
        """How many rows these are."""
        parts = (self.codes, self.numbers, *self.vectors.values())
        return next((int(part.shape[0]) for part in parts if part is not None), 0)

    def take(self, rows: Places) -> EncodedRows:
        """Return some of the rows."""
        codes, numbers = (None if part is None else columnwise(part, rows) for part in (self.codes, self.numbers))
        return EncodedRows(codes, numbers, {name: matrix[rows] for name, matrix in self.vectors.items()})


def encoded_numbers(frame: Frame, columns: Sequence[Column], begin: int, end: int, threads: int) -> AnyArray | None:
    """Return some rows of columns of numbers as the kernels read them; None if there are no such columns."""
    return kernel_matrix(block_numbers(frame, columns, begin, end, threads)) if columns else None


class TableCounter:
    """Counts rows of a table under a schema; classes and labels may be new at any time.

    An error while counting leaves the counts as they were.
    """

    def __init__(self, schema: Schema, classes: Sequence[Label] = ()) -> None:
        self.schema, self.declared = schema, tuple(classes)
        self.classes = Vocabulary(classes)
        self.of_labels, self.of_numbers = schema.of_kind("labels"), schema.of_kind("numbers")
        self.of_vectors = schema.of_kind("vectors")
        self.readers = {column.name: text_reader(column) for column in self.of_vectors if counts_words(column)}
        # A missing label is counted, too: as None, whose code is 0.
        self.growth = [0]
        self.words = [Vocabulary([None, *declared_levels(column)], self.growth) for column in self.of_labels]
        self.coders = [Coder(c, w.places, 0) for c, w in zip(self.of_labels, self.words, strict=True)]
        self._make_readers()
        self._empty()

    def _make_readers(self) -> None:
        self._labels = [(c.name, label_coder(c, w)) for c, w in zip(self.of_labels, self.words, strict=True)]
        self._numbers = [(column.name, number_reader(column)) for column in self.of_numbers]

    def _empty(self) -> None:
        self.rows: Floats = np.zeros(max(len(self.classes), 1))
        one, numbers = Axis.numbered(1), Axis.numbered(len(self.of_numbers))
        self.labels = CodesAccumulator(one, np.zeros(len(self.of_labels)), allow_missing=False)
        self.numbers = MomentsAccumulator(one, numbers)
        self.vectors: dict[str, WideAccumulator] = {
            n: empty_accumulator(self.schema[n], 0, reader) for n, reader in self.readers.items()
        }
        self._room = -1  # how many labels there is room for

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name not in ("_labels", "_numbers")}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state | {"_room": -1})  # sums may be of an earlier time than the codes
        self._make_readers()

    def empty_like(self) -> TableCounter:
        """Return an empty one with the same codes."""
        other = TableCounter.__new__(TableCounter)
        other.__dict__.update(self.__dict__)
        other._empty()
        return other

    # -- counting -----------------------------------------------------------------------------------------------

    def add(
        self,
        frame: Frame,
        target: Target,
        weights: Floats | None,
        threads: int,
        also: Callable[[EncodedRows], None] | None = None,
    ) -> None:
        """Count the rows of a frame, given their classes and weights; of soft labels, each class by its proportion.

        What is to be done with every block of rows in addition to counting them is `also`.
        """
        codes = self.classes.codes(target.labels)
        same = np.array_equal(codes, np.arange(len(codes)))  # as in a first fit, where the counter knew no class
        self.start_vectors(frame)
        # A later block may be refused: count all apart, then take them in.
        counter = self.empty_like() if frame.rows > ROWS or target.soft else self
        counter.start_vectors(frame)
        for begin in range(0, max(frame.rows, 1), ROWS):
            rows = slice(begin, min(begin + ROWS, frame.rows))
            block = counter.encoded(frame, rows.start, rows.stop, threads)
            if frame.rows <= ROWS and frame.cells <= NOTED:
                frame.encoded = EncodedCells(self.words, block.codes, block.numbers)
            for name in self.readers if target.soft else ():
                block.vectors[name].learn()  # once for all classes
            for y, own in target.pairs(weights, rows):
                counter._add_encoded(*block, y if same else codes[y], own, threads, begin)
            if also is not None:
                also(block)
        if counter is not self:
            self.absorb(counter)

    def add_apart(
        self,
        counters: Sequence[TableCounter],
        folds: Codes | None,
        block: EncodedRows,
        y: Codes,
        weights: Floats | None,
        threads: int,
    ) -> None:
        """Count each row of a block with the counter of its fold; the counters have the same codes as this one."""
        for index, counter in enumerate(counters):
            if folds is None:
                counter._add_encoded(*block, y, weights, threads)
                continue
            rows = np.flatnonzero(folds == index)
            own = None if weights is None else weights[rows]
            try:
                counter._add_encoded(*block.take(rows), y[rows], own, threads)
            except RowRefused as error:
                if error.row is None:
                    raise
                raise error.with_place(int(rows[error.row]) - error.row) from None  # the row of the block

    def encoded(self, frame: Frame, begin: int, end: int, threads: int) -> EncodedRows:
        """Return some rows of a frame as codes, numbers and vectors; labels that are new get codes."""
        codes = None
        if self.of_labels:
            codes, new = block_codes(frame, self.coders, begin, end, threads)
            for words, labels in zip(self.words, new, strict=True):
                words.codes(labels)
        numbers = encoded_numbers(frame, self.of_numbers, begin, end, threads)
        wide = {c.name: wide_cells(frame, c, self.readers.get(c.name), begin, end, threads) for c in self.of_vectors}
        return EncodedRows(codes, numbers, wide)

    def encoded_cells(self, frame: Frame, begin: int, end: int, threads: int) -> tuple[Codes, Floats]:
        """Return some rows of a frame whose labels were all seen before: their codes and their numbers.

        Rows that this counter has encoded before, be it to count them, are not encoded again.
        """
        known = frame.encoded
        if known is None or known.words is not self.words:
            codes = block_codes(frame, self.coders, begin, end, threads)[0] if self.of_labels else None
            known = EncodedCells(self.words, codes, encoded_numbers(frame, self.of_numbers, begin, end, threads))
            if end - begin == frame.rows and frame.cells <= NOTED:
                frame.encoded = known
            begin, end = 0, end - begin
        codes, numbers = (None if part is None else part[begin:end] for part in (known.codes, known.numbers))
        codes = np.empty((end - begin, 0), dtype=np.int32) if codes is None else codes
        return codes, np.empty((end - begin, 0)) if numbers is None else np.asarray(numbers, dtype=np.float64)

    def _add_encoded(
        self,
        codes: Codes | None,
        numbers: AnyArray | None,
        vectors: dict[str, WideCells],
        y: Codes,
        weights: Floats | None,
        threads: int,
        begin: int = 0,
    ) -> None:
        try:
            self.add_encoded(codes, numbers, vectors, y, weights, threads)
        except (RowRefused, NumberTooLarge) as error:
            raise with_column_name(error, self.of_numbers, numbers, begin) from None

    def add_dicts(self, rows: Sequence[Mapping[str, CellLike]], y: Codes, weights: Floats | None) -> None:
        """Count a few rows given as dicts."""
        codes = numbers = None
        if self.of_numbers:
            numbers = np.array(cells_of(rows, self._numbers), dtype=np.float64)
        if self.of_labels:
            codes = np.array(cells_of(rows, self._labels), dtype=np.int32)
        texts = {
            name: TextRows(one, texts_of_rows(rows, self.schema[name]), 0, 1) for name, one in self.readers.items()
        }
        self._add_encoded(codes, numbers, texts, y, weights, 1, 0)

    def takes_row(self, label: Label) -> bool:
        """Return whether a single row with this label can be counted at once: its type is plain, and known."""
        known = next(iter(self.classes.places), label)
        plain = type(label) in (str, int, bool) and type(known) is type(label)
        return plain and not self.of_vectors

    def add_row(self, row: Mapping[str, CellLike], label: Label) -> None:
        """Count one row given as a dict, as quickly as can be."""
        (numbers,), (codes,) = cells_of((row,), self._numbers), cells_of((row,), self._labels)
        k, labels, moments = self.classes.code(label), self.labels, self.numbers
        if self.growth[0] != self._room or k >= len(self.rows):
            self.make_room()
        if not _kernels.count_row(numbers, codes, k, moments.shift, moments.sums, labels.offsets, labels.n, self.rows):
            self.add_dicts([row], np.array([k], dtype=np.int32), None)  # says what is wrong with which number

    def add_encoded(
        self,
        codes: Codes | None,
        numbers: AnyArray | None,
        vectors: dict[str, WideCells],
        y: Codes,
        weights: Floats | None,
        threads: int,
    ) -> None:
        """Count rows that are codes and numbers already; what may be refused comes first, so that nothing is torn."""
        self.make_room()
        refusable = len(vectors) + (numbers is not None)
        if refusable > 1:
            self.fresh_vectors(vectors, y, weights, threads)
        if numbers is not None:
            arrays.add_column(self.numbers, numbers, y, weights, threads)
        for name, matrix in vectors.items():
            add_wide(self.vectors[name], name, matrix, y, weights, threads)
        if codes is not None:
            row = self.labels.add(codes, y, weights, threads)
            assert row < 0, "a code without room"  # the vocabulary gave it, and room was made
        _kernels.count_rows(y, weights, self.rows)

    def fresh_vectors(self, vectors: dict[str, WideCells], y: Codes, weights: Floats | None, threads: int) -> None:
        """Count vectors apart, only to see whether a row of them is refused."""
        apart = self.empty_like()
        for name, matrix in vectors.items():
            if name in self.readers:
                matrix.check()
                continue
            apart.vectors[name] = empty_accumulator(self.schema[name], matrix.shape[1])
            apart.vectors[name].make_room(len(self.classes))
            add_wide(apart.vectors[name], name, matrix, y, weights, threads)

    def make_room(self) -> None:
        """Make room for all classes and labels that there are codes for."""
        classes = len(self.classes)
        if classes > len(self.rows):
            self.rows = np.concatenate([self.rows, np.zeros(max(classes, 2 * len(self.rows)) - len(self.rows))])
        if self.growth[0] != self._room or classes > self.labels.n.shape[1]:
            self.labels.make_room([len(words) for words in self.words], classes)
            self._room = self.growth[0]
        self.numbers.make_room(classes)
        for vectors in self.vectors.values():
            vectors.make_room(classes)

    def start_vectors(self, frame: Frame) -> None:
        """Make an empty accumulator for each column of vectors, as long as the first."""
        for column in self.of_vectors:
            if column.name not in self.readers:
                width = frame.vectors(column.name).shape[1]
                check_vector_width(
                    column, width, self.vectors.setdefault(column.name, empty_accumulator(column, width)).width
                )

    def set_aside(self, name: str) -> None:
        """Count a column of labels no longer, and forget what was counted of it."""
        at = [column.name for column in self.of_labels].index(name)
        self.schema = self.schema.only(other for other in self.schema.names if other != name)
        self.of_labels = self.schema.of_kind("labels")
        self.words = self.words[:at] + self.words[at + 1 :]
        self.coders = self.coders[:at] + self.coders[at + 1 :]
        self.labels = self.labels.without(at)
        self._make_readers()

    def without_values(self) -> list[str]:
        """Return the columns of labels and numbers in which every cell that was counted is missing."""
        self.make_room()
        classes = list(self.classes.places)
        seen = self.numbers.value(Axis(classes), classes).n.sum(axis=0) if self.of_numbers else np.zeros(0)
        result = [column.name for column, n in zip(self.of_numbers, seen.tolist(), strict=True) if not n]
        for index, (column, words) in enumerate(zip(self.of_labels, self.words, strict=True)):
            if not self.labels.part(index, len(words), len(classes))[1:].any():
                result.append(column.name)
        return [name for name in self.schema.names if name in result]

    def drop_types(self, *named: Container[str]) -> None:
        """Take columns without any value for empty ones, unless somebody named what they are."""
        empty = [name for name in self.without_values() if not any(name in some for some in named)]
        self.schema = self.schema.without_types(empty)
        self.of_labels, self.of_numbers = self.schema.of_kind("labels"), self.schema.of_kind("numbers")
        self._make_readers()

    # -- counts as values ---------------------------------------------------------------------------------------

    def absorb(self, other: TableCounter) -> None:
        """Take in what another counter with the same codes has counted."""
        self.make_room()
        other.make_room()
        classes = len(self.classes)
        self.rows[:classes] += other.rows[:classes]
        for index, words in enumerate(self.words):
            part = self.labels.part(index, len(words), classes)
            part += other.labels.part(index, len(words), classes)
        axis = Axis.numbered(classes)
        both = self.numbers.value(axis, axis.labels) + other.numbers.value(axis, axis.labels)
        self.numbers.take(both, axis.labels)
        for name, theirs in other.vectors.items():
            fresh = empty_accumulator(self.schema[name], theirs.width, self.readers.get(name))
            absorb_accumulator(self.vectors.setdefault(name, fresh), theirs, classes)

    def less(self, part: TableCounter) -> Counts:
        """Return the counts without those of a part that was absorbed before."""
        rest = self.empty_like()
        for counter in (self, part, rest):
            counter.make_room()
        classes, axis = len(self.classes), Axis.numbered(len(self.classes))
        rest.rows[:classes] = subtract(self.rows[:classes], part.rows[:classes])
        for index, words in enumerate(self.words):
            size = (index, len(words), classes)
            rest.labels.part(*size)[:] = subtract(self.labels.part(*size), part.labels.part(*size))
        both = self.numbers.value(axis, axis.labels) - part.numbers.value(axis, axis.labels)
        rest.numbers.take(both, axis.labels)
        for name, mine in self.vectors.items():
            rest.vectors[name] = empty_accumulator(self.schema[name], mine.width, self.readers.get(name))
            of_all, of_part = mine.value(axis, axis.labels), part.vectors[name].value(axis, axis.labels)
            left: ColumnStatistic = of_all - of_part  # type: ignore[operator]  # both are of one kind
            rest.vectors[name].take(left, axis.labels)
        return rest.value()

    def value(self) -> Counts:
        """Return the counts of all rows so far."""
        self.make_room()
        seen = list(self.classes.places)
        axis = Axis(seen, self.declared)
        rows = np.zeros(len(axis))
        rows[axis.places(seen)] = self.rows[: len(seen)]
        result: dict[str, ColumnStatistic] = {}
        for index, (column, words) in enumerate(zip(self.of_labels, self.words, strict=True)):
            result[column.name] = self.labels.table(index, words, seen, axis, declared_levels(column))
        moments = self.numbers.value(axis, seen)
        result |= {
            column.name: moments_of_column(moments, index, column.name) for index, column in enumerate(self.of_numbers)
        }
        result |= {name: vectors.value(axis, seen) for name, vectors in self.vectors.items()}
        columns = {name: result[name] for name in self.schema.names if name in result}
        return Counts(axis, rows, columns, self.schema)

    @classmethod
    def of(cls, counts: Counts, schema: Schema) -> TableCounter:
        """Return a counter that has counted this already."""
        counter = cls(schema, tuple(counts.classes.fixed))
        classes = list(counts.classes.labels)
        counter.classes.codes(classes)
        seen = list(counter.classes.places)
        for column, words in zip(counter.of_labels, counter.words, strict=True):
            words.codes(counts.columns[column.name].values.labels)
        counter.make_room()
        counter.rows[counter.classes.codes(classes)] = counts.rows
        for index, (column, words) in enumerate(zip(counter.of_labels, counter.words, strict=True)):
            table = counts.columns[column.name]
            place = np.ix_(words.codes(table.values.labels), counter.classes.codes(table.classes.labels))
            counter.labels.part(index, len(words), len(seen))[place] = table.n.T
        if counter.of_numbers:
            counter.numbers.take(
                joined_moments([counts.columns[column.name] for column in counter.of_numbers], counts.classes), seen
            )
        for column in counter.of_vectors:
            statistic = counts.columns[column.name]
            if column.name in counter.readers:
                counter.readers[column.name] = statistic.lexicon
            counter.vectors[column.name] = empty_accumulator(
                column, counted_width(statistic), counter.readers.get(column.name)
            )
            counter.vectors[column.name].take(statistic, seen)
        return counter


def with_column_name(
    error: InvalidInput, columns: Sequence[Column], numbers: AnyArray | None, begin: int
) -> InvalidInput:
    """Return an error about a number with the name of its column, and the row counted from the first."""
    if isinstance(error, NumberTooLarge) and isinstance(error.column, int):
        if np.isinf(error.value):
            assert numbers is not None
            row = begin + int(np.argmax(np.isinf(numbers[:, error.column])))
            return infinite_cell(row, columns[error.column].name)
        return NumberTooLarge(columns[error.column].name, error.value)
    if isinstance(error, RowRefused):
        return error.with_place(begin)
    return error


# -- labels that are declared for a column -----------------------------------------------------------------------------


def label_coder(column: Column, words: Vocabulary) -> Reader:
    """Return what makes a code of a value, a new one if its label is new."""
    read, family = label_reader(column), column.family
    if not isinstance(family, Ordinal):
        return lambda value: words.code(read(value))

    def level(value: CellLike) -> int:
        label = read(value)
        if label not in words.places:
            family.check(column.name, (*words.places, label))
        return words.code(label)

    return level


def declared_levels(column: Column) -> tuple[Label, ...]:
    """Return the labels that are declared for a column: bins, both values of a flag, levels of a categorical type."""
    if isinstance(column.family, Bernoulli):
        return (False, True)
    if isinstance(column.family, Bins):
        return tuple(column.family.values)
    if isinstance(column.family, Ordinal):
        if column.family.levels is None:
            column.family.check(column.name, column.levels or ())
        return column.family.levels or column.levels or ()
    return column.levels or ()
