"""Everything counted of a set of rows: what a model is made from."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from typing import Any, Protocol, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from .._types import Floats, Label
from ..errors import IncompatibleCounts, InvalidInput, NotASubset
from .arithmetic import ClassWeights, Statistic, frozen, most_negative, nearly_equal, on_axes, subtract
from .axis import Axis
from .moments import Moments
from .table import Table, axis_and_order, in_order
from .word_table import WordTable, sum_of_word_tables

# A Table, Tables, Moments or WordTable; the family of a column says which, and only families look inside.
ColumnStatistic: TypeAlias = Any
# `data.schema.Schema`, or None: it knows families, and families know statistics.
AnySchema: TypeAlias = Any


@dataclass(frozen=True, eq=False, repr=False)
class Counts(Statistic):
    """The rows of each class, and a statistic for each column.

    Counts of different rows add up, and counts of rows that were counted before can be subtracted:
    ``monday + tuesday``, ``week - leavers``, ``old * 0.9 + new``, ``sum(parts)``.

    Of rows whose weights are whole numbers, counts are exact, in any order and any parts. Moments of
    numbers agree up to rounding, which ``==`` allows for. With other weights, and where a subtraction leaves few of
    many numbers, compare by `agrees`.

    Parameters
    ----------
    classes : sequence of labels
        The classes, in the order of `rows`.
    rows : array-like of shape (n_classes,)
        How many rows each class has, by weight.
    columns : dict of str to Table, Moments or other statistic
        What was counted of each column.
    schema : Schema, optional
        What the columns are, if the rows came from a table.

    Examples
    --------
    >>> from naively import Counts, Table
    >>> words = Table(["ham", "spam"], ["cheap", "hello"], [[1, 4], [3, 0]])
    >>> monday = Counts(["ham", "spam"], [4, 3], {"word": words})
    >>> monday + monday
    Counts: 14 rows (ham: 8, spam: 6), 1 columns
    >>> (monday + monday) - monday == monday
    True
    """

    classes: Axis
    rows: Floats
    columns: Mapping[str, ColumnStatistic]
    schema: AnySchema = None  # what the columns are, if the rows came from a table

    def __init__(
        self,
        classes: Axis | Sequence[Label],
        rows: npt.ArrayLike,
        columns: Mapping[str, ColumnStatistic],
        schema: AnySchema = None,
    ) -> None:
        classes, order = axis_and_order(classes)
        given = np.asarray(rows, dtype=np.float64)
        if given.shape != (len(classes),):
            raise IncompatibleCounts(f"{given.shape} numbers of rows do not fit {len(classes)} classes.")
        given = in_order(given, order)
        keep = classes.kept(given != 0)
        object.__setattr__(self, "classes", classes.only(keep))
        object.__setattr__(self, "rows", frozen(given[keep]))
        object.__setattr__(self, "columns", dict(columns))
        object.__setattr__(self, "schema", schema)

    def on(self, classes: Axis) -> Floats:
        """Return the rows of these classes, zero for those without rows."""
        return on_axes(self.rows, (self.classes,), (classes,))

    def __add__(self, other: Counts) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        self, other = typed_alike([self, other])
        self.check_columns(other)
        columns = {name: statistic + other.columns[name] for name, statistic in self.columns.items()}
        classes = self.classes | other.classes
        return Counts(classes, self.on(classes) + other.on(classes), columns, self._schema_beside(other))

    @classmethod
    def sum_of(cls, parts: Sequence[Counts]) -> Counts:
        """Return the sum of several counts; the words of all texts are united once, and not again for each part."""
        parts = typed_alike(parts)
        first = parts[0]
        for part in parts[1:]:
            first.check_columns(part)
        worded = [name for name, statistic in first.columns.items() if isinstance(statistic, WordTable)]
        total = reduce(operator.add, [part.without_columns(worded) for part in parts])
        words = {name: sum_of_word_tables([part.columns[name] for part in parts]) for name in worded}
        columns = {name: words[name] if name in words else total.columns[name] for name in first.columns}
        return Counts(total.classes, total.rows, columns, total.schema)

    def without_columns(self, names: Sequence[str]) -> Counts:
        """Return the counts of the other columns."""
        if not names:
            return self
        columns = {name: statistic for name, statistic in self.columns.items() if name not in names}
        return Counts(self.classes, self.rows, columns, self.schema)

    # -- bytes --------------------------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """Return the counts as the bytes of a model file: a sealed Parquet table, with the schema.

        Returns
        -------
        bytes
            What `from_bytes` reads, here or on another machine.

        Examples
        --------
        >>> import naively as nv
        >>> counts = nv.count({"sky": ["rain", "sunny"]}, ["in", "out"])
        >>> nv.Counts.from_bytes(counts.to_bytes()) == counts
        True
        """
        # What writes counts knows schemas, and these know statistics, so it is above.
        data: bytes = import_module("..data.model_file", __package__).counts_to_bytes(self)
        return data

    @classmethod
    def from_bytes(cls, data: bytes) -> Counts:
        """Return the counts that `to_bytes` wrote; nothing in the bytes is executed.

        Parameters
        ----------
        data : bytes
            What `to_bytes` returned, or the contents of a model file.

        Returns
        -------
        Counts
            The counts, with their schema.

        Raises
        ------
        UnreadableFile
            If these are no such bytes, or damaged ones.
        """
        counts: Counts = import_module("..data.model_file", __package__).counts_of_bytes(data)
        return counts

    def __sub__(self, part: Counts) -> Counts:
        if not isinstance(part, Counts):
            return NotImplemented
        part = typed_alike([self, part])[1]
        self.check_columns(part)
        classes = self.classes | part.classes
        before, taken = self.on(classes), part.on(classes)
        rows = subtract(before, taken)
        if (place := most_negative(rows)) is not None:
            label = classes.labels[place[0]]
            raise NotASubset(None, label, None, before[place], taken[place], "number of rows")
        columns = {name: self._column_without(name, part) for name in self.columns}
        return Counts(classes.declaring(self.classes), rows, columns, self._schema_beside(part))

    def _column_without(self, name: str, part: Counts) -> ColumnStatistic:
        try:
            return self.columns[name] - part.columns[name]
        except NotASubset as error:
            raise error.in_column(name if error.column is None else error.column) from None

    def scaled(self, of: ClassWeights) -> Counts:
        """Return the counts as if each row had weighed as much more as its class."""
        columns = {name: column.scaled(of) for name, column in self.columns.items()}
        return Counts(self.classes, self.rows * of(self.classes), columns, self.schema)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        same = self.classes == other.classes and np.array_equal(self.rows, other.rows)
        return same and self.columns == other.columns

    def agrees(self, other: Counts, tolerance: float = 1e-12) -> bool:
        """Tell whether both describe the same rows up to rounding.

        Parameters
        ----------
        other : Counts
            What to compare with.
        tolerance : float
            The largest relative difference.

        Returns
        -------
        bool
            Whether they agree.
        """
        classes = self.classes | other.classes
        return (
            nearly_equal(self.on(classes), other.on(classes), tolerance)
            and self.columns.keys() == other.columns.keys()
            and all(column.agrees(other.columns[name], tolerance) for name, column in self.columns.items())
        )

    def __repr__(self) -> str:
        shares = ", ".join(f"{label!s}: {n:.10g}" for label, n in zip(self.classes.labels, self.rows, strict=True))
        return f"Counts: {self.rows.sum():.10g} rows ({shares}), {len(self.columns)} columns"

    def _repr_html_(self) -> str:
        from .distributions import counts_html  # which knows this class

        return counts_html(self)

    def _schema_beside(self, other: Counts) -> AnySchema:
        if self.schema is None or other.schema is None:
            return self.schema or other.schema
        return self.schema.beside(other.schema)

    def check_columns(self, other: Counts) -> None:
        """Refuse counts of other columns, or of columns that were counted otherwise.

        Parameters
        ----------
        other : Counts
            What is to be combined with these.

        Raises
        ------
        IncompatibleCounts
            If they cannot be combined.
        """
        for name in sorted(self.columns.keys() ^ other.columns.keys(), key=str):
            raise IncompatibleCounts(
                f"Column {name!r} is counted on one side only; count the same columns to combine them.", column=name
            )
        for name, column in self.columns.items():
            if type(column) is not type(other.columns[name]):
                kinds = f"{type(column).__name__} and {type(other.columns[name]).__name__}"
                raise IncompatibleCounts(
                    f"Column {name!r} is counted in two ways, {kinds}; give it the same family.", column=name
                )
            widths = [vector_width(part) for part in (column, other.columns[name])]
            if widths[0] != widths[1] and None not in widths:
                raise IncompatibleCounts(
                    f"Column {name!r} holds vectors of {widths[0]} and of {widths[1]} features.", column=name
                )


def times_class_weights(counts: Counts, weights: Floats) -> Counts:
    """Return the counts with the rows of each class multiplied by its weight, given in the order of the classes."""
    return counts.scaled(lambda classes: on_axes(weights, (counts.classes,), (classes,)))


def typed_alike(parts: Sequence[Counts]) -> list[Counts]:
    """Return the parts, each column without any value counted as in a part with values: missing cells have no type.

    Where no part has a value, the column is one of numbers if it is in some part.
    """
    out = list(parts)
    for name in parts[0].columns:
        known = [part for part in parts if name in part.columns]
        if len({type(part.columns[name]) for part in known}) > 1:
            # One with values tells best what the column is, then one of numbers.
            columns = [(not is_without_values(c := part.columns[name]), isinstance(c, Moments)) for part in known]
            source = known[columns.index(max(columns))]
            out = [_typed_as(part, name, source) for part in out]
    return out


def _typed_as(counts: Counts, name: str, source: Counts) -> Counts:
    """Return counts in which a column, if it has no value, is counted as in the source."""
    own, wanted = counts.columns.get(name), source.columns[name]
    if own is None or type(own) is type(wanted) or not is_without_values(own):
        return counts
    schema = counts.schema
    if schema is not None and source.schema is not None:
        schema = schema.typed_as(source.schema, [name])
    return counted_as(counts, {name: wanted}, schema)


def counted_as(counts: Counts, columns: Mapping[str, ColumnStatistic], schema: AnySchema) -> Counts:
    """Return counts whose columns without any value are counted as other statistics are."""
    changed = {name: _of_missing_cells(statistic, counts) for name, statistic in columns.items()}
    return Counts(counts.classes, counts.rows, {**counts.columns, **changed}, schema)


def is_without_values(statistic: ColumnStatistic) -> bool:
    """Tell whether a column of labels or of numbers was counted in which every cell is missing."""
    if isinstance(statistic, Moments):
        return not statistic.n.any()
    return isinstance(statistic, Table) and all(
        label is None or not n.any() for label, n in zip(statistic.values.labels, statistic.n.T, strict=True)
    )


def _of_missing_cells(statistic: ColumnStatistic, counts: Counts) -> ColumnStatistic:
    """Return a statistic of the same kind, of as many missing cells as there are rows."""
    if isinstance(statistic, Table):
        return Table(counts.classes, [None], counts.rows[:, None])
    return statistic - statistic


def vector_width(statistic: ColumnStatistic) -> int | None:
    """Return how long the vectors are that were counted; None if they were no vectors."""
    if isinstance(statistic, WordTable) and not statistic.of_matrix:
        return None
    axis = getattr(statistic, "values", getattr(statistic, "columns", None))
    return len(axis) if isinstance(axis, Axis) and len(axis) > 1 and isinstance(axis.labels, range) else None


class Summable(Protocol):
    """Counts of rows, or a first look at rows: they add up over parts."""

    @classmethod
    def sum_of(cls, parts: Sequence[Self]) -> Self:
        """Return the sum of all parts."""


Part = TypeVar("Part", bound=Summable)


def add(parts: Iterable[Part]) -> Part:
    """Return the sum of many parts: counts, or profiles.

    The result is that of ``sum(parts)``. Words of texts are put together once, which takes about as long as one
    addition, however many parts there are.

    Parameters
    ----------
    parts : iterable of Counts, or of Profile
        What was counted, or seen, of the rows of each part.

    Returns
    -------
    Counts or Profile
        What was counted, or seen, of all rows.

    Raises
    ------
    InvalidInput
        If there is no part, or if parts are of different kinds.
    IncompatibleCounts
        If the parts are not of the same columns.

    Examples
    --------
    >>> import naively as nv
    >>> days = [{"sky": ["rain", "sunny"]}, {"sky": ["rain", "rain"]}]
    >>> nv.add(nv.count(day, ["in", "out"]) for day in days)
    Counts: 4 rows (in: 2, out: 2), 1 columns
    """
    given = list(parts)
    if not given:
        raise InvalidInput("There is nothing to add up; give one part or more.")
    kinds = list(dict.fromkeys(type(part) for part in given))
    if len(kinds) > 1 or not hasattr(kinds[0], "sum_of"):
        names = " and ".join(kind.__name__ for kind in kinds)
        raise InvalidInput(
            f"nv.add takes counts, or profiles, and no other or both; got {names}. Models are added up by nv.merge."
        )
    return kinds[0].sum_of(given)
