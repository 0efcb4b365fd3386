"""Notes on columns and models: each is true, names its columns, and gives advice that helps."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import naively as nv
from naively.cli import main
from naively.cli.exits import command_text

ROWS = 120
LABELS = np.array(["no", "yes"])[np.arange(ROWS) % 2]
pytestmark = pytest.mark.usefixtures("inside")
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


# -- a target of one class, or of hundreds of numbers, is counted, but nobody is told that the answers are right -------

ONE = "All rows are of one class, 'x': there is nothing to distinguish, so no score is meaningful"
TABLE = pd.DataFrame({"a": RNG.normal(size=300), "b": RNG.choice(list("pq"), 300)})


def said(*arguments):
    done = CliRunner().invoke(main, [*map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_one_class_is_warned_of_in_python():
    with pytest.warns(nv.TargetWarning, match=ONE):
        nb = nv.NaiveBayes().fit(TABLE, ["x"] * 300)
    assert ONE in nb.summary()
    scores = nv.cross_validate(TABLE, ["x"] * 300, cv=3)
    assert str(scores).splitlines()[1].startswith(ONE)
    assert "100.0 %" not in str(scores)
    assert scores.to_dict()["notes"] == list(scores.notes)
    assert scores.notes[0].startswith(ONE)


@pytest.mark.parametrize("folds", [0, 3])
def test_the_note_on_one_class_is_first_in_a_report(folds):
    TABLE.assign(y="x").to_csv("t.csv", index=False)
    report = said("fit", "t.csv", "-t", "y", "-o", "m.parquet", "--cv", folds)
    assert report.splitlines()[2].startswith(ONE)
    assert "1 class of y" in report.splitlines()[0]
    for boast in ("Accuracy", "accuracy", "Right in", "always x"):
        assert boast not in report
    told = json.loads(said("fit", "t.csv", "-t", "y", "--cv", folds, "--json"))
    assert told["notes"][0].startswith(ONE)
    assert ONE in said("show", "m.parquet")
    judged = said("evaluate", "m.parquet", "t.csv")
    assert ONE in judged
    assert "100.0 %" not in judged
    assert json.loads(said("evaluate", "m.parquet", "t.csv", "--json"))["notes"][0].startswith(ONE)


def test_hundreds_of_numbers_are_warned_of_as_regression():
    y = np.arange(300)
    with pytest.warns(nv.TargetWarning, match="300 different numbers.*this is regression.*cost='squared'"):
        nb = nv.NaiveBayes(model="textbook").fit(TABLE, y)
    assert "this is regression" in nb.summary()
    TABLE.assign(y=y // 2).to_csv("t.csv", index=False)
    report = said("fit", "t.csv", "-t", "y", "--cv", 0).splitlines()
    assert report[2].startswith("The target holds 150 different numbers, and each of them is a class.")
    assert "cut them into a few ranges" in report[2]
    assert "--cost squared" in report[2]


@pytest.mark.parametrize(
    "y",
    [RNG.choice(list("xy"), 300), RNG.integers(0, 10, 300), [f"name {k}" for k in range(300)], np.arange(300) % 30],
    ids=["two classes", "ten numbers", "hundreds of names", "thirty numbers"],
)
def test_other_targets_are_not_warned_of(y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nv.NaiveBayes(model="textbook").fit(TABLE, y)


# -- advice that helps -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "option", [("smoothing", "10"), ("estimate", "map"), ("unseen", "smooth"), ("temperature", "auto")]
)
def test_an_option_without_effect_gives_a_note(option):
    rng = np.random.default_rng(1)
    y = rng.choice(["a", "b"], 120)
    kinds = rng.choice(list("pqrs"), 120)
    pd.DataFrame({"k": kinds, "x": rng.normal(size=120) + (y == "a"), "y": y}).to_csv("t.csv", index=False)
    given = f"--{option[0]}", option[1]
    for model in ("auto", "textbook"):
        report = said("fit", "t.csv", "-t", "y", "--model", model, "--cv", 3, *given)
        said_so = f"Note: --{option[0]} {option[1]}" in report.replace("10.0", "10")
        with_it, without = (
            json.loads(said("fit", "t.csv", "-t", "y", "--model", model, "--cv", 3, "--json", *more))["scores"]
            for more in (given, ())
        )
        assert said_so == (model == "auto")
        if model == "auto":
            assert with_it["log_loss"] == without["log_loss"]
        elif option[0] != "unseen":  # every category is known in every fold
            assert with_it["log_loss"] != without["log_loss"]


def test_advice_for_the_default_model_names_options_with_effect():
    from naively.cli.fit import overconfidence_advice as advice

    pd.DataFrame({"a": RNG.normal(size=80), "y": RNG.choice(["a", "b"], 80)}).to_csv("t.csv", index=False)
    nb = nv.NaiveBayes().fit("t.csv", target="y")
    assert nb.fitted_.weights is not None
    good, poor = (nv.Scores([[p, 1 - p]] * 2, [0, 1], "ab") for p in (0.6, 0.99))
    assert "--temperature" not in advice(nb.fitted_, poor, None)
    assert "more rows" in advice(nb.fitted_, poor, None)
    assert "--model textbook" in advice(nb.fitted_, poor, good)
    assert "omit that option" in advice(nb.set_params(temperature=0.1).fitted_, poor, None)
