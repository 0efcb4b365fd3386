"""Ways of reading agree: batches and samples, memory and files, text and formats of their own."""

from __future__ import annotations

import datetime as dt

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

import naively as nv
from naively.errors import UnreadableRows
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


# -- numbers and classes as the kernels read them ----------------------------------------------------------------------
