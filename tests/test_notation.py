"""Numbers as people write them are the numbers they are: in files, in memory, row by row, and after saving."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner
from numpy.testing import assert_array_equal

import naively as nv
from naively.cli import main
from naively.data.cell_format import CellFormat, Unclear, notation, number_from, numbers_from
from naively.errors import InvalidInput, InvalidSetting, UnreadableRows
from naively.files import columns as columns

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


@pytest.mark.parametrize("kind", ["parquet", "json"])
def test_texts_in_files_of_known_types_are_numbers_too(tmp_path, kind):
    table = as_written("dollars, grouped").assign(y=LABELS)
    path = tmp_path / f"t.{kind}"
    if kind == "parquet":
        table.to_parquet(path)
    else:
        path.write_text("\n".join(json.dumps(row) for row in table.to_dict("records")) + "\n")
    nb = nv.NaiveBayes(model="textbook").fit(path, target="y")
    assert nb.counts_ == nv.count(table.assign(price=amounts()), target="y")
    assert_array_equal(nb.predict_proba(path), nb.predict_proba(table.drop(columns="y")))


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


@pytest.mark.parametrize(
    ("texts", "sign"), [(["1,234", "999"], ","), (["1.234 €", "999 €"], "."), (["1,234", "5.678"], ",")]
)
def test_what_may_mean_two_things_is_unclear(texts, sign):
    assert isinstance(found := notation(pa.array(texts)), Unclear)
    assert found.sign in (sign, ".")


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


def test_a_family_of_numbers_takes_texts_that_are_numbers():
    nb = nv.NaiveBayes(families={"price": "bins"}, model="textbook").fit(as_written("dollars"), LABELS)
    assert nb.predict({"price": "$5.00", "colour": "red"})[0] in LABELS
    with pytest.raises(InvalidSetting, match="'colour' holds text"):
        nv.NaiveBayes(families={"colour": "gaussian"}).fit(as_written("dollars"), LABELS)


def test_a_target_is_never_converted(tmp_path):
    table = pd.DataFrame({"x": [1, 2, 3, 4], "y": ["$1", "$2", "$1", "$2"]})
    table.to_csv(tmp_path / "t.csv", index=False)
    for source in (table, tmp_path / "t.csv"):
        assert nv.count(source, target="y").classes.labels == ("$1", "$2")


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
