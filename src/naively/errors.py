"""Every error says what was found, where, and what to do.

::

    NaivelyError
    ├── LikelihoodFell (also a RuntimeError)  learning without labels went down instead of up
    ├── NotInstalled (also an ImportError)    a library that only an extra brings
    └── InvalidInput (also a ValueError)
        ├── NotAPart        rows taken away that were never counted
        ├── DoesNotFit      two statistics that cannot be added
        ├── NumberTooLarge  a number whose square cannot be summed
        ├── RowRefused      a cell that cannot be counted or scored
        ├── InvalidSetting  a setting outside its range
        ├── UnreadableFile  a file that is no whole model file
        ├── UnwritableFile  a model or a place that cannot be saved
        └── UnreadableRows  a data file, or a line of one, that cannot be read as it is

    StaleWarning (a UserWarning)   a calibration that was made for other counts or settings
    WeightWarning (a UserWarning)  weights of rows whose sum is far from the number of rows
"""

from __future__ import annotations

import sys
from typing import Any


class NaivelyError(Exception):
    """The base of all errors of this package. They can be pickled, so that worker processes can hand them back."""

    def __reduce__(self) -> tuple[Any, ...]:
        return revived, (type(self), self.args, vars(self))


def revived(kind: type[NaivelyError], args: tuple[Any, ...], facts: dict[str, Any]) -> NaivelyError:
    """Return an error as it was, without composing its words anew."""
    error = kind.__new__(kind)
    error.args = args
    vars(error).update(facts)
    return error


class LikelihoodFell(NaivelyError, RuntimeError):
    """A step of expectation-maximisation that made the rows less probable, which none can but by rounding."""

    def __init__(self, step: int, before: float, after: float) -> None:
        super().__init__(
            f"Step {step} of learning without labels took the penalised log-likelihood from {before:.17g} down to "
            f"{after:.17g}, and no step can but by rounding: some column may hold numbers that differ by less than a "
            "billionth of their size. Subtract their mean; if that does not help, please report it."
        )
        self.step, self.before, self.after = step, before, after


class NotInstalled(NaivelyError, ImportError):
    """A library that is needed for this alone, and is not there."""

    def __init__(self, why: str, extra: str) -> None:
        super().__init__(f'{why}, which is not installed: pip install "naively[{extra}]".')


class InvalidInput(NaivelyError, ValueError):
    """Data or settings that no answer can be computed from."""


class NotAPart(InvalidInput):
    """A subtraction that would leave less than nothing: these rows were never counted."""

    def __init__(self, column: Any, label: Any, value: Any, counted: float, taken: float, what: str = "count") -> None:
        where = [f"{name} {item!r}" for name, item in (("column", column), ("class", label), ("value", value))]
        place = ", ".join(text for text, item in zip(where, (column, label, value), strict=True) if item is not None)
        super().__init__(
            f"Cannot take away rows that were never counted: at {place} the {what} is {counted:.17g}, "
            f"and {taken:.17g} would be taken. Nothing was changed; check which rows are meant."
        )
        self.column, self.label, self.value = column, label, value
        self.counted, self.taken, self.what = counted, taken, what

    def in_column(self, column: Any) -> NotAPart:
        """Return the same error, naming the column."""
        return NotAPart(column, self.label, self.value, self.counted, self.taken, self.what)


class DoesNotFit(InvalidInput):
    """Two statistics of different kinds or columns."""


class NumberTooLarge(InvalidInput):
    """A number beyond 1e150 in training: its square, summed over rows, would overflow."""

    def __init__(self, column: Any, value: float) -> None:
        super().__init__(
            f"Column {column!r} holds {value:.6g}; numbers beyond ±1e150 cannot be squared and summed. "
            "Rescale the column, or take its logarithm."
        )
        self.column, self.value = column, value


class RowRefused(InvalidInput):
    """A row that cannot be counted or scored: it holds what is no number, or none that is allowed there."""

    def __init__(self, row: int, column: Any, value: Any, needed: str) -> None:
        place = f"Row {row}" if column is None else f"Row {row}, column {column!r}"
        super().__init__(f"{place} holds {value}; {needed}")
        self.row, self.column, self.value = row, column, value


def infinite(row: int, column: Any) -> RowRefused:
    """Return the error about a number that is infinite, counted or scored."""
    return RowRefused(row, column, "infinity", "give a finite number, or leave the cell empty if it is unknown.")


class InvalidSetting(InvalidInput):
    """A setting outside the range in which it means something."""


class UnreadableFile(InvalidInput):
    """A file that is missing, cut off, damaged, newer than this version, or no model file at all."""

    def __init__(self, path: Any, why: str) -> None:
        super().__init__(f"Cannot load a model from {str(path)!r}: {why}")
        self.path = str(path)


class UnwritableFile(InvalidInput):
    """A model that a file cannot hold, or a place where no file can be written."""

    def __init__(self, path: Any, why: str) -> None:
        super().__init__(f"Cannot save to {str(path)!r}: {why} A file that was there before is unchanged.")
        self.path = str(path)


class UnreadableRows(InvalidInput):
    """A data file, or a line of one, that cannot be read as it is."""

    def __init__(self, path: Any, line: int | None, why: str) -> None:
        super().__init__(f"{path}: {why}" if line is None else f"{path}, line {line}: {why}")
        self.path, self.line = str(path), line


class StaleWarning(UserWarning):
    """A calibration is still used, but the counts or settings that it was made for have changed."""


class WeightWarning(UserWarning):
    """The weights of rows sum to far fewer, or far more, than there are rows."""


class LeftOutWarning(UserWarning):
    """A result lacks something that could not be carried over."""


class TargetWarning(UserWarning):
    """A target that is counted as it is, but can hardly be meant: one class alone, or hundreds of numbers."""


def levels_to_caller() -> int:
    """Return how many calls up the first line outside this package is: a warning shall point there."""
    level, frame = 0, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "naively":
        level, frame = level + 1, frame.f_back
    return level + 1
