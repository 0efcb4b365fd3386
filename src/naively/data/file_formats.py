"""What a file is, by its bytes and not by its name: a format that is read, a packed file, or what holds no rows."""

from __future__ import annotations

import zipfile
from pathlib import Path

from ..errors import UnreadableRows
from .dialect import encoding_of

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
# What holds rows in no way that is read, by its first bytes: what it is, and what to do.
OTHERS = {
    b"%PDF-": ("a PDF document", TABLE),
    b"\x89PNG": ("a PNG image", PICTURE),
    b"\xff\xd8\xff": ("a JPEG image", PICTURE),
    b"GIF87a": ("a GIF image", PICTURE),
    b"GIF89a": ("a GIF image", PICTURE),
    b"II*\0": ("a TIFF image", PICTURE),
    b"MM\0*": ("a TIFF image", PICTURE),
    b"RIFF": ("an image, a sound or a film", PICTURE),
    b"\x80\x02": ("a pickle of Python", PYTHON),
    b"\x80\x03": ("a pickle of Python", PYTHON),
    b"\x80\x04": ("a pickle of Python", PYTHON),
    b"\x80\x05": ("a pickle of Python", PYTHON),
    b"\x93NUMPY": ("an array of NumPy", PYTHON),
    b"\x89HDF": ("an HDF5 file", PYTHON),
    b"SQLite format 3\0": (
        "an SQLite database",
        "export the table: sqlite3 -header -csv FILE 'select * from …' > t.csv",
    ),
    b"FEA1\0": ("a Feather file of the old version 1", "write it again in the present version, or as Parquet"),
    b"Obj\x01": ("an Avro file", "write it as Parquet or CSV, and give that"),
    b"RDX": ("a workspace of R", "write the table by write.csv in R, and give that"),
    b"RDA": ("a workspace of R", "write the table by write.csv in R, and give that"),
    b"X\n\0": ("a file of R (.rds)", "write the table by write.csv in R, and give that"),
    b"$FL2@": ("a file of SPSS", TABLE),
    b"$FL3@": ("a file of SPSS", TABLE),
    b"<stata_dta>": ("a file of Stata", TABLE),
    b"7z\xbc\xaf\x27\x1c": ("a 7z archive", UNPACK),
    b"Rar!\x1a": ("a RAR archive", UNPACK),
    b"\x04\x22\x4d\x18": ("packed by lz4", UNPACK),
    b"\x1f\x9d": ("packed by compress", UNPACK),
}
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
    found = next((kind for magic, kind in FORMATS.items() if head.startswith(magic)), None)
    found = "duckdb" if head[8:12] == b"DUCK" else found
    if found in LIKE_NAMES and not is_binary(head):
        return None
    if found == "bz2" and head[4:10] not in (b"1AY&SY", b"\x17rE8P\x90"):
        return None
    return found


def text_kind(head: bytes) -> str:
    """Return what a text file holds, as far as its first characters tell: JSON, or delimited text."""
    text = head.decode(encoding_of(head, None), "ignore").lstrip("\ufeff \t\r\n")
    inner = text[1:].lstrip()
    return "json" if text.startswith("{") or (text.startswith("[") and inner[:1] in ("{", "[", "]")) else "csv"


def refuse_other_formats(head: bytes, shown: str) -> None:
    """Refuse what is neither a table nor a text."""
    for magic, (what, do) in OTHERS.items():
        if head.startswith(magic) and (magic not in TEXTUAL or is_binary(head)):
            raise UnreadableRows(shown, None, f"it is {what}; {do}.")
    if head[257:262] == b"ustar":
        raise UnreadableRows(shown, None, f"it is a tar archive; {UNPACK}.")
    if head.startswith(b"BM") and head[6:10] == bytes(4):
        raise UnreadableRows(shown, None, f"it is a BMP image; {PICTURE}.")
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:64].lower()
    if start.startswith(PAGES):
        raise UnreadableRows(shown, None, HTML)
    if start.startswith(b"<?xml"):
        raise UnreadableRows(shown, None, f"it is an XML file; {TABLE}.")
    refuse_binary(head, shown)


def refuse_binary(head: bytes, shown: str) -> None:
    """Refuse bytes that are no text in any encoding that is seen by itself."""
    if head and not head.strip(b"\0"):
        raise UnreadableRows(
            shown, None, "it holds nothing but NUL bytes; get the file again, it was not written whole."
        )
    if b"\0" in head and encoding_of(head, None) == "utf-8" and not is_utf8(head):
        raise UnreadableRows(
            shown,
            None,
            f"it is no text and of no known format (byte {head.index(0) + 1} is NUL); give CSV, Parquet, JSON, Excel, "
            "Arrow, ORC or a DuckDB database.",
        )


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
    for folder, what in (("xl/", "excel"), ("word/", "a Word document"), ("ppt/", "a presentation")):
        if any(name.startswith(folder) for name in names):
            return what if what == "excel" else refuse_document(what, shown)
    if said.startswith(b"application/vnd.oasis.opendocument"):
        return "excel" if b"spreadsheet" in said else refuse_document("a document of OpenOffice", shown)
    if names and all(name.endswith(".npy") for name in names):
        raise UnreadableRows(shown, None, f"it is an archive of NumPy arrays; {PYTHON}.")
    return tuple(name for name in names if not is_clutter(name))


def refuse_document(what: str, shown: str) -> str:
    """Refuse a document that is no table."""
    raise UnreadableRows(shown, None, f"it is {what}; {TABLE}.")


def is_clutter(name: str) -> bool:
    """Return whether a file of an archive is what a system leaves there."""
    return name.startswith("__MACOSX/") or name.rpartition("/")[2].startswith(".")


def broken(shown: str, what: str, error: BaseException) -> UnreadableRows:
    """Return the error about a packed file that ends too early or is damaged."""
    why = str(error).rstrip(".") or type(error).__name__
    return UnreadableRows(shown, None, f"the {what} is damaged or cut off ({why}); get or pack it again.")
