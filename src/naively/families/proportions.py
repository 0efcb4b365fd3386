"""Three estimates of a proportion: the probability of a value, given its counts.

They differ only in their pseudo-counts: none (``mle``), λ - 1 of each value (``map``, the mode
of the Dirichlet posterior), or λ of each value (``bayes``, the posterior predictive: Laplace's rule). So Laplace's λ is
``bayes`` with λ, and ``map`` with λ + 1.
"""

from __future__ import annotations

import numpy as np

from .._types import Floats, Numeric


def no_pseudo_counts(alpha: Numeric) -> Floats:
    """Return no pseudo-counts."""
    return np.zeros(np.shape(alpha))


def map_pseudo_counts(alpha: Numeric) -> Floats:
    """Return λ - 1 pseudo-counts of each value."""
    return np.asarray(alpha) - 1.0


def bayes_pseudo_counts(alpha: Numeric) -> Floats:
    """Return λ pseudo-counts of each value."""
    return np.asarray(alpha, dtype=np.float64)


PSEUDO_COUNTS = {"mle": no_pseudo_counts, "map": map_pseudo_counts, "bayes": bayes_pseudo_counts}


def log_proportion(part: Numeric, whole: Numeric, size: Numeric, out: Floats | None = None) -> Floats:
    """Return log(part / whole), both with pseudo-counts; all values are equal where there are none at all.

    The answer may be put where the part lies, if that is needed no more.
    """
    there, part = np.asarray(whole) > 0, np.asarray(np.maximum(part, 0.0, out=out))  # rounding may dip below 0
    fits = np.broadcast_shapes(part.shape, there.shape) == part.shape
    with np.errstate(divide="ignore", invalid="ignore"):
        # A table of words may take hundreds of megabytes: it is worked on where it lies.
        logs = np.log(part, out=part)
        found: Floats = np.subtract(logs, np.log(whole), out=logs if fits else None)
        return found if there.all() else np.where(there, found, -np.log(size))


def fraction(n: float, total: float, pseudo_counts: float, size: float) -> str:
    """Return a proportion as the textbook writes it, unreduced, with pseudo-counts.

    >>> fraction(3, 8, 0, 3), fraction(3, 8, 1, 3), fraction(0, 0, 0, 3)  # without any rows all values are equal
    ('3/8', '(3+1)/(8+3)', '1/3')
    """
    if total + pseudo_counts * size == 0:
        return f"1/{size:.10g}"
    if pseudo_counts == 0:
        return f"{n:.10g}/{total:.10g}"
    return f"({n:.10g}+{pseudo_counts:.10g})/({total:.10g}+{pseudo_counts * size:.10g})"
