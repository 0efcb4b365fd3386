"""The dialect of a delimited text file, found from its head: compression, encoding, header, delimiter, column names."""

from __future__ import annotations

import codecs
import csv
import io
import re
import tempfile
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

import pyarrow as pa

from ..errors import InvalidSetting, UnreadableRows
from ..errors.message import Setting
from .duckdb_reader import not_utf8

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
    skipped: int = 0  # lines before the header: empty ones, comments, and what Excel says about the delimiter
    odd: bool = False  # whether DuckDB may stumble over these: quotes, empty lines, other ends of lines


def packing(path: Path) -> str | None:
    """Return how a file is compressed."""
    with path.open("rb") as file:
        start = file.read(4)
    return next((name for magic, name in PACKED.items() if start.startswith(magic)), None)


def unpacked(path: Path) -> IO[bytes]:
    """Return a stream of a file's bytes, decompressed."""
    packed = packing(path)
    if packed is None:
        return path.open("rb")
    stream: IO[bytes] = pa.CompressedInputStream(pa.OSFile(str(path)), packed)
    return stream


def head_of(path: Path, size: int = HEAD, shown: str | None = None) -> bytes:
    """Return the first bytes of a file, decompressed."""
    try:
        with unpacked(path) as file:
            return bytes(file.read(size))
    except OSError as error:
        why = f"it cannot be read ({error}); if it is damaged or cut off, get it again."
        raise UnreadableRows(shown or path, None, why) from None


def dialect_of(path: Path, shown: str, delimiter: str | None, encoding: str | None) -> Dialect:
    """Return how a file is written; the first line that is neither empty nor a comment names the columns."""
    head = head_of(path, HEAD, shown)
    encoding = encoding_of(head, encoding)
    while not (text := decode_head(head, encoding, shown)).count("\n") and HEAD <= len(head) < LONGEST:
        if len(longer := head_of(path, 4 * len(head))) == len(head):
            break
        head = longer  # the names of very many columns
    if not text.strip():
        raise UnreadableRows(shown, None, "it is empty. A file has a line with the names of the columns, then rows.")
    before, delimiter = header_in(text, delimiter)
    skipped, header = before.count("\n"), text[len(before) :]
    try:
        names = first_lines(header, delimiter, 1)[0]
    except csv.Error as error:
        raise UnreadableRows(shown, skipped + 1, f"the names of the columns cannot be read ({error}).") from None
    lines, packed = max(text.count("\n"), 1), packing(path)
    share = min(path.stat().st_size / max(len(head), 1), 1.0) if packed else 1.0
    result = checked_names(shown, names, skipped + 1)
    ends = before.count("\r\n") == (skipped if end_of_line(header) == "\r\n" else 0)
    odd = '"' in before or not ends or not all(line.strip() for line in before.splitlines())
    return Dialect(result, delimiter, encoding, packed, share * len(head) / lines, skipped, odd)


def header_in(text: str, delimiter: str | None) -> tuple[str, str]:
    """Return the lines before the header, and the delimiter.

    Excel may write the delimiter into a line of its own, such as sep=;. Empty lines and those that begin with # are no
    header; but the last of the latter is, if it has as many cells as the line below it, unless that is a header itself.
    """
    end, said = 0, None
    if excel := re.match(r"\s*\"?sep=(.)\"?[ \t]*\r?\n", text, re.IGNORECASE):
        end, said = excel.end(), excel[1]
    comments = re.compile(r"(?:[ \t]*\r?\n|#[^\n]*\n)*").match(text, end)
    assert comments is not None  # it matches nothing, too
    rest = text[comments.end() :]
    shown = rest if rest.strip() else text[end:]
    delimiter = delimiter or said or max(DELIMITERS, key=lambda mark: columns_by(shown, mark))
    last = re.search(r"#[^\n]*\n\Z", comments[0])
    if last and is_header(last[0], rest, delimiter):
        return text[: end + last.start()], delimiter
    return text[: comments.end()] if rest.strip() else text[:end], delimiter


def end_of_line(text: str) -> str:
    """Return how the first line of a text ends."""
    return "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"


def is_header(comment: str, rest: str, delimiter: str) -> bool:
    """Return whether a line that begins with # names the columns of the lines below it."""
    try:
        first, *below = [line for line in first_lines(comment + rest, delimiter, 3) if line]
    except csv.Error:
        return False
    if len(first) < 2 or not below:
        return len(first) > 1
    numbers = [any(map(is_number, line)) for line in below]
    named = numbers == [False, True]  # words above numbers: that is a header
    return len(first) == len(below[0]) and not named


def first_lines(text: str, delimiter: str, count: int) -> list[list[str]]:
    """Return the cells of the first lines of a text."""
    return list(islice(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), count))


def is_number(cell: str) -> bool:
    """Return whether a cell is written as a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def encoding_of(head: bytes, given: str | None) -> str:
    """Return the encoding by its usual name: the one given, that of a mark at the beginning, or UTF-8."""
    if given is not None:
        try:
            return codecs.lookup(given).name
        except LookupError:
            raise InvalidSetting(
                Setting("encoding", given), " is unknown; use a name such as 'gb18030' or 'latin-1'."
            ) from None
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    return "utf-16" if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else without_mark(head)


def without_mark(head: bytes) -> str:
    """Return the encoding of a text without a mark: UTF-16 if every other byte may be NUL and no other is, or UTF-8.

    In UTF-16 delimiters and ends of lines have a byte of 0, always the first or always the second one; a text of the
    West has them in nearly every character. A single NUL in a text of UTF-8 is left where it is.
    """
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if bool(even) == bool(odd):
        return "utf-8"
    result = "utf-16-le" if odd else "utf-16-be"
    try:
        head.decode("utf-8")
        other = even + odd >= len(head) // 4
    except UnicodeDecodeError:
        other = "\n" in head[: len(head) // 2 * 2].decode(result, "ignore")
    return result if other else "utf-8"


def decode_head(head: bytes, encoding: str, shown: str) -> str:
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


def columns_by(text: str, delimiter: str) -> tuple[bool, int]:
    """Return whether the first lines have equally many cells, if parted so, and how many the first has."""
    try:
        lines = first_lines(text, delimiter, 20)
    except csv.Error:
        return False, 0
    sizes = [len(line) for line in (lines if len(lines) < 20 else lines[:-1]) if line]
    return sizes[0] > 1 and sizes.count(sizes[0]) >= 0.8 * len(sizes), sizes[0]


def checked_names(shown: str, names: list[str], line: int = 1) -> tuple[str, ...]:
    """Return the names of the columns, if they are distinct; one without a name is called after its place."""
    given = tuple(name or f"column {index + 1}" for index, name in enumerate(names))
    twice = next((name for name, times in Counter(given).items() if times > 1), None)
    if twice:
        raise UnreadableRows(shown, line, f"two columns are called {twice!r}; give each a name of its own.")
    odd = next((name for name in given if "\0" in name), None)
    if odd:
        raise UnreadableRows(shown, line, f"the name {odd!r} holds a NUL byte; get the file again, or mend its header.")
    return given


def rewritten(path: Path, shown: str, encoding: str, folder: Path, replaced: int = 0) -> Path:
    """Return a copy of a file in UTF-8, decompressed, in this folder; its first lines may become comments."""
    decoder, line, data = codecs.getincrementaldecoder(encoding)(), 1, b" "
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".csv", delete=False) as copy, unpacked(path) as file:
        while data:
            data = bytes(file.read(1 << 22))
            try:
                text = decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                why = f"at or after this line the text is not {encoding} ({error.reason})."
                raise UnreadableRows(shown, line, why) from None
            line += text.count("\n")
            rest = text.split("\n", replaced)[-1]  # lines before the header are in the first piece
            copy.write((("#" + end_of_line(rest)) * replaced + rest).encode())
            replaced = 0
    return Path(copy.name)
