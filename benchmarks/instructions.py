"""A small fixed workload for every kernel, whose instructions `python3 chores.py instructions` counts.

One thread, fixed data and a fixed instruction level: the counts are then the same on every run, whatever else the
machine does. Prints the level.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from naively import _kernels as kernels

ROWS, COLUMNS, CLASSES, WIDTH = 4_000, 24, 10, 12  # the width is that of ten classes in vectors of four


def main() -> None:
    """Run every kernel once."""
    level = "avx2" if "avx2" in kernels.levels() else "baseline"
    kernels.use_level(level)
    rng = np.random.default_rng(1)
    y = rng.integers(CLASSES, size=ROWS, dtype=np.int32)
    numbers = rng.normal(size=(ROWS, COLUMNS))
    codes = rng.integers(8, size=(ROWS, COLUMNS), dtype=np.int32)
    offsets = np.arange(COLUMNS + 1) * 8
    words = (
        np.arange(ROWS + 1, dtype=np.int32) * 40,
        rng.integers(1_000, size=ROWS * 40, dtype=np.int32),
        rng.random(ROWS * 40),
    )
    count(y, numbers, codes, offsets, words)
    score(rng, numbers, codes, offsets, words)
    combine(rng, y, numbers, codes, offsets)
    leave_one_out(y, numbers, codes, offsets, words)
    print(level)


def count(y, numbers, codes, offsets, words) -> None:
    """Run the kernels that count."""
    shape = CLASSES, COLUMNS
    assert kernels.count_codes(codes, y, None, False, offsets, np.zeros((offsets[-1], CLASSES))) == -1
    assert kernels.count_dense(numbers, y, None, 0.0, None, np.zeros(shape)) == -1
    assert kernels.count_sparse(*words, y, None, None, 0.0, np.zeros((CLASSES, 1_000))) == -1
    assert kernels.count_moments(numbers, y, None, False, np.zeros(shape), np.zeros((3, *shape))) == -1
    kernels.column_ranges(numbers, np.zeros(COLUMNS), np.zeros(COLUMNS))
    kernels.hash_numbers(numbers, np.arange(COLUMNS, dtype=np.uint64), np.zeros(ROWS, np.uint64))


def score(rng, numbers, codes, offsets, words) -> None:
    """Run the kernels that score, all into the same posteriors."""
    table = padded(rng.normal(size=(1_000, CLASSES)))
    some, positive = table[:COLUMNS], padded(rng.random((COLUMNS, CLASSES)))
    scorer = kernels.Scorer(np.zeros(CLASSES))
    scorer.codes(codes, offsets, table[: offsets[-1]])
    scorer.dense(numbers, 0.0, some)
    scorer.sparse(*words, None, table)
    scorer.normal(numbers, some, positive, some, False)
    scorer.student(numbers, some, positive, positive, some, False)
    assert scorer.posterior(np.zeros(CLASSES), np.empty((ROWS, CLASSES))) == -1


def combine(rng, y, numbers, codes, offsets) -> None:
    """Run the kernels of pairs of columns: binning, products of features, scores of pairs."""
    cuts = np.tile(np.linspace(-1, 1, 7), COLUMNS)
    kernels.bin_numbers(numbers, cuts, np.arange(COLUMNS + 1) * 7, np.empty((ROWS, COLUMNS), np.int32))
    features = 1 + offsets[-1] + COLUMNS
    half, products = np.zeros((2, CLASSES, features, features))
    kernels.count_products(codes, offsets, numbers, y, None, half)
    kernels.mirror_products(half, np.arange(CLASSES), products)
    first, lines = np.arange(COLUMNS - 1), np.arange(COLUMNS - 1) * 81  # 9 places for each column: 8 codes, missing
    terms = offsets, np.tile(np.arange(8, dtype=np.int32), (1, COLUMNS)), first, first + 1, np.zeros_like(first)
    scores = np.empty(64 * CLASSES * len(first))
    kernels.pair_ratios(products, *terms, 2.0, scores)
    kernels.add_pair_scores(scores, *terms, lines, CLASSES, np.zeros((81 * len(first), WIDTH)))
    scorer = kernels.Scorer(np.zeros(CLASSES))
    scorer.pairs(codes, offsets, first, first + 1, lines, padded(rng.normal(size=(81 * len(first), CLASSES))))
    assert scorer.choice(np.zeros(CLASSES), np.empty(ROWS, np.int64)) == -1


def leave_one_out(y, numbers, codes, offsets, words) -> None:
    """Run the leave-one-out kernels on the rows that were counted."""
    counts = np.zeros((9 * COLUMNS, CLASSES))  # a last line for values that were never seen
    assert kernels.count_codes(codes, y, None, False, np.arange(COLUMNS + 1) * 9, counts) == -1
    seen, totals = counts.sum(axis=1), np.tile(np.bincount(y, minlength=CLASSES) * 1.0, (COLUMNS, 1))
    logs = np.log((counts + 1) / (totals.repeat(9, axis=0) + 9))
    columns = np.tile([1.0, 9.0, float(ROWS), 0.0, 1.0, 0.0], (COLUMNS, 1))
    out = np.zeros((ROWS, CLASSES))
    tables = padded(logs), padded(counts), seen, np.zeros(len(seen)), totals, columns
    assert kernels.leave_one_out_codes(codes, y, None, np.arange(COLUMNS + 1) * 9, *tables, out) == -1
    shape = COLUMNS, CLASSES
    moments = totals, np.zeros(shape), totals * 1.0, np.full(shape, 1e-14)
    assert kernels.leave_one_out_numbers(numbers, y, None, *moments, "bayes", 1.0, 0.0, out) == -1
    texts = np.zeros((1_000, CLASSES))
    np.add.at(texts, (words[1], y.repeat(40)), 1.0)
    group, mass = np.zeros(1_000, np.uint8), texts.sum(axis=0, keepdims=True)
    cells = sparse.csr_array(texts)
    counted = cells.indptr.astype(np.int64), cells.indices.astype(np.int32), cells.data
    of_words = *counted, texts.sum(axis=1), group, mass
    kernels.word_weights(*of_words, np.ones((1, 2)), 0.5, np.zeros((1_000, CLASSES), np.float32))
    pieces = np.zeros((2, CLASSES, ROWS), np.float32)
    kernels.leave_one_out_words(words[0].astype(np.int64), words[1], y, None, *of_words, 0.5, pieces)


def padded(table):
    """Return a table with zeros after the classes, as the kernels read it."""
    return np.pad(table, ((0, 0), (0, WIDTH - CLASSES)))


if __name__ == "__main__":
    main()
