"""Text files of very many columns, read by Arrow: its memory grows with the bytes, not with the columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING

import pyarrow as pa

from ..errors import UnreadableRows
from .dialect import Dialect
from .duckdb_reader import first_line, not_utf8, open_quote, ragged

if TYPE_CHECKING:
    import pyarrow.csv as arrow_csv

# Bytes that are read at a time; but so many lines in any case.
PIECE, LINES = 1 << 25, 16


def texts_of_wide(
    stream: Callable[[], IO[bytes]], dialect: Dialect, shown: str, names: list[str], limit: int | None, *, empty: bool
) -> Iterator[pa.RecordBatch]:
    """Return some columns of a file as batches of texts; empty cells are missing, if they shall be."""
    places, wrong = {name: at for at, name in enumerate(dialect.names)}, []

    def refused(row: arrow_csv.InvalidRow) -> str:
        wrong.append(row)
        return "error"

    left = limit
    try:
        with stream() as file:
            for batch in open_wide(file, dialect, refused, empty):
                taken = batch if left is None else batch.slice(0, left)
                yield pa.RecordBatch.from_arrays([taken.column(places[name]) for name in names], names=names)
                left = None if left is None else left - taken.num_rows
                if left == 0:
                    return
    except (pa.ArrowException, OSError) as error:
        if "Empty CSV file" in str(error):  # a header that no line end follows: there are no rows
            return
        if wrong and is_open(wrong[0].text, dialect.delimiter):
            raise open_quote(shown, wrong[0].number) from None
        if wrong:
            raise ragged(shown, wrong[0].number, wrong[0].actual_columns, wrong[0].expected_columns) from None
        if "UTF8" in str(error):
            raise not_utf8(shown, None) from None
        raise UnreadableRows(shown, None, f"it cannot be read ({first_line(error)}).") from None


def is_open(text: str | None, delimiter: str) -> bool:
    """Return whether a quote that is opened in a line takes in all that follows."""
    try:
        list(csv.reader(io.StringIO(text or "", newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False


def open_wide(
    file: IO[bytes], dialect: Dialect, refused: Callable[[arrow_csv.InvalidRow], str], empty: bool
) -> arrow_csv.CSVStreamingReader:
    """Return Arrow's reader of a file, every cell a text."""
    from pyarrow import csv as arrow

    size = int(min(max(PIECE, LINES * dialect.line_bytes), 1 << 30))
    kinds = dict.fromkeys([*dialect.names, ""], pa.string())  # a column without a name is called after its place
    return arrow.open_csv(
        file,
        arrow.ReadOptions(use_threads=False, block_size=size, skip_rows=dialect.skipped),
        arrow.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True, invalid_row_handler=refused),
        arrow.ConvertOptions(column_types=kinds, null_values=[""] if empty else [], strings_can_be_null=empty),
    )
