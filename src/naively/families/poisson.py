"""Numbers of events: visits, calls, goals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import gammaln, polygamma, psi, xlogy

from .._kernels import LARGEST_NUMBER, SUM_ROUNDING
from .._types import AnyArray, Codes, Floats
from ..errors import InvalidInput, InvalidSetting, RowRefused
from ..errors.message import Setting
from ..stats import Axis, Moments
from .family import (
    UNKNOWN,
    Cumulants,
    Settings,
    Terms,
    check_scored,
    polynomial_cumulants,
    rounded_number,
    row_blocks,
    with_variance_only,
)
from .numbers import LIGHTEST, NumberLikelihood, Summary

NEVER_NEGATIVE = "a number of events cannot be negative. Use the family 'gaussian' for numbers of any sign."
# A larger number of events is taken for this: its fourth power stays finite.
MOST = 1e60


@dataclass(frozen=True)
class Poisson:
    """Numbers of events, with a rate for each class.

    ``mle`` takes the mean for the rate. ``bayes`` has a gamma prior on the rate, worth λ rows with the column's overall
    rate, which gives a negative binomial; ``map`` takes the mode of that posterior for the rate. λ is the smoothing;
    with 0, all three are ``mle``.

    Parameters
    ----------
    smoothing : float, optional
        The pseudo-count λ of this column; by default the model's.

    Examples
    --------
    >>> import naively as nv
    >>> nb = nv.NaiveBayes(families={"visits": nv.Poisson()}, model="textbook")
    >>> nb.fit({"visits": [0, 1, 7, 9]}, ["a", "a", "b", "b"]).predict({"visits": 6})
    array(['b'], dtype='<U1')
    """

    smoothing: float | None = None

    name: ClassVar[str] = "poisson"
    statistic: ClassVar[type[Moments]] = Moments

    def estimate(self, statistic: Moments, rows: Floats, classes: Axis, settings: Settings) -> PoissonLikelihood:
        """Return the distribution of each class and column."""
        summary = Summary.of(statistic.on(classes))
        for column, k in np.argwhere(summary.n * summary.mean < -0.5):  # less may be rounding
            raise InvalidInput(
                f"Class {classes.labels[k]!r} has a mean of {summary.mean[column, k]:g} in column "
                f"{statistic.columns.labels[column]!r}; {NEVER_NEGATIVE}",
                column=statistic.columns.labels[column],
            )
        return PoissonLikelihood(self, settings.alone(self.smoothing), classes, statistic.columns, summary)


class RatePosterior(NamedTuple):
    """The posterior of a rate, [..., class]: that of `events` events in `rows` rows."""

    events: Floats
    rows: Floats


def rate_posterior(summary: Summary, smoothing: float) -> RatePosterior:
    """Return the posterior of the rates under a prior worth λ rows of the overall rate."""
    weight = max(smoothing, LIGHTEST)
    return RatePosterior(events_of(summary) + weight * overall_rate(summary), summary.n + weight)


def events_of(summary: Summary) -> Floats:
    """Return how many events were counted; rounding may have left less than none."""
    return np.maximum(summary.n * summary.mean, 0.0)


def overall_rate(summary: Summary) -> Floats:
    """Return the rate of all classes together, [..., 1]; never quite 0, so that an event stays possible."""
    events = events_of(summary).sum(axis=-1, keepdims=True)
    return np.asarray((events + 0.5) / (summary.n.sum(axis=-1, keepdims=True) + 1))


def estimated_rate(estimate: str, summary: Summary, smoothing: float) -> Floats:
    """Return the rates, [..., class]: the mean (overall where a class has none), or the posterior's mode or mean."""
    if estimate == "mle":
        return np.where(summary.n > 0, np.maximum(summary.mean, 0.0), overall_rate(summary))
    events, rows = rate_posterior(summary, smoothing)
    return (np.maximum(events - 1, 0.0) if estimate == "map" else events) / rows


def log_poisson(x: Floats, rate: Floats) -> Floats:
    """Return log P(x) at these rates."""
    return log_peak(x) - half_deviance(x, rate)


def log_negative_binomial(x: Floats, known: RatePosterior) -> Floats:
    """Return log P(x) averaged over the posterior of the rates."""
    events, rows = known
    both = events + x
    off = half_deviance(events, both * (rows / (rows + 1))) + half_deviance(x, both / (rows + 1))
    return np.asarray(np.log(events / both) + log_peak(events) + log_peak(x) - log_peak(both) - off)


def log_peak(x: Floats) -> Floats:
    """Return log P(x) at the rate x, x·log x - x - log x!, where it is highest; by Stirling's series for large x.

    Large logarithms that nearly cancel would lose digits; so they are never formed.
    """
    part = 1 / np.maximum(x, 16.0)
    square = part * part
    series = part * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
    return np.where(x < 16, xlogy(x, x) - x - gammaln(x + 1), 0.5 * np.log(part / (2 * np.pi)) - series)


def half_deviance(x: Floats, expected: Floats) -> Floats:
    """Return how much less probable x is at the expected rate than at its own: x·log(x / expected) - x + expected."""
    gap = x - expected
    near = np.abs(gap) < expected / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(x) - np.log(expected)
    log = np.where(near, np.log1p(np.where(near, gap, 0.0) / np.where(near, expected, 1.0)), log)
    return np.asarray(x * np.where(x > 0, log, 0.0) - gap)


@dataclass(frozen=True)
class PoissonLikelihood(NumberLikelihood):
    """The likelihood of a matrix of event numbers."""

    @cached_property
    def rate(self) -> Floats:
        """The expected number of events of each class and column, [class, column]."""
        return estimated_rate(self.how, self.summary, self.settings.column_smoothing).T

    def _log_p(self, x: Floats, summary: Summary) -> Floats:
        missing, x = np.isnan(x)[..., None], np.where(np.isnan(x), 0.0, np.minimum(x, LARGEST_NUMBER))[..., None]
        if self.how == "bayes":
            terms = log_negative_binomial(x, rate_posterior(summary, self.settings.column_smoothing))
        else:
            terms = log_poisson(x, estimated_rate(self.how, summary, self.settings.column_smoothing))
        return np.asarray(np.where(missing, 0.0, terms).sum(axis=-2))

    def _scores(self, x: AnyArray, threads: int) -> Floats:
        x, out = event_counts(x), np.zeros((len(x), len(self.classes)))
        for rows in row_blocks(len(x), self.summary.n.size):
            out[rows] = self._log_p(x[rows], self.summary)
        return out

    def _scores_without(self, x: AnyArray, y: Codes, w: Floats, threads: int) -> Floats:
        x, out = event_counts(x), np.zeros((len(x), len(self.classes)))
        infinite = np.isinf(x).any(axis=1)
        check_scored(int(infinite.argmax()) if infinite.any() else -1)
        for rows in row_blocks(len(x), self.summary.n.size):
            out[rows] = self._log_p(x[rows], self.summary.without(x[rows], y[rows], w[rows]))
        return out

    @cached_property
    def _terms(self) -> Terms:
        """The cumulants of x·log rate - rate as powers of x, [column, class].

        E[rate^(sx) · e^(-s·rate)] = Γ(e + sx) / Γ(e) · r^e · (r + s)^(-e - sx) for e events in r rows.
        """
        events, rows = rate_posterior(self.summary, self.settings.column_smoothing)
        none = np.zeros(rows.shape)
        terms = (
            (-events / rows, psi(events) - np.log(rows)),
            (events / rows**2, -2 / rows, polygamma(1, events)),
            (-2 * events / rows**3, 3 / rows**2, none, polygamma(2, events)),
            (6 * events / rows**4, -8 / rows**3, none, none, polygamma(3, events)),
        )
        unknown = (self.summary.n == 0) & (self.settings.column_smoothing == 0)
        return with_variance_only(terms, unknown, UNKNOWN)

    def _cumulants(self, x: AnyArray) -> Cumulants:
        return Cumulants(*polynomial_cumulants(np.minimum(event_counts(x), MOST), self._terms))

    def log_prior_density(self) -> float:
        """Return the logarithm of the gamma's density at the rates, up to a constant."""
        if self.how != "map":
            return 0.0
        weight, usual = max(self.settings.column_smoothing, LIGHTEST), overall_rate(self.summary)
        edge = np.flatnonzero((weight * usual[:, 0] < 1 - SUM_ROUNDING) & self.summary.n.any(axis=1))
        if len(edge):
            raise InvalidSetting(
                f"A column of numbers of events has {usual[edge[0], 0]:.4g} a row, and a prior worth {weight:g} "
                "rows of that has its mode at no events at all, which cannot be maximized. Set ",
                Setting("estimate", "mle"),
                f", or its family to nv.Poisson(smoothing={np.ceil(10 / usual[edge[0], 0]) / 10:g}).",
            )
        rates = self.rate.T
        return float((xlogy(np.maximum(weight * usual - 1, 0.0), rates) - weight * rates).sum())

    def _described(self, column: int) -> list[str]:
        rates = zip(self.classes.labels, self.rate[:, column], strict=True)
        return [f"{rounded_number(rate, 4)} a row for {label}" for label, rate in rates]


def event_counts(x: AnyArray) -> Floats:
    """Return the numbers of events as floats; refuse negative ones, naming the place."""
    x = np.asarray(x, dtype=np.float64)
    if np.any(x < 0):
        row, column = (int(i) for i in np.argwhere(x < 0)[0])
        raise RowRefused(row, column, f"{x[row, column]:g}", NEVER_NEGATIVE)
    return np.asarray(x)
