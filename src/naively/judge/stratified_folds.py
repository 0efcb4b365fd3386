"""Stratified folds for rows that arrive in blocks: equal class proportions, equal sizes, reproducible."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from .. import _kernels
from .._types import Codes, Floats, Label

if TYPE_CHECKING:
    from numpy.random import Generator, RandomState

# What scikit-learn takes as `random_state`, and NumPy's newer generators.
RandomSeed: TypeAlias = "int | np.integer | Generator | RandomState | None"


class StratifiedFolds:
    """Assigns each row to a fold, block by block or all at once, with the same result.

    The rows of a class come in blocks of as many rows as there are folds, and each block has a row in every fold; so a
    fold has its proportion of every class to within one row. Of the folds that a block has not used yet, a row gets the
    one with the fewest rows so far, and chance decides between equals: the remainders of the classes do not pile up.
    Chance follows from the seed, the text of the label and the number of the block, so a file and the same table in
    memory are split in the same way.

    >>> import numpy as np
    >>> stratified = StratifiedFolds(2, seed=0)
    >>> folds = stratified.assign(["a", "b"], np.array([0, 0, 1, 1, 1], dtype=np.int32))
    >>> sorted(folds[:2].tolist()), np.ptp(np.bincount(folds)).item()
    ([0, 1], 1)
    """

    def __init__(self, folds: int, seed: RandomSeed = 0) -> None:
        self.seed = seed_from_random_state(seed)
        self.fold_rows = np.zeros(folds, dtype=np.int64)
        self.keys = np.zeros(0, dtype=np.uint64)  # of each class
        self.class_rows = np.zeros(0, dtype=np.int64)
        self.used = np.zeros((0, folds), dtype=np.uint8)  # folds that the open block of each class has used

    def assign(self, labels: Sequence[Label], codes: Codes, weights: Floats | None = None) -> Codes:
        """Return the fold of each of the next rows; -1 for a row of weight 0, which is in no fold.

        Labels may only be appended from call to call.
        """
        new = [label_key(self.seed, label) for label in labels[len(self.keys) :]]
        if new:
            self.keys = np.append(self.keys, np.array(new, dtype=np.uint64))
            self.class_rows = np.append(self.class_rows, np.zeros(len(new), dtype=np.int64))
            self.used = np.concatenate([self.used, np.zeros((len(new), len(self.fold_rows)), dtype=np.uint8)])
        out = np.empty(len(codes), dtype=np.int32)
        codes = np.ascontiguousarray(codes, dtype=np.int32)
        weights = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        _kernels.assign_folds(codes, weights, self.keys, self.fold_rows, self.class_rows, self.used, out)
        return out


def label_key(seed: int, label: Label) -> int:
    """Return a hash of the text of a label: 1, 1.0 and "1" are the same class."""
    text = str(int(label)) if isinstance(label, (float, np.floating)) and float(label).is_integer() else str(label)
    digest = hashlib.blake2b(f"{seed} {text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def seed_from_random_state(random_state: RandomSeed) -> int:
    """Return the seed that a random state stands for: the number itself, or one that is drawn."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))
