"""What cells hold: texts for missing values, and numbers as people write them; in files, in memory and row by row."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner
from numpy.testing import assert_array_equal

import naively as nv
from naively.cli import main
from naively.data.cell_format import CellFormat, notation, number_from, numbers_from
from naively.errors import InvalidInput, UnreadableRows
from naively.files import columns as columns

PENGUINS = pd.read_csv(Path(__file__).parent.parent / "examples" / "penguins.csv", dtype=str, keep_default_na=False)
MEASURED = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
EVERYWHERE = ["NULL", "nan", "None", "n/a", "#N/A", "<NA>", "null", "?", "", "NaN", "-nan", "1.#QNAN"]
AMONG_NUMBERS = ["none", "na", "Null", "NONE", "-", ".", "unknown", "Missing", "  ", " NA ", "--", "—", "#DIV/0!"]


def book(source, **how):
    """Return the textbook model of a table of penguins."""
    return nv.NaiveBayes(model="textbook", **how).fit(source, target="species")


def file_of(path, frame, **how):
    """Write a frame as CSV, every cell as it is."""
    frame.to_csv(path, index=False, **how)
    return path


def marked(text, names):
    """Return the penguins with another text for missing values in some columns."""
    changed = PENGUINS.copy()
    changed[names] = changed[names].replace("NA", text)
    return changed


@pytest.fixture(scope="module")
def usual():
    """Return the model of the penguins as they were published, with NA."""
    numbers = PENGUINS.copy()
    numbers[MEASURED] = numbers[MEASURED].replace("NA", None).astype(float)
    return book(numbers.replace("NA", None).assign(year=numbers["year"].astype(int)))


# -- missing values ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "marks"), [*((text, list(PENGUINS)) for text in EVERYWHERE), *((text, MEASURED) for text in AMONG_NUMBERS)]
)
def test_names_for_no_value_are_missing_in_any_column_and_more_of_them_among_numbers(tmp_path, usual, text, marks):
    table = marked(text, marks)
    assert book(file_of(tmp_path / "t.csv", table)).counts_ == usual.counts_
    assert book(table).counts_ == usual.counts_


def test_null_decides_and_nothing_else_is_missing_then(tmp_path):
    table = marked("nothing", MEASURED)
    path = file_of(tmp_path / "t.csv", table)
    given = book(nv.File(path, null=["nothing"]))
    assert given.counts_.columns["body_mass_g"].n.sum() == 342
    assert "NA" in given.counts_.columns["sex"].values.labels
    assert given.predict_proba({**asked(given), "body_mass_g": "nothing"}).shape == (1, 3)
    with pytest.raises(InvalidInput, match="now holds 'NA'"):
        given.predict({**asked(given), "body_mass_g": "NA"})


def asked(nb):
    """Return one row for a model of penguins."""
    values = {"whole": 200, "number": 40.5, "text": "Dream"}
    return {column.name: values[column.type] for column in nb.schema_}


@pytest.mark.parametrize("text", ["NULL", "None", "?"])
def test_the_same_texts_are_missing_when_asked_in_any_form(tmp_path, text):
    table = marked(text, list(PENGUINS))
    nb = book(file_of(tmp_path / "t.csv", table))
    nb.save(tmp_path / "m.parquet")
    again, frame = nv.load(tmp_path / "m.parquet"), table.drop(columns="species")
    expected = nb.predict_proba(frame.replace(text, None))
    for model in (nb, again):
        assert_array_equal(model.predict_proba(tmp_path / "t.csv"), expected)
        assert_array_equal(model.predict_proba(frame), expected)
        rows = [model.predict_proba(row) for row in frame.head(20).to_dict("records")]
        assert_array_equal(np.vstack(rows), expected[:20])


# -- what is said ------------------------------------------------------------------------------------------------------


def run(*arguments):
    """Return what a command prints."""
    done = CliRunner().invoke(main, [str(one) for one in arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_the_report_names_the_texts_and_how_many_cells(tmp_path):
    table = marked("NULL", list(PENGUINS))
    table.loc[10:13, "body_mass_g"] = "-"
    path = file_of(tmp_path / "t.csv", table)
    said = run("fit", path, "--target", "species", "--model", "textbook", "--cv", 0)
    assert "Missing values: 23 of 2,408 cells (1.0 %), in 5 columns: NULL 19, - 4. They are skipped." in " ".join(
        said.split()
    )
    facts = json.loads(run("fit", path, "--target", "species", "--model", "textbook", "--cv", 0, "--json"))
    assert facts["missing_markers"]["body_mass_g"] == {"-": 4, "NULL": 2}
    assert sum(sum(none.values()) for none in facts["missing_markers"].values()) == facts["missing"] == 23
    assert any("'-' (4 cells of 'body_mass_g')" in note for note in facts["notes"])


def test_reading_cells_does_not_import_pandas(tmp_path):
    """Arrow imports it where it is given lists or plain numbers, and that takes longer than most commands."""
    import subprocess
    import sys

    table = marked("unknown", MEASURED)
    table["price"], table["flag"] = [f"${at:,}.50" for at in range(0, 4 * len(table), 4)], "true"
    path = file_of(tmp_path / "t.csv", table)
    asked = f"import sys, naively; list(naively.File({str(path)!r}).batches()); print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# -- numbers as people write them are the numbers they are -------------------------------------------------------------

ROWS = 200
LABELS = np.array(["dear", "cheap"])[np.arange(ROWS) % 2]


def amounts(below=True):
    """Return numbers from about -3,000 to 20,000, to the cent."""
    rng = np.random.default_rng(3)
    found = np.round(np.exp(rng.normal(6, 1.5, ROWS)) * np.where(LABELS == "dear", 2, 1), 2)
    return np.where(rng.random(ROWS) < 0.1, -found, found) if below else found


def comma(text):
    """Return a number with the comma and the point exchanged, as in most of Europe."""
    return text.translate(str.maketrans(",.", ".,"))


WAYS = {
    "plain": lambda x: f"{x:.2f}",
    "dollars": lambda x: f"${x:.2f}" if x >= 0 else f"-${-x:.2f}",
    "dollars, grouped": lambda x: f"${x:,.2f}",
    "euros behind": lambda x: f"{x:.2f} €",
    "euros, European": lambda x: comma(f"{x:,.2f}") + " €",
    "percent": lambda x: f"{x:.2f}%",
    "percent, blank": lambda x: f"{x:.2f} %",
    "thousands": lambda x: f"{x:,.2f}",
    "decimal comma": lambda x: comma(f"{x:.2f}"),
    "blanks and a comma": lambda x: comma(f"{x:,.2f}").replace(".", " "),
    "narrow blanks": lambda x: comma(f"{x:,.2f}").replace(".", "\u202f"),
    "apostrophes": lambda x: f"{x:,.2f}".replace(",", "'"),
    "parentheses": lambda x: f"{x:,.2f}" if x >= 0 else f"({-x:,.2f})",
    "exponents": lambda x: f"{x:.10e}",
    "true minus": lambda x: f"{x:.2f}".replace("-", "\u2212"),
    "blanks around": lambda x: f" {x:.2f} ",
}


def as_written(way):
    """Return a column of numbers written in a way, and a column of labels beside."""
    return pd.DataFrame(
        {"price": [WAYS[way](x) for x in amounts()], "colour": np.array(["red", "blue"])[np.arange(ROWS) % 3 % 2]}
    )


@pytest.mark.parametrize("way", WAYS)
def test_each_notation_is_the_plain_number_to_the_last_bit(tmp_path, way):
    table = as_written(way)
    plain = table.assign(price=amounts())
    expected = nv.NaiveBayes(model="textbook").fit(plain, LABELS)
    path = tmp_path / "t.csv"
    table.assign(y=LABELS).to_csv(path, index=False)

    for nb in (
        nv.NaiveBayes(model="textbook").fit(table, LABELS),
        nv.NaiveBayes(model="textbook").fit(path, target="y"),
    ):
        assert nb.schema_["price"].type == "number"
        assert nb.counts_ == expected.counts_
        nb.save(tmp_path / "m.parquet")
        for model in (nb, nv.load(tmp_path / "m.parquet")):
            answers = expected.predict_proba(plain)
            assert_array_equal(model.predict_proba(table), answers)
            assert_array_equal(model.predict_proba(path), answers)
            assert_array_equal(model.predict_proba(table.head(9)), answers[:9])
            rows = [model.predict_proba(row) for row in table.head(9).to_dict("records")]
            assert_array_equal(np.vstack(rows), answers[:9])


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pa.table, pl.DataFrame, lambda t: pd.DataFrame(t).to_dict("records"), dict]
)
def test_numbers_as_texts_are_numbers_in_any_table(make):
    table = {"x": [str(i % 7) for i in range(40)], "c": ["u", "v", "None", "w"] * 10}
    nb = nv.NaiveBayes(model="textbook").fit(make(table), ["a", "b"] * 20)
    assert (nb.schema_["x"].type, nb.schema_["c"].type) == ("whole", "text")
    assert nb.counts_ == nv.count({"x": [i % 7 for i in range(40)], "c": ["u", "v", None, "w"] * 10}, ["a", "b"] * 20)


# -- which notation it is ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1,23", "1,234"], [1.23, 1.234]),
        (["12,3456", "1,234"], [12.3456, 1.234]),
        (["0,123", "1,234"], [0.123, 1.234]),
        (["1,234", "1,234,567"], [1234, 1234567]),
        (["1,234", "0.5"], [1234, 0.5]),
        (["1.234", "56,7"], [1234, 56.7]),
        (["1.234.567", "1.234"], [1234567, 1234]),
        (["1 234", "12"], [1234, 12]),
        (["$-5", "-$5", "($5)", "$ 5"], [-5, -5, -5, 5]),
        (["USD 5", "USD 6.5"], [5, 6.5]),
    ],
)
def test_all_cells_decide_what_a_comma_means(texts, values):
    found = notation(pa.array(texts))
    assert numbers_from(pa.array(texts), found).to_pylist() == values
    assert [number_from(text, found) for text in texts] == values


@pytest.mark.parametrize(
    "texts",
    [
        ["00123", "10115"],
        ["555 123 456", "555 987 654"],
        ["+49 170 123", "12"],
        ["12.345.678", "87.654.321"],
        ["$5", "5"],
        ["$5", "€5"],
        ["5 %", "5 €"],
        ["12 kg", "3 kg"],
        ["2024-01-05", "2024-01-06"],
        ["1.2.3", "1.2.4"],
        ["1,2,3", "4,5"],
        ["192.168.1.1", "10.0.0.1"],
        ["5-7", "8"],
    ],
)
def test_codes_telephones_dates_and_mixed_units_are_no_numbers(texts):
    assert notation(pa.array(texts)) is None
    assert nv.Schema((*nv.count({"x": texts * 9}, ["a", "b", "b"] * 6).schema,))["x"].type == "text"


def test_unclear_columns_stay_labels_until_somebody_says_what_is_meant(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("price;y\n" + "".join(f"{1 + i % 9},{i:03};{'ab'[i % 2]}\n" for i in range(60)))
    nb = nv.NaiveBayes(model="textbook").fit(path, target="y")
    assert nb.schema_["price"].type == "text"
    (said,) = (hint for hint in nb.schema_.hints if "'price'" in hint)
    assert "nothing shows what ',' means" in said
    assert said.endswith("thousands=',' or decimal=','")
    told = " ".join(CliRunner().invoke(main, ["fit", str(path), "-t", "y", "--cv", "0"]).output.split())
    assert "read the file with --thousands , or --decimal ," in told

    grouped, divided = (nv.count(nv.File(path, **how), target="y") for how in ({"thousands": ","}, {"decimal": ","}))
    assert grouped.columns["price"].overall().mean[0, 0] == pytest.approx(
        1000 * divided.columns["price"].overall().mean[0, 0]
    )


# -- who decides -------------------------------------------------------------------------------------------------------


def test_a_cell_written_otherwise_is_an_error_that_says_how(tmp_path, monkeypatch):
    nb = nv.NaiveBayes(model="textbook").fit(as_written("dollars, grouped"), LABELS)
    wrong = as_written("dollars, grouped")
    wrong.loc[100, "price"] = "a lot"
    for rows in (wrong, {"price": "a lot", "colour": "red"}):
        with pytest.raises(InvalidInput, match=r"'price' held numbers written as \$1,234\.5 .* now holds 'a lot'"):
            nb.predict(rows)
    monkeypatch.setattr(columns, "LOOKED_AT", 50)
    wrong.assign(y=LABELS).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(UnreadableRows, match=r"line 102: column 'price' holds 'a lot' here, but numbers"):
        nv.count(tmp_path / "t.csv", target="y")


# -- what is said ------------------------------------------------------------------------------------------------------


def test_the_notation_is_reported_and_kept(tmp_path):
    as_written("dollars, grouped").assign(y=LABELS).to_csv(tmp_path / "t.csv", index=False)
    nb = nv.NaiveBayes(model="textbook").fit(tmp_path / "t.csv", target="y")
    assert nb.schema_.hints[0].startswith("'price' holds numbers written as $1,234.5, and they are read as numbers")
    assert nb.schema_["price"].written == CellFormat(thousands=",", prefix="$")
    assert (
        nv.Schema.from_json(json.loads(json.dumps(nb.schema_.to_json())))["price"].written
        == nb.schema_["price"].written
    )
    done = CliRunner().invoke(main, ["fit", str(tmp_path / "t.csv"), "-t", "y", "--json", "--cv", "0"])
    written = {column["name"]: column["notation"] for column in json.loads(done.output)["columns"]}
    assert written == {"price": "$1,234.5", "colour": None}
