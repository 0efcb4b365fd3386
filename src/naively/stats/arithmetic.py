"""Arithmetic that all statistics share, and which weights rows may have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import numpy as np
import numpy.typing as npt

from .. import _kernels
from .._types import ColumnLike, Floats, Hashes, Places
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
        found = "missing" if np.isnan(weights[wrong]) else f"{weights[wrong]:g}"
        row = RowNumber(first + wrong, path)
        raise InvalidInput(row, f": its weight in column {column!r} is {found}; {WANTED}", column=column)
    return np.ascontiguousarray(weights)


def refused_weight(weights: Floats) -> int | None:
    """Return the place of the first weight that no row can have."""
    wrong = ~((weights >= 0) & (weights <= MOST_WEIGHT))
    return int(np.argmax(wrong)) if wrong.any() else None
