"""The write-ahead file: learned rows, on the disk before they count.

The first line names the model that the rows are counted over, by the SHA-256 of its file. Each other line is a request,
or says that the model was about to be saved under another SHA-256. A line is ``CRC32 LENGTH JSON``, so that one that a
crash cut off is told from a whole one.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from .._types import Json, JsonObject, Label
from ..errors import InvalidInput
from .request_rows import JsonRow

FORMAT = "naively write-ahead file"
VERSION = 1


class LearnedEntry(NamedTuple):
    """The rows of one request, with their classes."""

    sequence: int
    verb: str  # "learn" or "forget"
    rows: list[JsonRow]
    labels: list[Label]


class AheadContent(NamedTuple):
    """What a write-ahead file holds."""

    model: str  # the SHA-256 of the model that its rows are counted over
    saved: str | None  # the SHA-256 of the model that was about to be saved
    entries: list[LearnedEntry]  # over the first of these; none is saved yet
    later: list[LearnedEntry]  # over the second
    sequence: int  # of the last request
    size: int  # bytes up to the end of the last whole line
    torn: int  # bytes behind it, which a crash cut off


def line_of_json(data: Json) -> bytes:
    """Return a line of the file."""
    text = json.dumps(data, ensure_ascii=True, default=str).encode()
    return b"%08x %d %s\n" % (zlib.crc32(text), len(text), text)


def json_of_line(line: bytes) -> Json | None:
    """Return what a line holds; None if it is not whole."""
    head = line.split(b" ", 2)
    if len(head) < 3 or not line.endswith(b"\n") or not head[1].isdigit():
        return None
    text = head[2][:-1]
    if len(text) != int(head[1]) or b"%08x" % zlib.crc32(text) != head[0]:
        return None
    return json.loads(text)


def digest_of_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync_folder(path: Path) -> None:
    """Let a new name in a folder outlive a power cut."""
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_ahead_file(path: Path) -> AheadContent:
    """Return what a write-ahead file holds; a last line that is not whole is left out, and another is an error."""
    data = path.read_bytes()
    parts, size = list[tuple[int, Json]](), 0
    lines = data.splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        found = json_of_line(line)
        if found is None and number < len(lines):
            raise InvalidInput(
                f"{path}, line {number}, is damaged, at byte {size}, and {len(lines) - number} lines follow it. The "
                "rows of the lines before it are whole; restore the file from a copy, or cut it off before this line.",
                path=str(path),
                line=number,
            )
        if found is None:
            break
        parts.append((number, found))
        size += len(line)
    if not parts or parts[0][1].get("format") != FORMAT or parts[0][1].get("version") != VERSION:
        raise InvalidInput(
            f"{str(path)!r} is no write-ahead file that this version of Naively reads; name another by --learn.",
            path=str(path),
        )
    return _content(parts, size, len(data) - size)


def _content(parts: list[tuple[int, Json]], size: int, torn: int) -> AheadContent:
    """Return what the lines of a file say."""
    first, saved = parts[0][1], None
    entries, later, sequence = list[LearnedEntry](), list[LearnedEntry](), int(first["sequence"])
    for _, said in parts[1:]:
        if "saved" in said:
            saved, later = str(said["saved"]), []
            continue
        entry = LearnedEntry(said["sequence"], said["verb"], said["rows"], said["labels"])
        entries.append(entry)
        later.append(entry)
        sequence = entry.sequence
    return AheadContent(str(first["model"]), saved, entries, later if saved else [], sequence, size, torn)


class WriteAheadFile:
    """A write-ahead file that lines are added to.

    Parameters
    ----------
    path : Path
        The file. Beside it lies another one, by which servers keep each other off.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] | None = None
        self._lock: IO[bytes] | None = None

    def lock(self) -> None:
        """Keep other servers off until `release`, or until the process ends, whatever ends it."""
        if sys.platform == "win32":
            return
        import fcntl

        self._lock = self.path.with_name(self.path.name + ".lock").open("ab")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InvalidInput(
                f"Another server learns into {str(self.path)!r}; stop it, or name another file by --learn.",
                path=str(self.path),
            ) from None

    def release(self) -> None:
        """Close the file, and let other servers have it."""
        self.close()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def open(self, size: int) -> None:
        """Open the file to add lines, behind so many bytes."""
        file = self.path.open("r+b")
        file.truncate(size)
        file.seek(size)
        self._file = file

    def start(self, model: str, sequence: int, entries: Sequence[LearnedEntry] = ()) -> None:
        """Begin the file anew, over a model that has all rows so far but those of some requests."""
        first = {"format": FORMAT, "version": VERSION, "model": model, "sequence": sequence}
        lines = b"".join([line_of_json(first), *(line_of_json(entry_json(entry)) for entry in entries)])
        made = self.path.with_name(f".{self.path.name}-{secrets.token_hex(8)}.tmp")
        self.close()
        try:
            with made.open("xb") as file:
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
            made.replace(self.path)
        except BaseException:
            made.unlink(missing_ok=True)
            raise
        sync_folder(self.path)
        self.open(len(lines))

    def add(self, said: JsonObject) -> None:
        """Add a line; when this returns, it outlives a crash. If it fails, the file is as it was."""
        assert self._file is not None, "the file is open"
        begin = self._file.tell()
        try:
            self._file.write(line_of_json(said))
            self._file.flush()
            os.fsync(self._file.fileno())
        except BaseException:
            self._file.seek(begin)
            self._file.truncate(begin)
            raise

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def entry_json(entry: LearnedEntry) -> JsonObject:
    """Return the line of a request."""
    return entry._asdict()


def runs_of_learning(entries: list[LearnedEntry], most: int = 5_000) -> Iterator[LearnedEntry]:
    """Yield requests to replay; rows that were learned one after the other are counted at once."""
    held: LearnedEntry | None = None
    for entry in entries:
        joins = held is not None and entry.verb == held.verb == "learn" and len(held.rows) < most
        if held is not None and joins:
            held = LearnedEntry(entry.sequence, "learn", held.rows + entry.rows, held.labels + entry.labels)
            continue
        if held is not None:
            yield held
        held = entry
    if held is not None:
        yield held
