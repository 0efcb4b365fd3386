"""JSON for programs: integers as integers, labels with their type, and valid JSON only."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from naively.cli import main


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    """Every test runs in a folder of its own."""
    monkeypatch.chdir(tmp_path)


def said(*arguments):
    done = CliRunner().invoke(main, [*map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.stdout


def told(*arguments):
    """Return what a command says as JSON, which must be strict."""

    def refuse(token):
        raise AssertionError(f"{token} is no JSON")

    return json.loads(said(*arguments, "--json"), parse_constant=refuse)


def written(y, weights=None, ending="csv"):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=len(y)) + (np.arange(len(y)) % 2), "n": rng.integers(0, 9, len(y))})
    table["x"] = table["x"].where(rng.random(len(y)) > 0.1)  # some missing values
    table["y"] = y
    table = table if weights is None else table.assign(w=weights)
    getattr(table, f"to_{ending}")(f"t.{ending}", index=False)
    return f"t.{ending}"


def is_whole(value):
    return type(value) is int


def test_rows_are_integers_in_every_command():
    file = written([1, 2] * 60)
    fit = told("fit", file, "-t", "y", "-o", "m.parquet")
    show = told("show", "m.parquet")
    for found in (fit, show):
        assert is_whole(found["rows"])
        assert all(is_whole(one["rows"]) and is_whole(one["class"]) for one in found["classes"])
        assert all(is_whole(one["missing"]) for one in found["columns"])
        assert sum(one["missing"] for one in found["columns"]) > 0
    assert is_whole(fit["missing"])
    assert all(is_whole(one["rows"]) for one in fit["scores"]["folds"])
    evaluate = told("evaluate", "m.parquet", file, "--reject", 0.2)
    assert is_whole(evaluate["rows"])
    assert all(is_whole(n) for line in evaluate["confusion"] for n in line)
    assert all(is_whole(one["rows"]) for one in evaluate["reliability"])
    assert evaluate["choices"] == [1, 2, None]
    explain = told("explain", "m.parquet", file, "--row", 2)
    values = {one["name"]: one["value"] for one in explain["columns"]}
    assert is_whole(values["n"])
    assert type(values["x"]) is float
    assert is_whole(explain["answer"])
    forget = told("forget", "m.parquet", file, "--limit", 10, "-o", "f.parquet")
    assert (forget["forgotten"], forget["rows"]) == (10, 110)
    assert is_whole(forget["forgotten"])
    assert is_whole(forget["rows"])
    assert is_whole(told("merge", "m.parquet", "f.parquet", "-o", "two.parquet")["rows"])
    assert is_whole(told("predict", "m.parquet", file, "-o", "a.csv")["rows"])
    column = told("show", "m.parquet", "--column", "n")
    assert column["column"] == "n"
    assert [(one["class"], one["numbers"]) for one in column["probabilities"]] == [(1, 60), (2, 60)]
    assert all(is_whole(one["numbers"]) for one in column["probabilities"])


def test_weights_that_are_fractions_stay_fractions():
    file = written([1, 2] * 60, weights=[0.5, 0.75] * 60)
    found = told("fit", file, "-t", "y", "--weight", "w", "--cv", 0, "-o", "m.parquet")
    assert found["rows"] == 75
    assert is_whole(found["rows"])
    assert [one["rows"] for one in found["classes"]] == [30, 45]
    assert told("evaluate", "m.parquet", file, "--limit", 3, "--weight", "w")["rows"] == 1.75


def test_undefined_values_are_null():
    file = written(["a"] * 60)
    found = told("fit", file, "-t", "y", "-o", "m.parquet")
    assert found["scores"]["auc"] is None
    assert told("evaluate", "m.parquet", file)["auc"] is None
    file = written([1, 2, 3] * 40)
    said("fit", file, "-t", "y", "-o", "m.parquet", "--cv", 0, "-q")
    found = told("evaluate", "m.parquet", file, "--cost", "squared", "--reject", 0)
    assert found["coverage"] == 0
    assert found["accuracy"] is None
    missing = told("explain", "m.parquet", file, "--row", 1 + int(pd.read_csv(file)["x"].isna().argmax()))
    assert {one["name"]: one["value"] for one in missing["columns"]}["x"] is None


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("labels", [(1, 2), (True, False), ("a", "b"), ("01", "02")], ids=str)
def test_labels_keep_their_type_in_answers_and_scores(labels, ending):
    file = written(np.array(list(labels) * 40), ending=ending)
    told("fit", file, "-t", "y", "-o", "m.parquet", "--cv", 0)
    for reject in ([], ["--reject", 0.49]):
        lines = said("predict", "m.parquet", file, "--to", "jsonl", "--only-answers", *reject).splitlines()
        answers = {type(answer) for line in lines if (answer := json.loads(line)["answer"]) is not None}
        assert answers == {type(labels[0])}
    found = told("evaluate", "m.parquet", file)
    assert {type(label) for label in [*found["classes"], *found["choices"], found["baseline"]["answer"]]} == answers
    said("predict", "m.parquet", file, "--only-answers", "-o", "a.csv")
    first = {line.split(",")[0] for line in Path("a.csv").read_text("utf-8").splitlines()[1:]}
    assert first == {str(label).lower() if labels[0] is True else str(label) for label in labels}
