"""Densities of numbers as terms of a flat model."""

from __future__ import annotations

import numpy as np

from .._types import Floats
from ..errors import InvalidInput
from ..families import Likelihood
from ..families.gaussian import GaussianLikelihood
from ..families.poisson import PoissonLikelihood, estimated_rate, rate_posterior
from ..model.default.weighted_terms import LEAST_SCORE
from .terms import FlatColumn


def add_density(column: FlatColumn, likelihood: Likelihood, weight: float) -> None:
    """Add the log density of a column of numbers, times a weight."""
    if isinstance(likelihood, GaussianLikelihood):
        add_gaussian(column, likelihood, weight)
    elif isinstance(likelihood, PoissonLikelihood):
        add_poisson(column, likelihood, weight)
    else:
        name = column.fields["name"]
        raise InvalidInput(f"Column {name!r} has a density that a flat model cannot hold.", column=name)


def add_gaussian(column: FlatColumn, likelihood: GaussianLikelihood, weight: float) -> None:
    """Add a normal or a Student-t density; one without any spread contributes nothing."""
    centre, precision, power, base = (np.array(part[0], dtype=np.float64) for part in likelihood.density)
    if not precision.any() and (base == base[0]).all():
        return
    precision = precision if power.any() else weight * precision
    column.add("density", table=np.column_stack([centre, precision, weight * power, weight * base]))


def add_poisson(column: FlatColumn, likelihood: PoissonLikelihood, weight: float) -> None:
    """Add the distribution of numbers of events."""
    smoothing = likelihood.settings.column_smoothing
    estimate = likelihood.settings.estimate if smoothing > 0 else "mle"
    if estimate == "bayes":
        known = rate_posterior(likelihood.summary, smoothing)
        events, rows = (np.broadcast_to(part, likelihood.summary.n.shape)[0] for part in known)
        column.add("negative binomial", table=np.column_stack([np.full(len(events), weight), events, rows]))
        return
    rate: Floats = np.array(estimated_rate(estimate, likelihood.summary, smoothing)[0])
    with np.errstate(divide="ignore"):  # a class without any event is ruled out by one
        log_rate = np.log(rate)
    log_rate = log_rate if weight > 0 else np.maximum(log_rate, LEAST_SCORE)  # a weight below 0 makes it certain
    column.add("poisson", table=np.column_stack([np.full(len(rate), weight), rate, log_rate]))
