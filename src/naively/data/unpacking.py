"""From a file as it lies to one that can be read: what it is, and a copy of what is packed in it."""

from __future__ import annotations

import bz2
import codecs
import lzma
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ..errors import UnreadableRows
from ..errors.message import Message, Setting
from .dialect import encoding_of, head_of, packing, rewritten, unpacked
from .file_formats import NAMES, broken, format_of, inside_zip, refuse_other_formats, text_kind
from .schema import likely

if TYPE_CHECKING:
    from .files import File

# How much is looked at to see what a file is, and how deep packed files may be packed.
LOOKED_AT, DEEPEST = 4096, 4
DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError)
PACKED = {"zip": "zip archive", "bz2": "bz2 file", "xz": "xz file", "gzip": "gzip file", "zstd": "zstd file"}


def unpack(path: Path, shown: str, how: File, folder: Callable[[], Path]) -> tuple[Path, str, File]:
    """Return a file that can be read, its format, and how it is read: as asked, without what chose a file in it."""
    if path.is_dir() or not path.exists():
        raise UnreadableRows(shown, None, "there is no such file. Check the path.")
    for _ in range(DEEPEST):
        head, packed = head_of(path, LOOKED_AT, shown), packing(path)
        kind = format_of(head)
        inside = inside_zip(path, shown) if kind == "zip" and packed is None else ()
        if isinstance(inside, str):
            kind = inside  # a workbook is a zip archive, too
        if kind is None or (packed is None and kind not in PACKED):
            return path_of_format(path, shown, head, kind, how, folder)
        if packed is None and kind == "zip":
            name, how = only_member(tuple(inside), shown, how)
            path = member(path, shown, name, folder())
        else:
            path = plain_copy(path, shown, packed or kind, folder())
    raise UnreadableRows(shown, None, f"it is packed more than {DEEPEST} times over; unpack it first.")


def path_of_format(
    path: Path, shown: str, head: bytes, kind: str | None, how: File, folder: Callable[[], Path]
) -> tuple[Path, str, File]:
    """Return the file, its format and how it is read, once nothing is packed any more but text."""
    if kind is None and how.format is None:
        refuse_other_formats(head, shown)
    if kind is not None and how.format in ("csv", "json"):
        if b"\0" not in head:  # whoever says that it is text may know: the first names in an older encoding
            return path_of_format(path, shown, head, None, how, folder)
        given = Setting("format", how.format)
        raise UnreadableRows(shown, None, Message(f"it is {NAMES[kind]}, but ", given, " was given; leave that out."))
    found = how.format or kind or text_kind(head)
    encoding = "utf-8-sig" if head.startswith(codecs.BOM_UTF8) else encoding_of(head, how.encoding)
    if found == "json" and encoding != "utf-8":  # delimited text is rewritten by its own reader
        path = rewritten(path, shown, encoding, folder())
    return path, found, how


def only_member(names: tuple[str, ...], shown: str, how: File) -> tuple[str, File]:
    """Return which file of an archive is read, and how it is read."""
    if not names:
        raise UnreadableRows(shown, None, "the zip archive holds no file.")
    if how.table in names:
        return how.table, replace(how, table=None)  # what it names is found
    if len(names) == 1:
        return names[0], how
    listed = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    if how.table is not None:
        also = likely(how.table, names).replace("columns", "files")
        raise UnreadableRows(shown, None, f"the zip archive has no file {how.table!r}{also}")
    why = f"it is a zip archive of {len(names)} files: {listed}; say which: "
    raise UnreadableRows(shown, None, Message(why, Setting("table", names[0]), ", or unpack it."))


def member(path: Path, shown: str, name: str, folder: Path) -> Path:
    """Return a copy of one file of a zip archive."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open(name) as file:
            return copy_of(file, folder)
    except RuntimeError as error:  # so the module says that it needs a password
        raise UnreadableRows(shown, None, f"the zip archive cannot be opened ({error}); unpack it first.") from None
    except DAMAGED as error:
        raise broken(shown, PACKED["zip"], error) from None


def plain_copy(path: Path, shown: str, packed: str, folder: Path) -> Path:
    """Return a copy of a packed file that is not packed."""
    openers: dict[str, Callable[[Path], IO[bytes]]] = {"bz2": bz2.open, "xz": lzma.open}
    opener = openers.get(packed, unpacked)
    try:
        with opener(path) as file:
            return copy_of(file, folder)
    except DAMAGED as error:
        raise broken(shown, PACKED[packed], error) from None


def copy_of(file: IO[bytes], folder: Path) -> Path:
    """Return a file in this folder with all that a stream holds."""
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as copy:
        shutil.copyfileobj(file, copy, 1 << 20)
    return Path(copy.name)
