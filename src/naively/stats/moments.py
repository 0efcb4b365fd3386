"""How many numbers there were with each class, where they lie and how far apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._kernels import SUM_ROUNDING
from .._types import Floats, Label, Mask
from ..errors import IncompatibleCounts, NotASubset
from .arithmetic import ClassWeights, Statistic, divide, frozen, nearly_equal, on_axes, subtract
from .axis import Axis
from .table import axis_and_order, in_order, table_as_text

# What rounding cannot explain: below this share of the squares before, the rows were never counted.
IMPOSSIBLE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Moments(Statistic):
    """Number, total and squares [class, column], measured from a shift near the mean of that class and column.

    Squares of differences from a near shift keep all their digits, whatever the mean; one shift per column would lose
    them where class means lie far apart.

    Parameters
    ----------
    classes : sequence of labels
        The classes.
    columns : sequence of labels
        The columns.
    n : array-like of shape (n_classes, n_columns), optional
        How many numbers there are, by weight.
    shift : array-like of shape (n_classes, n_columns), optional
        What was subtracted from each number.
    total : array-like of shape (n_classes, n_columns), optional
        The sum of the shifted numbers.
    squares : array-like of shape (n_classes, n_columns), optional
        The sum of their squares.

    Examples
    --------
    >>> a = Moments.of(["setosa"], ["petal"], n=[[3]], mean=[[1.5]], variance=[[0.02]])
    >>> b = Moments.of(["setosa"], ["petal"], n=[[1]], mean=[[1.9]], variance=[[0.0]])
    >>> (a + b).mean, (a + b) - b == a
    (array([[1.6]]), True)
    """

    classes: Axis
    columns: Axis
    n: Floats
    shift: Floats
    total: Floats
    squares: Floats

    def __init__(
        self,
        classes: Axis | Sequence[Label] = (),
        columns: Axis | Sequence[Label] = (),
        n: npt.ArrayLike | None = None,
        shift: npt.ArrayLike | None = None,
        total: npt.ArrayLike | None = None,
        squares: npt.ArrayLike | None = None,
    ) -> None:
        classes, rows = axis_and_order(classes)
        columns, order = axis_and_order(columns)
        shape = (len(classes), len(columns))
        parts = [np.zeros(shape) if part is None else np.asarray(part, float) for part in (n, shift, total, squares)]
        if any(part.shape != shape for part in parts):
            raise IncompatibleCounts(f"The parts do not fit {shape[0]} classes and {shape[1]} columns.")
        parts = [in_order(part, rows, order) for part in parts]
        keep = classes.kept((parts[0] != 0).any(axis=1))
        if not keep.all():
            parts = [part[keep] for part in parts]
        object.__setattr__(self, "classes", classes.only(keep))
        object.__setattr__(self, "columns", columns)
        for name, part in zip(("n", "shift", "total", "squares"), parts, strict=True):
            object.__setattr__(self, name, frozen(part))

    @classmethod
    def of(
        cls,
        classes: Axis | Sequence[Label],
        columns: Axis | Sequence[Label],
        *,
        n: npt.ArrayLike,
        mean: npt.ArrayLike,
        variance: npt.ArrayLike,
    ) -> Moments:
        """Return the moments of rows of which only number, mean and variance are known.

        Parameters
        ----------
        classes : sequence of labels
            The classes.
        columns : sequence of labels
            The columns.
        n : array-like of shape (n_classes, n_columns)
            How many numbers there are.
        mean : array-like of shape (n_classes, n_columns)
            Their mean.
        variance : array-like of shape (n_classes, n_columns)
            Their variance, with divisor n.

        Returns
        -------
        Moments
            The moments.
        """
        rows, centers, spreads = (np.asarray(part, float) for part in (n, mean, variance))
        shift = np.where(rows > 0, centers, 0.0)
        return cls(classes, columns, rows, shift, np.zeros(rows.shape), rows * spreads)

    @property
    def mean(self) -> Floats:
        """Mean of each class and column; the shift (0) where there are no numbers."""
        return self.shift + divide(self.total, self.n)

    @property
    def ssd(self) -> Floats:
        """Squared deviations from the mean, summed; what divides them is the estimate's choice."""
        return np.maximum(self.squares - self.total * divide(self.total, self.n), 0.0)  # rounding may dip below 0

    @property
    def variance(self) -> Floats:
        """Squared deviations from the mean, averaged."""
        return divide(self.ssd, self.n)

    def overall(self) -> Moments:
        """Return the moments of all classes together, as one class."""
        n = self.n.sum(axis=0, keepdims=True)
        mean = divide((self.n * self.mean).sum(axis=0, keepdims=True), n)
        ssd = (self.ssd + self.n * (self.mean - mean) ** 2).sum(axis=0, keepdims=True)
        return Moments.of(Axis.numbered(1), self.columns, n=n, mean=mean, variance=divide(ssd, n))

    def on(self, classes: Axis, columns: Axis | None = None) -> Moments:
        """Return the same moments laid out for these labels."""
        columns = self.columns if columns is None else columns
        if classes == self.classes and columns == self.columns:
            return self
        old, new = (self.classes, self.columns), (classes, columns)
        parts = [on_axes(part, old, new) for part in (self.n, self.shift, self.total, self.squares)]
        return Moments(Axis.declared(classes.labels), columns, *parts)

    def _from(self, shift: Floats) -> tuple[Floats, Floats]:
        """Return sum and squares measured from another shift."""
        gap = self.shift - shift
        squares = self.squares + 2 * gap * self.total + self.n * gap * gap
        return self.total + self.n * gap, np.maximum(squares, 0.0)  # rounding may dip below 0

    def _beside(self, other: Moments) -> tuple[Axis, Axis, Moments, Moments]:
        if set(self.columns.labels) != set(other.columns.labels) and len(self.columns) and len(other.columns):
            raise IncompatibleCounts(f"Moments of columns {self.columns!r} and {other.columns!r} cannot be combined.")
        classes, columns = self.classes | other.classes, self.columns | other.columns
        return classes, columns, self.on(classes, columns), other.on(classes, columns)

    def __add__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        classes, columns, a, b = self._beside(other)
        # The shift of the larger part, so that the order of the two does not matter.
        first = (a.n > b.n) | ((a.n == b.n) & (a.shift <= b.shift))
        shift = np.where(first, a.shift, b.shift)
        (sum_a, squares_a), (sum_b, squares_b) = a._from(shift), b._from(shift)
        return Moments(classes, columns, a.n + b.n, shift, sum_a + sum_b, squares_a + squares_b)

    def __sub__(self, part: Moments) -> Moments:
        if not isinstance(part, Moments):
            return NotImplemented
        classes, columns, a, b = self._beside(part)
        n = subtract(a.n, b.n)
        taken_sum, taken_squares = b._from(a.shift)
        total, squares = subtract(a.total, taken_sum), subtract(a.squares, taken_squares)
        refuse_below_zero(n < 0, classes, columns, a.n, b.n, "count")
        # Squares cannot lie below those of the mean, nor be left where no number is; numbers equal up to rounding may.
        slack = IMPOSSIBLE * (a.squares + a.n * (SUM_ROUNDING * a.shift) ** 2)
        ssd = squares - total * divide(total, n)
        impossible = (ssd < -slack) | ((n == 0) & (ssd > slack))
        refuse_below_zero(impossible, classes, columns, a.squares, taken_squares, "sum of squares")
        left = n > 0
        parts = (np.where(left, part, 0.0) for part in (a.shift, total, np.maximum(squares, 0.0)))
        return Moments(classes.declaring(self.classes), columns, n, *parts)

    def scaled(self, of: ClassWeights) -> Moments:
        """Return the moments as if each row had weighed as much more as its class."""
        w = of(self.classes)[:, None]
        shift = np.where(w > 0, self.shift, 0.0)
        return Moments(self.classes, self.columns, self.n * w, shift, self.total * w, self.squares * w)

    def __eq__(self, other: object) -> bool:
        """Tell whether the two describe the same numbers: counts equal, mean and variance up to rounding."""
        if not isinstance(other, Moments):
            return NotImplemented
        return (
            self.classes == other.classes
            and self.columns == other.columns
            and np.array_equal(self.n, other.n)
            and self.agrees(other)
        )

    def agrees(self, other: Moments, tolerance: float = SUM_ROUNDING) -> bool:
        """Tell whether both describe the same numbers up to rounding.

        Parameters
        ----------
        other : Moments
            What to compare with.
        tolerance : float
            The largest relative difference.

        Returns
        -------
        bool
            Whether they agree.
        """
        _, _, a, b = self._beside(other)
        deviation = np.sqrt(np.maximum(a.variance, b.variance))
        near_mean = np.abs(a.mean - b.mean) <= tolerance * np.maximum(np.abs(a.mean), deviation)
        near_ssd = np.abs(a.ssd - b.ssd) <= tolerance * np.maximum(a.squares, b.squares)
        return nearly_equal(a.n, b.n, tolerance) and bool(near_mean.all() and near_ssd.all())

    def __repr__(self) -> str:
        return "\n".join(
            [
                f"Moments: {self.n.max(initial=0):.10g} numbers at most",
                "  mean",
                table_as_text(self.classes, self.columns, self.mean),
                "  variance",
                table_as_text(self.classes, self.columns, self.variance),
            ]
        )


def refuse_below_zero(below: Mask, classes: Axis, columns: Axis, before: Floats, taken: Floats, what: str) -> None:
    """Raise the error that names the first place where more would be taken than there is."""
    if np.any(below):
        k, j = (int(i) for i in np.argwhere(below)[0])
        raise NotASubset(columns.labels[j], classes.labels[k], None, before[k, j], taken[k, j], what)
