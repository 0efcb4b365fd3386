"""Arithmetic that all statistics share, and which weights rows may have."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from .. import _kernels
from .._linear_algebra import dot, product
from .._types import AnyArray, ColumnLike, Floats, Hashes, Places
from ..errors import InvalidInput, InvalidSetting
from ..errors.message import RowNumber
from .axis import Axis

# Whole numbers up to this are all floating-point numbers: sums of them are exact.
MOST_EXACT = 2.0**53
# A heavier row could make sums overflow.
MOST_WEIGHT = _kernels.LARGEST_WEIGHT
WANTED = f"a row weighs a finite number of 0 or more, up to {MOST_WEIGHT:g}."
STEP, FIRST, SECOND = (np.uint64(by) for by in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))

ClassWeights = Callable[[Axis], Floats]  # the weight of each class of an axis


class Statistic:
    """A value that adds up over rows: statistics have ``+``, ``-`` and `scaled`, from which ``*`` and sum() follow."""

    def scaled(self, of: ClassWeights) -> Self:
        """Return the statistic as if each row had weighed as much more as its class; `of` gives the weights."""
        raise NotImplementedError

    def __mul__(self, weight: float) -> Self:
        w = checked_weight(weight)
        return self.scaled(lambda classes: np.full(len(classes), w))

    __rmul__ = __mul__

    def __radd__(self, other: object) -> Self:
        return self if other == 0 else NotImplemented  # so that sum() works


# -- counts ------------------------------------------------------------------------------------------------------------


def on_axes(array: Floats, old: tuple[Axis, ...], new: tuple[Axis, ...]) -> Floats:
    """Return the array laid out for other axes: every label at its new place, zero where there was none."""
    if old == new:
        return array
    out = np.zeros([len(axis) for axis in new])
    places = [target.places(source.labels) for source, target in zip(old, new, strict=True)]
    known = [place >= 0 for place in places]
    out[np.ix_(*(place[here] for place, here in zip(places, known, strict=True)))] = array[np.ix_(*known)]
    return out


def frozen(array: npt.ArrayLike) -> Floats:
    """Return the array as float64 that nobody can write to."""
    out = np.array(array, dtype=np.float64, order="C", copy=None)
    if out is array and (out.flags.writeable or out.base is not None):  # else somebody may write to what it views
        out = out.copy()
    out.flags.writeable = False
    return out


def subtract(before: Floats, taken: Floats, *, unit: float = 1.0) -> Floats:
    """Return before - taken, with 0 where only rounding of fractions is left.

    Whole numbers, or multiples of a smaller unit, are exact as long as they have digits for it.
    """
    before, taken = np.broadcast_arrays(before, taken)
    rest = before - taken
    little = (np.abs(rest) <= _kernels.SUM_ROUNDING * np.abs(before)) & (rest != 0)
    if little.any():
        some, gone = before[little] / unit, taken[little] / unit
        exact = (some == np.floor(some)) & (gone == np.floor(gone)) & (np.abs(some) <= MOST_EXACT)
        rest[little] = np.where(exact, rest[little], 0.0)
    return rest


def most_negative(rest: Floats) -> tuple[int, ...] | None:
    """Return the place of the most negative number; None if there is none."""
    if not (rest < 0).any():
        return None
    return tuple(int(i) for i in np.unravel_index(np.argmin(rest), rest.shape))


def nearly_equal(a: Floats, b: Floats, tolerance: float) -> bool:
    """Tell whether all numbers are equal up to a relative difference."""
    return bool(np.all(np.abs(a - b) <= tolerance * np.maximum(np.abs(a), np.abs(b))))


def divide(a: Floats, n: Floats) -> Floats:
    """Return a / n, and 0 where n is 0."""
    return np.divide(a, n, out=np.zeros(np.broadcast_shapes(a.shape, n.shape)), where=n != 0)


def commonest(n: Floats, most: int) -> Places:
    """Return the places of at most `most` counts: all in their order, or of more counts the largest by size."""
    if len(n) <= most:
        return np.arange(len(n))
    return np.asarray(np.argsort(-n, kind="stable")[:most])


def mix_hashes(x: Hashes) -> Hashes:
    """Return numbers with their bits mixed (splitmix64): they look random, and are always the same for the same."""
    with np.errstate(over="ignore"):
        x = x * STEP
        x = (x ^ (x >> np.uint64(30))) * FIRST
        x = (x ^ (x >> np.uint64(27))) * SECOND
        return np.asarray(x ^ (x >> np.uint64(31)))


# -- weights -----------------------------------------------------------------------------------------------------------


def checked_weight(weight: float) -> float:
    """Return the weight as a float, if statistics can be multiplied by it."""
    try:
        number = np.nan if isinstance(weight, str) else float(weight)
    except (TypeError, ValueError):
        number = np.nan
    if not (np.isfinite(number) and number >= 0):
        raise InvalidSetting(f"Rows cannot weigh {weight!r:.60}; multiply by a finite number that is not negative.")
    return number


def checked_row_weights(weights: ColumnLike | None, rows: int, name: str = "sample_weight") -> Floats | None:
    """Return a weight for each row, if rows can have these weights and one of them is not 0.

    Parameters
    ----------
    weights : array-like of shape (n_rows,), float or None
        The weight of each row, or one weight for all of them. None if rows have no weights.
    rows : int
        The number of rows.
    name : str, default="sample_weight"
        The parameter that errors speak of.

    Returns
    -------
    weights : ndarray of shape (n_rows,) or None
        The weights as float64.
    """
    if weights is None:
        return None
    try:
        given = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} must be a number for each row.", setting=name) from None
    given = np.full(rows, given) if given.ndim == 0 else given
    if given.ndim != 1:
        raise InvalidInput(f"Sample weights must be 1D array or scalar, got {given.ndim}D array.", setting=name)
    if len(given) != rows:
        raise InvalidInput(f"{name}.shape == {given.shape}, expected {(rows,)}!", setting=name)
    wrong = refused_weight(given)
    if wrong is not None:
        raise InvalidInput(
            f"{name}[{wrong}] is {given[wrong]:g}; {WANTED}", setting=name, row=wrong, value=float(given[wrong])
        )
    if not given.any():
        raise InvalidInput("Sample weights must contain at least one non-zero number.", setting=name)
    return np.ascontiguousarray(given)


def weights_of_column(weights: Floats, column: str, path: str | None = None, first: int = 0) -> Floats:
    """Return the weights that a column holds, if rows can have them; errors name the row, counted from the first."""
    wrong = refused_weight(weights)
    if wrong is not None:
        result = "missing" if np.isnan(weights[wrong]) else f"{weights[wrong]:g}"
        row = RowNumber(first + wrong, path)
        raise InvalidInput(row, f": its weight in column {column!r} is {result}; {WANTED}", column=column)
    return np.ascontiguousarray(weights)


def refused_weight(weights: Floats) -> int | None:
    """Return the place of the first weight that no row can have."""
    wrong = ~((weights >= 0) & (weights <= MOST_WEIGHT))
    return int(np.argmax(wrong)) if wrong.any() else None


# -- mutual information of a column and the class ----------------------------------------------------------------------


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
    bits = (
        np.concatenate([product(leads(PSEUDO[index : index + steps]), here) for index in range(0, len(PSEUDO), steps)])
        / rows
    )
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
