"""Rows in files: `File` says which files, and how they are written; their rows come as batches, never all at once."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from pathlib import Path
from types import EllipsisType
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from .._types import TableLike
from ..data.cell_format import AND_USUAL
from ..data.cells import NUMBER, PROSE, READ_AS, TEXT, TYPES, CellType, NotRead
from ..data.column import NOUNS, FamilySettings, Type
from ..data.encoding import ROWS
from ..data.schema import Schema, likely
from ..errors import InvalidInput, InvalidSetting, UnreadableRows
from ..errors.message import Message, PythonOnly, Setting
from .columns import Columns, TextsReadAsMissing, read_batches
from .delimited import Delimited, Sheet
from .dialect import packing
from .duckdb_reader import wrong_cell
from .formats import paths_of, unpack
from .streams import DatasetPart, StreamPart, batch_bytes, stream_of
from .typed import ArrowFile, Batches, Database, JsonLines, Orc, Parquet, Part

# So many notes on how files were read are said one by one.
NOTES = 3
# How much longer packed texts are, about, than the file they are packed in.
PACKED = 3
FORMATS: dict[str, type[Part]] = {
    "csv": Delimited,
    "parquet": Parquet,
    "json": JsonLines,
    "excel": Sheet,
    "arrow": ArrowFile,
    "orc": Orc,
    "duckdb": Database,
}
# Long texts come in pieces of so many rows, which are put together until they hold so many bytes.
PIECE, BYTES = 1 << 11, 1 << 25
GROUPING = " must be ',', '.', a blank or an apostrophe, and not the decimal sign."
# Blocks hold so many cells at most: of wide tables, fewer rows.
CELLS = 1 << 24


class FileBlock(NamedTuple):
    """Some rows of one of the files, and where they begin: the first row after the header is row 0."""

    file: int
    begin: int
    table: pa.Table


@dataclass(frozen=True)
class File:
    r"""Rows in one file or several: delimited text, Parquet, JSON, Excel, Arrow, ORC, or a DuckDB database.

    Nothing is read before it is asked for, and never more than some rows at a time. Text may be packed by gzip or zstd;
    what is packed by zip, bz2 or xz is unpacked into a temporary folder first, and a sheet of Excel written there.

    Parameters
    ----------
    path : str, Path or list of them
        A file, a glob such as ``"logs/*.csv.gz"``, a folder (also with parts such as ``year=2024/``, which become
        columns), or ``"-"`` for what is piped in.
    format : "csv", "parquet", "json", "excel", "arrow", "orc" or "duckdb", optional
        By default what the file looks like. Any delimiter is "csv"; "json" has an object a line, or is a list of them.
    table, query : str, optional
        What to read: the table of a DuckDB database, not needed if it has a single one, or the answer to a query; the
        sheet of a workbook, by default the first; the file of a zip archive that holds several.
    null : sequence of str, optional
        Texts that stand for no value, and no others. By default the usual names (empty, NA, null, None, ? and the
        like), and among numbers and times also -, unknown and others: see the user guide. ``null=[..., "TBD"]``, with
        an ellipsis, keeps the usual names and adds to them.
    decimal : "." or ",", optional
        What comes before the fraction of a number in delimited text. By default the cells of a column decide.
    thousands : ",", ".", " " or "'", optional
        What groups the digits of numbers in delimited text, such as 1,234. By default the cells of a column decide.
    delimiter, encoding : str, optional
        By default the likely delimiter, and UTF-8.
    limit : int, optional
        Only so many rows, from the first on.
    types : dict, optional
        What some columns hold, whatever the sample looks like: "text", "boolean", "whole", "number" or "time".

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import naively as nv
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "mail.csv"
    >>> _ = path.write_text("words,sender,label\n12,friend,ham\n80,?,spam\n9,friend,ham\n")
    >>> nv.File(path).columns()
    ('words', 'sender', 'label')
    >>> nv.count(path, target="label")
    Counts: 3 rows (ham: 2, spam: 1), 2 columns
    """

    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
    _: KW_ONLY
    format: str | None = None
    table: str | None = None
    query: str | None = None
    null: Sequence[str | EllipsisType] | None = None
    decimal: str | None = None
    thousands: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    limit: int | None = None
    types: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        wrong = [kind for kind in (self.types or {}).values() if kind not in READ_AS]
        if wrong:
            raise InvalidSetting(
                f"types names {wrong[0]!r}; a column holds text, boolean, whole, number or time.", setting="types"
            )
        signs, same = (None, ",", ".", " ", "'"), self.thousands is not None and self.thousands == self.decimal
        for name, good, why in (
            ("format", self.format in (None, *FORMATS), f" is unknown; use one of {sorted(FORMATS)}, or None."),
            ("decimal", self.decimal in (None, ".", ","), " must be '.' or ','."),
            ("thousands", self.thousands in signs and not same, GROUPING),
            ("limit", self.limit is None or self.limit >= 1, " must be a whole number of 1 or more, or None."),
        ):
            if not good:
                raise InvalidSetting(Setting(name, getattr(self, name)), why)
        if self.null is not None:
            names = [self.null] if isinstance(self.null, str) else self.null
            object.__setattr__(self, "null", tuple(AND_USUAL if name is ... else name for name in names))

    @property
    def names_of_missing(self) -> tuple[str, ...] | None:
        """The texts that stand for no value, if they were named."""
        return None if self.null is None else tuple(map(str, self.null))

    # -- which files --------------------------------------------------------------------------------------------

    @cached_property
    def _places(self) -> tuple[tuple[str, dict[str, str]], ...]:
        given = [self.path] if isinstance(self.path, (str, os.PathLike)) else self.path
        result = [place for one in given for place in paths_of(os.fspath(one))]
        if not result:
            raise InvalidInput("There is no file to read: the list is empty.")
        return tuple(result)

    @property
    def paths(self) -> tuple[str, ...]:
        """The files, in the order in which they are read."""
        return tuple(path for path, _ in self._places)

    @cached_property
    def _folder(self) -> str:
        """A folder for copies, which goes when this object goes."""
        folder = tempfile.mkdtemp(prefix="naively-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return folder

    @cached_property
    def _parts(self) -> tuple[Part, ...]:
        def folder() -> Path:  # made only if it is needed
            return Path(self._folder)

        parts = []
        for shown in self.paths:
            path, kind, how = unpack(self._spooled if shown == "-" else Path(shown), shown, self, folder)
            parts.append(FORMATS[kind](path, shown, how, folder))
        return tuple(parts)

    @cached_property
    def _spooled(self) -> Path:
        """What is piped in, in a file: it is looked at before it is read."""
        with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        return Path(copy.name)

    def but(self, **changes: Any) -> File:
        """Return the same files read in another way; what was piped in is not read again."""
        other = replace(self, **changes)
        if self.is_stream:
            vars(other).update({"_places": self._places, "_parts": self._parts})
        elif "-" in self.paths:
            vars(other).update({"_first": self, "_spooled": self._spooled})  # the copy goes when both have gone
        return other

    def alone(self, at: int) -> File:
        """Return one of the files, read as all of them are together."""
        other = self.but()
        own = {"_places": (self._places[at],), "_parts": (self._parts[at],)}
        vars(other).update(own | {"_columns": self._columns, "_mixed": self._mixed})
        return other

    @classmethod
    def of_stream(cls, part: StreamPart | DatasetPart) -> File:
        """Return a stream of rows, to be read as files are."""
        file = cls(part.shown)
        vars(file).update({"_places": ((part.shown, {}),), "_parts": (part,)})
        return file

    @property
    def is_stream(self) -> bool:
        """Whether the rows come from a stream, and not from files."""
        return isinstance(vars(self).get("_parts", (None,))[0], StreamPart | DatasetPart)

    @property
    def is_empty(self) -> bool:
        """Whether this is a stream without any batch, so that not even its columns are known."""
        return self.is_stream and not self.columns()

    def keep_no_more(self) -> None:
        """Let the next reading be the last: rows of a stream are not kept any longer to be read again."""
        if self.is_stream and isinstance(self._parts[0], StreamPart):
            self._parts[0].keep_no_more()

    def bytes(self, at: int) -> int:
        """Return the size of one of the files; 0 of a stream, whose size is not known."""
        return 0 if self.is_stream else self._parts[at].path.stat().st_size

    def text_bytes(self, name: str, most: float) -> float:
        """Return about how many bytes a column of texts takes: of files all columns, of a stream up to `most`."""
        if not self.is_stream:
            return self.unpacked
        result = 0.0
        for batch in self._parts[0].batches({name: PROSE}, ROWS, None, None):
            result += batch_bytes(batch)
            if result > most:
                break
        return result

    @property
    def unpacked(self) -> float:
        """About how many bytes the rows of files would take as plain text."""
        plain = [isinstance(part, Delimited | JsonLines) and packing(part.path) is None for part in self._parts]
        return float(sum(self.bytes(index) * (1 if as_it_is else PACKED) for index, as_it_is in enumerate(plain)))

    def notes(self) -> tuple[str, ...]:
        """Return what is worth knowing of how the files were read, those that were."""
        result = [note for part in self._parts for note in part.notes]
        more = (f"… and {len(result) - NOTES} more such notes on files.",) if len(result) > NOTES else ()
        return (*result[:NOTES], *more)

    def row_bytes(self, at: int) -> float:
        """Return about how many bytes a row of one of the files takes."""
        return float(self._parts[at].row_bytes)

    # -- what is in them ----------------------------------------------------------------------------------------

    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns; only the head of the first file is read.

        Returns
        -------
        tuple of str
            The names.
        """
        own = self._parts[0].names
        return (*own, *(key for key in self._places[0][1] if key not in own))

    @cached_property
    def _columns(self) -> Columns:
        """What the columns hold, decided by a sample."""
        return Columns(self._parts, self.columns(), tuple(self._places[0][1]), self)

    @cached_property
    def _mixed(self) -> bool:
        """Whether the files differ in what they are, or in the types of their columns."""
        if len(self._parts) == 1 or all(part.as_written for part in self._parts):
            return False
        first, *others = self._parts
        if any(type(part) is not type(first) for part in others):
            return True
        return any(first.types.get(name, kind) != kind for part in others for name, kind in part.types.items())

    @property
    def as_written(self) -> bool:
        """Whether the cells are texts, which are only taken for numbers or times: so it is in delimited files."""
        return all(part.as_written for part in self._parts)

    def held(self) -> dict[str, Type | None]:
        """Return the type of each column, as the schema would say; None of one that cannot be counted."""
        return {name: TYPES.get(cell.kind) for name, cell in self._columns.cells.items()}

    def of_classes(self, name: str) -> Type | None:
        """Return the type of a column as that of the classes."""
        self.check(name)
        return TYPES.get(self._columns.apart(name).kind)

    def like(self, schema: Schema) -> File:
        """Return the same files, columns of a schema read as it says; others stay as they are written."""
        other = self.but()
        vars(other)["_columns"] = self._columns.like(schema)
        return other

    def schema(self, families: FamilySettings | Schema | None = None, apart: Sequence[str] = ()) -> Schema:
        """Return what the columns are, apart from some. A column of texts that shall be categories stays as written."""
        for name in apart:
            self.check(name)
        return self._columns.schema(families, apart)

    def check(self, name: str) -> None:
        """Refuse a name that is none of the columns."""
        if name not in self.columns():
            raise InvalidInput(f"{self.paths[0]} has no column {name!r}{likely(name, self.columns())}", column=name)

    # -- rows ---------------------------------------------------------------------------------------------------

    def batches(
        self, rows: int = ROWS, *, schema: Schema | None = None, beside: Sequence[str] = (), threads: int | None = None
    ) -> Batches:
        """Yield all rows as Arrow record batches.

        Parameters
        ----------
        rows : int
            The number of rows of a batch; the last may have fewer.
        schema : Schema, optional
            The columns to read, with their types; by default all columns.
        beside : sequence of str, optional
            Columns to read beside those of the schema.
        threads : int, optional
            The number of threads that read.

        Yields
        ------
        pyarrow.RecordBatch
            Some rows.
        """
        for block in self.blocks(range(len(self._parts)), schema, beside, threads, rows):
            yield block.table

    def blocks(
        self,
        which: Sequence[int],
        schema: Schema | None,
        beside: Sequence[str] = (),
        threads: int | None = None,
        rows: int = ROWS,
        number: str | None = None,
        found: TextsReadAsMissing | None = None,
    ) -> Iterator[FileBlock]:
        """Return the rows of some of the files as Arrow tables of exactly so many rows, the last of each of fewer.

        Where texts are taken apart, tables of long ones have fewer, so that a few fit into memory at once. Of the
        columns beside those of the schema, one may be a number whatever the sample looks like. Which texts stood for
        no value, and how often, is added to `found`.
        """
        columns = self._columns
        cells = columns.cells if schema is None else columns.under(schema, beside, number)
        left, rows = self.limit, min(rows, max(CELLS // max(len(cells), 1), 1))
        for at in which:
            begin = 0
            for table in self._tables(at, cells, rows, left, threads, found, number):
                yield FileBlock(at, begin, table)
                begin += table.num_rows
            left = None if left is None else left - begin
            if left == 0:
                return

    def _tables(
        self,
        at: int,
        cells: Mapping[str, CellType],
        rows: int,
        limit: int | None,
        threads: int | None,
        found: TextsReadAsMissing | None = None,
        weight: str | None = None,
    ) -> Batches:
        part, hive = self._parts[at], self._places[at][1]
        own = frozenset(part.names)
        constant = {name: hive[name] for name in cells if name in hive and name not in own}
        read = {name: cell for name, cell in cells.items() if name not in constant}
        lacking = [name for name in read if name not in own]
        if lacking and not (isinstance(part, JsonLines) and set(lacking) <= set(self.columns())):
            why = f"there is no column {lacking[0]!r}{likely(lacking[0], part.names)}"
            raise UnreadableRows(self.paths[at], None, why, column=lacking[0])
        long = [name for name, cell in read.items() if cell.kind == PROSE]
        each = min(rows, PIECE) if long else rows
        asked = {n: TEXT if n in self._columns.texts and kind != PROSE else kind for n, (kind, _) in read.items()}

        def refused(error: NotRead, name: str, kind: pa.DataType) -> UnreadableRows:
            line, learned = part.line_of(error.row), self._columns.learned
            return wrong_cell(self.paths[at], line, error, name, kind, learned, name == weight)

        batches = read_batches(part.batches(asked, each, limit, threads), read, found, refused)
        if self._mixed:
            batches = (one_type(batch, read, self.paths[at]) for batch in batches)
        tables = rebatched(batches, each)
        for table in batches_of_size(tables, rows, long) if long else tables:
            yield with_constants(table, constant, cells, self.paths[at]) if constant else table

    def line_of(self, at: int, row: int) -> int | None:
        """Return the line of a file in which a row begins; None where rows have no lines."""
        return self._parts[at].line_of(row)


def rebatched(batches: Batches, rows: int) -> Iterator[pa.Table]:
    """Return the same rows as tables of exactly so many, the last of fewer.

    Where a reader cuts depends on its threads and buffers. Sums of numbers depend on where they are cut, and shall be
    the same to the last bit whenever the same file is read.
    """
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        waiting.append(batch)
        size += batch.num_rows
        while size >= rows:
            table = pa.Table.from_batches(waiting)
            yield table.slice(0, rows)
            size -= rows
            waiting = table.slice(rows).to_batches() if size else []
    if size:
        yield pa.Table.from_batches(waiting)


def batches_of_size(pieces: Iterator[pa.Table], rows: int, long: Sequence[str]) -> Iterator[pa.Table]:
    """Return tables put together until they have so many rows, or until their long texts have BYTES.

    Where they end follows from the rows alone: pieces are of as many rows whoever reads them.
    """
    waiting: list[pa.Table] = []
    size = held = 0
    for piece in pieces:
        waiting.append(piece)
        size += piece.num_rows
        held += sum(pc.sum(pc.binary_length(piece.column(name))).as_py() or 0 for name in long)
        if size >= rows or held >= BYTES:
            yield pa.concat_tables(waiting)
            waiting, size, held = [], 0, 0
    if waiting:
        yield pa.concat_tables(waiting)


def one_type(batch: pa.RecordBatch, cells: Mapping[str, CellType], path: str) -> pa.RecordBatch:
    """Return a batch whose columns have the same types whatever file they are from."""
    arrays = []
    for name, (kind, _) in cells.items():
        array = batch.column(name)
        try:
            arrays.append(array.cast(kind, safe=kind != NUMBER) if kind in TYPES else array)
        except pa.ArrowException:
            why = f"column {name!r} holds {array.type} here, and another type in other files that are read with it"
            raise UnreadableRows(path, None, f"{why}. Convert it to the same in all of them.", column=name) from None
    return pa.RecordBatch.from_arrays(arrays, names=list(cells))


def with_constants(table: pa.Table, constant: Mapping[str, str], cells: Mapping[str, CellType], shown: str) -> pa.Table:
    """Return a table with columns that hold the same everywhere: what the names of folders say."""
    for name, value in constant.items():
        kind = cells[name].kind
        try:
            cell = pa.scalar(value).cast(kind)
        except pa.ArrowInvalid:
            why = f"its folder says {name}={value}, but column {name!r} is read as {NOUNS[TYPES[kind]]}; rename the "
            as_text = PythonOnly(f", or take the column as text: nv.File(..., types={{{name!r}: 'text'}})")
            raise UnreadableRows(shown, None, Message(why, "folder", as_text, "."), column=name, value=value) from None
        table = table.append_column(name, pa.repeat(cell, table.num_rows))
    result: pa.Table = table.select(list(cells))
    return result


def file_of(X: TableLike) -> File | None:
    """Return a file, a path, a list of paths or a stream as a File; None if this is something else."""
    if type(X) is dict:  # first, as single rows are the quickest questions
        return None
    if isinstance(X, File):
        return X
    paths = isinstance(X, (list, tuple)) and bool(X) and all(isinstance(one, os.PathLike) for one in X)
    if paths or isinstance(X, (str, os.PathLike)):
        return File(X)
    stream = None if isinstance(X, (list, tuple)) else stream_of(X)
    return None if stream is None else File.of_stream(stream)
