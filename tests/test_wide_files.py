"""Files of very many columns: what reading them costs grows with their bytes, and cells are those of narrow files."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

import naively as nv
from naively.errors import UnreadableRows
from naively.files import delimited
from naively.files.dialect import HEAD

from .tables import instructions

pytestmark = pytest.mark.thorough


def written(path, rows, columns, seed=0, names=None):
    """Write whole numbers and a label at the end of each row."""
    table = np.random.default_rng(seed).integers(0, 1000, (rows, columns))
    names = names or [f"c{at}" for at in range(columns)]
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join([*names, "label"]) + "\n")
        for at, line in enumerate(table.tolist()):
            file.write(",".join(map(str, line)) + f",{'ab'[at % 2]}\n")
    return table


@pytest.mark.parametrize("packed", [False, True])
def test_a_wide_file_holds_what_the_same_table_in_memory_holds(tmp_path, packed):
    table = written(tmp_path / "t.csv", 40, 1500)
    path = tmp_path / "t.csv"
    if packed:
        path = tmp_path / "t.csv.gz"
        path.write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    memory = {f"c{at}": table[:, at] for at in range(1500)}
    labels = ["ab"[at % 2] for at in range(40)]

    assert nv.count(path, target="label") == nv.count(memory, labels)


ODD = 'one,"two, three","""four""",,five\n1,"a, b","say ""x""",NA,\n2,"two\nlines",天气,?,-\n3,"",\' \',NULL,2.5\n'


def test_cells_are_the_same_whoever_reads_them(tmp_path, monkeypatch):
    """Quotes, cells of several lines, empty cells, a column without a name, texts for no value."""
    path = tmp_path / "t.csv"
    path.write_text(ODD, encoding="utf-8")
    narrow = next(nv.File(path).batches()).to_pydict()
    monkeypatch.setattr(delimited, "WIDE", 2)
    wide = next(nv.File(path).batches())

    assert wide.to_pydict() == narrow
    assert wide.column_names == ["one", "two, three", '"four"', "column 4", "five"]
    assert wide["five"].to_pylist() == [None, None, 2.5]
    assert next(nv.File(path, limit=2).batches()).num_rows == 2


REFUSED = {
    "too few cells": ("a,b,c\n" + "1,2,x\n" * 20 + "3,y\n", r"line 22: 2 cells, but the header names 3 columns\. Mend"),
    "a quote in a cell": ('a,b,c\n5" pipe,"x,y"\n', "line 2: 2 cells, but the header names 3 columns"),
    "an open quote": ('a,b,c\n1,2,3\n1,"x,3\n' + "4,5,6\n" * 5, "line 3: a quote that is opened here is never closed"),
    "an open quote at the end": ('a,b,c\n1,2,3\n1,"x,3\n', "line 3: a quote that is opened here is never closed"),
    "latin-1 unsaid": ("a,b,c\n1,Grüße,x\n", "not UTF-8"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_read_is_refused_in_wide_files_too(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(delimited, "WIDE", 2)
    text, words = REFUSED[kind]
    (tmp_path / "t.csv").write_text(text, encoding="latin-1")
    with pytest.raises(UnreadableRows, match=words):
        nv.count(tmp_path / "t.csv", target="c")


def test_a_wide_file_in_another_encoding_is_rewritten_once(tmp_path, monkeypatch):
    copied, once = [], delimited.rewritten
    monkeypatch.setattr(delimited, "WIDE", 2)
    monkeypatch.setattr(delimited, "rewritten", lambda *given: copied.append(given) or once(*given))
    (tmp_path / "t.csv").write_text("a,b,y\n1,é,u\n2,à,v\n", encoding="latin-1")
    file = nv.File(tmp_path / "t.csv", encoding="latin-1")
    for _ in range(3):
        assert pa.concat_tables(file.batches()).to_pydict()["b"] == ["é", "à"]
    assert len(copied) == 1


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_wide_file_with_a_header_alone_has_no_rows(tmp_path, monkeypatch, end):
    monkeypatch.setattr(delimited, "WIDE", 2)
    (tmp_path / "t.csv").write_text(f"a,b,c{end}")
    file = nv.File(tmp_path / "t.csv")
    assert list(file.batches()) == []
    assert file.columns() == ("a", "b", "c")


def test_names_may_be_longer_than_the_head_that_is_looked_at(tmp_path):
    names = [f"{'a_long_name_of_a_column_':<60}{at}".replace(" ", "_") for at in range(1 + HEAD // 50)]
    table = written(tmp_path / "t.csv", 3, len(names), names=names)
    file = nv.File(tmp_path / "t.csv")

    assert file.columns() == (*names, "label")
    assert_array_equal(next(file.batches())[names[-1]].to_pylist(), table[:, -1])


def counted(kind, columns, path):
    """Return the instructions that counting a table of two classes takes, of this kind and of so many columns."""
    X, y = pd.DataFrame(np.random.default_rng(0).normal(size=(20, columns))).add_prefix("n"), np.arange(20) % 2
    if kind == "frame":
        return instructions(lambda: nv.count(X, y))
    write = {"csv": pd.DataFrame.to_csv, "parquet": pd.DataFrame.to_parquet}[kind]
    write(X.assign(label=y), path, index=False)
    return instructions(lambda: nv.count(path, target="label"))


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])
def test_the_work_of_counting_is_proportional_to_the_columns(kind, tmp_path):
    """Were names listed again for every column, it would grow by the square of their number."""
    few, many = (counted(kind, columns, tmp_path / f"{columns}.{kind}") for columns in (100, 400))
    assert many < 4.4 * few
