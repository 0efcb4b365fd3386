"""The command line says what a file holds of the rows, and writes them if it is asked to."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import naively as nv

from . import file_cases as cases
from .commands import bad, good, run
from .test_keep_rows_by_file import EACH, ROWS

pytestmark = pytest.mark.thorough

HALF = len(ROWS) // 2


@pytest.fixture
def files(tmp_path):
    """Return two files of rows whose labels come in another order, and both together."""
    paths = [tmp_path / name for name in ("a.csv", "b.csv", "both.csv")]
    for path, rows in zip(paths, (ROWS.slice(0, HALF), ROWS.slice(HALF), ROWS), strict=True):
        cases.write_csv(path, rows)
    return paths


def fit(path, out, *options):
    """Fit a model by the command, and return what it says."""
    return good("fit", path, "-t", "label", "--family", "zip=categorical", "-o", out, "--cv", "0", *options)


def test_a_fit_says_what_the_file_holds(files, tmp_path):
    out = tmp_path / "m.parquet"
    assert "which holds no row." in fit(files[0], out)
    assert nv.load(out).kept_rows_.rows == 0
    assert f"which holds all {HALF} rows, as they are." in fit(files[0], out, "--keep-rows")
    assert nv.load(out).kept_rows_.rows == HALF
    assert "which holds no row." in fit(files[0], out, "--no-keep-rows")
    said = json.loads(fit(files[0], out, "--keep-rows", "--json"))
    assert (said["kept_rows"], said["kept_rows_complete"]) == (HALF, True)
    assert json.loads(fit(files[0], out, "--json"))["kept_rows"] == 0


def test_show_says_what_the_file_holds(files, tmp_path):
    out = tmp_path / "m.parquet"
    for options, words, rows in (((), "no row", 0), (("--keep-rows",), f"all {HALF} rows, as they are", HALF)):
        fit(files[0], out, *options)
        assert f"The file holds {words}." in good("show", out)
        said = json.loads(good("show", out, "--json"))
        assert (said["kept_rows"], said["kept_rows_complete"]) == (rows, rows > 0)


def test_merged_and_forgotten_files_go_on_exactly(files, tmp_path):
    a, b, both, merged, rest = (tmp_path / f"{name}.parquet" for name in ("a", "b", "both", "merged", "rest"))
    for path, out in zip(files, (a, b, both), strict=True):
        fit(path, out, "--keep-rows")
    assert f"It holds all {len(ROWS)} rows, as they are." in good("merge", a, b, "-o", merged)
    one, other = nv.load(merged), nv.load(both)
    assert np.abs(one.predict_proba(ROWS) - other.predict_proba(ROWS)).max() < 1e-9
    assert f"It holds all {HALF} rows, as they are." in good("forget", merged, files[1], "-o", rest)
    left = nv.load(rest)
    assert np.abs(left.predict_proba(ROWS) - nv.load(a).predict_proba(ROWS)).max() < 1e-9
    assert json.loads(good("forget", merged, files[1], "-o", rest, "--json"))["kept_rows"] == HALF


def test_rows_can_be_left_out_again(files, tmp_path):
    a, b, out = (tmp_path / f"{name}.parquet" for name in ("a", "b", "out"))
    for path, model in zip(files, (a, b), strict=False):
        fit(path, model, "--keep-rows")
    assert "It holds" not in good("merge", a, b, "-o", out, "--no-keep-rows")
    assert nv.load(out).kept_rows_.rows == 0
    with_rows = tmp_path / "with.parquet"
    good("merge", a, b, "-o", with_rows)
    assert_array_equal(nv.load(out).predict_proba(ROWS), nv.load(with_rows).predict_proba(ROWS))
    good("forget", with_rows, files[1], "-o", out, "--no-keep-rows")
    assert nv.load(out).kept_rows_.rows == 0
    assert np.abs(nv.load(out).predict_proba(ROWS) - nv.load(a).predict_proba(ROWS)).max() < 1e-9


def test_rows_that_are_not_there_are_refused(files, tmp_path):
    a, b, out = (tmp_path / f"{name}.parquet" for name in ("a", "b", "out"))
    fit(files[0], a, "--keep-rows")
    fit(files[1], b)
    said = bad(2, "merge", a, b, "-o", out, "--keep-rows")
    assert f"{b} holds no row" in said
    assert "--keep-rows: the model keeps no row" in bad(2, "forget", b, files[1], "-o", out, "--keep-rows")
    book = ("fit", files[0], "-t", "label", "--model", "textbook", "--keep-rows", "-o", out)
    assert "--keep-rows: the textbook model needs no row" in bad(2, *book)
    assert "--keep-rows writes rows into the model file" in bad(2, "fit", files[0], "-t", "label", "--keep-rows")
    assert not out.exists()


def test_a_file_without_rows_goes_on_with_a_note(files, tmp_path):
    a, out = tmp_path / "a.parquet", tmp_path / "out.parquet"
    fit(files[2], a)
    done = run("forget", a, files[0], "-o", out)
    assert done.exit_code == 0
    assert "A file without rows has none to fit them again" in done.stderr
    assert nv.load(out).counts_.rows.sum() == len(ROWS) - HALF


def test_models_without_rows_can_be_merged_and_shown(files, tmp_path):
    a, b, out = (tmp_path / f"{name}.parquet" for name in ("a", "b", "out"))
    for path, model in zip(files, (a, b), strict=False):
        fit(path, model)
    done = run("merge", a, b, "-o", out)
    assert done.exit_code == 0
    assert "Note: Not all of these models keep their rows" in done.stderr
    assert "--keep-rows" in done.stderr
    assert "The file holds no row." in good("show", out)
    rest = tmp_path / "rest.parquet"
    good("forget", out, files[1], "-o", rest)  # counts of pairs were moved, and are not below 0 after that
    assert nv.load(rest).counts_.rows.sum() == HALF
    assert np.isfinite(nv.load(rest).predict_proba(ROWS)).all()


def test_counts_are_kept_by_file_with_the_default_model(tmp_path):
    days = tmp_path / "days"
    days.mkdir()
    for day in range(3):
        cases.write_csv(days / f"{day}.csv", ROWS.slice(EACH * day, EACH))
    out, kept = tmp_path / "m.parquet", ("--keep-counts", tmp_path / "kept")
    how = ("fit", days, "-t", "label", "-o", out, *kept)
    said = json.loads(good(*how, "--cv", "3", "--fade", "0.5", "--json"))
    assert said["rows"] == pytest.approx(EACH * 1.75)
    assert 0 < said["scores"]["log_loss"] < said["textbook_scores"]["log_loss"] + 0.1
    assert nv.load(out).kept_rows_.rows == 0
    assert json.loads(good(*how, "--keep-rows", "--json"))["read"] == []
    assert nv.load(out).kept_rows_.rows == 3 * EACH
    said = bad(2, *how, "--no-keep-rows")
    assert "keeps counts with --keep-rows, and now --no-keep-rows. Use the same, or another folder." in said
    assert "--fade" in bad(2, *how, "--fade", "2")
    assert "--fade 0.5 needs --keep-counts" in bad(2, "fit", days, "-t", "label", "--fade", "0.5")
