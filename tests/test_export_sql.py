"""Models as SQL: what is special about it, run by DuckDB, SQLite and PostgreSQL themselves."""

from __future__ import annotations

import re
import sqlite3
import sys
from collections import Counter
from datetime import datetime
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest

import naively as nv
from naively.errors import InvalidInput, InvalidSetting, NotInstalled

from .export_cases import DATABASES, Database, opened
from .flat_cases import MODELS, penguin_rows
from .tables import penguins

pytestmark = pytest.mark.alone
sqlglot = pytest.importorskip("sqlglot", reason="needs sqlglot: pip install sqlglot")


@pytest.fixture(scope="module", params=DATABASES)
def engine(request):
    """Return one database after the other."""
    with opened(request.param) as database:
        yield database


@lru_cache
def penguin_model(model: str) -> nv.NaiveBayes:
    return nv.NaiveBayes(model=model).fit(*penguins())


def test_answers_are_grouped_and_filtered_by_other_queries(engine):
    """DuckDB would take half a minute to plan this if the last step were not computed by itself."""
    nb, rows = penguin_model("auto"), penguin_rows()
    query = nv.export.sql(nb, dialect=engine.dialect)
    assert re.findall(r'"nv_step\d+" AS (MATERIALIZED )?\(', query)[-1]
    engine.load(rows)
    found = engine.ask(f"SELECT answer, count(*) AS n FROM ({query}) AS q WHERE probability > 0.5 GROUP BY answer")
    best, answers = nb.predict_proba(rows).max(axis=1), nb.predict(rows)
    assert {row["answer"]: row["n"] for row in found} == Counter(answers[best > 0.5].tolist())


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
    nb, row = penguin_model("textbook"), penguin_rows()[0]
    texts, numbers = (
        [list(answer.values())[1:] for answer in engine.answers(nb, [row | {"bill_length_mm": cell} for cell in cells])]
        for cells in (("39.1", "", "NA"), (39.1, None, None))
    )
    assert texts == numbers


# -- names and quotes --------------------------------------------------------------------------------------------------


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
