"""What the columns of files hold: decided by a sample of their cells, by a schema, or by what was said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ..data.cell_format import AND_USUAL, USUAL, CellFormat, names_of_classes
from ..data.cells import TEXT, CellType, TypeGuess
from ..data.column import Column, FamilyLike, FamilySettings, Type, family_of, same_kind, wants_text
from ..data.schema import Schema
from ..errors import UnreadableRows
from ..errors.message import Message, Setting
from .duckdb_reader import PROSE, TYPES
from .file_part import FilePart
from .typed import common_json_types

if TYPE_CHECKING:
    from .file import File

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

from ..data.cells import NotRead, convert_cells
from ..data.values import is_text_type, plain_texts

# Rows that are looked at to decide what a column holds: of the first file, and of some others.
LOOKED_AT, OTHERS, LOOKED_AT_OTHERS = 50_000, 8, 2_000
READ_AS: dict[str, str] = {"text": "VARCHAR", "boolean": "BOOLEAN", "whole": "BIGINT", "number": "DOUBLE"}
# The narrowest of the types that all cells of a column can be read as is the one that it has.
NARROWEST = ("BIGINT", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMPTZ", "VARCHAR")


class Columns:
    """The columns of files: how their cells are read."""

    def __init__(self, parts: Sequence[FilePart], names: Sequence[str], folders: Sequence[str], how: File) -> None:
        self.parts, self.names, self.folders, self.how = parts, tuple(names), tuple(folders), how
        self.learned: Schema | None = None  # what a model learned, where the files are read as it says
        self.as_written = all(
            part.as_written for part in parts
        )  # cells are texts, which are only taken for numbers or times

    @cached_property
    def guesses(self) -> dict[str, TypeGuess]:
        """What the cells of each column can be read as, decided by a sample."""
        names = frozenset(self.names)
        found = {name: one for name, one in self._looked_at(self.parts[0], LOOKED_AT).items() if name in names}
        step = max(len(self.parts) // OTHERS, 1)
        for part in self.parts[step::step]:
            for name, one in self._looked_at(part, LOOKED_AT_OTHERS).items():
                if name in found:
                    found[name] = self._both(found[name], one)
        for key in self.folders:
            found.setdefault(key, TypeGuess(TEXT, TEXT, USUAL))
        return {name: found[name] for name in self.names if name in found}

    def _looked_at(self, part: FilePart, rows: int) -> dict[str, TypeGuess]:
        return part.guess_types(rows, self.how.names_of_missing)

    def _both(self, a: TypeGuess, b: TypeGuess) -> TypeGuess:
        if self.as_written or not (a.kinds and b.kinds) or "VARCHAR" in a.kinds & b.kinds:
            return a.beside(b)
        kinds = common_types(a.kinds, b.kinds)
        written = a.written if "VARCHAR" in a.kinds else b.written  # the other's numbers are not written at all
        return TypeGuess(kinds, common_types(a.strict, b.strict), USUAL if kinds == TEXT else written)

    @cached_property
    def cells(self) -> dict[str, CellType]:
        """What the cells of each column are read as."""
        found = {n: CellType(self._said(n, narrowest_type(one.kinds)), one.written) for n, one in self.guesses.items()}
        labels = CellFormat(self.how.names_of_missing)
        return {n: CellType(cell.kind, labels) if cell.kind == "VARCHAR" else cell for n, cell in found.items()}

    @cached_property
    def texts(self) -> frozenset[str]:
        """The columns of typed files that hold texts, whatever those are."""
        typed = next((part for part in self.parts if not part.as_written), None)
        if typed is None:
            return frozenset()
        known = self.guesses
        return frozenset(name for name in typed.texts if name in known and "VARCHAR" in known[name].kinds)

    def _said(self, name: str, kind: str) -> str:
        own = TYPES.get(kind)  # none, if the column holds what cannot be counted
        said = (self.how.types or {}).get(name, own)
        return kind if said == own else "TIMESTAMP" if said == "time" else READ_AS[str(said)]

    def apart(self, name: str) -> CellType:
        """Return what a column beside the others is read as, such as that of the classes: nothing is loosened there."""
        return CellType(self._said(name, narrowest_type(self.guesses[name].strict)), self._strictly)

    @property
    def _strictly(self) -> CellFormat:
        """How cells are written that are read as they are; files that know their types have nulls of their own."""
        named, how = self.how.names_of_missing, getattr(self.parts[0], "how", self.how)
        if not self.as_written:
            named = tuple(name for name in named or () if name != AND_USUAL)
        return CellFormat(names_of_classes(named), how.decimal or ".")  # a sheet writes points

    def under(self, schema: Schema, beside: Sequence[str], number: str | None) -> dict[str, CellType]:
        """Return what the columns of a schema are read as, and some beside; one of these is a number in any case."""
        cells = {column.name: CellType(self._kind(column), self._written(column)) for column in schema}
        cells |= {name: self.apart(name) for name in beside}
        return cells if number is None else cells | {number: CellType("DOUBLE", self._strictly)}

    def like(self, schema: Schema) -> Columns:
        """Return the same, columns of a schema read as it says; others stay as they are in the file."""
        other = Columns(self.parts, self.names, self.folders, self.how)
        vars(other)["guesses"] = self.guesses  # no second sample
        other.learned = schema
        cells = {n: self._learned(schema[n], kind) for n, (kind, _) in self.cells.items() if n in schema}
        rest = {n: "VARCHAR" if self.as_written else narrowest_type(self.guesses[n].strict) for n in self.cells}
        vars(other)["cells"] = {n: cells.get(n) or CellType(kind, self._strictly) for n, kind in rest.items()}
        return other

    def _learned(self, column: Column, kind: str) -> CellType:
        """Return what a column that was learned is read as; whole numbers stay whole where they are."""
        same = kind in TYPES and same_kind(TYPES[kind], column.type)
        return CellType(kind if same else self._kind(column), self._written(column))

    def _kind(self, column: Column) -> str:
        """Return what a column is read as, so that it is what the schema says."""
        if column.type == "time":
            own = self.cells[column.name].kind if column.name in self.cells else "TIMESTAMP"
            return own if TYPES.get(own) == "time" else "TIMESTAMP"
        if column.type == "text" and column.family.name == "words":
            return PROSE
        if column.type == "empty":  # read as what it is here, and taken for missing
            return "VARCHAR" if self.as_written or column.name not in self.cells else self.cells[column.name].kind
        measured = column.type in ("whole", "number") and column.family.name not in ("categorical", "ordinal")
        return "DOUBLE" if measured else READ_AS[column.type]

    def _written(self, column: Column) -> CellFormat:
        """Return how the cells of a column are written; which texts stand for no value, null= decides if given."""
        if column.kind == "vectors" or (column.type == "text" and column.written is None):
            return self._strictly
        said = self.how.decimal is not None or self.how.thousands is not None
        own = column.written or USUAL
        if (said or column.written is None) and column.name in self.cells and column.type in ("whole", "number"):
            own = self.cells[column.name].written  # as this file is written
        return own if self.how.names_of_missing is None else replace(own, missing=self.how.names_of_missing)

    def schema(self, families: FamilySettings | Schema | None, apart: Sequence[str]) -> Schema:
        """Return what the columns are, apart from some."""
        columns, given = [], families if isinstance(families, Mapping) else {}
        for name, cell in self.cells.items():
            if name in apart:
                continue
            if cell.kind not in TYPES:
                why = f"column {name!r} holds {cell.kind}, which cannot be counted; ignore it: "
                ignore = Setting("ignore", [name])
                raise UnreadableRows(self.parts[0].shown, None, Message(why, ignore, "."), column=name)
            columns.append(self._column(name, cell, given.get(name)))
        schema = Schema(tuple(columns))
        for name in given:
            schema[name]  # says which columns there are, if this is none
        return schema

    def _column(self, name: str, cell: CellType, asked: FamilyLike | None) -> Column:
        """Return what a column is. Texts that shall be categories stay as they are, and so do words."""
        family = None if asked is None else family_of(name, asked)
        if family is not None and wants_text(family) and (self.as_written or name in self.texts):
            return Column.of(
                name, "text", family, written=None if family.name == "words" else CellFormat(self.how.names_of_missing)
            )
        categories = cell.kind == "VARCHAR" and not self.as_written and name not in self.texts  # by their type
        return Column.of(name, TYPES[cell.kind], family, written=None if categories else cell.written)

    def held(self) -> dict[str, Type | None]:
        """Return the type of each column; None of one that cannot be counted."""
        return {name: TYPES.get(cell.kind) for name, cell in self.cells.items()}


def common_types(a: frozenset[str], b: frozenset[str]) -> frozenset[str]:
    """Return what cells of two files can be read as, of which one knows the type of its column."""
    wide = [kinds | {"DOUBLE"} if "BIGINT" in kinds else kinds for kinds in (a, b)]
    return wide[0] & wide[1] or frozenset(common_json_types(set(a | b)))


def narrowest_type(kinds: frozenset[str]) -> str:
    """Return the narrowest of the types that fit; text, if nothing is known."""
    return next((kind for kind in (*NARROWEST, *sorted(kinds)) if kind in kinds), "VARCHAR")


TextsReadAsMissing = dict[str, Counter[str]]  # of each column, the texts that stood for no value; '' is an empty cell
TEXTS = ("VARCHAR", "TEXT")


def read_batches(
    batches: Iterable[pa.RecordBatch],
    cells: Mapping[str, CellType],
    found: TextsReadAsMissing | None,
    refused: Callable[[int, str, str, str], Exception],
) -> Iterator[pa.RecordBatch]:
    """Return batches whose texts are what each column holds; how often which text stood for no value is noted.

    `refused` makes the error about a cell of a row and a column that is not what that holds.
    """
    begin = 0
    for batch in batches:
        arrays = []
        for name, cell in cells.items():
            try:
                array, none = read_column(batch.column(name), cell)
            except NotRead as error:
                raise refused(begin + error.row, name, error.text, cell.kind) from None
            if found is not None and none:
                found.setdefault(name, Counter()).update(none)
            arrays.append(array)
        begin += batch.num_rows
        yield pa.RecordBatch.from_arrays(arrays, names=list(cells))


def read_column(array: pa.Array, cell: CellType) -> tuple[pa.Array, Counter[str]]:
    """Return a column as what it holds, and which texts stood for no value."""
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if not is_text_type(kind):
        return array, Counter({"": array.null_count}) if array.null_count else Counter()
    if pa.types.is_dictionary(array.type) and cell.kind in TEXTS:
        _, none = convert_cells(plain_texts(array.dictionary), cell)
        if not none:
            return array, Counter({"": array.null_count}) if array.null_count else Counter()
        values, none = convert_cells(plain_texts(array), cell)
        return values.dictionary_encode().cast(array.type), none  # of one type in all batches
    return convert_cells(plain_texts(array), cell)
