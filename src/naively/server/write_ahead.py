"""The write-ahead log: learned rows, on the disk before they count.

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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from .._types import Json, JsonObject, Label
from ..errors import InvalidInput
from .served_model import JsonRow

HEADER = {"format": "naively write-ahead file", "version": 1}


class LearnedEntry(NamedTuple):
    """The rows of one request, with their classes."""

    sequence: int
    verb: str  # "learn" or "forget"
    rows: list[JsonRow]
    labels: list[Label]


class LogContent(NamedTuple):
    """The content of a write-ahead log."""

    model: str  # the SHA-256 of the model that its rows are counted over
    saved: str | None  # the SHA-256 of the model that was about to be saved
    entries: list[LearnedEntry]  # over the first of these; none is saved yet
    later: list[LearnedEntry]  # over the second
    sequence: int  # of the last request
    size: int  # bytes up to the end of the last whole line
    torn: int  # bytes after it, which a crash cut off


def line_of_json(data: Json) -> bytes:
    """Return a line of the log."""
    text = json.dumps(data, ensure_ascii=True, default=str).encode()
    return b"%08x %d %s\n" % (zlib.crc32(text), len(text), text)


def json_of_line(line: bytes) -> Json | None:
    """Return the content of a line; None if it is not whole."""
    checksum, _, rest = line.partition(b" ")
    length, _, text = rest[:-1].partition(b" ")
    if not (line.endswith(b"\n") and length.isdigit() and text):
        return None
    return json.loads(text) if len(text) == int(length) and b"%08x" % zlib.crc32(text) == checksum else None


def digest_of_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def replace_safely(path: Path, write: Callable[[Path], object]) -> None:
    """Let a function write a new file, which takes the place of the old one in one step and outlives a power cut."""
    new = path.with_name(f".naively-{secrets.token_hex(8)}.tmp")
    try:
        write(new)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    if os.name == "posix":  # elsewhere a folder cannot be opened
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def read_log(path: Path) -> LogContent:
    """Return the content of a log; a last line that is not whole is left out, and another is an error."""
    data = path.read_bytes()
    lines, values, size = data.splitlines(keepends=True), list[JsonObject](), 0
    for number, line in enumerate(lines, 1):
        value = json_of_line(line)
        if value is None and number < len(lines):
            raise InvalidInput(
                f"{path}, line {number}, is damaged, at byte {size}, and {len(lines) - number} lines follow it. The "
                "rows of the lines before it are whole; restore the file from a copy, or cut it off before this line.",
                path=str(path),
                line=number,
            )
        if value is not None:
            values.append(value)
            size += len(line)
    if not values or not HEADER.items() <= values[0].items():
        raise InvalidInput(
            f"{str(path)!r} is no write-ahead file that this version of Naively reads; name another by --learn.",
            path=str(path),
        )
    first, saved = values[0], None
    entries, later = list[LearnedEntry](), list[LearnedEntry]()
    for value in values[1:]:
        if "saved" in value:
            saved, later = str(value["saved"]), []
        else:
            entries.append(LearnedEntry(**value))
            later.append(entries[-1])
    sequence = entries[-1].sequence if entries else int(first["sequence"])
    return LogContent(str(first["model"]), saved, entries, later if saved else [], sequence, size, len(data) - size)


class WriteAheadLog:
    """A write-ahead log that lines are added to.

    Parameters
    ----------
    path : Path
        The file. A second file next to it keeps other servers off.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] | None = None
        self._lock: IO[bytes] | None = None

    def lock(self) -> None:
        """Keep other servers off until `close`, or until the process ends for any reason."""
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

    def close(self) -> None:
        """Close the file, and let other servers have it."""
        for file in (self._file, self._lock):
            if file is not None:
                file.close()
        self._file = self._lock = None

    def open(self, size: int) -> None:
        """Open the file to add lines after so many bytes."""
        if self._file is not None:
            self._file.close()
        self._file = self.path.open("r+b")
        self._file.truncate(size)
        self._file.seek(size)

    def start(self, model: str, sequence: int, entries: Sequence[LearnedEntry] = ()) -> None:
        """Begin the file again, over a model that has all rows so far except those of some requests."""
        first = {**HEADER, "model": model, "sequence": sequence}
        lines = b"".join(map(line_of_json, [first, *(entry._asdict() for entry in entries)]))

        def write(path: Path) -> None:
            with path.open("xb") as file:
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())

        replace_safely(self.path, write)
        self.open(len(lines))

    def add(self, data: JsonObject) -> None:
        """Add a line; when this returns, it outlives a crash. If it fails, the file is as it was."""
        assert self._file is not None, "the file is open"
        begin = self._file.tell()
        try:
            self._file.write(line_of_json(data))
            self._file.flush()
            os.fsync(self._file.fileno())
        except BaseException:
            self._file.seek(begin)
            self._file.truncate(begin)
            raise
