"""What several files of tests use: one small table in all its clothes, texts, pages, and textbook models of them."""

from __future__ import annotations

import gzip
import json
import re
import sys
from base64 import b64decode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from palmerpenguins import load_penguins

import naively as nv
from naively.estimator.html_report import page_data_of
from naively.page.content import PageData

# A table with a column of every simple kind, and missing values.
TABLE: dict[str, list[Any]] = {
    "colour": ["red", "blue", None, "red", "green", "blue", "red", "red"],
    "size": [1.5, 2.5, 3.0, None, 0.5, 2.0, 1.0, -4.0],
    "visits": [1, 0, 3, 2, 2, 7, 0, 1],
    "member": [True, False, True, True, False, False, True, False],
}
LABELS = ["yes", "no", "yes", "no", "yes", "no", "no", "yes"]


def cells(table: dict[str, list[Any]]) -> np.ndarray:
    """Return a table as an array of objects."""
    array = np.empty((len(next(iter(table.values()))), len(table)), dtype=object)
    for at, column in enumerate(table.values()):
        array[:, at] = column
    return array


def rows(table: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Return a table as dicts, one a row."""
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


# How each library holds the same table.
CLOTHES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": pd.DataFrame,
    "pandas over Arrow": lambda table: pa.table(table).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas of its own types": lambda table: pd.DataFrame(table).convert_dtypes(),
    "Polars": pl.DataFrame,
    "Polars, lazy": lambda table: pl.DataFrame(table).lazy(),
    "PyArrow": pa.table,
    "a record batch": lambda table: pa.RecordBatch.from_pydict(table),
    "a dict of columns": dict,
    "a dict of arrays": lambda table: {name: np.array(column, dtype=object) for name, column in table.items()},
    "a list of dicts": rows,
    "an array of objects": cells,
    "a list of lists": lambda table: cells(table).tolist(),
}


def part(table: dict[str, list[Any]], which: Any) -> dict[str, list[Any]]:
    """Return some rows of a table."""
    return {name: [column[int(row)] for row in which] for name, column in table.items()}


def penguins() -> tuple[pd.DataFrame, pd.Series]:
    """Return the penguins, and apart from them their species."""
    table = load_penguins()
    return table, table.pop("species")


# -- textbook naive bayes, which most tests are about; `test_default_model*` are about the default model ---------------


def book(**settings: Any) -> nv.NaiveBayes:
    """Return a classifier that takes no columns together."""
    return nv.NaiveBayes(**{"model": "textbook", **settings})


def crossed(*rows: Any, **settings: Any) -> nv.Scores:
    """Return how well models that take no columns together answer rows that they were not shown."""
    return nv.cross_validate(*rows, **{"model": "textbook", **settings})


# -- how much work a call does, counted in instructions ----------------------------------------------------------------


def instructions(call: Callable[[], Any]) -> int:
    """Return the bytecode instructions that the second of two calls executes; the first fills caches."""
    executed = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal executed
        if event == "call":
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        executed += event == "opcode"
        return trace

    call()
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return executed


# -- tables and pages for the tests of the page ------------------------------------------------------------------------

# Next to the repository, or next to a folder that holds it.
SHARED = next((one / "shared" / "data" for one in Path(__file__).resolve().parents if (one / "shared").is_dir()), None)
EXAMPLES = Path(__file__).parents[1] / "examples"
HOSTILE = [
    "</script>", '"><img src=x onerror=alert(1)>', "it's \"quoted\"", "مرحبا", "🐧", "a & b <b>", "\u2028 line", "]]>",
    "{x}",
]  # fmt: skip


def shared_table(name: str, **options: Any) -> pd.DataFrame:
    """Return a table of the shared data; the test is skipped where there is none."""
    if SHARED is None or not (SHARED / name).exists():
        pytest.skip("needs the data sets of ../shared/data beside the repository")
    return pd.read_csv(SHARED / name, **options)


def penguin_table() -> pd.DataFrame:
    """Return the penguins of the examples."""
    return pd.read_csv(EXAMPLES / "penguins.csv")


def page_data(nb: nv.NaiveBayes, **more: Any) -> PageData:
    """Return what the page of a model without rows shows."""
    return replace(page_data_of(nb.fitted_), **more)


def unpacked_data(html: str) -> dict[str, Any]:
    """Return the data of a page, as its scripts read them."""
    packed = b64decode(re.search(r'id="naively-packed">([^<]*)<', html)[1])
    head, _, rest = gzip.decompress(packed).decode("utf-8", "surrogatepass").partition("\n")
    return json.loads(rest.encode("utf-16-le")[2 * int(head) :].decode("utf-16-le"))


# -- texts of three classes that the tests of texts share, of several languages, and other texts to be answered --------

SAID = {
    "ham": "lunch tomorrow meeting the see you at home call me later thanks said 你好 день",
    "spam": "free money win the prize click now offer cash cheap buy FREE 你好 приз",
    "work": "report meeting the deadline budget team review said project plan über naïve",
}
COMMON = "the of you and to it I a 12 don't e-mail so never"


def written(seed: int, rows: int, empty: bool = True) -> tuple[list[str], list[str]]:
    """Return texts and their classes; some words are strong, most are not, and some texts are empty."""
    rng = np.random.default_rng(seed)
    classes = sorted(SAID)
    texts, labels = [], []
    for row in range(rows):
        label = classes[rng.integers(len(classes)) if row >= len(classes) else row]
        length = int(rng.integers(0 if empty else 1, 12))
        other = classes[rng.integers(len(classes))]
        pools = [pool.split() for pool in [SAID[label]] * 3 + [SAID[other]] * 2 + [COMMON] * 3]
        words = [str(rng.choice(pools[rng.integers(len(pools))])) for _ in range(length)]
        texts.append(" ".join(words) + ("!" if row % 7 == 0 else ""))
        labels.append(label)
    return texts, labels


CLASSES = sorted(SAID)
TEXTS, Y = written(0, 120)
NEW = ["", "free lunch", "unknown", "The the THE never", "你好 money", "over the budget, free of it"] + written(1, 10)[
    0
]
