"""A model over a table with columns of any kind: what each column says, and how its cells are read for that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .._types import Floats
from ..counting import arrays as memory
from ..counting.column_moments import joined_moments
from ..counting.wide import counts_words, wide_cells
from ..data.block import ROWS, block_codes, block_numbers
from ..data.column import Column
from ..data.dict_rows import Reader, cells_of, label_reader, number_reader, texts_of_rows
from ..data.encoder import Coder, unseen_error
from ..data.frame import Frame
from ..data.schema import Schema
from ..errors import InvalidInput, RowRefused, infinite_cell
from ..families import Bernoulli, Bins, Categorical, Family, Ordinal, Settings
from ..families.categorical import LogTable, LogTables
from ..families.sparse_numbers import Densely
from ..stats import Axis, Counts, Moments, Table
from ..stats.table import axis_and_order
from ..text import TextRows
from .estimate import likelihood
from .scorer import Model

# Matrices of several columns have names that begin with a mark that no column's name does: one of texts may be named
# "labels", and its words lie beside them.
INSIDE = "\0"
LABELS = INSIDE + "labels"
Ask = Callable[[slice, dict[str, Any]], Any]


class Rare:
    """The label that stands for all rare values of a column."""

    def __repr__(self) -> str:
        return "(rare)"


RARE = Rare()


class LabelColumn:
    """A column of labels as it is scored: which code each label has."""

    def __init__(self, column: Column, table: Table, counts: Counts, settings: Settings, most: int | None) -> None:
        self.column, self.settings = column, settings
        merged, rare = merge_rare(table, None if isinstance(column.family, (Bins, Ordinal)) else most)
        family = Categorical(column.family.smoothing) if isinstance(column.family, Bernoulli) else column.family
        self.table: LogTable = family.estimate(merged, counts.rows, counts.classes, settings)  # type: ignore[assignment]
        self.places = {label: at for at, label in enumerate(self.table.values.labels)}
        self.places |= dict.fromkeys(rare, self.places.get(RARE, 0))
        self.unseen = len(self.table.values)
        if settings.missing == "skip" or None not in self.places:
            self.places[None] = -1 if settings.missing == "skip" else self.unseen
        self.read, refuse = label_reader(column), settings.unseen == "error"
        self.coder = Coder(column, self.places, self.places[None], self.unseen, refuse=refuse)

    def code_of(self, value: Any) -> int:
        """Return the code of a value as people write it."""
        return self.code(self.read(value))

    def code(self, label: Any) -> int:
        """Return the code of a label; of one that was never met, the last, if that is no error."""
        code = self.places.get(label, self.unseen)
        if code == self.unseen and self.settings.unseen == "error" and label is not None:
            raise unseen_error(self.column.name, label)
        return code


def merge_rare(table: Table, most: int | None) -> tuple[Table, list[Any]]:
    """Return the table with its rarest values as one, if it has more than so many; and which those are."""
    known = [at for at, label in enumerate(table.values.labels) if label is not None]
    if most is None or len(known) <= most:
        return table, []
    mantissa, power = np.frexp(table.n.sum(axis=0))
    often = np.ldexp(np.round(np.ldexp(mantissa, 40)), power)  # shares of rows add up to whole ones but for rounding
    kept = {*sorted(known, key=lambda at: (-often[at], at))[: most - 1]}
    rare = [at for at in known if at not in kept]
    stay = [at for at, label in enumerate(table.values.labels) if label is None or at in kept]
    labels = [*(table.values.labels[at] for at in stay), RARE]
    _, order = axis_and_order(labels)
    n = np.column_stack([table.n[:, stay], table.n[:, rare].sum(axis=1)])[:, order]
    return Table(table.classes, Axis.declared(labels), n), [table.values.labels[at] for at in rare]


class TableModel:
    """P(class | row) for rows of a table, estimated from counts under a schema."""

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
        self.labels = [
            LabelColumn(c, counts.columns[c.name], counts, settings, max_categories) for c in schema.of_kind("labels")
        ]
        numbers = schema.of_kind("numbers")
        # Whether a number is missing says something, too, if missing values shall: a flag beside the number.
        self.gaps = [
            (at, gap_table(counts, c, settings)) for at, c in enumerate(numbers) if settings.missing == "value"
        ]
        self.numbers = by_family(numbers)
        likelihoods: dict[str, Any] = {}
        if self.labels or self.gaps:
            tables = (*(column.table for column in self.labels), *(table for _, table in self.gaps))
            likelihoods[LABELS] = LogTables(counts.classes, tables)
        for key, (family, columns) in self.numbers.items():
            moments = joined_moments([counts.columns[column.name] for column in columns], counts.classes)
            likelihoods[key] = likelihood(family, moments, counts, settings)
        for column in schema.of_kind("vectors"):
            found: Any = likelihood(column.family, counts.columns[column.name], counts, settings)
            likelihoods[column.name] = Densely(found) if column.family.statistic is Moments else found
        self.words = {c.name: counts.columns[c.name] for c in schema.of_kind("vectors") if counts_words(c)}
        self.readers: dict[str, Any] = {name: table.lexicon for name, table in self.words.items()}
        # What the text book says of each column; answers are asked of the model, which may weigh more than that.
        self.book = self.model = Model(counts.classes, log_prior, likelihoods, None, scale, bias)
        self._numbers = {k: [(c.name, number_reader(c)) for c in cs] for k, (_, cs) in self.numbers.items()}
        self._codes: list[tuple[str, Reader]] = [(one.column.name, one.code_of) for one in self.labels]
        self._codes += [(numbers[at].name, gap_reader(numbers[at])) for at, _ in self.gaps]

    # -- single columns -----------------------------------------------------------------------------------------

    def table_of(self, name: str) -> LogTable:
        """Return what was estimated of a column of labels."""
        return self.labels[self.place_of_labels(name)].table

    def place_of_labels(self, name: str) -> int:
        """Return where a column of labels stands among those."""
        return self._places_of_labels[name]

    @cached_property
    def _places_of_labels(self) -> dict[str, int]:
        return {one.column.name: at for at, one in enumerate(self.labels)}

    def part_of_number(self, name: str) -> tuple[str, int]:
        """Return which part of the model holds a column of numbers, and where it stands there."""
        return self._parts_of_numbers[name]

    @cached_property
    def _parts_of_numbers(self) -> dict[str, tuple[str, int]]:
        groups = self.numbers.items()
        return {column.name: (key, at) for key, (_, columns) in groups for at, column in enumerate(columns)}

    def gap_of(self, name: str) -> tuple[int, LogTable] | None:
        """Return where among the codes it stands whether a number is missing, and what that says; None if nothing."""
        return self._gaps_of_numbers.get(name)

    @cached_property
    def _gaps_of_numbers(self) -> dict[str, tuple[int, LogTable]]:
        numbers, first = self.schema.of_kind("numbers"), len(self.labels)
        return {numbers[at].name: (first + place, table) for place, (at, table) in enumerate(self.gaps)}

    # -- cells as the kernels read them -------------------------------------------------------------------------

    def read(self, frame: Frame, begin: int, end: int, threads: int) -> dict[str, Any]:
        """Return some rows of a frame, a matrix for each part of the model."""
        out: dict[str, Any] = {}
        for key, (_, columns) in self.numbers.items():
            out[key] = memory.kernel_matrix(block_numbers(frame, columns, begin, end))
        if self.labels or self.gaps:
            codes, _ = block_codes(frame, [label.coder for label in self.labels], begin, end, threads)
            gaps = [np.isnan(self._number(frame, at, begin, end)) for at, _ in self.gaps]
            out[LABELS] = np.column_stack([codes, *gaps]).astype(np.int32) if gaps else codes
        for column in self.schema.of_kind("vectors"):
            out[column.name] = wide_cells(frame, column, self.readers.get(column.name), begin, end, threads)
        return out

    def _number(self, frame: Frame, at: int, begin: int, end: int) -> Floats:
        column = self.schema.of_kind("numbers")[at]
        return frame.columns[column.name].numbers(begin, end)

    def read_rows(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return rows given as dicts, a matrix for each part of the model."""
        out: dict[str, Any] = {
            key: np.array(cells_of(rows, read), dtype=np.float64) for key, read in self._numbers.items()
        }
        if self._codes:
            out[LABELS] = np.array(cells_of(rows, self._codes), dtype=np.int32)
        for name, reader in self.readers.items():
            out[name] = TextRows(reader, texts_of_rows(rows, self.schema[name]), 0, 1)
        return out

    # -- answers ------------------------------------------------------------------------------------------------

    def answer(self, ask: Any, source: Any, threads: int, **how: Any) -> Any:
        """Return what the model says about all rows; ask is a method of Model."""
        parts = self.each_block(lambda _, columns: ask(self.model, columns, threads, **how), source, threads)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def by_word(self) -> dict[str, Any]:
        """Return what scores the words of texts one by one, by column."""
        said = {name: self.model.likelihoods.get(name) for name in self.words}
        return {name: likelihood for name, likelihood in said.items() if hasattr(likelihood, "by_word")}

    def log_density(self, source: Any, threads: int) -> Floats:
        """Return log P(row) of all rows, whatever their classes; a number is more than the bin it lies in."""
        density: Floats = self.answer(lambda model, *rows: model.log_density(*rows), source, threads)
        for column in self.schema.of_kind("labels"):
            if isinstance(column.family, Bins):
                density = density + column.family.log_within(numbers_in(source, column))
        return density

    def each_block(self, ask: Ask, source: Any, threads: int) -> list[Any]:
        """Return what is asked of all rows, as many at a time as are read at once; ask is told which they are."""
        if not isinstance(source, Frame):
            return [self._ask(ask, slice(0, len(source)), self.read_rows(source))]
        blocks = [slice(begin, min(begin + ROWS, source.rows)) for begin in range(0, max(source.rows, 1), ROWS)]
        return [self._ask(ask, rows, self.read(source, rows.start, rows.stop, threads)) for rows in blocks]

    def _ask(self, ask: Ask, rows: slice, columns: dict[str, Any]) -> Any:
        if not columns:  # no column is used: the prior speaks alone
            columns = {LABELS: np.empty((rows.stop - rows.start, 0), dtype=np.int32)}
        try:
            return ask(rows, columns)
        except RowRefused as error:
            raise self._named(columns, error.row, rows.start) or error from None

    def _named(self, columns: dict[str, Any], row: int, begin: int) -> InvalidInput | None:
        """Return the error that names the column of a number that is not finite."""
        for key, (_, numbers) in self.numbers.items():
            line = np.asarray(columns[key][row], dtype=np.float64)
            if np.isinf(line).any():
                name = numbers[int(np.argmax(np.isinf(line)))].name
                return infinite_cell(begin + row, name)
        return None


def numbers_in(source: Any, column: Column) -> Floats:
    """Return the numbers of a column in all rows of a frame, or in a few dicts."""
    if isinstance(source, Frame):
        return source.columns[column.name].numbers(0, source.rows)
    return np.array(cells_of(source, [(column.name, number_reader(column))]), dtype=np.float64)[:, 0]


def gap_table(counts: Counts, column: Column, settings: Settings) -> LogTable:
    """Return what it says whether a number is missing: rows of each class with and without one."""
    there = counts.columns[column.name].on(counts.classes).n[:, 0]
    n = np.column_stack([there, np.maximum(counts.rows - there, 0.0)])
    table = Table(counts.classes, Axis.declared([False, True]), n)
    return Categorical(column.family.smoothing).estimate(table, counts.rows, counts.classes, settings)  # type: ignore[attr-defined]


def gap_reader(column: Column) -> Reader:
    """Return what tells whether a number is missing."""
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
    return {f"{INSIDE}numbers {at}": (family, tuple(group)) for at, (family, group) in enumerate(groups)}
