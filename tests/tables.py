"""One small table in all its clothes: data frames of several libraries, arrays, dicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from palmerpenguins import load_penguins

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
