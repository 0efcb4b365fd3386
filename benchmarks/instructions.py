"""A small fixed workload for every kernel, whose instructions `python3 chores.py instructions` counts.

One thread, fixed data and a fixed instruction level: the counts are then the same on every run, whatever else the
machine does. Prints the level.
"""

from __future__ import annotations

import numpy as np

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
    print(level)


def count(y, numbers, codes, offsets, words) -> None:
    """Run the kernels that count."""
    shape = CLASSES, COLUMNS
    assert kernels.count_codes(codes, y, None, False, offsets, np.zeros((offsets[-1], CLASSES))) == -1
    assert kernels.count_dense(numbers, y, None, 0.0, None, np.zeros(shape)) == -1
    assert kernels.count_sparse(*words, y, None, None, 0.0, np.zeros((CLASSES, 1_000))) == -1
    assert kernels.count_moments(numbers, y, None, False, np.zeros(shape), np.zeros((3, *shape))) == -1
    kernels.ranges(numbers, np.zeros(COLUMNS), np.zeros(COLUMNS))


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


def padded(table):
    """Return a table with zeros after the classes, as the kernels read it."""
    return np.pad(table, ((0, 0), (0, WIDTH - CLASSES)))


if __name__ == "__main__":
    main()
