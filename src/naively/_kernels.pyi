"""
Counting and scoring loops. Arrays given for results are filled in place.
"""

from typing import Annotated

import numpy
from numpy.typing import NDArray

def levels() -> list[str]:
    """Instruction levels that this machine can run, best first."""

def use_level(name: str) -> None:
    """Run the kernels of this instruction level from now on."""

def count_rows(
    classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    counts: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> None:
    """counts[class] += weight for each row."""

def count_codes(
    x: Annotated[NDArray, dict(shape=(None, None), device="cpu", writable=False)],
    classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    counts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    threads: int = 1,
) -> None:
    """
    counts[offsets[j] + code, class] += weight for each cell; codes outside their part count for nothing.
    """

def count_dense(
    x: Annotated[NDArray, dict(shape=(None, None), device="cpu", writable=False)],
    classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    threshold: float | None,
    counts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    threads: int = 1,
) -> None:
    """counts[class, column] += weight * x, or += weight where x > threshold."""

def count_sparse(
    starts: Annotated[NDArray, dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: Annotated[NDArray, dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray, dict(shape=(None,), order="C", device="cpu", writable=False)],
    classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    threshold: float | None,
    counts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    threads: int = 1,
) -> None:
    """The same for a sparse matrix, given as its three arrays (CSR)."""

def count_moments(
    x: Annotated[NDArray, dict(shape=(None, None), device="cpu", writable=False)],
    classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    shift: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
    threads: int = 1,
) -> None:
    """
    sums[0] += w, sums[1] += w (x - shift), sums[2] += w (x - shift)**2; NaN is a hole. New classes get a shift.
    """

def ranges(
    x: Annotated[NDArray, dict(shape=(None, None), device="cpu", writable=False)],
    least: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    largest: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    threads: int = 1,
) -> None:
    """Least and largest value of each column."""

def score_codes(
    x: Annotated[NDArray, dict(shape=(None, None), device="cpu", writable=False)],
    offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    table: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    threads: int = 1,
) -> None:
    """
    scores[row, class] += table[offsets[j] + code, class]; the last line of each part is for unknown codes.
    """

def score_dense(
    x: Annotated[NDArray, dict(shape=(None, None), device="cpu", writable=False)],
    threshold: float | None,
    table: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    threads: int = 1,
) -> None:
    """
    scores[row, class] += x * table[column, class], or += table where x > threshold.
    """

def score_sparse(
    starts: Annotated[NDArray, dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: Annotated[NDArray, dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray, dict(shape=(None,), order="C", device="cpu", writable=False)],
    threshold: float | None,
    table: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    threads: int = 1,
) -> None:
    """The same for a sparse matrix."""

def score_normal(
    x: Annotated[NDArray, dict(shape=(None, None), device="cpu", writable=False)],
    centre: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    precision: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    base: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    threads: int = 1,
) -> None:
    """
    scores[row, class] += base - (x - centre)**2 * precision, summed over the columns; NaN says nothing.
    """

def score_student(
    x: Annotated[NDArray, dict(shape=(None, None), device="cpu", writable=False)],
    centre: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    precision: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    power: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    base: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    threads: int = 1,
) -> None:
    """
    scores[row, class] += base - power * log(1 + (x - centre)**2 * precision), summed over the columns.
    """

def normalise(
    scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    fallback: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    exponential: bool,
    evidence: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    threads: int = 1,
) -> None:
    """
    Turn log joints into (log) posteriors in place; rows ruled out everywhere get the fallback.
    """
