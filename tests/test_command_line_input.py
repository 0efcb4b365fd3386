"""Input of the commands: files that differ from those of the fit, options, and the errors about them."""

from __future__ import annotations

import json
import re
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import naively as nv
from naively.cli import main


def run(*words: Any, fails: bool = False) -> str:
    """Run a command, and return what it printed; an error as a person sees it."""
    result = CliRunner().invoke(main, list(map(str, words)))
    assert (result.exit_code != 0) is fails, result.output
    assert "This is a bug" not in result.output
    return result.output


def write(path: Path, head: str, rows: list[str]) -> Path:
    """Write a CSV."""
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def money(tmp_path: Path) -> Path:
    """Return a model of prices such as $1,234.50."""
    rows = [f'"${1000 + 7 * k:,}.50",p' for k in range(20)] + [f"${20 + k}.50,q" for k in range(20)]
    run("fit", write(tmp_path / "money.csv", "a,cls", rows), "-t", "cls", "-o", tmp_path / "m.parquet")
    return tmp_path / "m.parquet"


# -- numbers as they were learned --------------------------------------------------------------------------------------


def test_a_model_of_prices_reads_plain_numbers_alike(money: Path, tmp_path: Path) -> None:
    answers = []
    for text in ('"$1,050.50"', "1050.50", '"1,050.50"'):
        out = tmp_path / "out.csv"
        run("predict", money, write(tmp_path / "new.csv", "a", [text]), "-o", out, "--only-answers")
        answers.append(out.read_text())
    assert answers[0] == answers[1] == answers[2]
    assert "p" in answers[0]


@pytest.mark.parametrize(
    ("text", "number"), [("1234", 1234.0), ("1234,5", 1234.5), ("1234.5", 1234.5), ("0.234", 0.234), ("1.5", 1.5)]
)
def test_plain_numbers_are_read_beside_a_decimal_comma(text: str, number: float) -> None:
    from naively.data.cell_format import CellFormat
    from naively.data.cells import CellType, convert_cells, one_number

    euros = CellFormat(decimal=",", thousands=".", suffix=" €")
    assert convert_cells(pa.array([text, "1.234,50 €", None]), CellType(pa.float64(), euros))[0].to_pylist() == [
        number,
        1234.5,
        None,
    ]
    assert one_number(text, euros) == number


def test_a_point_that_may_group_thousands_is_refused_with_a_decimal_comma(tmp_path: Path) -> None:
    rows = [f'"{k},5 €",{"pq"[k % 2]}' for k in range(20)]
    model = tmp_path / "m.parquet"
    run("fit", write(tmp_path / "e.csv", "a,cls", rows), "-t", "cls", "-o", model)
    said = run("predict", model, write(tmp_path / "new.csv", "a", ["1.234"]), fails=True)
    assert "'1.234'" in said
    assert "in training" in said


def test_the_error_about_a_cell_of_another_type_names_no_option_of_fit(money: Path, tmp_path: Path) -> None:
    said = run("predict", money, write(tmp_path / "new.csv", "a", ["$5", "soon"]), fails=True)
    assert "line 3" in said
    assert "held numbers such as $1,234.5 in training" in said
    assert "--family" not in said
    assert "read first" not in said
    assert "--also-null soon" in said


def test_a_percent_sign_may_not_be_omitted(tmp_path: Path) -> None:
    rows = [f"{k}.5 %,{'pq'[k % 2]}" for k in range(20)]
    model = tmp_path / "m.parquet"
    run("fit", write(tmp_path / "e.csv", "a,cls", rows), "-t", "cls", "-o", model)
    assert "'0.34'" in run("predict", model, write(tmp_path / "new.csv", "a", ["0.34"]), fails=True)


def test_weights_that_are_texts_have_an_error_of_their_own(tmp_path: Path) -> None:
    path = write(tmp_path / "w.csv", "a,b,cls", ["1,x,p", "2,y,q", "3,x,p"])
    said = run("fit", path, "-t", "cls", "--weight", "b", fails=True)
    assert "weights must be numbers" in said
    assert "--family" not in said


# -- texts that stand for no value -------------------------------------------------------------------------------------


def test_a_text_is_added_to_the_usual_missing_values(tmp_path: Path) -> None:
    rows = [f"{k},{'pq'[k % 2]}" for k in range(20)] + ["TBD,p", "NA,q", "unknown,p", ",q"]
    path = write(tmp_path / "t.csv", "a,cls", rows)
    facts = json.loads(run("fit", path, "-t", "cls", "--also-null", "TBD", "--json"))
    assert facts["missing_markers"]["a"] == {"": 1, "TBD": 1, "NA": 1, "unknown": 1}
    held = nv.File(path, null=[..., "TBD"]).schema(apart=["cls"])
    assert held["a"].type == "whole"


@pytest.mark.parametrize("share", [3, 30])
def test_the_advice_on_an_unknown_text_for_missing_values_works(tmp_path: Path, share: int) -> None:
    rows = [f"{k},{'pq'[k % 2]}" for k in range(60)] + ["TBD,p"] * share + ["NA,q"] * 3
    path = write(tmp_path / "t.csv", "a,cls", rows)
    notes = " ".join(json.loads(run("fit", path, "-t", "cls", "--json"))["notes"])
    assert "--also-null TBD" in notes
    facts = json.loads(run("fit", path, "-t", "cls", "--also-null", "TBD", "--json"))
    assert facts["missing"] == share + 3


def test_a_model_remembers_what_was_added_to_the_usual_missing_values(tmp_path: Path) -> None:
    rows = [f"{k},{'pq'[k % 2]}" for k in range(20)] + ["TBD,p"]
    model = tmp_path / "m.parquet"
    run("fit", write(tmp_path / "t.csv", "a,cls", rows), "-t", "cls", "--also-null", "TBD", "-o", model)
    out = tmp_path / "out.csv"
    run("predict", model, write(tmp_path / "new.csv", "a", ["TBD", "NA", "3"]), "-o", out)
    assert len(out.read_text().splitlines()) == 4


# -- what is written, and what is lost by it ---------------------------------------------------------------------------


def test_no_command_writes_over_the_rows_it_reads_or_the_model_it_uses(money: Path, tmp_path: Path) -> None:
    rows = write(tmp_path / "rows.csv", "a,cls", ["$25.50,q", "$26.50,q"])
    (tmp_path / "link.csv").symlink_to(rows)
    before = rows.read_bytes(), money.read_bytes()
    for words in (
        ("fit", rows, "-t", "cls", "-o", rows),
        ("fit", tmp_path / "r*.csv", "-t", "cls", "-o", rows),
        ("predict", money, rows, "-o", rows),
        ("predict", money, rows, "-o", tmp_path / "link.csv"),
        ("predict", money, rows, "-o", money, "--to", "csv"),
        ("forget", money, rows, "-o", rows),
    ):
        assert "would be overwritten" in run(*words, fails=True)
        assert (rows.read_bytes(), money.read_bytes()) == before
    run("forget", money, rows, "-o", money)  # the model without them takes the place of the one with them
    assert money.read_bytes() != before[1]


# -- columns that are not there ----------------------------------------------------------------------------------------


def test_the_error_about_an_unknown_column_lists_the_columns(money: Path, tmp_path: Path) -> None:
    said = run("predict", money, write(tmp_path / "new.csv", "first,second", ["1,2"]), fails=True)
    assert "no column 'a'; the columns are 'first', 'second'." in said


def test_a_column_that_differs_by_blanks_or_case_is_suggested(tmp_path: Path) -> None:
    rows = write(tmp_path / "t.csv", "Day Of Week,cls", ["1,p", "2,q", "1,p", "2,q"])
    model = tmp_path / "m.parquet"
    run("fit", rows, "-t", "cls", "-o", model)
    said = run("predict", model, write(tmp_path / "n.csv", "other,DAYOFWEEK", ["1,2"]), fails=True)
    assert "did you mean 'DAYOFWEEK'?" in said


# -- advice that can be followed ---------------------------------------------------------------------------------------


def test_forget_skips_rows_without_a_class_with_its_option(tmp_path: Path) -> None:
    rows = [f"{k},{'pq'[k % 2]}" for k in range(20)]
    model, out = tmp_path / "m.parquet", tmp_path / "out.parquet"
    run("fit", write(tmp_path / "t.csv", "a,cls", rows), "-t", "cls", "-o", model)
    few = write(tmp_path / "few.csv", "a,cls", ["1,q", "2,"])
    assert "--unlabelled skip" in run("forget", model, few, "-o", out, fails=True)
    assert "1 rows removed, 19 left" in run("forget", model, few, "-o", out, "--unlabelled", "skip")
    assert nv.load(out).unlabelled == "error"


def test_advice_on_the_command_line_holds_no_python(tmp_path: Path) -> None:
    days = write(tmp_path / "d.csv", "a,cls", [f"{k},2024-01-{k + 10} 12:00:00" for k in range(20)])
    said = run("fit", days, "-t", "cls", fails=True)
    assert "y.dt" not in said
    assert "write them as texts such as '2024'" in said
    rows = write(tmp_path / "t.csv", "a,cls", [f"{k},{'pq'[k % 2]}" for k in range(20)])
    said = run("fit", rows, "-t", "cls", "--family", "a=foo", fails=True)
    assert "names no family" in said
    assert "nv." not in said
    model = tmp_path / "m.parquet"
    run("fit", rows, "-t", "cls", "--class-weight", "balanced", "-o", model)
    said = run("forget", model, rows, "-o", tmp_path / "o.parquet", fails=True)
    assert "--class-weight spam=3" in said
    assert "{" not in said


def test_one_row_is_too_few_for_folds(tmp_path: Path) -> None:
    said = run("fit", write(tmp_path / "t.csv", "a,cls", ["1,p"]), "-t", "cls", fails=True)
    assert "There is 1 row" in said
    assert "--cv 0" in said


# -- files of different formats ----------------------------------------------------------------------------------------

ROWS = {"a": [1, 2, 3, 4] * 5, "b": ["x", "y", "x", "z"] * 5, "cls": ["p", "q", "p", "q"] * 5}


def saved(folder: Path, kind: str) -> Path:
    """Write the same rows in one of several formats, some with other types."""
    table, path = pa.table(ROWS), folder / f"rows.{kind}"
    if kind == "csv":
        return write(path, "a,b,cls", [",".join(map(str, row.values())) for row in table.to_pylist()])
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
def test_files_of_different_formats_are_read_as_one(tmp_path: Path, first: str, second: str) -> None:
    table = pa.table(ROWS)
    twice = pa.concat_tables([table, table])
    own = nv.count(twice.drop_columns(["cls"]), ROWS["cls"] * 2)
    files = [saved(tmp_path, first), saved(tmp_path, second)]
    counts = nv.count(nv.File(files), target="cls")
    assert counts.rows.tolist() == own.rows.tolist()
    assert counts.columns["a"].n.tolist() == own.columns["a"].n.tolist()
    assert counts.columns["b"].values.labels == own.columns["b"].values.labels
    model, out = tmp_path / "m.parquet", tmp_path / "out.csv"
    run("fit", *files, "-t", "cls", "-o", model)
    run("predict", model, *files, "-o", out)
    assert len(out.read_text().splitlines()) == 41


def test_numbers_in_one_file_and_labels_in_another_are_labels(tmp_path: Path) -> None:
    labels = write(tmp_path / "l.csv", "a,b,cls", ["low,x,p", "high,y,q"] * 5)
    for files in ([saved(tmp_path, "parquet"), labels], [labels, saved(tmp_path, "parquet")]):
        counts = nv.count(nv.File(files), target="cls")
        assert {"1", "4", "low", "high"} <= set(counts.columns["a"].values.labels)


# -- how many cells are missing ----------------------------------------------------------------------------------------


def test_cells_of_skipped_rows_are_not_counted_as_missing(tmp_path: Path) -> None:
    rows = [f"{k if k else 'NA'},{'pq'[k % 2]}" for k in range(10)] + [","] * 20
    path = write(tmp_path / "t.csv", "a,cls", rows)
    said = run("fit", path, "-t", "cls", "--unlabelled", "skip")
    assert "Missing values: 1 of 10 cells (10.0 %)" in said
    assert "20 rows were skipped because cls is missing" in said
    facts = json.loads(run("fit", path, "-t", "cls", "--unlabelled", "skip", "--json"))
    assert (facts["rows"], facts["missing"], facts["unlabelled"]) == (10, 1, 20)
    kept = ("--unlabelled", "skip", "--json", "--keep-counts", tmp_path / "kept")
    for _ in range(2):  # counted, and as it was kept
        facts = json.loads(run("fit", path, "-t", "cls", *kept))
        assert (facts["missing"], facts["unlabelled"]) == (1, 20)


@pytest.mark.parametrize("weighed", [("--weight", "w"), ("--class-weight", "p=3"), ()])
def test_the_table_of_columns_and_the_line_below_agree_on_missing_cells(tmp_path: Path, weighed: Any) -> None:
    rows = [f"{k if k % 3 else ''},{1 + k % 2},{'pq'[k % 2]}" for k in range(60)]
    ignored = () if weighed[:1] == ("--weight",) else ("--ignore", "w")
    path = write(tmp_path / "t.csv", "a,w,cls", rows)
    facts = json.loads(run("fit", path, "-t", "cls", *weighed, *ignored, "--json"))
    assert facts["missing"] == 20
    assert [column["missing"] for column in facts["columns"]] == [20]


# -- why an answer is given --------------------------------------------------------------------------------------------


def test_an_explanation_is_about_the_answer_that_costs_decide(tmp_path: Path) -> None:
    rows = [f"{'xy'[k >= 30]},{1 + (k % 5 >= (3 if k < 30 else 1))}" for k in range(60)]
    path, model, out = write(tmp_path / "t.csv", "a,cls", rows), tmp_path / "m.parquet", tmp_path / "o.jsonl"
    run("fit", path, "-t", "cls", "--model", "textbook", "-o", model)
    plain = json.loads(run("explain", model, path, "--json"))
    assert (plain["answer"], plain["most_probable"]) == (1, 1)
    cost = ("--cost", "2,1=9")
    run("predict", model, path, "-o", out, "--why", 1, "--only-answers", "--limit", 1, *cost)
    answer = json.loads(out.read_text().splitlines()[0])
    told = json.loads(run("explain", model, path, "--json", *cost))
    assert answer["answer"] == told["answer"] == 2
    assert (told["most_probable"], told["against"]) == (1, 1)
    assert told["contributions"]["a"] == pytest.approx(-plain["contributions"]["a"]) != 0
    assert f"({told['contributions']['a']:+.2f})" in answer["why"]
    said = run("explain", model, path, *cost)
    assert said.startswith("Answer: 2 (least expected cost; most probable: 1, ")
    assert re.match(r"2 \(\d+\.\d %\) against 1 ", said.splitlines()[1])
    assert "No answer" in run("explain", model, path, "--reject", "0.0001")
    assert "1 is the answer itself; it is compared with 2." in run("explain", model, path, "--against", "1")


@pytest.mark.parametrize(("own", "other", "worse"), [(0.68944, 0.68941, False), (0.71, 0.689, True), (0.6, 0.7, False)])
def test_a_log_loss_that_is_shown_as_equal_is_not_worse(own: float, other: float, worse: bool) -> None:
    from naively.cli.fit import is_visibly_worse

    assert is_visibly_worse(*(SimpleNamespace(log_loss=x, spread={"log_loss": 0.004}) for x in (own, other))) is worse


def test_forget_notes_that_a_model_was_weighted(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,w,cls", [f"{k},2,{'pq'[k % 2]}" for k in range(20)])
    few = write(tmp_path / "few.csv", "a,w,cls", ["1,2,q"])
    model, out = tmp_path / "m.parquet", tmp_path / "o.parquet"
    run("fit", path, "-t", "cls", "--weight", "w", "-o", model)
    assert "fitted with the weights of w" in run("forget", model, few, "-o", out)
    assert "Note: rows" not in run("forget", model, few, "-o", out, "--weight", "w")
