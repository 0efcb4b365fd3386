"""Models as files of any format, what is special about each format, and the command that writes them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import duckdb
import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

import naively as nv
from naively.__main__ import main
from naively.errors import InvalidInput, InvalidSetting, UnwritableFile

from .export_cases import JavaScript
from .flat_cases import MORE_TEXTS, fitted, table_of, text_models
from .tables import penguins

pytestmark = pytest.mark.alone


# -- JavaScript, JSON and PMML -----------------------------------------------------------------------------------------


def test_a_module_holds_texts_and_no_text_ends_a_script_or_a_string():
    for _, nb in text_models("usual words"):
        JavaScript().check(nb, [{"text": text} for text in [*MORE_TEXTS, None]])
    labels = ["</script>", "`${1}`", '"', "\\", "\u2028", "{}", "'"]
    nb = nv.NaiveBayes(model="textbook").fit({"z{}": labels * 3}, ["a", "b", "{c}"] * 7)
    assert "</script>" not in nv.export.javascript(nb)
    JavaScript().check(nb, [{"z{}": label} for label in labels])


def test_fields_of_pmml_are_declared_with_their_types():
    namespace = "{http://www.dmg.org/PMML-4_4}"
    document = ET.fromstring(nv.export.pmml(fitted(table_of(1), "textbook", {"grade": "categorical"})))
    assert (document.tag, document.get("version")) == (f"{namespace}PMML", "4.4")
    fields = {field.get("name"): field for field in document.iter(f"{namespace}DataField")}
    types = {name: (field.get("optype"), field.get("dataType")) for name, field in fields.items()}
    assert types.pop("member") == ("categorical", "boolean")
    assert types.pop("grade") == ("categorical", "double")
    assert {types.pop(name) for name in ("size", "wide", "visits")} == {("continuous", "double")}
    assert types == dict.fromkeys(("color", "shape", "code", "class"), ("categorical", "string"))
    assert [value.get("value") for value in fields["class"]] == ["high", "low", "mid"]
    odd = nv.NaiveBayes(model="textbook").fit({"z": ["a\x01", "b"]}, ["p", "n"])
    with pytest.raises(InvalidInput, match=r"holds the character '\\x01', which XML cannot hold"):
        nv.export.pmml(odd)


# -- densities, which databases and ONNX have no functions for ---------------------------------------------------------


def flat_of_density(kind: str, table: np.ndarray) -> nv.FlatModel:
    """Return a flat model of one number x whose only term is a density."""
    column = {"name": "x", "kind": "number", "type": "number", "low": 0.0, "high": 1.0, "center": 0.0, "steps": 0.0}
    prior = np.zeros(len(table))
    content = {"version": 1, "model": "textbook", "target": "y", "classes": [f"c{k}" for k in range(len(table))]}
    content |= {"prior": prior, "fallback": prior - np.log(len(table)), "floor": prior, "least": None}
    content |= {"columns": [column | {"cuts": prior[:0], "missing": -1}]}
    return nv.FlatModel(content | {"terms": [{"kind": kind, "columns": [0], "table": table}]})


def log_odds(flat: nv.FlatModel, x: np.ndarray) -> list[np.ndarray]:
    """Return the logarithms of probabilities by DuckDB and by ONNX, less those of the first class."""
    from .export_cases import session_of  # which skips the test where ONNX is not installed

    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE rows AS SELECT i, x FROM (SELECT unnest(range(len($1))) AS i, unnest($1) AS x)", [x]
    )
    query = nv.export.sql(flat, keep=["i"])
    found = [np.array([row[3:] for row in sorted(connection.execute(query).fetchall())])]
    found.append(session_of(nv.export.onnx(flat)).run(None, {"x": x.reshape(-1, 1)})[1])
    with np.errstate(divide="ignore"):
        return [np.log(p) - np.log(p[:, :1]) for p in found]


@pytest.mark.parametrize("kind", ["density", "poisson", "negative binomial"])
def test_densities_are_those_of_scipy(kind):
    x, random = np.array([0.0, 1, 3, 15, 17, 100, 12345, 1e9]), np.random.default_rng(0)
    table, exact = np.ones((6, 4 if kind == "density" else 3)), np.zeros((len(x), 6))
    for k in range(6):
        center, spread, freedom = random.normal(5, 3), random.uniform(1, 9), random.uniform(1, 40)
        events, rows = [(1e-4, 1e-3), (0.3, 2.0), (7.5, 5.0), (123.0, 60.0), (999.0, 700.0), (4.5e4, 9e3)][k]
        if kind == "poisson":
            exact[:, k], table[k, 1:] = stats.poisson.logpmf(x, events / rows), (events / rows, np.log(events / rows))
        elif kind == "negative binomial":
            exact[:, k], table[k, 1:] = stats.nbinom.logpmf(x, events, rows / (rows + 1)), (events, rows)
        elif k % 2:
            exact[:, k] = stats.norm.logpdf(x, center, spread)
            table[k] = center, 0.5 / spread**2, 0.0, stats.norm.logpdf(center, center, spread)
        else:
            base = stats.t.logpdf(center, freedom, center, spread)
            exact[:, k] = stats.t.logpdf(x, freedom, center, spread)
            table[k] = center, 1 / freedom / spread**2, (freedom + 1) / 2, base
    for at in range(len(x)):  # weighed so that probabilities are neither 0 nor 1
        weight = 1 / (1 + np.abs(exact[at]).max())
        weighed = table.copy()
        weighed[:, [1, 2, 3] if kind == "density" else 0] *= weight
        if kind == "density":
            weighed[0::2, 1] = table[0::2, 1]
        for found in log_odds(flat_of_density(kind, weighed), x[[at]]):
            assert np.abs(found - weight * (exact[at] - exact[at, 0])).max() < 1e-9


def test_a_missing_number_contributes_nothing_and_a_rate_of_none_rules_out_by_an_event_alone():
    normal = flat_of_density("density", np.array([[0.0, 0.5, 0.0, -1.0], [1.0, 0.25, 3.0, -0.5]]))
    rates = flat_of_density("poisson", np.array([[1.0, 2.0, np.log(2.0)], [1.0, 0.0, -np.inf]]))
    for found in log_odds(normal, np.array([np.nan])):
        assert found.tolist() == [[0.0, 0.0]]
    for found in log_odds(rates, np.array([0.0, 1.0, np.nan])):
        assert found[0, 1] == pytest.approx(2.0)
        assert found[1, 1] < -700
        assert found[2, 1] == 0.0


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
        assert nv.export.write(nb, tmp_path / f"model{ending}").read_text("utf-8") == text
    assert nv.export.write(nb, tmp_path / "model", format="json").read_text("utf-8") == texts[".json"]
    with pytest.raises(InvalidSetting, match=r"does not end with a format of models: \.onnx, \.sql, .* format='sql'"):
        nv.export.write(nb, tmp_path / "model.txt")
    with pytest.raises(InvalidSetting, match="format='xml' is not a format of models"):
        nv.export.write(nb, tmp_path / "model.txt", format="xml")
    with pytest.raises(UnwritableFile, match="that is a folder"):
        nv.export.json(nb, tmp_path)


# -- the command -------------------------------------------------------------------------------------------------------


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(main, ["export", *map(str, arguments)])


def test_the_command_writes_what_the_library_writes(tmp_path, penguin_model):
    pytest.importorskip("sqlglot", reason="needs sqlglot")
    nb, out, pmml = nv.load(penguin_model), tmp_path / "model.sql", tmp_path / "model.pmml"
    done = run(penguin_model, "-o", out, "--dialect", "sqlite", "--table", "birds", "--keep", "id", "--keep", "nest")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == f"Wrote {out}, {out.stat().st_size / 1000:,.0f} KB.\n"
    assert out.read_text("utf-8") == nv.export.sql(nb, dialect="sqlite", table="birds", keep=["id", "nest"])
    done = run(penguin_model, "-o", pmml, "--json", "--prior", "uniform")
    assert json.loads(done.stdout) == {"out": str(pmml), "format": "pmml", "bytes": pmml.stat().st_size}
    assert pmml.read_text("utf-8") == nv.export.pmml(nb.set_params(prior="uniform"))
    assert run(penguin_model, "-o", "-", "--format", "json").stdout == nv.export.json(nv.load(penguin_model)) + "\n"


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
    assert "Export the model as JavaScript or JSON" in done.stderr
    assert run(path, "-o", tmp_path / "texts.mjs", "--words", "2").exit_code == 0
    assert (tmp_path / "texts.mjs").read_text("utf-8") == nv.export.javascript(nv.load(path).flat(words=2))
