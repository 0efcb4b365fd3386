"""The head of a delimited text file: how it is packed and encoded, what parts its cells, what its columns are."""

from __future__ import annotations

import codecs
import csv
import io
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from ..errors import InvalidSetting, UnreadableRows
from .duck import not_utf8

# How much of a file is looked at to see how it is written, and how much at most for the names of its columns.
HEAD, LONGEST = 1 << 18, 1 << 28
DELIMITERS = (",", "\t", ";", "|")
PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
# What DuckDB reads by itself; files in other encodings are rewritten in UTF-8 first.
NATIVE = {"utf-8": "utf-8", "iso8859-1": "latin-1"}


@dataclass(frozen=True)
class Dialect:
    """How a delimited text file is written."""

    names: tuple[str, ...]
    delimiter: str
    encoding: str
    packed: str | None  # gzip, zstd or None
    line_bytes: float  # of the file as it lies, for each line of the head


def packing(path: Path) -> str | None:
    """Return how a file is compressed."""
    with path.open("rb") as file:
        start = file.read(4)
    return next((name for magic, name in PACKED.items() if start.startswith(magic)), None)


def unpacked(path: Path) -> Any:
    """Return a stream of a file's bytes, decompressed."""
    packed = packing(path)
    if packed is None:
        return path.open("rb")
    import pyarrow as pa

    return pa.CompressedInputStream(pa.OSFile(str(path)), packed)


def head_of(path: Path, size: int = HEAD) -> bytes:
    """Return the first bytes of a file, decompressed."""
    try:
        with unpacked(path) as file:
            return bytes(file.read(size))
    except OSError as error:
        raise UnreadableRows(path, None, f"it cannot be read ({error}).") from None


def dialect_of(path: Path, shown: str, delimiter: str | None, encoding: str | None) -> Dialect:
    """Return how a file is written; the first line names the columns."""
    head = head_of(path)
    encoding = encoding_of(head, encoding)
    while not (text := decoded(head, encoding, shown)).count("\n") and HEAD <= len(head) < LONGEST:
        if len(longer := head_of(path, 4 * len(head))) == len(head):
            break
        head = longer  # the names of very many columns
    if not text.strip():
        raise UnreadableRows(shown, None, "it is empty. A file has a line with the names of the columns, then rows.")
    delimiter = delimiter or likely_delimiter(text)
    try:
        names = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=False))
    except csv.Error as error:
        raise UnreadableRows(shown, 1, f"the names of the columns cannot be read ({error}).") from None
    lines = max(text.count("\n"), 1)
    share = min(path.stat().st_size / max(len(head), 1), 1.0) if packing(path) else 1.0
    return Dialect(checked_names(shown, names), delimiter, encoding, packing(path), share * len(head) / lines)


def encoding_of(head: bytes, given: str | None) -> str:
    """Return the encoding by its usual name: the one given, that of a mark at the beginning, or UTF-8."""
    if given is not None:
        try:
            return codecs.lookup(given).name
        except LookupError:
            raise InvalidSetting(f"encoding={given!r} is unknown; use a name such as 'gb18030' or 'latin-1'.") from None
    return "utf-16" if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8"


def decoded(head: bytes, encoding: str, shown: str) -> str:
    """Return the head of a file as text; a character that it cuts in two is left out."""
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        text = decoder.decode(head)
    except UnicodeDecodeError as error:
        line = head[: error.start].count(b"\n") + 1
        if encoding == "utf-8":
            raise not_utf8(shown, line) from None
        raise UnreadableRows(shown, line, f"the text is not {encoding} ({error.reason}).") from None
    return text.removeprefix("\ufeff")


def likely_delimiter(text: str) -> str:
    """Return what parts the cells: that which makes most columns of the first lines, all alike."""
    return max(DELIMITERS, key=lambda mark: columns_by(text, mark))


def columns_by(text: str, delimiter: str) -> tuple[bool, int]:
    """Return whether the first lines have equally many cells, if parted so, and how many the first has."""
    try:
        lines = list(islice(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), 20))
    except csv.Error:
        return False, 0
    sizes = [len(line) for line in (lines if len(lines) < 20 else lines[:-1]) if line]
    return sizes[0] > 1 and sizes.count(sizes[0]) >= 0.8 * len(sizes), sizes[0]


def checked_names(shown: str, names: list[str]) -> tuple[str, ...]:
    """Return the names of the columns, if they tell them apart; one without a name is called after its place."""
    given = tuple(name or f"column {at + 1}" for at, name in enumerate(names))
    often = Counter(given)
    twice = next((name for name in given if often[name] > 1), None) if len(often) < len(given) else None
    if twice:
        raise UnreadableRows(shown, 1, f"two columns are called {twice!r}; give each a name of its own.")
    return given


def rewritten(path: Path, shown: str, encoding: str, folder: Path) -> Path:
    """Return a copy of a file in UTF-8, decompressed, in this folder."""
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".csv", delete=False) as copy, unpacked(path) as file:
        for piece in pieces(file, codecs.getincrementaldecoder(encoding)(), shown, encoding):
            copy.write(piece.encode())
    return Path(copy.name)


def pieces(file: Any, decoder: Any, shown: str, encoding: str) -> Iterator[str]:
    """Return the text of a file, some of it at a time."""
    line = 1
    try:
        while data := bytes(file.read(1 << 22)):
            text = decoder.decode(data)
            line += text.count("\n")
            yield text
        yield decoder.decode(b"", True)
    except UnicodeDecodeError as error:
        raise UnreadableRows(
            shown, line, f"at or after this line the text is not {encoding} ({error.reason})."
        ) from None
