"""From counts to a model: the assumptions, all in one place. No data is looked at here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .._types import Floats
from ..errors import InvalidSetting
from ..families import Categorical, Family, Likelihood, Settings
from ..families import proportions as shares
from ..stats import Counts, Tables
from .scorer import Model


def estimate(
    counts: Counts,
    families: Mapping[str, Family],
    settings: Settings,
    log_prior: Floats,
    fallback: Floats | None = None,
) -> Model:
    """Return the model of these counts: each column by its family, under the same settings."""
    likelihoods = {
        name: likelihood(families[name], statistic, counts, settings) for name, statistic in counts.columns.items()
    }
    return Model(counts.classes, log_prior, likelihoods, fallback)


def likelihood(family: Family, statistic: Any, counts: Counts, settings: Settings) -> Likelihood:
    """Return what one column says; a matrix of codes has a table for each of its columns."""
    if isinstance(statistic, Tables) and isinstance(family, Categorical):
        return family.estimate_all(statistic, counts.rows, counts.classes, settings)
    return family.estimate(statistic, counts.rows, counts.classes, settings)


def empirical_prior(rows: Floats, settings: Settings) -> Floats:
    """Return log P(class): (n + λ) / (N + K·λ) under ``bayes``, so that a declared class without rows has a chance.

    >>> import numpy as np
    >>> np.exp(empirical_prior(np.array([17.0, 0.0]), Settings(smoothing=1.0)))
    array([0.94736842, 0.05263158])
    >>> np.exp(empirical_prior(np.array([17.0, 0.0]), Settings(estimate="mle")))
    array([1., 0.])
    """
    imagined = shares.IMAGINED[settings.estimate](settings.alone().smoothing)
    return shares.log_share(rows + imagined, rows.sum() + len(rows) * imagined, len(rows))


def uniform_prior(classes: int) -> Floats:
    """Return log P(class), the same for all."""
    return np.full(classes, -np.log(classes))


def given_prior(prior: npt.ArrayLike, classes: int) -> Floats:
    """Return the logarithms of these probabilities, if they are probabilities of so many classes."""
    given = np.asarray(prior, dtype=np.float64)
    if given.shape != (classes,):
        raise InvalidSetting(
            f"Number of priors must match number of classes. Found {given.size} for {classes} classes.", setting="prior"
        )
    if not np.all(given >= 0):  # nor NaN
        raise InvalidSetting(f"Priors must be non-negative. Found {given.min():g}.", setting="prior")
    if not np.isclose(given.sum(), 1.0):
        raise InvalidSetting(
            f"The sum of the priors should be 1. Found {given.sum():.10g}; divide them by it.", setting="prior"
        )
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(given / given.sum()))  # so that they sum to 1 to the last digit
