"""The same bits everywhere: a row's answer depends neither on the rows beside it nor on where they begin in memory."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import naively as nv
from naively import _kernels as kernels
from naively.sklearn import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

SIZES = (*range(1, 10), 15, 16, 17, 31, 32, 33, 63, 64, 65, 70)  # around those of vectors and blocks
ROWS = 140
RNG = np.random.default_rng(18)
MANY = RNG.integers(0, ROWS, 20_011)  # places of rows
WEIGHTS = RNG.choice([0.5, 1 / 3, 1.0, 2.3], ROWS)
NUMBERS = RNG.normal(size=(ROWS, 13)) * 10.0 ** RNG.integers(-3, 4, 13) + 5
COUNTS = RNG.poisson(1.3, (ROWS, 13)) * RNG.choice([1.0, 0.3], (ROWS, 13))
CODES = RNG.integers(0, RNG.integers(2, 90, 13), (ROWS, 13))
CASES = {
    "Gaussian": (GaussianNB, NUMBERS),
    "Gaussian by columns": (GaussianNB, np.asfortranarray(NUMBERS)),
    "Gaussian of float32": (GaussianNB, NUMBERS.astype(np.float32)),
    "Gaussian of float32 by columns": (GaussianNB, np.asfortranarray(NUMBERS.astype(np.float32))),
    "Bernoulli": (BernoulliNB, COUNTS),
    "Bernoulli, sparse": (BernoulliNB, sparse.csr_array(COUNTS)),
    "multinomial": (MultinomialNB, COUNTS),
    "multinomial of float32": (MultinomialNB, COUNTS.astype(np.float32)),
    "multinomial, sparse": (MultinomialNB, sparse.csr_array(COUNTS)),
    "complement": (ComplementNB, COUNTS),
    "complement, sparse": (ComplementNB, sparse.csr_array(COUNTS)),
    "categorical of int64": (CategoricalNB, CODES),
    "categorical of int32": (CategoricalNB, CODES.astype(np.int32)),
    "categorical of uint8": (CategoricalNB, CODES.astype(np.uint8)),
    "categorical by columns": (CategoricalNB, np.asfortranarray(CODES.astype(np.int32))),
}
each_case = pytest.mark.parametrize("case", CASES)
OPERATIONS = ("predict_joint_log_proba", "predict_proba", "predict_log_proba", "predict")


def assert_rows_stand_alone(answer, rows=ROWS):
    """Check that answer(begin, end) gives every row what it gets alone, for all sizes, from several beginnings."""
    alone = np.concatenate([answer(row, row + 1) for row in range(rows)])
    assert_array_equal(answer(0, rows), alone)
    for size in SIZES:
        for begin in (0, size % 7 + 1, rows - size):
            assert_array_equal(answer(begin, begin + size), alone[begin : begin + size])


def labels_of(classes: int) -> np.ndarray:
    """Return the class of each row, so that numbers and codes tell something about it."""
    return (NUMBERS.argsort(axis=0).argsort(axis=0)[:, 0] * classes // ROWS + CODES[:, 3]) % classes


@pytest.mark.pairwise
@each_case
@pytest.mark.parametrize("classes", [2, 3, 5, 17])
def test_a_row_gets_the_same_bits_alone_and_among_others(level, case, classes):
    make, X = CASES[case]
    model = make().fit(X, labels_of(classes))
    for operation in OPERATIONS:
        ask = getattr(model, operation)
        assert_rows_stand_alone(lambda begin, end, ask=ask: ask(X[begin:end]))


def table() -> dict[str, np.ndarray]:
    """Return a table of numbers, labels and missing values."""
    numbers = np.where(RNG.random(NUMBERS.shape) < 0.05, np.nan, NUMBERS)
    labels = np.where(RNG.random(CODES.shape) < 0.05, None, CODES.astype(str).astype(object))
    columns = {f"x{j}": numbers[:, j] for j in range(4)}
    return columns | {f"s{j}": labels[:, j] for j in range(3)} | {"n": COUNTS[:, 0].astype(int)}


TABLE = table()
TEXTS = np.array([" ".join(f"w{code}" for code in line if code % 3) + " end" for line in CODES])
MODELS = {
    "table, auto": ("auto", TABLE),
    "table, textbook": ("textbook", TABLE),
    "texts, auto": ("auto", {"text": TEXTS}),
    "texts, textbook": ("textbook", {"text": TEXTS}),
}


@pytest.mark.pairwise
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("classes", [2, 5])
def test_a_row_of_a_table_gets_the_same_bits_alone_and_among_others(level, name, classes):
    model, columns = MODELS[name]
    nb = nv.NaiveBayes(model=model).fit(columns, labels_of(classes))

    def answer(begin: int, end: int) -> np.ndarray:
        return nb.predict_proba({column: cells[begin:end] for column, cells in columns.items()})

    alone = np.concatenate([answer(row, row + 1) for row in range(ROWS)])
    for begin, end in ((0, ROWS), (0, 2), (1, 4), (3, 10), (9, 72), (20, 87), (71, ROWS)):
        assert_array_equal(answer(begin, end), alone[begin:end])


# -- one level beside another ------------------------------------------------------------------------------------------


@cache
def found_at(level: str, case: str, weighted: bool) -> list[bytes]:
    """Return what a class counts of many rows at a level, and all its answers about them."""
    kernels.use_level(level)
    try:
        make, X = CASES[case]
        many = X[MANY]
        model = make().fit(many, labels_of(5)[MANY], sample_weight=WEIGHTS[MANY] if weighted else None)
        kept = model._counted.accumulator.columns["X"]
        counts = np.concatenate([kept.shift[None], kept.sums]) if make is GaussianNB else kept.n
        found = [counts, *(getattr(model, operation)(many) for operation in OPERATIONS)]
    finally:
        kernels.use_level(kernels.levels()[0])
    return [array.tobytes() for array in found]


@each_case
@pytest.mark.parametrize("weighted", [False, True], ids=["whole", "weighted"])
def test_levels_give_the_same_bits(case, weighted):
    """Everything but the normal density, whose squares are added without rounding where the processor can do so."""
    best, *others = kernels.levels()
    for other in others:
        only = slice(1) if case.startswith("Gaussian") and other == "baseline" else slice(None)  # the counts alone
        assert found_at(best, case, weighted)[only] == found_at(other, case, weighted)[only]
