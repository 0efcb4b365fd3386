"""Every error says what was found, where, and what to do.

::

    NaivelyError
    ├── LikelihoodFell (also a RuntimeError)  expectation-maximization went down instead of up
    ├── NotInstalled (also an ImportError)    a library that only an extra brings
    └── InvalidInput (also a ValueError)
        ├── NotAPart        rows subtracted that were never counted
        ├── DoesNotFit      two statistics that cannot be added
        ├── NumberTooLarge  a number whose square cannot be summed
        ├── RowRefused      a cell that cannot be counted or scored
        ├── InvalidSetting  a setting outside its range
        ├── UnreadableFile  a file that is no whole model file
        ├── UnwritableFile  a model or a place that cannot be saved
        └── UnreadableRows  a data file, or a line of one, that cannot be read as it is

    StaleWarning (a UserWarning)   a calibration that was made for other counts or settings
    WeightWarning (a UserWarning)  weights of rows whose sum is far from the number of rows

An error is a value: `row`, `column`, `path`, `setting` and others are its attributes. Its sentence is a `Message`, made
of parts: text that everyone reads alike, and values that Python and the command line write in their own ways. ::

    raise InvalidInput(RowNumber(3), " has no label. Drop such rows, or set ", Setting("unlabelled", "skip"), ".")

Python shows "Row 3 has no label. Drop such rows, or set unlabelled='skip'.", the command line "Row 4 has no label. Drop
such rows, or set --unlabelled skip.". What users wrote is part of the text, and nobody rewrites it.
"""

from __future__ import annotations

import sys
from copy import copy
from os import PathLike
from typing import TYPE_CHECKING, Self, TypedDict, Unpack

from .message import Message, Part, RowNumber, Setting

if TYPE_CHECKING:
    from .._types import Label


class ErrorFields(TypedDict, total=False):
    """What an error says beside its sentence."""

    row: int
    column: Label
    path: str
    line: int
    setting: str
    value: object
    classes: list[Label]


class NaivelyError(Exception):
    """The base of all errors of this package.

    Errors can be pickled and copied, so that worker processes can hand them back with all attributes.

    Parameters
    ----------
    *parts : str or part of a message
        The sentence, in pieces; see `Message`.
    **fields
        The attributes below. `row` and `path` are taken from the sentence, if it holds a `RowNumber`.

    Attributes
    ----------
    row : int or None
        The position of the row in the table or the file; the first row is 0.
    column : object or None
        The name of the column.
    path : str or None
        The file.
    line : int or None
        The line of the file, where it is known; the first line, mostly the names of the columns, is 1.
    setting : str or None
        The name of the setting.
    value : object or None
        The cell, or the value of the setting.
    classes : list or None
        The classes that there are, if another was named.

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

    def __init__(self, *parts: str | Part, **fields: Unpack[ErrorFields]) -> None:
        super().__init__(Message(*parts))
        for part in self.message.parts:
            if isinstance(part, RowNumber):
                self.row, self.path = part.row, part.path
                break
        if parts and isinstance(parts[0], Setting):  # the sentence is about this setting
            self.setting, self.value = parts[0].name, parts[0].given
        vars(self).update(fields)

    @property
    def message(self) -> Message:
        """The sentence with its parts."""
        return Message(*self.args)

    def with_place(self, begin: int, path: str | None = None) -> Self:
        """Return the same error for rows that are a piece of a table, or of a file: row `begin` is their first."""
        if self.path is not None:
            return self
        error = copy(self)
        error.args = (self.message.with_place(begin, path),)
        error.row, error.path = None if self.row is None else self.row + begin, path
        return error

    def __reduce__(self) -> tuple[object, ...]:
        return _restored_error, (type(self), self.args, vars(self))


def _restored_error(kind: type[NaivelyError], args: tuple[object, ...], fields: dict[str, object]) -> NaivelyError:
    """Return an error as it was, without composing its sentence anew."""
    error = kind.__new__(kind)
    error.args = args
    vars(error).update(fields)
    return error


class LikelihoodFell(NaivelyError, RuntimeError):
    """A step of expectation-maximization lowered the likelihood, which only rounding can do."""

    def __init__(self, step: int, before: float, after: float) -> None:
        super().__init__(
            f"Step {step} of expectation-maximization took the penalized log-likelihood from {before:.17g} down to "
            f"{after:.17g}, and no step can but by rounding: some column may hold numbers that differ by less than a "
            "billionth of their size. Subtract their mean; if that does not help, please report it."
        )
        self.step, self.before, self.after = step, before, after


class NotInstalled(NaivelyError, ImportError):
    """An optional library is needed and is not installed."""

    def __init__(self, why: str, extra: str) -> None:
        super().__init__(f'{why}, which is not installed: pip install "naively[{extra}]".')


class InvalidInput(NaivelyError, ValueError):
    """Data or settings that no result can be computed from."""


class NotAPart(InvalidInput):
    """A subtraction of rows that were never counted: a count would become negative."""

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

    def in_column(self, column: Label) -> NotAPart:
        """Return the same error, naming the column."""
        return NotAPart(column, self.label, self.value, self.counted, self.taken, self.what)


class DoesNotFit(InvalidInput):
    """Two statistics of different kinds or columns, which cannot be combined."""


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
    """A row that cannot be counted or scored: a cell holds no number, or one that is not allowed there."""

    row: int

    def __init__(self, row: int, column: Label, value: object, needed: str | Message) -> None:
        where = "" if column is None else f", column {column!r}"
        super().__init__(RowNumber(row), f"{where} holds {value}; ", needed, column=column, value=value)
        self.needed = needed

    def in_column(self, column: Label) -> RowRefused:
        """Return the same error, naming the column."""
        return RowRefused(self.row, column, self.value, self.needed)


def infinite_cell(row: int, column: Label) -> RowRefused:
    """Return the error about a number that is infinite, counted or scored."""
    return RowRefused(row, column, "infinity", "give a finite number, or leave the cell empty if it is unknown.")


class InvalidSetting(InvalidInput):
    """A setting outside the range in which it means something: `setting` and `value` say which."""

    def __init__(self, *parts: str | Part, **fields: Unpack[ErrorFields]) -> None:
        super().__init__(*parts, **fields)
        first = next((part for part in self.message.parts if isinstance(part, Setting)), None)
        if first is not None and self.setting is None:
            self.setting, self.value = first.name, first.given


class UnreadableFile(InvalidInput):
    """A model file that is missing, cut off, damaged, newer than this version, or no model file at all."""

    def __init__(self, path: str | PathLike[str], why: str | Message) -> None:
        super().__init__(f"Cannot load a model from {str(path)!r}: ", why, path=str(path))


class UnwritableFile(InvalidInput):
    """A model that a file cannot hold, or a place where no file can be written."""

    def __init__(self, path: str | PathLike[str], why: str | Message) -> None:
        unchanged = " A file that was there before is unchanged."
        super().__init__(f"Cannot save to {str(path)!r}: ", why, unchanged, path=str(path))


class UnreadableRows(InvalidInput):
    """A data file, or a line of one, that cannot be read as it is."""

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
        place: str | Part = str(path) if line is None else f"{path}, line {line}"
        if line is None and row is not None:
            place = RowNumber(row, str(path))
        super().__init__(place, ": ", why, path=str(path), column=column, value=value)
        self.row, self.line = row, line


class StaleWarning(UserWarning):
    """A calibration is still used, but the counts or settings that it was made for have changed."""


class WeightWarning(UserWarning):
    """The weights of rows sum to far fewer, or far more, than there are rows."""


class LeftOutWarning(UserWarning):
    """A result lacks something that could not be carried over."""


class TargetWarning(UserWarning):
    """A target that is counted as it is, but is probably a mistake: a single class, or hundreds of numbers."""


def levels_to_caller() -> int:
    """Return how many calls up the first line outside this package is: a warning shall point there."""
    level, frame = 0, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "naively":
        level, frame = level + 1, frame.f_back
    return level + 1
