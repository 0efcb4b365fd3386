"""The commands: what they read, print and write, as text and as JSON, and their exit codes."""

from __future__ import annotations

import io
import json
import os
import pkgutil
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from itertools import permutations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import naively as nv
from naively._progress import ProgressBar
from naively.cli import main

from .commands import PENGUINS, ROOT, bad, good, penguins, run, table, told, write, write_lines

COMMANDS = ("fit", "predict", "evaluate", "explain", "report", "export", "show", "merge", "forget", "serve")
FIT = ("fit", PENGUINS, "-t", "species")


pytestmark = pytest.mark.usefixtures("inside")


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """Return a model of the penguins, as the command makes it."""
    path = tmp_path_factory.mktemp("model") / "penguins.parquet"
    good(*FIT, "-o", path, "--quiet", "--cv", 0)
    return path


def shell(command, **options):
    """Run a line of a shell in which `naively` is this package."""
    if os.name == "nt":
        pytest.skip("needs a shell of POSIX")
    line = command.replace("naively ", f"{sys.executable} -m naively ")
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, encoding="utf-8", **options)


# -- help --------------------------------------------------------------------------------------------------------------


def test_help_shows_all_commands_with_examples_and_loads_nothing_large():
    assert good() == good("--help") == good("-h")
    assert good("--version") == f"naively {nv.__version__}\n"
    for command in COMMANDS:
        assert f"naively {command} " in good()
        assert re.search(rf"Examples?:\n +naively {command} ", good(command, "--help"))
    program = (
        "import sys\nfrom naively.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "large = {'numpy', 'sklearn', 'scipy', 'duckdb', 'pyarrow', 'rich'} & set(sys.modules)\n"
        "sys.exit(str(large) if large else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert pkgutil.resolve_name(project["scripts"]["naively"]) is main


def test_a_bar_shows_rows_rate_and_time_on_a_terminal_only(monkeypatch):
    monkeypatch.setattr("naively._progress.PATIENCE", 0.0)
    for terminal, quiet in ((True, False), (True, True), (False, False)):
        stream = io.StringIO()
        stream.isatty = lambda terminal=terminal: terminal
        monkeypatch.setattr(sys, "stderr", stream)
        with ProgressBar("Counting", quiet) as bar:
            bar(1_500, 10_000, 40_000)
            bar(3_000, 20_000, 40_000)
        shown = stream.getvalue()
        assert ("3,000 rows" in shown) is (terminal and not quiet)
        assert bool(shown) is (terminal and not quiet)
    assert "rows/s" not in shown


def lines_of(page):
    """Return the commands of a page, each with what the page says that it prints."""
    found = []
    for block in re.findall(r"^```\n(\$ .*?)^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def about(line):
    """Return a line of output without what differs between machines: last digits, sizes of files, space at its end."""
    line = re.sub(r"\d+\.\d{7,}(e-\d+)?", lambda m: f"{float(m[0]):.4f}", line.rstrip())
    return re.sub(r"\(\d+\.\d KB\)", "(… KB)", line)


def printed_by(command, folder):
    """Return what a line of a shell prints; in this process where it is no more than one of our commands."""
    if loop := re.fullmatch(r"for (\w+) in ([^;]*); do (naively [^;]*); done", command):
        return "".join(printed_by(loop[3].replace(f"${loop[1]}", item), folder) for item in loop[2].split())
    if command.startswith("naively ") and not re.search("[|;<>&$(]", command):
        return run(*shlex.split(command)[1:]).output
    line = f'naively() {{ "{sys.executable}" -m naively "$@"; }}\n{command}'
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ).stdout.decode()


@pytest.mark.skipif(os.name == "nt", reason="needs bash")
@pytest.mark.parametrize("name", ["getting-started/five-minutes.md", "guide/adding.md", "reference/commands.md"])
def test_the_commands_of_a_page_print_what_it_shows(name, inside):
    (inside / "penguins.csv").write_bytes(PENGUINS.read_bytes())
    commands = lines_of(ROOT / "docs" / name)
    assert commands
    for command, said in commands:
        printed = printed_by(command, inside).rstrip().splitlines()
        assert [about(line) for line in printed] == [about(line) for line in said], command


# -- fit ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("said", "name"), [("1", "species"), ("-1", "year"), ("sex", "sex")])
def test_the_target_is_given_by_name_or_position(said, name):
    write("p.csv", [row for row in penguins() if row["sex"] != "NA"])
    assert told("fit", "p.csv", f"--target={said}", "--cv", 0)["target"] == name


def test_fit_as_json_has_the_documented_fields():
    page = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    fit, book = told(*FIT, "-o", "m.parquet"), told(*FIT, "--model", "textbook")

    documented = next(line for line in page.splitlines() if line.startswith("| `fit` | `rows`"))
    assert all(f"`{field}`" in documented for field in fit)
    assert (fit["rows"], fit["model"], book["model"]) == (344, "m.parquet", None)
    assert fit["scores"]["accuracy"] > 0.97
    assert fit["scores"]["brier"] < book["scores"]["brier"]
    assert {fact["name"]: fact["missing"] for fact in fit["columns"]}["sex"] == 11
    alone = nv.NaiveBayes().fit(PENGUINS, target="species")
    assert np.allclose(nv.load("m.parquet").predict_proba(PENGUINS), alone.predict_proba(PENGUINS), atol=1e-9)


def test_options_of_counting_and_estimating_reach_the_model():
    good(
        *(
            *FIT,
            "-o",
            "m.parquet",
            "-q",
            "--cv",
            0,
            "--ignore",
            "sex",
            "--weight",
            "year",
            "--class-weight",
            "Adelie=2",
        ),
        *("--family", "island=categorical", "--family", "body_mass_g=poisson", "--smoothing", "0.5"),
        *("--prior", "Adelie=0.2", "--prior", "Gentoo=0.3", "--prior", "Chinstrap=0.5", "--missing", "value"),
        *("--n-jobs", 1, "--unseen", "smooth", "--cost", "Adelie,Gentoo=7", "--reject", "0.4", "--limit", 300),
        *("--estimate", "bayes"),
    )
    nb = nv.load("m.parquet")

    assert not {"sex", "year"} & set(nb.schema_.names)
    assert nb.schema_["body_mass_g"].family.name == "poisson"
    assert (nb.smoothing, nb.missing, nb.unseen, nb.reject, nb.n_jobs) == (0.5, "value", "smooth", 0.4, None)
    assert nb.prior == {"Adelie": 0.2, "Gentoo": 0.3, "Chinstrap": 0.5}
    assert nb.cost == {("Adelie", "Gentoo"): 7.0}
    assert nb.class_weight == {"Adelie": 2.0}
    weights = [int(row["year"]) * (1 + (row["species"] == "Adelie")) for row in penguins()[:300]]
    assert nb.counts_.rows.sum() == sum(weights)


def test_classes_that_are_numbers_are_named_by_numbers():
    write("c.csv", [{"x": i % 7, "y": i % 2 + 1} for i in range(50)])
    Path("costs.csv").write_text(",1,2\n1,0,1\n2,5,0\n")
    for cost in ("2,1=5", "costs.csv"):
        good("fit", "c.csv", "--target", "y", "-o", "m.parquet", "-q", "--cost", cost, "--cv", 0)
        assert nv.load("m.parquet").cost[2, 1] == 5


def test_notes_name_the_option_that_changes_what_they_are_about():
    letters = [{"y": "ab"[i % 2]} for i in range(60)]
    write("texts.csv", [{"x": f"a message of {i} words in all", **row} for i, row in enumerate(letters)])
    assert "'x' holds texts of several words" in good("fit", "texts.csv", "-t", "y", "--cv", 0)
    Path("comma.csv").write_text("x;y\n" + "".join(f"{i},5;{row['y']}\n" for i, row in enumerate(letters)))
    for options, note in (((), True), (("--decimal", ","), False)):
        said = good("fit", "comma.csv", "-t", "y", "--cv", 0, *options)
        assert ("'x' holds numbers written as 1234,5" in said) is note
        assert re.search(r"x +numbers +gaussian", said)
    write("many.csv", [{"x": int(i > 11_000), "z": 1, "y": "ab"[i % 2]} for i in range(12_000)])
    said = good("fit", "many.csv", "-t", "y", "--cv", 0)
    assert "'z' holds the same value in every row" in said
    assert "'x' holds the same" not in said  # all rows are looked at
    write("amounts.csv", [{"x": i % 7, "y": i} for i in range(60)])
    assert "60 different numbers, and each of them is a class" in good("fit", "amounts.csv", "-t", "y")
    good("fit", "amounts.csv", "-t", "y", "-o", "m.parquet", "--cost", "squared", "-q")
    assert good("predict", "m.parquet", "amounts.csv", "--only-answers").splitlines()[0] == "answer"


BAD_USAGE = [
    ([], "Name the column of the classes by --target; the columns are species, island,"),
    (["--target", "specie"], "did you mean 'species'?"),
    (["--target", "99"], "there is no column '99'"),
    (["--ignore", "beak"], "there is no column 'beak'"),
    (["--family", "year"], "'year' is not a pair such as visits=poisson"),
    (["--family", "year=gauss"], "names no family"),
    (["--family", "island=ordinal:low"], "must name its levels, lowest first"),
    (["--smoothing", "much"], "'much' is neither a number nor 'auto'"),
    (["--cost", "Adelie=5"], "is not a cost such as bad,good=5"),
    (["--cost", "costs.csv"], "neither a cost such as bad,good=5 nor a file"),
    (["--prior", "Adelie=often"], "'often', which is not a number"),
    (["--estimate", "guess"], "'guess' is not one of"),
    (["--delimiter", "ab"], "'ab' is not one character"),
    (["--nonsense"], "No such option"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD_USAGE)
def test_bad_usage_ends_with_2_and_advice(arguments, words):
    target = [] if not arguments or "--target" in arguments else ["--target", "species"]
    said = bad(2, "fit", PENGUINS, *target, *arguments)
    assert words in said


# -- predict -----------------------------------------------------------------------------------------------------------


def expected(model, **settings):
    nb, rows = nv.load(model).set_params(**settings), pd.read_csv(PENGUINS)
    return nb.predict(rows), nb.predict_proba(rows)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "jsonl", "csv.gz"])
def test_answers_are_those_of_the_library_in_every_format(model, ending):
    good("predict", model, PENGUINS, "-o", f"a.{ending}", "--probabilities")
    reader = {"parquet": "read_parquet", "jsonl": "read_json"}.get(ending, "read_csv")
    rows = duckdb.sql(f"select * from {reader}('a.{ending}')").fetchall()
    labels, chances = expected(model)
    assert [row[8] for row in rows] == labels.tolist()
    assert np.allclose([row[10:13] for row in rows], chances, rtol=1e-12)
    assert [row[0] for row in rows] == [row["species"] for row in penguins()]


def test_options_choose_the_columns_that_are_written(model):
    write("new.csv", [{"id": f"00{i}", **row, "note": "a, b"} for i, row in enumerate(penguins())])
    good("predict", model, "new.csv", "-o", "a.csv", "--why", 2)
    first = table("a.csv")[0]
    assert list(first) == ["id", *penguins()[0], "note", "answer", "probability", "why"]
    assert (first["id"], first["note"], first["bill_length_mm"], first["year"]) == ("000", "a, b", "39.1", "2007")
    assert re.fullmatch(r"\w+ = \S+ \([+-]\d+\.\d\d\); \w+ = \S+ \([+-]\d+\.\d\d\)", first["why"])
    good("predict", model, PENGUINS, "-o", "b.csv", "--only-answers", "--prefix", "nb_")
    assert list(table("b.csv")[0]) == ["nb_answer", "nb_probability"]
    assert "have a column 'answer' already" in bad(1, "predict", model, "a.csv", "-o", "c.csv")
    assert not Path("c.csv").exists()
    good("predict", model, "a.csv", "-o", "c.csv", "--prefix", "new_")


STOPPED = """
import os, sys
from naively._progress import ProgressBar
from naively.cli import main
told = ProgressBar.__call__
def stop(bar, *progress):  # once rows are done, while the answers are written elsewhere
    told(bar, *progress)
    assert any(name.startswith(".naively") for name in os.listdir())
    os.kill(os.getpid(), int(sys.argv[1]))
ProgressBar.__call__ = stop
main(sys.argv[2:])
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, 0])
def test_a_command_that_is_stopped_or_fails_leaves_the_old_file(model, number, inside):
    rows = penguins() * (100 if number else 500)
    write("many.csv", rows if number else [*rows, {**rows[-1], "bill_length_mm": "long"}])
    Path("a.jsonl").write_text("old")
    arguments = ["predict", str(model), "many.csv", "-o", "a.jsonl"]
    if number:
        command = [sys.executable, "-c", STOPPED, str(int(number)), *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 130, done.stderr
        assert done.stderr.strip() == "Stopped. Nothing was written."
    else:
        assert "long" in bad(1, *arguments)
    assert sorted(path.name for path in inside.iterdir()) == ["a.jsonl", "many.csv"]
    assert Path("a.jsonl").read_text() == "old"


def test_what_cannot_be_written_or_read_is_named(model):
    for out, words in (
        ("a.xyz", "does not say which format it shall have"),
        ("no/a.csv", "its folder does not exist"),
        (".", "that is a folder"),
    ):
        assert words in bad(1, "predict", model, PENGUINS, "-o", out)
    write("new.csv", [{k: v for k, v in row.items() if k != "sex"} for row in penguins()])
    assert "no column 'sex'" in bad(1, "predict", model, "new.csv")
    Path("new.csv").write_text(PENGUINS.read_text().splitlines()[0] + "\n")
    good("predict", model, "new.csv", "-o", "a.csv")  # a file without rows gives one without rows
    assert Path("a.csv").read_text().strip().endswith(",answer,probability")
    assert table("a.csv") == []


def test_columns_that_no_model_could_learn_are_passed_on():
    rows = {"x": ["a", "b"] * 30, "y": ["u", "v"] * 30}
    pq.write_table(pa.table(rows), "old.parquet")
    pq.write_table(pa.table({**rows, "list": [[1, 2]] * 60, "none": pa.nulls(60)}), "new.parquet")
    good("fit", "old.parquet", "-t", "y", "-o", "m.parquet", "-q", "--cv", 0)
    good("predict", "m.parquet", "new.parquet", "-o", "a.parquet")
    old, new = (pq.read_schema(name) for name in ("new.parquet", "a.parquet"))
    assert [new.field(field.name) for field in old] == list(old)
    assert new.field("answer").type == pa.string()
    assert pq.read_table("a.parquet")["list"].to_pylist() == [[1, 2]] * 60
    good("predict", "m.parquet", "new.parquet", "-o", "a.jsonl")
    assert "holds list" in bad(1, "predict", "m.parquet", "new.parquet", "-o", "a.csv")
    assert "'list' holds list" in bad(1, "fit", "new.parquet", "-t", "y")
    good("fit", "new.parquet", "-t", "y", "--ignore", "list", "--cv", 0)


# -- evaluate, explain, show -------------------------------------------------------------------------------------------


def test_evaluate_gives_the_scores_of_the_library(model):
    said = good("evaluate", model, PENGUINS, "--cost", "Gentoo,Adelie=9")
    for words in ("always Gentoo", "of the decisions", "log loss", "mean cost", "Confusion", "Reliability"):
        assert words in said
    assert re.search(r"Gentoo +\d+ +\d+ +\d+ +\d+\.\d %", said)

    found = told("evaluate", model, PENGUINS)
    labels, chances = expected(model)
    truth, classes = [row["species"] for row in penguins()], nv.load(model).classes_.tolist()
    scores = nv.Scores(chances, [classes.index(label) for label in truth], classes)
    assert found["accuracy"] == pytest.approx(np.mean(labels == np.array(truth)))
    assert found["log_loss"] == pytest.approx(scores.log_loss)
    assert found["confusion"] == scores.confusion.tolist()
    assert sum(line["rows"] for line in found["reliability"]) == 344

    write("new.csv", [{**row, "species": "Emperor" if i < 10 else row["species"]} for i, row in enumerate(penguins())])
    assert "not fitted with, and never predicts: Emperor" in good("evaluate", model, "new.csv")
    write("new.csv", [{k: v for k, v in row.items() if k != "species"} for row in penguins()])
    assert "has no column 'species'" in bad(2, "evaluate", model, "new.csv")


def test_explain_agrees_with_the_library(model):
    said = good("explain", model, PENGUINS, "--row", 3, "--against", "Gentoo")
    assert re.match(r"Adelie \(.* against Gentoo", said)
    assert re.search(r"island +Torgersen +[+-]\d", said)
    assert "152+1" not in said  # evidence that was weighed is no fraction of counts
    first, last = (told("explain", model, PENGUINS, "--row", n) for n in (1, 344))
    cells = [{c["name"]: c["value"] for c in found["columns"]} for found in (first, last)]
    assert [cell["bill_length_mm"] for cell in cells] == [39.1, 50.2]
    for label, base in first["base"].items():
        total = base + sum(column["scores"][label] for column in first["columns"])
        assert total == pytest.approx(first["log_joint"][label])
    assert "no row 345: the file has 344 rows" in bad(1, "explain", model, PENGUINS, "--row", 345)
    done = run("explain", model, PENGUINS, "--set", "0.9")  # the model was fitted without --conformalize
    assert (done.exit_code, done.stdout) == (1, "")

    good(*FIT, "--model", "textbook", "-o", "book.parquet", "-q", "--cv", 0)
    said = good("explain", "book.parquet", PENGUINS, "--row", 3, "--against", "Gentoo")
    assert re.search(r"^Adelie  \(152\+1\)/\(344\+3\) · ", said, flags=re.MULTILINE)


def test_show_prints_the_contents_of_a_model(model):
    said = good("show", model)
    assert "344 rows" in said
    assert re.search(r"island +text +categorical", said)
    assert "smoothing=1.0" in said
    assert told("show", model)["version"] == nv.__version__
    assert re.search(r"Torgersen +0\.3", good("show", model, "--column", "island"))


# -- merge and forget --------------------------------------------------------------------------------------------------


def test_models_of_parts_merge_to_that_of_all_and_of_other_columns_are_refused(model):
    for part in range(3):
        write(f"{part}.csv", penguins()[part::3])
        for name, options in ((f"{part}.parquet", ["--keep-rows"]), (f"{part}-bare.parquet", [])):
            good("fit", f"{part}.csv", "-t", "species", "-o", name, "-q", "--cv", 0, *options)
    good("merge", *(f"{part}.parquet" for part in range(3)), "-o", "all.parquet", "--keep-rows")
    good("merge", *(f"{part}-bare.parquet" for part in range(3)), "-o", "bare.parquet")

    whole = nv.load(model)
    for file, rows in (("all.parquet", 344), ("bare.parquet", 0)):  # with rows, the model is that of all
        merged = nv.load(file)
        assert all(merged.counts_.columns[name].agrees(column) for name, column in whole.counts_.columns.items())
        assert merged.kept_rows_.rows == rows
    good("predict", "all.parquet", PENGUINS, "-o", "a.csv")
    assert [row["answer"] for row in table("a.csv")] == expected(model)[0].tolist()

    for options, words in (
        (["-t", "species", "--ignore", "sex"], "'sex' is counted on one side only"),
        (["-t", "island"], "the columns 'island' and 'species'"),
        (["-t", "species", "--family", "year=categorical"], "'year'"),
    ):
        good("fit", PENGUINS, *options, "-o", "other.parquet", "-q", "--cv", 0)
        assert words in bad(1, "merge", model, "other.parquet", "-o", "m.parquet")
    assert not Path("m.parquet").exists()


def test_forgetting_gives_the_model_of_the_rest(model):
    gone = write("gone.csv", [row for row in penguins() if row["year"] == "2009"])
    rest = write("rest.csv", [row for row in penguins() if row["year"] != "2009"])
    said = run("forget", model, gone, "-o", "rest.parquet").output

    assert "Note: The model keeps its weights and its temperature." in said
    assert "120 rows removed, 224 left" in said
    counts, counted = (
        nv.load("rest.parquet").counts_,
        nv.count(Path(rest), target="species", schema=nv.load(model).schema_),
    )
    assert all(counts.columns[name].agrees(column) for name, column in counted.columns.items())

    write("gone.csv", [{**penguins()[0], "island": "Biscoe", "species": "Chinstrap"}])
    said = bad(1, "forget", model, "gone.csv", "-o", "never.parquet")
    assert "column 'island'" in said
    assert "Nothing was changed" in said
    assert not Path("never.parquet").exists()


# -- files that are not as they should be ------------------------------------------------------------------------------


def test_a_file_that_is_no_model_or_not_there_is_refused(model):
    Path("m.parquet").write_bytes(b"PAR1 nonsense PAR1")
    for command in ("predict", "evaluate", "explain"):
        assert "Cannot load a model" in bad(1, command, "m.parquet", PENGUINS)
        assert "there is no such file" in bad(1, command, "none.parquet", PENGUINS)
    assert "none.csv" in bad(1, "fit", "none.csv", "--target", "y")
    assert "Traceback" in run("predict", model, "none.csv", "--debug").stderr  # with this option alone


def test_control_characters_do_not_reach_the_terminal():
    rows = [{"x\x1b[31m": f"\x1b[2J{i % 3}", "y": f"\x1b]0;title\x07{i % 2}"} for i in range(40)]
    write("evil.csv", rows)
    said = good("fit", "evil.csv", "-t", "y", "-o", "m.parquet") + good("show", "m.parquet")
    said += good("evaluate", "m.parquet", "evil.csv") + good("explain", "m.parquet", "evil.csv")
    assert "\x1b" not in said
    assert "\x07" not in said


# -- files that nobody on this project made ----------------------------------------------------------------------------

DATA = ROOT.parent / "shared" / "data"
SETS = json.loads((DATA / "datasets.json").read_text("utf-8")) if (DATA / "datasets.json").exists() else {}
SETS = {name: facts for name, facts in SETS.items() if facts["task"] == "tabular"}


def check_that_the_target_is_enough(path, target, rows, better=True):
    """Check that a file can be fitted, answered and scored as it is, better than by chance."""
    limit = ("--limit", rows)
    fit = told("fit", path, "--target", target, "-o", "m.parquet", *limit)
    good("predict", "m.parquet", path, "-o", "a.parquet", *limit)
    assert fit["rows"] == told("evaluate", "m.parquet", path, *limit)["rows"] == rows
    found, chance = fit["scores"]["balanced_accuracy"], fit["scores"]["baseline"]["balanced_accuracy"]
    assert found > chance or (found == chance and not better)
    assert pq.read_metadata("a.parquet").num_rows == rows


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_a_real_file_needs_nothing_but_the_target(load):
    table = load(as_frame=True).frame.sample(frac=1.0, random_state=0)
    table.to_csv("rows.csv", index=False)
    check_that_the_target_is_enough("rows.csv", "target", 100)


# -- input of the commands ---------------------------------------------------------------------------------------------

NUMBERS = [f"{k},{'pq'[k % 2]}" for k in range(20)]


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


def test_plain_numbers_are_read_beside_a_decimal_comma() -> None:
    from naively.data.cell_format import CellFormat
    from naively.data.cells import CellType, convert_cells, one_number

    euros = CellFormat(decimal=",", thousands=".", suffix=" €")
    numbers = {"1234": 1234.0, "1234,5": 1234.5, "1234.5": 1234.5, "0.234": 0.234, "1.5": 1.5}
    cells = convert_cells(pa.array([*numbers, "1.234,50 €", None]), CellType(pa.float64(), euros))[0].to_pylist()
    assert cells == [*numbers.values(), 1234.5, None]
    assert [one_number(text, euros) for text in numbers] == list(numbers.values())


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


# -- json for programs -------------------------------------------------------------------------------------------------


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
    good("fit", file, "-t", "y", "-o", "m.parquet", "--cv", 0, "-q")
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
        lines = good("predict", "m.parquet", file, "--to", "jsonl", "--only-answers", *reject).splitlines()
        answers = {type(answer) for line in lines if (answer := json.loads(line)["answer"]) is not None}
        assert answers == {type(labels[0])}
    found = told("evaluate", "m.parquet", file)
    assert {type(label) for label in [*found["classes"], *found["choices"], found["baseline"]["answer"]]} == answers
    good("predict", "m.parquet", file, "--only-answers", "-o", "a.csv")
    first = {line.split(",")[0] for line in Path("a.csv").read_text("utf-8").splitlines()[1:]}
    assert first == {str(label).lower() if labels[0] is True else str(label) for label in labels}
