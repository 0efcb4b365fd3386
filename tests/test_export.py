"""Models as JavaScript, as JSON, and as files of any format; the command that writes them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import naively as nv
from naively.__main__ import main
from naively.errors import InvalidSetting, UnwritableFile

from .flat_cases import FAMILIES, MODELS, MORE_TEXTS, asked, fitted, penguin_rows, table_of, text_models
from .tables import penguins

pytestmark = pytest.mark.alone
NODE = shutil.which("node")
# Asks a module for the probabilities and the answers of rows.
ASK = """
import model, { classes, columns, explain, predict, predictProba } from "./model.mjs";
import { readFileSync } from "node:fs";
const rows = JSON.parse(readFileSync("rows.json", "utf-8"));
const same = model.predict === predict && model.predictProba === predictProba && model.explain === explain;
console.log(JSON.stringify({
    classes, columns, same: same && typeof globalThis.Naively === "undefined",
    probabilities: rows.map(predictProba), answers: rows.map(predict),
    parts: rows.map((row) => explain(row).columns.length),
}));
"""


def asked_of_node(module: str, rows: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    """Return what Node says of rows by a module."""
    if NODE is None:
        pytest.skip("needs Node (on Debian the package nodejs)")
    (folder / "model.mjs").write_text(module, "utf-8")
    (folder / "rows.json").write_text(json.dumps(rows), "utf-8")
    (folder / "ask.mjs").write_text(ASK, "utf-8")
    done = subprocess.run([NODE, "ask.mjs"], cwd=folder, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def check(nb: nv.NaiveBayes, rows: list[dict[str, Any]], folder: Path, single: bool = False) -> None:
    found = asked_of_node(nv.export.javascript(nb, single=single), rows, folder)
    probabilities = np.array(found["probabilities"])
    assert np.abs(probabilities - nb.predict_proba(rows)).max() < (1e-6 if single else 1e-9)
    assert found["answers"] == [nb.classes_.tolist()[at] for at in probabilities.argmax(axis=1)]
    assert (found["classes"], found["columns"]) == (nb.classes_.tolist(), list(nb.feature_names_in_))
    assert found["same"] is True
    assert set(found["parts"]) == {len(nb.feature_names_in_)}


@pytest.mark.parametrize("model", MODELS)
def test_a_module_gives_the_probabilities_of_python(model, tmp_path):
    check(nv.NaiveBayes(model=model).fit(*penguins()), penguin_rows(), tmp_path)
    table = table_of(2)
    check(fitted(table, model, FAMILIES["counts"], missing="value"), asked(table), tmp_path)


def test_a_module_holds_texts(tmp_path):
    for _, nb in text_models("usual words"):
        check(nb, [{"text": text} for text in [*MORE_TEXTS, None]], tmp_path)


def test_a_module_of_single_precision_is_smaller(tmp_path):
    nb = nv.NaiveBayes().fit(*penguins())
    check(nb, penguin_rows(), tmp_path, single=True)
    assert len(nv.export.javascript(nb, single=True)) < len(nv.export.javascript(nb))


def test_no_text_ends_a_script_or_a_string(tmp_path):
    labels = ["</script>", "`${1}`", '"', "\\", "\u2028", "{}", "'"]
    nb = nv.NaiveBayes(model="textbook").fit({"z{}": labels * 3}, ["a", "b", "{c}"] * 7)
    assert "</script>" not in nv.export.javascript(nb)
    check(nb, [{"z{}": label} for label in labels], tmp_path)


def test_json_is_that_of_the_flat_model(tmp_path):
    nb = nv.NaiveBayes().fit(*penguins())
    assert nv.export.json(nb) == nb.flat().json() == nv.export.json(nb.flat())
    assert nv.export.json(nb, tmp_path / "flat.json", single=True) == nb.flat().json(single=True)
    nb.flat().save(tmp_path / "saved.json", single=True)
    assert (tmp_path / "flat.json").read_bytes() == (tmp_path / "saved.json").read_bytes()


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def penguin_model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "penguins.parquet"
    X, y = penguins()
    nv.NaiveBayes(model="textbook").fit(X.assign(species=y), target="species").save(path)
    return path


def test_the_ending_of_the_name_is_the_format(tmp_path, penguin_model):
    pytest.importorskip("sqlglot", reason="needs sqlglot")
    nb = nv.load(penguin_model)
    texts = {".sql": nv.export.sql(nb), ".pmml": nv.export.pmml(nb), ".mjs": nv.export.javascript(nb)}
    texts |= {".JS": texts[".mjs"], ".json": nv.export.json(nb)}
    for ending, text in texts.items():
        path = nv.export.write(nb, tmp_path / f"model{ending}")
        assert path.read_text("utf-8") == text
    assert nv.export.write(nb, tmp_path / "model", format="json").read_text("utf-8") == texts[".json"]
    with pytest.raises(InvalidSetting, match=r"does not end with a format of models: \.onnx, \.sql, .* format='sql'"):
        nv.export.write(nb, tmp_path / "model.txt")
    with pytest.raises(InvalidSetting, match="format='xml' is no format of models"):
        nv.export.write(nb, tmp_path / "model.txt", format="xml")
    with pytest.raises(UnwritableFile, match="that is a folder"):
        nv.export.json(nb, tmp_path)


def test_functions_stay_functions_whatever_was_imported():
    program = (
        "import sys, naively.export.export_file, naively as nv; "
        "print(*(callable(getattr(nv.export, name)) for name in nv.export.__all__), 'sqlglot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"] * len(nv.export.__all__) + ["False"]


# -- the command -------------------------------------------------------------------------------------------------------


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(main, ["export", *map(str, arguments)])


def test_the_command_writes_what_the_library_writes(tmp_path, penguin_model):
    pytest.importorskip("sqlglot", reason="needs sqlglot")
    nb = nv.load(penguin_model)
    out = tmp_path / "model.sql"
    done = run(penguin_model, "-o", out, "--dialect", "sqlite", "--table", "birds", "--keep", "id", "--keep", "nest")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == f"Wrote {out}, {out.stat().st_size / 1000:,.0f} KB.\n"
    assert out.read_text("utf-8") == nv.export.sql(nb, dialect="sqlite", table="birds", keep=["id", "nest"])
    done = run(penguin_model, "-o", tmp_path / "model.pmml", "--json", "--prior", "uniform")
    assert json.loads(done.stdout) == {
        "out": str(tmp_path / "model.pmml"), "format": "pmml", "bytes": (tmp_path / "model.pmml").stat().st_size,
    }  # fmt: skip
    assert (tmp_path / "model.pmml").read_text("utf-8") == nv.export.pmml(nb.set_params(prior="uniform"))


def test_the_command_writes_to_stdout(penguin_model):
    assert run(penguin_model, "-o", "-", "--format", "json").stdout == nv.export.json(nv.load(penguin_model)) + "\n"


def test_costs_that_are_not_exported_give_a_note(tmp_path, penguin_model):
    path = tmp_path / "costs.parquet"
    nv.load(penguin_model).set_params(reject=0.2).save(path)
    done = run(path, "-o", tmp_path / "model.json")
    assert "Note: the costs of the model are not exported; the answer is the most probable class.\n" in done.stderr
    assert run(path, "-o", tmp_path / "model.json", "--quiet").stderr == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "model.txt"], "does not end with a format of models: .onnx, .sql, .pmml, .js, .mjs, .json"),
        (["-o", "-"], "name the format by --format"),
        (["-o", "-", "--format", "onnx"], "ONNX is no text; write it to a file"),
        (["-o", "-", "--format", "sql", "--json"], "cannot both go to stdout"),
        (["-o", "m.json", "--dialect", "sqlite"], "--dialect is an option for sql; leave it out for json"),
        (["-o", "m.sql", "--single"], "--single is an option for javascript and json; leave it out for sql"),
        (["-o", "m.sql", "--dialect", "oracle"], "'oracle' is not one of 'duckdb', 'postgres', 'sqlite', 'bigquery'"),
        (["-o", "m.sql", "--keep", "answer"], "Give the added ones another name by --prefix new_"),
        (["-o", "penguins.parquet", "--format", "json"], "would be overwritten: it is the model in use"),
    ],
)
def test_bad_usage_ends_with_2_and_advice(arguments, words, tmp_path, penguin_model, monkeypatch):
    pytest.importorskip("sqlglot", reason="needs sqlglot")
    shutil.copy(penguin_model, tmp_path / "penguins.parquet")
    monkeypatch.chdir(tmp_path)
    done = run("penguins.parquet", *arguments)
    assert done.exit_code == 2
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2
    assert [path.name for path in tmp_path.iterdir()] == ["penguins.parquet"]


def test_texts_are_refused_with_what_can_be_exported(tmp_path):
    path = tmp_path / "texts.parquet"
    texts = {"note": ["good day", "bad day"] * 5}
    nv.NaiveBayes(model="textbook", families={"note": "words"}).fit(texts, ["p", "n"] * 5).save(path)
    done = run(path, "-o", tmp_path / "texts.pmml")
    assert done.exit_code == 1
    assert "Column 'note' holds texts" in done.stderr
    assert "texts can be exported as JavaScript or JSON" in done.stderr
    assert run(path, "-o", tmp_path / "texts.mjs", "--words", "2").exit_code == 0
    assert (tmp_path / "texts.mjs").read_text("utf-8") == nv.export.javascript(nv.load(path).flat(words=2))
