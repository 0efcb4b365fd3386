"""The write-ahead log: learned rows, on the disk before they count, in a database of SQLite, which outlives crashes.

The table `log` has one line: the model that the rows are counted over, by the SHA-256 of its file; and the SHA-256
under which it was about to be saved, with the number of the last request that is in there. The table `requests` has the
rows.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from .._types import Label
from ..errors import InvalidInput
from .served_model import JsonRow

# One server at a time; a commit is on the disk when it returns; rows that are deleted are overwritten.
SETTINGS = ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = FULL", "secure_delete = ON")
TABLES = (
    "CREATE TABLE IF NOT EXISTS log (model TEXT, sequence INTEGER, saved TEXT, saved_sequence INTEGER)",
    "CREATE TABLE IF NOT EXISTS requests (sequence INTEGER PRIMARY KEY, verb TEXT, rows TEXT, labels TEXT)",
)


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


class WriteAheadLog:
    """A write-ahead log that requests are added to; it is open, and keeps other servers off, until `close`.

    Parameters
    ----------
    path : Path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = sqlite3.connect(path, timeout=0, check_same_thread=False)
        try:
            if self.database.execute("SELECT * FROM sqlite_master").fetchall():
                self.read()  # another database stays as it is
            for setting in SETTINGS:
                self.database.execute(f"PRAGMA {setting}")
            with self.database:
                self.database.execute("BEGIN EXCLUSIVE")
                for table in TABLES:
                    self.database.execute(table)
        except (sqlite3.Error, ValueError) as error:
            self.close()
            if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_BUSY:
                why = f"Another server learns into {str(path)!r}; stop it, or name another file by --learn."
            else:
                why = f"{str(path)!r} is no write-ahead file ({error}); name another by --learn, or restore a copy."
            raise InvalidInput(why, path=str(path)) from None

    def read(self) -> LogContent | None:
        """Return the content of the file; None if it is new."""
        line = self.database.execute("SELECT model, sequence, saved, saved_sequence FROM log").fetchone()
        if line is None:
            return None
        model, sequence, saved, saved_sequence = line
        requests = self.database.execute("SELECT sequence, verb, rows, labels FROM requests ORDER BY sequence")
        entries = [LearnedEntry(k, verb, json.loads(rows), json.loads(labels)) for k, verb, rows, labels in requests]
        later = [entry for entry in entries if saved is not None and entry.sequence > saved_sequence]
        return LogContent(model, saved, entries, later, entries[-1].sequence if entries else sequence)

    def close(self) -> None:
        """Close the file, and let other servers have it."""
        self.database.close()

    def start(self, model: str, sequence: int, entries: Sequence[LearnedEntry] = ()) -> None:
        """Begin the file again, over a model that has all rows so far except those of some requests."""
        with self.database:
            self.database.execute("DELETE FROM log")
            self.database.execute("DELETE FROM requests")
            self.database.execute("INSERT INTO log VALUES (?, ?, NULL, 0)", (model, sequence))
            for entry in entries:
                self._insert(entry)
        self.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def add(self, entry: LearnedEntry) -> None:
        """Add a request; when this returns, it outlives a crash. If it fails, the file is as it was."""
        with self.database:
            self._insert(entry)

    def note_saved(self, model: str, sequence: int) -> None:
        """Note under which SHA-256 the model is about to be saved, with all requests up to one."""
        with self.database:
            self.database.execute("UPDATE log SET saved = ?, saved_sequence = ?", (model, sequence))

    def _insert(self, entry: LearnedEntry) -> None:
        rows, labels = (json.dumps(part, default=str) for part in (entry.rows, entry.labels))
        self.database.execute("INSERT INTO requests VALUES (?, ?, ?, ?)", (entry.sequence, entry.verb, rows, labels))
