"""Programs that score rows by exported models: databases, JPMML, Node and onnxruntime."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import naively as nv

from .databases import running_postgres

Rows = list[dict[str, Any]]
DATABASES = ("duckdb", "sqlite", "postgres")
SCORERS = ("onnx", *DATABASES, "javascript", "pmml")  # those that need no other program first
TYPES = {str: "TEXT", float: "DOUBLE PRECISION", int: "BIGINT", bool: "BOOLEAN", datetime: "TIMESTAMP"}
# Asks for documents and rows, a line of JSON for each, in a process of its own: a Java machine cannot be started twice.
JPMML = """
import json, sys, warnings
warnings.simplefilter("ignore")
import pandas as pd
from jpmml_evaluator import make_evaluator
print("ready", flush=True)
for line in sys.stdin:
    path, rows = json.loads(line)
    evaluator = make_evaluator(path, backend="jpype").verify()
    found = evaluator.evaluateAll(pd.DataFrame(rows, dtype=object))
    cells = [{name: None if cell != cell else cell for name, cell in row.items()} for row in found.to_dict("records")]
    print(json.dumps(cells, default=str), flush=True)
"""
NODE = """
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


class Scorer:
    """A program that scores rows by an exported model."""

    def score(self, nb: Any, rows: Rows) -> tuple[list[Any], np.ndarray]:
        """Return the predicted classes and the probabilities."""
        raise NotImplementedError

    def check(self, nb: nv.NaiveBayes, rows: Rows, within: float = 1e-9) -> None:
        """Compare what the program says of rows with Python."""
        labels, found = self.score(nb, rows)
        expected = nb.predict_proba(rows)
        assert np.abs(found - expected).max() < within
        assert np.abs(found.sum(axis=1) - 1).max() < within
        best = found.max(axis=1)
        for label, row, probability in zip(labels, found, best, strict=True):
            classes = [nb.classes_.tolist()[k] for k in np.flatnonzero(row > probability - 1e-12)]
            forms = {form for one in classes for form in (str(one), str(one).lower(), str(one * 1))}
            assert str(label) in forms  # booleans are numbers in SQLite


class Onnx(Scorer):
    """Onnxruntime."""

    def score(self, nb: Any, rows: Rows) -> tuple[list[Any], np.ndarray]:
        """Return the predicted classes and the probabilities."""
        from .onnx_cases import answers  # which skips the test where ONNX is not installed

        label, probabilities = answers(nv.export.onnx(nb), rows)
        return label.tolist(), probabilities


class Database(Scorer):
    """A database to run queries in."""

    def __init__(self, dialect: str, cursor: Any) -> None:
        self.dialect, self.cursor = dialect, cursor

    def load(self, rows: Rows, table: str = "rows", more: str = "") -> None:
        """Put rows into a table whose columns have the types of their first cells that are not missing."""
        kinds = {name: next((type(row[name]) for row in rows if row[name] is not None), str) for name in rows[0]}
        quoted = {name: '"' + name.replace('"', '""') + '"' for name in (*kinds, table)}
        types = ", ".join(f"{quoted[name]} {TYPES[kind]}{more * (kind is str)}" for name, kind in kinds.items())
        self.cursor.execute(f"DROP TABLE IF EXISTS {quoted[table]}")
        self.cursor.execute(f"CREATE TABLE {quoted[table]} ({types})")
        line = "(" + ", ".join(["%s" if self.dialect == "postgres" else "?"] * len(kinds)) + ")"
        cells = [row[name] for row in rows for name in kinds]
        if self.dialect == "sqlite":  # which holds times as texts
            cells = [str(cell) if isinstance(cell, datetime) else cell for cell in cells]
        self.cursor.execute(f"INSERT INTO {quoted[table]} VALUES {', '.join([line] * len(rows))}", cells)

    def ask(self, query: str) -> Rows:
        """Return the rows of a query."""
        self.cursor.execute(query)
        names = [column[0] for column in self.cursor.description]
        return [dict(zip(names, row, strict=True)) for row in self.cursor.fetchall()]

    def answers(self, nb: Any, rows: Rows, more: str = "") -> Rows:
        """Return what the query of a model gives for rows, in their order."""
        self.load([row | {"row number": number} for number, row in enumerate(rows)], more=more)
        found = self.ask(nv.export.sql(nb, dialect=self.dialect, keep=["row number"]))
        return sorted(found, key=lambda answer: answer["row number"])

    def score(self, nb: Any, rows: Rows) -> tuple[list[Any], np.ndarray]:
        """Return the predicted classes and the probabilities."""
        found = self.answers(nb, rows)
        probabilities = np.array([list(answer.values())[3:] for answer in found], dtype=float)
        assert [answer["probability"] for answer in found] == probabilities.max(axis=1).tolist()
        return [answer["answer"] for answer in found], probabilities


class JavaScript(Scorer):
    """Node."""

    def score(self, nb: Any, rows: Rows, single: bool = False) -> tuple[list[Any], np.ndarray]:
        """Return the predicted classes and the probabilities."""
        node = shutil.which("node")
        if node is None:
            pytest.skip("needs Node (on Debian the package nodejs)")
        module = nv.export.javascript(nb, single=single)
        cells = re.sub("-?Infinity", r'"\g<0>"', json.dumps(rows))  # which JSON has no numbers for
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {"model.mjs": module, "rows.json": cells, "ask.mjs": NODE}.items():
                Path(folder, name).write_text(text, "utf-8")
            done = subprocess.run([node, "ask.mjs"], cwd=folder, capture_output=True, text=True, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        content = nb.flat().content
        assert found["classes"] == content["classes"]
        assert found["columns"] == [column["name"] for column in content["columns"]]
        assert set(found["parts"]) == {len(content["columns"])}
        assert found["same"] is True
        return found["answers"], np.array(found["probabilities"])


class Jpmml(Scorer):
    """JPMML in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def score(self, nb: Any, rows: Rows) -> tuple[list[Any], np.ndarray]:
        """Return the predicted classes and the probabilities."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            nv.export.pmml(nb, Path(folder, "model.pmml"))
            self.process.stdin.write(json.dumps([str(Path(folder, "model.pmml")), rows]) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        assert line, "the evaluator ended"
        found = json.loads(line)
        assert not [answer["errors"] for answer in found if answer.get("errors")]
        names = [name for name in found[0] if name.startswith("probability(")]
        target = nb.flat().content["target"] or "class"
        return [answer[target] for answer in found], np.array([[answer[name] for name in names] for answer in found])


@contextmanager
def opened(name: str) -> Iterator[Any]:
    """Start a program that scores rows."""
    if name == "postgres":
        with running_postgres() as where:
            import psycopg

            with psycopg.connect(where, autocommit=True) as connection:
                yield Database("postgres", connection.cursor())
    elif name in DATABASES:
        with closing(duckdb.connect() if name == "duckdb" else sqlite3.connect(":memory:")) as connection:
            yield Database(name, connection.cursor())
    elif name == "pmml":
        pytest.importorskip("jpmml_evaluator", reason="needs the JPMML evaluator: pip install jpmml_evaluator jpype1")
        pytest.importorskip("jpype", reason="needs a bridge to Java: pip install jpype1")
        if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
            pytest.skip("needs Java (on Debian the package openjdk-17-jre-headless)")
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "encoding": "utf-8"}
        with subprocess.Popen([sys.executable, "-c", JPMML], **pipes) as process:
            assert process.stdout.readline() == "ready\n"
            yield Jpmml(process)
            process.stdin.close()
    else:
        yield Onnx() if name == "onnx" else JavaScript()
