"""Every kernel, at every instruction level, gives what plain NumPy gives; what it refuses leaves no trace."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from naively import _kernels as kernels

from .kernel_cases import (
    LARGEST,
    LAYOUTS,
    THREADS,
    TYPES,
    WHOLE,
    Csr,
    Rows,
    assert_near,
    cells,
    coded,
    csr,
    labelled,
    padded,
    reading,
    sums_of,
)
from .strategies import laid_out

# A shared machine may pause any example; how long one takes means nothing.
checked = settings(deadline=None, max_examples=25)
pytestmark = [pytest.mark.usefixtures("level"), pytest.mark.pairwise]

# -- what hypothesis draws: shapes, types and layouts; a seed fills the cells ------------------------------------------

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
sizes = st.integers(0, 9)
class_counts = st.one_of(st.integers(1, 9), st.integers(1, 40))
weighings = st.sampled_from(["none", "some", "fractional"])
layouts = st.sampled_from(LAYOUTS)
thread_counts = st.sampled_from([1, 50])
thresholds = st.sampled_from([None, 0.0, 0.5, -2.0])


@st.composite
def dense(draw: Any, types: Any = TYPES, least: float = -LARGEST) -> Rows:
    """Rows of a dense matrix of any type, shape and layout."""
    rng, shape, dtype = draw(seeds), (draw(sizes), draw(sizes)), draw(st.sampled_from(types))
    x = laid_out(cells(rng, shape, dtype, least), draw(layouts))
    return labelled(rng, x, shape[0], draw(class_counts), draw(weighings))


@st.composite
def sparse(draw: Any) -> Rows:
    """Rows of a sparse matrix of any type, some of its arrays read-only."""
    rng, rows, index = draw(seeds), draw(sizes), draw(st.sampled_from(["int32", "int64"]))
    x = csr(rng, rows, draw(sizes), draw(st.sampled_from(TYPES)), index)
    for part in x.arrays:
        part.flags.writeable = draw(st.booleans())
    return labelled(rng, x, rows, draw(class_counts), draw(weighings))


# -- counting ----------------------------------------------------------------------------------------------------------


@given(rng=seeds, rows=st.integers(0, 50), weighing=weighings)
@checked
def test_rows_are_counted(rng, rows, weighing):
    """Each class gets the weights of its rows, on top of what it had."""
    _, y, weights, classes = labelled(rng, None, rows, 40, weighing)
    counts = np.full(classes, 3.0)
    kernels.count_rows(y, weights, counts)
    np.testing.assert_allclose(counts, 3 + np.bincount(y, weights, classes), rtol=1e-15)


STARTS_OF_LABELS = (0, -7, 2**31 - 30, -(2**31), 2**63 - 30, -(2**63))


@given(rng=seeds, dtype=st.sampled_from(WHOLE), size=sizes, start=st.sampled_from(STARTS_OF_LABELS))
@checked
def test_labels_are_encoded(rng, dtype, size, start):
    """Labels come back in order, with the place of each row's label among them; of no rows, nothing."""
    limits = np.iinfo("uint8" if dtype == "bool" else dtype)
    start = start if limits.min <= start <= limits.max - 29 else 0
    y = (rng.integers(0, 2 if dtype == "bool" else 30, size) + start).astype(dtype)
    found = kernels.encode_labels(y)
    if size:
        labels, codes = np.unique(y, return_inverse=True)
        np.testing.assert_array_equal(found[0].astype(dtype), labels)
        np.testing.assert_array_equal(found[1], codes)
        assert (found[0].dtype, found[1].dtype) == (np.int64, np.int32)
    else:
        assert found is None


@given(
    rng=seeds,
    shape=st.tuples(sizes, sizes),
    dtype=st.sampled_from(WHOLE),
    layout=layouts,
    classes=class_counts,
    weighing=weighings,
    allow_missing=st.booleans(),
    threads=thread_counts,
)
@checked
def test_codes_are_counted(rng, shape, dtype, layout, classes, weighing, allow_missing, threads):
    """Each cell adds the weight of its row to the count of its code and class; a missing value counts for nothing."""
    x, offsets = coded(rng, *shape, dtype)
    if allow_missing and dtype in ("int32", "int64"):
        x[rng.random(x.shape) < 0.2] = rng.choice([-1, np.iinfo(dtype).min])
    rows = labelled(rng, laid_out(x, layout), shape[0], classes, weighing)
    counts, wanted = np.full((2, offsets[-1], classes), 2.0)
    assert kernels.count_codes(rows.x, rows.y, rows.weights, allow_missing, offsets, counts, threads) == -1
    at, here = offsets[:-1] + rows.x.astype(int), rows.x.astype(int) >= 0
    np.add.at(wanted, (at[here], np.broadcast_to(rows.y[:, None], at.shape)[here]), (rows.w[:, None] * here)[here])
    assert_near(counts, wanted, wanted)


@given(rows=dense(), threshold=thresholds, threads=thread_counts)
@checked
def test_dense_cells_are_counted(rows, threshold, threads):
    """Each cell adds its value, or its presence, times the weight of its row."""
    counts = np.full((rows.classes, rows.x.shape[1]), 0.25)
    assert kernels.count_dense(rows.x, rows.y, rows.weights, threshold, None, counts, threads) == -1
    wanted, size = sums_of(rows.y, rows.w[:, None] * reading(rows.x, threshold), rows.classes)
    assert_near(counts, wanted + 0.25, size + 0.25)


@given(rows=sparse(), threshold=thresholds, threads=thread_counts)
@checked
def test_sparse_cells_are_counted(rows, threshold, threads):
    """Each entry counts for itself, in any order, duplicates too; cells without one count for nothing."""
    x = rows.x
    counts = np.full((rows.classes, x.width), 0.25)
    least = 0.0 if threshold is None else None
    assert kernels.count_sparse(*x.arrays, rows.y, rows.weights, threshold, least, counts, threads) == -1
    wanted = np.full(counts.shape, 0.25, np.longdouble)
    np.add.at(
        wanted,
        (rows.y[x.rows], x.columns[x.used]),
        rows.w[x.rows] * reading(x.values[x.used], threshold),
    )
    assert_near(counts, wanted, wanted)  # nothing negative: the sum is its own size


def assert_moments(shift: np.ndarray, sums: np.ndarray, batches: list[Rows]) -> None:
    """Assert that number, mean and squared deviations are those of these batches, wherever they are measured from."""
    x, y, w = (np.concatenate([getattr(rows, name) for rows in batches]) for name in ("x", "y", "w"))
    n, total, squares = sums.astype(np.longdouble)
    for k in range(len(shift)):
        mine = x[y == k].astype(np.longdouble)
        there, weight = ~np.isnan(mine), np.where(np.isnan(mine), 0, w[y == k].astype(np.longdouble)[:, None])
        mine, count = np.where(there, mine, 0), weight.sum(axis=0)
        some = np.where(count > 0, count, 1)
        mean = (weight * mine).sum(axis=0) / some
        ssd = (weight * np.where(there, mine - mean, 0) ** 2).sum(axis=0)
        far = np.abs(np.where(weight > 0, mine, 0)).max(axis=0, initial=0)
        np.testing.assert_allclose(n[k].astype(float), count.astype(float), rtol=1e-13)
        counted = np.where(count > 0, shift[k] + total[k] / some, mean)
        assert np.all(np.abs(counted - mean) <= 1e-13 * far + 1e-300)
        least = np.finfo(float).tiny  # a square below it may be 0
        assert np.all(np.abs(squares[k] - total[k] ** 2 / some - ssd) <= 1e-12 * count * far**2 + count * least)


@given(rows=dense(), allow_missing=st.booleans(), threads=thread_counts, rng=seeds)
@checked
def test_moments_are_counted(rows, allow_missing, threads, rng):
    """Weights, differences from the shift and their squares add up.

    Over two batches too; a missing value counts for nothing.
    """
    if allow_missing and rows.x.dtype.kind == "f":
        rows = rows._replace(x=np.where(rng.random(rows.x.shape) < 0.3, rows.x.dtype.type(np.nan), rows.x))
    shape = (rows.classes, rows.x.shape[1])
    shift, sums, middle = np.zeros(shape), np.zeros((3, *shape)), len(rows.y) // 2
    batches = [rows.part(slice(middle)), rows.part(slice(middle, None))]
    for batch in batches:
        assert kernels.count_moments(batch.x, batch.y, batch.weights, allow_missing, shift, sums, threads) == -1
    assert_moments(shift, sums, batches)


@given(rows=dense(), threads=thread_counts, rng=seeds)
@checked
def test_ranges_are_found(rows, threads, rng):
    """Least and largest of each column; NaN is neither, and no rows at all leave nothing between."""
    x = rows.x
    if x.dtype.kind == "f":
        odd = rng.choice([np.nan, np.inf, -np.inf, 1.0]).astype(x.dtype)
        x = np.where(rng.random(x.shape) < 0.2, odd, x)
    least, largest = np.zeros((2, x.shape[1]))
    kernels.column_ranges(x, least, largest, threads)
    np.testing.assert_array_equal(least, np.fmin.reduce(x.astype(float), axis=0, initial=np.inf))
    np.testing.assert_array_equal(largest, np.fmax.reduce(x.astype(float), axis=0, initial=-np.inf))


@given(rows=dense(), threads=thread_counts, rng=seeds)
@checked
def test_numbers_are_hashed_by_their_bits(rows, threads, rng):
    """The bits of each number as a double, folded, times the factor of its column; -0 is 0, and every NaN the same."""
    x = rows.x
    if x.dtype.kind == "f":
        x = np.where(rng.random(x.shape) < 0.2, rng.choice([np.nan, -np.nan, -0.0, np.inf]).astype(x.dtype), x)
    factors = rng.integers(0, 2**63, x.shape[1]).astype(np.uint64)
    before = rng.integers(0, 2**63, len(x)).astype(np.uint64)
    found = before.copy()
    kernels.hash_numbers(x, factors, found, threads)
    bits = (x.astype(float) + 0.0).view(np.uint64)
    bits[np.isnan(x.astype(float))] = 0x7FF8 << 48
    np.testing.assert_array_equal(
        found - before, ((bits ^ bits >> np.uint64(32)) * factors).sum(axis=1, dtype=np.uint64)
    )


# -- scoring -----------------------------------------------------------------------------------------------------------


class Step(NamedTuple):
    """Something that adds to the scores: how, what [row, class], and the size of what is added up."""

    add: Callable[[Any], None]
    scores: np.ndarray
    size: np.ndarray


def logs(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Draw numbers of either sign, small and large."""
    return rng.normal(size=shape) * 10.0 ** rng.integers(-3, 3, shape)


def constant_step(rng, rows, classes, layout, against):
    values = logs(rng, classes)
    scores = np.broadcast_to(values, (rows, classes))
    return Step(lambda s: s.constant(values, against), scores, np.abs(scores))


def codes_step(rng, rows, classes, layout, against):
    dtype = rng.choice(WHOLE)
    x, offsets = coded(rng, rows, int(rng.integers(0, 9)), dtype, least=1)
    if dtype != "bool":
        x[rng.random(x.shape) < 0.1] = 200  # unknown: the last line of its column is for it
    if dtype in ("int32", "int64"):
        x[rng.random(x.shape) < 0.1] = rng.choice([-1, np.iinfo(dtype).min])  # a missing value
    x, table = laid_out(x, layout), logs(rng, int(offsets[-1]), classes)
    codes = x.astype(np.int64)
    said = table[offsets[:-1] + np.clip(codes, 0, np.diff(offsets) - 1)].astype(np.longdouble)
    terms = np.where((codes < 0)[:, :, None], 0, said)
    add = padded(table)
    return Step(lambda s: s.codes(x, offsets, add, against), terms.sum(axis=1), np.abs(terms).sum(axis=1))


def dense_step(rng, rows, classes, layout, against):
    x = laid_out(cells(rng, (rows, int(rng.integers(0, 30))), rng.choice(TYPES)), layout)
    threshold, table = rng.choice([None, 0.0, 0.5]), logs(rng, x.shape[1], classes)
    terms = reading(x, threshold)[:, :, None] * table
    add = padded(table)
    return Step(lambda s: s.dense(x, threshold, add, against), terms.sum(axis=1), np.abs(terms).sum(axis=1))


def sparse_step(rng, rows, classes, layout, against):
    x = csr(rng, rows, int(rng.integers(0, 30)), rng.choice(TYPES), rng.choice(["int32", "int64"]), most=40)
    threshold, table = rng.choice([None, 0.0, 0.5]), logs(rng, x.width, classes)
    terms = reading(x.values[x.used], threshold)[:, None] * table[x.columns[x.used]]
    scores, size = np.zeros((2, rows, classes), np.longdouble)
    np.add.at(scores, x.rows, terms)
    np.add.at(size, x.rows, np.abs(terms))
    add = padded(table)
    return Step(lambda s: s.sparse(*x.arrays, threshold, add, against), scores, size)


def distances(rng, rows, classes, layout):
    """Draw rows with missing values and huge numbers, what is known of their columns, and how far they lie."""
    x = cells(rng, (rows, int(rng.integers(0, 9))), rng.choice(TYPES))
    if x.dtype.kind == "f":
        x[rng.random(x.shape) < 0.05] = np.nan
    if x.dtype == np.float64:
        x[rng.random(x.shape) < 0.05] = rng.choice([-1e308, 1e200])  # taken for ±1e150
    x, centre, base = laid_out(x, layout), *(logs(rng, x.shape[1], classes) for _ in range(2))
    precision = 10.0 ** rng.integers(-9, 0, centre.shape)  # the farthest distance, squared, is then still a number
    here = np.clip(x.astype(float), -LARGEST, LARGEST).astype(np.longdouble)[:, :, None]
    return x, centre, precision, base, np.minimum((here - centre) ** 2 * precision, 1e300)


def normal_step(rng, rows, classes, layout, against):
    x, centre, precision, base, far = distances(rng, rows, classes, layout)
    tables = padded(centre), padded(precision), padded(base)
    terms = np.where(np.isnan(far), 0, base - far)
    size = np.where(np.isnan(far), 2 * np.abs(base), np.abs(base) + far)  # a missing value takes its base out again
    return Step(lambda s: s.normal(x, *tables, allow_missing=True), terms.sum(axis=1), size.sum(axis=1))


def student_step(rng, rows, classes, layout, against):
    x, centre, precision, base, far = distances(rng, rows, classes, layout)
    power = rng.random(centre.shape) * 20
    tables = padded(centre), padded(precision), padded(power), padded(base)
    far = power * np.log1p(far)
    terms = np.where(np.isnan(far), 0, base - far)
    size = np.where(np.isnan(far), 2 * np.abs(base), np.abs(base) + far)
    return Step(lambda s: s.student(x, *tables, allow_missing=True), terms.sum(axis=1), size.sum(axis=1))


def given_step(rng, rows, classes, layout, against):
    scores = logs(rng, rows, classes)
    return Step(lambda s: s.given(scores, against), scores, np.abs(scores))


STEPS = {
    "constant": constant_step,
    "codes": codes_step,
    "dense": dense_step,
    "sparse": sparse_step,
    "normal": normal_step,
    "student": student_step,
    "given": given_step,
}
CAN_RULE_OUT = ("constant", "codes", "dense", "sparse", "given")


def log_joint(scorer: Any, rows: int, classes: int, threads: int = 1) -> np.ndarray:
    """Return the sums of all steps."""
    out = np.full((rows, classes), np.nan)
    assert scorer.log_joint(out, threads) == -1
    return out


@pytest.mark.parametrize("kind", STEPS)
@given(rng=seeds, rows=sizes, classes=class_counts, layout=layouts)
@checked
def test_each_step_adds_what_it_says(kind, rng, rows, classes, layout):
    """The scores are the prior and the sum of what the columns say."""
    prior, step = logs(rng, classes), STEPS[kind](rng, rows, classes, layout, False)
    scorer = kernels.Scorer(prior)
    step.add(scorer)
    assert_near(log_joint(scorer, rows, classes), prior + step.scores, np.abs(prior) + step.size)


@given(
    rng=seeds,
    rows=sizes,
    classes=class_counts,
    kinds=st.lists(st.sampled_from(list(STEPS)), max_size=5),
    against=st.lists(st.sampled_from(CAN_RULE_OUT), max_size=3),
    closed=st.sampled_from([0.0, 0.3, 1.0]),
    threads=thread_counts,
)
@checked
def test_steps_add_up_and_rule_out(rng, rows, classes, kinds, against, closed, threads):
    """Any steps together are their sum; where the prior is log 0, or more than ½ speaks against it, a class is out."""
    prior = np.where(rng.random(classes) < closed, -np.inf, logs(rng, classes))
    steps = [STEPS[kind](rng, rows, classes, "C", False) for kind in kinds]
    others = [STEPS[kind](rng, rows, classes, "C", True) for kind in against]
    scorer, nothing = kernels.Scorer(prior), np.zeros((rows, classes))
    for step in (*steps, *others):
        step.add(scorer)
    found = log_joint(scorer, rows, classes, threads)

    speaking, loud = sum((s.scores for s in others), nothing), sum((s.size for s in others), nothing)
    out = (speaking > 0.5) | np.isneginf(prior)
    sure = (np.abs(speaking - 0.5) > 1e-12 * loud) | np.isneginf(prior)
    np.testing.assert_array_equal(np.isneginf(found)[sure], out[sure])
    finite = np.where(np.isneginf(prior), 0, prior)
    wanted = finite + sum((s.scores for s in steps), nothing)
    size = np.abs(finite) + sum((s.size for s in steps), nothing)
    here = np.isfinite(found)
    assert_near(found[here], wanted[here], size[here])


@given(
    rng=seeds,
    rows=st.one_of(sizes, st.just(700)),
    classes=class_counts,
    closed=st.sampled_from([0.0, 0.3, 0.9]),
    dtype=st.sampled_from([np.float64, np.float32]),
    threads=thread_counts,
)
@checked
def test_answers_follow_from_the_scores(rng, rows, classes, closed, dtype, threads):
    """Posteriors are the softmax of the log joint, the choice its first maximum; with nothing left, the fallback."""
    scores, out_of = logs(rng, rows, classes).round(1), (rng.random((rows, classes)) < closed) * 1.0
    fallback = np.log(rng.dirichlet(np.ones(classes)))
    scorer = kernels.Scorer(np.zeros(classes))
    scorer.given(scores)
    scorer.given(out_of, against=True)
    joint = log_joint(scorer, rows, classes, threads)
    np.testing.assert_array_equal(joint, np.where(out_of > 0, -np.inf, scores))

    shares, logarithms = np.full((2, rows, classes), np.nan, dtype)
    choices = np.full(rows, -1)
    assert scorer.posterior(fallback, shares, threads) == -1
    assert scorer.log_posterior(fallback, logarithms, threads) == -1
    assert scorer.choice(fallback, choices, threads) == -1
    decided = np.where(np.isneginf(joint).all(axis=1, keepdims=True), fallback, joint)
    below = decided - decided.max(axis=1, initial=-np.inf, keepdims=True)
    rounding = 2 * np.finfo(dtype).eps
    np.testing.assert_allclose(shares, softmax(decided, axis=1), rtol=4 * rounding, atol=np.finfo(dtype).tiny)
    np.testing.assert_allclose(
        logarithms, below - np.log(np.exp(below).sum(axis=1, keepdims=True)), rtol=4 * rounding, atol=4 * rounding
    )
    np.testing.assert_array_equal(choices, decided.argmax(axis=1))


# -- accuracy ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3, 10, 40])
def test_probabilities_are_accurate(classes):
    """Posteriors are within 1e-15 of exact, relatively, down to 1e-307; below that they are 0 or nearly so."""
    rng = np.random.default_rng(1)
    scores = -rng.random((40_000, classes)) * rng.choice([1, 40, 745], (40_000, 1))
    scores[:, 0] = 0.0
    scorer, out = kernels.Scorer(np.zeros(classes)), np.empty(scores.shape)
    scorer.given(scores)
    assert scorer.posterior(np.zeros(classes), out) == -1
    exact = softmax(scores.astype(np.longdouble), axis=1)
    worst = float(np.max(np.abs(out - exact) / exact, where=exact >= 1e-307, initial=0))
    print(f"worst relative error {worst:.2e}")
    assert worst <= 1e-15
    assert np.all(out[exact < 1e-307] <= 1.1e-307)
    np.testing.assert_allclose(out.sum(axis=1), 1.0, rtol=1e-15)


def test_logarithms_are_accurate():
    """log(1 + x) of Student's t is within 1e-15 of exact, relatively, from 1e-300 to 1e300."""
    near = 2.0 ** np.linspace(-60, 10, 40_001)
    x = np.concatenate([10.0 ** np.linspace(-300, 300, 39_999), near, np.nextafter(near, 0), [1.0, 2**0.5, 2**-0.5]])
    one = np.ones((1, len(x)))
    assert one.size % 4 == 0
    scorer, out = kernels.Scorer(np.zeros(len(x))), np.empty((1, len(x)))
    scorer.student(np.ones((1, 1)), 0 * one, x[None], one, 0 * one, allow_missing=False)
    assert scorer.log_joint(out) == -1
    exact = np.log1p(x.astype(np.longdouble))
    worst = float(np.max(np.abs(-out[0] - exact) / exact))
    print(f"worst relative error {worst:.2e}")
    assert worst <= 1e-15


# -- large inputs: several pieces, any number of threads ---------------------------------------------------------------

ROWS, COLUMNS, CLASSES = 9_000, 31, 7  # some 280,000 cells: more than four threads' least
MANY = 7_000  # rows, of which a thread scores some 1,600 at once


class Count(NamedTuple):
    """One kernel on its rows: the call, given the threads, and the arrays that it fills."""

    call: Callable[[int], int]
    rows: Rows
    filled: tuple[np.ndarray, ...]


def large(kind: str, weighing: str = "none", rows: int = ROWS, columns: int = COLUMNS, classes: int = CLASSES) -> Count:
    """Make a call of a kernel on made-up rows, always the same."""
    rng = np.random.default_rng(7)
    counts, shift, sums = np.ones((classes, columns)), np.zeros((classes, columns)), np.zeros((3, classes, columns))
    some = labelled(rng, rng.random((rows, columns)), rows, classes, weighing)
    if kind == "codes":
        x, offsets = coded(rng, rows, columns, np.int64)
        some, counts = some._replace(x=x), np.ones((offsets[-1], classes))
        return Count(lambda t: kernels.count_codes(x, *some[1:3], False, offsets, counts, t), some, (counts,))
    if kind == "sparse":
        matrix = csr(rng, rows, columns, float, "int32", most=2 * columns)
        matrix.values[:] = rng.random(matrix.values.shape)
        some = some._replace(x=matrix)
        return Count(lambda t: kernels.count_sparse(*matrix.arrays, *some[1:3], None, 0.0, counts, t), some, (counts,))
    if kind == "moments":
        return Count(lambda t: kernels.count_moments(*some[:3], False, shift, sums, t), some, (sums, shift))
    return Count(lambda t: kernels.count_dense(*some[:3], None, 0.0, counts, t), some, (counts,))


KERNELS = ("codes", "dense", "sparse", "moments")


@cache
def many_steps() -> list[Step]:
    """Make a column of every kind for many rows."""
    rng = np.random.default_rng(11)
    return [make(rng, MANY, 40, "C", False) for make in STEPS.values()]


def many_answers(threads: int) -> list[np.ndarray]:
    """Return all four answers about many rows."""
    scorer, rng = kernels.Scorer(np.zeros(40)), np.random.default_rng(12)
    for step in many_steps():
        step.add(scorer)
    scorer.given((rng.random((MANY, 40)) < 0.1) * 1.0, against=True)
    fallback, choices = np.zeros(40), np.empty(MANY, np.int64)
    joint, shares, logarithms = np.empty((3, MANY, 40))
    assert scorer.log_joint(joint, threads) == scorer.posterior(fallback, shares, threads) == -1
    assert scorer.log_posterior(fallback, logarithms, threads) == scorer.choice(fallback, choices, threads) == -1
    return [joint, shares, logarithms, choices]


def test_the_level_may_change_while_threads_count(level):
    """Sums of whole numbers are exact at every level, so a call that starts at any of them counts the same."""
    wanted = large("codes")
    assert wanted.call(1) == -1

    def count_often() -> bool:
        counts = [large("codes") for _ in range(20)]
        return all(count.call(2) == -1 and (count.filled[0] == wanted.filled[0]).all() for count in counts)

    with ThreadPoolExecutor(3) as pool:
        counted = [pool.submit(count_often) for _ in range(3)]
        while not all(future.done() for future in counted):
            for name in kernels.levels():
                kernels.use_level(name)
    kernels.use_level(level)
    assert all(future.result() for future in counted)


def test_answers_are_the_same_for_any_threads():
    """The number of threads changes no bit of the answers."""
    assert len({tuple(answer.tobytes() for answer in many_answers(threads)) for threads in THREADS}) == 1


def everything() -> list[np.ndarray]:
    """Return what all kernels give."""
    counts = [large(kind, "fractional") for kind in KERNELS]
    assert [count.call(1) for count in counts] == [-1] * len(counts)
    return [*many_answers(1), *(array for count in counts for array in count.filled)]


def test_levels_agree(level):
    """What one instruction level gives, the baseline gives too, to 1e-12."""
    mine = everything()
    kernels.use_level("baseline")
    plain = everything()
    kernels.use_level(level)
    for a, b in zip(mine, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.max(np.abs(b), where=np.isfinite(b), initial=0))


# -- refusals: the first bad row is named, and nothing was changed -----------------------------------------------------

BAD = {
    "codes": (6, -1, -(2**63), 2**63 - 1),
    "dense": (np.nan, np.inf, -np.inf, -1e-300),
    "sparse": (np.nan, np.inf, -np.inf, -1e-300),
    "moments": (np.nan, np.inf, -np.inf, 1e151, -1e300),
}
EACH_BAD = [(kind, value) for kind, values in BAD.items() for value in values]


def spoil(count: Count, value: Any, where: float = 0.5) -> int:
    """Put a value somewhere between the first row and the last; return in which row."""
    x = count.rows.x
    if isinstance(x, Csr):
        at = int(len(x.rows) * where)
        x.values[x.used.start + at] = value
        return int(x.rows[at])
    row = int(len(x) * where)
    x[row, 1] = value
    return row


def assert_refuses(count: Count, row: int, threads: int) -> None:
    """Assert that this is the first row refused, and that everything is as it was."""
    before = [array.tobytes() for array in count.filled]
    assert count.call(threads) == row
    assert [array.tobytes() for array in count.filled] == before


@pytest.mark.parametrize("rows", [7, ROWS])
@pytest.mark.parametrize(("kind", "value"), EACH_BAD)
def test_the_first_bad_row_is_refused_by_any_threads(kind, value, rows):
    """Of several bad rows the first is named, wherever it lies, and no row was counted: of few rows or of many."""
    for threads, where in zip(THREADS, (0.0, 0.3, 0.6, 0.99), strict=True):
        count = large(kind, rows=rows)
        spoil(count, value, 0.99)
        assert_refuses(count, spoil(count, value, where), threads)


@pytest.mark.parametrize("index", [COLUMNS, -1, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("rows", [7, ROWS])
def test_sparse_columns_outside_are_refused_by_any_threads(rows, index):
    """A column index outside the table refuses its row, at counting and at scoring; no memory there is touched."""
    for threads in THREADS:
        count = large("sparse", rows=rows)
        x = count.rows.x
        at = len(x.rows) * 2 // 3
        x.columns[x.used.start + at] = index
        assert_refuses(count, x.rows[at], threads)
        scorer = kernels.Scorer(np.zeros(CLASSES))
        scorer.sparse(*x.arrays, None, padded(np.ones((COLUMNS, CLASSES))))
        assert scorer.log_joint(np.empty((rows, CLASSES)), threads) == x.rows[at]


@pytest.mark.parametrize("allow_missing", [True, False])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", ["normal", "student"])
def test_scores_need_numbers(kind, value, allow_missing):
    """Infinity is refused, NaN too unless it is a missing value; which row was the first is told."""
    x, one = np.ones((600, 5)), padded(np.ones((5, 6)))
    x[[417, 599], 3] = value
    scorer, out = kernels.Scorer(np.zeros(6)), np.empty((600, 6))
    tables = (0 * one, one, 3 * one) if kind == "normal" else (0 * one, one, one, 3 * one)
    getattr(scorer, kind)(x, *tables, allow_missing)
    hole = allow_missing and np.isnan(value)
    assert scorer.log_joint(out) == (-1 if hole else 417)
    if hole:
        np.testing.assert_allclose(out[417], out[0] * 4 / 5, rtol=1e-14)


# -- arguments that do not fit a kernel are refused before it runs -----------------------------------------------------

X, Y, W, I32 = np.ones((4, 2)), np.zeros(4, np.int32), np.ones(4), np.int32
C, N, T, OFFSETS = X.astype(I32), np.zeros((3, 2)), np.zeros((2, 4)), np.array([0, 2, 4])
M = N.T.copy()
STARTS, AT, ONES = np.arange(5, dtype=I32), np.zeros(4, I32), np.ones(4)


def frozen(array: np.ndarray) -> np.ndarray:
    """Return a copy that cannot be written to."""
    array = array.copy()
    array.flags.writeable = False
    return array


def astray(array: np.ndarray) -> np.ndarray:
    """Return a copy that begins one byte after where its type should."""
    copy = np.frombuffer(b"." + array.tobytes(), array.dtype, offset=1).reshape(array.shape)
    assert not copy.flags.aligned
    return copy


def scorer(**steps: Any) -> Any:
    """Make a scorer of three classes with these steps."""
    made = kernels.Scorer(np.zeros(3))
    for name, arguments in steps.items():
        getattr(made, name)(*arguments)
    return made


def counting(x: Any = X, y: Any = Y, weights: Any = None, counts: Any = N, threads: Any = 1) -> int:
    return kernels.count_dense(x, y, weights, None, None, counts, threads)


def coding(x: Any = C, offsets: Any = OFFSETS, lines: int = 4) -> int:
    return kernels.count_codes(x, Y, None, False, offsets, np.zeros((lines, 3)))


def entering(starts: Any = STARTS, columns: Any = AT, values: Any = ONES) -> int:
    return kernels.count_sparse(starts, columns, values, Y, None, None, None, N)


def choosing(labels: Any) -> int:
    return scorer(dense=(X, None, T)).choice(np.zeros(3), np.zeros(4, int), 1, labels)


def spanning(x: Any) -> None:
    kernels.column_ranges(x, np.zeros(2), np.zeros(2))


def leaving(x: Any = X, y: Any = Y, weights: Any = None, n: Any = M, how: str = "bayes", out: Any = ONES) -> int:
    """Leave rows of numbers out; three classes."""
    out = np.zeros((4, 3)) if out is ONES else out
    return kernels.leave_one_out_numbers(x, y, weights, n, n, n, n, how, 1.0, 0.0, out)


def leaving_codes(
    x: Any = C, offsets: Any = OFFSETS, n: Any = None, met: Any = ONES, totals: Any = M, columns: int = 6
) -> int:
    """Leave rows of codes out; three classes, four lines."""
    n = np.zeros((4, 4)) if n is None else n
    return kernels.leave_one_out_codes(
        x, Y, None, offsets, n, n, met, ONES, totals, np.zeros((2, columns)), np.zeros((4, 3))
    )


MALFORMED = {
    "rows left out of too few places": lambda: leaving(out=np.zeros((3, 3))),
    "rows left out of other columns": lambda: leaving(n=np.zeros((3, 3))),
    "rows left out of other classes": lambda: leaving(n=np.zeros((2, 2))),
    "rows left out of a class beyond": lambda: leaving(y=Y + 3),
    "rows left out with too few weights": lambda: leaving(weights=W[:3]),
    "rows left out by another estimate": lambda: leaving(how="median"),
    "codes left out with fractions": lambda: leaving_codes(x=X),
    "codes left out without padding": lambda: leaving_codes(n=np.zeros((4, 3))),
    "codes left out of other lines": lambda: leaving_codes(met=ONES[:3]),
    "codes left out of other totals": lambda: leaving_codes(totals=np.zeros((3, 3))),
    "codes left out of columns of other numbers": lambda: leaving_codes(columns=5),
    "codes left out without a line for unknown ones": lambda: leaving_codes(offsets=np.array([0, 0, 4])),
    "too few classes": lambda: counting(y=Y[:3]),
    "too few weights": lambda: counting(weights=W[:3]),
    "class beyond the table": lambda: counting(y=Y + 3),
    "class below 0": lambda: kernels.count_rows(Y - 1, None, np.zeros(3)),
    "class that needs 64 bits": lambda: kernels.count_rows(np.array([2**32 + 1]), None, np.zeros(3)),
    "class that is no whole number": lambda: kernels.count_rows(np.array([1.5]), None, np.zeros(3)),
    "class that is text": lambda: kernels.count_rows(np.array(["a"]), None, np.zeros(3)),
    "counts of too few columns": lambda: counting(counts=N[:, :1].copy()),
    "counts that are read-only": lambda: counting(counts=frozen(N)),
    "counts in another order": lambda: counting(counts=np.asfortranarray(N)),
    "counts of another type": lambda: counting(counts=N.astype("f4")),
    "counts of one dimension": lambda: counting(counts=N[0]),
    "threads beyond all numbers": lambda: counting(threads=2**40),
    "threads that are no number": lambda: counting(threads="all"),
    "codes with fractions": lambda: coding(x=X),
    "offsets of another matrix": lambda: coding(offsets=OFFSETS[:2]),
    "no offsets": lambda: coding(offsets=OFFSETS[:0]),
    "offsets beyond the table": lambda: coding(lines=3),
    "offsets that fall": lambda: coding(offsets=np.array([0, 5, 4])),
    "offsets that start late": lambda: coding(offsets=np.array([1, 2, 4])),
    "offsets far below": lambda: coding(offsets=np.array([0, -(2**63), 4])),
    "offsets far above": lambda: coding(offsets=np.array([0, 2**63 - 1, 4])),
    "no sparse rows": lambda: entering(starts=STARTS[:0]),
    "sparse indices of two types": lambda: entering(columns=AT.astype(int)),
    "sparse indices with fractions": lambda: entering(starts=STARTS * 1.0, columns=AT * 1.0),
    "sparse values too few": lambda: entering(values=ONES[:3]),
    "sparse values of text": lambda: entering(values=np.array(list("abcd"))),
    "sparse rows beyond the entries": lambda: entering(starts=STARTS + I32(1)),
    "sparse rows before the entries": lambda: entering(starts=STARTS - I32(1)),
    "sparse rows that overlap": lambda: entering(starts=STARTS[::-1].copy()),
    "sums of two planes": lambda: kernels.count_moments(X, Y, None, True, N, np.zeros((2, 3, 2))),
    "sums of another shape": lambda: kernels.count_moments(X, Y, None, True, N, np.zeros((3, 2, 3))),
    "shift of another shape": lambda: kernels.count_moments(X, Y, None, True, N.T.copy(), np.zeros((3, 2, 3))),
    "ranges of too few columns": lambda: kernels.column_ranges(X, np.zeros(1), np.zeros(2)),
    "hashes of too few rows": lambda: kernels.hash_numbers(X, np.ones(2, np.uint64), np.zeros(1, np.uint64)),
    "hashes of too few factors": lambda: kernels.hash_numbers(X, np.ones(1, np.uint64), np.zeros(len(X), np.uint64)),
    "a matrix of one dimension": lambda: spanning(W),
    "a matrix of three dimensions": lambda: spanning(X[None]),
    "no matrix": lambda: spanning(None),
    "nested lists": lambda: spanning([[1.0, 2.0]]),
    "steps of no whole elements": lambda: spanning(np.zeros((4, 2), [("flag", "u1"), ("x", "f8")])["x"]),
    "labels of two dimensions": lambda: kernels.encode_labels(C),
    "labels of text": lambda: kernels.encode_labels(np.array(["a"])),
    "an unknown level": lambda: kernels.use_level("abacus"),
    "a level that is no name": lambda: kernels.use_level(2),
    "no classes at all": lambda: kernels.Scorer(np.zeros(0)).log_joint(np.zeros((4, 0))),
    "a prior of two dimensions": lambda: kernels.Scorer(N),
    "a constant for other classes": lambda: scorer(constant=(np.zeros(2),)),
    "a bias for other classes": lambda: scorer(temper=(1.0, np.zeros(2))),
    "a scale of nothing": lambda: scorer(temper=(0.0,)),
    "a scale below nothing": lambda: scorer(temper=(-1.0,)),
    "a scale that is no number": lambda: scorer(temper=(np.nan,)),
    "a scale beyond all bounds": lambda: scorer(temper=(np.inf,)),
    "a table without padding": lambda: scorer(dense=(X, None, np.zeros((2, 3)))),
    "a table for other columns": lambda: scorer(dense=(X, None, np.zeros((3, 4)))),
    "a table of another type": lambda: scorer(dense=(X, None, T.astype("f4"))),
    "no line for unknown codes": lambda: scorer(codes=(C, np.array([0, 0, 2]), T)),
    "scores of codes with fractions": lambda: scorer(codes=(X, np.array([0, 1, 2]), T)),
    "scores of sparse rows that overlap": lambda: scorer(sparse=(STARTS[::-1].copy(), AT, ONES, None, T)),
    "centres without padding": lambda: scorer(normal=(X, np.zeros((2, 3)), T, T, True)),
    "precisions of other columns": lambda: scorer(normal=(X, T, np.zeros((3, 4)), T, True)),
    "powers of other columns": lambda: scorer(student=(X, T, T, np.zeros((3, 4)), T, True)),
    "scores for other classes": lambda: scorer(given=(X,)),
    "columns of different lengths": lambda: scorer(dense=(X, None, T), given=(np.zeros((5, 3)),)),
    "answers for other rows": lambda: scorer(dense=(X, None, T)).log_joint(np.zeros((5, 3))),
    "answers for other classes": lambda: scorer(dense=(X, None, T)).log_joint(np.zeros((4, 4))),
    "answers of whole numbers": lambda: scorer(dense=(X, None, T)).log_joint(np.zeros((4, 3), int)),
    "answers that are read-only": lambda: scorer(dense=(X, None, T)).log_joint(frozen(np.zeros((4, 3)))),
    "answers in another order": lambda: scorer(dense=(X, None, T)).log_joint(np.zeros((3, 4)).T),
    "choices for other rows": lambda: scorer(dense=(X, None, T)).choice(np.zeros(3), np.zeros(5, int)),
    "choices of another type": lambda: scorer(dense=(X, None, T)).choice(np.zeros(3), np.zeros(4, I32)),
    "a fallback for other classes": lambda: scorer(dense=(X, None, T)).posterior(np.zeros(2), np.zeros((4, 3))),
    "labels for other classes": lambda: choosing(np.arange(2)),
    "labels of fractions": lambda: choosing(np.array([0.5, 1.5, 2.5])),
    "labels of another type": lambda: choosing(np.arange(3, dtype=I32)),
    "places of another type": lambda: kernels.find_labels(np.arange(3), Y),
    "places among another type": lambda: kernels.find_labels(np.arange(3, dtype=I32), np.arange(3)),
    "a matrix astray in memory": lambda: counting(x=astray(X)),
    "classes astray in memory": lambda: counting(y=astray(Y)),
    "weights astray in memory": lambda: counting(weights=astray(W)),
    "sparse rows astray in memory": lambda: entering(starts=astray(STARTS)),
    "sparse columns astray in memory": lambda: entering(columns=astray(AT)),
    "sparse values astray in memory": lambda: entering(values=astray(ONES)),
    "labels astray in memory": lambda: kernels.encode_labels(astray(Y)),
    "places astray in memory": lambda: kernels.find_labels(np.arange(3), astray(np.arange(3))),
    "scored rows astray in memory": lambda: scorer(dense=(astray(X), None, T)),
    "a choice among other classes": lambda: scorer(dense=(X, None, T)).choice(np.zeros(2), np.zeros(4, int)),
}


@pytest.mark.parametrize("call", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_arguments_are_refused(call):
    """Arguments that do not fit are an error of the caller's, never a crash."""
    with pytest.raises((ValueError, TypeError)):
        call()


@pytest.mark.parametrize("dtype", [">f8", "f2", "i1", "u2", "u4", "u8", "c16", "M8[s]", "O", "U3", "V8"])
def test_other_types_are_refused(dtype):
    """What a kernel cannot read is refused as a type; converting is the caller's choice."""
    with pytest.raises(TypeError):
        spanning(np.zeros((4, 2), dtype))
    with pytest.raises(TypeError):
        counting(np.zeros((4, 2), dtype))
