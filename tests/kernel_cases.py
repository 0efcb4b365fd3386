"""What the tests of the kernels share: rows of every kind, and sums by plain NumPy to hold beside the kernels'."""

from typing import Any, NamedTuple

import numpy as np

TYPES = ("float64", "float32", "int64", "int32", "uint8", "bool")
WHOLE = ("int64", "int32", "uint8", "bool")
LAYOUTS = ("C", "F", "flipped", "stepped", "inside", "repeated", "read-only")
LARGEST = 1e150
EXTREMES = (0.0, -0.0, 1.0, 5e-324, 1e-300, 1e-30, 1e30, 1e149, LARGEST)
THREADS = (1, 2, 3, 7)


def cells(rng: np.random.Generator, shape: Any, dtype: Any, least: float = -LARGEST) -> np.ndarray:
    """Draw cells of a type, no smaller than the least: small ones, and extreme ones that the type can hold."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        most = np.iinfo(dtype).max
        extremes = np.array([0, most, -most if dtype.kind == "i" and least < 0 else most], dtype)
        small = rng.integers(-3 if dtype.kind == "i" and least < 0 else 0, 9, shape).astype(dtype)
        return np.where(rng.random(shape) < 0.1, rng.choice(extremes, shape), small)
    extremes = np.array([v for v in EXTREMES if v < float(np.finfo(dtype).max)])
    x = np.where(rng.random(shape) < 0.2, rng.choice(extremes, shape), np.abs(rng.normal(size=shape)) * 10)
    return (x if least >= 0 else x * rng.choice([-1, 1], shape)).astype(dtype)


class Rows(NamedTuple):
    """A matrix, the class of each row, and what each row weighs."""

    x: Any
    y: np.ndarray
    weights: np.ndarray | None
    classes: int

    @property
    def w(self) -> np.ndarray:
        """What each row weighs, as numbers."""
        return np.ones(len(self.y)) if self.weights is None else self.weights

    def part(self, some: slice) -> "Rows":
        """Return some of the rows."""
        return Rows(self.x[some], self.y[some], None if self.weights is None else self.weights[some], self.classes)


def labelled(rng: np.random.Generator, x: Any, rows: int, classes: int, weighing: str) -> Rows:
    """Give rows classes, and weights of a kind."""
    weights = {
        "none": None,
        "ones": np.ones(rows),
        "some": rng.choice([0.0, 0.0, 1.0, 2.0], rows),
        "fractional": rng.choice([0.0, 1.0, 0.5, 1 / 3, 1e-9, 7.7], rows),
    }[weighing]
    return Rows(x, rng.integers(0, classes, rows).astype(np.int32), weights, classes)


class Csr(NamedTuple):
    """The three arrays of a sparse matrix, and how wide it is."""

    starts: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    width: int

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As the kernels take them."""
        return self.starts, self.columns, self.values

    @property
    def used(self) -> slice:
        """The entries that belong to a row."""
        return slice(int(self.starts[0]), int(self.starts[-1]))

    @property
    def rows(self) -> np.ndarray:
        """The row of each of these entries."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


def csr(rng: np.random.Generator, rows: int, width: int, dtype: Any, index: Any, most: int = 6) -> Csr:
    """Make a sparse matrix with empty rows, duplicates in any order, and entries that belong to no row."""
    counts = rng.integers(0, most + 1, rows) * (rng.random(rows) < 0.8) * (width > 0)
    starts = np.concatenate([[0], np.cumsum(counts)]) + (2 if width else 0)
    entries = int(starts[-1]) + (3 if width else 0)
    columns = rng.integers(0, max(width, 1), entries)
    return Csr(starts.astype(index), columns.astype(index), cells(rng, entries, dtype, least=0), width)


def coded(rng: np.random.Generator, rows: int, columns: int, dtype: Any, least: int = 0) -> tuple[Any, np.ndarray]:
    """Draw codes within their columns, and the offsets of these."""
    widths = rng.integers(max(least, 1 if rows else 0), 2 if dtype == "bool" else 6, columns, endpoint=True)
    x = (rng.random((rows, columns)) * widths).astype(np.int64).astype(dtype)
    return x, np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)


def assert_near(found: np.ndarray, wanted: Any, size: Any, bound: float = 1e-13) -> None:
    """Assert equality up to rounding, which grows with the size of what was added up."""
    error = np.abs(found - np.asarray(wanted, float))
    allowed = bound * np.asarray(size, float) + 1e-300
    assert np.all(error <= allowed), f"off by {np.max(error / allowed):.3g} times what rounding explains"


def sums_of(y: np.ndarray, terms: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of the terms [row, column] of each class, and of their sizes."""
    wanted, size = np.zeros((2, classes, terms.shape[1]), np.longdouble)
    np.add.at(wanted, y, terms)
    np.add.at(size, y, np.abs(terms))
    return wanted, size


def reading(x: np.ndarray, threshold: float | None) -> np.ndarray:
    """Return what counts for each cell."""
    return x.astype(np.longdouble) if threshold is None else (x.astype(float) > threshold).astype(np.longdouble)


def padded(table: np.ndarray) -> np.ndarray:
    """Return a table [line, class] as the kernels read it: classes filled up with zeros to a multiple of four."""
    out = np.zeros((len(table), -(-table.shape[1] // 4) * 4))
    out[:, : table.shape[1]] = table
    return out
