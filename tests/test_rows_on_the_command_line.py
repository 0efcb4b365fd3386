"""The command line says what a file holds of the rows, and writes them if it is asked to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import naively as nv

from . import file_cases as cases
from .commands import bad, good, told
from .test_keep_rows_by_file import EACH, ROWS

pytestmark = pytest.mark.thorough

HALF = len(ROWS) // 2
PARTS = {"a": ROWS.slice(0, HALF), "b": ROWS.slice(HALF), "both": ROWS}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Return a folder with two files of rows whose labels come in another order, both together, and their models."""
    folder = tmp_path_factory.mktemp("models")
    for name, rows in PARTS.items():
        cases.write_csv(folder / f"{name}.csv", rows)
        fit(folder / f"{name}.csv", folder / f"{name}.parquet", "--keep-rows")
        fit(folder / f"{name}.csv", folder / f"{name}-bare.parquet")
    return folder


@pytest.fixture(autouse=True)
def inside(models, monkeypatch):
    """Run tests in that folder."""
    monkeypatch.chdir(models)


def fit(path, out, *options):
    """Fit a model by the command, and return what it says."""
    return good("fit", path, "-t", "label", "--family", "zip=categorical", "-o", out, "--cv", "0", *options)


def difference(one, other):
    return np.abs(nv.load(one).predict_proba(ROWS) - nv.load(other).predict_proba(ROWS)).max()


@pytest.mark.parametrize(
    ("options", "words", "rows"),
    [
        ((), "no row", 0),
        (("--keep-rows",), f"all {HALF} rows, as they are", HALF),
        (("--no-keep-rows",), "no row", 0),
    ],
)
def test_fit_and_show_say_what_the_file_holds(options, words, rows):
    assert f"which holds {words}." in fit("a.csv", "out.parquet", *options)
    assert nv.load("out.parquet").kept_rows_.rows == rows
    assert f"The file holds {words}." in good("show", "out.parquet")
    for said in (told("show", "out.parquet"), told("fit", "a.csv", "-t", "label", "-o", "x.parquet", *options)):
        assert (said["kept_rows"], said["kept_rows_complete"]) == (rows, rows > 0)


def test_merged_and_forgotten_files_go_on_exactly_with_or_without_their_rows():
    assert f"It holds all {len(ROWS)} rows, as they are." in good("merge", "a.parquet", "b.parquet", "-o", "m.parquet")
    assert difference("m.parquet", "both.parquet") < 1e-9
    assert f"It holds all {HALF} rows, as they are." in good("forget", "m.parquet", "b.csv", "-o", "rest.parquet")
    assert difference("rest.parquet", "a.parquet") < 1e-9
    assert told("forget", "m.parquet", "b.csv", "-o", "rest.parquet")["kept_rows"] == HALF

    assert "It holds" not in good("merge", "a.parquet", "b.parquet", "-o", "out.parquet", "--no-keep-rows")
    assert_array_equal(nv.load("out.parquet").predict_proba(ROWS), nv.load("m.parquet").predict_proba(ROWS))
    good("forget", "m.parquet", "b.csv", "-o", "rest.parquet", "--no-keep-rows")
    assert difference("rest.parquet", "a.parquet") < 1e-9
    assert nv.load("out.parquet").kept_rows_.rows == nv.load("rest.parquet").kept_rows_.rows == 0


def test_rows_that_are_not_there_are_refused():
    to, book = ("-o", "never.parquet", "--keep-rows"), ("fit", "a.csv", "-t", "label", "--model", "textbook")
    assert "b-bare.parquet holds no row" in bad(2, "merge", "a.parquet", "b-bare.parquet", *to)
    assert "--keep-rows: the model keeps no row" in bad(2, "forget", "b-bare.parquet", "b.csv", *to)
    assert "--keep-rows: the textbook model needs no row" in bad(2, *book, *to)
    assert "--keep-rows writes rows into the model file" in bad(2, "fit", "a.csv", "-t", "label", "--keep-rows")
    assert not Path("never.parquet").exists()


def test_counts_are_kept_by_file_with_the_default_model(tmp_path):
    days, out = tmp_path / "days", tmp_path / "m.parquet"
    days.mkdir()
    for day in range(3):
        cases.write_csv(days / f"{day}.csv", ROWS.slice(EACH * day, EACH))
    how = ("fit", days, "-t", "label", "-o", out, "--keep-counts", tmp_path / "kept")
    said = told(*how, "--cv", "3", "--fade", "0.5")
    assert said["rows"] == pytest.approx(EACH * 1.75)
    assert 0 < said["scores"]["log_loss"] < said["textbook_scores"]["log_loss"] + 0.1
    assert nv.load(out).kept_rows_.rows == 0
    assert told(*how, "--keep-rows")["read"] == []
    assert nv.load(out).kept_rows_.rows == 3 * EACH
    said = bad(2, *how, "--no-keep-rows")
    assert "keeps counts with --keep-rows, and now --no-keep-rows. Use the same, or another folder." in said
    assert "--fade" in bad(2, *how, "--fade", "2")
    assert "--fade 0.5 needs --keep-counts" in bad(2, "fit", days, "-t", "label", "--fade", "0.5")
