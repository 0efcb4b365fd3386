"""Delimited text files (CSV, TSV and the like): their cells as texts, and what their columns hold, by a sample."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pyarrow as pa

from .._threads import allowed
from ..data.cell_format import AND_USUAL
from ..data.cells import TypeGuess, guess_type
from . import duckdb_reader as duck
from .dialect import NATIVE, Dialect, dialect_of, rewritten, unpacked
from .wide_csv import texts_of_wide

if TYPE_CHECKING:
    from .file import File

# Rows that are looked at take about so many bytes at most, but are as many as this in any case.
LOOKED_AT_BYTES, FEWEST = 1 << 26, 1_000
# DuckDB keeps buffers for each column, Arrow does not: files of more columns than this are read by Arrow.
WIDE = 1_000
# Bytes that DuckDB reads at once: it holds several such buffers for each thread, and by default each takes 32 MB.
BUFFER = 1 << 22
# Threads that read a text file, at most: each takes 15 MB, and reading is but a third of the work of a fit.
READERS = 8
# No cell is that, so that DuckDB leaves all cells as they are where an empty one is no missing value.
NO_CELL = "\x01"


class Delimited:
    """One text file whose first line names the columns."""

    as_written = True  # cells are texts; what they mean is decided by a sample
    texts: tuple[str, ...] = ()
    types: Mapping[str, pa.DataType] = {}

    def __init__(self, path: Path, shown: str, how: File, folder: Callable[[], Path]) -> None:
        self.path, self.shown, self.how, self._folder = path, shown, how, folder

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

    def _query(self, columns: Mapping[str, str], limit: int | None) -> str:
        path, encoding, packed = self._plain
        options = {
            "auto_detect": "false",
            "header": "true",
            "skip": str(self.dialect.skipped),
            "delim": duck.sql_literal(self.dialect.delimiter),
            "quote": "'\"'",
            "escape": "'\"'",
            "columns": duck.sql_struct(dict.fromkeys(self.names, "VARCHAR")),
            "nullstr": f"[{duck.sql_literal('' if self._empty else NO_CELL)}]",
            "encoding": duck.sql_literal(encoding),
            "compression": duck.sql_literal(packed or "none"),
            "buffer_size": str(BUFFER),
        }
        source = f"read_csv({duck.sql_literal(str(path))}, {', '.join(f'{k}={v}' for k, v in options.items())})"
        end = "" if limit is None else f" limit {limit}"
        return f"select {', '.join(duck.sql_name(name) for name in columns)} from {source}{end}"

    def batches(
        self, types: Mapping[str, str], rows: int, limit: int | None, threads: int | None
    ) -> Iterator[pa.RecordBatch]:
        """Return the rows of some columns, every cell as the text that it is; None where it is empty."""
        if len(self.names) > WIDE:
            yield from texts_of_wide(self._stream, self.dialect, self.shown, list(types), limit, empty=self._empty)
        else:
            con = duck.connect(threads=min(allowed(threads), READERS))
            yield from duck.streamed(con, self._query(types, limit), self.shown, rows)

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
        texts = list(self.batches(dict.fromkeys(self.names, "VARCHAR"), rows, rows, None))
        if not texts:
            return {name: guess_type(pa.array([], pa.string()), missing) for name in self.names}
        table = pa.Table.from_batches(texts).combine_chunks()
        columns = zip(table.column_names, table.columns, strict=True)
        return {name: guess_type(one_chunk(column), missing, how.decimal, how.thousands) for name, column in columns}

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


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """Return a column that lies in one piece."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
