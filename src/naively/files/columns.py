"""What the columns of files hold: decided by a sample of their cells, by a schema, or by what was said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from ..data import cells
from ..data.cell_format import AND_USUAL, USUAL, CellFormat, names_of_classes
from ..data.cells import NUMBER, ONLY_TEXT, PROSE, READ_AS, TEXT, TYPES, WHOLE, CellType, TypeGuess
from ..data.column import Column, FamilySettings, family_of, same_kind, wants_text
from ..data.schema import Schema
from ..data.values import is_text_type, plain_texts
from ..errors import UnreadableRows
from ..errors.message import Message, Setting
from .typed import UNCOUNTABLE, Batches, Part, common_json_types

if TYPE_CHECKING:
    from .file import File

# Rows that are looked at to decide what a column holds: of the first file, and of some others.
LOOKED_AT, OTHERS, LOOKED_AT_OTHERS = 50_000, 8, 2_000


class Columns:
    """The columns of files: how their cells are read."""

    def __init__(self, parts: Sequence[Part], names: Sequence[str], folders: Sequence[str], how: File) -> None:
        self.parts, self.names, self.folders, self.how = parts, tuple(names), tuple(folders), how
        self.learned: Schema | None = None  # what a model learned, where the files are read as it says
        self.as_written = how.as_written

    @cached_property
    def guesses(self) -> dict[str, TypeGuess]:
        """What the cells of each column can be read as, decided by a sample."""
        result = self.parts[0].guess_types(LOOKED_AT, self.how.names_of_missing)
        step = max(len(self.parts) // OTHERS, 1)
        for part in self.parts[step::step]:
            for name, one in part.guess_types(LOOKED_AT_OTHERS, self.how.names_of_missing).items():
                if name in result:
                    result[name] = self._both(result[name], one)
        result = {key: TypeGuess(ONLY_TEXT, ONLY_TEXT, USUAL) for key in self.folders} | result
        return {name: result[name] for name in self.names if name in result}

    def _both(self, a: TypeGuess, b: TypeGuess) -> TypeGuess:
        if self.as_written or not (a.kinds and b.kinds) or TEXT in a.kinds & b.kinds:
            return a.beside(b)
        kinds = common_types(a.kinds, b.kinds)
        written = a.written if TEXT in a.kinds else b.written  # the other's numbers are not written at all
        return TypeGuess(kinds, common_types(a.strict, b.strict), USUAL if kinds == ONLY_TEXT else written)

    @cached_property
    def cells(self) -> dict[str, CellType]:
        """What the cells of each column are read as."""
        result = {n: CellType(self._said(n, narrowest_type(one.kinds)), one.written) for n, one in self.guesses.items()}
        labels = CellFormat(self.how.names_of_missing)
        return {n: CellType(cell.kind, labels) if cell.kind == TEXT else cell for n, cell in result.items()}

    @cached_property
    def texts(self) -> frozenset[str]:
        """The columns of typed files that hold texts, whatever those are."""
        typed = next((part for part in self.parts if not part.as_written), None)
        if typed is None:
            return frozenset()
        known = self.guesses
        return frozenset(name for name in typed.texts if name in known and TEXT in known[name].kinds)

    def _said(self, name: str, kind: pa.DataType) -> pa.DataType:
        own = TYPES.get(kind)  # none, if the column holds what cannot be counted
        said = (self.how.types or {}).get(name, own)
        return kind if said == own or said is None else READ_AS[said]

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
        return cells if number is None else cells | {number: CellType(NUMBER, self._strictly)}

    def like(self, schema: Schema) -> Columns:
        """Return the same, columns of a schema read as it says; others stay as they are in the file."""
        other = Columns(self.parts, self.names, self.folders, self.how)
        vars(other)["guesses"] = self.guesses  # no second sample
        other.learned = schema
        cells = vars(other)["cells"] = dict[str, CellType]()
        for name, (kind, _) in self.cells.items():
            if name not in schema:
                own = TEXT if self.as_written else narrowest_type(self.guesses[name].strict)
                cells[name] = CellType(own, self._strictly)
                continue
            column = schema[name]  # whole numbers stay whole where they are
            same = kind in TYPES and same_kind(TYPES[kind], column.type)
            cells[name] = CellType(kind if same else self._kind(column), self._written(column))
        return other

    def _kind(self, column: Column) -> pa.DataType:
        """Return what a column is read as, so that it is what the schema says."""
        own = self.cells[column.name].kind if column.name in self.cells else None
        if column.type == "time":
            return own if TYPES.get(own) == "time" else READ_AS["time"]
        if column.type == "text" and column.family.name == "words":
            return PROSE
        if column.type == "empty":  # read as what it is here, and taken for missing
            return TEXT if self.as_written or own is None else own
        measured = column.type in ("whole", "number") and column.family.name not in ("categorical", "ordinal")
        return NUMBER if measured else READ_AS[column.type]

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
                held = UNCOUNTABLE.get(cell.kind, cell.kind)
                why = f"column {name!r} holds {held}, which cannot be counted; ignore it: "
                sentence = Message(why, Setting("ignore", [name]), ".")
                raise UnreadableRows(self.parts[0].shown, None, sentence, column=name)
            family = family_of(name, given[name]) if name in given else None
            text = self.as_written or name in self.texts  # and not categories by their type
            if family is not None and wants_text(family) and text:  # cells stay as they are, and so do words
                written = None if family.name == "words" else CellFormat(self.how.names_of_missing)
                columns.append(Column.of(name, "text", family, written=written))
            else:
                written = cell.written if cell.kind != TEXT or text else None
                columns.append(Column.of(name, TYPES[cell.kind], family, written=written))
        schema = Schema(tuple(columns))
        for name in given:
            schema[name]  # says which columns there are, if this is none
        return schema


def common_types(a: frozenset[pa.DataType], b: frozenset[pa.DataType]) -> frozenset[pa.DataType]:
    """Return what cells of two files can be read as, of which one knows the type of its column."""
    wide = [kinds | {NUMBER} if WHOLE in kinds else kinds for kinds in (a, b)]
    return wide[0] & wide[1] or frozenset(common_json_types(set(a | b)))


def narrowest_type(kinds: frozenset[pa.DataType]) -> pa.DataType:
    """Return the narrowest of the types that fit; text, if nothing is known."""
    return next((kind for kind in (*TYPES, *sorted(kinds, key=str)) if kind in kinds), TEXT)


TextsReadAsMissing = dict[str, Counter[str]]  # of each column, the texts that stood for no value; '' is an empty cell


def read_batches(
    batches: Iterable[pa.RecordBatch],
    columns: Mapping[str, CellType],
    found: TextsReadAsMissing | None,
    refused: Callable[[cells.NotRead, str, pa.DataType], Exception],
) -> Batches:
    """Return batches whose texts are what each column holds; how often which text stood for no value is noted.

    `refused` makes the error about a cell that is not what its column holds, given the name and the type of that.
    """
    begin = 0
    for batch in batches:
        arrays = []
        for name, cell in columns.items():
            try:
                array, none = read_column(batch.column(name), cell)
            except cells.NotRead as error:
                raise refused(cells.NotRead(begin + error.row, error.text), name, cell.kind) from None
            if found is not None and none:
                found.setdefault(name, Counter()).update(none)
            arrays.append(array)
        begin += batch.num_rows
        yield pa.RecordBatch.from_arrays(arrays, names=list(columns))


def read_column(array: pa.Array, cell: CellType) -> tuple[pa.Array, Counter[str]]:
    """Return a column as what it holds, and which texts stood for no value."""
    coded = pa.types.is_dictionary(array.type)
    text, labels = is_text_type(array.type.value_type if coded else array.type), coded and cell.kind in (TEXT, PROSE)
    if not text or (labels and not cells.convert_cells(plain_texts(array.dictionary), cell)[1]):
        return array, Counter({"": array.null_count} if array.null_count else {})
    values, none = cells.convert_cells(plain_texts(array), cell)
    return (values.dictionary_encode().cast(array.type) if labels else values), none  # of one type in all batches
