"""Input of the commands: files that differ from those of the fit, options, and the errors about them."""

from __future__ import annotations

import json
import re
from itertools import permutations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import naively as nv

from .commands import bad, good, run, told, write_lines

NUMBERS = [f"{k},{'pq'[k % 2]}" for k in range(20)]


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test runs in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fit(head: str, rows: list[str], *options: Any, target: str = "cls") -> Path:
    """Fit a model to lines of CSV, and return its file."""
    good("fit", write_lines("t.csv", head, rows), "-t", target, "-o", "m.parquet", "--cv", 0, *options)
    return Path("m.parquet")


def new(head: str, *rows: str) -> Path:
    """Write a new file."""
    return write_lines("new.csv", head, list(rows))


@pytest.fixture
def money() -> Path:
    """Return a model of prices such as $1,234.50."""
    return fit("a,cls", [f'"${1000 + 7 * k:,}.50",p' for k in range(20)] + [f"${20 + k}.50,q" for k in range(20)])


# -- numbers as they were learned --------------------------------------------------------------------------------------


def test_a_model_of_prices_reads_plain_numbers_alike(money: Path) -> None:
    texts = ('"$1,050.50"', "1050.50", '"1,050.50"')
    answers = [good("predict", money, new("a", text), "--only-answers") for text in texts]
    assert answers[0] == answers[1] == answers[2]
    assert "p" in answers[0]
    said = bad(1, "predict", money, new("a", "$5", "soon"))
    for words in ("line 3", "held numbers such as $1,234.5 in training", "--also-null soon"):
        assert words in said
    assert "--family" not in said  # no option of fit
    assert "read first" not in said
    assert "no column 'a'; the columns are 'first', 'second'." in bad(1, "predict", money, new("first,second", "1,2"))


def test_plain_numbers_are_read_beside_a_decimal_comma() -> None:
    from naively.data.cell_format import CellFormat
    from naively.data.cells import CellType, convert_cells, one_number

    euros = CellFormat(decimal=",", thousands=".", suffix=" €")
    numbers = {"1234": 1234.0, "1234,5": 1234.5, "1234.5": 1234.5, "0.234": 0.234, "1.5": 1.5}
    cells = convert_cells(pa.array([*numbers, "1.234,50 €", None]), CellType(pa.float64(), euros))[0].to_pylist()
    assert cells == [*numbers.values(), 1234.5, None]
    assert [one_number(text, euros) for text in numbers] == list(numbers.values())


@pytest.mark.parametrize(("written", "cell"), [('"{},5 €"', "1.234"), ("{}.5 %", "0.34")])
def test_cells_of_another_notation_that_may_mean_something_else_are_refused(written: str, cell: str) -> None:
    """A point that may group thousands next to a decimal comma; a number without its percent sign."""
    model = fit("a,cls", [f"{written.format(k)},{'pq'[k % 2]}" for k in range(20)])
    said = bad(1, "predict", model, new("a", cell))
    assert f"'{cell}'" in said
    assert "in training" in said


def test_weights_that_are_texts_have_an_error_of_their_own() -> None:
    said = bad(1, "fit", new("a,b,cls", "1,x,p", "2,y,q", "3,x,p"), "-t", "cls", "--weight", "b")
    assert "weights must be numbers" in said
    assert "--family" not in said


# -- texts that stand for no value -------------------------------------------------------------------------------------


def test_a_text_is_added_to_the_usual_missing_values_and_remembered() -> None:
    path = write_lines("t.csv", "a,cls", [*NUMBERS, "TBD,p", "NA,q", "unknown,p", ",q"])
    facts = told("fit", path, "-t", "cls", "--also-null", "TBD", "-o", "m.parquet", "--cv", 0)
    assert facts["missing_markers"]["a"] == {"": 1, "TBD": 1, "NA": 1, "unknown": 1}
    assert nv.File(path, null=[..., "TBD"]).schema(apart=["cls"])["a"].type == "whole"
    assert len(good("predict", "m.parquet", new("a", "TBD", "NA", "3")).splitlines()) == 4
    path = write_lines("t.csv", "a,cls", [f"{'-' if k % 2 else k},{'pq'[k % 2]}" for k in range(40)])
    (column,) = told("fit", path, "-t", "cls", "--null", "-", "--cv", 0)["columns"]
    assert (column["type"], column["missing"]) == ("whole numbers", 20)


@pytest.mark.parametrize("share", [3, 30])
def test_the_advice_on_an_unknown_text_for_missing_values_works(share: int) -> None:
    rows = [f"{k},{'pq'[k % 2]}" for k in range(60)] + ["TBD,p"] * share + ["NA,q"] * 3
    asked = ("fit", write_lines("t.csv", "a,cls", rows), "-t", "cls", "--cv", 0)
    assert "--also-null TBD" in " ".join(told(*asked)["notes"])
    assert told(*asked, "--also-null", "TBD")["missing"] == share + 3


# -- what is written, and what is lost by it ---------------------------------------------------------------------------


def test_no_command_writes_over_the_rows_it_reads_or_the_model_it_uses(money: Path) -> None:
    rows = write_lines("rows.csv", "a,cls", ["$25.50,q", "$26.50,q"])
    Path("link.csv").symlink_to(rows)
    before = rows.read_bytes(), money.read_bytes()
    for words in (
        ("fit", rows, "-t", "cls", "-o", rows),
        ("fit", "r*.csv", "-t", "cls", "-o", rows),
        ("predict", money, rows, "-o", rows),
        ("predict", money, rows, "-o", "link.csv"),
        ("predict", money, rows, "-o", money, "--to", "csv"),
        ("forget", money, rows, "-o", rows),
        ("report", money, rows, "-o", rows),
        ("report", money, "-o", money),
        ("export", money, "-o", money, "--format", "json"),
    ):
        assert "would be overwritten" in bad(2, *words)
        assert (rows.read_bytes(), money.read_bytes()) == before
    good("forget", money, rows, "-o", money)  # the model without them takes the place of the one with them
    assert money.read_bytes() != before[1]


# -- advice that can be followed ---------------------------------------------------------------------------------------


def test_a_column_that_differs_by_blanks_or_case_is_suggested() -> None:
    model = fit("Day Of Week,cls", ["1,p", "2,q", "1,p", "2,q"])
    assert "did you mean 'DAYOFWEEK'?" in bad(1, "predict", model, new("other,DAYOFWEEK", "1,2"))


def test_advice_on_the_command_line_holds_no_python() -> None:
    days = write_lines("d.csv", "a,cls", [f"{k},2024-01-{k + 10} 12:00:00" for k in range(20)])
    said = bad(1, "fit", days, "-t", "cls")
    assert "y.dt" not in said
    assert "write them as texts such as '2024'" in said
    rows = write_lines("t.csv", "a,cls", NUMBERS)
    said = bad(2, "fit", rows, "-t", "cls", "--family", "a=foo")
    assert "names no family" in said
    assert "nv." not in said
    model = fit("a,cls", NUMBERS, "--class-weight", "balanced")
    said = bad(2, "forget", model, rows, "-o", "o.parquet")
    assert "--class-weight spam=3" in said
    assert "{" not in said
    said = bad(1, "fit", new("a,cls", "1,p"), "-t", "cls")
    assert "There is 1 row" in said
    assert "--cv 0" in said


# -- files of different formats ----------------------------------------------------------------------------------------

ROWS = {"a": [1, 2, 3, 4] * 5, "b": ["x", "y", "x", "z"] * 5, "cls": ["p", "q", "p", "q"] * 5}


def saved(kind: str) -> Path:
    """Write the same rows in one of several formats, some with other types."""
    table, path = pa.table(ROWS), Path(f"rows.{kind}")
    if kind == "csv":
        return write_lines(path, "a,b,cls", [",".join(map(str, row.values())) for row in table.to_pylist()])
    if kind == "json":
        path.write_text("\n".join(map(json.dumps, table.to_pylist())), encoding="utf-8")
    elif kind == "feather":
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as out:
            out.write_table(table)
    else:
        of = {"parquet": pa.int64(), "narrow": pa.int16(), "text": pa.string(), "decimal": pa.decimal128(21, 2)}[kind]
        pq.write_table(table.set_column(0, "a", table["a"].cast(of)), path)
    return path


@pytest.mark.parametrize(
    ("first", "second"),
    [
        *(("csv", second) for second in ("json", "feather", "parquet", "narrow", "text", "decimal")),
        *(pair for pair in permutations(["json", "feather", "parquet"], 2)),
    ],
)
def test_files_of_different_formats_are_read_as_one(first: str, second: str) -> None:
    table = pa.table(ROWS)
    own = nv.count(pa.concat_tables([table, table]).drop_columns(["cls"]), ROWS["cls"] * 2)
    files = [saved(first), saved(second)]
    counts = nv.count(nv.File(files), target="cls")
    assert counts.rows.tolist() == own.rows.tolist()
    assert counts.columns["a"].n.tolist() == own.columns["a"].n.tolist()
    assert counts.columns["b"].values.labels == own.columns["b"].values.labels
    good("fit", *files, "-t", "cls", "-o", "m.parquet", "--cv", 0)
    assert len(good("predict", "m.parquet", *files).splitlines()) == 41


# -- how many cells are missing ----------------------------------------------------------------------------------------


def test_cells_of_skipped_rows_are_not_counted_as_missing() -> None:
    path = write_lines("t.csv", "a,cls", [f"{k if k else 'NA'},{'pq'[k % 2]}" for k in range(10)] + [","] * 20)
    asked = ("fit", path, "-t", "cls", "--unlabelled", "skip")
    said = good(*asked)
    assert "Missing values: 1 of 10 cells (10.0 %)" in said
    assert "20 rows were skipped because cls is missing" in said
    for options in ((), *[("--keep-counts", "kept")] * 2):  # counted, and as it was kept
        facts = told(*asked, *options)
        assert (facts["rows"], facts["missing"], facts["unlabelled"]) == (10, 1, 20)


# -- why an answer is given --------------------------------------------------------------------------------------------


def test_an_explanation_is_about_the_answer_that_costs_decide() -> None:
    rows = [f"{'xy'[k >= 30]},{1 + (k % 5 >= (3 if k < 30 else 1))}" for k in range(60)]
    model, path = fit("a,cls", rows, "--model", "textbook"), "t.csv"
    plain = told("explain", model, path)
    assert (plain["answer"], plain["most_probable"]) == (1, 1)
    cost = ("--cost", "2,1=9")
    lines = good("predict", model, path, "--to", "jsonl", "--why", 1, "--only-answers", "--limit", 1, *cost)
    answer = json.loads(lines)
    costly = told("explain", model, path, *cost)
    assert answer["answer"] == costly["answer"] == 2
    assert (costly["most_probable"], costly["against"]) == (1, 1)
    assert costly["contributions"]["a"] == pytest.approx(-plain["contributions"]["a"]) != 0
    assert f"({costly['contributions']['a']:+.2f})" in answer["why"]
    said = good("explain", model, path, *cost)
    assert said.startswith("Answer: 2 (least expected cost; most probable: 1, ")
    assert re.match(r"2 \(\d+\.\d %\) against 1 ", said.splitlines()[1])
    assert "No answer" in good("explain", model, path, "--reject", "0.0001")
    assert "1 is the answer itself; it is compared with 2." in run("explain", model, path, "--against", "1").stderr


def test_forget_notes_that_a_model_was_weighted() -> None:
    model = fit("a,w,cls", [f"{k},2,{'pq'[k % 2]}" for k in range(20)], "--weight", "w")
    asked = ("forget", model, new("a,w,cls", "1,2,q"), "-o", "o.parquet")
    assert "fitted with the weights of w" in run(*asked).stderr
    assert "fitted with the weights" not in run(*asked, "--weight", "w").stderr
