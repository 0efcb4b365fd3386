"""Models as SQL: the query gives what predict_proba gives, on DuckDB, SQLite and PostgreSQL themselves."""

from __future__ import annotations

import datetime
import sqlite3
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import naively as nv
from naively.errors import InvalidInput, InvalidSetting, UnwritableFile

from .flat_cases import FAMILIES, MODELS, SETTINGS, asked, fitted, letters, penguin_rows, table_of
from .postgres import running_postgres
from .tables import penguins

pytestmark = pytest.mark.alone
pytest.importorskip("sqlglot", reason="needs sqlglot: pip install sqlglot")

Rows = list[dict[str, Any]]
Cursor = Any
TYPES = {str: "TEXT", float: "DOUBLE PRECISION", int: "BIGINT", bool: "BOOLEAN", datetime.datetime: "TIMESTAMP"}
ENGINES = ("duckdb", "sqlite", "postgres")


class Engine:
    """A database to run queries in."""

    def __init__(self, dialect: str, cursor: Cursor, mark: str) -> None:
        self.dialect, self.cursor, self.mark = dialect, cursor, mark

    def load(self, rows: Rows, table: str = '"rows"') -> None:
        """Put rows into a table whose columns have the types of their first cells that are not missing."""
        names = list(rows[0])
        kinds = [next((type(row[name]) for row in rows if row[name] is not None), str) for name in names]
        quoted = ['"' + name.replace('"', '""') + '"' for name in names]
        self.cursor.execute(f"DROP TABLE IF EXISTS {table}")
        columns = ", ".join(f"{name} {TYPES[kind]}" for name, kind in zip(quoted, kinds, strict=True))
        self.cursor.execute(f"CREATE TABLE {table} ({columns})")
        marks = ", ".join([self.mark] * len(names))
        self.cursor.executemany(f"INSERT INTO {table} VALUES ({marks})", [tuple(row.values()) for row in rows])

    def ask(self, query: str) -> list[dict[str, Any]]:
        """Return the rows of a query."""
        self.cursor.execute(query)
        names = [column[0] for column in self.cursor.description]
        return [dict(zip(names, row, strict=True)) for row in self.cursor.fetchall()]

    def answers(self, model: Any, rows: Rows, **how: Any) -> list[dict[str, Any]]:
        """Return what the query of a model says of rows, in their order."""
        self.load([row | {"row number": at} for at, row in enumerate(rows)])
        found = self.ask(nv.export.sql(model, dialect=self.dialect, keep=["row number"], **how))
        return sorted(found, key=lambda answer: answer["row number"])


@pytest.fixture(scope="module")
def postgres() -> Iterator[Engine]:
    with running_postgres() as where:
        import psycopg

        with psycopg.connect(where, autocommit=True) as connection:
            yield Engine("postgres", connection.cursor(), "%s")


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Return one database after the other."""
    if request.param == "postgres":
        yield request.getfixturevalue("postgres")
        return
    opened: Any = duckdb.connect() if request.param == "duckdb" else sqlite3.connect(":memory:")
    with closing(opened) as connection:
        yield Engine(request.param, connection.cursor(), "?")


def check(engine: Engine, nb: nv.NaiveBayes, rows: Rows, within: float = 1e-9) -> None:
    answers = engine.answers(nb, rows)
    expected = nb.predict_proba(rows)
    found = np.array([[answer[f"P({label})"] for label in nb.classes_.tolist()] for answer in answers])
    assert np.abs(found - expected).max() < within
    assert np.abs(found.sum(axis=1) - 1).max() < within
    assert [answer["probability"] for answer in answers] == found.max(axis=1).tolist()
    assert [answer["answer"] for answer in answers] == nb.classes_[found.argmax(axis=1)].tolist()


# -- every model, family and setting -----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_penguins_get_the_probabilities_of_python(engine, model):
    X, y = penguins()
    check(engine, nv.NaiveBayes(model=model, missing="value").fit(X, y), penguin_rows())


@pytest.mark.parametrize("model", MODELS)
def test_every_family_gets_the_probabilities_of_python(engine, model):
    table = table_of(2)
    for families in FAMILIES.values():
        check(engine, fitted(table, model, families, missing="value"), asked(table))


@pytest.mark.parametrize("model", MODELS)
def test_every_setting_gets_the_probabilities_of_python(engine, model):
    table = table_of(1)
    for how in SETTINGS.values():
        check(engine, fitted(table, model, {"visits": "poisson"}, **how), asked(table))
