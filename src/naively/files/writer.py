"""Tables, one after the other → a file: CSV, Parquet or JSON lines, whole or not at all."""

from __future__ import annotations

import base64
import csv
import io
import json
import math
import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .._types import CellLike
from ..data.arrow_arrays import arrow_text
from ..errors import InvalidInput, UnwritableFile
from ..errors.message import Setting

if TYPE_CHECKING:
    import pyarrow.parquet as pq

Form = Literal["csv", "tsv", "parquet", "jsonl"]

FORMS: dict[str, Form] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
PACKED = {".gz": "gzip", ".zst": "zstd"}


def form_of(path: str) -> Form:
    """Return what a file of this name holds.

    >>> form_of("answers.csv.gz"), form_of("answers.parquet")
    ('csv', 'parquet')
    """
    endings = [ending.lower() for ending in Path(path).suffixes]
    endings = endings[:-1] if endings and endings[-1] in PACKED else endings
    if not endings or endings[-1] not in FORMS:
        known = ", ".join(FORMS)
        raise InvalidInput(
            f"{path!r} does not say which format it shall have; use one of the endings {known}, or ",
            Setting("to", "csv"),
            ".",
            path=path,
        )
    return FORMS[endings[-1]]


def write_table(batches: Iterable[pa.RecordBatch], path: str, form: Form | None = None) -> int:
    """Write batches to a file, or to stdout ("-"), and return how many rows there were.

    A file is put in its place when it is whole: an error leaves what was there before, and nothing else behind.
    """
    if path != "-" and Path(path).is_dir():
        raise UnwritableFile(path, "that is a folder; add the name of a file.")
    form = form or ("csv" if path == "-" else form_of(path))
    with open_writer(path) as sink:
        return WRITERS[form](batches, sink)


@contextmanager
def open_writer(path: str) -> Iterator[IO[bytes]]:
    """Give a file to write bytes to, which takes its name when all went well; or stdout."""
    if path == "-":
        sink = sys.stdout.buffer
        yield sink
        sink.flush()
        return
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():  # /dev/null or a named pipe, which nothing can take the place of
        with place.open("wb") as sink:
            yield sink
        return
    made = place.with_name(f".naively-{secrets.token_hex(8)}.tmp")
    try:
        with created(made, path) as file, packed(file, place.suffix.lower()) as sink:
            yield sink
        with suppress(FileNotFoundError):
            shutil.copymode(place, made)
        made.replace(place)
    except BaseException:
        made.unlink(missing_ok=True)
        raise


def created(made: Path, path: str) -> IO[bytes]:
    """Return a new file, open for bytes."""
    try:
        return made.open("xb")
    except FileNotFoundError as error:
        raise UnwritableFile(path, "its folder does not exist; create it, or choose another.") from error
    except OSError as error:
        raise UnwritableFile(path, f"{error.strerror}; choose a place where you may write.") from error


@contextmanager
def packed(file: IO[bytes], ending: str) -> Iterator[IO[bytes]]:
    """Give the file itself, or one that packs what is written to it."""
    if ending not in PACKED:
        yield file
        return
    with pa.CompressedOutputStream(pa.PythonFile(file, "w"), PACKED[ending]) as sink:
        yield sink


# -- the formats --------------------------------------------------------------------------------------------------


def write_csv(batches: Iterable[pa.RecordBatch], sink: IO[bytes], delimiter: str = ",") -> int:
    """Write rows of text with a line of names; a missing cell is empty, and only what needs it is quoted."""
    rows = 0
    for part, count in csv_parts(batches, delimiter):
        sink.write(part)
        rows += count
    return rows


def csv_parts(batches: Iterable[pa.RecordBatch], delimiter: str = ",") -> Iterator[tuple[bytes, int]]:
    """Yield a file of delimited text in parts, each with its number of rows; the line of names comes first."""
    for at, batch in enumerate(batches):
        if not at:
            yield header(batch.schema.names, delimiter), 0
        if batch.num_rows:
            yield output_lines([spelled(column, delimiter) for column in batch.columns], delimiter), batch.num_rows


def spelled(column: pa.Array, delimiter: str) -> pa.Array:
    """Return the cells of a column as texts, quoted where a reader would else take them for something else."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    try:
        cells = column.cast(kind).cast(pa.large_string())
    except (pa.ArrowException, UnicodeDecodeError):
        raise InvalidInput(
            f"A column holds {kind}, which cannot be written as text; write Parquet or JSON lines, or leave columns "
            "of the rows out."
        ) from None
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return cells
    special = pc.match_substring_regex(cells, f'["{re.escape(delimiter)}\\r\\n]')
    if not pc.any(special).as_py():
        return cells
    doubled = pc.replace_substring(cells, '"', '""')
    quote = arrow_text('"')
    return pc.if_else(special, pc.binary_join_element_wise(quote, doubled, quote, arrow_text("")), cells)


def output_lines(columns: list[pa.Array], delimiter: str) -> pa.Array:
    """Return lines of cells as bytes: Arrow lays texts one behind the other, which is what a file of them is."""
    between, end = (arrow_text(text) for text in (delimiter, "\n"))
    empty = "" if len(columns) > 1 else '""'  # a line without anything would be no row
    joined = pc.binary_join_element_wise(*columns, between, null_handling="replace", null_replacement=empty)
    lines = pc.binary_join_element_wise(joined, arrow_text(""), end)
    return b"".join(output_texts(chunk) for chunk in (lines.chunks if isinstance(lines, pa.ChunkedArray) else [lines]))


def output_texts(array: pa.Array) -> memoryview:
    """Return the bytes of all texts of an array."""
    _, places, data = array.buffers()
    offsets = np.frombuffer(places, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    return memoryview(data)[offsets[0] : offsets[-1]]


def header(names: list[str], delimiter: str) -> bytes:
    """Return the line of names; only those that need it are quoted."""
    line = io.StringIO()
    csv.writer(line, delimiter=delimiter, lineterminator="\n").writerow(names)
    return line.getvalue().encode()


def write_parquet(batches: Iterable[pa.RecordBatch], sink: IO[bytes]) -> int:
    """Write one row group for each batch."""
    rows, writer = 0, None
    try:
        for batch in batches:
            writer = writer or parquet_writer(batch.schema, sink)
            writer.write_table(batch, row_group_size=max(batch.num_rows, 1))
            rows += batch.num_rows
    finally:
        if writer is not None:
            writer.close()
    return rows


def parquet_writer(schema: pa.Schema, sink: IO[bytes]) -> pq.ParquetWriter:
    """Return what writes tables to a file of Parquet.

    Dictionaries of numbers and statistics cost half of the time and bring little. Texts that come as codes with a
    dictionary are written as they come, but the file says that they are texts.
    """
    import pyarrow.parquet as pq

    writer = pq.ParquetWriter(sink, schema, use_dictionary=texts(schema), write_statistics=False, store_schema=False)
    fields = [f.with_type(f.type.value_type) if pa.types.is_dictionary(f.type) else f for f in schema]
    said = pa.schema(fields).serialize().to_pybytes()
    writer.add_key_value_metadata({"ARROW:schema": base64.b64encode(said).decode()})
    return writer


def texts(schema: pa.Schema) -> pa.Schema:
    """Return the names of the columns of texts."""
    found = [field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_dictionary(field.type)]
    return found or False


def write_jsonl(batches: Iterable[pa.RecordBatch], sink: IO[bytes]) -> int:
    """Write a JSON object for each row, a line each; a missing cell is null."""
    rows = 0
    for batch in batches:
        lines = (json.dumps(json_row(row), ensure_ascii=False, default=str) for row in batch.to_pylist())
        sink.write("".join(f"{line}\n" for line in lines).encode())
        rows += batch.num_rows
    return rows


def json_row(row: dict[str, CellLike]) -> dict[str, CellLike]:
    """Return a row as JSON can hold it: there is no number for what is none."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}


WRITERS: dict[Form, Callable[[Iterable[pa.RecordBatch], IO[bytes]], int]] = {
    "csv": write_csv,
    "tsv": lambda batches, sink: write_csv(batches, sink, "\t"),
    "parquet": write_parquet,
    "jsonl": write_jsonl,
}
