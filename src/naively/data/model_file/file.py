"""The file itself: written in one step, sealed, and checked before it is taken apart."""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from ..._threads import allowed
from ..._types import Json, JsonObject
from ...errors import InvalidInput, InvalidSetting, UnreadableFile
from ...stats import Axis, Counts, WordTable
from ...stats.pairs import JointCounts
from ..schema import Schema
from .offsets import StoredOffsets, offset_rows, stored_offsets
from .pairs import EXPECTED_MARK, MARK, Sums, joint_counts, joint_rows, pairs_piece, sums_of
from .places import ModelPlace, Refused, place_name, read_place, unwritable, write_place
from .rows import StoredRows, kept_row_parts, row_part_sizes, stored_rows
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

FORMAT, VERSION = "naively counts", 7
# A file is of the oldest version that can read it: one that holds what is expected needs the second, one that holds
# columns counted together the third, one that holds offsets the fourth, one with words the fifth, or the sixth
# where they were found by the rules of Unicode, and one with rows the seventh.
COUNTED_VERSION, EXPECTED_VERSION, JOINT_VERSION, OFFSETS_VERSION, WORDS_VERSION, UNICODE_VERSION = 1, 2, 3, 4, 5, 6
ROWS_VERSION = 7
EXPECTED = "(expected)"
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
    offsets: StoredOffsets | None = None,
    kept: StoredRows | None = None,
) -> None:
    """Leave the counts in a file at this place, whole or not at all; ``about`` is JSON that is kept beside them.

    What is only expected of rows without a label may stand beside what was counted, as rows of its own; so may
    the offsets of words, [class, word] for each column, and rows that the model keeps.
    """
    with unwritable(place):
        write_place(place, sealed(parquet(counts, about, expected, offsets, kept)))


def parquet(
    counts: Counts,
    about: JsonObject,
    expected: Counts | None = None,
    offsets: StoredOffsets | None = None,
    kept: StoredRows | None = None,
) -> bytes:
    """Return the file as bytes, not sealed yet."""
    for name in counts.columns:
        if not isinstance(name, str):
            raise InvalidInput(f"the name of column {name!r} is no text; give every column one that is.", column=name)
    sink = pa.BufferOutputStream()
    options = {"compression": "zstd", "write_page_checksum": True, "write_statistics": ["column"]}
    repeated = WORDS if kept is None else [*WORDS, "value", "n"]  # what rows hold, others hold, too
    with pq.ParquetWriter(sink, SCHEMA, use_dictionary=repeated, **options) as writer:
        parts = append_counts(writer, counts)
        if expected is not None:
            parts |= {"version": EXPECTED_VERSION, "expected": append_counts(writer, expected, EXPECTED)}
        if counts.joint is not None:
            parts |= {"version": JOINT_VERSION, "together": append_joint(writer, counts.joint, MARK)}
        if expected is not None and expected.joint is not None:
            parts |= {"expected together": append_joint(writer, expected.joint, EXPECTED_MARK)}
        if offsets:
            parts |= {"version": OFFSETS_VERSION, "offsets": append_offsets(writer, counts.classes, offsets)}
        lexicons = [statistic.lexicon for statistic in counts.columns.values() if isinstance(statistic, WordTable)]
        if lexicons:
            unicode = any(lexicon.tokens.rules == "unicode" for lexicon in lexicons)
            parts |= {"version": UNICODE_VERSION if unicode else WORDS_VERSION}
        if kept is not None:
            said, tables = kept_row_parts(kept)
            for rows in tables:
                append_slices(writer, rows)
            parts |= {"version": ROWS_VERSION, "kept": said}
        writer.add_key_value_metadata({KEY: footer(parts, about)})
    data: bytes = sink.getvalue().to_pybytes()
    return data


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


def append_joint(writer: pq.ParquetWriter, joint: JointCounts, mark: str) -> JsonObject:
    """Write counts of pairs of columns, and return the entry of the footer."""
    entry, rows = joint_rows(joint, mark)
    append_slices(writer, rows)
    return entry


def append_offsets(writer: pq.ParquetWriter, classes: Axis, offsets: StoredOffsets) -> list[JsonObject]:
    """Write the offsets of words, and return the entries of the footer."""
    entries = []
    for name in sorted(offsets):
        entry, rows = offset_rows(name, classes, *offsets[name])
        append_rows(writer, rows)
        entries.append(entry)
    return entries


def marked(mark: str | None, name: str) -> str:
    """Return the name under which rows of a column stand in the table."""
    return name if mark is None else f"{mark} {name}"


def append_rows(writer: pq.ParquetWriter, rows: pa.Table) -> None:
    """Write rows as a row group of their own, or as several."""
    for group in row_groups(rows, MOST_ROWS):
        writer.write_table(group, row_group_size=len(group))


def append_slices(writer: pq.ParquetWriter, rows: pa.Table) -> None:
    """Write rows as row groups that may begin anywhere."""
    for begin in range(0, len(rows), MOST_ROWS):
        writer.write_table(group := rows.slice(begin, MOST_ROWS), row_group_size=len(group))


def footer(parts: JsonObject, about: JsonObject) -> str:
    """Return the JSON of the footer, with room for the seal at its end."""
    said = {"format": FORMAT, "version": COUNTED_VERSION, **parts, "about": about, "sha256": UNSEALED}
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
    found = hashlib.sha256(view[:at])
    found.update(view[at + len(UNSEALED) :])
    return found.hexdigest().encode()


def check_seal(data: bytes) -> None:
    """Refuse bytes that are not those that were written."""
    if not data.startswith(MAGIC):
        raise Refused("it is no Parquet file, and so no model; give the path of a file that Naively saved.")
    if len(data) < 2 * len(MAGIC) or not data.endswith(MAGIC):
        raise Refused("it is cut off or damaged; take another copy, or save the model again.")
    found = data.rfind(SEAL)
    at = found + len(SEAL)
    seal = data[at : at + len(UNSEALED)]
    if found < 0 or not re.fullmatch(rb"[0-9a-f]{64}", seal):
        raise Refused(
            f"it is Parquet, but its footer has no complete key {KEY!r}; give the path of a file Naively saved."
        )
    if seal != seal_digest(data, at):
        raise Refused("it is damaged, its bytes are not those that were saved; take another copy, or save it again.")


# -- reading ------------------------------------------------------------------------------------------------------


class StoredModel(NamedTuple):
    """What a file holds: counts, what the caller kept beside them, what is expected of rows without a label, rows.

    What was counted of columns jointly stands apart: how they are laid out is for the caller to say.
    """

    counts: Counts
    about: JsonObject
    expected: Counts | None
    together: Sums | None = None
    offsets: StoredOffsets | None = None
    kept: StoredRows | None = None
    expected_together: Sums | None = None


def read_counts(path: str | os.PathLike[str]) -> tuple[Counts, JsonObject]:
    """Return the counts in a file and what was kept beside them; nothing in it is executed."""
    return read_model(path)[:2]


def counts_to_bytes(counts: Counts) -> bytes:
    """Return counts as the bytes of a file, with their schema beside them."""
    return sealed(parquet(counts, {} if counts.schema is None else {"schema": counts.schema.to_json()}))


def counts_of_bytes(data: bytes) -> Counts:
    """Return the counts in the bytes of a file, with their schema and what was counted of pairs."""
    return with_schema(read_bytes(data, "the bytes of counts"))


def with_schema(stored: StoredModel) -> Counts:
    """Return the counts that were stored, with their schema and what was counted of pairs, if there is any."""
    counts, said = stored.counts, stored.about.get("schema")
    if said is None:
        return counts
    schema = Schema.from_json(said)
    joint = None if stored.together is None else joint_counts(stored.together, counts.classes, schema.grid)
    return Counts(counts.classes, counts.rows, counts.columns, schema, joint)


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
    joint = joint_parts(said, parts[0].classes, more[0].classes if more else None)
    of_words = [StoredPart("table", e["name"], parts[0].classes, e["rows"]) for e in said.get("offsets", ())]
    every, sizes = [*parts, *more, *joint.values(), *of_words], row_part_sizes(said["kept"]) if "kept" in said else []
    groups = groups_of(file.metadata, [*(part.rows for part in every), *sizes])
    pieces = pieces_of(data, file.metadata, every, groups[: len(every)])
    pieces, own = pieces[: len(pieces) - len(of_words)], pieces[len(pieces) - len(of_words) :]
    expected = stored_counts(said["expected"], more, pieces[len(parts) : len(parts) + len(more)]) if more else None
    counts = stored_counts(said, parts, pieces[: len(parts)])
    found = dict(zip(joint, pieces[len(parts) + len(more) :], strict=True))
    sums = {name: sums_of(said[name], part.classes, found[name]) for name, part in joint.items()}
    offsets = stored_offsets(said["offsets"], counts.classes, own) if of_words else None
    kept = stored_rows(said["kept"], file, groups[len(every) :]) if sizes else None
    together, beside = (sums.get(name) for name in ("together", "expected together"))
    return StoredModel(counts, said["about"], expected, together, offsets, kept, beside)


def joint_parts(said: JsonObject, classes: Axis, expected: Axis | None) -> dict[str, StoredPart]:
    """Return the parts of the table that hold columns counted together, if there are some: seen, and expected."""
    axes = {"together": classes} if expected is None else {"together": classes, "expected together": expected}
    return {
        name: StoredPart("pairs", None, axis, said[name]["rows"], said[name])
        for name, axis in axes.items()
        if name in said
    }


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
    found = {
        entry["name"]: stored_statistic(entry, part.classes, rows)
        for entry, part, rows in zip(entries, parts[1:], pieces[1:], strict=True)
    }
    need(len(found) == len(entries), "a column stands twice")
    skipped = len(marked(mark, ""))
    columns = {entry["name"][skipped:]: found[entry["name"]] for entry in said["columns"]}
    return Counts(classes, rows_by_class(classes, pieces[0]), columns)


class StoredPart(NamedTuple):
    """What the footer says about a part of the table: the rows of the classes, or of a column."""

    kind: str
    name: str | None
    classes: Axis
    rows: int
    about: Json = None


def pieces_of(
    data: bytes, metadata: pq.FileMetaData, parts: list[StoredPart], groups: list[range]
) -> list[list[RowGroup]]:
    """Return the rows of each part, row group by row group, by several threads."""
    reader = threading.local()  # a reader serves one thread

    def read_group(part: StoredPart, group: int) -> RowGroup:
        if not hasattr(reader, "file"):
            reader.file = parquet_file(data, metadata)
        rows = reader.file.read_row_group(group, columns=NEEDED[part.kind], use_threads=False)
        if part.kind == "pairs":
            return pairs_piece(rows.unify_dictionaries(), part.about, part.classes)
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
