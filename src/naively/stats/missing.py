"""Which values stand for no value, of whatever library they are."""

from __future__ import annotations

from .._types import Label


def is_missing(value: Label) -> bool:
    """Tell whether an object stands for no value: None, NaN, NaT, pandas' NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # NA answers neither yes nor no; of an array that is asked too much
        return type(value).__name__ == "NAType"
    except ArithmeticError:  # a Decimal that signals
        return True
