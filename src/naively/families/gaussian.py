"""Numbers around a center: a normal or Student-t density for each class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import poch, polygamma, psi

from .._kernels import LARGEST_VARIANCE, LEAST_RELATIVE_VARIANCE, LEAST_VARIANCE, Scorer, leave_one_out_numbers
from .._types import AnyArray, Codes, Floats, Matrix
from ..errors.message import Setting
from ..stats import Axis, Moments
from ..stats.accumulators import as_codes, as_weights
from .family import (
    UNKNOWN,
    Cumulants,
    Settings,
    Terms,
    check_scored,
    padded,
    polynomial_cumulants,
    refuse,
    rounded_number,
    row_blocks,
    scores_of,
    with_variance_only,
)
from .numbers import LIGHTEST, NumberLikelihood, Summary

# The least relative variance where rows have no label: a class that closes in on a single row would be ever more
# probable. A thousandth of the column's deviation stops it.
NARROWEST_UNLABELLED = 1e-6
# A number farther off than this, in squares of what was counted, is taken for this: its fourth power stays finite.
FARTHEST = 1e60


@dataclass(frozen=True)
class Gaussian:
    """Numbers around a center, with a normal or Student-t density for each class.

    ``mle`` is the normal density with the mean and variance of the class. ``bayes`` (the default) has a
    normal–inverse-gamma prior worth λ rows with the column's pooled variance, which gives a Student-t density: constant
    columns, classes of one row and other units of measurement need no special care. ``map`` is the normal density at
    the mode of that posterior. λ is the smoothing; with 0, all three are ``mle``.

    Parameters
    ----------
    epsilon : float, default=0.0
        Added to every variance.
    smoothing : float, optional
        The pseudo-count λ of this column; by default the model's.

    Examples
    --------
    >>> import naively as nv
    >>> nb = nv.NaiveBayes(families={"size": nv.Gaussian(smoothing=2.0)}, model="textbook")
    >>> nb.fit({"size": [1.0, 2.0, 8.0, 9.0]}, ["a", "a", "b", "b"]).predict({"size": 7.5})
    array(['b'], dtype='<U1')
    """

    epsilon: float = 0.0
    smoothing: float | None = None

    name: ClassVar[str] = "gaussian"
    statistic: ClassVar[type[Moments]] = Moments

    def __post_init__(self) -> None:
        finite, epsilon = np.isfinite(self.epsilon) and self.epsilon >= 0, Setting("epsilon", self.epsilon)
        refuse(not finite, epsilon, " must be finite and not negative: it is added to variances.")

    def estimate(self, statistic: Moments, rows: Floats, classes: Axis, settings: Settings) -> GaussianLikelihood:
        """Return the density of each class and column."""
        settings = settings.alone(self.smoothing)
        return GaussianLikelihood(self, settings, classes, statistic.columns, Summary.of(statistic.on(classes)))


class DensityTable(NamedTuple):
    """Densities [..., class]: log p(x) = base - far (normal), or base - power · log(1 + far) (Student-t).

    far = (x - centre)² · precision; power is 0 for a normal density.
    """

    centre: Floats
    precision: Floats
    power: Floats
    base: Floats


def density_table(
    centre: Floats, variance: Floats, prior: GaussianPrior, freedom: Floats | None = None
) -> DensityTable:
    """Return normal densities, or with degrees of freedom Student-t densities with a squared scale.

    A column without any spread contributes nothing.
    """
    variance = floored_variance(variance, prior)
    silent = variance == 0
    safe = np.where(silent, 1.0, variance)
    if freedom is None:
        precision, power, base = 0.5 / safe, 0.0 * safe, -0.5 * np.log(2 * np.pi * safe)
    else:
        precision, power = 1 / freedom / safe, (freedom + 1) / 2
        # Γ((ν + 1) / 2) / Γ(ν / 2) at once: the difference of two large logarithms would lose digits.
        base = np.log(poch(freedom / 2, 0.5)) - 0.5 * (np.log(freedom * np.pi) + np.log(safe))
    return DensityTable(centre, *(np.where(silent, 0.0, part) for part in (precision, power, base)))


def floored_variance(variance: Floats, prior: GaussianPrior) -> Floats:
    """Return the variance, not narrower than it may be; 0 only where the whole column has no spread."""
    least = np.where(
        (prior.spread > 0) | (variance > 0), np.maximum(prior.narrowest * prior.spread, LEAST_VARIANCE), 0.0
    )
    return np.clip(variance, least, LARGEST_VARIANCE)


class GaussianPrior(NamedTuple):
    """The prior of a class, [..., 1]: worth `rows` rows, its centre `centred` rows."""

    centre: Floats
    centred: Floats
    variance: Floats
    rows: float
    spread: Floats
    narrowest: float = LEAST_RELATIVE_VARIANCE

    @classmethod
    def of_column(cls, summary: Summary, smoothing: float) -> GaussianPrior:
        """Return the prior that the whole column suggests: its mean and its variance, whatever the classes."""
        rows = np.maximum(summary.n.sum(axis=-1, keepdims=True), 1e-300)
        centre = (summary.n * summary.mean).sum(axis=-1, keepdims=True) / rows
        variance = (summary.ssd + summary.n * summary.gap(centre) ** 2).sum(axis=-1, keepdims=True) / rows
        weight = max(smoothing, LIGHTEST)
        return cls(centre, np.full(centre.shape, weight), variance, weight, variance, NARROWEST_UNLABELLED)

    @classmethod
    def of(cls, summary: Summary, smoothing: float) -> GaussianPrior:
        """Return the prior that the column's own numbers suggest.

        The variance is the one within classes, pooled; the centre lies among the class means, as far off as they lie
        apart. Both move and stretch with the unit of measurement.
        """
        counted = summary.n > 0
        classes = np.maximum(counted.sum(axis=-1, keepdims=True), 1)
        centre = np.where(counted, summary.mean, 0.0).sum(axis=-1, keepdims=True) / classes
        between = (summary.gap(centre) ** 2).sum(axis=-1, keepdims=True) / classes
        rows = np.maximum(summary.n.sum(axis=-1, keepdims=True), 1e-300)
        within = summary.ssd.sum(axis=-1, keepdims=True) / rows
        variance = np.where(within > 0, within, between)
        share = np.where(variance > 0, variance, 1.0) / np.where(variance > 0, variance + between, 1.0)
        weight = max(smoothing, LIGHTEST)
        return cls(centre, np.maximum(weight * share, LEAST_RELATIVE_VARIANCE), variance, weight, within + between)


def normal_inverse_gamma(summary: Summary, prior: GaussianPrior) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the normal–inverse-gamma posterior: centre, rows behind it, rows behind the variance, sum of squares."""
    centred, rows = prior.centred + summary.n, prior.rows + summary.n
    gap = summary.gap(prior.centre)
    centre = prior.centre + gap * (summary.n / centred)
    squares = prior.rows * prior.variance + summary.ssd + gap * gap * (prior.centred * summary.n / centred)
    return centre, centred, rows, squares


def estimated_densities(how: str, summary: Summary, prior: GaussianPrior, epsilon: float) -> DensityTable:
    """Return the densities: normal with mean and variance of each class, the mode, or the posterior predictive.

    Under ``mle`` a class without numbers has the column's own mean and variance.
    """
    if how == "mle":
        counted = summary.n > 0
        variance = np.where(counted, summary.ssd / np.where(counted, summary.n, 1.0), prior.spread)
        return density_table(np.where(counted, summary.mean, prior.centre), variance + epsilon, prior)
    centre, centred, rows, squares = normal_inverse_gamma(summary, prior)
    if how == "map":
        return density_table(centre, squares / (rows + 3) + epsilon, prior)
    with np.errstate(over="ignore"):
        scale = squares / rows * (1 + 1 / centred) + epsilon
    return density_table(centre, scale, prior, rows)


@dataclass(frozen=True)
class GaussianLikelihood(NumberLikelihood):
    """The likelihood of a matrix of numbers under normal or Student-t densities."""

    def _prior(self, summary: Summary) -> GaussianPrior:
        prior = GaussianPrior.of_column if self.settings.marginal else GaussianPrior.of
        return prior(summary, self.settings.column_smoothing)

    @cached_property
    def density(self) -> DensityTable:
        """The densities, [column, class]."""
        density = estimated_densities(self.how, self.summary, self._prior(self.summary), self.family.epsilon)
        return DensityTable(*(np.broadcast_to(part, self.summary.n.shape) for part in density))

    @cached_property
    def _tables(self) -> tuple[DensityTable, bool]:
        """The densities as the kernels read them, and whether some are Student-t densities."""
        return DensityTable(*(padded(part) for part in self.density)), bool(self.density.power.any())

    def add_to(self, scorer: Scorer, x: Matrix, missing: bool = True) -> None:
        """Have log p(x | class), summed over the columns, added to the scores."""
        (centre, precision, power, base), tailed = self._tables
        if not isinstance(x, np.ndarray):
            super().add_to(scorer, x, missing)
        elif tailed:
            scorer.student(x, centre, precision, power, base, missing)
        else:
            scorer.normal(x, centre, precision, base, missing)

    def _scores(self, x: AnyArray, threads: int) -> Floats:
        return scores_of(self, x, threads)

    def _scores_without(self, x: AnyArray, y: Codes, w: Floats, threads: int) -> Floats:
        out, worth = np.zeros((len(x), len(self.classes))), max(self.settings.column_smoothing, LIGHTEST)
        how = (self.how, worth, self.family.epsilon)
        check_scored(leave_one_out_numbers(x, as_codes(y), as_weights(w), *self.summary, *how, out, threads))
        return out

    @cached_property
    def _posterior(self) -> tuple[Floats, Floats, Terms]:
        """The posterior, [column, class]: far = (x - centre)² · precision, and the cumulants as its powers.

        With 2a rows behind the variance, 1/c behind the centre, 2b the sum of squares and e = far, it makes
        E[p(x)^s] = Γ(a + s/2) / Γ(a) · (2πb)^(-s/2) · (1 + cs)^(-1/2) · (1 + es / (1 + cs))^(-a - s/2).
        There is no information where no number was counted and λ is 0, or where all numbers are equal.
        """
        smoothing = self.settings.column_smoothing
        prior = GaussianPrior.of(self.summary, smoothing)
        centre, centred, rows, squares = normal_inverse_gamma(self.summary, prior)
        # ε widens as if the numbers lay so far apart.
        variance = floored_variance(squares / rows + self.family.epsilon, prior)
        a, c, silent = rows / 2, 1 / centred, variance == 0
        squares = np.where(silent, 1.0, variance) * rows
        unknown = (self.summary.n == 0) & (smoothing == 0)
        terms = (
            ((psi(a) - np.log(squares / 2) - c) / 2, -a),
            (polygamma(1, a) / 4 + c**2 / 2, 2 * a * c - 1, a),
            (polygamma(2, a) / 8 - c**3, 3 * c - 6 * a * c**2, 1.5 - 6 * a * c, -2 * a),
            (polygamma(3, a) / 16 + 3 * c**4, (24 * a * c - 12) * c**2, (36 * a * c - 12) * c, 24 * a * c - 4, 6 * a),
        )
        return centre, 1 / squares, with_variance_only(with_variance_only(terms, unknown, UNKNOWN), silent, 0.0)

    def _cumulants(self, x: AnyArray) -> Cumulants:
        centre, precision, terms = self._posterior
        x, out = np.asarray(x, dtype=np.float64), np.empty((4, len(x), len(self.classes)))
        for rows in row_blocks(len(x), len(self.columns)):
            for k in range(len(self.classes)):
                with np.errstate(over="ignore"):
                    far = np.minimum((x[rows] - centre[:, k]) ** 2 * precision[:, k], FARTHEST)
                of_class = tuple(tuple(term[:, k] for term in powers) for powers in terms)
                out[:, rows, k] = polynomial_cumulants(far, of_class)
        return Cumulants(*out)

    def log_prior_density(self) -> float:
        """Return the logarithm of the normal–inverse-gamma density at the centres and variances, up to a constant."""
        refuse(
            self.family.epsilon,
            Setting("epsilon", self.family.epsilon, of="Gaussian()"),
            " adds to every variance, so that no likelihood is highest. To learn from rows without a label leave it 0: "
            "no class gets narrower than a thousandth of its column.",
        )
        if self.settings.estimate != "map":
            return 0.0
        prior, density = self._prior(self.summary), self.density
        heard = density.precision > 0  # a column without any spread contributes nothing, and has no prior
        half = prior.centred * (density.centre - prior.centre) ** 2 + prior.rows * prior.variance
        logs = 0.5 * (prior.rows + 3) * np.log(2 * np.where(heard, density.precision, 0.5))
        return float(np.where(heard, logs - half * density.precision, 0.0).sum())

    def _described(self, column: int) -> list[str]:
        n, mean, ssd, _ = (part[column] for part in self.summary)
        return [
            f"{rounded_number(m, 4)} ± {rounded_number(np.sqrt(s / k), 2)} for {label}"
            for label, k, m, s in zip(self.classes.labels, n, mean, ssd, strict=True)
            if k > 0
        ]
