"""Arguments that do not fit a kernel are refused before it runs: never a crash, nor another's memory."""

from typing import Any

import numpy as np
import pytest

from naively import _kernels as kernels

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


@pytest.mark.parametrize("threads", [0, -5, 2**31 - 1])
def test_any_number_of_threads_will_do(threads):
    """Kernels use one thread at least, and no more than are of use."""
    counts = np.zeros((3, 2))
    assert counting(counts=counts, threads=threads) == -1
    np.testing.assert_array_equal(counts, [[4, 4], [0, 0], [0, 0]])
