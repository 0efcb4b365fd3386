"""Ways of reading agree: batches and samples, memory and files, text and formats of their own."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from numpy.testing import assert_array_equal

import naively as nv
from naively.cli import main
from naively.data.column import Column
from naively.data.encoding import block_numbers
from naively.data.frame import frame_of
from naively.data.target import target_of
from naively.errors import InvalidInput, UnreadableRows
from naively.files import columns as columns
from naively.files import delimited
from naively.files import typed as typed_files


def write(tmp_path, data, name="t.csv"):
    """Write bytes or text to a file."""
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def table_of(path, **how):
    """Return all rows of a file as a dict of columns."""
    return pa.concat_tables(nv.File(path, **how).batches()).to_pydict()


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


def test_numbers_as_text_are_numbers_in_however_many_batches(tmp_path):
    numbers = pa.table({"t": ["1", "2.5", None, "4"], "y": ["u", "v", "u", "v"]})
    path = streamed(tmp_path / "t", numbers.to_batches(1))
    assert table_of(path)["t"] == [1.0, 2.5, None, 4.0]


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
@pytest.mark.parametrize("how", [{}, {"format": "csv"}], ids=["by itself", "as asked"])
def test_names_of_columns_do_not_make_a_text_a_binary_file(tmp_path, header, how):
    path = write(tmp_path, f"{header}\n1,2,u\n3,4,v\n")
    assert list(table_of(path, **how).values()) == [[1, 3], [2, 4], ["u", "v"]]


@pytest.mark.parametrize("header", HEADERS)
def test_a_text_in_an_older_encoding_is_read_as_the_text_it_is_declared_to_be(tmp_path, header):
    path = write(tmp_path, f"{header}\n1,é,u\n3,à,v\n".encode("latin-1"))
    assert list(table_of(path, format="csv", encoding="latin-1").values())[1] == ["é", "à"]


def test_a_binary_file_is_still_none_of_text(tmp_path):
    pq.write_table(TEXTS, tmp_path / "t.parquet")
    with pytest.raises(UnreadableRows, match="it is a Parquet file, but format='csv' was given"):
        nv.File(tmp_path / "t.parquet", format="csv").columns()
    with pytest.raises(UnreadableRows, match="it is a GIF image"):
        nv.File(write(tmp_path, b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff")).columns()


# -- cells of delimited text -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", ["007", "-007", "00.5"])
@pytest.mark.parametrize("beside", ["5", "NA", " 5"])
def test_a_number_with_zeros_before_it_is_refused_whatever_its_neighbours_are(tmp_path, monkeypatch, cell, beside):
    """What no number is written like is none in a block of plain numbers, too."""
    monkeypatch.setattr(columns, "LOOKED_AT", 40)
    monkeypatch.setattr(delimited, "FEWEST", 1)
    path = write(tmp_path, "x,y\n" + "1,u\n2,v\n" * 20 + f"{beside},u\n{cell},v\n")
    with pytest.raises(UnreadableRows, match=f"line 43: column 'x' holds '{cell}' here"):
        list(nv.File(path).batches())


def test_zeros_and_fractions_of_one_are_numbers(tmp_path):
    path = write(tmp_path, "x,y\n0,u\n-0,v\n0.5,u\n-0.25,v\n")
    assert table_of(path)["x"] == [0, 0, 0.5, -0.25]


def test_the_line_of_a_cell_counts_the_empty_lines_of_a_single_column(tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "LOOKED_AT", 6)
    path = write(tmp_path, "x\n1\n\n2\n\n3\n4\nabc\n")
    with pytest.raises(UnreadableRows, match="line 8: column 'x' holds 'abc'"):
        list(nv.File(path, delimiter=",").batches())


def test_a_decimal_sign_that_was_declared_is_not_remarked_on_where_counts_are_kept(tmp_path):
    path = write(tmp_path, "x;y\n" + "1,5;u\n2,5;v\n" * 20)
    for source, remarks in ((nv.File(path), 1), (nv.File(path, decimal=","), 0)):
        nb = nv.NaiveBayes(model="textbook")
        nv.fit_files(nb, source, "y", keep_counts=tmp_path / f"kept{remarks}")
        assert sum("holds numbers written as" in hint for hint in nb.schema_.hints) == remarks


@pytest.mark.parametrize("how", [{"thousands": "."}, {"decimal": ","}, {"decimal": ",", "thousands": "."}])
def test_a_sheet_has_numbers_whatever_is_declared_of_how_texts_are_written(tmp_path, how):
    rows = [["x", "w", "y"], *[[1234.5 + at, 0.5, at % 2] for at in range(8)]]
    path = workbook(tmp_path / "t.xlsx", rows)
    assert table_of(path, **how)["x"] == [1234.5 + at for at in range(8)]
    nb = nv.NaiveBayes(model="textbook")
    done = nv.fit_files(nb, nv.File(path, **how), "y", weight="w")
    assert done.rows == 8
    assert nb.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("kind", ["whole", "number", "boolean", "time"])
def test_a_folder_that_is_not_what_was_declared_is_refused_in_one_sentence(tmp_path, kind):
    folder = tmp_path / "year=abc"
    folder.mkdir()
    write(folder, "a,y\n1,u\n")
    with pytest.raises(UnreadableRows, match=r"its folder says year=abc, but column 'year' is read as .*: 'text'"):
        list(nv.File(tmp_path, types={"year": kind}).batches())


# -- levels ------------------------------------------------------------------------------------------------------------


def test_after_a_level_that_is_refused_missing_values_are_still_missing():
    family = {"x": nv.Ordinal(levels=["low", "mid", "high"])}
    nb = nv.NaiveBayes(model="textbook", families=family)
    good, y = pd.DataFrame({"x": ["low", "NA", "mid", "high"] * 10}), ["a", "b", "a", "b"] * 10
    nb.partial_fit(good, y, classes=["a", "b"])
    with pytest.raises(InvalidInput, match="'hihg', which is none of its levels"):
        nb.partial_fit(pd.DataFrame({"x": ["low", "hihg"] * 20}), y)
    nb.partial_fit(good, y)
    counted = nb.counts_.columns["x"]
    met = dict(zip(counted.values.labels, counted.n.sum(axis=0).tolist(), strict=True))
    assert met == {"low": 20, "mid": 20, "high": 20, None: 20}


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


# -- classes -----------------------------------------------------------------------------------------------------------

DAYS = [dt.date(2024, 1, 1), dt.date(2024, 1, 2)] * 20
DATED = pa.table({"x": [at % 2 + at / 100 for at in range(40)], "y": pa.array(DAYS)})


@pytest.mark.parametrize(
    "y",
    [
        DATED["y"],
        DATED["y"].cast(pa.date64()).combine_chunks(),
        pl.Series(DAYS),
        pd.Series(DAYS, dtype=pd.ArrowDtype(pa.date32())),
    ],
    ids=["Arrow", "date64", "Polars", "pandas"],
)
def test_dates_are_classes_whatever_holds_them(y):
    nb = nv.NaiveBayes().fit({"x": DATED["x"]}, y)
    assert nb.classes_.tolist() == DAYS[:2]
    assert nb.predict({"x": [0.1, 1.2]}).tolist() == DAYS[:2]


def test_dates_are_classes_in_files(tmp_path):
    pq.write_table(DATED, tmp_path / "t.parquet")
    path = write(tmp_path, DATED.to_pandas().to_csv(index=False))
    for source in (path, tmp_path / "t.parquet", DATED, pl.from_arrow(DATED)):
        nb = nv.NaiveBayes(model="textbook").fit(source, target="y")
        assert nb.classes_.tolist() == DAYS[:2]
    model = str(tmp_path / "m.parquet")
    for asked in (["fit", str(path), "--target", "y", "-o", model], ["evaluate", model, str(path), "--target", "y"]):
        done = CliRunner().invoke(main, asked, catch_exceptions=False)
        assert done.exit_code == 0, done.output
    assert nv.load(model).classes_.tolist() == DAYS[:2]


def test_times_are_no_classes():
    with pytest.raises(InvalidInput, match="found times; write them as texts"):
        nv.NaiveBayes().fit({"x": DATED["x"]}, DATED["y"].cast(pa.timestamp("s")))


# -- numbers and classes as the kernels read them ----------------------------------------------------------------------


def number_columns() -> dict:
    """Return columns of numbers as they may lie: strided, of other types, in chunks, with missing values."""
    cells = np.random.default_rng(0).normal(size=(1_000, 6))
    whole = np.random.default_rng(1).integers(9, size=1_000)
    with_missing = pd.Series(cells[:, 5]).astype("Float64")
    with_missing[5] = pd.NA
    return {
        "strided": cells[:, 1],
        "backwards": cells[::-1, 2],
        "other bytes": cells[:, 3].astype(">f8"),
        "short": whole.astype(np.uint16),
        "single": cells[:, 4].astype(np.float32),
        "some missing": pa.array([None if row % 7 == 0 else row for row in range(1_000)], pa.int32()),
        "chunks": pa.chunked_array([pa.array(cells[:300, 4]), pa.array([None] * 700, pa.float64())]),
        "pandas": with_missing,
    }


@pytest.mark.parametrize("threads", [1, 3])
def test_numbers_are_gathered_from_wherever_they_lie(threads):
    """A block of columns is what each column gives by itself."""
    frame = frame_of(number_columns())
    columns = [Column.of(name, values.type, None) for name, values in frame.columns.items()]
    found = block_numbers(frame, columns, 3, 903, threads)
    for at, (name, values) in enumerate(frame.columns.items()):
        assert_array_equal(found[:, at], values.numbers(3, 903), err_msg=name)


@pytest.mark.parametrize(
    "labels",
    [["no", "yes", "maybe"], ["no", None, "yes"], [3, 7, -2], [2**40, 1, 5]],
    ids=["texts", "some missing", "whole", "far apart"],
)
def test_many_labels_are_encoded_as_few_are(labels):
    """From some number of labels on they are encoded another way: the label of each row is the same."""
    array = np.array(labels, dtype=object if isinstance(labels[0], str) else np.int64)
    places = np.random.default_rng(2).integers(len(labels), size=3_000)
    many, few = target_of(array[places]), target_of(array[places[:900]])
    assert [None if code < 0 else many.labels[code] for code in many.codes] == array[places].tolist()
    assert (set(many.labels), many.dtype) == (set(few.labels), few.dtype)


def test_labels_that_arrow_cannot_hold_are_encoded_by_python():
    y = np.array(["a", "\ud800"] * 1_000, dtype=object)
    assert target_of(y).labels == ["a", "\ud800"]
