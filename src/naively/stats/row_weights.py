"""Weights of rows: the one place that says which weights a row can have."""

from __future__ import annotations

import numpy as np

from .. import _kernels
from .._types import ColumnLike, Floats
from ..errors import InvalidInput
from ..errors.message import RowNumber

# A heavier row could make sums overflow.
MOST_WEIGHT = _kernels.LARGEST_WEIGHT


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


WANTED = f"a row weighs a finite number of 0 or more, up to {MOST_WEIGHT:g}."


def weights_of_column(weights: Floats, column: str, path: str | None = None, first: int = 0) -> Floats:
    """Return the weights that a column holds, if rows can have them; errors name the row, counted from the first."""
    wrong = refused_weight(weights)
    if wrong is not None:
        found = "missing" if np.isnan(weights[wrong]) else f"{weights[wrong]:g}"
        place = RowNumber(first + wrong) if path is None else RowNumber(first + wrong, path)
        raise InvalidInput(place, f": its weight in column {column!r} is {found}; {WANTED}", column=column)
    return np.ascontiguousarray(weights)


def refused_weight(weights: Floats) -> int | None:
    """Return the place of the first weight that no row can have."""
    wrong = ~((weights >= 0) & (weights <= MOST_WEIGHT))
    return int(np.argmax(wrong)) if wrong.any() else None
