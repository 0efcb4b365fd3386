"""The ways that only large inputs take, in pieces, in rounds and class by class, give what plain NumPy gives.

Below 65,536 cells, or below as many as the table has, rows are counted straight into the total. Everything here lies
above, or on the edge.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import naively as nv
from naively import _kernels as kernels
from naively.model.column_parts import LABELS

from .kernel_cases import THREADS, Rows, assert_near, csr, padded, reading, sums_of
from .strategies import laid_out
from .tables import book

pytestmark = [pytest.mark.usefixtures("level"), pytest.mark.pairwise]

ROWS, COLUMNS, CLASSES = 9_000, 17, 6  # some 150,000 cells
WEIGHINGS = ("none", "fractional")

# How the rows are spread over the classes; some classes are never seen.
SPREADS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "even": lambda rng, rows: rng.integers(0, CLASSES, rows),
    "skewed": lambda rng, rows: np.where(rng.random(rows) < 0.99, 4, rng.integers(0, CLASSES, rows)),
    "one class": lambda rng, rows: np.full(rows, CLASSES - 1),
    "gaps": lambda rng, rows: rng.choice([1, 3, 4], rows),
    "sorted": lambda rng, rows: np.sort(rng.integers(0, CLASSES, rows)),
}
spread_out = pytest.mark.parametrize("spread", SPREADS)
weighed = pytest.mark.parametrize("weighing", WEIGHINGS)


def spread_rows(rng: np.random.Generator, x: Any, rows: int, spread: str, weighing: str) -> Rows:
    """Give rows classes, spread in some way, and weights: fractions, a third of them 0."""
    y = SPREADS[spread](rng, rows).astype(np.int32)
    weights = None if weighing == "none" else rng.random(rows) * rng.choice([0.0, 1.0, 100.0], rows)
    return Rows(x, y, weights, CLASSES)


def counted(call: Callable[[np.ndarray, int], int], shape: tuple[int, ...], before: float = 2.0) -> np.ndarray:
    """Return the counts, on top of some, that any number of threads gives: the same to the last bit."""
    found = []
    for threads in THREADS:
        counts = np.full(shape, before)
        assert call(counts, threads) == -1
        found.append(counts)
    assert len({counts.tobytes() for counts in found}) == 1
    return found[0]


def refused(call: Callable[[np.ndarray, int], int], shape: tuple[int, ...]) -> int:
    """Return the row that any number of threads refuses; no count was changed."""
    rows = set()
    for threads in THREADS:
        counts = np.full(shape, 2.0)
        rows.add(call(counts, threads))
        assert np.all(counts == 2.0)
    (row,) = rows
    return row


# -- codes -------------------------------------------------------------------------------------------------------------


def code_counts(rows: Rows, offsets: np.ndarray) -> np.ndarray:
    """Count codes with NumPy; negative ones are missing values."""
    x = rows.x.astype(np.int64)
    here = x >= 0
    at = ((offsets[:-1] + x) * rows.classes + rows.y[:, None])[here]
    weights = np.broadcast_to(rows.w[:, None], x.shape)[here]
    return np.bincount(at, weights, offsets[-1] * rows.classes).reshape(-1, rows.classes)


@spread_out
@weighed
@pytest.mark.parametrize(
    ("dtype", "layout"), [("uint8", "C"), ("bool", "F"), ("int32", "C"), ("int32", "F"), ("int64", "C"), ("int64", "F")]
)
def test_codes_are_counted_in_pieces_by_any_threads(dtype, layout, spread, weighing):
    """Whole rows are counted exactly.

    Weighed ones to rounding; missing values and rows of no weight count for nothing.
    """
    rng = np.random.default_rng(1)
    sizes = np.full(COLUMNS, 2) if dtype == "bool" else rng.integers(1, 40, COLUMNS)
    x = (rng.random((ROWS, COLUMNS)) * sizes).astype(dtype)
    holes = dtype in ("int32", "int64")
    if holes:
        x[rng.random(x.shape) < 0.1] = -1
        x[0, 0] = np.iinfo(dtype).min
    rows = spread_rows(rng, laid_out(x, layout), ROWS, spread, weighing)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    found = counted(
        lambda counts, threads: kernels.count_codes(rows.x, rows.y, rows.weights, holes, offsets, counts, threads),
        (offsets[-1], CLASSES),
    )
    wanted = code_counts(rows, offsets)
    assert_near(found, 2 + wanted, 2 + wanted, 0.0 if weighing == "none" else 1e-12)


# -- sparse rows, class by class ---------------------------------------------------------------------------------------


def word_counts(rows: Rows, threshold: float | None) -> np.ndarray:
    """Count the entries of a sparse matrix with NumPy."""
    x, wanted = rows.x, np.zeros((rows.classes, rows.x.width), np.longdouble)
    terms = rows.w[x.rows] * reading(x.values[x.used], threshold)
    np.add.at(wanted, (rows.y[x.rows], x.columns[x.used]), terms)
    return wanted


def sparse_call(rows: Rows, threshold: float | None) -> Callable[[np.ndarray, int], int]:
    return lambda counts, threads: kernels.count_sparse(
        *rows.x.arrays, rows.y, rows.weights, threshold, None, counts, threads
    )


@spread_out
@weighed
@pytest.mark.parametrize(
    ("dtype", "index", "threshold"),
    [("float64", "int32", None), ("float32", "int64", None), ("uint8", "int32", 0.5), ("int64", "int64", 0.0)],
)
def test_sparse_rows_are_counted_by_class_by_any_threads(dtype, index, threshold, spread, weighing):
    """However the rows are spread over the classes: a class with most of them is counted in several parts."""
    rng = np.random.default_rng(3)
    x = csr(rng, ROWS, 50, dtype, index, most=40)
    x.values[:] = rng.integers(0, 9, x.values.shape)
    rows = spread_rows(rng, x, ROWS, spread, weighing)
    found = counted(sparse_call(rows, threshold), (CLASSES, 50))
    wanted = word_counts(rows, threshold)
    assert_near(found, 2 + wanted, 2 + wanted, 0.0 if weighing == "none" else 1e-12)


@pytest.mark.parametrize("kind", ["column", "value"])
def test_the_first_row_is_refused_whatever_its_class_by_any_threads(kind):
    """Class by class, a later row may be met before an earlier one: the earlier is named all the same."""
    rng = np.random.default_rng(5)
    x = csr(rng, ROWS, 50, "float64", "int32", most=40)
    rows = spread_rows(rng, x, ROWS, "skewed", "none")
    filled = np.flatnonzero(np.diff(x.starts))
    for row, of_class in zip(filled[[3_000, 3_001, 6_000]], (5, 4, 0), strict=True):
        rows.y[row] = of_class
        if kind == "column":
            x.columns[x.starts[row]] = -1
        else:
            x.values[x.starts[row]] = np.nan
    assert refused(sparse_call(rows, None), (CLASSES, 50)) == filled[3_000]


# -- numbers -----------------------------------------------------------------------------------------------------------


@spread_out
@weighed
@pytest.mark.parametrize(
    ("dtype", "layout"), [("float64", "C"), ("float64", "F"), ("float32", "C"), ("float32", "stepped")]
)
def test_numbers_of_any_layout_are_counted_by_any_threads(dtype, layout, spread, weighing):
    """Lines read where they lie, and lines put together first, give the sums and ranges that NumPy gives."""
    rng = np.random.default_rng(6)
    x = laid_out(rng.normal(3, 2, (ROWS, COLUMNS)).astype(dtype), layout)
    rows = spread_rows(rng, x, ROWS, spread, weighing)
    shape, w = (CLASSES, COLUMNS), rows.w[:, None].astype(np.longdouble)
    for threshold in (None, 3.0):
        found = counted(
            lambda counts, threads, t=threshold: kernels.count_dense(*rows[:3], t, None, counts, threads), shape
        )
        wanted, size = sums_of(rows.y, w * reading(x, threshold), CLASSES)
        assert_near(found, 2 + wanted, 2 + size, 1e-12)

    shifts = []

    def moments(sums: np.ndarray, threads: int) -> int:
        shifts.append(np.zeros(shape))
        return kernels.count_moments(*rows[:3], False, shifts[-1], sums, threads)

    sums = counted(moments, (3, *shape), 0.0)
    assert len({shift.tobytes() for shift in shifts}) == 1
    for power in range(3):
        terms = w * (x.astype(np.longdouble) - shifts[0][rows.y]) ** power
        assert_near(sums[power], *sums_of(rows.y, terms, CLASSES), 1e-12)

    ranges = np.empty((2, COLUMNS))
    kernels.column_ranges(x, *ranges, 2)
    np.testing.assert_array_equal(ranges, [x.min(axis=0), x.max(axis=0)])


@pytest.mark.parametrize("layout", ["C", "F", "stepped"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 900])
def test_numbers_of_any_layout_are_scored(rows, dtype, layout):
    """Rows are scored three at a time; the rest, missing values and infinities do not disturb their neighbours."""
    rng = np.random.default_rng(7)
    x, (centre, base) = rng.normal(size=(rows, 5)).astype(dtype), rng.normal(size=(2, 5, 14))
    x[rows // 2, 1] = np.nan
    tables = padded(centre), padded(np.ones((5, 14))), padded(base)
    terms = base - (x.astype(float)[:, :, None] - centre) ** 2
    wanted = np.nansum(terms, axis=1)
    for threads in THREADS:
        scorer, out = kernels.Scorer(np.zeros(14)), np.empty((rows, 14))
        scorer.normal(laid_out(x, layout), *tables, True)
        assert scorer.log_joint(out, threads) == -1
        np.testing.assert_allclose(out, wanted, rtol=1e-12, atol=1e-12)
    x[rows - 1, 4] = np.inf
    scorer = kernels.Scorer(np.zeros(14))
    scorer.normal(laid_out(x, layout), *tables, True)
    assert scorer.log_joint(out) == rows - 1


# -- labels ------------------------------------------------------------------------------------------------------------

FAR = np.array([-(2**63), -(2**32), -1, 0, 7, 2**31, 2**63 - 1])


@pytest.mark.parametrize("known", [FAR, FAR[:1], FAR[2:5], np.arange(1_000) * 3 - 700])
@pytest.mark.parametrize("rows", [0, 1, 5_000])
def test_places_are_those_of_numpy(known, rows):
    """Labels among the known ones get their place; one stranger, wherever it is, and there are none."""
    rng = np.random.default_rng(10)
    y = rng.choice(known, rows)
    found = kernels.find_labels(known, y)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, np.searchsorted(known, y))
    np.testing.assert_array_equal(kernels.find_labels(*(frozen(array) for array in (known, y))), found)
    for stranger in (5, -(2**63) + 1, 2**63 - 2):
        if rows and stranger not in known:
            y[rng.integers(rows)] = stranger
            assert kernels.find_labels(known, y) is None


def frozen(array: np.ndarray) -> np.ndarray:
    """Return a copy that cannot be written to."""
    array = array.copy()
    array.flags.writeable = False
    return array


# -- the compiled loops that leave rows out ----------------------------------------------------------------------------

LEFT_OUT = 9_000  # several pieces, the last of them short


def numbers(classes, allow_missing=0.0, columns=5):
    """Return rows of numbers at several places and scales, the last class rare, and the class of each row."""
    rng = np.random.default_rng(classes)
    y = np.where(np.arange(LEFT_OUT) < 3, classes - 1, rng.integers(0, max(classes - 1, 1), LEFT_OUT))
    x = (rng.normal(size=(LEFT_OUT, columns)) + 0.5 * y[:, None]) * 10.0 ** np.arange(-2, columns - 2) + 100
    return np.where(rng.random(x.shape) < allow_missing, np.nan, x), y.astype(np.int32)


def one_by_one(nb, x, y, weights, rows):
    """Return P(class | row) of some rows, each taken from the counts."""
    answers = []
    for row in rows:
        one, w = x[[row]], None if weights is None else weights[[row]]
        rest = nb.counts_ - nv.count(one, y[[row]], schema=nb.schema_, sample_weight=w)
        answers.append(nv.NaiveBayes.from_counts(rest, nb.schema_, estimate=nb.estimate).predict_proba(one)[0])
    return np.array(answers)


@pytest.mark.parametrize("estimate", ["mle", "map", "bayes"])
@pytest.mark.parametrize("classes", [1, 2, 7])
@pytest.mark.parametrize("weighted", [False, True], ids=["whole", "weighted"])
def test_many_rows_of_numbers_are_left_out_as_if_never_counted(estimate, classes, weighted):
    x, y = numbers(classes, allow_missing=0.1)
    weights = np.random.default_rng(1).choice([0.5, 1.0, 2.3], LEFT_OUT) if weighted else None
    nb = book(estimate=estimate).fit(x, y, sample_weight=weights)
    some = [0, 1, 2, 3, 4_095, 4_096, 5_000, 8_998, 8_999]
    got = nb.leave_one_out(x, y, weights).posterior[some]
    np.testing.assert_allclose(got, one_by_one(nb, x, y, weights, some), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_codes_of_every_type_and_layout_are_left_out_alike(dtype):
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 9, (LEFT_OUT, 4)), rng.integers(0, 5, LEFT_OUT).astype(np.int32)
    x[7, 1] = 9  # met once
    nb = book(families={f"x{j}": "categorical" for j in range(4)}).fit(x, y)
    tables = nb.fitted_.model.textbook.terms[LABELS]
    expected = tables.leave_one_out(x.astype(np.int32), y)
    for layout in ("C", "F", "flipped", "inside"):
        for threads in THREADS:
            got = tables.leave_one_out(laid_out(x.astype(dtype), layout), y, None, threads)
            np.testing.assert_array_equal(got, expected)
    some = [0, 7, 4_096, 8_999]
    got = nb.leave_one_out(x, y).posterior[some]
    np.testing.assert_allclose(got, one_by_one(nb, x, y, None, some), rtol=1e-9, atol=1e-9)
