"""Cumulants of a log-likelihood: the first four, given the counts of a column.

A parameter (a share, a rate, a centre with its variance) is not known, only its posterior; so log P(x | class) has a
distribution. Its cumulants are exact: with the moment generating function E[P(x | class)^s] in closed form for every
family, they are the derivatives of its logarithm at 0. Those of independent terms add up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import polygamma, psi

from .._linear_algebra import product
from .._types import Floats, Index, Numeric

# The variance of a logarithm of which nothing is known: no row was counted and there are no pseudo-counts. Its interval
# is 0 to 1.
UNKNOWN = 1e6
# A share of fewer rows than this is taken for this: the cumulants stay finite.
LEAST = 1e-70

# For each of the four cumulants, what each power of a cell is multiplied with, from 0 on: [column] or [column, class].
Terms = tuple[tuple[Floats, ...], ...]


class Cumulants(NamedTuple):
    """Mean, variance, third and fourth cumulant of logarithms, [..., class]; a mean of -∞ is certain: log 0."""

    mean: Floats
    variance: Floats
    third: Floats
    fourth: Floats

    @classmethod
    def certain(cls, mean: Floats) -> Cumulants:
        """Return those of numbers that are known."""
        return cls(mean, *np.zeros((3, *mean.shape)))

    def __add__(self, other: Cumulants) -> Cumulants:  # type: ignore[override]  # a sum, no longer tuple
        """Return those of the sum of two independent logarithms."""
        return Cumulants(*(a + b for a, b in zip(self, other, strict=True)))

    def __sub__(self, other: Cumulants) -> Cumulants:
        """Return those of a share: its part less its whole, which holds the part."""
        return Cumulants(*(a - b for a, b in zip(self, other, strict=True)))

    def of(self, *at: Index) -> Cumulants:
        """Return those at these places."""
        return Cumulants(*(part[at] for part in self))

    def times(self, factor: Numeric) -> Cumulants:
        """Return those of the logarithms times a number."""
        return Cumulants(*(part * factor**order for order, part in enumerate(self, 1)))

    def skewness(self) -> Floats:
        """Return how lopsided the distribution is; 0 where it has no width."""
        wide = self.variance > 0
        return np.where(wide, self.third / np.where(wide, self.variance, 1.0) ** 1.5, 0.0)

    def excess(self) -> Floats:
        """Return the excess kurtosis; 0 where the distribution has no width."""
        wide = self.variance > 0
        return np.where(wide, self.fourth / np.where(wide, self.variance, 1.0) ** 2, 0.0)


def log_gamma_cumulants(shape: Floats) -> Cumulants:
    """Return those of log G, G a gamma variable: a share is one such G over the sum of all, and so is a prior.

    >>> log_gamma_cumulants(np.array([1.0])).variance  # of a class or value seen once: π²/6
    array([1.64493407])
    """
    shape = np.maximum(shape, LEAST)
    return Cumulants(psi(shape), polygamma(1, shape), polygamma(2, shape), polygamma(3, shape))


def proportion_cumulants(part: Numeric, whole: Numeric) -> tuple[Cumulants, Cumulants]:
    """Return those of a share's two sides, log G of the part and of the whole; the share's are the difference.

    The posterior is a Dirichlet with `part` rows of `whole`, both with pseudo-counts. A part without any rows is 0 for
    certain and has no cumulants here: `with_ruled_out` sets its mean.
    """
    a, b = (np.asarray(side) for side in np.broadcast_arrays(part, whole))
    counted, known = a > 0, b > 0
    of_part = Cumulants(*(np.where(counted, figure, 0.0) for figure in log_gamma_cumulants(a)))
    of_part = of_part._replace(variance=np.where(known, of_part.variance, UNKNOWN))
    return of_part, Cumulants(*(np.where(known, figure, 0.0) for figure in log_gamma_cumulants(b)))


def with_variance_only(terms: Terms, where: npt.NDArray[np.bool_], variance: float) -> Terms:
    """Return the terms with nothing but this variance, whatever the cell holds, at these places."""
    means, (fixed, *others), *higher = (tuple(np.where(where, 0.0, term) for term in powers) for powers in terms)
    return means, (np.where(where, variance, fixed), *others), *higher


def polynomial_cumulants(x: Floats, terms: Terms) -> list[Floats]:
    """Return cumulants that are polynomials of each cell, summed over the columns of x [row, column].

    A missing value adds nothing, not even the power 0.
    """
    power, there = (~np.isnan(x)).astype(np.float64), np.where(np.isnan(x), 0.0, x)
    out = [product(power, powers[0]) for powers in terms]
    for degree in range(1, max(map(len, terms))):
        power = power * there
        for index, powers in enumerate(terms):
            if degree < len(powers):
                out[index] += product(power, powers[degree])
    return out


def with_ruled_out(cumulants: Cumulants, scores: Floats) -> Cumulants:
    """Return the cumulants with a mean of -∞ where the scores under ``bayes`` rule a class out.

    With λ = 0 the posterior gives a value without rows no chance, for certain.
    """
    return cumulants._replace(mean=np.where(np.isneginf(scores), -np.inf, cumulants.mean))
