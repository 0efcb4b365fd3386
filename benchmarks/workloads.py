"""Made-up data of known shape for the benchmarks; every function is a pure function of its arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import sparse

Labels = npt.NDArray[np.int64]

CARDINALITIES = (2, 2, 3, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 50, 80, 120, 200, 350, 600, 1000)


def bells(rows: int, columns: int = 50, classes: int = 10, dtype: Any = np.float64) -> tuple[npt.NDArray[Any], Labels]:
    """Numbers around a centre of their class."""
    rng = np.random.default_rng(1)
    y = rng.integers(classes, size=rows)
    centre, width = rng.normal(size=(classes, columns)), rng.uniform(0.5, 2.0, (classes, columns))
    X = np.empty((rows, columns), dtype)
    for start in range(0, rows, 100_000):
        part = slice(start, start + 100_000)
        noise = rng.standard_normal((len(y[part]), columns), dtype=np.float32)
        X[part] = centre[y[part]] + width[y[part]] * noise
    return X, y


def codes(rows: int, classes: int = 5, dtype: Any = np.int32) -> tuple[npt.NDArray[Any], Labels]:
    """Codes of twenty columns with 2 to 1,000 values, the low ones frequent, shifted by the class."""
    rng = np.random.default_rng(2)
    y = rng.integers(classes, size=rows)
    X = np.empty((rows, len(CARDINALITIES)), dtype)
    for j, size in enumerate(CARDINALITIES):
        X[:, j] = ((size * rng.random(rows) ** 2).astype(np.int64) + (y * j) % 3) % size
    return X, y


def bags(rows: int, words: int = 100_000, classes: int = 20, entries: int = 24_000_000) -> tuple[Any, Labels]:
    """Bags of words whose frequencies fall off as they do in language, a third of them chosen by the class."""
    rng = np.random.default_rng(3)
    y = rng.integers(classes, size=rows)
    frequency = 1.0 / np.arange(1, words + 1) ** 1.05
    steps = np.cumsum(frequency / frequency.sum())
    draws = int(entries * 1.29)  # words drawn twice in a document become one entry
    row = np.sort(rng.integers(rows, size=draws))
    column = np.searchsorted(steps, rng.random(draws)).clip(max=words - 1)
    column = np.where(rng.random(draws) < 0.3, (column * 31 + y[row] * 997) % words, column)
    X = sparse.csr_matrix((np.ones(draws), (row, column)), shape=(rows, words))
    X.sum_duplicates()
    return X, y


def strings(rows: int, classes: int = 5) -> tuple[Any, Labels]:
    """Return an Arrow table of twenty columns of strings: the codes above, spelt out."""
    X, y = codes(rows, classes)
    return pa.table({f"s{j}": spelt(X[:, j], size) for j, size in enumerate(CARDINALITIES)}), y


def mixed(rows: int, classes: int = 5, missing: float = 0.05, most: int = 1_000) -> tuple[Any, Labels]:
    """Return an Arrow table of ten columns of strings, one with `most` values, and ten of numbers, some missing."""
    rng = np.random.default_rng(4)
    y = rng.integers(classes, size=rows)
    columns = {}
    for j, size in enumerate((2, 3, 4, 6, 10, 16, 32, 80, 200, most)):
        code = ((size * rng.random(rows) ** 2).astype(np.int64) + y * size // classes) % size
        columns[f"s{j}"] = spelt(code, size, rng.random(rows) < missing)
    centre, width = rng.normal(size=(10, classes)), rng.uniform(0.5, 2.0, (10, classes))
    for j in range(10):
        number = centre[j, y] + width[j, y] * rng.standard_normal(rows)
        columns[f"x{j}"] = pa.array(number, mask=rng.random(rows) < missing)
    return pa.table(columns), y


def crowded(rows: int, values: int) -> tuple[Any, Labels]:
    """Return a mixed table whose last column of strings holds every one of so many values."""
    table, y = mixed(rows, most=values)
    return table.set_column(9, "s9", spelt(np.arange(rows) % values, values)), y


def spelt(code: npt.NDArray[Any], size: int, hole: npt.NDArray[np.bool_] | None = None) -> Any:
    """Return an Arrow column of the strings that the codes stand for."""
    names = pa.array([f"value {number}" for number in range(size)])
    return pa.DictionaryArray.from_arrays(pa.array(code, mask=hole), names).cast(pa.string())
