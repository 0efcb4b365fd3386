"""A target of one class, or of hundreds of numbers, is counted, but nobody is told that the answers are right."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import naively as nv
from naively.cli import main

ONE = "All rows are of one class, 'x': there is nothing to distinguish, so no score is meaningful"
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"a": RNG.normal(size=300), "b": RNG.choice(list("pq"), 300)})


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    """Every test runs in a folder of its own."""
    monkeypatch.chdir(tmp_path)


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


def test_the_warning_points_at_whoever_called():
    with pytest.warns(nv.TargetWarning) as found:
        nv.NaiveBayes().fit(TABLE, ["x"] * 300)
    assert found[0].filename == __file__


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
