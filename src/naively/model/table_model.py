"""Textbook naive Bayes over a table with columns of any kind, and how cells are read for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import NamedTuple, TypeVar, cast

import numpy as np

from .._threads import in_threads
from .._types import AnyArray, Codes, Floats, Matrices, Matrix, Places, TableLike
from ..counting import arrays
from ..counting.arrays import counts_words, joined_moments, wide_cells
from ..data.column import Column
from ..data.dict_rows import Reader, cells_of, number_reader, texts_of_rows
from ..data.encoding import ROWS, block_codes, block_numbers
from ..data.frame import Frame
from ..data.schema import Schema
from ..errors import InvalidInput, RowRefused, infinite_cell
from ..errors.message import RowNumber, Setting
from ..families import Bins, Categorical, Family, Likelihood, Settings
from ..families.categorical import LogTable, LogTables
from ..families.family import ScoreTerm, TextTerm, row_weights
from ..families.numbers import NumberLikelihood
from ..stats import Axis, Counts, Table, WordTable
from ..stats.arithmetic import subtract
from ..text import TextRows
from .column_parts import (
    INSIDE,
    LABELS,
    ColumnPart,
    LabelColumn,
    LabelPart,
    NumberPart,
    label_likelihood,
    likelihood,
    number_likelihoods,
)
from .default.grid import NumberBins
from .scorer import AdditiveModel, NaiveModel

GIVE = "Give the rows that the model was fitted with."
T = TypeVar("T")
Ask = Callable[[slice, Matrices], T]


class Contributions(NamedTuple):
    """The contribution of each column, and then of each pair, to the score of each row, [row, column, class].

    `joint` is the part of them that comes from joint terms: a linear score of all columns, pairs, or offsets that were
    fitted for all columns at once. None where there are no such terms.
    """

    scores: Floats
    joint: Floats | None


@dataclass(frozen=True)
class CountedRows:
    """A block of rows that were counted, to be left out one at a time."""

    columns: Matrices
    y: Codes  # the class of each row
    weights: Floats | None
    begin: int  # the number of the first row
    # Gives the log priors without each row, and which of them is that of each row: equal rows leave the same one.
    priors: Callable[[], tuple[Floats, Places]]
    threads: int

    @property
    def row_weights(self) -> Floats:
        """The weight of each row; 1 unless weights are given."""
        return row_weights(self.weights, len(self.y))


class TableModel:
    """P(class | row) for rows of a table by textbook naive Bayes, estimated from counts under a schema.

    The default model is a `TableModel` with another scorer and more terms; nobody asks which one a model is.
    """

    joint_terms: str = ""
    has_credible_interval: bool = True

    def __init__(
        self,
        counts: Counts,
        schema: Schema,
        settings: Settings,
        log_prior: Floats,
        max_categories: int | None = None,
        scale: float = 1.0,
        bias: Floats | None = None,
    ) -> None:
        self.schema, self.classes = schema, counts.classes
        self.single = schema.single  # whether a row can be a dict of its cells
        self.labels = [
            LabelColumn(c, counts.columns[c.name], counts, settings, max_categories) for c in schema.of_kind("labels")
        ]
        numbers = schema.of_kind("numbers")
        # Where missing values count, whether a number is missing is a flag beside the number.
        self.missing_flags = [
            (at, missing_table(counts, c, settings)) for at, c in enumerate(numbers) if settings.missing == "value"
        ]
        self.numbers = by_family(numbers)
        self.number_likelihoods: dict[str, NumberLikelihood] = {}
        likelihoods: dict[str, Likelihood] = {}
        if self.labels or self.missing_flags:
            tables = (*(column.table for column in self.labels), *(table for _, table in self.missing_flags))
            likelihoods[LABELS] = LogTables(counts.classes, tables)
        for key, (family, columns) in self.numbers.items():
            moments = joined_moments([counts.columns[column.name] for column in columns], counts.classes)
            result = number_likelihoods(family, moments, counts, settings)
            likelihoods[key] = self.number_likelihoods[key] = result
        for column in schema.of_kind("vectors"):
            likelihoods[column.name] = likelihood(column.family, counts.columns[column.name], counts, settings)
        self.words: dict[str, WordTable] = {
            c.name: counts.columns[c.name] for c in schema.of_kind("vectors") if counts_words(c)
        }
        # The lexicon of counted texts is the reader that counted them.
        self.readers = {name: table.lexicon for name, table in self.words.items()}
        self.textbook = NaiveModel(counts.classes, log_prior, likelihoods, None, scale, bias)
        # Answers are scored by this one, which other kinds of models replace.
        self.scorer: AdditiveModel[ScoreTerm] = self.textbook
        self._numbers = {k: [(c.name, number_reader(c)) for c in cs] for k, (_, cs) in self.numbers.items()}
        self._codes: list[tuple[str, Reader]] = [(one.column.name, one.code_reader()) for one in self.labels]
        self._codes += [(numbers[at].name, missing_reader(numbers[at])) for at, _ in self.missing_flags]

    @property
    def base(self) -> Floats:
        """The scores that contributions are added to: the log prior."""
        return self.scorer.log_prior

    # -- single columns -----------------------------------------------------------------------------------------

    @cached_property
    def parts(self) -> dict[str, ColumnPart]:
        """Each column by itself, in the order of the schema."""
        labels = {
            one.column.name: LabelPart(one.column, LABELS, place, LogTables(self.classes, (one.table,)))
            for place, one in enumerate(self.labels)
        }
        result: dict[str, ColumnPart] = {**labels, **self.number_parts}
        for column in self.schema.of_kind("vectors"):
            result[column.name] = ColumnPart(column, column.name, None, self.textbook.terms[column.name])
        return {name: result[name] for name in self.schema.names}

    @cached_property
    def number_parts(self) -> dict[str, NumberPart]:
        """Each column of numbers by itself."""
        numbers, first = self.schema.of_kind("numbers"), len(self.labels)
        flags = {
            numbers[index].name: LabelPart(numbers[index], LABELS, first + place, LogTables(self.classes, (table,)))
            for place, (index, table) in enumerate(self.missing_flags)
        }
        return {
            column.name: NumberPart(
                column, key, index, self.number_likelihoods[key].column(index), flags.get(column.name)
            )
            for key, (_, columns) in self.numbers.items()
            for index, column in enumerate(columns)
        }

    @property
    def label_tables(self) -> dict[str, LogTable]:
        """The likelihood of each column of labels."""
        return {one.column.name: one.table for one in self.labels}

    @property
    def number_summaries(self) -> dict[str, tuple[Floats, Floats, Floats]]:
        """Of each column of numbers: how many each class has, their means and sums of squared deviations, [class]."""
        return {name: part.summary for name, part in self.number_parts.items()}

    def label_codes(self, columns: Matrices) -> Codes:
        """Return the codes of the columns of labels, [row, column]."""
        codes: Codes = columns[LABELS][:, : len(self.labels)]
        return codes

    # -- cells as the kernels read them -------------------------------------------------------------------------

    def read(self, frame: Frame, begin: int, end: int, threads: int) -> Matrices:
        """Return some rows of a frame, a matrix for each part of the model."""
        out: Matrices = {}
        for key, (_, columns) in self.numbers.items():
            out[key] = arrays.kernel_matrix(block_numbers(frame, columns, begin, end, threads))
        if self.labels or self.missing_flags:
            codes, _ = block_codes(frame, [label.coder for label in self.labels], begin, end, threads)
            missing = [np.isnan(self._number(frame, at, begin, end)) for at, _ in self.missing_flags]
            out[LABELS] = np.column_stack([codes, *missing]).astype(np.int32) if missing else codes
        for column in self.schema.of_kind("vectors"):
            out[column.name] = wide_cells(frame, column, self.readers.get(column.name), begin, end, threads)
        return out

    def texts_of(self, frame: Frame, threads: int) -> list[Matrix]:
        """Return all texts of a frame, column by column; while they are held, whoever reads them finds them there."""
        return [
            wide_cells(frame, self.schema[name], reader, 0, frame.rows, threads)
            for name, reader in self.readers.items()
        ]

    def _number(self, frame: Frame, at: int, begin: int, end: int) -> Floats:
        column = self.schema.of_kind("numbers")[at]
        numbers: Floats = frame.columns[column.name].numbers(begin, end)
        return numbers

    def read_rows(self, rows: Sequence[Mapping[str, object]]) -> Matrices:
        """Return rows given as dicts, a matrix for each part of the model."""
        out: Matrices = {key: np.array(cells_of(rows, read), dtype=np.float64) for key, read in self._numbers.items()}
        if self._codes:
            out[LABELS] = np.array(cells_of(rows, self._codes), dtype=np.int32)
        for name, reader in self.readers.items():
            out[name] = TextRows(reader, texts_of_rows(rows, self.schema[name]), 0, 1)
        return out

    # -- answers ------------------------------------------------------------------------------------------------

    @property
    def wide(self) -> bool:
        """Whether there are columns of texts or vectors, which the kernels read in several threads themselves."""
        return bool(self.schema.of_kind("vectors"))

    def answer(self, ask: Callable[..., AnyArray], source: TableLike, threads: int, **how: object) -> AnyArray:
        """Return the answers about all rows; `ask` is a method of `AdditiveModel`."""
        if not isinstance(source, Frame):
            rows = self.read_rows(source)
            return self.ask_block(lambda _, columns: ask(self.scorer, columns, 1, **how), slice(0, len(source)), rows)
        if threads > 1 and source.rows > ROWS_OF_THREAD and not self.wide:
            return answers_in_threads(self, lambda columns: ask(self.scorer, columns, 1, **how), source, threads)
        parts = self.each_block(lambda _, columns: ask(self.scorer, columns, threads, **how), source, threads)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def log_density(self, source: TableLike, threads: int) -> Floats:
        """Return log P(row) of all rows by textbook naive Bayes; of a number in a bin, its density there counts too."""
        blocks = self.each_block(lambda _, columns: self.textbook.log_density(columns, threads), source, threads)
        density = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        for column in self.schema.of_kind("labels"):
            if isinstance(column.family, Bins):
                density = density + column.family.log_within(numbers_in(source, column))
        return density

    def each_block(self, ask: Ask[T], source: TableLike, threads: int) -> list[T]:
        """Return what a function returns for each block of rows; it gets which rows they are, and their matrices."""
        if not isinstance(source, Frame):
            return [self.ask_block(ask, slice(0, len(source)), self.read_rows(source))]
        blocks = [slice(begin, min(begin + ROWS, source.rows)) for begin in range(0, max(source.rows, 1), ROWS)]
        return [self.ask_block(ask, rows, self.read(source, rows.start, rows.stop, threads)) for rows in blocks]

    def ask_block(self, ask: Ask[T], rows: slice, columns: Matrices) -> T:
        """Return what a function returns for a block of rows that was read; its errors name the row and the column."""
        if not columns:  # no column is used: the prior is all there is
            columns = {LABELS: np.empty((rows.stop - rows.start, 0), dtype=np.int32)}
        try:
            return ask(rows, columns)
        except RowRefused as error:
            raise self._named(columns, error.row, rows.start) or error from None

    def _named(self, columns: Matrices, row: int, begin: int) -> InvalidInput | None:
        """Return the error that names the column of a number that is not finite."""
        for key, (_, numbers) in self.numbers.items():
            line = np.asarray(columns[key][row], dtype=np.float64)
            if np.isinf(line).any():
                name = numbers[int(np.argmax(np.isinf(line)))].name
                return infinite_cell(begin + row, name)
        return None

    # -- why, and how good --------------------------------------------------------------------------------------

    def contributions(self, columns: Matrices, threads: int) -> Contributions:
        """Return the contribution of each column to the score of each row, [row, column, class]."""
        each = [part.contributions(columns, threads) for part in self.parts.values()]
        rows = len(next(iter(columns.values()))) if not each else len(each[0])
        return Contributions(np.stack(each, axis=1) if each else np.zeros((rows, 0, len(self.classes))), None)

    def leave_one_out(self, rows: CountedRows) -> Floats:
        """Return the log joint [row, class] of rows that were counted, each left out."""
        before, which = rows.priors()
        out: Floats = before.take(which, axis=0)
        try:
            for name, result in self.textbook.terms.items():
                out += result.leave_one_out(rows.columns[name], rows.y, rows.weights, rows.threads)
        except InvalidInput:
            self._check_counted(rows)
            raise
        ruled_out = np.flatnonzero(out[:, 0] == -np.inf)
        ruled_out = ruled_out[np.isneginf(out[ruled_out]).all(axis=1)]
        out[ruled_out] = before[which[ruled_out]]  # every class is ruled out: only the prior is left
        return out

    def _check_counted(self, rows: CountedRows) -> None:
        """Refuse rows that cannot have been counted, and values that are an error once their only row is left out."""
        y, w = rows.y, rows.row_weights
        for at, label in enumerate(self.labels):
            table, code = label.table, rows.columns[LABELS][:, at]
            n = table.left.n  # the last line is that of values never seen
            never = np.flatnonzero((subtract(n[code, y], w) < 0) & (code >= 0))
            if len(never):
                raise InvalidInput(
                    RowNumber(rows.begin + never[0]),
                    f" was never counted: its value in column {label.column.name!r} was not counted as often with its "
                    f"class, {table.classes.labels[y[never[0]]]!r}. {GIVE}",
                    column=label.column.name,
                )
            alone = np.flatnonzero((subtract(table.left.seen[code], w) == 0) & (code >= 0))
            if label.settings.unseen == "error" and len(alone) and not table.values.fixed:
                raise InvalidInput(
                    RowNumber(rows.begin + alone[0]),
                    f" is the only one with its value in column {label.column.name!r}: without it, the value was not "
                    "seen. Set ",
                    Setting("unseen", "skip"),
                    " to ignore such values, or ",
                    Setting("unseen", "smooth"),
                    " to smooth them.",
                    column=label.column.name,
                )
        for key, (_, numbers) in self.numbers.items():
            result = np.argwhere(np.isinf(rows.columns[key]))
            if len(result):
                row, at = (int(i) for i in result[0])
                what = f" was never counted: {numbers[at].name!r} is infinite. {GIVE}"
                raise InvalidInput(RowNumber(rows.begin + row), what, column=numbers[at].name)

    def text_terms(self) -> dict[str, TextTerm]:
        """Return the terms that are sums over words, by column of texts."""
        # So is every term that another model has for such a column.
        return {name: cast(TextTerm, self.scorer.terms[name]) for name in self.words}

    @property
    def fine_bins(self) -> Mapping[str, tuple[NumberBins, Floats]]:
        """The bins of each number that is counted in such, and the rows of each class in them; none here."""
        return {}

    @property
    def pairs(self) -> Mapping[str, tuple[str, ...]] | None:
        """The pairs of columns with a contribution beyond both: None, for there are no joint terms."""
        return None

    def summary_lines(self) -> list[str]:
        """Return what was fitted beside the counts: nothing."""
        return []


def numbers_in(source: TableLike, column: Column) -> Floats:
    """Return the numbers of a column in all rows of a frame, or in a few dicts."""
    if isinstance(source, Frame):
        numbers: Floats = source.columns[column.name].numbers(0, source.rows)
        return numbers
    return np.array(cells_of(source, [(column.name, number_reader(column))]), dtype=np.float64)[:, 0]


def missing_table(counts: Counts, column: Column, settings: Settings) -> LogTable:
    """Return the likelihood of whether a number is missing: rows of each class with and without one."""
    there = counts.columns[column.name].on(counts.classes).n[:, 0]
    n = np.column_stack([there, np.maximum(counts.rows - there, 0.0)])
    table = Table(counts.classes, Axis.declared([False, True]), n)
    return label_likelihood(Categorical(column.family.smoothing), table, counts, settings)


def missing_reader(column: Column) -> Reader:
    """Return a reader that tells whether a number is missing."""
    number = number_reader(column)
    return lambda value: np.isnan(number(value))


def by_family(columns: Sequence[Column]) -> dict[str, tuple[Family, tuple[Column, ...]]]:
    """Return columns of numbers, those of the same family together: they are scored as one matrix."""
    groups: list[tuple[Family, list[Column]]] = []
    for column in columns:
        group = next((group for family, group in groups if family == column.family), None)
        if group is None:
            groups.append((column.family, group := []))
        group.append(column)
    return {f"{INSIDE}numbers {index}": (family, tuple(group)) for index, (family, group) in enumerate(groups)}


# -- answers about many rows -------------------------------------------------------------------------------------------


# Rows that one thread reads and scores at a time: what is made of them is some megabytes. Whatever the threads, the
# blocks are the same.
ROWS_OF_THREAD = 1 << 15


def answers_in_threads(model: TableModel, ask: Callable[[Matrices], AnyArray], frame: Frame, threads: int) -> AnyArray:
    """Return the answers about all rows of a frame; each block is read, scored and put in its place by one thread."""
    for label in model.labels:
        label.coder.learn()  # the threads only look labels up
    whole: list[AnyArray] = []
    making = Lock()

    def fill(begin: int) -> None:
        rows = slice(begin, min(begin + ROWS_OF_THREAD, frame.rows))
        result = model.ask_block(lambda _, columns: ask(columns), rows, model.read(frame, rows.start, rows.stop, 1))
        with making:  # the first answer shows what there must be room for
            if not whole:
                whole.append(np.empty((frame.rows, *result.shape[1:]), dtype=result.dtype))
        whole[0][rows] = result

    in_threads(fill, range(0, frame.rows, ROWS_OF_THREAD), threads)
    return whole[0]
