"""The densities of numbers as formulas, written so that neither large numbers nor small ones lose digits."""

from __future__ import annotations

from collections.abc import Callable
from math import log, log1p

import numpy as np
from scipy.special import gammaln

from .._types import Floats
from .formulas import Choice, Formula, Named, Number, call

LARGE = 1e290  # what a density subtracts, at most
RULED_OUT = -1e300  # stands for minus infinity, which not every database can write
BEYOND = -1e299  # a sum below this has ruled a class out
# Stirling's formula is used from here on; its first terms leave less than 1e-14.
STIRLING_FROM = 16
HALF_LOG_2_PI = 0.9189385332046727


def finite(score: float) -> float:
    """Return a score, or what stands for minus infinity."""
    return max(float(score), RULED_OUT)


def farthest(table: Floats) -> float:
    """Return how large a number may be so that its density [class, (center, precision, …)] does not overflow."""
    precision = max(float(table[:, 1].max()), 1e-10)
    return float(min(1e140, np.sqrt(LARGE / precision) / 2))


def student_or_normal(x: Named, parameters: Floats) -> Formula:
    """Return the logarithm of a Student-t density or of a normal one."""
    center, precision, power, base = map(float, parameters)
    far = call("-", x, center)
    square = call("*", call("*", far, far), precision)
    if not power:
        return call("-", base, square)
    return call("-", base, call("*", power, call("log1p", square)))


def poisson(x: Named, parameters: Floats) -> Formula:
    """Return the logarithm of a Poisson probability; 0 events have one even where the rate is 0."""
    weight, rate, log_rate = map(float, parameters)
    if not np.isfinite(log_rate):
        return Choice(call("=", x, 0.0), Number(-weight * rate), Number(RULED_OUT))
    return call("*", weight, call("-", call("*", x, log_rate), rate))


def negative_binomial(x: Named, parameters: Floats) -> Formula:
    """Return the logarithm of a negative binomial probability, up to what all classes share."""
    weight, events, rows = map(float, parameters)
    both = call("+", x, events)
    own = float(gammaln(events)) + events * log1p(1 / rows)
    few = call("-", call("-", few_log_gamma(both), own), call("*", x, log(rows + 1)))
    return call("*", weight, Choice(call("<", both, float(STIRLING_FROM)), few, many_events(x, events, rows)))


def few_log_gamma(z: Formula) -> Formula:
    """Return log Γ of a number less than 16, by that of one that is larger by 16."""
    product: Formula = z
    for more in range(1, STIRLING_FROM):
        product = call("*", product, call("+", z, float(more)))
    far = call("+", z, float(STIRLING_FROM))
    stirling = call("-", call("*", call("-", far, 0.5), call("ln", far)), far)
    return call("-", call("+", call("+", stirling, HALF_LOG_2_PI), stirling_rest(far)), call("ln", product))


def many_events(x: Named, events: float, rows: float) -> Formula:
    """Return the same for many events, without large logarithms that cancel: as in flat/scorer.js."""
    both = call("+", x, events)
    near = call("*", events, call("log1p", call("/", call("-", call("*", x, rows), events), events * (rows + 1))))
    slope = call("-", call("ln", call("/", both, rows + 1)), 1.0)
    far = call("-", call("*", x, slope), call("/", call("ln", call("/", both, events)), 2.0))
    lacks = float(gammaln(events)) - ((events - 0.5) * log(events) - events + HALF_LOG_2_PI)
    if events >= STIRLING_FROM:  # there the difference would lose digits
        lacks = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / events**2) / events**2) / events**2) / events
    return call("-", call("+", call("+", near, far), stirling_rest(both)), lacks)


def stirling_rest(z: Formula) -> Formula:
    """Return what Stirling's formula for log Γ lacks, of a number that is not small."""
    square = call("*", z, z)
    rest = call("-", 1 / 1260, call("/", 1 / 1680, square))
    rest = call("-", 1 / 360, call("/", rest, square))
    return call("/", call("-", 1 / 12, call("/", rest, square)), z)


DENSITIES: dict[str, Callable[[Named, Floats], Formula]] = {
    "density": student_or_normal,
    "poisson": poisson,
    "negative binomial": negative_binomial,
}
