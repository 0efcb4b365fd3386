"""DuckDB as a reader: queries in, Arrow batches out; and the errors about files that cannot be read."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from .._threads import allowed
from ..data.cells import TYPES, NotRead
from ..data.column import NOUNS
from ..data.schema import Schema
from ..errors import UnreadableRows
from ..errors.message import ANY_VALUE, Message, MessagePart, MissingTexts, PythonOnly, Setting

if TYPE_CHECKING:
    import duckdb

# What DuckDB may use for buffers; a scan needs far less.
MEMORY = "512MB"


def connect(database: str | None = None, threads: int | None = None) -> duckdb.DuckDBPyConnection:
    """Return a connection to a database that is only read, or to an empty one in memory."""
    import duckdb

    try:
        con = duckdb.connect(database or ":memory:", read_only=database is not None)
    except duckdb.Error as error:
        raise UnreadableRows(str(database), None, f"DuckDB cannot open it ({first_line(error)}).") from None
    folder = sql_literal(tempfile.gettempdir())
    con.execute(f"set memory_limit = '{MEMORY}'; set temp_directory = {folder}; set threads = {allowed(threads)}")
    con.execute("set timezone = 'UTC'; set enable_progress_bar = false")  # whoever wants to see a bar asks us
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


def rows_of(
    source: str, types: Mapping[str, object], path: str, rows: int, limit: int | None, con: duckdb.DuckDBPyConnection
) -> Iterator[pa.RecordBatch]:
    """Return some columns of what SQL can select from as Arrow batches of about so many rows."""
    end = "" if limit is None else f" limit {limit}"
    return streamed(con, f"select {', '.join(map(sql_name, types))} from {source}{end}", path, rows)


@contextmanager
def reworded(path: str) -> Iterator[None]:
    """Raise errors of DuckDB about a file in our words."""
    import duckdb

    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise unreadable(error, path) from None


def streamed(con: duckdb.DuckDBPyConnection, query: str, path: str, rows: int) -> Iterator[pa.RecordBatch]:
    """Return the answer to a query as Arrow batches of about so many rows."""
    with reworded(path):
        yield from arrow_reader(con.sql(query), rows)


def arrow_reader(answer: duckdb.DuckDBPyRelation, rows: int = 1) -> pa.RecordBatchReader:
    """Return Arrow's reader of an answer; older versions of DuckDB call it otherwise."""
    return answer.to_arrow_reader(rows) if hasattr(answer, "to_arrow_reader") else answer.fetch_arrow_reader(rows)


def first_line(error: Exception) -> str:
    """Return the first line of an error of DuckDB, without the kind of error before it."""
    return re.sub(r"^[\w ]*Error: ", "", str(error).strip().split("\n")[0]).rstrip(".")


def unreadable(error: Exception, path: str) -> UnreadableRows:
    """Return an error of DuckDB about a file with the line, what was found, and what to do."""
    text = str(error)
    place = re.search(r"CSV Error on Line: (\d+)", text) or re.search(r"in line (\d+)", text)
    line = int(place[1]) if place else None
    if bad := re.search(r"Failed to cast value(?: to \w+)?: (.*)", text):
        why = f"{bad[1]} is of another type than the values of its key in the objects that were read first"
        as_text = PythonOnly(". To read them all as text: nv.File(..., types={…: 'text'})")
        return UnreadableRows(path, line, Message(why, as_text, "."))
    if uneven := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text):
        return ragged(path, line, int(uneven[2]), int(uneven[1]))
    if "nicode" in text or "utf-8" in text:
        return not_utf8(path, line)
    if "unterminated quote" in text or "quote should be followed" in text:
        return open_quote(path, line)
    long = "the line is longer than 2 MB; is a quote before it never closed?"
    why = long if re.search(r"line size|Maximum line", text) else f"it cannot be read ({first_line(error)})."
    return UnreadableRows(path, line, why)


def ragged(path: str, line: int | None, found: int, named: int) -> UnreadableRows:
    """Return the error about a line with too few or too many cells."""
    why = f"{found} cells, but the header names {named} columns"
    return UnreadableRows(path, line, f"{why}. Mend the line; a cell that holds the delimiter needs quotes.")


def open_quote(path: str, line: int | None) -> UnreadableRows:
    """Return the error about a quote that takes in what follows it."""
    return UnreadableRows(path, line, "a quote that is opened here is never closed, or is followed by more text.")


def wrong_cell(
    path: str, line: int | None, error: NotRead, column: str, kind: pa.DataType, learned: Schema | None, weight: bool
) -> UnreadableRows:
    """Return the error about a cell that is not what its column holds, or held in training, or is no weight."""
    value, noun = error.text, NOUNS[TYPES[kind]]
    if weight:
        why: tuple[str | MessagePart, ...] = (
            "which is no number, and weights must be numbers. Name a column of numbers by ",
            Setting("weight", ANY_VALUE),
            ", or correct the cell.",
        )
    elif learned is not None and column in learned:
        written = learned[column].written
        example = "" if written is None or written.plain else f" such as {written}"
        why = (
            f"but held {noun}{example} in training. Write the cell as those were; ",
            "if the value stands for a missing one: ",
            MissingTexts([value]),
            ".",
        )
    else:
        why = (
            f"but {noun} in the rows that were read first. To take the column as categories: ",
            Setting("families", {column: "categorical"}),
            PythonOnly(f", or for a target nv.File(..., types={{{column!r}: 'text'}})"),
            "; if the value stands for a missing one: ",
            MissingTexts([value]),
            ".",
        )
    sentence = Message(f"column {column!r} holds {value!r} here, ", *why)
    return UnreadableRows(path, line, sentence, row=error.row, column=column, value=value)


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
