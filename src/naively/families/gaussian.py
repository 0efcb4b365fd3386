"""Numbers around a centre, one bell for each class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import poch

from .._kernels import Scorer, left_numbers
from ..errors import InvalidSetting
from ..statistics import Axis, Moments
from ..statistics.accumulators import as_codes, as_weights
from ..statistics.axis import Floats
from .family import Codes, Settings, check_scored, enumerated, padded, rounded, scores_of
from .numbers import LIGHTEST, Summary

# Below this share of a column's variance a class counts as this narrow: finite, and monotone around the centre.
NARROWEST = 1e-18
# The least variance whose inverse is still finite when squared distances are multiplied with it, and the largest.
LEAST, LARGEST = 1e-290, 1e300


@dataclass(frozen=True)
class Gaussian:
    """Numbers around a centre.

    ``mle`` is the normal density with the class's mean and variance. ``bayes`` (the default) does not trust them
    blindly: a normal–inverse-gamma prior, worth λ rows with the column's pooled variance, gives a Student-t density, so
    that constant columns, classes of one row and other units of measurement need no special care. ``map`` is the normal
    density at the mode of that posterior. λ is the smoothing; without any, all three are ``mle``.

    Parameters
    ----------
    epsilon : float
        Added to every variance.
    smoothing : float, optional
        λ of this column; by default the model's.
    """

    epsilon: float = 0.0
    smoothing: float | None = None

    name: ClassVar[str] = "gaussian"
    statistic: ClassVar[type[Moments]] = Moments

    def __post_init__(self) -> None:
        if not (np.isfinite(self.epsilon) and self.epsilon >= 0):
            raise InvalidSetting(f"epsilon={self.epsilon!r} must be finite and not negative: it is added to variances.")

    def estimate(self, statistic: Moments, rows: Floats, classes: Axis, settings: Settings) -> Bells:
        """Return the density of each class and column."""
        settings = settings.alone(self.smoothing)
        return Bells(self, settings, classes, statistic.columns, Summary.of(statistic.on(classes)))


class Bell(NamedTuple):
    """Densities [..., class]: log p(x) = base - far (normal), or base - power · log(1 + far) (Student-t).

    far = (x - centre)² · precision; power is 0 for a normal density.
    """

    centre: Floats
    precision: Floats
    power: Floats
    base: Floats


def normal(centre: Floats, variance: Floats, spread: Floats) -> Bell:
    """Return normal densities; a column without any spread says nothing."""
    variance = wide_enough(variance, spread)
    silent = variance == 0
    safe = np.where(silent, 1.0, variance)
    zero = np.zeros(variance.shape)
    return Bell(centre, np.where(silent, 0.0, 0.5 / safe), zero, np.where(silent, 0.0, -0.5 * np.log(2 * np.pi * safe)))


def student(centre: Floats, scale: Floats, freedom: Floats, spread: Floats) -> Bell:
    """Return Student-t densities with a squared scale; a column without any spread says nothing."""
    scale = wide_enough(scale, spread)
    silent = scale == 0
    safe = np.where(silent, 1.0, scale)
    # Γ((ν + 1) / 2) / Γ(ν / 2) at once: the difference of two large logarithms would lose digits.
    base = np.log(poch(freedom / 2, 0.5)) - 0.5 * (np.log(freedom * np.pi) + np.log(safe))
    return Bell(
        centre,
        np.where(silent, 0.0, 1 / freedom / safe),
        np.where(silent, 0.0, (freedom + 1) / 2),
        np.where(silent, 0.0, base),
    )


def wide_enough(variance: Floats, spread: Floats) -> Floats:
    """Return the variance, not narrower than rounding allows; 0 only where the whole column has no spread."""
    least = np.where((spread > 0) | (variance > 0), np.maximum(NARROWEST * spread, LEAST), 0.0)
    return np.clip(variance, least, LARGEST)


class Prior(NamedTuple):
    """What is believed of a class before its rows are seen, [..., 1]: worth `rows` rows, its centre `centred` rows."""

    centre: Floats
    centred: Floats
    variance: Floats
    rows: float
    spread: Floats

    @classmethod
    def of(cls, summary: Summary, smoothing: float) -> Prior:
        """Return the prior that the column's own numbers suggest.

        The variance is the one within classes, pooled; the centre lies among the class means, as far off as they lie
        apart. Both move and stretch with the unit of measurement.
        """
        met = summary.n > 0
        classes = np.maximum(met.sum(axis=-1, keepdims=True), 1)
        centre = np.where(met, summary.mean, 0.0).sum(axis=-1, keepdims=True) / classes
        between = (summary.gap(centre) ** 2).sum(axis=-1, keepdims=True) / classes
        rows = np.maximum(summary.n.sum(axis=-1, keepdims=True), 1e-300)
        within = summary.ssd.sum(axis=-1, keepdims=True) / rows
        variance = np.where(within > 0, within, between)
        share = np.where(variance > 0, variance, 1.0) / np.where(variance > 0, variance + between, 1.0)
        weight = max(smoothing, LIGHTEST)
        return cls(centre, np.maximum(weight * share, NARROWEST), variance, weight, within + between)


def mle(summary: Summary, prior: Prior, epsilon: float) -> Bell:
    """Return normal densities with mean and variance of each class; the column's own for a class without numbers."""
    met = summary.n > 0
    variance = np.where(met, summary.ssd / np.where(met, summary.n, 1.0), prior.spread)
    return normal(np.where(met, summary.mean, prior.centre), variance + epsilon, prior.spread)


def posterior(summary: Summary, prior: Prior) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the normal–inverse-gamma posterior: centre, rows behind it, rows behind the variance, sum of squares."""
    centred, rows = prior.centred + summary.n, prior.rows + summary.n
    gap = summary.gap(prior.centre)
    centre = prior.centre + gap * (summary.n / centred)
    squares = prior.rows * prior.variance + summary.ssd + gap * gap * (prior.centred * summary.n / centred)
    return centre, centred, rows, squares


def map(summary: Summary, prior: Prior, epsilon: float) -> Bell:  # noqa: A001  # its name in the books
    """Return normal densities at the joint mode of centre and variance."""
    centre, _, rows, squares = posterior(summary, prior)
    return normal(centre, squares / (rows + 3) + epsilon, prior.spread)


def bayes(summary: Summary, prior: Prior, epsilon: float) -> Bell:
    """Return the posterior predictive: Student-t densities."""
    centre, centred, rows, squares = posterior(summary, prior)
    with np.errstate(over="ignore"):
        scale = squares / rows * (1 + 1 / centred) + epsilon
    return student(centre, scale, rows, prior.spread)


ESTIMATES = {"mle": mle, "map": map, "bayes": bayes}


@dataclass(frozen=True)
class Bells:
    """The likelihood of a matrix of numbers; NaN is a hole."""

    family: Gaussian
    settings: Settings
    classes: Axis
    columns: Axis
    summary: Summary

    @property
    def _how(self) -> str:
        return self.settings.estimate if self.settings.smoothing > 0 else "mle"

    @cached_property
    def bell(self) -> Bell:
        """The densities, [column, class]."""
        prior = Prior.of(self.summary, float(self.settings.smoothing))
        bell = ESTIMATES[self._how](self.summary, prior, self.family.epsilon)
        return Bell(*(np.broadcast_to(part, self.summary.n.shape) for part in bell))

    @cached_property
    def _tables(self) -> Bell:
        """The densities as the kernels read them."""
        return Bell(*(padded(part) for part in self.bell))

    @cached_property
    def _tailed(self) -> bool:
        return bool(self.bell.power.any())

    def add_to(self, scorer: Scorer, x: Any, holes: bool = True) -> None:
        """Have log p(x | class), summed over the columns, added to the scores."""
        centre, precision, power, base = self._tables
        if self._tailed:
            scorer.student(x, centre, precision, power, base, holes)
        else:
            scorer.normal(x, centre, precision, base, holes)

    def log_likelihood(self, x: Any, threads: int = 1) -> Floats:
        """Return log p(x | class) as [row, class], summed over the columns."""
        return scores_of(self, x, threads)

    def column(self, at: int) -> Bells:
        """Return the likelihood of one of the columns."""
        return replace(self, columns=Axis.numbered(1), summary=self.summary.column(at))

    def leave_one_out(self, x: Any, y: Codes, weights: Floats | None = None, threads: int = 1) -> Floats:
        """Return log p(x | class) of each row as if it had never been counted: the pooled prior changes too."""
        x, out = np.asarray(x), np.zeros((len(x), len(self.classes)))
        worth = max(float(self.settings.smoothing), LIGHTEST)
        how = (self._how, worth, self.family.epsilon)
        check_scored(left_numbers(x, as_codes(np.asarray(y)), as_weights(weights), *self.summary, *how, out, threads))
        return out

    def say(self, column: str) -> str:
        """Say where the numbers of each class lie."""
        lines = []
        for at, name in enumerate(self.columns.labels):
            n, mean, ssd = (part[at] for part in self.summary[:3])
            parts = [
                f"{rounded(m, 4)} ± {rounded(np.sqrt(s / k), 2)} for {label}"
                for label, k, m, s in zip(self.classes.labels, n, mean, ssd, strict=True)
                if k > 0
            ]
            title = column if len(self.columns) == 1 else f"{column}[{name}]"
            lines.append(f"{title}: {enumerated(parts)}." if parts else f"{title}: no numbers.")
        return "\n".join(lines)
