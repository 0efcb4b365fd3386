"""What cells hold: texts for missing values, and numbers as people write them; in files, in memory and row by row."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.testing import assert_array_equal

import naively as nv
from naively.cli import main
from naively.errors import InvalidInput
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


@pytest.mark.parametrize("text", ["none", "-", ".", "unknown", "missing", "Na"])
def test_in_a_column_of_labels_they_are_labels(tmp_path, text):
    table = marked(text, ["sex"])
    for source in (table, file_of(tmp_path / "t.csv", table)):
        assert text in book(source).counts_.columns["sex"].values.labels


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


def test_declared_categories_and_arrays_stay_as_they_are():
    labels = ["a", "b"] * 20
    table = pd.DataFrame({"x": pd.Categorical(["None", "1"] * 20), "z": ["None", "u"] * 20})
    counts = nv.count(table, labels)
    assert counts.columns["x"].values.labels == ("1", "None")
    assert None in counts.columns["z"].values.labels
    array = np.array([["1", "None"], ["2", "?"]] * 20, dtype=object)
    assert set(nv.count(array, labels).columns["x1"].values.labels) == {"None", "?"}
    assert set(nv.count(array, labels).columns["x0"].values.labels) == {"1", "2"}


def test_a_target_knows_only_the_names_of_old(tmp_path):
    table = pd.DataFrame({"x": ["1", "2", "3"] * 10, "y": ["1", "None", "-"] * 10})
    assert nv.count(file_of(tmp_path / "t.csv", table), target="y").classes.labels == ("-", "1", "None")
    table["y"] = ["1", "2", "NA"] * 10
    nb = nv.NaiveBayes(unlabelled="skip").fit(file_of(tmp_path / "u.csv", table), target="y")
    assert nb.classes_.tolist() == [1, 2]
    assert nv.count(table.replace("NA", "3"), target="y").classes.labels == ("1", "2", "3")


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
