"""The report as people ask for it: on the command line and in Python; which rows it holds and how they are scored."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner

import naively as nv
from naively.cli import main
from naively.estimator.html_report import json_cell

from .tables import penguins, unpacked_data


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with a model of half of the penguins, its rows, and the other half."""
    folder = tmp_path_factory.mktemp("report")
    X, y = penguins()
    table = X.assign(species=y)
    table[::2].to_csv(folder / "even.csv", index=False)
    table[1::2].to_csv(folder / "odd.csv", index=False)
    for name in ("even", "odd"):
        done = run("fit", folder / f"{name}.csv", "--target", "species", "-o", folder / f"{name}.parquet", "-q")
        assert done.exit_code == 0, done.output
    return folder


def run(*arguments):
    """Run a command."""
    return CliRunner().invoke(main, [str(one) for one in arguments])


def data_of(folder, *arguments):
    """Return the data of a page that the command writes."""
    done = run("report", *arguments, "-o", folder / "r.html")
    assert done.exit_code == 0, done.output
    return unpacked_data((folder / "r.html").read_text(encoding="utf-8"))


def test_a_report_of_the_rows_of_the_fit_scores_each_of_them_without_its_fold(files, tmp_path):
    data = data_of(tmp_path, files / "even.parquet", files / "even.csv")
    left_out = nv.load(files / "even.parquet").leave_one_out(files / "even.csv", target="species")

    assert data["quality"]["source"]["kind"] == "folds"
    assert data["rows"]["fitted_on"] is True
    assert data["quality"]["figures"]["log_loss"][0] == pytest.approx(left_out.log_loss, abs=1e-4)
    assert np.allclose(data["rows"]["posterior"], left_out.posterior, atol=1e-5)
    assert data["title"] == "even.parquet"


@pytest.mark.parametrize("kind", ["file", "table"])
def test_a_report_of_other_rows_scores_them_as_they_are(files, tmp_path, kind):
    """Read once from a file and once from memory; its cells are those of the rows that it holds."""
    fitted, rows = nv.load(files / "even.parquet"), pd.read_csv(files / "odd.csv")
    if kind == "file":
        data = data_of(tmp_path, files / "even.parquet", files / "odd.csv", "--rows", 20)
    else:
        data = unpacked_data(fitted.report(rows, rows=20).html)
    at = np.array(data["rows"]["numbers"]) - 1

    assert data["quality"]["source"]["kind"] == "given"
    assert (data["rows"]["total"], len(at)) == (len(rows), 20)
    assert np.allclose(data["rows"]["posterior"], fitted.predict_proba(rows)[at], atol=1e-5)
    classes = data["flat"]["classes"]
    assert [classes[k] for k in data["rows"]["truth"]] == rows.species.to_numpy()[at].tolist()
    assert data["rows"]["columns"] == list(fitted.schema_.names)
    for name, cells in zip(data["rows"]["columns"], data["rows"]["cells"], strict=True):
        assert cells == [None if pd.isna(cell) else cell for cell in rows[name].to_numpy()[at]]


@pytest.mark.parametrize("most", [0, 1, 7])
def test_a_report_holds_so_many_rows(files, tmp_path, most):
    data = data_of(tmp_path, files / "even.parquet", files / "odd.csv", "--rows", most)
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert len(data["rows"]["truth"] if data["rows"] else []) == most
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["missing.parquet"], 1, "missing.parquet"),
        (["{}/even.parquet", "nowhere.csv"], 1, "nowhere.csv"),
        (["{}/even.parquet", "{}/odd.csv", "--target", "specie"], 2, "did you mean 'species'"),
        (["{}/even.parquet", "--target", "species"], 2, "--target names a column of files"),
        (["{}/even.parquet", "--weight", "year"], 2, "--weight names a column of files"),
        (["{}/even.parquet", "--rows", "-1"], 2, "--rows"),
        (["{}/even.parquet", "--language", "fr"], 2, "'en', 'zh'"),
        (["{}/even.parquet", "--compare", "{}/even.csv"], 1, "even.csv"),
    ],
)
def test_a_mistake_gets_a_sentence_and_leaves_no_file(files, tmp_path, arguments, code, said):
    done = run("report", *(one.format(files) for one in arguments), "-o", tmp_path / "r.html")
    assert done.exit_code == code, done.output
    assert said in done.output
    assert "Traceback" not in done.output
    assert not list(tmp_path.iterdir())


# -- in Python ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_tables_of_every_library_give_the_same_page(library):
    """And so does a table that has the classes as a column."""
    table = {"sky": ["sun", "rain", None, "sun"] * 20, "wind": [1.0, None, 3.5, 2.0] * 20}
    y = ["out", "in", "in", "out"] * 20
    nb = nv.NaiveBayes().fit(table | {"go": y}, target="go")
    report = nb.report(library(table), y, title="sky")
    assert unpacked_data(report.html)["rows"]["cells"] == [table["sky"], table["wind"]]
    assert (
        report.html == nb.report(table, y, title="sky").html == nb.report(library(table | {"go": y}), title="sky").html
    )


def test_a_page_is_saved_whole_or_not_at_all(tmp_path, fitted):
    report = fitted[0].report()
    assert report.save(tmp_path / "r.html").read_text(encoding="utf-8") == report.html
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]
    assert "KB" in repr(report)
    with pytest.raises(nv.errors.UnwritableFile, match="no folder"):
        report.save(tmp_path / "no folder" / "r.html")


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(fitted):
    html = fitted[0].report(title='"><script>alert(1)</script>')._repr_html_()
    assert html.startswith("<iframe ")
    assert 'sandbox="allow-scripts"' in html
    assert html.count("<") == 2  # everything inside is an attribute


@pytest.mark.parametrize(
    ("options", "said"),
    [({"rows": -1}, "rows"), ({"language": "fr"}, "'zh'"), ({"words": -2}, "words"), ({"y": ["Adelie"]}, "no rows")],
)
def test_settings_of_a_report_are_checked(fitted, options, said):
    with pytest.raises(nv.errors.InvalidInput if "y" in options else nv.errors.InvalidSetting, match=said):
        fitted[0].report(**options)


def test_cells_of_every_type_are_json(fitted):
    cells = [None, float("nan"), float("inf"), Decimal("1.5"), datetime.date(2026, 1, 2), True, "ü", 7]
    assert [json_cell(cell) for cell in cells] == [None, None, None, 1.5, "2026-01-02", True, "ü", 7]
    rng = np.random.default_rng(0)
    days = pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 200), unit="D")
    table = pd.DataFrame({"day": days, "member": rng.random(200) < 0.5})
    y = np.where(table.day.dt.month > 5, "late", "early")
    nb = nv.NaiveBayes().fit(table, y)
    rows = unpacked_data(nb.report(table, y).html)["rows"]
    assert dict(zip(rows["columns"], rows["cells"], strict=True))["member"] == table.member.tolist()
