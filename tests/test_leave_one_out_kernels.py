"""The compiled loops that leave rows out: every level, layout and number of threads, beside counting all other rows."""

import numpy as np
import pytest

import naively as nv
from naively.errors import InvalidInput, RowRefused
from naively.model.column_parts import LABELS

from .kernel_cases import THREADS
from .strategies import laid_out
from .tables import book

pytestmark = [pytest.mark.usefixtures("level"), pytest.mark.pairwise]

ROWS = 9_000  # several pieces, the last of them short


def numbers(classes, allow_missing=0.0, columns=5):
    """Return rows of numbers at several places and scales, the last class rare, and the class of each row."""
    rng = np.random.default_rng(classes)
    y = np.where(np.arange(ROWS) < 3, classes - 1, rng.integers(0, max(classes - 1, 1), ROWS))
    x = (rng.normal(size=(ROWS, columns)) + 0.5 * y[:, None]) * 10.0 ** np.arange(-2, columns - 2) + 100
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
    weights = np.random.default_rng(1).choice([0.5, 1.0, 2.3], ROWS) if weighted else None
    nb = book(estimate=estimate).fit(x, y, sample_weight=weights)
    some = [0, 1, 2, 3, 4_095, 4_096, 5_000, 8_998, 8_999]
    got = nb.leave_one_out(x, y, weights).posterior[some]
    np.testing.assert_allclose(got, one_by_one(nb, x, y, weights, some), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_layout_and_threads_change_no_bit(dtype):
    x, y = numbers(4, allow_missing=0.05)
    nb = book(families={f"x{j}": "gaussian" for j in range(5)}).fit(x.astype(dtype), y)
    found = nb.fitted_.model.textbook.likelihoods["\0numbers 0"]
    expected = found.leave_one_out(x.astype(dtype), y)
    for layout in ("C", "F", "stepped", "inside"):
        for threads in THREADS:
            got = found.leave_one_out(laid_out(x.astype(dtype), layout), y, None, threads)
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_codes_of_every_type_and_layout_are_left_out_alike(dtype):
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 9, (ROWS, 4)), rng.integers(0, 5, ROWS).astype(np.int32)
    x[7, 1] = 9  # met once
    nb = book(families={f"x{j}": "categorical" for j in range(4)}).fit(x, y)
    tables = nb.fitted_.model.textbook.likelihoods[LABELS]
    expected = tables.leave_one_out(x.astype(np.int32), y)
    for layout in ("C", "F", "flipped", "inside"):
        for threads in THREADS:
            got = tables.leave_one_out(laid_out(x.astype(dtype), layout), y, None, threads)
            np.testing.assert_array_equal(got, expected)
    some = [0, 7, 4_096, 8_999]
    got = nb.leave_one_out(x, y).posterior[some]
    np.testing.assert_allclose(got, one_by_one(nb, x, y, None, some), rtol=1e-9, atol=1e-9)


def test_the_first_row_that_cannot_have_been_counted_is_refused():
    x, y = numbers(2)
    nb = book().fit(x, y)
    found = nb.fitted_.model.textbook.likelihoods["\0numbers 0"]
    x[[8_000, 4_200], 3] = np.inf
    for threads in THREADS:
        with pytest.raises(RowRefused, match="Row 4200 "):
            found.leave_one_out(x, y, None, threads)
    labels = book().fit({"x": ["p", "p", "q"]}, [0, 1, 1]).fitted_.model.textbook.likelihoods[LABELS]
    with pytest.raises(
        InvalidInput, match="Row 1 was never counted: its value was not counted as often with its class"
    ):
        labels.leave_one_out(np.array([[0], [1], [1]], np.int32), np.array([0, 0, 1], np.int32))
