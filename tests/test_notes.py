"""Notes on columns and models: each is true, names its columns, and gives advice that helps."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import naively as nv
from naively.cli import main
from naively.cli.messages import command_text
from naively.model.recipe import RECIPE

ROWS = 120
LABELS = np.array(["no", "yes"])[np.arange(ROWS) % 2]
RNG = np.random.default_rng(0)


def notes(**columns):
    """Return the notes on a table with these columns."""
    return nv.NaiveBayes(model="textbook").fit(pd.DataFrame(columns), LABELS).schema_.hints


def hints(**columns):
    """Return the notes on a table with these columns, as Python shows them."""
    return "\n".join(notes(**columns))


def drawn(form, scale=50.0):
    """Return different numbers as texts."""
    return [form.format(abs(x)) for x in RNG.normal(scale, scale / 3, ROWS)]


# -- advice that helps -------------------------------------------------------------------------------------------------

IDENTIFIERS = {
    "codes": [f"A{at:05d}" for at in range(ROWS)],
    "hashes": [f"{at * 7919:08x}" for at in range(ROWS)],
    "names": [f"{'abcdefgh'[at % 8]}. Smith-{at}" for at in range(ROWS)],
}
AMOUNTS = {
    "dollars": "${:.2f}", "euros": "{:.2f} €", "kilograms": "{:.3f}kg", "percent": "{:.3f} %", "below": "<{:.4f}",
}  # fmt: skip


@pytest.mark.parametrize("kind", IDENTIFIERS)
def test_identifiers_are_to_be_ignored(kind):
    (said,) = notes(record=IDENTIFIERS[kind], x=np.arange(ROWS) * 0.5)

    assert "'record' has a value of its own in almost every row, as identifiers have" in said
    assert "ignore it: columns=[...] without 'record'." in said
    assert command_text(said).endswith("ignore it: --ignore record.")


@pytest.mark.parametrize("kind", AMOUNTS)
def test_nobody_is_advised_to_ignore_a_measurement(kind):
    """Amounts written as text are different in every row, too; they are to be converted, if they are labels at all."""
    said = hints(amount=drawn(AMOUNTS[kind]), x=np.arange(ROWS) * 0.5)

    assert "ignore" not in said
    assert "identifiers" not in said


# -- one note for many columns -----------------------------------------------------------------------------------------


def test_columns_of_which_the_same_is_reported_share_a_note():
    """Twenty columns of codes have one note, which says how many there are and names the first."""
    codes = {f"c{at}": np.arange(ROWS) % (3 + at % 2) for at in range(20)}
    said = notes(**codes, same="x", always=1.5)

    assert len(said) == 2
    assert "20 columns ('c0', 'c1', 'c2', …) hold only 3 to 4 different whole numbers" in said[1]
    assert command_text(said[1]).endswith("--family c0=categorical --family c1=categorical --family c2=categorical ….")
    assert (
        said[0]
        == "2 columns ('same', 'always') hold the same value in every row, and have no information on the class."
    )


@pytest.mark.parametrize(
    "name", ["it's", 'say "so"', 'it\'s "so"', "a b", "[red]", "row 5 limit=3", "families={'a': 'b'}"]
)
def test_notes_name_their_column_whatever_it_is_called(name, tmp_path):
    """In Python as Python writes it, on the command line as a shell takes it."""
    import shlex

    table = pd.DataFrame({name: IDENTIFIERS["codes"], "x": np.arange(ROWS) * 0.5, "y": LABELS})
    nb = nv.NaiveBayes(model="textbook").fit(table, target="y")
    assert any(hint.startswith(f"{name!r} has a value") for hint in nb.schema_.hints)

    table.to_csv(tmp_path / "rows.csv", index=False)
    found = CliRunner().invoke(main, ["fit", str(tmp_path / "rows.csv"), "-t", "y", "--cv", "0", "--json"])
    (note,) = (note for note in json.loads(found.output)["notes"] if "identifiers" in note)
    assert f"--ignore {shlex.quote(name)}." in note
    again = CliRunner().invoke(
        main,
        ["fit", str(tmp_path / "rows.csv"), "-t", "y", *shlex.split(note[note.index("--ignore") : -1]), "--cv", "0"],
    )
    assert again.exit_code == 0, again.output
    assert "identifiers" not in again.output


def test_labels_that_pairs_do_not_distinguish_are_named():
    table = pd.DataFrame({"many": [f"v{at % 100}" for at in range(200)], "few": list("abcd") * 50})
    y = np.arange(200) % 2
    more = pd.DataFrame({f"more{at}": [f"v{row % 30}" for row in range(200)] for at in range(4)})

    class Coarse(nv.NaiveBayes):
        _recipe = replace(RECIPE, most_features=64)

    one, several = (Coarse().fit(part, y).schema_.hints for part in (table, table.join(more)))

    assert any("most frequent labels of 'many' are distinguished" in hint for hint in one)
    assert any(
        "most frequent labels of each of 5 columns ('many', 'more0', 'more1', …) are" in hint for hint in several
    )


# -- why the default was not fitted ------------------------------------------------------------------------------------

REASONS = {
    "one class": (np.full(ROWS, "same"), {}, "joint terms were not fitted: all rows are of one class"),
    "few rows": (LABELS[:40], {}, "joint terms were not fitted: there are 40 rows; fit, or calibrate with, at least"),
    "no labels": (
        np.where(np.arange(ROWS) < 40, LABELS, None), {"unlabelled": "em", "estimate": "map", "smoothing": 2.0},
        "joint terms were not fitted: 40 rows have a label, and at least 50 are needed",
    ),
    "a class without a label": (
        np.where(np.arange(ROWS) % 3, LABELS, None),
        {"unlabelled": "em", "estimate": "map", "smoothing": 2.0, "classes": ["no", "yes", "other"]},
        "joint terms were not fitted: a class has no row with a label",
    ),
}  # fmt: skip


@pytest.mark.parametrize("why", REASONS)
def test_the_reason_why_columns_are_not_modeled_jointly_is_the_actual_one(why, tmp_path):
    """Also after a model was saved."""
    y, params, expected = REASONS[why]
    nb = nv.NaiveBayes(**params).fit({"x": np.arange(len(y)) % 7 * 1.0}, y)
    nb.save(tmp_path / "m.parquet")

    for model in (nb, nv.load(tmp_path / "m.parquet")):
        assert expected in model.summary()
    assert ("at least 50" in nb.summary()) is (why in ("few rows", "no labels"))


# -- on the command line -----------------------------------------------------------------------------------------------
