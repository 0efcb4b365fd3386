"""The commands: what they print and write, and their exit codes."""

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
from pathlib import Path

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

from .commands import PENGUINS, ROOT, bad, good, penguins, run, table, told, write

COMMANDS = ("fit", "predict", "evaluate", "explain", "report", "export", "show", "merge", "forget", "serve")
FIT = ("fit", PENGUINS, "-t", "species")


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    """Every test runs in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


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


def test_a_shell_can_complete():
    environment = {**os.environ, "_NAIVELY_COMPLETE": "bash_complete", "COMP_WORDS": "naively ev", "COMP_CWORD": "1"}
    assert shell("naively x", env=environment).stdout.split(",")[-1].strip() == "evaluate"
    assert "_NAIVELY_COMPLETE=bash_complete" in shell("_NAIVELY_COMPLETE=bash_source naively x").stdout


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


def test_fit_reports_on_the_model(model):
    said = good(*FIT)
    for pattern in (
        "^344 rows of .*3 classes of species",
        r"Adelie +152 +44\.2 %",
        r"flipper_length_mm +whole numbers +gaussian +2 +0\.\d+ ",
        r"island +text +categorical +0 ",
        r"Missing values: 19 of 2,408 cells \(0\.8 %\)",
        "--family year=categorical",
        r"Accuracy 9\d\.\d % ± \d\.\d on held-out rows \(5-fold cross-.*; always Adelie: 44\.2 %",
        r"accuracy +9\d\.\d % ± \d\.\d +98\.0 % ± \d\.\d +44\.2 %",
        "not saved: add -o model.parquet",
    ):
        assert re.search(pattern, said), pattern
    assert list(Path().iterdir()) == []
    assert "Weights: " not in said
    assert "Weights: " in good("show", model)
    assert nv.load(model).counts_.agrees(nv.NaiveBayes().fit(PENGUINS, target="species").counts_)


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


def test_rows_can_be_piped_through_to_a_reader_that_has_enough(model):
    """Far more than a pipe holds, so that writing fails in the middle."""
    write("many.csv", penguins() * 300)
    done = shell(f"set -o pipefail; cat many.csv | naively predict {model} - | head -3")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 3
    assert done.stdout.splitlines()[0].endswith(",answer,probability")


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


def test_show_prints_the_contents_of_a_model_and_queries_that_run(model):
    said = good("show", model)
    assert "344 rows" in said
    assert re.search(r"island +text +categorical", said)
    assert "smoothing=1.0" in said
    assert told("show", model)["version"] == nv.__version__
    assert re.search(r"Torgersen +0\.3", good("show", model, "--column", "island"))

    parts = [part for part in good("show", model, "--sql").split(";") if part.strip()]
    classes, labels, numbers = (duckdb.sql(part).fetchall() for part in parts)
    assert classes == [("Adelie", 152.0), ("Gentoo", 124.0), ("Chinstrap", 68.0)]
    assert ("Gentoo", "Biscoe", 124.0, 1.0) in labels
    gentoos = [row["bill_length_mm"] for row in penguins() if row["species"] == "Gentoo"]
    lengths = [float(length) for length in gentoos if length != "NA"]
    mean, deviation = next(row[2:] for row in numbers if row[0] == "Gentoo")
    assert (mean, deviation) == pytest.approx((np.mean(lengths), np.std(lengths)))


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


def test_quiet_is_quiet(model):
    for command in (
        (*FIT, "-o", "a.parquet"),
        ("evaluate", model, PENGUINS),
        ("predict", model, PENGUINS, "-o", "a.csv"),
        ("merge", model, model, "-o", "b.parquet"),
        ("forget", model, PENGUINS, "-o", "c.parquet"),
        ("report", model, "-o", "r.html"),
        ("export", model, "-o", "m.sql"),
    ):
        done = run(*command, "--quiet")
        assert (done.exit_code, done.output) == (0, "")


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
