"""The file itself: written in one step, sealed, and checked before it is taken apart; on a disk or at a URL."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import shutil
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ..._threads import allowed
from ..._types import JsonObject
from ...errors import InvalidInput, InvalidSetting, UnreadableFile, UnwritableFile
from ...stats import Axis, Counts
from ..schema import Schema
from .statistics import (
    NEEDED,
    SCHEMA,
    WORDS,
    RowGroup,
    class_axis,
    described,
    need,
    row_group,
    row_groups,
    rows_by_class,
    rows_of_classes,
    statistic_rows,
    stored_statistic,
)

# A path, a URL such as "s3://bucket/model.parquet", or an open file of bytes.
ModelPlace: TypeAlias = str | os.PathLike[str] | IO[bytes]


class Refused(Exception):
    """What is wrong with a file, in words for its user, who knows which file it is."""


def place_name(place: ModelPlace) -> str:
    """Return what a place is called in messages."""
    if isinstance(place, str | os.PathLike):
        return os.fspath(place)
    name = getattr(place, "name", None)
    return name if isinstance(name, str) else f"<{type(place).__name__}>"


def is_url(place: ModelPlace) -> bool:
    """Tell whether a place is a URL, and not a path: paths of Windows have a colon, too."""
    return isinstance(place, str) and re.match(r"[A-Za-z][A-Za-z0-9+.:-]+://", place) is not None


def read_place(place: ModelPlace) -> bytes:
    """Return all bytes of a model file."""
    try:
        if is_url(place):
            system, path = _file_system(str(place))
            result: bytes = system.cat_file(path)
            return result
        if not isinstance(place, str | os.PathLike):
            data = place.read()
            if not isinstance(data, bytes):
                raise Refused("the file is open for text; open it in mode 'rb'.")
            return data
        file = Path(place)
        if file.exists() and not file.is_file():
            raise Refused("it is a folder or a device; give the path of a file.")
        return file.read_bytes()
    except FileNotFoundError:
        raise Refused("there is no such file; check the path.") from None
    except OSError as error:
        raise Refused(f"{error.strerror or error}; check the path, and whether you may read it.") from None


def write_place(place: ModelPlace, data: bytes) -> None:
    """Write a model file, whole or not at all; an open file gets all bytes in one call."""
    if is_url(place):
        system, path = _file_system(str(place))
        system.pipe_file(path, data)
    elif isinstance(place, str | os.PathLike):
        replace_file(Path(os.path.realpath(place)), data)
    else:
        try:
            place.write(data)
        except TypeError:
            raise InvalidInput("the file is open for text; open it in mode 'wb'.") from None


@contextlib.contextmanager
def unwritable(place: ModelPlace) -> Iterator[None]:
    """Say of errors that they are about writing this file."""
    try:
        yield
    except InvalidInput as error:
        raise UnwritableFile(place_name(place), error.message) from error
    except FileNotFoundError as error:
        raise UnwritableFile(place_name(place), "its folder does not exist; create it, or choose another.") from error
    except OSError as error:
        why = f"{error.strerror or error}; choose a place with room where you may write."
        raise UnwritableFile(place_name(place), why) from error


def _file_system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path on it."""
    try:
        import fsspec
    except ImportError:
        raise InvalidInput(
            f"{url!r} is a URL, which fsspec reads. Install it: pip install 'naively[fsspec]', and the package of the "
            "file system, such as s3fs or gcsfs."
        ) from None
    try:
        result: tuple[Any, str] = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:  # it names the package to install, or the protocols there are
        raise InvalidInput(f"{str(error).rstrip('.')}.") from None
    return result


def replace_file(path: Path, data: bytes) -> None:
    """Put the data at the path in one step: whoever opens it finds the old file or the new one, never a part."""
    if path.is_dir():
        raise InvalidInput("that is a folder; add the name of a file.")
    made = path.with_name(f".naively-{secrets.token_hex(8)}.tmp")
    try:
        with made.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            shutil.copymode(path, made)  # whoever might read the old file may read the new one, and nobody else
        made.replace(path)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
    if os.name == "posix":  # elsewhere a folder cannot be opened
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # so that the new name outlives a power cut
        finally:
            os.close(folder)


FORMAT, VERSION = "naively model", 1
EXPECTED, PART = "(expected)", "(part)"  # marks before the names of what is no count
KEY = "naively"
SEAL = b'"sha256":"'  # ends the JSON, so that nothing a caller can choose comes behind it
UNSEALED = "0" * 64
MAGIC = b"PAR1"
# A column of more rows has several row groups: Arrow reads them faster than a single large one, and by several threads.
MOST_ROWS = 1 << 20


# -- writing ------------------------------------------------------------------------------------------------------


def write_model(
    place: ModelPlace,
    counts: Counts,
    about: JsonObject,
    expected: Counts | None = None,
    parts: Mapping[str, bytes] | None = None,
) -> None:
    """Leave the counts in a file at this place, whole or not at all; ``about`` is JSON that is kept beside them.

    What is only expected of rows without a label may stand beside what was counted, and so may named parts.
    """
    with unwritable(place):
        write_place(place, sealed(parquet(counts, about, expected, parts or {})))


def parquet(counts: Counts, about: JsonObject, expected: Counts | None, parts: Mapping[str, bytes]) -> bytes:
    """Return the file as bytes, not sealed yet."""
    for name in counts.columns:
        if not isinstance(name, str):
            raise InvalidInput(f"the name of column {name!r} is no text; give every column one that is.", column=name)
    sink = pa.BufferOutputStream()
    options = {"compression": "zstd", "write_page_checksum": True, "write_statistics": ["column"]}
    with pq.ParquetWriter(sink, SCHEMA, use_dictionary=WORDS, **options) as writer:
        said = append_counts(writer, counts)
        if expected is not None:
            said["expected"] = append_counts(writer, expected, EXPECTED)
        for name, data in parts.items():
            columns = {field.name: pa.nulls(1, field.type) for field in SCHEMA}
            columns["column"] = pa.DictionaryArray.from_arrays(np.zeros(1, np.int32), [f"{PART} {name}"])
            writer.write_table(pa.table(columns | {"data": pa.array([data], pa.large_binary())}, SCHEMA))
        said["parts"] = list(parts)
        writer.add_key_value_metadata({KEY: footer(said, about)})
    data = sink.getvalue().to_pybytes()
    return bytes(data)


def append_counts(writer: pq.ParquetWriter, counts: Counts, mark: str | None = None) -> JsonObject:
    """Write counts, with a mark before the names if they are not what was counted, and return the footer's words."""
    classes, entries = described(counts.classes), {}
    first = rows_of_classes(counts.classes, counts.rows, mark)
    append_rows(writer, first)
    for name in sorted(counts.columns):
        entries[name], rows = statistic_rows(marked(mark, name), counts.columns[name], classes)
        append_rows(writer, rows)
    columns = [entries[name] for name in counts.columns]  # in their own order: probabilities are summed in it
    return {"classes": classes, "rows": len(first), "columns": columns}


def marked(mark: str | None, name: str) -> str:
    """Return the name under which rows of a column stand in the table."""
    return name if mark is None else f"{mark} {name}"


def append_rows(writer: pq.ParquetWriter, rows: pa.Table) -> None:
    """Write rows as a row group of their own, or as several."""
    for group in row_groups(rows, MOST_ROWS):
        writer.write_table(group, row_group_size=len(group))


def footer(parts: JsonObject, about: JsonObject) -> str:
    """Return the JSON of the footer, with room for the seal at its end."""
    said = {"format": FORMAT, "version": VERSION, **parts, "about": about, "sha256": UNSEALED}
    try:
        text = json.dumps(said, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"what is to be kept beside the counts is no JSON ({error}).") from error
    if json.loads(text)["about"] != about:
        raise InvalidInput("what is to be kept beside the counts would come back changed; use lists, and text as keys.")
    return text


# -- the seal -----------------------------------------------------------------------------------------------------


def sealed(data: bytes) -> bytes:
    """Return the data with the hash of all its other bytes in the place that is kept for it."""
    at = data.rfind(SEAL) + len(SEAL)
    return b"".join([data[:at], seal_digest(data, at), data[at + len(UNSEALED) :]])


def seal_digest(data: bytes, at: int) -> bytes:
    """Return the hash of all bytes but those of the seal, which begins at this place."""
    view = memoryview(data)
    result = hashlib.sha256(view[:at])
    result.update(view[at + len(UNSEALED) :])
    return result.hexdigest().encode()


def check_seal(data: bytes) -> None:
    """Refuse bytes that are not those that were written."""
    if not data.startswith(MAGIC):
        raise Refused("it is no Parquet file, and so no model; give the path of a file that Naively saved.")
    if len(data) < 2 * len(MAGIC) or not data.endswith(MAGIC):
        raise Refused("it is cut off or damaged; take another copy, or save the model again.")
    result = data.rfind(SEAL)
    at = result + len(SEAL)
    seal = data[at : at + len(UNSEALED)]
    if result < 0 or not re.fullmatch(rb"[0-9a-f]{64}", seal):
        raise Refused(
            f"it is Parquet, but its footer has no complete key {KEY!r}; give the path of a file Naively saved."
        )
    if seal != seal_digest(data, at):
        raise Refused("it is damaged, its bytes are not those that were saved; take another copy, or save it again.")


# -- reading ------------------------------------------------------------------------------------------------------


class StoredModel(NamedTuple):
    """What a file holds: counts, what the caller kept beside them, what is expected of rows without a label, parts."""

    counts: Counts
    about: JsonObject
    expected: Counts | None
    parts: Mapping[str, bytes]


def read_counts(path: str | os.PathLike[str]) -> tuple[Counts, JsonObject]:
    """Return the counts in a file and what was kept beside them; nothing in it is executed."""
    return read_model(path)[:2]


def counts_to_bytes(counts: Counts) -> bytes:
    """Return counts as the bytes of a file, with their schema beside them."""
    return sealed(parquet(counts, {} if counts.schema is None else {"schema": counts.schema.to_json()}, None, {}))


def counts_of_bytes(data: bytes) -> Counts:
    """Return the counts in the bytes of a file, with their schema."""
    stored = read_bytes(data, "the bytes of counts")
    counts, said = stored.counts, stored.about.get("schema")
    return counts if said is None else Counts(counts.classes, counts.rows, counts.columns, Schema.from_json(said))


def read_model(place: ModelPlace) -> StoredModel:
    """Return everything that is in a file."""
    try:
        data = read_place(place)
    except (Refused, InvalidInput) as error:
        raise UnreadableFile(place_name(place), str(error)) from None
    return read_bytes(data, place_name(place))


def read_bytes(data: bytes, path: str | os.PathLike[str]) -> StoredModel:
    """Return everything that is in the bytes of a file; the path is for messages."""
    try:
        check_seal(data)
        return model_of_bytes(data)
    except Refused as error:
        raise UnreadableFile(path, str(error)) from None
    except InvalidSetting:
        raise  # the number of threads, which is no fault of the file
    except (ArithmeticError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError) as error:
        # The seal fits, so nothing broke on the way: somebody wrote this, and not as we do.
        raise UnreadableFile(path, f"it is not what Naively writes ({error}); save the model again.") from error


def model_of_bytes(data: bytes) -> StoredModel:
    """Return the counts in the bytes of a file, and what was kept beside them."""
    file = parquet_file(data)
    said = json.loads(file.metadata.metadata[KEY.encode()])
    need(said["format"] == FORMAT and said["version"] >= 1, "it has another format")
    if said["version"] > VERSION:
        raise Refused(
            f"a newer Naively wrote it, in format {said['version']}, and this one reads up to {VERSION}; "
            "update it by: pip install --upgrade naively"
        )
    need(file.schema_arrow.names == SCHEMA.names, f"it has the columns {file.schema_arrow.names}")
    parts, more = stored_parts(said), stored_parts(said["expected"], EXPECTED) if "expected" in said else []
    every, names = [*parts, *more], [str(name) for name in said["parts"]]
    groups = groups_of(file.metadata, [*(part.rows for part in every), *(1 for _ in names)])
    pieces = pieces_of(data, file.metadata, every, groups[: len(every)])
    expected = stored_counts(said["expected"], more, pieces[len(parts) :]) if more else None
    counts = stored_counts(said, parts, pieces[: len(parts)])
    own = {name: part_of_group(file, name, group) for name, group in zip(names, groups[len(every) :], strict=True)}
    need(len(own) == len(names), "a part stands twice")
    return StoredModel(counts, said["about"], expected, own)


def part_of_group(file: pq.ParquetFile, name: str, group: range) -> bytes:
    """Return the bytes of a named part."""
    (row,) = file.read_row_groups(list(group), columns=["column", "data"]).to_pylist()
    need(
        row["column"] == f"{PART} {name}" and isinstance(row["data"], bytes), f"part {name!r} is not where it should be"
    )
    return bytes(row["data"])


def sorted_columns(said: JsonObject) -> list[JsonObject]:
    """Return what the footer says about each column, in the order of their rows."""
    return sorted(said["columns"], key=lambda entry: str(entry["name"]))


def stored_parts(said: JsonObject, mark: str | None = None) -> list[StoredPart]:
    """Return the parts of the table that hold counts, by what the footer says about them."""
    classes = class_axis(said["classes"])
    parts = [StoredPart("rows", mark, classes, said["rows"])]
    for entry in sorted_columns(said):
        own = class_axis(entry["classes"]) if "classes" in entry else classes
        parts.append(StoredPart(entry["kind"], entry["name"], own, entry["rows"]))
    return parts


def stored_counts(said: JsonObject, parts: list[StoredPart], pieces: list[list[RowGroup]]) -> Counts:
    """Return counts from what the footer says about them, and their rows."""
    mark, classes, entries = parts[0].name, parts[0].classes, sorted_columns(said)
    result = {
        entry["name"]: stored_statistic(entry, part.classes, rows)
        for entry, part, rows in zip(entries, parts[1:], pieces[1:], strict=True)
    }
    need(len(result) == len(entries), "a column stands twice")
    skipped = len(marked(mark, ""))
    columns = {entry["name"][skipped:]: result[entry["name"]] for entry in said["columns"]}
    return Counts(classes, rows_by_class(classes, pieces[0]), columns)


class StoredPart(NamedTuple):
    """What the footer says about a part of the table: the rows of the classes, or of a column."""

    kind: str
    name: str | None
    classes: Axis
    rows: int


def pieces_of(
    data: bytes, metadata: pq.FileMetaData, parts: list[StoredPart], groups: list[range]
) -> list[list[RowGroup]]:
    """Return the rows of each part, row group by row group, by several threads."""
    reader = threading.local()  # a reader serves one thread

    def read_group(part: StoredPart, group: int) -> RowGroup:
        if not hasattr(reader, "file"):
            reader.file = parquet_file(data, metadata)
        rows = reader.file.read_row_group(group, columns=NEEDED[part.kind], use_threads=False)
        return row_group(rows.unify_dictionaries(), part.name, part.classes)

    with ThreadPoolExecutor(allowed(cells=metadata.num_rows)) as pool:
        waiting = [[pool.submit(read_group, part, at) for at in own] for part, own in zip(parts, groups, strict=True)]
        return [[done.result() for done in group] for group in waiting]


def groups_of(metadata: pq.FileMetaData, sizes: list[int]) -> list[range]:
    """Return which row groups hold the rows of each part of the table."""
    groups, at = [], 0
    for size in sizes:
        start = at
        while size > 0:
            size -= metadata.row_group(at).num_rows
            at += 1
        need(size == 0, "row groups do not fit the columns")
        groups.append(range(start, at))
    need(at == metadata.num_row_groups, "there are more row groups than columns")
    return groups


def parquet_file(data: bytes, metadata: pq.FileMetaData | None = None) -> pq.ParquetFile:
    """Return a reader of the bytes."""
    return pq.ParquetFile(pa.BufferReader(data), metadata=metadata, read_dictionary=WORDS)
