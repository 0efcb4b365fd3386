"""Answers of small tables, texts and files, to be compared with those that were recorded.

``python -m tests.recorded_answers`` writes tests/data/recorded_answers.json anew. That is allowed only in a commit that
changes answers on purpose and says in its message which ones, by how much and why. A change that is meant to leave all
answers alone (a move, a new name, a faster way) must pass tests/test_recorded_answers.py with the file as it is.

All rows are made of whole numbers by plain arithmetic, so that they do not depend on a library's random numbers.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import sparse

import naively as nv

from .worked_table import COLUMNS, ROWS

RECORDED = Path(__file__).parent / "data" / "recorded_answers.json"
PENGUINS = Path(__file__).parents[1] / "examples" / "penguins.csv"
MODELS = ("auto", "textbook")
QUERIED = 10  # rows of a set whose probabilities are recorded
FIGURES = ("accuracy", "balanced_accuracy", "log_loss", "brier", "calibration_error", "auc", "mean_cost")
Rows = tuple[Any, list[Any], dict[str, Any]]  # a table, the classes of its rows, and settings


class Draws:
    """Whole numbers of a linear congruential generator: the same on every machine and with every library."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def below(self, n: int) -> int:
        """Return a whole number from 0 to n - 1."""
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n


# -- sets --------------------------------------------------------------------------------------------------------------


def worked_table() -> Rows:
    """Return the seventeen days of the lecture notes: categories alone."""
    table = pd.DataFrame([row[:-1] for row in ROWS], columns=list(COLUMNS))
    return table, [row[-1] for row in ROWS], {}


def penguins() -> Rows:
    """Return the penguins: numbers, categories and missing values."""
    table = pd.read_csv(PENGUINS)
    return table, table.pop("species").tolist(), {}


def families() -> Rows:
    """Return a table with a column of every family, missing values among them."""
    d = Draws(16)
    places = [d.below(3) for _ in range(150)]
    levels = ["low", "mid", "high", "top"]
    columns: dict[str, list[Any]] = {
        "visits": [d.below(3 + 3 * k) + d.below(2) for k in places],
        "size": [None if d.below(12) == 0 else (d.below(400) + d.below(400) + 90 * k) / 8 for k in places],
        "hour": [(7 + 4 * k + d.below(7)) % 24 for k in places],
        "member": [d.below(4) <= k for k in places],
        "grade": [None if d.below(15) == 0 else levels[min(3, d.below(3) + k // 2)] for k in places],
        "color": [("red", "green", "blue")[k if d.below(2) else d.below(3)] for k in places],
    }
    chosen = {"visits": "poisson", "hour": nv.Bins(cuts=[11, 16]), "grade": nv.Ordinal(levels=levels)}
    return pd.DataFrame(columns), [("a", "b", "c")[k] for k in places], {"families": {**chosen, "member": "bernoulli"}}


def texts() -> Rows:
    """Return short texts of three classes, in two scripts."""
    d = Draws(5)
    own = {
        "ham": ["lunch", "tomorrow", "home", "call", "later", "thanks", "你好"],
        "spam": ["free", "money", "win", "prize", "click", "now", "免费"],
        "work": ["report", "deadline", "budget", "team", "review", "plan", "会议"],
    }
    common = ["the", "of", "you", "and", "to", "it", "a", "never", "so"]
    found, labels = [], []
    for _ in range(90):
        label = sorted(own)[d.below(3)]
        pools = [own[label], own[sorted(own)[d.below(3)]], common, common]
        pool = [pools[d.below(4)] for _ in range(1 + d.below(9))]
        found.append(" ".join(words[d.below(len(words))] for words in pool))
        labels.append(label)
    return found, labels, {}


def mails() -> Rows:
    """Return texts in a column beside others."""
    found, labels, _ = texts()
    table = {"body": found, "length": [len(text) for text in found], "first": [text[0] for text in found]}
    return pd.DataFrame(table), labels, {"families": {"body": "words"}}


def word_counts() -> Rows:
    """Return a sparse matrix of counts of words."""
    d = Draws(9)
    places = [d.below(2) for _ in range(80)]
    counts = [[max(0, d.below(8) - 6) + (at % 5 == k) * d.below(2) for at in range(20)] for k in places]
    return sparse.csr_matrix(np.array(counts)), [("no", "yes")[k] for k in places], {}


def weighted() -> Rows:
    """Return the penguins with weights of classes, costs and a price of no answer."""
    table, labels, _ = penguins()
    cost = [[0, 1, 4], [2, 0, 1], [1, 1, 0]]
    return table, labels, {"class_weight": "balanced", "cost": cost, "reject": 0.05}


SETS: dict[str, Callable[[], Rows]] = {
    "worked table": worked_table,
    "penguins": penguins,
    "families": families,
    "texts": texts,
    "mails": mails,
    "word counts": word_counts,
    "weighted": weighted,
}
FILES = {"penguins": ("csv", "parquet"), "mails": ("csv",)}


# -- answers -----------------------------------------------------------------------------------------------------------


def some_rows(X: Any, at: list[int]) -> Any:
    """Return rows of a table, a matrix or a list."""
    if isinstance(X, list):
        return [X[row] for row in at]
    return X.iloc[at] if isinstance(X, pd.DataFrame) else X[at]


def queried(X: Any) -> Any:
    """Return the rows whose probabilities are recorded: some from everywhere in the table."""
    rows = len(X) if isinstance(X, list) else X.shape[0]
    return some_rows(X, list(range(0, rows, -(-rows // QUERIED))))


def figures(scores: nv.Scores) -> dict[str, Any]:
    """Return the figures of scores, and the confusion matrix."""
    return {**{name: getattr(scores, name) for name in FIGURES}, "confusion": scores.confusion.tolist()}


def saved_counts(nb: nv.NaiveBayes) -> dict[str, Any]:
    """Return the counts in the model file: in full those of classes and of columns alone, of all lines a digest."""
    with tempfile.TemporaryDirectory() as folder:
        nb.save(Path(folder) / "model.parquet")
        table = pq.read_table(Path(folder) / "model.parquet", columns=["column", "value", "n"])
    lines = pd.DataFrame(table.to_pydict())
    lines = lines[~lines["column"].fillna("").str.startswith("(part) ")]  # what is fitted has no counts
    of = {name: lines[lines["column"] == name] for name in nb.counts_.columns}
    n = lines["n"].to_numpy(dtype="<f8").round(6)  # with weights of classes they are fractions
    return {
        "classes": lines[lines["column"].isna()]["n"].round(6).tolist(),
        "columns": {name: [len(some), round(float(some["n"].sum()), 6)] for name, some in of.items()},
        "lines": len(lines),
        "digest": hashlib.sha256(n.tobytes()).hexdigest()[:16],
    }


def table_answers(name: str, model: str) -> dict[str, Any]:
    """Return all answers of one set and model."""
    X, y, settings = SETS[name]()
    nb = nv.NaiveBayes(model=model, **settings).fit(X, y)
    asked = queried(X)
    evidence = nb.explain(some_rows(asked, [0]))
    return {
        "labels": [None if pd.isna(label) else label for label in nb.predict(asked).tolist()],
        "log_proba": nb.predict_log_proba(asked).tolist(),
        "contributions": evidence.scores[0].tolist(),
        "prior": evidence.base.tolist(),
        "leave_one_out": figures(nb.leave_one_out(X, y)),
        "cross_validate": figures(nv.cross_validate(X, y, model=model, **settings)),
        "counts": saved_counts(nb),
    }


def file_answers(name: str, ending: str, model: str) -> dict[str, Any]:
    """Return the answers of a model of the same rows, fitted from a file; rows of a file are queried, too."""
    X, y, settings = SETS[name]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"rows.{ending}"
        if ending == "csv":
            X.assign(target=y).to_csv(path, index=False)
        else:
            pq.write_table(pa.Table.from_pandas(X.assign(target=y), preserve_index=False), path)
        nb = nv.NaiveBayes(model=model, **settings).fit(path, target="target")
        scores = nv.cross_validate(path, target="target", model=model, **settings)
        log_proba = nb.predict_log_proba(path)
    rows = range(0, len(y), -(-len(y) // QUERIED))
    return {
        "log_proba": [log_proba[row].tolist() for row in rows],
        "cross_validate": figures(scores),
        "counts": saved_counts(nb),
    }


def all_answers() -> dict[str, Any]:
    """Return the answers of all sets and models, as they are recorded."""
    tables = {f"{name}, {model}": table_answers(name, model) for name in SETS for model in MODELS}
    kinds = [(name, ending, model) for name, endings in FILES.items() for ending in endings for model in MODELS]
    files = {f"{name}.{ending}, {model}": file_answers(name, ending, model) for name, ending, model in kinds}
    return tables | files


def shortened(data: Any) -> Any:
    """Return plain data with numbers of twelve digits: more than the comparison asks for."""
    if isinstance(data, dict):
        return {key: shortened(value) for key, value in data.items()}
    if isinstance(data, list):
        return [shortened(value) for value in data]
    if isinstance(data, float):
        return int(data) if data.is_integer() and abs(data) < 2**53 else float(f"{data:.12g}")
    return data


if __name__ == "__main__":
    lines = [f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in shortened(all_answers()).items()]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
