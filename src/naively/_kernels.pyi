"""
Counting and scoring loops. Arrays given for results are filled in place; a count or an answer returns the
first row that it refuses, or -1. A call that refuses a row has changed no counts.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray

def levels() -> list[str]:
    """Instruction levels that this machine can run, best first."""

def use_level(name: str) -> None:
    """Run the kernels of this instruction level from now on."""

def encode(y: Annotated[NDArray, dict(shape=(None,), order="C", device="cpu", writable=False)]) -> object:
    """
    Whole-number labels in order, and the code of each row; None if the labels lie too far apart.
    """

def places(
    known: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    y: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> object:
    """
    The place of each label among the known ones, which are sorted; None if one is not among them.
    """

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
    holes: bool,
    offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    counts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    threads: int = 1,
) -> int:
    """
    counts[offsets[j] + code, class] += weight for each cell. Refuses codes beyond their part, and negative ones
    unless holes are allowed.
    """

def count_dense(
    x: Annotated[NDArray, dict(shape=(None, None), device="cpu", writable=False)],
    classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    threshold: float | None,
    least: float | None,
    counts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    threads: int = 1,
) -> int:
    """
    counts[class, column] += weight * x, or += weight where x > threshold. Refuses x < least, NaN and infinity.
    """

def count_sparse(
    starts: Annotated[NDArray, dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: Annotated[NDArray, dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray, dict(shape=(None,), order="C", device="cpu", writable=False)],
    classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    threshold: float | None,
    least: float | None,
    counts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    threads: int = 1,
) -> int:
    """The same for a sparse matrix, given as its three arrays (CSR)."""

def count_moments(
    x: Annotated[NDArray, dict(shape=(None, None), device="cpu", writable=False)],
    classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    holes: bool,
    shift: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
    threads: int = 1,
) -> int:
    """
    sums[0] += w, sums[1] += w (x - shift), sums[2] += w (x - shift)**2. New classes get a shift. Refuses numbers
    beyond 1e150, and NaN unless holes are allowed.
    """

def count_row(
    numbers: list,
    codes: list,
    of_class: int,
    shift: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
    offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    counts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    total: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> bool:
    """
    Count one row of numbers and codes; False if a number is refused, and nothing was changed.
    """

def ranges(
    x: Annotated[NDArray, dict(shape=(None, None), device="cpu", writable=False)],
    least: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    largest: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    threads: int = 1,
) -> None:
    """Least and largest value of each column."""

def left_codes(
    x: Annotated[NDArray, dict(shape=(None, None), device="cpu", writable=False)],
    classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    logs: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    n: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    met: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    kept: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    totals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    columns: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    threads: int = 1,
) -> int:
    """
    out[row] += log P(row | class) by the shares of all other rows. Refuses rows that cannot have been counted.
    """

def left_numbers(
    x: Annotated[NDArray, dict(shape=(None, None), device="cpu", writable=False)],
    classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    n: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    mean: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    ssd: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    grain: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    estimate: str,
    worth: float,
    epsilon: float,
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    threads: int = 1,
) -> int:
    """
    out[row] += log p(row | class) by the bells of all other rows. Refuses infinite numbers.
    """

class Scorer:
    """Adds up what columns say about classes, block by block, and answers."""

    def __init__(
        self, log_prior: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    ) -> None: ...
    def constant(
        self,
        values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        against: bool = False,
    ) -> None:
        """Add a number to each class."""

    def codes(
        self,
        x: Annotated[NDArray, dict(shape=(None, None), device="cpu", writable=False)],
        offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        table: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        against: bool = False,
        holes: bool = True,
    ) -> None:
        """
        Add table[offsets[j] + code]; the last line of each part is for unknown codes; negative ones are holes.
        """

    def dense(
        self,
        x: Annotated[NDArray, dict(shape=(None, None), device="cpu", writable=False)],
        threshold: float | None,
        table: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        against: bool = False,
    ) -> None:
        """Add x * table[column], or table[column] where x > threshold."""

    def sparse(
        self,
        starts: Annotated[NDArray, dict(shape=(None,), order="C", device="cpu", writable=False)],
        columns: Annotated[NDArray, dict(shape=(None,), order="C", device="cpu", writable=False)],
        values: Annotated[NDArray, dict(shape=(None,), order="C", device="cpu", writable=False)],
        threshold: float | None,
        table: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        against: bool = False,
    ) -> None:
        """The same for a sparse matrix."""

    def normal(
        self,
        x: Annotated[NDArray, dict(shape=(None, None), device="cpu", writable=False)],
        centre: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        precision: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        base: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        holes: bool,
    ) -> None:
        """
        Add base - (x - centre)**2 * precision, summed over the columns; a hole (NaN) says nothing.
        """

    def student(
        self,
        x: Annotated[NDArray, dict(shape=(None, None), device="cpu", writable=False)],
        centre: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        precision: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        power: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        base: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        holes: bool,
    ) -> None:
        """
        Add base - power * log(1 + (x - centre)**2 * precision), summed over the columns.
        """

    def given(
        self,
        scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        against: bool = False,
    ) -> None:
        """Add these scores [row, class]."""

    def log_joint(
        self, out: Annotated[NDArray, dict(shape=(None, None), order="C", device="cpu")], threads: int = 1
    ) -> int:
        """
        The sums; -inf where the prior, or what was added against, rules a class out.
        """

    def posterior(
        self,
        fallback: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        out: Annotated[NDArray, dict(shape=(None, None), order="C", device="cpu")],
        threads: int = 1,
    ) -> int:
        """
        Probabilities; rows that rule out every class get the fallback (logarithms).
        """

    def log_posterior(
        self,
        fallback: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        out: Annotated[NDArray, dict(shape=(None, None), order="C", device="cpu")],
        threads: int = 1,
    ) -> int:
        """Logarithms of the probabilities."""

    def choice(
        self,
        fallback: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        out: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
        threads: int = 1,
        labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None = None,
    ) -> int:
        """
        The first class of the highest score, for each row: its label, or its code if there are no labels.
        """

class TextCodes:
    """Codes of texts, by a dictionary that grows or stays as it is."""

    def __init__(self) -> None: ...
    def add(self, texts: Sequence[str], codes: Sequence[int]) -> None:
        """Give texts their codes; those that have one keep it."""

    @property
    def next(self) -> int:
        """The code of the next text that was never met."""

    @next.setter
    def next(self, arg: int, /) -> None: ...
    def encode(
        self,
        starts: Annotated[NDArray, dict(shape=(None,), order="C", device="cpu", writable=False)],
        data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        valid: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        skipped: int,
        missing: int,
        unseen: int,
        out: Annotated[NDArray[numpy.int32], dict(shape=(None,), device="cpu")],
    ) -> list[int]:
        """
        Fill in the code of each row of texts in one buffer (Arrow's string). With unseen NEW, texts never met get new
        codes; returned are the rows in which they were met first.
        """

    def encode_views(
        self,
        views: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        buffers: Sequence[
            Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)]
        ],
        valid: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        skipped: int,
        missing: int,
        unseen: int,
        out: Annotated[NDArray[numpy.int32], dict(shape=(None,), device="cpu")],
    ) -> list[int]:
        """The same for views of texts (Arrow's string_view)."""

NEW: int = -2147483648
