"""Rows split into folds while they come: each class evenly, all folds of nearly the same size, always the same way."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _kernels
from .._types import Codes


class Dealer:
    """Gives each row its fold, block by block or all at once, with the same result.

    The rows of a class come in blocks of as many rows as there are folds, and each block has a row in every fold; so a
    fold has its share of every class to within one row. Of the folds that a block has not used yet, a row gets the
    one with the fewest rows so far, and chance decides between equals: the remainders of the classes do not pile up.
    Chance follows from the seed, the text of the label and the number of the block, so a file and the same table in
    memory are split alike.

    >>> import numpy as np
    >>> dealer = Dealer(2, seed=0)
    >>> folds = dealer.deal(["a", "b"], np.array([0, 0, 1, 1, 1], dtype=np.int32))
    >>> sorted(folds[:2].tolist()), np.ptp(np.bincount(folds)).item()
    ([0, 1], 1)
    """

    def __init__(self, folds: int, seed: Any = 0) -> None:
        self.seed = seed_of(seed)
        self.loads = np.zeros(folds, dtype=np.int64)  # rows of each fold
        self.keys = np.zeros(0, dtype=np.uint64)
        self.met = np.zeros(0, dtype=np.int64)  # rows of each class
        self.used = np.zeros((0, folds), dtype=np.uint8)  # folds that the open block of each class has used

    def deal(self, labels: Sequence[Any], codes: Codes, weights: Any = None) -> Codes:
        """Return the fold of each row that comes next; -1 for a row of no weight, which takes no place.

        Labels may only be appended from call to call.
        """
        new = [key_of(self.seed, label) for label in labels[len(self.keys) :]]
        if new:
            self.keys = np.append(self.keys, np.array(new, dtype=np.uint64))
            self.met = np.append(self.met, np.zeros(len(new), dtype=np.int64))
            self.used = np.concatenate([self.used, np.zeros((len(new), len(self.loads)), dtype=np.uint8)])
        out = np.empty(len(codes), dtype=np.int32)
        codes = np.ascontiguousarray(codes, dtype=np.int32)
        weights = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        _kernels.assign_folds(codes, weights, self.keys, self.loads, self.met, self.used, out)
        return out


def key_of(seed: int, label: Any) -> int:
    """Return a number that looks random and follows from the text of a label: 1, 1.0 and "1" are the same class."""
    text = str(int(label)) if isinstance(label, (float, np.floating)) and float(label).is_integer() else str(label)
    digest = hashlib.blake2b(f"{seed} {text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def seed_of(random_state: Any) -> int:
    """Return the number that a random state stands for: itself, or one that is drawn."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))
