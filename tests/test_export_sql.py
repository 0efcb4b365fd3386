"""Models as SQL: the query gives what predict_proba gives, run by DuckDB, SQLite and PostgreSQL themselves."""

from __future__ import annotations

import re
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from functools import lru_cache
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import naively as nv
from naively.errors import InvalidInput, InvalidSetting, NotInstalled, UnwritableFile

from .flat_cases import FAMILIES, MODELS, SETTINGS, asked, fitted, letters, penguin_rows, plain_rows, table_of
from .postgres import running_postgres
from .tables import penguins

pytestmark = pytest.mark.alone
sqlglot = pytest.importorskip("sqlglot", reason="needs sqlglot: pip install sqlglot")

Rows = list[dict[str, Any]]
TYPES = {str: "TEXT", float: "DOUBLE PRECISION", int: "BIGINT", bool: "BOOLEAN", datetime: "TIMESTAMP"}


class Engine:
    """A database to run queries in."""

    def __init__(self, dialect: str, cursor: Any) -> None:
        self.dialect, self.cursor = dialect, cursor
        self.mark = "%s" if dialect == "postgres" else "?"

    def load(self, rows: Rows, table: str = "rows", more: str = "") -> None:
        """Put rows into a table whose columns have the types of their first cells that are not missing."""
        kinds = {name: next((type(row[name]) for row in rows if row[name] is not None), str) for name in rows[0]}
        quoted = {name: '"' + name.replace('"', '""') + '"' for name in (*kinds, table)}
        types = ", ".join(f"{quoted[name]} {TYPES[kind]}{more * (kind is str)}" for name, kind in kinds.items())
        self.cursor.execute(f"DROP TABLE IF EXISTS {quoted[table]}")
        self.cursor.execute(f"CREATE TABLE {quoted[table]} ({types})")
        lines = ", ".join(["(" + ", ".join([self.mark] * len(kinds)) + ")"] * len(rows))
        cells = [row[name] for row in rows for name in kinds]
        if self.dialect == "sqlite":  # which holds times as texts
            cells = [str(cell) if isinstance(cell, datetime) else cell for cell in cells]
        self.cursor.execute(f"INSERT INTO {quoted[table]} VALUES {lines}", cells)

    def ask(self, query: str) -> Rows:
        """Return the rows of a query."""
        self.cursor.execute(query)
        names = [column[0] for column in self.cursor.description]
        return [dict(zip(names, row, strict=True)) for row in self.cursor.fetchall()]

    def answers(self, model: Any, rows: Rows, more: str = "") -> Rows:
        """Return what the query of a model gives for rows, in their order."""
        self.load([row | {"row number": at} for at, row in enumerate(rows)], more=more)
        found = self.ask(nv.export.sql(model, dialect=self.dialect, keep=["row number"]))
        return sorted(found, key=lambda answer: answer["row number"])

    def check(self, nb: nv.NaiveBayes, rows: Rows, within: float = 1e-9, more: str = "") -> None:
        """Compare the answers with those of Python."""
        answers, classes = self.answers(nb, rows, more), nb.classes_.tolist()
        found = np.array([[answer[f"P({label})"] for label in classes] for answer in answers], dtype=float)
        assert np.abs(found - nb.predict_proba(rows)).max() < within
        assert np.abs(found.sum(axis=1) - 1).max() < within
        assert [answer["probability"] for answer in answers] == found.max(axis=1).tolist()
        assert [answer["answer"] for answer in answers] == [classes[at] for at in found.argmax(axis=1)]


@pytest.fixture(scope="module", params=["duckdb", "sqlite", "postgres"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Return one database after the other."""
    if request.param == "postgres":
        with running_postgres() as where:
            import psycopg

            with psycopg.connect(where, autocommit=True) as connection:
                yield Engine("postgres", connection.cursor())
    else:
        with closing(duckdb.connect() if request.param == "duckdb" else sqlite3.connect(":memory:")) as connection:
            yield Engine(request.param, connection.cursor())


@lru_cache
def penguin_model(model: str) -> nv.NaiveBayes:
    return nv.NaiveBayes(model=model).fit(*penguins())


# -- every model, family and setting -----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_penguins_get_the_probabilities_of_python(engine, model):
    engine.check(penguin_model(model), penguin_rows())


def test_answers_are_grouped_and_filtered_by_other_queries(engine):
    """DuckDB would take half a minute to plan this if the last step were not computed by itself."""
    nb, rows = penguin_model("auto"), penguin_rows()
    query = nv.export.sql(nb, dialect=engine.dialect)
    assert re.findall(r'"nv_step\d+" AS (MATERIALIZED )?\(', query)[-1]
    engine.load(rows)
    found = engine.ask(f"SELECT answer, count(*) AS n FROM ({query}) AS q WHERE probability > 0.5 GROUP BY answer")
    best, answers = nb.predict_proba(rows).max(axis=1), nb.predict(rows)
    assert {row["answer"]: row["n"] for row in found} == Counter(answers[best > 0.5].tolist())


# The terms of the default model are the same for most families.
@pytest.mark.parametrize(
    ("model", "families"), [*(("textbook", name) for name in FAMILIES), ("auto", "counts"), ("auto", "bins")]
)
def test_every_family_gets_the_probabilities_of_python(engine, model, families):
    engine.check(fitted(table_of(2), model, FAMILIES[families], missing="value"), asked(table_of(2)))


# Other settings change the numbers of the tables alone.
@pytest.mark.parametrize(
    ("model", "how"),
    [
        *(("textbook", name) for name in ("unseen values are smoothed", "rare values", "frequencies", "modes")),
        ("auto", "rare values"),
    ],
)
def test_every_setting_gets_the_probabilities_of_python(engine, model, how):
    engine.check(fitted(table_of(1), model, {"visits": "poisson"}, **SETTINGS[how]), asked(table_of(1)))


@pytest.mark.parametrize("classes", [2, 26])
def test_any_number_of_classes_gets_the_probabilities_of_python(engine, classes):
    engine.check(*letters(classes))


def test_classes_that_are_ruled_out_have_probability_0_and_all_of_them_give_the_prior(engine):
    nb = nv.NaiveBayes(model="textbook", estimate="mle", classes=["1", "2", "none"])
    nb.fit({"a": ["x", "y"], "b": ["p", "q"]}, ["1", "2"])
    rows = [{"a": "x", "b": "p"}, {"a": "x", "b": "q"}, {"a": None, "b": "q"}, {"a": "new", "b": None}]
    engine.check(nb, rows)
    assert engine.answers(nb, rows)[0]["P(2)"] == 0.0
    one = nv.NaiveBayes(model="textbook").fit({"x": [1.0, 2.0]}, ["a", "a"])
    assert engine.answers(one, [{"x": 1.0}]) == [{"row number": 0, "answer": "a", "probability": 1.0, "P(a)": 1.0}]


def test_large_numbers_lose_no_digits_and_do_not_overflow(engine):
    y = np.arange(200) % 2
    table = pd.DataFrame({"events": np.random.default_rng(0).poisson(1_000_000 + 2_000 * y)})
    nb = nv.NaiveBayes(model="textbook", families={"events": "poisson"}).fit(table, y)
    engine.check(nb, plain_rows(table), within=1e-7)
    nb = penguin_model("textbook")
    rows = [dict.fromkeys(nb.feature_names_in_) | {"bill_length_mm": x} for x in (1e300, -1e300, 1e160, 0.0, 1e-300)]
    for answer in engine.answers(nb, rows):
        assert sum(answer[f"P({label})"] for label in nb.classes_) == pytest.approx(1.0)


def test_halves_of_levels_are_rounded_to_the_even_one(engine):
    """Levels are 4096ths; a column of numbers in 8192nds of them has many halves."""
    nb = nv.NaiveBayes().fit(pd.DataFrame({"x": np.arange(400.0), "z": np.arange(400.0) % 7}), np.arange(400) // 200)
    column = next(column for column in nb.flat().content["columns"] if column["name"] == "x")
    assert column["steps"]
    halves = [column["center"] + (at + 0.5) / column["steps"] for at in range(-40, 40)]
    engine.check(nb, [{"x": x, "z": None} for x in halves])


# -- cells -------------------------------------------------------------------------------------------------------------


def test_numbers_booleans_and_times_may_be_categories_classes_and_cells(engine):
    days = [datetime.fromisoformat(f"2024-01-{1 + at % 28:02}T{at % 24:02}:30:15.500") for at in range(60)]
    rows = [{"when": day, "flag": at % 3 == 0, "n": at % 4} for at, day in enumerate(days)]
    rows.append(dict.fromkeys(rows[0]))
    for y in ([at % 2 == 0 for at in range(60)], [at % 3 for at in range(60)]):
        nb = nv.NaiveBayes(families={"n": "categorical"}).fit(pd.DataFrame(rows[:-1]), y)
        answers, expected = engine.answers(nb, rows), nb.predict_proba(pd.DataFrame(rows))
        found = np.array([[answer[f"P({label})"] for label in nb.classes_.tolist()] for answer in answers])
        assert np.abs(found - expected).max() < 1e-9
        assert {type(answer["answer"]) for answer in answers} <= {type(y[0]), int}  # booleans of SQLite are numbers


def test_nan_is_a_missing_number_and_a_column_that_is_not_there_an_error(engine):
    nb, row = penguin_model("textbook"), penguin_rows()[0]
    nan, none = engine.answers(nb, [row | {"bill_length_mm": float("nan")}, row | {"bill_length_mm": None}])
    assert {**nan, "row number": 1} == none
    engine.load([{"island": "Dream"}])
    with pytest.raises(Exception, match="bill_length_mm"):
        engine.ask(nv.export.sql(nb, dialect=engine.dialect))


def test_columns_of_sqlite_may_hold_anything_in_any_collation():
    """Texts are equal if their characters are; a number may be a text, and a text without digits is missing."""
    engine = Engine("sqlite", sqlite3.connect(":memory:").cursor())
    nb = nv.NaiveBayes(model="textbook", unseen="smooth").fit({"z": ["a", "b", "a", "B"] * 5}, ["p", "q", "p", "r"] * 5)
    engine.check(nb, [{"z": z} for z in ("a", "A", "b", "B", "ä", "a ")], more=" COLLATE NOCASE")
    nb, row = penguin_model("textbook"), penguin_rows()[0]
    texts, numbers = (
        [list(answer.values())[1:] for answer in engine.answers(nb, [row | {"bill_length_mm": cell} for cell in cells])]
        for cells in (("39.1", "", "NA"), (39.1, None, None))
    )
    assert texts == numbers


# -- names and quotes --------------------------------------------------------------------------------------------------

ODD = ["select", 'a"b', "it's", "a b", "naïve 名", "x;--", "$1", "%s", "a.b", "`tick`", "back\\slash", "nv_x", "1st"]


def test_any_name_and_any_category_is_quoted(engine):
    categories = [f"{name}'); DROP TABLE rows; --" for name in ODD] + ["line\nbreak", "", " blank "]
    random = np.random.default_rng(0)
    table = pd.DataFrame({name: random.choice(categories, 90) for name in ODD})
    y = np.array(['cl"ass', "cl'ass", "DROP"])[np.arange(90) % 3]
    for model in ("textbook", "auto"):
        nb = nv.NaiveBayes(model=model, families=dict.fromkeys(ODD, "categorical")).fit(table, y)
        engine.check(nb, plain_rows(table))


def test_any_table_can_be_named_and_the_columns_of_the_result_chosen(engine):
    nb, row = penguin_model("textbook"), penguin_rows()[0]
    for name in ('my "rows"', "select", "nv_step1", "names.with.dots"):
        engine.load([row | {"nv_id": 7}], name)
        (answer,) = engine.ask(nv.export.sql(nb, dialect=engine.dialect, table=[name], keep=["nv_id", "island"]))
        assert list(answer) == ["nv_id", "island", "answer", "probability", *(f"P({label})" for label in nb.classes_)]
        assert (answer["nv_id"], answer["island"]) == (7, row["island"])
    assert '"main"."rows"' in nv.export.sql(nb, dialect=engine.dialect, table="main.rows")
    engine.load([row])
    (answer,) = engine.ask(nv.export.sql(nb, dialect=engine.dialect, probabilities=False, prefix="new_"))
    assert list(answer) == ["new_answer", "new_probability"]


@pytest.mark.parametrize("model", MODELS)
def test_bigquery_which_cannot_be_run_here_is_written_in_its_own_words(model):
    query = nv.export.sql(penguin_model(model), dialect="bigquery", table="project.set.rows", keep=["id"])
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
    nb = penguin_model("textbook")
    with pytest.raises(InvalidSetting, match=r"dialect='oracle' .* 'duckdb', 'postgres', 'sqlite', 'bigquery'"):
        nv.export.sql(nb, dialect="oracle")
    with pytest.raises(InvalidSetting, match=r"two columns 'answer'.*prefix='new_'"):
        nv.export.sql(nb, keep=["Answer"])
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(NotInstalled, match=r'written by sqlglot, .*pip install "naively\[sql\]"'):
        nv.export.sql(nb)


def test_a_file_appears_only_when_it_can_be_written(tmp_path):
    nb, path = penguin_model("textbook"), tmp_path / "model.sql"
    path.write_text("old")
    assert nv.export.sql(nb, path) == path.read_text("utf-8")
    with pytest.raises(UnwritableFile, match="Cannot save to"):
        nv.export.sql(nb, tmp_path / "nowhere" / "model.sql")
    assert [file.name for file in tmp_path.iterdir()] == ["model.sql"]
