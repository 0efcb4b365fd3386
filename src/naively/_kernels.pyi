"""
Counting and scoring loops. Arrays given for results are filled in place; a count or an answer returns the
first row that it refuses, or -1. A call that refuses a row has changed no counts.
"""

from collections.abc import Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


LARGEST_NUMBER: float = 1e+150

LARGEST_COUNT: float = 1e+290

LARGEST_WEIGHT: float = 1e+150

SUM_ROUNDING: float = 1e-12

MEAN_ROUNDING: float = 1e-14

LEAST_RELATIVE_VARIANCE: float = 1e-18

LEAST_VARIANCE: float = 1e-290

LARGEST_VARIANCE: float = 1e+300

def levels() -> list[str]:
    """Instruction levels that this machine can run, best first."""

def use_level(name: str) -> None:
    """Run the kernels of this instruction level from now on."""

def encode_labels(y: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
    """
    Whole-number labels in order, and the code of each row; None if the labels lie too far apart.
    """

def find_labels(known: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
    """
    The index of each label among the known ones, which are sorted; None if one is not among them.
    """

def count_rows(classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, counts: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """counts[class] += weight for each row."""

def count_codes(x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, allow_missing: bool, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], counts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int = 1) -> int:
    """
    counts[offsets[j] + code, class] += weight for each cell. Refuses codes beyond their part, and negative ones
    unless missing values are allowed.
    """

def count_dense(x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threshold: float | None, least: float | None, counts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int = 1) -> int:
    """
    counts[class, column] += weight * x, or += weight where x > threshold. Refuses x < least, NaN and infinity.
    """

def count_sparse(starts: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threshold: float | None, least: float | None, counts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int = 1) -> int:
    """The same for a sparse matrix, given as its three arrays (CSR)."""

def count_moments(x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, allow_missing: bool, shift: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], threads: int = 1) -> int:
    """
    sums[0] += w, sums[1] += w (x - shift), sums[2] += w (x - shift)**2. New classes get a shift. Refuses numbers
    beyond 1e150, and NaN unless missing values are allowed.
    """

def count_row(numbers: list, codes: list, of_class: int, shift: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], counts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], total: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> bool:
    """
    Count one row of numbers and codes; False if a number is refused, and nothing was changed.
    """

def column_ranges(x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], least: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], largest: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int = 1) -> None:
    """Least and largest value of each column."""

def hash_numbers(x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], factors: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')], threads: int = 1) -> None:
    """
    out[row] += the bits of each number times the factor of its column, modulo 2**64.
    """

def bin_numbers(x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], cuts: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], threads: int = 1) -> None:
    """
    The bin of each number: how many of its column's cuts lie below it; -1 for NaN.
    """

def lay_out(numbers: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], labels: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], cuts: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cut_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], coarse: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], coarse_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], step: float, places: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], place_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], fine: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], codes: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], level: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
    """
    Lay out numbers and labels: fine[row, column] and level[row, column] of numbers, codes[column, row] of both.
    """

CUT_SHARE: float = 0.4494897427831781

def quantile_groups(weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], bins: int, least: float = 3.0) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """
    A group for each of some ordered things, about equally many of them in each, from either end the same.
    """

def quantile_cuts(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], bins: int, least: float = 3.0, even: bool = True, halvings: int = 0, tail: float = 0.0) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    Cuts of a column of numbers with row weights; the outermost bin is halved while it holds so many rows.
    """

def spread_of_numbers(x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], cuts: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], clipped: float) -> tuple:
    """
    The weights and the medians of the bins of a column, its clipping range, and its mean and deviation then.
    """

def gather_numbers(columns: Sequence[Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)]], valid: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None], skipped: Sequence[int], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
    """
    out[column, row] = the numbers of columns that lie apart; NaN where a bit says that there is none.
    """

def hash_codes(codes: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], table: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], of_class: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], base: int, out: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """
    out[row] = mixed bits of out[row] + base + the hashes of its codes and of its class.
    """

def count_products(codes: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], numbers: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, products: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], threads: int = 1) -> None:
    """
    products[class, f, g] += weight * f * g for features f <= g: 1, a flag for each code, the numbers.
    """

def mirror_products(half: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], places: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')]) -> None:
    """
    out[places[class], f, g] = out[places[class], g, f] = half[class, f, g] for features f <= g.
    """

def leave_one_out_codes(x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], log_probabilities: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], n: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], seen: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], declared: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], totals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int = 1) -> int:
    """
    out[row] += log P(row | class) by the counts of all other rows. Refuses rows that cannot have been counted.
    """

def leave_one_out_numbers(x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], ssd: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rounding: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], estimate: str, prior_rows: float, epsilon: float, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int = 1) -> int:
    """
    out[row] += log p(row | class) by the densities of all other rows. Refuses infinite numbers.
    """

def cross_values(cells: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], totals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], bounds: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], test: int, test_end: int, pseudo_count: float, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], threads: int = 1) -> None:
    """
    out[term, class, row]: the log ratio of the cell of each row, by counts without the row's fold.
    """

def cross_pairs(codes: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], products: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], bounds: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], test: int, test_end: int, pseudo_count: float, p: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], error: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], effective: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], slope: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], curve: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int = 1) -> None:
    """
    Scores of pairs of columns by counts without the row's fold: their sums, and slope and curvature of each.
    """

def cross_normal(x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], gaps: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], n: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], products: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], bounds: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], test: int, test_end: int, settings: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], folds: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], threads: int = 1) -> bool:
    """
    Normal log densities of rows by counts without their fold, each setting a shrinkage and a ridge; in linear ones a missing number contributes nothing.
    """

def word_weights(word_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], classes_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], documents: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], group: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], class_words: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], group_weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], pseudo_count: float, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int = 1) -> None:
    """
    out[word, class]: the two log-odds of each word, times the two weights of its group.
    """

def cross_words(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], word_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], classes_of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], documents: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], group: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], class_words: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], bounds: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], test: int, test_end: int, pseudo_count: float, folds: int, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], threads: int = 1) -> None:
    """
    Sums of the log-odds of the words of each row by counts without its fold, out[group and kind, class, row].
    """

def fit_word_offsets(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], scales: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], squares: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], visited: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: float, passes: int, tolerance: float, table: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], residuals: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')]) -> int:
    """
    Fit the offsets of words, table[word, class], to the visited rows; returns the passes that were taken.
    """

def words_with_offsets(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], places: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
    """
    Of rows: where words with a place begin, these words, and the length of each row.
    """

def word_offset_squares(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], scales: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    out[row]: the sum of the scales of its words, times its squared length.
    """

def score_word_offsets(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], words: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], table: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int = 1) -> None:
    """
    out[row, class]: the length of each row times the sum of the offsets of its words.
    """

def fit_coefficients(codes: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], pulls: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], positions: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], lines: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], cycles: int, enough: float, threads: int = 1) -> float:
    """
    Fit coefficients of the cells of tables by penalized logistic regression, one table after the other.
    Scores [row, class] hold the coefficients before and after; of two classes they have one column.
    """

def term_scores(x: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], truth: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], v: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int = 1) -> None:
    """
    Scores [class, row] of terms under weights and then biases, less those of the highest class.
    """

def fit_term_weights(x: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], truth: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], pulls: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], towards: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], enough: float, curve_is_known: bool, curve: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], parameters: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int = 1) -> None:
    """
    Weights of terms and biases of classes of least penalized log loss; both arrays are changed in place.
    """

@overload
def multiply(a: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], symmetric: bool = False, threads: int = 1) -> None: ...

@overload
def multiply(a: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), device='cpu', writable=False)], b: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')], symmetric: bool = False, threads: int = 1) -> None:
    """
    out[i] = a[i]·b[i]; where all products are symmetric, half of each is computed.
    """

@overload
def multiply_vector(a: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], vector: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int = 1) -> None: ...

@overload
def multiply_vector(a: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], vector: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], threads: int = 1) -> None:
    """out = a·vector."""

def factor_cholesky(matrix: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> bool:
    """
    Put the root L of a symmetric matrix L·Lᵀ in its place; False if it is not positive definite.
    """

def solve_cholesky(root: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sides: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """Solve L·Lᵀ·x = sides in the place of the sides."""

def find_eigenvectors(matrix: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Put the eigenvectors of a symmetric matrix in its place, line by line, the largest eigenvalue first.
    """

def factor_lu(matrices: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], sides: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], threads: int = 1) -> int:
    """
    Solve matrices·x = sides in their place; diagonals then multiply to determinants, but for their signs.
    Returns the first matrix that has no inverse, or -1.
    """

class Scorer:
    """
    Adds up the contributions of columns to the scores of classes, block by block, and answers.
    """

    def __init__(self, log_prior: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def constant(self, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], against: bool = False) -> None:
        """Add a number to each class."""

    def temper(self, scale: float, bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None:
        """Answer with bias + scale * (the sum of all that was or will be added)."""

    def floor(self, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """
        Answer with (1 - the sum of these values) * probability + value: the least probability of each class.
        """

    def codes(self, x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], table: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], against: bool = False, allow_missing: bool = True) -> None:
        """
        Add table[offsets[j] + code]; the last line of each part is for unknown codes; negative ones are missing.
        """

    def interactions(self, x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], lines: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], table: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """
        Add table[lines[p] + the place of the combination of codes of two or three columns] for each of them.
        """

    def dense(self, x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], threshold: float | None, table: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], against: bool = False) -> None:
        """Add x * table[column], or table[column] where x > threshold."""

    def sparse(self, starts: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], threshold: float | None, table: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], against: bool = False) -> None:
        """The same for a sparse matrix."""

    def normal(self, x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], center: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], precision: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], base: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], allow_missing: bool) -> None:
        """
        Add base - (x - center)**2 * precision, summed over the columns; a missing value (NaN) adds nothing.
        """

    def student(self, x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], center: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], precision: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], power: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], base: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], allow_missing: bool) -> None:
        """
        Add base - power * log(1 + (x - center)**2 * precision), summed over the columns.
        """

    def quadratic(self, numbers: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], x: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], of_numbers: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], of_codes: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], squares: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """
        Add a quadratic form of directions, which are sums over numbers and codes.
        """

    def given(self, scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], against: bool = False) -> None:
        """Add these scores [row, class]."""

    def log_joint(self, out: Annotated[NDArray, dict(shape=(None, None), order='C', device='cpu')], threads: int = 1) -> int:
        """
        The sums; -inf where the prior, or what was added against, excludes a class.
        """

    def posterior(self, fallback: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray, dict(shape=(None, None), order='C', device='cpu')], threads: int = 1) -> int:
        """
        Probabilities; rows that exclude every class get the fallback (logarithms).
        """

    def log_posterior(self, fallback: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray, dict(shape=(None, None), order='C', device='cpu')], threads: int = 1) -> int:
        """Logarithms of the probabilities."""

    def choice(self, fallback: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], threads: int = 1, labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> int:
        """
        The first class of the highest score, for each row: its label, or its code if there are no labels.
        """

def add_pair_scores(products: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], second: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], pseudo_count: float, weight: float, columns: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], lines: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], table: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int = 1) -> None:
    """Add weighted scores of pairs of values to a table of interactions."""

class TextCodes:
    """Codes of texts, by a dictionary that grows or stays as it is."""

    def __init__(self) -> None: ...

    def add(self, texts: Sequence[str], codes: Sequence[int]) -> None:
        """Give texts their codes; those that have one keep it."""

    @property
    def next(self) -> int:
        """The code of the next new text."""

    @next.setter
    def next(self, arg: int, /) -> None: ...

class TextTask:
    """A column of texts that is to be encoded."""

def plain_texts(codes: object, starts: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], valid: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, skipped: int, missing: int, unseen: int, out: Annotated[NDArray[numpy.int32], dict(shape=(None,), device='cpu')]) -> TextTask:
    """
    A column of texts in one buffer (Arrow's string), whose codes are to be filled in. With unseen NEW_CODE, new texts get
    new codes.
    """

def viewed_texts(codes: object, views: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], buffers: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]], valid: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, skipped: int, missing: int, unseen: int, out: Annotated[NDArray[numpy.int32], dict(shape=(None,), device='cpu')]) -> TextTask:
    """The same for views of texts (Arrow's string_view)."""

def encode_texts(tasks: Sequence[TextTask], threads: int) -> list[tuple[list[int], int]]:
    """
    Fill in the codes of columns of texts. Returned are, for each, the rows in which new texts occur first, and in how many rows
    a text has the code of missing ones.
    """

NEW_CODE: int = -2147483648

class HeldThreads:
    """
    Threads that kernels share while the block of a with statement runs, so that none of them starts its own.
    """

    def __init__(self, threads: int) -> None: ...

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object | None, error: object | None, trace: object | None) -> None: ...

class TextColumn:
    """
    Rows of text in memory. `first` is the number of the first row, for messages.
    """

    @staticmethod
    def strings(texts: list, first: int = 0) -> TextColumn:
        """A few strings; None is missing."""

    @staticmethod
    def buffer(starts: Annotated[NDArray, dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], valid: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, skipped: int, first: int = 0, surrogates: bool = False) -> TextColumn:
        """
        Texts in one buffer (Arrow's string), which must be UTF-8; halves of surrogate pairs are accepted if
        `surrogates`.
        """

    @staticmethod
    def views(views: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], buffers: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]], valid: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, skipped: int, first: int = 0) -> TextColumn:
        """Views of texts (Arrow's string_view)."""

    def __len__(self) -> int: ...

    def check(self, threads: int = 1) -> None:
        """Refuse what is not valid UTF-8."""

    @property
    def bytes(self) -> int:
        """About how many bytes there are."""

class TokenRows:
    """The numbers of rows of text, as they were read."""

    def __init__(self) -> None: ...

    def __len__(self) -> int: ...

    def matrix(self, columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, times: str = 'all', threads: int = 1) -> tuple:
        """
        Starts, columns and counts of a sparse matrix (CSR), columns rising. Number i becomes columns[i], or is
        dropped if that is negative. The counts are int64, of times 'log' float64.
        """

    def totals(self, size: int) -> tuple:
        """In how many rows each number occurs, and how often in all."""

    def unknown(self) -> object:
        """How many tokens of each row had no number."""

class ClassWords:
    """Sums of words for each class, which grow."""

    def __init__(self) -> None: ...

    def add(self, times: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """Add such tables to the sums."""

    def tables(self, classes: int, columns: int, place: Sequence[int] | None = None) -> tuple:
        """
        The sums, and the rows that hold each number, both [class, number]; place says which line each code has.
        """

    def cells(self, classes: int, columns: int, place: Sequence[int]) -> tuple:
        """
        The same as lists: where the cells of each number begin, and their classes, sums and rows.
        """

class TokenReader:
    """
    Reads texts by a vocabulary that grows or stays as it is, or by a hash of fixed width.
    """

    def __init__(self, unit: str = 'words', lower: bool = True, marks: bool = False, pairs: bool = True, least: int = 1, most: int = 1, width: int = 0, unicode: bool = False) -> None: ...

    def __len__(self) -> int: ...

    def stop(self, texts: TextColumn) -> None:
        """Skip these words everywhere."""

    def name(self, texts: TextColumn, split: bool) -> None:
        """
        Give names the numbers 0, 1, …; if they are split, spaces separate their words.
        """

    def read(self, texts: TextColumn, rows: TokenRows, learn: bool, threads: int = 1) -> None:
        """Read texts, and append their numbers to the rows."""

    def read_lists(self, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], tokens: TextColumn, rows: TokenRows, learn: bool, threads: int = 1) -> None:
        """
        The same for lists of tokens; those of row i lie between starts[i] and starts[i + 1].
        """

    def count(self, texts: TextColumn, classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_classes: int, times: str, learn: bool, sums: ClassWords, threads: int = 1) -> None:
        """Read texts, and add each row to the sums of its class."""

    def add(self, rows: TokenRows, classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_classes: int, times: str, sums: ClassWords, threads: int = 1) -> None:
        """The same for rows that were read before."""

    def score(self, texts: TextColumn, times: str, table: Annotated[NDArray, dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], lengths: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, squares: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')] | None = None, threads: int = 1) -> None:
        """
        out[row, class] += table[number, class] for each token of a row; those beyond the table add nothing. With lengths,
        squares[row] += times² * lengths[number].
        """

    def spans(self, texts: TextColumn, row: int = 0) -> list[tuple[int, int, int]]:
        """
        The tokens of one text that have a number: the number, and the bytes where each begins and ends.
        """

    def name_shapes(self, first: int, last: int) -> object:
        """
        Of names of some numbers: 1 if it has spaces, 2 if several characters, 4 if two of Chinese or Japanese.
        """

    def names(self, numbers: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
        """The ends of names in one text, and that text as UTF-8."""

    def order(self) -> object:
        """All numbers, in the order of their names."""

    def memory(self) -> int:
        """The bytes that the vocabulary takes."""

UNICODE_VERSION: str = '14.0.0'

def assign_folds(classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], fold_rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], class_rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], used: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], out: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Split rows into stratified folds; rows of weight 0 get -1. Earlier rows are taken into account.
    """
