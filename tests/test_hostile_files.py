"""Files as they come: each is read right, whatever the way, or refused in one clear sentence with the line."""

from __future__ import annotations

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

import naively as nv
from naively.errors import InvalidInput, InvalidSetting, UnreadableRows
from naively.files import columns as columns
from naively.files import file as read
from naively.files import typed as typed_files

from . import file_cases as cases


def write(tmp_path, data, name="t.csv"):
    """Write bytes or text to a file."""
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def table_of(path, **how):
    """Return all rows of a file as a dict of columns."""
    return pa.concat_tables(nv.File(path, **how).batches()).to_pydict()


# -- read right --------------------------------------------------------------------------------------------------------

PLAIN = {"x": [1, 2], "y": ["a", "b"]}
RIGHT = {
    "a mark at the beginning": (b"\xef\xbb\xbfx,y\n1,a\n2,b\n", {}, PLAIN),
    "lines of Windows": (b"x,y\r\n1,a\r\n2,b\r\n", {}, PLAIN),
    "no newline at the end": (b"x,y\n1,a\n2,b", {}, PLAIN),
    "an empty line at the end": (b"x,y\n1,a\n2,b\n\n", {}, PLAIN),
    "quotes around everything": (b'"x","y"\n"1","a"\n"2","b"\n', {}, PLAIN),
    "semicolons": (b"x;y\n1;a\n2;b\n", {}, PLAIN),
    "tabs": (b"x\ty\n1\ta\n2\tb\n", {}, PLAIN),
    "bars": (b"x|y\n1|a\n2|b\n", {}, PLAIN),
    "another delimiter": (b"x~y\n1~a\n2~b\n", {"delimiter": "~"}, PLAIN),
    "UTF-16": ("x,y\n1,a\n2,b\n".encode("utf-16"), {}, PLAIN),
    "GB 18030": ("x,y\n天气,a\n".encode("gb18030"), {"encoding": "gb18030"}, {"x": ["天气"], "y": ["a"]}),
    "latin-1": ("x,y\nGrüße,a\n".encode("latin-1"), {"encoding": "latin-1"}, {"x": ["Grüße"], "y": ["a"]}),
    "Windows": ("x,y\n„Grüße“,a\n".encode("cp1252"), {"encoding": "cp1252"}, {"x": ["„Grüße“"], "y": ["a"]}),
    "delimiters, quotes and newlines in cells": (
        'x,y\n"one, ""two""\nthree",a\nfour,"b\r\nc"\n',
        {},
        {"x": ['one, "two"\nthree', "four"], "y": ["a", "b\r\nc"]},
    ),
    "decimal commas": ("x;y\n1,5;a\n-2,25;b\n", {}, {"x": [1.5, -2.25], "y": ["a", "b"]}),
    "decimal commas, declared": ("x;y\n1,5;a\n-2,25;b\n", {"decimal": ","}, {"x": [1.5, -2.25], "y": ["a", "b"]}),
    "decimal points, declared": ("x;y\n1,5;a\n2;b\n", {"decimal": "."}, {"x": ["1,5", "2"], "y": ["a", "b"]}),
    "objects that lack keys and differ in order": (
        '{"x": 1, "y": "a"}\n{"y": "b"}\n\n{"y": "c", "x": null}\n{"y": "d", "x": 2.5}\n',
        {},
        {"x": [1.0, None, None, 2.5], "y": ["a", "b", "c", "d"]},
    ),
    "texts and numbers of one key": (
        '{"x": 1, "y": "a"}\n{"x": "two", "y": "b"}\n',
        {},
        {"x": ["1", "two"], "y": ["a", "b"]},
    ),
}


@pytest.mark.parametrize("kind", RIGHT)
def test_files_of_every_dialect_are_read(kind, tmp_path):
    data, how, expected = RIGHT[kind]
    assert table_of(write(tmp_path, data), **how) == expected


def test_types_of_a_database_are_read(tmp_path):
    con = duckdb.connect(str(tmp_path / "t.duckdb"))
    con.execute(
        "create table t as select 1::hugeint as huge, 1.5::decimal(9, 2) as price, 'a'::enum('a', 'b') as letter, "
        "uuid() as id, interval 1 day as pause, time '12:30' as clock, timestamptz '2024-01-01 00:00:00+00' as at, "
        "true as flag, 'x' as y"
    )
    con.close()
    schema = nv.File(tmp_path / "t.duckdb").schema(apart=["pause"])
    types = {column.name: column.type for column in schema}
    numbers = {"huge": "number", "price": "number", "clock": "time", "at": "time", "flag": "boolean"}
    assert types == {"letter": "text", "id": "text", "y": "text"} | numbers
    assert nv.count(tmp_path / "t.duckdb", target="y", ignore=["pause"]).rows.sum() == 1


# -- refused -----------------------------------------------------------------------------------------------------------

REFUSED = {
    "empty": (b"", {}, r"t\.csv: it is empty"),
    "blank": (b"\n\n", {}, r"t\.csv: it is empty"),
    "too few cells": (b"x,y\n1,a\n2\n3,b\n", {}, r"t\.csv, line 3: 1 cells, but the header names 2 columns"),
    "too many cells": (b"x,y\n1,a\n2,b,c\n3,b\n", {}, r"t\.csv, line 3: 3 cells, but the header names 2 columns"),
    "an open quote": (b'x,y\n1,a\n2,"b\n3,c\n', {}, r"t\.csv, line \d: .*quote"),
    "two columns of a name": (b"x,x,y\n1,2,a\n", {}, r"t\.csv, line 1: two columns are called 'x'"),
    "latin-1 unsaid": ("x,y\n1,a\n2,Grüße\n".encode("latin-1"), {}, r"line 3: the text is not UTF-8.*gb18030.*latin-1"),
    "GB18030 unsaid": ("x,y\n1,天\n2,b\n".encode("gb18030"), {}, r"line 2: the text is not UTF-8"),
    "not GB18030": (b"x,y\n1,a\n2,\xff\xff\n", {"encoding": "gb18030"}, r"line 3: the text is not gb18030"),
    "no such encoding": (b"x,y\n1,a\n", {"encoding": "klingon"}, "encoding='klingon' is unknown"),
    "no Parquet": (b"PAR1\0 and nothing more", {}, r"t\.csv: it is no whole Parquet file"),
    "broken JSON": (b'{"x": 1, "y": "a"}\n{"x": 2, "y":\n', {"format": "json"}, r"t\.csv, line \d: it cannot be read"),
    "packed badly": (b"\x1f\x8b nothing", {}, r"t\.csv: it cannot be read"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_read_is_refused_with_the_line(kind, tmp_path):
    data, how, words = REFUSED[kind]
    with pytest.raises(InvalidInput, match=words) as caught:
        nv.count(nv.File(write(tmp_path, data), **how), target="y")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("value", ["abc", "1,5", "12 %", "-x-"])
def test_text_in_a_column_of_numbers_is_refused_with_line_value_and_remedy(value, tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "LOOKED_AT", 50)
    path = write(tmp_path, "x;y\n" + "1.5;a\n" * 100 + f"{value};b\n")
    with pytest.raises(UnreadableRows) as caught:
        nv.count(path, target="y")

    said = str(caught.value)
    assert said.startswith(f"{path}, line 102: column 'x' holds {value!r} here, but numbers in the rows that were")
    assert "families={'x': 'categorical'}" in said
    counts = nv.count(path, target="y", schema={"x": "categorical"})
    assert set(counts.columns["x"].values.labels) == {"1.5", value}
    assert nv.count(nv.File(path, null=[value]), target="y").columns["x"].n.tolist() == [[100.0]]


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_labels_that_are_no_whole_numbers_are_refused_rather_than_rounded(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "LOOKED_AT", 50)
    line = {"csv": "{},{}\n", "json": '{{"x": {}, "y": {}}}\n'}[kind]
    head = "x,y\n" if kind == "csv" else ""
    path = write(tmp_path, head + line.format(1, 0) * 100 + line.format(2, 1.5), f"t.{kind}")
    with pytest.raises(
        UnreadableRows, match=r"(row 100|line 102): column 'y' holds '1.5' here, but whole numbers .*types="
    ):
        nv.count(path, target="y")
    assert nv.count(nv.File(path, types={"y": "text"}), target="y").classes.labels == ("0", "1.5")


def test_text_in_a_key_of_numbers_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "LOOKED_AT", 50)
    path = write(tmp_path, '{"x": 1.5, "y": "a"}\n' * 100 + '{"x": "abc", "y": "b"}\n', "t.json")
    with pytest.raises(UnreadableRows, match=r't\.json, line 101: "abc" is of another type than the values of its key'):
        nv.count(path, target="y")


def test_a_file_without_rows_is_refused(tmp_path):
    path = write(tmp_path, "x,y\n")
    for ask in (lambda: nv.count(path, target="y"), lambda: nv.NaiveBayes().fit(path, target="y")):
        with pytest.raises(InvalidInput, match=r"t\.csv: there are no rows, only names of columns"):
            ask()
    nb = nv.NaiveBayes().fit(write(tmp_path, "x,y\n1,a\n2,b\n", "u.csv"), target="y")
    with pytest.raises(InvalidInput, match="there are no rows"):
        nb.predict(path)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    for path in (tmp_path / "no.csv", str(tmp_path / "no*.csv")):
        with pytest.raises(InvalidInput, match=r"no.*\.csv: there is no such file"):
            nv.count(path, target="y")
    (tmp_path / "bare").mkdir()
    with pytest.raises(InvalidInput, match="bare: there is no such file"):
        nv.count(tmp_path / "bare", target="y")
    with pytest.raises(InvalidInput, match="the list is empty"):
        nv.count(nv.File([]), target="y")


def test_names_of_columns_that_are_not_there_are_refused(tmp_path):
    path = write(tmp_path, "colour,size,label\nred,1,a\nblue,2,b\n")
    with pytest.raises(InvalidInput, match=r"t\.csv has no column 'lable'; did you mean 'label'\?"):
        nv.count(path, target="lable")
    with pytest.raises(InvalidInput, match="has no column 'weihgt'"):
        nv.count(path, target="label", weight="weihgt")
    with pytest.raises(InvalidInput, match="has no column 'sise'; did you mean 'size'"):
        nv.count(path, target="label", ignore=["sise"])
    with pytest.raises(InvalidInput, match="There is no column 'sise'; did you mean 'size'"):
        nv.count(path, target="label", schema={"sise": "poisson"})
    with pytest.raises(InvalidInput, match="no column to learn from beside label, colour, size"):
        nv.count(path, target="label", ignore=["colour", "size"])
    nb = nv.NaiveBayes().fit(path, target="label")
    with pytest.raises(InvalidInput, match="there is no column 'size'"):
        nb.predict(write(tmp_path, "colour\nred\n", "u.csv"))
    write(tmp_path, "colour,label\nred,a\n", "z.csv")
    with pytest.raises(InvalidInput, match=r"z\.csv: there is no column 'size'"):
        nv.count([path, tmp_path / "z.csv"], target="label")


def test_numbers_that_cannot_be_counted_are_refused_with_their_row(tmp_path, monkeypatch):
    """The row is counted from the first of the file, in whatever block it comes."""
    rows = read.ROWS + 5
    path = write(tmp_path, "x,y\n" + "1.5,a\n" * rows + "inf,b\n")
    with pytest.raises(InvalidInput, match=rf"t\.csv, row {rows}, column 'x' holds infinity"):
        nv.count(path, target="y")
    path = write(tmp_path, "x,y\n" + "1.5,a\n" * rows + "-2,b\n")
    with pytest.raises(InvalidInput, match=rf"t\.csv, row {rows}, column 'x' holds -2"):
        nv.count(path, target="y", schema={"x": "poisson"})
    nb = nv.NaiveBayes().fit({"x": [1.0, 2.0]}, ["a", "b"])
    with pytest.raises(InvalidInput, match=rf"t\.csv, row {rows}, column 'x' holds infinity"):
        nb.predict(write(tmp_path, "x\n" + "1.5\n" * rows + "inf\n"))


def test_columns_that_cannot_be_counted_are_refused_unless_left_out(tmp_path):
    path = cases.write_parquet(tmp_path / "t.parquet", pa.table({"x": [1, 2], "list": [[1], [2]], "y": ["a", "b"]}))
    with pytest.raises(InvalidInput, match=r"column 'list' holds list<.*ignore it: ignore=\['list'\]"):
        nv.count(path, target="y")
    assert nv.count(path, target="y", ignore=["list"]).rows.sum() == 2
    lines = write(tmp_path, '{"x": 1, "y": "a", "deep": {"z": 1}}\n', "t.json")
    with pytest.raises(InvalidInput, match=r"column 'deep' holds OBJECT, which cannot be counted"):
        nv.count(lines, target="y")


def test_a_database_says_which_tables_it_has(tmp_path):
    con = duckdb.connect(str(tmp_path / "t.duckdb"))
    con.execute("create table train as select 1 as x, 'a' as y; create table test as select 2 as x, 'b' as y")
    con.close()
    path = tmp_path / "t.duckdb"
    with pytest.raises(InvalidInput, match=r"it has the tables 'test', 'train'; say which"):
        nv.count(path, target="y")
    with pytest.raises(InvalidInput, match="it has no table 'trian'; did you mean 'train'"):
        nv.count(nv.File(path, table="trian"), target="y")
    with pytest.raises(InvalidInput, match="cannot be read"):
        nv.count(nv.File(path, query="select nothing from train"), target="y")
    assert nv.count(nv.File(path, table="train"), target="y").rows.sum() == 1
    with pytest.raises(InvalidInput, match="there are no rows"):
        nv.count(nv.File(path, query="select * from train where x > 9"), target="y")
    broken = write(tmp_path, b"\0" * 8 + b"DUCK" + b"\0" * 100, "broken.duckdb")
    with pytest.raises(InvalidInput, match="DuckDB cannot open it"):
        nv.count(broken, target="y")


SETTINGS = {
    "format": ({"format": "xml"}, "format='xml' is unknown"),
    "decimal": ({"decimal": ";"}, "decimal=';' must be"),
    "thousands": ({"thousands": ";"}, "thousands=';' must be"),
    "both signs": ({"thousands": ",", "decimal": ","}, "not the decimal sign"),
    "limit": ({"limit": 0}, "limit=0 must be a whole number of 1 or more"),
    "types": ({"types": {"x": "int"}}, "types names 'int'"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_that_mean_nothing_are_refused_at_once(name):
    how, words = SETTINGS[name]
    with pytest.raises(InvalidSetting, match=words):
        nv.File("t.csv", **how)


def test_folds_that_mean_nothing_are_refused(tmp_path):
    path = write(tmp_path, "x,y\n1,a\n2,b\n")
    with pytest.raises(InvalidSetting, match="cv=1: give 2 or more"):
        nv.fit_files(nv.NaiveBayes(), path, "y", cv=1)
    with pytest.raises(
        InvalidSetting, match="cv=2 with keep_counts scores the rows that are kept, but keep_rows=False"
    ):
        nv.fit_files(nv.NaiveBayes(), path, "y", cv=2, keep_counts=tmp_path / "kept", keep_rows=False)
    with pytest.raises(InvalidSetting, match=r"window=3 .*needs keep_counts"):
        nv.fit_files(nv.NaiveBayes(), path, "y", window=3)
    with pytest.raises(InvalidInput, match=r"Give a path or nv\.File"):
        nv.fit_files(nv.NaiveBayes(), 3, "y")


# -- ways of reading agree ---------------------------------------------------------------------------------------------


def streamed(path, batches):
    """Write batches as a stream of Arrow."""
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, batches[0].schema) as stream:
        for batch in batches:
            stream.write_batch(batch)
    return path


def workbook(path, rows):
    """Write rows as the only sheet of a workbook."""
    book = pytest.importorskip("xlsxwriter", reason="writes workbooks for tests").Workbook(str(path))
    sheet = book.add_worksheet()
    for at, row in enumerate(rows):
        sheet.write_row(at, 0, row)
    book.close()
    return path


# -- batches and samples -----------------------------------------------------------------------------------------------

TEXTS = pa.table({"t": ["1", "2", "abc", "4"], "y": ["u", "v", "u", "v"]})


def small_row_groups(path):
    pq.write_table(TEXTS, path, row_group_size=1)


def small_batches(path):
    streamed(path, TEXTS.to_batches(1))


def small_chunks(path):
    feather.write_feather(TEXTS, path, chunksize=1)


@pytest.mark.parametrize("written", [small_row_groups, small_batches, small_chunks])
def test_what_a_text_column_holds_is_decided_by_all_rows_looked_at_and_not_by_the_first_batch(written, tmp_path):
    written(tmp_path / "t")
    assert table_of(tmp_path / "t") == TEXTS.to_pydict()


@pytest.mark.parametrize("ordered", [False, True])
def test_categories_keep_their_type_where_some_stand_for_no_value(tmp_path, ordered):
    def batch(values):
        x = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(values), ordered=ordered)
        return pa.record_batch({"x": x, "y": ["u", "v"]})

    path = streamed(tmp_path / "t", [batch(["a", "b"]), batch(["x", "b"]), batch(["b", "a"])])
    assert table_of(path, null=["x"])["x"] == ["a", "b", None, "b", "b", "a"]


def test_predicting_from_a_typed_file_takes_one_sample(tmp_path, monkeypatch):
    pq.write_table(TEXTS, tmp_path / "t.parquet")
    nb = nv.NaiveBayes(model="textbook").fit(tmp_path / "t.parquet", target="y")
    taken, once = [], typed_files.Typed.guess_types
    monkeypatch.setattr(typed_files.Typed, "guess_types", lambda *given: taken.append(given) or once(*given))
    like = nv.File(tmp_path / "t.parquet").like(nb.schema_)
    list(like.batches())
    assert like.held()
    assert len(taken) == 1


# -- texts that look like other formats --------------------------------------------------------------------------------

HEADERS = ["PAR1,PAR2,y", "species,DUCKS,y", "GIF89a,b,y", "GIF87a,b,y", "ORC,b,y", "RIFF,b,y", "$FL2@,b,y", "RDX2,b,y"]


@pytest.mark.parametrize("header", HEADERS)
def test_a_text_in_an_older_encoding_is_read_as_the_text_it_is_declared_to_be(tmp_path, header):
    path = write(tmp_path, f"{header}\n1,é,u\n3,à,v\n".encode("latin-1"))
    assert list(table_of(path, format="csv", encoding="latin-1").values())[1] == ["é", "à"]


# -- cells of delimited text -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["whole", "number", "boolean", "time"])
def test_a_folder_that_is_not_what_was_declared_is_refused_in_one_sentence(tmp_path, kind):
    folder = tmp_path / "year=abc"
    folder.mkdir()
    write(folder, "a,y\n1,u\n")
    with pytest.raises(UnreadableRows, match=r"its folder says year=abc, but column 'year' is read as .*: 'text'"):
        list(nv.File(tmp_path, types={"year": kind}).batches())


# -- levels ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_texts_have_levels_that_are_numbers_in_memory_as_in_a_file(tmp_path, frame):
    rows = {"x": [str(1 + at % 3) for at in range(30)], "y": ["u" if at % 3 else "v" for at in range(30)]}
    path = write(tmp_path, "x,y\n" + "".join(f"{a},{b}\n" for a, b in zip(rows["x"], rows["y"], strict=True)))
    nb = nv.NaiveBayes(model="textbook", families={"x": nv.Ordinal(levels=[1, 2, 3])})
    of_file = nb.fit(path, target="y").predict_proba({"x": [1, 2, 3]})
    nb.fit(frame({"x": rows["x"]}), rows["y"])
    assert_array_equal(nb.predict_proba({"x": [1, 2, 3]}), of_file)
    assert_array_equal(nb.predict_proba(frame({"x": ["1", "2", "3"]})), of_file)
    assert_array_equal(nb.predict_proba({"x": "2"}), of_file[1:2])
