"""How often each value occurs in each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._types import Floats, Label
from ..errors import IncompatibleCounts, NotASubset
from .arithmetic import ClassWeights, Statistic, frozen, most_negative, nearly_equal, on_axes, subtract
from .axis import Axis


@dataclass(frozen=True, eq=False, repr=False)
class Table(Statistic):
    """Counts [class, value] of one column: categories, words, bins; ``None`` stands for missing values.

    Parameters
    ----------
    classes : sequence of labels
        The classes, in the order of the lines of `n`.
    values : sequence of labels
        The values, in the order of the columns of `n`.
    n : array-like of shape (n_classes, n_values), optional
        The counts; by default 0.

    Examples
    --------
    >>> morning = Table(["ham", "spam"], ["cheap", "hello"], [[1, 4], [3, 0]])
    >>> evening = Table(["spam"], ["cheap", "win"], [[1, 2]])
    >>> morning + evening
    Table: 11 counted
              cheap  hello    win
        ham       1      4      0
        spam      4      0      2
    >>> (morning + evening) - evening == morning
    True
    """

    classes: Axis
    values: Axis
    n: Floats

    def __init__(
        self, classes: Axis | Sequence[Label] = (), values: Axis | Sequence[Label] = (), n: npt.ArrayLike | None = None
    ) -> None:
        classes, rows = axis_and_order(classes)
        values, columns = axis_and_order(values)
        given = np.zeros((len(classes), len(values))) if n is None else np.asarray(n, dtype=np.float64)
        if given.shape != (len(classes), len(values)):
            raise IncompatibleCounts(
                f"{given.shape} counts do not fit {len(classes)} classes and {len(values)} values."
            )
        given = in_order(given, rows, columns)
        # A label with nothing left disappears, unless it is declared: S and K are derived, never stored.
        keep_classes, keep_values = classes.kept((given != 0).any(axis=1)), values.kept((given != 0).any(axis=0))
        if not (keep_classes.all() and keep_values.all()):
            given = given[np.ix_(keep_classes, keep_values)]
        object.__setattr__(self, "classes", classes.only(keep_classes))
        object.__setattr__(self, "values", values.only(keep_values))
        object.__setattr__(self, "n", frozen(given))

    def on(self, classes: Axis, values: Axis | None = None) -> Floats:
        """Return the counts laid out for these labels, zero where there are none."""
        return on_axes(self.n, (self.classes, self.values), (classes, self.values if values is None else values))

    def __add__(self, other: Table) -> Table:
        if not isinstance(other, Table):
            return NotImplemented
        classes, values = self.classes | other.classes, self.values | other.values
        return Table(classes, values, self.on(classes, values) + other.on(classes, values))

    def __sub__(self, part: Table) -> Table:
        if not isinstance(part, Table):
            return NotImplemented
        classes, values = self.classes | part.classes, self.values | part.values
        before, taken = self.on(classes, values), part.on(classes, values)
        rest = subtract(before, taken)
        if (place := most_negative(rest)) is not None:
            k, v = place
            what = "count of missing cells" if values.labels[v] is None else "count"
            raise NotASubset(None, classes.labels[k], values.labels[v], before[place], taken[place], what)
        return Table(classes.declaring(self.classes), values.declaring(self.values), rest)

    def scaled(self, of: ClassWeights) -> Table:
        """Return the counts of each class times its weight."""
        return Table(self.classes, self.values, self.n * of(self.classes)[:, None])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return self.classes == other.classes and self.values == other.values and np.array_equal(self.n, other.n)

    def agrees(self, other: Table, tolerance: float = 1e-12) -> bool:
        """Tell whether all counts are equal up to rounding.

        Parameters
        ----------
        other : Table
            What to compare with.
        tolerance : float
            The largest relative difference.

        Returns
        -------
        bool
            Whether they agree.
        """
        classes, values = self.classes | other.classes, self.values | other.values
        return nearly_equal(self.on(classes, values), other.on(classes, values), tolerance)

    def __repr__(self) -> str:
        return f"Table: {self.n.sum():.10g} counted\n" + table_as_text(self.classes, self.values, self.n)

    def _repr_html_(self) -> str:
        from .distributions import table_html  # which knows this class

        return table_html(self)


@dataclass(frozen=True, eq=False)
class Tables(Statistic):
    """A table for each column of a matrix of codes; they add, subtract and scale together."""

    tables: tuple[Table, ...]

    def __add__(self, other: Tables) -> Tables:
        if not isinstance(other, Tables):
            return NotImplemented
        return Tables(tuple(a + b for a, b in self._pairs(other)))

    def __sub__(self, part: Tables) -> Tables:
        if not isinstance(part, Tables):
            return NotImplemented
        rest = []
        for column, (a, b) in enumerate(self._pairs(part)):
            try:
                rest.append(a - b)
            except NotASubset as error:
                raise error.in_column(column) from None
        return Tables(tuple(rest))

    def scaled(self, of: ClassWeights) -> Tables:
        """Return the counts of each class times its weight."""
        return Tables(tuple(table.scaled(of) for table in self.tables))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tables):
            return NotImplemented
        return self.tables == other.tables

    def agrees(self, other: Tables, tolerance: float = 1e-12) -> bool:
        """Tell whether all counts are equal up to rounding."""
        return all(a.agrees(b, tolerance) for a, b in self._pairs(other))

    def __repr__(self) -> str:
        return "\n".join(f"[{column}] {table!r}" for column, table in enumerate(self.tables))

    def _pairs(self, other: Tables) -> list[tuple[Table, Table]]:
        if len(self.tables) != len(other.tables):
            raise IncompatibleCounts(
                f"Counts of {len(self.tables)} and of {len(other.tables)} columns cannot be combined."
            )
        return list(zip(self.tables, other.tables, strict=True))


def axis_and_order(labels: Axis | Sequence[Label]) -> tuple[Axis, list[int] | None]:
    """Return the axis of these labels, and in which order their lines must be read for it."""
    if isinstance(labels, Axis):
        return labels, None
    axis = Axis(labels)
    if len(axis) != len(labels):
        raise IncompatibleCounts(f"Each label may stand once; found {list(labels)!r}.")
    places = {label: place for place, label in enumerate(labels)}
    return axis, [places[label] for label in axis.labels]


def in_order(array: Floats, *orders: list[int] | None) -> Floats:
    """Return an array with the lines of each of its axes in another order; None leaves them as they are."""
    if all(order is None for order in orders):
        return array
    sides = zip(orders, array.shape, strict=True)
    return array[np.ix_(*(range(size) if order is None else order for order, size in sides))]


def table_as_text(lines: Axis, columns: Axis, cells: Floats, most: int = 8) -> str:
    """Return a labelled table as text; an ellipsis stands for what does not fit."""
    names = [str(label) for label in list(columns.labels)[:most]] + (["…"] if len(columns) > most else [])
    texts = [[f"{cell:.6g}" for cell in line[:most]] + (["…"] if len(columns) > most else []) for line in cells[:most]]
    width = max([len(text) for line in [names, *texts] for text in line], default=0)
    margin = max([len(str(label)) for label in list(lines.labels)[:most]], default=0)
    drawn = [" " * (4 + margin) + "".join(f"  {name:>{width}}" for name in names)]
    for label, line in zip(lines.labels, texts, strict=False):
        drawn.append(f"    {label!s:<{margin}}" + "".join(f"  {text:>{width}}" for text in line))
    if len(lines) > most:
        drawn.append(f"    … {len(lines) - most} more")
    return "\n".join(drawn)
