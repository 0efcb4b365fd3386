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
from typing import IO, Literal

import pyarrow as pa
import pyarrow.compute as pc

from ..data.cell_format import arrow_text
from ..errors import InvalidInput, UnwritableFile
from ..errors.message import Setting
from ..text.column import arrow_buffers

Form = Literal["csv", "tsv", "parquet", "jsonl"]

FORMS: dict[str, Form] = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet"}
FORMS |= {".jsonl": "jsonl", ".ndjson": "jsonl"}
PACKED = {".gz": "gzip", ".zst": "zstd"}


def form_of(path: str) -> Form:
    """Return what a file of this name holds.

    >>> form_of("answers.csv.gz"), form_of("answers.parquet")
    ('csv', 'parquet')
    """
    endings = [ending.lower() for ending in Path(path).suffixes]
    endings = endings[:-1] if endings and endings[-1] in PACKED else endings
    if not endings or endings[-1] not in FORMS:
        why = f"{path!r} does not say which format it shall have; use one of the endings {', '.join(FORMS)}, or "
        raise InvalidInput(why, Setting("to", "csv"), ".", path=path)
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
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():  # /dev/null or a named pipe, which nothing can take the place of
        with place.open("wb") as sink:
            yield sink
        return
    made, packed = place.with_name(f".naively-{secrets.token_hex(8)}.tmp"), PACKED.get(place.suffix.lower())
    try:
        with created(made, path) as file:
            if packed is None:
                yield file
            else:
                with pa.CompressedOutputStream(pa.PythonFile(file, "w"), packed) as sink:
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
    for index, batch in enumerate(batches):
        if not index:  # of the names, too, only those that need it are quoted
            line = io.StringIO()
            csv.writer(line, delimiter=delimiter, lineterminator="\n").writerow(batch.schema.names)
            yield line.getvalue().encode(), 0
        if batch.num_rows:
            yield csv_lines([spelled(column, delimiter) for column in batch.columns], delimiter), batch.num_rows


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


def csv_lines(columns: list[pa.Array], delimiter: str) -> bytes:
    """Return lines of cells as bytes: Arrow lays texts one behind the other, which is what a file of them is."""
    between, end = (arrow_text(text) for text in (delimiter, "\n"))
    empty = "" if len(columns) > 1 else '""'  # a line without anything would be no row
    joined = pc.binary_join_element_wise(*columns, between, null_handling="replace", null_replacement=empty)
    lines, result = pc.binary_join_element_wise(joined, arrow_text(""), end), b""
    for chunk in lines.chunks if isinstance(lines, pa.ChunkedArray) else [lines]:
        starts, data, _, _ = arrow_buffers(chunk)
        result += memoryview(data)[starts[0] : starts[-1]]
    return result


def write_parquet(batches: Iterable[pa.RecordBatch], sink: IO[bytes]) -> int:
    """Write one row group for each batch.

    Dictionaries of numbers and statistics cost half of the time and bring little. Texts that come as codes with a
    dictionary are written as they come, but the file says that they are texts.
    """
    import pyarrow.parquet as pq

    rows, writer = 0, None
    try:
        for batch in batches:
            if writer is None:
                types = batch.schema
                texts = [f.name for f in types if pa.types.is_string(f.type) or pa.types.is_dictionary(f.type)]
                writer = pq.ParquetWriter(
                    sink, types, use_dictionary=texts or False, write_statistics=False, store_schema=False
                )
                fields = [f.with_type(f.type.value_type) if pa.types.is_dictionary(f.type) else f for f in types]
                said = pa.schema(fields).serialize().to_pybytes()
                writer.add_key_value_metadata({"ARROW:schema": base64.b64encode(said).decode()})
            writer.write_table(batch, row_group_size=max(batch.num_rows, 1))
            rows += batch.num_rows
    finally:
        if writer is not None:
            writer.close()
    return rows


def write_jsonl(batches: Iterable[pa.RecordBatch], sink: IO[bytes]) -> int:
    """Write a JSON object for each row, a line each; a missing cell is null, and so is a number that is none."""
    rows = 0
    for batch in batches:
        lines = []
        for row in batch.to_pylist():
            cells = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
            lines.append(json.dumps(cells, ensure_ascii=False, default=str) + "\n")
        sink.write("".join(lines).encode())
        rows += batch.num_rows
    return rows


WRITERS: dict[Form, Callable[[Iterable[pa.RecordBatch], IO[bytes]], int]] = {
    "csv": write_csv,
    "tsv": lambda batches, sink: write_csv(batches, sink, "\t"),
    "parquet": write_parquet,
    "jsonl": write_jsonl,
}
