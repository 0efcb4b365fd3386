"""From a path to files that can be read: which files it means, what each is by its bytes, and copies of packed ones."""

from __future__ import annotations

import bz2
import codecs
import glob
import lzma
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ..data.schema import likely
from ..errors import UnreadableRows
from ..errors.message import Message, Setting
from .dialect import encoding_of, head_of, packing, rewritten, unpacked

if TYPE_CHECKING:
    from .file import File

# Formats by their first bytes, and packed files that are unpacked into a temporary copy.
FORMATS = {
    b"PAR1": "parquet",
    b"ORC": "orc",
    b"ARROW1\0": "arrow",
    b"\xff\xff\xff\xff": "arrow",  # a stream of Arrow begins with this
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "excel",  # a workbook before 2007, or one with a password
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",  # an empty one
    b"BZh": "bz2",
    b"\xfd7zXZ\0": "xz",
    b"\x5d\0\0": "xz",  # its older sister lzma
}
# What formats are called in a sentence.
NAMES = {
    "parquet": "a Parquet file",
    "arrow": "an Arrow file",
    "orc": "an ORC file",
    "excel": "an Excel workbook",
    "duckdb": "a DuckDB database",
    "json": "JSON",
    "csv": "delimited text",
}
TABLE = "export its table as CSV, and give that"
UNPACK = "unpack it, and give the file inside, or the folder"
PYTHON = "load it in Python, and give the table or the arrays themselves"
PICTURE = "only tables and texts are read, so save what it shows as CSV"
R = "write the table by write.csv in R, and give that"
SQLITE = "export the table: sqlite3 -header -csv FILE 'select * from …' > t.csv"
# What holds rows in no way that is read: its first bytes, what it is, and what to do.
OTHERS = (
    ((b"%PDF-",), "a PDF document", TABLE),
    ((b"\x89PNG",), "a PNG image", PICTURE),
    ((b"\xff\xd8\xff",), "a JPEG image", PICTURE),
    ((b"GIF87a", b"GIF89a"), "a GIF image", PICTURE),
    ((b"II*\0", b"MM\0*"), "a TIFF image", PICTURE),
    ((b"RIFF",), "an image, a sound or a film", PICTURE),
    ((b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"), "a pickle of Python", PYTHON),
    ((b"\x93NUMPY",), "an array of NumPy", PYTHON),
    ((b"\x89HDF",), "an HDF5 file", PYTHON),
    ((b"SQLite format 3\0",), "an SQLite database", SQLITE),
    ((b"FEA1\0",), "a Feather file of the old version 1", "write it again in the present version, or as Parquet"),
    ((b"Obj\x01",), "an Avro file", "write it as Parquet or CSV, and give that"),
    ((b"RDX", b"RDA"), "a workspace of R", R),
    ((b"X\n\0",), "a file of R (.rds)", R),
    ((b"$FL2@", b"$FL3@"), "a file of SPSS", TABLE),
    ((b"<stata_dta>",), "a file of Stata", TABLE),
    ((b"7z\xbc\xaf\x27\x1c",), "a 7z archive", UNPACK),
    ((b"Rar!\x1a",), "a RAR archive", UNPACK),
    ((b"\x04\x22\x4d\x18",), "packed by lz4", UNPACK),
    ((b"\x1f\x9d",), "packed by compress", UNPACK),
)
# These could begin a line of text, such as the names of columns: only bytes that no text has say that they do not.
TEXTUAL = (b"GIF87a", b"GIF89a", b"RIFF", b"RDX", b"RDA", b"$FL2@", b"$FL3@", b"<stata_dta>")
LIKE_NAMES = ("parquet", "orc", "duckdb")  # formats of which that is true
PAGES = (b"<!doctype html", b"<html", b"<head", b"<body", b"<table", b"<meta")
HTML = (
    "it is an HTML page, not a table: perhaps an error or a login page came in the place of the data; open it in a "
    "browser, and save the table as CSV."
)


def format_of(head: bytes) -> str | None:
    """Return the format or the packing of a file by its first bytes, without gzip or zstd around it; None of a text."""
    result = next((kind for magic, kind in FORMATS.items() if head.startswith(magic)), None)
    result = "duckdb" if head[8:12] == b"DUCK" else result
    if result in LIKE_NAMES and not is_binary(head):
        return None
    if result == "bz2" and head[4:10] not in (b"1AY&SY", b"\x17rE8P\x90"):
        return None
    return result


def refuse_other_formats(head: bytes, shown: str) -> None:
    """Refuse what is neither a table nor a text in an encoding that is seen by itself."""
    why = None
    for magics, what, do in OTHERS:
        if any(head.startswith(magic) and (magic not in TEXTUAL or is_binary(head)) for magic in magics):
            why = f"it is {what}; {do}."
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()[:64].lower()
    if head[257:262] == b"ustar":
        why = f"it is a tar archive; {UNPACK}."
    elif head.startswith(b"BM") and head[6:10] == bytes(4):
        why = f"it is a BMP image; {PICTURE}."
    elif start.startswith(PAGES):
        why = HTML
    elif start.startswith(b"<?xml"):
        why = f"it is an XML file; {TABLE}."
    elif head and not head.strip(b"\0"):
        why = "it holds nothing but NUL bytes; get the file again, it was not written whole."
    elif why is None and b"\0" in head and encoding_of(head, None) == "utf-8" and not is_utf8(head):
        why = (
            f"it is no text and of no known format (byte {head.index(0) + 1} is NUL); give CSV, Parquet, JSON, Excel, "
            "Arrow, ORC or a DuckDB database."
        )
    if why is not None:
        raise UnreadableRows(shown, None, why)


def is_binary(head: bytes) -> bool:
    """Return whether bytes are none that UTF-8 texts have."""
    return b"\0" in head or not is_utf8(head)


def is_utf8(head: bytes) -> bool:
    """Return whether bytes are UTF-8; a character that is cut off at the end does not count."""
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return len(head) - error.start < 4 and error.reason == "unexpected end of data"
    return True


def inside_zip(path: Path, shown: str) -> str | tuple[str, ...]:
    """Return the format that is stored as a zip archive, or the names of the files in one that is just that."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [one.filename for one in archive.infolist() if not one.is_dir()]
            said = archive.read("mimetype")[:64] if "mimetype" in names else b""
    except (zipfile.BadZipFile, OSError, EOFError, RuntimeError, NotImplementedError, ValueError) as error:
        raise broken(shown, "zip archive", error) from None
    folders = {name.partition("/")[0] for name in names if "/" in name}
    document = None
    if "xl" in folders or said.startswith(b"application/vnd.oasis.opendocument.spreadsheet"):
        return "excel"
    if "word" in folders:
        document = "a Word document"
    elif "ppt" in folders:
        document = "a presentation"
    elif said.startswith(b"application/vnd.oasis.opendocument"):
        document = "a document of OpenOffice"
    if document is not None:
        raise UnreadableRows(shown, None, f"it is {document}; {TABLE}.")
    if names and all(name.endswith(".npy") for name in names):
        raise UnreadableRows(shown, None, f"it is an archive of NumPy arrays; {PYTHON}.")
    # What systems leave there is no data.
    return tuple(n for n in names if not n.startswith("__MACOSX/") and not n.rpartition("/")[2].startswith("."))


def broken(shown: str, what: str, error: BaseException) -> UnreadableRows:
    """Return the error about a packed file that ends too early or is damaged."""
    why = str(error).rstrip(".") or type(error).__name__
    return UnreadableRows(shown, None, f"the {what} is damaged or cut off ({why}); get or pack it again.")


# How much is looked at to see what a file is, and how deep packed files may be packed.
LOOKED_AT, DEEPEST = 4096, 4
DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError)
PACKED = {"zip": "zip archive", "bz2": "bz2 file", "xz": "xz file", "gzip": "gzip file", "zstd": "zstd file"}
OPENERS: dict[str, Callable[[Path], IO[bytes]]] = {"bz2": bz2.open, "xz": lzma.open}


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
            path = unpacked_copy(partial(zipfile.ZipFile(path).open, name), kind, shown, folder())
        else:
            opener = unpacked if packed else OPENERS[kind]
            path = unpacked_copy(partial(opener, path), packed or kind, shown, folder())
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
    text = head.decode(encoding_of(head, None), "ignore").lstrip("\ufeff \t\r\n")
    listed = text.startswith("[") and text[1:].lstrip()[:1] in ("{", "[", "]")
    result = how.format or kind or ("json" if text.startswith("{") or listed else "csv")
    encoding = "utf-8-sig" if head.startswith(codecs.BOM_UTF8) else encoding_of(head, how.encoding)
    if result == "json" and encoding != "utf-8":  # delimited text is rewritten by its own reader
        path = rewritten(path, shown, encoding, folder())
    return path, result, how


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


def unpacked_copy(opened: Callable[[], IO[bytes]], kind: str, shown: str, folder: Path) -> Path:
    """Return a file in this folder with all that is packed in another one."""
    try:
        with opened() as file, tempfile.NamedTemporaryFile(dir=folder, delete=False) as copy:
            shutil.copyfileobj(file, copy, 1 << 20)
    except RuntimeError as error:  # so the module for zip archives says that it needs a password
        raise UnreadableRows(shown, None, f"the zip archive cannot be opened ({error}); unpack it first.") from None
    except DAMAGED as error:
        raise broken(shown, PACKED[kind], error) from None
    return Path(copy.name)


def paths_of(path: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Return the files that a path means, sorted, and what the names of folders say about their rows."""
    if path == "-" or Path(path).is_file():
        yield path, {}
        return
    if Path(path).is_dir():
        base, result = path, [str(p) for p in Path(path).rglob("*") if p.is_file() and not hidden(p.relative_to(path))]
    else:
        base, result = "", [p for p in glob.glob(path, recursive=True) if Path(p).is_file()]  # noqa: PTH207
    if not result:
        raise UnreadableRows(path, None, "there is no such file. Check the path; a glob needs at least one that fits.")
    for one in sorted(result):
        folders = Path(os.path.relpath(one, base) if base else one).parts[:-1]
        yield one, dict(folder.split("=", 1) for folder in folders if "=" in folder)


def hidden(path: Path) -> bool:
    """Return whether a file is not meant as data: it, or a folder it is in, begins with a point or an underscore."""
    return any(part.startswith((".", "_")) for part in path.parts)
