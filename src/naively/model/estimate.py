"""From counts to naive Bayes under some settings: likelihoods and class priors. No row is needed here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np
import numpy.typing as npt

from .._types import Floats
from ..errors import InvalidSetting
from ..families import Family, Likelihood, Settings
from ..families.categorical import LogTable, LogTables
from ..families.family import log_proportion
from ..families.numbers import NumberLikelihood
from ..stats import Counts, Moments, Table
from .scorer import NaiveModel


def estimate(
    counts: Counts,
    families: Mapping[str, Family],
    settings: Settings,
    log_prior: Floats,
    fallback: Floats | None = None,
) -> NaiveModel:
    """Return the model of these counts: each column by its family, under the same settings."""
    likelihoods = {
        name: likelihood(families[name], statistic, counts, settings) for name, statistic in counts.columns.items()
    }
    return NaiveModel(counts.classes, log_prior, likelihoods, fallback)


def likelihood(family: Family, statistic: object, counts: Counts, settings: Settings) -> Likelihood:
    """Return the likelihood of one column; a matrix of codes has a table for each of its columns."""
    return family.estimate(statistic, counts.rows, counts.classes, settings)


def label_likelihood(family: Family, table: Table, counts: Counts, settings: Settings) -> LogTable:
    """Return the likelihood of a column of labels."""
    # Every family of labels (categorical, ordinal, bins) estimates a table of logarithms.
    return cast(LogTables, family.estimate(table, counts.rows, counts.classes, settings)).tables[0]


def number_likelihoods(family: Family, moments: Moments, counts: Counts, settings: Settings) -> NumberLikelihood:
    """Return the likelihood of columns of numbers that are read as one matrix."""
    # Every family of numbers (gaussian, poisson) estimates from moments, column by column.
    return cast(NumberLikelihood, family.estimate(moments, counts.rows, counts.classes, settings))


def empirical_prior(rows: Floats, settings: Settings) -> Floats:
    """Return log P(class): (n + λ) / (N + K·λ) under ``bayes``, so that a declared class without rows has a chance.

    >>> import numpy as np
    >>> np.exp(empirical_prior(np.array([17.0, 0.0]), Settings(smoothing=1.0)))
    array([0.94736842, 0.05263158])
    >>> np.exp(empirical_prior(np.array([17.0, 0.0]), Settings(estimate="mle")))
    array([1., 0.])
    """
    pseudo_counts = float(settings.alone().pseudo_counts)
    return log_proportion(rows + pseudo_counts, rows.sum() + len(rows) * pseudo_counts, len(rows))


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
