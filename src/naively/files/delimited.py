"""Delimited text files (CSV, TSV and the like), and sheets of workbooks: their cells as texts, and what those are."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pyarrow as pa

from .._threads import allowed
from .._types import CellLike
from ..data.cell_format import AND_USUAL
from ..data.cells import TEXT, TypeGuess, guess_type
from ..data.schema import likely
from ..errors import UnreadableRows
from ..errors.message import ANY_VALUE, Message, Setting
from . import duckdb_reader as duck
from .dialect import NATIVE, Dialect, dialect_of, rewritten, unpacked
from .typed import Batches, Kinds, Part, some_rows

if TYPE_CHECKING:
    import pyarrow.csv as arrow_csv

    from .file import File

# Rows that are looked at take about so many bytes at most, but are as many as this in any case.
LOOKED_AT_BYTES, FEWEST = 1 << 26, 1_000
# DuckDB keeps buffers for each column, Arrow does not: files of more columns than this are read by Arrow.
WIDE = 1_000
# Bytes that DuckDB reads at once: it holds several such buffers for each thread, and by default each takes 32 MB.
BUFFER = 1 << 22
# Threads that read a text file, at most: each takes 15 MB, and reading is but a third of the work of a fit.
READERS = 8
# Bytes that Arrow reads at a time; but so many lines in any case.
PIECE, LINES = 1 << 25, 16
# Whole numbers up to this are written without a fraction: Excel keeps all numbers as floats.
WHOLE = 1e15
# No cell is that, so that DuckDB leaves all cells as they are where an empty one is no missing value.
NO_CELL = "\x01"


class Delimited(Part):
    """One text file whose first line names the columns."""

    as_written = True  # what the cells mean is decided by a sample

    @cached_property
    def dialect(self) -> Dialect:
        """How the file is written."""
        return dialect_of(self.path, self.shown, self.how.delimiter, self.how.encoding)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.dialect.names

    @property
    def row_bytes(self) -> float:
        """About how many bytes of the file a row takes."""
        return self.dialect.line_bytes

    @cached_property
    def _plain(self) -> tuple[Path, str, str | None]:
        """The file in an encoding that DuckDB reads, which, and how it is packed."""
        dialect = self.dialect
        if dialect.encoding in NATIVE and not dialect.odd:
            return self.path, NATIVE[dialect.encoding], dialect.packed
        replaced = dialect.skipped if dialect.odd else 0
        return rewritten(self.path, self.shown, dialect.encoding, self._folder(), replaced), "utf-8", None

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth knowing of how the file was read, if it was."""
        skipped = self.dialect.skipped if "dialect" in vars(self) else 0
        lines = f"{skipped} lines" if skipped > 1 else "1 line"
        return (f"{self.shown}: skipped {lines} before the header (empty, or no row of the table).",) if skipped else ()

    @property
    def _empty(self) -> bool:
        """Whether an empty cell is a missing one."""
        return self.how.null is None or "" in self.how.null or AND_USUAL in self.how.null

    def batches(self, types: Kinds, rows: int, limit: int | None, threads: int | None) -> Batches:
        """Return the rows of some columns, every cell as the text that it is; None where it is empty."""
        if len(self.names) > WIDE:
            yield from self._wide_batches(types, limit)
            return
        path, encoding, packed = self._plain
        quoted = duck.sql_literal
        source = (
            f"read_csv({quoted(str(path))}, auto_detect=false, header=true, skip={self.dialect.skipped}, quote='\"', "
            f"escape='\"', delim={quoted(self.dialect.delimiter)}, encoding={quoted(encoding)}, buffer_size={BUFFER}, "
            f"compression={quoted(packed or 'none')}, nullstr=[{quoted('' if self._empty else NO_CELL)}], "
            f"columns={duck.sql_struct(dict.fromkeys(self.names, 'VARCHAR'))})"
        )
        con = duck.connect(threads=min(allowed(threads), READERS))
        yield from duck.rows_of(source, types, self.shown, rows, limit, con)

    def _wide_batches(self, types: Kinds, limit: int | None) -> Batches:
        """Return some columns of a file of very many, read by Arrow: its memory grows with bytes, not with columns."""
        from pyarrow import csv as arrow

        dialect, shown, empty = self.dialect, self.shown, self._empty
        wrong: list[arrow_csv.InvalidRow] = []

        def refused(row: arrow_csv.InvalidRow) -> str:
            wrong.append(row)
            return "error"

        size = int(min(max(PIECE, LINES * dialect.line_bytes), 1 << 30))
        kinds = dict.fromkeys([*dialect.names, ""], TEXT)  # a column without a name is called after its place
        try:
            with self._stream() as file:
                how = arrow.ParseOptions(
                    delimiter=dialect.delimiter, newlines_in_values=True, invalid_row_handler=refused
                )
                null = [""] if empty else []
                read = arrow.ConvertOptions(column_types=kinds, null_values=null, strings_can_be_null=empty)
                skip = arrow.ReadOptions(use_threads=False, block_size=size, skip_rows=dialect.skipped)
                batches = arrow.open_csv(file, skip, how, read)
                named = (pa.RecordBatch.from_arrays(batch.columns, names=dialect.names) for batch in batches)
                yield from some_rows(named, types, limit)
        except (pa.ArrowException, OSError) as error:
            if "Empty CSV file" in str(error):  # a header that no line end follows: there are no rows
                return
            if wrong and is_open(wrong[0].text, dialect.delimiter):
                raise duck.open_quote(shown, wrong[0].number) from None
            if wrong:
                raise duck.ragged(shown, wrong[0].number, wrong[0].actual_columns, wrong[0].expected_columns) from None
            if "UTF8" in str(error):
                raise duck.not_utf8(shown, None) from None
            raise UnreadableRows(shown, None, f"it cannot be read ({duck.first_line(error)}).") from None

    def _stream(self) -> IO[bytes]:
        """Return the bytes of the file in UTF-8, decompressed."""
        return unpacked(self.path if self.dialect.encoding == "utf-8" else self._in_utf8)

    @cached_property
    def _in_utf8(self) -> Path:
        """A copy of the file in UTF-8, made once for all that go over it."""
        return rewritten(self.path, self.shown, self.dialect.encoding, self._folder())

    def guess_types(self, rows: int, missing: tuple[str, ...] | None) -> dict[str, TypeGuess]:
        """Return the types that each column can be read as, by its first rows; none if they are all missing."""
        rows, how = min(rows, max(int(LOOKED_AT_BYTES / max(self.row_bytes, 1.0)), FEWEST)), self.how
        texts = list(self.batches(dict.fromkeys(self.names, TEXT), rows, rows, None))
        table = pa.Table.from_batches(texts, pa.schema([(name, TEXT) for name in self.names])).combine_chunks()
        columns = zip(table.column_names, table.columns, strict=True)
        return {name: guess_type(column, missing, how.decimal, how.thousands) for name, column in columns}

    def line_of(self, row: int) -> int | None:
        """Return the line in which a row begins; the first row after the header is row 0."""
        try:
            with self._stream() as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as text:
                before = sum(1 for _ in islice(text, self.dialect.skipped))
                lines = csv.reader(text, delimiter=self.dialect.delimiter)
                next(lines)
                at, begin = -1, before + lines.line_num + 1
                for cells in lines:
                    at += bool(cells) or len(self.names) == 1  # of one column, an empty line is a row
                    if at == row:
                        return begin
                    begin = before + lines.line_num + 1
        except (csv.Error, UnicodeDecodeError, OSError):
            pass
        return None


def is_open(text: str | None, delimiter: str) -> bool:
    """Return whether a quote that is opened in a line takes in all that follows."""
    try:
        list(csv.reader(io.StringIO(text or "", newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False


# -- sheets, read as if they had been saved as CSV -------------------------------------------------------------------


class Sheet(Delimited):
    """One sheet of a workbook. Its cells are written as CSV first, so its columns are what they would be there."""

    def __init__(self, path: Path, shown: str, how: File, folder: Callable[[], Path]) -> None:
        rows, self._sheets = sheet_rows(path, shown, how.table)
        with tempfile.NamedTemporaryFile(
            "w", dir=folder(), suffix=".csv", delete=False, encoding="utf-8", errors="replace", newline=""
        ) as copy:
            writer = csv.writer(copy, lineterminator="\n")
            writer.writerows([sheet_cell_text(cell) for cell in row] for row in rows)
        how = replace(how, delimiter=",", encoding="utf-8", decimal=".", thousands=None, table=None)
        super().__init__(Path(copy.name), shown, how, folder)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth knowing of how the file was read."""
        if self._sheets:
            first = f"{self.shown}: of {len(self._sheets)} sheets the first, {self._sheets[0]!r}, was read; others: "
            return (*super().notes, Message(first, Setting("table", ANY_VALUE), "."))
        return super().notes


def sheet_rows(path: Path, shown: str, table: str | None) -> tuple[Iterable[list[CellLike]], tuple[str, ...]]:
    """Return the rows of a sheet, and the names of all sheets if nobody said which is meant and there are several.

    Empty rows before the first one are kept, so that a line has the number of its row.
    """
    try:
        import python_calamine as calamine
    except ImportError:
        why = (
            'it is an Excel workbook; to read it: pip install "naively[excel]", or save the sheet as CSV and give that.'
        )
        raise UnreadableRows(shown, None, why) from None
    try:
        book = calamine.load_workbook(str(path))
        names = tuple(book.sheet_names)
        if table is not None and table not in names:
            raise UnreadableRows(shown, None, f"the workbook has no sheet {table!r}{likely(table, names, 'sheets')}")
        sheet = book.get_sheet_by_name(table or names[0])
        rows = sheet.to_python(skip_empty_area=True)
    except (calamine.CalamineError, OSError, IndexError) as error:
        why = f"the workbook cannot be read ({error}); if it has a password or is damaged, save the sheet as CSV."
        raise UnreadableRows(shown, None, why) from None
    if not rows:
        empty = f"the sheet {table or names[0]!r} is empty"
        others = f"{empty}; the workbook has the sheets {', '.join(map(repr, names))}: "
        some = Message(others, Setting("table", ANY_VALUE), ".")
        raise UnreadableRows(shown, None, some if len(names) > 1 else f"{empty}.")
    before: list[list[CellLike]] = [[]] * (sheet.start[0] if sheet.start else 0)
    return before + rows, names if table is None and len(names) > 1 else ()


def sheet_cell_text(cell: CellLike) -> str:
    """Return a cell as it is written in delimited text."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < WHOLE else repr(cell)
    return str(cell)
