"""Formats that people try: each is read as its CSV is, or refused in a sentence that says what it is and what to do."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import pickle
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import naively as nv
from naively.errors import InvalidInput, UnreadableRows

from .commands import bad, good

DATA = Path(__file__).parent / "data"
SIZES = [1.5, 2.0, -3.25, 4.0, 0.1, None] * 10
TABLE = {
    "size": SIZES,
    "visits": [3, 1, 4, 1, 5, 9] * 10,
    "color": ["red", 'dark "blue", or so', None, "grün", "red", "green"] * 10,
    "new": [True, False, True, True, False, False] * 10,
    "label": ["a", "b", "a", "b", "b", "a"] * 10,
}
ROWS = [dict(zip(TABLE, row, strict=True)) for row in zip(*TABLE.values(), strict=True)]


def plain(cell: Any) -> str:
    return "" if cell is None else cell if isinstance(cell, str) else str(cell).lower()


def delimited() -> bytes:
    """Return the table as CSV."""
    into = io.StringIO(newline="")
    csv.writer(into, lineterminator="\n").writerows([TABLE, *(map(plain, row.values()) for row in ROWS)])
    return into.getvalue().encode()


CSV = delimited()


def zipped(**files: bytes) -> bytes:
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return into.getvalue()


def written(write: Any) -> bytes:
    """Return the bytes that a function writes to a path."""
    with tempfile.TemporaryDirectory() as folder:
        write(str(Path(folder) / "file"))
        return (Path(folder) / "file").read_bytes()


def stream(path: str) -> None:
    table = pa.table(TABLE)
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)


def orc(path: str) -> None:
    pytest.importorskip("pyarrow.orc", reason="this build of Arrow has no ORC").write_table(pa.table(TABLE), path)


def workbook(path: str, above: int = 0, left: int = 0) -> None:
    """Write the table to the second of three sheets of a workbook."""
    book = pytest.importorskip("xlsxwriter", reason="writes workbooks for tests").Workbook(path)
    for name in ("First", "The Table", "Last"):
        sheet = book.add_worksheet(name)
        for at, row in enumerate([list(TABLE), *(row.values() for row in ROWS)] if name == "The Table" else [["x"]]):
            for column, cell in enumerate(row):
                if cell is not None:
                    sheet.write(above + at, left + column, cell)
    book.close()


def sheet(**place: int) -> bytes:
    pytest.importorskip("python_calamine", reason="the extra that reads workbooks")
    return written(lambda path: workbook(path, **place))


ODS = """<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0">
<office:body><office:spreadsheet><table:table table:name="T">%s</table:table></office:spreadsheet></office:body>
</office:document-content>"""


def ods() -> bytes:
    pytest.importorskip("python_calamine", reason="the extra that reads workbooks")
    cell = '<table:table-cell office:value-type="string"><text:p>%s</text:p></table:table-cell>'
    lines = [["size", "label"], ["1.5", "a"], ["2", "b"]]
    rows = "".join(f"<table:table-row>{''.join(cell % c for c in line)}</table:table-row>" for line in lines)
    kind = b"application/vnd.oasis.opendocument.spreadsheet"
    manifest = b'<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
    parts = {"mimetype": kind, "content.xml": (ODS % rows).encode(), "META-INF/manifest.xml": manifest}
    return zipped(**parts)


# -- read --------------------------------------------------------------------------------------------------------------

READ: dict[str, tuple[Any, dict[str, Any]]] = {
    "bz2": (lambda: bz2.compress(CSV), {}),
    "xz": (lambda: lzma.compress(CSV), {}),
    "lzma": (lambda: lzma.compress(CSV, lzma.FORMAT_ALONE), {}),
    "zip": (lambda: zipped(**{"data/t.csv": CSV, "__MACOSX/._t.csv": b"\0", "data/.DS_Store": b"\0"}), {}),
    "zip of two": (lambda: zipped(**{"t.csv": CSV, "other.csv": b"x,y\n1,2\n"}), {"table": "t.csv"}),
    "gz in a zip": (lambda: zipped(t=gzip.compress(CSV)), {}),
    "bz2 in xz": (lambda: lzma.compress(bz2.compress(CSV)), {}),
    "JSON lines": (lambda: "\n".join(map(json.dumps, ROWS)).encode(), {}),
    "JSON list": (lambda: json.dumps(ROWS).encode(), {}),
    "JSON list over many lines": (lambda: b"\xef\xbb\xbf \n" + json.dumps(ROWS, indent=4).encode(), {}),
    "JSON objects over many lines": (lambda: "\n".join(json.dumps(row, indent=1) for row in ROWS).encode(), {}),
    "JSON list, gz": (lambda: gzip.compress(json.dumps(ROWS, indent=1).encode()), {}),
    "JSON list, UTF-16": (lambda: json.dumps(ROWS, ensure_ascii=False).encode("utf-16"), {}),
    "Parquet, gz": (lambda: gzip.compress(written(lambda path: pq.write_table(pa.table(TABLE), path))), {}),
    "Feather": (lambda: written(lambda path: feather.write_feather(pa.table(TABLE), path, chunksize=7)), {}),
    "Arrow stream": (lambda: written(stream), {}),
    "ORC": (lambda: written(orc), {}),
    "ORC, bz2": (lambda: bz2.compress(written(orc)), {}),
    "Excel": (sheet, {"table": "The Table"}),
    "Excel amid a sheet": (lambda: sheet(above=3, left=2), {"table": "The Table", "decimal": ","}),
    "Excel, zipped": (lambda: zipped(**{"b.xlsx": sheet()}), {"table": "The Table"}),
    "UTF-16 without a mark": (lambda: CSV.decode().encode("utf-16-le"), {}),
    "UTF-16 without a mark, big end first": (lambda: CSV.decode().encode("utf-16-be"), {}),
    "UTF-32": (lambda: CSV.decode().encode("utf-32"), {}),
    "comments": (lambda: b"# from a tool, 2024\n# it's \"quoted\n\n" + CSV, {}),
    "comments with other ends of lines": (lambda: b"# made, by a tool\r\n" + CSV, {}),
    "comments, packed": (lambda: gzip.compress(b"# by a tool\n#\n" + CSV), {}),
    "empty lines before the header": (lambda: b"\n \r\n\n" + CSV, {}),
    "sep=": (lambda: b"\xef\xbb\xbfsep=,\r\n" + CSV.replace(b"\n", b"\r\n"), {}),
}


@pytest.mark.parametrize("kind", READ)
def test_every_format_gives_the_counts_of_the_csv(kind, tmp_path):
    """By its bytes, whatever its name."""
    make, how = READ[kind]
    (tmp_path / "t.csv").write_bytes(CSV)
    (tmp_path / "t.dat").write_bytes(make())
    expected = nv.count(tmp_path / "t.csv", target="label")
    found = nv.count(nv.File(tmp_path / "t.dat", **how), target="label")
    assert dict(expected.columns).keys() == {"size", "visits", "color", "new"}
    assert found == expected


def test_the_first_sheet_is_read_unless_another_is_named(tmp_path):
    path = tmp_path / "book.xlsx"
    path.write_bytes(sheet())
    file = nv.File(path)

    assert file.columns() == ("x",)
    assert "of 3 sheets the first, 'First', was read" in " ".join(file.notes())
    assert nv.File(path, table="The Table").notes() == ()
    (tmp_path / "two.zip").write_bytes(zipped(**{"b.xlsx": path.read_bytes(), "readme": b"x"}))
    assert nv.File(tmp_path / "two.zip", table="b.xlsx").columns() == ("x",)
    with pytest.raises(UnreadableRows, match=r"no sheet 'Table'; did you mean 'The Table'\?"):
        nv.File(path, table="Table").columns()


def test_one_model_comes_of_files_packed_in_many_ways(tmp_path):
    """Through `fit` and the command line, of a glob and of what is piped in; and answers of them too."""
    head, *lines = CSV.splitlines(keepends=True)
    parts = [head + b"".join(lines[at::4]) for at in range(4)]
    (tmp_path / "all.csv").write_bytes(b"".join([head, *(line for at in range(4) for line in lines[at::4])]))
    folder = tmp_path / "days"
    folder.mkdir()
    for name, data in zip(
        ("1.csv.bz2", "2.csv.xz", "3.csv", "4.zip"),
        (bz2.compress(parts[0]), lzma.compress(parts[1]), b"# third\n" + parts[2], zipped(**{"4.csv": parts[3]})),
        strict=True,
    ):
        (folder / name).write_bytes(data)
    whole = nv.NaiveBayes(model="textbook").fit(tmp_path / "all.csv", target="label")
    parted = nv.NaiveBayes(model="textbook").fit(str(folder / "*"), target="label")
    model, again = tmp_path / "m.parquet", tmp_path / "n.parquet"
    good("fit", folder, "--target", "label", "--model", "textbook", "--cv", "0", "-o", model, "-q")
    piped = {"input": bz2.compress((tmp_path / "all.csv").read_bytes())}
    good("fit", "-", "--target", "label", "--model", "textbook", "--cv", "0", "-o", again, "-q", **piped)

    assert parted.counts_ == whole.counts_ == nv.load(model).counts_ == nv.load(again).counts_
    answers = whole.predict(tmp_path / "all.csv").tolist()
    assert parted.predict(folder).tolist() == answers
    lines = good("predict", model, "-", "--only-answers", **piped).split()
    assert [line.partition(",")[0] for line in lines[1:]] == answers
    assert json.loads(good("evaluate", model, folder, "--json"))


# -- lines before the header -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", ["# by a tool\n\n", '# "it\n# is\n', "\n\n"])
def test_lines_of_errors_are_those_of_the_file(before, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(before + "size,label\n1,a\n2,b,c\n")
    with pytest.raises(UnreadableRows, match=r"line 5: 3 cells, but the header names 2 columns"):
        nv.count(path, target="label")
    path.write_text(before + "size,size,label\n1,a\n")
    with pytest.raises(UnreadableRows, match=r"line 3: two columns are called 'size'"):
        nv.count(path, target="label")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("#id,name\n1,a\n2,b\n", ("#id", "name")),
        ("# id,name\n1,a\n", ("# id", "name")),
        ("# by a tool\n#id,name\n1,a\n", ("#id", "name")),
        ("#id,name\nx,a\ny,b\n", ("#id", "name")),
        ("# by a tool, in 2024\nid,name\n1,a\n2,b\n", ("id", "name")),
        ("# a, b, c\nid,name\n1,a\n", ("id", "name")),
        ("#id,name\n", ("#id", "name")),
        ("sep=;\nid;name\n1;a,b\n", ("id", "name")),
        ("sep=|\n# by a tool\nid|name,x\n1|a\n", ("id", "name,x")),
        ("id,#name\n1,a\n", ("id", "#name")),
        ("sep,name\n1,a\n", ("sep", "name")),
    ],
)
def test_a_header_that_begins_with_a_hash_is_not_lost(text, names, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert nv.File(path).columns() == names


# -- refused -----------------------------------------------------------------------------------------------------------


def tar() -> bytes:
    into = io.BytesIO()
    with tarfile.open(fileobj=into, mode="w:gz") as archive:
        entry = tarfile.TarInfo("t.csv")
        entry.size = len(CSV)
        archive.addfile(entry, io.BytesIO(CSV))
    return into.getvalue()


def array() -> bytes:
    into = io.BytesIO()
    np.save(into, np.eye(2))
    return into.getvalue()


REFUSED: dict[str, tuple[Any, str]] = {
    "several files": (lambda: zipped(**{"a.csv": CSV, "b c.csv": CSV}), "zip archive of 2 files: a.csv, b c.csv; say"),
    "an empty zip": (zipped, "the zip archive holds no file"),
    "tar.gz": (tar, "it is a tar archive; unpack it"),
    "PDF": (lambda: b"%PDF-1.7\n%\xe2\xe3", "it is a PDF document; export its table as CSV"),
    "PNG": (lambda: b"\x89PNG\r\n\x1a\n\0", "it is a PNG image"),
    "JPEG": (lambda: b"\xff\xd8\xff\xe0\0", "it is a JPEG image"),
    "pickle": (lambda: pickle.dumps(TABLE), "it is a pickle of Python; load it in Python"),
    "NumPy": (array, "it is an array of NumPy; load it in Python"),
    "arrays of NumPy": (lambda: zipped(**{"x.npy": array(), "y.npy": array()}), "an archive of NumPy arrays; load it"),
    "SQLite": (lambda: b"SQLite format 3\0" + bytes(99), "it is an SQLite database; export the table"),
    "HTML": (lambda: b"\n <!DOCTYPE HTML>\n<html>login</html>", "it is an HTML page"),
    "XML": (lambda: b"<?xml version='1.0'?><a/>", "it is an XML file; export its table"),
    "Word": (lambda: zipped(**{"[Content_Types].xml": b"", "word/document.xml": b""}), "it is a Word document; export"),
    "7z": (lambda: b"7z\xbc\xaf\x27\x1c\0\4", "it is a 7z archive; unpack it"),
    "NUL alone": (lambda: bytes(100), "nothing but NUL bytes; get the file again"),
    "NUL in a name": (lambda: b"si\0ze,label\n1,a\n", "line 1: the name 'si.x00ze' holds a NUL byte"),
    "bytes": (lambda: bytes(range(256)), "it is no text and of no known format"),
    "no workbook": (lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(999), "workbook"),
    "cut xz": (lambda: lzma.compress(CSV)[:-20], "the xz file is damaged or cut off"),
    "cut bz2": (lambda: bz2.compress(CSV)[:-20], "the bz2 file is damaged or cut off"),
    "cut gz": (lambda: gzip.compress(CSV)[:-20], "cannot be read .*if it is damaged or cut off, get it again"),
    "cut zip": (lambda: zipped(t=CSV)[:-30], "the zip archive is damaged or cut off"),
    "damaged zip": (lambda: zipped(t=CSV).replace(zipped(t=CSV)[60:90], bytes(30)), "zip archive is damaged or cut"),
    "cut Feather": (lambda: written(lambda p: feather.write_feather(pa.table(TABLE), p))[:-90], "no whole Arrow file"),
    "cut ORC": (lambda: written(orc)[:-90], "no whole ORC file"),
    "cut JSON": (lambda: json.dumps(ROWS, indent=1).encode()[:-50], "the list of JSON is cut off: no ] ends it; get"),
    "broken JSON": (
        lambda: json.dumps(ROWS).replace('"label": "a"', '"label" "a"').encode(),
        "cannot be read .*Malformed",
    ),
    "one object": (
        lambda: json.dumps({"ok": 1, "data": ROWS}).encode(),
        "one JSON object, and its rows .*'data'; save",
    ),
    "a long object": (lambda: json.dumps({"ok": 1, "data": ROWS * 99}, indent=1).encode(), "one JSON object.*'data'"),
    "columns": (lambda: json.dumps({"a": {"0": 1, "1": 2}, "b": {"0": 1, "1": 2}}).encode(), "one JSON object.*'a'"),
    "no objects": (lambda: b"[[1, 2], [3, 4]]", "the list of JSON holds no objects; a row is an object such as"),
    "no object": (lambda: b" [ ]", "the list of JSON is empty"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_refused_is_named_in_one_sentence(kind, tmp_path):
    """By the library and, with the exit code of other bad data and no traceback, by the command line."""
    make, why = REFUSED[kind]
    path = tmp_path / "t.csv"
    path.write_bytes(make())
    with pytest.raises(UnreadableRows, match=f"t.csv.*{why}") as caught:
        nv.count(path, target="label")
    assert "gb18030" not in str(caught.value)
    said = bad(1, "fit", path, "--target", "label")
    assert "t.csv" in said
    assert len(said.splitlines()) == 1


def test_files_of_an_archive_are_named_as_options(tmp_path):
    (tmp_path / "t.zip").write_bytes(zipped(**{"b c.csv": CSV, "a.csv": CSV}))
    assert "--table 'b c.csv', or unpack it" in bad(1, "fit", tmp_path / "t.zip", "--target", "label")
    good("fit", tmp_path / "t.zip", "--target", "label", "--table", "b c.csv", "-q")
    with pytest.raises(UnreadableRows, match=r"no file 'x'; the files are 'b c.csv', 'a.csv'"):
        nv.File(tmp_path / "t.zip", table="x").columns()


def test_workbooks_need_an_extra_and_say_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    for data in (zipped(**{"xl/workbook.xml": b""}), (DATA / "table.xls").read_bytes()):
        (tmp_path / "t.csv").write_bytes(data)
        with pytest.raises(
            UnreadableRows, match=r'Excel workbook; to read it: pip install "naively\[excel\]", or save'
        ):
            nv.File(tmp_path / "t.csv").columns()


def test_a_format_that_is_declared_wrongly_is_refused(tmp_path):
    (tmp_path / "t").write_bytes(written(lambda path: pq.write_table(pa.table(TABLE), path)))
    with pytest.raises(UnreadableRows, match=r"it is a Parquet file, but format='csv' was given; leave that out"):
        nv.File(tmp_path / "t", format="csv").columns()


@pytest.mark.parametrize("text", ["BMI,label\n1,a\n", "ORC,label\n1,a\n", "RIFF,label\n1,a\n", "[x],[label]\n1,a\n"])
def test_tables_that_begin_as_other_formats_do_are_read(text, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    assert nv.File(tmp_path / "t.csv").columns()[0] in text
    with pytest.raises(InvalidInput, match="no column 'none'"):
        nv.count(tmp_path / "t.csv", target="none")
