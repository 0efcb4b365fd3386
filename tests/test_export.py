"""Exported models give the probabilities of `predict_proba`, whatever program scores the rows."""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import duckdb
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import stats

import naively as nv
from naively.cli import main
from naively.errors import InvalidInput, InvalidSetting, NotInstalled, UnwritableFile

from .export_cases import DATABASES, SCORERS, Database, opened
from .flat_cases import (
    FAMILIES,
    MODELS,
    SETTINGS,
    asked,
    fitted,
    joint_model,
    letters,
    penguin_rows,
    plain_rows,
    table_of,
)
from .tables import penguins

pytestmark = [pytest.mark.filterwarnings("error::naively.StaleWarning")]


# -- JavaScript, JSON and PMML -----------------------------------------------------------------------------------------


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
    from .onnx_cases import session_of  # which skips the test where ONNX is not installed

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


# -- models as sql -----------------------------------------------------------------------------------------------------

sqlglot = pytest.importorskip("sqlglot", reason="needs sqlglot: pip install sqlglot")


@pytest.fixture(scope="module", params=DATABASES)
def engine(request):
    """Return one database after the other."""
    with opened(request.param) as database:
        yield database


@lru_cache
def model_of_penguins(model: str) -> nv.NaiveBayes:
    return nv.NaiveBayes(model=model).fit(*penguins())


# -- cells -------------------------------------------------------------------------------------------------------------


def test_numbers_booleans_and_times_may_be_categories_classes_and_cells(engine):
    days = [datetime.fromisoformat(f"2024-01-{1 + at % 28:02}T{at % 24:02}:30:15.500") for at in range(60)]
    rows = [{"when": day, "flag": at % 3 == 0, "n": at % 4} for at, day in enumerate(days)]
    rows.append(dict.fromkeys(rows[0]))
    for y in ([at % 2 == 0 for at in range(60)], [at % 3 for at in range(60)]):
        nb = nv.NaiveBayes(families={"n": "categorical"}).fit(pd.DataFrame(rows[:-1]), y)
        labels, found = engine.score(nb, rows)
        assert np.abs(found - nb.predict_proba(pd.DataFrame(rows))).max() < 1e-9
        assert {type(label) for label in labels} <= {type(y[0]), int}  # booleans of SQLite are numbers
    one = nv.NaiveBayes(model="textbook").fit({"x": [1.0, 2.0]}, ["a", "a"])
    assert engine.answers(one, [{"x": 1.0}]) == [{"row number": 0, "answer": "a", "probability": 1.0, "P(a)": 1.0}]


def test_columns_of_sqlite_may_hold_anything_in_any_collation():
    """Texts are equal if their characters are; a number may be a text, and a text without digits is missing."""
    engine = Database("sqlite", sqlite3.connect(":memory:").cursor())
    nb = nv.NaiveBayes(model="textbook", unseen="smooth").fit({"z": ["a", "b", "a", "B"] * 5}, ["p", "q", "p", "r"] * 5)
    rows = [{"z": z} for z in ("a", "A", "b", "B", "ä", "a ")]
    found = [list(answer.values())[3:] for answer in engine.answers(nb, rows, more=" COLLATE NOCASE")]
    assert np.abs(np.array(found) - nb.predict_proba(rows)).max() < 1e-9
    nb, row = model_of_penguins("textbook"), penguin_rows()[0]
    texts, numbers = (
        [list(answer.values())[1:] for answer in engine.answers(nb, [row | {"bill_length_mm": cell} for cell in cells])]
        for cells in (("39.1", "", "NA"), (39.1, None, None))
    )
    assert texts == numbers


# -- names and quotes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_bigquery_which_cannot_be_run_here_is_written_in_its_own_words(model):
    query = nv.export.sql(model_of_penguins(model), dialect="bigquery", table="project.set.rows", keep=["id"])
    (parsed,) = sqlglot.parse(query, dialect="bigquery")
    assert parsed.named_selects == ["id", "answer", "probability", "P_Adelie", "P_Chinstrap", "P_Gentoo"]
    assert "FROM `project`.`set`.`rows`" in query
    assert "[OFFSET(" in query
    assert "MATERIALIZED" not in query


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_what_sql_cannot_hold_is_refused_in_a_sentence_that_says_what_can_be_exported():
    texts = nv.NaiveBayes(families={"note": "words"}).fit({"note": ["good day", "bad day"] * 5}, ["p", "n"] * 5)
    with pytest.raises(InvalidInput, match=r"Column 'note' holds texts.*as JavaScript or JSON") as error:
        nv.export.sql(texts)
    assert error.value.column == "note"
    days = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=10)})
    times = nv.NaiveBayes(families={"day": "categorical"}).fit(days, ["p", "n"] * 5)
    with pytest.raises(InvalidInput, match="'day' holds times as categories"):
        nv.export.sql(times)
    with pytest.raises(InvalidInput, match="Expected a fitted NaiveBayes or a FlatModel to export, and found str"):
        nv.export.sql("model.parquet")
    numbers = pd.DataFrame(np.random.default_rng(0).normal(size=(4, 2001))).add_prefix("x")
    wide = nv.NaiveBayes(model="textbook").fit(numbers, ["a", "a", "b", "b"])
    with pytest.raises(InvalidInput, match=r"needs [\d,]+ columns in a step of the query, and sqlite allows 2,000"):
        nv.export.sql(wide, dialect="sqlite")


def test_settings_that_cannot_be_are_refused(monkeypatch):
    nb = model_of_penguins("textbook")
    with pytest.raises(InvalidSetting, match=r"dialect='oracle' .* 'duckdb', 'postgres', 'sqlite', 'bigquery'"):
        nv.export.sql(nb, dialect="oracle")
    with pytest.raises(InvalidSetting, match=r"two columns 'answer'.*prefix='new_'"):
        nv.export.sql(nb, keep=["Answer"])
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(NotInstalled, match=r'written by sqlglot, .*pip install "naively\[sql\]"'):
        nv.export.sql(nb)


# -- exported models give the probabilities of `predict_proba`, whatever program scores the rows -----------------------

ODD = [
    "select",
    'a"b',
    "it's <&>",
    "a b",
    "naïve 名",
    "x;--",
    "$1",
    "%s",
    "a.b",
    "`tick`",
    "back\\slash",
    "nv_x",
    "1st",
]


@pytest.fixture(scope="module", params=SCORERS)
def scorer(request):
    """Return one program after the other."""
    if request.param in ("duckdb", "sqlite", "postgres"):
        pytest.importorskip("sqlglot", reason="needs sqlglot: pip install sqlglot")
    with opened(request.param) as program:
        yield program


@pytest.mark.parametrize("model", MODELS)
def test_penguins(scorer, model):
    nb = nv.NaiveBayes(model=model, missing="value").fit(*penguins())
    scorer.check(nb, [*penguin_rows(), dict.fromkeys(nb.feature_names_in_)])


# The terms of the default model are the same for most families, and settings change the numbers of tables alone.
@pytest.mark.parametrize(
    ("model", "families"), [*(("textbook", name) for name in FAMILIES), ("auto", "counts"), ("auto", "bins")]
)
def test_every_family(scorer, model, families):
    scorer.check(fitted(table_of(2), model, FAMILIES[families], missing="value"), asked(table_of(2)))


@pytest.mark.parametrize(("model", "how"), [*(("textbook", name) for name in SETTINGS), ("auto", "rare values")])
def test_every_setting(scorer, model, how):
    scorer.check(fitted(table_of(1), model, {"visits": "poisson"}, **SETTINGS[how]), asked(table_of(1)))


def test_terms_of_several_columns(scorer):
    scorer.check(*joint_model(missing="value"))


@pytest.mark.parametrize("classes", [2, 26])
def test_any_number_of_classes(scorer, classes):
    scorer.check(*letters(classes))


def test_classes_that_are_ruled_out_have_probability_0_and_all_of_them_give_the_prior(scorer):
    nb = nv.NaiveBayes(model="textbook", estimate="mle", classes=["1", "2", "none"])
    nb.fit({"a": ["x", "y", "y"], "b": ["p", "q", "q"]}, ["1", "2", "2"])
    rows = [{"a": "x", "b": "p"}, {"a": "x", "b": "q"}, {"a": None, "b": "q"}, {"a": "new", "b": None}]
    scorer.check(nb, rows)
    labels, found = scorer.score(nb, rows)
    assert labels[1] == "2"
    assert found[0, 1] < 1e-300  # 0, but for how a runtime computes exp(-inf)
    assert np.allclose(found[1], [1 / 3, 2 / 3, 0.0], atol=1e-15)


@pytest.mark.parametrize("model", MODELS)
def test_what_predict_refuses_contributes_nothing(scorer, model):
    table = table_of(10)
    nb = fitted(table, model, {"visits": "poisson"}, unseen="error")
    row = asked(table)[0]
    for name, cell in (("visits", -1), ("color", "pink")):  # a negative number of events, and an unseen category
        with pytest.raises(InvalidInput):
            nb.predict_proba([row | {name: cell}])
        found = scorer.score(nb, [row | {name: cell}])[1]
        assert np.abs(found - nb.predict_proba([row | {name: None}])).max() < 1e-9


@pytest.mark.parametrize("model", MODELS)
def test_names_categories_and_classes_of_any_characters(scorer, model):
    categories = [f"{name}'); DROP TABLE rows; -- ]]> </script>" for name in ODD] + ["", " blank ", "`${1}`", "{}"]
    random = np.random.default_rng(0)
    table = pd.DataFrame({name: random.choice(categories, 90) for name in ODD})
    y = np.array(['cl"ass', "<cl'ass>", "三"])[np.arange(90) % 3]
    nb = nv.NaiveBayes(model=model, families=dict.fromkeys(ODD, "categorical")).fit(table, y)
    scorer.check(nb, plain_rows(table))
