"""Small arithmetic that all statistics share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._kernels import SUM_ROUNDING
from .._types import Floats, Places
from ..errors import InvalidSetting
from .axis import Axis

# Whole numbers up to this are all floating-point numbers: sums of them are exact.
MOST_EXACT = 2.0**53


def on_axes(array: Floats, old: tuple[Axis, ...], new: tuple[Axis, ...]) -> Floats:
    """Return the array laid out for other axes: every label at its new place, zero where there was none."""
    if old == new:
        return array
    out = np.zeros([len(axis) for axis in new])
    places = [target.places(source.labels) for source, target in zip(old, new, strict=True)]
    found = [at >= 0 for at in places]
    out[np.ix_(*(at[here] for at, here in zip(places, found, strict=True)))] = array[np.ix_(*found)]
    return out


def frozen(array: npt.ArrayLike) -> Floats:
    """Return the array as float64 that nobody can write to."""
    out = np.array(array, dtype=np.float64, order="C", copy=None)
    if out is array and (out.flags.writeable or out.base is not None):  # else somebody may write to what it views
        out = out.copy()
    out.flags.writeable = False
    return out


def subtract(before: Floats, taken: Floats, *, unit: float = 1.0) -> Floats:
    """Return before - taken; of fractions, what rounding alone can leave is nothing.

    Whole numbers, or multiples of a smaller unit, are exact as long as they have digits for it.
    """
    rest = before - taken
    little = (np.abs(rest) <= SUM_ROUNDING * np.abs(before)) & (rest != 0)
    if little.any():
        some, gone = before[little] / unit, taken[little] / unit
        exact = (some == np.floor(some)) & (gone == np.floor(gone)) & (np.abs(some) <= MOST_EXACT)
        rest[little] = np.where(exact, rest[little], 0.0)
    return rest


def divide(a: Floats, n: Floats) -> Floats:
    """Return a / n, and 0 where there is nothing to divide by."""
    return np.divide(a, n, out=np.zeros(np.broadcast_shapes(a.shape, n.shape)), where=n != 0)


def checked_weight(weight: float) -> float:
    """Return the weight as a float, if it is one that rows can have."""
    try:
        number = np.nan if isinstance(weight, str) else float(weight)
    except (TypeError, ValueError):
        number = np.nan
    if not (np.isfinite(number) and number >= 0):
        raise InvalidSetting(f"Rows cannot weigh {weight!r:.60}; multiply by a finite number that is not negative.")
    return number


def commonest(n: Floats, most: int) -> Places:
    """Return the places of the largest counts, the largest first; of no more than `most`, all in their order."""
    if len(n) <= most:
        return np.arange(len(n))
    return np.asarray(np.argsort(-n, kind="stable")[:most])
