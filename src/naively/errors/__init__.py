"""Errors and warnings. Every error says what was found, where, and what to do.

::

    NaivelyError
    ├── ConvergenceError (also a RuntimeError)  a step of expectation-maximization lowered the likelihood
    ├── NotInstalled (also an ImportError)      an optional library is not installed
    └── InvalidInput (also a ValueError)
        ├── NotASubset          a subtraction of rows that were never counted
        │   └── RowNotCounted   a row to forget that is not among the rows of the model
        ├── IncompatibleCounts  two statistics that cannot be added
        ├── NumberTooLarge      a number whose square cannot be summed
        ├── RowRefused          a cell that cannot be counted or scored
        ├── InvalidSetting      a setting outside its range
        ├── UnreadableFile      a model file that is missing, incomplete or damaged
        ├── UnwritableFile      a model that cannot be saved, or a file that cannot be written
        └── UnreadableRows      a data file, or a line of one, that cannot be read

    StaleWarning (a UserWarning)             a calibration that was fitted for other counts or settings
    WeightWarning (a UserWarning)            row weights whose sum is far from the number of rows
    TextbookFallbackWarning (a UserWarning)  the textbook model in place of the default one
    LargestFitWarning (a UserWarning)        models merged without rows have the fit of the largest
    TargetWarning (a UserWarning)            a target of a single class, or of hundreds of numbers

An error is a value: `row`, `column`, `path`, `setting` and others are its attributes. Its text is a `Message`, made of
parts: plain text, and values that Python and the command line write differently. ::

    raise InvalidInput(RowNumber(3), " has no label. Drop such rows, or set ", Setting("unlabelled", "skip"), ".")

Python shows "Row 3 has no label. Drop such rows, or set unlabelled='skip'.", the command line "Row 4 has no label. Drop
such rows, or set --unlabelled skip.". Quoted data is part of the plain text, which is never changed.
"""

from __future__ import annotations

import sys
from copy import copy
from os import PathLike
from typing import TYPE_CHECKING, Self

from .message import Message, MessagePart, RowNumber, Setting

if TYPE_CHECKING:
    from .._types import Label


class NaivelyError(Exception):
    """The base of all errors of this package.

    Errors can be pickled and copied, so that worker processes can hand them back with all attributes.

    Parameters
    ----------
    *parts : str or MessagePart
        The text, in parts; see `Message`.
    **fields : object
        The attributes below. `row` and `path` are taken from the text, if it has a `RowNumber`.

    Attributes
    ----------
    row : int or None
        The position of the row in the table or the file; the first row is 0.
    column : object or None
        The name of the column.
    path : str or None
        The file.
    line : int or None
        The line of the file, if it is known; the first line, mostly the names of the columns, is 1.
    setting : str or None
        The name of the setting.
    value : object or None
        The cell, or the value of the setting.
    classes : list or None
        The known classes, if another was named.

    Examples
    --------
    >>> import naively as nv
    >>> from naively.errors import InvalidInput
    >>> try:
    ...     nv.NaiveBayes().fit({"x": [1.0, 2.0, 3.0]}, ["a", "b", None])
    ... except InvalidInput as error:
    ...     print(error.row)
    2
    """

    row: int | None = None
    column: Label | None = None
    path: str | None = None
    line: int | None = None
    setting: str | None = None
    value: object = None
    classes: list[Label] | None = None

    def __init__(self, *parts: str | MessagePart, **fields: object) -> None:
        super().__init__(Message(*parts))
        for part in self.message.parts:
            if isinstance(part, RowNumber):
                self.row, self.path = part.row, part.path
                break
        if parts and isinstance(parts[0], Setting):  # the text is about this setting
            self.setting, self.value = parts[0].name, parts[0].given
        vars(self).update(fields)

    @property
    def message(self) -> Message:
        """The text with its parts."""
        return Message(*self.args)

    def with_place(self, begin: int, path: str | None = None) -> Self:
        """Return the same error with its row counted from the beginning of a table or a file.

        Parameters
        ----------
        begin : int
            The position of the block's first row.
        path : str, optional
            The file.

        Returns
        -------
        error : NaivelyError
            The error about the same row.
        """
        if self.path is not None:
            return self
        error = copy(self)
        error.args = (self.message.with_place(begin, path),)
        error.row, error.path = None if self.row is None else self.row + begin, path
        return error

    def __reduce__(self) -> tuple[object, ...]:
        return _restored_error, (type(self), self.args, vars(self))


def _restored_error(kind: type[NaivelyError], args: tuple[object, ...], fields: dict[str, object]) -> NaivelyError:
    """Return an error as it was, without composing its text again."""
    error = kind.__new__(kind)
    error.args = args
    vars(error).update(fields)
    return error


class ConvergenceError(NaivelyError, RuntimeError):
    """A step of expectation-maximization lowered the likelihood, which only rounding can cause.

    Attributes
    ----------
    step : int
        The number of the step.
    before, after : float
        The penalized log-likelihood before and after it.
    """

    def __init__(self, step: int, before: float, after: float) -> None:
        super().__init__(
            f"Step {step} of expectation-maximization lowered the penalized log-likelihood from {before:.17g} to "
            f"{after:.17g}, which only rounding can cause: some column may hold numbers that differ by less than a "
            "billionth of their size. Subtract their mean; if that does not help, please report it."
        )
        self.step, self.before, self.after = step, before, after


class NotInstalled(NaivelyError, ImportError):
    """An optional library is not installed."""

    def __init__(self, why: str, extra: str) -> None:
        super().__init__(f'{why}, which is not installed: pip install "naively[{extra}]".')


class InvalidInput(NaivelyError, ValueError):
    """Data or settings that no result can be computed from.

    Examples
    --------
    >>> import naively as nv
    >>> from naively.errors import InvalidInput
    >>> try:
    ...     nv.decide([[0.5, 0.1]])
    ... except InvalidInput as error:
    ...     print(error.row)
    0
    """


class NotASubset(InvalidInput):
    """A subtraction of rows that were never counted: a count would become negative.

    Attributes
    ----------
    label : object
        The class.
    counted, taken : float
        The count, and how much would be subtracted from it.
    what : str
        The name of the statistic.
    """

    def __init__(
        self, column: Label, label: Label, value: object, counted: float, taken: float, what: str = "count"
    ) -> None:
        where = {"column": column, "class": label, "value": value}
        place = ", ".join(f"{name} {item!r}" for name, item in where.items() if item is not None)
        super().__init__(
            f"Cannot subtract rows that were never counted: at {place} the {what} is {counted:.17g}, "
            f"and {taken:.17g} would be subtracted. Nothing was changed; check which rows are meant.",
            column=column,
            value=value,
        )
        self.label, self.counted, self.taken, self.what = label, counted, taken, what

    def in_column(self, column: Label) -> NotASubset:
        """Return the same error with the name of the column."""
        return NotASubset(column, self.label, self.value, self.counted, self.taken, self.what)


class RowNotCounted(NotASubset):
    """A row to forget that was never counted, or not so often."""

    def __init__(self, row: int) -> None:
        InvalidInput.__init__(
            self,
            RowNumber(row),
            " is not among the rows that were counted, or not so often. Nothing was changed; check which rows are "
            "meant, with their labels and weights.",
            row=row,
        )
        self.label, self.counted, self.taken, self.what = None, 0.0, 1.0, "number of rows"


class IncompatibleCounts(InvalidInput):
    """Two statistics of different kinds or columns, which cannot be added or subtracted."""


class NumberTooLarge(InvalidInput):
    """A number beyond 1e150 in training: its square, summed over rows, would overflow."""

    value: float

    def __init__(self, column: Label, value: float) -> None:
        super().__init__(
            f"Column {column!r} holds {value:.6g}; numbers beyond ±1e150 cannot be squared and summed. "
            "Rescale the column, or take its logarithm.",
            column=column,
            value=value,
        )


class RowRefused(InvalidInput):
    """A row with a cell that cannot be counted or scored: not a number, or one that is not allowed there.

    Attributes
    ----------
    needed : str
        What the column needs.
    """

    row: int

    def __init__(self, row: int, column: Label, value: object, needed: str | Message) -> None:
        where = "" if column is None else f", column {column!r}"
        super().__init__(RowNumber(row), f"{where} holds {value}; ", needed, column=column, value=value)
        self.needed = needed

    def in_column(self, column: Label) -> RowRefused:
        """Return the same error with the name of the column."""
        return RowRefused(self.row, column, self.value, self.needed)


def infinite_cell(row: int, column: Label) -> RowRefused:
    """Return the error about an infinite number."""
    return RowRefused(row, column, "infinity", "give a finite number, or leave the cell empty if it is unknown.")


class InvalidSetting(InvalidInput):
    """A setting outside its range; `setting` is its name, and `value` its value.

    Examples
    --------
    >>> import naively as nv
    >>> from naively.errors import InvalidSetting
    >>> try:
    ...     nv.NaiveBayes(smoothing=-1).fit({"x": [1.0, 2.0]}, ["a", "b"])
    ... except InvalidSetting as error:
    ...     print(error.setting, error.value)
    smoothing -1
    """

    def __init__(self, *parts: str | MessagePart, **fields: object) -> None:
        super().__init__(*parts, **fields)
        first = next((part for part in self.message.parts if isinstance(part, Setting)), None)
        if first is not None and self.setting is None:
            self.setting, self.value = first.name, first.given


class UnreadableFile(InvalidInput):
    """A model file that is missing, incomplete, damaged, newer than this version, or not a model file."""

    def __init__(self, path: str | PathLike[str], why: str | Message) -> None:
        super().__init__(f"Cannot load a model from {str(path)!r}: ", why, path=str(path))


class UnwritableFile(InvalidInput):
    """A model that a file cannot hold, or a path that cannot be written."""

    def __init__(self, path: str | PathLike[str], why: str | Message) -> None:
        unchanged = " A file that was there before is unchanged."
        super().__init__(f"Cannot save to {str(path)!r}: ", why, unchanged, path=str(path))


class UnreadableRows(InvalidInput):
    """A data file, or a line of one, that cannot be read."""

    def __init__(
        self,
        path: str | PathLike[str],
        line: int | None,
        why: str | Message,
        *,
        row: int | None = None,
        column: Label = None,
        value: object = None,
    ) -> None:
        place: str | MessagePart = str(path) if line is None else f"{path}, line {line}"
        if line is None and row is not None:
            place = RowNumber(row, str(path))
        super().__init__(place, ": ", why, path=str(path), column=column, value=value)
        self.row, self.line = row, line


class StaleWarning(UserWarning):
    """A calibration is still in use, but the counts or settings that it was fitted for have changed."""


class WeightWarning(UserWarning):
    """The sum of the row weights is far from the number of rows."""


class LargestFitWarning(UserWarning):
    """Models were merged of which some retain no rows: the result has the fit of the largest, not one of all rows."""


class TextbookFallbackWarning(UserWarning):
    """The textbook model is used in place of the default model.

    Counts were combined that have no pairs of columns in common, or a fold leaves too few rows to fit weights.
    """


class TargetWarning(UserWarning):
    """A target that is probably a mistake: a single class, or hundreds of numbers."""


def levels_to_caller() -> int:
    """Return the number of stack levels to the first caller outside this package, where a warning points."""
    level, frame = 0, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "naively":
        level, frame = level + 1, frame.f_back
    return level + 1
