"""What every family is: its settings, the likelihood it makes of a statistic, and cumulants of that for intervals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import polygamma, psi

from .._kernels import Scorer
from .._linear_algebra import product
from .._types import Codes, Floats, Index, Label, Matrix, Numeric, Singles
from ..errors import InvalidSetting, RowRefused
from ..errors.message import Setting
from ..stats import Axis

if TYPE_CHECKING:
    from .words import ModelWords

# One λ for a column, or one for each of its values.
Smoothing: TypeAlias = float | Sequence[float] | Floats
Estimate = Literal["bayes", "map", "mle"]
Missing = Literal["skip", "value"]
Unseen = Literal["skip", "smooth", "error"]


@dataclass(frozen=True)
class Settings:
    """The settings of estimation; they can change at any time, without the data.

    Parameters
    ----------
    estimate : {"bayes", "map", "mle"}, default="bayes"
        The posterior predictive (Laplace's rule), the mode of the posterior, or plain frequencies.
    smoothing : float or array-like, default=1.0
        The pseudo-count λ of the Dirichlet, Beta or Gamma prior; for numbers, how many rows the prior is worth. An
        array gives one λ for each value of a wide column.
    missing : {"skip", "value"}, default="skip"
        Whether a missing value contributes nothing, or is a value like any other.
    unseen : {"skip", "smooth", "error"}, default="skip"
        Whether a value that was never seen contributes nothing, has a reserved place in every class, or is an error.
    marginal : bool, default=False
        Whether the prior of numbers follows from the whole column, whatever the classes. Expectation-maximization needs
        that: its objective must not change while rows move between classes.

    Examples
    --------
    >>> import naively as nv
    >>> nv.Settings(estimate="mle").smoothing
    1.0
    """

    estimate: Estimate = "bayes"
    smoothing: Smoothing = 1.0
    missing: Missing = "skip"
    unseen: Unseen = "skip"
    marginal: bool = False

    def __post_init__(self) -> None:
        for name, kinds in (("estimate", Estimate), ("missing", Missing), ("unseen", Unseen)):
            given = getattr(self, name)
            refuse(given not in get_args(kinds), Setting(name, given), f" is unknown; use one of {get_args(kinds)}.")
        smoothing = smoothing_array(self.smoothing)
        infinite = not np.all(np.isfinite(smoothing)) or np.any(smoothing < 0)
        refuse(infinite, Setting("smoothing", self.smoothing), " must be finite and not negative.")
        refuse(
            self.estimate == "map" and np.any(smoothing < 1),
            Setting("estimate", "map"),
            f" needs smoothing of 1 or more, found {self.smoothing!r}: below 1 the prior has its mode at the edge. "
            "Laplace's rule with λ is ",
            Setting("estimate", "bayes"),
            " with smoothing=λ, or 'map' with λ + 1.",
        )

    def alone(self, own: Smoothing | None = None) -> Settings:
        """Return these settings with one λ for a whole column: its own, if it has one."""
        if own is None and isinstance(self.smoothing, float):
            return self  # every column asks, each time that a model is made
        smoothing = smoothing_array(self.smoothing if own is None else own)
        refuse(
            smoothing.size != 1,
            Setting("smoothing"),
            f" holds {smoothing.size} numbers, but this column takes a single λ. Only words and flags take one "
            "each: give the array to their family, e.g. Words(smoothing=[...]).",
        )
        return replace(self, smoothing=smoothing.item())

    @property
    def column_smoothing(self) -> float:
        """The one λ of a whole column."""
        return float(smoothing_array(self.smoothing))

    @property
    def value_smoothing(self) -> Floats:
        """The λ of each value."""
        return smoothing_array(self.smoothing)

    @property
    def pseudo_counts(self) -> Floats:
        """The pseudo-counts of a value, or of each: 0 (``mle``), λ - 1 (``map``) or λ (``bayes``).

        ``map`` takes the mode of the Dirichlet posterior and ``bayes`` the posterior predictive, which is Laplace's
        rule: ``bayes`` with λ is ``map`` with λ + 1.
        """
        smoothing = smoothing_array(self.smoothing)
        return {"mle": 0.0 * smoothing, "map": smoothing - 1.0, "bayes": smoothing}[self.estimate]

    def full(self) -> Settings:
        """Return these settings with the estimate that holds the whole posterior."""
        return replace(self, estimate="bayes")

    def each(self, size: int, own: Smoothing | None = None) -> Settings:
        """Return these settings with a λ for each of `size` values: the column's own, if it has some."""
        smoothing = smoothing_array(self.smoothing if own is None else own)
        result = f" holds {smoothing.size} numbers for {size} values; give one, or one each."
        refuse(smoothing.size != 1 and smoothing.shape != (size,), Setting("smoothing"), result)
        return replace(self, smoothing=np.broadcast_to(smoothing, (size,)))


def refuse(wrong: object, *message: str | Setting) -> None:
    """Raise the error of a setting that is wrong."""
    if wrong:
        raise InvalidSetting(*message)


def smoothing_array(smoothing: Smoothing) -> Floats:
    """Return a λ, or several, as floats."""
    try:
        return np.asarray(smoothing, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidSetting(Setting("smoothing", smoothing), " is not a number; give a λ such as 1.0.") from None


def log_proportion(part: Numeric, whole: Numeric, size: Numeric, out: Floats | None = None) -> Floats:
    """Return log(part / whole), both with pseudo-counts; all values are equal where nothing was counted.

    The result may overwrite the part, if that is needed no more.
    """
    there, part = np.asarray(whole) > 0, np.asarray(np.maximum(part, 0.0, out=out))  # rounding may dip below 0
    fits = np.broadcast_shapes(part.shape, there.shape) == part.shape
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(part, out=part)  # in place: a table of words may take hundreds of megabytes
        result: Floats = np.subtract(logs, np.log(whole), out=logs if fits else None)
        return result if there.all() else np.where(there, result, -np.log(size))


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


def padded(table: Floats) -> Floats:
    """Return a table [line, class] as the kernels read it: classes filled up with zeros to a multiple of four.

    It begins at a multiple of 64 bytes, so that a short line lies in one line of the processor's cache and not in two.
    """
    lines, width = table.shape[0], -(-table.shape[1] // 4) * 4
    room = np.zeros(lines * width + 8)
    first = -int(room.__array_interface__["data"][0]) % 64 // room.itemsize
    out = room[first : first + lines * width].reshape(lines, width)
    out[:, : table.shape[1]] = table
    return out


def scores_of(term: ScoreTerm, x: Matrix, threads: int = 1) -> Floats:
    """Return what a term alone adds to the scores, [row, class]."""
    scorer, out = Scorer(np.zeros(len(term.classes))), np.empty((x.shape[0], len(term.classes)))
    term.add_to(scorer, x)
    check_scored(scorer.log_joint(out, threads))
    return out


def check_scored(row: int) -> None:
    """Raise the error of a row that could not be scored, if there was one (the kernels return -1 if not)."""
    if row >= 0:
        raise RowRefused(row, None, "infinity or no number", "only finite numbers can be scored.")


class ScoreTerm(Protocol):
    """A term of the score: added to the log joint of each row and class.

    The score of a row is the log prior plus the terms of all columns. A likelihood is a term; so is a table of weighted
    contributions, which has no likelihood of its own.
    """

    @property
    def classes(self) -> Axis:
        """The classes, in the order of the scores."""

    def add_to(self, scorer: Scorer, x: Matrix, missing: bool = True) -> None:
        """Have this term of the score added, up to what all classes share.

        A missing value (NaN among numbers) contributes nothing; where missing values are not allowed, its row is
        refused.
        """


class Likelihood(ABC):
    """The log-likelihood of a column given the class, or of several columns that are read as one matrix."""

    classes: Axis

    @abstractmethod
    def add_to(self, scorer: Scorer, x: Matrix, missing: bool = True) -> None:
        """Have log P(x | class) added to the scores, up to what all classes share."""

    def log_likelihood(self, x: Matrix, threads: int = 1) -> Floats:
        """Return log P(x | class) as [row, class], with what all classes share."""
        return scores_of(self, x, threads)

    @abstractmethod
    def leave_one_out(self, x: Matrix, y: Codes, weights: Floats | None = None, threads: int = 1) -> Floats:
        """Return log P(x | class) of each row as if that row had never been counted."""

    @abstractmethod
    def uncertainty(self, x: Matrix, threads: int = 1) -> Cumulants:
        """Return the cumulants of log P(x | class), [row, class]: of its parameters only the posterior is known.

        The posterior is the one with λ, whatever the estimate. Terms that all classes share may be missing.
        """

    @abstractmethod
    def log_prior_density(self) -> float:
        """Return the logarithm of the prior's density at the estimate, up to a constant; 0 without a prior.

        Added to the log-likelihood of the rows it is what ``map`` maximizes. An error where there is no such density.
        """

    @abstractmethod
    def describe(self, column: str) -> str:
        """Return a sentence on what was estimated."""

    @abstractmethod
    def table(self, labels: Sequence[str]) -> Mapping[str, object]:
        """Return the estimates as columns of a frame, given the names of the classes."""


class ColumnLikelihoods(Likelihood):
    """The likelihood of several columns that are read as one matrix, each of which is a likelihood of its own."""

    @abstractmethod
    def column(self, place: int) -> Likelihood:
        """Return the likelihood of one of the columns."""


# The features of a wide column in order: columns of a matrix, or the words of texts.
Features: TypeAlias = "Axis | ModelWords"


class TextTerm(ScoreTerm, Protocol):
    """A term of the score of texts, which is a sum over their words."""

    @property
    def words(self) -> ModelWords:
        """The words, in the order of their columns."""

    @property
    def word_scores(self) -> Floats | Singles:
        """The contribution of one occurrence of each word, [word, class]."""

    def by_word(self, x: Matrix) -> tuple[Codes, Floats]:
        """Return the numbers of the words of a single row, and the contribution of each, [word, class]."""


class Family(Protocol):
    """A kind of distribution."""

    name: ClassVar[str]
    statistic: ClassVar[type[Any]]  # a class of `stats`, another one in each family
    __dataclass_fields__: ClassVar[dict[str, Field[object]]]  # its settings: every family is a frozen dataclass

    @property
    def smoothing(self) -> Smoothing | None:
        """λ of this column; None for the model's."""

    def estimate(self, statistic: Any, rows: Floats, classes: Axis, settings: Settings) -> Likelihood:
        """Return the likelihood under these settings; rows are the number of rows of each class.

        The statistic is of the class that the family names, so that its type differs from family to family.
        """


def row_weights(weights: Floats | None, rows: int) -> Floats:
    """Return the weight of each row: 1 by default."""
    return np.ones(rows) if weights is None else np.asarray(weights, dtype=np.float64)


def row_blocks(rows: int, cells_per_row: int, most: int = 1 << 16) -> Iterator[slice]:
    """Cut the rows into blocks whose temporary arrays fit the second cache."""
    step = max(1, most // max(cells_per_row, 1))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def rounded_number(number: float, digits: int) -> str:
    """Return a number with this many significant digits, as people write it: 460, not 4.6e+02."""
    return f"{float(f'{number:.{digits}g}'):.10g}"


def shown_label(label: Label) -> str:
    """Return a label as it is shown: a missing value is not a label called None."""
    return "(missing)" if label is None else str(label)


def listed_parts(parts: Sequence[str], between: str = ", ", most: int = 3) -> str:
    """Join a few parts of a sentence; of many only the first."""
    joined = between.join(parts[:most])
    return joined if len(parts) <= most else f"{joined} and so on for {len(parts) - most} more"


# -- cumulants of a log-likelihood -------------------------------------------------------------------------------------


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
