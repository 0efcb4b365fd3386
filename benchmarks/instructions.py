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
    products = lay_out(y, numbers, codes, offsets)
    combine(rng, numbers, codes, offsets, products)
    leave_one_out(y, numbers, codes, offsets)
    cross_fit(y, numbers, codes, offsets, products)
    fit(rng, y, codes, offsets)
    read_words(rng, y, words)
    solve(products[0])
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


def lay_out(y, numbers, codes, offsets):
    """Run the kernels that lay rows out on a grid and count pairs of columns; return products of their features."""
    cuts, places = np.tile(np.linspace(-1, 1, 7), COLUMNS), np.tile(np.arange(8, dtype=np.int32), COLUMNS)
    cut_offsets, scale = np.arange(COLUMNS + 1) * 7, np.tile([[-4.0], [4.0], [0.0], [4096.0]], COLUMNS)
    kernels.bin_numbers(numbers, cuts, cut_offsets, np.empty((ROWS, COLUMNS), np.int32))
    fine, level = np.empty((ROWS, COLUMNS), np.int32), np.empty((ROWS, COLUMNS))
    both, about = np.empty((2 * COLUMNS, ROWS), np.int32), (cuts, cut_offsets, places, offsets, scale, 1 / 4096)
    kernels.lay_out(numbers, codes, *about, places, offsets, fine, both, level, 1)
    columns = list(np.ascontiguousarray(numbers.T))
    kernels.gather_numbers(columns, [None] * COLUMNS, [0] * COLUMNS, np.empty((COLUMNS, ROWS)), 1)
    hashes = np.arange(offsets[-1], dtype=np.uint64)
    kernels.hash_codes(codes, offsets, hashes, y, hashes[:CLASSES], 1, np.zeros(ROWS, np.uint64), 1)
    features = 1 + offsets[-1] + COLUMNS
    half, products = np.zeros((2, CLASSES, features, features))
    kernels.count_products(codes, offsets, numbers, y, None, half)
    kernels.mirror_products(half, np.arange(CLASSES), products)
    return products


def combine(rng, numbers, codes, offsets, products) -> None:
    """Run the kernels that make tables of pairs and score several columns at once."""
    first = np.arange(COLUMNS - 1)
    columns = np.column_stack([first, first + 1, np.full(len(first), -1)])
    lines, table = first * 81, np.zeros((81 * len(first), WIDTH))  # 9 places for each column: 8 codes, missing
    kernels.add_pair_scores(products, offsets, first, first + 1, 2.0, 1.0, columns, lines, table)
    scorer, directions = kernels.Scorer(np.zeros(CLASSES)), rng.normal(size=(offsets[-1] + COLUMNS, 8))
    scorer.interactions(codes, offsets, columns, lines, table)
    parts = directions[offsets[-1] :], directions[: offsets[-1]]
    scorer.quadratic(numbers, codes, offsets, *parts, rng.normal(size=(CLASSES - 1, 48)))
    assert scorer.choice(np.zeros(CLASSES), np.empty(ROWS, np.int64)) == -1


def leave_one_out(y, numbers, codes, offsets) -> None:
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


def folds(y):
    """Return the rows in five folds, as the kernels of cross-fitting read them."""
    return y, np.ones(ROWS), np.arange(6) * (ROWS // 5), 0, 0


def cross_fit(y, numbers, codes, offsets, products) -> None:
    """Run the kernels that score rows by the counts without their fold."""
    totals, cells = products[:, 0, 1 : 1 + offsets[-1]].T.copy(), codes.T.copy()
    kernels.cross_values(cells, offsets, totals, *folds(y), 0.5, np.zeros((COLUMNS, CLASSES, ROWS), np.float32))
    first, p = np.arange(COLUMNS - 1), padded(np.full((ROWS, CLASSES), 1 / CLASSES))
    results = np.ones(ROWS), np.zeros((ROWS, WIDTH)), np.zeros(len(first)), np.zeros(len(first))
    kernels.cross_pairs(codes, products, offsets, first, first + 1, *folds(y), 2.0, p, p, *results)
    of_numbers = products[:, 0, 0].copy(), products[:, 0, -COLUMNS:].copy(), products[:, -COLUMNS:, -COLUMNS:].copy()
    about = np.array([[0.3, 1.0]]), 5, np.zeros((1, CLASSES, ROWS))
    assert kernels.cross_normal(numbers, np.zeros((0, 0), np.uint8), *of_numbers, *folds(y), *about)


def fit(rng, y, codes, offsets) -> None:
    """Run the kernels that fit weights of terms, and coefficients of cells."""
    x, truth, size = (
        rng.normal(size=(CLASSES - 1, 8, ROWS)).astype(np.float32),
        np.eye(CLASSES)[y].T.copy(),
        8 + CLASSES,
    )
    kernels.term_scores(x, truth, np.ones(ROWS), np.ones(size), np.zeros((CLASSES, ROWS)))
    about = np.ones(size), np.zeros(size), 0.0, False, np.zeros((size, size)), np.zeros(size)
    kernels.fit_term_weights(x, truth, np.ones(ROWS), *about)
    scores = np.pad(np.zeros((ROWS, CLASSES)), ((0, 0), (0, WIDTH - CLASSES)), constant_values=-1e30)
    tables = offsets, np.ones((COLUMNS, 3)), np.tile(np.linspace(-1.5, 1.5, 8), COLUMNS)
    results = np.zeros((offsets[-1], WIDTH)), np.zeros((COLUMNS, WIDTH))
    kernels.fit_coefficients(codes.T.copy(), y, np.ones(ROWS), *tables, scores, *results, 2, 0.0)


def read_words(rng, y, words) -> None:
    """Run the kernels of words of texts: weights, scores without folds, coefficients."""
    texts = np.zeros((1_000, CLASSES))
    np.add.at(texts, (words[1], y.repeat(40)), 1.0)
    cells, group = sparse.csr_array(texts), np.zeros(1_000, np.uint8)
    counted = cells.indptr.astype(np.int64), cells.indices.astype(np.int32), cells.data
    of_words = *counted, texts.sum(axis=1), group, texts.sum(axis=0, keepdims=True)
    kernels.word_weights(*of_words, np.ones((1, 2)), 0.5, np.zeros((1_000, CLASSES), np.float32))
    starts, held = words[0].astype(np.int64), words[1]
    kernels.cross_words(starts, held, *of_words, *folds(y), 0.5, 5, np.zeros((2, CLASSES, ROWS), np.float32))
    lengths, scales = np.full(ROWS, 0.15, np.float32), np.ones(1_000, np.float32)
    squares, table = np.zeros(ROWS, np.float32), np.zeros((1_000, WIDTH), np.float32)
    kernels.word_offset_squares(starts, held, lengths, scales, squares)
    rows = np.zeros((ROWS, CLASSES), np.float32), np.eye(CLASSES, dtype=np.float32)[y], np.ones(ROWS, np.float32)
    how = np.arange(ROWS, dtype=np.int32), 1.0, 2, 0.0, table, np.zeros((ROWS, WIDTH), np.float32)
    kernels.fit_word_offsets(starts, held, lengths, scales, squares, *rows, *how)
    kernels.score_word_offsets(starts, held, lengths, table, np.zeros((ROWS, CLASSES), np.float32))


def solve(matrix) -> None:
    """Run the kernels that multiply and decompose matrices."""
    positive = matrix + np.diag(np.full(len(matrix), 1.0 + len(matrix)))
    for kind in (np.float64, np.float32):
        a = positive.astype(kind)
        kernels.multiply(a[None], a[None], np.empty_like(a)[None])
        kernels.multiply_vector(a, a[0].copy(), np.empty(len(a), kind))
    root = positive.copy()
    assert kernels.factor_cholesky(root)
    kernels.solve_cholesky(root, np.ones((len(root), 3)))
    assert kernels.factor_lu(positive[None].copy(), np.ones((1, len(root), 3))) == -1
    kernels.find_eigenvectors(positive[:40, :40].copy(), np.empty(40))


def padded(table):
    """Return a table with zeros after the classes, as the kernels read it."""
    return np.pad(table, ((0, 0), (0, WIDTH - CLASSES)))


if __name__ == "__main__":
    main()
