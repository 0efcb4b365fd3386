"""How many: visits, calls, goals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import betaln, gammaln, xlogy

from ..errors import InvalidInput
from ..statistics import Axis, Moments
from ..statistics.axis import Floats
from .family import Codes, Settings, blocks, enumerated, row_weights
from .numbers import Summary


@dataclass(frozen=True)
class Poisson:
    """Numbers of events, one rate for each class.

    ``mle`` takes the mean for the rate. ``bayes`` puts a gamma prior on the rate, worth λ rows with the column's
    overall rate, which gives a negative binomial; ``map`` takes the mode of that posterior for the rate. λ is the
    smoothing; without any, all three are ``mle``.

    Parameters
    ----------
    smoothing : float, optional
        λ of this column; by default the model's.
    """

    smoothing: float | None = None

    name: ClassVar[str] = "poisson"
    statistic: ClassVar[type[Moments]] = Moments

    def estimate(self, statistic: Moments, rows: Floats, classes: Axis, settings: Settings) -> Rates:
        """Return the distribution of each class and column."""
        if self.smoothing is not None:
            settings = Settings(settings.estimate, self.smoothing, settings.missing, settings.unseen)
        return Rates(self, settings, classes, statistic.columns, Summary.of(statistic.on(classes)))


class Gamma(NamedTuple):
    """What is known of a rate, [..., class]: as much as from `events` events in `rows` rows."""

    events: Floats
    rows: Floats


def overall(summary: Summary) -> Floats:
    """Return the rate of all classes together, [..., 1]; never quite 0, so that an event stays possible."""
    events = (summary.n * summary.mean).sum(axis=-1, keepdims=True)
    return np.asarray((events + 0.5) / (summary.n.sum(axis=-1, keepdims=True) + 1))


def gamma(summary: Summary, smoothing: float) -> Gamma:
    """Return the posterior of the rates under a prior worth λ rows of the overall rate."""
    return Gamma(summary.n * summary.mean + smoothing * overall(summary), summary.n + smoothing)


def at_rate(x: Floats, rate: Floats) -> Floats:
    """Return the log-probabilities of x [...] under Poisson distributions of these rates [..., class]."""
    x = x[..., None]
    out: Floats = xlogy(x, rate) - rate - gammaln(x + 1)
    return out


def mle(x: Floats, summary: Summary, smoothing: float) -> Floats:
    """Return log P(x) at the mean rate; the overall rate for a class without numbers."""
    return at_rate(x, np.where(summary.n > 0, summary.mean, overall(summary)))


def map(x: Floats, summary: Summary, smoothing: float) -> Floats:  # noqa: A001  # its name in the books
    """Return log P(x) at the mode of the posterior of the rate."""
    known = gamma(summary, smoothing)
    return at_rate(x, np.maximum(known.events - 1, 0.0) / known.rows)


def bayes(x: Floats, summary: Summary, smoothing: float) -> Floats:
    """Return log P(x) averaged over the posterior of the rate: negative binomial."""
    events, rows = gamma(summary, smoothing)
    x = x[..., None]
    # Γ(r + x) / Γ(r) x! as a beta function: differences of large gammaln would lose digits.
    out: Floats = -betaln(events, x + 1) - np.log(events + x) - events * np.log1p(1 / rows) - x * np.log1p(rows)
    return out


ESTIMATES: dict[str, Callable[[Floats, Summary, float], Floats]] = {"mle": mle, "map": map, "bayes": bayes}


@dataclass(frozen=True)
class Rates:
    """The likelihood of a matrix of event numbers; NaN is a hole."""

    family: Poisson
    settings: Settings
    classes: Axis
    columns: Axis
    summary: Summary

    def _log_p(self, x: Floats, summary: Summary) -> Floats:
        smoothing = float(self.settings.smoothing)
        estimate = ESTIMATES[self.settings.estimate if smoothing > 0 else "mle"]
        with np.errstate(invalid="ignore"):
            terms = estimate(np.minimum(x, 1e150), summary, smoothing)
        return np.asarray(np.where(np.isnan(x)[..., None], 0.0, terms).sum(axis=-2))

    @cached_property
    def rate(self) -> Floats:
        """The expected number of events of each class and column, [class, column]."""
        if self.settings.estimate == "mle" or not float(self.settings.smoothing) > 0:
            return np.where(self.summary.n > 0, self.summary.mean, overall(self.summary)).T
        known = gamma(self.summary, float(self.settings.smoothing))
        events = known.events if self.settings.estimate == "bayes" else np.maximum(known.events - 1, 0.0)
        return (events / known.rows).T

    def add_to(self, scores: Floats, x: Any, threads: int = 1) -> None:
        """Add log P(x | class), summed over the columns, to scores [row, class]."""
        scores += self.log_likelihood(x, threads)

    def log_likelihood(self, x: Any, threads: int = 1) -> Floats:
        """Return log P(x | class) as [row, class], summed over the columns."""
        x = checked(x)
        out = np.zeros((len(x), len(self.classes)))
        for rows in blocks(len(x), self.summary.n.size):
            out[rows] = self._log_p(x[rows], self.summary)
        return out

    def leave_one_out(self, x: Any, y: Codes, weights: Floats | None = None) -> Floats:
        """Return log P(x | class) of each row as if it had never been counted: the overall rate changes too."""
        x, y, w = checked(x), np.asarray(y), row_weights(weights, len(x))
        out = np.zeros((len(x), len(self.classes)))
        for rows in blocks(len(x), self.summary.n.size):
            out[rows] = self._log_p(x[rows], self.summary.without(x[rows], y[rows], w[rows]))
        return out

    def say(self, column: str) -> str:
        """Say how many events each class has."""
        lines = []
        for at, name in enumerate(self.columns.labels):
            parts = [
                f"{rate:.4g} a row for {label}"
                for label, rate in zip(self.classes.labels, self.rate[:, at], strict=True)
            ]
            title = column if len(self.columns) == 1 else f"{column}[{name}]"
            lines.append(f"{title}: {enumerated(parts)}.")
        return "\n".join(lines)


def checked(x: Any) -> Floats:
    """Return the numbers of events as floats; refuse negative ones, naming the place."""
    x = np.asarray(x, dtype=np.float64)
    if np.any(x < 0):
        row, column = (int(i) for i in np.argwhere(x < 0)[0])
        raise InvalidInput(
            f"Row {row}, column {column} holds {x[row, column]:g}; a number of events cannot be negative. "
            "Use the family 'gaussian' for numbers of any sign."
        )
    return np.asarray(x)
