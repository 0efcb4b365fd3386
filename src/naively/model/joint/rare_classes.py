"""Classes of few rows: what textbook naive Bayes would say of them, as evidence with a weight of its own.

Tables of bins and labels shrink towards "nothing", and the weights of the evidence are fitted by the classes that have
most rows. A class of a handful of rows can lose by that what the textbook model would still see: labels by Laplace's
rule, numbers by a density. So both stand beside the other evidence for classes that are rare, and for them alone; how
strongly they are believed, the rows of rare classes show, each left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from ..._types import Codes, Floats, Singles
from .student_t import NONE
from .values import Taken, less

# A class of so many rows is no longer rare: with fewer, it has less than a row in each of the 20 bins that a number is
# cut into at least.
RARE = 20.0


def rarity(rows: Any) -> Floats:
    """Return how rare classes of so many rows are: nearly 1 with few, 0 with many; and 0 with none, who say nothing."""
    return np.where(rows > NONE, np.clip(1.0 - rows / RARE, 0.0, 1.0), 0.0)


class Rare(NamedTuple):
    """How many rows each class has."""

    rows: Floats

    @property
    def classes(self) -> list[int]:
        """The classes that are rare, if only without one of their rows."""
        return [int(at) for at in np.flatnonzero((self.rows > NONE) & (self.rows < RARE + 1))]

    def left(self, taken: Taken) -> Singles:
        """Return how rare each class is without each row, [class, row]."""
        out = np.repeat(rarity(self.rows)[:, None], len(taken.y), axis=1)
        out.reshape(-1)[taken.own] = rarity(less(self.rows[taken.y], taken.weights))
        return out.astype(np.float32)

    def lifted(self, densities: Any) -> Any:
        """Return log densities [class, ...] measured against the mean density of all classes."""
        shares = np.log(np.maximum(self.rows, 1e-300) / self.rows.sum())
        return densities - logsumexp(densities + shares[:, None], axis=0)


def of_labels(n: Floats) -> Floats:
    """Return what each label says by Laplace's rule, [class, label], given how often it was met."""
    return by_laplace(n, n.sum(axis=1)[:, None], n.sum(axis=0), n.sum(), n.shape[1])


def of_labels_left(n: Floats, label: int, codes: Codes, taken: Taken) -> Floats:
    """Return what the label of each row says of one class, each row left out; a missing one says nothing."""
    if not n.shape[1]:  # every cell of the column is missing
        return np.zeros(len(codes))
    known, w = (codes >= 0) & (codes < n.shape[1]), taken.weights
    cell, own = np.where(known, codes, 0), np.where(taken.y == label, w, 0.0)
    here, rows = less(n[label].take(cell), own), less(n[label].sum(), own)
    said = by_laplace(here, rows, less(n.sum(axis=0).take(cell), w), less(n.sum(), w), n.shape[1])
    return np.where(known, said, 0.0)


def by_laplace(here: Floats, rows: Any, met: Floats, whole: Any, size: int) -> Floats:
    """Return the log of P(value | class) over P(value), each with one row imagined for every value."""
    return np.asarray(np.log((here + 1) / (rows + size)) - np.log((met + 1) / (whole + size)))
