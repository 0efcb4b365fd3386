"""DuckDB as a reader: queries in, Arrow batches of exactly so many rows out, its errors in our words."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from .._threads import allowed
from ..errors import UnreadableRows
from ..errors.message import ANY_VALUE, Message, MessagePart, MissingTexts, PythonOnly, Setting

if TYPE_CHECKING:
    import duckdb

if TYPE_CHECKING:
    from ..data.schema import Schema

# What DuckDB may use for buffers; a scan needs far less.
MEMORY = "512MB"
# The types that columns of text files are read as, and what our schema calls them.
TYPES: dict[str, pa.DataType] = {
    "VARCHAR": "text",
    "BOOLEAN": "boolean",
    "BIGINT": "whole",
    "DOUBLE": "number",
    "DATE": "time",
    "TIMESTAMP": "time",
    "TIMESTAMPTZ": "time",
}
# Another name of DuckDB for VARCHAR, which here stands for texts that are tokenized: as long as they like.
PROSE = "TEXT"
# Long texts come in pieces of so many rows, which are put together until they hold so many bytes.
PIECE, BYTES = 1 << 11, 1 << 25
NOUNS = {
    "BOOLEAN": "true and false",
    "BIGINT": "whole numbers",
    "DOUBLE": "numbers",
    "DATE": "dates",
    "TIMESTAMP": "times",
    "TIMESTAMPTZ": "times",
}


def connect(database: str | None = None, threads: int | None = None) -> duckdb.DuckDBPyConnection:
    """Return a connection to a database that is only read, or to an empty one in memory."""
    import duckdb

    try:
        con = duckdb.connect(database or ":memory:", read_only=database is not None)
    except duckdb.Error as error:
        raise UnreadableRows(str(database), None, f"DuckDB cannot open it ({first_line(error)}).") from None
    con.execute(f"set memory_limit = '{MEMORY}'")
    con.execute(f"set temp_directory = {sql_literal(tempfile.gettempdir())}")
    con.execute("set timezone = 'UTC'")
    con.execute("set enable_progress_bar = false")  # whoever wants to see one asks us
    con.execute(f"set threads = {allowed(threads)}")
    return con


def sql_literal(text: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + str(text).replace("'", "''") + "'"


def sql_name(column: str) -> str:
    """Return the name of a column as SQL writes it."""
    return '"' + column.replace('"', '""') + '"'


def sql_struct(types: dict[str, str]) -> str:
    """Return the types of columns as DuckDB's readers take them."""
    return "{" + ", ".join(f"{sql_literal(column)}: {sql_literal(kind)}" for column, kind in types.items()) + "}"


def streamed(con: duckdb.DuckDBPyConnection, query: str, path: str, rows: int) -> Iterator[pa.RecordBatch]:
    """Return the answer to a query as Arrow batches of about so many rows."""
    import duckdb

    try:
        yield from arrow_reader(con.sql(query), rows)
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise reworded(error, path) from None


def arrow_reader(answer: duckdb.DuckDBPyRelation, rows: int = 1) -> pa.RecordBatchReader:
    """Return Arrow's reader of an answer; older versions of DuckDB call it otherwise."""
    return answer.to_arrow_reader(rows) if hasattr(answer, "to_arrow_reader") else answer.fetch_arrow_reader(rows)


def types_of(con: duckdb.DuckDBPyConnection, query: str, path: str) -> pa.Schema:
    """Return the Arrow types of the answer to a query, which may have no rows."""
    import duckdb

    try:
        return arrow_reader(con.sql(query)).schema
    except duckdb.Error as error:
        raise reworded(error, path) from None


def rebatched(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
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


def batches_of_size(pieces: Iterable[pa.RecordBatch], rows: int, long: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Return tables put together until they have so many rows, or until their long texts have BYTES.

    Where they end follows from the rows alone: pieces are of as many rows whoever reads them.
    """
    waiting: list[pa.RecordBatch] = []
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


def with_whole(batches: Iterable[pa.RecordBatch], types: Mapping[str, str], path: str) -> Iterator[pa.RecordBatch]:
    """Return batches whose whole numbers, which came as texts, are such: DuckDB would round what is none."""
    whole, begin = [name for name, kind in types.items() if kind == "BIGINT"], 0
    for batch in batches:
        arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
        for name in whole:
            try:
                arrays[name] = arrays[name].cast(pa.int64())
            except pa.ArrowInvalid:
                found = [(row, text) for row, text in enumerate(arrays[name].to_pylist()) if not is_whole_text(text)]
                row, text = found[0]
                raise wrong_type(WrongCell(path, None, begin + row, name, text, "BIGINT")) from None
        begin += batch.num_rows
        yield pa.RecordBatch.from_pydict(arrays) if whole else batch


def is_whole_text(text: str | None) -> bool:
    """Return whether a cell is empty or a whole number of 64 bits."""
    if text is None:
        return True
    return bool(re.fullmatch(r"-?\d+", text)) and -(2**63) <= int(text) < 2**63


def as_text(types: Mapping[str, str]) -> dict[str, str]:
    """Return what columns are read as, whole numbers as texts."""
    return {name: "VARCHAR" if kind == "BIGINT" else kind for name, kind in types.items()}


def first_line(error: Exception) -> str:
    """Return the first line of an error of DuckDB, without the kind of error before it."""
    return re.sub(r"^[\w ]*Error: ", "", str(error).strip().split("\n")[0]).rstrip(".")


def reworded(error: Exception, path: str) -> UnreadableRows:
    """Return an error of DuckDB about a file with the line, what was found, and what to do."""
    text = str(error)
    place = re.search(r"CSV Error on Line: (\d+)", text) or re.search(r"in line (\d+)", text)
    line = int(place[1]) if place else None
    bad = re.search(r'converting column "(.*?)"\. Could not convert string "(.*?)" to \'(\w+)', text, re.DOTALL)
    if bad:
        return wrong_type(WrongCell(path, line, None, bad[1], bad[2], bad[3]))
    bad = re.search(r"Failed to cast value(?: to \w+)?: (.*)", text)
    if bad:
        why = f"{bad[1]} is of another type than the values of its key in the objects that were read first"
        as_text = PythonOnly(". To read them all as text: nv.File(..., types={…: 'text'})")
        return UnreadableRows(path, line, Message(why, as_text, "."))
    uneven = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
    if uneven:
        return ragged(path, line, int(uneven[2]), int(uneven[1]))
    if "nicode" in text or "utf-8" in text:
        return not_utf8(path, line)
    if "unterminated quote" in text or "quote should be followed" in text:
        return open_quote(path, line)
    if re.search(r"line size|Maximum line", text):
        return UnreadableRows(path, line, "the line is longer than 2 MB; is a quote before it never closed?")
    return UnreadableRows(path, line, f"it cannot be read ({first_line(error)}).")


def ragged(path: str, line: int | None, found: int, named: int) -> UnreadableRows:
    """Return the error about a line with too few or too many cells."""
    why = f"{found} cells, but the header names {named} columns"
    return UnreadableRows(path, line, f"{why}. Mend the line; a cell that holds the delimiter needs quotes.")


def open_quote(path: str, line: int | None) -> UnreadableRows:
    """Return the error about a quote that takes in what follows it."""
    return UnreadableRows(path, line, "a quote that is opened here is never closed, or is followed by more text.")


class WrongCell(NamedTuple):
    """A cell that is not what its column holds: where it is, and what its column is read as."""

    path: str
    line: int | None
    row: int | None
    column: str
    value: str
    kind: str

    def error(self, *why: str | MessagePart) -> UnreadableRows:
        """Return the error about the cell; the sentence goes on after what the cell holds."""
        start = f"column {self.column!r} holds {self.value!r} here, "
        sentence = Message(start, *why)
        return UnreadableRows(self.path, self.line, sentence, row=self.row, column=self.column, value=self.value)

    @property
    def noun(self) -> str:
        """What the column is read as."""
        return NOUNS.get(self.kind, self.kind)


def wrong_type(cell: WrongCell) -> UnreadableRows:
    """Return the error about a cell that does not hold what the sample of its column did."""
    return cell.error(
        f"but {cell.noun} in the rows that were read first. To take the column as categories: ",
        Setting("families", {cell.column: "categorical"}),
        PythonOnly(f", or for a target nv.File(..., types={{{cell.column!r}: 'text'}})"),
        "; if the value stands for a missing one: ",
        MissingTexts([cell.value]),
        ".",
    )


def wrong_cell(cell: WrongCell, learned: Schema | None) -> UnreadableRows:
    """Return the error about a cell that is not what its column holds, or held in training."""
    if learned is None or cell.column not in learned:
        return wrong_type(cell)
    written = learned[cell.column].written
    example = "" if written is None or written.plain else f" such as {written}"
    return cell.error(
        f"but held {cell.noun}{example} in training. Write the cell as those were; if the value stands for a missing "
        "one: ",
        MissingTexts([cell.value]),
        ".",
    )


def no_weight(cell: WrongCell) -> UnreadableRows:
    """Return the error about a cell that is no number in the column of the weights."""
    return cell.error(
        "which is no number, and weights must be numbers. Name a column of numbers by ",
        Setting("weight", ANY_VALUE),
        ", or correct the cell.",
    )


def not_utf8(path: str, line: int | None) -> UnreadableRows:
    """Return the error about bytes that are not what text files are made of today."""
    return UnreadableRows(
        path,
        line,
        Message(
            "the text is not UTF-8. Say what it is: ",
            Setting("encoding", "gb18030"),
            " for Excel in China, cp1252 or latin-1 for older files of Windows in the West.",
        ),
    )
