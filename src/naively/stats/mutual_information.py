"""Mutual information of a column and the class, from counts of values by class, without what chance alone shows.

The plain figure of a table of counts is too high: it overfits values that few rows have, and a column of
random identifiers seems to determine the class. So the class of each row is predicted from the *other* rows with its
value (leave-one-out), their class proportions shrunk towards those of all rows by the number of pseudo-counts that
gives the least log loss. Noise
then has about 0 bits, whatever its distribution and however many values there are, and a column that determines the
class has the entropy of the class.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._linear_algebra import dot, product
from .._types import AnyArray, Floats

# Pseudo-counts that are compared, in equal steps of the logarithm; infinitely many leave 0 bits.
PSEUDO = np.geomspace(1e-2, 1e5, 15)
# Bins of a number are compared at these numbers of them, too: what is weak shows in few bins, what is strong in many.
COARSER = (16, 4)
# Logarithms that are taken at once.
AT_ONCE = 1 << 20
TINY = 1e-300


class Information(NamedTuple):
    """Mutual information of a column and the class in bits, its standard error, and the number of rows behind it."""

    bits: float
    error: float
    rows: float

    def of_known(self, known: float, rows: float) -> Information:
        """Return the same as an average over all rows, where only some of them have a value."""
        share = known / rows if rows else 0.0
        return Information(self.bits * share, self.error * share, self.rows)

    def __add__(self, other: Information) -> Information:  # type: ignore[override]  # a sum, no longer tuple
        """Return the sum, where the second is information beyond the first."""
        error = float(np.hypot(self.error, other.error))
        return Information(self.bits + other.bits, error, max(self.rows, other.rows))


NOTHING_KNOWN = Information(float("nan"), float("nan"), 0.0)


def entropy(n: Floats) -> float:
    """Return the entropy of counts in bits.

    >>> entropy(np.array([5.0, 5.0, 0.0]))
    1.0
    """
    shares = n[n > 0] / n.sum()
    return float(-(shares * np.log2(shares)).sum()) + 0.0


def information_of_values(n: Floats, each: Floats | float = 1.0) -> Information:
    """Return the mutual information of a value and the class, given counts [class, value].

    Each is what the heaviest row of each class weighs: so much of the counts may be a row's own.

    >>> information_of_values(np.array([[50.0, 0.0], [0.0, 50.0]])).bits
    1.0
    >>> information_of_values(np.eye(100)[:, :50] + np.eye(100)[:, 50:]).bits  # every row has a class of its own
    0.0
    """
    classes, values, rows = n.sum(axis=1), n.sum(axis=0), float(n.sum())
    own = np.broadcast_to(np.maximum(each, TINY), classes.shape)
    k, j = np.nonzero(n * (classes > own * (1 + 1e-9))[:, None])  # the only row of a class leaves none behind
    whole = float((classes / own).sum())  # rows, however heavy they are
    if not len(k):
        return Information(0.0, 0.0, whole)
    here = n[k, j]
    prior = (classes[k] - own[k]) / (rows - own[k])
    others, every = np.maximum(here - own[k], 0.0), np.maximum(values[j] - own[k], 0.0)

    def leads(pseudo: Floats) -> Floats:
        """Return by how many bits the other rows with its value raise the class of a row, [pseudo-count, cell]."""
        raised = others + pseudo[:, None] * own[k] * prior
        raised /= (every + pseudo[:, None] * own[k]) * prior
        return np.asarray(np.log2(raised))

    steps = max(AT_ONCE // len(k), 1)
    bits = np.concatenate([product(leads(PSEUDO[at : at + steps]), here) for at in range(0, len(PSEUDO), steps)]) / rows
    best = int(bits.argmax())
    # By chance alone, a single division of the rows into two shows this much (half of a χ² with one degree of freedom).
    least = float(1 / (np.sqrt(2) * np.log(2) * whole))
    if bits[best] <= 0:
        return Information(0.0, least, whole)
    squares = dot(leads(PSEUDO[best : best + 1])[0] ** 2, here) / rows
    error = np.sqrt(max(squares - bits[best] ** 2, 0.0) / whole)
    return Information(min(float(bits[best]), entropy(classes), entropy(values)), max(float(error), least), whole)


def information_of_bins(n: Floats, each: Floats | float = 1.0) -> Information:
    """Return the mutual information of a number and the class, given counts [class, bin] of bins in their order."""
    rows, best = n.sum(axis=0), information_of_values(n, each)
    middle = (np.cumsum(rows) - rows / 2) / max(rows.sum(), 1e-300)  # of each bin, as a proportion of the rows
    for bins in COARSER:
        if bins < n.shape[1]:
            starts = np.flatnonzero(np.diff((middle * bins).astype(np.int64), prepend=-1))
            best = max(best, information_of_values(np.add.reduceat(n, starts, axis=1), each))
    return best


def heaviest_rows(y: AnyArray, weights: Floats, classes: int) -> Floats:
    """Return what the heaviest row of each class weighs."""
    out = np.zeros(classes)
    np.maximum.at(out, y, weights)
    return out
